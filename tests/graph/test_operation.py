"""Operations that users declare: `dk.operation` with its rules, and what it says of rules that cannot work."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import gradcheck, gradgradcheck

X = dk.tensor([0.5, -1.25, 2.0], requires_grad=True)
evaluated: list[str] = []


@dk.operation(kind=dk.kinds.elementwise)
def cube_of(xp: Any, x: dk.Tensor, /) -> Any:
    """Third power."""
    return x * x * x


@cube_of.def_partial
def cube_of_partial(xp: Any, y: Any, x: Any) -> Any:
    return 3 * x * x


@dk.operation(kind=dk.kinds.elementwise)
def weighted(xp: Any, x1: dk.Tensor, x2: dk.Tensor, /) -> Any:
    """First plus the square of the second."""
    return x1 + x2 * x2


@weighted.def_partial("x1")
def weighted_partial_1(xp: Any, y: Any, x1: Any, x2: Any) -> Any:
    evaluated.append("x1")
    return xp.ones_like(x1)


@weighted.def_partial("x2")
def weighted_partial_2(xp: Any, y: Any, x1: Any, x2: Any) -> Any:
    evaluated.append("x2")
    return 2 * x2


@dk.operation(kind=dk.kinds.manipulation)
def every_other(xp: Any, x: dk.Tensor, /, *, start: int = 0) -> Any:
    """Every other element, a linear operation."""
    return x[start::2]


@every_other.def_transpose
def every_other_transpose(xp: Any, g: Any, x: Any, *, start: int = 0) -> Any:
    return xp.index_put(xp.zeros(x.shape, dtype=g.dtype), slice(start, None, 2), g)


@dk.operation(kind=dk.kinds.reduction)
def length(xp: Any, x: dk.Tensor, /) -> Any:
    """Euclidean length, whose derivative reads the output."""
    return xp.sqrt(xp.sum(x * x))


@length.def_vjp
def length_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    return g * x / y


@length.def_jvp
def length_jvp(xp: Any, t: Any, y: Any, x: Any) -> Any:
    return xp.sum(t * x) / y


@dk.operation
def softplus_of(xp: Any, x: dk.Tensor, /, *, beta: float = 1.0) -> Any:
    """Without a rule: differentiated through its body."""
    return xp.log1p(xp.exp(x * beta)) / beta


@dk.operation
def split_parts(xp: Any, x: dk.Tensor, /) -> tuple[Any, Any]:
    """Two outputs, without a rule."""
    return x * x, xp.exp(x)


@pytest.mark.parametrize(
    "function",
    [cube_of, every_other, lambda x: every_other(x, start=1), length, softplus_of, split_parts],
    ids=["partial", "transpose", "transpose with a keyword", "vjp", "body", "several outputs"],
)
def test_first_and_second_derivatives(function: Any) -> None:
    assert gradcheck(function, (X,))
    assert gradgradcheck(function, (X,), atol=1e-4)


def test_derivatives_by_both_arguments_with_broadcasting() -> None:
    other = dk.tensor([[1.0], [2.0]], requires_grad=True)
    assert gradcheck(weighted, (X, other))
    assert gradgradcheck(weighted, (X, other))


def test_rules_of_arguments_that_need_no_gradient_are_not_evaluated() -> None:
    evaluated.clear()
    weighted(X, dk.ones(3)).sum().backward(inputs=[X])
    assert evaluated == ["x1"]


def test_the_public_function_has_the_bodys_signature_without_the_namespace() -> None:
    assert str(inspect.signature(softplus_of)).startswith("(x: 'dk.Tensor', /, *, beta: 'float' = 1.0)")
    assert softplus_of.__name__ == "softplus_of"
    assert softplus_of.__doc__ == "Without a rule: differentiated through its body."


def test_the_public_function_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(cube_of)) is cube_of


def test_the_node_is_named_after_the_operation() -> None:
    assert repr(cube_of(X).grad_fn) == "<CubeOfBackward>"
    assert "grad_fn=<CubeOfBackward>" in repr(cube_of(X))


def test_numpy_arrays_and_scalars_are_taken() -> None:
    np.testing.assert_array_equal(cube_of(np.array([1.0, 2.0])).numpy(), [1.0, 8.0])
    assert cube_of(2.0).item() == 8.0
    assert weighted(1, np.float64(3.0)).item() == 10.0


def test_a_keyword_that_it_does_not_have_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        cube_of(X, alpha=2)  # type: ignore[call-arg]


def test_a_custom_type_overrides_it() -> None:
    @dk.array_type()
    class Mine:
        shape, dtype = (3,), dk.float64

    with dk.local_registrations():

        @dk.implements(cube_of)
        def cube_mine(x: Mine, /) -> str:
            return "mine"

        assert cube_of(Mine()) == "mine"


def test_what_has_no_array_parameter_says_how_to_annotate_one() -> None:
    @dk.operation
    def unannotated(xp: Any, x: int) -> Any:
        return x

    with pytest.raises(dk.RegistrationError, match="unannotated has no array parameters"):
        unannotated.def_vjp(lambda xp, g, y, x: g)


def test_it_is_listed_and_named() -> None:
    assert dk.overrides.resolve_name(cube_of) == "tests.cube_of"
    listed = [f for functions in dk.overrides.get_overridable_functions().values() for f in functions]
    assert cube_of in listed


def test_one_partial_of_several_needs_a_name() -> None:
    with pytest.raises(
        dk.RegistrationError,
        match=r"def_partial: tests.weighted has the array parameters x1, x2; name the one that the rule is for: "
        r"@weighted.def_partial\('x1'\)",
    ):
        weighted.def_partial(weighted_partial_1)


def test_a_rule_for_a_parameter_that_is_not_there_is_refused() -> None:
    message = r"def_vjp: tests\.weighted has no array parameter 'x3'; it has x1, x2"
    with pytest.raises(dk.RegistrationError, match=message):
        weighted.def_vjp("x3")


def test_a_rule_that_takes_something_else_is_refused() -> None:
    def other(xp: Any, y: Any, z: Any, w: Any) -> Any:
        return y

    message = r"other cannot be the partial rule of tests.cube_of: it names 'z', and may name xp, y, x"
    with pytest.raises(dk.RegistrationError, match=message):
        cube_of.def_partial(other)
    assert gradcheck(cube_of, (X,))


def test_a_body_that_takes_no_namespace_is_refused() -> None:
    with pytest.raises(
        dk.RegistrationError,
        match=r"the body of nothing must take an array namespace first: def nothing\(xp, x, /\)",
    ):

        @dk.operation  # type: ignore[arg-type]  # what is tested
        def nothing() -> Any:
            return None


def test_an_argument_without_a_rule_among_others_raises_when_its_gradient_is_needed() -> None:
    @dk.operation
    def half_known(xp: Any, x1: dk.Tensor, x2: dk.Tensor, /) -> Any:
        return x1 * x2

    @half_known.def_vjp("x1")
    def half_known_vjp(xp: Any, g: Any, y: Any, x1: Any, x2: Any) -> Any:
        return g * x2

    half_known(X, dk.ones(3)).sum().backward(inputs=[X])
    with pytest.raises(dk.AutogradError, match=r"tests\.half_known has no derivative with respect to 'x2'"):
        half_known(dk.ones(3), X).sum().backward()


@dk.operation
def quotient(xp: Any, x1: dk.Tensor, x2: dk.Tensor, /, *, scale: float = 1.0) -> Any:
    """With a rule that gives both cotangents."""
    return scale * x1 / x2


@quotient.def_vjp("x2", "x1")
def quotient_vjp(xp: Any, g: Any, x1: Any, x2: Any, scale: float) -> Any:
    evaluated.append("both")
    first = scale * g / x2
    return -first * x1 / x2, first


def test_a_rule_for_all_arguments_is_evaluated_once() -> None:
    other = dk.tensor([2.0, 4.0, 8.0], requires_grad=True)
    assert gradcheck(lambda a, b: quotient(a, b, scale=2.0), (X, other))
    assert gradgradcheck(quotient, (X, dk.tensor([[2.0], [3.0]], requires_grad=True)))
    evaluated.clear()
    found = dk.autograd.grad(quotient(X, other).sum(), [X, other])
    assert evaluated == ["both"]
    assert found[0].tolist() == (1 / other).tolist()
    assert found[1].tolist() == (-X / other / other).tolist()


def test_a_rule_for_one_argument_takes_the_place_of_one_for_all() -> None:
    @dk.operation
    def ratio(xp: Any, x1: dk.Tensor, x2: dk.Tensor, /) -> Any:
        return x1 / x2

    ratio.def_vjp("x1", "x2")(lambda g, x1, x2: (g / x2, -g * x1 / x2 / x2))
    ratio.def_vjp("x1")(lambda g: 7 * g)
    one, other = dk.tensor(3.0, requires_grad=True), dk.tensor(2.0, requires_grad=True)
    assert [x.item() for x in dk.autograd.grad(ratio(one, other), [one, other])] == [7.0, -0.75]
    ratio.def_vjp("x2", "x1")(lambda g: (g, 2 * g))
    assert [x.item() for x in dk.autograd.grad(ratio(one, other), [one, other])] == [2.0, 1.0]


def test_a_rule_for_some_arguments_of_several_is_refused() -> None:
    message = (
        r"def_vjp: a rule of tests\.triple is for one argument, or def_vjp names all parameters, where each is of one "
        r"array: x1, x2, x3; found x1, x2"
    )

    @dk.operation
    def triple(xp: Any, x1: dk.Tensor, x2: dk.Tensor, x3: dk.Tensor, /) -> Any:
        return x1 * x2 * x3

    with pytest.raises(dk.RegistrationError, match=message):
        triple.def_vjp("x1", "x2")
    with pytest.raises(dk.RegistrationError, match=r"def_jvp: a rule of tests\.triple is for one argument"):
        triple.def_jvp("x1", "x2", "x3")  # type: ignore[call-arg]  # what is tested


def test_an_operation_that_is_not_differentiable_cuts_the_graph() -> None:
    @dk.operation(differentiable=False)
    def counted(xp: Any, x: dk.Tensor, /) -> Any:
        return xp.floor(x)

    assert not counted(X).requires_grad


def test_a_rule_can_be_replaced() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def doubled(xp: Any, x: dk.Tensor, /) -> Any:
        return x + x

    doubled.def_partial(lambda xp, y, x: 5)
    doubled.def_partial(lambda xp, y, x: 2)
    assert gradcheck(doubled, (X,))


def test_a_body_that_leaves_the_standard_raises_what_it_raises() -> None:
    @dk.operation
    def broken(xp: Any, x: dk.Tensor, /) -> Any:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        broken(X)


def test_partial_derivatives_take_parameters_by_position_and_by_name() -> None:
    with dk.local_registrations():

        @dk.operation(kind=dk.kinds.elementwise)
        def power(xp: Any, x: dk.Tensor, /, exponent: float = 2.0, *, factor: float = 1.0) -> Any:
            return factor * x**exponent

        @power.def_partial
        def power_partial(xp: Any, y: Any, x: Any, exponent: float = 2.0, *, factor: float = 1.0) -> Any:
            return factor * exponent * x ** (exponent - 1)

        @dk.operation(kind=dk.kinds.elementwise)
        def moved(xp: Any, x: dk.Tensor, /, *, by: float) -> Any:
            return x + by

        @moved.def_partial
        def moved_partial(xp: Any, y: Any, x: Any, *, by: float) -> float:
            return 1.0

        calls: list[Callable[[Any], Any]] = [
            lambda x: power(x, 3.0, factor=0.5),
            lambda x: power(x, exponent=3.0),
            lambda x: moved(x, by=2.0) ** 2,
        ]
        for call in calls:
            assert gradcheck(call, (X,))
            assert gradgradcheck(call, (X,))
            (x, t), v = (X.detach(), dk.ones(3)), dk.tensor(X.detach().numpy(), requires_grad=True)
            call(v).sum().backward()
            assert v.grad is not None
            np.testing.assert_allclose(dk.func.jvp(call, (x,), (t,))[1].numpy(), v.grad.numpy())
