"""`explain`: its text, and that it calls nothing."""

from typing import Any, NoReturn

import pytest

import dispatchkit as dk
from dispatchkit.errors import AnswerError, DensifyWarning
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import FunctionMode
from dispatchkit.protocol.steps import decline
from tests.protocol.support import Answer, binary, line_of, unary


class A:
    def to_dense(self) -> Any:
        raise AssertionError("explain called to_dense")


class B:
    pass


class Own:
    @classmethod
    def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented


def forbidden(*args: Any, **kwargs: Any) -> NoReturn:
    raise AssertionError("explain called a handler")


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    protocol.register_type(A, fallback=fallback.dense)
    protocol.register_type(B)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    return unary(protocol)


def text(protocol: DispatchProtocol, function: Answer, *args: Any, **kwargs: Any) -> list[str]:
    return str(protocol.explain(function, *args, **kwargs)).splitlines()


def test_a_rule_that_answers(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A, B, declines=False)(forbidden)
    place = line_of(forbidden)
    assert text(protocol, combine, A(), B()) == [
        "lib.combine(A, B)",
        "  asked in the order: A, B",
        f"  1. A  forbidden(A, B) at {place}  [answers]",
        "  2. A  dense: to_dense() of A  [if declined]",
        "  3. B  its fallback is to refuse",
        f"  => A: forbidden(A, B) at {place}",
    ]


def test_a_fallback_that_answers(protocol: DispatchProtocol, scale: Answer) -> None:
    assert text(protocol, scale, A()) == [
        "lib.scale(A)",
        "  asked in the order: A",
        "  1. A  no rule for scale",
        "  2. A  dense: to_dense() of A  [answers]",
        "  => A: dense: to_dense() of A",
    ]


def test_nobody_that_answers(protocol: DispatchProtocol, scale: Answer) -> None:
    assert text(protocol, scale, B())[-1] == "  => NoImplementationError"


def test_a_plain_call(protocol: DispatchProtocol, scale: Answer) -> None:
    assert text(protocol, scale, 1.0)[:2] == ["lib.scale(float)", "  asked in the order: nobody"]
    assert text(protocol, scale, 1.0)[-1].endswith("default")


def test_an_own_method_decides_at_run_time(protocol: DispatchProtocol, scale: Answer) -> None:
    found = protocol.explain(scale, Own())
    first = found.lines[0]
    assert (first.who, first.what) == ("Own", "Own.__lib_function__")
    assert first.verdict == "decides at run time"
    assert found.outcome == "decides at run time"


def test_what_comes_after_an_own_method_is_told_too(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, B, declines=False)(forbidden)
    found = protocol.explain(combine, Own(), B())
    assert found.outcome == f"decides at run time, else B: forbidden(B in any position) at {line_of(forbidden)}"
    assert found.lines[1].verdict == "answers"


def test_a_mode_decides_at_run_time(protocol: DispatchProtocol, scale: Answer) -> None:
    class Silent(FunctionMode):
        def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return forbidden()

    Silent.protocol = protocol
    mode = Silent()
    with mode:
        found = protocol.explain(scale, B())
    assert (found.lines[0].who, found.lines[0].verdict) == ("Silent", "decides at run time")
    assert found.outcome.startswith("decides at run time")


def test_the_order_is_told(protocol: DispatchProtocol, combine: Answer) -> None:
    assert protocol.explain(combine, B(), Own()).order == ["B", "Own"]
    protocol.register_type(Own, priority=1)
    assert protocol.explain(combine, B(), Own()).order == ["Own", "B"]


def test_an_ambiguity_is_told(protocol: DispatchProtocol, combine: Answer) -> None:
    class Sub(B):
        pass

    protocol.implements(combine, Sub, B)(forbidden)
    protocol.implements(combine, B, Sub)(forbidden)
    found = protocol.explain(combine, Sub(), Sub())
    assert found.lines[0].verdict == "raises"
    assert "ambiguous: " in found.outcome


def test_a_keyword_that_a_rule_does_not_take_is_told(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, A)(lambda x: forbidden())
    found = protocol.explain(scale, A(), factor=3.0)
    assert found.lines[0].verdict != "answers"
    assert found.outcome == "A: dense: to_dense() of A"


def test_members_of_sequences_are_shown_together(protocol: DispatchProtocol, combine: Answer) -> None:
    assert text(protocol, combine, [A(), B()], 1)[0] == "lib.combine((A, B), int)"


def test_repr_is_the_text(protocol: DispatchProtocol, scale: Answer) -> None:
    found = protocol.explain(scale, A())
    assert repr(found) == str(found)


def test_what_is_not_overridable_is_a_type_error(protocol: DispatchProtocol) -> None:
    with pytest.raises(TypeError, match="len is not overridable by __lib_function__"):
        protocol.explain(len, A())


# Running the call.


def test_running_shows_who_declined_and_who_answered(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, B)(lambda x1, x2, /: decline("shapes differ"))
    protocol.implements(combine, B, B)(lambda x1, x2, /: NotImplemented)
    protocol.implements(combine, Own)(lambda x1, x2, /: "answer")
    found = protocol.explain(combine, B(), Own(), run=True)
    assert [line.verdict for line in found.lines][:3] == ["declined: shapes differ", "declined", "answered"]
    assert found.result == "answer"


def error_of(function: Any, *args: Any) -> Exception:
    """Return what a call raises."""
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001  # which is what is asked for
        return error
    pytest.fail("the call raised nothing")


def test_running_raises_what_the_call_raises_with_the_reasons(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, B)(lambda x, factor=2.0: decline("too odd"))
    error = error_of(scale, B())
    assert "declined: too odd" in str(error)
    assert str(protocol.explain(scale, B(), run=True).exception) == str(error)


def test_running_a_rule_that_returns_nothing_raises_what_the_call_raises() -> None:
    @dk.array_type()
    class Silent:
        shape = (1,)
        dtype = dk.float64

    @dk.implements(dk.exp)
    def exp_silent(x: Silent, /) -> Any:
        pass

    error = error_of(dk.exp, Silent())
    assert isinstance(error, AnswerError)
    found = dk.explain(dk.exp, Silent(), run=True)
    assert str(found.exception) == str(error)
    assert found.lines[0].verdict == "raised AnswerError"


def test_running_under_a_mode_that_declines_says_so_in_the_error(protocol: DispatchProtocol, scale: Answer) -> None:
    class Declining(FunctionMode):
        def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return decline("not today")

    Declining.protocol = protocol
    protocol.implements(scale, B)(lambda x, factor=2.0: NotImplemented)
    with Declining():
        error = error_of(scale, B())
        found = protocol.explain(scale, B(), run=True)
    assert "Declining: declined: not today" in str(error)
    assert str(found.exception) == str(error)
    assert (found.lines[0].who, found.lines[0].what) == ("Declining", "declined: not today")


def test_running_gives_a_dense_copy_the_reason_that_the_call_gives(protocol: DispatchProtocol, scale: Answer) -> None:
    class Dense:
        def to_dense(self) -> float:
            return 1.0

    protocol.register_type(Dense, fallback=fallback.dense)
    protocol.implements(scale, Dense)(lambda x, factor=2.0: decline("too odd"))
    with densify(on="warn"), pytest.warns(DensifyWarning, match="too odd"):
        scale(Dense())
    with densify(on="warn"), pytest.warns(DensifyWarning, match="too odd"):
        protocol.explain(scale, Dense(), run=True)


def test_running_makes_the_call_once(protocol: DispatchProtocol, scale: Answer) -> None:
    calls: list[int] = []
    protocol.implements(scale, B)(lambda x, factor=2.0: calls.append(1))
    protocol.explain(scale, B(), run=True)
    assert calls == [1]


def test_running_stops_at_the_answer(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, B)(lambda x1, x2, /: "B")
    protocol.implements(combine, A)(forbidden)
    found = protocol.explain(combine, B(), A(), run=True)
    assert [line.verdict for line in found.lines if "forbidden" in line.what] == [""]


def test_running_without_an_answer(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.implements(scale, B)(lambda x, factor=2.0: decline("no"))
    found = protocol.explain(scale, B(), run=True)
    assert found.lines[0].verdict == "declined: no"
    assert found.outcome == "NoImplementationError"


def test_running_asks_the_modes(protocol: DispatchProtocol, scale: Answer) -> None:
    class Answering(FunctionMode):
        def __lib_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return "mode"

    protocol.implements(scale, B)(forbidden)
    Answering.protocol = protocol
    mode = Answering()
    with mode:
        found = protocol.explain(scale, B(), run=True)
    assert found.lines[0].verdict == "answered"
    assert found.result == "mode"


def test_running_shows_where_a_handler_raised_and_keeps_the_exception(
    protocol: DispatchProtocol, scale: Answer
) -> None:
    raised = ZeroDivisionError("of the handler")

    def fail(x: B, factor: float = 2.0) -> Any:
        raise raised

    protocol.implements(scale, B)(fail)
    found = protocol.explain(scale, B(), run=True)
    assert found.exception is raised
    assert found.lines[0].verdict == f"raised ZeroDivisionError at {__file__}:{fail.__code__.co_firstlineno + 1}"
    assert found.outcome == "ZeroDivisionError: of the handler"


def test_a_mistaken_call_is_predicted_to_raise_what_it_raises(protocol: DispatchProtocol, scale: Answer) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((A(),), {"factors": 1}), ((), {}), ((A(), 1, 2), {})]
    for args, kwargs in calls:
        with pytest.raises(TypeError) as caught:
            scale(*args, **kwargs)
        expected = f"TypeError: {caught.value}"
        assert protocol.explain(scale, *args, **kwargs).outcome == expected
        assert protocol.explain(scale, *args, run=True, **kwargs).outcome == expected


def test_running_shows_an_error_of_dispatch(protocol: DispatchProtocol, scale: Answer) -> None:
    with densify(on="error"):
        found = protocol.explain(scale, A(), run=True)
    assert found.lines[-1].verdict == "raised DensifyError"
    assert found.outcome.startswith("DensifyError: 'lib.scale' would make A dense")


@pytest.mark.parametrize(
    ("method", "args", "expected"),
    [
        ("sum", (), "dispatchkit.sum(Tensor)"),
        ("sum", (0,), "dispatchkit.sum(Tensor)"),
        ("reshape", (2, 2), "dispatchkit.reshape(Tensor)"),
        ("__add__", (1,), "dispatchkit.add(Tensor, int)"),
        ("__radd__", (1,), "dispatchkit.add(int, Tensor)"),
        ("__getitem__", (0,), "dispatchkit.getitem(Tensor, (int))"),
        ("matmul", (dk.ones((4, 2)),), "dispatchkit.matmul(Tensor, Tensor)"),
    ],
)
def test_a_bound_method_keeps_its_array(method: str, args: tuple[Any, ...], expected: str) -> None:
    explanation = dk.explain(getattr(dk.ones(4), method), *args)
    assert str(explanation).splitlines()[0] == expected
    assert explanation.outcome == "Tensor: default of Tensor"


def test_a_bound_method_of_an_array_type_keeps_its_array() -> None:
    x = dk.types.ScalarTensor(3, 2.0)
    assert str(dk.explain(x.sum)) == str(dk.explain(dk.sum, x))
    assert str(dk.explain(x.sum, axis=0)) == str(dk.explain(dk.sum, x, axis=0))
    with pytest.raises(TypeError, match="takes at most"):
        dk.explain(x.sum, 0, None, False, 1, 2)
