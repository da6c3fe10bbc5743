"""The record behind every function that types can override, and which rules answer for a type."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from dispatchkit.errors import AmbiguousImplementationError
from dispatchkit.protocol.chain import Chain, Step, decline
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.handlers import ANY, Handlers, Journal, Rule, function_name, type_name
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.outcome import AMBIGUOUS, KIND, RULE, Outcome
from dispatchkit.protocol.parameters import Form, Key, Layout, Parameters, call_meant, flatten
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Stamp, stamp
from dispatchkit.protocol.types.records import Conversions

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

    def chain(self, operation: Overridable, key: Key, /) -> Chain:
        """Return who answers calls of an operation with arguments of these types."""

    def chain_without_later_fallbacks(self, operation: Overridable, key: Key, /) -> Chain:
        """Return who answers inside a decomposition."""

    def plain_chain(self, operation: Overridable, key: Key, /) -> Chain:
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
    table : the first answer by types, nested as the public function reads it
    chains : all answers by key
    type_chains : what the library's protocol method of a type answers, by type and key; with `object` what answers
        where overrides are off, with `NoneType` inside a decomposition
    rules : the rules registered for it, held weakly: the types own them
    may_give_none : whether None can be a result; otherwise it means a rule without ``return``
    changes : name of the array argument that a call changes in place, "" for none
    by_fields : computes it field by field, for types that have no rule; None for most operations
    by_fields_always : whether it does so whatever the values; a type that refuses all else then has it, too
    hint : end of the error for arguments that do not fit
    call : what the public function calls, where that is found in no module and travels to other processes by value
    declared_by : makes the record of what `packed` gives, in another process; and the options of its declaration
    stamp : of a function that travels by value; its copies in other processes have it, too
    changed : stamp of the last change of its derivative rules
    """

    may_give_none = True
    changes = ""
    by_fields: Handler | None = None
    by_fields_always = False
    hint = ""
    call: Handler
    declared_by: tuple[Callable[[Any, dict[str, Any]], None], dict[str, Any]] | None = None
    stamp: Stamp | None = None
    changed: Stamp | None = None

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
        for parameter in parameters.arrays:
            parameter.whole = protocol.types.participates
        self.body = body
        self.function: Handler = _unset
        self.table: dict[Any, Any] = {}
        self.chains: dict[Key, Chain] = {}
        self.type_chains: dict[tuple[type, Key], Chain] = {}
        self.rules: list[weakref.ref[Rule]] = []

    def __repr__(self) -> str:
        return f"<operation {self.qualified_name}>"

    def __reduce__(self) -> Any:
        if self.stamp is not None:
            return arrived, (type(self), self.stamp), self.packed()
        if not is_found(self.function):
            raise TypeError(f"{self.qualified_name} cannot be pickled: {self.function.__module__} does not hold it")
        return of, (self.function,)

    def packed(self) -> dict[str, Any]:
        """Return what the record is made of in another process."""
        return {
            "declared_by": self.declared_by,
            "body": self.source,
            "function": self.function,
            "changed": self.changed or self.stamp,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        rebuild, _ = state["declared_by"]
        rebuild(self, state)

    @property
    def has_arrived(self) -> bool:
        """Return whether the record was made of what another process declares, and is whole."""
        return "function" in vars(self)

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

    @property
    def place(self) -> str:
        """Module and qualified name of the function as it was written."""
        return f"{getattr(self.source, '__module__', '')}.{getattr(self.source, '__qualname__', self.name)}"

    def rules_for_calls(self) -> list[Rule]:
        """Return the rules that may answer its calls: its own, then those of its kinds."""
        handlers = self.protocol.handlers
        found = [*self.rules, *(one for kind in self.kind.lineage() for one in handlers.of(kind))]
        return [rule for reference in found if (rule := reference()) is not None]

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

    def transformed(self, top: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
                hide_frames(error)
                raise

        return operator

    def participating(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[type, ...]:
        """Return the distinct types of a call that take part in the protocol, in signature order."""
        return self.types.participating(self.parameters.key(args, kwargs))

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
        self.type_chains.clear()

    def refresh(self) -> None:
        """Bring what depends on the protocol's base type up to date; nothing does, unless a subclass says so."""


_travellers: weakref.WeakValueDictionary[Stamp, Overridable] = weakref.WeakValueDictionary()


def let_travel(operation: Overridable) -> None:
    """Give an operation a stamp by which its copies in other processes are known."""
    operation.stamp = operation.stamp or stamp()
    _travellers[operation.stamp] = operation


def arrived(cls: type[Overridable], mark: Stamp) -> Overridable:
    """Return the operation that has a stamp, an empty record where this process has none."""
    found = _travellers.get(mark)
    if found is None:
        found = cls.__new__(cls)
        found.stamp = mark
        _travellers[mark] = found
    return found


def is_found(function: Any) -> bool:
    """Return whether another process that imports the module of a function finds it there by its name."""
    return function.__module__ != "__main__" and _named_by(function) is function


def will_be_found(function: Any) -> bool:
    """Return whether a module will hold, in the place of a function that is being decorated, what comes of it."""
    name = getattr(function, "__qualname__", "<")
    return function.__module__ != "__main__" and "<" not in name and _named_by(function) is not function


def _named_by(function: Any) -> Any:
    """Return what has the name of a function in its module, None where nothing has."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("an operation has a function")


def of(function: Any) -> Overridable | None:
    """Return the record behind a function or one of its methods; None where it is not overridable."""
    found = getattr(function, "__overridable__", None)
    return found if isinstance(found, Overridable) else None


def operation_of(protocol: Dispatcher, function: Callable[..., Any]) -> Overridable:
    """Return the record behind an overridable function.

    Raises
    ------
    TypeError : if the function is not overridable in this protocol
    """
    found = of(function)
    if found is None or found.protocol is not protocol:
        raise TypeError(f"{function_name(function)} is not overridable by {protocol.types.method}")
    return found


# Whether a rule takes every call of an operation, which takes longer to find out than all else about a call.
_complete: WeakKeyDictionary[Rule, WeakKeyDictionary[Overridable, bool]] = WeakKeyDictionary()


def has_rule(operation: Overridable, key: Key, cls: type) -> bool:
    """Return whether a type has a rule for calls of these types."""
    counted = operation.types.counts_as(cls)
    targets = [operation.rules, *map(operation.protocol.handlers.of, operation.kind.lineage())]
    return any(_fitting(operation, key, cls, counted, rules) for rules in targets)


def rule_steps(operation: Overridable, key: Key, cls: type) -> list[Step]:
    """Return the rules by which a type answers, the most specific first, rules for kinds last."""
    counted = operation.types.counts_as(cls)
    of_kinds = map(operation.protocol.handlers.of, operation.kind.lineage())
    steps: list[Step] = []
    for rules, source in ((operation.rules, RULE), *((rules, KIND) for rules in of_kinds)):
        fitting = _fitting(operation, key, cls, counted, rules) if rules else []
        if fitting:
            steps += _ranked(operation, key, cls, fitting, source)
    return steps


def _fitting(
    operation: Overridable, key: Key, cls: type, counted: Sequence[type], rules: Iterable[Any]
) -> list[tuple[tuple[int, ...], Rule]]:
    """Return the rules that a type has for calls of these types, with their distances from them."""
    fitting: list[tuple[tuple[int, ...], Rule]] = []
    for reference in list(rules):
        rule = reference()
        if rule is None or not rule.serves(counted):
            continue
        far = rule.distances(key, operation.parameters, cls, operation.types.counts_as)
        if far is not None:
            fitting.append((far, rule))
    return fitting


def _ranked(
    operation: Overridable, key: Key, cls: type, fitting: list[tuple[tuple[int, ...], Rule]], source: Outcome
) -> list[Step]:
    fitting.sort(key=lambda pair: (-pair[1].demands(), pair[1].anywhere, sum(pair[0])))
    # Of the members of a handler's union the nearest counts: the handler is asked once.
    nearest: dict[Stamp, tuple[tuple[int, ...], Rule]] = {}
    for far, rule in fitting:
        nearest.setdefault(rule.registration, (far, rule))
    fitting = list(nearest.values())
    steps: list[Step] = []
    for index, (far, rule) in enumerate(fitting):
        rivals = [
            other
            for other_far, other in fitting[index + 1 :]
            if other.demands() == rule.demands() and not _dominates(far, other_far, rule, other)
        ]
        if rivals:
            steps.append(_ambiguous(operation, cls, key, [rule, *rivals]))
            return steps
        steps.append(_rule_step(operation, key, cls, rule, source))
    return steps


def _dominates(near: tuple[int, ...], far: tuple[int, ...], rule: Rule, other: Rule) -> bool:
    """Return whether `rule` is at least as specific everywhere, and more so somewhere."""
    if rule.anywhere is not other.anywhere or len(near) != len(far):
        return other.anywhere and not rule.anywhere
    return all(a <= b for a, b in zip(near, far, strict=True)) and near != far


def _rule_step(operation: Overridable, key: Key, cls: type, rule: Rule, source: Outcome) -> Step:
    call = rule.handler
    if isinstance(rule.target, Kind):
        call = _with_operation(operation, call)
    change = _wrapped_positions(operation, key, rule)
    if any(change):
        call = _wrapping(operation, key, call, change)
    known = _complete.setdefault(rule, WeakKeyDictionary())
    if operation not in known:
        known[operation] = rule.takes_everything(operation.parameters)
    if not known[operation]:
        call = _guarded(rule, call)
    return Step(source, cls, call, str(rule), rule)


def _with_operation(operation: Overridable, handler: Callable[..., Any]) -> Callable[..., Any]:
    def kind_rule(*args: Any, **kwargs: Any) -> Any:
        return handler(operation.function, *args, **kwargs)

    return kind_rule


def _wrapped_positions(operation: Overridable, key: Key, rule: Rule) -> list[bool]:
    """Return for each array parameter whether its arguments reach the handler as instances of the base type.

    Arrays of the base type's library always do; scalars where the handler asks for the base type.
    """
    types = operation.types
    base = types.base
    if base is None:
        return []
    asked = rule.types if not rule.anywhere and len(rule.types) == len(key) else [ANY] * len(key)
    return [
        wanted not in (int, float, complex)
        and any(
            types.wrapped_always(cls) or (issubclass(wanted, base) and types.is_raw(cls)) for cls in flatten((entry,))
        )
        for entry, wanted in zip(key, asked, strict=True)
    ]


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

    def with_wrapped_arrays(*args: Any, **kwargs: Any) -> Any:
        def wrap(name: str, value: Any) -> Any:
            if name not in names or not types.is_raw(type(value)):
                return value
            if type(value) not in weak or name in indices:
                return types.wrap(value)
            return types.wrap(value, [one for p, one in parameters.values(args, kwargs) if p.name not in indices])

        args, kwargs = parameters.replace(args, kwargs, wrap)
        return handler(*args, **kwargs)

    return with_wrapped_arrays


def _wrapping_operands(
    types: ArrayTypes, key: Key, handler: Callable[..., Any], change: Sequence[bool]
) -> Callable[..., Any]:
    """Wrap the operands of a function of two arrays, whose types are those of the key."""
    wrap = types.wrap
    left, right = (wanted and types.is_raw(cls) for cls, wanted in zip(key, change, strict=True))
    weak_left, weak_right = (cls in (int, float, complex) for cls in key)

    def with_wrapped_operands(x1: Any, x2: Any, /) -> Any:
        first = wrap(x1, (x2,) if weak_left else ()) if left else x1
        return handler(first, wrap(x2, (x1,) if weak_right else ()) if right else x2)

    return with_wrapped_operands


def _guarded(rule: Rule, handler: Callable[..., Any]) -> Callable[..., Any]:
    # The refusal depends on the number of arguments and the names of keywords alone.
    known: dict[tuple[Any, ...], list[str]] = {}

    def where_accepted(*args: Any, **kwargs: Any) -> Any:
        call = (len(args), *kwargs)
        refused = known.get(call)
        if refused is None:
            refused = known[call] = rule.refusal(args, kwargs)
        if refused:
            return decline(f"it cannot be called with {', '.join(refused)}")
        return handler(*args, **kwargs)

    return where_accepted


def _ambiguous(operation: Overridable, cls: type, key: Key, rules: Sequence[Rule]) -> Step:
    resolving = [
        min((rule.types[i] for rule in rules), key=lambda t: -len(t.__mro__))
        for i in range(min(len(rule.types) for rule in rules))
    ]
    error = partial(
        AmbiguousImplementationError,
        operation.qualified_name,
        [type_name(t) for entry in key for t in (entry if isinstance(entry, tuple) else (entry,))],
        [str(rule) for rule in rules],
        ", ".join(map(type_name, resolving)),
    )
    text = "ambiguous: " + "; ".join(map(str, rules))
    return Step(AMBIGUOUS, cls, _raising(error), text, error=error, rivals=tuple(rules))


def _raising(error: Callable[[], Exception]) -> Callable[..., Any]:
    """Return an answer that raises a new error each time."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error()

    return refuse
