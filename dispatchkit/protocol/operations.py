"""`Operations`: the functions of a protocol that types can override."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.marks import override
from dispatchkit.protocol.callers import make_function, make_function_by_types
from dispatchkit.protocol.journal import Journal
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.overridable import Dispatcher, Overridable, pickle_by_value, will_be_held
from dispatchkit.protocol.parameters import ArrayParameter, Form, Key, Parameters, signature_of
from dispatchkit.signatures import copy_annotations


class OverridableFunction(Overridable):
    """The record of a function that was made overridable; its body is the function as it was written.

    Attributes
    ----------
    array_names : of the parameters whose types decide who answers, None for all
    """

    array_names: tuple[str, ...] | None = None

    @override
    def make_function(self) -> Callable[..., Any]:
        if isinstance(self.parameters, ChosenParameters):
            return make_function(self)
        return make_function_by_types(self)

    def named_function(self) -> Callable[..., Any]:
        """Return the public function, with the names of the body."""
        call = self.function
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(self.body, name):
                setattr(call, name, getattr(self.body, name))
        copy_annotations(call, self.body)
        call.__signature__ = self.parameters.signature  # type: ignore[attr-defined]
        return call

    @override
    def packed_state(self) -> dict[str, Any]:
        parameters = self.parameters
        return {
            **super().packed_state(),
            "kind": self.kind,
            "namespace": self.namespace,
            "array_names": self.array_names,
            "commutative": self.commutative,
            "choose": parameters.choose if isinstance(parameters, ChosenParameters) else None,
        }

    @override
    def declare_from(self, state: Mapping[str, Any]) -> None:
        protocol, body, names, choose = state["protocol"], state["body"], state["array_names"], state["choose"]
        signature = signature_of(body, "overridable")
        parameters = _parameters(protocol, signature, names)
        if choose is not None:
            parameters = ChosenParameters(signature, choose, protocol.types.participates)
        self.__init__(  # type: ignore[misc]  # of an empty record
            protocol, body.__name__, state["namespace"], state["kind"], parameters, body
        )
        self.array_names, self.commutative = names, state["commutative"]
        protocol.operations.add(self, state["function"])
        self.named_function()


def check_operands(use: str, operation: Overridable) -> None:
    """Check that what is declared commutative begins with two arrays.

    Raises
    ------
    RegistrationError : if it does not
    """
    names = [p.name for p in operation.parameters.arrays if p.form in (Form.ONE, Form.LOOSE)]
    if not operation.commutative:
        return
    if len(names) < 2 or list(operation.parameters.signature.parameters)[:2] != names[:2]:
        raise RegistrationError(
            f"{use}: {operation.name} cannot be commutative: its first two parameters must be arrays, and its arrays "
            f"are {', '.join(names) or 'none'}"
        )


class ChosenParameters(Parameters):
    """The signature of a function of which another says, call by call, which arguments decide who answers.

    Parameters
    ----------
    signature : of the function
    choose : takes the arguments of a call, and gives those that decide
    whole : whether instances of a class of lists or tuples are arrays themselves
    """

    def __init__(
        self, signature: inspect.Signature, choose: Callable[..., Iterable[Any]], whole: Callable[[type], bool]
    ) -> None:
        super().__init__(signature, whole=whole)
        self.choose = choose

    @override
    def key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key:
        chosen = list(self.choose(*args, **kwargs))

        def type_of(value: Any) -> type:
            if any(value is each for each in chosen):
                return type(value)
            return type(None)

        entries = [p.key(p.find(args, kwargs), type_of) for p in self.arrays]
        held = super().values(args, kwargs)
        elsewhere = [type(each) for each in chosen if not any(each is value for _, value in held)]
        if elsewhere:
            return (*entries, tuple(dict.fromkeys(elsewhere)))
        return tuple(entries)

    @override
    def values(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[ArrayParameter, Any]]:
        return [(self.arrays[0], each) for each in self.choose(*args, **kwargs)]

    @override
    def replace(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], change: Callable[[str, Any], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        chosen = list(self.choose(*args, **kwargs))

        def change_chosen(name: str, value: Any) -> Any:
            if any(value is each for each in chosen):
                return change(name, value)
            return value

        return super().replace(args, kwargs, change_chosen)


def chosen_function(
    protocol: Dispatcher, function: Callable[..., Any], choose: Callable[..., Iterable[Any]], use: str
) -> OverridableFunction:
    """Return the record of a function of which another says which arguments decide; `use` is what messages name."""
    parameters = ChosenParameters(signature_of(function, use), choose, protocol.types.participates)
    return OverridableFunction(protocol, function.__name__, function.__module__, kinds.function, parameters, function)


def overridable_function(
    protocol: Dispatcher,
    function: Any,
    kind: object,
    arrays: tuple[str, ...] | None,
    namespace: str | None,
    commutative: bool = False,
) -> OverridableFunction:
    """Return the record of a function; parameters as of `DispatchProtocol.overridable`.

    Raises
    ------
    RegistrationError : if something else is given than these take
    """
    if not callable(function):
        raise RegistrationError(f"overridable takes a function, not {function!r}; write @overridable above one")
    if isinstance(arrays, str):
        raise RegistrationError(f"overridable: arrays={arrays!r} is text; write arrays=({arrays!r},)")
    if not isinstance(kind, Kind):
        raise RegistrationError(f"overridable: kind={kind!r} is no kind; write one such as dk.kinds.function")
    signature, name = signature_of(function, "overridable"), function.__name__
    unknown = [array for array in arrays or () if array not in signature.parameters]
    if unknown:
        raise RegistrationError(f"overridable: {name} has no parameter '{unknown[0]}'")
    place = namespace or function.__module__
    record = OverridableFunction(protocol, name, place, kind, _parameters(protocol, signature, arrays), function)
    record.array_names, record.commutative = arrays, commutative
    check_operands("overridable", record)
    return record


def _parameters(protocol: Dispatcher, signature: inspect.Signature, arrays: tuple[str, ...] | None) -> Parameters:
    forms = None
    if arrays is not None:
        forms = dict.fromkeys(arrays, Form.LOOSE)
    return Parameters(signature, forms, whole=protocol.types.participates)


class Operations(Mapping[str, Overridable]):
    """The overridable functions of a protocol, by qualified name; prints as a line each.

    Parameters
    ----------
    journal : of the protocol
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._listed: dict[str, Overridable] = {}
        # All that are still used, listed or not: a name can be defined anew while its old function is alive.
        self._alive: weakref.WeakSet[Overridable] = weakref.WeakSet()

    @override
    def __getitem__(self, name: str) -> Overridable:
        return self._listed[name]

    # What is looked through is a copy, made in one step: another thread may list a function meanwhile.
    @override
    def __iter__(self) -> Iterator[str]:
        return iter(list(self._listed))

    @override
    def values(self) -> ValuesView[Overridable]:
        return self._listed.copy().values()

    @override
    def items(self) -> ItemsView[str, Overridable]:
        return self._listed.copy().items()

    @override
    def __len__(self) -> int:
        return len(self._listed)

    @override
    def __repr__(self) -> str:
        self._journal.load_all()
        lines = (f"{operation.qualified_name}{operation.parameters.signature}" for operation in self.values())
        text = "\n".join(lines) or "no overridable functions"
        return text.replace("typing.", "").replace(f"Annotated[Any, {Form.LOOSE!r}]", "ArrayLike")

    def make_public(self, operation: Overridable, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """Make the public function of an operation without listing it; it lives as long as something refers to it.

        Parameters
        ----------
        operation : the record
        function : that another process has packed with the record; it becomes the public one
        """
        if operation.version is None:
            call = operation.make_function()
        else:
            call = operation.make_packable_function()
        if function is not None:
            call = function
        operation.function = call
        call.__overridable__ = operation  # type: ignore[attr-defined]
        self._journal.lock.run(lambda: self._alive.add(operation))
        return call

    def add(self, operation: Overridable, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """Make the public function of an operation, and list it; parameters as of `make_public`."""
        if function is not None or not will_be_held(operation.source):
            pickle_by_value(operation)
        call = self.make_public(operation, function)
        name, listed = operation.qualified_name, self._listed

        def enter_in_list() -> None:
            known = listed.get(name)
            # Defined anew, as in a notebook.
            anew = known is not None and known.place == operation.place and "<locals>" not in known.place

            def undo() -> None:
                self.forget(operation)
                if anew and known is not None:
                    listed[name] = known

            self._journal.on_undo(undo)
            listed[name if anew or known is None else f"{name}#{len(listed)}"] = operation

        self._journal.lock.run(enter_in_list)
        return call

    def forget(self, operation: Overridable) -> None:
        """Take an operation off the list; calls of it still work."""
        for name, known in list(self._listed.items()):
            if known is operation:
                del self._listed[name]

    def refresh(self) -> None:
        """Bring what depends on the protocol's base type up to date."""

        def refresh_all() -> None:
            for operation in list(self._alive):
                operation.refresh()

        self._journal.lock.run(refresh_all)
