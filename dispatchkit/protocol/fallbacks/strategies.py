"""The fallback strategies of the library: refuse, dense, rewrap, decompose, fieldwise and convert."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from dispatchkit.errors import AnswerError, RegistrationError
from dispatchkit.marks import override
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.fallbacks.base import RUNNING, FallbackStrategy, Followed, map_members, replace_types
from dispatchkit.protocol.modes import Mode, answer_by_modes
from dispatchkit.protocol.naming import function_name, location_of, type_name
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.outcome import ANSWERS, DECLINES, RAISES, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.protocol.ranking import rule_steps
from dispatchkit.protocol.steps import Step, decline, declined_of
from dispatchkit.protocol.types.array_types import undeclared_fields
from dispatchkit.protocol.types.declaration import Conversion
from dispatchkit.tree import with_attributes
from dispatchkit.wording import with_article


class Refuse(FallbackStrategy):
    """Answer nothing."""

    name = "refuse"

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        return "its fallback is to refuse"


class Dense(FallbackStrategy):
    """Make plain arrays of every argument whose type allows it, and call again."""

    name = "dense"
    outcome = Outcome("dense", "by becoming dense")

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        types = operation.types
        if types.to_dense(cls) is None:
            return "cannot become dense: it has no to_dense()"
        makers = {
            other: maker
            for other in flatten(key)
            if (other is cls or self.name in types.fallback(other).names)
            and (maker := types.to_dense(other)) is not None
            and other is not types.base
        }
        if operation.loses_change(key, makers):
            return f"{operation.name} would change a dense copy, and the change be lost"

        skipped: list[str] = []  # why nothing else of the type answers, in one text once the chain is there

        def densify_argument(name: str, value: Any) -> Any:
            maker = makers.get(type(value))
            if maker is None:
                return value
            if not skipped and (known := operation.chains.get(key)) is not None:
                skipped.append("; ".join(text for other, text in known.skipped if other is cls))
            declined = declined_of(operation)
            return make_dense(
                operation.qualified_name,
                type(value),
                maker,
                value,
                types.is_plain,
                reason="; ".join(filter(None, (declined, *skipped))),
                warned=declined,
            )

        def dense_fallback(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = operation.parameters.replace(args, kwargs, densify_argument)
            return operation.function(*args, **kwargs)

        def follow(follower: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
            if types.base is None:
                return Followed(follower.like(None, ()))
            base = types.base
            refused: list[tuple[str, str]] = []

            def as_dense(name: str, value: Any) -> Any:
                if follower.type_of(value) not in makers:
                    return value
                refused.append(follower.refused_copy(operation, value))
                return follower.like(value, (base,))

            args, kwargs = operation.parameters.replace(args, kwargs, as_dense)
            error = next((error for error, _ in refused if error), "")
            if error:
                return Followed(None, RAISES, error)
            followed: Followed = follower.again(operation, args, kwargs)
            depends = next((text for _, text in refused if text), "")
            return followed._replace(verdict=ANSWERS, reason=depends) if depends else followed

        names = ", ".join(map(type_name, makers))
        then = None if types.base is None else replace_types(key, makers, types.base)
        return Step(self.outcome, cls, dense_fallback, f"dense: to_dense() of {names}", then=then, follow=follow)


class Rewrap(FallbackStrategy):
    """Compute on the first field and put the result in its place."""

    name = "rewrap"
    outcome = Outcome("rewrap", "on its first field, rebuilt with the others", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        types = operation.types
        names = types.field_names(cls)
        if not names and types.declared_value(cls, "fields") is None:
            raise undeclared_fields(cls)
        if not names:
            return "cannot be rewrapped: it has no fields"

        def unwrap(name: str, value: Any) -> Any:
            return getattr(value, wrapped_field(operation, value)) if type(value) is cls else value

        def rewrap_fallback(*args: Any, **kwargs: Any) -> Any:
            values = operation.parameters.values(args, kwargs)
            sources = [value for _, value in values if type(value) is cls]
            source = sources[0]
            first = wrapped_field(operation, source)
            inner = type(getattr(source, first))
            others = _other_fields(operation, first, sources, args, kwargs)
            args, kwargs = operation.parameters.replace(args, kwargs, unwrap)
            result = operation.function(*args, **kwargs)
            return types.map_arrays(result, lambda array: with_attributes(source, [(first, array), *others]), inner)

        def follow(follower: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
            def first_field(name: str, value: Any) -> Any:
                return follower.field_of(operation, value) if follower.type_of(value) is cls else value

            values = operation.parameters.values(args, kwargs)
            source = next(value for _, value in values if follower.type_of(value) is cls)
            try:
                inner = follower.type_of(follower.field_of(operation, source))
                args, kwargs = operation.parameters.replace(args, kwargs, first_field)
            except RegistrationError as error:
                return Followed(None, RAISES, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
            followed: Followed = follower.again(operation, args, kwargs)
            result = map_members(followed.result, lambda array: follower.wrapped_in(source, array, inner))
            return followed._replace(result=result)

        then = None if types.base is None else replace_types(key, {cls}, types.base)
        return Step(self.outcome, cls, rewrap_fallback, f"rewrap: on field '{names[0]}'", then=then, follow=follow)


def _other_fields(
    operation: Overridable, first: str, sources: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Return the fields of a result but the first, where the type declares laws for them."""
    types = operation.types
    rules = {name: rule for name, rule in types.field_rules(type(sources[0])).items() if name != first}
    if not rules:
        return []
    held = [{name: getattr(source, name) for name in rules if hasattr(source, name)} for source in sources]
    fields = types.merge_metadata(rules, None, held, operation, args, kwargs)
    return [(name, fields.get(name)) for name in held[0]]


def wrapped_field(operation: Overridable, value: Any) -> str:
    """Return the name of the field on which a wrapper is computed.

    Raises
    ------
    RegistrationError : if an instance has none, or something else than an array in it
    """
    types, cls = operation.types, type(value)
    fields = types.fields_of(value)
    if not fields:
        names = ", ".join(f"'{name}'" for name in types.field_names(cls))
        raise RegistrationError(
            f"{operation.qualified_name}: {type_name(cls)} cannot be rewrapped: its fields {names} are parameters of "
            f"the constructor and no attributes; declare where the array is: fields=('data', ...)"
        )
    held = type(getattr(value, fields[0]))
    if types.base is not None and not types.accepts(held):
        raise RegistrationError(
            f"{operation.qualified_name}: {type_name(cls)} cannot be rewrapped: its first field '{fields[0]}' holds a "
            f"value of type {held.__name__}, not an array; declare the array's field first: fields=('data', ...)"
        )
    return fields[0]


class Decompose(FallbackStrategy):
    """Run the operation's body, whose inner calls reach the types again."""

    name = "decompose"
    outcome = Outcome("decompose", "by running the operation's body on it", structured=True)
    decomposes = True

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        body = operation.decomposition()
        if body is None:
            return f"{operation.name} does not decompose: its body is one call"

        def decompose_fallback(*args: Any, **kwargs: Any) -> Any:
            running = RUNNING.get()
            if (operation, key) in running:
                return decline("its body comes back to itself")
            mode = _Decomposing(operation)
            try:
                RUNNING.set(running | {(operation, key)})
                with mode:
                    return body(*args, **kwargs)
            except Undecomposable as failure:
                if failure.owner is not mode:
                    raise
                needed = failure.operation.qualified_name
            finally:
                RUNNING.set(running)
            return decline(f"it needs {needed}, which nobody answers")

        def follow(follower: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
            if follower.is_running(operation, key):
                return Followed(None, DECLINES, "its body comes back to itself")
            followed: Followed = follower.body(operation, key, body, args, kwargs)
            return followed

        text = f"decompose: the body of {operation.name}"
        return Step(self.outcome, cls, decompose_fallback, text, follow=follow)


class Undecomposable(BaseException):
    """An inner call of a decomposition that nobody answers; it never leaves the library."""

    def __init__(self, owner: _Decomposing, operation: Overridable) -> None:
        super().__init__(f"nobody answers {operation.qualified_name} inside of a decomposition")
        self.owner = owner
        self.operation = operation


class _Decomposing(Mode):
    """Answers the calls inside a decomposition, without the fallbacks that come after it."""

    def __init__(self, operation: Overridable) -> None:
        self.protocol = operation.protocol

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = answer_by_modes(operation, args, kwargs)
        if result is not NotImplemented:
            return result
        key = operation.parameters.key(args, kwargs)
        chain: Chain = operation.protocol.chain_without_later_fallbacks(operation, key)
        result = chain.attempt(args, kwargs, [], on_step=note_asked)
        if result is NotImplemented:
            raise Undecomposable(self, operation)
        return result


class Fieldwise(FallbackStrategy):
    """Compute an operation that says how on the fields; every type has this strategy, before those it declares."""

    name = "fieldwise"
    implied = True
    outcome = Outcome("fieldwise", "field by field", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        by_fields = operation.by_fields
        if by_fields is None:
            return f"{operation.name} is not computed field by field"
        answers = {"dense", "rewrap"}.intersection(operation.types.fallback(cls).names)
        if not operation.by_fields_always and not answers:
            return f"{operation.name} may need more than its fields, and dense or rewrap is not declared"
        try:
            names = operation.types.field_names(cls)
        except RegistrationError:
            names = ()
        if not names:
            return "has no fields that are known"

        return Step(self.outcome, cls, by_fields, f"fieldwise: {operation.name} of {', '.join(names)}")


class Convert(FallbackStrategy):
    """Convert to the nearest type that has a rule, along declared conversions."""

    name = "convert"
    outcome = Outcome("convert", "by a declared conversion")

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        if operation.loses_change(key, {cls}):
            return f"{operation.name} would change what it converts to, and the change be lost"
        types = operation.types
        present = types.participating(key)
        others = [other for other in present if other is not cls and self.name in types.fallback(other).names]
        for target, paths in _plans(operation, [cls, *others]):
            then = key
            for source in paths:
                then = replace_types(then, {source}, target)
            if not operation.loses_change(key, paths) and _answers(operation, then, target, key):
                call, follow = _converting(operation, key, target, paths)
                edges = tuple(edge for path in paths.values() for edge in path)
                return Step(self.outcome, cls, call, _path_text(paths), path=edges, then=then, follow=follow)
        return "no declared conversion leads to a type with a rule"


COMES_BACK = "the conversion comes back to where it started"
Function: TypeAlias = Callable[..., Any]
# The conversions of each type that is converted.
Paths: TypeAlias = "dict[type, tuple[Conversion, ...]]"


def _plans(operation: Overridable, classes: Sequence[type]) -> list[tuple[type, Paths]]:
    """Return what types can be converted to, each alone or several to one type, the cheapest first."""
    reachable = {
        cls: {target: (cost, path) for cost, target, path in operation.protocol.conversions.reachable(cls)}
        for cls in classes
    }
    plans: list[tuple[float, type, Paths]] = [
        (cost, target, {cls: path}) for cls, targets in reachable.items() for target, (cost, path) in targets.items()
    ]
    for target in dict.fromkeys([*classes, *(target for targets in reachable.values() for target in targets)]):
        joining = {cls: paths[target] for cls, paths in reachable.items() if cls is not target and target in paths}
        if len(joining) > 1:
            total = sum(cost for cost, _ in joining.values())
            plans.append((total, target, {cls: path for cls, (_, path) in joining.items()}))
    plans.sort(key=lambda plan: plan[0])
    return [(target, paths) for _, target, paths in plans]


def _answers(operation: Overridable, key: Key, target: type, before: Key) -> bool:
    """Return whether a type answers calls of these types, by another rule than declined those of the types before."""
    types = operation.types
    left = types.participating(key)
    if target is types.base or not left:
        return all(types.takes_default(cls) for cls in left)
    own_method = types.own_method(target) is not None and not types.is_generated(target)
    if own_method or types.takes_default(target):
        return True
    rules = {id(step.rule) for step in rule_steps(operation, key, target)}
    declined = (id(step.rule) for cls in types.participating(before) for step in rule_steps(operation, before, cls))
    return bool(rules) and not rules.issubset(declined)


def _converting(operation: Overridable, key: Key, target: type, paths: Paths) -> tuple[Function, Function]:
    """Return what answers a call by conversions of some types, and what follows it on stand-ins."""
    types, replace = operation.types, operation.parameters.replace

    def convert(name: str, value: Any) -> Any:
        for edge in paths.get(type(value), ()):
            value = edge.function(value)
            raw = edge.target is types.base and types.wrapped_always(type(value))
            if not (raw or isinstance(value, edge.target)):
                giver = f"the conversion {function_name(edge.function)} at {location_of(edge.function)}"
                result, wanted = (with_article(type_name(cls)) for cls in (type(value), edge.target))
                problem = f"returned {result}, not {wanted}"
                raise AnswerError(operation.qualified_name, giver, problem)
        return value

    def convert_fallback(*args: Any, **kwargs: Any) -> Any:
        running = RUNNING.get()
        if (operation, key) in running:
            return decline(COMES_BACK)
        args, kwargs = replace(args, kwargs, convert)
        try:
            RUNNING.set(running | {(operation, key)})
            return operation.function(*args, **kwargs)
        finally:
            RUNNING.set(running)

    def follow(follower: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
        if follower.is_running(operation, key):
            return Followed(None, DECLINES, COMES_BACK)

        def stand_in(name: str, value: Any) -> Any:
            if follower.type_of(value) in paths:
                return follower.like(value, (target,))
            return value

        followed: Followed = follower.again(operation, *replace(args, kwargs, stand_in), running=key)
        return followed

    return convert_fallback, follow


def _path_text(paths: Paths) -> str:
    ways = []
    for path in paths.values():
        names = [type_name(edge.target) for edge in path]
        ways.append(" -> ".join([type_name(path[0].source), *names]))
    edges = list(itertools.chain(*paths.values()))
    loss = ""
    if any(edge.lossy for edge in edges):
        loss = ", with loss"
    return f"convert: {', '.join(ways)} (cost {sum(edge.cost for edge in edges):g}{loss})"
