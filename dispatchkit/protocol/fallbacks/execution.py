"""How the answer of a fallback is carried out: on the arrays of a call, or in a prediction on stand-ins for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from dispatchkit.errors import AnswerError, RegistrationError
from dispatchkit.marks import override
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.modes import Mode, answer_by_modes
from dispatchkit.protocol.naming import function_name, location_of, type_name
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.steps import decline, declined_of
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Conversion
from dispatchkit.tree import copies_plainly, with_attributes
from dispatchkit.wording import with_article

# The current decompositions and conversions of this context: one that reaches itself again would never end.
RUNNING: ContextVar[frozenset[tuple[Overridable, Key]]] = state_variable("decompositions", frozenset())
BODY_COMES_BACK = "its body comes back to itself"


class Execution:
    """Carries out the answer of a fallback on the arrays of a call.

    A strategy says once how it answers, by these methods. A prediction has methods of its own, which do the same to
    stand-ins for arrays and call no function of a user.
    """

    def type_of(self, value: Any) -> type:
        """Return the type of a value."""
        return type(value)

    def call(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operation."""
        return operation.function(*args, **kwargs)

    def dense_copy(
        self, operation: Overridable, value: Any, maker: Callable[[Any], Any], skipped: Callable[[], str]
    ) -> Any:
        """Return a plain array with the elements of an array.

        Parameters
        ----------
        operation : that is called
        value : an instance of an array type
        maker : makes the copy
        skipped : returns why nothing else of the type answers, for the reason of the copy
        """
        declined = declined_of(operation)
        reason = "; ".join(filter(None, (declined, skipped())))
        name, is_plain = operation.qualified_name, operation.types.is_plain
        return make_dense(name, type(value), maker, value, is_plain, reason=reason, warned=declined)

    def converted(self, operation: Overridable, value: Any, path: Sequence[Conversion], target: type) -> Any:
        """Return a value after conversions, the last of which is to the type `target`.

        Raises
        ------
        AnswerError : if one of them gives something else than it is declared to
        """
        types = operation.types
        for edge in path:
            value = edge.function(value)
            raw = edge.target is types.base and types.wrapped_always(type(value))
            if not (raw or isinstance(value, edge.target)):
                giver = f"the conversion {function_name(edge.function)} at {location_of(edge.function)}"
                result, wanted = (with_article(type_name(cls)) for cls in (type(value), edge.target))
                problem = f"returned {result}, not {wanted}"
                raise AnswerError(operation.qualified_name, giver, problem)
        return value

    def field(self, operation: Overridable, value: Any, wrapper: WrapperFields | None = None) -> Any:
        """Return the array on which a wrapper is computed, as what is known of the fields of its type finds it."""
        if wrapper is None:
            return getattr(value, wrapped_field(operation, value))
        return wrapper.array_in(operation, value)

    def rebuilding(
        self,
        operation: Overridable,
        sources: Sequence[Any],
        inner: type,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        wrapper: WrapperFields,
    ) -> Callable[[Any], Any]:
        """Return what puts the result of a call on their fields into copies of wrappers.

        Parameters
        ----------
        operation, args, kwargs : of the call
        inner : type of the array in the first of them
        sources : the wrappers among the arguments, of one type; the other fields are those of the first, unless the
            type declares laws for them
        wrapper : the fields of their type
        """
        source, types = sources[0], operation.types
        first, plainly = wrapper.first_of(operation, source), wrapper.copies_plainly
        others = wrapper.other_fields(first, operation, sources, args, kwargs)

        def rebuilt(array: Any) -> Any:
            return with_attributes(source, [(first, array), *others], plainly=plainly)

        def rebuild(result: Any) -> Any:
            if type(result) is inner:
                return rebuilt(result)
            return types.map_arrays(result, rebuilt, inner)

        return rebuild

    def once(self, operation: Overridable, key: Key, comes_back: str, compute: Callable[[], Any]) -> Any:
        """Return what a function returns; decline where it is called for the same call inside of itself.

        Parameters
        ----------
        operation, key : of the call
        comes_back : the reason of the decline
        compute : the function
        """
        running = RUNNING.get()
        if (operation, key) in running:
            return decline(comes_back)
        try:
            RUNNING.set(running | {(operation, key)})
            return compute()
        finally:
            RUNNING.set(running)

    def body(
        self, operation: Overridable, key: Key, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the body of an operation; decline where nobody answers one of its calls."""
        mode = _Decomposing(operation)

        def run() -> Any:
            try:
                with mode:
                    return body(*args, **kwargs)
            except Undecomposable as failure:
                if failure.owner is not mode:
                    raise
                needed = failure.operation.qualified_name
            return decline(f"it needs {needed}, which nobody answers")

        return self.once(operation, key, BODY_COMES_BACK, run)

    def join(
        self, operation: Overridable, key: Key, joins: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make one array of a sequence by calls of other operations."""
        return joins(*args, **kwargs)


ACTUAL = Execution()


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

    @override
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


class WrapperFields:
    """The fields of a type that is rewrapped, as they are at the first of the calls that a step answers.

    Parameters
    ----------
    types : of the protocol
    cls : the type
    names : of its fields, the wrapped array first

    Attributes
    ----------
    rules : what the type declares of its fields
    copies_plainly : whether a copy of an instance is a new one with the same attributes
    """

    def __init__(self, types: ArrayTypes, cls: type, names: tuple[str, ...]) -> None:
        self.names = names
        self.rules = types.field_rules(cls)
        self.copies_plainly = copies_plainly(cls)
        self._names = frozenset(names)
        self._held: set[type] = set()  # the types of arrays that instances were found to wrap

    def array_in(self, operation: Overridable, value: Any) -> Any:
        """Return the array that an instance wraps; parameters and errors as of `wrapped_field`."""
        if self._has_all(value):
            held = getattr(value, self.names[0])
            if type(held) in self._held:
                return held
        array = getattr(value, wrapped_field(operation, value))
        self._held.add(type(array))
        return array

    def first_of(self, operation: Overridable, value: Any) -> str:
        """Return the name of the field that holds the array in an instance: the first that it has."""
        if self._has_all(value):
            return self.names[0]
        return operation.types.fields_of(value)[0]

    def _has_all(self, value: Any) -> bool:
        attributes = getattr(value, "__dict__", None)
        return attributes is not None and attributes.keys() >= self._names

    def other_fields(
        self, first: str, operation: Overridable, sources: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        """Return the fields of a result but the first, where the type declares laws for them."""
        if not self.rules:
            return []
        rules = {name: rule for name, rule in self.rules.items() if name != first}
        if not rules:
            return []
        held = [{name: getattr(source, name) for name in rules if hasattr(source, name)} for source in sources]
        fields = operation.types.merge_metadata(rules, None, held, operation, args, kwargs)
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
