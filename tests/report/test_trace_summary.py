"""The table of a trace: by function and by line, in every order."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.report import Summary, Trace, TracedCall


def call(function: str, start: int, duration: int, parent: int | None = None, **more: Any) -> TracedCall:
    given = {"types": ("Tensor",), "shapes": (None,), "dtypes": ("",), "line": 1, "how": "plain", "self_time": duration}
    return TracedCall(
        function=f"dispatchkit.{function}",
        file="program.py",
        thread="MainThread",
        thread_id=1,
        task="",
        parent=parent,
        depth=0 if parent is None else 1,
        start=start,
        duration=duration,
        **{**given, **more},
    )


def traced(*calls: TracedCall, dropped: int = 0) -> Trace:
    t = Trace()
    t._made += calls
    t.dropped = dropped
    return t


CALLS = (
    call("softmax", 0, 10_000, self_time=2_000, line=3, how="dense", who="D", types=("D",), self_densified=2000),
    call("exp", 1_000, 2_000, 0, line=4),
    call("softmax", 3_000, 6_000, 0, line=3),
    call("exp", 20_000, 4_000, line=5, types=("Tensor", "int"), error="ValueError: no"),
    call("add", 30_000, 6_000, line=5),
)


def test_rows_by_function() -> None:
    table = traced(*CALLS).summary()
    assert [(row.name, row.calls, row.total, row.self_time, row.densified) for row in table.rows] == [
        # What softmax spends in softmax counts once.
        ("softmax", 2, 10_000, 8_000, 2000),
        ("add", 1, 6_000, 6_000, 0),
        ("exp", 2, 6_000, 6_000, 0),
    ]
    assert [row.share for row in table.rows] == pytest.approx([40, 30, 30])
    assert table.rows[0].types == {"(D)": 1, "(Tensor)": 1}
    assert table.rows[0].hows == {"dense: D": 1, "plain": 1}
    assert table.rows[2].errors == 1


def test_rows_by_line() -> None:
    table = traced(*CALLS).summary("line", sort="name")
    assert [(row.name, row.calls, row.total, row.self_time) for row in table.rows] == [
        ("program.py:3", 2, 10_000, 8_000),
        ("program.py:4", 1, 2_000, 2_000),
        ("program.py:5", 2, 10_000, 10_000),
    ]
    assert table.rows[2].types == {"exp": 1, "add": 1}


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("self", ["softmax", "add", "exp"]),
        ("total", ["softmax", "add", "exp"]),
        ("calls", ["exp", "softmax", "add"]),
        ("bytes", ["softmax", "add", "exp"]),
        ("name", ["add", "exp", "softmax"]),
    ],
)
def test_orders(sort: Any, names: list[str]) -> None:
    assert [row.name for row in traced(*CALLS).summary(sort=sort).rows] == names
    assert [row.name for row in traced(*CALLS).summary().sorted(sort).rows] == names


def test_text() -> None:
    lines = str(traced(*CALLS, dropped=7).summary()).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "function calls total self share densified types answered",
        "softmax 2 10.0 µs 8.0 µs 40 % 2.0 kB (D) ×1, (Tensor) ×1 dense: D ×1, plain ×1",
        "add 1 6.0 µs 6.0 µs 30 % (Tensor) plain",
        "exp 2 6.0 µs 6.0 µs 30 % (Tensor) ×1, (Tensor, int) ×1 plain, 1 raised",
        "",
        "5 calls, 20.0 µs, 2.0 kB densified",
        "7 later calls were not kept",
    ]
    assert len({line.index("plain") for line in lines[2:4]}) == 1


def test_markdown() -> None:
    lines = traced(*CALLS).summary().to_markdown().splitlines()
    assert lines[0] == "| function | calls | total | self | share | densified | types | answered |"
    assert lines[2] == (
        "| `softmax` | 2 | 10.0 µs | 8.0 µs | 40 % | 2.0 kB | (D) ×1, (Tensor) ×1 | dense: D ×1, plain ×1 |"
    )
    assert lines[-1] == "5 calls, 20.0 µs, 2.0 kB densified"


def test_more_types_than_a_table_names() -> None:
    calls = [call("add", place, 10, types=(f"T{place}",)) for place in range(5)]
    assert "(T0) ×1, (T1) ×1, (T2) ×1, 2 more" in str(traced(*calls).summary())


def test_of_nothing() -> None:
    assert str(traced().summary()).splitlines()[-1] == "0 calls, 0 ns"
    assert Summary([]).rows == []


def test_of_real_calls() -> None:
    with dk.record_calls() as t:
        for _ in range(3):
            dk.exp(dk.ones(4))
    table = t.summary(sort="calls")
    assert {row.name: row.calls for row in table.rows} == {"exp": 3, "ones": 3}
    assert sum(row.share for row in table.rows) == pytest.approx(100)
    (line,) = t.summary("line").rows
    assert line.name.endswith(f"test_trace_summary.py:{t.calls[0].line}")
    assert line.calls == 6


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="by must be 'function' or 'line', not 'type'"):
        traced().summary("type")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sort must be one of 'self', 'total', 'calls', 'bytes', 'name', not 'size'"):
        traced().summary(sort="size")  # type: ignore[arg-type]
