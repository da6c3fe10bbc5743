"""Rules: handlers registered for an operation or a kind; and how registrations are undone."""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dispatchkit.protocol.blocks import Block, Entered, innermost_state
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.locks import SectionLock
from dispatchkit.protocol.parameters import Form, Key, Parameters
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Declaration, Undo
from dispatchkit.protocol.versions import Version, new_version

# So many types may meet operations for the first time before every decision is forgotten, which keeps types alive.
NEW_TYPES = 100


class Journal:
    """The registrations of a protocol: they invalidate decisions, and those of a block can be undone.

    Attributes
    ----------
    generation : grows with every registration; a decision made before one is not kept after it
    lock : held while decisions are kept or forgotten
    loaders : load what a library declares when it is first used
    """

    def __init__(self) -> None:
        self.generation = 0
        self.lock = SectionLock()
        self.loaders: list[Callable[[], None]] = []
        # The objects that hold decisions, which the next registration clears.
        self._caches: weakref.WeakSet[Any] = weakref.WeakSet()
        # The types that decisions were kept for, and how many of them since decisions were last forgotten.
        self._types: weakref.WeakSet[type] = weakref.WeakSet()
        self._new_types = 0
        self._blocks = innermost_state("local registrations", None, self._undo_all)

    def keep(self, cache: Any, generation: int, memory: dict[Any, Any], path: tuple[Any, ...], decision: Any) -> None:
        """Store a decision, unless something was registered since it began.

        A program that makes types and registers nothing has the decisions about them forgotten from time to time.

        Parameters
        ----------
        cache : the object that holds the memory, whose `clear` the next registration calls
        generation : when the decision began
        memory, path : a dictionary, of dictionaries where the path has several keys
        decision : what to store
        """

        def store() -> None:
            if generation != self.generation:
                return
            self._count_new_types(path)
            # First: after an interrupt the next registration must find whatever was stored.
            self._caches.add(cache)
            inner = memory
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = decision

        self.lock.run(store)

    def invalidate(self) -> None:
        """Forget every decision."""

        def forget() -> None:
            self._forget()
            # Last: a thread that reads the new number finds the new registrations.
            self.generation += 1

        self.lock.run(forget)

    def forget(self, cache: Any) -> None:
        """Forget the decisions that one object holds, and do not keep those that are being made."""

        def clear() -> None:
            cache.clear()
            self.generation += 1

        self.lock.run(clear)

    def _forget(self) -> None:
        for cache in list(self._caches):
            cache.clear()
        self._caches.clear()
        self._new_types = 0

    def _count_new_types(self, path: tuple[Any, ...]) -> None:
        """Forget every decision once enough types are new."""
        new_types = {cls for cls in _types_in(path) if cls not in self._types}
        self._types.update(new_types)
        self._new_types += len(new_types)
        if self._new_types > NEW_TYPES:
            self._forget()

    def make(self, *registrations: Callable[[], Undo]) -> None:
        """Make registrations; after an error, such as an interrupt, none of them is made.

        Parameters
        ----------
        *registrations : functions written in Python, after whose return no interrupt comes; each returns what undoes
            it, which may be called twice, and is undone itself where it raises
        """
        undos: list[Undo] = []

        def register_all() -> None:
            for register in registrations:
                undos.append(register())  # noqa: PERF401  # after an interrupt the list has what was made so far

        try:
            self.lock.run(register_all)
            for undo in undos:
                self.on_undo(undo)
            self.invalidate()
        except BaseException:
            self._undo(undos)
            raise

    def on_undo(self, undo: Undo) -> None:
        """Record what undoes a registration, if a block of local registrations is open."""
        entered = self._blocks.entered_blocks()
        if entered:
            entered[-1][1].append(undo)

    def load_all(self) -> None:
        """Load what a library declares when it is first used."""
        for load in self.loaders:
            load()

    def local_registrations(self) -> Block:
        """Return a block; what is registered inside is undone when it is left."""
        return _LocalRegistrations(self)

    def enter(self, block: Block) -> None:
        """Begin a block of local registrations."""
        self.load_all()  # what a library declares when it loads is not undone
        self._blocks.enter(block, [])

    def leave(self, block: Block) -> None:
        """Undo what was registered in a block; if others were entered since, the next of them does when it is left."""
        entered = self._blocks.entered_blocks()
        place = max((i for i, (other, _) in enumerate(entered) if other is block), default=None)
        if place is None:
            return
        undos = entered[place][1]
        if place + 1 < len(entered):
            entered[place + 1][1][:0] = undos
        else:
            self._undo(undos)
        self._blocks.leave(block)

    def _undo(self, undos: list[Undo]) -> None:
        def undo_all() -> None:
            while undos:
                undos[-1]()
                undos.pop()

        self.lock.run(undo_all)
        self.invalidate()

    def _undo_all(self, entered: Entered) -> None:
        for _, undos in reversed(entered):
            self._undo(undos)


def _types_in(key: Any) -> Iterator[type]:
    """Yield the types in a key of decisions, which may hold tuples of them."""
    if isinstance(key, tuple):
        for entry in key:
            yield from _types_in(entry)
    elif isinstance(key, type):
        yield key


class _LocalRegistrations(Block):
    def __init__(self, journal: Journal) -> None:
        super().__init__(None, None, "local_registrations")  # type: ignore[arg-type]
        self._journal = journal

    def __enter__(self) -> None:
        self._journal.enter(self)

    def __exit__(self, *exception: object) -> None:
        self._journal.leave(self)


ANY = object


@dataclass(eq=False)
class Rule:
    """A handler with the types it answers for.

    Attributes
    ----------
    target : the operation (`Overridable`) or kind
    types : one type that may stand anywhere, or one for each array parameter
    anywhere : whether the single type may stand in any position
    handler : the user's function
    takes : its signature, without the leading operation of a kind rule
    declines : whether it may decline a call, as declared; None where its annotation says so
    registration : version of the registration; the rules of one that names unions share it
    single : parameters of a rule for a kind that are annotated as one array, where an operation may have a list
    every : for each array parameter the classes of which all its arrays must be, as ``list[T]`` and ``*args: T`` say
    """

    target: Any
    types: tuple[type, ...]
    anywhere: bool
    handler: Callable[..., Any]
    takes: inspect.Signature
    declines: bool | None = None
    registration: Version = field(default_factory=new_version)
    single: tuple[str, ...] = ()
    every: tuple[tuple[type, ...], ...] = ()
    _named: frozenset[type] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._named = frozenset(cls for cls in self.types if cls is not ANY)

    @property
    def signature(self) -> tuple[object, ...]:
        """What a rule that replaces it has in common with it; types by their ids, since it keeps none alive."""
        return (self.anywhere, *map(id, self.types))

    @property
    def location(self) -> str:
        """File and line of the handler."""
        return location_of(self.handler)

    @property
    def types_text(self) -> str:
        """The types as users write them."""
        names = ", ".join(map(type_name, self.types))
        return f"{names} in any position" if self.anywhere else names

    @property
    def title(self) -> str:
        """Name of the handler, with the types it answers for."""
        return f"{getattr(self.handler, '__name__', repr(self.handler))}({self.types_text})"

    def __str__(self) -> str:
        return f"{self.title} at {self.location}"

    def refusal(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """Return which arguments of a call the handler does not take; empty when it can be called."""
        try:
            arguments = self.takes.bind(*args, **kwargs).arguments
        except TypeError as error:
            return self._refused_arguments(args, kwargs) or [str(error)]
        listed = [name for name in self.single if type(arguments.get(name)) in (list, tuple)]
        return [f"a list as '{name}', which is annotated as one array: name the types in implements" for name in listed]

    def _refused_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        parameters = list(self.takes.parameters.values())
        names = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
        refused: list[str] = []
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            refused += [f"the keyword '{name}'" for name in kwargs if name not in names]
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters) and len(args) > len(positional):
            refused.append(f"{len(args)} positional arguments")
        filled = {p.name for p in positional[: len(args)]} | kwargs.keys()
        for p in parameters:
            optional = p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if not optional and p.name not in filled:
                refused.append(f"no '{p.name}'")
        return refused

    def takes_everything(self, parameters: Parameters) -> bool:
        """Return whether the handler takes the arguments of every call of the operation."""
        if self.single and any(p.form in (Form.SEQUENCE, Form.LOOSE) for p in parameters.arrays):
            return False
        expected = list(parameters.signature.parameters.values())
        first = [p for p in expected if p.kind is p.POSITIONAL_ONLY]
        either = [p for p in expected if p.kind is p.POSITIONAL_OR_KEYWORD]
        by_name = {p.name: None for p in expected if p.kind is p.KEYWORD_ONLY}
        if any(p.kind is p.VAR_KEYWORD for p in expected):
            by_name["any keyword at all"] = None
        demanded = {p.name: None for p in expected if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
        spread = [None] * 99 if any(p.kind is p.VAR_POSITIONAL for p in expected) else []
        least = [None for p in first if p.default is p.empty]
        needed = [p.name for p in either if p.default is p.empty]
        calls: list[tuple[list[None], dict[str, None]]] = [
            (least, {**dict.fromkeys(needed), **demanded}),
            (least, {**{p.name: None for p in either}, **by_name}),
            ([*least, *[None] * len(needed)], demanded),
            ([None] * (len(first) + len(either)) + spread, by_name),
        ]
        # Each parameter that may be passed by position or by name, once by name, those before it by position.
        for count in range(len(either) + 1):
            named = {p.name: None for p in either[count:]}
            least_named = {p.name: None for p in either[count:] if p.default is p.empty}
            calls += [([None] * (len(first) + count), {**named, **by_name})]
            calls += [([None] * (len(first) + count), {**least_named, name: None, **demanded}) for name in named]
        return not any(self.refusal(args, kwargs) for args, kwargs in calls)

    def distances(
        self, key: Key, parameters: Parameters, asked: type, order: Callable[[type], Sequence[type]]
    ) -> tuple[int, ...] | None:
        """Return how far the rule's types are from a call's, position by position; None where it does not fit.

        The distance of a position without a demand is a large number.
        """
        if self.every and not self._fits_every(key, parameters, order):
            return None
        if self.anywhere:
            near = position_distance(asked, self.types[0], order)
            return None if near is None else (near,)
        if len(self.types) == len(key):
            entries: Iterable[Any] = key
        elif len(parameters.arrays) == 1 and isinstance(key[0], tuple) and len(key[0]) == len(self.types):
            entries = key[0]
        else:
            return None
        distances: list[int] = []
        for entry, wanted in zip(entries, self.types, strict=True):
            options = entry if isinstance(entry, tuple) else (entry,)
            near_each = [position_distance(option, wanted, order) for option in options]
            reached = [n for n in near_each if n is not None]
            if not reached:
                return None
            distances.append(min(reached))
        return tuple(distances)

    def _fits_every(self, key: Key, parameters: Parameters, order: Callable[[type], Sequence[type]]) -> bool:
        """Return whether all arrays are of the classes that the annotation of their parameter names."""
        if parameters.takes_others and any(p.kind is p.VAR_POSITIONAL for p in self.takes.parameters.values()):
            return False
        entries = key if len(self.every) == len(key) else (key,)
        return all(
            any(position_distance(cls, wanted, order) is not None for wanted in classes)
            for classes, entry in zip(self.every, entries, strict=True)
            if classes
            for cls in (entry if isinstance(entry, tuple) else (entry,))
        )

    def demands(self) -> int:
        """Return how many positions the rule names a type for."""
        return sum(cls is not ANY for cls in self.types)

    def serves(self, counted: Sequence[type]) -> bool:
        """Return whether one of the rule's types is among what the asked one counts as."""
        return not self._named.isdisjoint(counted)


def position_distance(cls: type, wanted: type, order: Callable[[type], Sequence[type]]) -> int | None:
    """Return the place of `wanted` among what `found` counts as; None where it is not among them."""
    if wanted is ANY:
        return 1_000_000
    if cls is type(None) and wanted is not cls:
        return 999_999  # the argument was left out, which every annotation allows
    try:
        return order(cls).index(wanted)
    except ValueError:
        return None


def written(handler: Callable[..., Any]) -> Any:
    """Return the function whose code runs when a handler is called: inside a partial, a wrapper, a class, an object."""
    function: Any = inspect.unwrap(handler)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    if isinstance(function, type):
        return getattr(function, "__init__")  # noqa: B009  # of the class, not of an instance
    return function if isinstance(function, (types.FunctionType, types.MethodType)) else type(function).__call__


def location_of(function: Callable[..., Any]) -> str:
    """Return file and line of a function, "built in" where it has none."""
    code = getattr(written(function), "__code__", None)
    return "built in" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def function_name(function: Any) -> str:
    """Return the name of a function for messages, what prints of another object."""
    return str(getattr(function, "__qualname__", repr(function)))


def type_name(cls: type) -> str:
    """Name a type as in a message: built-in ones by name, others with their module's last part."""
    return "any" if cls is ANY else cls.__qualname__.replace("<locals>.", "")


def misfit(tool: str, value: Any, types: ArrayTypes) -> TypeError:
    """Return the error of a tool that takes types of a protocol and was given something else."""
    if isinstance(value, type):
        text = f"{type_name(value)} takes no part in {types.method}"
        return TypeError(f"{tool}: {text}; decorate it with array_type, or define {types.method}")
    cls = type(value)
    advice = f"; give its type, {type_name(cls)}" if types.participates(cls) else ""
    return TypeError(f"{tool}: takes a type, not an instance of {type_name(cls)}{advice}")


@dataclass(frozen=True, slots=True)
class RegisteredRule:
    """A rule that is registered.

    Attributes
    ----------
    target : name of the operation, or of the kind
    types : the types it answers for, in the order of the arguments
    anywhere : whether its one type may stand in any position
    handler : the function
    location : its file and line
    """

    target: str
    types: tuple[type, ...]
    anywhere: bool
    handler: Callable[..., Any]
    location: str

    def __str__(self) -> str:
        types = ", ".join(map(type_name, self.types)) + (" in any position" if self.anywhere else "")
        return f"{self.target}({types}): {getattr(self.handler, '__name__', self.handler)} at {self.location}"


class RuleList(tuple[RegisteredRule, ...]):
    """Rules; prints as a line each."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) if self else "no rules"

    __str__ = __repr__


def listed_rules(listed: Iterable[Rule]) -> RuleList:
    """Return rules as `dispatchkit.rules` lists them: those of operations first, in the order of their names."""
    registered: list[RegisteredRule] = []
    for rule in listed:
        # Types that this library's own tools make for themselves are nobody's business.
        if any(cls.__name__.startswith("_") and f"{cls.__module__}.".startswith("dispatchkit.") for cls in rule.types):
            continue
        kind, target = isinstance(rule.target, Kind), rule.target
        name = f"kind {target.name}" if kind else target.qualified_name.removeprefix("dispatchkit.")
        registered.append(RegisteredRule(name, rule.types, rule.anywhere, rule.handler, rule.location))
    return RuleList(sorted(registered, key=lambda rule: (rule.target.startswith("kind "), rule.target, str(rule))))


class Handlers:
    """The rules registered with a protocol.

    The youngest of its types owns a rule, so that both are collected together; all else refers to it weakly.

    Parameters
    ----------
    types : of the protocol
    """

    def __init__(self, types: ArrayTypes) -> None:
        self._types = types
        # By operation or kind the rules by their signatures.
        self._rules: weakref.WeakKeyDictionary[Any, weakref.WeakValueDictionary[Any, Rule]] = (
            weakref.WeakKeyDictionary()
        )

    def of(self, target: Any) -> list[Rule]:
        """Return the rules registered for an operation or a kind."""
        rules = self._rules.get(target)
        # The references are listed in one step: another thread may register a rule meanwhile.
        return [] if rules is None else [rule for reference in rules.valuerefs() if (rule := reference()) is not None]

    def of_kinds(self) -> list[Rule]:
        """Return the rules registered for kinds."""
        return [rule for target in self._targets() if isinstance(target, Kind) for rule in self.of(target)]

    def of_operations(self) -> list[Rule]:
        """Return the rules registered for operations, by the place of their handlers."""
        rules = [rule for target in self._targets() if not isinstance(target, Kind) for rule in self.of(target)]
        return sorted(rules, key=lambda rule: (rule.location, str(rule.target), rule.types_text))

    def _targets(self) -> list[Any]:
        return [target for reference in self._rules.keyrefs() if (target := reference()) is not None]

    def replaced_by(self, rule: Rule) -> Rule | None:
        """Return the rule of the same target and types as a new one, None where there is none."""
        rules = self._rules.get(rule.target)
        return None if rules is None else rules.get(rule.signature)

    def add(self, rule: Rule) -> Undo:
        """Store a rule in place of the one that it replaces; return what restores the state before."""
        records = self._types.records
        rules = self._rules.setdefault(rule.target, weakref.WeakValueDictionary())
        named = self._types.named_own(rule.types)
        known = [cls for cls in named if records.find(cls) is not None] or named
        owned = records.make(max(known, key=lambda cls: records.make(cls).serial)).owned
        replaced = self.replaced_by(rule)
        before = {} if replaced is None else self._owned_with(replaced)
        undos: list[Undo] = []

        def undo() -> None:
            owned.pop(rule, None)
            if replaced is not None:
                before[replaced] = None
                rules[rule.signature] = replaced
            elif rules.get(rule.signature) is rule:
                del rules[rule.signature]
            for undo_declaration in undos:
                undo_declaration()

        try:
            undos.extend(records.declare(cls, Declaration()) for cls in named if not self._types.participates(cls))
            owned[rule] = None
            # In one assignment: a call in another thread finds the old rule or the new one.
            rules[rule.signature] = rule
            if replaced is not None:
                before.pop(replaced, None)
            return undo
        except BaseException:
            undo()
            raise

    def _owned_with(self, rule: Rule) -> dict[Any, None]:
        """Return what the type owns that owns a rule."""
        records = [record for record in map(self._types.records.find, rule.types) if record is not None]
        return next(record.owned for record in records if rule in record.owned)
