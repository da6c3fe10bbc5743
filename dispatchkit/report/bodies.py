"""What a body calls, read off its code: the operations that a decomposition needs."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["operations_of_body"]

def operations_of_body(body: Callable[..., Any]) -> set[str]:
    """Return the paths of the functions that a body takes from its namespace, such as ``{"exp", "linalg.inv"}``.

    Only what is called for certain counts as needed: operators on values that may be plain numbers do not.

    >>> def half_exp(xp, x):
    ...     return xp.exp(x) / 2
    >>> operations_of_body(half_exp)
    {'exp'}
    """
    function = inspect.unwrap(body)
    code = getattr(function, "__code__", None)
    if code is None or not code.co_argcount:
        return set()
    return set(_paths(code, code.co_varnames[0]))


def _paths(code: Any, namespace: str) -> Iterator[str]:
    path: list[str] | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD_FAST"):
            if path:
                yield ".".join(path)
            argval = instruction.argval
            last = argval[-1] if isinstance(argval, tuple) else argval
            path = [] if last == namespace else None
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and path is not None:
            path.append(instruction.argval)
        elif path:
            yield ".".join(path)
            path = None
    if path:
        yield ".".join(path)
