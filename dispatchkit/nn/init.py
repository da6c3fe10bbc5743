"""Filling parameters with numbers to start from, in place. Source of names and values: PyTorch, `torch.nn.init`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import make_home, tensor_namespace
from dispatchkit.func.containers import as_array_like
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.random.generator import Generator
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.wording import class_name

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


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
    far from the mean; more than two standard deviations give a warning.

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

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.constant_(dk.zeros(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return fill("constant_", tensor, lambda x: x.fill_(val))


def ones_(tensor: Any) -> Any:
    """Fill a tensor with ones.

    Parameters
    ----------
    tensor : to fill, of any shape

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
    """Fill a tensor with zeros.

    Parameters
    ----------
    tensor : to fill, of any shape

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


LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
GAINS = {**dict.fromkeys(LINEAR, 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which weights before an activation are scaled to keep the variance.

    Parameters
    ----------
    nonlinearity : name of the activation in `nn.functional`
    param : negative slope of ``"leaky_relu"``, 0.01 by default

    Returns
    -------
    float
        The factor.

    Raises
    ------
    ValueError : for an activation without a known gain, or a slope that is no number

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.calculate_gain("leaky_relu", 0.0)
    1.4142135623730951
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        else:
            slope = param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"calculate_gain: negative_slope {slope!r} not a valid number")
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in GAINS:
        raise ValueError(
            f"calculate_gain: unsupported nonlinearity {nonlinearity!r}; known: {', '.join([*GAINS, 'leaky_relu'])}"
        )
    return GAINS[nonlinearity]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Fill a tensor with uniform numbers that keep the variance of values and gradients between linear layers.

    Parameters
    ----------
    tensor : of shape (outputs, inputs, ...)
    gain : a further factor, see `calculate_gain`
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for fewer than two dimensions

    Notes
    -----
    The bounds are ``±gain * sqrt(6 / (fan_in + fan_out))``. Source: Glorot and Bengio, 2010.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> w = dk.nn.init.xavier_uniform_(dk.zeros((2, 4)))
    >>> bool(dk.all(dk.abs(w) <= 1))
    True
    """
    bound = gain * math.sqrt(6 / _fan_sum("xavier_uniform_", tensor))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Fill a tensor with normal numbers that keep the variance of values and gradients between linear layers.

    Parameters
    ----------
    tensor, gain, generator : as for `xavier_uniform_`

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for fewer than two dimensions

    Notes
    -----
    The standard deviation is ``gain * sqrt(2 / (fan_in + fan_out))``. Source: Glorot and Bengio, 2010.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.xavier_normal_(dk.zeros((2, 4))).shape
    (2, 4)
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2 / _fan_sum("xavier_normal_", tensor)), generator)


def kaiming_uniform_(
    tensor: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Fill a tensor with uniform numbers that keep the variance through layers with rectifiers.

    Parameters
    ----------
    tensor : of shape (outputs, inputs, ...)
    a : negative slope of the rectifier after the layer
    mode : ``"fan_in"`` to keep the variance of values, ``"fan_out"`` that of gradients
    nonlinearity : name of the activation, see `calculate_gain`
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for fewer than two dimensions, or another mode

    Warns
    -----
    UserWarning : for a tensor without elements

    Notes
    -----
    The bounds are ``±gain * sqrt(3 / fan)``. Source: He et al., 2015.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> w = dk.nn.init.kaiming_uniform_(dk.zeros((2, 6)), nonlinearity="relu")
    >>> bool(dk.all(dk.abs(w) <= 1))
    True
    """
    bound = math.sqrt(3) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Fill a tensor with normal numbers that keep the variance through layers with rectifiers.

    Parameters
    ----------
    tensor, a, mode, nonlinearity, generator : as for `kaiming_uniform_`

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for fewer than two dimensions, or another mode

    Notes
    -----
    The standard deviation is ``gain / sqrt(fan)``. Source: He et al., 2015.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.kaiming_normal_(dk.zeros((2, 6)), mode="fan_out").shape
    (2, 6)
    """
    return normal_(tensor, 0.0, _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Make the rows, or where there are more of them the columns, of a matrix orthogonal to each other.

    Parameters
    ----------
    tensor : of shape (rows, ...); all axes but the first are the columns together
    gain : length of the rows or columns
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for fewer than two dimensions

    Notes
    -----
    The orthogonal factor of a matrix of normal numbers, its signs chosen so that all such matrices are equally likely.
    Source: Saxe et al., 2013.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> q = dk.nn.init.orthogonal_(dk.zeros((2, 3)))
    >>> bool(dk.all(dk.abs(q @ q.T - dk.eye(2)) < 1e-12))
    True
    """
    if len(tensor.shape) < 2:
        raise ValueError(
            f"orthogonal_: only tensors with 2 or more dimensions are supported, found shape {tuple(tensor.shape)}"
        )

    def draw(x: Any) -> None:
        shape = (x.shape[0], math.prod(x.shape[1:]))
        drawn = np.asarray(tensor_namespace.random.normal(shape=shape, generator=generator).array)
        if shape[0] < shape[1]:
            drawn = drawn.T
        q, r = np.linalg.qr(drawn)
        q *= np.sign(np.diagonal(r))
        if shape[0] < shape[1]:
            q = q.T
        x.copy_(as_array_like(gain * q.reshape(x.shape), x))

    return fill("orthogonal_", tensor, draw)


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Make a convolution give its input, as far as it has channels for it.

    Parameters
    ----------
    tensor : of shape (C_out, C_in / groups, ...), with one to three axes of a kernel
    groups : number of groups, each of which gives its own input

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for another number of axes, or if the groups do not divide the first

    Notes
    -----
    Source: PyTorch, `torch.nn.init.dirac_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.init.dirac_(dk.empty((2, 2, 3)))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    shape = tuple(tensor.shape)
    if len(shape) not in (3, 4, 5):
        raise ValueError(f"dirac_: only tensors with 3, 4, or 5 dimensions are supported, found shape {shape}")
    if shape[0] % groups:
        raise ValueError(f"dirac_: dim 0 must be divisible by groups, found shape {shape} and {groups} groups")

    def draw(x: Any) -> None:
        of_group = shape[0] // groups
        ones = np.zeros(shape)
        middle = tuple(length // 2 for length in shape[2:])
        for group in range(groups):
            for channel in range(min(of_group, shape[1])):
                ones[(group * of_group + channel, channel, *middle)] = 1
        x.copy_(as_array_like(ones, x))

    return fill("dirac_", tensor, draw)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Any:
    """Draw normal numbers, and make a share of each column zero.

    Parameters
    ----------
    tensor : matrix of shape (rows, columns)
    sparsity : the share of the rows of each column that are zero
    std : standard deviation of the others
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.

    Raises
    ------
    ValueError : for another number of axes than two

    Notes
    -----
    Source: Martens, 2010; PyTorch, `torch.nn.init.sparse_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> (dk.nn.init.sparse_(dk.empty((10, 3)), sparsity=0.25) == 0).sum(axis=0)
    tensor([3, 3, 3])
    """
    if len(tensor.shape) != 2:
        raise ValueError(f"sparse_: only tensors with 2 dimensions are supported, found shape {tuple(tensor.shape)}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)

    def draw(x: Any) -> None:
        drawn = np.asarray(tensor_namespace.random.normal(0.0, std, shape=(rows, columns), generator=generator).array)
        order = np.asarray(tensor_namespace.random.uniform(shape=(rows, columns), generator=generator).array)
        kept = np.argsort(np.argsort(order, axis=0), axis=0) >= zeros
        x.copy_(as_array_like(np.where(kept, drawn, 0.0), x))

    return fill("sparse_", tensor, draw)


def fans(name: str, tensor: Any) -> tuple[int, int]:
    """Return how many inputs an output has, and how many outputs an input.

    Parameters
    ----------
    name : of the function, for the message
    tensor : weights of shape (outputs, inputs, ...)

    Raises
    ------
    ValueError : for fewer than two axes
    """
    if len(tensor.shape) < 2:
        raise ValueError(
            f"{name}: fan in and fan out can not be computed for tensor with fewer than 2 dimensions, found shape "
            f"{tuple(tensor.shape)}"
        )
    outputs, inputs, *window = tensor.shape
    field = math.prod(window)
    return inputs * field, outputs * field


def _fan_sum(name: str, tensor: Any) -> int:
    # Of a tensor without elements, whose bounds do not matter, the sum may be 0.
    return max(1, sum(fans(name, tensor)))


def _kaiming_std(name: str, tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    found = dict(zip(("fan_in", "fan_out"), fans(name, tensor), strict=True))
    if str(mode).lower() not in found:
        raise ValueError(f"{name}: mode {mode!r} is not supported; use 'fan_in' or 'fan_out'")
    if 0 in tensor.shape:
        warn_at(caller_frame(), f"{name}: Initializing zero-element tensors is a no-op", UserWarning)
    return calculate_gain(nonlinearity, a) / math.sqrt(max(1, found[mode.lower()]))


make_home(__name__)
