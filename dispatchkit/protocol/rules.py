"""Rules: their handlers, the types that they are for, which calls they take; and the rules of a protocol."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import ANY, location_of, type_name
from dispatchkit.protocol.parameters import Form, Key, Parameters, flatten
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Declaration, Undo
from dispatchkit.versions import Version, new_version

# References to the rules that name one type, by the id of the operation or kind that they are for.
NamedBy: TypeAlias = "Mapping[int, list[weakref.ref[Rule]]]"
# Of each parameter its name, its kind, and whether it has no default.
Shape: TypeAlias = "tuple[tuple[str, Any, bool], ...]"
# So many pairs of shapes are remembered.
SHAPES = 1 << 10


def _says_nothing(value: Any, default: Any) -> bool:
    """Return whether an argument is what its parameter has by default."""
    return value is default or (type(value) is type(default) in (bool, int, float, str) and value == default)


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
    known : the types of the protocol
    declines : whether it may decline a call, as declared; None where its annotation says so
    swapped : whether it answers calls with the first two arrays in the other order, and the handler is given its own
    registration : version of the registration; the rules of one that names unions share it
    single : parameters of a rule for a kind that are annotated as one array, where an operation may have a list
    every : for each array parameter the classes of which all its arrays must be, as ``list[T]`` and ``*args: T`` say
    rest : of a rule for a kind the classes of which all arrays must be that its ``*args: T`` takes
    spread : where several parameters of the handler share the arrays that the operation takes any number of: the
        arguments of each, its name and its classes
    most : how many arguments may be passed by position, where ``*args: T`` would take for an array what is none
    closed : positions of types that no number counts as, since the annotation names number types, too
    brings : those of the types that take part in the protocol by this rule, since nothing else declares them
    named : the types that it demands somewhere
    """

    target: Any
    types: tuple[type, ...]
    anywhere: bool
    handler: Callable[..., Any]
    takes: inspect.Signature
    known: ArrayTypes = field(repr=False)
    declines: bool | None = None
    registration: Version = field(default_factory=new_version)
    single: tuple[str, ...] = ()
    every: tuple[tuple[type, ...], ...] = ()
    rest: tuple[type, ...] = ()
    spread: tuple[tuple[slice, str, tuple[type, ...]], ...] = ()
    most: int | None = None
    closed: frozenset[int] = frozenset()
    brings: tuple[type, ...] = ()
    swapped: bool = False
    named: frozenset[type] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.named = frozenset(cls for cls in self.types if cls is not ANY)

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
        if self.anywhere:
            return f"{names} in any position"
        return names

    @property
    def title(self) -> str:
        """Name of the handler, with the types it answers for."""
        title = f"{getattr(self.handler, '__name__', repr(self.handler))}({self.types_text})"
        if self.swapped:
            return f"{title}, operands swapped"
        return title

    def for_the_other_order(self) -> Rule:
        """Return the rule by which the same handler answers calls with the first two arrays exchanged."""
        first, second, *others = range(len(self.types))
        order = (second, first, *others)
        every = self.every
        if every:
            every = tuple(every[place] for place in order)
        return replace(
            self,
            types=tuple(self.types[place] for place in order),
            every=every,
            closed=frozenset(order.index(place) for place in self.closed),
            swapped=True,
        )

    def __str__(self) -> str:
        return f"{self.title} at {self.location}"

    def without_defaults(self, kwargs: Mapping[str, Any], parameters: Parameters) -> Mapping[str, Any]:
        """Return the keywords of a call but for those that the handler does not take and that say nothing.

        Parameters
        ----------
        kwargs : keywords of a call
        parameters : of the function, whose defaults say nothing
        """
        taken = self.takes.parameters
        if taken.keys() >= kwargs.keys() or any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            return kwargs
        declared = parameters.signature.parameters
        silent = [
            name
            for name, value in kwargs.items()
            if name not in taken and name in declared and _says_nothing(value, declared[name].default)
        ]
        if silent:
            return {name: value for name, value in kwargs.items() if name not in silent}
        return kwargs

    def refusal(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], parameters: Parameters | None = None
    ) -> list[str]:
        """Return which arguments of a call the handler does not take; empty when it can be called.

        With the parameters of the function, keywords that have its defaults count as left out.
        """
        if parameters is not None and kwargs:
            kwargs = self.without_defaults(kwargs, parameters)
        try:
            arguments = self.takes.bind(*args, **kwargs).arguments
        except TypeError as error:
            return self._refused_arguments(args, kwargs) or [str(error)]
        listed = [name for name in self.single if type(arguments.get(name)) in (list, tuple)]
        refused = [
            f"a list as '{name}', which is annotated as one array: name the types in implements" for name in listed
        ]
        if self.most is not None and len(args) > self.most:
            refused.append(f"{len(args)} positional arguments, of which {self.most} are arrays")
        return refused + self._refused_types(args)

    def _refused_types(self, args: Sequence[Any]) -> list[str]:
        """Return which arrays of an operation that takes any number are not of the types of their parameters."""
        refused: list[str] = []
        for place, name, classes in self.spread:
            wanted = " | ".join(map(type_name, classes))
            others = [cls for cls in map(_class_of, args[place]) if not self._is_one_of(cls, classes)]
            refused += [f"a {type_name(cls)} as '{name}', which is annotated as {wanted}" for cls in others[:1]]
        return refused

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
        if self.spread:
            return False
        return _takes_calls(_shape_of(self.takes), _shape_of(parameters.signature), self.most)

    def distances(
        self, key: Key, parameters: Parameters, asked: type, order: Callable[[type], Sequence[type]]
    ) -> tuple[int, ...] | None:
        """Return how far the rule's types are from a call's, position by position; None where it does not fit.

        The distance of a position without a demand is a large number, as is that of one to which nothing was passed.
        """
        if not self._fits_all(key, parameters):
            return None
        if self.anywhere:
            near = position_distance(asked, self.types[0], order)
            if near is None:
                return None
            return (near,)
        if len(self.types) == len(key):
            entries: Sequence[Any] = key
        elif len(parameters.arrays) == 1 and isinstance(key[0], tuple) and len(key[0]) == len(self.types):
            entries = key[0]
        else:
            return None
        distances: list[int] = []
        for place, (entry, wanted) in enumerate(zip(entries, self.types, strict=True)):
            if entry == () and wanted is not ANY and self._may_be_empty(place, parameters):
                distances.append(NOTHING_PASSED)
                continue
            classes = flatten((entry,))
            if place in self.closed:
                classes = [cls for cls in classes if not self.known.is_number(cls)]
            near = _nearest(classes, wanted, order)
            if near is None:
                return None
            distances.append(near)
        return tuple(distances)

    def _may_be_empty(self, place: int, parameters: Parameters) -> bool:
        """Return whether a call that gives an array parameter no array at all is one for the rule."""
        every = self.every[place] if place < len(self.every) else ()
        return bool(every) or parameters.arrays[place].form is Form.STAR

    def _fits_all(self, key: Key, parameters: Parameters) -> bool:
        """Return whether all arrays are of the classes that ``list[T]`` and ``*args: T`` name for them."""
        if isinstance(self.target, Kind):
            return not self.rest or self._fits_rest(key, parameters)
        return all(
            self._is_one_of(cls, classes)
            for classes, entry in zip(self.every, key, strict=False)
            if classes
            for cls in flatten((entry,))
        )

    def _fits_rest(self, key: Key, parameters: Parameters) -> bool:
        """Return whether a call gives arrays of the right classes alone to the ``*args: T`` of a rule for a kind."""
        first = star_place(self.takes)
        if first is None or parameters.others_from(first):
            return False
        for p, entry in zip(parameters.arrays, key, strict=True):
            if p.position is None or p.position < first:
                continue
            one_by_one = p.form is Form.STAR or not isinstance(entry, tuple)
            if not one_by_one or not all(self._is_one_of(cls, self.rest) for cls in flatten((entry,))):
                return False
        return True

    def _is_one_of(self, cls: type, classes: Collection[type]) -> bool:
        """Return whether a type counts as one that an annotation names; a number as a number, where it names such."""
        types = self.known
        numbers = [wanted for wanted in classes if types.is_number(wanted)]
        among = classes
        if numbers and types.is_number(cls):
            among = numbers
        return any(position_distance(cls, wanted, types.counts_as) is not None for wanted in among)

    def demands(self) -> int:
        """Return how many positions the rule names a type for."""
        return sum(cls is not ANY for cls in self.types)

    def serves(self, counted: Sequence[type]) -> bool:
        """Return whether one of the rule's types is among what the asked one counts as."""
        return not self.named.isdisjoint(counted)


def _shape_of(signature: inspect.Signature) -> Shape:
    """Return what decides which calls a signature takes, in which many handlers are alike."""
    return tuple([(p.name, p.kind, p.default is p.empty) for p in signature.parameters.values()])


def _parameters_of(shape: Shape) -> list[inspect.Parameter]:
    """Return parameters of a shape; the default None stands for any."""
    parameters = []
    for name, kind, required in shape:
        default: Any = None
        if required:
            default = inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    return parameters


# A sixth of the first call of a type: a program has many types, and few shapes of handlers.
@lru_cache(maxsize=SHAPES)
def _takes_calls(taken: Shape, expected: Shape, most: int | None) -> bool:
    """Return whether a handler takes the arguments of every call of an operation.

    Parameters
    ----------
    taken, expected : the shapes of the signatures of both
    most : how many arguments the handler takes by position, as `Rule.most`
    """
    signature = inspect.Signature(_parameters_of(taken))
    for args, kwargs in _extreme_calls(_parameters_of(expected)):
        if most is not None and len(args) > most:
            return False
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            return False
    return True


def _extreme_calls(expected: Sequence[inspect.Parameter]) -> Iterable[tuple[list[None], dict[str, None]]]:
    """Return calls of an operation, with None for arguments, of which who does not take all refuses one."""
    first = [p for p in expected if p.kind is p.POSITIONAL_ONLY]
    either = [p for p in expected if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = {p.name: None for p in expected if p.kind is p.KEYWORD_ONLY}
    if any(p.kind is p.VAR_KEYWORD for p in expected):
        by_name["any keyword at all"] = None
    demanded = {p.name: None for p in expected if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    spread = []
    if any(p.kind is p.VAR_POSITIONAL for p in expected):
        spread = [None] * 99
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
    # Most operations take all arguments by position, and these calls are one.
    return {(len(args), *kwargs): (args, kwargs) for args, kwargs in calls}.values()


# Distances of positions that say nothing of a rule: an argument was left out, the rule demands nothing there, or it
# does and no array was passed, for which a rule without a demand is the nearer one.
LEFT_OUT, NO_DEMAND, NOTHING_PASSED = 999_999, 1_000_000, 1_000_001


def position_distance(cls: type, wanted: type, order: Callable[[type], Sequence[type]]) -> int | None:
    """Return the place of `wanted` among what `cls` counts as; None where it is not among them."""
    if wanted is ANY:
        return NO_DEMAND
    if cls is type(None) and wanted is not cls:
        return LEFT_OUT  # which every annotation allows
    try:
        return order(cls).index(wanted)
    except ValueError:
        return None


def _nearest(classes: Sequence[type], wanted: type, order: Callable[[type], Sequence[type]]) -> int | None:
    """Return how far the nearest of the types of an argument is; None where none is what is wanted."""
    if not classes and wanted is ANY:
        return NO_DEMAND
    near_each = [position_distance(cls, wanted, order) for cls in classes]
    return min((near for near in near_each if near is not None), default=None)


def _class_of(value: Any) -> type:
    """Return the type of an argument; a prediction has stand-ins in its place, and an audit the type itself."""
    cls: type
    if isinstance(value, type):
        cls = value
    else:
        cls = value.__class__
    return cls


def star_place(takes: inspect.Signature) -> int | None:
    """Return how many arguments go before those that ``*args`` takes; None where a signature has none."""
    kinds_of = [p.kind for p in takes.parameters.values()]
    star = inspect.Parameter.VAR_POSITIONAL
    if star in kinds_of:
        return kinds_of.index(star)
    return None


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
    swapped : whether the function is given the first two arrays in the other order
    """

    target: str
    types: tuple[type, ...]
    anywhere: bool
    handler: Callable[..., Any]
    location: str
    swapped: bool = False

    def __str__(self) -> str:
        types = ", ".join(map(type_name, self.types)) + (" in any position" if self.anywhere else "")
        name = getattr(self.handler, "__name__", self.handler)
        if self.swapped:
            name = f"{name}, operands swapped,"
        return f"{self.target}({types}): {name} at {self.location}"


class RuleList(tuple[RegisteredRule, ...]):
    """Rules; prints as a line each."""

    __slots__ = ()

    def __repr__(self) -> str:
        if self:
            return "\n".join(map(str, self))
        return "no rules"

    __str__ = __repr__


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules by the place of their handlers, those for kinds last."""

    def place(rule: Rule) -> tuple[bool, str, str, str]:
        return isinstance(rule.target, Kind), rule.location, str(rule.target), rule.types_text

    return sorted(rules, key=place)


def listed_rules(listed: Iterable[Rule]) -> RuleList:
    """Return rules as `dispatchkit.rules` lists them: those of operations first, in the order of their names."""
    registered: list[RegisteredRule] = []
    for rule in listed:
        # Types that this library's own tools make for themselves are nobody's business.
        if any(cls.__name__.startswith("_") and f"{cls.__module__}.".startswith("dispatchkit.") for cls in rule.types):
            continue
        kind, target = isinstance(rule.target, Kind), rule.target
        if kind:
            name = f"kind {target.name}"
        else:
            name = target.qualified_name.removeprefix("dispatchkit.")
        registered.append(RegisteredRule(name, rule.types, rule.anywhere, rule.handler, rule.location, rule.swapped))
    return RuleList(sorted(registered, key=lambda rule: (rule.target.startswith("kind "), rule.target, str(rule))))


def _registered(references: Iterable[weakref.ref[Rule]], registered: Mapping[Any, Rule]) -> list[Rule]:
    """Return the rules that are registered, of those that some references are to."""
    rules = [rule for reference in list(references) if (rule := reference()) is not None]
    return [rule for rule in rules if registered.get(rule.signature) is rule]


def _named(named_by: NamedBy, target: int, registered: Mapping[Any, Rule]) -> list[Rule]:
    """Return the rules that are registered, of those for a target that name a type.

    A rule is listed before it takes the place of another one, so that a list which is the same afterwards lacks none.
    """
    while True:
        references = named_by.get(target, ())
        count = len(references)
        found = _registered(references, registered)
        if named_by.get(target, ()) is references and len(references) == count:
            return found


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
        if rules is None:
            return []
        return [rule for reference in rules.valuerefs() if (rule := reference()) is not None]

    def naming(self, classes: Iterable[type]) -> list[NamedBy]:
        """Return the lists of the rules that fit no call without one of some types, for `needing`."""
        records = map(self._types.records.find, classes)
        return [record.named_by for record in records if record is not None and record.named_by]

    def needing(self, target: Any, listed: Iterable[NamedBy]) -> list[Rule]:
        """Return the rules for an operation or a kind that are in the lists of some types.

        Those of other types are not looked at, however many there are. The rules are in the order of registration.
        """
        place = id(target)
        # By signature: where another thread replaces a rule meanwhile, one of the two is found.
        rules: dict[Any, Rule] = {}
        for named_by in listed:
            if place not in named_by:
                continue
            registered = self._rules.get(target)
            if registered is not None:
                rules |= {rule.signature: rule for rule in _named(named_by, place, registered)}
        if len(rules) < 2:
            return list(rules.values())
        return sorted(rules.values(), key=lambda rule: rule.registration[1])

    def _enter(self, rule: Rule, registered: Mapping[Any, Rule]) -> None:
        """Let `needing` find a rule once it is registered."""
        target = id(rule.target)
        for cls in self._types.named_own(rule.types) or rule.named:
            named_by = self._types.records.make(cls).named_by
            references = named_by.get(target, [])
            size = len(references)
            if size & (size - 1) == 0:  # at powers of two, so that each rule is looked at a few times in all
                references = [weakref.ref(other) for other in _registered(references, registered)]
                named_by[target] = references
            references.append(weakref.ref(rule))

    def of_kinds(self) -> list[Rule]:
        """Return the rules registered for kinds."""
        return [rule for target in self._targets() if isinstance(target, Kind) for rule in self.of(target)]

    def of_operations(self) -> list[Rule]:
        """Return the rules registered for operations, by the place of their handlers."""
        return in_order(rule for target in self._targets() if not isinstance(target, Kind) for rule in self.of(target))

    def _targets(self) -> list[Any]:
        return [target for reference in self._rules.keyrefs() if (target := reference()) is not None]

    def replaced_by(self, rule: Rule) -> Rule | None:
        """Return the rule of the same target and types as a new one, None where there is none."""
        rules = self._rules.get(rule.target)
        if rules is None:
            return None
        return rules.get(rule.signature)

    def add(self, rule: Rule) -> Undo:
        """Store a rule in place of the one that it replaces; return what restores the state before."""
        records = self._types.records
        rules = self._rules.setdefault(rule.target, weakref.WeakValueDictionary())
        named = self._types.named_own(rule.types)
        known = [cls for cls in named if records.find(cls) is not None] or named
        owned = records.make(max(known, key=lambda cls: records.make(cls).serial)).owned
        replaced = self.replaced_by(rule)
        before = {}
        if replaced is not None:
            before = self._owned_with(replaced)
        undos: list[Undo] = []

        def undo() -> None:
            owned.pop(rule, None)
            if replaced is not None:
                before[replaced] = None
                self._enter(replaced, rules)
                rules[rule.signature] = replaced
            elif rules.get(rule.signature) is rule:
                del rules[rule.signature]
            for undo_declaration in undos:
                undo_declaration()

        try:
            undos.extend(records.declare(cls, Declaration()) for cls in rule.brings)
            owned[rule] = None
            self._enter(rule, rules)
            # In one assignment: a call in another thread finds the old rule or the new one.
            rules[rule.signature] = rule
            if replaced is not None:
                before.pop(replaced, None)
            return undo
        except BaseException:
            undo()
            raise

    def remove(self, rule: Rule) -> Undo:
        """Take a rule away; return what restores it."""
        rules = self._rules[rule.target]
        owned = self._owned_with(rule)

        def undo() -> None:
            owned[rule] = None
            self._enter(rule, rules)
            rules.setdefault(rule.signature, rule)

        owned.pop(rule, None)
        rules.pop(rule.signature, None)
        return undo

    def swapped_with(self, rule: Rule) -> Rule | None:
        """Return the rule by which a rule's handler answers the other order of operands, None where it does not."""
        if rule.swapped or rule.anywhere or len(rule.types) < 2:
            return None
        other = self.replaced_by(rule.for_the_other_order())
        if other is None or not other.swapped or other.registration != rule.registration:
            return None
        return other

    def _owned_with(self, rule: Rule) -> dict[Any, None]:
        """Return what the type owns that owns a rule."""
        records = [record for record in map(self._types.records.find, rule.types) if record is not None]
        return next(record.owned for record in records if rule in record.owned)
