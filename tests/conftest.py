"""What all tests share: how many examples Hypothesis tries, and what is skipped without SciPy."""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest
from hypothesis import settings

import dispatchkit as dk
import dispatchkit.nn  # tests list all operations

# Every run of "quick" tries the same examples, so that a failure seen by CI is seen on a laptop.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True)
def own_registrations() -> Iterator[None]:
    """Undo what a test registers, so that no test sees what others declared."""
    with dk.local_registrations():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Undo what examples of the library register, and skip those that need SciPy where it is not installed."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runtest = alone(item.runtest)  # type: ignore[method-assign]  # fixtures of here are not for them
            if item.name.startswith("dispatchkit.ops.special.special.") and find_spec("scipy") is None:
                item.add_marker(pytest.mark.skip(reason="SciPy is not installed"))


def alone(run: Callable[[], None]) -> Callable[[], None]:
    """Return what runs an example so that no test sees what it declares."""

    def run_alone() -> None:
        with dk.local_registrations():
            run()

    return run_alone
