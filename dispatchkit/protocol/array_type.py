"""Turning a class into an array type: its protocol method, its surface, its shape and dtype."""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.declarations import checked_declaration, instance_attributes
from dispatchkit.protocol.densify import FromDense, make_dense
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.members import REFLECTED
from dispatchkit.protocol.type_registry import ATTRIBUTE, Declaration

if TYPE_CHECKING:
    from dispatchkit.protocol.engine import DispatchProtocol

__all__ = ["check_operators", "decorate"]

ARITHMETIC = frozenset({*REFLECTED, *REFLECTED.values(), "__abs__", "__neg__", "__pos__", "__invert__"})
# What a method is that a class written in C defines: one of Python's builtins, or of an extension.
IN_C = (types.WrapperDescriptorType, types.MethodDescriptorType)


def decorate(protocol: DispatchProtocol, cls: type, declaration: Declaration) -> None:
    """Give a class its protocol method, the surface of the protocol, and attributes that follow from others.

    Raises
    ------
    RegistrationError : if the declaration does not fit the class
    """
    declaration = checked_declaration(protocol, cls, declaration, "array_type")
    check_operators("array_type", protocol, cls)
    before = set(cls.__dict__)
    if protocol.records.own_method(cls) is None:
        try:
            setattr(cls, protocol.method, classmethod(_protocol_method(protocol)))
        except TypeError as error:
            raise RegistrationError(
                f"array_type: {type_name(cls)} takes no attributes; use register_type({type_name(cls)}, ...)"
            ) from error
    protocol.declare(cls, declaration)
    _compare_elementwise(protocol, cls)
    protocol.surface.install(cls, keep=instance_attributes(cls))
    if protocol.base is not None:
        _derive_attributes(protocol, cls)
    protocol.on_undo(partial(_strip, protocol, cls, before))


def _compare_elementwise(protocol: DispatchProtocol, cls: type) -> None:
    """Put the elementwise `==` in the place of the one that `dataclass` has written, and hash as without that one."""
    owner = next(ancestor for ancestor in cls.__mro__ if "__eq__" in ancestor.__dict__)
    code = getattr(inspect.unwrap(owner.__dict__["__eq__"]), "__code__", None)
    member = protocol.surface.members.get("__eq__")
    # A method of the class's author is not written inside of this function of `dataclasses`.
    if member is None or code is None or not code.co_qualname.startswith("__create_fn__."):
        return
    for name, value in (("__eq__", member.value), ("__hash__", object.__hash__)):
        if name in cls.__dict__:
            protocol.on_undo(partial(setattr, cls, name, cls.__dict__[name]))
        setattr(cls, name, value)


def check_operators(use: str, protocol: DispatchProtocol, cls: type, *, foreign: bool = False) -> None:
    """Raise if Python would use operators of a class written in C, such as `float`, in place of the protocol's.

    Parameters
    ----------
    use : the function that declares the class
    protocol, cls : the protocol, and the class
    foreign : whether the class is somebody else's: then operators of its own library are meant, those of Python's
        builtins are not

    Raises
    ------
    RegistrationError : naming the base and the operators
    """
    found: dict[type, list[str]] = {}
    for name in sorted(member.name for member in protocol.surface if member.name.startswith("__")):
        owner = next((ancestor for ancestor in cls.__mro__ if name in ancestor.__dict__), object)
        if isinstance(owner.__dict__.get(name), IN_C) and owner is not object and not protocol.wrapped_always(owner):
            found.setdefault(owner, []).append(name)
    for owner, names in found.items():
        if not ARITHMETIC.isdisjoint(names) and (owner.__module__ == "builtins" or not foreign):
            derives = f"is Python's {owner.__name__}" if cls is owner else f"derives from {type_name(owner)}"
            raise RegistrationError(
                f"{use}: {type_name(cls)} {derives}, whose operators Python would use in place of the array's: "
                f"{', '.join(names)}; hold the {type_name(owner)} in a field of a class instead"
            )


def _strip(protocol: DispatchProtocol, cls: type, keep: set[str]) -> None:
    """Take away what decorating gave a class."""
    protocol.surface.forget(cls)
    for name in set(cls.__dict__) - keep - {ATTRIBUTE}:
        delattr(cls, name)


def _protocol_method(protocol: DispatchProtocol) -> Callable[..., Any]:
    def answer(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Answer by the type's rules, then by its declared fallback."""
        return protocol.answer_by_rules(cls, func, args, kwargs or {})

    answer.__generated__ = True  # type: ignore[attr-defined]  # tells it from a method users wrote
    answer.__name__ = protocol.method
    return answer


class _Derived:
    """An attribute computed from others; an instance attribute of the same name goes first."""

    def __init__(self, name: str, compute: Callable[[Any], Any], doc: str) -> None:
        self.name = name
        self.compute = compute
        self.__doc__ = doc

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self.compute(instance)


class _DerivedFromDense(_Derived, FromDense):
    """An attribute read off the dense form."""


def _derive_attributes(protocol: DispatchProtocol, cls: type) -> None:
    known = {name for ancestor in cls.__mro__ if ancestor is not object for name in ancestor.__dict__}
    known.update(instance_attributes(cls))
    for name in ("shape", "dtype"):
        if name not in known:
            setattr(
                cls,
                name,
                _DerivedFromDense(name, _from_dense(protocol, cls, name), f"The {name} of the array."),
            )
    for name, compute, doc in (
        ("ndim", lambda x: len(x.shape), "Number of axes."),
        ("size", lambda x: math.prod(x.shape), "Number of elements."),
        ("device", lambda x: "cpu", "Where the data is."),
    ):
        if name not in known:
            setattr(cls, name, _Derived(name, compute, doc))


def _from_dense(protocol: DispatchProtocol, cls: type, name: str) -> Callable[[Any], Any]:
    def compute(instance: Any) -> Any:
        dense = protocol.records.to_dense(cls)
        if dense is None:
            raise AttributeError(
                f"{type_name(cls)} has no '{name}': define a property '{name}', or to_dense() to take it from"
            )
        asked = f"{type_name(cls)}.{name}"
        return getattr(make_dense(asked, cls, dense, instance, protocol.is_plain, as_attribute=True), name)

    return compute
