"""Methods of tensors that change them in place, their shapes too, and methods that are functions by other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.calling.allowed import allowed_names
from dispatchkit.as_torch.spelling import FUNCTIONS

SPELLED: Any = torch
A = torch.arange(6.0).reshape(2, 3)
SHAPES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], list[float]]] = {
    "t_": (lambda x: x.t_(), (3, 2), [0, 2, 4, 1, 3, 5]),
    "transpose_": (lambda x: x.transpose_(0, 1), (3, 2), [0, 2, 4, 1, 3, 5]),
    "swapaxes_": (lambda x: x.swapaxes_(0, -1), (3, 2), [0, 2, 4, 1, 3, 5]),
    "unsqueeze_": (lambda x: x.unsqueeze_(1), (2, 1, 3), [0, 1, 2, 3, 4, 5]),
    "squeeze_": (lambda x: x.unsqueeze_(0).squeeze_(), (2, 3), [0, 1, 2, 3, 4, 5]),
    "and more in place": (lambda x: x.t_().mul_(3.0), (3, 2), [0, 6, 12, 3, 9, 15]),
    "as_strided_": (lambda x: x.as_strided_((2, 2), (1, 2)), (2, 2), [0, 2, 1, 3, 0, 0]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_tensor_takes_another_shape_in_place_with_its_gradient(name: str) -> None:
    change, shape, gradient = SHAPES[name]
    x = A.clone().requires_grad_()
    y = x * 1.0
    assert change(y) is y
    assert y.shape == shape
    (y * torch.arange(float(y.numel())).reshape(shape)).sum().backward()
    assert x.grad.ravel().tolist() == gradient


def test_views_made_before_keep_their_shapes_and_the_memory() -> None:
    x = A.clone()
    row = x[0]
    x.t_()
    row.mul_(10.0)
    x[2, 1] = -1.0
    assert (x.tolist(), row.tolist()) == ([[0.0, 3.0], [10.0, 4.0], [20.0, -1.0]], [0.0, 10.0, 20.0])
    w = A.clone().requires_grad_()
    x = w * 1.0
    row = x[0]
    x.t_()
    x.mul_(3.0)
    (row * torch.arange(3.0)).sum().backward()
    assert w.grad.tolist() == [[0.0, 3.0, 6.0], [0.0, 0.0, 0.0]]


def test_the_shape_of_a_leaf_changes_where_nothing_is_recorded() -> None:
    x = A.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        x.t_()
    with torch.no_grad():
        x.t_()
    assert (x.is_leaf, x.requires_grad, x.shape) == (True, True, (3, 2))
    x.sum().backward()
    assert x.grad.shape == (3, 2)


def test_tensors_are_resized_in_their_memory() -> None:
    x = A.clone()
    assert x.resize_(3, 2).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert x.resize_as_(torch.ones(2)).tolist() == [0.0, 1.0]
    assert x.resize_((2, 2)).shape == (2, 2)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        x.requires_grad_().resize_(4)


def places(*numbers: int) -> Any:
    return torch.tensor(numbers)


CHANGES: dict[str, tuple[Callable[[Any], Any], list[list[float]]]] = {
    "index_put_": (
        lambda x: x.index_put_((places(0, 1), places(1, 2)), torch.tensor([9.0, 8.0])),
        [[0, 9, 2], [3, 4, 8]],
    ),
    "index_put_, added": (
        lambda x: x.index_put_((places(0, 0), places(1, 1)), torch.tensor([9.0, 8.0]), accumulate=True),
        [[0, 18, 2], [3, 4, 5]],
    ),
    "masked_scatter_": (lambda x: x.masked_scatter_(x > 3, torch.tensor([7.0, 8.0, 9.0])), [[0, 1, 2], [3, 7, 8]]),
    "scatter_reduce_": (
        lambda x: x.scatter_reduce_(1, torch.tensor([[0, 0, 1], [2, 2, 0]]), torch.full((2, 3), 5.0), "sum"),
        [[10, 6, 2], [8, 4, 15]],
    ),
    "index_reduce_": (
        lambda x: x.index_reduce_(0, places(0, 0), torch.full((2, 3), 3.0), "prod"),
        [[0, 9, 18], [3, 4, 5]],
    ),
    "put_": (lambda x: x.put_(places(1, 3), torch.tensor([7.0, 9.0])), [[0, 7, 2], [9, 4, 5]]),
    "cumsum_": (lambda x: x.cumsum_(1), [[0, 1, 3], [3, 7, 12]]),
    "cumprod_": (lambda x: x.cumprod_(dim=1), [[0, 0, 0], [3, 12, 60]]),
    "fmod_": (lambda x: x.fmod_(2.0), [[0, 1, 0], [1, 0, 1]]),
    "frac_": (lambda x: x.div_(2.0).frac_(), [[0, 0.5, 0], [0.5, 0, 0.5]]),
    "float_power_": (lambda x: x.float_power_(2), [[0, 1, 4], [9, 16, 25]]),
    "heaviside_": (lambda x: x.heaviside_(torch.full((2, 3), 0.5)), [[0.5, 1, 1], [1, 1, 1]]),
    "ldexp_": (lambda x: x.ldexp_(torch.ones(2, 3)), [[0, 2, 4], [6, 8, 10]]),
    "exp2_": (lambda x: x.exp2_(), [[1, 2, 4], [8, 16, 32]]),
    "addr_": (lambda x: x.addr_(torch.ones(2), torch.ones(3)), [[1, 2, 3], [4, 5, 6]]),
    "nan_to_num_": (lambda x: x.div_(x).nan_to_num_(7.0), [[7, 1, 1], [1, 1, 1]]),
    "apply_": (lambda x: x.apply_(lambda element: element + 0.5), [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]),
    "xlogy_": (lambda x: x.xlogy_(torch.ones(2, 3)), [[0, 0, 0], [0, 0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_elements_change_in_place(name: str) -> None:
    change, expected = CHANGES[name]
    x = A.clone()
    assert change(x) is x
    assert x.tolist() == expected


def test_every_function_that_pytorch_has_in_place_is_there() -> None:
    allowed = allowed_names("Tensor") or frozenset()
    forms = [f"{path}_" for path in FUNCTIONS if f"{path}_" in allowed]
    assert len(forms) > 120
    assert [name for name in forms if not callable(getattr(torch.Tensor, name, None))] == []


METHODS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "where": (lambda x: x.where(x > 2, torch.zeros(())), [[0, 0, 0], [3, 4, 5]]),
    "adjoint": (lambda x: x.adjoint(), [[0, 3], [1, 4], [2, 5]]),
    "hardshrink": (lambda x: x.hardshrink(2.5), [[0, 0, 0], [3, 4, 5]]),
    "prelu": (lambda x: (x - 3).prelu(torch.tensor(0.5)), [[-1.5, -1, -0.5], [0, 1, 2]]),
    "index_put": (lambda x: x.index_put((places(0),), torch.tensor(5.0)), [[5, 5, 5], [3, 4, 5]]),
    "unsafe_split_with_sizes": (lambda x: x.unsafe_split_with_sizes([1, 2], 1)[1], [[1, 2], [4, 5]]),
    "triangular_solve": (lambda x: x.triangular_solve(2 * torch.eye(2))[0], [[0, 0.5, 1], [1.5, 2, 2.5]]),
    "is_conj": (lambda x: torch.tensor(x.is_conj()), False),
    "multinomial": (lambda x: torch.tensor(x.multinomial(2).shape), [2, 2]),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_that_are_functions_by_another_name(name: str) -> None:
    call, expected = METHODS[name]
    assert call(A.clone()).tolist() == expected


def test_polygamma_is_a_method_with_its_order() -> None:
    np.testing.assert_allclose(torch.ones(1).polygamma(1).numpy(), np.pi**2 / 6)
    np.testing.assert_allclose(torch.ones(1).polygamma_(1).numpy(), np.pi**2 / 6)


def test_index_put_takes_a_tuple_of_tensors_and_elements_of_its_dtype() -> None:
    with pytest.raises(TypeError, match=r"index_put\(\): argument 'indices' .* must be tuple of Tensors, not Tensor"):
        A.index_put(places(0), torch.tensor(5.0))
    with pytest.raises(RuntimeError, match=r"destination dtypes match, got Double .* and Long"):
        A.index_put((places(0),), torch.tensor(5))


NUMBERS: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "add": (lambda: torch.add(2.0, torch.arange(3)), [2.0, 3.0, 4.0], "float64"),
    "sub": (lambda: torch.sub(2, torch.arange(3)), [2, 1, 0], "int64"),
    "mul": (lambda: torch.mul(2, 3.5), 7.0, "float64"),
    "div": (lambda: torch.div(1.0, torch.tensor([2.0], dtype=torch.float32)), [0.5], "float32"),
    "floor_divide": (lambda: torch.floor_divide(7, torch.tensor([1, 2])), [7, 3], "int64"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_first_operand_may_be_a_number(name: str) -> None:
    call, expected, dtype = NUMBERS[name]
    found = call()
    assert (type(found), found.tolist(), found.dtype.name) == (torch.Tensor, expected, dtype)
    with pytest.raises(TypeError, match=r"eq\(\) received an invalid combination of arguments"):
        torch.eq(2.0, A)


def test_integers_are_drawn_below_a_bound_by_name() -> None:
    assert set(torch.randint_like(torch.ones(50), high=2).tolist()) == {0.0, 1.0}


def test_tensors_have_attributes_of_ones_own() -> None:
    x: Any = torch.ones(2)
    x.note = "kept"
    assert x.note == "kept"
    assert not hasattr(x + 1, "note")
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        x.other  # noqa: B018  # it is looked up
    layer = nn.Linear(2, 2)
    layer.weight.decays = False
    assert layer.weight.decays is False


SHAPES_IN_PLACE = {
    "t_": (),
    "transpose_": (0, 1),
    "swapaxes_": (0, 1),
    "unsqueeze_": (0,),
    "squeeze_": (),
    "as_strided_": ((2, 2), (1, 2)),
    "resize_": (4,),
}


@pytest.mark.parametrize("name", SHAPES_IN_PLACE)
def test_what_was_saved_in_another_shape_is_not_read_backwards(name: str) -> None:
    weight: Any = SPELLED.ones(2, 2, requires_grad=True)
    x = SPELLED.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = weight * x
    getattr(x, name)(*SHAPES_IN_PLACE[name])
    assert x._version == 1
    with pytest.raises(RuntimeError, match="a value needed by the backward of MultiplyBackward was changed"):
        y.sum().backward()
    assert weight.grad is None


def test_a_result_that_was_given_another_shape_goes_backwards() -> None:
    x: Any = SPELLED.tensor([[1.0, 2.0]], requires_grad=True)
    y = x.exp().t_()
    (y * SPELLED.tensor([[1.0], [3.0]])).sum().backward()
    assert SPELLED.allclose(x.grad, SPELLED.tensor([[1.0, 3.0]]) * x.exp())


def test_a_shape_that_stays_is_no_change() -> None:
    x = SPELLED.ones(1)
    x.resize_((1, 2))
    x.resize_as_(SPELLED.ones(3))
    assert x._version == 2
    x.resize_(3)
    x.resize_as_(SPELLED.ones(3))
    assert x._version == 2
    view = SPELLED.ones(2, 2)[0]
    view.unsqueeze_(0).add_(1)
    assert view._version == 2


def test_set_inside_a_transformation_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"set_\(\): a tensor inside a transformation has no memory"):
        torch.func.jvp(lambda x: (x * 2).set_(), (torch.ones(2),), (torch.ones(2),))


def test_set_gives_a_tensor_the_memory_of_another() -> None:
    x, y = SPELLED.ones(2), SPELLED.zeros(3)
    assert x.set_(y) is x
    y[0] = 5.0
    assert x.tolist() == [5.0, 0.0, 0.0]
    assert SPELLED.ones(1).set_(SPELLED.arange(10.0), 3, (2, 2), (2, 1)).tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert x.set_().shape == (0,)
    with pytest.raises(
        RuntimeError, match=r"^Could not set tensor of type torch.int64 to a tensor of type torch.float64"
    ):
        x.set_(SPELLED.tensor([1]))
    with pytest.raises(TypeError, match=r"^set_\(\): argument 'source' must be a Tensor or a storage, not list"):
        x.set_([1.0])


def test_a_leaf_that_was_set_is_another_leaf() -> None:
    x = SPELLED.ones(2, requires_grad=True)
    edge, seen = SPELLED.autograd.graph.get_gradient_edge(x), list[Any]()
    x.register_hook(seen.append)
    y, square = x * 2.0, x * x
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.set_(SPELLED.zeros(3))
    with SPELLED.no_grad():
        x.set_(SPELLED.zeros(3))
    assert x.is_leaf
    assert x.requires_grad
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="the outputs do not depend on input 0"):
        SPELLED.autograd.grad(y.sum(), x, retain_graph=True)
    assert SPELLED.autograd.grad(y.sum(), edge)[0].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="was changed by an in-place operation"):
        square.sum().backward()
    x.grad = None
    (x * 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]
    assert len(seen) >= 2
    with pytest.raises(RuntimeError, match="the derivative for 'set_' is not implemented"):
        (x * 1.0).set_(SPELLED.zeros(3))


def test_operators_in_place_change_tensors_outside_the_graph_and_count_it() -> None:
    weight, step = nn.Parameter(torch.ones(3)), torch.full((3,), 2.0)
    y = (weight * weight).sum()
    for _ in range(2):  # the types are known from the first time on
        with torch.no_grad():
            weight -= 0.25 * step
    assert weight.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="is at version 2, expected version 0"):
        y.backward()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="leaf"):
            weight += step
    whole = torch.ones(3)
    view = whole[:2]
    for _ in range(2):
        whole += whole
        whole *= 2.0
    assert view.tolist() == [16.0, 16.0]
    integers = torch.ones(3, dtype=torch.int64)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot hold"):
            integers += torch.ones(3)
    assert integers.tolist() == [1, 1, 1]


def test_rules_answer_operators_in_place_once_they_are_there() -> None:
    x, other = torch.ones(3), torch.ones(3)
    x += other
    x += other
    with dk.local_registrations():

        @dk.implements(dk.add, torch.Tensor, torch.Tensor)
        def add_thrice(x1: Any, x2: Any, /) -> Any:
            return x1 * 3

        x += other
    assert x.tolist() == [9.0, 9.0, 9.0]
    x += other
    assert x.tolist() == [10.0, 10.0, 10.0]


def test_conversions_to_the_same_dtype_give_the_tensor_itself() -> None:
    x = torch.ones(3, dtype=torch.float32)
    assert x.float() is x
    assert x.double() is not x
    assert x.double().dtype == torch.float64
