"""What the tests of the protocol share: small overridable functions, and types that decline."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dispatchkit.backends.arrays import foreign
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.modes import current
from dispatchkit.protocol.observers import is_observed, live

Answer = Callable[..., Any]


def unary(protocol: DispatchProtocol) -> Answer:
    """Return ``scale(x, factor=2.0)``, of which only `x` decides who answers."""

    @protocol.overridable(arrays=("x",))
    def scale(x: Any, factor: float = 2.0) -> Any:
        return ("body", x, factor)

    return scale


def binary(protocol: DispatchProtocol) -> Answer:
    """Return ``combine(x1, x2)``."""

    @protocol.overridable
    def combine(x1: Any, x2: Any, /) -> Any:
        return ("body", x1, x2)

    return combine


def many(protocol: DispatchProtocol) -> Answer:
    """Return ``gather(*xs)``."""

    @protocol.overridable
    def gather(*xs: Any) -> Any:
        return ("body", *xs)

    return gather


def declining_type(name: str, log: list[str], bases: tuple[type, ...] = (), method: str = "__lib_function__") -> type:
    """Return a class that writes its name to `log` when it is asked, and declines."""

    def answer(cls: type, func: Any, types: tuple[type, ...], args: Any, kwargs: Mapping[str, Any]) -> Any:
        log.append(name)
        return NotImplemented

    return type(name, bases, {method: classmethod(answer)})


def line_of(function: Callable[..., Any]) -> str:
    """Return file and line of a function, as messages print them."""
    code: Any = getattr(function, "__code__")  # noqa: B009  # a callable need not have one, as mypy knows
    return f"{code.co_filename}:{code.co_firstlineno}"


def steps_of(run: Callable[[], Any]) -> int:
    """Return how many lines of Python run in a call, where other tests have left nothing that calls ask for."""
    with asked_here_alone() as changed:
        if changed:
            run()  # for the first time in the way of NumPy's arrays alone
        return _lines_of(run)


@contextmanager
def asked_here_alone() -> Iterator[bool]:
    """Have calls look for no arrays of other libraries and no modes that other tests brought; say if there were any.

    A mode lives on in a cycle of objects until garbage is collected, and all calls of the process look for it.
    """
    met, alive = foreign[:], set(live)
    foreign.clear()
    if current() is None and is_observed() is None:
        live.clear()
    try:
        yield bool(met) or len(live) < len(alive)
    finally:
        foreign[:] = met
        live.update(entry for entry in alive if entry() is not None)


def _lines_of(run: Callable[[], Any]) -> int:
    lines = 0

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    gc.disable()  # what is collected meanwhile has callbacks
    sys.settrace(count)
    try:
        run()
    finally:
        sys.settrace(before)
        gc.enable()
    return lines
