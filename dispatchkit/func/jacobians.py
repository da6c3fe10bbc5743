"""Matrices of derivatives: `jacrev`, `jacfwd`, `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

from dispatchkit.backends.arrays import is_complex
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import TransformError
from dispatchkit.func.arguments import Argnums, picked, replaced
from dispatchkit.func.batches import Randomness, vmap
from dispatchkit.func.containers import arrays_of, as_array, mapped, variables_in, with_gradient_fields, with_variables
from dispatchkit.func.gradients import vjp
from dispatchkit.func.tangents import jvp

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of another by reverse mode.

    Parameters
    ----------
    func : gives a real tensor, or a container of them
    argnums : which positional argument to differentiate by, or a tuple of several; each may be a container
    has_aux : whether `func` gives a pair, the second part of which is passed on
    chunk_size : how many rows are computed at once; all by default

    Returns
    -------
    function
        It takes the arguments of `func` and returns, in place of each output, a container like the argument (a tuple of
        containers for several arguments) of arrays of shape ``(*output.shape, *input.shape)``. With `has_aux` it
        returns a pair: the Jacobian and the second output of `func`.

    Raises
    ------
    TypeError : if an argument holds no floating-point array
    TransformError : if an output is complex

    Notes
    -----
    One pass forward, and one backward for all rows together; best where outputs are fewer than inputs. Source:
    PyTorch, `torch.func.jacrev`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.jacrev(lambda x: x * x)(dk.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        wanted = picked("jacrev", args, argnums)

        def of_wanted(*values: Any) -> Any:
            return func(*replaced(args, wanted, values), **kwargs)

        output, pull, *aux = vjp(of_wanted, *[argument for _, argument in wanted], has_aux=has_aux)
        outputs = list(arrays_of(output))
        if any(is_complex(y.dtype) for y in outputs):
            raise TransformError("jacrev: the output is complex; jacfwd gives the derivative of a holomorphic function")
        rows = vmap(lambda basis: pull(_like(output, basis)), chunk_size=chunk_size)(_bases(outputs))
        rows = rows if isinstance(argnums, tuple) else rows[0]
        lengths = [y.size for y in outputs]
        parts = iter([mapped(partial(_rows, part, y), rows) for y, part in zip(outputs, _slices(lengths), strict=True)])
        found = mapped(lambda _: next(parts), with_gradient_fields(output, output))
        return (found, aux[0]) if has_aux else found

    return jacobian


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: Randomness = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of another by forward mode.

    Parameters
    ----------
    func, argnums, has_aux : as for `jacrev`
    randomness : as for `vmap`
    chunk_size : how many columns are computed at once; all by default

    Returns
    -------
    function
        As for `jacrev`.

    Raises
    ------
    TypeError : if an argument holds no floating-point array

    Notes
    -----
    One pass forward for all columns together; best where inputs are fewer than outputs. Of complex arguments the
    derivative is that of a holomorphic function. Source: PyTorch, `torch.func.jacfwd`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.jacfwd(lambda x: x * x)(dk.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        wanted = picked("jacfwd", args, argnums)
        primals = mapped(as_array, tuple(argument for _, argument in wanted))
        inputs = list(variables_in(primals))
        kept: list[Any] = []

        def of_wanted(*values: Any) -> Any:
            return func(*replaced(args, wanted, values), **kwargs)

        def pushed(basis: list[Any]) -> Any:
            given = iter(basis)
            tangents = with_variables(lambda x: next(given), primals)
            output, t, *aux = jvp(of_wanted, primals, tangents, has_aux=has_aux)
            kept[:] = [output, *aux]
            return t

        columns = vmap(pushed, randomness=randomness, out_dims=-1, chunk_size=chunk_size)(_bases(inputs))
        slices = _slices([x.size for x in inputs])

        def per_input(t: Any) -> Any:
            parts = iter([_columns(t, part, x) for x, part in zip(inputs, slices, strict=True)])
            made = with_gradient_fields(with_variables(lambda x: next(parts), primals), kept[0])
            return made if isinstance(argnums, tuple) else made[0]

        found = mapped(per_input, with_gradient_fields(columns, columns))
        return (found, kept[1]) if has_aux else found

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of another, forward over reverse.

    Parameters
    ----------
    func : gives a real tensor, or a container of them
    argnums : which positional argument to differentiate by, or a tuple of several

    Returns
    -------
    function
        It takes the arguments of `func` and returns, for each output and each pair of arguments, an array of shape
        ``(*output.shape, *input.shape, *input.shape)``.

    Raises
    ------
    TypeError : if an argument holds no floating-point array

    Notes
    -----
    Source: PyTorch, `torch.func.hessian`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.hessian(lambda x: (x**3).sum())(dk.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _bases(arrays: list[Any]) -> list[Any]:
    """Return for each array the unit steps of all arrays in turn, along a first axis."""
    total = sum(x.size for x in arrays)
    made = []
    for x, part in zip(arrays, _slices([x.size for x in arrays]), strict=True):
        unit = tensor_namespace.eye(total, x.size, k=-part.start, dtype=x.dtype, device=x.device)
        made.append(tensor_namespace.reshape(unit, (total, *x.shape)))
    return made


def _slices(lengths: list[int]) -> list[slice]:
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _like(output: Any, arrays: list[Any]) -> Any:
    """Return a container like an output with other arrays."""
    given = iter(arrays)
    return mapped(lambda _: next(given), output)


def _rows(part: slice, y: Any, g: Any) -> Any:
    return tensor_namespace.reshape(g[part], (*y.shape, *g.shape[1:]))


def _columns(t: Any, part: slice, x: Any) -> Any:
    return tensor_namespace.reshape(t[..., part], (*t.shape[:-1], *x.shape))
