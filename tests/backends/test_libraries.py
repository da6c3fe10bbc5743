"""Which library new arrays are of, and how arrays go from one to another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign, raw_array
from tests.waiting import PATIENCE

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
        [sys.executable, "-c", SHARDED], capture_output=True, text=True, env=environment, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert "mesh with Explicit axes" in done.stdout
    assert "axis_types=(jax.sharding.AxisType.Auto,)" in done.stdout


OTHERS = ["torch", "jax", "array_api_strict"]
# Reductions that give numbers along no axes, too.
REDUCTIONS = [
    *("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "count_nonzero", "logsumexp", "median"),
    *("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"),
]
CONTENTS = ([np.nan, 1.0], [[np.nan, 1.0], [3.0, np.inf]], np.nan, np.inf, 2.0, [[1, 0], [2, 3]], 3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_reductions_along_no_axes_and_of_numbers_have_numpys_values(name: str, reduction: str) -> None:
    library = pytest.importorskip(name)
    reduce = getattr(dk, reduction)
    for content in CONTENTS:
        with dk.arrays_of(name):
            x = dk.asarray(content)
        if library is strict and x.dtype.kind == "i" and reduction in ("mean", "var", "std"):
            continue  # which takes floating-point numbers alone
        for options in ({"axis": ()}, {"axis": (), "keepdims": True}, {}, {"keepdims": True}):
            want, got = reduce(dk.asarray(content), **options), reduce(x, **options)
            assert (library_of(got), got.shape) == (library_of(x), want.shape)
            assert got.dtype.kind == want.dtype.kind
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
    if reduction in ("var", "std"):
        with dk.arrays_of(name):
            assert np.isnan(reduce(dk.asarray([1.0]), axis=(), correction=1).numpy()).all()


@pytest.mark.parametrize("name", OTHERS)
def test_arrays_by_dlpack_and_on_a_device_are_of_the_library_in_use(name: str) -> None:
    pytest.importorskip(name)
    with dk.arrays_of(name):
        own = dk.asarray([1.0, 2.0])
        for given in (np.asarray([1.0, 2.0]), own, own.array):
            for y in (dk.from_dlpack(given), dk.from_dlpack(given, copy=True)):
                assert type(y.array) is type(own.array)
                assert y.tolist() == [1.0, 2.0]
    assert library_of(dk.from_dlpack(own)) == "numpy"
    if name != "array_api_strict":  # whose device does not say that it is of the library before an array of it is there
        for make in (dk.from_dlpack, dk.asarray, dk.tensor):
            y = make(np.asarray([1.0, 2.0]), device=own.device)
            assert (type(y.array), y.tolist()) == (type(own.array), [1.0, 2.0])


def test_an_array_type_is_no_array_of_another_library() -> None:
    with pytest.raises(TypeError, match="DiagonalTensor is an array type of dispatchkit, not an array that a"):
        raw_array(dk.types.DiagonalTensor([1.0]))
