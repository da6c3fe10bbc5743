"""Registering while other threads call never leaves a stale decision behind."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakValueDictionary

import pytest

from dispatchkit.protocol.engine import DispatchProtocol
from tests.protocol.support import binary, unary
from tests.waiting import PATIENCE

ROUNDS = 200


class A:
    pass


class B:
    pass


@pytest.fixture(autouse=True)
def eager_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def calling(work: Callable[[], Any], during: Callable[[], None]) -> list[Any]:
    """Call `work` over and over in three threads while `during` runs; return what it raised."""
    stop = threading.Event()
    raised: list[Any] = []

    def run() -> None:
        while not stop.is_set():
            try:
                work()
            except Exception as error:  # noqa: BLE001  # handed to the test
                raised.append(error)
                return

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        during()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return raised


@pytest.mark.parametrize("make", [unary, binary])
def test_a_replaced_rule_answers_at_once(protocol: DispatchProtocol, make: Callable[..., Any]) -> None:
    function, args = make(protocol), (A(), 1)
    protocol.implements(function, A)(lambda *args: -1)

    def register() -> None:
        for number in range(ROUNDS):
            protocol.implements(function, A)(lambda *args, number=number: number)
            assert function(*args) == number
            assert function(*args) == number

    assert calling(lambda: function(*args), register) == []


def test_a_rule_that_comes_and_goes(protocol: DispatchProtocol) -> None:
    combine, a, b = binary(protocol), A(), B()
    protocol.implements(combine, A)(lambda x1, x2, /: "one")

    def register() -> None:
        for _ in range(ROUNDS):
            with protocol.local_registrations():
                protocol.implements(combine, A, B)(lambda x1, x2, /: "pair")
                assert combine(a, b) == "pair"
            assert combine(a, b) == "one"

    assert calling(lambda: combine(a, b), register) == []


def test_a_priority_that_changes(protocol: DispatchProtocol) -> None:
    combine, a, b = binary(protocol), A(), B()
    for cls in (A, B):
        protocol.implements(combine, cls)(lambda x1, x2, /, name=cls.__name__: name)

    def register() -> None:
        for number in range(ROUNDS):
            protocol.register_type(B, priority=number % 2)
            assert combine(a, b) == ("B" if number % 2 else "A")

    assert calling(lambda: combine(a, b), register) == []


def test_two_threads_that_register_lose_nothing(protocol: DispatchProtocol) -> None:
    functions = [unary(DispatchProtocol("__lib_function__", f"lib{i}")) for i in range(2)]

    @protocol.overridable
    def first(x: Any) -> Any:
        return "body"

    @protocol.overridable
    def second(x: Any) -> Any:
        return "body"

    types = [type(f"T{i}", (), {}) for i in range(100)]
    start = threading.Barrier(2)

    def register(function: Any) -> None:
        start.wait()
        for cls in types:
            protocol.implements(function, cls)(lambda x, name=cls.__name__: name)

    threads = [threading.Thread(target=register, args=(function,)) for function in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for function in (first, second):
        assert [function(cls()) for cls in types] == [cls.__name__ for cls in types]
    assert len(functions) == 2


class Watched(dict[Any, Any]):
    """A table of decisions that lets a call slip in just before it is emptied."""

    def __init__(self, call: Callable[[], Any], other: dict[Any, Any]) -> None:
        super().__init__(other)
        self.call = call
        self.fetched = threading.Event()
        self.thread: threading.Thread | None = None

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key, default)
        self.fetched.set()
        return found

    def clear(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self.call)
            self.thread.start()
            self.fetched.wait(timeout=PATIENCE)
        super().clear()


def test_a_call_in_the_midst_of_forgetting_keeps_nothing_stale(protocol: DispatchProtocol) -> None:
    """A call that looked up an old decision, while a registration was clearing the tables, must not store it."""
    scale, x = unary(protocol), A()
    operation: Any = scale.__overridable__  # type: ignore[attr-defined]
    protocol.implements(scale, A)(lambda x, factor=2.0: "old")
    assert scale(x) == "old"
    watched = operation.chains = Watched(lambda: scale(x), operation.chains)
    protocol.implements(scale, A)(lambda x, factor=2.0: "new")
    assert watched.thread is not None
    watched.thread.join(timeout=PATIENCE)
    assert scale(x) == "new"


class WatchedRules(WeakValueDictionary[Any, Any]):
    """The rules of an operation, which let a call read them just after they were changed."""

    def __init__(self, call: Callable[[], Any], rules: Mapping[Any, Any]) -> None:
        super().__init__(rules)
        self.call = call
        self.read = threading.Event()
        self.thread: threading.Thread | None = None
        self.outcome: list[Any] = []

    def get(self, key: Any, default: Any = None) -> Any:
        rule = super().get(key, default)
        if threading.current_thread() is self.thread:
            self.read.set()
        return rule

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, value)
        if self.thread is None:
            self.thread = threading.Thread(target=self.run)
            self.thread.start()
            self.read.wait(timeout=PATIENCE)

    def run(self) -> None:
        try:
            self.outcome.append(self.call())
        except TypeError as error:
            self.outcome.append(error)


def test_a_call_in_the_midst_of_replacing_finds_one_of_the_two(protocol: DispatchProtocol) -> None:
    scale, x = unary(protocol), A()
    operation: Any = scale.__overridable__  # type: ignore[attr-defined]
    protocol.implements(scale, A)(lambda x, factor=2.0: "old")
    rules = protocol.handlers._rules
    watched = rules[operation] = WatchedRules(lambda: scale(x), rules[operation])
    protocol.implements(scale, A)(lambda x, factor=2.0: "new")
    assert watched.thread is not None, "nothing was tested"
    watched.thread.join(timeout=PATIENCE)
    assert watched.outcome in (["old"], ["new"])


def test_functions_are_listed_while_others_are_made_overridable(protocol: DispatchProtocol) -> None:
    def rescale(x: Any) -> Any:
        return x

    def during() -> None:
        for turn in range(ROUNDS):
            rescale.__name__ = f"rescale{turn}"
            protocol.overridable(rescale)

    def look() -> None:
        repr(protocol.operations)
        assert list(protocol.operations)[:1] in ([], ["lib.rescale0"])
        assert len(dict(protocol.operations.items())) <= ROUNDS

    assert calling(look, during) == []
    assert len(protocol.operations) == ROUNDS
