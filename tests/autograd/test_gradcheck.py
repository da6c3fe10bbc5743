"""`gradcheck` and `gradgradcheck`: what they accept, and what they say of derivatives that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.autograd import gradcheck, gradgradcheck


def point() -> dk.Tensor:
    x: dk.Tensor = dk.tensor([0.5, 2.0], requires_grad=True)
    return x


@dk.operation(kind=dk.kinds.elementwise)
def wrong_square(xp: Any, x: dk.Tensor, /) -> Any:
    return x * x


@wrong_square.def_partial
def wrong_square_partial(xp: Any, y: Any, x: Any) -> Any:
    return 3 * x


@dk.operation(kind=dk.kinds.elementwise)
def wrong_second(xp: Any, x: dk.Tensor, /) -> Any:
    return x * x * x


@wrong_second.def_partial
def wrong_second_partial(xp: Any, y: Any, x: Any) -> Any:
    return 3 * (x * x.detach() if isinstance(x, dk.Tensor) else x * x)


def test_right_derivatives_give_true() -> None:
    assert gradcheck(lambda x: dk.exp(x) * x, (point(),)) is True
    assert gradgradcheck(lambda x: dk.exp(x) * x, (point(),)) is True


def test_one_input_needs_no_tuple() -> None:
    assert gradcheck(dk.exp, point())


def test_a_mismatch_names_output_and_input_and_shows_both_matrices() -> None:
    with pytest.raises(dk.GradcheckError) as caught:
        gradcheck(wrong_square, (point(),))
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical: [[")
    assert "\nanalytical: [[1.5 0. ]\n [0.  6. ]]" in text
    assert isinstance(caught.value, RuntimeError)


def test_a_mismatch_counts_outputs_and_inputs() -> None:
    with pytest.raises(dk.GradcheckError, match="Jacobian mismatch for output 1 with respect to input 2,"):
        gradcheck(lambda a, n, b: (a * n, a + wrong_square(b)), (point(), 2.0, point()))


def test_without_exceptions_a_mismatch_is_false() -> None:
    assert gradcheck(wrong_square, (point(),), raise_exception=False) is False
    assert gradgradcheck(wrong_second, (point(),), raise_exception=False) is False


def test_a_wrong_second_derivative_is_found() -> None:
    assert gradcheck(wrong_second, (point(),))
    with pytest.raises(dk.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,"):
        gradgradcheck(wrong_second, (point(),))


def test_an_input_must_require_a_gradient() -> None:
    with pytest.raises(ValueError, match="gradcheck: no input is a tensor that requires a gradient"):
        gradcheck(dk.exp, (dk.ones(2),))


def test_tolerances_can_be_widened() -> None:
    assert gradcheck(wrong_square, (point(),), atol=10.0)


def test_gradients_of_leaves_are_left_alone() -> None:
    x = point()
    gradcheck(dk.exp, (x,))
    gradgradcheck(dk.exp, (x,))
    assert x.grad is None
    assert x.tolist() == [0.5, 2.0]


def test_an_output_that_does_not_depend_on_an_input() -> None:
    assert gradcheck(lambda a, b: a * 2, (point(), point()))


def test_a_gradient_that_is_cut_off_is_found() -> None:
    with pytest.raises(dk.GradcheckError, match="Jacobian mismatch"):
        gradcheck(lambda x: x * x.detach(), (point(),))


def test_a_function_that_loses_the_graph_altogether_is_found() -> None:
    with pytest.raises((dk.GradcheckError, ValueError)):
        gradcheck(lambda x: dk.exp(x.detach()), (point(),))


def test_cotangents_can_be_given() -> None:
    v = dk.tensor([1.0, -1.0], requires_grad=True)
    assert gradgradcheck(dk.sin, (point(),), [v])


def test_gradcheck_works_inside_no_grad_free_code_only_with_a_graph() -> None:
    x = dk.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    assert gradcheck(dk.linalg.inv, (x,))
    assert gradgradcheck(dk.linalg.inv, (x,))


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    "func", [lambda x: x[x > 1.0] * 2, lambda x: x if x.sum().item() > 3.0 else (x, x)], ids=["shape", "number"]
)
def test_outputs_whose_shapes_depend_on_values_are_refused(func: Any, fast_mode: bool) -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(dk.GradcheckError) as caught:
        gradcheck(func, (x,), fast_mode=fast_mode)
    assert str(caught.value).startswith("The shapes of the outputs depend on the values of input 0: [(")
    assert str(caught.value).endswith(" next to it; such a function has no derivative")
    assert gradcheck(func, (x,), fast_mode=fast_mode, raise_exception=False) is False
