"""Who answers a call, and what the result is: the order of the library, followed on types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from mypy.nodes import TypeInfo
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    TupleType,
    Type,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from dispatchkit.mypy_plugin.arguments import Argument, Entry, Role, base_names
from dispatchkit.mypy_plugin.facts import Rule
from dispatchkit.mypy_plugin.names import TENSOR
from dispatchkit.mypy_plugin.operations import Target
from dispatchkit.mypy_plugin.program import View
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.types.array_types import RESULTS

FAR = 1_000_000
ABSENT = 999_999


def unknown() -> AnyType:
    """Return the type of what is decided when the program runs."""
    return AnyType(TypeOfAny.special_form)


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an operation.

    Attributes
    ----------
    target : the operation
    plain : the result's type on plain tensors
    view : what the calling module sees
    names : of the keywords that are passed
    count : of the arguments passed by position
    infer : gives the type that a generic handler returns for arguments
    """

    target: Target
    plain: Type
    view: View
    names: Collection[str]
    count: int
    infer: Callable[[CallableType, Sequence[Type]], Type]

    def result(self, key: Sequence[Entry], depth: int = 0) -> Type | None:
        """Return the type of the result; None where nobody answers.

        Parameters
        ----------
        key : the arguments of each array position
        depth : how often arguments have been replaced by dense ones
        """
        arguments = [a for entry in key for a in entry]
        if any(a.role is Role.UNKNOWN for a in arguments) or depth > 3:
            return unknown()
        order = self._candidates([a for a in arguments if a.role is Role.TYPE])
        if not order:
            return self.plain
        if any(self._decides_itself(a) for a in order):
            return unknown()
        found: list[Type] = []
        for candidate in order:
            for answer in self._by_rules(key, candidate):
                if answer is None:
                    return unknown()
                answering = _without_declining(answer)
                found += [] if answering is None else [answering]
                if answering is answer:
                    return _union(found)
        rest = self._default(key, order) or self._by_fallback(key, order, depth)
        return _union([*found, rest]) if rest is not None else _union(found) if found else None

    def _candidates(self, arguments: Sequence[Argument]) -> list[Argument]:
        """Order classes as they are asked: priority, then a subclass before its superclass, then left to right."""
        order: list[Argument] = []
        for argument in arguments:
            if argument.info is None or any(argument.info is other.info for other in order):
                continue
            place = next((i for i, other in enumerate(order) if other.info in argument.info.mro), len(order))
            order.insert(place, argument)
        return sorted(order, key=lambda a: -self._priority(a.info))

    def _priority(self, info: TypeInfo | None) -> float:
        named = (self.view.declared.get(base.fullname) for base in ([] if info is None else info.mro))
        return next((one.priority for one in named if one is not None and one.priority is not None), 0)

    def _decides_itself(self, argument: Argument) -> bool:
        """Return whether a class has written the protocol's method itself."""
        if self.target.method.startswith("?") or argument.info is None:
            return False
        owner = next((base for base in argument.info.mro if self.target.method in base.names), None)
        return owner is not None and owner.fullname != TENSOR

    # Rules.

    def _by_rules(self, key: Sequence[Entry], candidate: Argument) -> list[Type | None]:
        """Return the types of the handlers that may answer for a class, in order; None for one that is not known."""
        found: list[Type | None] = []
        levels = [{f"op:{self.target.key}"}, *({f"kind:{kind}"} for kind in self.target.kinds)]
        for level in levels:
            fitting: list[tuple[tuple[int, ...], Rule, CallableType | None]] = []
            for rule, typ in self.view.rules:
                if rule.target in level and rule.types is not None:
                    far = _distances(rule, key, candidate)
                    if far is not None:
                        fitting.append((far, rule, typ))
            found += self._ranked(key, fitting)
        if any(self._may_answer(rule, candidate) for rule, _ in self.view.rules):
            found.append(None)
        return found

    def _ranked(
        self, key: Sequence[Entry], fitting: list[tuple[tuple[int, ...], Rule, CallableType | None]]
    ) -> list[Type | None]:
        # Of equal signatures the one registered last has replaced the others.
        latest = {(tuple(rule.types or ()), rule.anywhere): (far, rule, typ) for far, rule, typ in fitting}
        ranked = sorted(latest.values(), key=lambda one: (-_demands(one[1]), one[1].anywhere, sum(one[0])))
        found: list[Type | None] = []
        for index, (far, rule, typ) in enumerate(ranked):
            rivals = [
                other
                for other_far, other, other_typ in ranked[index + 1 :]
                if (other_typ is not typ or typ is None)
                and _demands(other) == _demands(rule)
                and not _dominates(far, other_far, rule, other)
            ]
            if rivals or typ is None:
                return [*found, None]
            if self._takes(typ, rule):
                found.append(self._returned(typ, rule, key))
        return found

    def _takes(self, typ: CallableType, rule: Rule) -> bool:
        """Return whether a handler can be called with the keywords of this call."""
        if typ.is_kw_arg or typ.is_var_arg:
            return True
        given = self.count + rule.target.startswith("kind:")
        room = sum(kind.is_positional() for kind in typ.arg_kinds)
        return given <= room and all(name in typ.arg_names for name in self.names)

    def _returned(self, typ: CallableType, rule: Rule, key: Sequence[Entry]) -> Type:
        if typ.variables:
            leading: list[Type] = [unknown()] if rule.target.startswith("kind:") else []
            return self.infer(typ, [*leading, *(_union([a.typ for a in entry]) for entry in key)])
        return typ.ret_type

    def _may_answer(self, rule: Rule, candidate: Argument) -> bool:
        """Return whether a registration that cannot be read may be for this operation and class."""
        kinds = {f"kind:{kind}" for kind in self.target.kinds} if self.target.kinds else set()
        hidden = not self.target.kinds and rule.target.startswith("kind:")
        if rule.target == "?" or hidden:
            return rule.types is None or bool(set(rule.types) & set(base_names(candidate)))
        return rule.types is None and (rule.target == f"op:{self.target.key}" or rule.target in kinds)

    # Defaults and fallbacks.

    def _default(self, key: Sequence[Entry], order: Sequence[Argument]) -> Type | None:
        """Return the result among subclasses of Tensor: they keep their type. None for other classes."""
        if self.target.method != tensor_protocol.method:
            return self.plain
        if not all(_is_tensor(a.info) for a in order):
            return None
        keeping = next((a for a in order if not _names_results(a.info)), None)
        return self.plain if keeping is None else replaced(self.plain, keeping.typ)

    def _by_fallback(self, key: Sequence[Entry], order: Sequence[Argument], depth: int) -> Type | None:
        for candidate in order:
            if self.target.by_fields is not False:
                return replaced(self.plain, candidate.typ) if self.target.by_fields else unknown()
            for part in self.fallback(candidate.info):
                answer = self._by_part(part, key, candidate, order, depth)
                if answer is not None:
                    return answer
        return None

    def fallback(self, info: TypeInfo | None) -> list[str]:
        """Return the names of the fallbacks that a class declares or inherits."""
        for base in [] if info is None else info.mro:
            declared = self.view.declared.get(base.fullname)
            if declared is not None and declared.fallback is not None:
                return declared.fallback
        return ["refuse"]

    def _by_part(
        self, part: str, key: Sequence[Entry], candidate: Argument, order: Sequence[Argument], depth: int
    ) -> Type | None:
        if part == "refuse" or (part == "decompose" and self.target.decomposes is False):
            return None
        if part == "rewrap":
            alone = all(a.info is candidate.info for a in order)
            return replaced(self.plain, candidate.typ) if alone else unknown()
        if part == "dense":
            if not self._can_be_dense(candidate.info):
                return None
            return self.result([tuple(self._densified(a, candidate) for a in entry) for entry in key], depth + 1)
        return unknown()

    def _can_be_dense(self, info: TypeInfo | None) -> bool:
        if info is None:
            return False
        named = (self.view.declared.get(base.fullname) for base in info.mro)
        return info.get("to_dense") is not None or any(one is not None and one.dense for one in named)

    def _densified(self, argument: Argument, candidate: Argument) -> Argument:
        if argument.role is not Role.TYPE or _is_tensor(argument.info) or not self._can_be_dense(argument.info):
            return argument
        if argument.info is candidate.info or "dense" in self.fallback(argument.info):
            return Argument(Role.PLAIN, self.plain, None)
        return argument


def _is_tensor(info: TypeInfo | None) -> bool:
    return info is not None and any(base.fullname == TENSOR for base in info.mro)


def _names_results(info: TypeInfo | None) -> bool:
    """Return whether a subclass of Tensor names the class of its results."""
    return info is not None and any(RESULTS in base.names for base in info.mro if base.fullname != TENSOR)


def _demands(rule: Rule) -> int:
    return sum(name is not None for name in rule.types or ())


def _distances(rule: Rule, key: Sequence[Entry], candidate: Argument) -> tuple[int, ...] | None:
    """Return how far a rule's types are from a call's, position by position; None where it does not fit."""
    types = rule.types or []
    if rule.anywhere:
        near = _distance(candidate, types[0])
        return None if near is None else (near,)
    if not any(name is not None and _distance(candidate, name) is not None for name in types):
        return None
    if rule.target.startswith("kind:") or len(types) == len(key):
        entries: Sequence[Entry] = key
    elif len(key) == 1 and len(key[0]) == len(types):
        entries = [(argument,) for argument in key[0]]
    else:
        return None
    if len(entries) != len(types):
        return None
    found: list[int] = []
    for entry, wanted in zip(entries, types, strict=True):
        reached = [far for a in entry if (far := _distance(a, wanted)) is not None]
        if wanted is None or not entry:
            reached.append(FAR)
        if not reached:
            return None
        found.append(min(reached))
    return tuple(found)


def _distance(argument: Argument, wanted: str | None) -> int | None:
    if wanted is None:
        return FAR
    if argument.role is Role.NONE:
        return ABSENT
    names = base_names(argument) if argument.info is not None else [TENSOR]
    return names.index(wanted) if wanted in names else None


def _dominates(near: tuple[int, ...], far: tuple[int, ...], rule: Rule, other: Rule) -> bool:
    if rule.anywhere is not other.anywhere or len(near) != len(far):
        return other.anywhere and not rule.anywhere
    return all(a <= b for a, b in zip(near, far, strict=True)) and near != far


def _without_declining(typ: Type) -> Type | None:
    """Return a handler's result where it does not decline: the same object for one that never does."""
    proper = get_proper_type(typ)
    if _declines(proper):
        return None
    if isinstance(proper, UnionType) and any(map(_declines, proper.items)):
        return _union([item for item in proper.items if not _declines(item)])
    return typ


def _declines(typ: Type) -> bool:
    proper = get_proper_type(typ)
    return isinstance(proper, Instance) and proper.type.name.endswith("NotImplementedType")


def _union(types: Sequence[Type]) -> Type:
    return make_simplified_union(list(types)) if types else unknown()


def replaced(typ: Type, new: Type) -> Type:
    """Return a type with plain tensors replaced by another."""
    proper = get_proper_type(typ)
    match proper:
        case Instance():
            if proper.type.fullname == TENSOR:
                return new
            return proper.copy_modified(args=[replaced(arg, new) for arg in proper.args]) if proper.args else typ
        case TupleType():
            return proper.copy_modified(items=[replaced(item, new) for item in proper.items])
        case UnionType():
            return _union([replaced(item, new) for item in proper.items])
    return typ
