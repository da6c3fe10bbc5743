"""What is written by the habit of another library gets an error that says what to write here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

UNRECORDED = (
    "the tensor to differentiate does not require grad and has no grad_fn: nothing it depends on requires a gradient; "
    "to differentiate a gradient, compute it with create_graph=True"
)


def test_a_second_derivative_names_create_graph() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    (g,) = dk.autograd.grad((x**3).sum(), x)
    (x**3).sum().backward()
    assert x.grad is not None
    for call in (lambda: dk.autograd.grad(g.sum(), x), g.sum().backward, x.grad.sum().backward):
        with pytest.raises(dk.AutogradError) as caught:
            call()
        assert str(caught.value) == UNRECORDED
    (g,) = dk.autograd.grad((x**3).sum(), x, create_graph=True)
    assert dk.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]


@pytest.mark.parametrize(
    ("keyword", "advice"),
    [("in_axes", "; did you mean 'in_dims'?"), ("out_axes", "; did you mean 'out_dims'?"), ("policy", "")],
)
def test_vmap_says_what_jaxs_keywords_are_called(keyword: str, advice: str) -> None:
    vmap: Any = dk.func.vmap
    with pytest.raises(TypeError) as caught:
        vmap(dk.sin, **{keyword: 0})
    assert str(caught.value) == f"vmap: got an unexpected keyword argument '{keyword}'{advice}"


@pytest.mark.parametrize("name", ["stack", "concat"])
def test_arrays_given_one_by_one_are_to_be_a_list(name: str) -> None:
    function: Any = getattr(dk, name)
    with pytest.raises(TypeError) as caught:
        function(dk.ones(2), dk.ones(2))
    text = f"dispatchkit.{name}: too many positional arguments; give the arrays in a list: {name}([x1, x2]); "
    assert str(caught.value).startswith(f"{text}its signature is {name}(arrays: ")


@pytest.mark.parametrize("name", ["meshgrid", "broadcast_arrays"])
def test_arrays_given_as_a_list_are_to_be_given_one_by_one(name: str) -> None:
    function: Any = getattr(dk, name)
    for given, found in (([dk.ones(2)], "list"), ((dk.ones(2),), "tuple")):
        with pytest.raises(dk.ForeignArgumentError) as caught:
            function(given)
        text = f"dispatchkit.{name}: argument 'arrays' holds a {found}, not an array; give them one by one"
        assert str(caught.value) == f"{text}: {name}(x1, x2)"


def test_a_result_is_assigned_rather_than_given_by_out() -> None:
    total: Any = dk.sum
    with pytest.raises(TypeError) as caught:
        total(dk.ones(2), out=dk.ones(()))
    text = "dispatchkit.sum: got an unexpected keyword argument 'out'; there is no out; assign the result, as in"
    assert str(caught.value).startswith(f"{text} out[...] = sum(...); its signature is sum(x: ")


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (dk.ones(2), ".1f", "tensor([1.0, 1.0])"),
        (dk.tensor([[1.0, 2.0], [3.0, 4.0]]), ".0f", "tensor([[1, 2],\n        [3, 4]])"),
        (dk.tensor(2.55), ".1f", "2.5"),
        (dk.asarray([1, 2]), "03d", "tensor([001, 002])"),
        (dk.ones(2, dtype="float32"), ".2e", "tensor([1.00e+00, 1.00e+00], dtype=float32)"),
        (dk.ones(2, requires_grad=True), ".1f", "tensor([1.0, 1.0], requires_grad=True)"),
        (dk.ones(2), "", "tensor([1., 1.])"),
        (dk.types.QuantityTensor(1.234, "m"), ".1f", "1.2 m"),
        (dk.types.QuantityTensor([1.234, 2.0], "m"), ".1f", "[1.2, 2.0] m"),
    ],
)
def test_a_format_applies_to_each_element(value: Any, spec: str, text: str) -> None:
    assert f"{value:{spec}}" == text


@pytest.mark.parametrize(
    "value", [dk.ones(2), dk.ones((0, 2)), dk.tensor(1.0), dk.types.QuantityTensor([1.0], "m"), dk.ones(2) + 1j]
)
def test_a_format_that_no_number_has_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^[Ii]nvalid format|^Unknown format code"):
        f"{value:nonsense}"


def test_an_array_of_pytorch_says_how_it_is_taken_in() -> None:
    torch = pytest.importorskip("torch")
    from dispatchkit.interop.torch import from_torch

    t = torch.ones(2, requires_grad=True)
    with pytest.raises(dk.ForeignArgumentError) as caught:
        dk.add(t, dk.ones(2))
    assert str(caught.value) == (
        "dispatchkit.add: argument 'x1' is a torch.Tensor, not an array; convert it with "
        "dispatchkit.interop.torch.from_torch, which keeps its graph, and bring the others to it with x.to(like=y)"
    )
    x = from_torch(t)
    total = dk.add(x, dk.ones(2).to(like=x)).sum()
    total.array.backward()
    np.testing.assert_array_equal(t.grad.numpy(), [1.0, 1.0])


def test_a_type_in_the_place_of_an_array_asks_for_an_instance() -> None:
    exp: Any = dk.exp
    with pytest.raises(dk.ForeignArgumentError) as caught:
        exp(dk.types.DiagonalTensor)
    assert str(caught.value) == "dispatchkit.exp: argument 'x' is a type, not an array; give an instance of it"


def test_one_sample_says_to_write_a_list() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Sampled:
        shape = (2,)
        dtype = dk.float64

        def to_dense(self) -> Any:
            return dk.ones(2)

    check: Any = dk.testing.check_type
    name = "test_one_sample_says_to_write_a_list.Sampled"
    with pytest.raises(TypeError) as caught:
        check(Sampled, Sampled())
    assert str(caught.value) == f"check_type: samples is one instance of {name}; write a list, [Sampled(...)]"
    coverage: Any = dk.coverage
    with pytest.raises(TypeError) as caught:
        coverage(Sampled, samples=Sampled())
    assert str(caught.value) == f"coverage: samples is one instance of {name}; write a list, [Sampled(...)]"


@dk.array_type(fallback=dk.fallback.dense)
class WithoutConstructor:
    shape = (2,)
    dtype = dk.float64

    def to_dense(self) -> Any:
        return dk.ones(2)


def test_a_type_without_constructor_is_checked() -> None:
    dk.testing.check_type(WithoutConstructor, [WithoutConstructor()], operations=[dk.add, dk.exp, dk.sum])


def test_attributes_that_no_constructor_names_are_to_be_declared() -> None:
    value = WithoutConstructor()
    value.extra = dk.ones(2)  # type: ignore[attr-defined]
    with pytest.raises(dk.RegistrationError) as caught:
        dk.func.grad(lambda x: dk.sum(x))(value)
    assert str(caught.value) == (
        "WithoutConstructor has neither dataclass fields nor a constructor to read them from; declare them: "
        "array_type(fields=('value', ...))"
    )
