"""Functions made overridable look their answer up by the types of the arguments, and call it at once."""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.parameters import MISSING
from tests.protocol.support import binary, many, steps_of, unary


class A:
    pass


@pytest.fixture
def protocol() -> DispatchProtocol:
    protocol = DispatchProtocol("__lib_function__")
    protocol.register_type(A)
    return protocol


def rules_of(protocol: DispatchProtocol) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a function of one array and an option, and one of two arrays, with a rule each."""
    scale, combine = unary(protocol), binary(protocol)
    protocol.implements(scale, A)(lambda x, factor=2.0: ("rule", factor))
    protocol.implements(combine, A)(lambda x1, x2: "rule")
    return scale, combine


def test_a_known_call_takes_twelve_lines_whatever_the_function_takes(protocol: DispatchProtocol) -> None:
    scale, combine = rules_of(protocol)
    a = A()
    calls = [partial(scale, a), partial(scale, a, 3.0), partial(combine, a, a), partial(combine, a, 1.0)]
    for call in calls:
        call()
    assert max(map(steps_of, calls)) <= 12


def test_a_known_call_by_name_reads_no_signature(protocol: DispatchProtocol) -> None:
    scale, _ = rules_of(protocol)
    a = A()
    assert scale(a, factor=3.0) == ("rule", 3.0)
    assert steps_of(lambda: scale(a, factor=3.0)) <= 18


def test_what_a_call_leaves_out_stays_left_out(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def shift(x: Any, by: Any = "default") -> Any:
        return by

    protocol.implements(shift, A)(lambda x, *given: given[0] if given else "left out")
    a = A()
    calls = [shift(a), shift(a, 1), shift(a), shift(0), shift(0, by=2), shift(x=a)]
    assert calls == ["left out", 1, "left out", "default", 2, "left out"]


def test_members_of_a_list_decide_after_calls_of_lists_without_any(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    protocol.implements(combine, A)(lambda x1, x2: "rule")
    a = A()
    assert [combine([1], 2)[0], combine([a], 2), combine([1], 2)[0], combine((1, a), a)] == [
        "body",
        "rule",
        "body",
        "rule",
    ]


def test_all_of_any_number_of_arguments_decide(protocol: DispatchProtocol) -> None:
    gather = many(protocol)
    protocol.implements(gather, A)(lambda *xs: len(xs))
    a = A()
    assert [gather(1, 2), gather(1, a), gather(a, 1, 1), gather()] == [("body", 1, 2), 2, 3, ("body",)]


def test_a_rule_that_is_registered_later_answers_the_next_call(protocol: DispatchProtocol) -> None:
    scale, combine = rules_of(protocol)
    a = A()
    before = scale(a), scale(a, factor=1), combine(a, 1.0)
    protocol.implements(scale, A)(lambda x, factor=2.0: "new")
    protocol.implements(combine, A, float)(lambda x1, x2: "new")
    assert before == (("rule", 2.0), ("rule", 1), "rule")
    assert [scale(a), scale(a, factor=1), combine(a, 1.0)] == ["new"] * 3


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1, 2), {"factor": 3}, "multiple values for argument 'factor'"),
        ((1,), {"fctor": 3}, "got an unexpected keyword argument 'fctor'; did you mean 'factor'?"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_each_time(
    protocol: DispatchProtocol, args: tuple[Any, ...], kwargs: dict[str, Any], said: str
) -> None:
    scale, _ = rules_of(protocol)
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            scale(*args, **kwargs)
        assert said in str(caught.value)


def test_a_rule_that_declines_leaves_the_call_to_the_function_in_every_form(protocol: DispatchProtocol) -> None:
    scale, combine = unary(protocol), binary(protocol)
    protocol.implements(scale, A)(lambda x, factor=2.0: NotImplemented)
    protocol.implements(combine, A)(lambda x1, x2: None)
    a = A()
    for _ in range(2):
        for args, kwargs in (((a,), {}), ((a, 1.0), {}), ((a,), {"factor": 1.0})):
            with pytest.raises(TypeError, match="no implementation found"):
                scale(*args, **kwargs)
        assert combine(a, a) is None


def test_what_stands_for_an_argument_left_out_is_found_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING
    assert repr(MISSING) == "<left out>"
