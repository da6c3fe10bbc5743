"""Fields that a class shows as read-only properties are held by the attributes behind them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError


@dk.array_type(fallback=dk.fallback.rewrap)
class Hidden:
    """Its content is read through properties."""

    def __init__(self, data: Any, scale: float = 2.0) -> None:
        self._data, self._scale = dk.asarray(data), scale

    @property
    def data(self) -> dk.Tensor:
        return self._data

    @property
    def scale(self) -> float:
        return self._scale


@dk.array_type(fallback=dk.fallback.rewrap)
class Slotted:
    """Its content is in slots, behind a property."""

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = dk.asarray(data)

    data = property(lambda self: self._data)


@dk.array_type(fallback=dk.fallback.rewrap)
class Counted:
    """One parameter is computed from the content, another value is cached."""

    def __init__(self, data: Any, count: int | None = None) -> None:
        self.data = dk.asarray(data)

    @property
    def count(self) -> int:
        return self.data.size

    @cached_property
    def total(self) -> dk.Tensor:
        return dk.sum(self.data)


@pytest.mark.parametrize("cls", [Hidden, Slotted, Counted])
def test_they_are_computed_copied_differentiated_and_trained(cls: Any) -> None:
    x = cls([1.0, 2.0])
    assert type(x + 1) is cls  # type: ignore[operator]
    assert (x + 1).data.tolist() == [2.0, 3.0]
    assert dk.clone(x).data.tolist() == [1.0, 2.0]
    gradient = dk.func.grad(lambda x: dk.sum(x.data * x.data))(x)
    assert (type(gradient), gradient.data.tolist()) == (cls, [2.0, 4.0])
    assert dk.nn.Parameter(x).data.requires_grad


def test_the_others_are_kept_and_printed_by_their_parameters() -> None:
    x: Any = Hidden([1.0, 2.0], 3.0)
    assert (x + 1).scale == 3.0
    assert repr(x) == "Hidden(data=tensor([1., 2.]), scale=3.0)"


def test_declaring_a_read_only_property_as_a_field_names_the_cure() -> None:
    class Wrong:
        data = property(lambda self: self._data)

    text = "Wrong name 'data', a read-only property; name the attribute behind it, as '_data'"
    with pytest.raises(RegistrationError, match=text):
        dk.array_type(fields=("data",))(Wrong)
