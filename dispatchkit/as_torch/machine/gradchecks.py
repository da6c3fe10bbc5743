"""Names of `torch.autograd.gradcheck` and `torch.autograd.functional` beside the checks, most of them deprecated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit.as_torch.spelling import Tensor, spelling_calls
from dispatchkit.autograd import functional
from dispatchkit.autograd import gradcheck as plain_gradcheck
from dispatchkit.autograd.jacobians import DEPENDS, Directions, Jacobians, Point
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.errors import GradcheckError
from dispatchkit.progress import ProgressBar

__all__ = ["get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "standard_bases"]

OF_PRIVATE_API = (
    "`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
    "removed in a future version of PyTorch."
)
_checked = spelling_calls(plain_gradcheck)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    **options: Any,
) -> Any:
    """Compare the derivatives of a function with central differences: see `dispatchkit.autograd.gradcheck`.

    Raises
    ------
    AssertionError : if the options leave nothing to check, or ask for batches of what is not checked, and where shapes
        or dtypes of the outputs depend on the values of the inputs
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    options |= {"check_forward_ad": check_forward_ad, "check_backward_ad": check_backward_ad}
    options |= {"check_batched_grad": check_batched_grad, "check_batched_forward_grad": check_batched_forward_grad}
    try:
        return _checked(func, inputs, **options)
    except GradcheckError as error:
        for what in ("shape", "dtype"):
            if error.headline.startswith(DEPENDS.format(what=what)):
                raise AssertionError(
                    f"Expected func to return outputs with the same {what} when inputs are perturbed: {error.headline}"
                ) from error
        raise


def _warn_of(name: str, grad_out: float) -> None:
    """Warn that a function is deprecated.

    Raises
    ------
    ValueError : for another factor of gradients than 1
    """
    warnings.warn(OF_PRIVATE_API.format(name=name), FutureWarning, stacklevel=3)
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Any]:
    """Return the matrices of central differences of the first output of a function, deprecated in PyTorch.

    Parameters
    ----------
    fn : takes a tuple of tensors
    inputs : the tuple
    target : the input, or inputs, by which it is differentiated; all of them by default
    eps : half of the distance between the points of a difference
    grad_out : 1.0

    Returns
    -------
    list
        For each target a tensor with a row for each of its elements, and a column for each of the output.
    """
    _warn_of("get_numerical_jacobian", grad_out)
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    wanted = arguments if target is None else target
    if not isinstance(wanted, (tuple, list)):
        wanted = (wanted,)
    point = Point(lambda *xs: fn(xs), arguments)
    place_of = {id(arguments[i]): i for i in point.checked}
    places = [place_of[id(x)] for x in wanted]
    first = next(iter(point.outputs))
    directions = {i: Directions(point.leaves[i]) for i in places}
    jacobians = Jacobians(
        point, directions, {first: Directions(point.outputs[first])}, ProgressBar("jacobian", progress=False)
    )
    matrices = jacobians.by_differences(eps)
    return [Tensor(matrices[first, i], dtype=arguments[i].dtype) for i in places]


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """Return the matrices of an output by backward passes, deprecated in PyTorch.

    Parameters
    ----------
    inputs : a tuple of tensors
    output : computed from them
    nondet_tol : bound on how much two passes may differ
    grad_out : 1.0

    Returns
    -------
    tuple
        For each input a tensor with a row for each of its elements and a column for each of the output; whether two
        passes agree; whether all gradients have the shapes, and the dtypes, of the inputs.
    """
    _warn_of("get_analytical_jacobian", grad_out)
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    tensors = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
    once, again = (_pulled_rows(tensors, output) for _ in range(2))
    pairs = [
        (x, g) for x, column in zip(tensors, zip(*once, strict=True), strict=True) for g in column if g is not None
    ]
    matrices = [_matrix(tensors, rows) for rows in (once, again)]
    apart = [np.abs(a - b).max(initial=0.0) for a, b in zip(*matrices, strict=True)]
    return (
        tuple([Tensor(matrix, dtype=x.dtype) for matrix, x in zip(matrices[0], tensors, strict=True)]),
        max(apart, default=0.0) <= nondet_tol,
        all(g.shape == x.shape for x, g in pairs),
        all(g.dtype == x.dtype for x, g in pairs),
    )


def _pulled_rows(tensors: Sequence[Any], output: Any) -> list[tuple[Any, ...]]:
    """Return the gradients of tensors, None where there are none, for each element of an output."""
    units = np.eye(output.numel(), dtype=np.float64).reshape((output.numel(), *output.shape))
    return [
        functional.grad(output, tensors, xp.asarray(unit, dtype=output.dtype), retain_graph=True, allow_unused=True)
        for unit in units
    ]


def _matrix(tensors: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return for each tensor its gradients, one in each column, as a matrix of NumPy."""

    def matrix(place: int, x: Any) -> Any:
        columns = (row[place] for row in rows)
        return np.stack([np.zeros(x.numel()) if g is None else g.numpy().ravel() for g in columns], axis=1)

    return [matrix(place, x) for place, x in enumerate(tensors)]


def standard_bases(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """Return the standard basis of the space of all elements of tensors, taken apart into columns for each of them.

    Parameters
    ----------
    tensors : give the dtypes
    tensor_numels : the number of elements of each
    """
    ends = np.cumsum(tensor_numels)
    rows = np.eye(int(ends[-1]))
    parts = np.split(rows, ends[:-1], axis=1)
    return tuple([Tensor(part, dtype=x.dtype) for x, part in zip(tensors, parts, strict=True)])
