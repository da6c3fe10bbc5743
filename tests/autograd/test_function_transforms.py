"""A `Function` under the transformations of `dispatchkit.func`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import func
from dispatchkit.autograd import Function, forward_ad
from dispatchkit.errors import AutogradError

X = dk.tensor([1.0, 2.0, 3.0])


def close(one: Any, other: Any) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12)


class Cube(Function):
    """Gives its derivative as a second output, so that second derivatives flow."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = 6
        ctx.save_for_backward(*inputs, output[1])
        ctx.save_for_forward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, g_derivative: Any) -> Any:
        x, derivative = ctx.saved_tensors
        return g * derivative + g_derivative * ctx.factor * x

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        x, derivative = ctx.saved_tensors
        return t * derivative, ctx.factor * x * t


def cube(x: Any) -> Any:
    return Cube.apply(x)[0]


def total(x: Any) -> Any:
    return cube(x).sum()


def test_forward_mode_calls_jvp() -> None:
    y, t = func.jvp(cube, (X,), (dk.ones(3),))
    close(y, X**3)
    close(t, 3 * X**2)
    close(func.jacfwd(cube)(X), np.diag([3.0, 12.0, 27.0]))


def test_methods_run_on_batches() -> None:
    batch = dk.stack([X, X + 1])
    close(func.vmap(cube)(batch), batch**3)
    close(func.vmap(func.grad(total))(batch), 3 * batch**2)
    close(func.grad(lambda x: func.vmap(cube)(x).sum())(batch), 3 * batch**2)
    close(func.vmap(func.vmap(cube))(batch), batch**3)


@pytest.mark.parametrize(
    "second",
    [
        func.hessian,
        lambda f: func.jacrev(func.jacrev(f)),
        lambda f: func.jacrev(func.jacfwd(f)),
        lambda f: func.jacfwd(func.jacfwd(f)),
    ],
)
def test_second_derivatives(second: Any) -> None:
    close(second(total)(X), np.diag([6.0, 12.0, 18.0]))
    close(func.vmap(second(total))(dk.stack([X, X]))[1], np.diag([6.0, 12.0, 18.0]))


class Product(Function):
    """Has a rule of its own for batches."""

    calls: list[tuple[Any, Any]] = []  # noqa: RUF012  # what the test looks at

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return a @ b

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g @ b.mT, a.mT @ g

    @staticmethod
    def vmap(info: Any, in_dims: Any, a: Any, b: Any) -> Any:
        Product.calls.append((info.batch_size, in_dims))
        return dk.moveaxis(a @ b, 0, 1), 1


class Generated(Product):
    generate_vmap_rule = True
    vmap = Function.vmap


def matrices() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return dk.asarray(rng.normal(size=(4, 2, 3))), dk.asarray(rng.normal(size=(3, 2)))


def test_a_rule_of_its_own_is_called() -> None:
    a, b = matrices()
    Product.calls.clear()
    close(func.vmap(Product.apply, in_dims=(0, None))(a, b), a @ b)
    assert Product.calls == [(4, (0, None))]


def test_the_gradient_of_what_the_batch_shares_is_the_sum() -> None:
    a, b = matrices()
    g = dk.ones((4, 2, 2))
    _, pull = func.vjp(lambda a, b: func.vmap(Generated.apply, in_dims=(0, None))(a, b), a, b)
    _, expected = func.vjp(lambda a, b: a @ b, a, b)
    for one, other in zip(pull(g), expected(g), strict=True):
        close(one, other)
    each = func.vmap(func.grad(lambda a, b: Generated.apply(a, b).sum(), argnums=(0, 1)), in_dims=(0, None))(a, b)
    assert [one.shape for one in each] == [(4, 2, 3), (4, 3, 2)]


def test_fields_of_an_array_type_are_followed() -> None:
    @dk.array_type()
    class Pair:
        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right

        shape, dtype = (), dk.float64

    class Times(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(p: Any) -> Any:
            return p.left * p.right

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (p,) = ctx.saved_tensors
            return Pair(g * p.right, g * p.left)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            (p,) = ctx.saved_tensors
            return t.left * p.right + p.left * t.right

    p = Pair(X, X + 1)
    found = func.grad(lambda p: Times.apply(p).sum())(p)
    close(found.left, X + 1)
    close(func.jvp(Times.apply, (p,), (Pair(dk.ones(3), dk.zeros(3)),))[1], X + 1)
    close(func.vmap(Times.apply)(p), X * (X + 1))
    close(func.vmap(func.grad(Times.apply))(p).right, X)


class Combined(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * t


def test_a_forward_with_the_context_has_jvp_but_no_batches() -> None:
    close(func.jvp(Combined.apply, (X,), (dk.ones(3),))[1], 2 * X)
    with pytest.raises(dk.AutogradError, match=r"Combined: In order to use an autograd\.Function with generate_vm"):
        func.vmap(Combined.apply)(X)


class Bare(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass


@pytest.mark.parametrize("materialize", [True, False])
def test_jvp_gets_zeros_for_tensors_without_tangents(materialize: bool) -> None:
    seen: list[Any] = []

    class Sum(Function):
        @staticmethod
        def forward(factor: Any, x: Any, places: Any, y: Any) -> Any:
            return x + factor * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(materialize)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            seen[:] = tangents
            return tangents[1]

    func.jvp(lambda x: Sum.apply(2, x, dk.arange(3), dk.ones(3)), (X,), (X,))
    assert seen[0] is seen[2] is None
    close(seen[1], X)
    assert seen[3] is None if not materialize else seen[3].tolist() == [0.0, 0.0, 0.0]


def test_a_tangent_of_what_is_not_differentiable_is_refused() -> None:
    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.clone()
            ctx.mark_non_differentiable(y)
            return x * 2, y

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return 2 * t, t

    with pytest.raises(dk.AutogradError, match=r"Both\.jvp returned a tangent at index 1, where .* return None there"):
        func.jvp(Both.apply, (X,), (X,))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(NotImplementedError, match="Bare: You must implement the jvp function"):
        func.jvp(Bare.apply, (X,), (X,))
    with pytest.raises(NotImplementedError, match=r"Bare: To use autograd\.Function with vmap"):
        func.vmap(Bare.apply)(X)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ((X, X), r"Bad.jvp returned an incorrect number of tangents \(expected 1, got 2\)"),
        (dk.ones(2), r"invalid tangent at index 0: the output has shape \(3,\), found a tensor of shape \(2,\)"),
        (1.0, "invalid tangent at index 0: .* found a float"),
    ],
)
def test_tangents_that_do_not_fit(returned: Any, text: str) -> None:
    class Bad(Bare):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return returned

    with pytest.raises(dk.AutogradError, match=text):
        func.jvp(Bad.apply, (X,), (X,))


def test_a_rule_for_batches_that_returns_no_pair() -> None:
    class Bad(Bare):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x

    with pytest.raises(dk.AutogradError, match=r"Bad.vmap must return a pair \(output, out_dims\)"):
        func.vmap(Bad.apply)(X)


class Times(Function):
    """The product of two arrays, whose gradients have its shape, whatever those of the arrays are."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y, g * x


@pytest.mark.parametrize("count", [1, 2, 3])  # as long as the axis that is stretched, and not
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2, 1)])
def test_gradients_of_stretched_inputs_are_summed_for_each_element_of_a_batch(
    shape: tuple[int, ...], count: int
) -> None:
    x = dk.asarray(np.random.default_rng(0).normal(size=(count, *shape)))
    y, weights = dk.asarray([[1.0, 2.0], [3.0, 5.0]]), dk.asarray([[1.0, 3.0], [7.0, 2.0]])
    for of_both in (
        func.grad(lambda x: (Times.apply(x, y) * weights).sum()),
        func.grad(lambda x: (x * y * weights).sum()),
    ):
        found = func.vmap(of_both)(x)
        close(found, dk.stack([of_both(one) for one in x]))
    close(func.vmap(func.grad(lambda x: (Times.apply(x, y) * weights).sum()))(x), found)


class Fixed(Function):
    """Has a gradient that knows nothing of its input."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x.sum()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return dk.asarray([2.0, 3.0])


def test_a_gradient_that_is_the_same_for_a_whole_batch_is_that_of_each_element() -> None:
    close(func.vmap(func.grad(lambda x: Fixed.apply(x)))(dk.ones((3, 2))), [[2.0, 3.0]] * 3)


class Doubled(Function):
    """Changes its input in place, and returns it."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.multiply_(2.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(*inputs)

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 2.0 * t


def test_forward_mode_gives_back_the_input_that_was_changed_in_place() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(dk.ones(2), dk.asarray([3.0, 4.0]))
        y = Doubled.apply(x)
        assert y is x
        primal, tangent = forward_ad.unpack_dual(x)
        assert (primal.tolist(), tangent.tolist()) == ([2.0, 2.0], [6.0, 8.0])


def saving(what: str, mode: str, *, dirty: bool) -> Any:
    class Saving(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            if dirty:
                ctx.mark_dirty(*inputs)
            getattr(ctx, mode)({"input": inputs[0], "output": output, "neither": None}[what])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * g

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return 3 * t

    return Saving.apply


@pytest.mark.parametrize("mode", ["save_for_backward", "save_for_forward"])
@pytest.mark.parametrize("what", ["input", "output"])
def test_what_is_both_an_input_and_an_output_is_not_saved(what: str, mode: str) -> None:
    apply = saving(what, mode, dirty=False)
    text = r"Saving: A input that has been returned as-is as output is being saved for backward.*x\.view_as\(x\)"
    for call in (
        lambda: apply(dk.ones(2)),
        lambda: func.grad(lambda x: apply(x).sum())(dk.ones(2)),
        lambda: func.jvp(apply, (dk.ones(2),), (dk.ones(2),)),
    ):
        with pytest.raises(AutogradError, match=text):
            call()


@pytest.mark.parametrize(("what", "dirty"), [("neither", False), ("input", True), ("output", True)])
def test_what_is_returned_may_be_saved_where_it_was_changed(what: str, dirty: bool) -> None:
    apply = saving(what, "save_for_backward", dirty=dirty)
    assert func.grad(lambda x: apply(dk.positive(x)).sum())(dk.ones(2)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("output", "axes"), [("one", (None,)), ("list", (None,)), ("tuple", [None])])
def test_axes_of_another_container_than_the_output_are_refused(output: str, axes: Any) -> None:
    kinds: Any = {"one": lambda x: x, "list": lambda x: [x], "tuple": lambda x: (x,)}

    class Zeros(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return kinds[output](dk.zeros(x.shape))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return kinds[output](dk.zeros(x.shape[1:])), axes

    text = rf"Zeros.vmap returned an incompatible \(out_dims, output\): out_dims is a {type(axes).__name__}, the output"
    with pytest.raises(AutogradError, match=text):
        func.vmap(Zeros.apply)(dk.ones((2, 3)))
