"""Methods of PyTorch's tensors that draw elements, or say where they are and how they stand; and old names."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from inspect import signature
from numbers import Number
from types import SimpleNamespace
from typing import Any

import numpy as np

from dispatchkit import random
from dispatchkit.as_torch.attributes.shapes import along_axis, lengths_in
from dispatchkit.as_torch.methods.storages import storage, untyped_storage
from dispatchkit.as_torch.shared import element_strides, of_parts, rounded_to_dtype_of
from dispatchkit.as_torch.spelling import Tensor, adopt
from dispatchkit.as_torch.strided import memory_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.sweep import call_at_the_end


def drawing(
    draw: Callable[..., Any],
    formula: Callable[..., Any],
    kinds: str = "f",
    *,
    of_nothing: bool = False,
    by_arrays: bool = False,
) -> Callable[..., Any]:
    """Return the method that sets every element to what a formula makes of a number that is drawn.

    Parameters
    ----------
    draw : draws the numbers
    formula : of a number and the arguments of the method
    kinds : of elements that the method takes, as NumPy abbreviates them
    of_nothing : whether others are refused where there are no elements, too
    by_arrays : whether an argument may be a tensor with axes
    """
    names = [*signature(formula).parameters][1:]

    def method(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            is_taken = is_array(value) and (by_arrays or not value.ndim)
            if not is_taken and (is_array(value) or not isinstance(value, Number)):
                raise TypeError(f"argument {name!r} must be float, not {type(value).__name__}")
        is_taken = numpy_dtype(self.dtype).kind in kinds
        if not is_taken and not self.numel() and not of_nothing:
            return self.copy_(self.detach())  # which a leaf that requires a gradient refuses
        if not is_taken:
            raise NotImplementedError(f"elements of the dtype {self.dtype} are not drawn from this distribution")
        if numpy_dtype(self.dtype).kind == "c":
            parts = draw(shape=(*self.shape, 2), generator=generator)
            x = parts[..., 0] + 1j * parts[..., 1]
        else:
            x = draw(shape=self.shape, generator=generator)
        return self.copy_(formula(x, *args, **kwargs))

    return method


def _is_below(x: Any, p: Any = 0.5) -> Any:
    """Return where numbers from 0 to 1 are less than a probability."""
    if is_array(p) and not xp.isdtype(p.dtype, "real floating"):
        raise NotImplementedError(f"bernoulli_: probabilities must be floating-point numbers, found {p.dtype}")
    low, high = (float(extreme(p)) if is_array(p) and p.size else p for extreme in (xp.min, xp.max))
    if is_array(low):
        return x < p  # of no elements
    if not 0 <= low <= high <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return x < p


def _between(x: Any, low: float = 0.0, high: float = 1.0, **bounds: float) -> Any:
    """Return numbers from 0 to 1 between two bounds, which PyTorch calls `from` and `to`."""
    low, high = bounds.pop("from", low), bounds.pop("to", high)
    if bounds:
        raise TypeError(f"uniform_() got an unexpected keyword argument {next(iter(bounds))!r}")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if xp.isdtype(x.dtype, "complex floating"):
        return low * (1 + 1j) + (high - low) * x
    return low + (high - low) * x


def _around(x: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Return numbers of the standard normal distribution as those of another one, which complex ones have in all."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if xp.isdtype(x.dtype, "complex floating"):
        std = std / 2**0.5
    return mean + std * x


DRAWN = {
    "normal_": drawing(random.normal, _around, "fc"),
    "uniform_": drawing(random.uniform, _between, "fc", of_nothing=True),
    "bernoulli_": drawing(random.uniform, _is_below, "buif", of_nothing=True, by_arrays=True),
    "cauchy_": drawing(
        random.uniform, lambda x, median=0.0, sigma=1.0: median + sigma * xp.tan(math.pi * (x - 0.5)), of_nothing=True
    ),
    "exponential_": drawing(random.uniform, lambda x, lambd=1.0: -xp.log1p(-x) / lambd),
    "geometric_": drawing(random.uniform, lambda x, p: xp.ceil(xp.log1p(-x) / math.log1p(-p)), "uif"),
    "log_normal_": drawing(random.normal, lambda x, mean=1.0, std=2.0: xp.exp(mean + std * x)),
}


def ndimension(self: Any) -> int:
    """Return the number of axes."""
    return int(self.ndim)


def nelement(self: Any) -> int:
    """Return the number of elements."""
    return int(self.numel())


def element_size(self: Any) -> int:
    """Return the number of bytes of an element."""
    return int(np.dtype(self.dtype).itemsize)


def stride(self: Any, dim: int | None = None) -> Any:
    """Return the distances in memory, in elements, between neighbours along the axes, or along one."""
    return along_axis("stride", element_strides(self.detach().numpy()), dim)


def storage_offset(self: Any) -> int:
    """Return how many elements of the memory come before the first."""
    return int(memory_of(self.detach().numpy())[1] // self.dtype.itemsize)


def data_ptr(self: Any) -> int:
    """Return the address of the first element."""
    return int(self.detach().numpy().ctypes.data)


def new(self: Any, *data: Any, **options: Any) -> Any:
    """Return a tensor of the dtype, of elements or of the lengths of its axes."""
    if (lengths := lengths_in(data)) is not None:
        return Tensor(xp.empty(lengths, dtype=self.dtype), **options)
    return Tensor(*data, **{"dtype": self.dtype} | options)


def base(self: Any) -> Any:
    """Return the tensor that this one is a view of, None where it is none, and where that tensor is gone."""
    memory = self._memory
    root = None if memory is None else memory.root
    return None if root is self else root


def is_view(self: Any) -> bool:
    """Return whether the tensor is a view of another one."""
    return self._memory is not None and self._memory.root is not self


def make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """Return a tensor of a class that has the memory of another one and is a leaf.

    Parameters
    ----------
    cls : a class of tensors
    data : the tensor
    require_grad : whether gradients are collected in the leaf
    """
    return data.detach().as_subclass(cls).requires_grad_(require_grad)


def as_it_is(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the tensor: its memory is that of the machine."""
    return self


def no(self: Any, *args: Any) -> bool:
    """Return False."""
    return False


def get_device(self: Any) -> int:
    """Return the number of the device, -1 for the CPU."""
    return -1


def is_nonzero(self: Any) -> bool:
    """Return whether the only element is not 0.

    Raises
    ------
    RuntimeError : if there are none or several
    """
    if self.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with no values or more than one value is ambiguous")
    return bool(self.detach().reshape(()).numpy() != 0)


def is_same_size(self: Any, other: Any) -> bool:
    """Return whether another tensor has the same shape."""
    return tuple(self.shape) == tuple(other.shape)


def is_signed(self: Any) -> bool:
    """Return whether elements may be negative."""
    return np.dtype(self.dtype).kind in "ifc"


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Set the elements of the main diagonal to a value.

    Parameters
    ----------
    fill_value : a number
    wrap : whether the diagonal begins anew, after a row, in a matrix that has more rows than columns
    """
    np.fill_diagonal(self, rounded_to_dtype_of(self, fill_value), wrap)
    return self


def output_nr(self: Any) -> int:
    """Return which of the outputs of the operation that made it the tensor is."""
    return getattr(self.grad_fn, "index", 0)


def random_(self: Any, first: int = 0, last: int | None = None, *, generator: Any = None) -> Any:
    """Set the elements to whole numbers that are drawn.

    Parameters
    ----------
    first : the least; the bound above it all if there is no `last`
    last : the bound above them
    generator : of the numbers
    """
    bounds: tuple[Any, ...] = first, last
    if any(is_array(bound) and bound.ndim for bound in bounds):
        raise TypeError("random_() received an invalid combination of arguments: the bounds must be int, not Tensor")
    if last is None:
        kind = np.dtype(self.dtype)
        last = 2 ** (np.finfo(kind).nmant + 1) if kind.kind == "f" else 2
        if kind.kind in "iu":
            last = int(np.iinfo(kind).max)
        if first:
            first, last = 0, first
    return self.copy_(xp.astype(random.randint(first, last, shape=tuple(self.shape), generator=generator), self.dtype))


set_gradient: Any = Tensor.grad.fset


def set_gradient_of_dtype(self: Any, value: Any) -> None:
    """Set the gradient.

    Raises
    ------
    RuntimeError : for one of another dtype
    """
    if value is not None and is_array(value) and value.dtype != self.dtype:
        raise RuntimeError(f"assigned grad has data of a different type: {value.dtype}, not {self.dtype}")
    set_gradient(self, value)


def set_real(self: Any, value: Any) -> None:
    """Set the real parts of the elements."""
    if not self.is_complex():
        self.copy_(value)
        return
    self.copy_(of_parts(xp.astype(value, self.imag.dtype), self.imag))


def set_imag(self: Any, value: Any) -> None:
    """Set the imaginary parts of the elements.

    Raises
    ------
    RuntimeError : for a tensor of real numbers
    """
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    self.copy_(of_parts(self.real, xp.astype(value, self.real.dtype)))


def sparse_dim(self: Any) -> int:
    """Return 0, the number of axes that have indices."""
    return 0


METHODS = (
    ndimension,
    nelement,
    element_size,
    stride,
    data_ptr,
    storage_offset,
    storage,
    untyped_storage,
    new,
    get_device,
    is_nonzero,
    is_same_size,
    is_signed,
    sparse_dim,
)
# With which axes last the elements of a layout follow one another.
CHANNELS_LAST = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}


def is_contiguous(self: Any, memory_format: Any = "contiguous_format") -> bool:
    """Return whether the elements stand in memory in the order of the axes.

    Parameters
    ----------
    memory_format : the order of the axes, ``"channels_last"`` with those of channels behind the others
    """
    x, order = self, CHANNELS_LAST.get(memory_format)
    if order is not None:
        if self.ndim != len(order):
            return False
        x = self.permute(order)
    return bool(super(Tensor, x).is_contiguous())  # of tracers, too


def reversed_axes(self: Any) -> Any:
    """Return the tensor with its axes in reverse order."""
    n = self.ndim
    if n == 2:
        return adopt(xp.matrix_transpose(self))
    if not n:
        return self
    warnings.warn(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated: write `x.mT` to "
        "transpose batches of matrices, or `x.permute(*range(x.ndim - 1, -1, -1))` to reverse the order of all axes.",
        stacklevel=2,
    )
    return self.permute(tuple(range(self.ndim))[::-1])


def delete_item(self: Any, key: Any) -> None:
    """Raise, as lengths of axes stay as they are.

    Raises
    ------
    TypeError : always
    """
    raise TypeError("Tensor does not support deleting items")


def transposed(name: str, conjugates: bool, most: int | None = None) -> property:
    """Return the attribute that is a matrix with its last two axes interchanged.

    Parameters
    ----------
    name : of the attribute
    conjugates : whether its elements are conjugates
    most : how many axes it takes
    """

    def attribute(self: Any) -> Any:
        if self.ndim == 1 or self.ndim > (most or self.ndim):
            raise RuntimeError(f"tensor.{name} is only supported on matrices, found shape {[*self.shape]}")
        y = self
        if self.ndim:
            y = self.transpose(-2, -1)
        if conjugates:
            return y.conj()
        return y

    return property(attribute, doc="The matrix with its last two axes interchanged" + ", conjugated" * conjugates + ".")


# In the place of the library's.
INSTEAD = {
    "is_contiguous": is_contiguous,
    "T": property(reversed_axes),
    "mT": transposed("mT", conjugates=False),
    "mH": transposed("mH", conjugates=True),
    "H": transposed("H", conjugates=True, most=2),
    "__delitem__": delete_item,
}
NAMES = {
    **{method.__name__: method for method in (*METHODS, fill_diagonal_, random_)},
    "output_nr": property(output_nr),
    "_base": property(base),
    "_is_view": is_view,
    "_cdata": property(id),
    "_make_subclass": staticmethod(make_subclass),
    # By which programs have something done when a pass is over.
    "_execution_engine": SimpleNamespace(queue_callback=call_at_the_end),
    "dense_dim": ndimension,
    **dict.fromkeys(("pin_memory", "share_memory_", "to_dense", "coalesce"), as_it_is),
    **dict.fromkeys(("is_pinned", "is_shared", "is_conj", "is_neg", "is_inference", "is_distributed"), no),
    **{name: property(no) for name in ("is_sparse", "is_quantized", "is_meta", "is_nested", "is_mkldnn")},
    "layout": property(lambda self: "strided"),
}


def give_further_methods() -> None:
    """Give tensors the methods that draw, and the others where they have none of the name."""
    for name, method in (DRAWN | INSTEAD).items():
        setattr(Tensor, name, method)
    for name, method in NAMES.items():
        if not hasattr(Tensor, name):
            setattr(Tensor, name, method)
    for name, setter in {"real": set_real, "imag": set_imag, "grad": set_gradient_of_dtype}.items():
        setattr(Tensor, name, getattr(Tensor, name).setter(setter))
