"""Hooks for saved tensors: what they are given, what is kept, and what comes back."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import grad
from dispatchkit.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks
from tests.graph.test_leaves import leaf


class Kept:
    """What stands in the place of a saved tensor: nothing of the tensor itself."""

    def __init__(self, x: dk.Tensor) -> None:
        assert not x.requires_grad
        self.values = x.numpy().copy()


def unpack(kept: Kept) -> dk.Tensor:
    made: dk.Tensor = dk.asarray(kept.values)
    return made


def noting(notes: list[Any], note: Callable[[Any], Any]) -> saved_tensors_hooks:
    """Return hooks that keep each value as it is, and note something of it."""

    def pack(x: dk.Tensor) -> dk.Tensor:
        notes.append(note(x))
        return x

    return saved_tensors_hooks(pack, lambda x: x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "one argument": dk.sin,
    "output": dk.exp,
    "two arguments": lambda x: x * x,
    "NumPy array": lambda x: x * np.array([3.0, 4.0]),
    "scalar": lambda x: 2.0 / x,
    "parameters": lambda x: dk.cumulative_sum(dk.prod(dk.stack([x, x * 2]), axis=0)),
    "keyword": lambda x: dk.take(x, dk.asarray([0, 1, 1]), axis=0),
    "index": lambda x: x[dk.asarray([1, 0, 1])],
    "sequence": lambda x: dk.concat([x, x * x]),
    "several outputs": lambda x: dk.linalg.eigh(dk.stack([x, x[::-1]]) * dk.asarray([[1.0, 2.0], [2.0, 5.0]]))[1],
    "composite": lambda x: dk.logaddexp(x, x * 2),
    "in place": lambda x: (x * 1).add_(x * x).mul_(x),
    "where": lambda x: dk.where(x > 1, x * x, x),
}


class Product(dk.autograd.Function):
    """Saves inputs, an output and nothing."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        y = a * dk.exp(b)
        ctx.save_for_backward(b, y, None)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        b, y, nothing = ctx.saved_tensors
        assert nothing is None
        return g * dk.exp(b), g * y


PROGRAMS["Function"] = lambda x: Product.apply(x * 2, x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_both_orders_are_those_without_hooks(name: str) -> None:
    def derivatives() -> list[Any]:
        x = leaf(0.5, 2.0)
        y = (PROGRAMS[name](x) ** 2).sum()
        (g,) = grad(y, x, create_graph=True)
        (h,) = grad((g * g).sum(), x, retain_graph=True)
        y.backward()
        assert x.grad is not None
        return [g.detach().numpy(), h.numpy(), x.grad.numpy()]

    expected = derivatives()
    with saved_tensors_hooks(Kept, unpack):
        found = derivatives()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_each_saved_value_is_packed_once_and_unpacked_once_a_pass() -> None:
    packed: list[Any] = []
    opened: list[Any] = []

    def pack(x: dk.Tensor) -> int:
        packed.append(x.tolist())
        return len(packed) - 1

    def unpack(index: int) -> dk.Tensor:
        opened.append(packed[index])
        made: dk.Tensor = dk.tensor(packed[index])
        return made

    a, b = leaf(5.0), leaf(7.0)
    with saved_tensors_hooks(pack, unpack):
        y = a * b
        z = dk.exp(y)
    assert packed == [[5.0], [7.0], [np.exp(35.0)]]
    assert opened == []
    z.backward(retain_graph=True)
    z.backward()
    assert len(opened) == 6


def test_what_a_function_saves_is_packed() -> None:
    notes: list[Any] = []
    a, b = leaf(2.0), leaf(0.0)
    with noting(notes, lambda x: x.tolist()):
        y = Product.apply(a, b)
    assert notes == [[0.0], [2.0]]
    held = weakref.ref(y.grad_fn)
    y.backward()
    assert a.grad is not None
    assert b.grad is not None
    assert (a.grad.item(), b.grad.item()) == (1.0, 2.0)
    gc.collect()
    gc.disable()
    try:
        del y
        assert held() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("of", [0, 1], ids=["input", "output"])
def test_what_a_function_saves_as_it_is_is_watched(of: int) -> None:
    b = leaf(0.0) * 1
    with saved_tensors_hooks(lambda x: x, lambda x: x):
        y = Product.apply(leaf(2.0), b)
    (b, y)[of].mul_(2)
    with pytest.raises(dk.InplaceError, match="the backward of ProductBackward was changed"):
        y.backward()


def test_hooks_are_asked_inside_the_block_alone() -> None:
    calls: list[Any] = []
    before = leaf(1.0) ** 2
    with noting(calls, lambda x: x):
        pass
    before.backward()
    (leaf(1.0) ** 2).backward()
    assert calls == []


def test_the_innermost_hooks_count() -> None:
    seen: list[str] = []

    x = leaf(1.0)
    with noting(seen, lambda x: "outer"):
        dk.sin(x)
        with noting(seen, lambda x: "inner"):
            dk.sin(x)
        dk.sin(x)
    assert seen == ["outer", "inner", "outer"]


def test_what_hooks_compute_is_neither_packed_nor_recorded() -> None:
    counts = {"pack": 0, "unpack": 0}
    kept: list[Any] = []

    def pack(x: dk.Tensor) -> Any:
        counts["pack"] += 1
        kept.append(x * leaf(2.0))
        return kept[-1]

    def unpack(x: dk.Tensor) -> Any:
        counts["unpack"] += 1
        return x / leaf(2.0)

    x = leaf(3.0)
    with saved_tensors_hooks(pack, unpack):
        (x * x).backward()
    assert counts == {"pack": 2, "unpack": 2}
    assert not any(one.requires_grad for one in kept)
    assert x.grad is not None
    assert x.grad.item() == 6.0


def test_saving_to_disk(tmp_path: Path) -> None:
    def pack(x: dk.Tensor) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, x.numpy())
        return path

    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(pack, lambda path: dk.asarray(np.load(path))):
        y = (x * x * x).sum()
    assert len(list(tmp_path.iterdir())) == 4
    y.backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 12.0])


def test_the_values_themselves_are_let_go() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        with saved_tensors_hooks(Kept, unpack):
            y = x * 1
            held = weakref.ref(y)
            z = dk.exp(y * y).sum()
        del y
        assert held() is None
        node = weakref.ref(z.grad_fn)
        del z
        assert node() is None
    finally:
        gc.enable()


def test_what_is_kept_is_let_go_by_the_backward_pass_and_with_the_graph() -> None:
    kept: list[weakref.ref[Kept]] = []

    def pack(x: dk.Tensor) -> Kept:
        made = Kept(x)
        kept.append(weakref.ref(made))
        return made

    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        with saved_tensors_hooks(pack, unpack):
            swept, dropped = dk.exp(x * x).sum(), dk.exp(x * x).sum()
        swept.backward()
        del dropped
        assert len(kept) == 6
        assert all(ref() is None for ref in kept)
    finally:
        gc.enable()


def test_gradients_still_flow_to_what_was_saved() -> None:
    x = leaf(2.0)
    with saved_tensors_hooks(Kept, unpack):
        y = x * x
        z = dk.exp(y)
        (g,) = grad(z, x, create_graph=True)
    by_y, by_z = grad(g, [y, z], retain_graph=True)
    seen: list[float] = []
    z.register_hook(lambda g: seen.append(g.item()))
    g.backward()
    # g = z * 2 * x, and z = exp(y)
    np.testing.assert_allclose([by_y.item(), by_z.item()], [4 * np.exp(4.0), 4.0])
    np.testing.assert_allclose(seen, [4.0])


def test_subclasses_come_back_as_the_hooks_give_them() -> None:
    class Tagged(dk.Tensor):
        pass

    seen: list[type] = []
    x = Tagged([1.0, 2.0], requires_grad=True)
    with noting(seen, type):
        y = (x * x).sum()
    y.backward()
    assert seen == [Tagged, Tagged]
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_pack_hook_must_not_change_its_argument() -> None:
    y = leaf(1.0) * 2
    with (
        saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x),
        pytest.raises(dk.AutogradError, match="the pack hook changed a value that SinBackward saves in place"),
    ):
        dk.sin(y)


def test_a_pack_hook_that_raises_leaves_nothing_behind() -> None:
    def fail(x: dk.Tensor) -> None:
        raise LookupError("full")

    y = leaf(1.0) * 2
    version = y._version
    with saved_tensors_hooks(fail, lambda x: x), pytest.raises(LookupError, match="full"):
        y.mul_(y)
    assert (y.tolist(), y._version) == ([2.0], version)
    (y * 3).backward()


def test_an_unpack_hook_must_give_a_tensor() -> None:
    with saved_tensors_hooks(lambda x: x, lambda x: x.numpy()):
        y = dk.sin(leaf(1.0))
    with pytest.raises(
        TypeError, match=r"hook is expected to return a tensor, but for a value that SinBackward saved it .* ndarray"
    ):
        y.backward()


@pytest.mark.parametrize(
    ("unpack", "found"),
    [(lambda x: x.reshape(1, 1), r"float64 tensor of shape \(1, 1\)"), (lambda x: x.astype(dk.float32), "float32")],
    ids=["shape", "dtype"],
)
def test_an_unpack_hook_must_give_what_was_saved(unpack: Any, found: str) -> None:
    with saved_tensors_hooks(lambda x: x, unpack):
        y = dk.sin(leaf(1.0))
    with pytest.raises(dk.AutogradError, match=rf"returned a {found}.* SinBackward saved as float64 of shape \(1,\)"):
        y.backward()


@pytest.mark.parametrize("of", ["argument", "output"])
def test_a_change_in_place_of_what_is_kept_as_it_is_raises(of: str) -> None:
    x = leaf(1.0) * 2
    with saved_tensors_hooks(lambda x: x, lambda x: x):
        y = dk.sin(x) if of == "argument" else dk.exp(x)
    if of == "argument":
        x.mul_(2)
    else:
        y.mul_(2)
    with pytest.raises(dk.InplaceError, match=r"backward of (Sin|Exp)Backward was changed"):
        y.backward()


def test_a_change_in_place_of_what_was_copied_does_no_harm() -> None:
    x = leaf(1.0)
    y = x * 2
    with saved_tensors_hooks(Kept, unpack):
        z = y * y
    y.mul_(100)
    z.backward()
    assert x.grad is not None
    assert x.grad.item() == 8.0


def test_arrays_of_other_libraries_are_packed_as_such() -> None:
    strict = pytest.importorskip("array_api_strict")
    x = dk.asarray(strict.asarray([1.0, 2.0])).requires_grad_()
    seen: list[Any] = []
    with dk.autograd.detect_anomaly(), noting(seen, lambda x: type(x.array)):
        y = dk.exp(x * x).sum()
        y.backward()
    assert set(seen) == {type(x.array)}
    assert len(seen) == 3
    assert x.grad is not None
    np.testing.assert_allclose(np.asarray(x.grad.array), [2 * np.e, 4 * np.exp(4.0)])


def test_threads_may_go_through_one_graph() -> None:
    x = leaf(*np.linspace(0.1, 1.0, 50))
    with saved_tensors_hooks(Kept, unpack):
        y = dk.exp(dk.sin(x) * x).sum()
    (expected,) = grad(y, x, retain_graph=True)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: grad(y, x, retain_graph=True)[0], range(40)))
    for one in found:
        np.testing.assert_array_equal(one.numpy(), expected.numpy())


def test_anomalies_are_found_in_packed_nodes() -> None:
    with dk.autograd.detect_anomaly(), saved_tensors_hooks(Kept, lambda kept: dk.asarray(kept.values * np.nan)):
        y = dk.sin(leaf(1.0))
        with pytest.raises(dk.AnomalyError, match="'SinBackward' returned nan") as caught:
            y.backward()
    assert "y = dk.sin(leaf(1.0))" in caught.value.forward


def test_hooks_can_be_refused() -> None:
    def enter() -> None:
        with saved_tensors_hooks(Kept, unpack):
            dk.sin(leaf(1.0)).backward()

    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(dk.AutogradError, match="not here"):
            enter()
        with disable_saved_tensors_hooks("nor here"), pytest.raises(dk.AutogradError, match="nor here"):
            enter()
        with pytest.raises(dk.AutogradError, match="not here"):
            enter()
    enter()


def test_hooks_in_use_cannot_be_refused() -> None:
    with saved_tensors_hooks(Kept, unpack):
        refusing = disable_saved_tensors_hooks("too late")
        with pytest.raises(dk.AutogradError, match="too late"):
            refusing.__enter__()


def test_saved_tensors_are_kept_in_main_memory() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    with dk.autograd.graph.save_on_cpu(), dk.autograd.graph.save_on_cpu(pin_memory=True):
        y = dk.exp(x) * x
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), (np.exp([1.0, 2.0]) * [2.0, 3.0]))
    with dk.autograd.graph.save_on_cpu():
        z = x**2
        x.detach().add_(1.0)  # what is saved is no copy where it is in main memory already
    with pytest.raises(dk.errors.InplaceError):
        z.sum().backward()
