"""What answers for a type where it has no rule: declared, ordered, visible."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Chain, Passed
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.modes import Mode, answer_by_modes
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.parameters import Key, flatten
from dispatchkit.protocol.specificity import Source, Step, rule_steps
from dispatchkit.protocol.type_registry import with_field

if TYPE_CHECKING:
    from dispatchkit.protocol.conversions import Conversion
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["STRATEGIES", "Fallback", "Undecomposable", "convert", "decompose", "dense", "fallback", "refuse", "rewrap"]

Answer = Callable[..., Any]


class Fallback:
    """One or several ways to answer, tried in order; ``a | b`` tries `a`, then `b`.

    >>> fallback.decompose | fallback.dense
    fallback.decompose | fallback.dense
    """

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def __or__(self, other: Fallback) -> Fallback:
        return Fallback(*self.parts, *(part for part in other.parts if part not in self.parts))

    def __repr__(self) -> str:
        return " | ".join(f"fallback.{part.name}" for part in self.parts)

    def __contains__(self, other: Fallback) -> bool:
        return all(part in self.parts for part in other.parts)

    def extend(self, chain: Chain, key: Key, cls: type, limited: bool) -> None:
        """Add the steps of this fallback to a chain, and to what was passed those that cannot answer.

        Parameters
        ----------
        chain : to extend
        key : types of the call
        cls : the type that declared the fallback
        limited : whether what comes after decomposition is off
        """
        parts = self.parts
        if limited:
            parts = parts[: parts.index(DECOMPOSE) + 1] if DECOMPOSE in parts else ()
        for part in parts:
            made = part.step(chain.operation, key, cls)
            chain.entries.append(Passed(cls, made) if isinstance(made, str) else made)


class Part:
    """One way to answer."""

    name = ""

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        """Return the step for calls of these types, or the reason why it cannot answer them."""
        raise AssertionError("a part makes steps")


class _Refuse(Part):
    """Answer nothing."""

    name = "refuse"

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        return "its fallback is to refuse"


class _Dense(Part):
    """Make plain arrays of every argument whose type allows it, and call again."""

    name = "dense"

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        protocol = operation.protocol
        if protocol.records.to_dense(cls) is None:
            return "cannot become dense: it has no to_dense()"
        makers = {
            other: maker
            for other in flatten(key)
            if (other is cls or dense in protocol.fallback(other))
            and (maker := protocol.records.to_dense(other)) is not None
            and other is not protocol.base
        }

        if operation.loses_change(key, makers):
            return f"{operation.name} would change a dense copy, and the change be lost"

        def densified(name: str, value: Any) -> Any:
            maker = makers.get(type(value))
            if maker is None:
                return value
            return make_dense(operation.qualified_name, type(value), maker, value, protocol.is_plain)

        def dense_fallback(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = operation.parameters.replace(args, kwargs, densified)
            return operation.function(*args, **kwargs)

        names = ", ".join(map(type_name, makers))
        then = None if protocol.base is None else _replaced(key, makers, protocol.base)
        return Step(Source.DENSE, cls, dense_fallback, f"dense: to_dense() of {names}", then=then)


class _Rewrap(Part):
    """Compute on the first field and put the result in its place."""

    name = "rewrap"

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        protocol = operation.protocol
        names = protocol.records.field_names(cls)
        if not names:
            return "cannot be rewrapped: it has no fields"

        def unwrapped(name: str, value: Any) -> Any:
            return getattr(value, _wrapped_field(operation, value)) if type(value) is cls else value

        def rewrap_fallback(*args: Any, **kwargs: Any) -> Any:
            values = operation.parameters.values(args, kwargs)
            source = next(value for _, value in values if type(value) is cls)
            first = _wrapped_field(operation, source)
            inner = type(getattr(source, first))
            args, kwargs = operation.parameters.replace(args, kwargs, unwrapped)
            result = operation.function(*args, **kwargs)
            return protocol.map_arrays(result, lambda array: with_field(source, first, array), inner)

        then = None if protocol.base is None else _replaced(key, {cls}, protocol.base)
        return Step(Source.REWRAP, cls, rewrap_fallback, f"rewrap: on field '{names[0]}'", then=then)


def _wrapped_field(operation: Overridable, value: Any) -> str:
    """Return the name of the field on which a wrapper is computed.

    Raises
    ------
    RegistrationError : if an instance has none, or something else than an array in it
    """
    protocol, cls = operation.protocol, type(value)
    found = protocol.records.fields_of(value)
    if not found:
        names = ", ".join(f"'{name}'" for name in protocol.records.field_names(cls))
        raise RegistrationError(
            f"{operation.qualified_name}: {type_name(cls)} cannot be rewrapped: its fields {names} are parameters of "
            f"the constructor and no attributes; declare where the array is: fields=('data', ...)"
        )
    held = type(getattr(value, found[0]))
    if protocol.base is not None and not protocol.admits(held):
        raise RegistrationError(
            f"{operation.qualified_name}: {type_name(cls)} cannot be rewrapped: its first field '{found[0]}' holds a "
            f"value of type {held.__name__}, not an array; declare the array's field first: fields=('data', ...)"
        )
    return found[0]


# The decompositions and conversions under way in this context: one that comes back to itself would never end.
_running: ContextVar[frozenset[tuple[Overridable, Key]]] = ContextVar("dispatchkit.decomposing", default=frozenset())


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

    def answer(
        self,
        operation: Overridable,
        types: tuple[type, ...],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        keywords = dict(kwargs)
        result = answer_by_modes(operation, args, keywords)
        if result is not NotImplemented:
            return result
        chain = operation.protocol.limited_chain(operation, operation.parameters.key(args, keywords))
        result, _ = chain.attempt(args, keywords, asks=note_asked)
        if result is NotImplemented:
            raise Undecomposable(self, operation)
        return result


class _Decompose(Part):
    """Run the operation's body, whose inner calls reach the types again."""

    name = "decompose"

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        body = operation.decomposition()
        if body is None:
            return f"{operation.name} does not decompose: its body is one call"

        def decompose_fallback(*args: Any, **kwargs: Any) -> Any:
            running = _running.get()
            if (operation, key) in running:
                return decline("its body comes back to itself")
            mode = _Decomposing(operation)
            token = _running.set(running | {(operation, key)})
            try:
                with mode:
                    return body(*args, **kwargs)
            except Undecomposable as failure:
                if failure.owner is not mode:
                    raise
                needed = failure.operation.qualified_name
            finally:
                _running.reset(token)
            return decline(f"it needs {needed}, which nobody answers")

        return Step(Source.DECOMPOSE, cls, decompose_fallback, f"decompose: the body of {operation.name}")


class _Convert(Part):
    """Convert to the nearest type that has a rule, along declared conversions."""

    name = "convert"

    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        if operation.loses_change(key, {cls}):
            return f"{operation.name} would change what it converts to, and the change be lost"
        for _, target, path in operation.protocol.conversions.reachable(cls):
            then = _replaced(key, {cls}, target)
            if _answers(operation, then, target):
                call = _converting(operation, key, cls, path)
                return Step(Source.CONVERT, cls, call, _path_text(path), path=path, then=then)
        return "no declared conversion leads to a type with a rule"


def _answers(operation: Overridable, key: Key, target: type) -> bool:
    protocol = operation.protocol
    left = protocol.participating(key)
    if target is protocol.base or not left:
        return all(protocol.takes_default(cls) for cls in left)
    own_method = protocol.records.own_method(target) is not None and not protocol.records.is_generated(target)
    return own_method or bool(rule_steps(operation, key, target)) or protocol.takes_default(target)


def _replaced(key: Key, classes: Container[type], target: type) -> Key:
    """Return the key of a call in which instances of some types have become of another, each type of several once."""
    return tuple(
        tuple(dict.fromkeys(_replaced(entry, classes, target)))
        if isinstance(entry, tuple)
        else (target if entry in classes else entry)
        for entry in key
    )


def _converting(operation: Overridable, key: Key, cls: type, path: tuple[Conversion, ...]) -> Answer:
    def converted(name: str, value: Any) -> Any:
        if type(value) is cls:
            for edge in path:
                value = edge.function(value)
        return value

    def convert_fallback(*args: Any, **kwargs: Any) -> Any:
        running = _running.get()
        if (operation, key) in running:
            return decline("the conversion comes back to where it started")
        args, kwargs = operation.parameters.replace(args, kwargs, converted)
        token = _running.set(running | {(operation, key)})
        try:
            return operation.function(*args, **kwargs)
        finally:
            _running.reset(token)

    return convert_fallback


def _path_text(path: tuple[Conversion, ...]) -> str:
    names = [type_name(path[0].source), *(type_name(edge.target) for edge in path)]
    loss = ", with loss" if any(edge.lossy for edge in path) else ""
    return f"convert: {' -> '.join(names)} (cost {sum(edge.cost for edge in path):g}{loss})"


DECOMPOSE = _Decompose()
refuse = Fallback(_Refuse())
dense = Fallback(_Dense())
rewrap = Fallback(_Rewrap())
decompose = Fallback(DECOMPOSE)
convert = Fallback(_Convert())


class fallback:  # noqa: N801  # a namespace, read as `dk.fallback.dense`
    """What answers for a type where it has no rule; join several by ``|``.

    Attributes
    ----------
    refuse : nothing does: the call raises
    dense : ``to_dense()`` on every foreign argument, plain arrays back
    rewrap : compute on the first field, rebuild with the other fields
    decompose : run the operation's body, whose inner calls reach the type's rules
    convert : the cheapest path of declared conversions to a type that has a rule
    """

    refuse = refuse
    dense = dense
    rewrap = rewrap
    decompose = decompose
    convert = convert


STRATEGIES = ("refuse", "dense", "rewrap", "decompose", "convert")
