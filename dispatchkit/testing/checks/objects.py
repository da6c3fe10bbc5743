"""The checks of instances as objects, and of types that they do not know."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.func.containers import arrays_of
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.tensor import Tensor
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.comparing.differences import error_text, same, value_text
from dispatchkit.testing.examination import examination, make_call
from dispatchkit.testing.findings import Failure, Subject, alike, different, readings
from dispatchkit.testing.instances import NEGATIVE, anew, in_single_precision, of_fields, vary


def dense_form(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """`to_dense()` of every sample gives a plain tensor, the same each time."""
    text = f"to_dense() of a {subject.name}"
    try:
        dense = subject.dense(x)
        again = subject.dense(x)
    except RecursionError:
        yield Failure("dense", "", text, "RecursionError: it calls itself, or an operation that does", "a plain tensor")
    except Exception as error:  # noqa: BLE001  # what the type's own method raises is what is looked for
        yield Failure("dense", "", text, error_text(error), "a plain tensor")
    else:
        if type(dense) is not Tensor:
            yield Failure("dense", "", text, f"a {type(dense).__name__}", "a plain tensor")
        else:
            fault = different(subject, again, dense)
            if fault is None:
                yield None
            else:
                yield Failure("dense", "", f"{text} for the second time", *fault[1:])


def attributes(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """`shape`, `dtype`, `ndim`, `size`, `len`, iteration, `hash`, `float`, NumPy's array are the dense form's."""
    for instance in (x, vary(x, NEGATIVE)):
        dense = subject.dense(instance)
        for name, read in ATTRIBUTES.items():
            if _has(subject.cls, name):
                failure = _attribute(subject, name, read, instance, dense)
                if failure is None:
                    yield None
                else:
                    yield replace(failure, made=instance)


def _has(cls: type, name: str) -> bool:
    """Return whether a class has what an attribute is read by; of `in` its own way, as the library's is `==`."""
    if name not in NEEDED:
        return True
    method = NEEDED[name]
    return hasattr(cls, method) and not (name == "contains" and _of_the_library(cls, method))


def _attribute(subject: Subject, name: str, read: Callable[[Any], Any], x: Any, dense: Any) -> Failure | None:
    text = f"{name} of a {subject.name} of shape {tuple(dense.shape)}"
    try:
        expected = read(dense)
    except Exception:  # noqa: BLE001  # such as the length of a 0-D array: there is nothing to compare with
        return None
    try:
        value = read(x)
        if name == "hash":
            fault = _hash_fault(subject, x)
        elif name in OF_ELEMENTS:
            fault = _differs(value, expected, name)
            if fault is not None:
                fault = different(subject, value, expected)
            if fault is not None and fault[0] == "dtype" and name in NUMBERS:
                return None
        else:
            fault = _differs(value, expected, name)
    except subject.refusals:
        return None
    except Exception as error:  # noqa: BLE001  # what the type's own methods raise is what is looked for
        missing = name in NEEDED and (isinstance(error, TypeError) or _of_the_library(subject.cls, NEEDED[name]))
        if missing:
            return None
        return Failure("attributes", "", text, error_text(error), value_text(expected))
    if fault is None:
        return None
    return Failure("attributes", "", text, *fault[1:])


def _of_the_library(cls: type, name: str) -> bool:
    """Return whether a method is not the author's, but the one that array types are given."""
    return str(getattr(getattr(cls, name), "__module__", "")).startswith("dispatchkit.tensor.")


def _hash_fault(subject: Subject, x: Any) -> tuple[str, str, str] | None:
    """Return what is wrong with a hash: it changes, or it goes by elements, which `==` does not compare as a whole."""
    number = hash(x)
    if hash(x) != number:
        return "", "two numbers for one object", "the same number each time"
    equal, other = anew(x), vary(anew(x), 1)
    by_value = hash(equal) == number and hash(other) != number
    if by_value and not isinstance(x == equal, bool):
        return "", "the number of an equal instance, while == compares elements", "one by identity: object.__hash__"
    return None


def _differs(found: Any, expected: Any, name: str) -> tuple[str, str, str] | None:
    if name == "shape" and not isinstance(found, tuple):
        return "", repr(found), repr(expected)
    equal = same(found, expected) and getattr(found, "dtype", None) == getattr(expected, "dtype", None)
    if equal:
        return None
    return "", value_text(found), value_text(expected)


ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: x.shape if isinstance(x.shape, list) else tuple(x.shape),
    "dtype": lambda x: x.dtype,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
    "len": len,
    "iter": lambda x: tuple(iter(x)),
    "hash": lambda x: {hash(x), hash(x)},
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "__array__": lambda x: np.asarray(x.__array__()) if not isinstance(x, Tensor) else x.detach().numpy(),
    "index": operator.index,
    "contains": lambda x: [number in x for number in (0.0, 1.0, 2.0)],
    "reversed": lambda x: tuple(reversed(x)),
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x.item(),
}
# What gives elements, which go by the relation of the type.
OF_ELEMENTS = frozenset({"iter", "reversed", "tolist", "item", "float", "complex", "__array__"})
# What gives Python's numbers of the dense form, which have no dtype.
NUMBERS = frozenset({"tolist", "item"})
# What a type may do without, and the method by which it has it.
NEEDED = {
    "len": "__len__",
    "iter": "__iter__",
    "bool": "__bool__",
    "int": "__int__",
    "float": "__float__",
    "complex": "__complex__",
    "__array__": "__array__",
    "index": "__index__",
    "contains": "__contains__",
    "reversed": "__reversed__",
    **{name: name for name in ("ndim", "size", "tolist", "item")},
}


def shared_memory(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """Memory of copies is shared with nobody; writing into a dense form changes the whole instance or nothing."""
    for name, copying in COPYING.items():
        try:
            duplicate = copying(x)
        except Exception:  # noqa: BLE001, S112  # refused, or wrong in a way that another check reports
            continue
        if _share(duplicate, x):
            operation = f"dispatchkit.{name}"
            further = ""
            if name == "astype":
                further = ", its dtype"
            text = f"{operation}({subject.name} {tuple(x.shape)}{further})"
            yield Failure("alias", operation, text, "memory shared with the argument", "its own")
        else:
            yield None
    yield _handed_out(subject, x)  # last, as it changes the instance


COPYING: dict[str, Callable[[Any], Any]] = {
    "clone": tensor_namespace.clone,
    "astype": lambda x: tensor_namespace.astype(x, x.dtype),
}


def _handed_out(subject: Subject, x: Any) -> Failure | None:
    """Return that writing into a dense form changes what the instance says it holds, but not its fields."""
    dense = subject.dense(x)
    if type(dense.array) is not np.ndarray or not dense.size or not dense.array.flags.writeable:
        return None
    before = dense.array.copy()
    if before.dtype.kind != "b":
        dense.array[...] = 1 - before
    else:
        dense.array[...] = ~before
    try:
        now, fresh = subject.array(x), subject.array(of_fields(x))
    except Exception:  # noqa: BLE001  # an instance is more than its fields
        return None
    if same(now, fresh):
        return None
    return Failure(
        "alias",
        "",
        f"to_dense() of a {subject.name}, after its result was written into",
        value_text(now),
        value_text(fresh),
    )


def shallow_copies(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """`copy.copy` gives an instance with the same elements and metadata."""
    yield _same("copy", subject, x, "copy.copy", copy.copy)


def deep_copies(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """`copy.deepcopy` gives an equal instance that shares no memory with the first."""
    failure = _same("deepcopy", subject, x, "copy.deepcopy", copy.deepcopy)
    if failure is None and _share(copy.deepcopy(x), x):
        text = f"copy.deepcopy({subject.name})"
        failure = Failure("deepcopy", "", text, "memory shared with the original", "its own")
    yield failure


def _share(made: Any, x: Any) -> bool:
    """Return whether two values share memory."""
    memories = [_memory(array) for array in arrays_of(made)]
    return any(np.may_share_memory(array, _memory(other)) for array in memories for other in arrays_of(x))


def _memory(x: Any) -> Any:
    return np.asarray(getattr(x, "array", x))


def pickles(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """Pickling and loading gives an equal instance, in every protocol from 2 on, and one in single precision."""
    for number in range(2, pickle.HIGHEST_PROTOCOL + 1):

        def load(value: Any, number: int = number) -> Any:
            return pickle.loads(pickle.dumps(value, number))  # noqa: S301  # what was written a moment ago

        yield _same("pickle", subject, x, f"pickle protocol {number} of", load)
    single = in_single_precision(x)
    if single is not None:
        yield _same("pickle", subject, single, "pickle in single precision of", load)


def printing(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """`repr` and `str` give text."""
    for form in (repr, str):
        try:
            form(x)
        except Exception as error:  # noqa: BLE001  # what the type's own method raises is what is looked for
            yield Failure("repr", "", f"{form.__name__}({subject.name})", error_text(error), "text")
        else:
            yield None


def assignment(subject: Subject, x: Any) -> Iterator[Failure | None]:
    """`x[key] = value` changes the element, or is refused."""
    key = (0,) * len(x.shape)
    plain = tensor_namespace.asarray(subject.array(x))
    before = subject.array(x)
    if 0 in plain.shape:
        return
    value = int(plain[key] != 1)
    plain[key] = value
    text = f"{subject.name}[{', '.join(map(str, key)) or '()'}] = {value}"
    try:
        x[key] = value
    except (TypeError, *subject.refusals):  # type: ignore[misc]  # a tuple of them, with one more
        untouched = different(subject, x, before)
        if untouched is None:
            yield None
        else:
            yield Failure("assignment", "dispatchkit.setitem", text, *untouched[1:])
    except Exception as error:  # noqa: BLE001  # what the type's own method raises is what is looked for
        yield Failure("assignment", "dispatchkit.setitem", text, error_text(error), "no exception, or a refusal")
    else:
        fault = different(subject, x, plain)
        if fault is None:
            yield None
        else:
            yield Failure("assignment", "dispatchkit.setitem", text, *fault[1:])


def _same(check: str, subject: Subject, x: Any, name: str, form: Callable[[Any], Any]) -> Failure | None:
    text = f"{name}({subject.name})"
    try:
        made = form(x)
        fault = alike(readings(subject, made), readings(subject, x)) or _other_field(made, x)
    except Exception as error:  # noqa: BLE001  # what the type's own methods raise is what is looked for
        return Failure(check, "", text, error_text(error), f"an equal {subject.name}")
    if fault is None:
        return None
    return Failure(check, "", text, *fault)


def _other_field(made: Any, x: Any) -> tuple[str, str] | None:
    """Return the first field of a copy that is of another type or dtype, or lies otherwise in memory."""
    names = tensor_protocol.types.fields_of(x)
    for name in names:
        mine, right = (_description(getattr(value, name, None)) for value in (made, x))
        if mine != right:
            return f"'{name}' {mine}", f"'{name}' {right}"
    for place, name in enumerate(names):
        for other in names[place + 1 :]:
            shares = [_share(getattr(value, name), getattr(value, other)) for value in (made, x)]
            if shares == [False, True]:
                return f"'{name}' and '{other}' in memory of their own", f"'{name}' and '{other}' in the same memory"
    return None


def _description(value: Any) -> str:
    """Return type, dtype and order in memory of a field."""
    if not isinstance(value, (Tensor, np.ndarray)):
        return f"a {type_name(type(value))}"
    array = _memory(value)
    order = "C"
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        order = "F"
    return f"a {type_name(type(value))} of {array.dtype}, in the order {order}"


ANSWER = "answered by the foreign type"
COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")


class Foreign:
    """A type of the protocol that answers every call, whoever else is in it."""

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return ANSWER

    def __repr__(self) -> str:
        return "Foreign()"


class Foreigner:
    """A class outside the protocol whose operators answer."""

    def __repr__(self) -> str:
        return "Foreigner()"


for _name in (*REFLECTED.values(), *COMPARISONS):
    setattr(Foreigner, _name, lambda self, other: ANSWER)


def foreign_types(subject: Subject, operation: Overridable) -> Iterator[Failure | None]:
    """Types that the type does not know are asked in their turn: handlers decline, and raise nothing."""
    if sum(p.form is not Form.INDEX for p in operation.parameters.arrays) < 2:
        return
    calls = [call for call in examination(subject, operation).some(1) if not call.others]
    for call in calls:
        for place in range(len(call.operands)):
            yield _with_foreign(replace(call, seats=(place,), other=lambda value: Foreign()))
        for member in tensor_protocol.surface:
            if member.operation is operation and member.name in (*REFLECTED, *COMPARISONS):
                yield from _with_foreigner(subject, call, member.name)


def _with_foreign(call: TypeCall) -> Failure | None:
    error = make_call(call, call.make()).error
    if error is None:
        return None
    return call.failure("foreign", error_text(error), "a decline (dk.decline or NotImplemented), then its answer")


def _with_foreigner(subject: Subject, call: TypeCall, name: str) -> Iterator[Failure | None]:
    form: Callable[[Any, Any], Any] = getattr(operator, name)
    (x, *_), _ = call.make()
    text = f"{subject.name}.{name}(Foreigner())"
    try:
        answered = form(x, Foreigner()) == ANSWER
        if answered:
            yield None
        else:
            yield call.failure("foreign", "an answer of its own", ANSWER, text)
    except Exception as error:  # noqa: BLE001  # whatever the operator raises, the other operand was not asked
        yield call.failure("foreign", error_text(error), "NotImplemented, then its answer", text)
    try:
        form(x, object())
    except TypeError:
        yield None
    except Exception as error:  # noqa: BLE001  # Python's own answer would be a TypeError
        text = f"{subject.name}.{name}(object())"
        yield call.failure("foreign", error_text(error), "NotImplemented, so a TypeError", text)
