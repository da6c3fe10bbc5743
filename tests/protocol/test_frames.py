"""Tracebacks show the program's frames: those of the library are there where they are asked for."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.rules import TABLES, Rule
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.frames import PACKAGE, frame_outside, hide_frames
from dispatchkit.protocol.instance import tensor_protocol

X: Any = dk.ones((2, 3))


def frames(call: Callable[[], Any], kind: type[Exception] = Exception) -> list[str]:
    """Return the names of the functions in the traceback of a call that raises, without those of this function."""
    with pytest.raises(kind) as caught:
        call()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)[1:]]


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: dk.Tensor) -> dk.Tensor:
        y: dk.Tensor = self.linear(x)
        return y


CALLS: dict[str, Callable[[], Any]] = {
    "elementwise": lambda: dk.add(X, dk.ones(2)),
    "operator": lambda: X + dk.ones(2),
    "reflected operator": lambda: None - X,
    "operator in place": lambda: X.add_(dk.ones(2)),
    "of one array": lambda: dk.negative(dk.tensor([True])),
    "unknown keyword": lambda: dk.sum(X, dim=0),  # type: ignore[call-arg]
    "unknown keyword of a method": lambda: X.sum(dim=0),
    "compiled, of several arrays": lambda: dk.where(X > 0, X, dk.ones(2)),
    "compiled, of one array": lambda: dk.sum(X, axis=5),
    "creation": lambda: dk.ones(2, dtype="floot"),
    "sequence": lambda: dk.concat([X, dk.ones(2)]),
    "index": lambda: X[5],
    "assignment": lambda: X.__setitem__(5, 1.0),
    "linear algebra": lambda: dk.linalg.inv(dk.ones((2, 2))),
    "a foreign object": lambda: dk.exp([1.0]),
    "conversion": lambda: dk.asarray(["a"]),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_mistake_is_shown_at_the_line_of_the_program_alone(case: str) -> None:
    assert frames(CALLS[case]) == ["<lambda>"]


def test_a_mistake_inside_a_module_shows_the_modules_of_the_program() -> None:
    assert frames(lambda: Wide()(dk.ones((2, 4))), ValueError) == ["<lambda>", "forward"]


@pytest.mark.parametrize("kind", [ValueError, KeyError, AttributeError, ZeroDivisionError])
def test_frames_of_rules_of_the_program_stay(kind: type[Exception]) -> None:
    @dk.array_type()
    class Failing: ...

    @dk.implements(dk.exp)
    def exp_failing(x: Failing, /) -> Any:
        raise kind("of the rule")

    assert frames(lambda: dk.exp(Failing()), kind) == ["<lambda>", "exp_failing"]


@dk.operation(kind=dk.kinds.elementwise)
def failing_backward(xp: Any, x: Any, /) -> Any:
    return xp.exp(x)


@failing_backward.def_partial
def failing_partial(x: Any) -> Any:
    raise ZeroDivisionError("of the rule")


LEAF = dk.tensor([1.0, 2.0], requires_grad=True)
BACKWARD: dict[str, Callable[[], Any]] = {
    "backward": lambda: failing_backward(LEAF).sum().backward(),
    "backward that is recorded": lambda: failing_backward(LEAF).sum().backward(create_graph=True),
    "autograd.backward": lambda: dk.autograd.backward(failing_backward(LEAF).sum()),
    "autograd.grad": lambda: dk.autograd.grad(failing_backward(LEAF).sum(), LEAF),
    "func.vjp": lambda: dk.func.vjp(failing_backward, LEAF)[1](LEAF),
    "func.linearize": lambda: dk.func.linearize(failing_backward, LEAF),
    "func.grad": lambda: dk.func.grad(lambda x: dk.sum(failing_backward(x)))(LEAF),
    "func.jvp": lambda: dk.func.jvp(failing_backward, (LEAF,), (LEAF,)),
    "func.jacrev": lambda: dk.func.jacrev(failing_backward)(LEAF),
    "func.jacfwd": lambda: dk.func.jacfwd(failing_backward)(LEAF),
    "func.hessian": lambda: dk.func.hessian(lambda x: failing_backward(x).sum())(LEAF),
}


@pytest.mark.parametrize("case", BACKWARD)
def test_what_a_rule_of_a_derivative_raises_is_shown_in_the_program_alone(case: str) -> None:
    shown = frames(BACKWARD[case], ZeroDivisionError)
    assert shown[-1] == "failing_partial"
    assert set(shown) == {"<lambda>", "failing_partial"}


def test_the_frames_between_show_the_text_that_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatchkit.protocol.frames.FULL", True)
    with pytest.raises(ZeroDivisionError) as caught:
        failing_backward(LEAF).sum().backward()
    shown = {frame.name: frame.line for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert shown["pull"] == "__partial = __rule(x)"


@dk.operation(kind=dk.kinds.elementwise)
def failing_in_a_line(xp: Any, x1: Any, x2: Any, /) -> Any:
    return xp.multiply(x1, x2)


failing_in_a_line.def_partial("x1")(lambda x2: x2.missing)
failing_in_a_line.def_partial("x2")(lambda x1: x1)


def test_a_rule_of_one_line_has_the_name_of_what_it_is_a_rule_of() -> None:
    shown = frames(lambda: failing_in_a_line(LEAF, LEAF).sum().backward(), AttributeError)
    assert shown == ["<lambda>", "failing_in_a_line_partial_x1"]


def test_the_rules_of_the_library_have_names() -> None:
    names = set[str]()
    for operation in tensor_protocol.operations.values():
        if isinstance(operation, DeclaredOperation):
            for table in TABLES.values():
                rules = getattr(operation.derivative.rules, table).values()
                names |= {rule.function.__name__ for rule in rules if isinstance(rule, Rule)}
    assert len(names) > 200
    assert "<lambda>" not in names


@pytest.mark.parametrize("by", ["DispatchProtocol.overridable", "dk.overridable", "operation", "index", "method"])
def test_a_rule_that_raises_not_implemented_is_advised_in_every_way_a_function_is_made(by: str) -> None:
    protocol = DispatchProtocol("__advised_function__")

    def rule(x: Any, *rest: Any) -> Any:
        raise NotImplementedError

    class Own(dk.Tensor):
        pass

    calls: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
        "DispatchProtocol.overridable": (protocol.overridable(lambda x: x), lambda f, x: f(x)),
        "dk.overridable": (dk.overridable(lambda x: x), lambda f, x: f(x)),
        "operation": (dk.exp, lambda f, x: f(x)),
        "index": (dk.getitem, lambda f, x: x[0]),
        "method": (dk.sum, lambda f, x: x.sum()),
    }
    function, call = calls[by]
    if by == "DispatchProtocol.overridable":
        protocol.register_type(Own)
        protocol.implements(function, Own)(rule)
    else:
        dk.implements(function, Own)(rule)
    with pytest.raises(NotImplementedError) as caught:
        call(function, Own([1.0]))
    assert "declines by return NotImplemented" in "".join(caught.value.__notes__)


def test_the_cause_stays_and_shows_nothing_of_the_library() -> None:
    with pytest.raises(ValueError, match="broadcast") as caught:
        dk.add(X, dk.ones(2))
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__cause__.__traceback__ is None


def test_a_look_up_of_the_library_that_fails_first_is_not_shown() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap)
    class Unfit:
        def __init__(self, value: int) -> None:
            self.other = value

    with pytest.raises(dk.RegistrationError) as caught:
        dk.add(Unfit(1), X)
    assert "KeyError" not in "".join(traceback.format_exception(caught.value))


def test_an_exception_that_the_program_handles_is_still_shown() -> None:
    try:
        raise KeyError("of the program")
    except KeyError:
        with pytest.raises(ValueError, match="sum") as caught:
            dk.sum(X, axis=(0, 0))
    first = caught.value.__cause__
    assert first is not None
    assert isinstance(first.__context__, KeyError)
    assert first.__context__.__traceback__ is not None


def test_what_the_library_does_not_mean_to_raise_keeps_its_frames() -> None:
    names: dict[str, Any] = {}
    exec(compile("def broken():\n    raise AttributeError('broken')", f"{PACKAGE}broken.py", "exec"), names)  # noqa: S102  # a file of the library
    with pytest.raises(AttributeError) as caught:
        names["broken"]()
    hide_frames(caught.value)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "broken"


@pytest.mark.parametrize(("setting", "shown"), [("full", True), ("", False)])
def test_all_frames_are_shown_on_request(setting: str, shown: bool) -> None:
    program = "import dispatchkit as dk; dk.add(dk.ones(2), dk.ones(3))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"DISPATCHKIT_TRACEBACK": setting, "PYTHONPATH": str(PACKAGE).removesuffix("dispatchkit/")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "dispatchkit.add: operands could not be broadcast" in done.stderr
    assert (PACKAGE in done.stderr) is shown


def test_errors_of_numpys_error_state_are_shown_where_the_program_calls() -> None:
    def divide() -> None:
        with np.errstate(divide="raise"):
            dk.log(dk.zeros(2))

    assert frames(divide, FloatingPointError) == ["divide"]


def test_a_stack_that_ends_before_the_depth_is_searched_from_its_near_end() -> None:
    found = frame_outside(100_000)
    assert found is sys._getframe()
