"""`LazyTensor`: what is recorded, what is computed and when, and what happens to operands that change."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.types import LazyTensor, lazy
from tests.protocol.support import steps_of

N = 3 * lazy.SMALL + 17
DRAW = np.random.default_rng(0)
A, B = DRAW.normal(size=N), DRAW.normal(size=N)


def chain(a: Any, b: Any) -> Any:
    return (((a + b) * a - b) * 2 + 1) ** 2


CHAINS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "arithmetic": lambda a, b, xp: chain(a, b),
    "shared parts": lambda a, b, xp: (a + b) * (a + b) + (a + b),
    "one operand": lambda a, b, xp: -a,
    "number on the left": lambda a, b, xp: 1 / (2 + a * a),
    "functions": lambda a, b, xp: xp.sqrt(xp.abs(a)) + xp.exp(-b) * xp.sin(a),
    "comparison": lambda a, b, xp: (a > b) & (a * 2 < b),
    "bounds": lambda a, b, xp: xp.maximum(a, xp.minimum(b, 0.5)),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("layout", ["flat", "rows", "strided", "broadcast"])
def test_chains_have_the_bits_of_numpy(name: str, layout: str) -> None:
    a, b = {
        "flat": (A, B),
        "rows": (A[: 250 * 700].reshape(250, 700), B[: 250 * 700].reshape(250, 700)),
        "strided": (A[: 250 * 700].reshape(250, 700).T, B[: 250 * 700].reshape(700, 250)),
        "broadcast": (A[: 250 * 700].reshape(250, 700), B[:700]),
    }[layout]
    expected = CHAINS[name](a, b, np)
    found = CHAINS[name](LazyTensor(a), LazyTensor(b), dk)
    assert found.recorded > 0
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found.evaluate().numpy(), expected)
    assert found.recorded == 0


@pytest.mark.parametrize("left", ["float32", "float64", "int32", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("right", ["float32", "int32", "uint8", 2, 2.5, 1j])
def test_dtypes_are_those_of_numpy(left: str, right: Any) -> None:
    a = (np.abs(A) * 3).astype(left)
    b = B.astype(right) if isinstance(right, str) else right
    functions: list[Callable[[Any, Any], Any]] = [lambda a, b: a * b + a, lambda a, b: a / b, lambda a, b: (a + b) ** 2]
    for function in functions:
        with np.errstate(all="ignore"):
            expected = function(a, b)
            found = function(LazyTensor(a), LazyTensor(b) if isinstance(right, str) else b)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.evaluate().numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all"])
def test_reductions_at_the_end_of_a_chain_make_no_array_of_its_elements(name: str) -> None:
    a, b = LazyTensor(A), LazyTensor(B)
    getattr(dk, name)((a - b) ** 2)  # compiles what the first call compiles
    tracemalloc.start()
    try:
        found = getattr(dk, name)((a - b) ** 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found.evaluate().numpy(), getattr(np, name)((A - B) ** 2), rtol=1e-12)
    assert peak < 2.5 * 8 * lazy.BLOCK


def test_a_chain_needs_the_memory_of_its_result_and_a_few_blocks() -> None:
    a, b = LazyTensor(np.ones(40 * lazy.BLOCK)), LazyTensor(np.ones(40 * lazy.BLOCK))
    tracemalloc.start()
    try:
        chain(a, b).evaluate()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * a.data.numpy().nbytes


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_chain_is_written_to_memory_that_is_given(order: Any) -> None:
    a, b = A[: 250 * 700].reshape(250, 700), B[: 250 * 700].reshape(250, 700)
    memory = np.zeros(a.shape, order=order)
    y = chain(LazyTensor(a), LazyTensor(b))
    found = y.evaluate(out=memory)
    np.testing.assert_array_equal(memory, chain(a, b))
    assert np.shares_memory(found.numpy(), memory)
    assert y.recorded == 6
    y.evaluate()
    memory[...] = 0
    y.evaluate(out=memory)
    np.testing.assert_array_equal(memory, chain(a, b))
    for wrong in (np.zeros(a.shape, np.float32), np.zeros(5), dk.asarray(memory)):
        with pytest.raises(
            ValueError, match=r"out must be a NumPy array of shape \(250, 700\) and dtype float64, found"
        ):
            y.evaluate(out=wrong)


def test_a_chain_is_not_written_over_its_operands() -> None:
    a = A.copy()
    y = LazyTensor(a) * LazyTensor(B) + 1
    with pytest.raises(ValueError, match=r"^LazyTensor\.evaluate: out overlaps the memory of an operand; give other"):
        y.evaluate(out=a)
    np.testing.assert_array_equal(a, A)


def test_a_chain_stays_recorded_in_a_program_that_has_arrays_of_other_libraries() -> None:
    library = pytest.importorskip("array_api_strict")
    y = LazyTensor(A) * LazyTensor(B) + 1
    try:
        assert (dk.asarray(library.ones(2)) + 1).sum().item() == 4
        y.evaluate(out=np.empty_like(A))
    finally:
        foreign.clear()
    assert y.recorded == 2


def test_small_arrays_are_computed_at_once() -> None:
    x = LazyTensor([1.0, 2.0])
    y = chain(x, x)
    assert y.recorded == 0
    assert repr(y) == f"LazyTensor({chain(x.data, x.data)!r})"


def test_small_arrays_take_few_steps_and_anything_else_beside_them_the_same_way() -> None:
    x = LazyTensor([1.0, 2.0])
    assert steps_of(lambda: x + x) < 80
    other = np.asarray([3.0, 4.0])
    for y in (x + other, other + x, x + dk.asarray(other), x + LazyTensor(other)):
        assert (type(y), y.recorded, y.evaluate().tolist()) == (LazyTensor, 0, [4.0, 6.0])
    for y in (x * np.float64(2.0), 2 * x, x * dk.asarray(2.0), x * np.asarray([[2.0]])):
        assert (type(y), y.recorded, y.evaluate().sum().item()) == (LazyTensor, 0, 6.0)
    assert dk.add(LazyTensor(A), 1).recorded == 1
    assert (LazyTensor(A[:300, None]) * LazyTensor(A[:300])).recorded == 1


def test_a_long_chain_is_computed_on_the_way() -> None:
    x = LazyTensor(A)
    most = 0
    for _ in range(3 * lazy.LONGEST):
        x = x + 1
        most = max(most, x.recorded)
    assert most == lazy.LONGEST
    np.testing.assert_allclose(x.evaluate().numpy(), A + 3 * lazy.LONGEST)


def test_an_operand_that_changed_before_it_was_used_is_an_error() -> None:
    x = dk.asarray(A.copy())
    y, whole = LazyTensor(x) * 2, LazyTensor(x) + 1
    whole.evaluate()
    x.add_(1.0)
    with pytest.raises(
        RuntimeError, match=r"^LazyTensor: operand 0 of a recorded multiply, of shape .*, was changed in"
    ):
        y.evaluate()
    np.testing.assert_array_equal(whole.evaluate().numpy(), A + 1)


@pytest.mark.parametrize(
    "compute", [lambda a, b: a - b, lambda a, b: (a - b) * a, lambda a, b: a - 2.0], ids=["one", "two", "a number"]
)
def test_one_operation_is_computed_as_a_chain_is(compute: Any) -> None:
    rows = np.asfortranarray(A[: N // 17 * 17].reshape(-1, 17))
    for left, right in ((A, B), (rows, rows[0])):
        a, b = LazyTensor(left.copy(order="A")), LazyTensor(right)
        result, late = compute(a, b), compute(a, b)
        assert result.recorded in (1, 2)
        np.testing.assert_array_equal(result.evaluate().numpy(), compute(left, right))
        assert result.evaluate().array.flags.c_contiguous
        a.data[0] = 1.0
        with pytest.raises(RuntimeError, match="operand 0 of a recorded subtract, of shape"):
            late.evaluate()


def test_elements_that_are_there_are_no_dense_form_that_is_made() -> None:
    dk.clear_densify_ledger()
    a, b = LazyTensor(A), LazyTensor(B)
    total = a + b
    for _ in range(2):
        total.evaluate()
    (LazyTensor(np.ones(3)) + 1.0).evaluate()
    (entry,) = dk.densify_ledger()
    assert (entry.function, entry.count, entry.nbytes, entry.deliberate) == ("LazyTensor.evaluate", 1, 8 * N, True)
    with dk.densify(on="error"), dk.local_registrations():
        dk.implements(dk.cumulative_sum, LazyTensor)(lambda x, /, **options: dk.cumulative_sum(x.evaluate()))
        assert dk.cumulative_sum(total)[0].item() == A[0] + B[0]
        with pytest.raises(dk.DensifyError, match="would make LazyTensor dense"):
            dk.cumulative_sum(a + b)


def test_elements_of_a_small_array_are_read_in_few_steps() -> None:
    a, b = LazyTensor(np.ones(3)), LazyTensor(np.ones(3))
    (a + b).evaluate()
    assert steps_of(lambda: (a + b).evaluate()) < 70


def test_gradients_flow_through_chains_and_reach_the_data() -> None:
    x = dk.asarray(A.copy()).requires_grad_()
    y = chain(LazyTensor(x), LazyTensor(B))
    assert y.recorded == 0
    y.sum().evaluate().backward()
    u = (A + B) * A - B
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 4 * (2 * u + 1) * (2 * A + B), rtol=1e-10, atol=1e-10)
    with dk.no_grad():
        assert (LazyTensor(x) * 2).recorded == 1
    found: Any = dk.func.grad(lambda z: chain(z, z).sum().evaluate())(LazyTensor([1.0, 2.0]))
    assert type(found) is LazyTensor


def test_copies_and_pickles_hold_the_elements() -> None:
    y = chain(LazyTensor(A), LazyTensor(B))
    for made in (copy.copy(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        np.testing.assert_array_equal(made.evaluate().numpy(), chain(A, B))


def test_other_operations_compute_their_operands() -> None:
    y = LazyTensor(A) * 2
    found = dk.sort(y)[:3]
    assert type(found) is LazyTensor
    np.testing.assert_array_equal(found.evaluate().numpy(), np.sort(2 * A)[:3])
    with pytest.raises(ValueError, match="broadcast"):
        LazyTensor(A) + LazyTensor(A[:-1])


def test_it_prints_what_it_has_recorded() -> None:
    assert repr(chain(LazyTensor(A), LazyTensor(B))) == (
        f"LazyTensor(6 operations recorded, shape=({N},), dtype=float64)"
    )
