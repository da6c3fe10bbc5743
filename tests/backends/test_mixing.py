"""Tensors of NumPy's together with those of JAX and Dask, which take NumPy's arrays: values, gradients, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.types.structured import DiagonalTensor
from tests.waiting import refuse

X, W, B = np.arange(12.0).reshape(4, 3) / 10 - 0.4, np.arange(6.0).reshape(3, 2) / 5 - 0.3, np.asarray([0.2, -0.1])
Make = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    known = foreign.copy()
    yield
    foreign[:] = known


def in_double_precision() -> Any:
    """Return JAX, which computes in double precision from now on."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.fixture(params=["jax", "dask"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return what makes arrays of a library that takes NumPy's."""
    if request.param == "dask":
        da = pytest.importorskip("dask.array")
        pytest.importorskip("array_api_compat")
        return lambda values: da.from_array(np.asarray(values), chunks=2)
    return in_double_precision().numpy.asarray  # type: ignore[no-any-return]  # of a module


def loss(x: Any, w: Any, b: Any) -> Any:
    return (dk.tanh(x @ w + b) ** 2).sum()


def leaves_of(make: Make) -> tuple[Any, ...]:
    """Return a leaf of the library and two of NumPy's, as `loss` takes them."""
    return (dk.Tensor(make(X), requires_grad=True), *(dk.tensor(values, requires_grad=True) for values in (W, B)))


def agree(tensors: Any, wanted: Any) -> None:
    """Check values, and that each tensor is of the library of the input in its place: NumPy's but for the first."""
    for place, (y, want) in enumerate(zip(tensors, wanted, strict=True)):
        np.testing.assert_allclose(y.detach().numpy(), want.detach().numpy(), rtol=1e-12)
        assert (type(y.array) is np.ndarray) == (place > 0)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, other: x + other,
    "subtract": lambda x, other: other - x,
    "matmul": lambda x, other: x @ other.T,
    "matmul, reflected": lambda x, other: other.T @ x,
    "where": lambda x, other: dk.where(x > 0, x, other),
    "where, both numpy's": lambda x, other: dk.where(x > 0, other, other),
    "clip": lambda x, other: dk.clip(x, -other, other),
    "concat": lambda x, other: dk.concat([other, x]),
    "diff": lambda x, other: dk.diff(x, prepend=other),
    "logsumexp": lambda x, other: dk.logsumexp(dk.stack([x, other])),
    "linear": lambda x, other: dk.nn.functional.linear(x, other),
    "asarray": lambda x, other: dk.asarray([x, other]),
    "to": lambda x, other: dk.asarray(other).to(like=x.array),
    "like": lambda x, other: dk.asarray(other, like=x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("as_tensor", [True, False])
def test_calls_compute_in_the_library_that_takes_numpys_arrays(name: str, as_tensor: bool, make: Make) -> None:
    x, other = dk.Tensor(make(X)), np.full((4, 3), 0.5)
    call = CALLS[name]
    y = call(x, dk.tensor(other) if as_tensor else other)
    assert type(y.array) is type(x.array)
    np.testing.assert_allclose(y.numpy(), call(dk.tensor(X), dk.tensor(other)).numpy())


def test_gradients_come_back_to_the_library_of_each_leaf(make: Make) -> None:
    mixed, plain = leaves_of(make), leaves_of(np.asarray)
    for _ in range(2):  # the second is added to the first
        y = loss(*mixed)
        assert type(y.array) is type(mixed[0].array)
        y.backward()
        loss(*plain).backward()
        agree([x.grad for x in mixed], [x.grad for x in plain])
    assert all(x.grad.array.flags.writeable for x in mixed[1:])
    optimizer = dk.optim.SGD(mixed[1:], lr=0.1)
    optimizer.step()
    assert type(mixed[1].array) is np.ndarray


def test_gradients_of_gradients_come_back_too(make: Make) -> None:
    def second_order(leaves: Any) -> Any:
        slopes = dk.autograd.grad(loss(*leaves), leaves, create_graph=True)
        return slopes, dk.autograd.grad(sum((g.to(like=np.ones(1)) ** 2).sum() for g in slopes), leaves)

    for found, wanted in zip(second_order(leaves_of(make)), second_order(leaves_of(np.asarray)), strict=True):
        agree(found, wanted)


def test_the_derivatives_agree_with_differences(make: Make) -> None:
    x = dk.Tensor(make(X))
    w, b = (dk.tensor(values, requires_grad=True) for values in (W, B))
    assert dk.autograd.gradcheck(lambda w, b: loss(x, w, b), (w, b))
    assert dk.autograd.gradgradcheck(lambda w, b: loss(x, w, b), (w, b))


TRANSFORMED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jvp": lambda x, w, b: dk.func.jvp(lambda w: loss(x, w, b), (w,), (w,))[1],
    "hessian": lambda x, w, b: dk.func.hessian(lambda b: loss(x, w, b))(b),
    "vmap": lambda x, w, b: dk.func.vmap(loss, in_dims=(0, None, None))(x, w, b),
    "vmap of grad": lambda x, w, b: dk.func.vmap(dk.func.grad(loss, argnums=1), in_dims=(0, None, None))(x, w, b),
    "vmap over numpy's": lambda x, w, b: dk.func.vmap(loss, in_dims=(None, 1, 0))(x, w, b),
    "grad of grad": lambda x, w, b: dk.func.grad(lambda b: (dk.func.grad(loss, argnums=1)(x, w, b) ** 2).sum())(b),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations(name: str, make: Make) -> None:
    call = TRANSFORMED[name]
    y = call(dk.Tensor(make(X)), dk.tensor(W), dk.tensor(B))
    np.testing.assert_allclose(y.numpy(), call(dk.tensor(X), dk.tensor(W), dk.tensor(B)).numpy(), rtol=1e-12)


@dk.array_type(fallback=dk.fallback.dense)
class Scaled:
    """A matrix times a number."""

    def __init__(self, values: Any, factor: Any) -> None:
        self.values, self.factor = values, factor

    def to_dense(self) -> Any:
        return self.values * self.factor


@pytest.mark.parametrize("kind", ["rules", "dense form"])
def test_gradients_reach_the_fields_of_array_types(kind: str, make: Make) -> None:
    def gradients(x: Any) -> Any:
        field = dk.tensor(B, requires_grad=True)
        x = dk.Tensor(x, requires_grad=True)
        matrix: Any = DiagonalTensor(field) if kind == "rules" else Scaled(dk.eye(2), field)
        with dk.densify(on="allow"):
            y = (matrix @ x.T[:2]).sum() + (dk.exp(matrix @ x.T[1:]) ** 2).sum()
        slopes = dk.autograd.grad(y, [x, field], create_graph=True)
        return [*slopes], dk.autograd.grad((slopes[1] ** 2).sum(), [x, field])

    for found, wanted in zip(gradients(make(X)), gradients(X), strict=True):
        agree(found, wanted)


def test_changes_in_place_keep_the_library_of_what_is_changed(make: Make) -> None:
    wanted = X.copy()
    wanted[1] = W[:, 0]
    wanted += 0.5
    for mine, theirs in ((np.array, make), (make, np.array)):
        x = dk.tensor(mine(X))
        x[1] = dk.Tensor(theirs(W[:, 0]))
        x += dk.Tensor(theirs(np.full((4, 3), 0.5)))
        assert type(x.array) is type(mine(X))
        np.testing.assert_array_equal(x.numpy(), wanted)
        value = dk.Tensor(theirs(W[:, 0]), requires_grad=True)
        x = dk.tensor(mine(X), requires_grad=True)
        y = x * 2
        y[1] = value * 3
        y += value
        (y * dk.Tensor(mine(X))).sum().backward()
        assert value.grad is not None
        assert x.grad is not None
        np.testing.assert_allclose(value.grad.numpy(), 3 * X[1] + X.sum(axis=0))
        np.testing.assert_allclose(x.grad.numpy(), 2 * X * np.asarray([[1.0], [0.0], [1.0], [1.0]]))
        assert type(value.grad.array) is type(theirs(W))
        assert type(x.grad.array) is type(mine(X))


def test_a_cotangent_goes_to_the_library_of_what_it_is_for(make: Make) -> None:
    for mine, theirs in ((np.asarray, make), (make, np.asarray)):
        for cotangent in (dk.Tensor(theirs(X)), X):
            x = dk.Tensor(mine(X), requires_grad=True)
            (x * 2).backward(cotangent)
            assert x.grad is not None
            np.testing.assert_array_equal(x.grad.numpy(), 2 * X)
            assert type(x.grad.array) is type(mine(X))


def test_the_shorter_precision_of_the_other_library_does_not_change_a_leaf(make: Make) -> None:
    w = dk.tensor(W, requires_grad=True)
    (dk.Tensor(make(X.astype(np.float32))) @ w.float()).sum().backward()
    assert w.grad is not None
    assert w.grad.dtype == dk.float64


def test_a_change_after_the_call_does_not_reach_its_result(make: Make) -> None:
    w = dk.tensor(W)
    y = dk.Tensor(make(X)) @ w
    w[...] = 0.0
    np.testing.assert_allclose(y.numpy(), X @ W)


def test_a_forward_pass_over_dask_computes_nothing() -> None:
    da, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    pytest.importorskip("array_api_compat")
    x, w, b = leaves_of(lambda values: da.from_array(values, chunks=2))
    with dask.config.set(scheduler=refuse):
        y = loss(x, w, b)
        (slope,) = dk.autograd.grad(y, [x])
    assert isinstance(slope.array, da.Array)


def test_libraries_that_refuse_numpys_arrays_stay_apart(make: Make) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    x, y, z = dk.Tensor(make(X)), dk.Tensor(torch.asarray(X)), dk.tensor(X)
    for first, second in ((y, z), (z, y), (x, y), (y, x)):
        with pytest.raises(dk.MixedArraysError, match=r"one array is of .*; bring both to one library and device"):
            first + second
    with pytest.raises(dk.MixedArraysError, match=r"^dispatchkit\.concat: one array is of .*, another of torch on cpu"):
        dk.concat([z, x, y])
    with pytest.raises(dk.AutogradError, match=r"^to: a gradient does not flow from torch to numpy; give x\.detach"):
        dk.tensor(X, requires_grad=True).to(like=y)


def test_dask_and_jax_stay_apart() -> None:
    da, jnp = pytest.importorskip("dask.array"), pytest.importorskip("jax.numpy")
    pytest.importorskip("array_api_compat")
    with pytest.raises(dk.MixedArraysError, match=r"one array is of dask\.array, another of jax\.numpy"):
        dk.Tensor(da.from_array(X)) + dk.Tensor(jnp.asarray(X))


def test_numpys_tensors_are_constants_while_jax_traces() -> None:
    jax = in_double_precision()
    w = dk.tensor(W)

    def loss_of(x: Any) -> Any:
        return loss(dk.Tensor(x), w, B).array

    x = jax.numpy.asarray(X)
    leaf = dk.tensor(X, requires_grad=True)
    loss(leaf, w, dk.tensor(B)).backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(jax.jit(jax.grad(loss_of))(x), leaf.grad.numpy())

    def gradient_of_numpys(x: Any) -> Any:
        loss(dk.Tensor(x), dk.tensor(W, requires_grad=True), B).backward()

    text = r"of <namespace jax\.numpy .*which has no elements while it traces; bring what is NumPy's to it first"
    with pytest.raises(TypeError, match=text):
        jax.jit(gradient_of_numpys)(x)
