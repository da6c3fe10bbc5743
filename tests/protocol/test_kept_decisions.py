"""What is registered between two calls answers the second one, however much of the first is remembered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError
from tests.protocol.support import steps_of


class Held:
    def __init__(self, data: Any = 1.0) -> None:
        self.data = data

    def to_dense(self) -> Any:
        return dk.asarray(self.data)


def make_type(base: type = Held, **declared: Any) -> Any:
    return dk.array_type(**declared)(type("Own", (base,), {}))


def test_a_rule_for_a_superclass_answers_after_the_fallback_did() -> None:
    base = make_type(fallback=dk.fallback.dense)
    derived = make_type(base)
    with dk.densify(on="allow"):
        assert dk.add(derived(), 1.0).tolist() == 2.0
    dk.implements(dk.add, base)(lambda x1, x2, /: "rule")
    assert dk.add(derived(), 1.0) == "rule"


def test_a_rule_for_a_kind_answers_all_its_operations() -> None:
    cls = make_type(fallback=dk.fallback.dense)
    with dk.densify(on="allow"):
        assert dk.exp(cls(0.0)).tolist() == 1.0
        assert dk.sin(cls(0.0)).tolist() == 0.0
    dk.implements(dk.kinds.elementwise, cls)(lambda op, *args, **kwargs: op.__name__)
    assert (dk.exp(cls()), dk.sin(cls())) == ("exp", "sin")


def test_a_rule_for_what_a_type_is_converted_to_answers_its_calls() -> None:
    source, target = make_type(fallback=dk.fallback.convert), make_type()

    def convert(x: Any) -> Any:
        return target(x.data)

    convert.__annotations__ = {"x": source, "return": target}
    dk.converts()(convert)
    with pytest.raises(NoImplementationError):
        dk.exp(source())
    dk.implements(dk.exp, target)(lambda x, /: "rule")
    assert dk.exp(source()) == "rule"


def test_a_class_that_calls_have_refused_takes_part_once_it_is_declared() -> None:
    class Own:
        def to_dense(self) -> Any:
            return dk.asarray(2.0)

    class Derived(Own): ...

    for cls in (Derived, Own):
        with pytest.raises(TypeError):
            dk.exp(cls())
        with pytest.raises(TypeError):
            dk.add(dk.ones(2), cls())
    dk.register_type(Own, fallback=dk.fallback.dense)
    with dk.densify(on="allow"):
        for cls in (Derived, Own):
            np.testing.assert_allclose(dk.log(cls()).numpy(), np.log(2.0))
            assert dk.add(dk.ones(2), cls()).tolist() == [3.0, 3.0]


def test_a_rule_that_fits_without_its_type_answers_calls_that_leave_it_out() -> None:
    class Sub(dk.Tensor): ...

    cls = make_type()
    x = Sub([1.0, 5.0])
    assert dk.clip(x, None, 2.0).tolist() == [1.0, 2.0]

    dk.implements(dk.clip, dk.Tensor, cls, dk.Tensor)(lambda x, /, min=None, max=None: "rule")
    assert dk.clip(x, None, 2.0) == "rule"


def test_a_known_call_takes_no_more_steps_after_another_type_has_come() -> None:
    cls = make_type()
    dk.implements(dk.multiply, cls)(lambda x1, x2, /: x1)
    x = cls()
    dk.multiply(x, 2.0)
    known = steps_of(lambda: dk.multiply(x, 2.0))
    other = make_type(fallback=dk.fallback.dense)
    dk.implements(dk.multiply, other, dk.Tensor)(lambda x1, x2, /: x1)
    assert steps_of(lambda: dk.multiply(x, 2.0)) == known
    dk.implements(dk.add, cls)(lambda x1, x2, /: x1)  # of another operation
    assert steps_of(lambda: dk.multiply(x, 2.0)) == known
    dk.implements(dk.multiply, cls, float)(lambda x1, x2, /: "rule")
    assert dk.multiply(x, 2.0) == "rule"
