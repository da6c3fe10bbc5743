"""The rules by which a type answers a call, the most specific first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any
from weakref import WeakKeyDictionary

from dispatchkit.errors import AmbiguousImplementationError
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.naming import ANY, type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, KIND, RULE, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key, Parameters, flatten
from dispatchkit.protocol.rules import LEFT_OUT, NamedBy, Rule
from dispatchkit.protocol.steps import Step, decline
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.versions import Version

# Whether a rule takes every call of an operation, which takes longer to find out than all else about a call.
_complete: WeakKeyDictionary[Rule, WeakKeyDictionary[Overridable, bool]] = WeakKeyDictionary()
# The attribute of a handler that takes arrays of the base type's library in an index as they are.
RAW_INDEX = "__takes_raw_index__"


def rule_steps(operation: Overridable, key: Key, cls: type, trial: Sequence[Rule] = ()) -> list[Step]:
    """Return the rules by which a type answers, the most specific first, rules for kinds last.

    Parameters
    ----------
    operation, key : the function and the types of a call
    cls : the type that answers
    trial : rules that are taken to be registered, too, in place of those that they would replace
    """
    order, parameters = operation.types.counts_as, operation.parameters
    counted = order(cls)
    listed = _listed(operation, key)
    steps: list[Step] = []
    targets: tuple[Overridable | Kind, ...] = (operation, *operation.kind.lineage())
    for target in targets:
        rules = _candidates(operation, target, listed)
        if trial:
            rules = _with_trial(target, rules, trial)
        if not rules:
            continue
        fitting = [
            (far, rule)
            for rule in rules
            if rule.serves(counted) and (far := rule.distances(key, parameters, cls, order)) is not None
        ]
        if fitting:
            steps += _rank(operation, key, cls, fitting, RULE if target is operation else KIND)
    return steps


def _listed(operation: Overridable, key: Key) -> list[NamedBy] | None:
    """Return the lists of the rules that may fit a call, by the types that they name; None where all may."""
    order = operation.types.counts_as
    classes = flatten(key)
    if NoneType in classes or () in key:
        return None  # a rule fits without the type that it names for what is left out
    return operation.protocol.handlers.naming(dict.fromkeys(counted for cls in classes for counted in order(cls)))


def _candidates(operation: Overridable, target: Any, listed: list[NamedBy] | None) -> list[Rule]:
    """Return the rules for an operation or a kind that may fit a call, of those that are listed."""
    handlers = operation.protocol.handlers
    if listed is None:
        return handlers.of(target)
    return handlers.needing(target, listed)


def _with_trial(target: Overridable | Kind, rules: list[Rule], trial: Sequence[Rule]) -> list[Rule]:
    """Return the rules of an operation or kind with those that are tried."""
    tried = [rule for rule in trial if rule.target is target]
    if not tried:
        return rules
    replaced = {rule.signature for rule in tried}
    return [*(rule for rule in rules if rule.signature not in replaced), *tried]


def _rank(
    operation: Overridable, key: Key, cls: type, fitting: list[tuple[tuple[int, ...], Rule]], source: Outcome
) -> list[Step]:
    fitting.sort(key=lambda pair: (-_demands(pair[0]), pair[1].anywhere, sum(pair[0])))
    # Of the members of a handler's union the nearest counts: the handler is asked once.
    nearest: dict[Version, tuple[tuple[int, ...], Rule]] = {}
    for far, rule in fitting:
        nearest.setdefault(rule.registration, (far, rule))
    fitting = list(nearest.values())
    steps: list[Step] = []
    for index, (far, rule) in enumerate(fitting):
        rivals = [
            other
            for other_far, other in fitting[index + 1 :]
            if _demands(other_far) == _demands(far) and not _dominates(far, other_far, rule, other)
        ]
        if rivals:
            steps.append(_ambiguity(operation, cls, key, [rule, *rivals]))
            return steps
        steps.append(_rule_step(operation, key, cls, rule, source))
    return steps


def _demands(far: tuple[int, ...]) -> int:
    """Return how many arguments of a call are of a type that the rule at these distances names."""
    return sum(distance < LEFT_OUT for distance in far)


def _dominates(near: tuple[int, ...], far: tuple[int, ...], rule: Rule, other: Rule) -> bool:
    """Return whether `rule` is at least as specific everywhere, and more so somewhere."""
    if rule.anywhere is not other.anywhere or len(near) != len(far):
        return other.anywhere and not rule.anywhere
    return all(a <= b for a, b in zip(near, far, strict=True)) and near != far


def _rule_step(operation: Overridable, key: Key, cls: type, rule: Rule, source: Outcome) -> Step:
    call = rule.handler
    if isinstance(rule.target, Kind):
        call = partial(call, operation.function)
    if rule.swapped:
        call = _swapping(operation.parameters, call)
    change = _wrapped_positions(operation, key, rule)
    if any(change):
        call = _wrapping(operation, key, call, change)
    if not takes_every_call(rule, operation):
        call = _guard(rule, call, operation.parameters)
    return Step(source, cls, call, rule=rule)


def takes_every_call(rule: Rule, operation: Overridable) -> bool:
    """Return whether the handler of a rule takes the arguments of every call of an operation."""
    known = _complete.setdefault(rule, WeakKeyDictionary())
    if operation not in known:
        known[operation] = rule.takes_everything(operation.parameters)
    return known[operation]


def _wrapped_positions(operation: Overridable, key: Key, rule: Rule) -> list[bool]:
    """Return for each array parameter whether its arguments reach the handler as instances of the base type.

    Arrays of the base type's library always do, but in an index that the handler takes as it is; scalars where the
    handler asks for the base type.
    """
    types = operation.types
    base = types.base
    if base is None:
        return []
    asked = rule.types if not rule.anywhere and len(rule.types) == len(key) else [ANY] * len(key)
    change = [
        wanted not in (bool, int, float, complex)
        and any(
            types.wrapped_always(cls) or (issubclass(wanted, base) and types.is_raw(cls)) for cls in flatten((entry,))
        )
        for entry, wanted in zip(key, asked, strict=True)
    ]
    if getattr(rule.handler, RAW_INDEX, False):
        return [here and p.form is not Form.INDEX for here, p in zip(change, operation.parameters.arrays, strict=True)]
    return change


def _wrapping(
    operation: Overridable, key: Key, handler: Callable[..., Any], change: Sequence[bool]
) -> Callable[..., Any]:
    types, parameters = operation.types, operation.parameters
    if parameters.binary and parameters.least == 2:
        return _wrapping_operands(types, key, handler, change)
    names = {p.name for p, wanted in zip(parameters.arrays, change, strict=True) if wanted}
    indices = {p.name for p in parameters.arrays if p.form is Form.INDEX}
    # Python's numbers are weak. Where arrays are not promoted to one dtype, an int may be an index or a count.
    weak = (int, float, complex) if operation.kind.family in (kinds.elementwise, kinds.searching) else (float, complex)
    places = _places_of_arrays(types, key, change, parameters, weak)

    def with_wrapped_arrays(*args: Any, **kwargs: Any) -> Any:
        # An index of several arrays has them in a tuple.
        if places and not kwargs and places[-1] < len(args) and tuple not in [type(args[place]) for place in places]:
            whole = list(args)
            for place in places:
                whole[place] = types.wrap(args[place])
            return handler(*whole)

        def wrap(name: str, value: Any) -> Any:
            if name not in names or not types.is_raw(type(value)):
                return value
            if type(value) not in weak or name in indices:
                return types.wrap(value)
            return types.wrap(value, [array for p, array in parameters.values(args, kwargs) if p.name not in indices])

        args, kwargs = parameters.replace(args, kwargs, wrap)
        return handler(*args, **kwargs)

    if len(places) != 1:
        return with_wrapped_arrays
    [place], wrap_array = places, types.wrap

    def with_wrapped_array(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) <= place or type(args[place]) is tuple:
            return with_wrapped_arrays(*args, **kwargs)
        whole = list(args)
        whole[place] = wrap_array(args[place])
        return handler(*whole)

    return with_wrapped_array


def _places_of_arrays(
    types: ArrayTypes, key: Key, change: Sequence[bool], parameters: Parameters, weak: tuple[type, ...]
) -> list[int]:
    """Return the places of what is to be wrapped in calls of these types; none where it may be a member or a number."""
    places = []
    for p, entry, wanted in zip(parameters.arrays, key, change, strict=True):
        if not wanted:
            continue
        found = flatten((entry,))
        certain = len(found) == 1 and types.is_raw(found[0]) and found[0] not in weak
        if not certain or p.position is None or p.form not in (Form.ONE, Form.INDEX):
            return []
        places.append(p.position)
    return places


def _wrapping_operands(
    types: ArrayTypes, key: Key, handler: Callable[..., Any], change: Sequence[bool]
) -> Callable[..., Any]:
    """Wrap the operands of a function of two arrays, whose types are those of the key."""
    wrap = types.wrap
    left, right = (wanted and types.is_raw(cls) for cls, wanted in zip(key, change, strict=True))
    weak_left, weak_right = (cls in (int, float, complex) for cls in key)

    def with_wrapped_operands(x1: Any, x2: Any, /) -> Any:
        first, second = x1, x2
        if left:
            first = wrap(x1, (x2,) if weak_left else ())
        if right:
            second = wrap(x2, (x1,) if weak_right else ())
        return handler(first, second)

    return with_wrapped_operands


def _swapping(parameters: Parameters, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Give a handler the first two arrays of a call in the other order."""
    if parameters.binary and parameters.least == 2:

        def with_swapped_operands(x1: Any, x2: Any, /) -> Any:
            return handler(x2, x1)

        return with_swapped_operands
    first, second = (p.name for p in parameters.arrays[:2])

    def with_swapped_arrays(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1:
            return handler(args[1], args[0], *args[2:], **kwargs)
        if args:
            return handler(kwargs[second], **{**kwargs, second: args[0]})
        return handler(**{**kwargs, first: kwargs[second], second: kwargs[first]})

    return with_swapped_arrays


def _guard(rule: Rule, handler: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    # The refusal depends on the number of arguments, the names of keywords, and which of them are lists, alone.
    known: dict[tuple[Any, ...], list[str]] = {}
    taken = frozenset(rule.takes.parameters)

    def where_accepted(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not taken.issuperset(kwargs):
            kwargs = dict(rule.without_defaults(kwargs, parameters))
        call = (len(args), *kwargs)
        if rule.single:
            call += tuple([type(arg) in (list, tuple) for arg in args])
        refused = known.get(call)
        if refused is None:
            refused = known[call] = rule.refusal(args, kwargs)
        if refused:
            return decline(f"it cannot be called with {', '.join(refused)}")
        return handler(*args, **kwargs)

    return where_accepted


def _ambiguity(operation: Overridable, cls: type, key: Key, rules: Sequence[Rule]) -> Step:
    # Rules may ask for types of different numbers of arguments; those of the first ones are compared.
    resolving = [
        max(wanted, key=lambda cls: len(cls.__mro__)) for wanted in zip(*[rule.types for rule in rules], strict=False)
    ]
    if len(resolving) == len(key):
        # Where nothing was passed, it takes a rule without a demand.
        resolving = [ANY if entry == () else wanted for entry, wanted in zip(key, resolving, strict=True)]
    error = partial(
        AmbiguousImplementationError,
        operation.qualified_name,
        [type_name(t) for entry in key for t in (entry if isinstance(entry, tuple) else (entry,))],
        [str(rule) for rule in rules],
        ", ".join(map(type_name, resolving)),
    )

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error()  # a new one each time

    text = "ambiguous: " + "; ".join(map(str, rules))
    return Step(AMBIGUOUS, cls, refuse, text, error=error, rivals=tuple(rules))
