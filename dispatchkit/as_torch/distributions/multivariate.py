"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import Distribution, normals, tensor_of
from dispatchkit.as_torch.table import TRANSLATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override


def solved(lower: Any, vectors: Any) -> Any:
    """Return solutions of triangular systems, whose right sides are vectors."""
    lead = np.broadcast_shapes(tuple(lower.shape)[:-2], tuple(vectors.shape)[:-1])
    n = lower.shape[-1]
    lower, vectors = xp.broadcast_to(lower, (*lead, n, n)), xp.broadcast_to(vectors, (*lead, n))
    return TRANSLATIONS["linalg.solve_triangular"](lower, vectors[..., None], upper=False)[..., 0]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, with one of three matrices.

    Parameters
    ----------
    loc : mean, of shape (..., n)
    covariance_matrix, precision_matrix : of shape (..., n, n); the precision is the inverse of the covariance
    scale_tril : lower triangular, with a positive diagonal, whose product with its transpose is the covariance

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    fields = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2, "_unbroadcasted_scale_tril": 2}

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: Any = None,
    ) -> None:
        loc = tensor_of(loc)
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        held = {name: tensor_of(matrix) for name, matrix in matrices.items() if matrix is not None}
        if len(held) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = held.items()
        if matrix.ndim < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        shape = np.broadcast_shapes(tuple(matrix.shape)[:-2], tuple(loc.shape)[:-1])
        n = loc.shape[-1]
        self.loc = xp.broadcast_to(loc, (*shape, n))
        self.__dict__[name] = xp.broadcast_to(matrix, (*shape, n, n))
        super().__init__(shape, (n,), validate_args)
        if name == "scale_tril":
            lower = self.__dict__[name]
        elif name == "covariance_matrix":
            lower = xp.linalg.cholesky(self.__dict__[name])
        else:
            lower = _lower_of_precision(self.__dict__[name])
        self._unbroadcasted_scale_tril = lower

    @property
    def scale_tril(self) -> Any:
        """The lower triangular matrix."""
        if "scale_tril" in self.__dict__:
            return self.__dict__["scale_tril"]
        return self._unbroadcasted_scale_tril

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        if "covariance_matrix" in self.__dict__:
            return self.__dict__["covariance_matrix"]
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        if "precision_matrix" in self.__dict__:
            return self.__dict__["precision_matrix"]
        return xp.linalg.inv(self.covariance_matrix)

    @property
    @override
    def mean(self) -> Any:
        return self.loc

    @property
    @override
    def mode(self) -> Any:
        return self.loc

    @property
    @override
    def variance(self) -> Any:
        return xp.sum(self._unbroadcasted_scale_tril**2, axis=-1)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        draws = normals(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ draws[..., None])[..., 0]

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n = self._event_shape[0]
        distance = xp.sum(solved(self._unbroadcasted_scale_tril, value - self.loc) ** 2, axis=-1)
        return -0.5 * (n * math.log(2 * math.pi) + distance) - self._half_log_det()

    def _half_log_det(self) -> Any:
        """Return half of the logarithm of the determinant of the covariance."""
        return xp.sum(xp.log(xp.linalg.diagonal(self._unbroadcasted_scale_tril)), axis=-1)

    @override
    def entropy(self) -> Any:
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


def _lower_of_precision(precision: Any) -> Any:
    """Return the lower triangular factor of the inverse of matrices."""
    flipped = xp.linalg.cholesky(xp.flip(precision, axis=(-2, -1)))
    upper = xp.flip(flipped, axis=(-2, -1)).mT
    unit = xp.broadcast_to(xp.eye(precision.shape[-1], dtype=precision.dtype), tuple(precision.shape))
    return TRANSLATIONS["linalg.solve_triangular"](upper, unit, upper=False)
