"""Eigenvalues and eigenvectors of banded matrices, by LAPACK through SciPy, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from dispatchkit import autograd, linalg, ops
from dispatchkit.declare.wrapping import holds
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.types.structured.banded import BandedTensor, Bands
from dispatchkit.types.structured.base import floating
from dispatchkit.types.structured.systems import scipy_linalg

__all__: list[str] = []

implements = tensor_protocol.implements


@implements(linalg.eigh)
def eigh_banded(x: BandedTensor, /) -> Any:
    """Return them without the dense matrix; the eigenvectors are dense."""
    if not _hermitian(x):
        return decline("the matrix is not Hermitian and finite")
    return linalg.EighResult(*_Eigen.apply(floating(x.elements), Bands(x.lower, x.upper)))


@implements(linalg.eigvalsh)
def eigvalsh_banded(x: BandedTensor, /) -> Any:
    """Return the eigenvalues in O(n² k); their derivative takes the eigenvectors."""
    if not _hermitian(x):
        return decline("the matrix is not Hermitian and finite")
    elements = floating(x.elements)
    if elements.requires_grad or elements.is_tracer:
        return _Eigen.apply(elements, Bands(x.lower, x.upper))[0]
    array = np.asarray(elements)
    values = np.empty((*array.shape[:-2], array.shape[-1]), array.real.dtype)
    for index in np.ndindex(array.shape[:-2]):
        values[index] = _eigen(array[index], x.upper, eigvals_only=True)
    return ops.asarray(values).to(like=elements)


def _hermitian(x: BandedTensor) -> bool:
    elements = x.elements
    if x.lower != x.upper or not x.shape[-1] or not holds(ops.isfinite(elements), traced=True):
        return False
    return holds(ops.conj(ops.matrix_transpose(x).elements) == elements, traced=True)


def _eigen(bands: np.ndarray, upper: int, **options: Any) -> Any:
    # Diagonals that lie outside the matrix altogether are refused.
    kept = bands[upper : upper + bands.shape[-1]]
    return scipy_linalg("eigh").eig_banded(kept, lower=True, check_finite=False, **options)


class _Eigen(autograd.Function):
    """``A = V diag(w) V^H``; the derivatives are those of the dense matrix, in the places of the bands."""

    @staticmethod
    @override
    def forward(bands: Tensor, form: Bands) -> tuple[Tensor, Tensor]:
        array = np.asarray(bands.detach())
        n = array.shape[-1]
        values = np.empty((*array.shape[:-2], n), array.real.dtype)
        vectors = np.empty((*array.shape[:-2], n, n), array.dtype)
        for index in np.ndindex(array.shape[:-2]):
            values[index], vectors[index] = _eigen(array[index], form.upper)
        return ops.asarray(values).to(like=bands), ops.asarray(vectors).to(like=bands)

    @staticmethod
    @override
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.form = inputs[1]
        ctx.save_for_backward(*output)
        ctx.save_for_forward(*output)

    @staticmethod
    @override
    def backward(ctx: Any, values_g: Tensor, vectors_g: Tensor) -> Any:
        values, vectors = ctx.saved_tensors
        turned = ops.matmul(ops.conj(ops.matrix_transpose(vectors)), vectors_g)
        turned = _over_gaps((turned - ops.conj(ops.matrix_transpose(turned))) / 2, values)
        unit = ops.eye(values.shape[-1], dtype=vectors.dtype, device=values.device)
        inner = ops.matmul(vectors, turned + unit * values_g[..., None, :])
        return ctx.form.outer(inner, ops.conj(vectors)), None

    @staticmethod
    @override
    def jvp(ctx: Any, bands_t: Tensor, form: Any) -> Any:
        values, vectors = ctx.saved_tensors
        moved = ops.matmul(ops.conj(ops.matrix_transpose(vectors)), ctx.form.times(bands_t, vectors))
        moved = (moved + ops.conj(ops.matrix_transpose(moved))) / 2
        return ops.real(linalg.diagonal(moved)), ops.matmul(vectors, _over_gaps(moved, values))

    @staticmethod
    @override
    def vmap(info: Any, in_dims: Any, bands: Tensor, form: Bands) -> Any:
        return _Eigen.apply(ops.moveaxis(bands, in_dims[0], 0), form), (0, 0)


def _over_gaps(x: Tensor, values: Tensor) -> Any:
    """Return the elements over the gaps between eigenvalues, zeros on the diagonal and where there is nothing."""
    gaps = values[..., None, :] - values[..., :, None]
    places = ops.arange(values.shape[-1], device=values.device)
    nothing = (x == 0) | (places[:, None] == places)
    zero = ops.zeros((), dtype=x.dtype, device=x.device)
    return ops.where(nothing, zero, x / ops.where(nothing, ops.ones_like(gaps), gaps))
