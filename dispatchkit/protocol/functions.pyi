"""The methods of the library's own protocol as functions, for type checkers and editors.

Written by ``nox -s generated`` from the methods; do not edit.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dispatchkit.protocol.engine import F, T
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.types.declaration import Fallback, Relation
from dispatchkit.protocol.types.type_tests import TypeTests
from typing import Any, overload

def array_type(cls: None=None, /, *, fallback: Fallback | None=None, priority: float | None=None, fields: tuple[str, ...] | Mapping[str, Any] | None=None, dense: str | Callable[[Any], Any] | None=None, from_dense: str | Callable[[Any, Any], Any] | None=None, derivative: str | Callable[[Any, Any, Any], Any] | None=None, tests: TypeTests | None=None, closed: Iterable[Callable[..., Any] | Kind]=(), impossible: Iterable[Callable[..., Any] | Kind]=(), relation: str | float | Callable[[Any, Any], Any] | Relation | None=None, refuses: Iterable[type[Exception]] | None=None) -> Callable[[T], T]:
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

def converts(cost: float=1, lossy: bool=False) -> Callable[[F], F]:
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

def implements(target: Callable[..., Any] | Kind, *types: type, declines: bool | None=None, commutative: bool=False) -> Callable[[F], F]:
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

def local_registrations() -> AbstractContextManager[None]:
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

@overload
def overridable(function: F, /) -> F:
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

@overload
def overridable(*, kind: Kind=..., arrays: tuple[str, ...] | None=..., namespace: str | None=..., commutative: bool=...) -> Callable[[F], F]: ...

def redispatch(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None=None, *, without: type) -> Any:
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

def register_type(cls: type, *, fallback: Fallback | None=None, to_dense: Callable[[Any], Any] | None=None, priority: float | None=None, fields: tuple[str, ...] | Mapping[str, Any] | None=None) -> None:
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
