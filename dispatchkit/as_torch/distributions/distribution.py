"""What all distributions share, `torch.distributions.Distribution`."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dispatchkit.as_torch.attributes.shapes import Shape
from dispatchkit.as_torch.calling.raised import as_raised_by_pytorch
from dispatchkit.as_torch.distributions.constraints import is_dependent
from dispatchkit.as_torch.spelling import Tensor, spell
from dispatchkit.as_torch.table import is_array
from dispatchkit.autograd import grad
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds
from dispatchkit.graph.recording import enable_grad, no_grad
from dispatchkit.marks import override
from dispatchkit.ops.random.generator import source_of


class derived_parameter(property):  # noqa: N801  # as property
    """A parameter that follows from another one, with a gradient wherever it is asked for.

    Parameters
    ----------
    wrapped : gives it
    """

    def __init__(self, wrapped: Any) -> None:
        super().__init__(enable_grad(wrapped))


class Distribution:
    """A probability distribution, or a batch of independent ones.

    Parameters
    ----------
    batch_shape : shape of the batch
    event_shape : shape of one value
    validate_args : whether parameters and values are checked; as `set_default_validate_args` says if None

    Attributes
    ----------
    arg_constraints : sets that the parameters belong to
    support : the set of the values
    has_rsample, has_enumerate_support : whether there are `rsample` and `enumerate_support`
    fields : names of the attributes that are parameters, and how many of their last axes are one parameter together

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Normal(torch.zeros(3), 1.0).batch_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {}
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    fields: ClassVar[dict[str, int]] = {}
    _validate_args = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions check their parameters and values where nothing else is said.

        Parameters
        ----------
        value : whether they do

        Raises
        ------
        ValueError : for anything but a boolean
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: value must be a boolean, found {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None) -> None:
        self._batch_shape, self._event_shape = Shape(batch_shape), Shape(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        """Raise for parameters that do not belong to their sets.

        Raises
        ------
        ValueError : for one that does not
        """
        following = (derived_parameter, cached_property)
        for name, constraint in self.arg_constraints.items():
            follows = name not in self.__dict__ and isinstance(getattr(type(self), name, None), following)
            if is_dependent(constraint) or follows:
                continue
            value = getattr(self, name)
            if not holds(constraint.check(value), traced=True):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Any:
        """Shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """Shape of one value."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        """Mean value."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """Most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """Mean of the squared distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """Root of the variance."""
        return xp.sqrt(self.variance)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with a larger batch, whose parameters are repeated."""
        other = _instance
        if other is None:
            other = copy.copy(self)
        other._event_shape, other._validate_args = self._event_shape, self._validate_args
        shape = Shape(batch_shape)
        for name, events in self.fields.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                ending = tuple(value.shape)[value.ndim - events :]
                other.__dict__[name] = xp.broadcast_to(value, (*shape, *ending))
        other._batch_shape = shape
        return other

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draw values, of shape ``(*sample_shape, *batch_shape, *event_shape)``, through which no gradient flows."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draw values as a function of the parameters, through which gradients flow."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample: its values are not smooth functions")

    def sample_n(self, n: Any) -> Any:
        """Draw a number of values."""
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density or probability of values."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """Return the probability of smaller or equal values."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value: Any) -> Any:
        """Return the value that is not exceeded with a probability."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def enumerate_support(self, expand: Any = True) -> Any:
        """Return all values, along a first axis."""
        raise NotImplementedError(f"{type(self).__name__} cannot list its values")

    def entropy(self) -> Any:
        """Return the mean of ``-log_prob``."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy in closed form")

    def perplexity(self) -> Any:
        """Return the exponential of the entropy."""
        return xp.exp(self.entropy())

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """Return a distribution without parameters, for `expand` of a class to fill.

        Parameters
        ----------
        cls : the class whose `expand` it is
        _instance : a distribution to fill in the place of a new one

        Raises
        ------
        NotImplementedError : for a class derived from it that has its own parameters, and no `expand`
        """
        if _instance is not None:
            return _instance
        derived = type(self)
        if derived is not cls and derived.__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {derived.__name__} of {cls.__name__} that defines a custom __init__ method must also define "
                f"a custom .expand() method"
            )
        return derived.__new__(derived)

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        """Return the shape of draws."""
        if isinstance(sample_shape, int):
            raise TypeError(f"sample_shape must be a tuple such as ({sample_shape},), found {sample_shape}")
        return Shape((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise for values that are not of the distribution, unless it takes arguments unchecked.

        Raises
        ------
        ValueError : for what is no tensor, of another shape, or outside of the support
        """
        if not self._validate_args:
            return
        if not is_array(value):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, wanted = value.shape, self._batch_shape + self._event_shape
        events = len(self._event_shape)
        if len(shape) < events or shape[len(shape) - events :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        pairs = zip(reversed(shape), reversed(wanted), strict=False)
        if any(n not in (1, m) and m != 1 for n, m in pairs):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {wanted}.")
        support = self.support
        if support is None or is_dependent(support):
            return
        if not holds(support.check(value), traced=True):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {shape}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        """Return the class and its parameters, as PyTorch shows them."""
        parts = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown = repr(value.shape)
                if value.size == 1:
                    shown = f"{value.item()}"
                parts.append(f"{name}: {shown}")
        return f"{type(self).__name__}({', '.join(parts)})"


class ExponentialFamily(Distribution):
    """A distribution whose density is h(x) exp(η·t(x) - A(η)), from which its entropy follows.

    Subclasses of your own say what `_natural_params`, η, `_log_normalizer`, the function A, and
    `_mean_carrier_measure`, the mean of log h, are, or write `entropy` themselves.
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not say its natural parameters")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say its log-normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no entropy in closed form")

    @override
    @enable_grad
    def entropy(self) -> Any:
        """Return the mean of ``-log_prob``, by the derivatives of the log-normalizer."""
        carrier = self._mean_carrier_measure
        natural = [x.detach().requires_grad_() for x in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        slopes = grad(normalizer.sum(), natural, create_graph=True)
        products = [xp.reshape(x * slope, (*self.batch_shape, -1)) for x, slope in zip(natural, slopes, strict=True)]
        return normalizer - carrier - sum(xp.sum(product, axis=-1) for product in products)


class CentredDistribution(Distribution):
    """Base of the distributions whose mean and mode are the parameter `loc`."""

    loc: Any

    @property
    @override
    def mean(self) -> Any:
        return self.loc

    @property
    @override
    def mode(self) -> Any:
        return self.loc


def parameters(*values: Any) -> Any:
    """Return parameters as tensors of one shape, numbers in the dtype of the others, and the shape."""
    arrays = [value for value in values if is_array(value)]
    dtype = xp.get_default_dtype()
    if arrays:
        dtype = xp.result_type(*arrays)
    if not xp.isdtype(dtype, ("real floating", "complex floating")):
        dtype = xp.get_default_dtype()
    tensors = [tensor_of(value, dtype) for value in values]
    try:
        shape = np.broadcast_shapes(*(tuple(x.shape) for x in tensors))
    except ValueError as error:
        raise as_raised_by_pytorch(error) from None
    return (*(xp.broadcast_to(x, shape) if tuple(x.shape) != shape else x for x in tensors), shape)


def tensor_of(value: Any, dtype: Any = None) -> Any:
    """Return a parameter as a tensor with PyTorch's methods."""
    if is_array(value):
        return spell(value)
    return Tensor(xp.asarray(value, dtype=dtype or xp.get_default_dtype()))


def constant(array: Any, like: Any) -> Any:
    """Return drawn numbers as a tensor of the floating dtype of another."""
    return Tensor(xp.asarray(np.asarray(array), dtype=like.dtype))


def normals(shape: Any, like: Any) -> Any:
    """Draw normal numbers."""
    return constant(source_of(None).standard_normal(shape), like)


def uniforms(shape: Any, like: Any) -> Any:
    """Draw numbers above 0 and below 1."""
    smallest = xp.finfo(like.dtype).smallest_normal
    return constant(np.maximum(source_of(None).random(shape), smallest), like)


def rows(tensor: Any, shape: Any) -> Any:
    """Return the elements of a parameter in a shape, as NumPy's array."""
    return np.broadcast_to(np.asarray(tensor.detach().numpy()), shape)


def summed(tensor: Any, axes: int) -> Any:
    """Return sums over a number of last axes."""
    axes = min(axes, tensor.ndim)  # one number goes for all
    if not axes:
        return tensor
    return xp.sum(tensor, axis=tuple(range(-axes, 0)))
