"""What an error at a wrong moment, or blocks that are left in another order, leave of modes and settings."""

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.modes import Cell
from dispatchkit.protocol.observers import live, note_live


class Count(dk.TensorFunctionMode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.names.append(func.__name__)
        return NotImplemented


X = dk.ones(2)


def raise_in(code: CodeType, error: BaseException, make: Callable[[], object]) -> None:
    """Call a function, with an error raised where some code begins."""

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code is code:
            sys.settrace(None)
            raise error

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(type(error)):
            make()
    finally:
        sys.settrace(before)


def enter_mode() -> None:
    with Count():
        pass


def enter_record() -> None:
    with dk.record_calls():
        pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
@pytest.mark.parametrize(
    ("enter", "code"),
    [
        (enter_mode, Cell.__init__.__code__),
        (enter_mode, note_live.__code__),
        (enter_record, note_live.__code__),
    ],
)
def test_an_error_while_a_block_is_entered_leaves_outer_blocks_on(
    enter: Callable[[], object], code: CodeType, error: type[BaseException]
) -> None:
    with Count() as count, dk.record_calls() as record:
        for _ in range(3):
            raise_in(code, error(), enter)
        dk.sin(X)
        dk.cos(X)
    assert count.names == ["sin", "cos"]
    assert [call.name for call in record.calls] == ["sin", "cos"]


def test_a_recursion_without_end_leaves_outer_modes_and_records_on() -> None:
    def deep(left: int) -> None:
        if left:
            deep(left - 1)
        else:
            with Count(), dk.record_calls():
                dk.sin(X)

    gc.collect()  # what earlier tests left waiting
    before = len(live)
    depth = sys.getrecursionlimit()
    with Count() as count, dk.record_calls() as record:
        assert len(live) == before + 2
        for left in range(depth - 250, depth):
            with suppress(RecursionError):
                deep(left)
        assert len(live) == before + 2
        count.names.clear()
        dk.cos(X)
    assert count.names == ["cos"]
    assert record.calls[-1].name == "cos"
    assert len(live) == before
