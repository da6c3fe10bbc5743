"""`fallback.rewrap`: the first field of a wrapper computes."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.fallbacks.base import FallbackStrategy, Followed, Follower, map_members, replaced
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.types.array_types import undeclared_fields
from dispatchkit.tree import with_attributes


class Rewrap(FallbackStrategy):
    """Compute on the first field and put the result in its place."""

    name = "rewrap"
    outcome = Outcome("rewrap", "on its first field, rebuilt with the others", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        types = operation.types
        names = types.field_names(cls)
        if not names and types.declared(cls, "fields") is None:
            raise undeclared_fields(cls)
        if not names:
            return "cannot be rewrapped: it has no fields"

        def unwrapped(name: str, value: Any) -> Any:
            return getattr(value, wrapped_field(operation, value)) if type(value) is cls else value

        def rewrap_fallback(*args: Any, **kwargs: Any) -> Any:
            values = operation.parameters.values(args, kwargs)
            sources = [value for _, value in values if type(value) is cls]
            source = sources[0]
            first = wrapped_field(operation, source)
            inner = type(getattr(source, first))
            others = _other_fields(operation, first, sources, args, kwargs)
            args, kwargs = operation.parameters.replace(args, kwargs, unwrapped)
            result = operation.function(*args, **kwargs)
            return types.map_arrays(result, lambda array: with_attributes(source, [(first, array), *others]), inner)

        def follow(follower: Follower, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
            def opened(name: str, value: Any) -> Any:
                return follower.field_of(operation, value) if follower.type_of(value) is cls else value

            values = operation.parameters.values(args, kwargs)
            source = next(value for _, value in values if follower.type_of(value) is cls)
            try:
                inner = follower.type_of(follower.field_of(operation, source))
                args, kwargs = operation.parameters.replace(args, kwargs, opened)
            except RegistrationError as error:
                return Followed(error=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
            followed = follower.again(operation, args, kwargs)
            result = map_members(followed.result, lambda array: follower.wrapped_in(source, array, inner))
            return followed._replace(result=result)

        then = None if types.base is None else replaced(key, {cls}, types.base)
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
    fields = types.carried(rules, None, held, operation, args, kwargs)
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
