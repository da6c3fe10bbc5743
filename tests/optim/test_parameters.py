"""The forms in which parameters come, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


def leaf(*values: float) -> Any:
    return dk.tensor(list(values), requires_grad=True)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    with dk.local_registrations():
        yield


def params(optimizer: Any) -> list[list[Any]]:
    return [group["params"] for group in optimizer.param_groups]


def same(found: list[list[Any]], *expected: list[Any]) -> bool:
    return all(a is b for one, two in zip(found, expected, strict=True) for a, b in zip(one, two, strict=True))


def test_tensors_and_groups() -> None:
    p, q, r = leaf(1.0), leaf(2.0), leaf(3.0)
    assert same(params(dk.optim.SGD([p, q])), [p, q])
    assert same(params(dk.optim.SGD(iter([p, q]))), [p, q])
    given = {"params": p, "lr": 0.5, "label": "first"}
    optimizer = dk.optim.SGD([given, {"params": (x for x in (q, r))}], lr=0.1)
    assert same(params(optimizer), [p], [q, r])
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1]
    assert optimizer.param_groups[0]["label"] == "first"
    assert given == {"params": p, "lr": 0.5, "label": "first"}


def test_names() -> None:
    p, q, r = leaf(1.0), leaf(2.0), leaf(3.0)
    optimizer = dk.optim.SGD([("w", p), ("b", q)], lr=0.1)
    assert same(params(optimizer), [p, q])
    assert optimizer.param_groups[0]["param_names"] == ["w", "b"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]
    with pytest.raises(ValueError, match=r"cannot add param group without names .*parameter group 1 of SGD"):
        optimizer.add_param_group({"params": [r]})
    with pytest.raises(ValueError, match=r"Some param names are missing: parameter 1 \(parameter group 0 of SGD\)"):
        dk.optim.SGD([("w", p), q])
    unnamed = dk.optim.SGD([p], lr=0.1)
    with pytest.raises(ValueError, match="cannot add param group with names"):
        unnamed.add_param_group({"params": [("r", r)]})
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["param_names"]
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["param_names"] == ["w", "b"]


def test_declared_types_stand_for_the_tensors_in_them() -> None:
    @dk.array_type(fields=("n", "value"))
    class ScaledIdentity:
        def __init__(self, n: int, value: Any) -> None:
            self.n, self.value = n, value

    @dk.array_type()
    @dataclass
    class Sum:
        parts: list[Any]
        labels: Any
        note: str = ""

    value, w, index = dk.tensor(2.0, requires_grad=True), leaf(1.0, 2.0), dk.tensor([1, 2])
    scaled = ScaledIdentity(2, value)
    total = Sum([scaled, w], index, "a note")
    assert same(params(dk.optim.SGD([scaled])), [value])
    assert same(params(dk.optim.SGD([{"params": scaled}, {"params": [w]}])), [value], [w])
    optimizer = dk.optim.Adam([("weight", total)], lr=0.5)
    assert same(params(optimizer), [value, w])
    assert optimizer.param_groups[0]["param_names"] == ["weight.parts.0.value", "weight.parts.1"]
    value.grad, w.grad = dk.tensor(1.0), dk.ones(2)
    optimizer.step()
    assert scaled.value.item() == pytest.approx(1.5)
    with pytest.raises(ValueError, match=r"appear more than once in a parameter group: parameter 1.value"):
        dk.optim.SGD([value, scaled])
    with pytest.raises(TypeError, match=r"params is ScaledIdentity, which holds no floating-point tensor: parameter 0"):
        dk.optim.SGD([ScaledIdentity(2, 2.0)])
    with pytest.raises(ValueError, match=r"non-leaf Tensor: w.value has <MultiplyBackward> \(parameter group 0 of SGD"):
        dk.optim.SGD([("w", ScaledIdentity(2, value * 2.0))])


def test_subclasses_of_tensor() -> None:
    class Weight(dk.Tensor):
        pass

    p = Weight([1.0, 2.0], requires_grad=True)
    optimizer = dk.optim.Adam([p], lr=0.5)
    (p * p).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(p.detach().numpy(), [0.5, 1.5], rtol=1e-7)
    assert type(p) is Weight


TEXT = "optimizer can only optimize Tensors, but one of the params is {}: parameter {} .parameter group 0 of SGD."


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (leaf(1.0), TypeError, "should be an iterable of Tensors or dicts, but got Tensor"),
        (dk.types.ScalarTensor(2, 1.0), TypeError, "should be an iterable of Tensors or dicts, but got ScalarTensor"),
        ([], ValueError, "optimizer got an empty parameter list"),
        (3, TypeError, r"params must be an iterable of tensors, but got int \(SGD\)"),
        ({leaf(1.0)}, TypeError, "the ordering of tensors in sets will change between runs"),
        ([{"params": {leaf(1.0)}}], TypeError, r"Please use a list instead. \(parameter group 0 of SGD\)"),
        ([leaf(1.0), 2.0], TypeError, TEXT.format("float", 1)),
        ([np.ones(2)], TypeError, TEXT.format("numpy.ndarray", 0)),
        ([[leaf(1.0)]], TypeError, TEXT.format("list", 0)),
        ({"params": [leaf(1.0)]}, TypeError, TEXT.format("str", 0)),
        ([{"params": [leaf(1.0)]}, leaf(1.0)], TypeError, "param_group must be a dict, but got <class .*Tensor'>"),
        ([{"param": [leaf(1.0)]}], ValueError, r"needs 'params': parameter group 0 of SGD has \['param'\]"),
        (
            [leaf(1.0), leaf(1.0) * 2],
            ValueError,
            r"can't optimize a non-leaf Tensor: parameter 1 has <MultiplyBackward>",
        ),
    ],
)
def test_what_cannot_be_optimised(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dk.optim.SGD(given)


def test_a_non_leaf_that_retains_its_gradient_will_do() -> None:
    h = leaf(1.0) * 2
    h.retain_grad()
    assert same(params(dk.optim.SGD([h])), [h])


def test_duplicates() -> None:
    p, q = leaf(1.0), leaf(2.0)
    with pytest.raises(ValueError, match=r"more than once .*: parameter 2 \(parameter group 0 of SGD"):
        dk.optim.SGD([p, q, p])
    with pytest.raises(ValueError, match=r"more than once .* b \(parameter group 1 of Adam\)"):
        dk.optim.Adam([{"params": [("p", p)]}, {"params": [("a", q), ("b", q)]}])
    optimizer = dk.optim.SGD([{"params": p}])
    with pytest.raises(
        ValueError,
        match=r"more than one parameter group: parameter 1 of parameter group 1 of SGD, of shape \(1,\), is in group 0",
    ):
        optimizer.add_param_group({"params": [q, p]})
    assert same(params(optimizer), [p])


NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("SGD", {"lr": -0.1}, "Invalid learning rate: -0.1 {}; it must not be negative"),
        ("SGD", {"lr": NAN}, "Invalid learning rate: nan {}"),
        ("SGD", {"momentum": -1.0}, "Invalid momentum value: -1.0 {}"),
        ("SGD", {"weight_decay": -1e-9}, "Invalid weight_decay value: -1e-09 {}"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening; {} momentum is 0"),
        (
            "SGD",
            {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
            "zero dampening; {} momentum is 0.9, dampening 0.1",
        ),
        ("Adam", {"lr": -0.1}, "Invalid learning rate: -0.1 {}"),
        ("Adam", {"eps": -1.0}, "Invalid epsilon value: -1.0 {}"),
        ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0 {}; it must be from 0 on and below 1"),
        ("Adam", {"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1: -0.1 {}"),
        ("Adam", {"betas": 0.9}, "Invalid betas: 0.9 {}; expected a pair of numbers"),
        ("AdamW", {"weight_decay": -0.1}, "Invalid weight_decay value: -0.1 {}"),
    ],
)
def test_options_out_of_range(name: str, options: dict[str, Any], message: str) -> None:
    make = getattr(dk.optim, name)
    with pytest.raises(ValueError, match=message.format(f"given to {name}")):
        make([leaf(1.0)], **options)
    with pytest.raises(ValueError, match=message.format(f"in parameter group 1 of {name}")):
        make([{"params": [leaf(1.0)]}, {"params": [leaf(2.0)], **options}])
    optimizer = make([leaf(1.0)])
    with pytest.raises(ValueError, match=message.format(f"in parameter group 1 of {name}")):
        optimizer.add_param_group({"params": [leaf(2.0)], **options})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("value", ["0.1", None, [0.1], dk.ones(2), 1j])
def test_options_that_are_no_numbers(value: Any) -> None:
    with pytest.raises(TypeError, match=r"Invalid learning rate: .* given to SGD; expected a number"):
        dk.optim.SGD([leaf(1.0)], lr=value)
