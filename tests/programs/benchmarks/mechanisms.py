"""What fallbacks, modes, records and functions of one's own cost, against the same by hand or by another library."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable
from functools import partial, singledispatch
from time import perf_counter_ns
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, Stand, Unavailable, pytorch
from .overrides import our_names
from .peers import library

__all__ = ["ROWS"]

VALUES = [1.0, 2.0, 3.0, 4.0]


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Rows(Stand):
    """A type with rules for what the body of `softmax` calls."""

    def __init__(self, data: Any) -> None:
        self.data = data

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)

    def to_dense(self) -> Any:
        return self.data


@dk.implements(dk.max)
def max_of_rows(x: Rows, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return dk.max(x.data, axis=axis, keepdims=keepdims)


@dk.implements(dk.subtract)
def subtract_from_rows(x1: Rows, x2: dk.Tensor, /) -> Rows:
    return Rows(x1.data - x2)


@dk.implements(dk.exp)
def exp_of_rows(x: Rows, /) -> Rows:
    return Rows(dk.exp(x.data))


@dk.implements(dk.sum)
def sum_of_rows(x: Rows, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return dk.sum(x.data, axis=axis, dtype=dtype, keepdims=keepdims)


@dk.implements(dk.divide)
def divide_rows(x1: Rows, x2: dk.Tensor, /) -> Rows:
    return Rows(x1.data / x2)


@dk.array_type(fallback=dk.fallback.rewrap, fields=("data", "unit"))
class Box(Stand):
    """A wrapper, whose calls are computed on what it wraps."""

    def __init__(self, data: Any, unit: str) -> None:
        self.data, self.unit = data, unit


class Passing(dk.TensorFunctionMode):
    """A mode that passes calls on."""

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


def decomposed() -> tuple[Side, Side]:
    """Return softmax by its body, whose calls become dense, and by PyTorch's hook that computes on what is held."""
    torch = pytorch()

    class Hooked(Stand):
        def __init__(self, data: Any) -> None:
            self.data = data

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[x.data if isinstance(x, cls) else x for x in args], **(kwargs or {}))

    softmax = dk.nn.functional.softmax
    theirs = {"softmax": torch.softmax, "x": Hooked(torch.tensor(VALUES, dtype=torch.float64))}
    ours = {"softmax": softmax, "x": Rows(dk.asarray(VALUES))}
    return Side("softmax(x, axis=-1).data", ours), Side("softmax(x, -1)", theirs)


def rewrapped() -> tuple[Side, Side]:
    """Return a call on a wrapper, and what people write instead: a copy with another array in it."""

    def by_hand(box: Box) -> Box:
        result = copy.copy(box)
        result.data = dk.exp(box.data)
        return result

    names = {"exp": dk.exp, "by_hand": by_hand, "box": Box(dk.asarray(VALUES), "m")}
    return Side("exp(box)", names), Side("by_hand(box)", names)


def many(function: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(199):
        function(x)
    return function(x)


def recorded(*, plain: bool) -> tuple[Side, Side]:
    """Return two hundred calls that are recorded, and the same that are not, or of a rule what a program notes of them.

    A rule that hands its argument back takes a tenth of a microsecond, by which nothing that is noted can be measured.
    """
    names = our_names("exp")
    if plain:
        names["d"] = names["t"]

    def records() -> Any:
        with dk.record_calls():
            return many(names["exp"], names["d"])

    other = Side("many(exp, d)", {**names, "many": many})
    if not plain:
        other = Side("noted(exp, d)", {**names, "noted": noted})
    return Side("records()", {"records": records}), other


def noted(function: Callable[[Any], Any], x: Any) -> Any:
    """Call a function two hundred times, and note of each call what a record notes of it."""
    notes = []

    def noting(x: Any) -> Any:
        frame = sys._getframe(1)
        asked = type(x), getattr(x, "shape", None), getattr(x, "dtype", None)
        thread = threading.current_thread()
        began = perf_counter_ns()
        result = function(x)
        ended = perf_counter_ns()
        place = frame.f_code, frame.f_lasti
        notes.append((function.__name__, asked, place, thread.name, thread.ident, type(result), began, ended))
        return result

    return many(noting, x)


def under_a_mode() -> tuple[Side, Side]:
    """Return two hundred calls in a mode that passes them on, here and in PyTorch."""
    torch = pytorch()
    overrides = library("torch.overrides")

    class Passed(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]  # any
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    def calls(mode: Any, function: Any, x: Any) -> Any:
        with mode():
            return many(function, x)

    ours = {"calls": calls, "mode": Passing, "exp": dk.exp, "x": dk.asarray(VALUES)}
    theirs = {"calls": calls, "mode": Passed, "exp": torch.exp, "x": torch.tensor(VALUES, dtype=torch.float64)}
    return Side("calls(mode, exp, x)", ours), Side("calls(mode, exp, x)", theirs)


class Described:
    """The wrapper that people write instead of `MetadataTensor`: NumPy's functions, and a dictionary."""

    def __init__(self, data: Any, metadata: dict[str, Any]) -> None:
        self.data, self.metadata = data, metadata

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.data, dtype=dtype)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Described):
            return Described(self.data + other.data, {**other.metadata, **self.metadata})
        return Described(self.data + other, dict(self.metadata))


def described(code: str) -> tuple[Side, Side]:
    metadata = {"unit": "m", "run": 7}
    ours = {"x": dk.types.MetadataTensor(VALUES, metadata)}
    return Side(code, ours), Side(code, {"x": Described(dk.asarray(VALUES), metadata)})


def by_the_protocol_of_numpy() -> tuple[Side, Side]:
    """Return NumPy's function on a type of ours, and on one with NumPy's hook."""

    class Hooked(Stand):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            if ufunc is not np.add or method != "__call__":
                return NotImplemented
            return inputs[0]

    ours = {"add": np.add, "d": our_names("add")["d"]}
    return Side("add(d, d)", ours), Side("add(d, d)", {"add": np.add, "d": Hooked()})


@dk.array_type()
class Subject(Stand):
    """A type with a rule for functions of the user's own."""


def own_function(peer: str, arguments: int) -> tuple[Side, Side]:
    """Return a call of a function of one's own with a rule, here and by another dispatcher."""
    if arguments == 1:

        def area(x: Any) -> Any:
            return None

        def rule(x: Subject) -> Any:
            return x

    else:

        def area(x: Any, y: Any) -> Any:  # type: ignore[misc]  # the other form
            return None

        def rule(x: Subject, y: Subject) -> Any:  # type: ignore[misc]
            return x

    function: Any = dk.overridable(area)
    dk.implements(function, *[Subject] * arguments)(rule)
    other: Any
    if peer == "functools.singledispatch":
        other = singledispatch(area)
        other.register(Subject)(rule)
    elif peer == "multipledispatch":
        other = library(peer).Dispatcher("area")
        other.add((Subject,) * arguments, rule)
    else:
        found = library("plum", "plum-dispatch")
        if not hasattr(found, "Dispatcher"):
            raise Unavailable("plum is another package here")
        rule.__annotations__ = dict.fromkeys("xy"[:arguments], Subject)
        other = found.Dispatcher()(rule)
    code = f"area({', '.join(['d'] * arguments)})"
    return Side(code, {"area": function, "d": Subject()}), Side(code, {"area": other, "d": Subject()})


def row(work: str, reference: str, hold: float, build: Callable[[], tuple[Side, Side]]) -> Row:
    return Row("mechanism", work, reference, hold, build)


ROWS = [
    row("softmax by `fallback.decompose`", "`__torch_function__`", 20.0, decomposed),
    row("exp by `fallback.rewrap`", "by hand", 5.0, rewrapped),
    row("`record_calls`, exp with a rule", "noted by hand", 3.0, partial(recorded, plain=False)),
    row("`record_calls`, exp of a tensor", "unrecorded", 8.0, partial(recorded, plain=True)),
    row("exp in a mode", "`TorchFunctionMode`", 1.0, under_a_mode),
    row("MetadataTensor + 1.0", "ten lines", 1.5, partial(described, "(x + 1.0).data")),
    row("MetadataTensor + MetadataTensor", "ten lines", 1.5, partial(described, "(x + x).data")),
    row("np.add(D, D)", "`__array_ufunc__`", 2.0, by_the_protocol_of_numpy),
    *[
        row(f"own function, {count} arguments", peer, 1.0, partial(own_function, peer, count))
        for peer, count in (
            ("functools.singledispatch", 1),
            ("multipledispatch", 1),
            ("multipledispatch", 2),
            ("plum", 1),
            ("plum", 2),
        )
    ],
]
