"""Introspection of what can be overridden: the twin of `torch.overrides`, derived from the operations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any, TypeVar

from dispatchkit import catalogue  # noqa: F401  # every operation is listed
from dispatchkit.declare.namespace import public_namespace
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.modes import ask_modes, is_any_asked, is_switched_off
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.operations import chosen_function
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.surface import Property
from dispatchkit.signatures import read_signature
from dispatchkit.tensor import Tensor

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_tensor_function",
    "has_tensor_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_tensor_function",
]

F = TypeVar("F", bound=Callable[..., Any])


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return every function that types can override, by the namespace it stands in.

    Returns
    -------
    dict
        Its keys are namespaces (``dk``, ``dk.linalg``, ``dk.Tensor``, modules of functions made overridable), its
        values lists of functions; those of `Tensor` are the methods and properties that view operations.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.add in dk.overrides.get_overridable_functions()[dk]
    True
    """
    functions: dict[Any, list[Callable[..., Any]]] = {}
    for operation in tensor_protocol.operations.values():
        functions.setdefault(_namespace(operation.namespace), []).append(operation.function)
    functions[Tensor] = [member.value for member in tensor_protocol.surface if member.operation is not None]
    return functions


def _namespace(path: str) -> Any:
    """Return the object that a namespace's name stands for, the name where there is none."""
    place = public_namespace()
    top, *parts = path.split(".")
    if top != "dispatchkit":
        return path
    for part in parts:
        place = getattr(place, part, None)
        if place is None:
            return path
    return place


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """Return for every overridable function a dummy of the very same signature that returns -1.

    Returns
    -------
    dict
        From each function to its dummy.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dummy = dk.overrides.get_testing_overrides()[dk.add]
    >>> dummy(1, 2)
    -1
    """
    functions = [f for functions in get_overridable_functions().values() for f in functions]
    return {function: _dummy(function) for function in functions}


def _dummy(function: Any) -> Callable[..., int]:
    target = function
    if isinstance(function, Property):
        target = function.function
    signature = read_signature(target)

    def dummy(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    dummy.__name__ = getattr(target, "__name__", "dummy")
    dummy.__signature__ = signature  # type: ignore[attr-defined]  # what inspect reads
    return dummy


def get_ignored_functions() -> tuple[Callable[..., Any], ...]:
    """Return the functions of all public modules, and methods of `Tensor`, that cannot be overridden.

    Returns
    -------
    tuple of function
        None of them is in `get_overridable_functions`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> ignored = dk.overrides.get_ignored_functions()
    >>> dk.set_printoptions in ignored, dk.nn.init.normal_ in ignored
    (True, True)
    """
    functions: dict[Any, None] = {}
    for place in _public_modules(public_namespace()):
        for name in place.__all__:
            value = getattr(place, name)
            if callable(value) and not isinstance(value, type) and of(value) is None:
                functions[value] = None
    for cls in Tensor.__mro__[:-1]:
        for value in cls.__dict__.values():
            if inspect.isfunction(value) and of(value) is None and not value.__name__.startswith("_"):
                functions[value] = None
    return tuple(functions)


def _public_modules(module: Any) -> Iterator[Any]:
    """Yield a module and the public ones below it."""
    yield module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, ModuleType) and value.__name__.startswith(module.__name__):
            yield from _public_modules(value)


def resolve_name(func: Any) -> str | None:
    """Return the qualified name of an overridable function, None of any other.

    Parameters
    ----------
    func : any object, such as `dk.add`

    Returns
    -------
    str or None
        The name, such as ``'dispatchkit.linalg.inv'``.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.overrides.resolve_name(dk.linalg.inv), dk.overrides.resolve_name(dk.Tensor.sum)
    ('dispatchkit.linalg.inv', 'dispatchkit.Tensor.sum')
    """
    operation = of(func)
    if operation is None:
        return None
    if operation.function is func:
        return operation.qualified_name
    member = next((m for m in tensor_protocol.surface if m.value is func), None)
    if member is None:
        return operation.qualified_name
    return f"dispatchkit.Tensor.{member.name}"


def is_tensor_like(x: Any) -> bool:
    """Return whether a value takes part in the protocol: a tensor, or an instance of an array type.

    Parameters
    ----------
    x : any value

    Returns
    -------
    bool
        True for tensors and instances of array types.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.overrides.is_tensor_like(dk.ones(2)), dk.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return tensor_protocol.types.participates(type(x))


def is_tensor_method_or_property(func: Any) -> bool:
    """Return whether a function stands on `Tensor` as a method or property that views an operation.

    Parameters
    ----------
    func : any object, such as `dk.Tensor.sum`

    Returns
    -------
    bool
        True for the functions under ``dk.Tensor`` in `get_overridable_functions`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.overrides.is_tensor_method_or_property(dk.Tensor.sum)
    True
    """
    return any(member.value is func for member in tensor_protocol.surface)


def has_tensor_function(args: Iterable[Any]) -> bool:
    """Return whether one of the arguments is of a type that may override.

    Parameters
    ----------
    args : the arguments of a call, or those of them that can override it

    Returns
    -------
    bool
        True if one of them is an instance of an array type or of a subclass of `Tensor`, other than the library's own
        that stand for plain tensors, such as `nn.Parameter`; or if a mode is to be asked.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.overrides.has_tensor_function((dk.ones(2), 1.0))
    False
    """
    if _default_begins.get():
        _default_begins.set(False)
        return False
    if is_switched_off(tensor_protocol):
        return False
    types = tensor_protocol.types
    overriding = any(is_tensor_like(arg) and not types.ranks_as_base(type(arg)) for arg in args)
    return overriding or is_any_asked(tensor_protocol)


# Whether the default of a function that dispatches by hand begins, which then asks nobody.
_default_begins: ContextVar[bool] = state_variable("default of a function by hand", False)
# The arguments that a call of such a function dispatches on.
_relevant: ContextVar[tuple[Any, ...]] = state_variable("relevant arguments", ())


def handle_tensor_function(func: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any) -> Any:
    """Ask modes, and the types of some arguments, to answer a call of a function that dispatches by hand.

    Parameters
    ----------
    func : the public function. For plain tensors and subclasses of `Tensor` that do not answer, it is called again, and
        `has_tensor_function` is False at its beginning
    relevant_args : the arguments whose types are asked
    *args, **kwargs : of the call

    Returns
    -------
    Any
        The first answer that is not `NotImplemented`, which for tensors is in the end that of the function itself.

    Raises
    ------
    NoImplementationError : if all decline

    Examples
    --------
    >>> import dispatchkit as dk
    >>> def half(x):
    ...     if dk.overrides.has_tensor_function((x,)):
    ...         return dk.overrides.handle_tensor_function(half, (x,), x)
    ...     return x / 2
    >>> class Loud(dk.Tensor):
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args, kwargs):
    ...         return f"{func.__name__} of {cls.__name__}"
    >>> half(Loud([1.0]))
    'half of Loud'
    """
    operation = _by_hand(func)
    before = _relevant.set(tuple(relevant_args))
    try:
        answer = ask_modes(operation, args, kwargs)
        if answer is not NotImplemented:
            return answer
        chain = tensor_protocol.chain(operation, operation.parameters.key(args, kwargs))
        return chain.run(args, kwargs, on_step=note_asked)
    finally:
        _relevant.reset(before)


def _by_hand(func: Any) -> Overridable:
    """Return the record of a function that dispatches by hand, made at its first call; the function holds it."""
    operation = of(func)
    if operation is None:
        operation = chosen_function(tensor_protocol, func, _relevant_arguments, "handle_tensor_function")
        operation.body = functools.partial(_begin_default, func)
        operation.function = func
        func.__overridable__ = operation
    return operation


def _relevant_arguments(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return _relevant.get()


def _begin_default(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that dispatches by hand so that it asks nobody again."""
    before = _default_begins.set(True)
    try:
        return func(*args, **kwargs)
    finally:
        _default_begins.reset(before)


def wrap_tensor_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[F], F]:
    """Make a function overridable by the types of some arguments, which another function names; see `overridable`.

    Parameters
    ----------
    dispatcher : takes what the function takes, and gives the arguments whose types are asked

    Returns
    -------
    function
        A decorator.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> @dk.overrides.wrap_tensor_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(dk.ones(1))
    tensor([2.])
    """

    def decorate(func: F) -> F:
        operation = chosen_function(tensor_protocol, func, dispatcher, "wrap_tensor_function")
        tensor_protocol.operations.add(operation)
        wrapped: Any = operation.named_function()
        wrapped.__wrapped__ = func
        return wrapped  # type: ignore[no-any-return]  # of the same signature

    return decorate
