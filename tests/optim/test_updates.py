"""How parameters are changed: arrays of other libraries, subclasses and modes that want to see the operations."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

MAKERS: list[Any] = [
    (dk.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}),
    (dk.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    (dk.optim.Adam, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    (dk.optim.AdamW, {"lr": 0.1}),
    (dk.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    (dk.optim.Adadelta, {"lr": 0.1, "weight_decay": 0.1}),
    (dk.optim.Adamax, {"lr": 0.1}),
    (dk.optim.NAdam, {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    (dk.optim.RAdam, {"lr": 0.1, "betas": (0.5, 0.6)}),
    (dk.optim.ASGD, {"lr": 0.1, "t0": 1}),
    (dk.optim.Rprop, {"lr": 0.1}),
]
every = pytest.mark.parametrize(("make", "options"), MAKERS, ids=str)


class Watched(dk.Tensor):
    """Has every operation on it noted."""

    seen: list[str] = []  # noqa: RUF012 of the class, cleared by the tests

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        cls.seen.append(func.__name__)
        return super().__tensor_function__(func, types, args, kwargs)


def expected(make: Any, options: Any, start: Any, g: Any, steps: int = 3) -> Any:
    p = dk.tensor(start, requires_grad=True)
    optimizer = make([p], **options)
    for _ in range(steps):
        p.grad = dk.tensor(g)
        optimizer.step()
    return p.detach().numpy()


START, GRADIENT = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[0.1, 0.2], [-0.3, 0.4]])


@every
def test_a_subclass_with_a_protocol_method_sees_the_operations(make: Any, options: Any) -> None:
    p = Watched(START.copy(), requires_grad=True)
    optimizer = make([p], **options)
    for _ in range(3):
        p.grad = dk.tensor(GRADIENT)
        Watched.seen.clear()
        optimizer.step()
        assert "subtract" in Watched.seen
    assert type(p) is Watched
    assert p.requires_grad
    assert p.is_leaf
    np.testing.assert_allclose(p.array, expected(make, options, START, GRADIENT), rtol=1e-12)
    assert p._version > 0


@every
def test_a_mode_sees_the_operations(make: Any, options: Any) -> None:
    class Names(dk.TensorFunctionMode):
        def __init__(self) -> None:
            self.seen: set[str] = set()

        def __tensor_function__(
            self, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
        ) -> Any:
            self.seen.add(func.__name__)
            return func(*args, **kwargs)

    p = dk.tensor(START, requires_grad=True)
    optimizer = make([p], **options)
    for _ in range(3):
        p.grad = dk.tensor(GRADIENT)
        with Names() as names:
            optimizer.step()
        assert {"multiply", "subtract"} <= names.seen
        assert p.grad.tolist() == GRADIENT.tolist()
    np.testing.assert_allclose(p.array, expected(make, options, START, GRADIENT), rtol=1e-12)


@every
def test_complex_subclasses(make: Any, options: Any) -> None:
    start, g = START + 1j * GRADIENT, GRADIENT - 2j * START
    p = Watched(start.copy(), requires_grad=True)
    optimizer = make([p], **options)
    for _ in range(3):
        p.grad = dk.tensor(g)
        optimizer.step()
    np.testing.assert_allclose(p.array, expected(make, options, start, g), rtol=1e-12)


@every
def test_arrays_of_another_library(make: Any, options: Any) -> None:
    strict = pytest.importorskip("array_api_strict")
    p = dk.Tensor(strict.asarray(START.copy()), requires_grad=True)
    y = (p * p).sum()
    optimizer = make([p], **options)
    for _ in range(3):
        p.grad = dk.Tensor(strict.asarray(GRADIENT))
        optimizer.step()
    assert type(p.array) is type(strict.asarray(START))
    np.testing.assert_allclose(np.asarray(p.array), expected(make, options, START, GRADIENT), rtol=1e-12)
    with pytest.raises(dk.errors.InplaceError):
        y.backward()


@every
def test_arrays_that_cannot_be_changed_are_replaced(make: Any, options: Any) -> None:
    da = pytest.importorskip("dask.array")
    start = da.from_array(START.copy(), chunks=1)
    p = dk.Tensor(start, requires_grad=True)
    assert p.array is start
    optimizer = make([p], **options)
    for _ in range(3):
        p.grad = dk.Tensor(da.from_array(GRADIENT, chunks=1))
        optimizer.step()
    assert type(p.array) is da.Array
    assert p.array is not start
    np.testing.assert_array_equal(start.compute(), START)
    np.testing.assert_allclose(np.asarray(p.array), expected(make, options, START, GRADIENT), rtol=1e-12)


def test_a_gradient_of_another_dtype_takes_the_parameters() -> None:
    p = dk.tensor([1.0, 2.0], dtype=dk.float32, requires_grad=True)
    p.grad = dk.tensor([0.5, 0.5])
    dk.optim.SGD([p], lr=1.0, momentum=0.9).step()
    assert (p.tolist(), p.dtype) == ([0.5, 1.5], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@every
def test_dtypes_stay(make: Any, options: Any, dtype: str) -> None:
    p = dk.tensor(START, dtype=getattr(dk, dtype), requires_grad=True)
    p.grad = dk.tensor(GRADIENT, dtype=getattr(dk, dtype))
    optimizer = make([p], **options)
    optimizer.step()
    optimizer.step()
    assert str(p.dtype) == dtype
    buffers = {name: str(kept.dtype) for name, kept in optimizer.state[p].items() if name not in optimizer._counters}
    assert set(buffers.values()) <= {dtype}


@pytest.mark.parametrize(
    ("make", "options"),
    [
        *MAKERS,
        (dk.optim.RMSprop, {"lr": 0.1, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
        (dk.optim.RMSprop, {"lr": 0.1, "centered": True}),
        (dk.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ],
    ids=str,
)
def test_a_formula_returns_all_that_it_changes_for_arrays_that_cannot_be_changed(make: Any, options: Any) -> None:
    p, g = dk.tensor([1.0]), dk.tensor([0.5])
    optimizer = make([p], **options)
    options = SimpleNamespace(**optimizer.param_groups[0])
    names = optimizer._buffers_for(options)
    counters = {name: optimizer._start_of(name, options) or 0.0 for name in optimizer._counters}
    # Which, as JAX's arrays, stay what they are.
    numbers: Any = [np.float64(1.0), *(np.float64(optimizer._start_of(name, options) or 0.0) for name in names)]
    for step in range(1, 4):
        p.grad = g
        optimizer.step()
        given = SimpleNamespace(**optimizer.param_groups[0], is_first=step == 1)
        counters = {name: optimizer._count(name, value, given) for name, value in counters.items()}
        numbers = make._formula(np, given, numbers[0], np.float64(0.5), *numbers[1:])
        buffers = [optimizer.state[p][name] for name in names]
        np.testing.assert_allclose(numbers, [tensor.item() for tensor in (p, *buffers)], rtol=1e-12)
