"""A plugin of pytest: tests marked `checked`, or all of them with ``--checked``, are checked programs.

``pytest -p dispatchkit.testing.plugin --checked`` puts a suite under `dispatchkit.checked`, and so does
``pytest_plugins = ["dispatchkit.testing.plugin"]`` in the conftest.py at its root with ``@pytest.mark.checked`` for
single tests. Keywords of the mark are those of `checked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dispatchkit.testing.programs import checked


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    text = "check each call that meets an array type against the same call on dense forms"
    parser.getgroup("dispatchkit").addoption("--checked", action="store_true", help=text)


def pytest_configure(config: Any) -> None:
    """Declare the mark."""
    text = "checked(gradients=True): check each call that meets an array type against the same call on dense forms"
    config.addinivalue_line("markers", text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Run a test, under `checked` if it is asked for."""
    mark = item.get_closest_marker("checked")
    if mark is None and not item.config.getoption("--checked"):
        return (yield)
    options = {}
    if mark is not None:
        options = mark.kwargs
    with checked(**options):
        return (yield)
