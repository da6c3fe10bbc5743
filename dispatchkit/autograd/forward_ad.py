"""Forward mode by dual tensors: inside of a level, tensors carry tangents through whatever is computed of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.errors import TransformError
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.transforms import Dual
from dispatchkit.transforms.dual import tangent_at, value_at
from dispatchkit.transforms.tracer import Level, Tracer, as_tensor, new_level, top_level

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_levels: ContextVar[tuple[Level, ...]] = state_variable("dual levels", ())


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None where it has none."""

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Begin a level of dual tensors, inside of those that have begun.

    Returns
    -------
    int
        How many levels there are around it.

    Examples
    --------
    >>> from dispatchkit.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> forward_ad.exit_dual_level()
    """
    _levels.set((*_levels.get(), new_level()))
    return len(_levels.get()) - 1


def in_dual_level() -> bool:
    """Return whether a level of dual tensors has begun."""
    return bool(_levels.get())


def exit_dual_level(*, level: int | None = None) -> None:
    """End the innermost level: its tensors lose their tangents.

    Parameters
    ----------
    level : the number of that level, to make sure

    Raises
    ------
    TransformError : if there is no level, or another one is innermost
    """
    levels = _levels.get()
    if not levels or level not in (None, len(levels) - 1):
        raise TransformError(
            f"exit_dual_level: level {level} is not the innermost of {len(levels)} levels; levels end in reverse order"
        )
    levels[-1].without_tangents = True
    _levels.set(levels[:-1])


@contextmanager
def dual_level() -> Iterator[int]:
    """Compute with dual tensors in a `with` block.

    Yields
    ------
    int
        How many levels there are around it.

    Notes
    -----
    Levels may be nested, for derivatives of higher order, and tensors of a graph be dual. After the block its
    tensors are there without their tangents. Source: PyTorch, `torch.autograd.forward_ad`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(dk.tensor([0.0, 1.0]), dk.ones(2))
    ...     forward_ad.unpack_dual(dk.sin(x)).tangent
    tensor([1.0000, 0.5403])
    """
    level = enter_dual_level()
    try:
        yield level
    finally:
        exit_dual_level(level=level)


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Return a tensor with a tangent.

    Parameters
    ----------
    tensor : of floating-point or complex numbers, in whose memory and place in the graph the result is
    tangent : the direction in which derivatives are computed, of its shape
    level : the number of the level that the tangent is of; the innermost by default

    Raises
    ------
    TransformError : outside of a level, or if the level is none of those around, or began outside of a transformation
        that one of the two belongs to
    ValueError : if the two are not floating-point or complex, or differ in shape

    Examples
    --------
    A product of a Hessian matrix and a vector, forward over reverse mode:

    >>> import dispatchkit as dk
    >>> from dispatchkit.autograd import forward_ad
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(x, dk.tensor([1.0, 0.0]))
    ...     (g,) = dk.autograd.grad((dual**3).sum(), dual)
    ...     forward_ad.unpack_dual(g)
    UnpackedDualTensor(primal=tensor([ 3., 12.]), tangent=tensor([6., 0.]))
    """
    number = _number("make_dual", level)
    tensor, tangent = as_tensor(tensor), as_tensor(tangent)
    for name, x in (("tensor", tensor), ("tangent", tangent)):
        if not is_inexact(x.dtype):
            raise ValueError(f"make_dual: {name} must hold floating-point or complex numbers, found {x.dtype}")
    if tangent.shape != tensor.shape:
        raise ValueError(f"make_dual: the tensor has shape {tensor.shape}, the tangent {tangent.shape}")
    top = top_level((tensor, tangent))
    if top is not None and top.level >= number:
        raise TransformError(
            "make_dual: a tensor has a tangent of this level, or is inside a transformation that began later; enter "
            "another level first"
        )
    if tangent.dtype != tensor.dtype:
        tangent = tangent.astype(tensor.dtype)
    return Dual(tensor, tangent, number)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a tensor without its tangent, and the tangent.

    Parameters
    ----------
    tensor : dual or not
    level : the number of the level whose tangent is taken; the innermost by default

    Returns
    -------
    UnpackedDualTensor
        A tuple of `primal` and `tangent`, which is None where there is none.

    Raises
    ------
    TransformError : if the level is none of those around
    """
    if level is None and not _levels.get():
        return UnpackedDualTensor(tensor, None)
    number = _number("unpack_dual", level)
    while isinstance(tensor, Dual) and getattr(tensor.level, "without_tangents", False):
        tensor = tensor.value
    return UnpackedDualTensor(value_at(tensor, number), _tangent(tensor, number))


def _tangent(x: Any, level: Level) -> Any:
    """Return the tangent of a tensor at a level, that of what is inside where it belongs to later ones."""
    if not isinstance(x, Tracer) or x.level <= level:
        return tangent_at(x, level)
    if all(_tangent(part, level) is None for part in x.parts()):
        return None

    def part_tangent(part: Any) -> Any:
        t = _tangent(part, level)
        if t is None:
            return xp.zeros_like(value_at(part, level))
        return t

    return x.map_values(part_tangent)


def _number(name: str, level: int | None) -> Level:
    """Return a level by its number.

    Raises
    ------
    TransformError : if it is none of those that have begun
    """
    levels = _levels.get()
    if level is None:
        number = len(levels) - 1
    else:
        number = level
    if not 0 <= number < len(levels):
        raise TransformError(f"{name}: there is no level {number}; call it inside of forward_ad.dual_level()")
    return levels[number]
