"""`DispatchProtocol`: the parts of a protocol, and what libraries and users ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import MethodType, NoneType
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import WeakSet

from dispatchkit import protocol
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.journal import Journal
from dispatchkit.protocol.kinds import Kind, kinds
from dispatchkit.protocol.modes import call_of_method
from dispatchkit.protocol.naming import misfit
from dispatchkit.protocol.operations import Operations, overridable_function
from dispatchkit.protocol.overridable import Overridable, operation_of
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.registration import by_value, decorators
from dispatchkit.protocol.registration.annotations import target_of
from dispatchkit.protocol.resolution import build_chain, build_plain_chain, recall_chain
from dispatchkit.protocol.rules import Handlers, Rule, RuleList, listed_rules
from dispatchkit.protocol.surface import REFLECTED, Surface
from dispatchkit.protocol.types.array_types import ArrayTypes
from dispatchkit.protocol.types.declaration import Conversions, Declaration, Fallback, Relation
from dispatchkit.protocol.types.type_tests import TypeTests, join_tests

if TYPE_CHECKING:
    from dispatchkit.protocol.explain.explanation import Explanation

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)
_made: WeakSet[DispatchProtocol] = WeakSet()


class DispatchProtocol:
    """A protocol like `__torch_function__`, under a method name of your choice.

    Parameters
    ----------
    name : name of the method by which types take part, such as ``"__units_function__"``
    namespace : printed before the names of functions; the defining module by default

    Attributes
    ----------
    types : which types take part, and what they declare
    conversions : the declared conversions between types
    handlers : the registered rules
    operations : the functions that can be overridden, by qualified name
    surface : the operators, methods and properties that array types get
    journal : what registrations change, and how they are undone

    Examples
    --------
    >>> units = DispatchProtocol("__units_function__")
    >>> @units.overridable
    ... def scale(x, factor=2.0):
    ...     return x * factor
    >>> @units.array_type()
    ... class Metres:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> @units.implements(scale)
    ... def scale_metres(x: Metres, factor=2.0):
    ...     return Metres(x.value * factor)
    >>> scale(Metres(3.0)).value, scale(3.0)
    (6.0, 6.0)
    """

    def __init__(self, name: str, namespace: str | None = None) -> None:
        self.namespace = namespace
        self.types = ArrayTypes(name)
        self.journal = Journal(self.types.own_ancestors)
        self.conversions = Conversions(self.types.records)
        self.handlers = Handlers(self.types)
        self.operations = Operations(self.journal)
        self.surface = Surface()
        # Whether a function of another library is being composed of operations: plain numbers in it are its own.
        self.composing: ContextVar[bool] = ContextVar(f"dispatchkit.composing.{name}", default=False)
        self._place: tuple[str, str] | None = None
        self.types.records.pickle_with(self)
        _made.add(self)

    def __repr__(self) -> str:
        return f"DispatchProtocol({self.method!r})"

    def __reduce__(self) -> Any:
        self._place = self._place or decorators.place_of(self)
        return decorators.protocol_at, self._place

    # Of what is pickled by value.
    pack, unpack, take_rules = by_value.pack, by_value.unpack, by_value.take_rules
    pack_rules = staticmethod(by_value.pack_rules)

    @property
    def method(self) -> str:
        """Name of the method by which types take part."""
        return self.types.method

    def set_base(
        self,
        base: type,
        arrays: tuple[type, ...],
        scalars: Mapping[type, tuple[type, ...]],
        wrap: Callable[..., Any],
        advice: str | Callable[[type], str],
    ) -> None:
        """Name the plain array type of the protocol, which other types meet and fall back to.

        Parameters
        ----------
        base : the class of the plain arrays
        arrays : raw array types, which reach handlers wrapped
        scalars : further types of scalars, with the built-in numbers that each counts as, where the abstract classes of
            `numbers` do not say so
        wrap : makes a plain array of a raw array or a scalar; for a Python number it also takes the other arrays
        advice : what messages advise people who pass something else, or a function of its class
        """
        self.types.set_base(base, arrays, scalars, wrap, advice)
        self.operations.refresh()
        self.journal.invalidate()

    def take_as_arrays(self, *classes: type) -> None:
        """Let arrays of another library mix with the base type as raw arrays do, in operators and functions.

        Parameters
        ----------
        *classes : the types of these arrays
        """
        self.types.take_as_arrays(classes)
        self.journal.invalidate()

    @overload
    def overridable(self, function: F, /) -> F: ...
    @overload
    def overridable(
        self,
        /,
        *,
        kind: Kind = ...,
        arrays: tuple[str, ...] | None = ...,
        namespace: str | None = ...,
        commutative: bool = ...,
    ) -> Callable[[F], F]: ...
    def overridable(
        self,
        function: F | None = None,
        /,
        *,
        kind: Kind = kinds.function,
        arrays: tuple[str, ...] | None = None,
        namespace: str | None = None,
        commutative: bool = False,
    ) -> Any:
        """Make a function overridable: decorate your own, or call this with a function of another library.

        Parameters
        ----------
        function : any function with a signature
        kind : the kind of the operation, for the rules of that kind
        arrays : names of the parameters whose types decide who answers, and of lists and tuples the types of their
            members; all parameters by default
        namespace : printed before the name; by default that of the protocol, else the module
        commutative : whether the first two arrays may be exchanged, so that one rule can serve both orders

        Returns
        -------
        function
            Has the same signature. `fallback.decompose` runs the body of the original.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> @dk.overridable(arrays=("x",))
        ... def rescale(x, factor=2.0):
        ...     return x * factor
        >>> @dk.array_type()
        ... class Metres:
        ...     def __init__(self, value):
        ...         self.value = value
        >>> @dk.implements(rescale)
        ... def rescale_metres(x: Metres, factor=2.0):
        ...     return Metres(x.value * factor)
        >>> rescale(Metres(3.0)), rescale(3.0)
        (Metres(value=6.0), 6.0)
        """

        def make(original: F) -> Any:
            place = namespace or self.namespace
            record = overridable_function(self, original, kind, arrays, place, commutative)
            self.operations.add(record)
            return record.named_function()

        if function is None:
            return make
        return make(function)

    def array_type(
        self,
        cls: None = None,
        /,
        *,
        fallback: Fallback | None = None,
        priority: float | None = None,
        fields: tuple[str, ...] | Mapping[str, Any] | None = None,
        dense: str | Callable[[Any], Any] | None = None,
        from_dense: str | Callable[[Any, Any], Any] | None = None,
        derivative: str | Callable[[Any, Any, Any], Any] | None = None,
        tests: TypeTests | None = None,
        closed: Iterable[Callable[..., Any] | Kind] = (),
        impossible: Iterable[Callable[..., Any] | Kind] = (),
        relation: str | float | Callable[[Any, Any], Any] | Relation | None = None,
        refuses: Iterable[type[Exception]] | None = None,
    ) -> Callable[[T], T]:
        """Return a decorator that makes a class an array type: ``@array_type(fallback=fallback.dense)``.

        The class gets the protocol's method, and every operator, method and property of the protocol's plain
        arrays that it does not define itself.

        Parameters
        ----------
        fallback : what answers a call without a rule; by default inherited, else `fallback.refuse`
        priority : types with a higher priority are asked first; by default inherited, else 0
        fields : names of the attributes that hold the content, the wrapped array first; by default the fields of a
            dataclass, else the parameters of the constructor. A dictionary maps each name to a `dk.field`
        dense : the method that returns a plain array, or a function of the instance; by default ``"to_dense"``
        from_dense : the class method, or a function, that makes an instance from a plain array. It is called with the
            array and an instance whose structure, such as the rank, the new one should have. Modules use it to load
            dense checkpoints, and NumPy's functions with ``like=`` make arrays of the type by it
        derivative : the static method, or a function, that wraps a derivative of what the type wraps, in its first
            field. It is called with the numbers, an array of shape ``(*output.shape, *argument.shape)``, and with the
            instances of the type that are, or wrap, the output and the argument; None for one where there is none
        tests : what results promise, for everything that tests the type
        closed, impossible, relation, refuses : deprecated: those of `tests`

        Raises
        ------
        RegistrationError : if a declaration does not fit the class

        Examples
        --------
        >>> import dispatchkit as dk
        >>> @dk.array_type(fallback=dk.fallback.dense)
        ... class Diagonal:
        ...     def __init__(self, d):
        ...         self.d = dk.asarray(d)
        ...     def to_dense(self):
        ...         return dk.diag(self.d)
        >>> with dk.densify(on="allow"):
        ...     Diagonal([1.0, 2.0]) + 1.0
        tensor([[2., 1.],
                [1., 3.]])
        """
        if cls is not None:
            raise RegistrationError("array_type takes what it declares; write @array_type()")
        declared = (fallback, priority, fields, dense, from_dense)
        keywords: dict[str, Any] = {
            "relation": relation,
            "refuses": refuses,
            "closed": closed,
            "impossible": impossible,
        }
        stated = join_tests("array_type", tests, **keywords)
        refused = None
        if stated.refuses is not None:
            refused = tuple(stated.refuses)
        named = tuple(stated.closed), tuple(stated.impossible), stated.relation, refused
        return decorators.array_type(self, Declaration(*declared, None, *named, derivative))

    def register_type(
        self,
        cls: type,
        *,
        fallback: Fallback | None = None,
        to_dense: Callable[[Any], Any] | None = None,
        priority: float | None = None,
        fields: tuple[str, ...] | Mapping[str, Any] | None = None,
    ) -> None:
        """Let a class of another library take part; it gets no new attributes that users see.

        Parameters
        ----------
        cls : the class
        fallback : as for `array_type`
        to_dense : makes a plain array of an instance; its ``to_dense`` method by default
        priority, fields : as for `array_type`

        Raises
        ------
        RegistrationError : if `cls` is no class, mixes with arrays anyway, or has the operators of a builtin; if a
            declaration does not fit it

        Examples
        --------
        >>> import dispatchkit as dk
        >>> dk.register_type(range, fallback=dk.fallback.dense, to_dense=lambda r: dk.arange(r.start, r.stop, r.step))
        >>> with dk.densify(on="allow"):
        ...     dk.mean(range(4)), dk.ones(2) + range(2)
        (tensor(1.5000), tensor([1., 2.]))
        """
        decorators.register_type(self, cls, Declaration(fallback, priority, fields, to_dense))

    def implements(
        self,
        target: Callable[..., Any] | Kind,
        *types: type,
        declines: bool | None = None,
        commutative: bool = False,
    ) -> Callable[[F], F]:
        """Register a handler for an operation, or for a kind of operations.

        Parameters
        ----------
        target : an overridable function, one of its methods, or a kind; the handler of a kind receives the operation
            first
        *types : one type for any position, or one type for each array parameter; by default the annotations of the
            handler
        declines : whether the handler may decline a call, which `explain` and coverage show; by default False if the
            return annotation names classes other than `NotImplementedType`, else True
        commutative : whether the handler answers the other order of the operands, too; it is given them in its own
            order, and a rule that is registered for the other order is asked instead. The operation has to be
            commutative, as `add`, `multiply`, `maximum` and `equal` are

        Returns
        -------
        function
            A decorator that returns the handler unchanged.

        Raises
        ------
        RegistrationError : if the target is not overridable, no type takes part, or the handler cannot be called

        Examples
        --------
        >>> import dispatchkit as dk
        >>> @dk.array_type()
        ... class Diagonal:
        ...     def __init__(self, d):
        ...         self.d = dk.asarray(d)
        >>> @dk.implements(dk.matmul)
        ... def matmul(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        ...     return Diagonal(x1.d * x2.d)
        >>> @dk.implements(dk.multiply, commutative=True)
        ... def scale_diagonal(x: Diagonal, factor: float, /) -> Diagonal:
        ...     return Diagonal(factor * x.d)
        >>> @dk.implements(dk.kinds.rounding)
        ... def round_diagonal(op, x: Diagonal, /) -> Diagonal:
        ...     return Diagonal(op(x.d))
        >>> x = Diagonal([1.5, 2.0])
        >>> x @ x, dk.floor(x), 2 * x
        (Diagonal(d=tensor([2.2500, 4.0000])), Diagonal(d=tensor([1., 2.])), Diagonal(d=tensor([3., 4.])))
        """
        return decorators.implements(self, target_of(self, target), types, declines, commutative)

    def converts(self, cost: float = 1, lossy: bool = False) -> Callable[[F], F]:
        """Return a decorator that declares a conversion from one type to another, for `fallback.convert`.

        Parameters
        ----------
        cost : the cost of this conversion; the cheapest path of conversions is taken
        lossy : whether the conversion loses something; among paths of equal cost, one without loss is taken

        Raises
        ------
        RegistrationError : if the annotations do not name two classes, or the cost is negative

        Examples
        --------
        >>> import dispatchkit as dk
        >>> @dk.array_type(fallback=dk.fallback.convert)
        ... class Identity:
        ...     def __init__(self, n):
        ...         self.n = n
        >>> @dk.converts()
        ... def dense_of(x: Identity) -> dk.Tensor:
        ...     return dk.eye(x.n)
        >>> dk.sum(Identity(3))
        tensor(3.)
        """
        return decorators.converts(self, cost, lossy)

    def local_registrations(self) -> AbstractContextManager[None]:
        """Return a context that undoes at its end what was registered inside: types, rules and conversions.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> class Counted(dk.Tensor):
        ...     pass
        >>> with dk.local_registrations():
        ...     _ = dk.implements(dk.sum, Counted)(lambda x, /: "the rule of the block")
        ...     dk.sum(Counted([1.0]))
        'the rule of the block'
        >>> dk.sum(Counted([1.0]))
        Counted(1.)
        """
        return self.journal.local_registrations()

    def redispatch(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        *,
        without: type,
    ) -> Any:
        """Return the result of a call that is dispatched again as if a type had declined it.

        Parameters
        ----------
        function : an overridable function
        args, kwargs : of the call
        without : the type whose rules and `__tensor_function__` are skipped; its fallback is not

        Examples
        --------
        >>> import dispatchkit as dk
        >>> class Counted(dk.Tensor):
        ...     calls = 0
        >>> @dk.implements(dk.exp)
        ... def exp(x: Counted, /):
        ...     Counted.calls += 1
        ...     return dk.redispatch(dk.exp, (x,), without=Counted)
        >>> dk.exp(Counted([0.0])), Counted.calls
        (Counted([1.]), 1)
        """
        operation, args, keywords = self._call_of(function, args, kwargs or {})
        key = operation.parameters.key(args, keywords)
        return build_chain(operation, key, without=without).run(args, keywords)

    def explain(self, function: Callable[..., Any], /, *args: Any, run: bool = False, **kwargs: Any) -> Explanation:
        """Return who answers a call, in which order, and why the others do not; nothing is called.

        Parameters
        ----------
        function : an overridable function, or a bound method that calls one
        *args : of the call, or types in the place of its arrays
        run : make the call, and show who declined
        **kwargs : of the call

        Raises
        ------
        TypeError : if the function is not overridable
        """
        operation, args, kwargs = self._call_of(function, args, kwargs)
        explanation: Explanation = protocol.explain.explain_call(operation, args, kwargs, run)
        return explanation

    @overload
    def rules(self, /) -> list[Rule]: ...
    @overload
    def rules(self, target: type | Kind | Callable[..., Any], /) -> RuleList: ...
    def rules(self, target: Any = ..., /) -> Any:
        """Return all rules that are registered, or those of a type, an operation or a kind.

        Parameters
        ----------
        target : as `dispatchkit.rules` takes it

        Returns
        -------
        list or RuleList
            All rules: those for operations, then those for kinds. Those of something print as `dispatchkit.rules`
            prints them.

        Raises
        ------
        TypeError : if it is none of these in this protocol

        Examples
        --------
        >>> units = DispatchProtocol("__units_function__")
        >>> scale = units.overridable(lambda x: 2 * x)
        >>> @units.array_type()
        ... class Metres:
        ...     pass
        >>> scale_metres = units.implements(scale, Metres)(lambda x: x)
        >>> [rule.types == (Metres,) for rule in units.rules(Metres)], len(units.rules(scale)), len(units.rules())
        ([True], 1, 1)
        """
        rules = [*self.handlers.of_operations(), *self.handlers.of_kinds()]
        if target is ...:
            return rules
        if isinstance(target, Kind):
            return listed_rules(self.handlers.of(target))
        if isinstance(target, type):
            return listed_rules(rule for rule in rules if rule.serves(self.types.counts_as(target)))
        if self.types.participates(type(target)):
            raise misfit("rules", target, self.types)
        return listed_rules(self.operation(target).rules_for_calls())

    def operation(self, function: Callable[..., Any]) -> Overridable:
        """Return the record behind an overridable function.

        Parameters
        ----------
        function : an overridable function, or a method that calls one

        Raises
        ------
        TypeError : if the function is not overridable in this protocol
        """
        return operation_of(self, function)

    def _call_of(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Overridable, tuple[Any, ...], dict[str, Any]]:
        """Return the operation that a call is of, and its arguments; the array of a bound method is one of them."""
        operation, keywords = self.operation(function), dict(kwargs)
        if not isinstance(function, MethodType) or isinstance(function.__self__, type):
            return operation, args, keywords
        named_by_type = len(args) == 1 and isinstance(args[0], type)
        if named_by_type and function.__name__ in REFLECTED.values():
            args = (*args, function.__self__)  # an operator leaves to others what is no array, as a type is none
        else:
            args, keywords = call_of_method(operation, function, args, keywords)
        return operation, args, keywords

    def map_arguments(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        change: Callable[[str, Any], Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call with each array put through ``change(parameter name, array)``.

        Parameters
        ----------
        function : an overridable function
        args, kwargs : of the call; members of lists and tuples, and of indices, are changed one by one
        change : gives what takes the array's place; of an index it is given the arrays alone, no int, slice or None

        Examples
        --------
        >>> import dispatchkit as dk
        >>> call = ([dk.ones(2), dk.zeros(2)],), {"axis": 0}
        >>> dk.tensor_protocol.map_arguments(dk.concat, *call, lambda name, x: f"{name} of {x.shape}")
        ((['arrays of (2,)', 'arrays of (2,)'],), {'axis': 0})
        """
        operation, args, keywords = self._call_of(function, args, kwargs)
        return operation.parameters.replace_arrays(args, keywords, change, self.types.participates)

    def map_results(self, result: Any, change: Callable[..., Any], *others: Any) -> Any:
        """Return the result of a call with each array in it put through `change`.

        Parameters
        ----------
        result : an array, or a list or tuple of results, which keeps its type; what is no array stays as it is
        change : gives what takes the array's place; it is called with the array, and with that at the same place of
            each of the others
        *others : further results of the same form

        Raises
        ------
        ValueError : if the others do not hold as many arrays

        Examples
        --------
        >>> import dispatchkit as dk
        >>> x = dk.asarray([1.0, 2.0])
        >>> dk.tensor_protocol.map_results(dk.unstack(x), dk.negative)
        (tensor(-1.), tensor(-2.))
        >>> dk.tensor_protocol.map_results(dk.unstack(x), dk.add, dk.unstack(10 * x))
        (tensor(11.), tensor(22.))
        """
        if not others:
            return self.types.map_arrays(result, change)
        counts = [len(self._arrays_in(each)) for each in (result, *others)]
        if len(set(counts)) > 1:
            raise ValueError(f"map_results: the results hold {' and '.join(map(str, counts))} arrays, not as many each")
        arrays = zip(*map(self._arrays_in, others), strict=True)
        return self.types.map_arrays(result, lambda array: change(array, *next(arrays)))

    def _arrays_in(self, result: Any) -> list[Any]:
        arrays: list[Any] = []
        self.types.map_arrays(result, arrays.append)
        return arrays

    def chain(self, operation: Overridable, key: Key, /) -> Chain:
        """Return who answers calls of an operation with arguments of these types."""
        return recall_chain(operation, operation.chains, key, lambda: build_chain(operation, key))

    def chain_without_later_fallbacks(self, operation: Overridable, key: Key, /) -> Chain:
        """Return who answers inside a decomposition, where the fallbacks declared after it are off."""
        inside = (NoneType, key)  # no type stands for none
        known: Chain | None = operation.type_chains.get(inside)
        return known or recall_chain(
            operation, operation.type_chains, inside, lambda: build_chain(operation, key, later_fallbacks=False)
        )

    def plain_chain(self, operation: Overridable, key: Key, /) -> Chain:
        """Return what answers where overrides are off: the default alone."""
        return recall_chain(operation, operation.type_chains, (object, key), lambda: build_plain_chain(operation, key))


def made_protocols() -> list[DispatchProtocol]:
    """Return the protocols of this process, in the order of the names of their methods."""
    return sorted(_made, key=lambda protocol: protocol.method)


def protocols_of(cls: Any) -> list[DispatchProtocol]:
    """Return the protocols in which a class takes part, in the order of their names; none for what is no class."""
    if not isinstance(cls, type):
        return []
    found = [protocol for protocol in made_protocols() if protocol.types.participates(cls)]
    # Several may have methods of one name; a class that has declared itself belongs to the one that knows it.
    declared = [protocol for protocol in found if protocol.types.records.find(cls) is not None]
    return declared or found


def misfit_in(tool: str, value: Any, protocol: DispatchProtocol) -> TypeError:
    """Return the error of a tool that was given what takes no part in a protocol; it names those in which it does."""
    return misfit(tool, value, protocol.types, [other.method for other in protocols_of(value)])
