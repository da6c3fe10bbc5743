"""Layers, losses and functions of networks that only PyTorch's spelling has: right values, and PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled

X = np.random.default_rng(0).normal(size=(2, 4, 6, 5))
S = np.random.default_rng(1).normal(size=(3, 4))
T = np.random.default_rng(2).normal(size=(3, 4))
V = np.random.default_rng(3).normal(size=(2, 2, 4, 3, 4))
Make = Callable[[Any], Any]
# Of either library: how a layer is made, and what it is called with.
LAYERS: dict[str, tuple[Make, tuple[Any, ...]]] = {
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(3), (X[0],)),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d((2, None)), (X,)),
    "AdaptiveMaxPool2d with places": (lambda nn: nn.AdaptiveMaxPool2d(2, return_indices=True), (X,)),
    "AdaptiveMaxPool3d": (lambda nn: nn.AdaptiveMaxPool3d((2, 1, 3)), (V,)),
    "MaxPool1d with places": (lambda nn: nn.MaxPool1d(2, return_indices=True), (X[0],)),
    "MaxPool2d with places": (lambda nn: nn.MaxPool2d(3, 2, 1, return_indices=True), (X,)),
    "MaxPool2d without": (lambda nn: nn.MaxPool2d(2, return_indices=False), (X,)),
    "MaxPool3d with places": (lambda nn: nn.MaxPool3d(2, return_indices=True), (V,)),
    "LPPool1d": (lambda nn: nn.LPPool1d(2, 2), (X[0] + 9,)),
    "LPPool2d": (lambda nn: nn.LPPool2d(1.5, (2, 3), stride=2), (X + 9,)),
    "LPPool3d": (lambda nn: nn.LPPool3d(3, 2), (V + 9,)),
    "Bilinear": (lambda nn: nn.Bilinear(4, 4, 3), (S, T)),
    "Bilinear without bias": (lambda nn: nn.Bilinear(4, 4, 3, bias=False), (S, T)),
    "ChannelShuffle": (lambda nn: nn.ChannelShuffle(2), (X,)),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(), (S, T)),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(3.0, keepdim=True), (S, T)),
    "Fold": (lambda nn: nn.Fold((4, 5), (2, 2)), (np.resize(X, (2, 12, 12)),)),
    "Unfold": (lambda nn: nn.Unfold((2, 3), padding=1), (X,)),
    "Hardshrink": (lambda nn: nn.Hardshrink(0.3), (S,)),
    "Softshrink": (lambda nn: nn.Softshrink(0.3), (S,)),
    "Tanhshrink": (lambda nn: nn.Tanhshrink(), (S,)),
    "Softmin": (lambda nn: nn.Softmin(dim=1), (S,)),
    "Softmax2d": (lambda nn: nn.Softmax2d(), (X,)),
    "RReLU in evaluation": (lambda nn: nn.RReLU(0.1, 0.3).eval(), (S,)),
    "AlphaDropout in evaluation": (lambda nn: nn.AlphaDropout(0.3).eval(), (S,)),
    "FeatureAlphaDropout in evaluation": (lambda nn: nn.FeatureAlphaDropout(0.3).eval(), (X,)),
    "LinearCrossEntropyLoss": (
        lambda nn: nn.LinearCrossEntropyLoss(4, 5, bias=True, label_smoothing=0.1),
        (S, np.array([0, 4, 2])),
    ),
    "LinearCrossEntropyLoss of further axes": (
        lambda nn: nn.LinearCrossEntropyLoss(4, 5, out_features=(2, 3), reduction="sum", ignore_index=1),
        (S, np.arange(18).reshape(3, 2, 3) % 5),
    ),
    "LocalResponseNorm": (lambda nn: nn.LocalResponseNorm(3), (X,)),
    "Unflatten": (lambda nn: nn.Unflatten(1, (2, 2)), (X,)),
    "UpsamplingNearest2d": (lambda nn: nn.UpsamplingNearest2d(scale_factor=2), (X,)),
    "UpsamplingBilinear2d": (lambda nn: nn.UpsamplingBilinear2d((7, 8)), (X,)),
    "CosineEmbeddingLoss": (lambda nn: nn.CosineEmbeddingLoss(0.1), (S, T, np.array([1, -1, 1]))),
    "HingeEmbeddingLoss": (lambda nn: nn.HingeEmbeddingLoss(), (S, np.sign(T))),
    "MarginRankingLoss": (lambda nn: nn.MarginRankingLoss(0.2, reduction="sum"), (S, T, np.sign(S * T))),
    "MultiLabelMarginLoss": (lambda nn: nn.MultiLabelMarginLoss(), (S, np.array([[0, 2, -1, 1]] * 3))),
    "MultiLabelSoftMarginLoss": (lambda nn: nn.MultiLabelSoftMarginLoss(), (S, (T > 0) * 1.0)),
    "MultiMarginLoss": (lambda nn: nn.MultiMarginLoss(p=2), (S, np.array([0, 3, 1]))),
    "PoissonNLLLoss": (lambda nn: nn.PoissonNLLLoss(full=True), (S, np.abs(T).round() + 2)),
    "GaussianNLLLoss": (lambda nn: nn.GaussianNLLLoss(full=True), (S, T, np.abs(T) + 0.1)),
    "SoftMarginLoss": (lambda nn: nn.SoftMarginLoss(), (S, np.sign(T).astype(int))),
    "TripletMarginLoss": (lambda nn: nn.TripletMarginLoss(swap=True), (S, T, S[::-1].copy())),
    "TripletMarginWithDistanceLoss": (lambda nn: nn.TripletMarginWithDistanceLoss(margin=2.0), (S, T, S[::-1].copy())),
    "EmbeddingBag": (lambda nn: nn.EmbeddingBag(5, 3), (np.array([1, 2, 4, 3]), np.array([0, 3]))),
    "EmbeddingBag, summed": (lambda nn: nn.EmbeddingBag(5, 3, mode="sum"), (np.array([[1, 2], [4, 3]]),)),
    "ReflectionPad2d of four": (lambda nn: nn.ReflectionPad2d((2, 0, 1, 3)), (X,)),
    "ConstantPad1d": (lambda nn: nn.ConstantPad1d((1, 2), 3.5), (X[0],)),
    "ConstantPad2d": (lambda nn: nn.ConstantPad2d(2, 3.5), (X,)),
    "LSTM, projected": (lambda nn: nn.LSTM(4, 5, 2, proj_size=3, bidirectional=True), (X[:, :, :, 0].swapaxes(1, 2),)),
    "Embedding with a norm": (lambda nn: nn.Embedding(5, 3, max_norm=1.0), (np.array([1, 2, 1]),)),
    "Embedding by frequency": (lambda nn: nn.Embedding(5, 3, scale_grad_by_freq=True), (np.array([1, 2, 1]),)),
    "attention of other lengths": (
        lambda nn: nn.MultiheadAttention(4, 2, kdim=3, vdim=5, batch_first=True),
        (X[0, :2, :, :4], X[1, :2, :, :3], X[1, 2:, :, :5]),
    ),
    "attention with more keys": (
        lambda nn: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True),
        (X[0, :, :3, :4], X[1, :, :3, :4], X[1, :, :3, 1:]),
    ),
}


def padding(kind: str, axes: int) -> Make:
    return lambda nn: getattr(nn, f"{kind}Pad{axes}d")(1)


LAYERS |= {
    f"{kind}Pad{n}d": (padding(kind, n), (x,))
    for kind in ("Circular", "Reflection", "Replication", "Zero")
    for n, x in ((1, X[0]), (2, X), (3, V))
}


def tensors(library: Any, values: tuple[Any, ...], tracked: bool) -> list[Any]:
    made = [library.tensor(value) for value in values]
    if tracked:
        made = [x.requires_grad_() if x.is_floating_point() else x for x in made]
    return made


def numbers(x: Any) -> Any:
    return np.asarray(x.detach().numpy())


def outputs_of(y: Any) -> list[Any]:
    if isinstance(y, (tuple, list)):
        return [each for part in y for each in outputs_of(part)]
    return [y]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_what_pytorch_computes(name: str) -> None:
    torch = pytest.importorskip("torch")
    make, values = LAYERS[name]
    theirs, ours = make(torch.nn).double(), make(spelled.nn).double()
    state = {key: spelled.tensor(numbers(value)) for key, value in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    results = []
    for library, layer in ((torch, theirs), (spelled, ours)):
        xs = tensors(library, values, True)
        ys = outputs_of(layer(*xs))
        smooth = [(y * y).sum() for y in ys if y.requires_grad]
        if smooth:
            sum(smooth[1:], smooth[0]).backward()
        results.append(
            [*map(numbers, ys), *(numbers(x.grad) for x in (*xs, *layer.parameters()) if x.grad is not None)]
        )
    assert len(results[0]) == len(results[1])
    for x, y in zip(*results, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-8, atol=1e-10)


PLAIN: dict[str, tuple[Make, tuple[Any, ...], Any]] = {
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(2), ([[1.0, 5.0, 2.0, 3.0]],), [[5.0, 3.0]]),
    "LPPool1d": (lambda nn: nn.LPPool1d(2, 2), ([[3.0, 4.0, 6.0, 8.0]],), [[5.0, 10.0]]),
    "ChannelShuffle": (
        lambda nn: nn.ChannelShuffle(2),
        ([[[0.0], [1.0], [2.0], [3.0]]],),
        [[[0.0], [2.0], [1.0], [3.0]]],
    ),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(0), ([3.0, 4.0], [4.0, 3.0]), 0.96),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(1.0, eps=0.0), ([[1.0, 2.0]], [[4.0, 0.0]]), [5.0]),
    "Softmin": (lambda nn: nn.Softmin(0), ([0.0, 0.0],), [0.5, 0.5]),
    "Hardshrink": (lambda nn: nn.Hardshrink(), ([0.25, -2.0],), [0.0, -2.0]),
    "Softshrink": (lambda nn: nn.Softshrink(), ([0.25, -2.0],), [0.0, -1.5]),
    "MarginRankingLoss": (lambda nn: nn.MarginRankingLoss(1.0), ([2.0, 0.0], [0.0, 2.0], [1.0, 1.0]), 1.5),
    "HingeEmbeddingLoss": (lambda nn: nn.HingeEmbeddingLoss(), ([0.25, 0.5], [-1.0, 1.0]), 0.625),
    "MultiMarginLoss": (lambda nn: nn.MultiMarginLoss(), ([[0.0, 0.5]], [0]), 0.75),
    "CircularPad1d": (lambda nn: nn.CircularPad1d(1), ([[[1.0, 2.0, 3.0]]],), [[[3.0, 1.0, 2.0, 3.0, 1.0]]]),
    "ReflectionPad1d": (lambda nn: nn.ReflectionPad1d((2, 0)), ([[1.0, 2.0, 3.0]],), [[3.0, 2.0, 1.0, 2.0, 3.0]]),
    "ReplicationPad1d": (lambda nn: nn.ReplicationPad1d(1), ([[1.0, 2.0]],), [[1.0, 1.0, 2.0, 2.0]]),
    "ConstantPad1d": (lambda nn: nn.ConstantPad1d((0, 1), 7.0), ([[1.0]],), [[1.0, 7.0]]),
    "ZeroPad2d": (lambda nn: nn.ZeroPad2d((1, 0, 0, 0)), ([[[4.0]]],), [[[0.0, 4.0]]]),
    "Unflatten": (lambda nn: nn.Unflatten(0, (2, 1)), ([1.0, 2.0],), [[1.0], [2.0]]),
    "CTCLoss": (
        lambda nn: nn.CTCLoss(reduction="sum"),
        (np.log([[[0.5, 0.5]], [[0.25, 0.75]]]).tolist(), [[1]], [2], [1]),
        -np.log(0.5 * 0.75 + 0.5 * 0.25 + 0.5 * 0.75),
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_layers_give_the_numbers_of_their_formulas(name: str) -> None:
    make, values, expected = PLAIN[name]
    y = make(spelled.nn)(*(spelled.tensor(value) for value in values))
    np.testing.assert_allclose(numbers(y), expected, rtol=1e-12)


def test_max_pool_returns_places_that_max_unpool_takes() -> None:
    x = spelled.tensor([[[1.0, 5.0, 2.0, 3.0]]])
    y, places = spelled.nn.MaxPool1d(2, return_indices=True)(x)
    assert places.tolist() == [[[1, 3]]]
    assert spelled.nn.MaxUnpool1d(2)(y, places).tolist() == [[[0.0, 5.0, 0.0, 3.0]]]


def test_embedding_scales_long_vectors_that_it_looks_up_in_place() -> None:
    layer = spelled.nn.Embedding(2, 2, max_norm=1.0)
    with spelled.no_grad():
        layer.weight.copy_(spelled.tensor([[3.0, 4.0], [3.0, 4.0]]))
    layer(spelled.tensor([1]))
    np.testing.assert_allclose(numbers(layer.weight), [[3.0, 4.0], [0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda nn: nn.CircularPad2d((1, 2)), r"CircularPad2d: padding must be a number or 4 of them, found \(1, 2\)"),
        (lambda nn: nn.MultiMarginLoss(reduction="all"), "reduction must be 'none', 'mean' or 'sum', found 'all'"),
        (lambda nn: nn.LSTM(2, 3, proj_size=3), "proj_size must be from 0 to hidden_size - 1, found 3"),
    ],
)
def test_options_that_are_wrong_are_named(make: Make, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make(spelled.nn)


C = np.random.default_rng(4).normal(size=(6, 3, 5))
W = np.hanning(9)[:-1]
SIGNAL = np.random.default_rng(5).normal(size=(2, 40))
G = np.random.default_rng(6).uniform(-1.3, 1.3, size=(2, 3, 7, 2))
G3 = np.random.default_rng(7).uniform(-1.3, 1.3, size=(2, 3, 2, 2, 3))
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ctc_loss": lambda t, c: t.nn.functional.ctc_loss(
        c.log_softmax(-1), t.tensor([[1, 2, 2], [3, 1, 4], [1, 1, 1]]), t.tensor([6, 5, 6]), t.tensor([3, 2, 1])
    ),
    "ctc_loss in one row": lambda t, c: t.nn.functional.ctc_loss(
        c.log_softmax(-1), t.tensor([1, 2, 2, 3, 1, 4]), (6, 5, 6), (3, 2, 1), blank=0, reduction="none"
    ),
    "ctc_loss, impossible": lambda t, c: t.nn.functional.ctc_loss(
        c.log_softmax(-1),
        t.tensor([[1, 1, 1], [3, 1, 4], [1, 1, 1]]),
        (4, 5, 6),
        (3, 2, 1),
        zero_infinity=True,
        reduction="sum",
    ),
    **{
        f"grid_sample, {mode}, {padding}, {align}": lambda t, x, g, o=(mode, padding, align): (
            t.nn.functional.grid_sample(x, g, o[0], o[1], align_corners=o[2])
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for align in (False, True)
    },
    "grid_sample of volumes": lambda t, v, g3: t.nn.functional.grid_sample(v, g3, align_corners=False),
    "affine_grid": lambda t, a: t.nn.functional.affine_grid(a, (2, 3, 4, 5), align_corners=False),
    "affine_grid at the corners": lambda t, a: t.nn.functional.affine_grid(a, (2, 3, 4, 5), align_corners=True),
    "stft": lambda t, s: t.view_as_real(t.stft(s, 8, 2, window=t.tensor(W), return_complex=True)),
    "stft of short windows": lambda t, s: t.stft(
        s, 8, win_length=6, window=t.tensor(W[:6]), center=False, normalized=True, onesided=False, return_complex=False
    ),
    "istft": lambda t, s: t.istft(
        t.stft(s, 8, 2, window=t.tensor(W + 0.1), return_complex=True), 8, 2, window=t.tensor(W + 0.1), length=37
    ),
    "lp_pool2d": lambda t, x: t.nn.functional.lp_pool2d(x + 9, 2.0, 2, ceil_mode=True),
    **{
        f"{name}_window": lambda t, n=name: getattr(t, f"{n}_window")(7, dtype=t.float64)
        for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
    },
    "hann_window of both ends": lambda t: t.hann_window(7, periodic=False, dtype=t.float64),
}
ARGUMENTS = {"ctc_loss": (C,), "grid_sample": (X, G), "affine_grid": (S.reshape(2, 2, 3),), "lp_pool2d": (X,)}
ARGUMENTS |= {"stft": (SIGNAL,), "istft": (SIGNAL,), "grid_sample of volumes": (V, G3)}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_compute_what_pytorch_computes(name: str) -> None:
    torch = pytest.importorskip("torch")
    values = ARGUMENTS.get(name) or ARGUMENTS.get(name.partition(",")[0].partition(" ")[0], ())
    results = []
    for library in (torch, spelled):
        xs = tensors(library, values, True)
        y = FUNCTIONS[name](library, *xs)
        if xs:
            (y * y).sum().backward()
        results.append([numbers(y), *(numbers(x.grad) for x in xs if x.grad is not None)])
    for x, y in zip(*results, strict=False):
        np.testing.assert_allclose(y, x, rtol=1e-8, atol=1e-10)


def test_grid_sample_reads_between_elements() -> None:
    x = spelled.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    y = spelled.nn.functional.grid_sample(x, spelled.tensor([[[[0.0, 0.0], [-1.0, 1.0]]]]), align_corners=True)
    assert y.tolist() == [[[[1.5, 2.0]]]]


def test_gumbel_softmax_chooses_one_with_the_gradient_of_the_shares() -> None:
    spelled.manual_seed(0)
    x = spelled.tensor([[0.0, 30.0, 0.0]], requires_grad=True)
    y = spelled.nn.functional.gumbel_softmax(x, hard=True)
    assert y.tolist() == [[0.0, 1.0, 0.0]]
    (y * spelled.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert abs(x.grad.sum().item()) < 1e-12


def test_istft_gives_the_signal_back() -> None:
    x = spelled.tensor(SIGNAL)
    window = spelled.hann_window(8)
    y = spelled.istft(spelled.stft(x, 8, window=window, return_complex=True), 8, window=window)
    np.testing.assert_allclose(numbers(y), SIGNAL, atol=1e-12)


def test_decompositions_say_which_matrices_have_none() -> None:
    A = spelled.stack([spelled.eye(2), -spelled.eye(2), spelled.tensor([[1.0, 2.0], [2.0, 1.0]])])
    L, info = spelled.linalg.cholesky_ex(A)
    assert info.tolist() == [0, 1, 2]
    assert L[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    singular = spelled.tensor([[1.0, 2.0], [2.0, 4.0]])
    assert int(spelled.linalg.inv_ex(singular)[1]) == 2
    assert int(spelled.linalg.solve_ex(singular, spelled.ones(2))[1]) == 2
    with pytest.raises(np.linalg.LinAlgError, match=r"linalg.cholesky: the computation failed, info is \[0, 1, 2\]"):
        spelled.linalg.cholesky_ex(A, check_errors=True)


def test_tangents_of_vectors_stay_as_they_are_where_a_norm_is_bounded() -> None:
    weight, numbers = spelled.tensor([[3.0, 4.0], [0.1, 0.2]]), spelled.tensor([0, 1, 0])

    def look_up(weight: Any) -> Any:
        return spelled.nn.functional.embedding(numbers, weight.clone(), max_norm=1.0)

    tangents = spelled.tensor([[1.0, 2.0], [3.0, 4.0]])
    vectors, moved = spelled.func.jvp(look_up, (weight,), (tangents,))
    np.testing.assert_allclose(vectors.numpy(), [[0.6, 0.8], [0.1, 0.2], [0.6, 0.8]], rtol=1e-6)
    np.testing.assert_array_equal(moved.numpy(), tangents.numpy()[[0, 1, 0]])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda nn: nn.LinearCrossEntropyLoss(4, 5, weight=spelled.ones(4)),
            r"expected weight shape to be \(5,\), got",
        ),
        (lambda nn: nn.LinearCrossEntropyLoss(4, 5, label_smoothing=2), "label_smoothing to be in range .*, got 2"),
        (lambda nn: nn.LinearCrossEntropyOptions(acc_policy="best"), "invalid acc_policy: 'best'"),
        (
            lambda nn: nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0"),
            "chunking_method: .*:0",
        ),
        (lambda nn: nn.LinearCrossEntropyOptions(batch_chunk_size=0), "must be positive int or None, got 0"),
    ],
    ids=["weight", "smoothing", "policy", "method", "size"],
)
def test_options_of_linear_losses_are_looked_at(make: Make, text: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=text):
        make(spelled.nn)
