"""`Parameter`: what it holds, what is computed with it, how it is copied."""

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.nn import Parameter


def test_results_are_plain_tensors() -> None:
    p = Parameter(dk.ones((2, 2)))
    for result in (p + 1, p @ p, p.T, p[0], p.sum(), dk.exp(p), p.detach(), p.data, dk.concat([p, p])):
        assert type(result) is dk.Tensor


def test_it_shares_memory_and_is_a_leaf() -> None:
    x = dk.ones(2, requires_grad=True)
    p = Parameter(x * 2)
    assert p.is_leaf
    assert p.requires_grad
    assert not Parameter(x, requires_grad=False).requires_grad
    p.data.fill_(5.0)
    assert p.tolist() == [5.0, 5.0]


def test_an_empty_one_and_integers() -> None:
    assert Parameter().shape == (0,)
    assert Parameter(dk.asarray([1]), requires_grad=False).dtype == np.int64
    with pytest.raises(dk.errors.AutogradError, match="only floating-point and complex tensors can require gradients"):
        Parameter(dk.asarray([1]))


def test_gradients_gather_in_it() -> None:
    p = Parameter(dk.tensor([1.0, 2.0]))
    (p * p).sum().backward()
    assert type(p.grad) is dk.Tensor
    assert p.grad.tolist() == [2.0, 4.0]


def test_it_prints_what_it_contains() -> None:
    assert repr(Parameter(dk.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"


def test_copies_and_pickles_are_parameters() -> None:
    p: Any = Parameter(dk.tensor([1.0, 2.0]), requires_grad=False)
    p.decays = True
    for made in (copy.deepcopy(p), pickle.loads(pickle.dumps(p)), copy.copy(p)):
        assert type(made) is Parameter
        assert made.tolist() == p.tolist()
        assert not made.requires_grad
        assert made.decays  # type: ignore[attr-defined]
    assert copy.copy(p).array is p.array


def test_a_deep_copy_leaves_the_gradient_behind() -> None:
    p = Parameter(dk.ones(1))
    p.sum().backward()
    assert copy.deepcopy(p).grad is None


class Metres(dk.Tensor):
    """A subclass with an attribute."""

    def __init__(self, data: Any, origin: str) -> None:
        super().__init__(data)
        self.origin = origin


def test_a_tensor_subclass_stays_what_it_is() -> None:
    x = Metres([1.0, 2.0], "sea level")
    p: Any = Parameter(x)
    assert isinstance(p, Metres)
    assert isinstance(p, Parameter)
    assert p.origin == "sea level"
    assert p.is_leaf
    assert p.requires_grad
    assert type(p * 2) is Metres
    assert (p * 2).origin == "sea level"  # type: ignore[attr-defined]
    assert type(Parameter(p)) is type(p)
    assert type(Parameter(dk.ones(2)) + x) is Metres
    for made in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert type(made) is type(p)
        assert made.origin == "sea level"
    assert repr(p) == "Parameter containing:\nMetres([1., 2.], requires_grad=True)"


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class Adapted:
    """A matrix plus one of low rank."""

    base: Any
    left: Any
    right: Any

    def to_dense(self) -> Any:
        return self.base + self.left @ self.right


def test_a_frozen_parameter_stays_frozen_inside_an_array_type() -> None:
    layer = dk.nn.Linear(3, 2)
    base: Any = layer.weight.requires_grad_(False)
    before = base.tolist()
    layer.weight = Parameter(Adapted(base, dk.zeros((2, 1)), dk.ones((1, 3))))
    weight: Any = layer.weight
    assert isinstance(weight, Parameter)
    assert [name for name, p in layer.named_parameters() if p.requires_grad] == ["weight.left", "weight.right", "bias"]
    assert not base.requires_grad
    assert Parameter(weight).base.requires_grad is False  # type: ignore[attr-defined]
    optimizer = dk.optim.AdamW(layer.parameters(), lr=0.1, weight_decay=0.5)
    with dk.densify(on="allow"):
        layer(dk.ones((4, 3))).sum().backward()
    optimizer.step()
    assert base.tolist() == before
    assert weight.base.grad is None  # type: ignore[attr-defined]
    assert weight.left.tolist() != [[0.0], [0.0]]  # type: ignore[attr-defined]


def test_plain_tensors_inside_an_array_type_are_trained_and_keep_their_flag() -> None:
    base = dk.ones((2, 2))
    weight: Any = Parameter(Adapted(base, dk.zeros((2, 1)), dk.ones((1, 2))))
    assert weight.base.requires_grad
    assert not base.requires_grad
    assert not Parameter(Adapted(base, base, base), requires_grad=False).left.requires_grad


@dk.array_type(fallback=dk.fallback.dense)
@dataclass
class LoRA:
    """A matrix that is a constant plus one of low rank."""

    base: dk.Tensor = dk.field(grad=False)
    left: dk.Tensor = dk.field()
    right: dk.Tensor = dk.field()

    def to_dense(self) -> Any:
        return self.base + self.left @ self.right


@dk.array_type(
    fallback=dk.fallback.dense,
    fields={"base": dk.field(grad=False), "left": dk.field(), "right": dk.field()},
)
class ByHand:
    """The same as a class that is no dataclass."""

    def __init__(self, base: dk.Tensor, left: dk.Tensor, right: dk.Tensor) -> None:
        self.base, self.left, self.right = base, left, right

    def to_dense(self) -> Any:
        return self.base + self.left @ self.right


BOTH = pytest.mark.parametrize("cls", [LoRA, ByHand])


def adapted(cls: Any, model: Any) -> Any:
    layer: Any = dk.nn.Linear(4, 3)
    layer.weight = Parameter(cls(model.weight, dk.full((3, 1), 0.5), dk.ones((1, 4))))
    return layer


@BOTH
def test_a_field_declared_a_constant_is_no_parameter(cls: Any) -> None:
    base = dk.randn(8, 8)
    base.requires_grad_(False)
    w: Any = Parameter(cls(base, dk.zeros((8, 1)), dk.ones((1, 8))))
    is_parameter = isinstance(w, Parameter)
    assert is_parameter
    assert w.base is base
    assert not base.requires_grad
    assert w.left.requires_grad
    assert w.right.requires_grad
    layer: Any = dk.nn.Linear(8, 8)
    layer.weight = w
    assert [name for name, _ in layer.named_parameters()] == ["weight.left", "weight.right", "bias"]
    assert list(layer.state_dict()) == ["weight.base", "weight.left", "weight.right", "bias"]
    assert [x.shape for x in dk.optim.SGD([w], lr=0.1).param_groups[0]["params"]] == [(8, 1), (1, 8)]
    assert dk.nn.utils.parameters_to_vector(w).shape == (16,)


@BOTH
def test_a_constant_field_and_the_model_it_came_from_are_bitwise_unchanged_by_training(cls: Any) -> None:
    model: Any = dk.nn.Linear(4, 3)
    before = {name: x.numpy().tobytes() for name, x in model.state_dict().items()}
    layer = adapted(cls, model)
    optimizer = dk.optim.AdamW(layer.parameters(), lr=0.1, weight_decay=0.5)
    left = layer.weight.left.tolist()
    for _ in range(3):
        optimizer.zero_grad()
        with dk.densify(on="allow"):
            (layer(dk.ones((2, 4))) ** 2).sum().backward()
        optimizer.step()
    assert layer.weight.left.tolist() != left
    assert model.weight.grad is None
    assert {name: x.numpy().tobytes() for name, x in model.state_dict().items()} == before


@BOTH
def test_a_constant_field_requires_no_gradient_whatever_the_model_it_came_from_does(cls: Any) -> None:
    model: Any = dk.nn.Linear(4, 3)
    layer = adapted(cls, model)
    layer.requires_grad_(False).requires_grad_()
    assert model.weight.requires_grad
    assert not layer.weight.base.requires_grad
    assert layer.weight.left.requires_grad
    with dk.no_grad():
        model.weight.zero_()
    assert layer.weight.base.tolist() == [[0.0] * 4] * 3


@BOTH
def test_a_constant_field_moves_with_the_module_and_not_with_its_model(cls: Any) -> None:
    model: Any = dk.nn.Linear(4, 3)
    layer = adapted(cls, model)
    layer.tied = layer.weight
    left = layer.weight.left
    layer.float()
    assert layer.weight is layer.tied
    assert layer.weight.left is left
    assert [x.dtype for x in layer.state_dict().values()] == [np.float32] * 7
    assert model.weight.dtype == np.float64


@BOTH
def test_a_state_dict_restores_a_constant_field(cls: Any) -> None:
    layer, other = (adapted(cls, dk.nn.Linear(4, 3)) for _ in range(2))
    other.load_state_dict(layer.state_dict())
    assert other.weight.base.tolist() == layer.weight.base.tolist()


def test_a_type_whose_numbers_are_all_constants_is_refused() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    @dataclass
    class Fixed:
        value: Any = dk.field(grad=False)

        def to_dense(self) -> Any:
            return self.value

    with pytest.raises(TypeError, match=r"Fixed holds no floating-point numbers in its fields \(value\) to train"):
        Parameter(Fixed(dk.ones(2)))


class Loud(Parameter):
    """A subclass of parameters with an override."""

    calls: list[str] = []  # noqa: RUF012  # what the test looks at

    def __init__(self, data: Any, volume: int = 1) -> None:
        super().__init__(data)
        self.volume = volume

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        cls.calls.append(func.__name__)
        return super().__tensor_function__(func, types, args, kwargs)


def test_subclasses_dispatch_and_their_results_are_plain() -> None:
    p = Loud(dk.ones(2), volume=3)
    assert p.volume == 3
    assert type(p + 1) is dk.Tensor
    assert Loud.calls[-1] == "add"
    assert isinstance(p, Parameter)


class Proud(Parameter):
    """A subclass whose results are of its class."""

    __dispatch_results__ = None


def test_a_subclass_may_say_what_its_results_are() -> None:
    assert type(Proud(dk.ones(2)) + 1) is Proud


def test_a_tensor_inside_vmap_cannot_be_one() -> None:
    with pytest.raises(dk.errors.TransformError, match=r"a tensor inside vmap cannot be one.*functional_call"):
        dk.func.vmap(lambda x: Parameter(x))(dk.ones((2, 3)))


@dk.array_type()
@dataclass(frozen=True)
class Pair:
    """An array type with arrays, another type, and constants inside."""

    left: Any
    right: Any
    order: Any = None
    name: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.left.shape)


def test_an_array_type_holds_parameters() -> None:
    original = Pair(dk.ones(2), dk.types.ScalarTensor(2, dk.tensor(3.0)), dk.asarray([1, 0]), "both")
    p: Any = Parameter(original)
    assert type(p) is Pair
    assert isinstance(p, Parameter)
    assert type(p.left) is Parameter
    assert type(p.right.value) is Parameter
    assert type(p.order) is dk.Tensor
    assert p.name == "both"
    assert type(original.left) is dk.Tensor
    assert not isinstance(original, Parameter)
    assert not Parameter(original, requires_grad=False).left.requires_grad


def test_numbers_in_fields_become_parameters_as_they_are_differentiated() -> None:
    p: Any = Parameter(dk.types.ScalarTensor(3, 2.0))
    assert p.value.shape == ()
    assert p.n == 3
    mixed: Any = Parameter(Pair(np.ones(2), 2.0, 1, "numbers"))
    assert type(mixed.left) is type(mixed.right) is Parameter
    assert mixed.order == 1


def test_an_array_type_without_floating_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Pair holds no floating-point numbers in its fields \(left, right, "):
        Parameter(Pair(dk.asarray([1]), None))


def test_other_values_are_no_parameters() -> None:
    class NoFields:
        """Takes part, but its constructor tells no fields."""

        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    for value in (1, None, "weight", dk.ones(1), np.ones(1), [Parameter(dk.ones(1))], NoFields(), dk.nn.Module()):
        assert not isinstance(value, Parameter)
