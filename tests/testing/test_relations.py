"""How a type relates to its dense form is declared, and the checks of calls and of programs compare accordingly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError
from dispatchkit.testing import ConformanceError, Relation, WrongCallError, check_type
from tests.report.reports import list_alone


def contains(x: Interval, y: dk.Tensor) -> Any:
    slack = 1e-9 * dk.abs(y)
    return dk.all((x.low <= y + slack) & (y - slack <= x.high))


def ends(x: Interval) -> list[Any]:
    return [x.low, x.high]


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=Relation(contains, ends)))
class Interval:
    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = dk.asarray(low), dk.asarray(high)

    def to_dense(self) -> Any:
        return (self.low + self.high) / 2


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation=0.05))
class Rounded:
    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)

    def to_dense(self) -> Any:
        return dk.round(self.data * 50) / 50


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(relation="unrelated", refuses=[LookupError]))
class Other:
    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)

    def to_dense(self) -> Any:
        return self.data


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with dk.local_registrations():

        @dk.implements(dk.add)
        def add(x1: Interval, x2: Interval, /) -> Interval:
            return Interval(x1.low + x2.low, x1.high + x2.high)

        @dk.implements(dk.subtract)
        def subtract(x1: Interval, x2: Interval, /) -> Interval:
            return Interval(x1.low - x2.high, x1.high - x2.low)

        @dk.implements(dk.multiply)
        def multiply(x1: Rounded, x2: Rounded, /) -> Rounded:
            return Rounded(x1.data * x2.data)

        @dk.implements(dk.negative)
        def negative(x: Other, /) -> Any:
            return x.data

        @dk.implements(dk.exp)
        def exp(x: Other, /) -> Any:
            raise LookupError("not today")

        yield


def intervals() -> list[Interval]:
    return [Interval([1.0, -2.0], [1.5, 3.0]), Interval([[0.5]], [[0.5]])]


INTERVALS: list[Any] = [dk.add, dk.subtract, dk.negative]


def test_a_relation_takes_the_place_of_equality() -> None:
    result = check_type(Interval, intervals(), operations=INTERVALS)
    assert result.tried["value"] > 8
    assert dk.verify(lambda x: x - x + x, intervals()[0]).shape == (2,)


def swapped(x: Interval, /) -> Interval:
    return Interval(-x.low, -x.high)


def narrow(x: Interval, /) -> Interval:
    middle, width = -(x.low + x.high) / 2, (x.high - x.low) / 4
    return Interval(middle - width, middle + width)


@pytest.mark.parametrize("rule", [swapped, narrow])
def test_a_result_that_is_not_right_for_what_its_argument_stands_for_is_wrong(rule: Any) -> None:
    dk.implements(dk.negative)(rule)
    with pytest.raises(ConformanceError, match=r"value: dispatchkit\.negative\(Interval"):
        check_type(Interval, intervals(), operations=[dk.negative])
    with pytest.raises(WrongCallError, match=r"value: dispatchkit\.negative\(Interval") as caught:
        dk.verify(dk.negative, intervals()[0])
    assert caught.value.expected.startswith("one for which contains is true of tensor([")


def test_plain_results_of_related_types_are_compared_in_shape_and_dtype() -> None:
    @dk.implements(dk.greater)
    def greater(x1: Interval, x2: dk.Tensor, /) -> Any:
        return x1.low > x2

    assert not dk.all(dk.verify(dk.greater, intervals()[0], dk.asarray(0.0)))

    @dk.implements(dk.less)
    def less(x1: Interval, x2: dk.Tensor, /) -> Any:
        return dk.all(x1.high < x2)

    with pytest.raises(WrongCallError, match=r"shape: dispatchkit\.less"):
        dk.verify(dk.less, intervals()[0], dk.asarray(0.0))


def test_instances_that_a_type_cannot_hold_are_no_arguments() -> None:
    # With the signs of all its numbers turned, the lower end of an interval would be the higher one.
    result = check_type(Interval, [Interval([1.0], [2.0])], operations=[dk.subtract])
    assert result.tried["value"]


def test_a_tolerance_is_an_error_relative_to_an_element_or_to_the_largest() -> None:
    x = Rounded([1.011, 0.511, 0.021])
    dk.verify(dk.multiply, x, x)
    assert not check_type(Rounded, [x], operations=[dk.multiply], checks=["value", "repeat"]).failures

    @dk.implements(dk.multiply)
    def multiply(x1: Rounded, x2: Rounded, /) -> Rounded:
        return Rounded(x1.data * x2.data * 1.2)

    with pytest.raises(ConformanceError, match=r"value: dispatchkit\.multiply"):
        check_type(Rounded, [x], operations=[dk.multiply])


def test_calls_of_unrelated_types_are_not_compared() -> None:
    with dk.checked() as checks:
        assert dk.all(-Other([1.0]) == dk.ones(1))
    assert checks.passed_over == {"Other is unrelated to its dense form": 1}
    assert not check_type(Other, [Other([1.0])], operations=[dk.negative], checks=["value", "raises"]).failures


def test_declared_refusals_are_no_failures_and_no_faults_of_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    list_alone("dispatchkit.exp", monkeypatch)
    result = check_type(Other, [Other([1.0])], operations=[dk.exp])
    assert result.refused == ("dispatchkit.exp",)
    assert dk.coverage(Other, samples=[Other([1.0])])["exp"].bucket == "refused"
    with pytest.raises(LookupError, match="not today"):
        dk.verify(dk.exp, Other([1.0]))


def test_coverage_takes_refusals_that_are_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    list_alone("dispatchkit.abs", monkeypatch)

    @dk.implements(dk.abs)
    def absolute(x: Interval, /) -> Any:
        raise OverflowError("too wide")

    assert dk.coverage(Interval, samples=intervals())["abs"].bucket == "raises"
    assert (
        dk.coverage(Interval, samples=intervals(), tests=dk.TypeTests(refuses=[OverflowError]))["abs"].bucket
        == "refused"
    )


def test_relations_and_refusals_are_inherited() -> None:
    @dk.array_type()
    class Narrower(Interval):
        pass

    @dk.array_type(tests=dk.TypeTests(relation="equal", refuses=()))
    class Same(Other):
        pass

    types = dk.tensor_protocol.types
    assert types.relation(Narrower) == Relation(contains, ends)
    assert types.relation(Same) == Relation()
    assert (types.refuses(Same), types.refuses(Other)) == ((), (LookupError,))


@pytest.mark.parametrize("declared", ["nearly", -1.0, [1], True, float("nan")])
def test_a_relation_that_is_none_is_refused(declared: Any) -> None:
    text = r"array_type: relation=.* of .*Wrong is none; write 'equal' or 'unrelated', a tolerance such as 1e-3, a func"
    with pytest.raises(RegistrationError, match=text):

        @dk.array_type(tests=dk.TypeTests(relation=declared))
        class Wrong:
            pass


def test_refusals_are_exceptions() -> None:
    with pytest.raises(
        RegistrationError, match=r"array_type: refuses of .*Wrong must be exceptions, not 'LookupError'"
    ):

        @dk.array_type(tests=dk.TypeTests(refuses=["LookupError"]))  # type: ignore[list-item]
        class Wrong:
            pass


@dk.array_type(fallback=dk.fallback.dense)
@dataclasses.dataclass
class Signed:
    """Elements as signs and logarithms, with their largest size kept beside."""

    signs: dk.Tensor = dk.field(discrete=(-1.0, 0.0, 1.0))
    logs: dk.Tensor = dk.field()
    largest: Any = dk.field(dependent=True, default=None)

    def __post_init__(self) -> None:
        self.largest = dk.exp(self.logs)

    def to_dense(self) -> Any:
        return self.signs * self.largest


def test_discrete_fields_keep_their_values_and_dependent_ones_are_computed_anew() -> None:
    @dk.implements(dk.abs)
    def absolute(x: Signed, /) -> Any:
        return dk.where(x.signs == 0, x.signs, 1.0) * dk.abs(dk.exp(x.logs))  # wrong of other signs

    sample = Signed(dk.asarray([1.0, -1.0, 0.0]), dk.asarray([0.5, 0.25, 1.0]))
    result = check_type(Signed, [sample], operations=[dk.abs, dk.add], skip=["dtype"])
    assert result.tried["gradient"]
    assert result.tried["repeat"]


def test_discrete_and_dependent_fields_are_not_differentiated() -> None:
    assert dk.tensor_protocol.types.constants_of(Signed) == {"signs", "largest"}


def test_digits_are_shown_until_two_numbers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    list_alone("dispatchkit.exp", monkeypatch)

    @dk.implements(dk.exp)
    def exp(x: Rounded, /) -> Any:
        return dk.exp(x.to_dense()) * (1 + 2e-7)

    @dk.array_type(tests=dk.TypeTests(relation="equal"))
    class Exact(Rounded):
        pass

    problem = dk.coverage(Exact, samples=[Exact([0.0])])["exp"].problem  # type: ignore[attr-defined]
    assert problem.endswith(": 1.0000001999999999 instead of 1 at (0,)")


def test_the_simplest_call_of_a_type_with_a_field_that_stays_is_found() -> None:
    @dk.implements(dk.negative)
    def negative(x: Signed, /) -> Any:
        return Signed(x.signs, x.logs)

    with pytest.raises(WrongCallError, match=r"logs=dk\.tensor\(np\.array\(\[1\.0, 2\.0\]"):
        dk.verify(dk.negative, Signed(dk.asarray([1.0, -1.0]), dk.asarray([0.5, 0.25])))
