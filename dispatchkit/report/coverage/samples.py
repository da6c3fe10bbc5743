"""Samples of types, which measured coverage makes its calls with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import type_name
from dispatchkit.testing.calls import Operand
from dispatchkit.testing.fitting import content_of
from dispatchkit.testing.instances import anew, drawn, is_strategy

__all__ = ["Shape", "TypeSample", "samples_of"]

Shape: TypeAlias = tuple[int, ...]


class TypeSample:
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
        return Operand(own, self.make, self.plain, self.text)


def samples_of(protocol: DispatchProtocol, given: Any) -> list[TypeSample]:
    """Return the sample that is given, or those that a strategy of Hypothesis gives."""
    found = drawn(given, lambda value: TypeSample(protocol, value).plain()) if is_strategy(given) else [given]
    return [TypeSample(protocol, one) for one in found]


def _dense_maker(protocol: DispatchProtocol, cls: type) -> Callable[[Any], Any] | None:
    """Return what makes a plain tensor of an instance; those of subclasses of the plain type share their array."""
    maker = protocol.types.to_dense(cls)
    if maker is None and protocol.types.takes_default(cls):
        return lambda value: protocol.types.wrap(value.array)
    return maker
