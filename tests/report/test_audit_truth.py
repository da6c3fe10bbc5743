"""What an audit says of every pair and operation is what `explain` says of the call, and what the call does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import DispatchError
from dispatchkit.protocol.outcome import DEFAULT
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction import Asked
from dispatchkit.report import PairRow
from dispatchkit.report.auditing.pairs import Chains, PairCall, calls_of_two
from dispatchkit.report.outcomes import SHOWN
from tests.declared import LIBRARY
from tests.report.audited import REWRAP, make, never
from tests.turns import some_of

# What calls are made with where no sample of the operation gives both arrays; the first that it takes.
CONTENTS = ([[2.0, 0.5, 1.0], [0.5, 3.0, 1.0], [1.0, 1.0, 4.0]], [1.0, 2.0, 3.0], [1, 2, 1], 2.0)
NOT_ARRAYS = {"subscripts": "...i,...i->...i", "key": 0}


def small_types() -> tuple[Any, Any, Any]:
    """Return types with rules of every sort: for pairs, for one, for a kind, one that declines, two that rival."""
    left = make("Left", fallback=dk.fallback.decompose | dk.fallback.dense)
    right = make("Right", fallback=REWRAP, priority=1)
    below = make("Below", above=left)

    @dk.implements(dk.add, left, dk.Tensor)
    def add_left_and_tensor(x1: Any, x2: Any, /) -> Any:
        return left(x1.data + x2)

    @dk.implements(dk.multiply, left, right)
    def multiply_both(x1: Any, x2: Any, /) -> Any:
        return right(x1.data * x2.data)

    @dk.implements(dk.subtract, left)
    def subtract_declines(x1: Any, x2: Any, /) -> Any:
        return dk.decline("not today")

    @dk.implements(dk.concat, left)
    def concat_left(arrays: Any, /) -> Any:
        return left(dk.concat([getattr(x, "data", x) for x in arrays]))

    @dk.implements(dk.kinds.linalg, right)
    def linalg_right(op: Any, x1: Any, x2: Any, /) -> Any:
        return op(getattr(x1, "data", x1), getattr(x2, "data", x2))

    @dk.implements(dk.divide, left, below)
    def divide_first(x1: Any, x2: Any, /) -> Any:
        return x1

    @dk.implements(dk.divide, below, left)
    def divide_second(x1: Any, x2: Any, /) -> Any:
        return x2

    return left, right, below


def made(cls: type, content: Any) -> Any:
    plain = dk.asarray(content)
    return plain if cls is dk.Tensor else cls(plain)


def call_of(call: PairCall, left: type, right: type, content: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call with instances of two types, in the places that the audit gave them."""
    given = call.values(*(made(cls, content) for cls in (left, right, dk.Tensor)))
    index = {p.name: 0 for p in call.operation.parameters.arrays if p.form is Form.INDEX}
    return call.operation.parameters.shortest_call({**NOT_ARRAYS, **given, **index})


def samples_of(call: PairCall, left: type, right: type) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the operation's own samples that give both arrays and no further ones, with instances of two types."""
    operation = call.operation
    parameters = operation.parameters
    needed = {p.name for p in parameters.arrays if p.name in call.values(left, right, dk.Tensor)}
    for sample in getattr(operation, "samples", ()):
        args, kwargs = sample.make(np.random.default_rng(7))
        if needed != {p.name for p in parameters.arrays if p.find(args, kwargs) is not p.default}:
            continue
        order = itertools.chain([left], itertools.repeat(right))

        def changed(name: str, value: Any, order: Iterator[type] = order) -> Any:
            if name in (call.first.name, call.second.name):
                cls = next(order) if call.first is call.second else left if name == call.first.name else right
                return made(cls, value)
            return value if value is None or name in NOT_ARRAYS else made(dk.Tensor, value)

        yield parameters.replace(args, kwargs, changed)


# What the small types have rules for, and of the others those that a quick run takes.
FUNCTIONS: dict[Any, None] = dict.fromkeys(
    [*some_of(LIBRARY, 2, 1), dk.add, dk.multiply, dk.subtract, dk.concat, dk.divide, dk.clip]
)


def audited_calls() -> list[PairCall]:
    operations = [dk.tensor_protocol.operation(function) for function in FUNCTIONS]
    return [call for operation in operations for call in calls_of_two(operation)]


Audited: TypeAlias = "list[tuple[PairRow, PairCall, type, type]]"


@pytest.fixture(scope="module")
def audited() -> Iterator[Audited]:
    """Audit the small types once; they stay registered as long as the tests of this module run."""
    with dk.local_registrations():
        types = [*small_types(), dk.Tensor]
        report, calls = dk.audit(types, operations=FUNCTIONS), audited_calls()
        yield [
            (row, call, left, right)
            for left, right in itertools.product(types, repeat=2)
            for row, call in zip(report[left, right].rows, calls, strict=True)
        ]


def _share(asked: Asked | None) -> str:
    return "refused" if asked is None or asked.outcome is None else SHOWN[asked.outcome].share


def test_every_row_says_what_explain_says(audited: Audited) -> None:
    seen, compared = set(), 0
    for row, call, left, right in audited:
        calls = [*samples_of(call, left, right)] or [call_of(call, left, right, CONTENTS[0])]
        found = [dk.explain(call.operation.function, *args, **kwargs) for args, kwargs in calls]
        predicted = [one.prediction for one in found if one.prediction is not None]
        if any(one.error.startswith(("TypeError", "ValueError", "IndexError")) for one in predicted):
            continue  # the operation takes no arrays like these
        compared += 1
        shares = {SHOWN[one.outcome].share or SHOWN[DEFAULT].share for one in predicted}
        shares |= {_share(one.otherwise) for one in predicted if one.depends_on_values}
        assert row.share in shares, (row, str(found[0]))
        winners = {"" if one.by is None or one.error else one.by.who for one in predicted}
        assert row.winner in winners, (row, str(found[0]))
        seen.add(row.share)
    assert seen == {"rule", "kind rule", "default", "rewrap", "decompose", "dense", "ambiguous", "refused"}
    assert compared > 0.8 * 16 * len(audited_calls())


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
def test_every_call_does_what_its_row_says(audited: Audited) -> None:
    missed, checked = set(), 0
    for row, call, left, right in audited:
        contents = (call_of(call, left, right, content) for content in CONTENTS)
        for args, kwargs in itertools.chain(samples_of(call, left, right), contents):
            try:
                found = dk.explain(call.operation.function, *args, run=True, **kwargs)
            except (TypeError, ValueError, IndexError, DispatchError):
                continue  # the operation takes no arrays like these
            if isinstance(found.exception, (ValueError, IndexError)) or type(found.exception) is TypeError:
                continue
            checked += 1
            verdicts = [(line.verdict.partition(":")[0], line.who, line.what) for line in found.lines]
            answered = [(who, what) for verdict, who, what in verdicts if verdict == "answered"]
            if row.outcome == "ambiguous":
                assert ("raised AmbiguousImplementationError", row.answer) in [(v, what) for v, _, what in verdicts]
            elif row.outcome == "raises":
                assert answered == []
            elif answered != [(row.winner, row.answer)]:
                assert ("declined", row.winner, row.answer) in verdicts, row
                who, what = answered[0]
                assert f"{who}: {what}" == row.otherwise, row
            break
        else:
            missed.add(call.operation.name)
    # They take no arrays of these types, whose shapes do not go together.
    assert missed <= {"batch_norm", "group_norm", "gru", "lstm", "setitem"}
    wanted = [call for call in audited_calls() if call.operation.name not in missed]
    assert checked > 0.9 * 16 * len(wanted)


def test_bodies_are_followed_however_many_types_are_audited() -> None:
    types = [make(f"Many{number}", fallback=dk.fallback.decompose | dk.fallback.dense) for number in range(10)]

    def product(x1: Any, x2: Any, /) -> dk.Tensor:
        return x1.data @ x2.data  # type: ignore[no-any-return]  # a tensor

    with dk.local_registrations():
        dk.implements(dk.matmul, types[0], types[1])(product)
        report = dk.audit(types, operations=[dk.mm, dk.matmul])
        shares = {(pair.left, pair.right): pair["mm"].share for pair in report.pairs}
    assert shares.pop(("Many0", "Many1")) == "decompose"
    assert set(shares.values()) == {"dense"}


def test_what_comes_after_a_body_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    lean = make("Lean", fallback=dk.fallback.decompose | dk.fallback.dense)
    operation = dk.tensor_protocol.operation(dk.linalg.matrix_norm)
    chains = Chains(dk.tensor_protocol)
    body, dense = chains(operation, (lean,)).steps
    monkeypatch.setattr(dense, "execute", never)
    assert "needs" in chains.declines(operation, (lean,), body)
