"""The choice of who computes layers on NumPy arrays, and compiled loops against NumPy's kernels."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.declare.kernels import define_kernel
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from tests.nn.functional.support import drawn, gradients


@pytest.fixture
def numba() -> Iterator[None]:
    pytest.importorskip("numba")
    dk.nn.set_engine("numba")
    yield
    dk.nn.set_engine("numpy")


def test_numpy_computes_unless_another_engine_is_chosen() -> None:
    assert dk.nn.get_engine() == "numpy"
    with pytest.raises(ValueError, match=re.escape("set_engine: engine must be 'numpy' or 'numba', found 'jax'")):
        dk.nn.set_engine("jax")  # type: ignore[arg-type]
    assert dk.nn.get_engine() == "numpy"


def test_a_missing_engine_is_named_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=re.escape('pip install "dispatchkit[numba]"')):
        dk.nn.set_engine("numba")
    assert dk.nn.get_engine() == "numpy"


NUMBERS = np.random.default_rng(0).integers(0, 50, (20, 30))


def tables() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Return calls and their arguments, large enough for rows to be taken."""
    images, per_channel = drawn(6, 8, 20, 20), [drawn(8), drawn(8, seed=1)]
    return {
        "gelu": (F.gelu, [drawn(40, 50)]),
        "silu": (F.silu, [drawn(40, 50)]),
        "layer_norm": (lambda x, w, b: F.layer_norm(x, 257, w, b), [drawn(70, 257), drawn(257), drawn(257, seed=1)]),
        "layer_norm without weight": (lambda x: F.layer_norm(x, 257), [drawn(70, 257)]),
        "layer_norm with a bias": (lambda x, b: F.layer_norm(x, 257, None, b), [drawn(70, 257), drawn(257)]),
        "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [images, *per_channel]),
        "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [images, *per_channel]),
        "batch_norm of one image": (
            lambda x, w: F.batch_norm(x, None, None, w, training=True),
            [drawn(1, 2, 100, 100), drawn(2)],
        ),
        "softmax": (lambda x: F.softmax(100 * x), [drawn(30, 257)]),
        "embedding": (lambda w: F.embedding(dk.asarray(NUMBERS), w), [drawn(50, 16)]),
        "attention": (
            partial(F.scaled_dot_product_attention, is_causal=True),
            [drawn(2, 9, 4, seed=i) for i in range(3)],
        ),
    }


CALLS = tables()


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 3e-5)])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_those_of_numpy(name: str, dtype: str, tolerance: float) -> None:
    function, arrays = CALLS[name][0], [x.astype(dtype) for x in CALLS[name][1]]
    found = gradients(lambda *a: function(*a).astype(dtype), arrays)
    dk.nn.set_engine("numpy")
    wanted = gradients(lambda *a: function(*a).astype(dtype), arrays)
    for one, other in zip([found[0], *found[1]], [wanted[0], *wanted[1]], strict=True):
        assert one.dtype == other.dtype == dtype
        npt.assert_allclose(one, other, rtol=tolerance, atol=tolerance * max(1, np.abs(other).max(initial=0)))


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("name", ["gelu", "layer_norm", "batch_norm", "softmax", "embedding"])
def test_second_derivatives_are_those_of_numpy(name: str) -> None:
    function, arrays = CALLS[name]

    def second() -> list[Any]:
        leaves = [dk.tensor(x, requires_grad=True) for x in arrays]
        first = dk.autograd.grad((function(*leaves) ** 2).sum(), leaves, create_graph=True)
        return [x.numpy() for x in dk.autograd.grad(sum((x * x).sum() for x in first), leaves)]

    found = second()
    dk.nn.set_engine("numpy")
    for one, other in zip(found, second(), strict=True):
        npt.assert_allclose(one, other, rtol=1e-10, atol=1e-11 * np.abs(other).max())


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("name", ["gelu", "layer_norm"])
def test_batched_calls_are_those_of_numpy(name: str) -> None:
    function, arrays = CALLS[name]
    batch = dk.asarray(np.stack([arrays[0], 2 * arrays[0]]).astype("float32"))
    others = [dk.asarray(x.astype("float32")) for x in arrays[1:]]
    found = dk.func.vmap(lambda x: function(x, *others))(batch).numpy()
    dk.nn.set_engine("numpy")
    wanted = dk.func.vmap(lambda x: function(x, *others))(batch).numpy()
    npt.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize(
    ("name", "count"),
    [
        *[("gelu", 2), ("silu", 2), ("layer_norm", 2), ("batch_norm", 2), ("group_norm", 2)],
        *[("softmax", 2), ("attention", 2), ("embedding", 1)],
    ],
)
def test_compiled_loops_compute_these(name: str, count: int) -> None:
    assert compiled(name) == count


def compiled(name: str) -> int:
    """Return how many kernels compiled loops compute in a forward and a backward pass."""
    taken = []

    def noted(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(kernel)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = kernel(*args, **kwargs)
            if result is not NotImplemented:
                taken.append(kernel)
            return result

        return call

    def noted_flow(flow: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(flow)
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = flow(*args, **kwargs)
            if answer is NotImplemented:
                return answer
            taken.append(flow)
            return answer[0], noted(answer[1])

        return call

    entries = [entry for entry in dk.tensor_protocol.operations.values() if isinstance(entry, DeclaredOperation)]
    kernels = {entry: kernel for entry in entries if (kernel := entry.implementation.kernels.get("numba"))}
    try:
        for entry, kernel in kernels.items():
            if kernel.flow is not None:
                flow = noted_flow(kernel.flow)
                define_kernel(entry, "numba", noted(kernel.forward), flow=flow, reads=kernel.reads)
                continue
            given = kernel.gradients
            of_each = isinstance(given, dict)
            rules = {argument: noted(rule) for argument, rule in given.items()} if of_each else noted(given)
            define_kernel(entry, "numba", noted(kernel.forward), rules, kernel.shapes)
        function, arrays = CALLS[name]
        gradients(lambda *a: function(*a).astype("float32"), [x.astype("float32") for x in arrays])
    finally:
        for entry, kernel in kernels.items():
            define_kernel(entry, "numba", kernel.forward, kernel.gradients, kernel.shapes, kernel.flow, kernel.reads)
    return len(taken)


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("name", ["gelu", "layer_norm", "batch_norm"])
def test_arrays_of_any_layout_and_read_only_ones_are_taken(name: str) -> None:
    function, arrays = CALLS[name][0], [x.astype("float32") for x in CALLS[name][1]]
    wanted = gradients(function, arrays)
    arrays[0] = np.asfortranarray(arrays[0])
    for x in arrays:
        x.flags.writeable = False
    leaves = [dk.asarray(x).requires_grad_() for x in arrays]
    y = function(*leaves)
    g = dk.asarray(drawn(*y.shape, seed=9).astype("float32").T.copy().T)
    found = dk.autograd.grad(y, leaves, g)
    for one, other in zip([y.detach(), *found], [wanted[0], *wanted[1]], strict=True):
        npt.assert_allclose(one.numpy(), other, rtol=2e-5, atol=2e-5 * np.abs(other).max())


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("name", ["gelu", "layer_norm", "batch_norm"])
def test_arrays_of_another_byte_order_are_left_to_numpy(name: str) -> None:
    function, arrays = CALLS[name]
    found = function(*[dk.asarray(x.astype(np.dtype("float32").newbyteorder())) for x in arrays]).numpy()
    npt.assert_allclose(found, function(*[dk.asarray(x.astype("float32")) for x in arrays]).numpy(), atol=1e-4)


@pytest.mark.usefixtures("numba")
def test_the_softmax_of_what_is_no_number_or_infinite_is_numpys() -> None:
    inf, nan = np.inf, np.nan
    rows = [[1, inf, 2], [-inf, -inf, -inf], [-inf, 1, 2], [nan, 1, 2], [-nan, -1, 3e38], [-0.0, 0, -3e38]]
    x = dk.asarray(np.asarray(rows, "float32"))
    found = F.softmax(x).numpy()
    dk.nn.set_engine("numpy")
    with np.errstate(invalid="ignore"):
        npt.assert_allclose(found, F.softmax(x).numpy(), rtol=1e-6)


@pytest.mark.usefixtures("numba")
def test_a_changed_argument_is_still_refused() -> None:
    x = dk.tensor(drawn(4, 5).astype("float32"), requires_grad=True)
    h = x * 1.0
    y = F.gelu(h).sum()
    h += 1.0
    with pytest.raises(RuntimeError, match="GeluBackward was changed by an in-place"):
        y.backward()


@pytest.mark.usefixtures("numba")
def test_several_threads_compute_at_once() -> None:
    function, arrays = CALLS["layer_norm"]
    tensors = [dk.asarray(x) for x in arrays]
    wanted = function(*tensors).numpy()
    with ThreadPoolExecutor(4) as pool:
        for y in pool.map(lambda _: function(*tensors).numpy(), range(20)):
            npt.assert_array_equal(y, wanted)


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("shape", [(4, 4), (256, 64)])
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_rows_far_from_zero_keep_their_digits(name: str, shape: tuple[int, int], engine: Any) -> None:
    dk.nn.set_engine(engine)
    x, weight = (drawn(*shape) + 5000).astype("float32"), drawn(shape[-1], seed=1).astype("float32")
    functions: dict[str, Callable[..., Any]] = {
        "layer_norm": lambda x, weight: F.layer_norm(x, shape[-1], weight, weight),
        "group_norm": lambda x, weight: F.group_norm(x, 1, weight, weight),
        "batch_norm": lambda x, weight: F.batch_norm(x, None, None, weight, weight, training=True),
    }
    value, slopes = gradients(functions[name], [x, weight])
    wanted, others = gradients(functions[name], [x.astype("float64"), weight.astype("float64")])
    for one, other in zip([value, *slopes], [wanted, *others], strict=True):
        npt.assert_allclose(one, other, atol=4e-6 * np.abs(other).max())


@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("name", ["gelu", "layer_norm", "batch_norm", "softmax"])
def test_a_cotangent_that_is_one_number_broadcast_is_computed_by_the_loop_of_full_arrays(name: str) -> None:
    function, arrays = CALLS[name][0], [x.astype("float32") for x in CALLS[name][1]]
    leaves = [dk.asarray(x).requires_grad_() for x in arrays]
    y = function(*leaves)
    full = dk.autograd.grad(y, leaves, dk.ones(y.shape, dtype=y.dtype), retain_graph=True)
    one = dk.broadcast_to(dk.ones((), dtype=y.dtype), y.shape)
    for found, wanted in zip(dk.autograd.grad(y, leaves, one), full, strict=True):
        npt.assert_array_equal(found.numpy(), wanted.numpy())
