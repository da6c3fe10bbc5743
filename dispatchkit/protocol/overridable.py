"""The record behind every function that types can override.

One `Overridable` stands behind the function, its operators, its methods and its aliases. It holds what decides a
call (signature, kind, rules) and the tables in which decisions are kept.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from dispatchkit.protocol.callers import make_function, make_operator
from dispatchkit.protocol.hints import call_meant
from dispatchkit.protocol.modes import ask_modes
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.parameters import Key, Parameters, flatten

if TYPE_CHECKING:
    from dispatchkit.protocol.chain import Chain
    from dispatchkit.protocol.engine import DispatchProtocol
    from dispatchkit.protocol.handlers import Rule
    from dispatchkit.protocol.kinds import Kind

__all__ = ["Overridable", "of"]

Handler = Callable[..., Any]


class Overridable:
    """What a protocol knows of one function.

    Attributes
    ----------
    protocol : it belongs to
    name, namespace : qualified name, in two parts
    kind : the family it is in
    parameters : its signature
    function : the public function
    body : what computes it; None where there is nothing to decompose into
    table : first answers by type, in the nesting the function's call form reads
    chains : all answers by key
    defaults : what the library's own protocol method of a type answers, by type and key
    rules : the rules registered for it, held weakly: the types own them
    may_give_none : whether None can be the result of a call, rather than that of a rule without ``return``
    changes : name of the array argument that a call changes in place, "" for none
    by_fields : what computes it field by field, for types that have no rule; None for most
    by_fields_always : whether it does so whatever the values, so that a type that refuses all else has it, too
    hint : what the error for arguments that do not fit says last
    """

    may_give_none = True
    changes = ""
    hint = ""
    by_fields: Handler | None = None
    by_fields_always = False

    def __init__(
        self,
        protocol: DispatchProtocol,
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
        for parameter in parameters.arrays:
            parameter.whole = protocol.records.participates
        self.body = body
        self.function: Handler = _unset
        self.table: dict[Any, Any] = {}
        self.chains: dict[Key, Chain] = {}
        self.defaults: dict[tuple[type, Key], Chain] = {}
        self.rules: list[weakref.ref[Rule]] = []

    def __repr__(self) -> str:
        return f"<operation {self.qualified_name}>"

    @property
    def qualified_name(self) -> str:
        """The name with its namespace, as messages print it."""
        return f"{self.namespace}.{self.name}"

    @property
    def source(self) -> Any:
        """The function as it was written."""
        return self.body

    @property
    def place(self) -> str:
        """Module and qualified name of the function as it was written."""
        return f"{getattr(self.source, '__module__', '')}.{getattr(self.source, '__qualname__', self.name)}"

    def default(self, key: Key, result: type | None) -> Handler | None:
        """Return what answers a call among the protocol's base type and its subclasses.

        Parameters
        ----------
        key : types of the array arguments
        result : the class that the result is to have, None where no argument says
        """
        return self.body

    def computes(self, cls: type) -> bool:
        """Return whether the default answers calls with arrays of a type: of the base type and its subclasses."""
        return self.protocol.takes_default(cls)

    def loses_change(self, key: Key, copied: Collection[type]) -> bool:
        """Return whether a call would change a copy, if arguments of some types were replaced by copies."""
        entries = [entry for p, entry in zip(self.parameters.arrays, key, strict=True) if p.name == self.changes]
        return any(cls in copied for cls in flatten(tuple(entries)))

    def decomposition(self) -> Handler | None:
        """Return what computes the function by way of others; None where there is none."""
        return self.body

    def transformed(self, top: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call under a transformation; NotImplemented to have it follow from rules and body.

        Parameters
        ----------
        top : the argument that the transformation has put in the place of another
        args, kwargs : of the call
        """
        return NotImplemented

    def make_function(self) -> Handler:
        """Return the public function."""
        return make_function(self)

    def make_operator(self, reflected: str) -> Handler:
        """Return the method behind the operator that the function is.

        Parameters
        ----------
        reflected : name of the method that Python asks next
        """
        return make_operator(self, reflected)

    def participating(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[type, ...]:
        """Return the distinct types of a call that take part in the protocol, in signature order."""
        return self.protocol.participating(self.parameters.key(args, kwargs))

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
            hint = f"; {meant}" if meant else ""
            text = f"{error}{hint}; its signature is {self.name}{shown}{self.hint}"
            raise TypeError(f"{self.qualified_name}: {text}") from None

    def clear(self) -> None:
        """Forget every decision."""
        self.table.clear()
        self.chains.clear()
        self.defaults.clear()

    def settle(self) -> None:
        """Take note of the protocol's base type; there is nothing to note for a function that reads the table alone."""

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call by the long way, modes included."""
        result = ask_modes(self, args, kwargs)
        if result is not NotImplemented:
            return result
        return self.protocol.chain(self, self.parameters.key(args, kwargs)).run(args, kwargs, asks=note_asked)


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("an operation has a function")


def of(function: Any) -> Overridable | None:
    """Return the record behind a function or a method that views one; None where it is not overridable."""
    found = getattr(function, "__overridable__", None)
    return found if isinstance(found, Overridable) else None
