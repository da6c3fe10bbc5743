"""`jax.numpy` and `jax.nn` with tensors and array types: the values of JAX, by rules where there are some."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.errors import AutogradError
from dispatchkit.types import QuantityTensor, ScalarTensor

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
bridge: Any = importlib.import_module("dispatchkit.interop.jax")
jnp, nn = bridge.numpy, bridge.nn
A = jax.numpy.asarray([[0.5, 2.0], [-3.0, 0.25]])
NUMPY = (
    *(
        "mean",
        "std",
        "sum",
        "prod",
        "max",
        "argmin",
        "median",
        "cumsum",
        "sort",
        "argsort",
        "exp",
        "log1p",
        "abs",
        "sign",
    ),
    *("floor", "isfinite", "transpose", "ravel", "trace", "diag", "flip", "atleast_3d", "linalg.inv", "linalg.svd"),
    *("linalg.lstsq", "linalg.matrix_norm", "fft.fft", "fft.fftshift", "nan_to_num", "cov", "add", "matmul", "arctan2"),
    *("where", "dot", "kron", "concatenate", "stack", "clip", "logaddexp", "equal"),
)
NN = (
    *(
        "celu",
        "elu",
        "gelu",
        "glu",
        "leaky_relu",
        "log_softmax",
        "logsumexp",
        "mish",
        "relu",
        "relu6",
        "selu",
        "sigmoid",
    ),
    *("silu", "swish", "softmax", "softplus", "tanh", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh"),
    *("soft_sign", "log_sigmoid", "squareplus", "standardize"),
)
DENSE = frozenset({"linalg.lstsq", "squareplus", "standardize"})
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("add", "matmul", "arctan2", "dot", "kron", "logaddexp", "equal", "linalg.lstsq"), (A, A)),
    **dict.fromkeys(("concatenate", "stack"), ([A, A],)),
    "where": (A > 0, A, 1.0),
    "clip": (A, -1, 1),
}


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with dk.densify(on="allow"):
        yield
    foreign.clear()


def same(ours: Any, theirs: Any) -> None:
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    for one, other in ((np.asarray(one), np.asarray(other)) for one, other in pairs):
        assert one.shape == other.shape
        if other.dtype.kind in "fciub":
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("path", [*(f"numpy.{name}" for name in NUMPY), *(f"nn.{name}" for name in NN)])
def test_a_function_gives_what_jax_gives(path: str) -> None:
    theirs, ours = (attrgetter(path)(place) for place in (jax, bridge))
    name = path.partition(".")[2]
    args = ARGUMENTS.get(name, (A,))
    result = ours(*jax.tree.map(lambda x: dk.Tensor(x) if isinstance(x, jax.Array) else x, args))
    same(result, theirs(*args))
    parts = result if isinstance(result, tuple) else (result,)
    assert {isinstance(part, dk.Tensor) for part in parts} == {name not in DENSE}


def test_each_function_of_jax_stands_in_the_namespace() -> None:
    for theirs, ours in ((jax.numpy, jnp), (jax.numpy.linalg, jnp.linalg), (jax.numpy.fft, jnp.fft), (jax.nn, nn)):
        names = [name for name in dir(theirs) if not name.startswith("_")]
        assert [name for name in names if callable(getattr(theirs, name)) and not callable(getattr(ours, name))] == []
        assert ours.__name__ == f"dispatchkit.interop.{theirs.__name__}"


def test_the_namespaces_can_be_imported() -> None:
    assert importlib.import_module("dispatchkit.interop.jax.numpy") is jnp
    assert importlib.import_module("dispatchkit.interop.jax.nn") is nn
    with pytest.raises(ImportError, match="is not a package"):
        importlib.import_module("dispatchkit.interop.jax.numpy.nosuch")


def test_rules_answer() -> None:
    s = ScalarTensor(2, 3.0)
    assert type(jnp.matmul(s, s)) is ScalarTensor
    assert type(jnp.linalg.inv(s)) is ScalarTensor
    assert type(nn.relu(s)) is ScalarTensor
    total = jnp.sum(QuantityTensor(A, "m"))
    assert (str(total.unit), total.magnitude.item()) == ("m", -0.25)
    assert isinstance(jnp.concatenate([dk.ones(2), jax.numpy.ones(2)]), dk.Tensor)


def test_arrays_of_jax_go_straight_to_jax() -> None:
    assert isinstance(jnp.add(A, A), jax.Array)
    assert isinstance(nn.relu(A), jax.Array)
    assert jnp.float32 is jax.numpy.float32
    assert jnp.mean.__doc__ == jax.numpy.mean.__doc__
    assert jnp.mean is jnp.mean
    assert {"mean", "linalg"} <= set(dir(jnp))
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        jnp.nosuch  # noqa: B018  # which raises


def test_what_no_operation_means_is_computed_on_jaxs_arrays() -> None:
    x = dk.Tensor(A)
    found = jnp.i0(x)
    assert isinstance(found, jax.Array)
    same(found, jax.numpy.i0(A))
    same(nn.softmax(x, where=A > 0), jax.nn.softmax(A, where=A > 0))
    assert isinstance(jnp.asarray(ScalarTensor(2, 3.0)), jax.Array)
    with pytest.raises(AutogradError, match=r"would lose the graph; use to_jax\(x\.detach\(\)\)$"):
        jnp.i0(dk.Tensor(A, requires_grad=True))


def test_gradients_flow_in_both_ways() -> None:
    x = dk.Tensor(A, requires_grad=True)
    jnp.sum(jnp.square(x)).backward()
    same(x.grad, 2 * A)
    same(jax.grad(lambda t: jnp.sum(jnp.square(t)).array)(dk.Tensor(A)), 2 * A)


def test_the_functions_are_traced() -> None:
    compiled = jax.jit(lambda s: (jnp.trace(nn.softplus(s)), jnp.matmul(s, A)))
    same(compiled(ScalarTensor(2, dk.Tensor(A[0, 0]))), compiled(dk.Tensor(A[0, 0] * jax.numpy.eye(2))))
    same(jax.vmap(lambda row: jnp.cumsum(row))(dk.Tensor(A)), jax.numpy.cumsum(A, axis=1))


@pytest.mark.parametrize("approximate", [True, False])
def test_gelu_is_jaxs(approximate: bool) -> None:
    same(nn.gelu(dk.Tensor(A), approximate=approximate), jax.nn.gelu(A, approximate=approximate))
    same(nn.gelu(dk.Tensor(A), approximate), jax.nn.gelu(A, approximate))


def test_parameters_go_by_place_and_name() -> None:
    x = dk.Tensor(A)
    same(nn.leaky_relu(x, 0.5), jax.nn.leaky_relu(A, 0.5))
    same(nn.log_softmax(x, axis=0), jax.nn.log_softmax(A, axis=0))
    same(jnp.std(x, axis=0, ddof=1, keepdims=True), jax.numpy.std(A, axis=0, ddof=1, keepdims=True))
    same(jnp.size(x, 0), 2)


def test_nothing_is_written_into_a_tensor() -> None:
    x = dk.Tensor(A)
    with pytest.raises(ValueError, match="inplace=False"):
        jnp.put(x, 0, 9.0)
    same(jnp.put(x, 0, 9.0, inplace=False), jax.numpy.put(A, 0, 9.0, inplace=False))
    same(x, A)
