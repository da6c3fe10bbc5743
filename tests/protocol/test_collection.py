"""Types that nobody uses are collected; what is remembered is forgotten by what affects it."""

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.journal import NEW_TYPES
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable, operation_of
from tests.protocol.support import Answer, binary, many, unary


class Lasting:
    """A type that outlives the others."""


class Lasted:
    """What the lasting type is converted to."""


def from_lasting(x: Lasting) -> Lasted:
    return Lasted()


@pytest.fixture(autouse=True, scope="module")
def objects_of_other_tests() -> None:
    """Have the many collections of these tests pass over what the tests before them left: half a second each time."""
    gc.freeze()


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    return unary(protocol)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


def gone(protocol: DispatchProtocol, reference: weakref.ref[Any]) -> bool:
    """Return whether an object is collected, at the latest after a registration that all calls may meet."""
    protocol.converts()(from_lasting)
    gc.collect()
    return reference() is None


def make_type(protocol: DispatchProtocol, **declared: Any) -> type:
    return protocol.array_type(**declared)(type("Passing", (), {"to_dense": lambda self: 1.0}))


def test_a_type_that_was_never_called_with(protocol: DispatchProtocol) -> None:
    reference = weakref.ref(make_type(protocol))
    assert gone(protocol, reference)


def test_a_type_that_was_called_with(protocol: DispatchProtocol, combine: Answer, scale: Answer) -> None:
    cls = make_type(protocol, fallback=fallback.decompose | fallback.dense, priority=3)
    with densify(on="allow"):
        combine(cls(), 1)
        combine([cls(), Lasting()], cls())
        scale(x=cls())
        many(protocol)(cls(), 2)
        protocol.explain(combine, cls(), cls())
    reference = weakref.ref(cls)
    del cls
    assert gone(protocol, reference)


def test_a_type_with_rules(protocol: DispatchProtocol, combine: Answer) -> None:
    cls = make_type(protocol)
    protocol.implements(combine, cls)(lambda x1, x2, /, cls=cls: cls)
    protocol.implements(kinds.function, cls)(lambda function, *args, cls=cls: cls)
    protocol.implements(combine, cls, Lasting)(lambda x1, x2, /, cls=cls: cls)
    assert combine(cls(), 1) is cls
    reference = weakref.ref(cls)
    del cls
    assert gone(protocol, reference)


def test_a_type_whose_rule_names_a_lasting_one_first(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.register_type(Lasting)
    cls = make_type(protocol)
    protocol.implements(combine, Lasting, cls)(lambda x1, x2, /: "pair")
    assert combine(Lasting(), cls()) == "pair"
    reference = weakref.ref(cls)
    del cls
    assert gone(protocol, reference)


def test_a_type_that_is_converted(protocol: DispatchProtocol, scale: Answer) -> None:
    cls = make_type(protocol, fallback=fallback.convert)

    def convert(x: Any) -> Lasting:
        return Lasting()

    convert.__annotations__ = {"x": cls, "return": Lasting}
    protocol.converts()(convert)
    with protocol.local_registrations():
        protocol.implements(scale, Lasting)(lambda x, factor=2.0: "rule")
        assert scale(cls()) == "rule"
    reference = weakref.ref(cls)
    del cls, convert
    assert gone(protocol, reference)


def test_a_type_of_local_registrations(protocol: DispatchProtocol, scale: Answer) -> None:
    with protocol.local_registrations():
        cls = make_type(protocol)
        protocol.implements(scale, cls)(lambda x, factor=2.0: "rule")
        scale(cls())
    reference = weakref.ref(cls)
    del cls
    assert gone(protocol, reference)


def test_a_type_that_an_error_named(protocol: DispatchProtocol, scale: Answer) -> None:
    cls = make_type(protocol)
    with pytest.raises(NoImplementationError) as caught:
        scale(cls())
    error = caught.value.with_traceback(None)
    reference = weakref.ref(cls)
    del cls, caught
    assert gone(protocol, reference)
    assert "Passing" in str(error), "the error holds names, not types"


def test_a_type_that_was_merely_passed(protocol: DispatchProtocol, combine: Answer) -> None:
    cls = type("Foreign", (), {})
    combine(1, cls())
    reference = weakref.ref(cls)
    del cls
    assert gone(protocol, reference)


def test_a_handler_that_was_replaced(protocol: DispatchProtocol, scale: Answer) -> None:
    def old(x: Any, factor: float = 2.0) -> None: ...

    protocol.implements(scale, Lasting)(old)
    scale(Lasting())
    reference = weakref.ref(old)
    del old
    protocol.implements(scale, Lasting)(lambda x, factor=2.0: "new")
    assert gone(protocol, reference)


def test_a_rule_goes_with_its_type(protocol: DispatchProtocol, scale: Answer) -> None:
    cls = make_type(protocol)
    protocol.implements(scale, cls)(lambda x, factor=2.0: "rule")
    reference = weakref.ref(cls)
    del cls
    assert gone(protocol, reference)
    protocol.register_type(Lasting)
    with pytest.raises(NoImplementationError) as caught:
        scale(Lasting())
    assert caught.value.nearest == []


def test_a_protocol_does_not_inherit_from_one_that_is_gone() -> None:
    class Declared:
        pass

    for _ in range(50):
        protocol = DispatchProtocol("__lib_function__", namespace="lib")
        assert unary(protocol)(Declared())[0] == "body"
        protocol.register_type(Declared)
        del protocol
        gc.collect()


def subclass_of_tensor() -> Any:
    class Sub(dk.Tensor):
        pass

    return Sub([1.0, 2.0])


def type_with_its_own_method() -> Any:
    class Own:
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return dk.ones(2)

    return Own()


def array_of_numpy() -> Any:
    class Raw(np.ndarray):
        pass

    return np.ones(2).view(Raw)


MAKERS = pytest.mark.parametrize("make", [subclass_of_tensor, type_with_its_own_method, array_of_numpy])
CALLS: dict[str, Callable[[Any], Any]] = {
    "one array": dk.exp,
    "two arrays": lambda x: dk.add(x, dk.ones(2)),
    "two of a type": lambda x: dk.multiply(x, x),
    "operator": lambda x: dk.ones(2) - x,
    "parameters": lambda x: dk.sum(x, axis=0),
    "sequence": lambda x: dk.concat([x, x]),
    "sequence of several types": lambda x: dk.stack([x, dk.ones(2)]),
    "several arrays": lambda x: dk.where(dk.asarray([True, False]), x, x),
    "index": lambda x: dk.getitem(x, 0),
    "keyword": lambda x: dk.clip(x, min=0.0),
    "decomposed": dk.nn.functional.softplus,
    "explained": lambda x: dk.explain(dk.exp, x),
}


def call_all_with(make: Callable[[], Any]) -> weakref.ref[type]:
    x = make()
    if isinstance(x, dk.Tensor) and "dispatchkit.interop.jax" in sys.modules:
        pytest.skip("JAX keeps each class that it knows as a pytree")
    for call in CALLS.values():
        call(x)
    return weakref.ref(type(x))


@MAKERS
def test_a_type_that_was_called_in_every_way_is_collected_after_a_registration(make: Callable[[], Any]) -> None:
    reference = call_all_with(make)
    with dk.local_registrations():
        dk.register_type(Lasting)
    gc.collect()
    assert reference() is None


@MAKERS
def test_types_that_were_called_are_collected_where_nothing_is_registered(make: Callable[[], Any]) -> None:
    references = [call_all_with(make) for _ in range(3 * NEW_TYPES)]
    gc.collect()
    assert sum(reference() is not None for reference in references) <= NEW_TYPES


def test_types_that_are_used_again_and_again_do_not_have_decisions_forgotten() -> None:
    arrays = [subclass_of_tensor() for _ in range(2 * NEW_TYPES)]
    for x in arrays:
        dk.exp(x)
    table = operation_of(dk.tensor_protocol, dk.exp).table
    for _ in range(3):
        for x in arrays:
            dk.exp(x)
    assert all(type(x) in table for x in arrays)


def test_a_type_that_has_met_an_operation_is_known_after_decisions_were_forgotten() -> None:
    kept = subclass_of_tensor()
    others = [subclass_of_tensor() for _ in range(NEW_TYPES + 2)]
    for x in others:
        dk.add(kept, x)
    with dk.local_registrations():
        dk.implements(dk.add, type(kept), dk.Tensor)(lambda x1, x2, /: "rule")
        assert {dk.add(kept, x) for x in others} == {"rule"}


# Forgotten by what affects it.


def test_a_new_rule(protocol: DispatchProtocol, combine: Answer) -> None:
    protocol.implements(combine, Lasting)(lambda x1, x2, /: "one")
    assert combine(Lasting(), 1) == "one"

    @protocol.implements(combine)
    def pair(x1: Lasting, x2: int, /) -> str:
        return "pair"

    assert combine(Lasting(), 1) == "pair"


def test_a_new_kind_rule(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.register_type(Lasting)
    with pytest.raises(NoImplementationError):
        scale(Lasting())
    protocol.implements(kinds.all, Lasting)(lambda function, *args, **kwargs: "kind")
    assert scale(Lasting()) == "kind"


def test_a_new_rule_of_a_superclass(protocol: DispatchProtocol, scale: Answer) -> None:
    class Sub(Lasting):
        pass

    protocol.register_type(Lasting)
    with pytest.raises(NoImplementationError):
        scale(Sub())
    protocol.implements(scale, Lasting)(lambda x, factor=2.0: "rule")
    assert scale(Sub()) == "rule"


def test_a_new_fallback(protocol: DispatchProtocol, scale: Answer) -> None:
    cls = make_type(protocol)
    with pytest.raises(NoImplementationError):
        scale(cls())
    protocol.register_type(cls, fallback=fallback.dense)
    with densify(on="allow"):
        assert scale(cls()) == ("body", 1.0, 2.0)


def test_a_class_that_begins_to_take_part(protocol: DispatchProtocol, combine: Answer) -> None:
    class Late:
        pass

    assert combine(Late(), 1)[0] == "body"
    protocol.register_type(Late)
    with pytest.raises(NoImplementationError):
        combine(Late(), 1)


def test_a_registration_clears_the_operations_that_hold_decisions_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protocol = DispatchProtocol("__cleared__")

    @protocol.overridable
    def called(x: object) -> str:
        return "body"

    @protocol.overridable
    def uncalled(x: object) -> str:
        return "body"

    @protocol.array_type()
    class A: ...

    @protocol.implements(called)
    def first(x: A) -> str:
        return "first"

    assert called(A()) == "first"
    cleared: list[str] = []
    clear = Overridable.clear

    def noted(operation: Overridable) -> None:
        cleared.append(operation.name)
        clear(operation)

    monkeypatch.setattr(Overridable, "clear", noted)

    @protocol.implements(called)
    def second(x: A) -> str:
        return "second"

    assert cleared == ["called"]
    assert called(A()) == "second"
