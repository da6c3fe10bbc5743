"""`copy`, `deepcopy` and pickle, of tensors and of subclasses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


class Tagged(dk.Tensor):
    tag: Any = None


class Built(dk.Tensor):
    """Its constructor takes more than data."""

    def __init__(self, data: Any, label: str) -> None:
        super().__init__(data)
        self.label = label


class Slotted(dk.Tensor):
    __slots__ = ("tag",)
    tag: Any


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


COPIES: dict[str, Callable[[Any], Any]] = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}


@pytest.mark.parametrize("name", COPIES)
def test_values_dtype_and_requires_grad_are_kept(name: str) -> None:
    for requires_grad in (True, False):
        x = dk.tensor([1.0, 2.0], dtype=dk.float32, requires_grad=requires_grad)
        made = COPIES[name](x)
        assert type(made) is dk.Tensor
        assert made.tolist() == [1.0, 2.0]
        assert made.dtype == dk.float32
        assert made.requires_grad is requires_grad


@pytest.mark.parametrize("name", COPIES)
def test_type_and_attributes_of_a_subclass_are_kept(name: str) -> None:
    x = Tagged([1.0], requires_grad=True)
    x.tag = {"a": 1}
    made = COPIES[name](x)
    assert type(made) is Tagged
    assert made.tag == {"a": 1}
    assert made.requires_grad


@pytest.mark.parametrize("name", COPIES)
def test_the_constructor_is_not_called(name: str) -> None:
    made = COPIES[name](Built([1.0], "mine"))
    assert type(made) is Built
    assert made.label == "mine"


@pytest.mark.parametrize("name", COPIES)
def test_attributes_in_slots_are_kept(name: str) -> None:
    x = Slotted([1.0])
    x.tag = 3
    assert COPIES[name](x).tag == 3


@pytest.mark.parametrize(("name", "shares"), [("copy", True), ("deepcopy", False), ("pickle", False)])
def test_memory(name: str, shares: bool) -> None:
    x = dk.tensor([1.0, 2.0])
    assert np.shares_memory(COPIES[name](x).array, x.array) is shares


def test_a_shallow_copy_shares_attributes_and_a_deep_one_does_not() -> None:
    x = Tagged([1.0])
    x.tag = [1]
    assert copy.copy(x).tag is x.tag
    assert copy.deepcopy(x).tag is not x.tag


def test_attributes_set_on_a_copy_stay_there() -> None:
    x = Tagged([1.0])
    made = copy.copy(x)
    made.tag = 1
    assert x.tag is None


def test_a_deep_copy_has_a_gradient_of_its_own() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    made = copy.deepcopy(x)
    assert made.grad is not None
    assert made.grad.tolist() == [2.0, 4.0]
    made.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_deep_copy_of_a_structure_keeps_what_is_one_tensor_one() -> None:
    x = dk.ones(1)
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert first is not x


def test_a_copy_of_a_result_is_outside_its_graph_or_part_of_it() -> None:
    x = dk.tensor([1.0], requires_grad=True)
    y = x * 2
    assert pickled(y).is_leaf
    copy.copy(y).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol(protocol: int) -> None:
    x = dk.reshape(dk.arange(6.0), (2, 3)).T
    assert pickle.loads(pickle.dumps(x, protocol)).tolist() == x.tolist()


def test_operations_can_be_pickled() -> None:
    for operation in (dk.add, dk.linalg.inv, dk.sum, dk.randn):
        assert pickled(operation) is operation
