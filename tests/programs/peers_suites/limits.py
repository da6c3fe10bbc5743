"""A plugin of pytest that stops a test that takes too long."""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Any, NoReturn

import pytest

SECONDS = 60


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
