"""Dask arrays inside tensors: nothing is computed before somebody asks for values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from tests.waiting import refuse

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytest.importorskip("array_api_compat")
F = dk.nn.functional
A = np.arange(12.0).reshape(4, 3) + 1
CALLS: dict[str, Callable[[Any], Any]] = {
    "exp": dk.exp,
    "multiply": lambda x: x * 2.0 * x,
    "divide": lambda x: 1 / x,
    "where": lambda x: dk.where(x > 2, x, 0.0),
    "relu": F.relu,
    "gelu": F.gelu,
    "sum": lambda x: dk.sum(x, axis=0),
    "mean": lambda x: x.mean(),
    "max": lambda x: dk.max(x, axis=1),
    "std": lambda x: x.std(),
    "logsumexp": lambda x: dk.logsumexp(x, axis=1),
    "softmax": lambda x: F.softmax(x, axis=-1) * x,
    "matmul": lambda x: x.T @ x,
    "matmul, a vector": lambda x: x @ x[0],
    "linear": lambda x: F.linear(x, x),
    "slices": lambda x: x[1:, 0],
    "concat": lambda x: dk.concat([x, x]),
    "broadcasting": lambda x: x + x[0],
    "norm": dk.linalg.norm,
}


@pytest.fixture(autouse=True)
def own_library() -> Iterator[None]:
    known = foreign.copy()
    yield
    foreign[:] = known


def lazy(array: Any = A) -> Any:
    return da.from_array(array, chunks=2)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_computed_when_asked_for(name: str) -> None:
    x = dk.Tensor(lazy(), requires_grad=True)
    plain = dk.tensor(A, requires_grad=True)
    with dask.config.set(scheduler=refuse):
        y = CALLS[name](x)
        y.sum().backward()
        assert x.grad is not None
        assert type(y.array) is type(x.grad.array) is da.Array
    want = CALLS[name](plain)
    want.sum().backward()
    assert plain.grad is not None
    np.testing.assert_allclose(y.detach().numpy(), want.detach().numpy())
    np.testing.assert_allclose(x.grad.numpy(), plain.grad.numpy())


@pytest.mark.parametrize(
    "make",
    [
        dk.asarray,
        dk.tensor,
        dk.Tensor,
        lambda x: dk.data.TensorDataset(x).tensors[0],
        lambda x: dk.asarray(x, dtype=dk.float32),
        lambda x: dk.asarray(x, copy=True),
    ],
)
def test_a_tensor_of_a_dask_array_holds_it(make: Callable[[Any], Any]) -> None:
    with dask.config.set(scheduler=refuse):
        x = make(lazy())
        assert type(x.array) is da.Array
        assert repr(x).startswith("tensor(dask.array<")
        assert x._repr_html_().startswith("<pre>tensor(dask.array&lt;")
        assert x.contiguous() is x


def test_values_are_computed_where_they_are_asked_for() -> None:
    x = dk.Tensor(lazy())
    assert x.tolist() == A.tolist()
    assert x.sum().item() == A.sum()
    assert bool(x[0, 0] == 1)
    np.testing.assert_array_equal(np.asarray(x), A)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), A)


def test_a_change_in_place_gives_a_tensor_another_dask_array() -> None:
    given = lazy()
    x = dk.Tensor(given)
    with dask.config.set(scheduler=refuse):
        x += 1
        x[0] = 1.0
    np.testing.assert_array_equal(x.numpy(), [[1.0] * 3, *(A[1:] + 1)])
    np.testing.assert_array_equal(given.compute(), A)
    with pytest.raises(TypeError, match=r"^add_: arrays of dask\.array cannot be changed, only replaced"):
        x[0].add_(1)


def test_arrays_as_indices_are_refused_instead_of_computed() -> None:
    places = dk.Tensor(lazy(np.asarray([0, 1])))
    x = dk.Tensor(lazy(), requires_grad=True)
    with dask.config.set(scheduler=refuse):
        with pytest.raises(
            NotImplementedError, match=r"take integers and slices as indices.* call \.compute\(\) first"
        ):
            x[places]
        y = dk.take(x, places, axis=0)
        with pytest.raises(NotImplementedError, match=r"call \.compute\(\) first"):
            y.sum().backward()


def test_a_mask_of_the_whole_array_assigns_one_value_and_computes_nothing() -> None:
    for value in (0.5, dk.Tensor(lazy(np.asarray(0.5)))):
        x, tracked = dk.Tensor(lazy()), dk.Tensor(lazy(), requires_grad=True)
        with dask.config.set(scheduler=refuse):
            x[x > 6] = value
            y = tracked * 2
            y[tracked > 6] = value
            y.sum().backward()
            with pytest.raises(NotImplementedError, match=r"call \.compute\(\) first"):
                x[x > 6] = dk.Tensor(lazy(np.arange(6.0)))
        np.testing.assert_array_equal(x.numpy(), np.where(A > 6, 0.5, A))
        np.testing.assert_array_equal(y.detach().numpy(), np.where(A > 6, 0.5, 2 * A))
        assert tracked.grad is not None
        np.testing.assert_array_equal(tracked.grad.numpy(), np.where(A > 6, 0.0, 2.0))


def test_other_arrays_than_numpys_do_not_mix_with_dasks() -> None:
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(dk.MixedArraysError, match=r"one array is of dask\.array, another of array_api_strict on"):
        dk.Tensor(lazy()) + dk.Tensor(strict.ones((4, 3)))
    assert isinstance((dk.Tensor(lazy()) + dk.ones((4, 3))).array, da.Array)
