"""Solutions and determinants of structures that SciPy or a recursion on NumPy arrays computes matrix by matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from dispatchkit import autograd, linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import plain_arrays
from dispatchkit.types.structured.base import SINGULAR, wants_derivative


class MatrixForm(Protocol):
    """How tensors, the parts of a matrix, hold its elements; the axes in front of those of one matrix are a batch.

    A form takes as many parts as it has: ``**_`` has type checkers accept any number.
    """

    @property
    def axes(self) -> tuple[int, ...]:
        """Number of axes of one matrix in each part."""

    def solve(self, columns: np.ndarray, *parts: Any, **_: Any) -> Any:
        """Return the solution for one matrix, of NumPy arrays."""

    def adjoint(self, *parts: Any, **_: Any) -> tuple[MatrixForm, Sequence[Any]]:
        """Return the form and the parts of the conjugate transpose."""

    def times(self, columns: Any, *parts: Any, **_: Any) -> Any:
        """Return the product of the matrix with columns."""

    def outer(self, left: Any, right: Any) -> Sequence[Any]:
        """Return for each part the sums of the elements of ``left @ right.mT`` where the matrix has its elements."""


class DeterminedForm(MatrixForm, Protocol):
    """The form of matrices whose determinants are computed, too."""

    def log_determinant(self, *parts: Any, **_: Any) -> tuple[Any, Any]:
        """Return sign and logarithm of the absolute value of the determinant of one matrix, of NumPy arrays."""

    def inverse_sums(self, *parts: Any, **_: Any) -> Sequence[Any]:
        """Return for each part the sums of the elements of the inverse's conjugate transpose, as `outer` does."""


def scipy_module(name: str, operation: str) -> Any:
    """Return a module of SciPy.

    Parameters
    ----------
    name : of the module, such as "linalg"
    operation : that asks for it

    Raises
    ------
    ImportError : if SciPy is not installed, naming the operation
    """
    # To look it up by a name that is imported takes longer than many a system of a hundred numbers.
    module = sys.modules.get(f"scipy.{name}")
    if module is not None:
        return module
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(
            f'{operation}: this structure computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
        ) from error


def solution(form: MatrixForm, columns: Tensor, *parts: Tensor) -> Any:
    """Return the solutions of systems.

    Parameters
    ----------
    form : of the parts
    columns : tensor of shape (..., n, k), of the dtype of the solution
    *parts : tensors that hold the matrices
    """
    axes = (2, *form.axes)
    arrays = plain_arrays(columns, *parts)
    if arrays is not None and all(x.ndim == n for x, n in zip(arrays, axes, strict=True)) and arrays[0].size:
        return ops.asarray(np.asarray(form.solve(*arrays), np.result_type(*arrays)))
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip((columns, *parts), axes, strict=True)))
    broadcast = [
        ops.broadcast_to(x, (*batch, *x.shape[x.ndim - n :])) for x, n in zip((columns, *parts), axes, strict=True)
    ]
    return _Solution.apply(form, *broadcast)


def log_determinant(form: DeterminedForm, *parts: Tensor) -> Any:
    """Return what `slogdet` gives; a decline where derivatives are asked for that take the inverse of a singular one.

    Parameters
    ----------
    form : of the parts
    *parts : tensors that hold the matrices, all of one batch
    """
    arrays = plain_arrays(*parts)
    if arrays is not None and all(x.ndim == n for x, n in zip(arrays, form.axes, strict=True)):
        found = form.log_determinant(*arrays)
        dtypes = arrays[0].dtype, arrays[0].real.dtype
        return linalg.SlogdetResult(*[ops.asarray(x, dtype=dtype) for x, dtype in zip(found, dtypes, strict=True)])
    sign, logarithm = _LogDeterminant.apply(form, *parts)
    if wants_derivative(logarithm) and not holds(~ops.isinf(logarithm), traced=True):
        return decline(SINGULAR)
    return linalg.SlogdetResult(sign, logarithm)


def _batch_first(info: Any, in_dims: Any, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors with the axis over which a function is mapped in front."""
    fronted = []
    for x, axis in zip(tensors, in_dims, strict=True):
        if axis is None:
            fronted.append(ops.broadcast_to(x, (info.batch_size, *x.shape)))
        else:
            fronted.append(ops.moveaxis(x, axis, 0))
    return fronted


class _Solution(autograd.Function):
    """``solve(A, b)``: with ``w = solve(A^H, g)`` the cotangents are ``-w @ y^H``, as far as A holds it, and ``w``."""

    @staticmethod
    def forward(form: MatrixForm, columns: Tensor, *parts: Tensor) -> Tensor:
        right, *arrays = (np.asarray(x.detach()) for x in (columns, *parts))
        result = np.empty(right.shape, np.result_type(right, *arrays))
        for index in np.ndindex(right.shape[:-2]):
            if right[index].size:
                result[index] = form.solve(right[index], *(x[index] for x in arrays))
            else:
                result[index] = 0
        return ops.asarray(result).to(like=columns)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.form, _, *parts = inputs
        ctx.save_for_backward(output, *parts)
        ctx.save_for_forward(output, *parts)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        y, *parts = ctx.saved_tensors
        form, adjoint = ctx.form.adjoint(*parts)
        right = _Solution.apply(form, g, *adjoint)
        return None, right, *(-part for part in ctx.form.outer(right, ops.conj(y)))

    @staticmethod
    def jvp(ctx: Any, form: Any, columns_t: Tensor | None, *parts_t: Tensor | None) -> Any:
        y, *parts = ctx.saved_tensors
        right = columns_t
        if columns_t is None:
            right = ops.zeros_like(y)
        if any(t is not None for t in parts_t):
            tangents = (ops.zeros_like(x) if t is None else t for x, t in zip(parts, parts_t, strict=True))
            right = right - ctx.form.times(y, *tangents)
        return _Solution.apply(ctx.form, right, *parts)

    @staticmethod
    def vmap(info: Any, in_dims: Any, form: MatrixForm, *tensors: Tensor) -> Any:
        return _Solution.apply(form, *_batch_first(info, in_dims[1:], tensors)), 0


class _LogDeterminant(autograd.Function):
    """Sign and logarithm of determinants; the cotangents of the parts take the inverse where these have elements."""

    @staticmethod
    def forward(form: DeterminedForm, *parts: Tensor) -> tuple[Tensor, Tensor]:
        arrays = [np.asarray(x.detach()) for x in parts]
        batch = arrays[0].shape[: arrays[0].ndim - form.axes[0]]
        signs = np.empty(batch, arrays[0].dtype)
        logarithms = np.empty(batch, arrays[0].real.dtype)
        for index in np.ndindex(batch):
            signs[index], logarithms[index] = form.log_determinant(*(x[index] for x in arrays))
        return ops.asarray(signs).to(like=parts[0]), ops.asarray(logarithms).to(like=parts[0])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.form, *parts = inputs
        ctx.save_for_backward(*parts)
        ctx.save_for_forward(*parts)
        ctx.mark_non_differentiable(output[0])

    @staticmethod
    def backward(ctx: Any, sign: Tensor, g: Tensor) -> Any:
        sums = ctx.form.inverse_sums(*ctx.saved_tensors)
        return None, *(ops.reshape(g, (*g.shape, *(1,) * n)) * x for x, n in zip(sums, ctx.form.axes, strict=True))

    @staticmethod
    def jvp(ctx: Any, form: Any, *parts_t: Tensor | None) -> Any:
        try:
            sums = ctx.form.inverse_sums(*ctx.saved_tensors)
        except np.linalg.LinAlgError:
            # A matrix is singular, for which `log_determinant` declines: the dense rules answer.
            sums = [ops.zeros_like(x) for x in ctx.saved_tensors]
        terms = [
            ops.real(ops.sum(ops.conj(x) * t, axis=tuple(range(-n, 0))))
            for x, t, n in zip(sums, parts_t, ctx.form.axes, strict=True)
            if t is not None
        ]
        return None, sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, form: DeterminedForm, *parts: Tensor) -> Any:
        return _LogDeterminant.apply(form, *_batch_first(info, in_dims[1:], parts)), (0, 0)
