"""`local_registrations`: what was registered inside the block is undone on leaving."""

import threading
import warnings
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from tests.programs.faults.running import faults, lines_of
from tests.protocol.support import Answer, binary, unary


class A:
    def to_dense(self) -> float:
        return 1.0


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    return unary(protocol)


def says(protocol: DispatchProtocol, function: Answer, text: str, *types: type) -> None:
    protocol.implements(function, *types)(lambda *args, **kwargs: text)


def test_a_rule(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.register_type(A)
    with protocol.local_registrations():
        says(protocol, scale, "inside", A)
        assert scale(A()) == "inside"
    with pytest.raises(NoImplementationError):
        scale(A())


def test_a_rule_that_replaced_another(protocol: DispatchProtocol, scale: Answer) -> None:
    says(protocol, scale, "before", A)
    with protocol.local_registrations():
        says(protocol, scale, "inside", A)
        says(protocol, scale, "inside again", A)
        assert scale(A()) == "inside again"
    assert scale(A()) == "before"


def test_that_a_class_takes_part_by_a_rule(protocol: DispatchProtocol, scale: Answer) -> None:
    with protocol.local_registrations():
        says(protocol, scale, "inside", A)
    assert scale(A())[0] == "body"


def test_that_a_class_takes_part_by_register_type(protocol: DispatchProtocol, scale: Answer) -> None:
    with protocol.local_registrations():
        protocol.register_type(A)
        with pytest.raises(NoImplementationError):
            scale(A())
    assert scale(A())[0] == "body"


def test_that_a_class_takes_part_by_array_type(protocol: DispatchProtocol, scale: Answer) -> None:
    class Decorated:
        pass

    with protocol.local_registrations():
        protocol.array_type()(Decorated)
    assert scale(Decorated())[0] == "body"
    assert not hasattr(Decorated, "__lib_function__")


def test_a_declaration(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.register_type(A)
    with protocol.local_registrations():
        protocol.register_type(A, fallback=fallback.dense)
        with densify(on="allow"):
            assert scale(A()) == ("body", 1.0, 2.0)
    with pytest.raises(NoImplementationError):
        scale(A())


def test_a_priority(protocol: DispatchProtocol) -> None:
    class B:
        pass

    combine = binary(protocol)
    for cls in (A, B):
        says(protocol, combine, cls.__name__, cls)
    with protocol.local_registrations():
        protocol.register_type(B, priority=1)
        assert combine(A(), B()) == "B"
    assert combine(A(), B()) == "A"


def test_a_conversion(protocol: DispatchProtocol, scale: Answer) -> None:
    class B:
        pass

    protocol.register_type(A, fallback=fallback.convert)
    says(protocol, scale, "B", B)
    with protocol.local_registrations():

        @protocol.converts()
        def b_of(x: A) -> B:
            return B()

        assert scale(A()) == "B"
    with pytest.raises(NoImplementationError):
        scale(A())


def test_a_function_made_overridable(protocol: DispatchProtocol) -> None:
    with protocol.local_registrations():

        @protocol.overridable
        def inside(x: Any) -> Any:
            return x

    assert "lib.inside" not in protocol.operations


def test_after_an_exception_too(protocol: DispatchProtocol, scale: Answer) -> None:
    def fail() -> None:
        with protocol.local_registrations():
            says(protocol, scale, "inside", A)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert scale(A())[0] == "body"


def test_blocks_nest(protocol: DispatchProtocol, scale: Answer) -> None:
    with protocol.local_registrations():
        says(protocol, scale, "outer", A)
        with protocol.local_registrations():
            says(protocol, scale, "inner", A)
            assert scale(A()) == "inner"
        assert scale(A()) == "outer"
    assert scale(A())[0] == "body"


def test_what_was_there_before_stays(protocol: DispatchProtocol, scale: Answer) -> None:
    says(protocol, scale, "before", A)
    with protocol.local_registrations():
        pass
    assert scale(A()) == "before"


def test_what_another_thread_registers_meanwhile_stays(protocol: DispatchProtocol, scale: Answer) -> None:
    with protocol.local_registrations():
        thread = threading.Thread(target=says, args=(protocol, scale, "elsewhere", A))
        thread.start()
        thread.join()
    assert scale(A()) == "elsewhere"


def test_another_protocols_registrations_are_its_own(protocol: DispatchProtocol, scale: Answer) -> None:
    other = DispatchProtocol("__other_function__", namespace="other")
    with other.local_registrations():
        says(protocol, scale, "stays", A)
    assert scale(A()) == "stays"


def test_an_operation_declared_inside_is_off_the_list_again() -> None:
    with dk.local_registrations():

        @dk.operation
        def fleeting(xp: Any, x: Any, /) -> Any:
            return x * 2

        assert any(name.endswith(".fleeting") for name in dk.tensor_protocol.operations)
    assert not any(name.endswith(".fleeting") for name in dk.tensor_protocol.operations)


def test_an_operation_declared_anew_takes_the_place_of_the_one_before() -> None:
    text = "def anew(xp, x, /):\n    return x * 2"
    with dk.local_registrations():
        for _ in range(2):  # as a cell of a notebook that is run twice
            names: dict[str, Any] = {"__name__": "__main__"}
            exec(text, names)  # noqa: S102
            last = dk.operation(names["anew"])
        (name,) = [name for name in dk.tensor_protocol.operations if ".anew" in name]
        assert dk.tensor_protocol.operations[name].function is last


CELL = """
import dispatchkit as dk

@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Diagonal:
    def __init__(self, d):
        self.d = dk.asarray(d)

    def to_dense(self):
        return dk.diag(self.d)

@dk.operation(kind=dk.kinds.elementwise)
def cube(xp, x, /):
    return x * x * x

@cube.def_partial
def slope(x):
    return 3 * x * x

@dk.implements(dk.matmul, Diagonal, Diagonal)
def multiply(x1, x2, /):
    return Diagonal(x1.d * x2.d)

@dk.implements(cube, Diagonal)
def cube_diagonal(x, /):
    return Diagonal(cube(x.d))
"""


def test_a_cell_of_types_rules_and_operations_runs_again_without_a_warning() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    with dk.local_registrations(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            exec(CELL, names)  # noqa: S102
        x = names["Diagonal"]([1.0, 2.0])
        cubed = names["cube"](x @ x)
        slope = dk.func.grad(names["cube"])(2.0)
    assert type(cubed) is names["Diagonal"]
    assert (cubed.d.tolist(), slope.item()) == ([1.0, 64.0], 12.0)


@pytest.mark.parametrize(
    ("name", "stride"),
    [
        ("a rule of two types", 11),  # `nox -s faults` tries each line
        ("a rule in place of another", 7),
        ("a type of another library", 5),
        ("a conversion", 1),
        ("an overridable function", 1),
        ("a new type", 29),
        ("a block of registrations", 29),
    ],
)
def test_a_registration_that_is_interrupted_is_made_wholly_or_not_at_all(name: str, stride: int) -> None:
    assert not faults(name, KeyboardInterrupt, range(1, lines_of(name) + 1, stride))
