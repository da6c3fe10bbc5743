"""`UncertainTensor`: correlations are kept through every operation, copies and pickles."""

from __future__ import annotations

import copy
import pickle
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.types import QuantityTensor, UncertainTensor
from dispatchkit.types.uncertain import covariance, samples
from tests.protocol.support import steps_of

x = UncertainTensor([1.0, 2.0], [0.1, 0.2])
matrix = UncertainTensor([[2.0, 1.0], [1.0, 3.0]], 0.1)


def agree(found: Any, value: Any, std: Any) -> None:
    assert type(found) is UncertainTensor
    np.testing.assert_allclose(found.value.numpy(), value, atol=1e-14)
    np.testing.assert_allclose(found.std.numpy(), std, atol=1e-14)


def test_what_depends_on_the_same_source_is_correlated() -> None:
    agree(x - x, [0.0, 0.0], [0.0, 0.0])
    agree(x + x, [2.0, 4.0], [0.2, 0.4])
    agree(x + UncertainTensor([1.0, 2.0], [0.1, 0.2]), [2.0, 4.0], [0.1 * 2**0.5, 0.2 * 2**0.5])
    agree(x / x, [1.0, 1.0], [0.0, 0.0])
    agree(dk.sin(x) ** 2 + dk.cos(x) ** 2, [1.0, 1.0], [0.0, 0.0])
    agree(x[0] + x[1] - dk.sum(x), 0.0, 0.0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, dk.clone, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_stay_correlated(copied: Any) -> None:
    agree(copied(x) - x, [0.0, 0.0], [0.0, 0.0])


def test_arrays_made_apart_are_independent() -> None:
    assert covariance(x, UncertainTensor([1.0, 2.0], [0.1, 0.2])).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(covariance(x).numpy(), np.diag([0.01, 0.04]))
    np.testing.assert_allclose(covariance(x, x + x[0]).numpy(), [[0.02, 0.01], [0.0, 0.04]])


FUNCTIONS: dict[str, Any] = {
    "inv": dk.linalg.inv,
    "det": dk.linalg.det,
    "solve": lambda m: dk.linalg.solve(m, m[0]),
    "eigenvalues": lambda m: dk.linalg.eigvalsh(m + m.T),
    "exp": dk.exp,
    "softmax": lambda m: dk.softmax(m, axis=1),
    "cumulative sum": lambda m: dk.cumulative_sum(m, axis=0),
    "product": lambda m: m @ m,
    "broadcast": lambda m: m * m[0] + m[:, :1],
    "std": dk.std,
    "median": dk.median,
    "sort": lambda m: dk.sort(m, axis=1),
    "concat": lambda m: dk.concat([m, 2 * m]),
    "where": lambda m: dk.where(m > 1.5, m, -m),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_with_a_derivative_is_known(name: str) -> None:
    function = FUNCTIONS[name]
    found = function(matrix)
    jacobian = dk.func.jacrev(function)(matrix.value)
    rows = jacobian.numpy().reshape(found.size, matrix.size)
    np.testing.assert_allclose(covariance(found).numpy(), 0.01 * rows @ rows.T, atol=1e-12)
    np.testing.assert_allclose(found.value.numpy(), function(matrix.value).numpy())


MOVED: dict[str, Any] = {
    "clone": lambda x: dk.clone(x),
    "ravel": lambda x: dk.ravel(x),
    "flatten": lambda x: dk.flatten(x),
    "transpose": lambda x: dk.transpose(x),
    "fftshift": lambda x: dk.fft.fftshift(x),
    "sort": lambda x: dk.sort(x, axis=0, descending=True),
}


@pytest.mark.parametrize("name", MOVED)
def test_elements_that_are_moved_keep_the_few_sources_that_they_have(name: str) -> None:
    x = UncertainTensor(np.array([[3.0, 1.0], [2.0, 4.0]]), np.array([[0.3, 0.1], [0.2, 0.4]]))
    moved = MOVED[name](x)
    np.testing.assert_allclose(moved.std.numpy(), MOVED[name](x.value).numpy() / 10)
    assert moved.factor.shape == (1, *moved.shape)
    np.testing.assert_allclose((moved - MOVED[name](x)).std.numpy(), 0.0)


def test_places_of_elements_are_exact_and_take_no_derivatives() -> None:
    x = UncertainTensor(np.array([0.0, 2.0, 0.0, 5.0]), 0.1)
    (places,) = dk.nonzero(x)
    assert places.tolist() == [1, 3]
    assert isinstance(places, dk.Tensor)


STEPS: list[Any] = [
    *(lambda x: x * x, dk.sin, lambda x: x + 1, lambda x: x[::-1] * x, dk.cumulative_sum, lambda x: x - dk.mean(x)),
    *(lambda x: x * x[0], lambda x: dk.concat([x[1:], dk.sin(x[:1])]), lambda x: dk.stack([x[2] * x[0], x[1], x[2]])),
    *(lambda x: dk.sort(x), lambda x: x * dk.linalg.vector_norm(x), lambda x: dk.concat([x[:2], dk.asarray([1.0])])),
]


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
def test_an_expression_has_the_covariance_of_its_jacobian(steps: list[Any]) -> None:
    def expression(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    x = UncertainTensor([0.5, -1.0, 0.25], [0.1, 0.2, 0.05])
    rows = dk.func.jacrev(expression)(x.value).numpy()
    np.testing.assert_allclose(
        covariance(expression(x)).numpy(), rows @ np.diag([0.01, 0.04, 0.0025]) @ rows.T, atol=1e-12
    )


SMALL: list[Any] = [
    *(lambda x, y: x + y, lambda x, y: x - y * x, lambda x, y: x / y + y, lambda x, y: 2 * x - y / 3 + x),
    *(lambda x, y: dk.atan2(x, y), lambda x, y: dk.sum(x * y), lambda x, y: dk.cumulative_sum(x + y) - x),
    *(lambda x, y: dk.maximum(x, y) ** 2, lambda x, y: dk.sqrt(x) * y[0], lambda x, y: dk.exp(-x) + y[:, None]),
]


@pytest.mark.parametrize("function", SMALL)
@pytest.mark.parametrize("n", [1, 3])
def test_declared_rules_give_what_derivatives_do(function: Any, n: int) -> None:
    a = UncertainTensor(np.linspace(1.0, 2.0, n), 0.1)
    b = UncertainTensor(np.linspace(3.0, 2.5, n), np.linspace(0.2, 0.3, n))
    found = function(a, b)
    rows = [r.numpy().reshape(found.size, n) for r in dk.func.jacrev(function, argnums=(0, 1))(a.value, b.value)]
    stds = [x.std.numpy() for x in (a, b)]
    expected = sum(row @ np.diag(std**2) @ row.T for row, std in zip(rows, stds, strict=True))
    np.testing.assert_allclose(covariance(found).numpy(), expected, atol=1e-14)
    np.testing.assert_allclose(found.value.numpy(), function(a.value, b.value).numpy())


NUMBERS: list[Any] = [
    *(lambda x, y: x * y + x / y - 2 * x, lambda x, y: (x - y) ** 2 * (x + y), lambda x, y: dk.abs(-x) * dk.sin(y)),
    *(lambda x, y: dk.maximum(x, y) - dk.minimum(x, 1.0), lambda x, y: dk.hypot(x, y) ** y, lambda x, y: 1 / x % y),
    lambda x, y: dk.sign(x) * dk.clip(y, 0.0, 9.0) + dk.floor(x),
]


@pytest.mark.parametrize("function", NUMBERS)
def test_numbers_have_the_deviations_that_derivatives_say(function: Any) -> None:
    a, b = UncertainTensor(1.5, 0.1), UncertainTensor(2.5, 0.2)
    slopes = dk.func.jacrev(function, argnums=(0, 1))(a.value, b.value)
    agree(function(a, b), function(a.value, b.value), np.hypot(0.1 * float(slopes[0]), 0.2 * float(slopes[1])))


def test_a_number_of_many_sources_has_each_once() -> None:
    numbers = [UncertainTensor(float(place), 0.1) for place in range(40)]
    total: Any = sum(numbers)
    assert len(total.sources.ids) == 40
    agree(total - sum(numbers[10:]), sum(range(10)), 0.1 * 10**0.5)
    agree(total * 2 + total, 3 * sum(range(40)), 0.3 * 40**0.5)


def test_numbers_are_made_multiplied_and_read_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = UncertainTensor(1.5, 0.1), UncertainTensor(2.5, 0.2)
    monkeypatch.setattr("dispatchkit.func.jvp", None)  # nor of abs, whose rule gives cotangents
    assert dk.abs(a * b).std == (a * b).std
    assert steps_of(lambda: UncertainTensor(1.5, 0.1)) < 50
    assert steps_of(lambda: a / b) < 200
    assert steps_of(lambda: (a * b).std) < 200
    x, places = UncertainTensor([1.0, 2.0, 3.0], 0.1), np.asarray([2, 0])
    agree(x[places] - x[::-2], [0.0, 0.0], [0.0, 0.0])
    assert steps_of(lambda: x[places]) < 115


def test_an_element_leaves_behind_the_sources_that_it_does_not_have() -> None:
    y = UncertainTensor([1.0, 2.0, 3.0], 0.1)
    few = dk.concat([y[:1] * y[1], y[2:]])  # the last has one source, and room for another
    agree(few[1] + few[0], 5.0, 0.1 * (1 + 4 + 1) ** 0.5)
    assert len((few[1] + few[1]).sources.ids) == 1


def test_what_does_not_vary_adds_nothing_to_a_number() -> None:
    with np.errstate(divide="ignore"):
        assert float(dk.sqrt(UncertainTensor(0.0, 0.0)).std) == 0.0
        assert float(dk.sqrt(UncertainTensor(0.0, 0.1)).std) == np.inf
    assert float((UncertainTensor(1.0, float("inf")) * 0).std) == 0.0
    assert float((UncertainTensor(1.0, 1e300) * 1e300).std) == np.inf


def test_numbers_are_of_the_default_dtype_and_stay_single_where_they_are() -> None:
    before = dk.get_default_dtype()
    dk.set_default_dtype(dk.float32)
    try:
        single = UncertainTensor(1.5, 0.1)
    finally:
        dk.set_default_dtype(before)
    assert single.dtype == single.std.dtype == (single * single).std.dtype == np.float32
    assert float((single * single).std) == pytest.approx(0.3)


def test_a_rule_that_is_declared_anew_says_the_deviation() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def twofold(xp: Any, x: Any, /) -> Any:
        """Twice."""
        return 2 * x

    twofold.def_partial(2)
    number = UncertainTensor(1.0, 0.1)
    agree(twofold(number), 2.0, 0.2)
    twofold.def_partial("x")(lambda x: 3 * x)
    agree(twofold(number), 2.0, 0.3)


def test_an_integer_array_is_no_list_of_places() -> None:
    found = dk.concat([x, dk.asarray([0, 1])])
    agree(found, [1.0, 2.0, 0.0, 1.0], [0.1, 0.2, 0.0, 0.0])


def test_memory_grows_as_the_number_of_elements_where_each_keeps_its_sources() -> None:
    n = 50_000
    a, b = UncertainTensor(np.linspace(1.0, 2.0, n), 0.1), UncertainTensor(np.linspace(2.0, 3.0, n), 0.2)
    tracemalloc.start()
    try:
        found = dk.sum(dk.concat([dk.sin(a) * b, (b[::-1] - a[0]) / a]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 8 * n
    # By hand: the derivatives by each element of both.
    u, v = a.value.numpy(), b.value.numpy()
    by_a = np.cos(u) * v - (v[::-1] - u[0]) / u**2
    by_a[0] -= np.sum(1 / u)
    by_b = np.sin(u) + (1 / u)[::-1]
    np.testing.assert_allclose(found.std.numpy(), np.sqrt(np.sum((0.1 * by_a) ** 2) + np.sum((0.2 * by_b) ** 2)))
    assert covariance(found, a[0]).item() == pytest.approx(0.01 * by_a[0])


def test_an_element_that_meets_a_source_twice_has_it_once() -> None:
    y = UncertainTensor([1.0, 2.0, 3.0], 0.1)
    found = y[::-1] + y
    agree(found, [4.0, 4.0, 4.0], [0.1 * 2**0.5, 0.2, 0.1 * 2**0.5])
    agree(found - y - y[::-1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    many: Any = dk.zeros(3)
    for number in range(40):
        many = many + UncertainTensor([1.0, 2.0, 3.0], 0.1) * float(number > 9)
    np.testing.assert_allclose(many.std.numpy(), 0.1 * 30**0.5)


def test_numbers_without_uncertainty_do_not_become_nan() -> None:
    with np.errstate(divide="ignore"):
        found = dk.sqrt(UncertainTensor([0.0, 1.0], [0.1, 0.1]))
        assert found.std.tolist() == [np.inf, 0.05]
        assert dk.sqrt(UncertainTensor([0.0, 1.0])).std.tolist() == [0.0, 0.0]


def test_samples_show_what_first_order_leaves_out() -> None:
    y = UncertainTensor(0.0, 0.1)
    assert (y**2).std.item() == 0.0
    drawn, twice = samples([y, 2 * y], 20_000, generator=dk.Generator(0))
    assert float(dk.std(drawn**2)) == pytest.approx(0.1**2 * 2**0.5, rel=0.05)
    np.testing.assert_allclose(twice.numpy(), 2 * drawn.numpy())


def test_comparisons_compare_values() -> None:
    assert type(x > 1.5) is dk.Tensor
    assert (x > 1.5).tolist() == [False, True]
    assert int(dk.argmax(x)) == 1


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "NumPy": (lambda: np.asarray(x), ValueError, r"would lose the standard deviations; take \.value$"),
    "float": (lambda: float(x[0]), ValueError, "would lose the standard deviations"),
    "assignment": (lambda: x.clone().__setitem__(0, 1.0), TypeError, r"write where\(condition, x1, x2\)"),
    "twice": (lambda: UncertainTensor(x, 0.1), TypeError, "has a standard deviation already"),
    "complex": (lambda: UncertainTensor([1j], 0.1), TypeError, "must hold real numbers, not complex128"),
    "shapes": (lambda: UncertainTensor([1.0, 2.0], [0.1, 0.1, 0.1]), ValueError, r"\(3,\).*\(2,\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_an_uncertain_quantity() -> None:
    for made in (
        QuantityTensor(UncertainTensor([1.0, 2.0], 0.01), "m"),
        UncertainTensor(QuantityTensor([1.0, 2.0], "m"), QuantityTensor(1.0, "cm")),
    ):
        area: Any = made * made
        assert repr(area.unit) == "Unit('m**2')"
        agree(area.magnitude, [1.0, 4.0], [0.02, 0.04])
    with pytest.raises(dk.errors.UnitError):
        UncertainTensor(QuantityTensor([1.0, 2.0], "m"), QuantityTensor(1.0, "s"))


def test_standard_deviations_can_be_differentiated() -> None:
    found = dk.func.grad(lambda s: dk.sum(UncertainTensor([1.0, 2.0], s) * 3.0).std)(dk.asarray([0.3, 0.4]))
    np.testing.assert_allclose(found.numpy(), [3 * 0.6, 3 * 0.8])


def test_printing() -> None:
    assert repr(x) == "UncertainTensor([1.00 ± 0.10, 2.00 ± 0.20])"


@pytest.mark.parametrize("join", [dk.concat, dk.stack])
def test_elements_are_joined_with_those_of_other_types(join: Any) -> None:
    x = UncertainTensor([[1.0, 2.0]], 0.5)
    for other in (
        dk.types.LazyTensor([[3.0, 4.0]]),
        dk.types.LowRankTensor([[1.0]], [[3.0, 4.0]]),
        dk.asarray([[3.0, 4.0]]),
    ):
        with dk.densify(on="allow"):
            joined = join([x, other])
        np.testing.assert_array_equal(np.ravel(joined.value.numpy()), [1.0, 2.0, 3.0, 4.0])
        np.testing.assert_array_equal(np.ravel(joined.std.numpy()), [0.5, 0.5, 0.0, 0.0])


def test_numbers_without_a_source_have_no_uncertainty_in_any_function() -> None:
    x = UncertainTensor(np.zeros((0, 2, 2)), 0.5).sum(axis=0) + np.eye(2)
    for call in (
        dk.linalg.inv,
        dk.sin,
        lambda x: x @ x,
        lambda x: dk.linalg.qr(x)[0],
        lambda x: x.sum(axis=0),
        dk.mean,
    ):
        assert not dk.any(call(x).std)


NOT_FINITE = pytest.mark.parametrize("bad", [float("nan"), float("inf")])


@NOT_FINITE
def test_what_is_behind_a_mask_reaches_no_deviation(bad: float) -> None:
    data = UncertainTensor([1.0, 2.0, bad], [0.3, 0.4, bad])
    m = dk.types.MaskedTensor(data, [True, True, False])
    assert float(m.mean().data.std) == pytest.approx(0.25)  # sqrt(0.3**2 + 0.4**2) / 2
    assert float(m.sum().data.std) == pytest.approx(0.5)
    assert float(m.max().data.std) == pytest.approx(0.4)
    assert float(dk.median(m).data.std) == pytest.approx(0.25)
    assert float((m @ m).data.std) == pytest.approx(1.7088007490635064)  # sqrt(0.6**2 + 1.6**2)
    assert m.filled(0.0).std.tolist() == pytest.approx([0.3, 0.4, 0.0])
    assert dk.cumulative_sum(m).data.std.tolist()[:2] == pytest.approx([0.3, 0.5])
    assert dk.stack([m, m]).sum(axis=1).data.std.tolist() == pytest.approx([0.5, 0.5])
    q = dk.types.QuantityTensor(m, "m")
    assert float(q.mean().magnitude.data.std) == pytest.approx(0.25)


@NOT_FINITE
def test_an_unknown_deviation_stops_where_nothing_depends_on_it(bad: float) -> None:
    u = UncertainTensor([-1.0, 2.0, 3.0], [bad, 0.1, bad])
    flat = {
        "where": dk.where(dk.asarray([False, True, False]), u, 0.0),
        "masked_fill": dk.masked_fill(u, dk.asarray([True, False, True]), 0.0),
        "clip": dk.clip(u, 0.0, 2.5),
        "product": u * dk.asarray([0.0, 1.0, 0.0]),
        "relu": dk.nn.functional.relu(u - dk.asarray([0.0, 0.0, 9.0])),
        "maximum": dk.maximum(u, dk.asarray([0.0, 0.0, 9.0])),
        "minimum": dk.minimum(u, dk.asarray([-9.0, 9.0, -9.0])),
    }
    for name, y in flat.items():
        assert y.std.tolist() == pytest.approx([0.0, 0.1, 0.0]), name
    assert dk.round(u).std.tolist() == [0.0, 0.0, 0.0]
    assert float(dk.max(u[:2]).std) == pytest.approx(0.1)
    chosen = dk.asarray([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]) @ u
    assert chosen.std.tolist() == pytest.approx([0.1, 0.2])
    assert not np.isfinite(float(u.sum().std))


def test_negative_deviations_are_refused_and_unknown_ones_taken() -> None:
    with pytest.raises(ValueError, match=r"standard deviations are not negative, found -0\.1"):
        UncertainTensor([1.0, 2.0], [0.2, -0.1])
    with pytest.raises(ValueError, match=r"standard deviations are not negative, found -0\.1"):
        UncertainTensor(1.0, -0.1)
    assert np.isnan(float(UncertainTensor(1.0, float("nan")).std))
    assert dk.func.grad(lambda s: UncertainTensor([1.0, 2.0], s).sum().std)(dk.asarray([0.3, 0.4])).tolist() == (
        pytest.approx([0.6, 0.8])
    )


def test_deviations_of_half_precision_are_kept_in_single() -> None:
    x = UncertainTensor(np.array([1.0, 1.0], np.float16), 1e-4)
    assert float(x.sum().std) == pytest.approx(1.4142e-4, rel=1e-3)
    assert float(UncertainTensor(np.float16(1.0), 1e-8).std) == pytest.approx(1e-8)
    y = UncertainTensor(np.float32(1.0), 1e-30) + UncertainTensor(np.float32(1.0), 1e-30)
    assert float(y.std) == pytest.approx(1.4142136e-30, rel=1e-5)


class Variable:
    """As the numbers of the library uncertainties are."""

    def __init__(self, nominal_value: float, std_dev: float) -> None:
        self.nominal_value, self.std_dev = nominal_value, std_dev
        self.derivatives = {self: 1.0}


Variable.__module__ = "uncertainties.core"


def test_numbers_of_uncertainties_keep_their_correlations() -> None:
    a, b = Variable(1.0, 0.5), Variable(2.0, 0.25)
    x = UncertainTensor([a, b, a])
    assert (x.value.tolist(), x.std.tolist()) == ([1.0, 2.0, 1.0], [0.5, 0.25, 0.5])
    assert dk.sum(x[0] - x[2]).std == 0
    assert UncertainTensor(np.array([[a], [b]], dtype=object)).shape == (2, 1)
    assert UncertainTensor([a, 3.0]).std.tolist() == [0.5, 0.0]
    with pytest.raises(TypeError, match=r"^UncertainTensor: the value has a standard deviation already$"):
        UncertainTensor(a, 0.1)


def test_numbers_go_to_the_library_uncertainties_and_come_back() -> None:
    uncertainties = pytest.importorskip("uncertainties")
    x = UncertainTensor([1.0, 2.0], [0.5, 0.25])
    numbers = dk.cumulative_sum(x).to_uncertainties()
    assert uncertainties.covariance_matrix(list(numbers)) == [[0.25, 0.25], [0.25, 0.3125]]
    back = UncertainTensor(numbers)
    assert (back[1] - back[0]).std == 0.25
    assert UncertainTensor([3.0]).to_uncertainties().tolist() == [3.0]
    with pytest.raises(TypeError, match=r"uncertainties has no complex numbers; convert dk.real\(x\) and dk.imag\(x\)"):
        dk.fft.fft(x).to_uncertainties()


def test_numbers_from_a_covariance_matrix_have_it_and_propagate_as_those_of_uncertainties() -> None:
    matrix = [[0.04, -0.03, 0.0], [-0.03, 0.09, 0.0], [0.0, 0.0, 0.0]]
    x = UncertainTensor.from_covariance([1.0, 2.0, 3.0], matrix)
    np.testing.assert_allclose(covariance(x).numpy(), matrix, atol=1e-15)
    # d(xy) = y dx + x dy: 4 * 0.04 + 0.09 + 2 * 2 * -0.03
    np.testing.assert_allclose((x[0] * x[1]).std.item(), np.sqrt(0.13), rtol=1e-12)
    uncertainties = pytest.importorskip("uncertainties")
    theirs = uncertainties.correlated_values([1.0, 2.0, 3.0], matrix)
    np.testing.assert_allclose((x[0] / x[1]).std.item(), (theirs[0] / theirs[1]).std_dev, rtol=1e-12)
    back = uncertainties.covariance_matrix(x.to_uncertainties()[:2])
    np.testing.assert_allclose(back, np.asarray(matrix)[:2, :2], atol=1e-15)


def test_covariances_of_numbers_of_very_different_scales_are_kept() -> None:
    matrix = np.array([[1e-24, 5e-13], [5e-13, 1.0]])
    x = UncertainTensor.from_covariance(dk.asarray([1e-9, 10.0]), dk.asarray(matrix))
    np.testing.assert_allclose(covariance(x).numpy(), matrix, rtol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0]], r"2 numbers have covariances of shape \(2, 2\), not \(1, 1\)"),
        ([[1.0, 0.5], [0.2, 1.0]], "covariances are symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "the least eigenvalue of their correlations is -1"),
        ([[-1.0, 0.0], [0.0, 1.0]], "a variance is not negative, found -1.0"),
        ([[float("nan"), 0.0], [0.0, 1.0]], "covariances are finite real numbers"),
    ],
)
def test_what_is_no_covariance_matrix_is_refused(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=f"^UncertainTensor.from_covariance: .*{message}"):
        UncertainTensor.from_covariance([1.0, 2.0], matrix)


@pytest.mark.parametrize("numbers", [[1.0, 2.0, 4.0], [[1.0, 2.0], [3.0, 4.0]], 5.0], ids=str)
def test_the_mean_has_the_uncertainty_of_the_sum_by_the_number_of_elements(numbers: Any) -> None:
    x = UncertainTensor(numbers, 0.3)
    for y in (x, x + x, dk.reshape(x * 2.0, (-1,))):
        mean, total = dk.mean(y), dk.sum(y)
        assert mean.value.item() == pytest.approx(total.value.item() / y.size)
        assert mean.std.item() == pytest.approx(total.std.item() / y.size)
        assert (mean * y.size - total).std.item() == pytest.approx(0.0, abs=1e-12)


def test_a_mean_takes_few_steps() -> None:
    x = UncertainTensor(np.ones(5), 0.1)
    x.mean()
    assert steps_of(x.mean) < 500


OF_COMPLEX: dict[str, Any] = {
    "real": (lambda z: dk.real(z), lambda z, f: f.real),
    "imag": (lambda z: dk.imag(z), lambda z, f: f.imag),
    "abs": (lambda z: dk.abs(z), lambda z, f: (z.conj()[:, None] * f).real / abs(z)[:, None]),
    "square of the absolute value": (lambda z: dk.real(z * dk.conj(z)), lambda z, f: 2 * (z.conj()[:, None] * f).real),
    "sum of absolute values": (
        lambda z: dk.sum(dk.abs(z)),
        lambda z, f: ((z.conj()[:, None] * f).real / abs(z)[:, None]).sum(0),
    ),
    "back": (lambda z: dk.real(dk.fft.ifft(z)), lambda z, f: np.eye(4)),
    "moved": (lambda z: dk.imag(dk.flip(z)), lambda z, f: f.imag[::-1]),
}


@pytest.mark.parametrize(("function", "jacobian"), OF_COMPLEX.values(), ids=OF_COMPLEX)
def test_the_parts_of_complex_numbers_have_their_own_deviations(function: Any, jacobian: Any) -> None:
    numbers, std = np.asarray([1.0, 2.0, 4.5, 3.0]), np.asarray([0.1, 0.2, 0.3, 0.4])
    transform = np.fft.fft(np.eye(4))
    found = function(dk.fft.fft(UncertainTensor(numbers, std)))
    assert found.std.dtype == np.float64
    np.testing.assert_allclose(found.std, np.sqrt(((jacobian(transform @ numbers, transform) * std) ** 2).sum(-1)))


def test_complex_numbers_show_the_deviations_of_both_parts_and_have_that_of_both_together() -> None:
    z: Any = x * (3 + 4j)
    assert repr(z) == "UncertainTensor([(3.00 ± 0.30)+(4.00 ± 0.40)j, (6.00 ± 0.60)+(8.00 ± 0.80)j])"
    np.testing.assert_allclose(z.std, [0.5, 1.0])
    np.testing.assert_allclose(covariance(z, x), [[0.03 + 0.04j, 0], [0, 0.12 + 0.16j]])
    np.testing.assert_allclose(covariance(x, z), covariance(z, x).numpy().conj().T)
    agree(dk.real(z / (3 + 4j)) - x, [0.0, 0.0], [0.0, 0.0])


def test_a_histogram_of_a_matrix_has_uncertain_edges() -> None:
    counts, edges = np.histogram(UncertainTensor([[2.0, 1.0], [1.5, 3.0]], 0.1), 2)
    assert counts.tolist() == [2, 2]
    agree(edges[[0, 2]], [1.0, 3.0], [0.1, 0.1])


def test_numbers_that_a_loop_multiplies_and_divides_keep_what_they_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = UncertainTensor(2.0, 0.1), UncertainTensor(3.0, 0.2)
    monkeypatch.setattr("dispatchkit.func.jvp", None)  # the rules of these say their slopes
    total = a
    for _ in range(5):
        total = total * b / b + a
    agree(dk.stack([total, total / b]), [12.0, 4.0], [0.6, np.hypot(0.6 / 3, 12 * 0.2 / 9)])
    assert len(total.sources.ids) == 2


KEYS = [1, -1, slice(None, None, 2), (), ..., None, (1, ...), (None, slice(1, 3)), slice(3, 1)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_what_an_index_chooses_shows_the_numbers_that_are_written_later(key: Any) -> None:
    x = UncertainTensor(np.arange(4.0), [0.1, 0.2, 0.3, 0.4])
    part = x[key]
    x.value[...] = 7.0
    assert np.array_equal(part.value.numpy(), np.arange(4.0)[key] * 0 + 7)
    assert np.array_equal(part.std.numpy(), np.array([0.1, 0.2, 0.3, 0.4])[key])
    part.value[...] = 8.0
    assert np.array_equal(x.value.numpy(), np.where(np.isin(np.arange(4), np.arange(4)[key]), 8.0, 7.0))


def test_a_gradient_flows_through_what_an_index_chose_before_an_assignment_that_is_recorded() -> None:
    x, w = UncertainTensor(np.arange(4.0), 0.1), dk.asarray(3.0, requires_grad=True)
    part, other = x[1:3], x[3]
    x.value[1] = w
    with dk.no_grad():
        assert part.value.requires_grad
    (part.value * 2).sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 2.0
    assert other.value.item() == 3.0


def test_what_an_index_chose_stays_outside_of_a_leaf_that_the_numbers_become() -> None:
    x = UncertainTensor(np.arange(4.0), 0.1)
    part = x[1:3]
    x.value.requires_grad_()
    assert not part.value.requires_grad
    assert x[1:3].value.requires_grad


def test_what_an_index_chose_keeps_its_numbers_where_the_tensor_gets_others() -> None:
    x = UncertainTensor(np.arange(4.0), 0.1)
    part = x[1:3]
    x.value.data = dk.zeros(4)
    assert part.value.tolist() == [1.0, 2.0]


def test_an_index_that_does_not_fit_is_refused_at_once() -> None:
    x = UncertainTensor(np.arange(4.0), 0.1)
    for key in (4, (0, 0), (..., ...)):
        with pytest.raises(IndexError, match="getitem"):
            x[key]


def test_what_an_index_chose_is_pickled_and_copied_before_it_is_asked_for() -> None:
    x = UncertainTensor(np.arange(4.0), 0.1)
    for again in (pickle.loads(pickle.dumps(x[1:3])), copy.copy(x[1:3]), copy.deepcopy(x[1:3])):
        assert again.value.tolist() == [1.0, 2.0]
        assert again.std.tolist() == [0.1, 0.1]
        assert (again - x[1:3]).std.tolist() == [0.0, 0.0]


def test_threads_find_the_same_numbers_of_what_an_index_chose() -> None:
    x = UncertainTensor(np.arange(4.0), 0.1)
    for _ in range(50):
        part, start = x[1:3], threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            values = list(pool.map(lambda _, part=part, start=start: (start.wait(), part.value, part.factor), range(4)))
        assert {id(value) for _, value, _ in values} == {id(part.value)}
        assert {id(factor) for _, _, factor in values} == {id(part.factor)}
