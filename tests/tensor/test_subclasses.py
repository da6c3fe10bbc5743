"""Subclasses of `Tensor`: their type and attributes go along with them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.protocol.overridable import of


class Unit(dk.Tensor):
    """Has a unit, which it makes of those of all sources."""

    unit: str = ""

    def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
        self.op = op
        self.sources = sources
        self.unit = ".".join(source.unit for source in sources if isinstance(source, Unit))


class Named(dk.Tensor):
    """Has attributes and leaves them to the default."""


class Other(dk.Tensor):
    pass


class Child(Named):
    pass


def unit(data: Any, name: str) -> Unit:
    made = Unit(data)
    made.unit = name
    return made


def named(data: Any, **attributes: Any) -> Named:
    made = Named(data)
    made.__dict__.update(attributes)
    return made


A, B, PLAIN = unit([1.0, 2.0], "a"), unit([3.0, 4.0], "b"), dk.ones(2)

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "operator": (lambda: A + B, "a.b"),
    "operator with a number": (lambda: A + 1, "a"),
    "number first": (lambda: 1 + A, "a"),
    "plain tensor": (lambda: A * PLAIN, "a"),
    "plain tensor first": (lambda: PLAIN * A, "a"),
    "NumPy first": (lambda: np.ones(2) * A, "a"),
    "NumPy scalar first": (lambda: np.float64(2) * A, "a"),
    "function": (lambda: dk.exp(A), "a"),
    "method": (lambda: A.sum(0), "a"),
    "whole reduction": (lambda: A.sum(), "a"),
    "comparison": (lambda: A > B, "a.b"),
    "index": (lambda: A[0], "a"),
    "slice": (lambda: A[:1], "a"),
    "array index": (lambda: A[[0]], "a"),
    "reshape": (lambda: A.reshape(2, 1), "a"),
    "property": (lambda: A.reshape(2, 1).T, "a"),
    "matmul": (lambda: A @ B, "a.b"),
    "sequence": (lambda: dk.concat([A, PLAIN, B]), "a.b"),
    "stack": (lambda: dk.stack([A, B]), "a.b"),
    "where": (lambda: dk.where(dk.tensor([True, False]), A, B), "a.b"),
    "several outputs": (lambda: dk.unstack(A)[1], "a"),
    "keyword": (lambda: dk.clip(A, 0.0, B), "a.b"),
    "composite": (lambda: dk.std(A), "a"),
    "conversion": (lambda: A.float(), "a"),
    "in the likeness": (lambda: dk.zeros_like(A), "a"),
    "clone": (lambda: A.clone(), "a"),
    "decomposition": (lambda: dk.linalg.slogdet(unit([[2.0, 0.0], [0.0, 1.0]], "a")).logabsdet, "a"),
}


@pytest.mark.parametrize("name", CALLS)
def test_type_and_attributes_go_through_every_form_of_call(name: str) -> None:
    call, expected = CALLS[name]
    result = call()
    assert type(result) is Unit
    assert result.unit == expected


def test_finalize_gets_the_operation_and_all_sources() -> None:
    result: Any = A + PLAIN
    assert result.op is dk.add
    assert (
        result.sources == (A, PLAIN) or [s is t for s, t in zip(result.sources, (A, PLAIN), strict=True)] == [True] * 2
    )


def test_by_default_attributes_of_all_sources_go_along_and_the_leftmost_wins() -> None:
    result = named([1.0], x=1, y=2) + named([2.0], y=3, z=4)
    assert vars(result) == {"x": 1, "y": 2, "z": 4}


def test_gradients_flow_through_subclasses() -> None:
    x = Unit([1.0, 2.0], requires_grad=True)
    (x * x * B).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 16.0]


def test_siblings_go_left_to_right() -> None:
    assert type(Named([1.0]) + Other([1.0])) is Named
    assert type(Other([1.0]) + Named([1.0])) is Other
    assert type(dk.concat([PLAIN, Other([1.0]), Named([1.0])])) is Other


def test_a_subclass_goes_before_its_superclass() -> None:
    assert type(Named([1.0]) + Child([1.0])) is Child
    assert type(Child([1.0]) + Named([1.0])) is Child


def test_a_rule_for_a_pair_of_siblings_decides() -> None:
    with dk.local_registrations():

        @dk.implements(dk.add)
        def add_siblings(x1: Named, x2: Other, /) -> Any:
            return Other(x2.array - x1.array)

        result: Any = Named([1.0]) + Other([3.0])
        assert type(result) is Other
        assert result.tolist() == [2.0]


def test_a_higher_priority_goes_first() -> None:
    class Low(dk.Tensor):
        pass

    class High(dk.Tensor):
        pass

    dk.register_type(High, priority=1)
    result: Any = Low([1.0]) + High([1.0])
    assert type(result) is High


def test_in_place_operations_keep_the_object() -> None:
    x: Any = named([1.0], tag=1)
    same = x
    x += Other([1.0])
    x.exp_()
    x[0] = 2.0
    assert x is same
    assert type(x) is Named
    assert x.tag == 1  # type: ignore[attr-defined]


def test_detach_and_data_keep_type_and_attributes() -> None:
    x = named([1.0], tag=1)
    for view in (x.detach(), x.data):
        assert type(view) is Named
        assert view.tag == 1  # type: ignore[attr-defined]


class Logged(dk.Tensor):
    """Notes what it is asked, and leaves the answer to `Tensor`."""

    calls: list[tuple[Any, tuple[type, ...], int, dict[str, Any]]] = []  # noqa: RUF012

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        cls.calls.append((func, types, len(args), dict(kwargs or {})))
        return super().__tensor_function__(func, types, args, kwargs)


def test_a_subclass_can_override_and_leave_the_rest_to_super() -> None:
    x: Any = Logged([1.0, 2.0])
    Logged.calls.clear()
    results = [x.sum(0), x + 1, 1 + x, x[0], x.T, dk.concat([dk.ones(1), x]), PLAIN + x]
    assert [type(r) for r in results] == [Logged] * 7
    functions = [call[0] for call in Logged.calls]
    assert functions == [dk.sum, dk.add, dk.add, dk.getitem, dk.t, dk.concat, dk.add]
    assert Logged.calls[0][1:] == ((Logged,), 1, {"axis": 0})
    assert Logged.calls[5][1] == (dk.Tensor, Logged)


def test_indices_of_a_subclass_take_the_short_path_until_something_overrides_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operation: Any = of(dk.getitem)
    x, index = unit(np.arange(6.0).reshape(2, 3), "a"), unit(dk.asarray([1, 0]), "b")
    keys = (0, (slice(None), 1), [True, False], np.asarray([1]), index, (index, ..., None))
    expected = [(x[key].tolist(), x[key].unit, x[key].op, x[key].sources) for key in keys]
    assert [one[1] for one in expected] == ["a"] * 4 + ["a.b"] * 2
    y = named([1.0, 2.0]).requires_grad_()
    _ = y[0]
    with monkeypatch.context() as patch:
        patch.setattr(operation.implementation, "body", None)
        patch.setattr(operation.parameters, "key", None)  # of which the general path makes use
        assert [(x[key].tolist(), x[key].unit, x[key].op, x[key].sources) for key in keys] == expected
        y[0].backward()
    assert type(y.grad) is Named
    assert y.grad.tolist() == [1.0, 0.0]
    with dk.local_registrations():

        @dk.implements(dk.getitem)
        def getitem_unit(x: Unit, key: Any, /) -> Any:
            return "by a rule"

        assert x[0] == "by a rule"
    assert x[0].unit == "a"


def test_setting_an_item_is_asked_too() -> None:
    x: Any = Logged([1.0, 2.0])
    Logged.calls.clear()
    x[0] = 5.0
    assert [call[0] for call in Logged.calls] == [dk.setitem]
    assert x.tolist() == [5.0, 2.0]


def test_attributes_of_the_tensor_never_dispatch() -> None:
    x: Any = Logged([1.0, 2.0])
    Logged.calls.clear()
    _ = (x.shape, x.dtype, x.ndim, x.size, x.device, x.grad, x.requires_grad, x.tolist(), repr(x))
    assert Logged.calls == []


def test_tensor_is_the_default_of_a_subclass_that_declines() -> None:
    class Refuses(dk.Tensor):
        @classmethod
        def __tensor_function__(
            cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            return NotImplemented

    assert dk.exp(Refuses([0.0])).tolist() == [1.0]


def test_as_subclass_shares_memory_and_graph() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).as_subclass(Named)
    assert type(y) is Named
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="as_subclass takes a subclass of Tensor, not <class 'int'>"):
        dk.ones(1).as_subclass(int)  # type: ignore[arg-type]


def test_the_gradient_of_a_subclass_has_the_leafs_shape() -> None:
    x = Named([[1.0, 2.0]], requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (1, 2)


def test_the_gradient_of_a_subclass_has_its_type_and_attributes() -> None:
    x = named([1.0, 2.0], unit="m")
    x.requires_grad = True
    y = x * x
    y.retain_grad()
    y.sum().backward()
    x_grad, y_grad = x.grad, y.grad
    assert type(x_grad) is Named
    assert type(y_grad) is Named
    assert x_grad.unit == "m"  # type: ignore[attr-defined]
    assert x.grad is x_grad
    assert x_grad.tolist() == [2.0, 4.0]
    x.sum().backward()
    assert type(x.grad) is Named
    assert x.grad.tolist() == [3.0, 5.0]


def test_what_changes_the_gradient_of_a_subclass_is_seen() -> None:
    x = Named([1.0, 2.0], requires_grad=True)
    x.sum().backward()
    assert x.grad is not None
    x.grad *= 3
    x.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    x.grad = None
    assert x.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_a_subclass_are_given_its_type(create_graph: bool) -> None:
    x = named([1.0, 2.0], unit="m")
    x.requires_grad = True
    y = x * x
    seen: list[Any] = []
    x.register_hook(seen.append)
    y.register_hook(lambda g: g * 2)
    y.register_hook(seen.append)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad))
    y.sum().backward(create_graph=create_graph)
    assert [(type(g), g.unit) for g in seen] == [(Named, "m")] * 3
    assert [g.tolist() for g in seen] == [[2.0, 2.0], [4.0, 8.0], [4.0, 8.0]]
    assert [g.requires_grad for g in seen] == [False, *[create_graph] * 2]


def test_gradients_of_a_subclass_can_be_differentiated() -> None:
    x = Named([1.0, 2.0], requires_grad=True)
    (g,) = dk.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = dk.autograd.grad(g.sum(), x)
    assert (type(g), type(second)) == (Named, Named)
    assert second.tolist() == [6.0, 12.0]
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not None
    x.grad.sum().backward(inputs=x)
    assert x.grad.tolist() == [3.0 + 6.0, 12.0 + 12.0]


def test_a_hook_does_not_keep_a_subclass_alive() -> None:
    x = Named([1.0], requires_grad=True)
    x.register_hook(lambda g: None)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_a_class_with_results_of_another_has_gradients_of_that() -> None:
    weight = dk.nn.Parameter(dk.ones(2))
    seen: list[Any] = []
    weight.register_hook(seen.append)
    (weight * 2).sum().backward()
    assert [type(weight.grad), *map(type, seen)] == [dk.Tensor] * 2
