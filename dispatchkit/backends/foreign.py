"""Any library's array namespace as bodies and rules expect it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.foreign_indexing import flat_places, is_basic, is_mask, parts_of, picks_rows
from dispatchkit.backends.tracing import is_traced


@dataclass(frozen=True, slots=True, repr=False)
class UnsaidDevice:
    """The device of arrays that do not say theirs: tracers of JAX, and Dask's arrays.

    Arrays made with it are of the same library.

    Parameters
    ----------
    namespace : that computes on the arrays
    """

    namespace: Any

    def __repr__(self) -> str:
        return f"a device that {self.namespace.__name__} chooses"


Function = Callable[[Any, Any, Any], Any]


class Scatter(NamedTuple):
    """The functions of a library; both are of a flat array, integers that say where, and as many values.

    Attributes
    ----------
    add : gives a copy of the array with every value added at its place
    largest : gives a copy with the largest value of each place, or what was there if that is larger
    """

    add: Function
    largest: Function


def _cupy(name: str) -> Function:
    def scatter(flat: Any, places: Any, values: Any) -> Any:
        import cupyx  # noqa: PLC0415  # optional dependency

        out = flat.copy()
        getattr(cupyx, name)(out, places, values)
        return out

    return scatter


SCATTERS = {
    "torch": Scatter(
        lambda flat, places, values: flat.index_add(0, places, values),
        lambda flat, places, values: flat.scatter_reduce(0, places, values, "amax"),
    ),
    "jax.numpy": Scatter(
        lambda flat, places, values: flat.at[places].add(values),
        lambda flat, places, values: flat.at[places].max(values),
    ),
    "cupy": Scatter(_cupy("scatter_add"), _cupy("scatter_max")),
}


# Parts of an index that are no arrays.
BASIC = frozenset({int, slice, type(None), type(Ellipsis)})
MAKING = frozenset({"arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros"})
TAKING_DTYPES = frozenset(
    {
        *("can_cast", "cumulative_prod", "cumulative_sum", "empty_like", "finfo", "full_like", "iinfo"),
        *("isdtype", "ones_like", "prod", "result_type", "sum", "zeros_like"),
    }
)
# Functions of array-api-compat that look for what PyTorch's own promotes differently, which arrays of one dtype do not.
OF_TWO = frozenset({"add", "divide", "maximum", "minimum", "multiply", "subtract"})
DTYPES = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    }
)


class ForeignNamespace:
    """The array API namespace that bodies and rules receive for arrays of another library.

    Parameters
    ----------
    library : the library's own namespace
    device : where the arrays are, None where the library has no devices
    """

    def __init__(self, library: Any, device: Any) -> None:
        self.__name__: str = library.__name__.removeprefix("array_api_compat.")
        self.library = library
        self.device = device
        # Whether its functions take NumPy's arrays together with its own.
        self.takes_numpy = self.__name__ in ("jax.numpy", "dask.array")
        self._dtypes: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.library, name)
        if name in MAKING:
            value = self._with_own_dtypes(value, device=self.device)
        elif name in TAKING_DTYPES:
            value = self._with_own_dtypes(value)
        elif name in OF_TWO and self.__name__ == "torch":
            value = _of_one_dtype(value)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"<namespace {self.__name__} on {self.device}>"

    def _with_own_dtypes(self, function: Callable[..., Any], **defaults: Any) -> Callable[..., Any]:
        """Return a function that takes NumPy's dtypes, too, and where None is given these defaults."""

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not kwargs and len(args) == 1 and not defaults and hasattr(args[0], "shape"):
                return function(args[0])
            options = {name: self.own_dtype(value) for name, value in kwargs.items() if value is not None}
            if isinstance(options.get("device"), UnsaidDevice):
                del options["device"]
            elif isinstance(options.get("device"), str) and self.__name__ == "jax.numpy":
                from jax import devices  # noqa: PLC0415  # optional dependency

                options["device"] = devices(options["device"])[0]
            return function(*map(self.own_dtype, args), **{**defaults, **options})

        return call

    def own_dtype(self, value: Any) -> Any:
        """Return the library's dtype for one of NumPy's or its name; anything else as it is.

        Raises
        ------
        TypeError : if the library has no such dtype
        """
        if isinstance(value, np.dtype):
            known = self._dtypes.get(value)
            if known is not None:
                return known
            name = value.name
        elif isinstance(value, type):
            name = np.dtype(value).name
        elif isinstance(value, str) and value in DTYPES:
            name = value
        else:
            return value
        dtype = getattr(self.library, name, None)
        if dtype is None:
            raise TypeError(f"{self.__name__} has no dtype {name}")
        if self.__name__ != "jax.numpy":
            if isinstance(value, np.dtype):
                self._dtypes[value] = dtype
            return dtype
        # JAX has those of 32 bits in the place of wider ones.
        from jax import dtypes  # noqa: PLC0415  # optional dependency

        return dtypes.canonicalize_dtype(dtype)

    @cached_property
    def asarray(self) -> Callable[..., Any]:
        """Make an array; PyTorch's own function takes a tensor out of PyTorch's graph."""
        make = self._with_own_dtypes(self.library.asarray, device=self.device)

        @wraps(make)
        def in_graph(x: Any, *args: Any, **kwargs: Any) -> Any:
            if not getattr(x, "requires_grad", False):
                return make(x, *args, **kwargs)
            dtype = self.own_dtype(kwargs.get("dtype") or x.dtype)
            return x.to(kwargs.get("device") or x.device, dtype, copy=bool(kwargs.get("copy")))

        if self.__name__ == "torch":
            return in_graph
        return make

    @cached_property
    def index_dtype(self) -> Any:
        """The dtype of indices."""
        info = getattr(self.library, "__array_namespace_info__", None)
        if info is None:
            return self.library.int64
        return info().default_dtypes()["indexing"]

    @cached_property
    def assignable(self) -> bool:
        """Whether elements of the library's arrays can be assigned to."""
        probe = self.zeros((1,))
        try:
            probe[0] = 1.0
        except TypeError:
            return False
        return True

    @property
    def mutable(self) -> bool:
        """Whether a change of an array changes its views; Dask's assignment does not."""
        return self.assignable and not self.lazy

    @cached_property
    def lazy(self) -> bool:
        """Whether the library's arrays are lazy, such as Dask's."""
        return hasattr(self.zeros((1,)), "__dask_graph__")

    @cached_property
    def matmul(self) -> Callable[[Any, Any], Any]:
        """Multiply matrices; to see that PyTorch's have one dtype takes array-api-compat longer than a product."""
        if self.__name__ != "torch":
            return self.library.matmul  # type: ignore[no-any-return]  # of any library
        return _of_one_dtype(self.library.matmul)

    def _parts(self, shape: tuple[int, ...], key: Any) -> list[Any]:
        """Return the parts of an index.

        Raises
        ------
        NotImplementedError : if their bounds could not be checked without computing lazy arrays
        """
        members = key
        if not isinstance(key, tuple):
            members = (key,)
        if self.lazy and not all(
            member is None or member is ... or isinstance(member, (int, np.integer, slice)) for member in members
        ):
            raise NotImplementedError(
                f"arrays of {self.__name__} take integers and slices as indices, not arrays, whose elements would have "
                f"to be computed; call .compute() first"
            )
        return parts_of(self, shape, key)

    def getitem(self, x: Any, key: Any, /) -> Any:
        """Select elements by any index that NumPy takes."""
        if self.__name__ == "torch" and _is_basic(key):  # which takes them as NumPy does, or refuses them
            try:
                return x[key]
            except (IndexError, ValueError):
                pass  # a step below 0, or an error that is said below
        elif type(key) is int and x.ndim and -x.shape[0] <= key < x.shape[0]:
            if x.ndim == 1:
                return x[key]
            return x[key, ...]
        parts = self._parts(x.shape, key)
        if is_basic(parts):
            return x[tuple(parts)]
        places = flat_places(self, x.shape, parts)
        taken = self.library.take(self.reshape(x, (-1,)), self.reshape(places, (-1,)), axis=0)
        return self.reshape(taken, places.shape)

    def setitem(self, x: Any, key: Any, value: Any, /) -> None:
        """Change elements in place."""
        parts = self._parts(x.shape, key)
        if is_basic(parts) and None not in parts:
            x[tuple(parts)] = self._of_dtype(value, x.dtype)
        else:
            x[...] = self._put(x, parts, value, accumulate=False)

    def index_put(self, x: Any, key: Any, value: Any, /, *, accumulate: bool = False) -> Any:
        """Return a copy of an array with other elements at `key`, or with `value` added there."""
        if self.__name__ == "torch" and _is_basic(key):
            out = self._put_basic(x, key, value, accumulate)
            if out is not None:
                return out
        by_mask = self.lazy and not accumulate and is_mask(key)
        if by_mask and key.shape == x.shape and getattr(value, "ndim", 0) == 0:
            return self.where(key, self.asarray(value, dtype=x.dtype), x)
        parts = self._parts(x.shape, key)
        if not (self.assignable and is_basic(parts) and None not in parts):
            return self._put(x, parts, value, accumulate=accumulate)
        out = self.asarray(x, copy=True)
        value = self._of_dtype(value, x.dtype)
        if accumulate:
            out[tuple(parts)] = out[tuple(parts)] + value
        else:
            out[tuple(parts)] = value
        return out

    def _put_basic(self, x: Any, key: Any, value: Any, accumulate: bool) -> Any:
        """Return a copy of PyTorch's array changed at integers and slices; None where PyTorch does not take these."""
        if is_traced(x) or is_traced(value):
            return None
        out = x.contiguous()  # a new one of a stretched zero, into which cotangents go
        if out is x:
            out = x.clone()
        try:
            if accumulate:
                out[key] += self._of_dtype(value, x.dtype)
            else:
                out[key] = self._of_dtype(value, x.dtype)
        except (IndexError, ValueError, RuntimeError):  # a step below 0, or an error that is said elsewhere
            return None
        return out

    def _of_dtype(self, value: Any, dtype: Any) -> Any:
        if hasattr(value, "dtype"):
            return self.astype(value, dtype, copy=False)
        return value

    def _put(self, x: Any, parts: list[Any], value: Any, *, accumulate: bool) -> Any:
        """Put elements without changing any array: of several values for one place the last stays, or all are added."""
        scatter = SCATTERS.get(self.__name__)
        if scatter is not None and accumulate and picks_rows(parts, x.shape):
            rows = parts[0].indices
            values = self.broadcast_to(self.asarray(value, dtype=x.dtype), (*rows.shape, *x.shape[1:]))
            return scatter.add(x, self.reshape(rows, (-1,)), self.reshape(values, (-1, *x.shape[1:])))
        places = flat_places(self, x.shape, parts)
        values = self.broadcast_to(self.asarray(value, dtype=x.dtype), places.shape)
        if 0 in places.shape:
            return self.asarray(x, copy=True)
        flat, places, values = (self.reshape(part, (-1,)) for part in (x, places, values))
        if scatter is None:
            changed = self._put_by_order(flat, places, values, accumulate=accumulate)
        elif accumulate:
            changed = scatter.add(flat, places, values)
        else:
            numbers = self.arange(values.shape[0], dtype=places.dtype)
            last = scatter.largest(self.full(flat.shape, -1, dtype=places.dtype), places, numbers)
            new = self.library.take(values, self.where(last < 0, self.zeros_like(last), last), axis=0)
            changed = self.where(last < 0, flat, new)
        return self.reshape(changed, x.shape)

    def _put_by_order(self, flat: Any, places: Any, values: Any, *, accumulate: bool) -> Any:
        """Put elements by functions of the standard alone.

        The values are sorted by the place they go to, those that go to one place in the order given. Where they are
        to be added up, each then takes in those before it that go to its place, in steps of doubled width; the last
        of them has the sum, as it has the value that stays where nothing is added up. Each element of the result
        looks for the last value of its place.
        """
        order = self.argsort(places, stable=True)
        take = partial(self.library.take, axis=0)
        places, values = take(places, order), take(values, order)
        if accumulate:
            values = self._summed_by_place(places, values)
        every = self.arange(flat.shape[0], dtype=places.dtype)
        last = self.searchsorted(places, every, side="right") - 1
        last = self.where(last < 0, self.zeros_like(last), last)
        new = take(values, last)
        written = new
        if accumulate:
            written = flat + new
        return self.where(take(places, last) == every, written, flat)

    def _summed_by_place(self, places: Any, values: Any) -> Any:
        """Return sorted values, each with those before it that go to the same place added."""
        width, count = 1, places.shape[0]
        while width < count:
            same = places[width:] == places[:-width]
            if not is_traced(same) and not bool(self.any(same)):
                break
            before = self.where(same, values[:-width], self.zeros_like(values[:-width]))
            values = self.concat([values[:width], values[width:] + before])
            width *= 2
        return values

    def astype(self, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """Convert, and bring to a device; array-api-strict forgets the device where nothing is to be converted."""
        y = self.library.astype(x, self.own_dtype(dtype), copy=copy)
        if device is None:
            return y
        if hasattr(y, "to_device"):
            return y.to_device(device)
        return self.asarray(y, device=device)

    def take(self, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
        """Take elements along an axis, of the flattened array without one; indices may be negative and have axes."""
        if axis is None:
            x, axis = self.reshape(x, (-1,)), 0
        if axis < 0:
            axis = axis + x.ndim
        indices = self.where(indices < 0, indices + x.shape[axis], indices)
        taken = self.library.take(x, self.reshape(indices, (-1,)), axis=axis)
        return self.reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))

    def searchsorted(self, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
        """Find where elements would go; JAX gives narrower integers than those of indices."""
        places = self.library.searchsorted(x1, x2, side=side, sorter=sorter)
        return self.astype(places, self.index_dtype, copy=False)

    @cached_property
    def reshape(self) -> Callable[..., Any]:
        """Change the shape, which may be a list; the standard allows libraries to take tuples alone."""
        reshape: Callable[..., Any] = self.library.reshape

        def to_shape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
            return reshape(x, tuple(shape), copy=copy)

        if self.__name__ != "torch":
            if self.__name__ == "jax.numpy":
                return reshape
            return to_shape
        from torch import reshape as own  # noqa: PLC0415  # optional dependency

        return lambda x, shape, copy=None: own(x, shape) if copy is None else reshape(x, shape, copy=copy)

    @cached_property
    def permute_dims(self) -> Callable[..., Any]:
        """Reorder axes, which JAX does not count from the end."""
        permute: Callable[..., Any] = self.library.permute_dims

        def from_the_end(x: Any, /, axes: Any) -> Any:
            return permute(x, tuple(axis + x.ndim if axis < 0 else axis for axis in axes))

        if self.__name__ == "jax.numpy":
            return from_the_end
        return permute

    @cached_property
    def matrix_transpose(self) -> Callable[[Any], Any]:
        """Swap the last two axes; PyTorch's arrays have an attribute that does."""
        swap: Callable[[Any], Any] = self.library.matrix_transpose
        if self.__name__ == "torch":
            return lambda x: x.mT if x.ndim > 1 else swap(x)
        return swap

    def _floating(self, x: Any) -> Any:
        """Return an array of integers or booleans in double precision, of which PyTorch takes no mean."""
        if self.isdtype(x.dtype, ("bool", "integral")):
            return self.astype(x, np.float64)
        return x

    def mean(self, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        """Average the elements, also integers."""
        return self.library.mean(self._floating(x), axis=axis, keepdims=keepdims)

    def var(self, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """Compute the variance; along no axes array-api-compat's for PyTorch is 0 also of what is not finite."""
        x = self._floating(x)
        if axis != ():
            return self.library.var(x, axis=axis, correction=correction, keepdims=keepdims)
        deviations = self.abs(x - x)
        return deviations * deviations / max(1 - correction, 0)

    def std(self, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """Compute the standard deviation, the root of `var`."""
        return self.sqrt(self.var(x, axis=axis, correction=correction, keepdims=keepdims))

    def count_nonzero(self, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        """Count elements that are not 0; along no axes array-api-compat counts for PyTorch along all."""
        if axis == ():
            return self.astype(x != 0, self.index_dtype)
        return self.library.count_nonzero(x, axis=axis, keepdims=keepdims)

    def isin(self, x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
        """Tell whether elements are among others; array-api-strict does not look at `invert`."""
        among = self.library.isin(x1, x2)
        if invert:
            return self.logical_not(among)
        return among

    def unique_all(self, x: Any, /) -> tuple[Any, Any, Any, Any]:
        """Find distinct elements, their first places, where each went and how often each occurs; PyTorch cannot."""
        values, inverse = self.unique_inverse(x)
        flat = self.reshape(inverse, (-1,))
        order = self.argsort(flat, stable=True)
        places = self.arange(values.shape[0], dtype=flat.dtype)
        ordered = self.take(flat, order)
        first, end = self.searchsorted(ordered, places), self.searchsorted(ordered, places, side="right")
        return values, self.take(order, first), inverse, end - first

    def sign(self, x: Any, /) -> Any:
        """Return the sign; for PyTorch array-api-compat assigns by masks, which cannot be traced and take longer."""
        if self.__name__ != "torch":
            return self.library.sign(x)
        if x.is_complex():
            return x.sgn()
        return self.where(x == x, x.sign(), x)  # noqa: PLR0124  # false for NaN

    def imag(self, x: Any, /) -> Any:
        """Return the imaginary part, zeros for what is real."""
        if self.isdtype(x.dtype, "complex floating"):
            return self.library.imag(x)
        return self.zeros_like(x)


def _of_one_dtype(promoting: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function of PyTorch for arrays of one dtype, and that of array-api-compat for all others.

    Parameters
    ----------
    promoting : of array-api-compat, with the name that PyTorch's has
    """
    import torch  # noqa: PLC0415  # optional dependency

    own = getattr(torch, promoting.__name__)

    @wraps(promoting)
    def compute(x1: Any, x2: Any, /, **options: Any) -> Any:
        if getattr(x1, "dtype", None) is getattr(x2, "dtype", False):
            return own(x1, x2, **options)
        return promoting(x1, x2, **options)

    return compute


def _is_basic(key: Any) -> bool:
    """Return whether an index holds no arrays, and no more than one ellipsis, of which PyTorch takes several."""
    return type(key) in BASIC or (type(key) is tuple and BASIC.issuperset(map(type, key)) and key.count(...) < 2)
