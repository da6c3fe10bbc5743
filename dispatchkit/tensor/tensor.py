"""`Tensor`: an array, its place in the graph, and methods that are views of operations."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, wraps
from typing import Any, ClassVar, Never, NoReturn, Self, TypeVar

import numpy as np

from dispatchkit.backends.arrays import (
    advice_for_subclass,
    device_of,
    foreign,
    is_lazy,
    may_share_memory,
    numpy_dtype,
    raw_array,
)
from dispatchkit.declare.call_errors import NUMBERS
from dispatchkit.declare.docs import join_sections
from dispatchkit.declare.inplace import apply_in_place, make_inplace
from dispatchkit.declare.namespace import enter, tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.wrapping import make_leaf, wrap_array
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.storage import Storage, Vertex, share_memory, vertex_of
from dispatchkit.ops.creation.conversion import to_raw
from dispatchkit.protocol.densify import known_layout
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.naming import location_of, type_name
from dispatchkit.protocol.parameters import LaterSignature
from dispatchkit.protocol.resolution import answer_by_rules
from dispatchkit.protocol.surface import REFLECTED, method_docstring, method_signature
from dispatchkit.tensor.conversion import ConversionMethods
from dispatchkit.tensor.gradients import GradientMethods, gradient_of
from dispatchkit.tensor.methods import TensorMethods
from dispatchkit.tensor.notebook import html_of
from dispatchkit.tensor.printing import Written, array_notes, format_tensor, written_array
from dispatchkit.tree import attributes_held, slot_names, slotted, take_attributes
from dispatchkit.wording import class_name

OWN_ARGUMENTS = "a subclass with arguments of its own defines __init__, which calls super().__init__(data)"


def check_subclass(cls: type) -> None:
    """Refuse NumPy's hook for subclasses, and let the constructors of a new subclass explain their mistakes.

    Raises
    ------
    RegistrationError : if the class defines ``__array_finalize__``, which nobody would call
    """
    members = vars(cls)
    if "__array_finalize__" in members:
        raise RegistrationError(
            f"{type_name(cls)}.__array_finalize__ would never be called, since results are no NumPy arrays; "
            f"define __tensor_finalize__(self, op, sources), which takes over the attributes of the sources"
        )
    if "__init__" in members:
        cls.__init__ = _initializer(members["__init__"])  # type: ignore[misc]  # of this very class
    if isinstance(members.get("__new__"), staticmethod):
        cls.__new__ = _creator(members["__new__"].__func__)  # type: ignore[method-assign]


def _initializer(initialize: Callable[..., None]) -> Callable[..., None]:
    """Return an ``__init__`` that raises where the one of `Tensor` was not called."""

    @wraps(initialize)
    def initialize_checked(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        # One that another calls may leave the array to it.
        if type(self).__init__ is initialize_checked and not hasattr(self, "array"):
            raise TypeError(
                f"{type_name(type(self))}.__init__ at {location_of(initialize)} gave the tensor no array; "
                f"call super().__init__(data) in it"
            )

    return initialize_checked


def _creator(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``__new__`` that says what to write where data is passed on to the one of `object`."""

    @wraps(create)
    def create_explained(cls: type, *args: Any, **kwargs: Any) -> Any:
        try:
            return create(cls, *args, **kwargs)
        except TypeError as error:
            if not str(error).startswith("object.__new__() takes exactly one argument"):
                raise
            name = f"{type_name(cls)}.__new__ at {location_of(create)}"
            raise TypeError(f"{name}: Tensor takes no data in __new__; {OWN_ARGUMENTS}") from error

    return create_explained


def refuse_arguments(cls: type, args: tuple[Any, ...]) -> NoReturn:
    """Raise for the positional arguments of a call of `Tensor`, or of a subclass, that are too many."""
    if cls.__module__.partition(".")[0] == "dispatchkit":
        shown = ", ".join("..." if len(repr(arg)) > 20 else repr(arg) for arg in args)
        advice = f"write {cls.__name__}([{shown}]) for these elements"
        if all(isinstance(arg, int) for arg in args):
            advice += f", or dk.empty(({shown})) for a tensor of this shape"
    else:
        advice = OWN_ARGUMENTS
    raise TypeError(f"{type_name(cls)} takes one positional argument, data, found {len(args)}; {advice}")


T = TypeVar("T", bound=type)
# Of the docstrings of operators and methods; their summary and parameters are made of the operation.
SECTIONS = {
    "Returns": "Tensor\n    The tensor itself.",
    "Raises": (
        "AutogradError\n    For a leaf that requires a gradient, while a graph is recorded.\n"
        "TypeError\n    If the dtype cannot hold the result.\n"
        "ValueError\n    If the result has another shape, or the tensor's memory is read-only."
    ),
}


def with_inplace(cls: T) -> T:
    """Give a class the in-place form of every elementwise method and operator it has, and the fillers."""
    for member in list(tensor_protocol.surface):
        operation = member.operation
        if not isinstance(operation, DeclaredOperation):
            continue
        if member.name in REFLECTED:
            method = make_inplace(operation, cls, as_operator=True)
            method.__doc__ = _docstring(operation)
            setattr(cls, f"__i{member.name[2:]}", method)
        elif operation.kind.family is kinds.elementwise and not member.name.startswith("__"):
            binary = operation.parameters.binary
            if binary:
                method = make_inplace(operation, cls, as_operator=False)
            else:
                method = _inplace_method(operation)
            method.__name__ = method.__qualname__ = f"{member.name}_"
            method.__doc__ = _docstring(operation)
            setattr(cls, f"{member.name}_", method)
    for filler in (zero_, fill_, copy_, uniform_, normal_):
        setattr(cls, filler.__name__, filler)
    return cls


def _inplace_method(operation: DeclaredOperation) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return apply_in_place(operation, self, args, kwargs)

    method.__signature__ = LaterSignature.by(method_signature, operation)  # type: ignore[attr-defined]
    return method


def _docstring(operation: DeclaredOperation) -> str:
    parameters = f"other : Array or number\n    The second operand of `{operation.name}`."
    if not operation.parameters.binary:
        text = method_docstring(operation.function) or ""
        parameters = text.partition("\n\nParameters\n----------\n")[2].partition("\n\n")[0]
    summary = f"Write the result of `{operation.name}` into the tensor."
    return join_sections(summary, {"Parameters": parameters} | SECTIONS)


def zero_(self: Any) -> Any:
    """Set every element to zero.

    Returns
    -------
    Tensor
        The tensor itself.
    """
    return fill_(self, 0)


def fill_(self: Any, value: Any) -> Any:
    """Set every element to a value.

    Parameters
    ----------
    value : a number, which the dtype can hold

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = value
    return self


def copy_(self: Any, source: Any) -> Any:
    """Set the elements to those of another array, which broadcasts to this shape.

    Parameters
    ----------
    source : an array whose numbers the dtype can hold

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = source
    return self


def uniform_(self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
    """Set the elements to random numbers, uniform between two bounds.

    Parameters
    ----------
    low, high : the bounds; `low` can be drawn, `high` cannot
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = tensor_namespace.random.uniform(low, high, shape=self.shape, device=self.device, generator=generator)
    return self


def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Set the elements to random numbers of a normal distribution.

    Parameters
    ----------
    mean, std : mean and standard deviation of the distribution
    generator : to draw from, the default one if None

    Returns
    -------
    Tensor
        The tensor itself.
    """
    self[...] = tensor_namespace.random.normal(mean, std, shape=self.shape, device=self.device, generator=generator)
    return self


def weak_dtype(number: complex, arrays: Iterable[Any]) -> np.dtype[Any] | None:
    """Return the dtype that a Python number has among some arrays, None where theirs are unknown.

    Parameters
    ----------
    number : a Python number
    arrays : the array arguments of the call; further numbers among them are passed over

    Notes
    -----
    An int that does not fit the integers of the arrays keeps its own dtype.
    """
    dtypes = [dtype for array in arrays for dtype in _dtypes_of(array)]
    if not dtypes:
        return None
    kind: Any = type(number)
    dtype, least, largest = _promotion(kind, *dtypes)
    if least is None or least <= number.real <= largest:
        return dtype
    return None


@lru_cache
def _promotion(number: type, *dtypes: np.dtype[Any]) -> tuple[np.dtype[Any], Any, Any]:
    """Return the dtype that promotion with others gives a type of Python numbers, and the bounds of integers."""
    dtype = np.result_type(number(), *dtypes)
    if dtype.kind not in "iu":
        return dtype, None, None
    info = np.iinfo(dtype)
    return dtype, int(info.min), int(info.max)


def _dtypes_of(value: Any) -> Sequence[np.dtype[Any]]:
    """Return the dtype of an array; of a type that would have to become dense for it those of its fields."""
    cls = type(value)
    if cls is float or cls is int or value is None or isinstance(value, (str, type, np.dtype)):
        return ()  # quickly: what the fields of most types hold but arrays
    if isinstance(value, Storage):
        dtype = getattr(value, "dtype", None)
    else:
        dtype = known_layout(value)[1]
    if dtype is not None:
        try:
            return (numpy_dtype(dtype),)
        except TypeError:
            return ()  # of another library, and none that NumPy has
    records = tensor_protocol.types
    if not records.participates(cls):
        return ()
    try:
        names = records.fields_of(value)
    except RegistrationError:
        return ()  # nothing says which they are
    dtypes = [dtype for name in names for dtype in _dtypes_of(getattr(value, name))]
    # Integers next to floating-point numbers are indices or counts, as in a sparse matrix.
    return [dtype for dtype in dtypes if dtype.kind in "fc"] or dtypes


# How arrays of other libraries are taken in.
ADVICE = {
    "torch": "convert it with dispatchkit.interop.torch.from_torch, which keeps its graph, and bring the others to it "
    "with x.to(like=y)",
    "jax": "import dispatchkit.interop.jax, with which it mixes, or convert it with dispatchkit.asarray",
}


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
    __dispatch_slots__: ClassVar[tuple[str, ...]] = ()
    _dtype_module: ClassVar[str] = ""  # what stands before the name of the dtype where the tensor prints

    def __init__(
        self, data: Any, *more: Never, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> None:
        if more:
            refuse_arguments(type(self), (data, *more))
        self.array = to_raw("Tensor", "data", data, dtype, device=device)
        self._memory = None
        if requires_grad:
            self._node = make_leaf(self.array)
        else:
            self._node = None
        if isinstance(data, Storage) and may_share_memory(self.array, data.array):
            share_memory(self, data, family=False)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.is_tracer:
            check_subclass(cls)
            cls.__dispatch_slots__ = slot_names(cls, Tensor)
            slotted.extend(cls.__dispatch_slots__)

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
        if slotted:
            take_attributes(self, sources)
            return
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
        if not foreign or isinstance(dtype, np.dtype):
            return dtype
        return _as_numpys(dtype)

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
        target: Any = cls
        if not (isinstance(target, type) and issubclass(target, Tensor)):
            raise TypeError(f"as_subclass takes a subclass of Tensor, not {cls!r}")
        view = wrap_array(cls, self.array, vertex_of(self))
        share_memory(view, self)
        view.__tensor_finalize__(None, (self,))
        return view

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self._text()

    def _text(self, spec: str = "") -> str:
        """Return the tensor as it prints, with a format for each element."""
        name = "tensor"
        if type(self).__name__ != Tensor.__name__:
            name = type(self).__name__
        if is_lazy(self.array):
            return f"{name}({', '.join([repr(self.array), *self._graph_notes()])})"
        return format_tensor(name, self.array, self._notes(), spec)

    def _notes(self) -> list[str]:
        """Return what is printed after the elements."""
        return [*array_notes(self.array, self._dtype_module), *self._graph_notes()]

    def _graph_notes(self) -> list[str]:
        """Return what is printed last: whether a gradient is required, and what made the tensor."""
        if self._node is None:
            return []
        if self._node.is_leaf:
            return ["requires_grad=True"]
        return [f"grad_fn={self._node!r}"]

    def __written__(self) -> Written:
        text = None
        if not (self.is_tracer or is_lazy(self.array)):
            text = written_array(self.array, self._notes())
        if text is None:
            return Written(tuple(self.shape), whole=lambda _: repr(self))
        return text

    def _repr_html_(self) -> str:
        return html_of(self)

    def __format__(self, spec: str) -> str:
        """Return the tensor with a format for each element; one without axes as its number."""
        if not spec and not self._prints_as_number():
            return str(self)
        if self.ndim == 0:
            return format(self.detach().item(), spec)
        if self.is_tracer:
            return str(self)
        return self._text(spec)

    def _prints_as_number(self) -> bool:
        """Return whether it is a number inside a text, as in ``f"{loss}"``: without axes, known, and of no own look."""
        known = not (self.is_tracer or is_lazy(self.array))
        return known and self.ndim == 0 and type(self).__repr__ is Tensor.__repr__

    def __copy__(self) -> Self:
        view = twin(self, vertex_of(self))
        share_memory(view, self)
        return view  # type: ignore[no-any-return]  # of this very class

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        duplicate = wrap_array(type(self), copy.deepcopy(self.array, memo))
        memo[id(self)] = duplicate
        if self._node is not None:
            duplicate._node = make_leaf(duplicate.array)
        if (gradient := gradient_of(self)) is not None:
            duplicate.grad = copy.deepcopy(gradient, memo)
        _restore(duplicate, copy.deepcopy(attributes_held(self), memo))
        return duplicate  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self.array, self.requires_grad, attributes_held(self))


def twin(tensor: Tensor, vertex: Vertex | None = None) -> Any:
    """Return another tensor with the array, class and attributes of one, which nobody notes to share its memory."""
    other = wrap_array(type(tensor), tensor.array, vertex)
    _restore(other, attributes_held(tensor))
    return other


@cache
def _as_numpys(dtype: Any) -> Any:
    """Return another library's dtype as NumPy's, where NumPy has it."""
    try:
        return numpy_dtype(dtype)
    except TypeError:
        return dtype


def _rebuilt(cls: type[Tensor], array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """Make a tensor of what was pickled."""
    leaf = None
    if requires_grad:
        leaf = make_leaf(array)
    tensor: Tensor = wrap_array(cls, raw_array(array), leaf)
    _restore(tensor, attributes)
    return tensor


def _restore(tensor: Tensor, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(tensor, name, value)


def _as_base(value: Any, others: Sequence[Any] = ()) -> Any:
    if type(value) is np.ndarray and value.dtype.kind in NUMBERS:
        return wrap_array(Tensor, value)
    dtype = None
    if others:
        dtype = weak_dtype(value, others)
    if dtype is not None and (type(value) is not int or abs(value) < 2**63):  # which no dtype refuses
        return wrap_array(Tensor, np.asarray(value, dtype))
    return wrap_array(Tensor, to_raw("asarray", "obj", value, dtype))


# What signatures show: the elements come first, all else by name.
_shown = inspect.signature(Tensor.__init__)
Tensor.__init__.__signature__ = _shown.replace(  # type: ignore[attr-defined]
    parameters=[p for p in _shown.parameters.values() if p.name != "more"]
)
Tensor.__tensor_function__.__func__.__generated__ = True  # type: ignore[attr-defined]  # the default, not an override


def _advice(cls: type) -> str:
    """Return how to convert an instance of a class that is no array."""
    if issubclass(cls, type):
        return "give an instance of it"
    if sparse := advice_for_subclass(cls):
        return sparse
    return ADVICE.get(class_name(cls).partition(".")[0], "convert it with dispatchkit.asarray")


SCALARS = {np.generic: (), np.bool_: (bool, int, float, complex)}
tensor_protocol.set_base(Tensor, (np.ndarray, np.generic), SCALARS, _as_base, _advice)
tensor_protocol.surface.install(Tensor)
enter("Tensor", Tensor)
