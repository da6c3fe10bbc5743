"""The record behind every function that types can override."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.journal import Journal
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import function_name
from dispatchkit.protocol.parameters import Key, Layout, Parameters, call_meant, flatten
from dispatchkit.protocol.rules import Handlers, Rule
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Conversions
from dispatchkit.versions import Version, is_newer, new_version

Handler = Callable[..., Any]


class Dispatcher(Protocol):
    """What operations, and the code that decides their calls, ask of the protocol."""

    @property
    def types(self) -> ArrayTypes:
        """Which types take part, and what they declare."""

    @property
    def handlers(self) -> Handlers:
        """The rules that are registered."""

    @property
    def conversions(self) -> Conversions:
        """The conversions that are declared."""

    @property
    def journal(self) -> Journal:
        """The registrations, as far as they affect decisions."""

    def pack_rules(self, rules: Iterable[Rule], /) -> list[dict[str, Any]]:
        """Return what rules are made of, for another process."""

    def take_rules(self, packed: Iterable[dict[str, Any]], /) -> None:
        """Store rules that another process has packed, as far as they are newer than those that are known."""

    def chain(self, operation: Overridable, key: Key, /) -> Any:
        """Return who answers calls of an operation with arguments of these types."""

    def chain_without_later_fallbacks(self, operation: Overridable, key: Key, /) -> Any:
        """Return who answers inside a decomposition."""

    def plain_chain(self, operation: Overridable, key: Key, /) -> Any:
        """Return what answers where overrides are off."""


class Overridable:
    """What a protocol knows of one function.

    Attributes
    ----------
    protocol : it belongs to
    name, namespace : qualified name, in two parts
    kind : the family it is in
    parameters : its signature
    function : the public function
    body : computes it; None if it has no decomposition
    table : the first answer by the types of one array, or of two one inside of the other, for functions written anew
        for their signature
    decisions : the first answer by key, for all other functions
    by_call : the first answer by the types of the arguments as they came, for functions made overridable: of the first
        array, of two one inside of the other, or a tuple of all types and keywords
    chains : all answers by key
    type_chains : what the library's protocol method of a type answers, by type and key; with `object` what answers
        where overrides are off, with `NoneType` inside a decomposition
    present : the distinct types that take part, by key, for modes
    called : how messages name functions that it has called and that made an array dense, by file, line and name
    may_give_none : whether None can be a result; otherwise it means a rule without ``return``
    commutative : whether the first two arrays may be exchanged, so that one rule can serve both orders
    changes : name of the array argument that a call changes in place, "" for none
    by_fields : computes it field by field, for types that have no rule; None for most operations
    by_fields_always : whether it does so whatever the values; a type that refuses all else then has it, too
    joins : makes one array of a sequence in which there are types that the default does not compute, before rules of
        kinds are asked; None for an operation that makes no array of a sequence
    hint : end of the error for arguments that do not fit
    key_of : gives the types of the arrays of a call, of its arguments, where the public function needs it
    version : by which its copies in other processes are known; None where a module holds the public function
    changed : version of the last change of its derivative rules, None before the first
    """

    may_give_none = True
    commutative = False
    changes = ""
    by_fields: Handler | None = None
    by_fields_always = False
    joins: Handler | None = None
    hint = ""
    key_of: Callable[[tuple[Any, ...], Mapping[str, Any]], Key]
    version: Version | None = None
    changed: Version | None = None

    def __init__(
        self,
        protocol: Dispatcher,
        name: str,
        namespace: str,
        kind: Kind,
        parameters: Parameters,
        body: Handler | None,
    ) -> None:
        self.protocol = protocol
        self.name = name
        self.namespace = namespace
        self.kind = kind
        self.parameters = parameters
        self.body = body
        self.function: Handler = _unset
        self.table: dict[type, Any] = {}
        self.decisions: dict[Any, Any] = {}
        self.by_call: dict[Any, Any] = {}
        self.chains: dict[Key, Any] = {}
        self.type_chains: dict[tuple[type, Key], Any] = {}
        self.present: dict[Key, tuple[type, ...]] = {}
        self.called: dict[tuple[str, int, str], str] = {}

    def __repr__(self) -> str:
        return f"<operation {self.qualified_name}>"

    def __reduce__(self) -> Any:
        if self.version is not None:
            return _record_of, (type(self), self.version), self.packed_state()
        if self.function.__module__ == "__main__" or held_by_name(self.function) is not self.function:
            raise TypeError(f"{self.qualified_name} cannot be pickled: {self.function.__module__} does not hold it")
        return of, (self.function,)

    def packed_state(self) -> dict[str, Any]:
        """Return what another process makes the record of: a pickle by value holds it."""
        return {
            "protocol": self.protocol,
            "body": self.source,
            "function": self.function,
            "handlers": self.protocol.pack_rules(self.protocol.handlers.of(self)),
        }

    def declare_from(self, state: Mapping[str, Any]) -> None:
        """Fill an empty record, and list it, by what another process has packed.

        Parameters
        ----------
        state : what `packed_state` gave there
        """
        raise NotImplementedError

    def update_from(self, state: Mapping[str, Any]) -> None:
        """Take what has changed since the record was filled; there are only handlers, unless a subclass says more."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        assert self.version is not None
        if "function" not in vars(self):
            self.declare_from(state)
        elif is_newer(self.version, None):
            # Each pickle brings a public function; those of the latest compare it with what handlers are given.
            self.function = state["function"]
            self.clear()
        self.update_from(state)
        self.protocol.take_rules(state["handlers"])

    @property
    def qualified_name(self) -> str:
        """The name with its namespace, as messages print it."""
        return f"{self.namespace}.{self.name}"

    @property
    def types(self) -> ArrayTypes:
        """The types of its protocol."""
        return self.protocol.types

    @property
    def source(self) -> Any:
        """The function as it was written."""
        return self.body

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function as it was written gives, or what computes in its place."""
        return self.source(*args, **kwargs)

    @property
    def place(self) -> str:
        """Module and qualified name of the function as it was written."""
        return f"{getattr(self.source, '__module__', '')}.{getattr(self.source, '__qualname__', self.name)}"

    def rules_for_calls(self) -> list[Rule]:
        """Return the rules that may answer its calls: its own, then those of its kinds."""
        return [rule for target in (self, *self.kind.lineage()) for rule in self.protocol.handlers.of(target)]

    def default(self, key: Key, result: type | None) -> Handler | None:
        """Return what computes arrays of the protocol's base type and its subclasses.

        Parameters
        ----------
        key : types of the array arguments
        result : class of the result, None if no argument determines it
        """
        return self.body

    def computes(self, cls: type) -> bool:
        """Return whether the default computes arrays of a type: the base type and its subclasses."""
        return self.types.takes_default(cls)

    def loses_change(self, key: Key, copied: Collection[type]) -> bool:
        """Return whether a call would change a copy if arguments of some types were copied."""
        entries = [entry for p, entry in zip(self.parameters.arrays, key, strict=True) if p.name == self.changes]
        return any(cls in copied for cls in flatten(tuple(entries)))

    def decomposition(self) -> Handler | None:
        """Return what computes the function by calling others; None if there is none."""
        return self.body

    def is_cheap(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Return whether a prediction may make a call on plain arrays: it takes no time and leaves no trace."""
        return False

    def layouts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return what a call on plain arrays gives, without their values.

        Parameters
        ----------
        args, kwargs : of the call, with a `Layout` in the place of each array whose values are not known

        Returns
        -------
        the result with a `Layout` in the place of each array; one without shape and dtype where nothing is known
        """
        return Layout()

    def call_transformed(self, top: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call under a transformation; NotImplemented to compute it by rules and body.

        Parameters
        ----------
        top : the argument that the transformation has replaced
        args, kwargs : of the call
        """
        return NotImplemented

    def make_function(self) -> Handler:
        """Return the public function."""
        raise NotImplementedError

    def make_packable_function(self) -> Handler:
        """Return a public function that pickles by value can hold."""
        return self.make_function()

    def make_operator(self, reflected: str) -> Handler:
        """Return the method behind the binary operator that the function is, such as `__add__` of `add`.

        Parameters
        ----------
        reflected : name of the method that Python calls next, where the operator leaves a foreign operand to it
        """
        function, types = self.function, self.types

        def operator(x1: Any, x2: Any, /) -> Any:
            try:
                if types.leaves(type(x2), reflected):
                    return NotImplemented
                return function(x1, x2)
            except Exception as error:
                hide_frames(error, self)
                raise

        return operator

    def participating(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[type, ...]:
        """Return the distinct types of a call that take part in the protocol, in signature order."""
        key = self.parameters.key(args, kwargs)
        present = self.present.get(key)
        if present is None:
            journal = self.protocol.journal
            generation = journal.generation
            present = self.types.participating(key)
            journal.keep(self, generation, self.present, (key,), present)
        return present

    def check_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise if the arguments do not fit the signature.

        Raises
        ------
        TypeError : naming the operation, what is wrong and the signature
        """
        signature = self.parameters.signature
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            shown = str(signature.replace(return_annotation=inspect.Signature.empty)).replace("'", "")
            meant = call_meant(self.name, signature, args, kwargs)
            hint = ""
            if meant:
                hint = f"; {meant}"
            text = f"{error}{hint}; its signature is {self.name}{shown}{self.hint}"
            raise TypeError(f"{self.qualified_name}: {text}") from None

    def clear(self) -> None:
        """Forget every decision."""
        self.table.clear()
        self.decisions.clear()
        self.by_call.clear()
        self.chains.clear()
        self.type_chains.clear()
        self.present.clear()
        self.called.clear()

    def final_function(self) -> Handler:
        """Return the public function with the code that calls run, also before the first one."""
        return self.function

    def refresh(self) -> None:
        """Bring what depends on the protocol's base type up to date; nothing does, unless a subclass says so."""


_by_version: weakref.WeakValueDictionary[Version, Overridable] = weakref.WeakValueDictionary()


def pickle_by_value(operation: Overridable) -> None:
    """Give an operation a version by which its copies in other processes are known."""
    if operation.version is None:
        operation.version = new_version()
    _by_version[operation.version] = operation


def _record_of(cls: type[Overridable], version: Version) -> Overridable:
    """Return the operation that has a version, an empty record where this process has none."""
    operation = _by_version.get(version)
    if operation is None:
        operation = cls.__new__(cls)
        operation.version = version
        _by_version[version] = operation
    return operation


def will_be_held(function: Any) -> bool:
    """Return whether a module will hold, in the place of a function that is being decorated, what comes of it."""
    name = getattr(function, "__qualname__", "<")
    return function.__module__ != "__main__" and "<" not in name and held_by_name(function) is not function


def held_by_name(function: Any) -> Any:
    """Return what has the name of a function in its module, None where nothing has."""
    held: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        held = getattr(held, part, None)
    return held


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("an operation has a function")


def of(function: Any) -> Overridable | None:
    """Return the record behind a function or one of its methods; None where it is not overridable."""
    record = getattr(function, "__overridable__", None)
    if isinstance(record, Overridable):
        return record
    return None


def operation_of(protocol: Dispatcher, function: Callable[..., Any]) -> Overridable:
    """Return the record behind an overridable function.

    Raises
    ------
    TypeError : if the function is not overridable in this protocol
    """
    operation = of(function)
    if operation is None or operation.protocol is not protocol:
        raise TypeError(f"{function_name(function)} is not overridable by {protocol.types.method}")
    return operation
