"""NumPy's functions called on tensors and array types: the one table of what answers them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.libraries import first_array
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.resources import read_rows
from dispatchkit.tensor import (  # noqa: F401  # they enter their compositions
    numpy_assignment,
    numpy_calculus,
    numpy_histograms,
    numpy_numbers,
    numpy_pieces,
)
from dispatchkit.tensor.conversion import DIRECT_OPERATIONS, has_numpy_array
from dispatchkit.tensor.gradients import in_class_of
from dispatchkit.tensor.numpy_arguments import (
    IN_A_ROW,
    as_array,
    call_composition,
    call_operation,
    compose,
    given_arguments,
    is_operand,
    operands,
    own_names,
    put,
    signature_in_numpy,
    to_arrays,
    to_be_read,
)
from dispatchkit.tensor.numpy_folds import FOLDS
from dispatchkit.tensor.numpy_parameters import check_mask, element_of, of_no_elements
from dispatchkit.tensor.numpy_shapes import COMPOSED_BY_NUMPY, composed_by_numpy, compositions, extensions, universal

# NumPy's names where the array API's, and so the operations', are others.
NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arctan2": "atan2",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "around": "round",
    "bitwise_not": "bitwise_invert",
    "concatenate": "concat",
    "conjugate": "conj",
    "copy": "clone",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "psi": "digamma",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}
ATTRIBUTES = frozenset({"ndim", "shape", "size"})
# They change their first argument.
WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
# They write numbers of any dtype where the caller wants their results.
CASTING = """
amax amin choose compress cumprod cumsum cumulative_prod cumulative_sum max mean median min nancumprod nancumsum nanmax
nanmedian nanmin nanprod nansum prod sum take var
"""
# What NumPy makes of files, text and functions: with `like` of a tensor, it becomes one.
MADE = ("frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "genfromtxt", "loadtxt")
# They are asked about by `like` alone.
CREATED = frozenset(
    {
        *MADE,
        *("arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "full"),
        *("identity", "ones", "require", "tri", "zeros"),
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What answers a function of NumPy.

    Attributes
    ----------
    how : ``"operation"``; ``"composition"`` of operations; ``"attribute"`` of the array; ``"array"``, which NumPy
        computes on arrays; ``"declined"``
    text : name of what answers, or why nothing but NumPy does
    operation : that answers
    composition : function with NumPy's parameters, of an operation for the calls that it does not take
    """

    how: Literal["operation", "composition", "attribute", "array", "declined"]
    text: str
    operation: Overridable | None = None
    composition: Callable[..., Any] | None = None


def _read_answers(of: str) -> dict[str, Answer]:
    """Return what stands in the table of functions, or universal ones, that no operation answers, by their names."""
    rows = [row for row in read_rows("dispatchkit.tensor", "numpy_functions.csv") if row["of"] == of]
    return {name: Answer(row["how"], row["reason"]) for row in rows for name in row["names"].split()}  # type: ignore[arg-type]


# A module stands for all functions of it; "_" for the universal functions of one underscore, which NumPy calls itself.
UNANSWERED, UNANSWERED_UNIVERSAL = _read_answers("function"), _read_answers("universal")


def path_of(func: Callable[..., Any]) -> str | None:
    """Return the path of a function in NumPy, such as ``"linalg.inv"``; None for other libraries' functions."""
    library, _, module = (getattr(func, "__module__", "") or "").partition(".")
    name = getattr(func, "__name__", "")
    if library != "numpy" or not name:
        return None
    # NumPy 2.0 names some by the file that defines them, such as `lib._scimath_impl`.
    module = module.removesuffix("_impl").replace("._", ".")
    if module:
        return f"{module}.{name}"
    return name


@functools.cache
def answer_of(func: Any) -> Answer | None:
    """Return what answers a function of NumPy, or a universal function; None where nothing is said of it."""
    if isinstance(func, np.ufunc):
        return _answer_of_universal(func.__name__)
    path = path_of(func)
    if path is None:
        return None
    if path in ATTRIBUTES:
        return Answer("attribute", path)
    if (answer := UNANSWERED.get(path) or UNANSWERED.get(path.rpartition(".")[0])) is not None:
        return answer
    if path in MADE:
        return Answer("composition", "asarray", composition=_tensors_of(func))
    if path in COMPOSED_BY_NUMPY.split():
        return Answer("composition", "operations", composition=composed_by_numpy(func))
    if path in compositions:
        return Answer("composition", "operations", composition=compositions[path])
    operation = _operation(path)
    if operation is None:
        return None
    return Answer("operation", operation.qualified_name, operation, extensions.get(path))


def _tensors_of(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that makes tensors of what another makes."""

    @functools.wraps(func)
    def with_tensors(*args: Any, **kwargs: Any) -> Any:
        return tensor_namespace.asarray(func(*args, **kwargs))

    return with_tensors


def _operation(path: str) -> Overridable | None:
    """Return the operation of a path in NumPy."""
    place: Any = tensor_namespace
    *outer, name = path.split(".")
    for part in outer:
        place = getattr(place, part, None)
    return of(getattr(place, NAMES.get(name, name), None))


def _answer_of_universal(name: str) -> Answer | None:
    function = operation_of_universal(name)
    if function is not None:
        operation = of(function)
        assert operation is not None
        return Answer("operation", operation.qualified_name, operation)
    if name in universal:
        return Answer("composition", "operations", composition=universal[name])
    return UNANSWERED_UNIVERSAL.get(name) or UNANSWERED_UNIVERSAL.get(name[:1])


@functools.cache
def operation_of_universal(name: str) -> Callable[..., Any] | None:
    """Return the operation that is the universal function of a name, None where there is none, or a composition."""
    if name in universal:
        return None
    named = NAMES.get(name, name)
    for place in (tensor_namespace, getattr(tensor_namespace, "special", None)):
        function: Callable[..., Any] | None = getattr(place, named, None)
        if of(function) is not None:
            return function
    return None


REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
ACCUMULATIONS = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
# Universal functions of which a number stays one, since its dtype or all of its digits count.
WITH_NUMBERS = frozenset({"float_power", "ldexp"})
# What a reduction puts in the place of elements that `where` leaves out.
NEUTRAL = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}
# Keywords of universal functions that say nothing, with these values.
DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "subok": True, "dtype": None}


class Direct:
    """The operations that take the inputs of universal functions as they are, by the function and the inputs' types.

    Whether they do is decided anew after a registration, which clears the table.
    """

    def __init__(self) -> None:
        self.operations = DIRECT_OPERATIONS

    def clear(self) -> None:
        """Forget what was decided."""
        self.operations.clear()

    def decide(self, ufunc: Any, key: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return the operation for a function and the types of its inputs, the key; None where inputs are changed."""
        generation = tensor_protocol.journal.generation
        operation, answer = None, answer_of(ufunc)
        if answer is not None and answer.how != "declined" and all(map(is_operand, key[1:])):
            operation = operation_of_universal(ufunc.__name__)
        tensor_protocol.journal.keep(self, generation, self.operations, (key,), operation)
        return operation


direct = Direct()


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a universal function of NumPy or SciPy by the operation of the same name, or by itself on arrays."""
    if method == "__call__" and not kwargs:
        key = (ufunc, *map(type, inputs))
        try:
            operation = direct.operations[key]
        except KeyError:
            operation = direct.decide(ufunc, key)
        if operation is not None:
            return operation(*inputs)
    outs = kwargs.pop("out", ())
    keywords = {key: value for key, value in kwargs.items() if key not in DEFAULTS or value is not DEFAULTS[key]}
    plain = all(map(is_operand, map(type, (*inputs, *outs))))
    others = (type(value) for value in (*inputs, *outs) if not plain and not is_operand(type(value)))
    if any(getattr(cls, "__array_ufunc__", None) is not None for cls in others):
        return NotImplemented
    answer = answer_of(ufunc)
    if answer is not None and answer.how == "declined":
        raise TypeError(f"numpy.{ufunc.__name__} takes no tensors and array types: {answer.text}")
    sources = to_be_read(outs, inputs)
    result = _compute(ufunc.__name__, method, sources, dict(keywords), outs, plain=plain)
    if result is NotImplemented and method in FOLDS and any(map(_is_foreign, map(type, inputs))):
        result = compose(FOLDS[method], ufunc.__name__, *sources, keywords)
    if result is NotImplemented:
        return _on_arrays(ufunc, method, inputs, keywords, outs)
    if not outs:
        return result
    if not isinstance(result, tuple):
        if method == "__call__":
            return put(outs[0], result)
        return put(outs[0], result, casting="unsafe")
    return tuple(array if out is None else put(out, array) for out, array in zip(outs, result, strict=True))


def _on_arrays(ufunc: Any, method: str, inputs: tuple[Any, ...], given: Mapping[str, Any], outs: Any) -> Any:
    """Return what NumPy computes on arrays; `NotImplemented` where it would write into a tensor unseen."""
    written = outs
    if method == "at":
        written = inputs[:1]
    if any(tensor_protocol.types.participates(type(value)) for value in written):
        return NotImplemented
    if not all(_becomes_array(type(value)) for value in (*inputs, *outs)):
        _check_dense(ufunc.__name__, map(type, inputs))
        return NotImplemented
    arrays, keywords = to_arrays(ufunc.__name__, (inputs, dict(given)))
    return getattr(ufunc, method)(*arrays, **keywords, **({"out": outs} if outs else {}))


def _compute(
    name: str, method: str, inputs: tuple[Any, ...], given: dict[str, Any], outs: tuple[Any, ...], *, plain: bool
) -> Any:
    """Return the result of operations, which take `plain` inputs as they are; `NotImplemented` without an answer."""
    if method == "reduce":
        return compose(_reduce, name, inputs[0], {"axis": 0} | given)
    function = operation_of_universal(name)
    weak = function is not None or name in WITH_NUMBERS
    if function is None and name in universal:
        function = partial(compose, universal[name])
    if function is None:
        return NotImplemented
    if not (plain and weak):
        inputs = operands(name, inputs, weak=weak)
    if method == "accumulate" and name in ACCUMULATIONS and given.keys() <= {"axis", "dtype"}:
        return getattr(tensor_namespace, ACCUMULATIONS[name])(*inputs, **{"axis": 0} | given)
    if method == "outer" and not given:
        first, second = map(as_array, inputs)
        return function(tensor_namespace.reshape(first, (*first.shape, *(1,) * second.ndim)), second)
    if method != "__call__" or given.keys() - {"dtype", "where"}:
        return NotImplemented
    if "dtype" in given:
        dtype = np.dtype(given["dtype"])
        if not all(np.can_cast(getattr(x, "dtype", dtype), dtype, "same_kind") for x in inputs):
            return NotImplemented
        inputs = tuple(as_array(x, dtype) for x in inputs)
    if "where" not in given:
        return function(*inputs)
    if len(outs) != 1 or outs[0] is None:
        return NotImplemented  # the elements that are left out have no value
    # Of arrays with units, the first of the two says in which the result is: what is not written stays as it is.
    left = tensor_namespace.logical_not(as_array(given["where"]))
    return tensor_namespace.where(left, as_array(outs[0]), function(*inputs))


def _reduce(name: str, x: Any, given: dict[str, Any]) -> Any:
    """Return a reduction by a universal function; `NotImplemented` where it is no operation."""
    where, initial = given.pop("where", None), given.pop("initial", None)
    if initial is not None and name in ("maximum", "minimum"):
        initial = element_of(x.dtype, initial)
        if not x.size and not given.keys() - {"axis", "keepdims"}:
            return of_no_elements(x, initial, given)
    neutral = NEUTRAL.get(name, initial)
    if name not in REDUCTIONS or given.keys() - {"axis", "keepdims", "dtype"}:
        return NotImplemented
    if ("dtype" in given and name not in ACCUMULATIONS) or (where is not None and neutral is None):
        return NotImplemented
    if where is not None:
        check_mask(where, x)
    if where is not None and name.startswith("logical"):
        x = x != 0
    if where is not None:
        x = tensor_namespace.where(as_array(where), x, neutral)
    result = getattr(tensor_namespace, REDUCTIONS[name])(x, **given)
    if initial is None:
        return result
    if name in ("add", "multiply"):
        initial = element_of(result.dtype, initial)
    combined: Any = operation_of_universal(name)
    return combined(result, initial)


def _is_foreign(cls: type) -> bool:
    """Return whether a type takes part that is no tensor, for which NumPy's own arrays may not do."""
    return tensor_protocol.types.participates(cls) and not issubclass(cls, tensor_namespace.Tensor)


def _becomes_array(cls: type) -> bool:
    """Return whether NumPy computes with a type without asking it, or makes an array of it."""
    if issubclass(cls, (np.ndarray, np.generic, int, float, complex, list, tuple)):
        return True
    return tensor_protocol.types.participates(cls) and has_numpy_array(cls)


def _check_dense(name: str | None, types: Iterable[type]) -> None:
    """Raise for a type that NumPy can make no array of."""
    for cls in types:
        if tensor_protocol.types.participates(cls) and not _becomes_array(cls):
            raise TypeError(
                f"no implementation found for 'numpy.{name}' on {cls.__name__}: NumPy computes it on arrays, and the "
                f"type has no dense form; define to_dense()"
            )


def answer_by_operations(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what operations give for a call of a function of NumPy; `NotImplemented` for one that takes arrays."""
    if isinstance(func, np.ufunc):
        plain = all(map(is_operand, map(type, args)))
        return _compute(func.__name__, "__call__", args, dict(kwargs), (), plain=plain)
    answer = answer_of(func)
    if answer is None:
        return NotImplemented
    if answer.how == "attribute" and len(args) == 1 and not kwargs and is_operand(type(args[0])):
        return getattr(args[0], answer.text)
    return _answer_function(func, path_of(func) or func.__name__, answer, args, kwargs)


def array_function(
    func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any], asked: Any
) -> Any:
    """Answer a NumPy function by the operation of the same meaning, by several, or by NumPy on arrays.

    Parameters
    ----------
    func, types, args, kwargs : as NumPy gives them
    asked : the array whose method NumPy calls, the `like` of functions that create arrays
    """
    if len(args) == 1 and len(types) == 1 and type(args[0]) is types[0]:
        operation = _of_one_array(func)
        if operation is not None and (not kwargs or _is_axis_alone(kwargs)):
            return operation(args[0], **kwargs)
    records = tensor_protocol.types
    if not all(issubclass(cls, np.ndarray) or records.participates(cls) for cls in types):
        return NotImplemented
    answer, path = answer_of(func), path_of(func) or func.__name__
    if answer is not None and answer.how == "declined":
        raise TypeError(f"numpy.{path} takes no tensors and array types: {answer.text}")
    # What is written into an array of NumPy's are arrays.
    writes = path in WRITERS and isinstance(next(iter((*args, *kwargs.values())), None), np.ndarray)
    result = NotImplemented
    if not writes:
        result = answer_by_operations(func, args, kwargs)
    if result is NotImplemented:
        if path not in CREATED:
            _check_dense(path, types)
        arrays, keywords = to_arrays(path, (args, dict(kwargs)))
        result = func(*arrays, **keywords)
    if path in CREATED:
        return _like(asked, path, result)
    return result


@functools.cache
def _of_one_array(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the operation that computes what a function does of an array, and of one axis; None for all others."""
    answer, path, signature = answer_of(func), path_of(func), signature_in_numpy(func)
    if answer is None or answer.operation is None or signature is None or path in {*IN_A_ROW, *WRITERS, *CREATED}:
        return None
    operation = answer.operation
    first, *others = signature.parameters.values()
    names, parameters = own_names(func, operation), operation.parameters
    takes_one = parameters.leading and parameters.least == 1 and parameters.names == [names.get(first.name)]
    optional = all(p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in others)
    if takes_one and optional and names.get("axis") == "axis" and operation.kind is not kinds.fft:
        return operation.function
    return None


def _is_axis_alone(kwargs: Mapping[str, Any]) -> bool:
    return len(kwargs) == 1 and type(kwargs.get("axis")) is int


def _like(like: Any, path: str, created: Any) -> Any:
    """Return what a function of NumPy created as an array of the type of `like`; other types stay as they are.

    Raises
    ------
    TypeError : if the type does not say how it is made of a plain array, or `like` has not the structure of this one
    """
    x, cls, types = as_array(created), type(like), tensor_protocol.types
    if type(x) is not tensor_namespace.Tensor:
        return x
    array = first_array(like)
    if array is not None and not isinstance(array, np.ndarray):
        x = x.to(like=array)
    if isinstance(like, tensor_namespace.Tensor):
        if like.is_tracer:
            return like.take_in(x)
        return in_class_of(like, x)
    make, to_dense = types.from_dense(cls), types.to_dense(cls)
    if make is None:
        raise TypeError(
            f"numpy.{path}: {type_name(cls)}, the type of like, does not say how it is made of a plain array; declare "
            f"array_type(from_dense=...), or leave like out"
        )
    try:
        result = make(x, like)
    except (IndexError, TypeError, ValueError) as error:
        text = f"an array of shape {tuple(x.shape)} does not become a {type_name(cls)} like the one that is given"
        raise TypeError(f"numpy.{path}: {text}: {error}") from error
    exact = fallback.dense in types.fallback(cls) and not types.relation(cls).tolerance
    if exact and to_dense is not None and not bool(tensor_namespace.all(to_dense(result) == x)):
        raise TypeError(f"numpy.{path}: a {type_name(cls)} of the structure of like does not hold all elements")
    return result


def _answer_function(
    func: Callable[..., Any], path: str, answer: Answer, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of an operation or a composition; `NotImplemented` where it does not take what is given."""
    if answer.how not in ("operation", "composition"):
        return NotImplemented
    if answer.text == "asarray":
        return answer.composition(*args, **kwargs)  # type: ignore[misc]  # which makes a tensor of what NumPy gives
    arguments = given_arguments(func, answer.composition or func, args, kwargs)
    if arguments is None:
        return NotImplemented
    out = arguments.pop("out", None)
    arguments = to_be_read((out,), arguments)
    casting: Literal["same_kind", "unsafe"] = "same_kind"
    if path in CASTING.split():
        casting = "unsafe"
    result: Any = NotImplemented
    if answer.operation is not None:
        result = call_operation(func, answer.operation, path, arguments)
    if result is NotImplemented and answer.composition is not None:
        result = call_composition(answer.composition, path, arguments)
    if out is None or result is NotImplemented:
        return result
    return put(out, result, whole=True, casting=casting)
