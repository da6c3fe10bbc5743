"""The Wishart distribution of matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import ExponentialFamily, normals, tensor_of
from dispatchkit.as_torch.distributions.multivariate import LOWER, OfCovariance, one_matrix
from dispatchkit.as_torch.distributions.positive import Chi2
from dispatchkit.as_torch.spelling import FUNCTIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds
from dispatchkit.marks import override


class Wishart(OfCovariance, ExponentialFamily):
    """The distribution of sums of products of normal vectors with themselves.

    Parameters
    ----------
    df : degrees of freedom, how many vectors there are; larger than n - 1
    covariance_matrix, precision_matrix : of the vectors, of shape (..., n, n); the precision is its inverse
    scale_tril : lower triangular, with a positive diagonal, whose product with its transpose is the covariance

    Raises
    ------
    ValueError : for fewer degrees of freedom, and unless one matrix is given

    Notes
    -----
    Source: Bartlett, 1933, for the draws: the lower factor of a draw has independent elements.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Wishart(3.0, torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    fields = {
        "df": 0,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
        "_unbroadcasted_scale_tril": 2,
    }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: Any = None,
    ) -> None:
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        n = matrix.shape[-1]
        df = xp.astype(tensor_of(df, matrix.dtype), matrix.dtype, copy=False)
        shape = np.broadcast_shapes(tuple(matrix.shape)[:-2], tuple(df.shape))
        if holds(xp.any(df <= n - 1)):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if holds(xp.any(df < n)):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self.df = xp.broadcast_to(df, shape)
        self.__dict__[name] = xp.broadcast_to(matrix, (*shape, n, n))
        super().__init__(shape, (n, n), validate_args)
        self._unbroadcasted_scale_tril = LOWER[name](self.__dict__[name])

    @property
    def arg_constraints(self) -> Any:
        """The sets that the parameters belong to."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    @override
    def mean(self) -> Any:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    @override
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        return xp.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix

    @property
    @override
    def variance(self) -> Any:
        covariance = self.covariance_matrix
        diagonal = xp.linalg.diagonal(covariance)
        return self.df[..., None, None] * (covariance**2 + diagonal[..., None] * diagonal[..., None, :])

    @override
    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Any:
        shape, n = self._extended_shape(sample_shape), self._event_shape[-1]
        squares = Chi2(self.df[..., None] - xp.arange(n, dtype=self.df.dtype)).rsample(sample_shape)
        least = float(xp.finfo(self.df.dtype).eps)
        diagonal = xp.clip(xp.sqrt(squares), least, None)[..., None] * xp.eye(n, dtype=self.df.dtype)
        factor = self._unbroadcasted_scale_tril @ (diagonal + xp.tril(normals(shape, self.df), k=-1))
        return factor @ factor.mT

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n = self._event_shape[-1]
        of_value = xp.linalg.slogdet(value)[1]
        return (self.df - n - 1) / 2 * of_value - self._log_scale() - self._trace_of_quotient(value) / 2

    def _log_scale(self) -> Any:
        """Return the logarithm of what the density is divided by."""
        n = self._event_shape[-1]
        return self.df * (n * math.log(2) / 2 + self._half_log_det()) + FUNCTIONS["mvlgamma"](self.df / 2, n)

    def _trace_of_quotient(self, value: Any) -> Any:
        """Return the traces of the inverse covariance times matrices."""
        return xp.sum(self.precision_matrix * value, axis=(-2, -1))

    @override
    def entropy(self) -> Any:
        n = self._event_shape[-1]
        scale = (n + 1) * (n * math.log(2) / 2 + self._half_log_det()) + FUNCTIONS["mvlgamma"](self.df / 2, n)
        slopes = sum(xp.special.digamma(self.df / 2 - place / 2) for place in range(n))
        return scale - (self.df - n - 1) / 2 * slopes + self.df * n / 2
