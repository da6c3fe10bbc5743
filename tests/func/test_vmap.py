"""`vmap`: axes, containers, randomness, loops, changes in place, and what it refuses."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.errors import LoopWarning, TransformError
from dispatchkit.func import grad, vmap
from tests.func.support import agree, one_by_one

PAIR = dk.tensor([[1.0, 2.0], [3.0, 4.0]])


class Point(NamedTuple):
    x: Any
    rest: list[Any]


@given(st.data())
def test_any_axis_in_and_out(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    ndims = [data.draw(st.integers(1, 4)) for _ in range(2)]
    dims = tuple(data.draw(st.sampled_from([None, *range(-n, n)])) for n in ndims)
    if dims == (None, None):
        dims = (0, None)
    # The axes broadcast: lengths 1 and 2, but for the batch, which is 3 long.
    inputs = []
    for n, dim in zip(ndims, dims, strict=True):
        shape = list(rng.integers(1, 3, size=n))
        for i in range(n):
            shape[i] = 2 if shape[i] == 2 else 1
        if dim is not None:
            shape[dim] = 3
        inputs.append(dk.tensor(rng.normal(size=shape)))

    def func(x: Any, y: Any) -> Any:
        return dk.sin(x) * y + x

    expected = one_by_one(func, dims, *inputs)[0]
    out = data.draw(st.integers(-expected.ndim, expected.ndim - 1))
    agree(vmap(func, in_dims=dims, out_dims=out)(*inputs), np.moveaxis(expected, 0, out))


def test_containers_in_and_out() -> None:
    given = Point({"a": PAIR}, [PAIR.T, dk.tensor([5.0, 6.0])])
    found = vmap(
        lambda p: {"sum": p.x["a"] + p.rest[0], "rest": Point(p.rest[1] * 2, [p.x["a"]])},
        in_dims=(Point({"a": 0}, [1, None]),),
        out_dims={"sum": 1, "rest": 0},
    )(given)
    assert isinstance(found["rest"], Point)
    np.testing.assert_array_equal(found["sum"].numpy(), 2 * PAIR.numpy().T)
    np.testing.assert_array_equal(found["rest"].x.numpy(), [[10.0, 12.0]] * 2)
    np.testing.assert_array_equal(found["rest"].rest[0].numpy(), PAIR.numpy())


def test_one_dim_holds_for_a_whole_container() -> None:
    agree(vmap(lambda d: d["a"] * d["b"], in_dims=1, out_dims=1)({"a": PAIR, "b": PAIR}), PAIR * PAIR)


def test_what_is_no_array_is_passed_on() -> None:
    seen = []

    def func(x: Any, options: Any, factor: float) -> Any:
        seen.append(options)
        return x * factor

    agree(vmap(func)(PAIR, {"name": "n", "none": None}, 2.0), 2 * PAIR)
    assert seen == [{"name": "n", "none": None}]


def test_keywords_are_batched_along_their_first_axis() -> None:
    def func(x: Any, *, weight: Any) -> Any:
        return x @ weight

    agree(vmap(func)(PAIR, weight=PAIR), [dk.sum(PAIR * PAIR, axis=1)])


def test_an_output_that_is_the_same_for_all() -> None:
    same, own = vmap(lambda x: (dk.ones(2), x), out_dims=(None, 0))(PAIR)
    assert same.shape == (2,)
    agree(own, PAIR)
    assert vmap(lambda x: dk.ones(3))(PAIR).shape == (2, 3)
    agree(vmap(lambda x: 3)(PAIR), np.asarray([3, 3]))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 9])
def test_chunks_change_nothing(chunk_size: int) -> None:
    x = dk.tensor(np.arange(10.0).reshape(5, 2))
    calls: list[None] = []

    def func(x: Any, y: Any) -> Any:
        calls.append(None)
        return {"a": x * y, "b": [x.sum()]}

    found = vmap(func, in_dims=(0, None), out_dims={"a": -1, "b": 0}, chunk_size=chunk_size)(x, dk.ones(2))
    agree(found["a"], x.T)
    agree(found["b"], [x.sum(axis=1)])
    assert len(calls) == -(-5 // chunk_size)


def test_of_numpy_arrays_and_array_methods() -> None:
    agree(vmap(lambda x: x.sin().reshape(-1).sum(0))(PAIR.numpy()), dk.sin(PAIR).sum(axis=1))
    agree(vmap(lambda x: np.multiply(np.asarray([1.0, 2.0]), x))(PAIR), PAIR * dk.tensor([1.0, 2.0]))


def test_what_a_function_sees() -> None:
    def func(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, len(x), x.nbytes, x.itemsize) == ((2,), 1, 2, 2, 16, 8)
        assert (x.dtype, x.device, x.is_floating_point(), x.is_complex()) == (dk.float64, "cpu", True, False)
        assert isinstance(x, dk.Tensor)
        assert not x.requires_grad
        assert x.is_leaf
        assert "Batched" in repr(x)
        assert [part.shape for part in x] == [(), ()]
        assert x.to(dk.float32).double().type_as(x).dtype == dk.float64
        return x.new_tensor([1.0, 1.0]) + x.contiguous().cpu().detach()

    agree(vmap(func)(PAIR), PAIR + 1)


# Randomness.


def normal(x: Any) -> Any:
    return x + dk.random.normal(shape=(3,))


@pytest.mark.parametrize("func", [normal, lambda x: x + dk.rand(3), lambda x: dk.rand_like(x * dk.ones(3))])
def test_random_numbers_of_a_batch(func: Callable[[Any], Any]) -> None:
    x = dk.zeros(4)
    same = vmap(func, randomness="same")(x).numpy()
    different = vmap(func, randomness="different")(x).numpy()
    assert same.shape == different.shape == (4, 3)
    assert (same == same[0]).all()
    assert len(np.unique(different)) == 12
    with pytest.raises(TransformError, match=r"vmap: dispatchkit\.\S+ draws random numbers; say vmap\(\.\.\., randomn"):
        vmap(func)(x)


def test_random_numbers_of_batches_of_batches() -> None:
    inner = vmap(normal, randomness="different")
    assert len(np.unique(vmap(inner, randomness="different")(dk.zeros((2, 2))).numpy())) == 12
    shared = vmap(inner, randomness="same")(dk.zeros((2, 2))).numpy()
    np.testing.assert_array_equal(shared[0], shared[1])
    assert len(np.unique(shared)) == 6
    other = vmap(vmap(normal, randomness="same"), randomness="different")(dk.zeros((2, 2))).numpy()
    np.testing.assert_array_equal(other[:, 0], other[:, 1])
    assert len(np.unique(other)) == 6


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_shuffling_a_batch(axis: int) -> None:
    x = dk.tensor(np.arange(120.0).reshape(2, 6, 10))

    def shuffle(x: Any) -> Any:
        return dk.random.permutation(x, axis=axis)

    same = vmap(shuffle, randomness="same")(x).numpy()
    different = vmap(shuffle, randomness="different")(x).numpy()
    np.testing.assert_array_equal(same[1], same[0] + 60)
    assert (different[1] != different[0] + 60).any()
    for found in (same, different):
        np.testing.assert_array_equal(np.sort(found, axis=axis % 2 + 1), x.numpy())
    with pytest.raises(TransformError, match=r"vmap: dispatchkit\.random\.permutation draws random numbers"):
        vmap(shuffle)(x)


def test_probabilities_of_a_batch() -> None:
    p = dk.tensor([0.0, 0.5, 1.0])
    for randomness in ("same", "different"):
        found = vmap(lambda p: dk.random.bernoulli(p, shape=(50,)), randomness=randomness)(p).numpy()
        assert found.shape == (3, 50)
        assert (found[0] == 0).all()
        assert (found[2] == 1).all()
        assert 0 < found[1].mean() < 1


def test_a_seed_repeats_random_numbers() -> None:
    found = []
    for _ in range(2):
        dk.manual_seed(3)
        found.append(vmap(normal, randomness="different")(dk.zeros(2)).numpy())
    np.testing.assert_array_equal(*found)


# Loops.


@dk.operation(decomposes=False)
def sorted_by_numpy(xp: Any, x: Any, /) -> Any:
    """Nobody can follow what happens here."""
    return np.sort(x)


@dk.overridable
def branching(x: Any, factor: float = 2.0) -> Any:
    return x * factor if x.sum() > 5 else -x


@dk.overridable
def by_numpy(x: Any) -> Any:
    return dk.asarray(np.sin(x.numpy())), x * 2


@pytest.mark.parametrize("func", [sorted_by_numpy, branching, by_numpy])
def test_what_cannot_be_followed_is_called_for_each_element(func: Callable[..., Any]) -> None:
    x = dk.tensor([[3.0, 1.0], [4.0, 5.0], [0.0, -1.0]])
    with pytest.warns(LoopWarning, match=rf"{func.__name__} has no rule for batches .* called 3 times") as caught:
        found = vmap(func)(x)
    assert caught[0].filename == __file__
    agree(found, one_by_one(func, [0], x))


def test_an_operation_that_declares_its_axis_is_computed_at_once() -> None:
    shapes = []

    @dk.operation(axis="dim", decomposes=False)
    def ordered(xp: Any, x: Any, /, *, dim: int | tuple[int, ...] | None = -1) -> Any:
        shapes.append(x.shape)
        return np.sort(x, axis=dim)  # type: ignore[arg-type]  # nobody gives several

    x = dk.asarray(np.random.default_rng(0).normal(size=(2, 3, 4)))
    for dim in (0, -1):
        np.testing.assert_array_equal(
            vmap(lambda one, dim=dim: ordered(one, dim=dim))(x).numpy(), np.sort(x.numpy(), dim or 1)
        )
    np.testing.assert_array_equal(vmap(vmap(ordered))(x).numpy(), np.sort(x.numpy()))
    assert shapes == [(2, 3, 4)] * 3
    with pytest.raises(ValueError, match="ordered: axis 2 is out of bounds for array of dimension 2"):
        vmap(lambda one: ordered(one, dim=2))(x)


def test_a_parameter_that_is_to_count_axes_exists() -> None:
    with pytest.raises(dk.RegistrationError, match="f has no parameter 'axis' to count axes; it has x, dim"):

        @dk.operation(axis="axis")
        def f(xp: Any, x: Any, /, *, dim: int = 0) -> Any:
            return x


def test_a_loop_over_several_arguments_and_levels() -> None:
    @dk.operation(decomposes=False)
    def multiplied(xp: Any, x: Any, y: Any, /, *, scale: float = 1.0) -> Any:
        return np.asarray(x) * np.asarray(y) * scale

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        found = vmap(vmap(lambda x, y: multiplied(x, y, scale=3.0), in_dims=(0, None)), in_dims=(None, 0))(PAIR, PAIR)
    np.testing.assert_array_equal(found.numpy(), 3 * PAIR.numpy()[None] * PAIR.numpy()[:, None])


def test_an_overridable_function_with_a_body_to_follow_does_not_loop() -> None:
    calls: list[None] = []

    @dk.overridable
    def soft(x: Any, y: Any = 2.0) -> Any:
        calls.append(None)
        return dk.tanh(x) * y

    agree(vmap(soft)(PAIR), 2 * dk.tanh(PAIR))
    assert len(calls) == 1


# Changes in place.


def changed(x: Any) -> Any:
    y = x.clone()
    y += x
    y *= 2
    y[0] = x[1] * 3
    y.add_(1.0).mul_(x)
    return y


def test_changes_in_place_are_those_of_a_loop() -> None:
    agree(vmap(changed)(PAIR), one_by_one(changed, [0], PAIR))
    gradient = grad(lambda x: changed(x).sum())
    agree(vmap(gradient)(PAIR), one_by_one(gradient, [0], PAIR))


def test_a_change_in_place_of_an_argument_reaches_what_it_was_made_of() -> None:
    x = dk.tensor([1.0, 2.0])

    def increment(x: Any) -> Any:
        x += 1
        return x

    vmap(increment)(x)
    np.testing.assert_array_equal(x.numpy(), [2.0, 3.0])


def test_what_differs_cannot_be_added_to_what_does_not() -> None:
    total = dk.zeros(2)

    def func(x: Any) -> Any:
        nonlocal total
        total += x
        return total

    with pytest.raises(TransformError, match="cannot be assigned into a tensor that is the same for all"):
        vmap(func)(PAIR)
    np.testing.assert_array_equal(total.numpy(), [0.0, 0.0])


def test_a_change_in_place_to_another_shape_is_refused() -> None:
    def func(x: Any) -> Any:
        x += dk.ones((2, 1))
        return x

    with pytest.raises(ValueError, match=r"add_: the result has shape \(2, 2\), the tensor changed in place \(2,\)"):
        vmap(func)(PAIR)


# What is refused.

NO_VALUE = (
    r"vmap: a batch has no single value, so item\(\), bool\(\), int\(\) and float\(\) cannot follow it; branch with"
)
NO_ARRAY = "a tensor inside vmap has no array of its own: write the function in terms of dispatchkit's operations"


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (lambda x: x.item(), NO_VALUE),
        (lambda x: x if x[0] > 0 else -x, NO_VALUE),
        (lambda x: float(x[0]), NO_VALUE),
        (lambda x: int(x[0]), NO_VALUE),
        (lambda x: [1.0, 2.0][x[0].to(dk.int64)], NO_VALUE),
        (lambda x: x.tolist(), NO_VALUE),
        (lambda x: 1.0 in x, NO_VALUE),
        (lambda x: x.numpy(), NO_ARRAY),
        (lambda x: np.asarray(x), NO_ARRAY),
        (lambda x: x.array, NO_ARRAY),
        (lambda x: np.from_dlpack(x), NO_ARRAY),
        (lambda x: x.sum().backward(), "backward, hooks and retained gradients belong to tensors outside of vmap; "),
        (lambda x: x.register_hook(print), "backward, hooks and retained gradients"),
        (lambda x: x.requires_grad_(), "requires_grad cannot be set inside vmap; use dispatchkit.func.grad there"),
        (lambda x: pickle.dumps(x), "a tensor inside vmap cannot be pickled or copied"),
    ],
)
def test_what_needs_the_value_of_a_batch_is_refused(func: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TransformError, match=message):
        vmap(func)(PAIR)


def identity(*args: Any, **kwargs: Any) -> Any:
    return args


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vmap(identity)(PAIR, dk.ones(3)), ValueError, "vmap: batches differ in length: 2, 3"),
        (lambda: vmap(identity, None)(PAIR), ValueError, "vmap: no argument is batched; in_dims must name an axis"),
        (lambda: vmap(identity)(), ValueError, "vmap: no argument is batched"),
        (lambda: vmap(identity, 0, None)(PAIR), ValueError, "an output differs within the batch, but out_dims is None"),
        (lambda: vmap(identity, 0, 5)(PAIR), IndexError, "vmap: out_dims: axis 5 is out of bounds"),
        (
            lambda: vmap(identity, 2)(PAIR),
            ValueError,
            r"in_dims=2 asks for an axis that an array of shape \(2, 2\) has",
        ),
        (lambda: vmap(identity, (0, 0))(PAIR), ValueError, "vmap: in_dims has 2 entries for 1 arguments"),
        (
            lambda: vmap(identity, "a")(PAIR),
            TypeError,
            "in_dims must be an integer or None for each array, found a str",
        ),
        (
            lambda: vmap(identity, ({"b": 0},))({"a": PAIR}),
            ValueError,
            r"vmap: in_dims: the container at \[0\] is a dict with 'a', but what goes with it is a dict with 'b'",
        ),
        (
            lambda: vmap(identity, 0, (0, 0))(PAIR),
            ValueError,
            "vmap: out_dims: the container at the top is a tuple of length 1, but what goes with it is a tuple of leng",
        ),
        (lambda: vmap(identity, randomness="no"), ValueError, "randomness must be 'error', 'same' or 'different', not"),  # type: ignore[arg-type]
        (lambda: vmap(identity, chunk_size=0), ValueError, "vmap: chunk_size must be at least 1, not 0"),
        (lambda: vmap(lambda x: "s")(PAIR), TypeError, "vmap: the function must return tensors, found a str"),
        (lambda: vmap(lambda x: None)(PAIR), TypeError, "vmap: the function must return tensors, found a NoneType"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_batch_that_has_left_is_refused_by_gradients() -> None:
    kept: list[Any] = []

    def leak(x: Any) -> Any:
        kept.append(x)
        return x

    vmap(leak)(PAIR)
    with pytest.raises(
        TransformError,
        match=r"^dispatchkit\.multiply: a tensor from inside a function under vmap was used after vmap had ended; ",
    ):
        grad(lambda x: (x * kept[0]).sum())(dk.ones(2))


@pytest.mark.parametrize("x", [dk.types.DiagonalTensor([1.0, 2.0]), dk.types.ToeplitzTensor([2.0, 1.0])])
def test_an_array_type_whose_fields_are_no_batch_is_refused(x: Any) -> None:
    name = type(x).__name__
    with pytest.raises(ValueError, match=f"a {name} is split along its first axis, and the parts make no {name}"):
        vmap(identity)(x)


def test_batches_of_the_fields_of_a_type_that_differ_in_length_are_told_from_others() -> None:
    low_rank = dk.types.LowRankTensor(dk.ones((2, 1)), dk.ones((1, 2)))
    with pytest.raises(ValueError, match="2, 1; those of a LowRankTensor are the first axes of its fields"):
        vmap(identity)(low_rank)
