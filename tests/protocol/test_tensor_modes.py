"""`TensorFunctionMode` and `disable_dispatch` over the library's operations."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


@dk.array_type()
class Duck:
    pass


class Names(dk.TensorFunctionMode):
    """Notes the names of the functions that are called."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.types: list[tuple[type, ...]] = []

    def __tensor_function__(self, func: Any, types: tuple[type, ...], args: Any, kwargs: Any) -> Any:
        self.names.append(func.__name__)
        self.types.append(types)
        return func(*args, **kwargs)


class Loud(dk.Tensor):
    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("asked")


def test_functions_methods_operators_and_indexing_are_seen() -> None:
    t = dk.ones((2, 2))
    with Names() as mode:
        dk.exp(t)
        t.sum()
        t.sum(0)
        _ = (1 - t, -t, t.mT, t[0])
        t[0] = 1.0
    assert mode.names == ["exp", "sum", "sum", "subtract", "negative", "matrix_transpose", "getitem", "setitem"]


def test_numpy_on_the_left_is_seen() -> None:
    t = dk.ones(2)
    with Names() as mode:
        np.ones(2) + t
    assert mode.names == ["add"]
    assert mode.types == [(dk.Tensor,)]


def test_attributes_are_not_seen() -> None:
    t = dk.ones(2)
    with Names() as mode:
        _ = (t.shape, t.dtype, t.ndim, t.size, t.device, t.grad)
    assert mode.names == []


@pytest.mark.parametrize(
    ("create", "name"),
    [
        (lambda: dk.ones(2), "ones"),
        (lambda: dk.zeros((2, 2)), "zeros"),
        (lambda: dk.full(2, 1.0), "full"),
        (lambda: dk.eye(2), "eye"),
        (lambda: dk.arange(3), "arange"),
        (lambda: dk.linspace(0, 1, 3), "linspace"),
        (lambda: dk.asarray([1.0]), "asarray"),
        (lambda: dk.tensor([1.0]), "tensor"),
        (lambda: dk.rand(2), "rand"),
        (lambda: dk.randn(2, 2), "randn"),
    ],
)
def test_creation_functions_are_seen(create: Any, name: str) -> None:
    with Names() as mode:
        create()
    assert mode.names == [name]
    assert mode.types == [()]


def test_a_mode_may_replace_what_is_created() -> None:
    class Sevens(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return dk.full(args[0], 7.0) if func is dk.ones else NotImplemented

    with Sevens():
        assert dk.ones(2).tolist() == [7.0, 7.0]
        assert dk.zeros(2).tolist() == [0.0, 0.0]


def test_a_mode_goes_before_the_types() -> None:
    with Names() as mode, pytest.raises(dk.NoImplementationError):
        dk.add(Duck(), dk.ones(2))
    assert (mode.names[-1], mode.types[-1]) == ("add", (Duck, dk.Tensor))


def test_the_base_mode_passes_everything_on() -> None:
    with dk.TensorFunctionMode():
        assert dk.add(dk.ones(2), 1).tolist() == [2.0, 2.0]


def test_the_calls_inside_a_decomposition_are_seen() -> None:
    class Passing(Names):
        def __tensor_function__(self, func: Any, types: tuple[type, ...], args: Any, kwargs: Any) -> Any:
            self.names.append(func.__name__)
            return NotImplemented

    @dk.array_type(fallback=dk.fallback.decompose)
    class Structured:
        pass

    @dk.overridable
    def halves_of_exp(x: Any) -> Any:
        return dk.exp(x) / 2

    for function in (dk.exp, dk.divide):
        dk.implements(function, Structured)(lambda *args: args[0])
    with Passing() as mode:
        assert type(halves_of_exp(Structured())) is Structured
    assert mode.names == ["halves_of_exp", "exp", "divide"]


def test_disable_dispatch_computes_subclasses_as_tensors() -> None:
    x = Loud([1.0, 2.0])
    with pytest.raises(RuntimeError, match="asked"):
        dk.sum(x)
    with dk.disable_dispatch():
        assert dk.sum(x).item() == 3.0
        assert (x + 1).tolist() == [2.0, 3.0]
        assert x.mean().item() == 1.5
        assert (dk.ones(2) + x).tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="asked"):
        dk.sum(x)


def test_disable_dispatch_switches_modes_off_that_are_entered_inside() -> None:
    seen: list[str] = []

    class Names(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            seen.append(func.__name__)
            return NotImplemented

    with dk.disable_dispatch(), Names():
        assert dk.sum(dk.ones(2)).item() == 2.0
    assert seen == []
    with Names(), dk.disable_dispatch():
        dk.ones(2)
    assert seen == []
    with Names():
        dk.ones(2)
    assert seen == ["ones"]


def test_disable_dispatch_leaves_checkpoints_their_gradients() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    with dk.disable_dispatch():
        dk.func.checkpoint(lambda y: y * x)(dk.tensor([3.0, 4.0])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 4.0]


def test_disable_dispatch_switches_rules_off() -> None:
    class Sub(dk.Tensor):
        pass

    dk.implements(dk.sum, Sub)(lambda x, /, **kwargs: "rule")
    assert dk.sum(Sub([1.0])) == "rule"
    with dk.disable_dispatch():
        assert dk.sum(Sub([1.0])).item() == 1.0


def test_disable_dispatch_switches_outer_modes_off() -> None:
    with Names() as mode, dk.disable_dispatch():
        dk.ones(2) + 1
    assert mode.names == []


def test_disable_dispatch_reaches_inner_calls() -> None:
    class Deep(dk.Tensor):
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            with dk.disable_dispatch():
                return func(*args, **(kwargs or {}))

    assert dk.var(Deep([1.0, 3.0])).item() == 1.0


def test_types_that_are_no_tensors_raise_under_disable_dispatch() -> None:
    dk.implements(dk.exp, Duck)(lambda x, /: "rule")
    with dk.disable_dispatch(), pytest.raises(dk.NoImplementationError, match="overrides are switched off"):
        dk.exp(Duck())
    assert dk.exp(Duck()) == "rule"


def test_plain_tensors_and_creation_work_under_disable_dispatch() -> None:
    with dk.disable_dispatch():
        assert (dk.ones(2) + np.ones(2)).tolist() == [2.0, 2.0]
        assert dk.concat([dk.ones(1), dk.zeros(1)]).tolist() == [1.0, 0.0]


def test_foreign_objects_stay_foreign_under_disable_dispatch() -> None:
    with dk.disable_dispatch(), pytest.raises(dk.ForeignArgumentError, match="asarray"):
        dk.add(dk.ones(2), [1.0])


def test_an_exception_leaves_dispatch_on() -> None:
    with pytest.raises(KeyError), dk.disable_dispatch():
        raise KeyError
    with pytest.raises(RuntimeError, match="asked"):
        dk.sum(Loud([1.0]))
