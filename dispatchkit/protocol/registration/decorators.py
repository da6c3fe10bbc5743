"""The decorators `array_type`, `implements` and `converts`: what they are given is checked, then stored."""

from __future__ import annotations

import inspect
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from reprlib import recursive_repr
from textwrap import indent
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any, TypeVar

from dispatchkit.errors import FieldWarning, RegistrationError, ReplacementWarning, SignatureWarning
from dispatchkit.protocol.densify import Derived, count_dense, make_dense
from dispatchkit.protocol.journal import Meeting
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import ANY, function_name, type_name
from dispatchkit.protocol.overridable import Dispatcher, Overridable, operation_of
from dispatchkit.protocol.parameters import Form, Parameters, signature_of
from dispatchkit.protocol.registration.annotations import (
    POSITIONAL,
    Annotated,
    Registering,
    annotated_signatures,
    classes_of,
    classes_of_rest,
    departures,
    is_structural,
    known_hint,
    most_arrays,
    never_called,
    never_found,
    no_own_type,
    not_at_once,
    resolved_hints,
    stands_for_nothing,
    wrong_count,
)
from dispatchkit.protocol.registration.checks import checked_declaration, instance_attributes
from dispatchkit.protocol.resolution import answer_by_rules
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.protocol.types.array_types import ArrayTypes, storage_name
from dispatchkit.protocol.types.declaration import ATTRIBUTE, Conversion, Declaration, Undo

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)
ARITHMETIC = frozenset({*REFLECTED, *REFLECTED.values(), "__abs__", "__neg__", "__pos__", "__invert__"})
# What the methods are that a class written in C defines.
IN_C = (WrapperDescriptorType, MethodDescriptorType)


def array_type(protocol: Registering, declaration: Declaration) -> Callable[[T], T]:
    """Return the decorator of `DispatchProtocol.array_type`."""

    def decorate(cls: T) -> T:
        if not isinstance(cls, type):
            raise RegistrationError(f"array_type decorates a class, not {cls!r}; write @array_type()")
        types = protocol.types
        checked = checked_declaration(types, cls, declaration, "array_type")
        check_operators("array_type", protocol, cls)
        _warn_of_hidden(protocol, cls, checked)

        def complete() -> None:
            if types.own_method(cls) is None:
                try:
                    setattr(cls, types.method, classmethod(_protocol_method(protocol)))
                except TypeError as error:
                    raise RegistrationError(
                        f"array_type: {type_name(cls)} takes no attributes; use register_type({type_name(cls)}, ...)"
                    ) from error
            count_dense(protocol, cls)
            _take_the_place_of_generated(protocol, cls)
            protocol.surface.install(cls, keep=instance_attributes(cls))
            if types.base is not None:
                _derive_attributes(protocol, cls)
            changed: Any = cls
            if changed.__repr__ is object.__repr__:
                changed.__repr__ = repr_of_fields(protocol)

        protocol.journal.make(
            lambda: types.records.declare(cls, checked),
            lambda: _change_class(protocol, cls, complete),
            meeting=_meeting_type(protocol, cls),
        )
        return cls

    return decorate


def _warn_of_hidden(protocol: Registering, cls: type, declaration: Declaration) -> None:
    """Warn of fields in whose place arrays have a method or an attribute."""
    base = protocol.types.base
    inherited = instance_attributes(base) if base is not None and issubclass(cls, base) else ()
    for name in dict.fromkeys((*instance_attributes(cls), *(declaration.fields or ()))):
        member = protocol.surface.members.get(name)
        if member is not None and name not in inherited and not name.startswith("__"):
            if inspect.isfunction(member.value):
                what = f"method x.{name}()"
            else:
                what = f"attribute x.{name}"
            text = f"array_type: the field '{name}' of {type_name(cls)} hides the {what} of arrays; name it otherwise"
            warnings.warn(text, FieldWarning, stacklevel=3)


def register_type(protocol: Registering, cls: type, declaration: Declaration) -> None:
    """Let a class of another library take part.

    Raises
    ------
    RegistrationError : if `cls` is no class, mixes with arrays anyway, or has the operators of a builtin; if the
        declaration does not fit it
    """
    types = protocol.types
    if not isinstance(cls, type):
        raise RegistrationError(f"register_type takes a class, not {cls!r}")
    if cls in (types.base, type(None)) or types.is_raw(cls):
        raise RegistrationError(f"register_type: {cls.__name__} mixes with arrays as it is")
    check_operators("register_type", protocol, cls, foreign=True)
    checked = checked_declaration(types, cls, declaration, "register_type")
    protocol.journal.make(
        lambda: types.records.declare(cls, checked),
        lambda: _change_class(protocol, cls, lambda: count_dense(protocol, cls)),
        meeting=_meeting_type(protocol, cls),
    )


def _meeting_type(protocol: Registering, cls: type) -> Meeting | None:
    """Return which decisions the declaration of a type can change; None for all."""
    if protocol.conversions.leads_to([cls]):
        return None
    return Meeting([cls])


def repr_of_fields(protocol: Registering) -> Callable[[Any], str]:
    """Return a `__repr__` for the types of a protocol."""

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807  # as Python calls it
        """Return the type with its fields, each on its own line where one takes several."""
        shown = [f"{label}={_shown(getattr(self, name))}" for name, label in shown_fields(protocol, self)]
        if not any("\n" in text for text in shown):
            return f"{type(self).__name__}({', '.join(shown)})"
        lines = [indent(f"{text},", "    ") for text in shown]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    return __repr__


def shown_fields(protocol: Registering, x: Any) -> list[tuple[str, str]]:
    """Return the fields that a type prints, each with the parameter of the constructor that it holds.

    Parameters
    ----------
    protocol : the protocol
    x : an instance
    """
    hidden = {name for name, one in getattr(type(x), "__dataclass_fields__", {}).items() if not one.repr}
    names = [name for name in protocol.types.field_names(type(x)) if name not in hidden and hasattr(x, name)]
    return [(name, _parameter_name(type(x), name)) for name in names]


SHOWN = 3  # members at each end of a long sequence


def _shown(value: Any) -> str:
    """Return a field as text, of a long list or tuple its ends."""
    if type(value) not in (list, tuple) or len(value) <= 10 * SHOWN:
        return repr(value)
    ends = ", ".join([*map(repr, value[:SHOWN]), "...", *map(repr, value[-SHOWN:])])
    if isinstance(value, list):
        return f"[{ends}]"
    return f"({ends})"


def _parameter_name(cls: type, field: str) -> str:
    """Return the parameter of the constructor that a field holds."""
    public = field.removeprefix("_")
    if public != field and storage_name(cls, public) == field:
        return public
    return field


def _take_the_place_of_generated(protocol: Registering, cls: type) -> None:
    """Replace the `==` that `dataclass` has written by the elementwise one, its hash by the identity, and its repr."""
    members = protocol.surface.members
    written: list[str] = [name for name in ("__eq__", "__repr__") if name in members and _is_generated(cls, name)]
    replacing: dict[str, Any] = {name: members[name].value for name in written}
    if "__eq__" in replacing:
        replacing["__hash__"] = object.__hash__
    for name, value in replacing.items():
        setattr(cls, name, value)


def _is_generated(cls: type, name: str) -> bool:
    """Return whether `dataclasses` has written a method, whose code then has their function in its name."""
    owner = next(ancestor for ancestor in cls.__mro__ if name in ancestor.__dict__)
    code = getattr(inspect.unwrap(owner.__dict__[name]), "__code__", None)
    return code is not None and code.co_qualname.startswith("__create_fn__.")


def check_operators(use: str, protocol: Registering, cls: type, *, foreign: bool = False) -> None:
    """Raise if Python would use operators of a class written in C, such as `float`, in place of the protocol's.

    Parameters
    ----------
    use : the function that declares the class
    protocol, cls : the protocol, and the class
    foreign : whether the class is of another library, whose own operators are then intended

    Raises
    ------
    RegistrationError : naming the base and the operators
    """
    owners: dict[type, list[str]] = {}
    operators = (
        member.name for member in protocol.surface if member.operation is not None and member.name.startswith("__")
    )
    for name in sorted(operators):
        owner = next((ancestor for ancestor in cls.__mro__ if name in ancestor.__dict__), object)
        if (
            isinstance(owner.__dict__.get(name), IN_C)
            and owner is not object
            and not protocol.types.wrapped_always(owner)
        ):
            owners.setdefault(owner, []).append(name)
    for owner, names in owners.items():
        if not ARITHMETIC.isdisjoint(names) and (owner.__module__ == "builtins" or not foreign):
            if cls is owner:
                derives = f"is Python's {owner.__name__}"
            else:
                derives = f"derives from {type_name(owner)}"
            raise RegistrationError(
                f"{use}: {type_name(cls)} {derives}, whose operators Python would use in place of the array's: "
                f"{', '.join(names)}; hold the {type_name(owner)} in a field of a class instead"
            )


def _change_class(protocol: Registering, cls: type, change: Callable[[], None]) -> Undo:
    """Change the attributes of a class; return what takes that back. After an error they are as they were."""
    before = dict(vars(cls))
    try:
        change()
        since = dict(vars(cls))
        return lambda: _restore(protocol, cls, before, since)
    except BaseException:
        _restore(protocol, cls, before, dict(vars(cls)))
        raise


def _restore(protocol: Registering, cls: type, before: Mapping[str, Any], since: Mapping[str, Any]) -> None:
    """Take new attributes from a class, and give it back those that were replaced and are still what they became."""
    protocol.surface.forget(cls)
    for name, value in list(vars(cls).items()):
        if name not in before and name != ATTRIBUTE:
            delattr(cls, name)
        elif name in before and value is since.get(name) and value is not before[name]:
            setattr(cls, name, before[name])


def _protocol_method(protocol: Registering) -> Callable[..., Any]:
    def answer(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Answer by the type's rules, then by its declared fallback."""
        return answer_by_rules(operation_of(protocol, func), cls, args, kwargs or {})

    answer.__generated__ = True  # type: ignore[attr-defined]  # which a method of users lacks
    answer.__name__ = protocol.types.method
    return answer


def _read_dense(protocol: Registering, cls: type, name: str, instance: Any) -> Any:
    """Return an attribute of the dense form of an instance."""
    types = protocol.types
    dense = types.to_dense(cls)
    if dense is None:
        raise AttributeError(
            f"{type_name(cls)} has no '{name}': define a property '{name}', or to_dense() to take it from"
        )
    asked = f"{type_name(cls)}.{name}"
    return getattr(make_dense(asked, cls, dense, instance, types.is_plain, as_attribute=True), name)


def _derive_attributes(protocol: Registering, cls: type) -> None:
    known = {name for ancestor in cls.__mro__ if ancestor is not object for name in ancestor.__dict__}
    known.update(instance_attributes(cls))
    derived = {}
    for name in ("shape", "dtype"):
        read = partial(_read_dense, protocol, cls, name)
        derived[name] = Derived(f"The {name} of the array.", read, from_dense=True)
    derived["ndim"] = Derived("Number of axes.", lambda x: len(x.shape))
    derived["size"] = Derived("Number of elements.", lambda x: math.prod(x.shape))
    derived["device"] = Derived("Where the data is.", lambda x: "cpu")
    for name, attribute in derived.items():
        if name not in known:
            setattr(cls, name, attribute)


def implements(
    protocol: Registering,
    target: Overridable | Kind,
    types: tuple[type, ...],
    declines: bool | None,
    commutative: bool = False,
) -> Callable[[F], F]:
    """Return the decorator of `DispatchProtocol.implements`."""
    if commutative:
        _check_commutes(target)

    def register(handler: F) -> F:
        wanted = types
        if commutative and isinstance(target, Overridable) and len(types) == 1:
            # The handler is given the array of this type first.
            wanted = (*types, *[ANY] * (len(target.parameters.arrays) - 1))
        rules = make_rules(protocol.types, target, handler, wanted)
        for cls in {cls for rule in rules for cls in rule.brings}:
            check_operators("implements", protocol, cls, foreign=True)
        for rule in rules:
            rule.declines, rule.registration = declines, rules[0].registration
        stale: list[Rule] = []
        for rule in rules:
            old = protocol.handlers.replaced_by(rule)
            if old is None or old.swapped:
                continue
            other_order = protocol.handlers.swapped_with(old)
            if other_order is not None:
                stale.append(other_order)
            # A module that runs again, as a cell of a notebook or by a reload, may replace its rules.
            if _module(old.handler) != _module(handler) or _in_one_import(old.handler, handler):
                what = target.qualified_name if isinstance(target, Overridable) else target
                text = f"implements: {rule} replaces {old} as the rule for {what}"
                warnings.warn(text, ReplacementWarning, stacklevel=2)
        if commutative:
            rules += _other_orders(protocol, rules)
        add, remove = protocol.handlers.add, protocol.handlers.remove
        removals = [lambda rule=rule: remove(rule) for rule in stale]
        meeting = _meeting_rules(protocol, [*stale, *rules])
        protocol.journal.make(*removals, *(lambda rule=rule: add(rule) for rule in rules), meeting=meeting)
        return handler

    return register


def _meeting_rules(protocol: Dispatcher, rules: Sequence[Rule]) -> Meeting | None:
    """Return which decisions rules for one target can change; None for all."""
    own = [protocol.types.named_own(rule.types) for rule in rules]
    types = {cls for classes in own for cls in classes}
    if not all(own) or protocol.conversions.leads_to(types):
        return None
    target = rules[0].target
    if isinstance(target, Kind) or any(rule.brings for rule in rules):
        target = None
    return Meeting(types, {cls for rule in rules for cls in rule.named}, target)


def _check_commutes(target: Overridable | Kind) -> None:
    """Raise if rules for a target cannot serve both orders of the operands."""
    if isinstance(target, Kind):
        raise RegistrationError(
            f"implements: commutative=True is for one operation whose operands may be exchanged, such as dk.add, not "
            f"for {target}; a rule for a kind with one type, implements(kind, Type), serves the type in any position"
        )
    if target.commutative:
        return
    arrays = [p.name for p in target.parameters.arrays]
    if len(arrays) < 2:
        reason = "which does not take two arrays; leave it out"
    else:
        first, second = arrays[:2]
        called, other = f"{target.name}({first}, {second})", f"{target.name}({second}, {first})"
        reason = f"since {called} is not {other}; register a rule for each order"
    raise RegistrationError(f"implements: commutative=True does not fit {target.qualified_name}, {reason}")


def _other_orders(protocol: Registering, rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules for the other order of the operands, but for those that have a rule of their own."""
    others: list[Rule] = []
    signatures = {rule.signature for rule in rules}
    for rule in rules:
        other = rule.for_the_other_order()
        known = protocol.handlers.replaced_by(other)
        has_its_own = known is not None and not known.swapped
        if other.signature not in signatures and not has_its_own:
            others.append(other)
    return others


def make_rules(
    known: ArrayTypes, target: Overridable | Kind, handler: Callable[..., Any], types: tuple[type, ...]
) -> list[Rule]:
    """Return the rules that a handler is registered as; several where its annotations name unions.

    Raises
    ------
    RegistrationError : if it can never be called, or names no type that takes part
    """
    takes, name = signature_of(handler, "implements"), function_name(handler)
    if fault := not_at_once(handler, target.source if isinstance(target, Overridable) else None):
        raise RegistrationError(f"implements: {name} {fault}")
    if isinstance(target, Kind):
        parameters = list(takes.parameters.values())
        if _lacks_operation(known, handler, parameters):
            shown = ", ".join(["op", *(p.name for p in parameters)])
            raise RegistrationError(
                f"{name} cannot answer for {target}: the handler of a kind receives the operation first, "
                f"then the arrays; as in def f({shown})"
            )
        if parameters[0].kind is not parameters[0].VAR_POSITIONAL:
            takes = takes.replace(parameters=parameters[1:])
    else:
        faults, remarks = departures(takes, target.parameters)
        if faults:
            raise RegistrationError(never_called(name, target.qualified_name, target.parameters, faults))
        if not target.parameters.arrays:
            first = next(iter(target.parameters.signature.parameters), "x")
            advice = f"name them where it is declared, as in operation(arrays=('{first}',))"
            text = f"{name} can never be called for {target.qualified_name}: it has no array parameters; {advice}"
            raise RegistrationError(text)
        for remark in remarks:
            warnings.warn(f"{name} for {target.qualified_name}: {remark}", SignatureWarning, stacklevel=3)
    if types:
        return [_make_rule(known, target, handler, takes, types)]
    annotated = _annotated(target, handler, takes)
    signatures = annotated.signatures
    # Of the combinations of union members, those count that name a type that takes part, besides plain arrays.
    named = known.named_own
    classes = tuple(dict.fromkeys(itertools.chain(*signatures)))
    _check_instances(known, handler, classes)
    brought = _types_brought(known, target, classes)
    relevant = [
        signature
        for signature in signatures
        if any(known.participates(cls) or cls in brought for cls in named(signature))
    ] or signatures[:1]
    rules = [_make_rule(known, target, handler, takes, signature, annotated) for signature in relevant]
    rest = classes_of_rest(handler, takes)
    for rule in rules:
        rule.brings = tuple(cls for cls in rule.types if cls in brought)
        if isinstance(target, Kind):
            rule.rest = rest
        elif rest and all(map(known.participates, rest)):
            rule.most = most_arrays(target, name, takes, rest)
    return rules


def _lacks_operation(known: ArrayTypes, handler: Callable[..., Any], parameters: list[inspect.Parameter]) -> bool:
    """Return whether the handler of a kind has no first parameter for the operation, or takes an array there."""
    if not parameters or parameters[0].kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
        return True
    first = parameters[0]
    if first.kind is first.VAR_POSITIONAL:
        return False
    alone = len(parameters) == 1
    return alone or any(
        cls is known.base or known.participates(cls)
        for cls in classes_of(known_hint(handler, first.name, Any), Form.ONE, function_name(handler))
    )


def _annotated(target: Overridable | Kind, handler: Callable[..., Any], takes: inspect.Signature) -> Annotated:
    if isinstance(target, Overridable):
        return annotated_signatures(handler, target.parameters)
    positional = [p for p in takes.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    arrays = [p for p in positional if p.annotation is not p.empty] or positional[:1]
    if not arrays:
        arrays = list(takes.parameters.values())[:1]
    forms = {p.name: Form.ONE for p in arrays}
    return annotated_signatures(handler, Parameters(inspect.Signature(arrays), forms), skip=1)


def _make_rule(
    known: ArrayTypes,
    target: Overridable | Kind,
    handler: Callable[..., Any],
    takes: inspect.Signature,
    types: tuple[type, ...],
    annotated: Annotated | None = None,
) -> Rule:
    """Return a rule for types that the decorator names, or that annotations do, which come with what else they say."""
    explicit = annotated is None
    for cls in types:
        if not isinstance(cls, type):
            raise RegistrationError(f"implements: {cls!r} is not a class")
    if not known.named_own(types):
        raise RegistrationError(no_own_type(function_name(handler), list(map(type_name, types))))
    _check_instances(known, handler, types)
    one_array = isinstance(target, Kind) or len(target.parameters.arrays) == 1
    anywhere = len(types) == 1 and (explicit or one_array)
    if isinstance(target, Kind):
        count = len(types)
    else:
        count = len(target.parameters.arrays)
    if not anywhere and not one_array and len(types) != count:
        raise RegistrationError(wrong_count(len(types), target, count))
    single: tuple[str, ...] = ()
    if isinstance(target, Kind) and not explicit:
        single = tuple(
            p.name for p in takes.parameters.values() if p.annotation is not p.empty and p.kind in POSITIONAL
        )
    rule = Rule(target, types, anywhere, handler, takes, known, single=single)
    rule.brings = _types_brought(known, target, types)
    if annotated is not None:
        rule.every, rule.spread = annotated.every, annotated.spread
        named = enumerate(zip(types, annotated.choices, strict=True))
        rule.closed = frozenset(
            place
            for place, (cls, others) in named
            if cls is not ANY and not known.is_number(cls) and any(map(known.is_number, others))
        )
    return rule


def _check_instances(known: ArrayTypes, handler: Callable[..., Any], types: Iterable[type]) -> None:
    """Raise for a class of a rule that no object has in its MRO."""
    for cls in types:
        if stands_for_nothing(cls) and (is_structural(cls) or not known.participates(cls)):
            raise RegistrationError(never_found(function_name(handler), cls))


def _types_brought(known: ArrayTypes, target: Overridable | Kind, types: tuple[type, ...]) -> tuple[type, ...]:
    """Return the types of a rule that take part by it.

    A function that was made overridable takes anything. Of what a rule names there beside an array type, such as a mode
    that is text or a member of an enumeration, nothing is asked.
    """
    declarable = known.named_own(types)
    new = [cls for cls in declarable if not known.participates(cls)]
    if isinstance(target, Overridable) and any(p.form is Form.LOOSE for p in target.parameters.arrays):
        if len(new) < len(declarable):
            return ()
        new = [cls for cls in new if cls.__module__ != "builtins"] or new
    return tuple(new)


def converts(protocol: Dispatcher, cost: float, lossy: bool) -> Callable[[F], F]:
    """Return the decorator of `DispatchProtocol.converts`."""
    if callable(cost):
        raise RegistrationError("converts takes cost and lossy; write @converts()")
    try:
        negative = cost < 0
    except TypeError:
        raise RegistrationError(f"converts: cost is {cost!r}; write a number, as in @converts(cost=2)") from None
    if negative:
        raise RegistrationError(f"converts: cost is {cost}; it cannot be negative")

    def register(function: F) -> F:
        source, target = _conversion_types(function)
        if fault := not_at_once(function):
            raise RegistrationError(f"converts: {function_name(function)} {fault}")
        edge = Conversion(source, target, function, cost, lossy)
        protocol.journal.make(lambda: protocol.conversions.add(edge))
        return function

    return register


def _module(handler: Callable[..., Any]) -> str | None:
    return getattr(inspect.unwrap(handler), "__module__", None)


def _in_one_import(first: Callable[..., Any], second: Callable[..., Any]) -> bool:
    """Return whether a module that is imported for the first time defines two functions."""
    scopes = [getattr(inspect.unwrap(handler), "__globals__", None) for handler in (first, second)]
    is_importing = scopes[0] is not None and getattr(scopes[0].get("__spec__"), "_initializing", False)
    return is_importing and scopes[0] is scopes[1] and first is not second


def _conversion_types(function: Callable[..., Any]) -> tuple[type, type]:
    first = next(iter(signature_of(function, "converts").parameters), "")
    hints = resolved_hints(function, [first, "return"], "write the classes where they are imported")
    name = function_name(function)
    sources = classes_of(hints.get(first, ANY), Form.ONE, name)
    targets = classes_of(hints.get("return", ANY), Form.ONE, name)
    if len(sources) != 1 or len(targets) != 1 or ANY in (*sources, *targets):
        raise RegistrationError(
            f"converts: {name} must name one class it takes and one it gives, as in def f(x: A) -> B"
        )
    return sources[0], targets[0]


def place_of(protocol: Any) -> tuple[str, str]:
    """Return the module that holds a protocol, and its name there.

    Raises
    ------
    TypeError : if none does that another process could import
    """
    for module, held in list(sys.modules.items()):
        if module != "__main__":
            for name, value in list(getattr(held, "__dict__", {}).items()):
                if value is protocol:
                    return module, name
    raise TypeError(f"{protocol!r} cannot be pickled: no module holds it that another process could import; write one")


def protocol_at(module: str, name: str) -> Any:
    """Return the protocol that a module holds."""
    return getattr(import_module(module), name)
