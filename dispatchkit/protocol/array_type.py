"""Turning a class into an array type: its protocol method, its surface, its shape and dtype."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.densify import FromDense, make_dense
from dispatchkit.protocol.participants import ATTRIBUTE, Declaration
from dispatchkit.protocol.rules import type_name

if TYPE_CHECKING:
    from dispatchkit.protocol.engine import DispatchProtocol

__all__ = ["decorate"]


def decorate(protocol: DispatchProtocol, cls: type, declaration: Declaration) -> None:
    """Give a class its protocol method, the surface of the protocol, and attributes that follow from others.

    Raises
    ------
    RegistrationError : if the declaration does not fit the class
    """
    for name in declaration.fields or ():
        if not str(name).isidentifier():
            raise RegistrationError(f"array_type: fields of {type_name(cls)} must be attribute names, not {name!r}")
    dense = declaration.dense
    if dense is not None and not callable(dense) and not isinstance(dense, str):
        raise RegistrationError(f"array_type: dense must be a method's name or a function, not {dense!r}")
    before = set(cls.__dict__)
    if protocol.records.own_method(cls) is None:
        try:
            setattr(cls, protocol.method, classmethod(_protocol_method(protocol)))
        except TypeError as error:
            raise RegistrationError(
                f"array_type: {type_name(cls)} takes no attributes; use register_type({type_name(cls)}, ...)"
            ) from error
    protocol.declare(cls, declaration)
    protocol.surface.install(cls, keep=_instance_attributes(cls))
    if protocol.base is not None:
        _derive_attributes(protocol, cls)
    protocol.on_undo(partial(_strip, protocol, cls, before))


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


def _instance_attributes(cls: type) -> tuple[str, ...]:
    """Return names that annotations, slots or dataclass fields give to instances."""
    names: list[str] = []
    for ancestor in cls.__mro__:
        names += inspect.get_annotations(ancestor)
        slots = ancestor.__dict__.get("__slots__", ())
        names += (slots,) if isinstance(slots, str) else slots
    return tuple(names)


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
    known.update(_instance_attributes(cls))
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
        return getattr(make_dense(f"{type_name(cls)}.{name}", cls, dense, instance, warn=False), name)

    return compute
