"""Whether a rule may decline is what it declares: nothing is read from its code."""

from __future__ import annotations

from collections.abc import Iterator
from types import NotImplementedType
from typing import Any

import pytest

import dispatchkit as dk
from tests.report.reports import list_alone
from tests.report.subjects import Sized


@dk.array_type(fallback=dk.fallback.dense)
class Declaring(Sized):
    """Has rules that declare whether they decline."""


@pytest.fixture(autouse=True)
def own_registrations() -> Iterator[None]:
    with dk.local_registrations():
        yield


def named(x: Declaring, /) -> Declaring:
    return x


def declining(x: Declaring, /) -> Declaring:
    return dk.decline("never")  # type: ignore[no-any-return]  # what its annotation does not allow


def named_with_decline(x: Declaring, /) -> Declaring | NotImplementedType:
    return x


def unknown(x: Declaring, /) -> Any:
    return x


def silent(x, /):  # type: ignore[no-untyped-def]  # as users write them
    return x


@pytest.mark.parametrize(
    ("rule", "declines", "verdict"),
    [
        (named, None, "answers"),
        (declining, None, "answers"),
        (named_with_decline, None, "answers unless it declines"),
        (unknown, None, "answers unless it declines"),
        (silent, None, "answers unless it declines"),
        (unknown, False, "answers"),
        (silent, False, "answers"),
        (named, True, "answers unless it declines"),
    ],
)
def test_a_rule_answers_unless_it_declines_where_it_does_not_declare_that_it_never_does(
    rule: Any, declines: bool | None, verdict: str
) -> None:
    dk.implements(dk.exp, Declaring, declines=declines)(rule)
    explained = dk.explain(dk.exp, Declaring(dk.ones(2)))
    assert explained.lines[0].verdict == verdict
    assert explained.prediction is not None
    assert bool(explained.prediction.depends_on_values) is (verdict != "answers")


def test_a_rule_that_declines_against_its_declaration_is_a_fault_of_measured_coverage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    list_alone("dispatchkit.exp", monkeypatch)
    dk.implements(dk.exp)(declining)
    row = dk.coverage(Declaring, samples=[Declaring(dk.ones(2))])["exp"]
    assert row.bucket == "wrong type"
    assert "declining(Declaring in any position) declines, though it declares that it always answers" in row.problem  # type: ignore[attr-defined]  # of measured coverage


def test_a_rule_that_may_decline_is_no_fault_when_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    list_alone("dispatchkit.exp", monkeypatch)
    dk.implements(dk.exp, declines=True)(declining)
    assert dk.coverage(Declaring, samples=[Declaring(dk.ones(2))])["exp"].bucket == "dense"
