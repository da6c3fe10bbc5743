"""What stands in a call to be made: samples, operands, and the call itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.fitting import content_of
from dispatchkit.testing.instances import anew, drawn, is_strategy

__all__ = ["Call", "Operand", "Shape", "Subject", "subjects_of"]

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Operand:
    """An array argument of a call to be made.

    Attributes
    ----------
    text : what it is, for readers
    own : whether it is of the type that is measured
    cls : its type
    make : makes it
    plain : makes the plain tensor or number of the same values
    """

    text: str
    own: bool
    cls: type
    make: Callable[[], Any]
    plain: Callable[[], Any]


class Subject:
    """A sample of a type, made anew for each call.

    Parameters
    ----------
    protocol : that the type takes part in
    given : an instance, or a function without arguments that makes one

    Raises
    ------
    TypeError : if it is no instance of a type that takes part, or tells neither its dense form nor its shape and dtype
    """

    def __init__(self, protocol: DispatchProtocol, given: Any) -> None:
        self.protocol = protocol
        made_by_call = callable(given) and not protocol.types.participates(type(given))
        self.make: Callable[[], Any] = given if made_by_call else partial(anew, given)
        value = self.make()
        self.cls = type(value)
        if not protocol.types.participates(self.cls):
            raise TypeError(
                f"coverage: a sample must be an instance of an array type, or a function without arguments that makes "
                f"one; found {value!r}"
            )
        self.to_dense = _dense_maker(protocol, self.cls)
        described = value if self.to_dense is None else self.to_dense(value)
        try:
            self.shape: Shape = tuple(described.shape)
            self.dtype: Any = described.dtype
        except AttributeError:
            raise TypeError(
                f"coverage: {type_name(self.cls)} has neither a dense form nor shape and dtype, so no call can be made "
                f"for it; give it to_dense(), or shape and dtype"
            ) from None

    @property
    def text(self) -> str:
        """Type, shape and, if it is not float64, dtype."""
        dtype = "" if self.dtype == np.float64 else f" {self.dtype}"
        return f"{type_name(self.cls)}{list(self.shape)}{dtype}"

    def plain(self) -> Any:
        """Return the plain tensor of the same values; one of the same shape and dtype where there is no dense form."""
        if self.to_dense is not None:
            return self.to_dense(self.make())
        drawn = Draw(self.shape, content=content_of(self.dtype)).make(np.random.default_rng(0))
        return self.protocol.types.wrap(np.asarray(drawn, dtype=self.dtype))

    def operand(self, own: bool) -> Operand:
        """Return this sample as an argument."""
        return Operand(self.text, own, self.cls, self.make, self.plain)


def subjects_of(protocol: DispatchProtocol, given: Any) -> list[Subject]:
    """Return the sample that is given, or those that a strategy of Hypothesis gives."""
    found = drawn(given, lambda value: Subject(protocol, value).plain()) if is_strategy(given) else [given]
    return [Subject(protocol, one) for one in found]


def _dense_maker(protocol: DispatchProtocol, cls: type) -> Callable[[Any], Any] | None:
    """Return what makes a plain tensor of an instance; those of subclasses of the plain type share their array."""
    maker = protocol.types.to_dense(cls)
    if maker is None and protocol.types.takes_default(cls):
        return lambda value: protocol.types.wrap(value.array)
    return maker


@dataclass(frozen=True, eq=False)
class Call:
    """A call to be made: operands stand in the places of its arrays.

    Attributes
    ----------
    operation : that is called
    args, kwargs : of the call
    """

    operation: Overridable
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def arguments(self, make: Callable[[Operand], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments with what `make` gives for each operand."""
        return tuple(_filled(arg, make) for arg in self.args), {k: _filled(v, make) for k, v in self.kwargs.items()}

    def operands(self) -> list[Operand]:
        """Return the operands in the order of the arguments."""
        found: list[Operand] = []
        self.arguments(found.append)
        return found

    @cached_property
    def text(self) -> str:
        """The call as readers see it."""
        words = [_shown(arg) for arg in self.args] + [f"{k}={_shown(v)}" for k, v in self.kwargs.items()]
        return f"{self.operation.name}({', '.join(words)})"

    @property
    def mixed(self) -> bool:
        """Whether it has an array of another array type than the one that is measured."""
        protocol = self.operation.protocol
        others = [one.cls for one in self.operands() if not one.own and one.cls is not protocol.types.base]
        return any(map(protocol.types.participates, others))

    @cached_property
    def on_plain(self) -> Any:
        """Result and arguments of the same call on plain tensors, computed at the first request."""
        args, kwargs = self.arguments(lambda operand: operand.plain())
        return self.operation.function(*args, **kwargs), (args, kwargs)

    def is_valid(self) -> bool:
        """Return whether plain tensors take the call."""
        try:
            _ = self.on_plain
        except Exception:  # noqa: BLE001  # whatever a guessed argument meets shows that the guess was wrong
            return False
        return True


def _filled(value: Any, make: Callable[[Operand], Any]) -> Any:
    if isinstance(value, Operand):
        return make(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_filled(member, make) for member in value)
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Operand):
        return value.text
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        inner = ", ".join(map(_shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return "..." if value is Ellipsis else repr(value)
