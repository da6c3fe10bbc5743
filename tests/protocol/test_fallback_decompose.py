"""`fallback.decompose`: run the body, whose inner calls reach the type's rules."""

from typing import Any

import pytest

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.densify import clear_densify_ledger, densify, densify_ledger
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.modes import current
from tests.protocol.support import Answer


class A:
    def to_dense(self) -> float:
        return 2.0


class Functions:
    """``square(x)``, ``root(x)``, ``norm(x)``, which calls both, and ``twice(x)``, which calls `norm`."""

    def __init__(self, protocol: DispatchProtocol) -> None:
        @protocol.overridable
        def square(x: Any) -> Any:
            return ("square", x)

        @protocol.overridable
        def root(x: Any) -> Any:
            return ("root", x)

        @protocol.overridable
        def norm(x: Any) -> Any:
            return root(square(x))

        @protocol.overridable
        def twice(x: Any) -> Any:
            return (norm(x), norm(x))

        self.square, self.root, self.norm, self.twice = square, root, norm, twice


@pytest.fixture
def lib(protocol: DispatchProtocol) -> Functions:
    protocol.register_type(A, fallback=fallback.decompose)
    return Functions(protocol)


def cover(protocol: DispatchProtocol, function: Answer, result: Any) -> None:
    protocol.implements(function, A)(lambda x: result)


def test_the_body_reaches_the_rules(protocol: DispatchProtocol, lib: Functions) -> None:
    x = A()
    cover(protocol, lib.square, x)
    cover(protocol, lib.root, "root of A")
    assert lib.norm(x) == "root of A"


def test_the_rule_of_the_function_itself_goes_first(protocol: DispatchProtocol, lib: Functions) -> None:
    cover(protocol, lib.norm, "rule")
    assert lib.norm(A()) == "rule"


def test_inner_calls_decompose_further(protocol: DispatchProtocol, lib: Functions) -> None:
    x = A()
    cover(protocol, lib.square, x)
    cover(protocol, lib.root, "root of A")
    assert lib.twice(x) == ("root of A", "root of A")


def test_inner_calls_on_plain_values_are_computed(protocol: DispatchProtocol, lib: Functions) -> None:
    cover(protocol, lib.square, 4.0)
    assert lib.norm(A()) == ("root", 4.0)


def test_the_reason_names_the_inner_function(protocol: DispatchProtocol, lib: Functions) -> None:
    class B:
        pass

    protocol.register_type(B)
    cover(protocol, lib.square, B())
    with pytest.raises(NoImplementationError) as caught:
        lib.norm(A())
    assert caught.value.function == "lib.norm"
    assert any("it needs lib.root, which nobody answers" in line for line in caught.value.asked)


def test_later_fallbacks_are_off_inside(protocol: DispatchProtocol, lib: Functions) -> None:
    """`square` has a rule and `root` of a B only the dense fallback: the whole is done dense, not half of it."""

    class B:
        def to_dense(self) -> float:
            return 9.0

    protocol.register_type(A, fallback=fallback.decompose | fallback.dense)
    protocol.register_type(B, fallback=fallback.dense)
    cover(protocol, lib.square, B())
    with densify(on="allow"):
        assert lib.norm(A()) == ("root", ("square", 2.0))


def test_earlier_fallbacks_are_on_inside(protocol: DispatchProtocol, lib: Functions) -> None:
    class Boxed:
        def __init__(self, value: Any) -> None:
            self.value = value

    protocol.register_type(Boxed, fallback=fallback.rewrap | fallback.decompose)
    cover(protocol, lib.square, Boxed(1.0))
    root, boxed = lib.norm(A())
    assert root == "root"
    assert boxed.value == 1.0


def test_nothing_becomes_dense_inside(protocol: DispatchProtocol, lib: Functions) -> None:
    protocol.register_type(A, fallback=fallback.decompose | fallback.dense)
    cover(protocol, lib.square, 4.0)
    clear_densify_ledger()
    with densify(on="error"):
        assert lib.norm(A()) == ("root", 4.0)
    assert densify_ledger() == []


def test_the_next_fallback_answers_where_it_declined(protocol: DispatchProtocol, lib: Functions) -> None:
    class B:
        pass

    protocol.register_type(A, fallback=fallback.decompose | fallback.dense)
    protocol.register_type(B)
    cover(protocol, lib.square, B())
    with densify(on="allow"):
        assert lib.norm(A()) == ("root", ("square", 2.0))


def test_an_exception_of_the_body_passes_through(protocol: DispatchProtocol, lib: Functions) -> None:
    raised = TypeError("of the body")

    @protocol.overridable
    def fail(x: Any) -> Any:
        raise raised

    with pytest.raises(TypeError) as caught:
        fail(A())
    assert caught.value is raised
    assert current() is None


def test_the_stack_of_modes_is_restored(protocol: DispatchProtocol, lib: Functions) -> None:
    cover(protocol, lib.square, 4.0)
    lib.norm(A())
    assert current() is None


def test_a_body_may_catch_exceptions_without_hiding_the_decline(protocol: DispatchProtocol) -> None:
    class B:
        pass

    protocol.register_type(A, fallback=fallback.decompose)
    protocol.register_type(B)

    @protocol.overridable
    def inner(x: Any) -> Any:
        return "body"

    @protocol.overridable
    def careful(x: Any) -> Any:
        try:
            return inner(B())
        except Exception:  # noqa: BLE001  # the body of a careless author
            return "hidden"

    with pytest.raises(NoImplementationError, match=r"it needs lib\.inner"):
        careful(A())


def test_a_handler_called_inside_has_its_fallbacks_back(protocol: DispatchProtocol, lib: Functions) -> None:
    """What a rule computes by itself is its own affair: a call it makes may become dense."""

    class B:
        def to_dense(self) -> float:
            return 9.0

    protocol.register_type(B, fallback=fallback.dense)
    protocol.implements(lib.square, A)(lambda x: lib.root(B()))
    with densify(on="allow"):
        assert lib.norm(A()) == ("root", ("root", 9.0))


def test_the_chain_of_an_inner_call_is_kept_until_something_is_registered_that_it_may_meet(
    protocol: DispatchProtocol, lib: Functions
) -> None:
    protocol.register_type(A, fallback=fallback.decompose)
    protocol.implements(lib.root, A)(lambda x: "first")
    square = protocol.operation(lib.square)
    protocol.implements(lib.square, A)(lambda x: x)
    assert lib.norm(A()) == "first"
    kept = protocol.chain_without_later_fallbacks(square, (A,))
    assert protocol.chain_without_later_fallbacks(square, (A,)) is kept
    protocol.implements(lib.root, A)(lambda x: "second")
    assert lib.norm(A()) == "second"
    assert protocol.chain_without_later_fallbacks(square, (A,)) is kept
    protocol.implements(lib.square, A)(lambda x: -x)
    assert protocol.chain_without_later_fallbacks(square, (A,)) is not kept
