"""The calls that types are tested with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.declare.samples import Sample, draw, sample
from dispatchkit.testing import Wrapper
from dispatchkit.testing.calls import TypeCall, measuring
from dispatchkit.testing.checks.chains import chains
from dispatchkit.testing.findings import Subject
from dispatchkit.testing.random_programs import Program

X = draw(2, 3)


@pytest.mark.parametrize(
    ("function", "given", "names"),
    [
        (dk.sum, sample(X), []),
        (dk.sum, sample(X, axis=1, keepdims=True), ["axis", "keepdims"]),
        (dk.reshape, sample(X, (3, 2)), []),
        (dk.reshape, sample(X, (3, 2), copy=True), ["copy"]),
        (dk.clip, sample(X, -1.0, draw(3)), []),
        (dk.diff, sample(X, 2, append=draw(2, 1)), ["n"]),
    ],
)
def test_options_are_what_a_call_can_be_made_without(
    function: Callable[..., Any], given: Sample, names: list[str]
) -> None:
    subject = Subject(Wrapper, [Wrapper([1.0])])
    assert TypeCall(dk.tensor_protocol.operation(function), given, subject, (0,)).options() == names


def test_samples_are_made_once_to_be_counted() -> None:
    rounds: list[int] = []

    def samples() -> list[Wrapper]:
        rounds.append(len(rounds))
        return [Wrapper([1.0]), Wrapper([2.0])]

    subject = Subject(Wrapper, samples)
    before = len(rounds)
    assert [subject.count, subject.count] == [2, 2]
    assert len(rounds) == before + 1


def test_of_the_pairs_with_one_first_call_it_is_compared_in_the_first_and_in_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operations: list[Any] = [dk.negative, dk.abs, dk.multiply, dk.matmul]
    subject = Subject(dk.types.DiagonalTensor, [dk.types.DiagonalTensor([1.0, -2.0])], operations=operations)
    seen: list[tuple[str, bool]] = []
    step = Program.step

    def note_step(program: Program, call: Any, *, compared: bool = True) -> None:
        seen.append((call.operation.name, compared))
        step(program, call, compared=compared)

    monkeypatch.setattr(Program, "step", note_step)
    with measuring():
        assert set(chains(subject)) == {None}
    firsts, seconds = seen[::2], seen[1::2]
    assert [name for name, _ in firsts] == [operation.__name__ for operation in operations for _ in operations]
    assert [compared for _, compared in firsts] == [True, False, False, True] * len(operations)
    assert all(compared for _, compared in seconds)
