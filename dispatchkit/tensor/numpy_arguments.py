"""Calls of NumPy's functions in the parameters of operations and compositions: the one place that translates them.

Here the array parameters of a call become tensors, whatever NumPy makes an array of: a parameter is one where the
operation or the composition annotates it with `Array`. Python numbers stay where that says ``Array | float``, so that
they do not decide the dtype, and in universal functions.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dispatchkit.backends.arrays import is_raw
from dispatchkit.declare.decorators import array_forms
from dispatchkit.declare.inplace import unspoilt
from dispatchkit.declare.libraries import first_array
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError, ForeignArgumentError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.protocol.registration.annotations import alternatives, known_hint
from dispatchkit.signatures import read_signature
from dispatchkit.tree import container_items, map_leaves

# NumPy's names of parameters where the operations' are others.
KEYWORDS = {"a_max": "max", "a_min": "min", "ddof": "correction", "newshape": "shape", "rcond": "rtol"}
# Parameters of which NumPy takes one, and says so itself where both are there.
EXCLUSIVE = {
    **dict.fromkeys(("std", "var", "nanstd", "nanvar"), ("ddof", "correction")),
    **dict.fromkeys(("concatenate", "stack"), ("out", "dtype")),
    "matrix_rank": ("tol", "rtol"),
    "pinv": ("rcond", "rtol"),
}
# Without an axis these take the elements in a row.
IN_A_ROW = frozenset({"argsort", "cumprod", "cumsum", "sort", "take"})
# To these an array without axes is a row of one element.
ROWS = frozenset({"argsort", "cumprod", "cumsum"})
# What NumPy 2.0 does not tell of its functions that are written in C.
SIGNATURES: dict[str, Callable[..., Any]] = {
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    "where": lambda condition, x=None, y=None, /: None,
}

NUMBERS = frozenset((bool, int, float, complex))

Given = dict[str, Any]
Casting = Literal["same_kind", "unsafe"]


def as_array(value: Any, dtype: Any = None, like: Any = None) -> Any:
    """Return an array type as it is, and a tensor of all else that NumPy's functions take.

    Parameters
    ----------
    value : to make a tensor of
    dtype : of the result, that of the value by default
    like : a raw array, whose library and device numbers and lists of them get
    """
    if _holds_tensors(value):
        value = tensor_namespace.stack([as_array(member, like=like) for member in value])  # for gradients to flow
    if not tensor_protocol.types.participates(type(value)):
        library = {}
        if not (like is None or is_raw(value)):
            library = {"like": like}
        return tensor_namespace.asarray(value, dtype=dtype, **library)
    if dtype is None or value.dtype == dtype:
        return value
    return tensor_namespace.astype(value, dtype)


def _holds_tensors(value: Any) -> bool:
    """Return whether a nested list holds tensors or array types."""
    if not isinstance(value, (list, tuple)) or tensor_protocol.types.participates(type(value)):
        return False
    return any(tensor_protocol.types.participates(type(member)) or _holds_tensors(member) for member in value)


def operands(name: str, values: tuple[Any, ...], *, weak: bool) -> tuple[Any, ...]:
    """Return the arrays of a universal function, its numbers as they are or as arrays of the dtype that they leave.

    Parameters
    ----------
    name : of the universal function
    values : that it is called with
    weak : whether numbers stay numbers
    """
    places, like = range(1, len(values) + 1), _array_beside(values)
    arrays = tuple(
        value if type(value) in NUMBERS else _as_argument(name, f"x{place}", value, like)
        for place, value in zip(places, values, strict=True)
    )
    if weak or not any(type(value) in NUMBERS for value in arrays):
        return arrays
    dtype = np.result_type(*(x if type(x) in NUMBERS else x.dtype for x in arrays))
    return tuple(as_array(x, dtype, like) if type(x) in NUMBERS else x for x in arrays)


def is_operand(cls: type) -> bool:
    """Return whether operations take what is of a type as it is."""
    return tensor_protocol.types.participates(cls) or cls in NUMBERS or issubclass(cls, (np.ndarray, np.generic))


def _array_beside(values: Iterable[Any]) -> Any:
    """Return the first raw array in the tensors and array types of a call, None where NumPy's will do."""
    tensors = (value for value in values if tensor_protocol.types.participates(type(value)))
    array = next(map(first_array, tensors), None)
    if isinstance(array, np.ndarray):
        return None
    return array


def _as_argument(name: str, parameter: str, value: Any, like: Any) -> Any:
    """Return an argument as an array; an error names the function of NumPy and its parameter."""
    try:
        return as_array(value, like=like)
    except ForeignArgumentError as error:
        error.function, error.parameter = f"numpy.{name}", parameter
        raise error.with_traceback(None) from None


@dataclass(frozen=True, slots=True)
class Taken:
    """What an operation or a composition takes.

    Attributes
    ----------
    parameters : its signature, with its array parameters
    numbers : names of the array parameters that take Python numbers as they are
    words : texts that a parameter takes, by its name; of the others nothing is said
    sequences : places of the parameters that take several arrays
    """

    parameters: Parameters
    numbers: frozenset[str]
    words: Mapping[str, tuple[str, ...]]
    sequences: tuple[int, ...]

    def knows(self, name: str, value: Any) -> bool:
        """Return whether a parameter takes a value, where that is text."""
        return not isinstance(value, str) or name not in self.words or value in self.words[name]

    def to_tensors(self, function: str, args: Any, kwargs: Given) -> tuple[tuple[Any, ...], Given]:
        """Return the arguments with tensors for what is no array type yet.

        Parameters
        ----------
        function : path of the function in NumPy, for messages
        args, kwargs : by the names of the operation or the composition
        """

        def as_tensor(name: str, value: Any) -> Any:
            if value is None or tensor_protocol.types.participates(type(value)):
                return value
            if name in self.numbers and (type(value) in NUMBERS or isinstance(value, np.generic)):
                return value
            members = (member for _, member in self.parameters.values(args, kwargs))
            return _as_argument(function, name, value, _array_beside(members))

        args = list(args)
        for place in self.sequences:
            if place < len(args) and not isinstance(args[place], (list, tuple)):
                args[place] = list(args[place])  # the elements of an array are a sequence, too
        return self.parameters.replace(args, kwargs, as_tensor)


@functools.cache
def taken_by(function: Callable[..., Any] | Overridable) -> Taken:
    """Return what an operation or a composition takes, as its annotations say."""
    if isinstance(function, Overridable):
        body, parameters = function.source, function.parameters
    else:
        body, signature = function, read_signature(function)
        parameters = Parameters(signature, array_forms(body, signature, None))
    hints = {name: alternatives(known_hint(body, name, Any)) for name in parameters.signature.parameters}
    words = {}
    for name, parts in hints.items():
        texts = _literals_in(parts)
        if texts:
            words[name] = texts
    numbers = frozenset(name for name, parts in hints.items() if any(map(_takes_numbers, parts)))
    several = (p.position for p in parameters.arrays if p.form is Form.SEQUENCE)
    sequences = tuple(position for position in several if position is not None)
    return Taken(parameters, numbers, words, sequences)


def _takes_numbers(hint: Any) -> bool:
    """Return whether an annotation is of numbers, or of sequences that may hold them."""
    if typing.get_origin(hint) is Sequence:
        return not NUMBERS.isdisjoint(alternatives(*typing.get_args(hint)))
    return hint in NUMBERS


def _literals_in(hints: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values that the `Literal` types among some types name."""
    return tuple(itertools.chain(*[typing.get_args(hint) for hint in hints if typing.get_origin(hint) is Literal]))


@functools.cache
def signature_in_numpy(func: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function of NumPy, None where NumPy does not tell it."""
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):
        stated = SIGNATURES.get(getattr(func, "__name__", ""))
        if stated is None:
            return None
        return inspect.signature(stated)


def given_arguments(
    func: Callable[..., Any], stated: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Given | None:
    """Return what a call gives by NumPy's names, without what has its default value; None for a wrong call.

    Parameters
    ----------
    func : NumPy's function
    stated : has the parameters, where NumPy does not tell those of `func`
    args, kwargs : of the call
    """
    signature = signature_in_numpy(func) or signature_in_numpy(stated)
    if signature is None:
        return None
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    exclusive = EXCLUSIVE.get(func.__name__, ())
    if exclusive and all(arguments.get(name) is not None for name in exclusive):
        return None
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            arguments |= arguments.pop(p.name, {})

    def says_something(name: str, value: Any) -> bool:
        default: Any = ...
        if name in signature.parameters:
            default = signature.parameters[name].default
        names_or_flags = isinstance(default, (str, bool)) and type(value) is type(default)
        return value is not default and not (names_or_flags and value == default)

    return {name: value for name, value in arguments.items() if says_something(name, value)}


# Parameters that are axes, of which array types may have names.
AXES = ("axis", "axes", "axis1", "axis2", "axisa", "axisb", "axisc")
# Compositions that align several arrays by the name of an axis.
BY_NAME = frozenset({"append"})


def with_numbers_of_axes(name: str, arguments: Given) -> Given:
    """Return the arguments with numbers for axes that are given by the names in the first array that has names."""
    named = [parameter for parameter in AXES if holds_text(arguments.get(parameter))]
    if not named or name in BY_NAME:
        return arguments
    array = next((value for value in arguments.values() if hasattr(value, "_numbers_of_axes")), None)
    return arguments | {parameter: numbers_of_axes(array, name, arguments[parameter]) for parameter in named}


def numbers_of_axes(x: Any, function: str, axis: Any) -> Any:
    """Return an axis, or several, as numbers, as the array's method `_numbers_of_axes(function, axis)` gives them.

    Raises
    ------
    TypeError : if the axes of the array have no names
    """
    own = getattr(x, "_numbers_of_axes", None)
    if own is None:
        raise TypeError(f"{function}: axis is a number where axes have no names, found {axis!r}")
    return own(function, axis)


def holds_text(value: Any) -> bool:
    """Return whether an argument is a text, or a sequence that holds one."""
    return isinstance(value, str) or (isinstance(value, (tuple, list)) and any(isinstance(part, str) for part in value))


def call_composition(composed: Callable[..., Any], name: str, arguments: Given) -> Any:
    """Return the result of a composition; `NotImplemented` where it does not take what is given.

    Parameters
    ----------
    composed : function with NumPy's parameters
    name : path of NumPy's function
    arguments : by NumPy's names
    """
    taken = taken_by(composed)
    signature = taken.parameters.signature
    if "newshape" in arguments:  # as NumPy 2.0 has it
        arguments = {KEYWORDS.get(theirs, theirs): value for theirs, value in arguments.items()}
    known = signature.parameters.keys() >= arguments.keys()
    if not known or not all(map(taken.knows, arguments.keys(), arguments.values())):
        return NotImplemented
    bound = inspect.BoundArguments(signature, with_numbers_of_axes(name, arguments))
    args, kwargs = taken.to_tensors(name, bound.args, bound.kwargs)
    return compose(composed, *args, **kwargs)


def compose(composed: Callable[..., Any], *args: Any, fitting: bool = True, **kwargs: Any) -> Any:
    """Return the result of a composition, whose plain 0, NaN and infinities fit every array if they are `fitting`."""
    token = tensor_protocol.composing.set(fitting)
    try:
        return composed(*args, **kwargs)
    finally:
        tensor_protocol.composing.reset(token)


@functools.cache
def own_names(func: Callable[..., Any], operation: Overridable) -> dict[str, str]:
    """Return an operation's names of the parameters of NumPy's function, by NumPy's, for those that it has."""
    signature = signature_in_numpy(func)
    theirs: Mapping[str, inspect.Parameter] = {}
    if signature is not None:
        theirs = signature.parameters
    parameters = operation.parameters.signature.parameters
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    positional = [p.name for p in itertools.takewhile(lambda p: p.kind in by_place, parameters.values())]
    listed = list(theirs)
    if any(p.kind is p.VAR_KEYWORD for p in theirs.values()):
        listed += parameters
    names = {name: KEYWORDS.get(name, name) for name in listed}
    names |= dict(zip(theirs, positional, strict=False))
    return {name: ours for name, ours in names.items() if ours in parameters}


def call_operation(func: Callable[..., Any], operation: Overridable, name: str, arguments: Given) -> Any:
    """Return the result of the operation of a NumPy function; `NotImplemented` where it does not take what is given.

    Parameters
    ----------
    func : NumPy's function
    operation : that has its meaning
    name : path of the function in NumPy
    arguments : by NumPy's names
    """
    signature, taken, names = signature_in_numpy(func), taken_by(operation), own_names(func, operation)
    if signature is None or not names.keys() >= arguments.keys():
        return NotImplemented
    axis = signature.parameters.get("axis")
    if func.__name__ in IN_A_ROW and axis is not None and arguments.get("axis", axis.default) is None:
        first = next(iter(arguments))
        arguments = arguments | {first: tensor_namespace.ravel(as_array(arguments[first])), "axis": 0}
    elif func.__name__ in IN_A_ROW and "axis" not in arguments and axis is not None:
        arguments = arguments | {"axis": axis.default}
    if func.__name__ in ROWS and not np.ndim(next(iter(arguments.values()))):
        first = next(iter(arguments))
        arguments = arguments | {first: tensor_namespace.ravel(as_array(arguments[first]))}
    args: Any = []
    keywords: Given = {}
    parameters = operation.parameters.signature.parameters
    for theirs, value in arguments.items():
        if parameters[names[theirs]].kind is inspect.Parameter.VAR_POSITIONAL:
            args += value
        elif parameters[names[theirs]].kind is inspect.Parameter.POSITIONAL_ONLY:
            args.append(value)
        else:
            keywords[names[theirs]] = value
    if taken.words and not all(taken.knows(names[theirs], value) for theirs, value in arguments.items()):
        return NotImplemented
    try:
        operation.parameters.signature.bind(*args, **keywords)
    except TypeError:
        return NotImplemented
    args, keywords = taken.to_tensors(name, args, keywords)
    if operation.kind is kinds.fft and args[0].dtype.kind not in "fc":  # of which NumPy transforms integers, too
        args = (tensor_namespace.astype(args[0], np.float64), *args[1:])
    return operation.function(*args, **keywords)


def put(out: Any, result: Any, *, whole: bool = False, casting: Casting = "same_kind") -> Any:
    """Write a result where the caller wants it, which has the shape of the `whole` where it must not broadcast."""
    before, dtype = getattr(result, "dtype", None), getattr(out, "dtype", None)
    takes_part = tensor_protocol.types.participates(type(out))
    # Rules of an array type say themselves what its elements can hold.
    by_rules = takes_part and not isinstance(out, tensor_namespace.Tensor)
    known = isinstance(before, np.dtype) and isinstance(dtype, np.dtype)
    if known and not by_rules and not np.can_cast(before, dtype, casting):  # type: ignore[arg-type]  # both are dtypes
        raise TypeError(f"a result of {before} does not become the out of {dtype} by casting={casting!r}")
    shape, wanted = tuple(np.shape(out)), tuple(np.shape(result))
    if whole and shape != wanted and (wanted or np.size(out) != 1):
        raise ValueError(f"out must have shape {wanted}, found {shape}")
    if takes_part:
        out[...] = result
    else:
        out[...] = np.asarray(result)
    return out


def to_be_read(outs: Iterable[Any], arguments: Any) -> Any:
    """Return the arguments of a call whose results are written into tensors, so that derivatives can read them later.

    Parameters
    ----------
    outs : where the caller wants the results, None for one that is new
    arguments : in containers; those that share memory with one of `outs` are copied where a graph is recorded
    """
    for out in outs:
        if isinstance(out, tensor_namespace.Tensor) and is_grad_enabled():
            arguments = unspoilt(out, arguments)
    return arguments


def to_arrays(name: str | None, value: Any) -> Any:
    """Return arguments with NumPy arrays in the place of tensors and array types.

    Parameters
    ----------
    name : path of the function of NumPy that is to compute them, for messages
    value : arguments

    Raises
    ------
    AutogradError : if one of them requires a gradient
    """

    def to_array(leaf: Any) -> Any:
        if tensor_protocol.types.participates(type(leaf)):
            return np.asarray(leaf)
        return leaf

    try:
        return map_leaves(container_items, to_array, value)
    except AutogradError as error:
        raise AutogradError(
            f"numpy.{name} computes this call on arrays, which would lose the graph; use x.detach(). What leads to "
            f"arrays is on the page numpy-functions of the documentation"
        ) from error
