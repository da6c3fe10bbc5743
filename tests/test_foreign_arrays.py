"""Arrays of other libraries inside tensors: every operation computes on them what it computes on NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign, namespace_of
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from tests.declared import OPERATIONS, by_operation, flat

# What does not give an array of the library it was given, and why.
GIVES_NUMPY = {
    "from_dlpack": "brings arrays of other libraries to NumPy",
}
# Vectors that are determined up to a factor of modulus 1, which depends on the library.
UP_TO_PHASE = {"eig", "eigh", "qr", "svd"}
# What reads a value: for the shape of a result, to check indices and conditions, for a derivative where a matrix has no
# inverse. PyTorch counts `NotImplementedError` among the `RuntimeError`s.
READ_VALUES = {
    *("argwhere", "bincount", "nonzero", "repeat", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    *("gather", "getitem", "index_put", "interp", "pad", "scatter_add", "take", "take_along_axis", "topk"),
    *("arange", "average", "bernoulli", "convolve", "cov", "linspace", "multinomial", "quantile"),
    *("binary_cross_entropy", "cross_entropy", "embedding", "nll_loss", "one_hot", "scaled_dot_product_attention"),
    *("det", "polygamma", "qr", "slogdet"),
}
Make = Callable[[Any], Any]


def strict() -> Make:
    library = pytest.importorskip("array_api_strict")
    return lambda array: library.asarray(array)


def torch() -> Make:
    pytest.importorskip("array_api_compat")
    library = pytest.importorskip("torch")
    return lambda array: library.asarray(np.array(array))


def jax() -> Make:
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", True)
    return lambda array: library.numpy.asarray(array)


# JAX compiles each call anew, which takes minutes: it is tried where somebody has installed it.
LIBRARIES = [strict, torch, jax] if find_spec("jax") else [strict, torch]


@pytest.fixture(params=LIBRARIES, ids=lambda maker: maker.__name__)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    yield request.param()
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


# Calls that read the bytes of numbers as others, for which the standard has no function.
BYTES = {"view-4"}


def with_arrays() -> list[Any]:
    """Return the sampled calls that are given an array."""
    rng = np.random.default_rng(0)
    found = []
    for name, entry in OPERATIONS.items():
        for index, sample in enumerate(entry.samples):
            if f"{entry.name}-{index}" in BYTES:
                continue
            if any(isinstance(value, np.ndarray) for _, value in entry.parameters.values(*sample.make(rng))):
                found.append(pytest.param(entry, sample, id=f"{name.removeprefix('dispatchkit.')}-{index}"))
    return found


def called(
    entry: DeclaredOperation, sample: Sample, make: Make, *, gradients: bool
) -> tuple[list[dk.Tensor], list[dk.Tensor]]:
    """Return the results of a call on arrays of a library, and the tensors among its arguments that need gradients."""
    args, kwargs = sample.make(np.random.default_rng(1))
    leaves: list[dk.Tensor] = []

    def tensor(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        made = dk.Tensor(make(value), requires_grad=gradients and value.dtype.kind == "f")
        if made.requires_grad:
            leaves.append(made)
        return made

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, tensor)
    dk.manual_seed(1)
    results = flat(entry.function(*args, **kwargs))
    if entry.name in UP_TO_PHASE:
        results = [dk.abs(y) if y.ndim > 1 else y for y in results]
    return results, leaves


def agree(found: Any, expected: Any) -> None:
    """Compare values, shape and dtype; PyTorch's polygamma has nine digits."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-12)


@by_operation(("entry", "sample"), with_arrays())
def test_values_are_those_on_numpy_arrays(entry: DeclaredOperation, sample: Sample, make: Make) -> None:
    foreign.clear()  # those of the case before
    wanted, _ = called(entry, sample, np.asarray, gradients=False)
    found, _ = called(entry, sample, make, gradients=False)
    library = np.ndarray if entry.name in GIVES_NUMPY else type(make(np.ones(1)))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert type(one.array) is library
        if not entry.name.startswith("empty"):
            agree(one, other)


def differentiable() -> list[Any]:
    return [case for case in with_arrays() if all(one.differentiable for one in case.values)]


def cotangents(outputs: list[dk.Tensor], make: Make) -> tuple[list[dk.Tensor], list[dk.Tensor]]:
    """Return the outputs that gradients flow to, and a cotangent for each."""
    reached = [y for y in outputs if y.requires_grad]
    rng = np.random.default_rng(2)
    return reached, [dk.Tensor(make(rng.uniform(-1, 1, size=y.shape).astype(y.dtype))) for y in reached]


@by_operation(("entry", "sample"), differentiable())
def test_gradients_are_those_on_numpy_arrays(entry: DeclaredOperation, sample: Sample, make: Make) -> None:
    results = []
    foreign.clear()  # those of the case before
    for maker in (np.asarray, make):
        outputs, leaves = called(entry, sample, maker, gradients=True)
        if not leaves:
            pytest.skip("no floating argument")
        reached, given = cotangents(outputs, maker)
        first = dk.autograd.grad(reached, leaves, given, retain_graph=True, allow_unused=True)
        live = dk.autograd.grad(reached, leaves, given, create_graph=True, allow_unused=True)
        reached, given = cotangents([g for g in live if g is not None], maker)
        second = dk.autograd.grad(reached, leaves, given, allow_unused=True) if reached else ()
        results.append((*first, *live, *second))
    library = type(make(np.ones(1)))
    for wanted, found in zip(*results, strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            assert type(found.array) is library
            agree(found, wanted)


def test_gradients_accumulate_in_place_where_arrays_can_be_changed(make: Make) -> None:
    x: Any = dk.Tensor(make(np.array([1.0, 2.0])), requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first, retained = x.grad, y.grad
    y.sum().backward()
    assert (x.grad is first) == namespace_of(x.array).mutable
    assert np.asarray(x.grad.array).tolist() == [4.0, 4.0]
    assert np.asarray(retained.array).tolist() == [1.0, 1.0]
    assert np.asarray(y.grad.array).tolist() == [2.0, 2.0]


@pytest.fixture
def no_host_copies(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Refuse what PyTorch refuses for the tensors of a GPU: to hand their memory to NumPy."""
    library: Any = pytest.importorskip("torch")

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    monkeypatch.setattr(library.Tensor, "numpy", refuse)
    monkeypatch.setattr(library.Tensor, "__array__", refuse)
    return library


def failures(make: Make, *errors: type[Exception]) -> dict[str, str]:
    """Return the operations whose sample calls, or two backward passes after them, raise on arrays of a library."""
    failed: dict[str, str] = {}
    for entry, sample in (case.values for case in with_arrays()):
        try:
            outputs, leaves = called(entry, sample, make, gradients=entry.differentiable and sample.differentiable)
            reached, given = cotangents(outputs, make)
            if leaves and reached:
                live = dk.autograd.grad(reached, leaves, given, create_graph=True, allow_unused=True)
                reached, given = cotangents([g for g in live if g is not None], make)
                if reached:
                    dk.autograd.grad(reached, leaves, given, allow_unused=True)
        except errors as error:
            failed[entry.name] = str(error)
    foreign.clear()
    return failed


def test_no_operation_and_no_derivative_copies_an_array_to_main_memory(no_host_copies: Any) -> None:
    assert failures(torch(), TypeError) == {}


def test_few_operations_and_derivatives_read_a_value() -> None:
    library: Any = pytest.importorskip("torch")
    meta = library.device("meta")  # its arrays have a shape and no values
    found = failures(lambda array: library.asarray(np.array(array)).to(meta), RuntimeError, BufferError)
    assert found.keys() - GIVES_NUMPY.keys() == READ_VALUES


@pytest.mark.parametrize("optimizer", [dk.optim.SGD, dk.optim.AdamW, dk.optim.RMSprop])
def test_training_copies_no_array_to_main_memory(no_host_copies: Any, optimizer: Any) -> None:
    nn = dk.nn
    x = dk.asarray(no_host_copies.arange(12.0).reshape(4, 3) / 12)
    labels = dk.asarray(no_host_copies.tensor([0, 1, 1, 0]))
    layers = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(8), nn.Linear(8, 2)
    model = nn.Sequential(*layers).to(like=x)
    steps = optimizer(model.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        steps.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.step()
        losses.append(loss.item())
    foreign.clear()
    assert losses[-1] < losses[0]
