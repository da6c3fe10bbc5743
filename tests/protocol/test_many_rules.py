"""Registering, replacing and undoing take as many steps however much is registered; what they leave is as it was."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.overridable import operation_of
from tests.protocol.support import Answer, binary, steps_of, unary

FEW, MANY = 4, 300


class A:
    pass


def new_types(protocol: DispatchProtocol, count: int) -> list[type]:
    types = [type(f"T{i}", (), {}) for i in range(count)]
    for cls in types:
        protocol.register_type(cls)
    return types


def conversion(protocol: DispatchProtocol, source: type, target: type, value: Any = None) -> None:
    def convert(x: Any) -> Any:
        return target() if value is None else value

    convert.__annotations__ = {"x": source, "return": target}
    protocol.converts()(convert)


def rule_of_one(protocol: DispatchProtocol, combine: Answer, cls: type, last: type) -> None:
    protocol.implements(combine, cls)(lambda *args: "one")


def rule_of_two(protocol: DispatchProtocol, combine: Answer, cls: type, last: type) -> None:
    protocol.implements(combine, cls, last)(lambda *args: "two")


def conversion_to(protocol: DispatchProtocol, combine: Answer, cls: type, last: type) -> None:
    conversion(protocol, last, cls)


@pytest.mark.parametrize("register", [rule_of_one, rule_of_two, conversion_to])
def test_the_steps_do_not_grow_with_what_is_registered(register: Callable[..., None]) -> None:
    steps = []
    for count in (FEW, MANY):
        protocol = DispatchProtocol("__lib_function__", namespace="lib")
        combine = binary(protocol)
        *types, last = new_types(protocol, count + 1)

        def register_all() -> None:
            for cls in types:  # noqa: B023
                register(protocol, combine, cls, last)  # noqa: B023

        register_all()
        replacing = steps_of(lambda: register(protocol, combine, types[-1], last))  # noqa: B023
        new = new_types(protocol, 1)[0]
        registering = steps_of(lambda: register(protocol, combine, new, last))  # noqa: B023
        block = protocol.local_registrations()
        block.__enter__()
        register_all()
        leaving = steps_of(lambda: block.__exit__(None, None, None))  # noqa: B023
        steps.append((replacing, registering, leaving / count))
    few, many = steps
    assert all(after <= before for before, after in zip(few, many, strict=True)), steps


@pytest.mark.parametrize("register", [rule_of_one, rule_of_two])
def test_the_steps_of_a_first_call_do_not_grow_with_the_rules_for_other_types(register: Callable[..., None]) -> None:
    steps = []
    for count in (FEW, MANY):
        protocol = DispatchProtocol("__lib_function__", namespace="lib")
        combine = binary(protocol)
        *types, cls, last = new_types(protocol, count + 2)
        for other in types:
            register(protocol, combine, other, types[0])
        register(protocol, combine, cls, last)
        instances = cls(), last()
        steps.append(steps_of(lambda: combine(*instances)))  # noqa: B023
    few, many = steps
    assert many <= few, steps


def test_the_steps_of_a_dense_copy_inside_a_rule_do_not_grow_with_the_rules_for_other_types() -> None:
    steps = []
    for count in (FEW, MANY):
        with dk.local_registrations(), dk.densify(on="allow"):
            for _ in range(count):
                dk.implements(dk.exp, dk.array_type()(type("Other", (), {})))(lambda x: x)
            kept = dense_inside_a_rule()
            dk.exp(kept)
            steps.append(steps_of(lambda: dk.exp(kept)))  # noqa: B023
    few, many = steps
    assert many <= few, steps


def dense_inside_a_rule() -> Any:
    """Return an instance of a type whose rule for `exp` makes it dense."""

    @dk.array_type(fallback=dk.fallback.dense)
    class Kept:
        def __init__(self, values: Any) -> None:
            self.values = values

        def to_dense(self) -> Any:
            return self.values

    @dk.implements(dk.exp)
    def exp_kept(x: Kept, /) -> Kept:
        return Kept(dk.exp(x.to_dense()))

    return Kept(dk.ones(3))


def test_the_rules_of_a_handler_of_unions_are_replaced_and_restored_each_by_itself(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    first, second, third = new_types(protocol, 3)

    def handler(text: str, *unions: Any) -> Any:
        def combine_pair(x1: Any, x2: Any, /) -> str:
            return text

        combine_pair.__annotations__ = {"x1": unions[0], "x2": unions[1]}
        return protocol.implements(combine)(combine_pair)

    handler("before", first | second, third)
    with protocol.local_registrations():
        handler("inside", second, third | A)
        assert [combine(first(), third()), combine(second(), third()), combine(second(), A())] == [
            "before",
            "inside",
            "inside",
        ]
    assert combine(first(), third()) == combine(second(), third()) == "before"
    assert len(protocol.handlers.of(operation_of(protocol, combine))) == 2


def test_a_registration_that_fails_leaves_the_rule_before(
    protocol: DispatchProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = unary(protocol)
    (cls,) = new_types(protocol, 1)
    protocol.implements(scale, cls)(lambda *args: "before")

    def fail(undo: Any) -> None:
        raise MemoryError

    register = protocol.implements(scale, cls)
    with monkeypatch.context() as patch:
        patch.setattr(protocol.journal, "on_undo", fail)
        with pytest.raises(MemoryError):
            register(lambda *args: "after")
    assert scale(cls()) == "before"
    assert len(protocol.handlers.of(operation_of(protocol, scale))) == 1


def test_a_rule_is_never_taken_for_that_of_a_type_that_is_gone(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    for i in range(MANY):  # whose ids come again
        (cls,) = new_types(protocol, 1)
        protocol.implements(scale, cls)(lambda *args, i=i: i)
        assert scale(cls()) == i
        if i % 50 == 0:
            gc.collect()
    del cls
    protocol.journal.invalidate()
    gc.collect()
    assert protocol.handlers.of(operation_of(protocol, scale)) == []


def test_a_conversion_keeps_its_place_when_it_is_replaced_and_restored(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    first, second = new_types(protocol, 2)
    protocol.register_type(A, fallback=fallback.convert)
    for cls in (first, second):
        protocol.implements(scale, cls)(lambda x, factor=2.0: type(x).__name__)
        conversion(protocol, A, cls)
    with protocol.local_registrations():
        conversion(protocol, A, first)
        assert scale(A()) == "T0"
    assert scale(A()) == "T0", "of two paths of one cost that declared first is taken"


def test_a_conversion_that_another_thread_registers_meanwhile_stays(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    (cls,) = new_types(protocol, 1)
    protocol.register_type(A, fallback=fallback.convert)
    texts = []
    for text in ("before", "inside", "elsewhere"):
        instance = cls()
        instance.text = text
        texts.append(instance)
    protocol.implements(scale, cls)(lambda x, factor=2.0: x.text)
    conversion(protocol, A, cls, texts[0])
    with protocol.local_registrations():
        conversion(protocol, A, cls, texts[1])
        assert scale(A()) == "inside"
        thread = threading.Thread(target=conversion, args=(protocol, A, cls, texts[2]))
        thread.start()
        thread.join()
    assert scale(A()) == "elsewhere"
