"""The first calls of a function in several threads, and declarations that change while it is compiled."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.compiled import template
from dispatchkit.declare.derivative import Derivative
from tests.declared import OPERATIONS
from tests.turns import LONG

THREADS = 8


@pytest.fixture
def eager_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Return what calls give that threads begin at the same moment, an exception in the place of what raised it."""
    start = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(place: int) -> None:
        start.wait()
        try:
            results[place] = calls[place]()
        except Exception as error:  # noqa: BLE001  # handed to the test
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def subclass() -> type[dk.Tensor]:
    class Fresh(dk.Tensor):
        """A type that no operation has met."""

    return Fresh


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Return what has something done once, in the midst of compiling a function, as another thread might."""

    def once(act: Callable[[], Any]) -> None:
        compile_text = vars(template)["code_of"]

        def code_of(text: str, purpose: str) -> Any:
            monkeypatch.setattr(template, "code_of", compile_text)
            act()
            return compile_text(text, purpose)

        monkeypatch.setattr(template, "code_of", code_of)

    return once


# Each kind of index has an implementation of its own, which is compiled when it first meets a type.
INDICES: list[Any] = [0, slice(None), None, ..., (0,), [0], True, np.asarray([1]), dk.asarray([1]), (0, None), (..., 0)]


@pytest.mark.usefixtures("eager_switches")
def test_threads_that_meet_a_type_together_select_from_it() -> None:
    expected = [np.asarray([1.0, 2.0])[getattr(index, "array", index)].tolist() for index in INDICES]
    for _ in range(60 if LONG else 15):
        x: Any = subclass()([1.0, 2.0])
        for index, values in zip(INDICES, expected, strict=True):
            results = together(*[lambda x=x, index=index: x[index].tolist()] * THREADS)
            assert results == [values] * THREADS


def test_a_call_while_another_thread_compiles_the_function_is_computed(meanwhile: Any) -> None:
    x, entry = subclass()([1.0, 2.0]), OPERATIONS["dispatchkit.getitem"]
    implementation: Any = entry.default((type(x), (int,)), type(x))
    results: list[Any] = []
    meanwhile(lambda: results.append(implementation(x, 1)))
    assert implementation(x, 0).tolist() == 1.0
    assert [y.tolist() for y in results] == [2.0]
    assert type(results[0]) is type(x)


@pytest.mark.parametrize("name", ["exp", "add", "sum", "concat", "where"])
def test_a_call_while_another_thread_compiles_the_function_is_asked_once(meanwhile: Any, name: str) -> None:
    """It does not begin anew at the public function, where modes would be asked a second time."""
    function: Any = getattr(dk, name)
    counts: list[int] = []

    def arguments(x: Any) -> tuple[Any, ...]:
        return {"add": (x, x), "concat": ([x, x],), "where": (x > 0, x, x)}.get(name, (x,))

    def call() -> None:
        with dk.record_calls() as record:
            function(*args)
        counts.append(len(record.calls))

    function(*arguments(dk.ones(2)))  # compiles the public function, but not what computes for a new type
    args = arguments(subclass()([1.0, 2.0]))
    meanwhile(call)
    function(*args)
    assert counts == [1]


def test_names_of_texts_leave_those_that_compile_alone() -> None:
    kept = {"_uncompiled", "_build", "_install", "__name__"}
    for entry in OPERATIONS.values():
        implementation = type(entry).default(entry, tuple(dk.Tensor for _ in entry.parameters.arrays), None)
        for function in (entry.function, implementation):
            names: dict[str, Any] = getattr(function, "__globals__", {})
            if "_build" in names:
                assert kept.isdisjoint(names["_build"](names)[1])
                assert names["_uncompiled"] is function


def test_a_kernel_that_is_declared_while_the_function_is_compiled_computes(meanwhile: Any) -> None:
    @dk.operation
    def shifted(xp: Any, x: dk.Tensor, /, *, by: float = 1.0) -> Any:
        return x + by

    def shifted_numpy(x: Any, /, *, by: float = 1.0) -> Any:
        return x + 10 * by

    x = dk.zeros(1)
    meanwhile(lambda: shifted.def_kernel("numpy", shifted_numpy))
    assert shifted(x, by=1.0).tolist() in ([1.0], [10.0])
    assert shifted(x, by=1.0).tolist() == [10.0]


def test_a_rule_that_is_declared_while_the_rules_are_read_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def doubled(xp: Any, x: dk.Tensor, /) -> Any:
        return x * 2

    read = Derivative._read

    def read_slowly(self: Any, rules: Any) -> Any:
        monkeypatch.setattr(Derivative, "_read", read)
        plan = read(self, rules)
        doubled.def_vjp(lambda g: g * 100)
        return plan

    doubled.def_vjp(lambda g: g * 10)
    x = dk.tensor([3.0], requires_grad=True)
    monkeypatch.setattr(Derivative, "_read", read_slowly)
    doubled(x)
    doubled(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [100.0]


def test_a_kernel_that_is_declared_while_another_is_chosen_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    @dk.operation
    def shifted(xp: Any, x: dk.Tensor, /, *, by: float = 1.0) -> Any:
        return x + by

    def shifted_numpy(x: Any, /, *, by: float = 1.0) -> Any:
        return x + 10 * by

    x = dk.zeros(1)
    entry: Any = dk.tensor_protocol.operation(shifted)
    implementation = entry.implementation
    over = type(implementation)._over

    def over_slowly(self: Any, xp: Any, compute: Any) -> Any:
        monkeypatch.setattr(type(implementation), "_over", over)
        chosen = over(self, xp, compute)
        shifted.def_kernel("numpy", shifted_numpy)
        return chosen

    monkeypatch.setattr(type(implementation), "_over", over_slowly)
    assert shifted(x).tolist() in ([1.0], [10.0])
    assert shifted(x).tolist() == [10.0]
