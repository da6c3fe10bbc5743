"""The program docs/what_rules_buy.py, whose picture the front page shows."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.site.test_sources import DOCS


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("what_rules_buy", DOCS / "what_rules_buy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("figures", None)


def test_each_rule_takes_dense_copies_away_and_leaves_the_density(program: ModuleType) -> None:
    outcomes = [program.outcome(rules, size=6, steps=2) for rules in range(4)]
    assert [outcome.dense for outcome in outcomes] == [6, 6, 3, 0]
    assert [outcome.nbytes for outcome in outcomes] == [6 * 288, 6 * 288, 3 * 288, 0]
    assert all(outcome.density == pytest.approx(outcomes[0].density, rel=1e-12) for outcome in outcomes)


def test_the_picture_has_a_bar_for_each_number_of_rules(program: ModuleType) -> None:
    outcomes = [program.Outcome(rules, 12 - 4 * rules, 1000 * (3 - rules), 1.0, 0.0) for rules in range(4)]
    drawn = program.picture(outcomes)
    assert [name in drawn for name in program.NAMES] == [True] * 4
    assert len(re.findall("<rect", drawn)) == 8
