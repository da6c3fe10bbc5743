"""Who answers `apply`: handlers, a type's own method, modes, and else the function itself."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function
from tests.autograd.test_function_seeds import Exp, LinearFunction, leaf
from tests.autograd.test_function_types import Diagonal


@pytest.mark.parametrize("target", [Exp, Exp.apply], ids=["class", "apply"])
def test_a_handler_answers_for_its_type(target: Any) -> None:
    with dk.local_registrations():

        @dk.implements(target)
        def exp_diagonal(x: Diagonal) -> Any:
            return Diagonal(dk.exp(x.d), "answered")

        assert Exp.apply(Diagonal(dk.zeros(2))).name == "answered"
        assert Exp.apply(dk.zeros(1)).tolist() == [1.0]
    with pytest.raises(dk.NoImplementationError, match=r"'dispatchkit\.exp'"):
        Exp.apply(Diagonal(dk.zeros(2)))


def test_a_handler_for_a_pair_of_types_and_one_that_declines() -> None:
    with dk.local_registrations():

        @dk.implements(LinearFunction)
        def linear_diagonal(x: dk.Tensor, weight: Diagonal, bias: Any = None) -> Any:
            return dk.decline("biased") if bias is not None else x * weight.d

        x, weight = dk.ones((1, 2)), Diagonal(dk.tensor([2.0, 3.0]))
        assert LinearFunction.apply(x, weight).tolist() == [[2.0, 3.0]]
        assert LinearFunction.apply(np.ones((1, 2)), weight).tolist() == [[2.0, 3.0]]
        with pytest.raises((AttributeError, TypeError, dk.NoImplementationError)):
            LinearFunction.apply(x, weight, dk.ones(2))  # on to forward, which cannot


def test_a_handler_that_can_never_be_called_is_refused() -> None:
    with pytest.raises(dk.RegistrationError, match=r"can never be called for .*LinearFunction\("):

        @dk.implements(LinearFunction)
        def linear_diagonal(x: Diagonal, weight: Any, bias: Any, more: Any) -> Any: ...


def test_a_rule_for_a_kind_answers_for_functions_too() -> None:
    with dk.local_registrations():

        @dk.implements(dk.kinds.all, Diagonal)
        def any_diagonal(operation: Any, *args: Any, **kwargs: Any) -> Any:
            return operation

        assert Exp.apply(Diagonal(dk.zeros(2))) is Exp.apply


def test_metadata_goes_through_a_function() -> None:
    inner = leaf(0.0, 0.0)
    y: Any = Exp.apply(dk.types.MetadataTensor(inner, metadata={"unit": "m"}))
    assert (type(y), y.metadata) == (dk.types.MetadataTensor, {"unit": "m"})
    y.sum().data.backward()
    assert inner.grad is not None
    assert inner.grad.tolist() == [1.0, 1.0]


class Logged(dk.Tensor):
    calls: list[Any]

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((func, types, len(args), kwargs))
        return super().__tensor_function__(func, types, args, kwargs)


def test_a_subclass_with_a_method_of_its_own_is_asked_with_the_public_function() -> None:
    Logged.calls = []
    x = Logged([0.0], requires_grad=True)
    y = Exp.apply(x)
    assert Logged.calls[0] == (Exp.apply, (Logged,), 1, {})
    assert type(y) is Logged
    assert y.requires_grad
    Logged.calls = []
    LinearFunction.apply(dk.ones((1, 1)), weight=Logged([[2.0]]))
    assert Logged.calls[0] == (LinearFunction.apply, (dk.Tensor, Logged), 1, {"weight": Logged.calls[0][3]["weight"]})


def test_a_subclass_keeps_its_type_and_attributes() -> None:
    class Named(dk.Tensor):
        name: str

    x = Named([0.0, 1.0], requires_grad=True)
    x.name = "x"
    y: Any = Exp.apply(x)
    assert (type(y), y.name) == (Named, "x")
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.0, 1.0]))

    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    z: Any = Same.apply(x)
    assert (type(z), z.name, z is x) == (Named, "x", False)


def test_the_members_of_a_list_are_asked_too() -> None:
    class Total(Function):
        @staticmethod
        def forward(ctx: Any, tensors: Any) -> Any:
            return dk.tensor(0.0)

    class Asked:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return "asked"

    assert Total.apply([dk.ones(1), Asked()]) == "asked"
    assert Total.apply([dk.ones(1)]).item() == 0.0


class Names(dk.TensorFunctionMode):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.seen.append(func)
        return func(*args, **kwargs)


def test_modes_see_apply_first() -> None:
    with Names() as mode:
        Exp.apply(dk.ones(1))
    assert mode.seen[1:] == [Exp.apply]


def test_overrides_can_be_switched_off() -> None:
    Logged.calls = []
    with dk.disable_dispatch():
        Exp.apply(Logged([0.0]))
    assert Logged.calls == []


def test_who_answers_is_explained() -> None:
    text = str(dk.explain(Exp.apply, Diagonal(dk.ones(2))))
    assert "test_function_seeds.Exp" in text
    assert "default" in text
    assert dk.overrides.resolve_name(Exp.apply) == "tests.autograd.test_function_seeds.Exp"


def test_functions_are_in_no_list_and_go_with_their_class() -> None:
    def make() -> Any:
        class Local(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

        Local.apply(dk.ones(1))
        return Local

    count = len(dk.tensor_protocol.operations)
    made = make()
    assert len(dk.tensor_protocol.operations) == count
    held = weakref.ref(made)
    del made
    gc.collect()
    assert held() is None


def test_redispatch_passes_over_a_type() -> None:
    Logged.calls = []
    x = Logged([0.0])
    dk.redispatch(Exp.apply, (x,), without=Logged)
    assert all(func is not Exp.apply for func, *_ in Logged.calls)
