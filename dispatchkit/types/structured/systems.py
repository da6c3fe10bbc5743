"""Systems whose matrix is held by an array of its own form, solved by LAPACK through SciPy, with derivatives."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from typing_extensions import override

from dispatchkit import autograd, ops
from dispatchkit.tensor import Tensor

__all__ = ["Form", "scipy_linalg", "solution"]


class Form(Protocol):
    """How an array holds a matrix."""

    def solve(self, data: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the solution for one matrix, as NumPy arrays."""

    def adjoint(self, data: Any) -> tuple[Any, Form]:
        """Return the array of the conjugate transpose, and its form."""

    def times(self, data: Any, columns: Any) -> Any:
        """Return the product of the matrix with columns."""

    def outer(self, left: Any, right: Any) -> Any:
        """Return the elements of ``left @ right.mT`` that the array holds."""


def scipy_linalg(operation: str) -> Any:
    """Return SciPy's module for linear algebra.

    Raises
    ------
    ImportError : if SciPy is not installed, naming the operation
    """
    try:
        from scipy import linalg  # noqa: PLC0415  # optional dependency
    except ImportError as error:
        raise ImportError(
            f'{operation}: this structure computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
        ) from error
    return linalg


def solution(form: Form, data: Tensor, columns: Tensor) -> Tensor:
    """Return the solutions of systems.

    Parameters
    ----------
    form : of the array
    data : array of a batch of matrices, each of two axes
    columns : tensor of shape (..., n, k), of the dtype of the solution
    """
    batch = np.broadcast_shapes(data.shape[:-2], columns.shape[:-2])
    data = ops.broadcast_to(data, (*batch, *data.shape[-2:]))
    found: Tensor = _Solution.apply(data, ops.broadcast_to(columns, (*batch, *columns.shape[-2:])), form)
    return found


def _solved_each(form: Form, data: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the solutions of a batch of systems, one after the other."""
    found = np.empty(columns.shape, np.result_type(data, columns))
    for index in np.ndindex(columns.shape[:-2]):
        found[index] = form.solve(data[index], columns[index]) if columns[index].size else 0
    return found


class _Solution(autograd.Function):
    """``solve(A, b)``: with ``w = solve(A^H, g)`` the cotangents are ``-w @ y^H``, as far as A holds it, and ``w``."""

    @staticmethod
    @override
    def forward(data: Tensor, columns: Tensor, form: Form) -> Tensor:
        return ops.asarray(_solved_each(form, np.asarray(data.detach()), np.asarray(columns.detach()))).to(like=columns)

    @staticmethod
    @override
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.form = inputs[2]
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    @override
    def backward(ctx: Any, g: Tensor) -> Any:
        data, y = ctx.saved_tensors
        adjoint, form = ctx.form.adjoint(data)
        right = _Solution.apply(adjoint, g, form)
        return -ctx.form.outer(right, ops.conj(y)), right, None

    @staticmethod
    @override
    def jvp(ctx: Any, data_t: Tensor | None, columns_t: Tensor | None, form: Any) -> Any:
        data, y = ctx.saved_tensors
        right = ops.zeros_like(y) if columns_t is None else columns_t
        if data_t is not None:
            right = right - ctx.form.times(data_t, y)
        return _Solution.apply(data, right, ctx.form)

    @staticmethod
    @override
    def vmap(info: Any, in_dims: Any, data: Tensor, columns: Tensor, form: Form) -> Any:
        front = [
            ops.broadcast_to(x, (info.batch_size, *x.shape)) if axis is None else ops.moveaxis(x, axis, 0)
            for x, axis in zip((data, columns), in_dims[:2], strict=True)
        ]
        return _Solution.apply(*front, form), 0
