"""The library's own tensor classes rank as plain tensors: a subclass of a user beside them keeps its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch


class Tagged(dk.Tensor):
    """A subclass that carries an attribute."""

    tag: str


class Late(Tagged):
    """One that is asked after others."""


dk.array_type(priority=-5)(Late)

PLAIN: dict[str, Callable[[], Any]] = {
    "dk.Tensor": lambda: dk.ones(2),
    "as_torch.Tensor": lambda: torch.ones(2),
    "nn.Parameter": lambda: dk.nn.Parameter(dk.ones(2)),
    "as_torch.nn.Parameter": lambda: torch.nn.Parameter(torch.ones(2)),
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda x, y: x * y,
    "function": dk.add,
    "list": lambda x, y: dk.concat([x, y]),
    "three": lambda x, y: dk.where(dk.asarray([True, False]), x, y),
    "starred": lambda x, y: dk.einsum("i,i->i", x, y),
    "matrix product": lambda x, y: x @ y,
    "PyTorch's": lambda x, y: torch.add(x, y),
    "PyTorch's list": lambda x, y: torch.cat([x, y]),
}


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("cls", [Tagged, Late])
def test_a_subclass_keeps_its_type_in_either_order(make: Callable[[], Any], call: Any, cls: Any) -> None:
    tagged = cls([1.0, 2.0])
    tagged.tag = "t"
    for x, y in ((tagged, make()), (make(), tagged)):
        result = call(x, y)
        assert (type(result), result.tag) == (cls, "t")


def test_results_of_the_library_s_own_classes() -> None:
    makers = list(PLAIN.values())
    results = [[type(dk.add(left(), right())) for right in makers] for left in makers]
    plain, spelled = dk.Tensor, torch.Tensor
    assert results == [
        [plain, spelled, plain, spelled],
        [spelled] * 4,
        [plain, spelled, plain, spelled],
        [spelled] * 4,
    ]


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
def test_they_override_nothing(make: Callable[[], Any]) -> None:
    assert not dk.overrides.has_tensor_function((make(),))


def test_subclasses_of_them_are_of_users() -> None:
    class Mine(torch.Tensor):
        pass

    class Weight(dk.nn.Parameter):
        pass

    assert dk.overrides.has_tensor_function((Mine([1.0]),))
    assert dk.overrides.has_tensor_function((Weight(dk.ones(1)),))
    assert type(torch.ones(1) * Mine([1.0])) is Mine
    assert type(torch.ones(1) * dk.nn.Parameter(Mine([1.0]))) is Mine


def test_stubs_name_them_as_plain_tensors() -> None:
    @dk.array_type()
    class Refusing:
        pass

    with pytest.raises(dk.NoImplementationError) as caught:
        dk.add(torch.ones(2), Refusing())
    assert "def add_refusing(x1: dk.Tensor, x2: Refusing, /):" in caught.value.stub
