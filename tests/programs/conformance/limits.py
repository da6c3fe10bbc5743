"""A plugin of pytest by which the suite ends over slow and lazy arrays.

Hypothesis makes a failing example smaller by trying thousands of others. Over Dask each of them builds and computes a
graph for every element that it compares, so that one failure takes as long as all tests that pass.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Any, NoReturn

import pytest
from hypothesis import Phase, settings

SECONDS = 120  # for one test


@pytest.hookimpl(trylast=True)  # after the suite's own profile, whose options stay
def pytest_configure() -> None:
    """Show the first example that fails, and keep none for other runs."""
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("limits", settings.default, phases=phases, database=None)
    settings.load_profile("limits")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take how often a test is run that draws one example by itself, another one each time."""
    parser.addoption("--times", type=int, default=1)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run a test that Hypothesis does not run as often as asked to; pytest runs it the last time."""
    if not hasattr(pyfuncitem.obj, "hypothesis"):
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        for _ in range(pyfuncitem.config.getoption("--times") - 1):
            pyfuncitem.obj(**arguments)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Stop a test that takes too long."""

    def stop(*args: object) -> NoReturn:
        raise TimeoutError(f"{item.name} took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
