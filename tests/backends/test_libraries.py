"""Which library new arrays are of, and how arrays go from one to another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign

strict = pytest.importorskip("array_api_strict")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    yield
    foreign.clear()


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class ScaledIdentity:
    """The type of the README."""

    def __init__(self, n: int, value: Any) -> None:
        self.n, self.value = n, value

    def to_dense(self) -> Any:
        return self.value * dk.eye(self.n)


def library_of(x: Any) -> str:
    return type(x.array).__module__.partition(".")[0]


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "array_api_strict", "dask"])
def test_new_arrays_are_of_the_library_that_is_named(name: str) -> None:
    pytest.importorskip(name)
    with dk.arrays_of(name):
        made = [dk.eye(2), dk.zeros(3), dk.asarray([1.0, 2.0]), dk.nn.Linear(3, 2).weight, dk.randn(2)]
        with dk.arrays_of("numpy"):
            assert library_of(dk.ones(2)) == "numpy"
    assert {library_of(x) for x in made} == {"jaxlib" if name == "jax" else name}
    assert library_of(dk.ones(2)) == "numpy"
    with dk.arrays_of(made[0]):
        assert type(dk.ones(2).array) is type(made[0].array)


@pytest.mark.parametrize("name", ["torch", "jax", "array_api_strict"])
def test_the_dense_form_is_of_the_library_of_the_fields(name: str) -> None:
    pytest.importorskip(name)
    with dk.arrays_of(name):
        s = ScaledIdentity(2, dk.asarray(3.0))
    with dk.densify(on="allow"):
        y = dk.exp(s)
    assert type(y.array) is type(s.value.array)
    np.testing.assert_allclose(y.numpy(), np.exp([[3.0, 0.0], [0.0, 3.0]]), rtol=1e-6)


def test_what_names_no_library_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^arrays_of: no library is called 'tensorflow'; known are 'numpy', 'torch', "
    ):
        dk.arrays_of("tensorflow").__enter__()
    with pytest.raises(TypeError, match=r"^arrays_of: expected the name of a library or an array, found a int$"):
        dk.arrays_of(3).__enter__()


def test_tensors_types_and_modules_are_brought_to_another_library() -> None:
    like = strict.ones(1)
    module = dk.nn.Linear(3, 2)
    weight, values = module.weight, module.weight.detach().numpy().copy()
    dk.sum(module(dk.ones((1, 3)))).backward()
    assert module.to(like=like) is module
    assert module.weight is weight
    assert library_of(weight) == library_of(weight.grad) == library_of(module.bias) == "array_api_strict"
    np.testing.assert_array_equal(weight.detach().numpy(), values)
    x = dk.ones(3).to(like=like)
    assert library_of(x) == "array_api_strict"
    assert x.to(like=like) is x
    s = ScaledIdentity(2, dk.asarray(3.0)).to(like=x)
    assert type(s) is ScaledIdentity
    assert library_of(s.value) == "array_api_strict"
    assert library_of(x.to(like=np.ones(1))) == "numpy"
    with pytest.raises(
        dk.AutogradError, match=r"^to: a gradient does not flow from array_api_strict to numpy; give x\.de"
    ):
        (dk.ones(3, requires_grad=True) * 2).to(like=like)


def test_the_advice_for_arrays_of_two_libraries_works() -> None:
    x, y = dk.ones(3), dk.ones(3).to(like=strict.ones(1))
    with pytest.raises(dk.MixedArraysError, match=r"with x\.to\(like=y\)$"):
        x + y
    assert (x.to(like=y) + y).tolist() == (x + y.to(like=x)).tolist() == [2.0] * 3


SHARDED = """
import jax, numpy as np, dispatchkit as dk
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
mesh = jax.make_mesh((2,), ("data",), axis_types=(AxisType.Auto,))
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(16, 3)), rng.integers(0, 2, size=16)

def trained(weights, batch, compiled):
    dk.manual_seed(0)
    model = dk.nn.Sequential(dk.nn.Linear(3, 8), dk.nn.Tanh(), dk.nn.Linear(8, 2)).to(weights)
    optimizer = dk.optim.Adam(model.parameters(), lr=0.01)
    x, y = dk.asarray(X).to(batch), dk.asarray(Y).to(batch)
    def step(x, y):
        optimizer.zero_grad()
        loss = dk.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    run = dk.compile(step, state=[model, optimizer]) if compiled else step
    losses = [run(x, y).item() for _ in range(6)]
    return losses, [p.detach().numpy() for p in model.parameters()], model(x).array.sharding

one = jax.devices()[0]
want, weights, _ = trained(one, one, False)
for compiled in (False, True):
    found, others, where = trained(NamedSharding(mesh, P()), NamedSharding(mesh, P("data")), compiled)
    np.testing.assert_allclose(found, want, rtol=1e-12)
    for a, b in zip(others, weights):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert len(where.device_set) == 2, where
explicit = jax.make_mesh((2,), ("data",), axis_types=(AxisType.Explicit,))
try:
    dk.Tensor(jax.device_put(X, NamedSharding(explicit, P("data")))) + 1
except TypeError as error:
    print(error)
"""


def test_training_on_two_devices_equals_training_on_one() -> None:
    pytest.importorskip("jax")
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PATH": "", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "mesh with Explicit axes" in done.stdout
    assert "axis_types=(jax.sharding.AxisType.Auto,)" in done.stdout
