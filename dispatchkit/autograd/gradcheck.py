"""Derivatives checked against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit.autograd.functional import grad
from dispatchkit.errors import GradcheckError
from dispatchkit.tensor import Tensor

__all__ = ["gradcheck", "gradgradcheck"]

Function = Callable[..., Any]


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compare the gradients of a function with central differences.

    Parameters
    ----------
    func : takes `inputs`, gives a tensor or a tuple of tensors
    inputs : arguments; the tensors among them that require gradients are checked, in double precision
    eps : step of the differences
    atol, rtol : bounds on the disagreement, absolute and relative to the numerical value
    raise_exception : raise on disagreement, rather than return False

    Returns
    -------
    True if all agree

    Raises
    ------
    GradcheckError : ``Jacobian mismatch for output i with respect to input j,`` with both matrices
    ValueError : if no input requires a gradient

    Notes
    -----
    A complex number counts as two real ones; the gradient of a real loss is its derivative by the real part plus
    i times that by the imaginary part. Source: PyTorch, `torch.autograd.gradcheck`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> dk.autograd.gradcheck(dk.exp, (x,))
    True
    """
    arguments = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    checked = [i for i, arg in enumerate(arguments) if isinstance(arg, Tensor) and arg.requires_grad]
    if not checked:
        raise ValueError("gradcheck: no input is a tensor that requires a gradient")
    try:
        for index, output in enumerate(_outputs(func, arguments)):
            if output.dtype.kind not in "fc":
                continue
            for position in checked:
                numerical = _numerical(func, arguments, index, position, eps)
                analytical = _analytical(func, arguments, index, position)
                _compare(numerical, analytical, index, position, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    seed: int = 0,
    raise_exception: bool = True,
) -> bool:
    """Compare second derivatives with central differences of the first.

    Parameters
    ----------
    func, inputs, eps, atol, rtol, raise_exception : as for `gradcheck`
    grad_outputs : cotangents of the outputs; drawn at random by default
    seed : of the random cotangents

    Returns
    -------
    True if all agree

    Raises
    ------
    GradcheckError : as for `gradcheck`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> dk.autograd.gradgradcheck(dk.exp, (x,))
    True
    """
    arguments = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    rng = np.random.default_rng(seed)
    outputs = [y for y in _outputs(func, arguments) if y.requires_grad]
    if grad_outputs is None:
        grad_outputs = [Tensor(_random_like(rng, y.array), requires_grad=True) for y in outputs]
    count = len(arguments)

    def first(*values: Any) -> Any:
        own, cotangents = values[:count], values[count:]
        wanted = [v for v in own if isinstance(v, Tensor) and v.requires_grad]
        results = [y for y in _outputs(func, own) if y.requires_grad]
        found = grad(results, wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first,
        [*arguments, *grad_outputs],
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
    )


def _outputs(func: Function, arguments: Sequence[Any]) -> list[Tensor]:
    result = func(*arguments)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _random_like(rng: np.random.Generator, array: Any) -> Any:
    values = rng.uniform(-1, 1, size=array.shape)
    return values + 1j * rng.uniform(-1, 1, size=array.shape) if array.dtype.kind == "c" else values


def _directions(array: Any) -> list[Any]:
    """Return the unit steps of an array: one for each real element, two for each complex one."""
    steps: list[Any] = []
    for index in np.ndindex(array.shape):
        for unit in (1.0, 1j) if array.dtype.kind == "c" else (1.0,):
            step = np.zeros(array.shape, dtype=array.dtype)
            step[index] = unit
            steps.append(step)
    return steps


def _reals(array: Any) -> Any:
    """Return the real and imaginary parts of an array one after the other, elementwise."""
    flat = np.ravel(np.asarray(array))
    return np.stack([flat.real, flat.imag], axis=1).ravel() if flat.dtype.kind == "c" else flat


def _numerical(func: Function, arguments: Sequence[Any], index: int, position: int, eps: float) -> Any:
    """Return the matrix of central differences: a row for each input direction, a column for each output."""
    x = arguments[position]
    rows: list[Any] = []
    for step in _directions(x.array):
        ends = []
        for sign in (1, -1):
            moved = list(arguments)
            moved[position] = Tensor(x.array + sign * eps * step, requires_grad=True)
            ends.append(_reals(_outputs(func, moved)[index].array))
        rows.append((ends[0] - ends[1]) / (2 * eps))
    width = len(_directions(_outputs(func, arguments)[index].array))
    return np.array(rows).reshape(len(rows), width)


def _analytical(func: Function, arguments: Sequence[Any], index: int, position: int) -> Any:
    """Return the same matrix from backward passes, one for each column."""
    x = arguments[position]
    fresh = list(arguments)
    fresh[position] = Tensor(x.array, requires_grad=True)
    output = _outputs(func, fresh)[index]
    columns = []
    for direction in _directions(output.array):
        if not output.requires_grad:
            columns.append(np.zeros(len(_directions(x.array))))
            continue
        (g,) = grad(output, fresh[position], Tensor(direction), retain_graph=True, allow_unused=True)
        columns.append(np.zeros(len(_directions(x.array))) if g is None else _reals(g.array))
    return np.array(columns).reshape(len(columns), len(_directions(x.array))).T


def _compare(numerical: Any, analytical: Any, index: int, position: int, atol: float, rtol: float) -> None:
    if numerical.shape == analytical.shape and np.allclose(analytical, numerical, rtol=rtol, atol=atol):
        return
    raise GradcheckError(
        f"Jacobian mismatch for output {index} with respect to input {position},",
        str(numerical),
        str(analytical),
    )
