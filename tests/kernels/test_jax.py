"""JAX's own functions inside `jax.jit`: values and derivatives are those on NumPy's arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.declare.kernels import define_kernel, load_kernels
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from tests.declared import OPERATIONS, by_operation, flat

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
load_kernels("jax")

ENTRIES = [entry for entry in OPERATIONS.values() if "jax" in entry.implementation.kernels]
CASES = [
    pytest.param(entry, sample, id=f"{entry.qualified_name.removeprefix('dispatchkit.')}-{index}")
    for entry in ENTRIES
    for index, sample in enumerate(entry.samples)
]
Function = Callable[..., Any]
RNG = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return RNG.standard_normal(shape)


@pytest.fixture
def taken() -> Iterator[list[str]]:
    """Note which operations a kernel of JAX's computes."""
    names: list[str] = []

    def noted(entry: DeclaredOperation, forward: Function) -> Function:
        @wraps(forward)
        def call(*args: Any, **kwargs: Any) -> Any:
            y = forward(*args, **kwargs)
            if y is not NotImplemented:
                names.append(entry.name)
            return y

        return call

    kernels = {entry: entry.implementation.kernels["jax"] for entry in ENTRIES}
    for entry, kernel in kernels.items():
        define_kernel(entry, "jax", noted(entry, kernel.forward), kernel.gradients)
    yield names
    for entry, kernel in kernels.items():
        define_kernel(entry, "jax", kernel.forward, kernel.gradients)
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


def derivatives(library: Any, function: Function, arrays: list[Any]) -> list[Any]:
    """Return the arrays that a function of tensors gives, their first derivatives twice, and second ones."""
    tensors = [dk.Tensor(x, requires_grad=np.dtype(x.dtype).kind == "f") for x in arrays]
    outputs = flat(function(*tensors))
    inputs = [x for x in tensors if x.requires_grad]
    reached = [y for y in outputs if y.requires_grad]
    if not reached:
        return [y.array for y in outputs]
    first = dk.autograd.grad(reached, inputs, cotangents(library, reached), retain_graph=True, allow_unused=True)
    live = dk.autograd.grad(
        reached, inputs, cotangents(library, reached), create_graph=True, retain_graph=True, allow_unused=True
    )
    again = [g for g in live if g is not None and g.requires_grad]
    second = dk.autograd.grad(again, inputs, cotangents(library, again), allow_unused=True) if again else ()
    return [y.detach().array for y in (*outputs, *first, *live, *second) if y is not None]


def cotangents(library: Any, outputs: list[Any]) -> list[Any]:
    rng = np.random.default_rng(2)
    return [dk.Tensor(library.asarray(rng.uniform(-1, 1, size=y.shape).astype(y.dtype))) for y in outputs]


def agree(function: Function, *arrays: Any) -> None:
    """Compare what a function gives inside `jax.jit` with what it gives on NumPy's arrays."""
    wanted = derivatives(np, function, list(arrays))
    inside = jax.jit(lambda *raw: derivatives(jnp, function, list(raw)))(*arrays)
    for result, right in zip(inside, wanted, strict=True):
        assert result.dtype == right.dtype
        assert result.shape == right.shape
        np.testing.assert_allclose(result, right, rtol=1e-8, atol=1e-12)


def of_sample(entry: DeclaredOperation, sample: Sample) -> tuple[Function, list[Any]]:
    """Return the call of a sample as a function of its arrays, and these."""
    args, kwargs = sample.make(np.random.default_rng(1))
    arrays: list[Any] = []

    def collect(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value)
        return value

    dk.tensor_protocol.map_arguments(entry.function, args, kwargs, collect)

    def call(*tensors: Any) -> Any:
        left = iter(tensors)
        moved, named = dk.tensor_protocol.map_arguments(
            entry.function, args, kwargs, lambda _, value: next(left) if isinstance(value, np.ndarray) else value
        )
        return entry.function(*moved, **named)

    return call, arrays


@by_operation(("entry", "sample"), CASES)
def test_samples_give_inside_jit_what_they_give_on_numpy_arrays(entry: DeclaredOperation, sample: Sample) -> None:
    function, arrays = of_sample(entry, sample)
    agree(function, *arrays)


def test_each_kernel_computes_samples_inside_jit(taken: list[str]) -> None:
    for entry in ENTRIES:
        for sample in entry.samples:
            function, arrays = of_sample(entry, sample)
            jax.eval_shape(lambda *raw, function=function: derivatives(jnp, function, list(raw))[0], *arrays)
    assert {entry.name for entry in ENTRIES} == set(taken)


CALLS: dict[str, tuple[Function, list[Any]]] = {
    "conv2d, two groups": (
        lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        [drawn(2, 4, 7, 8), drawn(6, 2, 3, 2), drawn(6)],
    ),
    "conv2d, an even window": (lambda x, w: F.conv2d(x, w, padding="same"), [drawn(3, 5, 6), drawn(2, 3, 2, 4)]),
    "conv2d, a stride longer than windows": (
        lambda x, w: F.conv2d(x, w, stride=4, padding=1),
        [drawn(2, 2, 12, 12), drawn(3, 2, 2, 2)],
    ),
    "conv2d, each channel with a filter": (
        lambda x, w: F.conv2d(x, w, padding="valid", groups=4),
        [drawn(1, 4, 5, 5), drawn(4, 1, 3, 3)],
    ),
    "conv1d": (
        lambda x, w, b: F.conv1d(x, w, b, stride=(2,), padding="valid", dilation=2, groups=2),
        [drawn(2, 4, 9), drawn(2, 2, 3), drawn(2)],
    ),
    "conv_transpose2d": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=(3, 2), padding=1, output_padding=(2, 1), groups=2),
        [drawn(2, 4, 3, 4), drawn(4, 3, 2, 3), drawn(6)],
    ),
    "sort": (lambda x: dk.sort(x, axis=0, descending=True), [drawn(4, 3)]),
    "topk": (lambda x: dk.topk(x, 2, axis=0, largest=False), [drawn(4, 3)]),
    "log_softmax": (lambda x: dk.log_softmax(x, axis=0), [drawn(4, 3)]),
    "cross_entropy": (
        lambda x, target: F.cross_entropy(x, target, ignore_index=1),
        [drawn(4, 3), np.asarray([2, 1, 0, 2])],
    ),
    "cross_entropy, class probabilities": (F.cross_entropy, [drawn(2, 3), abs(drawn(2, 3))]),
    "cross_entropy, weighted classes": (
        lambda x, w, target: F.cross_entropy(x, target, w),
        [drawn(2, 3), abs(drawn(3)), np.asarray([0, 2])],
    ),
    "einsum": (lambda x, y: dk.einsum("...ij,...jk->k...", x, y), [drawn(2, 3, 4), drawn(2, 4, 5)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_further_calls_are_computed_by_kernels(name: str, taken: list[str]) -> None:
    function, arrays = CALLS[name]
    agree(function, *arrays)
    assert name.partition(",")[0] in taken


LEFT: dict[str, tuple[Function, list[Any]]] = {
    "a product of matrices": (F.conv2d, [drawn(2, 3, 4, 4), drawn(5, 3, 1, 1)]),
    "integers": (F.conv2d, [np.arange(16).reshape(1, 1, 4, 4), np.arange(4).reshape(1, 1, 2, 2)]),
    "complex numbers": (lambda x, w: F.conv1d(x * 1j, w + 0j).real, [drawn(1, 2, 5), drawn(1, 2, 2)]),
    "two dtypes": (F.conv2d, [drawn(1, 1, 4, 4).astype("float32"), drawn(1, 1, 2, 2)]),
    "no images": (F.conv_transpose2d, [drawn(0, 1, 4, 4), drawn(1, 1, 2, 2)]),
    "causal attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), [drawn(3, 2)]),
    "numbers that are added to scores": (F.scaled_dot_product_attention, [drawn(2, 3, 4)] * 3 + [drawn(3)]),
    "no mask at all": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, m),
        [drawn(3, 2), np.asarray(False)],
    ),
    "several axes": (lambda x: dk.log_softmax(x, axis=None), [drawn(2, 3)]),
    "an axis that broadcasts": (lambda x, y: dk.einsum("ij,jk->ik", x, y), [drawn(2, 1), drawn(3, 2)]),
}


@pytest.mark.parametrize("name", LEFT)
def test_calls_out_of_the_ordinary_are_left_to_the_body(name: str) -> None:
    function, arrays = LEFT[name]
    agree(function, *arrays)


SPECIAL = np.asarray([0.0, np.nan, -0.0, np.inf, 0.0, -np.nan, -np.inf, 1.0, -np.inf, np.nan, -0.0, -1.0, np.inf])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("make", [lambda f: f, jax.jit])
def test_of_elements_that_tie_the_first_comes_first_and_nan_is_the_largest(make: Any, largest: bool) -> None:
    def indices(x: Any) -> Any:
        return dk.topk(dk.Tensor(x), 13, largest=largest).indices.array

    result = make(indices)(jnp.asarray(SPECIAL))
    wanted = indices(SPECIAL)
    assert result.tolist() == wanted.tolist()
    assert result.dtype == wanted.dtype


@pytest.mark.parametrize("descending", [True, False])
def test_sorted_elements_that_tie_have_their_own_cotangents(descending: bool) -> None:
    ties = np.asarray([1.0, 0.0, 1.0, -0.0, 0.0, 1.0])
    agree(lambda x: dk.sort(x, descending=descending), ties)


def test_a_query_that_no_key_takes_part_in_is_zeros() -> None:
    mask = np.asarray([[True, False, True], [False, False, False]])
    for numbers in (mask, np.where(mask, 0.0, -np.inf)):
        agree(F.scaled_dot_product_attention, drawn(2, 4), drawn(3, 4), drawn(3, 2), numbers)


def test_the_gradient_of_gelu_is_finite_where_the_density_is_zero() -> None:
    agree(lambda x: F.gelu(x) * 1.0, np.asarray([-1e100, -50.0, -6.0, 0.0, 8.0, 1e100]))

    def slope(x: Any) -> Any:
        leaf = dk.Tensor(x, requires_grad=True)
        return dk.autograd.grad(F.gelu(leaf).sum(), [leaf])[0].array

    assert jax.jit(slope)(np.asarray([np.inf, -np.inf])).tolist() == [1.0, 0.0]


WRONG: dict[str, tuple[Function, list[Any]]] = {
    "groups": (lambda x, w: F.conv2d(x, w, groups=2), [drawn(1, 3, 4, 4), drawn(2, 3, 2, 2)]),
    "a stride": (lambda x, w: F.conv1d(x, w, stride=0), [drawn(1, 3, 4), drawn(2, 3, 2)]),
    "windows": (F.conv1d, [drawn(1, 3, 4), drawn(2, 3, 6)]),
    "output padding": (
        lambda x, w: F.conv_transpose2d(x, w, output_padding=1),
        [drawn(1, 3, 4, 4), drawn(3, 2, 2, 2)],
    ),
    "keys": (F.scaled_dot_product_attention, [drawn(2, 3), drawn(3, 2), drawn(3, 2), drawn(2, 3)]),
    "classes": (F.cross_entropy, [drawn(2, 3), np.asarray([0, 1, 2])]),
    "reduction": (lambda x, t: F.cross_entropy(x, t, reduction="all"), [drawn(2, 3), np.asarray([0, 1])]),  # type: ignore[call-overload]
    "approximation": (lambda x: F.gelu(x, approximate="exact"), [drawn(2)]),  # type: ignore[call-overload]
    "lengths": (lambda x: F.rms_norm(x, 2), [drawn(2, 3)]),
    "more than there are": (lambda x: dk.topk(x, 4), [drawn(2, 3)]),
    "no such axis": (lambda x: dk.topk(x, 1, axis=2), [drawn(2, 3)]),
    "subscripts": (lambda x, y: dk.einsum("ij,jk", x, y), [drawn(2, 3), drawn(2, 3)]),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_errors_are_those_of_the_operation(name: str, requires_grad: bool) -> None:
    function, arrays = WRONG[name]

    def call(*raw: Any) -> Any:
        return flat(function(*(dk.Tensor(x, requires_grad=requires_grad and x.dtype == "float64") for x in raw)))[
            0
        ].array

    with pytest.raises(Exception) as wanted:  # noqa: PT011  # whichever it is
        call(*arrays)
    for run in (call, jax.jit(call)):
        with pytest.raises(wanted.type, match=re.escape(str(wanted.value))):
            run(*map(jnp.asarray, arrays))
