"""How long tests wait for threads and processes, and what is not to be waited for."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from typing import Any, NoReturn

# Seconds after which what a test waits for hangs: far more than it takes on a machine that does much else beside.
PATIENCE = 1800.0


def interrupt(process: subprocess.Popen[Any], send: Callable[[], object]) -> None:
    """Interrupt a process until it ends: an interrupt that comes just before a wait begins does not end it.

    Parameters
    ----------
    process : that is interrupted
    send : sends an interrupt
    """
    for _ in range(int(PATIENCE)):
        send()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
            return


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: the scheduler of arrays that nobody asks for."""
    raise AssertionError("computed")
