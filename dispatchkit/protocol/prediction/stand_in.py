"""Stand-ins for arrays, on which bodies run to show which calls they make; and what predictions share."""

from __future__ import annotations

import math
import weakref
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.densify import MakingDense, known_layout
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Layout
from dispatchkit.protocol.prediction.tree import Prediction, mistake_in
from dispatchkit.protocol.resolution import build_chain
from dispatchkit.protocol.rules import Rule

# Plain arrays with more elements are followed by shape and dtype alone.
SMALL = 4096


class NotFollowed(BaseException):
    """A body asked for something that cannot be known without a call; it never leaves the prediction.

    Parameters
    ----------
    wanted : what it asked for
    """

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class StandIn:
    """Stands for an array of some type; each protocol has a subclass with the surface of its array types."""

    __slots__ = ("_classes", "_field", "_given", "_layout", "_origin")
    _classes: tuple[type, ...]
    _field: Any
    _given: Any
    _layout: Layout
    _origin: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # what Python and libraries look for before they do something else
        raise NotFollowed(f"the attribute '{name}' of {_describe(self)}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        shape = self._layout.shape
        if shape is None:
            raise NotFollowed(f"the shape of {_describe(self)}")
        return shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        if self._layout.dtype is None:
            raise NotFollowed(f"the dtype of {_describe(self)}")
        return self._layout.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def device(self) -> str:
        """Where the data is."""
        return "cpu"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-D array")
        return self.shape[0]

    def _value(self, *_: Any, **__: Any) -> Any:
        raise NotFollowed(f"a value of {_describe(self)}")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = __dlpack__ = _value
    item = tolist = numpy = _value

    def _class(self) -> type:
        if len(self._classes) != 1:
            raise NotFollowed(f"the type of {_describe(self)}")
        return self._classes[0]

    # A body that looks whether something is a tensor is to find what it stands for.
    __class__ = property(_class)

    def __repr__(self) -> str:
        if self._given is not None:
            return repr(self._given)
        return _describe(self)


def _describe(x: StandIn) -> str:
    names = " or ".join(map(type_name, x._classes))
    if not names:
        return f"what {x._origin or 'an inner call'} gives, whose annotation names no class"
    if x._origin:
        return f"{names}, which {x._origin} gives"
    return names


_made: weakref.WeakKeyDictionary[Any, type[StandIn]] = weakref.WeakKeyDictionary()


def make_stand_in(
    protocol: Any,
    classes: Sequence[type],
    layout: Layout | None = None,
    origin: str = "",
    *,
    given: Any = None,
    field: Any = None,
) -> StandIn:
    """Return what stands for an array.

    Parameters
    ----------
    protocol : whose surface it has
    classes : the type of the array; several where it is one of them
    layout : its shape and dtype
    origin : where it comes from, in words
    given : the array itself, where there is one
    field : what stands for its first field, where that is known
    """
    cls = _made.get(protocol)
    if cls is None:
        cls = type("StandIn", (StandIn,), {"__slots__": ()})
        protocol.surface.install(cls)
        _made[protocol] = cls
    stand_in = object.__new__(cls)
    stand_in._classes, stand_in._layout, stand_in._origin = tuple(classes), layout or Layout(), origin
    stand_in._given, stand_in._field = given, field
    return stand_in


def stand_in_for(protocol: Any, value: Any, always: bool = False) -> Any:
    """Return what stands for an array, small plain ones themselves unless `always`; what is no array as it is."""
    cls = type(value)
    if issubclass(cls, StandIn):
        return value
    plain = cls is protocol.types.base or protocol.types.wrapped_always(cls)
    if not plain and not protocol.types.participates(cls):
        return value
    layout = layout_of(value)
    if plain and not always and layout.shape is not None and math.prod(layout.shape) <= SMALL:
        return value
    return make_stand_in(protocol, (cls,), layout, given=value)


def layout_of(value: Any) -> Layout:
    """Return shape and dtype of an array, as far as they are known without a dense copy."""
    try:
        with MakingDense(value):  # which a property of the type's own may do
            shape, dtype = known_layout(value)
        return Layout(None if shape is None else tuple(shape), dtype)
    except Exception:  # noqa: BLE001  # a type's own property may raise anything
        return Layout()


def classes_of(value: Any) -> tuple[type, ...]:
    """Return the types that a value may be of: its own, or those that it stands for."""
    return value._classes if issubclass(type(value), StandIn) else (type(value),)


def class_of(value: Any) -> type:
    """Return the type of a value, of a stand-in the one that it stands for.

    Raises
    ------
    NotFollowed : if it stands for an array of one of several types
    """
    classes = classes_of(value)
    if len(classes) != 1:
        raise NotFollowed(f"the type of {value!r}")
    return classes[0]


class FollowedCall(NamedTuple):
    """A call that is followed, with stand-ins in the place of arrays."""

    operation: Overridable
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def key(self) -> Key:
        """The types that decide who answers, those of stand-ins by what they stand for."""
        args, kwargs = self.args, self.kwargs
        return tuple([p.key(p.find(args, kwargs), class_of) for p in self.operation.parameters.arrays])


# A decomposition or conversion that is under way.
Mark: TypeAlias = "tuple[Overridable, Key]"
# Whose values are compared by what they print, since -0.0 == 0.0.
NUMBERS = (float, complex)
ATOMS = (int, bool, str, bytes, type(None), type(Ellipsis))


class PredictionCache:
    """Keeps what is found of calls, for the predictions of one report.

    They are of calls outside of modes, made while nothing is registered and the budget of `densify` stays as it is.

    Parameters
    ----------
    supposed : operations that are taken to have a rule for every call with an array of a type, which gives that type
    trial : rules that are taken to be registered, too, in place of those that they would replace
    as_calls : whether chains stay with the operations, as those of calls do; a report leaves no trace there
    """

    def __init__(
        self,
        supposed: Mapping[Overridable, type] | None = None,
        trial: Sequence[Rule] = (),
        *,
        as_calls: bool = False,
    ) -> None:
        self.supposed = dict(supposed or {})
        self.trial = tuple(trial)
        self.as_calls = as_calls
        self._chains: dict[tuple[Overridable, Key, bool], Chain] = {}
        self._calls: dict[Hashable, tuple[frozenset[Mark], Prediction, Any]] = {}
        self._layouts: dict[Hashable, Any] = {}
        self._bound: set[Hashable] = set()
        self._held: dict[int, Any] = {}
        self._stand_ins: dict[Hashable, int] = {}  # their numbers
        # Equal sets of many calls, each kept once.
        self._marks: dict[frozenset[Mark], frozenset[Mark]] = {}

    def supposing(self, supposed: Mapping[Overridable, type]) -> PredictionCache:
        """Return a cache for the same calls with further rules taken to be there."""
        other = PredictionCache({**self.supposed, **supposed}, self.trial)
        other._chains = self._chains
        return self._sharing(other)

    def trying(self, rules: Sequence[Rule]) -> PredictionCache:
        """Return a cache for the same calls in a trial of further rules, whose handlers are not called."""
        other = PredictionCache(self.supposed, (*self.trial, *rules))
        targets = {rule.target for rule in rules}
        for place, chain in self._chains.items():
            operation: Overridable = place[0]
            if targets.isdisjoint((operation, *operation.kind.lineage())):
                other._chains[place] = chain
        return self._sharing(other)

    def _sharing(self, other: PredictionCache) -> PredictionCache:
        """Return a cache for the same calls with what does not depend on rules."""
        other._layouts, other._bound, other._held = self._layouts, self._bound, self._held
        return other

    def chain(self, operation: Overridable, key: Key, limited: bool = False) -> Chain:
        """Return who answers calls with these types; with `limited` inside a decomposition."""
        chain = self._chains.get((operation, key, limited))
        if chain is None:
            chain = self._known_chain(operation, key, limited)
            if chain is None:
                chain = build_chain(operation, key, later_fallbacks=not limited, trial=self.trial)
            self._chains[operation, key, limited] = chain
        return chain

    def _known_chain(self, operation: Overridable, key: Key, limited: bool) -> Chain | None:
        """Return the chain of calls with these types, which takes long to build; None where a report makes its own."""
        chain: Chain | None = None
        if self.as_calls and limited:
            chain = operation.protocol.chain_without_later_fallbacks(operation, key)
        elif self.as_calls:
            chain = operation.protocol.chain(operation, key)
        elif not self.trial and not limited:
            chain = operation.chains.get(key)
        return chain

    def mistake(self, call: FollowedCall) -> str:
        """Return what the signature of an operation does not allow in a call, "" where it allows it."""
        form = (call.operation, len(call.args), tuple(call.kwargs))
        if form in self._bound:
            return ""
        mistake = mistake_in(*call)
        if not mistake:
            self._bound.add(form)
        return mistake

    def layouts(self, call: FollowedCall) -> Any:
        """Return what an operation gives, with layouts in the place of arrays; one without any at worst."""

        def layout(value: Any) -> Any:
            if issubclass(type(value), StandIn):
                return value._layout
            return value

        args, kwargs = map_members(call.args, layout), map_members(call.kwargs, layout)
        token = (call.operation, self._token(args), self._token(kwargs))
        if token not in self._layouts:
            try:
                self._layouts[token] = call.operation.layouts(args, kwargs)
            except Exception:  # noqa: BLE001  # where plain arrays give no result, the shape of one is not known
                self._layouts[token] = Layout()
        return self._layouts[token]

    def token(self, call: FollowedCall, limited: bool) -> Hashable:
        """Return what equal calls have in common."""
        return (call.operation, limited, self._token(call.args), self._token(call.kwargs))

    def find(self, token: Hashable, running: set[Mark]) -> tuple[frozenset[Mark], Prediction, Any] | None:
        """Return what was found of an equal call, and on which marks it depends that they are not under way."""
        known = self._calls.get(token)
        if known is not None and running.isdisjoint(known[0]):
            return known
        return None

    def keep(self, token: Hashable, looked_up: set[Mark], prediction: Prediction, result: Any) -> None:
        """Remember what was found of a call."""
        marks = frozenset(looked_up)
        self._calls[token] = (self._marks.setdefault(marks, marks), prediction, result)

    def _token(self, value: Any) -> Hashable:
        cls = type(value)
        if issubclass(cls, StandIn):
            array = None
            if value._given is not None:
                array = self._identity(value._given)
            field = None
            if value._field is not None:
                field = self._token(value._field)
            token = (StandIn, value._classes, value._layout, value._origin, array, field)
            return self._stand_ins.setdefault(token, len(self._stand_ins))
        if cls is Layout:
            return value  # type: ignore[no-any-return]
        if cls in ATOMS:
            return (cls, value)
        if cls in NUMBERS:
            return (cls, repr(value))
        if cls is dict:
            return (dict, *((name, self._token(member)) for name, member in value.items()))
        if cls is list or issubclass(cls, tuple):
            return (cls, *map(self._token, value))
        if cls is slice:
            return (slice, self._token((value.start, value.stop, value.step)))
        return self._identity(value)

    def _identity(self, value: Any) -> Hashable:
        self._held[id(value)] = value  # so that no other object takes its place
        return ("is", id(value))


def stand_ins_in(value: Any) -> list[StandIn]:
    """Return the stand-ins among the members of a value, none twice."""
    found: dict[int, StandIn] = {}

    def note(member: Any) -> None:
        if issubclass(type(member), StandIn):
            found[id(member)] = member

    map_members(value, note)
    return list(found.values())
