"""What a failed call says: the operation, the reason, and what it was called with.

Bodies compute on raw arrays by functions of array libraries, whose errors name neither the operation nor its
arguments. Callers of a body pass its errors through `raise_with_context`, which costs nothing where nothing is raised.
Where the fault is known, an invalid dtype or matrices that do not fit, only the arguments at fault are named. What
handlers, modes and bodies of users raise stays as it is.
"""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from dispatchkit.backends.arrays import SCALARS, advice_for_subclass
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.errors import AutogradError, DispatchError, ForeignArgumentError
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.parameters import Form, Key, flatten
from dispatchkit.wording import nearest

# What array libraries raise for arguments they do not take; all else, such as lack of memory, is no mistake of a call.
BACKEND_ERRORS = (TypeError, ValueError, IndexError, OverflowError, RuntimeError, BufferError)
REASON = "__dispatchkit_reason__"
RAISED = "raised in "
NUMBERS = frozenset("biufc")
# Arguments that bodies check themselves: indices, and what conversions make arrays of.
CHECKED_BY_BODY = (Form.INDEX, Form.LOOSE)
DTYPES = [np.dtype(char).name for char in "?bhilBHILefdFD"]
# What NumPy says, and the same in plain words.
PLAIN = [
    (r"out of bounds for array of dimension 1\b", "out of bounds for an array with 1 dimension"),
    (r"out of bounds for array of dimension (\d+)", r"out of bounds for an array with \1 dimensions"),
    (r"Calling nonzero on 0d arrays.*", "the array must have at least one axis"),
    (r"setting an array element with a sequence.*", "the nested sequences of one level must have the same length"),
]
# What NumPy says of arrays that do not fit in a product, in terms of its universal functions.
UNFIT = "gufunc|remapped shapes|not aligned"
# What Python and NumPy say of a number or a text in the place of integers.
NO_INTEGER = "interpreted as an integer|is not iterable|integer argument expected|sequence of integers"
# What parameters of integers take, by their annotation.
INTEGERS = {
    "int": "an int",
    "int | None": "an int or None",
    "int | tuple[int, ...]": "an int or a tuple of ints",
    "Axis": "an int, a tuple of ints or None",
    "Shape": "an int or a tuple of ints",
    "Sequence[int]": "a tuple of ints",
}


def raise_with_context(
    operation: DeclaredOperation, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any], inner: bool = False
) -> NoReturn:
    """Raise the error of a body again, naming the operation and its arguments.

    Parameters
    ----------
    operation : that was called
    error : what its body raised
    args, kwargs : of the call
    inner : whether the body called other operations, whose errors alone are put in this one's terms

    Raises
    ------
    TypeError : if the arguments do not fit the signature
    Exception : of the type of `error`; `error` itself if it names the operation or is the library's own, and with a
        note if another library defines its type; what ``__dispatch_error__`` of an argument's type makes of it
    """
    for value in args:
        in_terms_of = getattr(type(value), "__dispatch_error__", None)
        if in_terms_of is not None:
            try:
                _raise_explained(operation, error, args, kwargs, inner)
            except Exception as explained:  # noqa: BLE001  # raised again
                raise in_terms_of(explained) from explained.__cause__
    _raise_explained(operation, error, args, kwargs, inner)


def decompose_in_its_terms(operation: DeclaredOperation, /, *args: Any, **kwargs: Any) -> Any:
    """Run the body of an operation on types, and let errors that the library raises name the operation.

    Raises
    ------
    Exception : as `raise_with_context`; what handlers of users raise stays as it is
    """
    try:
        return operation.decompose(*args, **kwargs)
    except BACKEND_ERRORS as error:
        if not _is_raised_here(error):
            raise
        raise_with_context(operation, error, args, kwargs)


DeclaredOperation.decompose_in_its_terms = decompose_in_its_terms


def _is_raised_here(error: Exception) -> bool:
    """Return whether this library or an array library raised an error, and no function of a user."""
    trace = error.__traceback__
    module = ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    return module.partition(".")[0] in ("dispatchkit", "numpy")


def _raise_explained(
    operation: DeclaredOperation, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any], inner: bool
) -> NoReturn:
    if isinstance(error, TypeError):
        operation.check_call(tuple(args), kwargs)
    reason = getattr(error, REASON, None)
    if (inner and reason is None) or not _is_to_be_explained(operation, error):
        raise error
    arguments = operation.parameters.signature.bind_partial(*args, **kwargs).arguments
    if reason is None:
        reason = str(error).strip().removeprefix(f"{operation.qualified_name}: ").removeprefix(f"{operation.name}: ")
        reason = in_plain_words(reason)
    fault = _fault(operation, reason, arguments)
    called = ", ".join(f"{name} = {describe_argument(value)}" for name, value in arguments.items())
    if not can_be_restated(error):
        add_context(error, operation.qualified_name, fault or f"called with {called}")
        raise error
    text = fault or (f"{reason}\n  called with {called}" if called else reason)
    explained = restate(error, f"{operation.qualified_name}: {text}")
    setattr(explained, REASON, reason)
    raise explained from error


def in_plain_words(reason: str) -> str:
    """Return the message of an array library without its internal terms."""
    for pattern, words in PLAIN:
        reason = re.sub(pattern, words, reason)
    return reason


def _fault(operation: DeclaredOperation, reason: str, arguments: Mapping[str, Any]) -> str:
    """Say which arguments are at fault and why; "" where only the array library knows."""
    if "dtype" in arguments and re.search("dtype|data type", reason):
        return dtype_fault(arguments["dtype"])
    if re.search(NO_INTEGER, reason):
        return _integer_fault(operation, arguments)
    if re.search(UNFIT, reason) is None:
        return ""
    named = {p.name: arguments[p.name] for p in operation.parameters.arrays if p.name in arguments}
    arrays = {name: tuple(x.shape) for name, x in named.items() if hasattr(x, "shape")}
    along = None
    if "axis" in operation.parameters.signature.parameters:
        along = arguments.get("axis", -1)
    if len(arrays) == 2:
        return _product_fault(arrays, along)
    return ""


def _integer_fault(operation: DeclaredOperation, arguments: Mapping[str, Any]) -> str:
    """Say which argument is not of integers where its parameter takes nothing else; "" where there is none."""
    listed = operation.parameters.signature.parameters
    for name, value in arguments.items():
        wanted = INTEGERS.get(inspect.formatannotation(listed[name].annotation).strip("'"))
        if wanted is not None and not _are_integers(value):
            return f"{name} must be {wanted}, found {describe_argument(value)}"
    return ""


def _are_integers(value: Any) -> bool:
    """Return whether an argument is None, an integer, or a sequence of integers."""
    members = [value]
    if isinstance(value, (list, tuple)):
        members = list(value)
    elif value is None:
        members = []
    return all(hasattr(member, "__index__") for member in members)


def dtype_fault(dtype: Any) -> str:
    """Say why a dtype cannot be that of an array of numbers; "" where it can."""
    try:
        known = np.dtype(dtype)
    except TypeError:
        near = []
        if isinstance(dtype, str):
            near = nearest(dtype, DTYPES)
        return f"{dtype!r} is no dtype; " + (f"did you mean {near[0]!r}?" if near else "one is 'float64'")
    if known.kind in NUMBERS:
        return ""
    return f"dtype must be of numbers or booleans, found {known}"


def _product_fault(arrays: Mapping[str, tuple[int, ...]], along: int | None) -> str:
    """Say why two arrays cannot be multiplied; "" where their shapes fit.

    Parameters
    ----------
    arrays : names and shapes of the two
    along : axis of the vectors in both; None for a product of matrices
    """
    (name1, shape1), (name2, shape2) = arrays.items()
    for name, shape in arrays.items():
        if not shape:
            return f"{name} must have at least one axis, found shape (); multiply takes numbers"
    if along is None:
        axis1, axis2 = -1, -min(2, len(shape2))
    else:
        axis1, axis2 = along, along
    try:
        length1, length2 = shape1[axis1], shape2[axis2]
    except IndexError:
        return ""
    text = f"shapes {shape1} and {shape2} do not fit: "
    if length1 != length2:
        last = {-1: "the last axis", -2: "the last but one"}
        where1, where2 = (last.get(axis, f"axis {axis}") for axis in (axis1, axis2))
        return f"{text}{where1} of {name1} ({length1}) must equal {where2} of {name2} ({length2})"
    if along is not None:
        return ""
    return f"{text}the batch axes {shape1[:-2]} of {name1} and {shape2[:-2]} of {name2} do not broadcast"


def _is_to_be_explained(operation: DeclaredOperation, error: Exception) -> bool:
    if operation.namespace.partition(".")[0] != "dispatchkit" or isinstance(error, (AutogradError, DispatchError)):
        return False
    # A body that does nothing but call a library's function states nothing itself, whatever the text begins with.
    return operation.implementation.passthrough or not str(error).startswith(
        (f"{operation.name}: ", f"{operation.qualified_name}: ")
    )


def can_be_restated(error: Exception) -> bool:
    """Return whether Python or NumPy define the type of an error; how another library's is made is unknown."""
    return type(error).__module__.partition(".")[0] in ("builtins", "numpy")


def add_context(error: Exception, function: str, *lines: str) -> None:
    """Note on an error the call that raised it, unless an inner call has done so."""
    if not any(note.startswith(RAISED) for note in getattr(error, "__notes__", ())):
        error.add_note("\n".join([f"{RAISED}{function}", *lines]))


def restate(error: Exception, text: str) -> Exception:
    """Return an exception of the same type with another text; of the nearest base that is made of a text alone.

    Parameters
    ----------
    error : of a type that Python or NumPy define
    text : of the new one
    """
    for cls in type(error).__mro__:
        if cls.__module__.startswith("numpy._core"):
            continue  # private, and made of a universal function
        try:
            exception: Exception = cls(text)
        except TypeError:
            continue  # such as UnicodeDecodeError, which is made of five values
        if str(exception) == text:
            return exception
    raise AssertionError("Exception itself is made of a text")


def describe_argument(value: Any) -> str:
    """Return a short description of an argument: dtype and shape of an array, anything else as it is."""
    array = value
    if isinstance(value, Storage):
        array = value.array
    if hasattr(array, "dtype") and hasattr(array, "shape") and not isinstance(array, type):
        device = getattr(array, "device", "cpu")
        place = ""
        if str(device) != "cpu":
            place = f" on device {device}"
        return f"{array.dtype} array of shape {tuple(array.shape)}{place}"
    if isinstance(value, (list, tuple)):
        members = ", ".join([describe_argument(member) for member in value[:4]] + ["..."] * (len(value) > 4))
        if isinstance(value, list):
            return f"[{members}]"
        if len(value) == 1:
            return f"({members},)"
        return f"({members})"
    return reprlib.repr(value)


def check_numbers(operation: DeclaredOperation, result: Any, asked: Any) -> None:
    """Raise if a result does not hold numbers or booleans.

    Parameters
    ----------
    operation : that takes a dtype
    result : what its body gave, without a dtype where it is a Python object
    asked : the dtype of the call where it came by name

    Raises
    ------
    TypeError : naming the operation and the dtype
    """
    if hasattr(result, "dtype"):
        dtype = result.dtype
    else:
        dtype = np.dtype(asked)
    if getattr(dtype, "kind", "f") not in NUMBERS:
        raise TypeError(f"{operation.qualified_name}: dtype must be of numbers or booleans, found {dtype}")


def _may_hold_others(cls: Any) -> bool:
    """Return whether an argument of a type may hold anything but numbers: arrays, and scalars of dates."""
    return issubclass(cls, np.ndarray) or (issubclass(cls, np.generic) and SCALARS.isdisjoint(cls.__mro__))


def numbers_only(operation: DeclaredOperation, handler: Callable[..., Any], key: Key) -> Callable[..., Any]:
    """Return a handler that refuses NumPy arrays of anything but numbers: strings, objects, dates.

    Parameters
    ----------
    operation : that the handler computes
    handler : what computes it
    key : types of the arguments; the handler itself is returned where none is NumPy's
    """
    if not any(map(_may_hold_others, flatten(key))):
        return handler
    parameters, name = operation.parameters, operation.qualified_name

    def of_subclasses(*args: Any, **kwargs: Any) -> Any:
        for p, value in parameters.values(args, kwargs):
            if advice := advice_for_subclass(type(value)):
                raise ForeignArgumentError(name, p.name, type(value).__name__, advice)
        return handler(*args, **kwargs)

    def of_two(x1: Any, x2: Any) -> Any:
        if (first and x1.dtype.kind not in NUMBERS) or (second and x2.dtype.kind not in NUMBERS):
            return of_any(x1, x2)
        return handler(x1, x2)

    def of_any(*args: Any, **kwargs: Any) -> Any:
        for p, value in parameters.values(args, kwargs):
            of_numpy = p.form not in CHECKED_BY_BODY and isinstance(value, (np.ndarray, np.generic))
            if of_numpy and value.dtype.kind not in NUMBERS:
                kind = "array" if isinstance(value, np.ndarray) else "scalar"
                description = f"NumPy {kind} of dtype {value.dtype}"
                raise ForeignArgumentError(name, p.name, description, wanted="an array of numbers or booleans")
        return handler(*args, **kwargs)

    if any(map(advice_for_subclass, flatten(key))):
        return of_subclasses
    if not parameters.binary:
        return of_any
    first, second = map(_may_hold_others, key)
    return of_two
