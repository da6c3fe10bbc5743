"""`tests=dk.TypeTests(...)`: what a type tells its tests, and the spellings that it takes the place of."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import dispatchkit as dk
from dispatchkit.testing import ConformanceError, TypeConformance, check_type
from tests.report.reports import list_alone


class Halves:
    """Numbers in steps of one half; a rule gives plain tensors."""

    def __init__(self, halves: Any) -> None:
        self.halves = dk.asarray(halves)

    def to_dense(self) -> Any:
        return self.halves / 2


def declared(**options: Any) -> Any:
    return dk.array_type(fallback=dk.fallback.dense, **options)(type("Halves", (Halves,), {}))


@pytest.mark.parametrize(
    ("name", "value"),
    [("relation", "unrelated"), ("refuses", [LookupError]), ("closed", [dk.negative]), ("impossible", [dk.exp])],
)
def test_the_former_keywords_say_the_same_and_warn_at_the_callers_line(name: str, value: Any) -> None:
    text = rf"^array_type\({name}=\.\.\.\) is deprecated.*; write array_type\(tests=dk\.TypeTests\({name}=\.\.\.\)\)$"
    with pytest.warns(DeprecationWarning, match=text) as caught:
        former = dk.array_type(**{name: value})(type("Former", (Halves,), {}))
    assert caught[0].filename == __file__
    told = declared(tests=dk.TypeTests(**{name: value}))
    types = dk.tensor_protocol.types
    assert types.declared_value(former, name) == types.declared_value(told, name) != ()


def test_what_is_said_twice_or_is_something_else_is_refused() -> None:
    with pytest.raises(
        dk.errors.RegistrationError, match=r"array_type: closed= and tests= both say closed; write tests="
    ):
        declared(tests=dk.TypeTests(closed=[dk.add]), closed=[dk.add])
    with pytest.raises(
        dk.errors.RegistrationError, match=r"tests=\{'closed': 1\} is no TypeTests; write tests=dk\.TypeT"
    ):
        declared(tests={"closed": 1})


def test_check_type_and_coverage_take_it_with_the_former_keywords(monkeypatch: pytest.MonkeyPatch) -> None:
    list_alone("dispatchkit.negative", monkeypatch)
    cls = declared()
    told = dk.TypeTests(closed=[dk.negative])
    options: Any = {"operations": [dk.negative], "checks": ["closed"]}
    with pytest.raises(ConformanceError, match="closed"):
        check_type(cls, [cls([1])], tests=told, **options)
    with pytest.warns(DeprecationWarning, match=r"write check_type\(tests="), pytest.raises(ConformanceError):
        check_type(cls, [cls([1])], closed=[dk.negative], **options)
    assert dk.coverage(cls, tests=told)["negative"].bucket == "plain result"
    with pytest.warns(DeprecationWarning, match=r"write dk\.coverage\(tests="):
        assert dk.coverage(cls, closed=[dk.negative])["negative"].bucket == "plain result"


def test_check_type_says_where_a_relation_belongs() -> None:
    cls = declared()
    with pytest.raises(
        ValueError, match=r"^check_type: tests= takes refuses and closed; a relation, and what is impossib"
    ):
        check_type(cls, [cls([1])], tests=dk.TypeTests(relation="unrelated"))


def test_a_class_of_tests_takes_it_with_the_former_attributes() -> None:
    cls = declared()

    class Former(TypeConformance):
        refuses: ClassVar[Any] = (LookupError,)

        def samples(self) -> Any:
            return [cls([1])]

    with pytest.warns(DeprecationWarning, match=r"^Former\(refuses=\.\.\.\) is deprecated"):
        assert LookupError in Former()._subject().refusals

    class Told(Former):
        refuses = None
        tests = dk.TypeTests(refuses=[KeyError])

    assert KeyError in Told()._subject().refusals
