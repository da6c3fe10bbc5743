"""Tensors that hold arrays of other libraries: what they say of themselves, become, share and refuse."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign, namespace_of
from dispatchkit.errors import AutogradError, InplaceError, MixedArraysError
from tests.declared import flat
from tests.test_foreign_arrays import Make, make

__all__ = ["make"]

VALUES = np.arange(6.0).reshape(2, 3)


def test_a_tensor_says_what_it_would_of_numpys_array(make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, len(x)) == ((2, 3), 2, 6, 8, 48, 2)
    assert x.dtype == dk.float64
    assert isinstance(x.dtype, np.dtype)
    assert x.device == make(VALUES).device
    assert x.is_floating_point()
    assert not x.is_complex()
    assert x.is_contiguous()
    assert x.__array_namespace__() is dk
    assert dk.isdtype(x.dtype, "real floating")


def test_it_prints_as_numpys_array_does(make: Make) -> None:
    for values in (VALUES, VALUES.astype(np.float32), VALUES > 2, np.asarray(0.1), np.zeros((0, 2))):
        x, expected = dk.Tensor(make(values)), dk.Tensor(values)
        assert repr(x) == repr(expected)
        assert x._repr_html_() == expected._repr_html_()
    tracked = dk.Tensor(make(VALUES), requires_grad=True)
    assert repr(tracked.sum()) == "tensor(15., grad_fn=<SumBackward>)"
    assert f"{tracked[0, 1]:.2f}" == "1.00"


def test_it_becomes_numbers_lists_and_numpys_arrays(make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    np.testing.assert_array_equal(x.numpy(), VALUES)
    np.testing.assert_array_equal(np.asarray(x), VALUES)
    np.testing.assert_array_equal(np.from_dlpack(x), VALUES)
    assert x.tolist() == VALUES.tolist()
    assert [type(value) for value in (x[1, 2].item(), (x > 2)[1, 2].item())] == [float, bool]
    assert dk.Tensor(make(np.asarray(2 + 1j))).item() == 2 + 1j
    assert (float(x[1, 2]), int(x[1, 2]), bool(x[1, 2]), 5.0 in x) == (5.0, 5, True, True)
    assert [10, 20][dk.Tensor(make(np.asarray(1)))] == 20
    assert type(dk.from_dlpack(x).array) is np.ndarray


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_library_and_gradient(copied: Callable[[Any], Any], make: Make) -> None:
    x = dk.Tensor(make(VALUES), requires_grad=True)
    y = copied(x)
    assert type(y.array) is type(x.array)
    (y * y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), 2 * VALUES)


def test_asarray_shares_and_tensor_copies(make: Make) -> None:
    raw = make(VALUES)
    x = dk.asarray(raw)
    assert x.array is raw or np.may_share_memory(x.numpy(), np.from_dlpack(raw))
    assert type(dk.tensor(raw).array) is type(raw)
    assert not np.may_share_memory(dk.tensor(raw).numpy(), x.numpy())
    assert dk.asarray(raw, dtype=dk.float32).dtype == dk.float32
    assert dk.asarray(x, dtype="float32").dtype == dk.float32


def test_what_is_made_in_the_likeness_of_it_is_of_its_library(make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    cls = type(x.array)
    for like in (dk.zeros_like, dk.ones_like, dk.empty_like, dk.rand_like, dk.randn_like, dk.random.permutation):
        assert type(like(x).array) is cls, like.__name__
    assert type(dk.full_like(x, 2.0).array) is cls
    assert type(x.new_tensor([1, 2]).array) is cls
    assert x.new_tensor([1, 2]).dtype == x.dtype
    assert type(x.float().double().to(dk.complex128).array) is cls


def test_without_a_source_the_device_tells_the_library(make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    cls = type(x.array)
    assert type(dk.zeros(2).array) is np.ndarray
    assert type(dk.zeros(2, device=x.device).array) is cls
    assert type(dk.asarray([1.0, 2.0], device=x.device).array) is cls
    assert type(dk.randn(2, device=x.device).array) is cls
    np.testing.assert_array_equal((dk.eye(2, device=x.device) @ x).numpy(), VALUES)


def test_an_own_operation_makes_its_constants_in_the_library_of_its_arguments(make: Make) -> None:
    @dk.operation(kind=dk.kinds.function)
    def shifted(xp: Any, x: dk.Tensor, /) -> Any:
        row = xp.arange(3, dtype=x.dtype) + xp.asarray(0.5)
        return x * row + xp.eye(2, 3)

    x = dk.Tensor(make(VALUES), requires_grad=True)
    for y in (shifted(x), shifted(x.detach())):
        assert type(y.array) is type(x.array)
        np.testing.assert_array_equal(y.detach().numpy(), VALUES * [0.5, 1.5, 2.5] + np.eye(2, 3))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "dispatchkit.add": lambda x, other: x + other,
    "dispatchkit.subtract": lambda x, other: other - x,
    "dispatchkit.matmul": lambda x, other: x @ other.T,
    "dispatchkit.where": lambda x, other: dk.where(x > 2, x, other),
    "dispatchkit.concat": lambda x, other: dk.concat([x, other]),
    "dispatchkit.getitem": lambda x, other: x[dk.asarray(other) > 0],
    "dispatchkit.setitem": lambda x, other: dk.tensor(x).__setitem__(..., other),
    "dispatchkit.diff": lambda x, other: dk.diff(x, prepend=other),
    "dispatchkit.logsumexp": lambda x, other: dk.logsumexp(dk.stack([x, other])),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("as_tensor", [True, False])
def test_libraries_do_not_mix(name: str, as_tensor: bool, make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    if namespace_of(x.array).takes_numpy:
        pytest.skip("the library takes NumPy's arrays; tests/backends/test_mixing.py has what comes of that")
    other = dk.ones((2, 3)) if as_tensor else np.ones((2, 3))
    with pytest.raises(MixedArraysError, match=r"one array is of .* another of .* bring both to one") as caught:
        CALLS[name](x, other)
    text = str(caught.value)
    assert text.startswith(name if name != "dispatchkit.logsumexp" else "dispatchkit.stack")
    assert "numpy on cpu" in text
    assert namespace_of(x.array).__name__ in text


def test_indices_of_numpys_go_with_any_library(make: Make) -> None:
    rows, mask = np.array([1, 1, 0]), np.array([True, False])
    x = dk.Tensor(make(VALUES), requires_grad=True)
    keys: list[Any] = [rows, mask, (rows, rows[::-1]), (..., rows)]
    for key in keys:
        y = x[key]
        assert type(y.array) is type(x.array)
        np.testing.assert_array_equal(y.detach().numpy(), VALUES[key])
        (slopes,) = dk.autograd.grad((y * y).sum(), [x])
        wanted = np.zeros_like(VALUES)
        np.add.at(wanted, key, 2 * VALUES[key])
        np.testing.assert_array_equal(slopes.numpy(), wanted)
    changed, wanted = dk.Tensor(make(VALUES.copy())), VALUES.copy()
    changed[mask] = 5.0
    wanted[mask] = 5.0
    np.testing.assert_array_equal(changed.numpy(), wanted)
    added = dk.index_put(x.detach(), (rows,), 1.0, accumulate=True)
    np.testing.assert_array_equal(added.numpy(), VALUES + np.array([[1.0], [2.0]]))


def test_a_cotangent_is_of_the_library_of_what_it_is_for(make: Make) -> None:
    y = dk.Tensor(make(VALUES), requires_grad=True) * 2
    if namespace_of(y.array).takes_numpy:
        pytest.skip("the library takes NumPy's arrays; tests/backends/test_mixing.py has what comes of that")
    for cotangent in (dk.ones((2, 3)), np.ones((2, 3))):
        with pytest.raises(MixedArraysError, match=r"backward: one array is of .* another of numpy on cpu"):
            y.backward(cotangent)


def test_numbers_mix(make: Make) -> None:
    x = dk.Tensor(make(VALUES), requires_grad=True)
    for y in (x * 2, 2.0 * x, x * np.float64(2), np.float32(2) * x, dk.multiply(np.int64(2), x)):
        np.testing.assert_array_equal(y.detach().numpy(), 2 * VALUES)
        y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 10.0))
    z = x.detach()
    np.testing.assert_array_equal(dk.clip(z, np.float64(1), np.float64(2)).numpy(), np.clip(VALUES, 1, 2))
    np.testing.assert_array_equal(z[np.int64(1)].numpy(), VALUES[1])


def test_lists_of_arrays_become_one_array_of_their_library(make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    lists: list[Any] = [[x[0], x[1]], [x[0, 0], x[1, 2]], [[x[0, 1], 2.5], (3, x[1, 1])], [x[0].array, x[1].array]]
    on_numpy: list[Any] = [VALUES, VALUES[[0, 1], [0, 2]], [[1.0, 2.5], [3, 4.0]], VALUES]
    for function in (dk.asarray, dk.tensor):
        for given, want in zip(lists, on_numpy, strict=True):
            y = function(given)
            assert type(y.array) is type(x.array)
            assert y.dtype == dk.float64
            np.testing.assert_array_equal(y.numpy(), want)
    assert dk.asarray([x[0, 0], 1], dtype=dk.float32).dtype == dk.float32
    y = dk.tensor([x[0]])
    assert not np.may_share_memory(y.numpy(), x.numpy())
    with pytest.raises(ValueError, match=r"asarray: a list of arrays is copied, found copy=False"):
        dk.asarray([x[0], x[1]], copy=False)
    if namespace_of(x.array).takes_numpy:
        assert type(dk.asarray([x[0], np.ones(3)]).array) is type(x.array)
    else:
        with pytest.raises(MixedArraysError, match="asarray"):
            dk.asarray([x[0], np.ones(3)])


def test_changes_in_place_reach_the_tensor(make: Make) -> None:
    given = make(VALUES)
    x = dk.tensor(given)
    x += 1
    x.mul_(2)
    x[0, 0] = 7.0
    x[1] = dk.Tensor(make(np.zeros(3)))
    np.testing.assert_array_equal(x.numpy(), [[7.0, 4.0, 6.0], [0.0, 0.0, 0.0]])
    assert x._version == 4
    x.uniform_(5.0, 6.0)
    assert bool((x >= 5).all())
    assert type(x.array) is type(make(VALUES))
    np.testing.assert_array_equal(dk.Tensor(given).numpy(), VALUES)
    with pytest.raises(TypeError, match=r"complex128, which the tensor's dtype .*float64 cannot hold"):
        x.mul_(1j)


def test_arrays_that_cannot_be_changed_are_not_replaced_where_others_would_not_see_it(make: Make) -> None:
    x = dk.Tensor(make(VALUES))
    if namespace_of(x.array).mutable:
        pytest.skip("the arrays can be changed")
    for view in (x[0], x.T, x.reshape((6,)), x.detach()):
        for change in (lambda view=view: view.__iadd__(1), view.zero_, lambda view=view: view.__setitem__(0, 1.0)):
            with pytest.raises(TypeError, match="cannot be changed, only replaced, which views"):
                change()
    row = x[0]
    with pytest.raises(TypeError, match=r"^exp_: arrays of jax\.numpy cannot be changed, only replaced"):
        x.exp_()
    del row, view, change
    x.zero_()
    assert x.tolist() == [[0.0] * 3] * 2


def test_gradients_flow_through_changes_in_place(make: Make) -> None:
    x = dk.Tensor(make(np.ones(3)), requires_grad=True)
    y = x * 2
    y[0] = 5.0
    y *= x
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [5.0, 4.0, 4.0])


def test_a_value_changed_through_a_view_is_noticed(make: Make) -> None:
    x = dk.Tensor(make(VALUES), requires_grad=True)
    y = x * 2
    if not namespace_of(y.array).mutable:
        pytest.skip("the arrays cannot be changed")
    z = dk.sin(y)
    with dk.no_grad():
        y.reshape((6,))[0] = 1.0
    assert y[0, 0].item() == 1.0
    with pytest.raises(InplaceError, match="SinBackward was changed by an in-place operation"):
        z.sum().backward()


def test_elementwise_results_have_memory_of_their_own(make: Make) -> None:
    x = dk.tensor(make(VALUES))
    for function in (dk.positive, dk.conj, dk.real, dk.abs):
        y = function(x)
        y += 100.0
    np.testing.assert_array_equal(x.numpy(), VALUES)


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: dk.func.grad(lambda v: (v**3).sum())(x),
    "jvp": lambda x: dk.func.jvp(lambda v: dk.cumulative_prod(v, axis=1), (x,), (dk.ones_like(x),)),
    "jacrev": lambda x: dk.func.jacrev(lambda v: dk.logsumexp(v, axis=0))(x),
    "jacfwd": lambda x: dk.func.jacfwd(lambda v: dk.diff(v, axis=0))(x),
    "hessian": lambda x: dk.func.hessian(lambda v: (v**3)[[0, 1, 1]].sum())(x),
    "vmap": lambda x: dk.func.vmap(lambda v: dk.take(v, dk.argsort(v)) + v[[0, 2, 2]])(x),
    "vmap of grad": lambda x: dk.func.vmap(dk.func.grad(lambda v: (v[v > 0] if v.ndim == 2 else v[1:] ** 2).sum()))(x),
    "vmap of index_put": lambda x: dk.func.vmap(lambda v: dk.index_put(v, [0, 2], 7.0))(x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_take_them(name: str, make: Make) -> None:
    found = flat(TRANSFORMED[name](dk.Tensor(make(VALUES + 1))))
    for one, expected in zip(found, flat(TRANSFORMED[name](dk.Tensor(VALUES + 1))), strict=True):
        assert type(one.array) is type(make(VALUES))
        np.testing.assert_allclose(one.numpy(), expected.numpy())


class Parts(dk.autograd.Function):
    """Gives twice and thrice its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return 2 * grads[0] + 3 * grads[1]


def test_functions_take_them(make: Make) -> None:
    x = dk.Tensor(make(VALUES), requires_grad=True)
    for create_graph in (False, True):
        y = Parts.apply(x)[1].sum()
        (g,) = dk.autograd.grad(y, x, create_graph=create_graph)
        assert type(g.array) is type(x.array)
        np.testing.assert_array_equal(g.detach().numpy(), np.full((2, 3), 3.0))
    z = dk.func.checkpoint(lambda v: dk.sin(v) * v)(x).sum()
    z.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.cos(VALUES) * VALUES + np.sin(VALUES))


def test_gradcheck_takes_them(make: Make) -> None:
    x = dk.Tensor(make(VALUES), requires_grad=True)
    assert dk.autograd.gradcheck(dk.sin, (x,))
    assert dk.autograd.gradgradcheck(dk.sin, (x,))


def test_tensors_of_numpys_arrays_stay_what_they_are_beside_them(make: Make) -> None:
    assert dk.Tensor(make(VALUES)).dtype == dk.float64
    assert foreign
    x = dk.ones((2, 3), requires_grad=True)
    y = (x * np.float32(2)).sum(0) @ x[0]
    y.backward()
    assert type(y.array) is np.ndarray
    for z in (dk.positive(x), dk.equal(2.0, 2.0), dk.add(1, np.float32(2)), dk.positive(2.0)):
        assert type(z.array) is np.ndarray


def test_devices_of_one_library_do_not_mix_either() -> None:
    library = pytest.importorskip("array_api_strict")
    device = library.Device("device1")
    x = dk.Tensor(library.asarray(VALUES), requires_grad=True)
    there = x.to_device(device)
    assert there.device == device
    with pytest.raises(MixedArraysError, match=r"array_api_strict on .*CPU_DEVICE.* another of .*device1"):
        x + there
    (there * there).sum().backward()
    assert x.grad is not None
    assert x.grad.device == x.device
    np.testing.assert_array_equal(x.grad.numpy(), 2 * VALUES)
    assert repr(there.detach()) == "tensor(shape=(2, 3), on array_api_strict.Device('device1'))"
    assert there[1, 2].item() == 5.0
    for read in (there.detach().numpy, there.tolist):
        with pytest.raises(TypeError, match=r"\(\): NumPy cannot read an array of .*device1"):
            read()
    with pytest.raises(ValueError, match="arrays of array_api_strict cannot be brought to device 'moon'"):
        x.to_device("moon")
    foreign.clear()


def test_pytorchs_own_graph_is_not_cut_silently() -> None:
    pytest.importorskip("array_api_compat")
    torch = pytest.importorskip("torch")
    with pytest.raises(AutogradError, match="the array is part of torch's own graph; give it detached"):
        dk.asarray(torch.ones(2, requires_grad=True))


def test_without_array_api_compat_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    torchs = type("Tensor", (), {"__module__": "torch", "detach": None})
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    wanted = r'computing on PyTorch arrays needs array-api-compat: pip install "dispatchkit\[compat\]"'
    with pytest.raises(ImportError, match=wanted):
        dk.Tensor(torchs())


def test_a_dtype_that_the_library_lacks_is_named() -> None:
    library = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="array_api_strict has no dtype float16"):
        dk.astype(dk.Tensor(library.ones(2)), np.float16)
    foreign.clear()


def test_what_is_drawn_in_the_likeness_of_an_array_lies_on_its_device() -> None:
    strict = pytest.importorskip("array_api_strict")
    one, other = strict.Device("device1"), strict.Device("device2")
    x = dk.Tensor(strict.ones(2, device=one))
    for like in (dk.rand_like, dk.randn_like):
        assert like(x).device == one
        assert like(x, device=other).device == other
