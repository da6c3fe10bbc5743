"""Sample calls without an instance: how each operation is called, and what its body calls then.

A stand-in takes the place of the type in the calls that an operation declares as its samples: at all arrays, and at
each with plain tensors and numbers at the others. A body that is run on stand-ins shows which operations it calls, and
how. None of that depends on the type, so it is found once for all types.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.ops.random.generator import default_generator
from dispatchkit.protocol.densify import densify, separate_ledger
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.report.coverage.calls import generic_samples
from dispatchkit.tensor import Tensor

__all__ = ["DryCall", "Inner", "dry_calls", "least_call", "measuring", "with_type"]


@dataclass(frozen=True, slots=True)
class Inner:
    """A call that a body makes.

    Attributes
    ----------
    operation : that is called
    key : types of its arrays, `_Noting` for the type in question
    count, keywords : how many arguments it has by position, and which by name
    """

    operation: Overridable
    key: Key
    count: int
    keywords: tuple[str, ...]


Notes: TypeAlias = dict[Inner, None]


@dataclass(frozen=True, eq=False, slots=True)
class DryCall:
    """A sample call of an operation, with stand-ins for the arrays of a type.

    Attributes
    ----------
    form : the types of its arrays, "" for the stand-in
    key, count, keywords : as of `Inner`
    samples : arguments of the same call, from which the body is run
    """

    form: tuple[str, ...]
    key: Key
    count: int
    keywords: tuple[str, ...]
    samples: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    _inner: list[tuple[Inner, ...]] = field(default_factory=list)

    def inner(self, operation: Overridable) -> tuple[Inner, ...]:
        """Return the calls that the body of its operation makes on the stand-ins."""
        if not self._inner:
            notes: Notes = {}
            with measuring():
                for args, kwargs in self.samples:
                    _run(operation, args, kwargs, notes)
            self._inner.append(tuple(notes))
        return self._inner[0]


@tensor_protocol.array_type(fields=("array", "notes"))
class _Noting:
    """An array that notes the calls it meets, and hands its notes on to the results."""

    def __init__(self, array: Tensor, notes: Notes) -> None:
        self.array = array
        self.notes = notes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __index__(self) -> int:
        return self.array.__index__()


@tensor_protocol.implements(kinds.all, _Noting)
def note(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Note a call, and compute it on the arrays inside."""
    notes: Notes = {}
    operation = of(op)
    assert operation is not None
    inner = Inner(operation, operation.parameters.key(args, kwargs), len(args), tuple(kwargs))

    def opened(name: str, value: Any) -> Any:
        nonlocal notes
        if isinstance(value, _Noting):
            notes = value.notes
            return value.array
        return value

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, opened)
    notes[inner] = None
    return tensor_protocol.types.map_arrays(op(*args, **kwargs), lambda array: _Noting(array, notes))


def _run(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], notes: Notes) -> None:
    def noting(name: str, value: Any) -> Any:
        return _Noting(value.array, notes) if isinstance(value, _Noting) else value

    if not isinstance(operation, DeclaredOperation) or operation.decomposition() is None:
        return
    args, kwargs = operation.parameters.replace(args, kwargs, noting)
    try:
        operation.decomposed(*args, **kwargs)
    except Exception:  # noqa: BLE001, S110  # what was noted before a body that needs real tensors gave up still counts
        pass


def with_type(key: Key, cls: type) -> Key:
    """Return the key of a call in which a type stands for the stand-in."""
    return tuple(
        with_type(entry, cls) if isinstance(entry, tuple) else (cls if entry is _Noting else entry) for entry in key
    )


@contextmanager
def measuring() -> Iterator[None]:
    """Silence warnings, count densifications apart, and put random numbers back to where they were."""
    source = default_generator.source
    default_generator.source = np.random.Generator(np.random.PCG64(0))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), densify(on="allow"), separate_ledger():
            warnings.simplefilter("ignore")
            yield
    finally:
        default_generator.source = source


_KNOWN: WeakKeyDictionary[Overridable, list[DryCall]] = WeakKeyDictionary()


def dry_calls(operation: Overridable) -> list[DryCall]:
    """Return the sample calls of an operation; those with stand-ins alone come first."""
    found = _KNOWN.get(operation)
    if found is None:
        with measuring():
            found = _KNOWN[operation] = list(_made(operation).values())
    return found


def _made(operation: Overridable) -> dict[Any, DryCall]:
    found: dict[Any, DryCall] = {}
    calls: list[tuple[Any, ...]] = []
    arrays = [p for p in operation.parameters.arrays if p.form is not Form.INDEX]
    if not arrays:
        return found
    shape = (2, 2)
    declared: Sequence[Sample] = getattr(operation, "samples", []) or generic_samples(operation, shape, np.float64)
    for sample in declared:
        calls += _with_roles(operation, sample)
    named = {name for _, _, kwargs in calls for name in kwargs}
    for p in operation.parameters.signature.parameters.values():
        optional = p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY and p.name not in named
        if optional and calls and all(p.name != one.name for one in operation.parameters.arrays):
            form, args, kwargs = calls[0]
            calls.append((form, args, {**kwargs, p.name: p.default}))
    if not calls:  # nothing is known of what else it takes
        return {None: DryCall(("",), tuple(_alone(operation)), *least_call(operation))}
    for form, args, kwargs in sorted(calls, key=lambda one: any(one[0])):
        call = (form, operation.parameters.key(args, kwargs), len(args), tuple(kwargs))
        shown = tuple((name, repr(value)) for name, value in kwargs.items() if not isinstance(value, (_Noting, Tensor)))
        found.setdefault((call, shown), DryCall(*call)).samples.append((args, kwargs))
    return found


def _alone(operation: Overridable) -> Iterator[Any]:
    """Yield the types of a call of which nothing is known but that stand-ins are in it."""
    for p in operation.parameters.arrays:
        one: Any = int if p.form is Form.INDEX else _Noting
        yield (one,) if p.form in (Form.SEQUENCE, Form.STAR, Form.INDEX) else one


def _with_roles(operation: Overridable, sample: Sample) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield a sample with stand-ins for all its arrays, then with plain tensors and numbers at all places but one."""
    args, kwargs = sample.make(np.random.default_rng(0))
    values = operation.parameters.values(args, kwargs)
    places = [p for p, value in values if isinstance(value, np.ndarray) and p.form is not Form.INDEX]
    if not places:
        return
    forms: list[tuple[str, ...]] = [("",) * len(places)]
    if len(places) > 1:
        scalars = ("float", "int") if all(p.form in (Form.ONE, Form.LOOSE) for p in places) else ()
        for other in ("Tensor", *scalars):
            forms += [
                tuple("" if one == place else other for one in range(len(places))) for place in range(len(places))
            ]
    for form in forms:
        filled = _filled(operation, args, kwargs, form)
        # A number may stand where an array does if plain tensors take it there.
        if not {"float", "int"} & set(form) or _is_valid(operation, *filled):
            yield form, *filled


def _filled(operation: Overridable, args: Any, kwargs: Any, form: tuple[str, ...]) -> tuple[Any, Any]:
    waiting = iter(form)

    def stand_in(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or operation.parameters.arrays == ():
            return value
        role = next(waiting, "Tensor")
        if not role:
            return _Noting(Tensor(value), {})
        return Tensor(value) if role == "Tensor" else 2.0 if role == "float" else 2

    filled: tuple[Any, Any] = operation.parameters.replace(args, kwargs, stand_in)
    return filled


def _is_valid(operation: Overridable, args: Any, kwargs: Any) -> bool:
    def plain(name: str, value: Any) -> Any:
        return value.array if isinstance(value, _Noting) else value

    args, kwargs = operation.parameters.replace(args, kwargs, plain)
    try:
        operation.function(*args, **kwargs)
    except Exception:  # noqa: BLE001  # whatever a number meets shows that none can stand there
        return False
    return True


def least_call(operation: Overridable) -> tuple[int, tuple[str, ...]]:
    """Return how many arguments a call must have by position, and which by name."""
    parameters = list(operation.parameters.signature.parameters.values())
    needed = [p for p in parameters if p.default is p.empty]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in positional for p in needed)
    return count, tuple(p.name for p in needed if p.kind is p.KEYWORD_ONLY)
