"""Types that take part by a method of their own: how it is called, and what it is given."""

from collections.abc import Mapping
from typing import Any

import pytest

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.steps import decline
from tests.protocol.support import binary, unary


class ByClass:
    @classmethod
    def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return (cls, func, types, args, kwargs)


class ByStatic:
    @staticmethod
    def __lib_function__(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return (ByStatic, func, types, args, kwargs)


class ByInstance:
    def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return (self, func, types, args, kwargs)


class Foreign:
    pass


@pytest.mark.parametrize("cls", [ByClass, ByStatic])
def test_the_method_may_belong_to_the_class(protocol: DispatchProtocol, cls: type) -> None:
    scale, x = unary(protocol), cls()
    assert scale(x, 3.0) == (cls, scale, (cls,), (x, 3.0), {})


def test_a_plain_method_is_called_on_the_first_instance(protocol: DispatchProtocol) -> None:
    combine, first, second = binary(protocol), ByInstance(), ByInstance()
    assert combine(first, second) == (first, combine, (ByInstance,), (first, second), {})


def test_a_plain_method_is_called_on_an_instance_of_its_exact_type(protocol: DispatchProtocol) -> None:
    class Base(ByInstance):
        def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return NotImplemented if type(self) is not Base else self

    class Sub(Base):
        pass

    base, sub = Base(), Sub()
    assert binary(protocol)(sub, base) is base


def test_func_is_the_public_function(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    assert combine(ByClass(), 1)[1] is combine


def test_types_are_distinct_and_in_signature_order(protocol: DispatchProtocol) -> None:
    assert binary(protocol)(ByStatic(), ByClass())[2] == (ByStatic, ByClass)
    assert binary(protocol)(ByClass(), ByClass())[2] == (ByClass,)


def test_types_leave_out_what_does_not_take_part(protocol: DispatchProtocol) -> None:
    assert binary(protocol)(Foreign(), ByClass())[2] == (ByClass,)
    assert binary(protocol)(1.0, ByClass())[2] == (ByClass,)


def test_types_are_a_tuple(protocol: DispatchProtocol) -> None:
    assert type(binary(protocol)(ByClass(), 1)[2]) is tuple


def test_defaults_are_not_filled_in(protocol: DispatchProtocol) -> None:
    x = ByClass()
    assert unary(protocol)(x)[3:] == ((x,), {})


def test_arguments_arrive_as_the_caller_wrote_them(protocol: DispatchProtocol) -> None:
    scale, x = unary(protocol), ByClass()
    assert scale(x, 4.0)[3:] == ((x, 4.0), {})
    assert scale(x, factor=4.0)[3:] == ((x,), {"factor": 4.0})
    assert scale(x=x, factor=4.0)[3:] == ((), {"x": x, "factor": 4.0})


def test_a_list_argument_arrives_as_that_list(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def stack(arrays: Any) -> Any:
        return None

    given = [ByClass(), 1.0]
    assert stack(given)[3][0] is given


def test_kwargs_are_always_a_dict(protocol: DispatchProtocol) -> None:
    assert type(binary(protocol)(ByClass(), 1)[4]) is dict


def test_changing_kwargs_does_not_reach_the_caller(protocol: DispatchProtocol) -> None:
    class Greedy:
        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
            kwargs.clear()
            return "cleared"

    given = {"factor": 3.0}
    assert unary(protocol)(Greedy(), **given) == "cleared"
    assert given == {"factor": 3.0}


def test_a_call_that_the_signature_forbids_never_reaches_the_method(protocol: DispatchProtocol) -> None:
    with pytest.raises(TypeError, match="bogus"):
        unary(protocol)(ByClass(), bogus=1)


def test_the_answer_may_be_anything_but_notimplemented(protocol: DispatchProtocol) -> None:
    class Nothing:
        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return None

    assert unary(protocol)(Nothing()) is None


def test_an_exception_passes_through_unchanged(protocol: DispatchProtocol) -> None:
    raised = TypeError("of the handler")

    class Failing:
        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            raise raised

    with pytest.raises(TypeError, match="of the handler") as caught:
        binary(protocol)(Failing(), ByClass())
    assert caught.value is raised
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_rules_answer_after_the_own_method_declined(protocol: DispatchProtocol) -> None:
    class Picky:
        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return decline("not this one")

    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_picky(x: Picky, factor: float = 2.0) -> str:
        return "rule"

    assert scale(Picky()) == "rule"


def test_the_written_method_is_kept_by_array_type(protocol: DispatchProtocol) -> None:
    class Sub(ByClass):
        pass

    assert protocol.array_type()(Sub) is Sub
    assert unary(protocol)(Sub())[0] is Sub


def test_the_method_made_by_array_type_is_reached_by_super(protocol: DispatchProtocol) -> None:
    @protocol.array_type()
    class Plain:
        pass

    class Counting(Plain):
        calls = 0

        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
            Counting.calls += 1
            return super().__lib_function__(func, types, args, kwargs)  # type: ignore[misc]

    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_plain(x: Plain, factor: float = 2.0) -> str:
        return "rule"

    assert scale(Counting()) == "rule"
    assert Counting.calls == 1


def test_a_reason_given_below_super_reaches_the_message(protocol: DispatchProtocol) -> None:
    @protocol.array_type()
    class Plain:
        pass

    class Passing(Plain):
        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
            return super().__lib_function__(func, types, args, kwargs)  # type: ignore[misc]

    combine = binary(protocol)

    @protocol.implements(combine)
    def combine_plain(x1: Passing, x2: int, /) -> Any:
        return decline("needs a square matrix")

    with pytest.raises(NoImplementationError) as caught:
        combine(Passing(), 1)
    first = next(line for line in caught.value.asked if "__lib_function__" in line)
    assert "needs a square matrix" in first


def test_a_protocol_does_not_see_the_methods_of_another(protocol: DispatchProtocol) -> None:
    other = DispatchProtocol("__other_function__", namespace="other")
    x = ByClass()
    assert unary(other)(x) == ("body", x, 2.0)
