"""In-place operations: what is refused, what failures leave behind, what results are written back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import dispatchkit as dk
from tests.graph.test_leaves import leaf
from tests.programs.faults.running import faults, lines_of

ON_LEAF: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1),
    "multiply_": lambda x: x.__imul__(2),
    "exp_": lambda x: x.exp_(),
    "clip_": lambda x: x.clip_(0, 1),
    "setitem": lambda x: x.__setitem__(0, 1.0),
}


@pytest.mark.parametrize("name", ON_LEAF)
def test_a_leaf_that_requires_grad_is_not_changed(name: str) -> None:
    x = leaf(1.0, 2.0)
    message = (
        f"^{name}: a leaf tensor that requires grad cannot be changed in place while a graph is recorded; "
        r"change it inside no_grad\(\), or work on a copy$"
    )
    with pytest.raises(dk.AutogradError, match=message):
        ON_LEAF[name](x)
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0


@pytest.mark.parametrize("name", ON_LEAF)
def test_a_leaf_can_be_changed_inside_no_grad(name: str) -> None:
    x = leaf(0.25, 2.0)
    with dk.no_grad():
        ON_LEAF[name](x)
    assert x.is_leaf
    assert x.requires_grad
    assert x.tolist() != [0.25, 2.0]


def test_a_base_whose_views_are_gone_can_be_changed() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y[:1].sum()
    y *= 3
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 6.0]


def test_views_are_no_obstacle_where_nothing_is_recorded() -> None:
    t = dk.zeros(3)
    view = t[1:]
    t += 1
    view *= 5
    assert t.tolist() == [1.0, 5.0, 5.0]


FAILURES: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "shape": (ValueError, lambda t: t.__iadd__(dk.ones(3))),
    "growing shape": (ValueError, lambda t: t.__iadd__(dk.ones((5, 2)))),
    "NumPy shape": (ValueError, lambda t: t.__imul__(np.ones(3))),
    "recorded shape": (ValueError, lambda t: t.__iadd__(dk.ones((5, 2), requires_grad=True))),
    "dtype": (TypeError, lambda t: t.__iadd__(1j)),
    "recorded dtype": (TypeError, lambda t: t.__iadd__(dk.tensor(1j, requires_grad=True))),
    "assigned shape": (ValueError, lambda t: t.__setitem__(slice(None), dk.ones(3))),
    "index": (IndexError, lambda t: t.__setitem__(7, 1.0)),
    "recorded index": (IndexError, lambda t: t.__setitem__(7, dk.tensor(1.0, requires_grad=True))),
    "keyword": (TypeError, lambda t: t.clip_(nothing=1)),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_tensor_and_version_as_they_were(name: str) -> None:
    expected, change = FAILURES[name]
    t = dk.tensor([1.0, 2.0])
    t += 1
    with pytest.raises(expected):
        change(t)
    assert t.tolist() == [2.0, 3.0]
    assert t._version == 1
    assert t.grad_fn is None


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_the_graph_as_it_was(name: str) -> None:
    expected, change = FAILURES[name]
    x = leaf(1.0, 2.0)
    t = x * 2
    node = t.grad_fn
    with pytest.raises(expected):
        change(t)
    assert t.grad_fn is node
    (t * t).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8.0, 16.0]


def refuse(kind: str, flag: int) -> None:
    raise FloatingPointError(kind)


@pytest.mark.parametrize("action", ["warn", "raise", "call"])
@pytest.mark.parametrize("size", [2, 5000])
def test_a_floating_point_error_leaves_the_tensor_as_it_was(
    size: int, action: Literal["warn", "raise", "call"]
) -> None:
    t = dk.ones(size)
    with (
        warnings.catch_warnings(action="error"),
        np.errstate(all=action, call=refuse),
        pytest.raises((FloatingPointError, RuntimeWarning)),
    ):
        t /= 0
    assert t._version == 0
    assert bool((t == 1).all())


def test_the_message_of_a_shape_that_does_not_fit() -> None:
    t = dk.ones(2)
    with pytest.raises(ValueError, match=r"add_: .*\(5, 2\).*\(2,\)"):
        t += dk.ones((5, 2))


def test_the_message_of_a_dtype_that_does_not_fit() -> None:
    t = dk.tensor([1, 2])
    with pytest.raises(TypeError, match=r"add_: .*int64"):
        t += 0.5


def test_what_numpy_refuses_for_another_reason_is_not_called_a_shape() -> None:
    t = dk.tensor([1, 2])
    with pytest.raises(ValueError, match="negative integer powers"):
        t **= -1


CHANGES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda t: t.__iadd__(1),
    "method": lambda t: t.exp_(),
    "assignment": lambda t: t.__setitem__(0, 1.0),
    "filler": lambda t: t.zero_(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_read_only_memory_is_named(change: Callable[[Any], Any]) -> None:
    t = dk.broadcast_to(dk.ones(()), (2,))
    with pytest.raises(ValueError, match=r": the tensor's memory is read-only, as it is after broadcast_to and expand"):
        change(t)


@pytest.mark.parametrize("operator", ["__iadd__", "__isub__", "__imul__"])
def test_an_in_place_operator_gives_the_very_tensor(operator: str) -> None:
    t = dk.ones(2)
    assert getattr(t, operator)(dk.ones(2)) is t
    assert getattr(t, operator)(dk.ones(2, requires_grad=True)) is t


def test_methods_with_an_underscore_give_the_very_tensor() -> None:
    t: Any = dk.ones(2)
    assert t.add_(1).mul_(2).clip_(0, 3).exp_() is t
    assert t.zero_() is t
    assert t.fill_(3.0) is t
    assert t.copy_(np.array([1.0, 2.0])) is t
    assert t.tolist() == [1.0, 2.0]
    assert t.uniform_(5, 6) is t
    assert 5 <= t.min().item() <= t.max().item() < 6
    assert t.normal_() is t


def test_a_tensor_keeps_its_dtype() -> None:
    t = dk.ones(2, dtype=dk.float32)
    t += dk.ones(2)
    t *= np.float64(2)
    assert t.dtype == dk.float32
    assert t.tolist() == [4.0, 4.0]


def test_a_foreign_object_gets_its_turn() -> None:
    class Foreign:
        def __radd__(self, other: Any) -> str:
            return "mine"

    t: Any = dk.ones(2)
    t += Foreign()
    assert t == "mine"


@pytest.mark.parametrize(
    "name",
    [
        "an addition in place",
        "a multiplication of a view in place",
        "an assignment to elements",
        "an assignment of a tensor in the graph",
    ],
)
def test_a_change_in_place_that_is_interrupted_leaves_value_and_derivative_together(name: str) -> None:
    assert not faults(name, KeyboardInterrupt, range(1, lines_of(name) + 1))
