"""`Tensor`: an array, its place in the graph, and methods that are views of operations."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dispatchkit.backends.arrays import device_of, foreign, is_lazy, may_share_memory, numpy_dtype, raw_array
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.wrapping import make_leaf, wrapped
from dispatchkit.graph.storage import Storage, Vertex, share_memory, vertex_of
from dispatchkit.ops.creation.conversion import to_raw
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.resolution import answer_by_rules
from dispatchkit.tensor.construction import check_subclass, refuse_arguments
from dispatchkit.tensor.conversion import ConversionMethods
from dispatchkit.tensor.gradients import GradientMethods, gradient_of
from dispatchkit.tensor.inplace import with_inplace
from dispatchkit.tensor.methods import TensorMethods
from dispatchkit.tensor.printing import format_tensor, html_of
from dispatchkit.tensor.weak import weak_dtype
from dispatchkit.wording import class_name

if TYPE_CHECKING:
    from typing import Never, Self

# How arrays of other libraries are taken in.
ADVICE = {
    "torch": "convert it with dispatchkit.interop.torch.from_torch, which keeps its graph, and bring the others to it "
    "with x.to(like=y)",
    "jax": "import dispatchkit.interop.jax, with which it mixes, or convert it with dispatchkit.asarray",
}

__all__ = ["Tensor", "attributes_of", "twin"]


@with_inplace
class Tensor(ConversionMethods, GradientMethods, TensorMethods):
    """An array that gradients can flow through.

    Parameters
    ----------
    data : array of any library, scalar, or nested sequence of numbers; memory is shared where possible
    dtype : of the tensor; taken from `data` by default, Python floats become the default dtype
    device : where it is to be; ``"cpu"`` or None
    requires_grad : whether gradients are to be collected in it

    Attributes
    ----------
    array : the raw array, NumPy's unless another library's was given
    shape, dtype, ndim, size, device : of the array

    Raises
    ------
    ForeignArgumentError : if `data` holds something that is no number
    AutogradError : if integers are to require a gradient

    Notes
    -----
    Operators, and methods such as ``x.sum(0)``, are views of operations: an override of `dispatchkit.add` answers
    ``x + y`` and ``x.add(y)``, too. A subclass keeps its type through operations, and its attributes through
    `__tensor_finalize__`; one that sets ``__dispatch_results__`` to a class has results of that class.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.Tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> x @ x + 1
    tensor([[5., 1.],
            [1., 5.]])
    """

    __slots__ = ()
    __dispatch_results__: ClassVar[type[Tensor] | None] = None

    def __init__(
        self, data: Any, *more: Never, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> None:
        if more:
            refuse_arguments(type(self), (data, *more))
        self.array = to_raw("Tensor", "data", data, dtype, device=device)
        self._memory = None
        self._node = make_leaf(self.array) if requires_grad else None
        if isinstance(data, Storage) and may_share_memory(self.array, data.array):
            share_memory(self, data, family=False)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.is_tracer:
            check_subclass(cls)

    @classmethod
    def __tensor_function__(
        cls,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Answer a call as plain tensors do, giving results this class; what overrides reach by `super()`."""
        return answer_by_rules(tensor_protocol.operation(func), cls, args, kwargs or {})

    def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
        """Take over attributes for a new instance: by default those of all sources, the leftmost winning.

        Parameters
        ----------
        op : the operation that made the instance
        sources : the tensors it was made from
        """
        for source in sources:
            attributes = getattr(source, "__dict__", None)
            if attributes:
                for name, value in attributes.items():
                    self.__dict__.setdefault(name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.array.shape  # type: ignore[no-any-return]  # a tuple in every library

    @property
    def dtype(self) -> Any:
        """Type of the elements, as NumPy's dtype where NumPy has it."""
        dtype = self.array.dtype
        return dtype if not foreign or isinstance(dtype, np.dtype) else _as_numpys(dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.array.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.array.shape) if foreign else self.array.size

    @property
    def device(self) -> Any:
        """Where the data is."""
        return device_of(self.array)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def dim(self) -> int:
        """Return the number of axes."""
        return self.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.size

    def expand_as(self, other: Any) -> Tensor:
        """Return the tensor stretched to the shape of another.

        Parameters
        ----------
        other : an array whose shape this one broadcasts to
        """
        return self.broadcast_to(other.shape)

    def reshape_as(self, other: Any) -> Tensor:
        """Return the tensor in the shape of another.

        Parameters
        ----------
        other : an array of as many elements
        """
        return self.reshape(other.shape)

    def as_subclass(self, cls: type[Tensor]) -> Any:
        """Return this tensor as an instance of a subclass, with the same memory and place in the graph.

        Parameters
        ----------
        cls : a subclass of `Tensor`

        Raises
        ------
        TypeError : if `cls` is none
        """
        found: Any = cls
        if not (isinstance(found, type) and issubclass(found, Tensor)):
            raise TypeError(f"as_subclass takes a subclass of Tensor, not {cls!r}")
        view = wrapped(cls, self.array, vertex_of(self))
        share_memory(view, self)
        view.__tensor_finalize__(None, (self,))
        return view

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self._text()

    def _text(self, spec: str = "") -> str:
        """Return the tensor as it prints, with a format for each element."""
        name = "tensor" if type(self) is Tensor else type(self).__name__
        notes = []
        if self._node is not None:
            notes = ["requires_grad=True"] if self._node.is_leaf else [f"grad_fn={self._node!r}"]
        if is_lazy(self.array):
            return f"{name}({', '.join([repr(self.array), *notes])})"
        return format_tensor(name, self.array, notes, spec)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>" if is_lazy(self.array) else html_of(repr(self), self.array)

    def __format__(self, spec: str) -> str:
        """Return the tensor with a format for each element; one without axes as its number."""
        if not spec or (self.ndim and self.is_tracer):
            return str(self)
        return format(self.detach().item(), spec) if self.ndim == 0 else self._text(spec)

    def __copy__(self) -> Self:
        made = twin(self, vertex_of(self))
        share_memory(made, self)
        return made  # type: ignore[no-any-return]  # of this very class

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = wrapped(type(self), copy.deepcopy(self.array, memo))
        memo[id(self)] = made
        if self._node is not None:
            made._node = make_leaf(made.array)
        if (gradient := gradient_of(self)) is not None:
            made.grad = copy.deepcopy(gradient, memo)
        _restore(made, copy.deepcopy(attributes_of(self), memo))
        return made  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self.array, self.requires_grad, attributes_of(self))


def twin(tensor: Tensor, vertex: Vertex | None = None) -> Any:
    """Return another tensor with the array, class and attributes of one, which nobody notes to share its memory."""
    made = wrapped(type(tensor), tensor.array, vertex)
    _restore(made, attributes_of(tensor))
    return made


@cache
def _as_numpys(dtype: Any) -> Any:
    """Return another library's dtype as NumPy's, where NumPy has it."""
    try:
        return numpy_dtype(dtype)
    except TypeError:
        return dtype


def _rebuilt(cls: type[Tensor], array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """Make a tensor of what was pickled."""
    made: Tensor = wrapped(cls, raw_array(array))
    if requires_grad:
        made._node = make_leaf(array)
    _restore(made, attributes)
    return made


def attributes_of(value: Any) -> dict[str, Any]:
    """Return what an instance of an array type or subclass keeps in its ``__dict__`` and in slots."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        if cls is Tensor:
            break
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _restore(tensor: Tensor, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(tensor, name, value)


def _as_base(value: Any, others: Sequence[Any] = ()) -> Any:
    dtype = weak_dtype(value, others) if others else None
    if dtype is not None and (type(value) is not int or abs(value) < 2**63):  # which no dtype refuses
        return wrapped(Tensor, np.asarray(value, dtype))
    return wrapped(Tensor, to_raw("asarray", "obj", value, dtype))


# What signatures show: the elements come first, all else by name.
_shown = inspect.signature(Tensor.__init__)
Tensor.__init__.__signature__ = _shown.replace(  # type: ignore[attr-defined]
    parameters=[p for p in _shown.parameters.values() if p.name != "more"]
)
Tensor.__tensor_function__.__func__.__generated__ = True  # type: ignore[attr-defined]  # the default, not an override


def _advice(cls: type) -> str:
    """Return how to convert an instance of a class that is no array."""
    library = class_name(cls).partition(".")[0]
    return ADVICE.get(library, "convert it with dispatchkit.asarray")


tensor_protocol.set_base(Tensor, (np.ndarray, np.generic), (np.generic,), _as_base, _advice)
tensor_protocol.surface.install(Tensor)
enter("Tensor", Tensor)
