"""The shape that a type declares and that of its dense form, which an operation compares where it makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AnswerError

Types = dict[str, Callable[[Any, Any], Any]]


def by_property(shape: Any, made: Any) -> Any:
    class Declared:
        dtype = dk.float64

        @property
        def shape(self) -> Any:
            return shape

        def to_dense(self) -> Any:
            return made

    return dk.array_type(fallback=dk.fallback.dense)(Declared)()


def by_class(shape: Any, made: Any) -> Any:
    cls = type("Declared", (), {"shape": shape, "dtype": dk.float64, "to_dense": lambda self: made})
    return dk.array_type(fallback=dk.fallback.dense)(cls)()


def by_instance(shape: Any, made: Any) -> Any:
    class Declared:
        def __init__(self) -> None:
            self.shape = shape

        def to_dense(self) -> Any:
            return made

    return dk.array_type(fallback=dk.fallback.dense)(Declared)()


def by_function(shape: Any, made: Any) -> Any:
    class Declared:
        pass

    dk.register_type(Declared, fallback=dk.fallback.dense, to_dense=lambda x: made)
    declared: Any = Declared()
    declared.shape, declared.dtype = shape, dk.float64
    return declared


DECLARATIONS: Types = {
    "by a property": by_property,
    "in the class": by_class,
    "by the instance, without a dtype": by_instance,
    "of a class of others": by_function,
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "dispatchkit.add": lambda x: dk.add(x, 1),
    "dispatchkit.sum": lambda x: dk.sum(x),
    "dispatchkit.matmul": lambda x: dk.matmul(dk.ones((3, 3)), x),
    "dispatchkit.exp": lambda x: dk.exp(x),
}


@pytest.mark.filterwarnings("ignore::dispatchkit.errors.DensifyWarning")
@pytest.mark.parametrize("shape", [(2, 2), (3,), (3, 3, 1), ()])
@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_a_dense_form_of_another_shape_than_declared_is_an_error(declaration: str, function: str, shape: Any) -> None:
    x = DECLARATIONS[declaration]((3, 3), dk.ones(shape))
    with pytest.raises(AnswerError) as caught:
        CALLS[function](x)
    name = type(x).__qualname__.replace("<locals>.", "")
    maker, _, problem = str(caught.value).partition(f" of {name} at {__file__}:")
    assert maker.startswith(f"{function}: ")
    assert maker.endswith("()")
    assert problem.partition(" ")[2] == (
        f"returned an array of shape {shape}, but the shape of the {name} is (3, 3); correct one of them"
    )


@pytest.mark.parametrize("read", [np.asarray, lambda x: np.linalg.det(x)])
def test_what_numpy_reads_has_the_declared_shape(read: Any) -> None:
    with (
        dk.densify(on="allow"),
        pytest.raises(AnswerError, match=r"shape \(2, 2\), but the shape of the .* is \(3, 3\)"),
    ):
        read(by_property((3, 3), dk.ones((2, 2))))


@pytest.mark.filterwarnings("ignore::dispatchkit.errors.DensifyWarning")
def test_a_rule_that_calls_to_dense_gets_the_declared_shape() -> None:
    x = by_property((3, 3), dk.ones((2, 2)))
    with dk.local_registrations():

        @dk.implements(dk.exp, type(x))
        def exponential(x: Any, /) -> Any:
            return dk.exp(x.to_dense())

        with pytest.raises(
            AnswerError, match=r"^dispatchkit\.exp: to_dense\(\) of .* is \(3, 3\); correct one of them$"
        ):
            dk.exp(x)
    # A program that asks for the dense form itself sees its shape.
    assert x.to_dense().shape == (2, 2)


@pytest.mark.parametrize(
    "shape", [(3, 3), [3, 3], (np.int64(3), 3), (np.nan, 3), (None, 3), (3, float("nan")), None, 3]
)
@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_a_shape_that_may_be_the_same_is_none_the_worse(declaration: str, shape: Any) -> None:
    x = DECLARATIONS[declaration](shape, dk.ones((3, 3)))
    with dk.densify(on="allow"):
        assert dk.exp(x).shape == (3, 3)


def test_a_number_is_a_dense_form_without_axes() -> None:
    with dk.densify(on="allow"):
        assert dk.add(by_property((), 2.0), 1).item() == 3.0


class Diagonal:
    """A diagonal matrix whose shape is computed, or was noted when it was made."""

    def __init__(self, d: Any) -> None:
        self.d: dk.Tensor = dk.asarray(d)

    def to_dense(self) -> Any:
        return dk.diag(self.d)


class Computed(Diagonal):
    """The shape is computed at each call."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.d.shape * 2


class Noted(Diagonal):
    """The shape is that of when it was made."""

    def __init__(self, d: Any) -> None:
        super().__init__(d)
        self.shape = self.d.shape * 2


def total(x: Any) -> Any:
    return dk.sum(dk.exp(x))


E = float(np.e)
TRANSFORMED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "vmap over an instance": (lambda cls: dk.func.vmap(total)(cls(dk.ones((3, 2)))), [2 * E + 2] * 3),
    "vmap that makes one": (lambda cls: dk.func.vmap(lambda d: total(cls(d)))(dk.ones((3, 2))), [2 * E + 2] * 3),
    "grad": (lambda cls: dk.func.grad(total)(cls(dk.ones(2))).d, [E] * 2),
    "jvp": (lambda cls: dk.func.jvp(lambda d: total(cls(d)), (dk.ones(2),), (dk.ones(2),))[1], 2 * E),
    "vmap of grad": (lambda cls: dk.func.vmap(dk.func.grad(lambda d: total(cls(d))))(dk.ones((3, 2))), [[E] * 2] * 3),
    "hessian": (lambda cls: dk.func.hessian(lambda d: total(cls(d)))(dk.ones(2)), np.diag([E] * 2)),
}


@pytest.mark.parametrize("cls", [Computed, Noted])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_an_instance_that_a_transformation_looks_into_has_a_dense_form(name: str, cls: type) -> None:
    compute, expected = TRANSFORMED[name]
    declared = dk.array_type(fallback=dk.fallback.dense, fields=("d",))(type(cls.__name__, (cls,), {}))
    with dk.densify(on="allow"):
        np.testing.assert_allclose(compute(declared).numpy(), expected)


def test_lengths_that_dask_does_not_know_may_be_any() -> None:
    array = pytest.importorskip("dask.array")
    unknown = array.arange(6, chunks=3)
    unknown = unknown[unknown > 2]
    with dk.densify(on="allow"):
        assert dk.sum(by_property(unknown.shape, dk.asarray(np.arange(3.0, 6.0)))).item() == 12.0
        pytest.importorskip("array_api_compat")
        assert dk.sum(by_property((3,), dk.asarray(unknown))).item() == 12
