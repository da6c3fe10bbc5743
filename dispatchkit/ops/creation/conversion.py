"""Making tensors of what people have: `asarray`, `tensor`, `from_dlpack`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import (
    DTYPES,
    advice_for_subclass,
    foreign,
    is_raw,
    namespace_of,
    namespace_of_device,
    numpy_dtype,
    raw_array,
)
from dispatchkit.backends.libraries import brought_to, namespace_for_device
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.call_errors import (
    BACKEND_ERRORS,
    NUMBERS,
    add_context,
    can_be_restated,
    describe_argument,
    dtype_fault,
    in_plain_words,
    restate,
)
from dispatchkit.declare.compiled.entry_points import entry_point
from dispatchkit.declare.decorators import conversion, creation
from dispatchkit.declare.libraries import common_library
from dispatchkit.declare.namespace import enter, tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, ArrayLike, DType, Namespace
from dispatchkit.errors import AutogradError, DispatchError, ForeignArgumentError
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override
from dispatchkit.ops.creation.dtypes import get_default_dtype
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key

_NUMBERS = frozenset({int, float, complex, bool})
FLOAT = {float}
ndarray = np.ndarray
WANTED = "an array of any library, a number, or a nested sequence of numbers"


def to_raw(
    name: str,
    parameter: str,
    data: Any,
    dtype: DType = None,
    copy: bool | None = None,
    device: Any = None,
    xp: Any = numpy_namespace,
) -> Any:
    """Return the raw array of anything that `asarray` takes.

    Parameters
    ----------
    name, parameter : of the function and its argument, for messages
    data : array, scalar, or nested sequence of them
    dtype : of the result; Python floats become the default dtype
    copy : always, never, or (None) where needed
    device : of the result
    xp : makes arrays of Python numbers; an array stays with its library

    Raises
    ------
    ForeignArgumentError : if it holds something that is no number
    ValueError : if it is no regular array, or cannot be had without a copy or on the device
    """
    as_it_is = dtype is None and copy is None and device is None
    if isinstance(data, Storage):
        data = data.array
        if as_it_is:
            return data
    if as_it_is and type(data) is np.ndarray and data.dtype.kind in NUMBERS:
        return data
    try:
        return _array_of(name, parameter, data, dtype, copy, device, xp)
    except (AutogradError, DispatchError):
        raise
    except BACKEND_ERRORS as error:
        options_given = {"dtype": dtype, "copy": copy, "device": device}
        options = "".join([f", {option} = {value!r}" for option, value in options_given.items() if value is not None])
        fault = ""
        if dtype is not None:
            fault = dtype_fault(dtype)
        if not can_be_restated(error):
            add_context(
                error, f"dispatchkit.{name}", fault or f"called with {parameter} = {describe_argument(data)}{options}"
            )
            raise
        text = fault or f"{in_plain_words(str(error))}\n  called with {parameter} = {describe_argument(data)}{options}"
        raise restate(error, f"dispatchkit.{name}: {text}") from error


def _array_of(name: str, parameter: str, data: Any, dtype: DType, copy: bool | None, device: Any, xp: Any) -> Any:
    """Return data that is no tensor as a raw array: of its own library, or of `xp` where it is of none."""
    if foreign and isinstance(data, (list, tuple)):
        library = common_library(f"dispatchkit.{name}", _leaves(data))
        if library is not None and library is not numpy_namespace:
            if copy is False:
                raise ValueError("a list of arrays is copied, found copy=False")
            array = _stack_nested(name, parameter, data, library)
            return raw_array(library.asarray(array, dtype=dtype, device=device))
    if is_raw(data) and not isinstance(data, np.ndarray):
        if getattr(data, "requires_grad", False):
            library = namespace_of(data).__name__
            raise AutogradError(
                f"{name}: the array is part of {library}'s own graph; give it detached, or as "
                f"dispatchkit.interop.torch.from_torch(x), which {library} goes on differentiating"
            )
        return raw_array(namespace_of(data).asarray(data, dtype=dtype, copy=copy, device=device))
    if isinstance(data, np.ndarray):
        xp = namespace_for_device(device, numpy_namespace)
    if xp is numpy_namespace:
        return _numpy_array(name, parameter, data, dtype, copy, device)
    return raw_array(xp.asarray(_numpy_array(name, parameter, data, dtype), device=device))


def _leaves(data: Any) -> Iterator[Any]:
    """Return what is no list or tuple in nested ones."""
    if not isinstance(data, (list, tuple)):
        yield data
    elif not _NUMBERS.issuperset(map(type, data)):
        yield from chain.from_iterable(map(_leaves, data))


def _stack_nested(name: str, parameter: str, data: Any, library: Any) -> Any:
    """Return nested sequences of numbers and of arrays of one library as one array of it."""
    if not isinstance(data, (list, tuple)):
        if isinstance(data, Storage):
            data = data.array
        array = _array_of(name, parameter, data, None, None, None, library)
        if type(array) is np.ndarray:
            return brought_to(library, array)
        return array
    members = [_stack_nested(name, parameter, member, library) for member in data]
    dtype = np.result_type(*map(numpy_dtype, members))
    return library.stack([library.astype(member, dtype, copy=False) for member in members])


def _numpy_array(
    name: str, parameter: str, data: Any, dtype: DType, copy: bool | None = None, device: Any = None
) -> Any:
    """Return NumPy's array of numbers, a nested sequence of them, or an array of NumPy's."""
    if advice := advice_for_subclass(type(data)):
        raise ForeignArgumentError(f"dispatchkit.{name}", parameter, type(data).__name__, advice, WANTED)
    flat = isinstance(data, (list, tuple)) and _NUMBERS.issuperset(map(type, data))
    if not flat and not isinstance(data, np.ndarray):
        data = _numbers(name, parameter, data)
    array = data
    if dtype is None and not hasattr(data, "dtype"):
        array, copy = np.asarray(data, copy=copy), None
        if array.dtype.kind in "fc" and (flat or not any(hasattr(leaf, "dtype") for leaf in _leaves(data))):
            real = get_default_dtype()
            dtype = real
            if array.dtype.kind == "c":
                dtype = np.result_type(real, np.complex64)
    array = np.asarray(array, dtype=dtype, copy=copy, device=device)
    if array.dtype.kind not in NUMBERS:
        if dtype is not None:
            raise TypeError(f"dtype must be of numbers or booleans, found {array.dtype}")
        if data is None:
            description = type(data).__name__
        else:
            description = f"{type(data).__name__} of {array.dtype}"
        raise ForeignArgumentError(f"dispatchkit.{name}", parameter, description, wanted=WANTED)
    return array


def _numbers(name: str, parameter: str, data: Any) -> Any:
    """Return nested sequences as lists, with arrays for the tensors in them."""
    if isinstance(data, (list, tuple)):
        if _NUMBERS.issuperset(map(type, data)):
            return data
        return [_numbers(name, parameter, member) for member in data]
    array = data
    if isinstance(data, Storage):
        array = data.array
    if advice := advice_for_subclass(type(array)):
        description = f"list with a {type(array).__name__}"
        raise ForeignArgumentError(f"dispatchkit.{name}", parameter, description, advice, WANTED)
    return array


class FromSequences(DeclaredOperation):
    """Makes an array of nested sequences, by stacking the members where some are instances of array types."""

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any] | None:
        handler = super().default(key, result)
        if handler is None or not any(_holds_sequence(entry) for entry in key):
            return handler
        convert: Callable[..., Any] = handler

        def convert_or_stack(*args: Any, **kwargs: Any) -> Any:
            if args and holds_instances(args[0]):
                return join_members(self, *args, **kwargs)
            return convert(*args, **kwargs)

        return convert_or_stack


def _holds_sequence(entry: Any) -> bool:
    """Return whether an argument is a sequence of sequences, by its entry in a key."""
    return isinstance(entry, tuple) and any(issubclass(cls, (list, tuple)) for cls in entry)


def _is_sequence(value: Any) -> bool:
    """Return whether a value is a list or tuple, and no instance of an array type."""
    return isinstance(value, (list, tuple)) and not tensor_protocol.types.participates(type(value))


def _is_instance(cls: type) -> bool:
    """Return whether a class is an array type other than those of tensors."""
    return not issubclass(cls, Storage) and tensor_protocol.types.participates(cls)


def holds_instances(value: Any) -> bool:
    """Return whether a nested sequence holds an instance of an array type other than tensors."""
    return _is_sequence(value) and any(map(_is_instance, {*map(type, _leaves(value))}))


def stack_members(name: str, members: Any) -> Any:
    """Return the members of a nested sequence, in which there are instances of array types, stacked.

    Parameters
    ----------
    name : of the function that is to make an array of them, for messages
    members : instances, tensors, arrays, numbers, and sequences of such

    Raises
    ------
    ValueError : if their shapes differ
    """
    arrays = [_array_of_member(name, member) for member in members]
    known = [getattr(array, "shape", None) for array in arrays]  # of a type without shapes None
    shapes = list(dict.fromkeys(tuple(shape) for shape in known if shape is not None))
    if len(shapes) > 1:
        raise ValueError(
            f"dispatchkit.{name}: the members of a sequence must have one shape to be stacked, found {shapes[0]} and "
            f"{shapes[1]}"
        )
    return tensor_namespace.stack(arrays)


def _array_of_member(name: str, member: Any) -> Any:
    if holds_instances(member):
        return stack_members(name, member)
    # By its attribute: what stands for an array while a call is predicted says there what it stands for.
    if _is_instance(member.__class__):
        return member
    return tensor_namespace.asarray(member)


def join_members(operation: Overridable, obj: Any, /, **options: Any) -> Any:
    """Return what an operation makes of a sequence in which there are instances of array types.

    Raises
    ------
    ValueError : if their shapes differ, or no copy is to be made
    """
    if options.get("copy") is False:
        raise ValueError(f"dispatchkit.{operation.name}: a list of arrays is copied, found copy=False")
    options = {option: value for option, value in options.items() if value is not None}
    array = stack_members(operation.name, obj)
    if options:
        return operation.function(array, **options)
    return array


class AsArray(FromSequences):
    """`asarray`: a tensor of which nothing is asked that it is not is given back itself."""

    @override
    def make_function(self) -> Callable[..., Any]:
        return entry_point(self, returns_itself=True)

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any] | None:
        handler = super().default(key, result)
        if handler is None or not (isinstance(key[0], type) and issubclass(key[0], Storage)):
            return handler
        convert: Callable[..., Any] = handler
        names = self.parameters.signature.parameters.keys()

        def convert_if_asked(*args: Any, **kwargs: Any) -> Any:
            known = len(args) == 1 and names >= kwargs.keys()
            if known and _is_as_asked(*args, **kwargs):
                return args[0]
            return convert(*args, **kwargs)

        return convert_if_asked


def _is_as_asked(
    x: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
    requires_grad: bool = False,
) -> bool:
    """Return whether a tensor is what `asarray` is to make of it."""
    if copy or requires_grad or like is not None:
        return False
    return (dtype is None or x.dtype == dtype) and (device is None or str(x.device) == str(device))


@creation(record=AsArray, decomposes=False, samples=lambda: [sample(draw(2, 3)), sample(draw(3), copy=True)])
def asarray(
    xp: Namespace,
    obj: ArrayLike,
    /,
    *,
    dtype: DType = None,
    device: Any = None,
    copy: bool | None = None,
) -> Array:
    """Convert to a tensor, sharing memory where possible; a tensor that is as asked is given back itself.

    Parameters
    ----------
    obj : array of any library, scalar, or nested sequence of numbers
    dtype : of the result; taken from `obj` by default, Python floats become the default dtype
    device : where the result is to be; ``"cpu"`` or None
    copy : True copies always, False never (and raises where it would have to), None where needed

    Raises
    ------
    ValueError : if a copy is needed and `copy` is False
    ForeignArgumentError : if `obj` holds something that is no number

    Notes
    -----
    Of a NumPy array the tensor sees every change, and the array every change of the tensor.

    Examples
    --------
    >>> dk.asarray([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    return to_raw("asarray", "obj", obj, dtype, copy, device, xp)


@asarray.def_kernel("numpy")
def asarray_numpy(obj: ArrayLike, /, *, dtype: DType = None, device: Any = None, copy: bool | None = None) -> Any:
    if device is None:
        if type(obj) is ndarray and obj.dtype.kind in NUMBERS:
            if dtype is None:
                if copy:
                    return obj.copy("K")
                return obj
            if copy is None and type(dtype) in DTYPES:
                if dtype is obj.dtype:
                    return obj
                return obj.astype(dtype, copy=False)
        elif type(obj) is list and dtype is None and copy is not False and {*map(type, obj)} == FLOAT:
            return np.array(obj, get_default_dtype())
    return to_raw("asarray", "obj", obj, dtype, copy, device)


@asarray.def_transpose
def asarray_transpose(g, obj):
    if isinstance(obj, (list, tuple)):
        raise AutogradError(
            "asarray cuts the graph of the tensors inside a list; use stack(tensors) to let gradients flow"
        )
    return g


@creation(record=FromSequences, decomposes=False, differentiable=False, samples=lambda: [sample(draw(2, 3))])
def tensor(xp: Namespace, data: ArrayLike, /, *, dtype: DType = None, device: Any = None) -> Array:
    """Make a tensor of a copy of the data, outside any graph.

    Parameters
    ----------
    data : array of any library, scalar, or nested sequence of numbers
    dtype : of the result; taken from `data` by default, Python floats become the default dtype
    device : where the result is to be; ``"cpu"`` or None

    Raises
    ------
    ForeignArgumentError : if `data` holds something that is no number

    Notes
    -----
    Source: PyTorch, `torch.tensor`.

    Examples
    --------
    >>> dk.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    return to_raw("tensor", "data", data, dtype, True, device, xp)


@creation(decomposes=False, differentiable=False, samples=lambda: [sample(draw(2, 3))])
def from_dlpack(xp: Namespace, x: ArrayLike, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Make a tensor of an array of another library by the DLPack protocol, as an array of NumPy or as `arrays_of` says.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
    device : where the result is to be; a device of a library has it as an array of that
    copy : True copies always, False never, None where needed

    Raises
    ------
    AttributeError : if `x` does not speak DLPack

    Examples
    --------
    >>> import numpy as np, dispatchkit as dk
    >>> dk.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(f"{from_dlpack.__name__}: x must have __dlpack__, found a {type(x).__name__}; see asarray")
    library = namespace_for_device(device, namespace_of_device(None))
    if library is not numpy_namespace:
        array = library.from_dlpack(x)
        if device is not None or copy is not None:
            array = library.asarray(array, device=device, copy=copy)
        return raw_array(array)
    if device is None and copy is None:
        result = np.from_dlpack(x)
        # NumPy 2.0 makes its own arrays read-only here.
        if type(x) is np.ndarray:
            result = x.view()
        return result  # type: ignore[return-value]  # raw arrays
    return np.from_dlpack(x, device=device, copy=copy)  # type: ignore[return-value]


@conversion(methods=("copy",), samples=lambda: [sample(draw(2, 3)), sample(draw())])
def clone(xp: Namespace, x: Array, /) -> Array:
    """Copy an array; gradients flow through.

    Parameters
    ----------
    x : array of any shape

    Returns
    -------
    array of the shape and dtype of `x`, with memory of its own

    Notes
    -----
    Linear: the cotangent goes on as it is. Source: PyTorch, `torch.clone`.

    Examples
    --------
    >>> dk.clone(dk.ones(2))
    tensor([1., 1.])
    """
    return xp.asarray(x, copy=True)


clone.def_transpose(lambda g: g)


def _declare_joins() -> None:
    for function in (asarray, tensor):
        operation = tensor_protocol.operation(function)
        operation.joins = partial(join_members, operation)


_declare_joins()
as_tensor = asarray
enter("as_tensor", asarray)
