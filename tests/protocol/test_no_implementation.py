"""`NoImplementationError`: its first line, who was asked and why not, what came closest, and the stub."""

import enum
import textwrap
from types import SimpleNamespace
from typing import Any

import pytest

from dispatchkit.errors import NoImplementationError, UnsupportedArgumentError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.protocol.stubs import stub_for
from tests.protocol.support import Answer, binary, line_of, many, unary


class A:
    pass


class B:
    pass


class Sub(A):
    pass


class Own:
    @classmethod
    def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return decline("on principle")


class Axis(enum.Enum):
    ROWS = 0


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    for cls in (A, B):
        protocol.register_type(cls)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


def error_of(function: Answer, *args: Any, **kwargs: Any) -> NoImplementationError:
    with pytest.raises(NoImplementationError) as caught:
        function(*args, **kwargs)
    return caught.value


def rule_for_b(x1: B, x2: Any, /) -> Any:
    return decline("only on Sundays")


def test_the_first_line(combine: Answer) -> None:
    assert str(error_of(combine, A(), B())).splitlines()[0] == (
        "no implementation found for 'lib.combine' on types that implement __lib_function__: [A, B]"
    )


def test_it_is_a_type_error(combine: Answer) -> None:
    with pytest.raises(TypeError, match=r"^no implementation found for 'lib\.combine'"):
        combine(A(), 1)


def test_plain_values_are_not_among_the_types(combine: Answer) -> None:
    assert error_of(combine, 1, A()).types == ["A"]


def test_each_type_is_named_once(protocol: DispatchProtocol) -> None:
    assert error_of(many(protocol), B(), A(), B()).types == ["B", "A"]


def test_who_was_asked_is_in_the_order_of_asking(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine)(rule_for_b)
    found = error_of(combine, B(), Own())
    assert found.asked == [
        f"B: rule_for_b(B, any) at {line_of(rule_for_b)} declined: only on Sundays",
        "Own: Own.__lib_function__ declined: on principle",
        "B: its fallback is to refuse",
        "Own: its fallback is to refuse",
    ]


def test_those_without_a_rule_stand_at_their_place(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine)(rule_for_b)

    @protocol.implements(combine)
    def rule_for_right_b(x1: Any, x2: B, /) -> Any:
        return decline("never")

    assert [line.partition(" at ")[0] for line in error_of(combine, A(), B()).asked[:2]] == [
        "A: no rule for combine",
        "B: rule_for_right_b(any, B)",
    ]


def test_fallbacks_that_declined_are_told(protocol: DispatchProtocol, combine: Answer) -> None:
    class Hidden(A):
        def to_dense(self) -> float:
            return 1.0

    protocol.register_type(Hidden, fallback=fallback.dense | fallback.rewrap | fallback.convert, fields=())
    del Hidden.to_dense
    name = f"{Hidden.__qualname__.replace('<locals>.', '')}"
    assert error_of(combine, Hidden(), 1).asked == [
        f"{name}: no rule for combine",
        f"{name}: cannot become dense: it has no to_dense()",
        f"{name}: cannot be rewrapped: it has no fields",
        f"{name}: no declared conversion leads to a type with a rule",
    ]


def test_the_nearest_have_file_and_line(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_pair(x1: A, x2: A, /) -> None: ...

    found = error_of(combine, A(), B())
    assert found.nearest == [f"combine_pair(A, A) at {line_of(combine_pair)}"]
    assert f"nearest implementations:\n  combine_pair(A, A) at {line_of(combine_pair)}" in str(found)


def test_rules_of_related_types_are_nearest(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_either(x1: A, x2: B, /) -> None: ...

    @protocol.implements(combine)
    def combine_subs(x1: Sub, x2: Sub, /) -> None: ...

    other = type("Other", (), {})  # rules go with their types
    protocol.implements(combine, other)(lambda x1, x2, /: None)
    nearest = [text.partition(" at ")[0] for text in error_of(combine, B(), Sub()).nearest]
    assert nearest == ["combine_either(A, B)", "combine_subs(Sub, Sub)"]


def test_rules_for_kinds_are_nearest_where_their_types_are_related(protocol: DispatchProtocol) -> None:
    @protocol.overridable(kind=kinds.additive, arrays=("x1", "x2"))
    def add(x1: Any, x2: Any, /) -> None: ...

    @protocol.implements(kinds.arithmetic)
    def pairs_of_a(operation: Any, x1: A, x2: A, /) -> None: ...

    @protocol.implements(kinds.arithmetic)
    def pairs_of_b(operation: Any, x1: B, x2: B, /) -> None: ...

    assert error_of(add, A(), 1).nearest == [f"pairs_of_a(A, A) at {line_of(pairs_of_a)}"]


def test_a_rule_that_was_asked_is_not_nearest_too(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, A)(lambda x1, x2, /: NotImplemented)
    assert error_of(combine, A(), 1).nearest == []


def test_without_rules_there_is_no_such_section(combine: Answer) -> None:
    assert "nearest" not in str(error_of(combine, A(), 1))


def test_a_rule_that_took_everything_but_a_keyword_is_another_error(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    protocol.implements(scale, A)(lambda x: "rule")
    found = error_of(scale, A(), factor=3.0)
    assert type(found) is UnsupportedArgumentError
    assert found.arguments == ["the keyword 'factor'"]
    assert "asked, in order:\n  A: <lambda>(A in any position)" in str(found)


def test_a_rule_that_declined_is_not_that_error(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    protocol.implements(scale, Sub)(lambda x: "rule")
    protocol.implements(scale, A)(lambda x, factor=2.0: NotImplemented)
    assert type(error_of(scale, Sub(), factor=3.0)) is NoImplementationError


# The stub: pasted, it answers the very call that failed.


def paste(protocol: DispatchProtocol, function: Answer, found: NoImplementationError, **names: type) -> None:
    """Run the stub of an error as a user would, the operation and the types being in scope."""
    library = SimpleNamespace(implements=protocol.implements, **{function.__name__: function})
    scope: dict[str, Any] = {"dk": library, "lib": library, "protocol": protocol, function.__name__: function}
    scope |= {"A": A, "B": B, "Sub": Sub, "Axis": Axis, **names}
    assert found.stub, "there is a stub"
    exec(compile(found.stub, "<stub>", "exec"), scope)  # noqa: S102  # pasting is what is tested


def test_the_stub_is_indented_under_its_heading(combine: Answer) -> None:
    found = error_of(combine, A(), 1)
    heading, stub = str(found).split("to cover it, write:\n")
    assert heading.endswith("\n")
    assert textwrap.dedent(stub) == found.stub


def check_stub(protocol: DispatchProtocol, function: Answer, *args: Any, **kwargs: Any) -> None:
    found = error_of(function, *args, **kwargs)
    paste(protocol, function, found, **{type(arg).__name__: type(arg) for arg in args})
    assert function(*args, **kwargs) is None, found.stub


def test_the_stub_for_one_array(protocol: DispatchProtocol) -> None:
    check_stub(protocol, unary(protocol), A())
    check_stub(protocol, unary(protocol), A(), 3.0)
    check_stub(protocol, unary(protocol), A(), factor=3.0)


def test_the_stub_for_a_pair_of_one_type(protocol: DispatchProtocol, combine: Answer) -> None:
    check_stub(protocol, combine, A(), A())


def test_the_stub_for_a_pair_of_two_types(protocol: DispatchProtocol, combine: Answer) -> None:
    check_stub(protocol, combine, A(), B())


def test_the_stub_for_a_pair_with_a_scalar(protocol: DispatchProtocol, combine: Answer) -> None:
    check_stub(protocol, combine, A(), 1.0)
    check_stub(protocol, binary(protocol), 1.0, A())


def test_the_stub_for_starred_arrays(protocol: DispatchProtocol) -> None:
    check_stub(protocol, many(protocol), A(), B())


def test_the_stub_for_a_sequence(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def stack(arrays: Any, *, axis: int = 0) -> Any:
        return "body"

    check_stub(protocol, stack, [A(), B()], axis=1)


def test_the_stub_for_names_inside_names(protocol: DispatchProtocol) -> None:
    @protocol.overridable(arrays=("axis", "a", "x", "is_x"))
    def names(axis: Any, a: Any, is_x: Any, x: Any = None, *, xs: Any = None) -> Any:
        return "body"

    class Matrixaxis:
        pass

    protocol.register_type(Matrixaxis)
    check_stub(protocol, names, Matrixaxis(), Matrixaxis(), Matrixaxis(), Matrixaxis())


def test_the_stub_for_defaults_that_print_no_code(protocol: DispatchProtocol) -> None:
    @protocol.overridable(arrays=("x",))
    def defaults(x: Any, axis: Any = Axis.ROWS, dtype: Any = float, f: Any = len) -> Any:
        return "body"

    check_stub(protocol, defaults, A())


def test_the_stub_for_a_keyword_array(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def fill(x: Any, *, out: Any = None) -> Any:
        return "body"

    check_stub(protocol, fill, A())
    found = error_of(fill, 1, out=B())
    paste(protocol, fill, found)
    assert fill(1, out=B()) is None


def test_nothing_but_plain_arrays_has_no_stub(protocol: DispatchProtocol, combine: Answer) -> None:
    assert stub_for(combine.__overridable__, ()) == ""  # type: ignore[attr-defined]
