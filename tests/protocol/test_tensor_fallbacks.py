"""The fallbacks over the library's operations: the page that opens the design, and each of them with tensors."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class ScaledIdentity:
    def __init__(self, n: int, value: Any) -> None:
        self.n, self.value = n, value

    def to_dense(self) -> Any:
        return self.value * dk.eye(self.n)


@pytest.fixture
def s() -> Any:
    @dk.implements(dk.mean)
    def mean_scaled_identity(x: ScaledIdentity, /) -> Any:
        return x.value / x.n

    @dk.implements(dk.add)
    def add_scaled_identities(x1: ScaledIdentity, x2: ScaledIdentity, /) -> Any:
        return ScaledIdentity(x1.n, x1.value + x2.value)

    return ScaledIdentity(3, 2.0)


def test_a_pair_by_its_own_rule(s: Any) -> None:
    found = s + s
    assert type(found) is ScaledIdentity
    assert found.value == 4.0


def test_a_pair_without_rule_by_the_declared_fallback_which_says_so(s: Any) -> None:
    with pytest.warns(dk.DensifyWarning, match=r"'dispatchkit\.add' made ScaledIdentity dense \(72 B\)"):
        found = s + dk.ones((3, 3))
    assert type(found) is dk.Tensor
    assert found.tolist() == [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 3.0]]


@pytest.mark.parametrize("other", [dk.ones((3, 3)), np.ones((3, 3)), 1.0, np.float64(1)])
def test_on_either_side(s: Any, other: Any) -> None:
    with dk.densify(on="allow"):
        assert (s + other).tolist() == (other + s).tolist() == (np.eye(3) * 2 + 1).tolist()


def test_one_rule_serves_function_method_and_operator(s: Any) -> None:
    assert dk.mean(s) == s.mean() == 2.0 / 3


@pytest.mark.parametrize(
    "call",
    [
        lambda s, t: s + t,
        lambda s, t: t + s,
        lambda s, t: np.ones((3, 3)) + s,
        lambda s, t: dk.add(s, t),
        lambda s, t: s.sum(),
        lambda s, t: s.sum(0),
        lambda s, t: s[0],
        lambda s, t: s.T,
        lambda s, t: dk.concat([s, t]),
        lambda s, t: -s,
    ],
)
def test_the_warning_points_at_the_callers_line(s: Any, call: Any) -> None:
    with pytest.warns(dk.DensifyWarning) as caught:
        call(s, dk.ones((3, 3)))
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, call.__code__.co_firstlineno)}


def test_the_ledger_holds_the_line(s: Any) -> None:
    dk.clear_densify_ledger()
    with dk.densify(on="allow"):
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        s + dk.ones((3, 3))
    (entry,) = dk.densify_ledger()
    assert (entry.file, entry.line, entry.function, entry.nbytes) == (__file__, line, "dispatchkit.add", 72)


def test_a_gradient_flows_through_the_dense_form() -> None:
    value = dk.tensor(2.0, requires_grad=True)
    with dk.densify(on="allow"):
        (ScaledIdentity(3, value) + dk.ones((3, 3))).sum().backward()
    assert value.grad is not None
    assert value.grad.item() == 3.0


def test_the_limit_is_held_before_where_shape_and_dtype_are_known() -> None:
    class Known(ScaledIdentity):
        dtype = np.dtype(np.float64)

        @property
        def shape(self) -> tuple[int, int]:
            return (self.n, self.n)

        def to_dense(self) -> Any:
            raise AssertionError("past the limit")

    with dk.densify(limit="100MB"), pytest.raises(dk.DensifyError, match=r"Known dense \(80\.0 GB\)"):
        dk.exp(Known(100_000, 1.0))


def test_the_limit_is_held_after_where_they_are_not(s: Any) -> None:
    with dk.densify(limit=71), pytest.raises(dk.DensifyError, match=r"ScaledIdentity dense \(72 B\)"):
        dk.exp(s)


@dk.array_type(fallback=dk.fallback.decompose)
class Structured:
    def __init__(self, *history: str) -> None:
        self.history = history


def record(*functions: Any) -> None:
    for function in functions:

        def handler(*args: Any, name: str = function.__name__, **kwargs: Any) -> Structured:
            x = next(arg for arg in args if isinstance(arg, Structured))
            return Structured(*x.history, name)

        dk.implements(function, Structured)(handler)


def test_a_function_decomposes_into_those_with_rules() -> None:
    record(dk.multiply)
    assert dk.square(Structured()).history == ("multiply",)


def test_an_operation_whose_body_is_a_single_call_declines() -> None:
    with pytest.raises(dk.NoImplementationError, match="does not decompose: its body is one call"):
        dk.exp(Structured())


def test_a_decomposition_that_needs_what_nobody_answers_declines() -> None:
    @dk.overridable
    def halves_of_exp(x: Any) -> Any:
        return dk.exp(x) / 2

    record(dk.exp)
    with pytest.raises(dk.NoImplementationError, match=r"it needs dispatchkit\.divide, which nobody answers"):
        halves_of_exp(Structured())
    record(dk.divide)
    assert halves_of_exp(Structured()).history == ("exp", "divide")


def test_a_decomposition_with_a_gradient() -> None:
    @dk.overridable
    def halves_of_exp(x: Any) -> Any:
        return dk.exp(x) / 2

    t = dk.tensor(0.0, requires_grad=True)
    halves_of_exp(t).backward()
    assert t.grad is not None
    assert t.grad.item() == 0.5


@dk.array_type(fallback=dk.fallback.rewrap)
class Named:
    def __init__(self, data: Any, name: str) -> None:
        self.data, self.name = data, name


@pytest.mark.parametrize("data", [dk.ones((2, 2)), np.ones((2, 2))], ids=["Tensor", "ndarray"])
def test_rewrap_keeps_the_other_fields(data: Any) -> None:
    x: Any = Named(data, "speed")
    for found in (x + 1, 1 + x, dk.exp(x), x.sum(), x[0], x.T, np.ones((2, 2)) * x, x > 0):
        assert type(found) is Named
        assert found.name == "speed"


def test_rewrap_of_several_results() -> None:
    first, second = dk.unstack(Named(dk.ones((2, 2)), "speed"))
    assert (first.name, second.name, first.data.tolist()) == ("speed", "speed", [1.0, 1.0])


def test_convert_to_a_plain_tensor() -> None:
    @dk.array_type(fallback=dk.fallback.convert)
    class Sparse:
        pass

    @dk.converts(cost=3)
    def tensor_of(x: Sparse) -> dk.Tensor:
        return dk.ones(2)

    x: Any = Sparse()
    assert (x + 1).tolist() == (np.ones(2) + x).tolist() == [2.0, 2.0]
    assert dk.concat([x, x]).tolist() == [1.0] * 4


def test_convert_prefers_the_cheaper_structure() -> None:
    @dk.array_type(fallback=dk.fallback.convert)
    class Sparse:
        pass

    @dk.converts(cost=3)
    def tensor_of(x: Sparse) -> dk.Tensor:
        return dk.ones(2)

    @dk.converts()
    def structured_of(x: Sparse) -> Structured:
        return Structured("converted")

    record(dk.exp)
    assert dk.exp(Sparse()).history == ("converted", "exp")
    assert dk.log(Sparse()).tolist() == [0.0, 0.0]


@dk.array_type(fallback=dk.fallback.dense)
class Shapeless:
    def to_dense(self) -> dk.Tensor:
        return dk.ones((2, 3))


def test_a_shape_read_off_the_dense_form_is_counted_and_bounded() -> None:
    x: Any = Shapeless()
    dk.clear_densify_ledger()
    assert (x.shape, x.ndim) == ((2, 3), 2)
    assert [(entry.function, entry.count, entry.nbytes) for entry in dk.densify_ledger()] == [
        ("Shapeless.shape", 2, 96)
    ]
    with (
        dk.densify(on="error"),
        pytest.raises(dk.DensifyError, match=r"^'Shapeless.dtype' would make Shapeless dense, "),
    ):
        _ = x.dtype
    with dk.densify(limit=10), pytest.raises(dk.DensifyError, match=r"past the limit of 10 B"):
        _ = x.shape


def test_an_entry_of_the_ledger_reads_as_a_line() -> None:
    dk.clear_densify_ledger()
    with dk.densify(on="allow"):
        dk.max(Shapeless())
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert (
        str(dk.densify_ledger()[0])
        == f"{__file__}:{line}: 'dispatchkit.max' made Shapeless dense once (48 B): no rule for max"
    )
