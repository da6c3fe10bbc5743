"""Making tensors: what is copied, what shares memory, which dtype, and what is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign


def test_tensor_copies() -> None:
    a = np.array([1.0, 2.0])
    x = dk.tensor(a)
    a[0] = 9.0
    x[1] = 7.0
    assert x.tolist() == [1.0, 7.0]
    assert a.tolist() == [9.0, 2.0]


@pytest.mark.parametrize("make", [dk.asarray, dk.Tensor, dk.as_tensor, dk.from_dlpack])
def test_others_share_memory_both_ways(make: Callable[[Any], Any]) -> None:
    a = np.array([1.0, 2.0])
    x = make(a)
    a[0] = 9.0
    assert x.tolist() == [9.0, 2.0]
    x[1] = 7.0
    assert a.tolist() == [9.0, 7.0]


def test_the_library_of_an_array_computes_from_the_first_call_on() -> None:
    strict = pytest.importorskip("array_api_strict")
    known = foreign.copy()
    foreign.clear()
    try:
        for make in (dk.Tensor, dk.tensor, dk.asarray):
            foreign.clear()
            x = make(strict.asarray([0.0, 1.0]))
            assert isinstance(dk.exp(x).array, type(x.array))
    finally:
        foreign[:] = known


def test_numpy_shares_memory_both_ways() -> None:
    x = dk.tensor([1.0, 2.0])
    a = x.numpy()
    a[0] = 9.0
    x += 1
    assert x.tolist() == a.tolist() == [10.0, 3.0]
    assert type(a) is np.ndarray


def test_numpy_asks_for_a_tensor_outside_the_graph() -> None:
    x = dk.ones(1, requires_grad=True)
    message = r"numpy\(\) on a tensor that requires grad would lose the graph; use x.detach\(\).numpy\(\)"
    with pytest.raises(dk.AutogradError, match=message):
        x.numpy()
    with pytest.raises(dk.AutogradError, match=message):
        np.asarray(x)
    assert x.detach().numpy().tolist() == [1.0]
    with dk.no_grad():
        assert x.numpy().tolist() == [1.0]


def test_array_is_the_raw_array() -> None:
    a = np.array([1.0])
    assert dk.asarray(a).array is a
    assert type(dk.asarray(a.view(np.recarray)).array) is np.ndarray


def test_asarray_copies_when_asked_to() -> None:
    a = np.array([1.0])
    assert not np.shares_memory(dk.asarray(a, copy=True).array, a)
    assert np.shares_memory(dk.asarray(a, copy=False).array, a)
    with pytest.raises(ValueError, match="copy"):
        dk.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="copy"):
        dk.asarray(a, dtype=dk.float32, copy=False)


class Named(dk.Tensor):
    """A tensor of a subclass."""


@pytest.mark.parametrize(
    "x",
    [
        dk.ones(2),
        dk.tensor([1.0, 2.0], requires_grad=True),
        dk.tensor([1.0], requires_grad=True) * 2,
        dk.ones(2, dtype=dk.float32),
        Named([1.0]),
        dk.nn.Parameter(dk.ones(2)),
    ],
)
def test_asarray_of_a_tensor_that_is_as_asked_is_that_tensor(x: dk.Tensor) -> None:
    for asked in ({}, {"dtype": None}, {"dtype": x.dtype}, {"dtype": x.dtype.name}, {"device": "cpu"}, {"copy": False}):
        options: dict[str, Any] = asked
        assert dk.asarray(x, **options) is x
    other = dk.asarray(x, dtype=dk.complex64)
    assert other is not x
    assert other.dtype == np.complex64
    assert not np.shares_memory(dk.asarray(x, copy=True).array, x.array)
    assert not np.shares_memory(dk.tensor(x).array, x.array)


def test_asarray_of_a_tensor_of_another_library_is_that_tensor() -> None:
    strict = pytest.importorskip("array_api_strict")
    known = foreign.copy()
    try:
        x = dk.Tensor(strict.asarray([0.0, 1.0]))
        assert dk.asarray(x) is x
        assert dk.asarray(x, dtype=dk.float64, device=x.device) is x
        assert dk.asarray(x, dtype=dk.float32) is not x
    finally:
        foreign[:] = known


def test_asarray_that_makes_a_leaf_makes_a_new_one() -> None:
    x = dk.ones(2)
    leaf = dk.asarray(x, requires_grad=True)
    assert leaf.requires_grad
    assert not x.requires_grad


def test_gradients_and_batches_pass_asarray_inside_a_transformation() -> None:
    def doubled(x: Any) -> Any:
        return dk.asarray(x) * 2

    assert dk.func.vmap(doubled)(dk.ones((2, 2))).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert dk.func.grad(lambda x: doubled(x).sum())(dk.ones(2)).tolist() == [2.0, 2.0]


def test_modes_and_subclasses_are_asked_for_asarray() -> None:
    class Counting(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return "mode" if func is dk.asarray else NotImplemented

    class Own(dk.Tensor):
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "type" if func is dk.asarray else super().__tensor_function__(func, types, args, kwargs)

    x: Any = Own([1.0])
    assert dk.asarray(x) == "type"
    with Counting():
        assert dk.asarray(dk.ones(2)) == "mode"


def test_a_type_that_takes_its_tensor_by_asarray_can_be_trained() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Diagonal:
        def __init__(self, d: Any) -> None:
            self.d = dk.asarray(d)

        def to_dense(self) -> Any:
            return self.d * dk.eye(self.d.shape[0])

    p = dk.tensor([1.0, 2.0], requires_grad=True)
    d: Any = Diagonal(p)
    optimizer = dk.optim.Adam([("w", d)], lr=0.5)
    with dk.densify(on="allow"):
        dk.linalg.det(d).backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2.0, 1.0]
    optimizer.step()
    np.testing.assert_allclose(p.detach().numpy(), [0.5, 1.5])


def test_tensor_of_a_tensor_leaves_the_graph_and_asarray_stays_in_it() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    assert not dk.tensor(x).requires_grad
    dk.asarray(x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


DTYPES = [
    ([1, 2], "int64"),
    ([1.0, 2], "float64"),
    ([True, False], "bool"),
    (1j, "complex128"),
    (2, "int64"),
    (2.5, "float64"),
    (range(3), "int64"),
    (np.float32(1), "float32"),
    (np.array([1], dtype="uint8"), "uint8"),
    ([], "float64"),
    ([[1, 2], [3.5, 4]], "float64"),
    ([np.float32(1), np.float32(2)], "float32"),
]


@pytest.mark.parametrize("make", [dk.tensor, dk.asarray, dk.Tensor])
@pytest.mark.parametrize(("data", "dtype"), DTYPES)
def test_the_dtype_comes_from_the_data(make: Callable[[Any], Any], data: Any, dtype: str) -> None:
    x = make(data)
    assert x.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(x.numpy(), np.asarray(data))


@pytest.mark.parametrize("make", [dk.tensor, dk.asarray, dk.Tensor])
def test_the_dtype_can_be_given(make: Callable[..., Any]) -> None:
    for dtype in (dk.float32, "float32", np.float32):
        assert make([1, 2], dtype=dtype).dtype == dk.float32


def test_tensors_in_lists_are_joined() -> None:
    x = dk.tensor([dk.tensor(1.0), dk.tensor(2.0)])
    assert x.tolist() == [1.0, 2.0]


def test_asarray_of_a_list_of_tracked_tensors_says_to_stack() -> None:
    x = dk.ones((), requires_grad=True)
    with pytest.raises(dk.AutogradError, match=r"use stack\(tensors\)"):
        dk.asarray([x, x]).sum().backward()


def test_something_with_array_is_taken_in_by_asarray() -> None:
    class Other:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0])

    assert dk.asarray(Other()).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("data", ["a", ["a", "b"], None, object(), {"a": 1}, {1, 2}, [None]])
def test_what_is_no_number_is_refused(data: Any) -> None:
    wanted = "not an array of any library, a number, or a nested sequence of numbers"
    with pytest.raises(dk.ForeignArgumentError, match=f"dispatchkit.tensor: argument 'data' is .*, {wanted}"):
        dk.tensor(data)
    with pytest.raises(dk.ForeignArgumentError, match=f"dispatchkit.Tensor: argument 'data' is .*, {wanted}"):
        dk.Tensor(data)


@pytest.mark.parametrize("make", [dk.tensor, dk.asarray, dk.Tensor, lambda d, device: dk.zeros(2, device=device)])
def test_a_device_that_is_not_there_is_refused(make: Callable[..., Any]) -> None:
    assert make([1.0], device="cpu").device == "cpu"
    with pytest.raises(ValueError, match="cuda"):
        make([1.0], device="cuda")


def test_requires_grad_makes_a_leaf() -> None:
    for x in (dk.Tensor([1.0], requires_grad=True), dk.asarray([1.0], requires_grad=True)):
        assert x.requires_grad
        assert x.is_leaf


@pytest.fixture
def single_precision() -> Iterator[None]:
    dk.set_default_dtype(dk.float32)
    yield
    dk.set_default_dtype(dk.float64)


@pytest.mark.usefixtures("single_precision")
def test_python_floats_become_the_default_dtype() -> None:
    assert dk.get_default_dtype() == dk.float32
    made = [dk.tensor(1.0), dk.Tensor([1.0]), dk.asarray([1.5]), dk.ones(1), dk.randn(1), dk.arange(2.0), dk.eye(1)]
    assert [x.dtype for x in made] == [np.dtype("float32")] * len(made)
    assert dk.tensor(1j).dtype == dk.complex64


@pytest.mark.usefixtures("single_precision")
def test_arrays_and_integers_keep_their_dtype_whatever_the_default() -> None:
    assert dk.tensor(np.ones(1)).dtype == dk.float64
    assert dk.tensor([np.float64(1)]).dtype == dk.float64
    assert dk.tensor([1]).dtype == dk.int64


def test_the_default_dtype_is_float64_at_first() -> None:
    assert dk.get_default_dtype() == dk.float64


def test_the_default_dtype_is_a_floating_one() -> None:
    with pytest.raises(ValueError, match="the default is float32 or float64, found int64"):
        dk.set_default_dtype(dk.int64)


def test_dtypes_are_numpys() -> None:
    assert dk.double is dk.float64
    assert dk.float64 == np.dtype("float64")
    assert dk.float is dk.float32
    assert dk.long is dk.int64


class Length(np.ndarray):
    """An array with a unit, as astropy's quantities are."""

    unit = "m"


REFUSED = [
    (np.ma.array([1.0, 2.0], mask=[True, False]), r"MaskedArray, .*; give x\.filled\(value\), or x\.data"),
    (np.ones(2).view(Length), r"Length, .*; give x\.value to leave the unit out"),
    (np.ones((1, 2)).view(np.matrix), r"matrix, .*; give numpy\.asarray\(x\)"),
]


@pytest.mark.parametrize(("array", "text"), REFUSED)
@pytest.mark.parametrize(
    "call",
    [
        dk.asarray,
        dk.tensor,
        dk.Tensor,
        dk.data.TensorDataset,
        lambda x: dk.asarray([x, x]),
        lambda x: dk.Tensor([x, x]),
        lambda x: dk.ones(2) + x,
        lambda x: np.add(dk.ones(2), x),
        dk.exp,
        lambda x: dk.concat([x, x]),
        lambda x: dk.ones(2)[x > 1],
        lambda x: dk.ones((1, 2)).__setitem__(slice(None), x),
    ],
)
def test_an_array_that_means_more_than_its_elements_is_refused(array: Any, text: str, call: Any) -> None:
    with pytest.raises(dk.errors.ForeignArgumentError, match=text):
        call(array)


def test_a_subclass_that_means_no_more_is_taken(tmp_path: Any) -> None:
    a = np.memmap(tmp_path / "numbers", dtype=float, mode="w+", shape=(2,))
    x = dk.asarray(a)
    assert np.shares_memory(x.array, a)
    assert (x + a).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        ((3, 4), "write Tensor([3, 4]) for these elements, or dk.empty((3, 4)) for a tensor of this shape"),
        ((1.5, 2.5, 3.5), "write Tensor([1.5, 2.5, 3.5]) for these elements"),
    ],
)
def test_tensor_says_how_several_arguments_are_written(args: tuple[Any, ...], advice: str) -> None:
    with pytest.raises(TypeError) as caught:
        dk.Tensor(*args)
    assert str(caught.value) == f"Tensor takes one positional argument, data, found {len(args)}; {advice}"


def test_the_signature_of_tensor_shows_one_positional_argument() -> None:
    for cls in (dk.Tensor, type("Sub", (dk.Tensor,), {})):
        assert list(inspect.signature(cls).parameters) == ["data", "dtype", "device", "requires_grad"]
