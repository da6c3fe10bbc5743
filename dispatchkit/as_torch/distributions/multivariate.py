"""The normal distribution of vectors, and a distribution of matrices of correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import (
    CentredDistribution,
    Distribution,
    derived_parameter,
    normals,
    parameters,
    tensor_of,
)
from dispatchkit.as_torch.distributions.positive import Beta
from dispatchkit.as_torch.table import TRANSLATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override


def solved(lower: Any, vectors: Any) -> Any:
    """Return solutions of triangular systems, whose right sides are vectors."""
    lead = np.broadcast_shapes(tuple(lower.shape)[:-2], tuple(vectors.shape)[:-1])
    n = lower.shape[-1]
    lower, vectors = xp.broadcast_to(lower, (*lead, n, n)), xp.broadcast_to(vectors, (*lead, n))
    return TRANSLATIONS["linalg.solve_triangular"](lower, vectors[..., None], upper=False)[..., 0]


def one_matrix(covariance_matrix: Any, precision_matrix: Any, scale_tril: Any) -> tuple[str, Any]:
    """Return the one of three matrices that is given, and its name.

    Raises
    ------
    ValueError : for several or none, and for one of fewer than two axes
    """
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
    return name, matrix


def lower_of_precision(precision: Any) -> Any:
    """Return the lower triangular factor of the inverse of matrices."""
    flipped = xp.linalg.cholesky(xp.flip(precision, axis=(-2, -1)))
    upper = xp.flip(flipped, axis=(-2, -1)).mT
    unit = xp.broadcast_to(xp.eye(precision.shape[-1], dtype=precision.dtype), tuple(precision.shape))
    return TRANSLATIONS["linalg.solve_triangular"](upper, unit, upper=False)


# How the lower factor follows from each matrix.
LOWER: dict[str, Any] = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": xp.linalg.cholesky,
    "precision_matrix": lower_of_precision,
}


class OfCovariance(Distribution):
    """Base of the distributions that are given a covariance, its inverse or its lower factor."""

    _unbroadcasted_scale_tril: Any

    @derived_parameter
    def scale_tril(self) -> Any:
        """Return the lower triangular matrix."""
        if "scale_tril" in self.__dict__:
            return self.__dict__["scale_tril"]
        return self._unbroadcasted_scale_tril

    @derived_parameter
    def covariance_matrix(self) -> Any:
        """Return the covariance."""
        if "covariance_matrix" in self.__dict__:
            return self.__dict__["covariance_matrix"]
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @derived_parameter
    def precision_matrix(self) -> Any:
        """Return the inverse of the covariance."""
        if "precision_matrix" in self.__dict__:
            return self.__dict__["precision_matrix"]
        return xp.linalg.inv(self.covariance_matrix)

    def _half_log_det(self) -> Any:
        """Return half of the logarithm of the determinant of the covariance."""
        return xp.sum(xp.log(xp.linalg.diagonal(self._unbroadcasted_scale_tril)), axis=-1)


class MultivariateNormal(OfCovariance, CentredDistribution):
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
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        shape = np.broadcast_shapes(tuple(matrix.shape)[:-2], tuple(loc.shape)[:-1])
        n = loc.shape[-1]
        self.loc = xp.broadcast_to(loc, (*shape, n))
        self.__dict__[name] = xp.broadcast_to(matrix, (*shape, n, n))
        super().__init__(shape, (n,), validate_args)
        self._unbroadcasted_scale_tril = LOWER[name](self.__dict__[name])

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

    @override
    def entropy(self) -> Any:
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class LowRankMultivariateNormal(CentredDistribution):
    """The normal distribution of vectors whose covariance is a matrix of low rank and a diagonal.

    Parameters
    ----------
    loc : mean, of shape (..., n)
    cov_factor : W of shape (..., n, r)
    cov_diag : D of shape (..., n); the covariance is ``W W^T + D``

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.variance
    tensor([2., 1.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    fields = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: Any = None) -> None:
        loc, factor, diagonal = map(tensor_of, (loc, cov_factor, cov_diag))
        n = loc.shape[-1]
        if factor.ndim < 2 or factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if diagonal.shape[-1] != n:
            raise ValueError(f"cov_diag must be a batch of vectors with shape ({n},)")
        shape = np.broadcast_shapes(tuple(loc.shape)[:-1], tuple(factor.shape)[:-2], tuple(diagonal.shape)[:-1])
        self.loc, self.cov_diag = xp.broadcast_to(loc, (*shape, n)), xp.broadcast_to(diagonal, (*shape, n))
        self.cov_factor = xp.broadcast_to(factor, (*shape, *factor.shape[-2:]))
        super().__init__(shape, (n,), validate_args)

    @property
    @override
    def variance(self) -> Any:
        return xp.sum(self.cov_factor**2, axis=-1) + self.cov_diag

    @derived_parameter
    def covariance_matrix(self) -> Any:
        """Return the covariance."""
        n = self._event_shape[0]
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag[..., None] * xp.eye(n, dtype=self.loc.dtype)

    @derived_parameter
    def scale_tril(self) -> Any:
        """Return the lower triangular matrix whose product with its transpose is the covariance."""
        return xp.linalg.cholesky(self.covariance_matrix)

    @derived_parameter
    def precision_matrix(self) -> Any:
        """Return the inverse of the covariance."""
        return xp.linalg.inv(self.covariance_matrix)

    def _small(self) -> Any:
        """Return ``D^-1 W``, and the lower factor of ``1 + W^T D^-1 W``."""
        scaled = self.cov_factor / self.cov_diag[..., None]
        rank = self.cov_factor.shape[-1]
        inner = xp.eye(rank, dtype=self.loc.dtype) + self.cov_factor.mT @ scaled
        return scaled, xp.linalg.cholesky(inner)

    def _half_log_det(self) -> Any:
        """Return half of the logarithm of the determinant of the covariance."""
        _, lower = self._small()
        of_factor = xp.sum(xp.log(xp.linalg.diagonal(lower)), axis=-1)
        return of_factor + 0.5 * xp.sum(xp.log(self.cov_diag), axis=-1)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        along = normals((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        apart = normals(shape, self.loc)
        return self.loc + (self.cov_factor @ along[..., None])[..., 0] + xp.sqrt(self.cov_diag) * apart

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        apart, (scaled, lower) = value - self.loc, self._small()
        along = (scaled.mT @ apart[..., None])[..., 0]
        distance = xp.sum(apart**2 / self.cov_diag, axis=-1) - xp.sum(solved(lower, along) ** 2, axis=-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    @override
    def entropy(self) -> Any:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()


class LKJCholesky(Distribution):
    """The distribution of lower factors of matrices of correlations, by Lewandowski, Kurowicka and Joe.

    Parameters
    ----------
    dim : the number of rows of the matrices, at least 2
    concentration : the density is a power of the determinant, by one less than this; of 1 all are equally likely

    Raises
    ------
    ValueError : for fewer rows

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.LKJCholesky(2, 1.0).log_prob(torch.eye(2))
    tensor(-0.6931)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    fields = {"concentration": 0}

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: Any = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, shape = parameters(concentration)
        super().__init__(shape, (dim, dim), validate_args)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        # Source: the onion method, row by row: the length of what is off the diagonal, then its direction. PyTorch's
        # lengths have other distributions from the third row on, which are not those of its density.
        shape = self._extended_shape(sample_shape)
        with no_grad():
            before = xp.maximum(xp.arange(self.dim, dtype=self.concentration.dtype) - 1, 0)
            rest = self.concentration[..., None] + 0.5 * (self.dim - 2) - 0.5 * before
            squares = Beta(0.5 * before + 0.5, rest).sample(sample_shape)[..., None]
            directions = xp.tril(normals(shape, self.concentration), k=-1)
            lengths = xp.linalg.vector_norm(directions, axis=-1, keepdims=True)
            rows = xp.sqrt(squares) * directions / xp.where(lengths == 0, 1.0, lengths)
            least = float(xp.finfo(rows.dtype).smallest_normal)
            diagonal = xp.sqrt(xp.clip(1 - xp.sum(rows**2, axis=-1), least, None))
            return tensor_of(rows + diagonal[..., None] * xp.eye(self.dim, dtype=rows.dtype))

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        diagonal = xp.linalg.diagonal(value)[..., 1:]
        numbers = xp.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        powers = 2 * (self.concentration - 1)[..., None] + self.dim - numbers
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        total = 0.5 * below * math.log(math.pi) + 0.25 * below * (below - 1) * math.log(math.pi)
        for place in range(below):
            total = total + xp.special.gammaln(alpha - 0.5 - 0.5 * place)
        return xp.sum(powers * xp.log(diagonal), axis=-1) - total + below * xp.special.gammaln(alpha)
