"""Advice from use: followed, it has as many calls no longer become dense as it promised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report import Advice
from tests.report.subjects import Sized

F = dk.nn.functional


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Diagonal:
    """A diagonal matrix that has nothing but its elements."""

    def __init__(self, values: Any) -> None:
        self.values = values

    @property
    def shape(self) -> tuple[int, int]:
        return (self.values.shape[0],) * 2

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self) -> Any:
        return self.values * dk.eye(self.shape[0], dtype=self.dtype)


@dk.array_type(fallback=dk.fallback.dense, tests=dk.TypeTests(impossible=[dk.exp, dk.kinds.manipulation]))
class Declaring(Sized):
    pass


X = Diagonal(dk.asarray([1.0, 2.0, 4.0]))
# What cannot stay a diagonal matrix.
FULL = [dk.exp, F.softmax, dk.flip]


def workload(x: Any) -> None:
    """Make twelve calls."""
    dk.exp(x)
    dk.std(x)
    dk.var(x)
    dk.mean(x)
    dk.relu(x)
    F.softmax(x, axis=0)
    dk.linalg.norm(x)
    dk.abs(x)
    dk.max(x)
    F.mse_loss(x, x)
    dk.tril(x)
    dk.flip(x)


def recorded(x: Any = X) -> Any:
    with dk.densify(on="allow"), dk.record_calls() as record:
        workload(x)
    return record


def events(record: Any) -> int:
    return sum(call.how == "dense" for call in record.calls)


@pytest.fixture(autouse=True)
def own_registrations() -> Iterator[None]:
    with dk.local_registrations():
        yield


# One for each operation that an adviser could ask for in this workload.
RULES: dict[str, Any] = {
    "abs": lambda x, /: Diagonal(dk.abs(x.values)),
    "relu": lambda x, /: Diagonal(dk.relu(x.values)),
    "tril": lambda x, /, **_: x,
    "mean": lambda x, /, *, axis=None, keepdims=False: dk.mean(x.to_dense(), axis=axis, keepdims=keepdims),
    "max": lambda x, /, *, axis=None, keepdims=False: dk.max(x.values),
    "var": lambda x, /, **keywords: dk.var(x.to_dense(), **keywords),
    "std": lambda x, /, **keywords: dk.std(x.to_dense(), **keywords),
    "linalg.norm": lambda x, /, **keywords: dk.linalg.norm(x.values),
    "nn.functional.mse_loss": lambda x, target, /, **_: dk.mean((x.values - target.values) ** 2),
}


def function(name: str) -> Any:
    found: Any = dk
    for part in name.split("."):
        found = getattr(found, part)
    return found


def test_followed_rule_by_rule_it_keeps_its_promises() -> None:
    before = recorded()
    assert events(before) == 12
    advice = before.advice(9, impossible=FULL, with_kinds=False)
    assert [one.operation for one in advice] != []
    left = 12
    for one in advice:
        dk.implements(function(one.operation), Diagonal)(RULES[one.operation])
        left -= one.calls
        assert events(recorded()) == left, one
    assert left == len(FULL)


WORKLOADS = [
    lambda x: (dk.subtract(x, x), dk.sum(x, axis=0), dk.mean(x)),
    lambda x: (dk.multiply(x, x), dk.subtract(x, 1.0), dk.sum(x, axis=0, keepdims=True)),
    lambda x: (dk.abs(x), dk.negative(x), dk.std(x)),
    lambda x: (dk.sum(x), dk.sum(x, axis=1), dk.max(x)),
    lambda x: (dk.relu(x), dk.maximum(x, 0.0), F.leaky_relu(x)),
    lambda x: (F.mse_loss(x, x), dk.square(x), dk.mean(x, axis=1)),
    lambda x: (dk.linalg.norm(x), dk.linalg.vector_norm(x), dk.abs(x), dk.sum(x, axis=(0, 1))),
    lambda x: (dk.matmul(x, x), dk.linalg.trace(x), dk.sum(x, axis=0)),
]


@pytest.mark.parametrize("program", WORKLOADS)
def test_a_type_that_has_rules_gets_what_each_further_one_promises(program: Any) -> None:
    @dk.implements(dk.sum)
    def sum_diagonal(x: Diagonal, /) -> Any:
        return dk.sum(x.values)

    @dk.implements(dk.multiply)
    def multiply_diagonal(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.values * x2.values)

    def written(name: str) -> Any:
        def rule(*args: Any, **keywords: Any) -> Any:
            dense = [arg.to_dense() if isinstance(arg, Diagonal) else arg for arg in args]
            result = function(name)(*dense, **keywords)
            return Diagonal(dk.linalg.diagonal(result)) if result.shape == (3, 3) else result

        return rule

    def made_dense() -> Any:
        with dk.densify(on="allow"), dk.record_calls() as record:
            program(X)
        return record

    before = made_dense()
    left = events(before)
    assert left > 0
    advice = before.advice(9, with_kinds=False)
    assert sum(one.calls for one in advice) == left
    for one in advice:
        dk.implements(function(one.operation), Diagonal)(written(one.operation))
        left -= one.calls
        # A rule that gives a plain array may help bodies that would go on with the type otherwise.
        assert events(made_dense()) <= left, one
    assert left == 0


def test_what_a_rule_lacks_is_said_in_the_place_of_a_new_rule() -> None:
    @dk.implements(dk.sum)
    def sum_diagonal(x: Diagonal, /) -> Any:
        return dk.sum(x.values)

    @dk.implements(dk.abs)
    def abs_diagonal(x: Diagonal, /) -> Any:
        return dk.decline("not written yet")

    def program(x: Any) -> None:
        dk.sum(x, axis=0)
        dk.abs(x)

    with dk.densify(on="allow"), dk.record_calls() as record:
        program(X)
    advice = {one.operation: one for one in record.advice(with_kinds=False)}
    lacks, declines = advice["sum"], advice["abs"]
    assert (lacks.bucket, lacks.stub, lacks.unlocks, lacks.calls) == ("dense", "", (), 1)
    assert lacks.cure.startswith("the rule of sum lacks axis: sum_diagonal(Diagonal in any position) at ")
    assert (declines.stub, declines.unlocks) == ("", ())
    assert declines.cure.startswith("the rule of abs declines some calls: abs_diagonal(Diagonal in any position) at ")
    text = str(record.advice(with_kinds=False))
    assert "     the rule of sum lacks axis: sum_diagonal" in text
    assert "@dk.implements" not in text
    assert text.endswith("each rule stands and gives what its stub says, and the recorded calls are predicted anew")
    fixes = {cause.function: cause.fix for cause in dk.explain(program, X).causes}
    assert fixes == {
        "sum": "have the rule take axis: def sum_diagonal(x: Diagonal, /) -> Any:",
        "abs": "have the rule take the call: def abs_diagonal(x: Diagonal, /) -> Any:",
    }


def test_one_rule_for_a_kind_keeps_its_promise() -> None:
    advice = recorded().advice(1, impossible=FULL)
    first = advice[0]
    assert first.operation == "kinds.reduction"
    assert first.answers == ("std", "var", "mean", "max")
    assert first.calls == 4

    @dk.implements(dk.kinds.reduction)
    def reduced(op: Any, x: Diagonal, /, *args: Any, **keywords: Any) -> Any:
        return op(x.to_dense(), *args, **keywords)

    assert events(recorded()) == 12 - first.calls


def test_a_rule_that_unlocks_others_is_worth_their_calls() -> None:
    def rectify() -> Any:
        with dk.densify(on="allow"), dk.record_calls() as record:
            for _ in range(3):
                dk.relu(X)
            dk.maximum(X, 0.0)
        return record

    before = rectify()
    first = before.advice(1, with_kinds=False)[0]
    assert (first.operation, first.unlocks, first.calls, events(before)) == ("maximum", ("relu",), 4, 4)

    @dk.implements(dk.maximum)
    def larger(x1: Diagonal, x2: float | dk.Tensor, /) -> Any:
        return Diagonal(dk.maximum(x1.values, x2))

    assert events(rectify()) == 0


def test_it_says_calls_bytes_time_lines_and_a_rule_to_paste() -> None:
    record = recorded()
    one = next(one for one in record.advice(9, with_kinds=False) if one.operation == "abs")
    calls = [call for call in record.calls if call.name == "abs" and call.how == "dense"]
    assert (one.calls, one.nbytes, one.nanoseconds) == (1, 72, calls[0].duration)
    assert one.lines == (calls[0].place,)
    assert one.stub == "@dk.implements(dk.abs)\ndef abs_diagonal(x: Diagonal, /) -> Diagonal:\n    ..."
    for suggestion in record.advice(9):
        ast.parse(suggestion.stub)
    text = str(record.advice(3))
    assert text.startswith(
        "advice for Diagonal, of which 12 calls became dense (936 B):\n  1. kinds.reduction: 4 calls, 288 B and "
    )
    assert "     called from tests/report/test_recorded_advice.py:" in text or "test_recorded_advice.py:" in text
    assert "       @dk.implements(dk.kinds.reduction)" in text


def test_what_the_author_calls_impossible_is_never_advised() -> None:
    advice = recorded(Declaring(dk.eye(3))).advice(20, with_kinds=False)
    named = {name for one in advice for name in one.answers}
    assert advice.type == "Declaring"
    assert "abs" in named
    assert named.isdisjoint({"exp", "tril", "flip"})
    kinds = {name for one in recorded(Declaring(dk.eye(3))).advice(20) for name in one.answers}
    assert kinds.isdisjoint({"exp", "tril", "flip"})


def test_the_type_that_became_dense_most_often_is_advised_unless_one_is_named() -> None:
    with dk.densify(on="allow"), dk.record_calls() as record:
        workload(X)
        dk.abs(Declaring(dk.eye(3)))
    assert record.advice().type == "Diagonal"
    other = record.advice(cls=Declaring)
    assert (other.type, other.events, other[0].operation) == ("Declaring", 1, "abs")


def test_a_record_without_dense_calls_has_nothing_to_advise() -> None:
    with dk.record_calls() as record:
        dk.ones(2)
    advice = record.advice()
    assert isinstance(advice, Advice)
    assert len(advice) == 0
    assert "nothing to add: no call became dense" in str(advice)
