"""Functions of `torch.nn.functional` that are put in terms of operations, by hand, without PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F = torch.nn.functional


def test_largest_elements_are_put_back_where_they_stood() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
    y, places = F.max_pool2d(x, 2, return_indices=True)
    assert places.tolist() == [[[[5, 7], [13, 15]]]]
    again = F.max_unpool2d(y, places, 2)
    assert again.shape == x.shape
    assert again.nonzero().tolist() == [[0, 0, i, j] for i in (1, 3) for j in (1, 3)]
    again.sum().backward()
    assert x.grad.sum() == 4
    assert F.adaptive_max_pool1d(x[0, 0], 3, return_indices=True)[1][0].tolist() == [1, 2, 3]
    assert F.max_pool1d(x[0, 0, :1], 3, 2, 1, return_indices=True)[1].tolist() == [[1, 3]]


def test_windows_at_random_lie_in_order_and_reach_the_end() -> None:
    x = torch.arange(9.0).reshape(1, 1, 1, 9).requires_grad_(False).expand(1, 2, 4, 9)
    dk.manual_seed(0)
    y, places = F.fractional_max_pool2d(x, (1, 2), output_size=(4, 4), return_indices=True)
    assert y.shape == (1, 2, 4, 4)
    assert (y[..., 1:] > y[..., :-1]).all()
    assert (y[..., -1] == 8).all()
    assert (x.reshape(1, 2, 36).gather(2, places.reshape(1, 2, 16)) == y.reshape(1, 2, 16)).all()


def test_windows_side_by_side_are_folded_back() -> None:
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    columns = F.unfold(x, (1, 2), stride=(1, 2))
    assert columns.tolist() == [[[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]]
    assert (F.fold(columns, (3, 4), (1, 2), stride=(1, 2)) == x).all()
    assert F.fold(F.unfold(x, 2), (3, 4), 2)[0, 0].tolist() == [[0, 2, 4, 3], [8, 20, 24, 14], [8, 18, 20, 11]]


def test_statistics_of_batches_are_taken_into_the_running_ones() -> None:
    x, mean, var = torch.tensor([[1.0], [3.0]]), torch.zeros(1), torch.ones(1)
    np.testing.assert_allclose(F.batch_norm(x, mean, var, training=True, eps=1e-12).numpy(), [[-1.0], [1.0]])
    assert (mean.tolist(), var.tolist()) == ([pytest.approx(0.2)], [pytest.approx(1.1)])
    F.instance_norm(torch.tensor([[[1.0, 3.0]], [[5.0, 7.0]]]), mean, var, momentum=1.0)
    assert (mean.tolist(), var.tolist()) == ([4.0], [2.0])
    y = F.instance_norm(torch.tensor([[[6.0, 2.0]]]), mean, var, use_input_stats=False, eps=0.0)
    np.testing.assert_allclose(y.tolist(), [[[math.sqrt(2), -math.sqrt(2)]]])


@pytest.mark.parametrize(
    ("name", "arguments", "loss"),
    [
        ("hinge_embedding_loss", ([2.0, 0.25], [1.0, -1.0]), 2.75),
        ("margin_ranking_loss", ([2.0, 0.0], [1.0, 1.0], [1.0, 1.0], 0.5), 1.5),
        ("soft_margin_loss", ([0.0, 0.0], [1.0, -1.0]), 2 * math.log(2)),
        ("multi_margin_loss", ([[1.0, 0.5, 3.0]], [0]), 3.5 / 3),
        ("multilabel_margin_loss", ([[1.0, 0.5, 3.0]], [[2, -1, 0]]), 0.0),
        ("multilabel_soft_margin_loss", ([[0.0, 0.0]], [[1.0, 0.0]]), math.log(2)),
        ("poisson_nll_loss", ([0.0], [3.0]), 1.0),
        ("gaussian_nll_loss", ([1.0], [3.0], [1.0]), 2.0),
        ("cosine_embedding_loss", ([[1.0, 0.0]], [[0.0, 2.0]], [1.0]), 1.0),
        ("triplet_margin_loss", ([[0.0]], [[3.0]], [[1.0]], 1.0, 2.0, 0.0), 3.0),
    ],
)
def test_losses_by_hand(name: str, arguments: tuple[Any, ...], loss: float) -> None:
    tensors = [torch.tensor(value) if isinstance(value, list) else value for value in arguments]
    np.testing.assert_allclose(getattr(F, name)(*tensors, reduction="sum").item(), loss, atol=1e-9)
    with pytest.raises(ValueError, match=f"{name}: reduction must be 'none', 'mean' or 'sum', found 'all'"):
        getattr(F, name)(*tensors, reduction="all")


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    dk.manual_seed(0)
    x = torch.randn(400, 400)
    for y in (F.alpha_dropout(x, 0.3, training=True), F.feature_alpha_dropout(x[..., None], 0.3, training=True)):
        np.testing.assert_allclose([y.mean().item(), y.std().item()], [0.0, 1.0], atol=0.02)
    assert len(set(F.feature_alpha_dropout(torch.ones(20, 20, 3), 0.5, True)[:, :, 0].reshape(-1).tolist())) == 2
    assert (F.alpha_dropout(x, 1.0, training=True) == 0).all()


def test_leaky_slopes_are_drawn_in_training() -> None:
    dk.manual_seed(0)
    y = F.rrelu(torch.full((1000,), -1.0), 0.2, 0.4, training=True)
    assert -0.4 <= y.min() < -0.39 < -0.21 < y.max() <= -0.2
    np.testing.assert_allclose(F.rrelu(torch.tensor([-1.0, 2.0]), 0.2, 0.4).tolist(), [-0.3, 2.0])


def test_bags_of_vectors() -> None:
    weight = torch.tensor([[1.0], [10.0], [100.0]])
    numbers, offsets = torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2, 2])
    assert F.embedding_bag(numbers, weight, offsets, mode="sum").tolist() == [[11.0], [0.0], [200.0]]
    assert F.embedding_bag(numbers, weight, offsets, padding_idx=1).tolist() == [[1.0], [0.0], [100.0]]
    assert F.embedding_bag(numbers, weight, offsets, mode="max").tolist() == [[10.0], [0.0], [100.0]]
    with pytest.raises(ValueError, match="mode has to be one of sum, mean or max, found 'least'"):
        F.embedding_bag(numbers, weight, offsets, mode="least")


def test_padding_cuts_by_negative_widths() -> None:
    assert F.pad(torch.arange(5.0), (-1, 2)).tolist() == [1, 2, 3, 4, 0, 0]
    assert F.pad(torch.arange(6.0).reshape(2, 3), (1, -1, -1, 0), value=7.0).tolist() == [[7, 3, 4]]


def test_resizing_by_names() -> None:
    x = torch.tensor([[[[1.0, 2.0]]]])
    assert F.upsample_nearest(x, scale_factor=2)[0, 0, 0].tolist() == [1, 1, 2, 2]
    assert F.upsample_bilinear(x, (1, 3))[0, 0, 0].tolist() == [1, 1.5, 2]
    assert F.upsample(x, (1, 1), mode="area").item() == 1.5


def attended(*, embed_dim: int = 4, heads: int = 2, **options: Any) -> Any:
    """Return what attention by given weights gives for one sequence of three vectors."""
    x, weight = torch.arange(12.0).view(3, 4) / 10, torch.eye(4)
    return F.multi_head_attention_forward(
        *(x, x, x, embed_dim, heads, torch.cat([weight] * 3), None, None, None, False, 0.0, weight, None), **options
    )


def test_attention_by_given_weights_is_that_of_the_layer() -> None:
    layer = torch.nn.MultiheadAttention(4, 2, bias=False)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([torch.eye(4)] * 3))
        layer.out_proj.weight.copy_(torch.eye(4))
    x = torch.arange(12.0).view(3, 4) / 10
    for found, wanted in zip(attended(), layer(x, x, x), strict=True):
        np.testing.assert_allclose(found.detach(), wanted.detach(), rtol=1e-12)
    assert attended(need_weights=False)[1] is None


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"embed_dim": 5}, AssertionError, "was expecting embedding dimension of 5, but got 4"),
        ({"heads": 3}, AssertionError, "embed_dim 4 not divisible by num_heads 3"),
        ({"is_causal": True}, RuntimeError, "Need attn_mask if specifying the is_causal hint"),
    ],
)
def test_attention_by_given_weights_refuses_what_does_not_fit(options: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        attended(**options)


def test_numbers_that_are_tensors_get_gradients() -> None:
    value = torch.tensor(2.0, requires_grad=True)
    torch.index_fill(torch.ones(3), 0, torch.tensor([0, 1]), value).sum().backward()
    assert value.grad.item() == 2.0
    value.grad = None
    torch.lerp(torch.zeros(3), torch.ones(3), value).sum().backward()
    assert value.grad.item() == 3.0


@pytest.mark.parametrize("size", [1, 2, 3, (2, 4), (None, 3), (5, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_elements_of_windows_of_one_length_are_those_of_any(size: Any, dtype: str) -> None:
    x = torch.tensor(np.random.default_rng(0).integers(0, 4, (2, 3, 12, 12)), dtype=getattr(torch, dtype))
    leaf, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    y, (wanted, places) = F.adaptive_max_pool2d(leaf, size), F.adaptive_max_pool2d(other, size, return_indices=True)
    assert y.dtype == wanted.dtype == x.dtype
    assert y.tolist() == wanted.tolist() == x.flatten(2).gather(2, places.flatten(2)).reshape(y.shape).tolist()
    g = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape)
    y.backward(g)
    wanted.backward(g)
    assert leaf.grad.tolist() == other.grad.tolist()


def test_a_nan_gets_the_gradient_of_its_window_of_adaptive_pooling() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    x[0, 0, 1, 1] = math.nan
    x.requires_grad_()
    y = F.adaptive_max_pool2d(x, 2)
    assert math.isnan(y[0, 0, 0, 0])
    assert y[0, 0, 1, 1] == 15
    y.sum().backward()
    assert x.grad.nonzero()[:, 2:].tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_dropped_channels_are_zeros_and_the_others_are_scaled(p: float) -> None:
    x = torch.ones(4, 50, 2, 3, requires_grad=True)
    dk.manual_seed(0)
    y = F.dropout2d(x, p, True)
    dk.manual_seed(0)
    kept = F.dropout(torch.ones(4, 50, 1, 1), p, True)
    assert type(y) is type(x)
    assert y.tolist() == (kept * torch.ones(4, 50, 2, 3)).tolist()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


@pytest.mark.parametrize("repeats", [2, 3, 4, 5])
def test_the_gradient_of_the_nearest_elements_is_the_sum_of_those_of_their_copies(repeats: int) -> None:
    x = torch.arange(6.0).reshape(1, 1, 2, 3).requires_grad_()
    y = F.interpolate(x, scale_factor=repeats)
    g = torch.arange(float(y.numel())).reshape(y.shape)
    y.backward(g)
    assert x.grad.tolist() == g.reshape(1, 1, 2, repeats, 3, repeats).sum((3, 5)).tolist()
    assert F.interpolate(x, scale_factor=float(repeats)).shape == y.shape
