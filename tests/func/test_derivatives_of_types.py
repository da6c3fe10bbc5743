"""Jacobians, gradients and tangents of array types that wrap an array: one array, which the types wrap once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, MetadataTensor, NamedTensor, QuantityTensor, UncertainTensor, Unit

JACOBIANS = pytest.mark.parametrize("jacobian", [dk.func.jacrev, dk.func.jacfwd], ids=["jacrev", "jacfwd"])
lengths = QuantityTensor([1.0, 2.0], "m")
named = NamedTensor([1.0, 2.0], "place")
masked = MaskedTensor([1.0, 2.0, 3.0], [True, False, True])
tagged = MetadataTensor([1.0, 2.0], {"run": 7})
uncertain = UncertainTensor([1.0, 2.0], [0.1, 0.2])


def square(x: Any) -> Any:
    return x * x


def values(x: Any) -> Any:
    """Return the numbers inside of all types."""
    while not isinstance(x, dk.Tensor):
        x = x.data
    return x.numpy()


@JACOBIANS
def test_a_jacobian_is_in_the_unit_of_the_output_by_that_of_the_argument(jacobian: Any) -> None:
    j = jacobian(square)(lengths)
    assert type(j.data) is dk.Tensor
    assert j.unit == Unit("m")
    assert values(j).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert (j @ lengths).unit == Unit("m**2")
    assert dk.linalg.inv(j).unit == Unit("1/m")
    assert values(j.to("cm")).tolist() == [[200.0, 0.0], [0.0, 400.0]]


@JACOBIANS
def test_a_jacobian_of_several_units_has_each_in_its_own(jacobian: Any) -> None:
    (one, other), (third, fourth) = jacobian(lambda p, t: (p / t, p * t), argnums=(0, 1))(
        lengths[0], QuantityTensor(2.0, "s")
    )
    assert [str(x.unit) for x in (one, other, third, fourth)] == ["1/s", "m/s**2", "s", "m"]
    assert [values(x).item() for x in (one, other, third, fourth)] == [0.5, -0.25, 2.0, 1.0]


@JACOBIANS
def test_derivatives_between_plain_numbers_and_quantities(jacobian: Any) -> None:
    x = dk.asarray([1.0, 2.0])
    by_plain = jacobian(lambda x: QuantityTensor(x, "m") ** 2)(x)
    assert by_plain.unit == Unit("m**2")
    of_plain = jacobian(lambda x: x.to("cm").magnitude)(lengths)
    assert (of_plain.unit, values(of_plain).tolist()) == (Unit("1/m"), [[100.0, 0.0], [0.0, 100.0]])
    plain = jacobian(lambda x: QuantityTensor(x, "m") / QuantityTensor(2.0, "m"))(x)
    assert type(plain) is dk.Tensor


@JACOBIANS
def test_a_jacobian_has_the_names_of_output_and_argument(jacobian: Any) -> None:
    matrix = NamedTensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ("time", "place"))
    j = jacobian(lambda x: matrix @ x)(named)
    assert j.names == ("time", "place")
    assert values(j).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert values(j @ named).tolist() == [5.0, 11.0, 17.0]


@JACOBIANS
def test_an_axis_of_the_output_with_a_name_of_the_argument_gets_a_prime(jacobian: Any) -> None:
    j = jacobian(square)(named)
    assert j.names == ("place'", "place")
    assert (j @ named).names == ("place'",)
    assert dk.func.hessian(lambda x: (x**3).sum())(named).names == ("place'", "place")
    assert jacobian(dk.func.hessian(lambda x: (x**4).sum()))(named).names == ("place''", "place'", "place")


@JACOBIANS
def test_where_axes_of_a_plain_argument_have_no_names_the_jacobian_is_plain(jacobian: Any) -> None:
    assert type(jacobian(lambda x: NamedTensor(x, "place"))(dk.ones(2))) is dk.Tensor
    assert jacobian(lambda x: NamedTensor(x * dk.ones(2), "place"))(dk.asarray(2.0)).names == ("place",)
    assert jacobian(lambda x: x.sum())(named).names == ("place",)


@JACOBIANS
def test_derivatives_of_and_by_missing_elements_are_missing(jacobian: Any) -> None:
    j = jacobian(square)(masked)
    assert type(j.data) is dk.Tensor
    assert j.valid.tolist() == [[True, False, True], [False, False, False], [True, False, True]]
    assert values(j).tolist() == [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 6.0]]
    assert (j @ masked).filled(0.0).tolist() == [2.0, 0.0, 18.0]
    of_output = jacobian(lambda x: MaskedTensor(x, [True, False]) * x)(dk.ones(2))
    assert of_output.valid.tolist() == [[True, True], [False, False]]
    assert jacobian(lambda x: x.filled(0.0).sum())(masked).valid.tolist() == [True, False, True]


@JACOBIANS
def test_a_jacobian_has_metadata_by_the_laws(jacobian: Any) -> None:
    j = jacobian(lambda x: x * MetadataTensor([1.0, 1.0], {"of": "output"}))(tagged)
    assert j.metadata == {"run": 7, "of": "output"}
    assert type(j.data) is dk.Tensor
    strict = MetadataTensor([1.0, 2.0], {"run": 7}, merge="error")
    with pytest.raises(ValueError, match="operands disagree on 'run'"):
        jacobian(lambda x: MetadataTensor(x.data, {"run": 8}, merge="error"))(strict)


@JACOBIANS
def test_the_jacobian_of_uncertain_numbers_is_that_of_their_values(jacobian: Any) -> None:
    assert jacobian(square)(uncertain).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    gradient: Any = dk.func.grad(lambda x: square(x).sum())(uncertain)
    assert gradient.tolist() == [2.0, 4.0]


@JACOBIANS
@pytest.mark.parametrize("inner", [named, masked, tagged], ids=lambda x: type(x).__name__)
def test_types_inside_of_each_other_wrap_one_jacobian(jacobian: Any, inner: Any) -> None:
    x = QuantityTensor(inner, "m")
    j = jacobian(square)(x)
    chain = [type(j), type(j.data), type(j.data.data)]
    assert chain == [type(x), type(x.data), dk.Tensor]
    quantity = j if isinstance(j, QuantityTensor) else j.data
    assert quantity.unit == Unit("m")


ARGUMENTS = {
    "quantity": lengths,
    "points on a scale": QuantityTensor([20.0, 25.0], "degC"),
    "names": named,
    "mask": masked,
    "metadata": tagged,
    "quantity with names": NamedTensor(lengths, "place"),
    "quantity with a mask": QuantityTensor(masked, "m"),
    "quantity with a mask and names": NamedTensor(QuantityTensor(masked, "m"), "place"),
}


@JACOBIANS
@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_product_with_a_step_is_the_derivative_in_its_direction(jacobian: Any, name: str) -> None:
    x = ARGUMENTS[name]
    step = x - x * 0.5 if name != "points on a scale" else x - x[::-1]
    function = square if name != "points on a scale" else dk.positive
    _, tangent = dk.func.jvp(function, (x,), (step,))
    product = jacobian(function)(x) @ step
    assert type(product) is type(tangent)
    np.testing.assert_allclose(values(product), values(tangent))
    if "quantity" in name or "scale" in name:
        assert outer_unit(product) == outer_unit(tangent)


def outer_unit(x: Any) -> Any:
    return x.unit if isinstance(x, QuantityTensor) else x.data.unit


def test_a_tangent_in_another_unit_is_converted_and_one_of_another_dimension_refused() -> None:
    _, t = dk.func.jvp(square, (lengths,), (QuantityTensor([100.0, 0.0], "cm"),))
    assert (t.unit, values(t).tolist()) == (Unit("m**2"), [2.0, 0.0])
    with pytest.raises(UnitError, match="'s' and 'm' measure different things"):
        dk.func.jvp(square, (lengths,), (QuantityTensor([1.0, 0.0], "s"),))


def test_a_linear_approximation_gives_tangents_in_the_unit_of_the_output() -> None:
    y, push = dk.func.linearize(square, lengths)
    for step in (lengths, lengths.to("cm")):
        assert (push(step).unit, values(push(step)).tolist()) == (Unit("m**2"), [2.0, 8.0])
    assert y.unit == Unit("m**2")


def test_second_derivatives_go_through_a_quantity_that_holds_the_argument() -> None:
    x = dk.asarray([1.0, 2.0])

    def loss(x: Any) -> Any:
        return (QuantityTensor(x, "m") ** 2).sum()

    def forward(f: Any) -> Any:
        return dk.func.jacfwd(dk.func.grad(f))

    def reverse(f: Any) -> Any:
        return dk.func.jacrev(dk.func.grad(f))

    for second in (dk.func.hessian, forward, reverse):
        assert second(lambda x: loss(x).magnitude)(x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
        hessian = second(loss)(x)
        assert (hessian.unit, values(hessian).tolist()) == (Unit("m**2"), [[2.0, 0.0], [0.0, 2.0]])
    assert dk.func.hessian(lambda p: (p**3).sum())(lengths).unit == Unit("m")


def test_gradient_and_hessian_of_a_number_are_plain_and_of_a_quantity_in_its_unit() -> None:
    x = dk.asarray([1.0, 2.0])

    def in_square_metres(x: Any) -> Any:
        return (QuantityTensor(x, "m") ** 2).sum()

    def ratio(x: Any) -> Any:
        return in_square_metres(x) / QuantityTensor(2.0, "m**2")

    assert type(dk.func.grad(ratio)(x)) is type(dk.func.hessian(ratio)(x)) is dk.Tensor
    gradient: Any = dk.func.grad(in_square_metres)(x)
    assert gradient.unit == Unit("m**2")
    by_name = dk.func.grad(lambda x: in_square_metres(x.data))(named)
    assert (by_name.names, by_name.data.unit) == (("place",), Unit("m**2"))


@pytest.mark.parametrize("unit", ["", "m**2"])
@pytest.mark.parametrize("start", [dk.asarray([3.0, 0.5]), QuantityTensor([3.0, 0.5], "m")], ids=["plain", "quantity"])
def test_newton_s_method_takes_several_steps_in_units(unit: str, start: Any) -> None:
    target = QuantityTensor([100.0, 200.0], "cm")

    def loss(p: Any) -> Any:
        length = p if isinstance(p, QuantityTensor) and p.unit == Unit("m") else QuantityTensor(p, "m")
        ratio = length / target
        return ((ratio - 1) ** 2 + (ratio - 1) ** 4).sum() * QuantityTensor(1.0, unit)

    p = start
    for _ in range(12):
        p = p - dk.linalg.solve(dk.func.hessian(loss)(p), dk.func.grad(loss)(p))
    np.testing.assert_allclose(values(p), [1.0, 2.0], rtol=1e-6)


def test_a_quantity_in_no_unit_is_a_number_that_can_get_one() -> None:
    ratio = lengths / QuantityTensor(2.0, "m")
    assert repr(QuantityTensor(ratio, "s")) == "QuantityTensor([0.5000, 1.0000], 's')"
    with pytest.raises(UnitError) as caught:
        QuantityTensor(lengths, "s")
    assert str(caught.value) == (
        "QuantityTensor: the array is in 'm' already; write x * Unit('s') for the product, or give x.magnitude"
    )


def test_a_type_of_a_user_says_what_a_derivative_is() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap, derivative="derivative")
    class Scaled:
        def __init__(self, data: Any, exponent: int) -> None:
            self.data, self.exponent = dk.asarray(data), exponent

        @property
        def shape(self) -> Any:
            return self.data.shape

        @property
        def dtype(self) -> Any:
            return self.data.dtype

        @staticmethod
        def derivative(array: Any, output: Any, argument: Any) -> Any:
            above, below = (0 if x is None else x.exponent for x in (output, argument))
            return Scaled(array, above - below)

    @dk.implements(dk.multiply)
    def multiply_scaled(x1: Scaled, x2: Scaled, /) -> Any:
        return Scaled(x1.data * x2.data, x1.exponent + x2.exponent)

    for jacobian in (dk.func.jacrev, dk.func.jacfwd):
        j = jacobian(square)(Scaled([1.0, 2.0], 3))
        assert (j.exponent, j.data.tolist()) == (3, [[2.0, 0.0], [0.0, 4.0]])
    both = dk.func.jacrev(square)(QuantityTensor(Scaled([1.0, 2.0], 3), "m"))
    assert (both.unit, both.data.exponent) == (Unit("m"), 3)
    with pytest.raises(dk.errors.RegistrationError, match=r"derivative='nothing' of .* is neither a function nor"):
        dk.array_type(derivative="nothing")(type("Bare", (), {"__init__": lambda self, data: None}))
