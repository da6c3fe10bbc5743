"""Attributes in slots of a subclass pass to what is computed, as those in a ``__dict__`` do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk


class Slotted(dk.Tensor):
    """A subclass whose attributes are in slots, one of them private."""

    __slots__ = ("__secret", "tag")

    tag: str

    def put(self, text: str) -> Slotted:
        self.tag = self.__secret = text
        return self

    def secret(self) -> str:
        return self.__secret


class Plain(dk.Tensor):
    """A subclass with a ``__dict__``."""

    other: str


def changed_in_place(x: Slotted) -> Any:
    y = Slotted([1.0, 2.0]).put("t")
    y += x
    return y


CALLS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + x,
    "reflected": lambda x: 1 + x,
    "beside a tensor": lambda x: dk.ones(2) + x,
    "beside another": lambda x: Plain([1.0, 2.0]) * x,
    "before another": lambda x: x * Plain([1.0, 2.0]),
    "getitem": lambda x: x[0],
    "several": lambda x: dk.split(x, 2)[1],
    "reduction": lambda x: x.sum(),
    "view": lambda x: x.view(2, 1),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "conversion": lambda x: x.float(),
    "likeness": dk.zeros_like,
    "parameter": dk.nn.Parameter,
    "of a parameter": lambda x: dk.nn.Parameter(x) * 2,
    "in place": changed_in_place,
    "grad": dk.func.grad(lambda x: (x * x).sum()),
    "vmap": dk.func.vmap(lambda x: x * 2),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_slots_pass_on(call: Callable[[Any], Any]) -> None:
    result = call(Slotted([1.0, 2.0]).put("t"))
    assert result.tag == "t"
    assert getattr(result, "_Slotted__secret") == "t"  # noqa: B009  # which is no name of this class's


def test_the_leftmost_wins_and_what_is_not_set_stays_so() -> None:
    left, right = Slotted([1.0]).put("left"), Slotted([1.0]).put("right")
    assert ((left + right).tag, (right + left).tag) == ("left", "right")
    bare = Slotted([1.0])
    assert (bare + right).tag == "right"
    assert not hasattr(bare + bare, "tag")


def test_classes_with_and_without_slots_meet() -> None:
    plain = Plain([1.0])
    plain.other = "o"
    slotted = Slotted([1.0]).put("t")
    assert vars(plain + slotted) == {"other": "o", "tag": "t", "_Slotted__secret": "t"}
    result = slotted + plain
    assert (type(result), result.tag) == (Slotted, "t")
