"""What `gradcheck` looks at beside the Jacobian of a backward pass, and how it says what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import gradcheck, gradgradcheck
from tests.graph.test_leaves import leaf

Rule = Callable[..., Any]


def cube(*, vjp: Rule | None = None, jvp: Rule | None = None) -> Any:
    """Return an operation with derivatives of one's own."""

    @dk.operation(kind=dk.kinds.elementwise)
    def cubed(xp: Any, x: dk.Tensor, /) -> Any:
        return x * x * x

    @cubed.def_vjp
    def cubed_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
        return vjp(xp, g, x) if vjp else g * 3 * x * x

    @cubed.def_jvp
    def cubed_jvp(xp: Any, t: Any, y: Any, x: Any) -> Any:
        return jvp(xp, t, x) if jvp else t * 3 * x * x

    return cubed


def complex_leaf() -> dk.Tensor:
    made: dk.Tensor = dk.tensor([0.5 + 1j, -0.3 + 0.2j], requires_grad=True)
    return made


def message(func: Any, inputs: Any, **options: Any) -> list[str]:
    with pytest.raises(dk.GradcheckError) as caught:
        gradcheck(func, inputs, **options)
    return str(caught.value).splitlines()


EVERYTHING = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}

SOUND: dict[str, tuple[Any, Any]] = {
    "real": (lambda x: dk.exp(x) * x, (leaf(0.5, 2.0),)),
    "complex": (lambda z: dk.exp(z) * dk.conj(z), (complex_leaf(),)),
    "complex to real": (dk.abs, (complex_leaf(),)),
    "real to complex": (lambda x: x * (1 + 2j), (leaf(0.5, 2.0),)),
    "broadcasting": (lambda a, b: a * b, (dk.ones((3, 1), requires_grad=True), leaf(1.0, 2.0))),
    "several outputs": (lambda x: (x * x, dk.sin(x), x.sum()), (leaf(0.5, 2.0),)),
    "outputs of one node": (dk.linalg.slogdet, (dk.asarray([[3.0, 1.0], [1.0, 2.0]], requires_grad=True),)),
    "integers among the outputs": (lambda x: (x * 2, dk.argmax(x)), (leaf(0.5, 2.0),)),
    "arguments that are no tensors": (lambda x, n, name: x**n, (leaf(0.5, 2.0), 3, "cube")),
    "arguments without gradient": (lambda a, b: a * b, (leaf(0.5), dk.ones(2))),
    "an input that is the output": (lambda x: x, (leaf(0.5, 2.0),)),
    "an output outside the graph": (lambda x: (x * 2, dk.ones(3)), (leaf(0.5),)),
    "0-D": (lambda x: x * x, (dk.tensor(2.0, requires_grad=True),)),
    "empty": (lambda x: (x * x, x.sum()), (dk.zeros((0, 2), requires_grad=True),)),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", SOUND)
def test_sound_functions_pass_every_check(name: str, fast: bool) -> None:
    func, inputs = SOUND[name]
    assert gradcheck(func, inputs, fast_mode=fast, **EVERYTHING)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", ["real", "complex", "broadcasting", "several outputs"])
def test_second_derivatives_pass(name: str, fast: bool) -> None:
    func, inputs = SOUND[name]
    assert gradgradcheck(func, inputs, fast_mode=fast, check_batched_grad=True, check_grad_dtypes=True)


def test_the_worst_entry_is_named() -> None:
    @dk.operation
    def crooked(xp: Any, a: dk.Tensor, b: dk.Tensor, /) -> Any:
        return a * b

    @crooked.def_vjp("a")
    def crooked_vjp_a(xp: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
        return g * b

    @crooked.def_vjp("b")
    def crooked_vjp_b(xp: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
        return g * a * xp.asarray([[1.0, 1.001], [3.0, 1.0]])

    a = dk.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    b = dk.ones((2, 2), requires_grad=True)
    lines = message(lambda a, b: (a + b, crooked(a, b)), (a, b))
    assert lines[0] == "Jacobian mismatch for output 1 with respect to input 1,"
    assert lines[1].startswith("numerical: [[1. 0. 0. 0.]")
    assert lines[5].startswith("analytical: [[1. ")
    assert lines[-2] == (
        "worst entry: [2, 2], output 1[1, 0] with respect to input 1[1, 0]: numerical 3, analytical 9, difference 6"
    )
    assert lines[-1] == "checked: test_the_worst_entry_is_named.<lambda>"


def test_the_part_of_a_complex_number_is_named() -> None:
    wrong = cube(vjp=lambda xp, g, x: g * 3 * x * x)  # not conjugated
    lines = message(wrong, (complex_leaf(),))
    assert any(".imag with respect to input 0[" in line or ".real with respect to input 0[" in line for line in lines)


def test_a_gradient_that_is_no_number_is_the_worst() -> None:
    wrong = cube(vjp=lambda xp, g, x: g * xp.asarray([100.0, float("nan")]))
    lines = message(wrong, (leaf(1.0, 2.0),))
    assert lines[-2].endswith("with respect to input 0[1]: numerical 0, analytical nan, difference nan")


def test_a_wrong_tangent_is_found_by_forward_mode_alone() -> None:
    wrong = cube(jvp=lambda xp, t, x: t * 2 * x * x)
    assert gradcheck(wrong, (leaf(1.0, 2.0),))
    lines = message(wrong, (leaf(1.0, 2.0),), check_forward_ad=True)
    assert lines[0] == "Jacobian computed with forward mode mismatch for output 0 with respect to input 0,"
    assert "worst entry: [1, 1], output 0[1] with respect to input 0[1]: numerical 12, analytical 8" in lines[-2]


def test_backward_can_be_left_out() -> None:
    wrong = cube(vjp=lambda xp, g, x: g)
    assert gradcheck(wrong, (leaf(2.0),), check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize("forward", [False, True])
def test_in_fast_mode_a_mismatch_shows_whole_matrices(forward: bool) -> None:
    wrong = cube(vjp=lambda xp, g, x: g * x, jvp=lambda xp, t, x: t * x)
    options = {"check_forward_ad": forward, "check_backward_ad": not forward, "check_undefined_grad": False}
    lines = message(wrong, (leaf(1.0, 2.0),), fast_mode=True, **options)
    assert "mismatch for output 0 with respect to input 0," in lines[0]
    assert lines[1:5] == ["numerical: [[ 3.  0.]", " [ 0. 12.]]", "analytical: [[1. 0.]", " [0. 2.]]"]
    assert lines[5].startswith("found in fast mode, in one direction: ")
    assert "worst entry: [1, 1], output 0[1] with respect to input 0[1]: numerical 12, analytical 2" in lines[6]


def test_fast_mode_calls_a_function_a_few_times() -> None:
    calls: list[None] = []

    def func(x: Any) -> Any:
        calls.append(None)
        return dk.sin(x)

    assert gradcheck(func, (leaf(*np.linspace(0.0, 1.0, 200)),), fast_mode=True)
    assert len(calls) == 3


def test_a_backward_that_differs_from_time_to_time() -> None:
    count = 0

    def rule(xp: Any, g: Any, x: Any) -> Any:
        nonlocal count
        count += 1
        return g * (3 * x * x + 1e-7 * count)

    lines = message(cube(vjp=rule), (leaf(2.0),))
    assert lines[0] == (
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
        "different values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism "
        "was 0.0."
    )
    assert lines[1] == "output 0, input 0: values differ by up to 1e-07"
    assert gradcheck(cube(vjp=rule), (leaf(2.0),), nondet_tol=1e-6)
    assert not gradcheck(cube(vjp=rule), (leaf(2.0),), raise_exception=False)


def test_outputs_without_gradient_count_as_zero() -> None:
    assert gradcheck(lambda x: dk.linalg.eigh(x + x.T), (dk.asarray([[1.0, 2.0], [0.0, 5.0]], requires_grad=True),))


def test_an_output_without_gradient_that_counts_as_something_else_is_found() -> None:
    class Both(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            # Right for the unit steps that make the matrix.
            if first is None:
                return second * 3 + (0 if abs(second).max() == 1 else 1e-3)
            return first * 2 + (0 if second is None else second * 3)

    lines = message(lambda x: tuple(Both.apply(x)), (leaf(1.0),))
    assert lines[0] == (
        "Expected backward function to handle undefined output grads, but without one for output 0 that of input 0 is "
        "not the one for zeros"
    )
    assert lines[1].startswith("with zeros: [")
    assert gradcheck(lambda x: tuple(Both.apply(x)), (leaf(1.0),), check_undefined_grad=False)


def test_a_gradient_from_nothing_is_found() -> None:
    wrong = cube(vjp=lambda xp, g, x: g * 3 * x * x + 1e-9)
    lines = message(wrong, (leaf(1.0),))
    assert lines[0].startswith("Expected all input grads to be undefined or zero when all output grads are undefined")
    assert lines[0].endswith("but that of input 0 is not")
    assert gradcheck(wrong, (leaf(1.0),), check_undefined_grad=False)


def test_a_batch_that_goes_wrong_is_found() -> None:
    def rule(xp: Any, g: Any, x: Any) -> Any:
        return g * 3 * x * x * (2 if getattr(g, "is_tracer", False) else 1)

    wrong = cube(vjp=rule)
    assert gradcheck(wrong, (leaf(1.0),))
    lines = message(wrong, (leaf(1.0),), check_batched_grad=True)
    assert lines[0] == (
        "Jacobian computed with batches (vmap) in reverse mode mismatch for output 0 with respect to input 0,"
    )


def test_a_batch_of_tangents_that_goes_wrong_is_found() -> None:
    def rule(xp: Any, t: Any, x: Any) -> Any:
        return t * 3 * x * x * (2 if getattr(t, "is_tracer", False) else 1)

    lines = message(cube(jvp=rule), (leaf(1.0),), check_forward_ad=True, check_batched_forward_grad=True)
    assert lines[0].startswith("Jacobian computed with batches (vmap) in forward mode mismatch for output 0")


def test_single_precision_is_warned_of() -> None:
    x = dk.ones(2, dtype=dk.float32, requires_grad=True)
    with pytest.warns(
        UserWarning, match="gradcheck: input 1 is float32, in which differences are too coarse"
    ) as caught:
        gradcheck(lambda n, x: x * n, (2.0, x), eps=1e-2, atol=1e-2)
    assert caught[0].filename == __file__


def test_elements_that_share_memory_are_moved_one_by_one() -> None:
    x = dk.asarray(np.broadcast_to(np.array([2.0]), (3,))).requires_grad_()
    assert gradcheck(lambda x: x * x, (x,))


def test_a_tensor_passed_twice_is_two_inputs() -> None:
    x = leaf(1.0, 2.0)
    assert gradcheck(lambda a, b: a * b * b, (x, x))


def test_inputs_are_left_as_they_are() -> None:
    x = leaf(1.0, 2.0)
    gradcheck(dk.exp, (x,), **EVERYTHING)
    assert (x.tolist(), x.grad, x._version) == ([1.0, 2.0], None, 0)


def test_subclasses_arrive_as_such() -> None:
    class Tagged(dk.Tensor):
        pass

    seen: set[type] = set()

    def func(x: Any) -> Any:
        seen.add(type(x))
        return x * x

    assert gradcheck(func, (Tagged([1.0, 2.0], requires_grad=True),))
    assert seen == {Tagged}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"check_backward_ad": False}, "nothing to check; one of check_forward_ad, check_backward_ad must be True"),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "check_batched_grad needs check_backward_ad",
        ),
        ({"check_batched_forward_grad": True}, "check_batched_forward_grad needs check_forward_ad"),
    ],
    ids=["nothing", "batched", "batched forward"],
)
def test_options_that_go_together(options: dict[str, bool], text: str) -> None:
    with pytest.raises(ValueError, match=f"gradcheck: {text}"):
        gradcheck(dk.exp, (leaf(1.0),), **options)


def test_gradgradcheck_needs_an_input_to_check() -> None:
    with pytest.raises(ValueError, match="gradgradcheck: no input is a tensor that requires a gradient"):
        gradgradcheck(dk.exp, (dk.ones(2),))


def test_gradgradcheck_names_the_function_whose_gradient_it_checked() -> None:
    def tricky(x: Any) -> Any:
        return cube(vjp=lambda xp, g, x: g * 3 * x.detach() ** 2 if isinstance(x, dk.Tensor) else g * 3 * x**2)(x)

    with pytest.raises(dk.GradcheckError) as caught:
        gradgradcheck(tricky, (leaf(2.0),))
    assert str(caught.value).endswith("tricky")
    assert "checked: the gradient of " in str(caught.value)


def test_words_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")

    class Wrong(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, g * 5

    a, b = (torch.tensor([value], dtype=torch.float64, requires_grad=True) for value in (1.0, 2.0))
    with pytest.raises(RuntimeError) as theirs:
        torch.autograd.gradcheck(Wrong.apply, (a, b))

    @dk.operation
    def wrong(xp: Any, a: dk.Tensor, b: dk.Tensor, /) -> Any:
        return a * b

    @wrong.def_vjp("a")
    def wrong_vjp_a(xp: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
        return g * 2

    @wrong.def_vjp("b")
    def wrong_vjp_b(xp: Any, g: Any, y: Any, a: Any, b: Any) -> Any:
        return g * 5

    ours = message(wrong, (leaf(1.0), leaf(2.0)))
    assert ours[0] == str(theirs.value).splitlines()[0]
    assert [line.partition(":")[0] for line in ours[1:3]] == ["numerical", "analytical"]


def test_random_numbers_are_refused_in_batches_of_tangents() -> None:
    class Noisy(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            dk.random.normal(shape=(2,))
            return t * 2

    x = dk.tensor([1.0, 2.0], requires_grad=True)
    assert gradcheck(Noisy.apply, (x,), check_forward_ad=True)
    with pytest.raises(dk.errors.RandomnessError) as caught:
        gradcheck(Noisy.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)
    assert str(caught.value) == (
        "gradcheck: dispatchkit.random.normal draws random numbers, which cannot be compared in a batch, as under "
        "vmap; draw them outside of the function, or leave out check_batched_forward_grad"
    )
