"""Filling tensors with numbers from a distribution, with one number, with the identity."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.func.containers import as_array_like
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.random.generator import Generator
from dispatchkit.wording import class_name

__all__ = ["constant_", "eye_", "fill", "normal_", "ones_", "trunc_normal_", "uniform_", "zeros_"]


def fill(name: str, tensor: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tensor after it was filled outside any graph."""
    if not isinstance(tensor, Storage):
        raise TypeError(f"{name}: expected a tensor, found a {class_name(type(tensor))}; fill the tensors inside it")
    with no_grad():
        change(tensor)
    return tensor


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Any:
    """Fill a tensor with numbers that are equally likely everywhere from `a` to `b`.

    Parameters
    ----------
    tensor : to fill, of any shape
    a, b : the bounds
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Notes
    -----
    Source: PyTorch, `torch.nn.init.uniform_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> w = dk.nn.init.uniform_(dk.nn.Parameter(dk.zeros((2, 3))), -0.1, 0.1)
    >>> bool(dk.all(dk.abs(w) <= 0.1))
    True
    """
    return fill("uniform_", tensor, lambda x: x.uniform_(a, b, generator=generator))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Any:
    """Fill a tensor with numbers of a normal distribution.

    Parameters
    ----------
    tensor : to fill, of any shape
    mean, std : of the distribution
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Notes
    -----
    Source: PyTorch, `torch.nn.init.normal_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.normal_(dk.zeros((2, 3)), std=0.02).shape
    (2, 3)
    """
    return fill("normal_", tensor, lambda x: x.normal_(mean, std, generator=generator))


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Any:
    """Fill a tensor with numbers of a normal distribution that lie between two bounds.

    Parameters
    ----------
    tensor : to fill, of any shape
    mean, std : of the distribution before it is cut
    a, b : the bounds, themselves not in units of `std`
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : if `std` is not positive, or `a` not below `b`

    Notes
    -----
    Uniform numbers are put through the inverse of the distribution function, which is inaccurate where the bounds are
    far from the mean; more than two standard deviations give a warning. Source: PyTorch, `torch.nn.init.trunc_normal_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> w = dk.nn.init.trunc_normal_(dk.zeros((2, 3)), std=0.5, a=-1, b=1)
    >>> bool(dk.all(dk.abs(w) <= 1))
    True
    """
    if not (std > 0 and a < b):
        raise ValueError(f"trunc_normal_: std is positive and a below b, found std={std}, a={a} and b={b}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    normal = NormalDist(mean, std)
    low, high = normal.cdf(a), normal.cdf(b)

    def draw(x: Any) -> None:
        u = np.asarray(tensor_namespace.random.uniform(low, high, shape=x.shape, generator=generator).array)
        inside = np.clip(u, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        drawn = np.fromiter(map(normal.inv_cdf, inside.ravel().tolist()), float, inside.size)
        x.copy_(as_array_like(np.clip(drawn, a, b).reshape(x.shape), x))

    return fill("trunc_normal_", tensor, draw)


def constant_(tensor: Any, val: float) -> Any:
    """Fill a tensor with one number.

    Parameters
    ----------
    tensor : to fill, of any shape
    val : the number

    Returns
    -------
    Tensor
        The tensor itself.

    Notes
    -----
    Source: PyTorch, `torch.nn.init.constant_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.constant_(dk.zeros(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return fill("constant_", tensor, lambda x: x.fill_(val))


def ones_(tensor: Any) -> Any:
    """Fill a tensor with ones, and return it.

    Parameters
    ----------
    tensor : of any shape, changed in place

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.ones_(dk.zeros(2))
    tensor([1., 1.])
    """
    return fill("ones_", tensor, lambda x: x.fill_(1.0))


def zeros_(tensor: Any) -> Any:
    """Fill a tensor with zeros, and return it.

    Parameters
    ----------
    tensor : of any shape, changed in place

    Returns
    -------
    Tensor
        The tensor itself.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.zeros_(dk.ones(2))
    tensor([0., 0.])
    """
    return fill("zeros_", tensor, lambda x: x.fill_(0.0))


def eye_(tensor: Any) -> Any:
    """Make a matrix the identity.

    Parameters
    ----------
    tensor : of shape (m, n)

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for another number of dimensions

    Notes
    -----
    Source: PyTorch, `torch.nn.init.eye_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.eye_(dk.zeros((2, 3)))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if len(tensor.shape) != 2:
        raise ValueError(f"eye_: only tensors with 2 dimensions are supported, found shape {tuple(tensor.shape)}")
    return fill("eye_", tensor, lambda x: x.copy_(as_array_like(np.eye(*x.shape), x)))
