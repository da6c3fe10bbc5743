"""Layers: what they hold, print, compute and refuse; beside PyTorch where that is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.errors import TransformError
from dispatchkit.nn.functional import channels_numpy
from tests.nn.functional.support import drawn

# Of either library: how a layer is made, the shape it takes.
LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Linear": (lambda nn: nn.Linear(3, 2), (4, 3)),
    "Linear without bias": (lambda nn: nn.Linear(3, 2, bias=False), (2, 4, 3)),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2), (2, 4, 6, 5)),
    "Conv2d without bias": (lambda nn: nn.Conv2d(1, 2, 3, dilation=2, bias=False, padding="same"), (2, 1, 6, 6)),
    "Conv2d, reflected": (lambda nn: nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode="reflect"), (2, 1, 6, 6)),
    "Conv2d, replicated": (lambda nn: nn.Conv2d(1, 2, 2, padding="same", padding_mode="replicate"), (2, 1, 4, 5)),
    "Conv2d, circular": (lambda nn: nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), (2, 1, 4, 5)),
    "Conv1d": (lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 6)),
    "Conv1d, dilated": (lambda nn: nn.Conv1d(1, 2, (3,), dilation=2, bias=False, padding="same"), (2, 1, 6)),
    "Conv1d, circular": (lambda nn: nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular"), (2, 1, 4)),
    "ConvTranspose2d": (
        lambda nn: nn.ConvTranspose2d(4, 6, (3, 2), 2, 1, output_padding=(1, 0), groups=2),
        (2, 4, 3, 2),
    ),
    "ConvTranspose2d, dilated": (lambda nn: nn.ConvTranspose2d(1, 2, 3, bias=False, dilation=2), (1, 4, 3)),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(4, 6, 3, 2, 1, output_padding=1, groups=2), (2, 4, 3)),
    "ConvTranspose1d, dilated": (lambda nn: nn.ConvTranspose1d(1, 2, (3,), bias=False, dilation=(2,)), (1, 4)),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(2), (2, 3, 5)),
    "MaxPool1d with parameters": (lambda nn: nn.MaxPool1d(3, 2, 1, 2, ceil_mode=True), (3, 8)),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, (2,), padding=1, count_include_pad=False), (2, 3, 5)),
    "PixelShuffle": (lambda nn: nn.PixelShuffle(2), (2, 8, 3, 2)),
    "PixelShuffle of several axes": (lambda nn: nn.PixelShuffle(3), (2, 1, 9, 1, 2)),
    "PixelUnshuffle": (lambda nn: nn.PixelUnshuffle(2), (2, 3, 4, 6)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), (2, 3, 4, 4)),
    "MaxPool2d with parameters": (lambda nn: nn.MaxPool2d((3, 2), 1, padding=1, ceil_mode=True), (2, 3, 5, 4)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), (2, 3, 5, 4)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((2, 1)), (2, 3, 5, 4)),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), (4, 3)),
    "BatchNorm1d of sequences": (lambda nn: nn.BatchNorm1d(3, affine=False, momentum=0.3), (4, 3, 2)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3, eps=0.1), (4, 3, 2, 2)),
    "BatchNorm2d, averaging": (lambda nn: nn.BatchNorm2d(3, momentum=None), (4, 3, 2, 2)),
    "BatchNorm2d without statistics": (lambda nn: nn.BatchNorm2d(3, track_running_stats=False), (4, 3, 2, 2)),
    "LayerNorm": (lambda nn: nn.LayerNorm((3, 2)), (4, 3, 2)),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(3, bias=False), (4, 3)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (3, 4, 2)),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(4, affine=True), (3, 4, 2)),
    "InstanceNorm1d of one sequence": (lambda nn: nn.InstanceNorm1d(4, eps=0.1), (4, 5)),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(3), (2, 3, 4, 5)),
    "InstanceNorm2d, averaging": (
        lambda nn: nn.InstanceNorm2d(3, momentum=0.3, affine=True, track_running_stats=True),
        (2, 3, 4, 5),
    ),
    "InstanceNorm2d of one image, averaging nothing": (
        lambda nn: nn.InstanceNorm2d(3, momentum=None, track_running_stats=True),
        (3, 4, 5),
    ),
    "Conv3d": (lambda nn: nn.Conv3d(4, 6, (2, 3, 1), stride=2, padding=1, groups=2), (2, 4, 4, 5, 3)),
    "Conv3d, padded by what is opposite": (
        lambda nn: nn.Conv3d(2, 3, 3, padding=1, padding_mode="circular"),
        (2, 2, 3, 4, 3),
    ),
    "ConvTranspose3d": (lambda nn: nn.ConvTranspose3d(4, 6, 2, stride=2, output_padding=1, groups=2), (2, 4, 2, 3, 2)),
    "MaxPool3d": (lambda nn: nn.MaxPool3d(2, stride=1, padding=1), (2, 3, 4, 3, 4)),
    "AvgPool3d": (lambda nn: nn.AvgPool3d((2, 3, 1), padding=(1, 1, 0), count_include_pad=False), (2, 3, 4, 5, 3)),
    "AdaptiveAvgPool1d": (lambda nn: nn.AdaptiveAvgPool1d(3), (2, 3, 5)),
    "AdaptiveAvgPool3d": (lambda nn: nn.AdaptiveAvgPool3d((2, None, 1)), (2, 3, 5, 2, 3)),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(3), (2, 3, 2, 1, 3)),
    "InstanceNorm3d": (lambda nn: nn.InstanceNorm3d(3, affine=True), (2, 3, 2, 1, 3)),
    "Upsample": (lambda nn: nn.Upsample(scale_factor=2.0), (2, 3, 4, 5)),
    "Upsample of sequences": (lambda nn: nn.Upsample(7, mode="linear"), (2, 3, 4)),
    "Upsample to a size": (lambda nn: nn.Upsample((7, 3), mode="bilinear"), (2, 3, 4, 5)),
    "Upsample, corners aligned": (lambda nn: nn.Upsample((7, 1), None, "bilinear", align_corners=True), (2, 3, 4, 5)),
    "Upsample by fractions": (lambda nn: nn.Upsample(scale_factor=(1.7, 0.6), mode="bilinear"), (1, 2, 5, 6)),
    "Upsample by lengths": (
        lambda nn: nn.Upsample(scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
        (1, 2, 5, 6),
    ),
    "Upsample of volumes": (lambda nn: nn.Upsample(scale_factor=1.5, mode="trilinear"), (1, 2, 3, 2, 4)),
    "Upsample by cubes": (lambda nn: nn.Upsample((7, 3), mode="bicubic"), (2, 3, 4, 5)),
    "Upsample by cubes, corners aligned": (
        lambda nn: nn.Upsample((3, 9), None, "bicubic", align_corners=True),
        (2, 3, 4, 5),
    ),
    "Upsample by means": (lambda nn: nn.Upsample((3, 9), mode="area"), (2, 3, 4, 5)),
    "Upsample by means of volumes": (lambda nn: nn.Upsample(scale_factor=0.6, mode="area"), (2, 3, 4, 5, 3)),
    "Upsample, exactly nearest": (lambda nn: nn.Upsample(5, mode="nearest-exact"), (2, 1, 7)),
    "Flatten": (lambda nn: nn.Flatten(), (2, 3, 4)),
    "Identity": (lambda nn: nn.Identity(5, some="thing"), (2, 3)),
}
PLAIN = [name for name in LAYERS if not name.startswith("Identity")]


@pytest.fixture
def registrations() -> Iterator[None]:
    with dk.local_registrations():
        yield


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def pair_of(torch: Any, name: str) -> tuple[Any, Any]:
    """Return a layer of either library with the same numbers, none of them at its starting value."""
    make, _ = LAYERS[name]
    ours, theirs = make(nn), make(torch.nn).double()
    rng = np.random.default_rng(0)
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        values = rng.standard_normal(one.shape)
        one.data.copy_(dk.tensor(values))
        other.data.copy_(torch.tensor(values))
    return ours, theirs


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_what_pytorchs_does(name: str, torch: Any) -> None:
    ours, theirs = pair_of(torch, name)
    for training in (True, True, False):
        ours.train(training)
        theirs.train(training)
        x = drawn(*LAYERS[name][1], seed=int(training))
        a, b = dk.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        y, z = ours(a), theirs(b)
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-9, atol=1e-11)
        (y * y).sum().backward()
        (z * z).sum().backward()
        for one, other in zip((a, *ours.parameters()), (b, *theirs.parameters()), strict=True):
            np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-8, atol=1e-10)
    states = ours.state_dict(), theirs.state_dict()
    assert list(states[0]) == list(states[1])
    for key, value in states[0].items():
        np.testing.assert_allclose(value.numpy(), states[1][key].numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", PLAIN)
def test_a_layer_prints_as_pytorchs(name: str, torch: Any) -> None:
    make, _ = LAYERS[name]
    printed = re.sub(r", bias=True\)$", ")", str(make(torch.nn))) if "Norm" in name else str(make(torch.nn))
    assert str(make(nn)) == printed.replace(", bias=False", "") if "LayerNorm" in name else printed


def test_a_dropout_of_channels_needs_an_axis_of_channels() -> None:
    message = r"Dropout2d: x must have an axis of channels before its last 2, found the shape \(3, 4\)"
    with pytest.raises(ValueError, match=message):
        nn.Dropout2d()(dk.ones((3, 4)))


@pytest.mark.parametrize(("make", "axes"), [(nn.Dropout1d, 1), (nn.Dropout2d, 2), (nn.Dropout3d, 3)])
def test_channels_are_dropped_as_wholes(make: Any, axes: int) -> None:
    dk.manual_seed(0)
    layer = make(0.25)
    x = dk.ones((50, 40, *(3,) * axes), requires_grad=True)
    y = layer(x)
    channels = y.detach().numpy().reshape(2000, -1)
    assert (channels == channels[:, :1]).all()
    assert set(np.unique(channels)) == {0.0, 4 / 3}
    assert 0.7 < (channels[:, 0] != 0).mean() < 0.8
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    assert dk.all(layer.eval()(x) == x)
    assert str(layer) == f"{make.__name__}(p=0.25)"


def test_pixels_by_hand_and_back() -> None:
    x = dk.reshape(dk.arange(16.0), (4, 2, 2))
    y = nn.PixelShuffle(2)(x)
    assert y[0].tolist() == [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]
    assert dk.all(nn.PixelUnshuffle(2)(y) == x)


@pytest.mark.parametrize("factor", [2.3, 0.7, 1.7, 3, 1 / 3])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
def test_factors_that_are_no_whole_numbers(mode: Any, factor: float, torch: Any) -> None:
    x = drawn(2, 1, 13)
    expected = torch.nn.Upsample(scale_factor=factor, mode=mode)(torch.tensor(x)).numpy()
    layer = nn.Upsample(scale_factor=factor, mode=mode)
    np.testing.assert_allclose(layer(dk.tensor(x)).numpy(), expected, rtol=1e-9, atol=1e-12)
    held = dk.asarray(torch.tensor(x, dtype=torch.float32)).requires_grad_()
    y = layer(held)
    assert y.dtype == dk.float32
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    y.sum().backward()
    assert held.grad is not None
    assert isinstance(held.grad.array, torch.Tensor)


def test_images_of_other_sizes_without_pytorch() -> None:
    x = dk.reshape(dk.arange(6.0), (1, 1, 2, 3))
    np.testing.assert_array_equal(nn.Upsample(scale_factor=2)(x).numpy(), x.numpy().repeat(2, -1).repeat(2, -2))
    aligned = nn.Upsample((3, 5), mode="bilinear", align_corners=True)(x).numpy()[0, 0]
    np.testing.assert_allclose(aligned, 1.5 * np.arange(3)[:, None] + 0.5 * np.arange(5))
    edges = nn.Upsample(scale_factor=2, mode="linear")(dk.asarray([[[0.0, 4.0]]], dtype=dk.float32))
    assert edges.dtype == np.float32
    assert edges.tolist() == [[[0.0, 1.0, 3.0, 4.0]]]
    assert nn.Upsample(2)(x)[0, 0].tolist() == [[0.0, 1.0], [3.0, 4.0]]
    integers = dk.asarray([[[0, 2]]])
    assert nn.Upsample(3, mode="linear", align_corners=True)(integers).tolist() == [[[0.0, 1.0, 2.0]]]
    assert nn.Upsample(3)(integers).tolist() == [[[0, 0, 2]]]
    wide = nn.Upsample(scale_factor=(1, 2), mode="bilinear")
    for layer in (wide, nn.Upsample(scale_factor=2.3), nn.Upsample(scale_factor=(0.5, 0.7))):
        assert dk.autograd.gradcheck(layer, x.clone().requires_grad_())
    batched = dk.func.vmap(wide)(dk.stack([x, 2 * x]))
    np.testing.assert_allclose(batched[1].detach().numpy(), 2 * wide(x).detach().numpy())


def test_dropout_and_embedding_print_themselves() -> None:
    assert str(nn.Dropout(0.2)) == "Dropout(p=0.2)"
    assert str(nn.Embedding(5, 2, padding_idx=-1)) == "Embedding(5, 2, padding_idx=4)"


def test_the_page_counts_the_modules(torch: Any) -> None:
    def modules(library: Any, base: type) -> set[str]:
        return {name for name in dir(library) if name[0] != "_" and is_kind(getattr(library, name), base)}

    def is_kind(value: Any, base: type) -> bool:
        return isinstance(value, type) and issubclass(value, base)

    theirs = modules(torch.nn, torch.nn.Module)
    page = (Path(__file__).parents[2] / "docs" / "neural-networks.md").read_text(encoding="utf-8")
    assert f"has {len(modules(nn, nn.Module) & theirs)} of the {len(theirs)} modules of PyTorch 2.13" in page


@pytest.mark.parametrize("name", LAYERS)
def test_a_state_can_be_loaded_and_a_dtype_chosen(name: str) -> None:
    make, shape = LAYERS[name]
    first, second = make(nn), make(nn)
    first(dk.tensor(drawn(*shape)))
    second.load_state_dict(first.state_dict())
    x = dk.tensor(drawn(*shape, seed=1))
    assert first.eval()(x).tolist() == second.eval()(x).tolist()
    y = first.float()(x.float())
    assert y.dtype == np.float32


START: dict[str, tuple[Callable[[], Any], float]] = {
    "Linear": (lambda: nn.Linear(100, 400), 0.1),
    "Conv2d": (lambda: nn.Conv2d(4, 400, 5), 0.1),
    "Conv2d in groups": (lambda: nn.Conv2d(8, 400, 5, groups=2), 0.1),
    "Conv1d": (lambda: nn.Conv1d(20, 400, 5), 0.1),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(100, 400, 5, groups=100), 0.1),
}


@pytest.mark.parametrize("name", START)
def test_weights_start_uniform_by_the_number_of_inputs(name: str) -> None:
    make, bound = START[name]
    dk.manual_seed(0)
    layer = make()
    for p in (layer.weight, layer.bias):
        values = p.detach().numpy()
        assert np.abs(values).max() <= bound
        assert values.std() == pytest.approx(bound / np.sqrt(3), rel=0.1)
    first = layer.weight.tolist()
    dk.manual_seed(0)
    assert make().weight.tolist() == first


def test_an_embedding_starts_normal_with_zeros_for_the_padding() -> None:
    dk.manual_seed(0)
    layer = nn.Embedding(200, 50, padding_idx=3)
    values = layer.weight.detach().numpy()
    assert not values[3].any()
    assert np.delete(values, 3, axis=0).std() == pytest.approx(1, rel=0.05)
    layer(dk.asarray([3, 4])).sum().backward()
    assert layer.weight.grad[3].tolist() == [0.0] * 50
    assert layer.weight.grad[4].tolist() == [1.0] * 50


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-3), ("float32", 1e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 50)])
@pytest.mark.parametrize("moved", [0.0, 60.0])
@pytest.mark.parametrize("block", [1, channels_numpy.BLOCK])
def test_running_statistics_of_a_batch_are_its_mean_and_variance(
    block: int, moved: float, shape: tuple[int, ...], dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels_numpy, "BLOCK", block)
    layer = {2: dk.nn.BatchNorm1d, 3: dk.nn.BatchNorm1d, 4: dk.nn.BatchNorm2d}[len(shape)](3, momentum=1.0)
    x = (drawn(*shape) + moved).astype(dtype)
    layer(dk.asarray(x))
    axes, precise = (0, *range(2, len(shape))), x.astype("float64")
    np.testing.assert_allclose(layer.running_mean.numpy(), precise.mean(axes), rtol=0, atol=tolerance * (1 + moved))
    np.testing.assert_allclose(layer.running_var.numpy(), precise.var(axes, ddof=1), rtol=tolerance * 10)


def test_running_statistics_of_infinite_numbers_are_none() -> None:
    layer = dk.nn.BatchNorm1d(2, momentum=1.0)
    with np.errstate(all="ignore"):
        layer(dk.asarray([[1.0, np.inf], [2.0, 3.0]]))
    np.testing.assert_array_equal(layer.running_mean.numpy(), [1.5, np.inf])
    np.testing.assert_array_equal(layer.running_var.numpy(), [0.5, np.nan])


def test_running_statistics_without_pytorch() -> None:
    x = drawn(5, 2, 3)
    layer = nn.BatchNorm1d(2, momentum=0.25)
    layer(dk.tensor(x))
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(layer.running_var.numpy(), 0.75 + 0.25 * x.var((0, 2), ddof=1))
    assert layer.num_batches_tracked.item() == 1
    before = layer.running_mean.tolist()
    layer.eval()(dk.tensor(x))
    assert layer.running_mean.tolist() == before
    layer.reset_running_stats()
    assert layer.running_mean.tolist() == [0.0, 0.0]
    assert layer.running_var.tolist() == [1.0, 1.0]
    assert layer.num_batches_tracked.item() == 0


@pytest.mark.parametrize(
    ("make", "shape"),
    [(nn.InstanceNorm1d, (3, 2, 5)), (nn.InstanceNorm2d, (3, 2, 4, 1)), (nn.InstanceNorm3d, (2, 4, 3, 2))],
)
def test_instances_are_standardized_without_pytorch(make: Any, shape: tuple[int, ...]) -> None:
    x = drawn(*shape)
    within = tuple(range(-(make.axes[0] - 2), 0))
    mean, var = x.mean(within, keepdims=True), x.var(within, keepdims=True)
    layer = make(shape[-len(within) - 1], momentum=0.25, track_running_stats=True)
    np.testing.assert_allclose(layer(dk.tensor(x)).numpy(), (x - mean) / np.sqrt(var + 1e-5), rtol=1e-9)
    samples = x.reshape(-1, *x.shape[-len(within) - 1 :])
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.25 * samples.mean((0, *within)))
    np.testing.assert_allclose(layer.running_var.numpy(), 0.75 + 0.25 * samples.var(within, ddof=1).mean(0))
    kept = (1, -1, *(1,) * len(within))
    mean, var = (statistic.numpy().reshape(kept) for statistic in (layer.running_mean, layer.running_var))
    y = layer.eval()(dk.tensor(x)).numpy()
    np.testing.assert_allclose(y, ((samples - mean) / np.sqrt(var + 1e-5)).reshape(shape), rtol=1e-9)


def test_a_batch_that_is_refused_leaves_the_statistics() -> None:
    layer = nn.BatchNorm1d(2)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        layer(dk.ones((1, 2)))
    assert layer.num_batches_tracked.item() == 0
    assert layer.running_mean.tolist() == [0.0, 0.0]


def test_batch_norm_under_transformations() -> None:
    x = dk.tensor(drawn(4, 2))
    layer, followed = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    layer(x)
    _, t = dk.func.jvp(followed, (x,), (dk.ones((4, 2)),))
    np.testing.assert_allclose(t.detach().numpy(), 0, atol=1e-12)
    assert followed.running_mean.tolist() == layer.running_mean.tolist()
    batches, before = dk.tensor(drawn(3, 4, 2)), layer.state_dict()["running_var"].tolist()
    with pytest.raises(TransformError, match="cannot be assigned"):
        dk.func.vmap(layer)(batches)
    assert layer.running_var.tolist() == before
    assert layer.num_batches_tracked.item() == 1
    y = dk.func.vmap(layer.eval())(batches)
    np.testing.assert_allclose(y[1].detach().numpy(), layer(batches[1]).detach().numpy())


@pytest.mark.parametrize("layer", [nn.Dropout(0.0), nn.Dropout(0.5).eval(), nn.Dropout2d(0.5).eval()])
def test_dropout_that_replaces_nothing_gives_what_it_is_given(layer: Any) -> None:
    x = dk.ones((1, 2, 2, 2))
    assert layer(x) is x


def test_dropout_is_for_training() -> None:
    layer = nn.Dropout(0.5)
    x = dk.ones(100)
    assert 0 in layer(x).tolist()
    assert layer.eval()(x).tolist() == x.tolist()


@pytest.mark.usefixtures("registrations")
def test_a_weight_of_an_array_type_is_trained() -> None:
    """A multiple of the identity, and a matrix of low rank, in the place of a plain weight."""
    x = dk.tensor(drawn(20, 3))

    @dk.array_type(fallback=dk.fallback.decompose)
    class LowRank:
        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right
            self.shape, self.dtype = (left.shape[0], right.shape[1]), left.dtype

    @dk.implements(dk.matrix_transpose)
    def transpose(x: LowRank, /) -> LowRank:
        return LowRank(x.right.mT, x.left.mT)

    @dk.implements(dk.matmul)
    def product(x1: dk.Tensor, x2: LowRank, /) -> Any:
        return (x1 @ x2.left) @ x2.right

    weights = [dk.types.ScalarTensor(3, 0.5), LowRank(dk.tensor(drawn(3, 1)), dk.tensor(drawn(1, 3, seed=1)))]
    targets = [3.0 * x, x @ dk.ones((3, 3)).T]
    for weight, target in zip(weights, targets, strict=True):
        layer = nn.Linear(3, 3)
        layer.weight = nn.Parameter(weight)
        assert type(layer.weight).__name__ == type(weight).__name__
        optimiser = dk.optim.SGD(layer.parameters(), lr=0.05)
        losses = []
        for _ in range(400):
            optimiser.zero_grad()
            loss = ((layer(x) - target) ** 2).mean()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        assert losses[-1] < 1e-3 * losses[0]
        assert type(layer.weight).__name__ == type(weight).__name__


def test_a_small_network_learns() -> None:
    """Vertical and horizontal bars are told apart."""
    rng = np.random.default_rng(0)
    x = 0.3 * rng.standard_normal((60, 1, 8, 8))
    kinds = rng.integers(0, 2, size=60)
    for image, kind, place in zip(x, kinds, rng.integers(0, 8, size=60), strict=True):
        image[(0, place) if kind else (0, slice(None), place)] += 2.0
    dk.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 1))
    optimiser = dk.optim.Adam(net.parameters(), lr=0.02)
    target = dk.tensor(np.where(kinds, 1.0, -1.0))
    for _ in range(40):
        optimiser.zero_grad()
        ((net(dk.tensor(x))[:, 0] - target) ** 2).mean().backward()
        optimiser.step()
    found = net.eval()(dk.tensor(x))[:, 0].detach().numpy() > 0
    assert (found == kinds).mean() > 0.95


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "Linear": (
        lambda: nn.Linear(3, 2)(dk.ones((4, 5))),
        ValueError,
        (
            "linear: argument 'x' has shape (4, 5), expected (..., 3) for a weight of shape (2, 3)\n"
            "in Linear(in_features=3, out_features=2, bias=True)"
        ),
    ),
    "Linear inside": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(3, 2))(dk.ones((4, 5))),
        ValueError,
        "in Linear(in_features=3, out_features=2, bias=True), module '1' of Sequential",
    ),
    "Conv2d": (
        lambda: nn.Conv2d(3, 8, 3)(dk.ones((2, 4, 5, 5))),
        ValueError,
        (
            "conv2d: argument 'weight' has shape (8, 3, 3, 3), expected (out_channels, 4, kh, kw) for x of shape "
            "(2, 4, 5, 5)\nin Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))"
        ),
    ),
    "Conv1d": (
        lambda: nn.Conv1d(3, 8, 3)(dk.ones((2, 4, 5))),
        ValueError,
        "conv1d: argument 'weight' has shape (8, 3, 3), expected (out_channels, 4, k) for x of shape (2, 4, 5)",
    ),
    "Conv1d kernel": (lambda: nn.Conv1d(1, 1, (1, 2)), TypeError, "Conv1d: kernel_size must be an int, found (1, 2)"),  # type: ignore[arg-type]
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(3, 8, 3)(dk.ones((2, 4, 5, 5))),
        ValueError,
        (
            "conv_transpose2d: argument 'weight' has shape (3, 8, 3, 3), expected (4, out_channels, kh, kw) for x of "
            "shape (2, 4, 5, 5)\nin ConvTranspose2d(3, 8, kernel_size=(3, 3), stride=(1, 1))"
        ),
    ),
    "ConvTranspose2d mode": (
        lambda: nn.ConvTranspose2d(1, 1, 3, padding_mode="reflect"),
        ValueError,
        "ConvTranspose2d: padding_mode must be 'zeros', found 'reflect'",
    ),
    "ConvTranspose2d size": (
        lambda: nn.ConvTranspose2d(1, 1, 3, stride=2)(dk.ones((1, 4, 4)), output_size=(9, 11)),
        ValueError,
        (
            "ConvTranspose2d: output_size=(9, 11) is not between (9, 9) and (10, 10), the sizes that an array of "
            "shape (1, 4, 4) can get"
        ),
    ),
    "ConvTranspose1d length of the size": (
        lambda: nn.ConvTranspose1d(1, 1, 3, stride=2)(dk.ones((2, 1, 4)), output_size=(1, 9)),
        ValueError,
        "ConvTranspose1d: output_size must have 1 or 3 members for an array of shape (2, 1, 4), found (1, 9)",
    ),
    "MaxPool2d": (
        lambda: nn.MaxPool2d(4)(dk.ones((2, 3, 3))),
        ValueError,
        "in MaxPool2d(kernel_size=4, stride=4, padding=0, dilation=1, ceil_mode=False)",
    ),
    "BatchNorm axes": (
        lambda: nn.BatchNorm2d(3)(dk.ones((2, 3))),
        ValueError,
        "BatchNorm2d: expected 4-D input, found shape (2, 3)",
    ),
    "BatchNorm channels": (
        lambda: nn.BatchNorm1d(3)(dk.ones((2, 4))),
        ValueError,
        "BatchNorm1d: expected 3 channels, (N, 3, ...), found shape (2, 4)",
    ),
    "LayerNorm": (
        lambda: nn.LayerNorm(3)(dk.ones((2, 4))),
        ValueError,
        (
            "layer_norm: argument 'x' has shape (2, 4), expected (..., 3) for normalized_shape=(3,)\n"
            "in LayerNorm((3,), eps=1e-05, elementwise_affine=True)"
        ),
    ),
    "Embedding": (
        lambda: nn.Embedding(3, 2)(dk.asarray([3])),
        IndexError,
        "embedding: argument 'x' must be of integers from 0 to 2 for a weight of shape (3, 2)\nin Embedding(3, 2)",
    ),
    "a length": (lambda: nn.Linear(2.5, 1), TypeError, "Linear: in_features must be an int, found 2.5"),  # type: ignore[arg-type]
    "a negative length": (lambda: nn.Linear(2, -1), ValueError, "Linear: out_features must be at least 0, found -1"),
    "groups": (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "Conv2d: in_channels=3 must be divisible by groups=2"),
    "groups out": (lambda: nn.Conv2d(4, 3, 3, groups=2), ValueError, "Conv2d: out_channels=3 must be divisible by"),
    "kernel": (lambda: nn.Conv2d(1, 1, (1, 2, 3)), ValueError, "Conv2d: kernel_size must be an int or a pair of ints"),  # type: ignore[arg-type]
    "padding": (lambda: nn.Conv2d(1, 1, 3, padding="some"), ValueError, "Conv2d: padding must be an int, a pair, "),  # type: ignore[arg-type]
    "same": (lambda: nn.Conv2d(1, 1, 3, 2, padding="same"), ValueError, "Conv2d: padding='same' is for stride 1"),
    "mode": (
        lambda: nn.Conv2d(1, 1, 3, padding_mode="edge"),
        ValueError,
        "Conv2d: padding_mode must be one of 'zeros', ",
    ),
    "probability": (
        lambda: nn.Dropout(1.5),
        ValueError,
        "Dropout: p has to be a probability between 0 and 1, found 1.5",
    ),
    "row of padding": (
        lambda: nn.Embedding(3, 2, 3),
        ValueError,
        "Embedding: padding_idx must be a row of the weight, from -3 to 2, found 3",
    ),
    "channels of pixels": (
        lambda: nn.PixelShuffle(2)(dk.ones((6, 1, 1))),
        ValueError,
        "pixel_shuffle: argument 'x' has shape (6, 1, 1), expected (..., C * 2 * 2, H, W)",
    ),
    "pixels": (
        lambda: nn.PixelUnshuffle(2)(dk.ones((1, 2, 3))),
        ValueError,
        "pixel_unshuffle: argument 'x' has shape (1, 2, 3), expected (..., C, H * 2, W * 2)",
    ),
    "mode of resizing": (
        lambda: nn.Upsample(2, mode="cubic")(dk.ones((1, 1, 2, 2))),  # type: ignore[arg-type]
        ValueError,
        "interpolate: mode must be one of 'nearest', 'nearest-exact', 'area', 'linear', 'bilinear', 'bicubic', 'tril",
    ),
    "axes of resizing": (
        lambda: nn.Upsample(2, mode="bilinear")(dk.ones((1, 1, 2))),
        ValueError,
        "interpolate: argument 'x' has shape (1, 1, 2), expected (N, C, H, W) for mode='bilinear'",
    ),
    "no size": (
        lambda: nn.Upsample()(dk.ones((1, 1, 2))),
        ValueError,
        "interpolate: give one of size and scale_factor, found None and None",
    ),
    "sizes": (
        lambda: nn.Upsample((2, 3))(dk.ones((1, 1, 2))),
        ValueError,
        "interpolate: expected 1 numbers for size, found [2, 3]",
    ),
    "nothing left": (
        lambda: nn.Upsample(scale_factor=0.3)(dk.ones((1, 1, 2))),
        ValueError,
        "interpolate: scale_factor=0.3 leaves nothing of the axes (2,)",
    ),
    "corners of the nearest": (
        lambda: nn.Upsample(2, align_corners=True)(dk.ones((1, 1, 2))),
        ValueError,
        "interpolate: align_corners is for modes of weighted means, found mode='nearest'",
    ),
    "windows": (lambda: nn.MaxPool1d(9)(dk.ones((1, 4))), ValueError, "max_pool2d: argument 'x' has shape (1, 1, 4)"),
    "one value of an instance": (
        lambda: nn.InstanceNorm2d(2)(dk.ones((3, 2, 1, 1))),
        ValueError,
        "InstanceNorm2d: expected more than 1 value per channel of a sample, found shape (3, 2, 1, 1)",
    ),
    "axes of an instance": (
        lambda: nn.InstanceNorm1d(2)(dk.ones((3, 2, 1, 1))),
        ValueError,
        "InstanceNorm1d: expected 3-D input, found shape (3, 2, 1, 1)",
    ),
    "groups of channels": (lambda: nn.GroupNorm(2, 3), ValueError, "GroupNorm: num_channels=3 must be divisible by"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named_with_the_layer(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error) as caught:
        call()
    assert text in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_the_size_of_what_a_transposed_convolution_gives_may_be_named_in_a_call() -> None:
    layer = nn.ConvTranspose1d(1, 1, 3, stride=2, bias=False)
    nn.init.ones_(layer.weight)
    x = dk.tensor([[1.0, 2.0]])
    assert layer(x).tolist() == [[1.0, 1.0, 3.0, 2.0, 2.0]]
    for size in ((6,), (1, 6), [6]):
        assert layer(x, output_size=size).tolist() == [[1.0, 1.0, 3.0, 2.0, 2.0, 0.0]]
    assert layer(x[None], (1, 1, 5)).shape == (1, 1, 5)


def test_instances_of_other_channels_are_normalized_with_a_warning_where_their_number_is_not_used() -> None:
    x = dk.asarray(np.arange(12.0).reshape(1, 3, 2, 2))
    with pytest.warns(
        UserWarning, match=r"InstanceNorm2d: expected 2 channels, found shape \(1, 3, 2, 2\); their number"
    ):
        y = dk.nn.InstanceNorm2d(2)(x)
    assert y.tolist() == dk.nn.InstanceNorm2d(3)(x).tolist()
    with pytest.raises(ValueError, match="InstanceNorm2d: expected 2 channels"):
        dk.nn.InstanceNorm2d(2, affine=True)(x)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("scale", [1.0, 2.0, 3.0, 1.5])
def test_gradients_of_repeated_neighbours_are_added(mode: Any, scale: float) -> None:
    x = dk.tensor(np.arange(24.0).reshape(1, 2, 3, 4), requires_grad=True)
    y = dk.nn.Upsample(scale_factor=scale, mode=mode)(x)
    rows, columns = (int(n * scale) for n in (3, 4))
    shift = 0.5 * (mode == "nearest-exact")
    places = [np.floor((np.arange(n) + shift) / scale).astype(int) for n in (rows, columns)]
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy()[:, :, places[0][:, None], places[1]])
    y.sum().backward()
    counts = np.multiply.outer(np.bincount(places[0], minlength=3), np.bincount(places[1], minlength=4))
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(counts, (1, 2, 3, 4)))
