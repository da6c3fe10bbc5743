"""What all tests share: how many examples Hypothesis tries, and that none sees what others register."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit import catalogue  # noqa: F401  # tests list every operation
from dispatchkit.testing import Wrapper  # noqa: F401  # a test in which it is imported first would undo its registration

# Read by SciPy when it is imported, which may be by any file.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Every run of "quick" tries the same examples, so that a failure seen by CI is seen on a laptop.
# Nor does it fail where a loaded machine takes long to draw examples.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", UNHURRIED, max_examples=25, derandomize=True)
settings.register_profile("long", UNHURRIED, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection() -> None:
    """Collect no garbage while the tests are collected: nearly all that is made then stays."""
    # Hypothesis registers its generator at its first example. It collects all garbage for that, which takes long once
    # the tests are collected, and asks who refers to the generator: nobody, once that is passed over.
    given(st.none())(lambda _: None)()
    gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests, which takes as long as looking for the tests."""
    collectors = yield
    return [collector for collector in collectors if type(collector) is pytest.Module]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names of tests that hold an address, which would differ between the processes of a parallel run."""
    unsteady = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unsteady:
        raise pytest.UsageError(f"name the parameters of {unsteady[0]} by ids=, which hold no address")


def pytest_collection_finish() -> None:
    """Have garbage collections pass over what collecting the tests made: in a whole run a million objects each time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Report that a test passed, not its start, its end, nor that its fixtures were made: a message takes 0.5 ms.

    It does so in the processes of a parallel run alone, unless a file for JUnit is asked for, which needs them all.
    """
    if not hasattr(item.config, "workerinput") or item.config.getoption("xmlpath"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


class FailingSubtests:
    """Subtests that are reported where they fail or skip: a report of what passes takes longer than most of them."""

    def __init__(self, reported: pytest.Subtests) -> None:
        self.reported = reported

    @contextmanager
    def test(self, msg: str | None = None, **kwargs: Any) -> Iterator[None]:
        """Run the block, and report it under this message where it raises; the test goes on."""
        try:
            yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception, pytest.xfail.Exception):
            with self.reported.test(msg, **kwargs):
                raise


@pytest.fixture
def subtests(subtests: pytest.Subtests) -> FailingSubtests:
    """Replace pytest's fixture."""
    return FailingSubtests(subtests)


@pytest.fixture(autouse=True)
def own_registrations() -> Iterator[None]:
    """Undo what a test registers, so that no test sees what others declared."""
    with dk.local_registrations():
        yield


@pytest.fixture(autouse=True)
def python_stack() -> Iterator[None]:
    """Put back the limit of the stack, which mypy raises: what calls itself without end would take minutes to fail."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)
