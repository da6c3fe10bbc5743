"""Forward mode: `jvp`, `linearize`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.func.containers import (
    arrays_of,
    described,
    fitted,
    mapped,
    with_floats,
    with_numbers,
    zipped,
)
from dispatchkit.func.reverse import Recording
from dispatchkit.transforms import Dual
from dispatchkit.transforms.dual import tangent_at, value_at
from dispatchkit.transforms.tracer import new_level

__all__ = ["jvp", "linearize"]


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute a function and its derivative in one direction.

    Parameters
    ----------
    func : gives a tensor, or a container of them
    primals : its arguments: tensors, containers of them, declared array types
    tangents : the direction, a container like `primals`; what stands for other than floating arrays is not read
    has_aux : whether `func` gives a pair, the second part of which is passed on

    Returns
    -------
    tuple
        The output and its tangent, a container like the output; with `has_aux` also the second output of `func`.

    Raises
    ------
    TypeError : if `primals` or `tangents` is no tuple
    ValueError : if a tangent does not fit its argument

    Notes
    -----
    One pass forward, without a graph: the tangent of each operation follows from its rules. Source: PyTorch,
    `torch.func.jvp`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.jvp(dk.sin, (dk.tensor([0.0, 1.0]),), (dk.ones(2),))
    (tensor([0.0000, 0.8415]), tensor([1.0000, 0.5403]))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if type(given) is not tuple:
            raise TypeError(f"jvp: {name} must be a tuple with an entry for each argument, not {described(given)}")
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    primals, tangents = with_floats(primals), with_floats(tangents)
    level = new_level()
    try:
        return _pushed(
            func,
            zipped(lambda x, t: _dual(x, t, level), primals, tangents, "jvp: tangents", variables=True),
            level,
            has_aux,
        )
    finally:
        level.ended = True


def _pushed(func: Callable[..., Any], duals: Any, level: int, has_aux: bool) -> tuple[Any, ...]:
    """Return output, tangent and auxiliary output of a function of dual tensors."""
    output = func(*duals)
    if has_aux and not (isinstance(output, tuple) and len(output) == 2):
        raise TypeError("jvp: with has_aux the function must return a pair (output, aux)")
    result, aux = output if has_aux else (output, None)
    result = with_numbers(result)
    if not any(True for _ in arrays_of(result)):
        raise TypeError(f"jvp: the function must return tensors, found {described(result)}")
    y = mapped(lambda one: value_at(one, level), result)
    t = mapped(lambda one: _tangent(one, level), result)
    return (y, t, mapped(lambda one: value_at(one, level), aux)) if has_aux else (y, t)


def _dual(x: Any, t: Any, level: int) -> Any:
    return Dual(x, fitted("jvp", "argument", "tangent", x, t), level)


def _tangent(y: Any, level: int) -> Any:
    t = tangent_at(y, level)
    return tensor_namespace.zeros_like(value_at(y, level)) if t is None else t


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Compute a function, and make the linear function that approximates it there.

    Parameters
    ----------
    func : gives a tensor, or a container of them
    *primals : its arguments: tensors, containers of them, declared array types

    Returns
    -------
    tuple
        The output, and a function that takes a tangent for each argument and returns the tangent of the output.

    Raises
    ------
    ValueError : from the function, if a tangent does not fit its argument

    Notes
    -----
    `func` is called once, whatever the number of tangents; what its derivative needs is kept. Source: PyTorch,
    `torch.func.linearize`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> y, push = dk.func.linearize(dk.sin, dk.tensor([0.0, 1.0]))
    >>> push(dk.ones(2))
    tensor([1.0000, 0.5403])
    """
    primals = with_floats(primals)
    recording = Recording("linearize", func, primals)

    def pulled(cotangents: Any) -> Any:
        return recording.pull(cotangents, retain=True)

    # The pull is linear, so the pull of the pull is the push, at whatever cotangent it is recorded.
    zeros = mapped(tensor_namespace.zeros_like, recording.output)
    transposed = Recording("linearize", pulled, (zeros,))

    def push(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise ValueError(f"linearize: {len(primals)} arguments, but {len(tangents)} tangents")
        given = zipped(lambda x, t: t, primals, with_floats(tangents), "linearize: tangents", variables=True)
        return transposed.pull(given, retain=True)[0]

    return recording.output, push
