"""Modes: who is asked first, what is off inside, and what is restored."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

from dispatchkit.errors import ModeError, NoImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import FunctionMode
from dispatchkit.protocol.modes import current
from dispatchkit.protocol.observers import live
from dispatchkit.protocol.steps import decline
from tests.protocol.support import Answer, binary, unary


class A:
    pass


class LibMode(FunctionMode):
    """Base of the modes here; each test gives it its protocol."""

    def __new__(cls, protocol: DispatchProtocol, *args: Any) -> Any:
        return super().__new__(type(cls.__name__, (cls,), {"protocol": protocol}))

    def __init__(self, protocol: DispatchProtocol, answer: Callable[..., Any], log: list[Any] | None = None) -> None:
        self.respond = answer
        self.log = [] if log is None else log

    def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.log.append((func, types, args, kwargs))
        return self.respond(func, *args, **kwargs)


def call_on(func: Answer, *args: Any, **kwargs: Any) -> Any:
    return func(*args, **kwargs)


def say(text: str) -> Answer:
    return lambda func, *args, **kwargs: text


def pass_on(func: Answer, *args: Any, **kwargs: Any) -> Any:
    return NotImplemented


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    protocol.register_type(A)
    return unary(protocol)


def test_a_mode_answers_before_the_types(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x, factor=2.0: "rule")
    with LibMode(protocol, say("mode")):
        assert scale(A()) == "mode"
    assert scale(A()) == "rule"


def test_it_is_given_what_types_are_given(protocol: DispatchProtocol, scale: Answer) -> None:
    x = A()
    with LibMode(protocol, say("mode")) as mode:
        scale(x, factor=3.0)
        scale(1)
        scale(x=x)
    assert mode.log == [
        (scale, (A,), (x,), {"factor": 3.0}),
        (scale, (), (1,), {}),
        (scale, (A,), (), {"x": x}),
    ]


def test_calls_without_any_array_argument_are_seen(protocol: DispatchProtocol) -> None:
    @protocol.overridable(arrays=())
    def ones(n: int) -> str:
        return "body"

    assert ones(3) == "body"
    with LibMode(protocol, say("mode")) as mode:
        assert ones(3) == "mode"
    assert mode.log == [(ones, (), (3,), {})]


def test_the_innermost_is_asked_first(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, say("outer")), LibMode(protocol, say("inner")):
        assert scale(A()) == "inner"


@pytest.mark.parametrize("declining", [pass_on, lambda func, *args: decline("not mine")])
def test_a_mode_that_declines_passes_to_the_next(protocol: DispatchProtocol, scale: Answer, declining: Answer) -> None:
    with LibMode(protocol, say("outer")), LibMode(protocol, declining):
        assert scale(A()) == "outer"


def test_after_the_last_mode_the_types_are_asked(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x, factor=2.0: "rule")
    with LibMode(protocol, pass_on), LibMode(protocol, pass_on):
        assert scale(A()) == "rule"
        assert scale(1) == ("body", 1, 2.0)


def test_a_reason_a_mode_gave_is_in_the_message(protocol: DispatchProtocol, scale: Answer) -> None:
    mode = LibMode(protocol, lambda func, *args: decline("only on Sundays"))
    with mode, pytest.raises(NoImplementationError, match="only on Sundays"):
        scale(A())


def test_a_reason_a_mode_gave_is_not_said_of_a_type(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x, factor=2.0: NotImplemented)
    mode = LibMode(protocol, lambda func, *args: decline("only on Sundays"))
    with mode, pytest.raises(NoImplementationError) as caught:
        scale(A())
    line = next(line for line in caught.value.asked if line.startswith("A: "))
    assert "Sundays" not in line


def test_inside_its_handler_a_mode_is_off(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, call_on) as mode:
        assert scale(1) == ("body", 1, 2.0)
    assert len(mode.log) == 1


def test_inside_its_handler_the_modes_outside_are_on(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, call_on) as outer, LibMode(protocol, call_on) as inner:
        assert scale(1) == ("body", 1, 2.0)
    assert (len(outer.log), len(inner.log)) == (1, 1)


def test_inside_an_outer_handler_the_inner_modes_are_off(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, call_on) as outer, LibMode(protocol, pass_on) as inner:
        assert scale(1) == ("body", 1, 2.0)
    assert (len(outer.log), len(inner.log)) == (1, 1)


def test_after_a_handler_the_mode_is_on_again(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, call_on) as mode:
        scale(1)
        scale(2)
    assert [args for _, _, args, _ in mode.log] == [(1,), (2,)]


def test_a_mode_may_enter_itself_in_its_handler(protocol: DispatchProtocol, scale: Answer) -> None:
    def reenter(func: Answer, x: int) -> Any:
        if x == 0:
            return "ground"
        with mode:
            return func(x - 1)

    with LibMode(protocol, reenter) as mode:
        assert scale(3) == "ground"
    assert len(mode.log) == 4


def test_a_mode_can_be_entered_twice(protocol: DispatchProtocol, scale: Answer) -> None:
    mode = LibMode(protocol, call_on)
    with mode, mode:
        scale(1)
    assert len(mode.log) == 2


def test_a_handlers_calls_are_seen_by_the_mode(protocol: DispatchProtocol, scale: Answer) -> None:
    combine = binary(protocol)
    protocol.implements(scale, A)(lambda x, factor=2.0: combine(1, 2))
    with LibMode(protocol, pass_on) as mode:
        assert scale(A()) == ("body", 1, 2)
    assert [func for func, *_ in mode.log] == [scale, combine]


def test_one_protocols_modes_are_not_asked_by_another(protocol: DispatchProtocol) -> None:
    other = DispatchProtocol("__other_function__", namespace="other")
    with LibMode(protocol, say("mode")) as mode:
        assert unary(other)(1) == ("body", 1, 2.0)
    assert mode.log == []


def test_an_exception_in_a_handler_restores_the_stack(protocol: DispatchProtocol, scale: Answer) -> None:
    raised = TypeError("of the mode")

    def fail(func: Answer, *args: Any) -> Any:
        raise raised

    with LibMode(protocol, say("outer")), LibMode(protocol, fail) as mode:
        with pytest.raises(TypeError) as caught:
            scale(1)
        assert caught.value is raised
        cell = current()
        assert cell is not None
        assert cell.mode is mode
    assert current() is None


def test_an_exception_in_the_block_restores_the_stack(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, say("outer")):
        with pytest.raises(KeyError), LibMode(protocol, say("inner")):
            raise KeyError
        assert scale(1) == "outer"
    assert scale(1) == ("body", 1, 2.0)


def test_leaving_out_of_order_is_an_error_and_takes_that_mode_alone_away(
    protocol: DispatchProtocol, scale: Answer
) -> None:
    class Outer(LibMode): ...

    class Inner(LibMode): ...

    outer, inner = Outer(protocol, say("outer")), Inner(protocol, say("inner"))
    outer.__enter__()
    with inner:
        with pytest.raises(ModeError) as caught:
            outer.__exit__(None, None, None)
        assert scale(1) == "inner"
    assert scale(1) == ("body", 1, 2.0)
    assert str(caught.value) == "Outer was left out of order: Inner is innermost; leave modes innermost first"


def test_leaving_a_mode_that_is_not_active_is_an_error(protocol: DispatchProtocol) -> None:
    with pytest.raises(ModeError, match="LibMode was left out of order: no mode is active here"):
        LibMode(protocol, pass_on).__exit__(None, None, None)


def test_a_mode_error_is_a_runtime_error() -> None:
    assert issubclass(ModeError, RuntimeError)


def test_calls_cost_nothing_extra_once_modes_are_gone(protocol: DispatchProtocol) -> None:
    gc.collect()  # what earlier tests left waiting
    before = len(live)
    with LibMode(protocol, pass_on):
        assert len(live) == before + 1
    assert len(live) == before


def test_a_mode_without_a_method_says_so(protocol: DispatchProtocol, scale: Answer) -> None:
    class Empty(FunctionMode):
        pass

    Empty.protocol = protocol
    mode = Empty()
    with mode, pytest.raises(AttributeError, match="__lib_function__"):
        scale(1)


def test_a_mode_that_was_left_is_in_no_message(protocol: DispatchProtocol, scale: Answer) -> None:
    with LibMode(protocol, pass_on), pytest.raises(NoImplementationError, match="LibMode: declined"):
        scale(A())
    with pytest.raises(NoImplementationError) as found:
        scale(A())
    assert "LibMode" not in str(found.value)


def test_attributes_of_a_mode_may_have_any_name(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x, factor=2.0: "rule")
    mode = LibMode(protocol, say("mode"))
    for name in ("protocol", "answer", "stays_on", "of_users", "switches_off"):
        setattr(mode, name, "of the user")
    with mode:
        assert scale(A()) == "mode"
    assert scale(A()) == "rule"
