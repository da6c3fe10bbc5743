"""Functions that PyTorch's layers call, factors by reflections, segments, grids of counts, and tensors with strides."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch
from dispatchkit.autograd import gradcheck, gradgradcheck

F = torch.nn.functional
rng = np.random.default_rng(0)
T0 = torch.ones(0)


def drawn(*shape: int) -> Any:
    return torch.from_numpy(rng.normal(size=shape)).requires_grad_()


def same(x: Any, y: Any) -> None:
    np.testing.assert_allclose(x.detach().numpy(), np.asarray(y), rtol=1e-12, atol=1e-12)


def test_norms_give_back_the_means_and_the_inverse_deviations_that_they_divide_by() -> None:
    x, weight, bias = drawn(4, 6, 5), drawn(6), drawn(6)
    running = torch.zeros(6), torch.ones(6)
    y, mean, inverse = torch.native_batch_norm(x, weight, bias, *running, True, 0.5, 1e-3)
    array = x.detach().numpy()
    same(mean, array.mean((0, 2)))
    same(inverse, 1 / np.sqrt(array.var((0, 2)) + 1e-3))
    same(y, F.batch_norm(x, None, None, weight, bias, training=True, eps=1e-3).detach())
    same(running[0], 0.5 * array.mean((0, 2)))
    assert [one.requires_grad for one in (y, mean, inverse)] == [True, False, False]
    _, mean, inverse = torch.native_batch_norm(x, None, None, *running, False, 0.5, 1e-3)
    assert (mean.shape, inverse.shape) == ((0,), (0,))

    y, mean, inverse = torch.native_layer_norm(x, [6, 5], None, None, 1e-3)
    same(y, F.layer_norm(x, [6, 5], eps=1e-3).detach())
    same(mean, array.mean((1, 2), keepdims=True))
    same(inverse, 1 / np.sqrt(array.var((1, 2), keepdims=True) + 1e-3))

    assert torch.native_layer_norm(x[:0], [5], None, None, torch.tensor(1.0))[1].shape == (0, 6, 1)

    y, mean, inverse = torch.native_group_norm(x, weight, bias, 4, 6, 5, 2, 1e-3)
    same(y, F.group_norm(x, 2, weight, bias, 1e-3).detach())
    same(mean, array.reshape(4, 2, 15).mean(-1))
    same(inverse, 1 / np.sqrt(array.reshape(4, 2, 15).var(-1) + 1e-3))


@pytest.mark.parametrize("padding", range(3))
@pytest.mark.parametrize("mode", range(3))
def test_grid_samplers_take_numbers_for_the_words_of_grid_sample(mode: int, padding: int) -> None:
    words = ("bilinear", "nearest", "bicubic")[mode], ("zeros", "border", "reflection")[padding]
    x, grid = drawn(2, 3, 4, 5), drawn(2, 2, 2, 2)
    same(torch.grid_sampler_2d(x, grid, mode, padding, True), F.grid_sample(x, grid, *words, True).detach())
    if mode < 2:
        x, grid = drawn(1, 2, 3, 4, 2), drawn(1, 2, 1, 2, 3)
        same(torch.grid_sampler_3d(x, grid, mode, padding, False), F.grid_sample(x, grid, *words, False).detach())
        same(torch.grid_sampler(x, grid, mode, padding, False), F.grid_sample(x, grid, *words, False).detach())


def reduced(array: Any, reduce: str, counts: list[int], initial: float | None) -> Any:
    """Return the reductions of segments of the first axis."""
    results, start = [], 0
    neutral = {"sum": 0.0, "mean": 0.0, "max": -np.inf, "min": np.inf, "prod": 1.0}[reduce]
    first = neutral if initial is None else initial
    for count in counts:
        elements = np.concatenate([np.full((1, *array.shape[1:]), first), array[start : start + count]])
        if reduce == "mean":
            nothing = np.nan if initial is None else initial
            total = elements.sum(0)
            results.append(total / count if count else np.full(array.shape[1:], nothing))
        else:
            results.append(getattr(elements, reduce)(axis=0))
        start += count
    return np.stack(results)


@pytest.mark.parametrize("initial", [None, 0.5])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments_are_reduced_each_for_itself(reduce: str, initial: float | None) -> None:
    x, counts = drawn(6, 2), [3, 0, 1, 2]
    array = x.detach().numpy()
    expected = reduced(array, reduce, counts, initial)
    same(torch.segment_reduce(x, reduce, lengths=torch.tensor(counts), initial=initial), expected)
    same(torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 3, 3, 4, 6]), initial=initial), expected)
    rows = torch.tensor([[1, 1], [2, 0]])
    y = torch.segment_reduce(drawn(2, 2, 3).detach() * 0 + 2, reduce, lengths=rows, axis=1, initial=initial)
    same(y, np.stack([reduced(np.full((2, 3), 2.0), reduce, row, initial) for row in rows.tolist()]))
    full = torch.tensor([2, 1, 3])
    assert gradcheck(lambda x: torch.segment_reduce(x, reduce, lengths=full, initial=initial), (x,))
    same(torch.segment_reduce(torch.ones(0, 2), "sum", lengths=torch.tensor([0, 0])), np.zeros((2, 2)))


def test_segments_that_do_not_cover_an_axis_are_refused() -> None:
    x = torch.ones(3)
    for message, options in {
        "Either lengths or offsets must be defined": {},
        "indices based reduction is not supported": {"indices": torch.tensor([0])},
        "lengths contains negative value: -1": {"lengths": torch.tensor([4, -1])},
        "to sum to .* when !unsafe, found 2 for 3 elements": {"lengths": torch.tensor([1, 1])},
    }.items():
        with pytest.raises(RuntimeError, match=message):
            torch.segment_reduce(x, "sum", **options)
    with pytest.raises(RuntimeError, match="reduce must be one of sum, mean, max, min, prod, found 'median'"):
        torch.segment_reduce(x, "median", lengths=torch.tensor([3]))


def test_points_are_counted_in_the_cells_of_a_grid() -> None:
    points, weight = drawn(20, 3).detach(), drawn(20).detach()
    counts, edges = torch.histogramdd(points, 3)
    expected, there = np.histogramdd(points.numpy(), 3)
    same(counts, expected)
    for one, other in zip(edges, there, strict=True):
        same(one, other)
    bins = [torch.tensor([-2.0, 0.0, 2.0]), torch.tensor([-1.0, 1.0]), torch.tensor([-3.0, 3.0])]
    y: Any = torch.histogramdd(points, bins, weight=weight, density=True)
    lists = [one.tolist() for one in bins]
    same(y.hist, np.histogramdd(points.numpy(), lists, density=True, weights=weight.numpy())[0])
    assert [len(edge) for edge in y.bin_edges] == [3, 2, 2]
    shown: Any = torch.histogramdd(points, [2, 1, 1], range=[-2.0, 2.0, -3.0, 3.0, -3.0, 3.0])
    assert shown.bin_edges[0].tolist() == [-2.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("input has at least 2 axes, found shape [3]", lambda: torch.histogramdd(torch.ones(3), 2)),
        ("bins are 1 for points with 2 coordinates", lambda: torch.histogramdd(torch.ones(3, 2), [2])),
        ("without the last axis, [3], found [2]", lambda: torch.histogramdd(torch.ones(3, 2), 2, weight=torch.ones(2))),
        (
            "bins[0] must increase, found [1.0, 0.0]; write bins.sort()[0]",
            lambda: torch.histogramdd(torch.ones(3, 1), [torch.tensor([1.0, 0.0])]),
        ),
        (
            "interpolation_mode must be 0 for 'bilinear', 1 for 'nearest', 2 for 'bicubic', found 3",
            lambda: torch.grid_sampler_2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2), 3, 0, False),
        ),
        (
            "input of shape [2, 1] takes tau of length 1 and other of length 2, found 1 and 3",
            lambda: torch.ormqr(torch.ones(2, 1), torch.ones(1), torch.ones(3, 2)),
        ),
        (
            "the same number of dimensions as input, and tau one less, but got shapes [2, 1], [1] and [1, 2, 2]",
            lambda: torch.ormqr(torch.ones(2, 1), torch.ones(1), torch.ones(1, 2, 2)),
        ),
        ("lengths must be integers, found torch.float64", lambda: torch.segment_reduce(T0, "sum", lengths=T0)),
        ("not implemented for torch.int64", lambda: torch.segment_reduce(T0.long(), "sum", lengths=T0)),
        ("offsets have one element more than", lambda: torch.segment_reduce(T0, "sum", offsets=torch.ones(0).long())),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, call: Any) -> None:
    with pytest.raises(RuntimeError, match=re.escape(text)):
        call()


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_reflections_multiply_to_the_orthogonal_factor(shape: tuple[int, ...]) -> None:
    A = drawn(*shape)
    a, tau = torch.geqrf(A)
    m, n = shape[-2:]
    assert (a.shape, tau.shape) == (shape, (*shape[:-2], min(m, n)))
    q = torch.ormqr(a[..., : min(m, n)], tau, torch.eye(m).expand(*shape[:-2], m, m))
    same(q @ q.mT, np.broadcast_to(np.eye(m), (*shape[:-2], m, m)))
    same(q @ a.triu(), A.detach())
    B = drawn(*shape[:-2], m, 2)
    same(torch.ormqr(a[..., : min(m, n)], tau, B, transpose=True), (q.mT @ B).detach())
    same(torch.ormqr(a[..., : min(m, n)], tau, B.mT, left=False), (B.mT @ q).detach())
    assert gradcheck(lambda B: torch.ormqr(a[..., : min(m, n)], tau, B), (B,))


def test_empty_tensors_have_the_strides_that_are_asked_for() -> None:
    for y in (torch.empty_strided((2, 3), (1, 2)), torch.ones(2).new_empty_strided((2, 3), (1, 2))):
        assert (y.shape, y.stride()) == ((2, 3), (1, 2))
    assert torch.empty_strided((2, 0), (1, 1), dtype=torch.float32, requires_grad=True).requires_grad
    y = torch.empty_permuted((2, 3, 4), (2, 0, 1), dtype=torch.int16)
    assert (y.shape, y.stride(), y.dtype) == ((2, 3, 4), (3, 1, 6), torch.int16)
    with pytest.raises(RuntimeError, match=r"physical_layout must name each of the 2 axes once, found \[0, 0\]"):
        torch.empty_permuted((2, 3), (0, 0))
    assert torch.ones(3)[:0].as_strided((2,), (1,)).tolist() == [1.0, 1.0]


def test_the_airy_function_is_scipys_and_has_two_derivatives() -> None:
    special: Any = pytest.importorskip("scipy.special")
    x = drawn(5)
    same(torch.special.airy_ai(x), special.airy(x.detach().numpy())[0])
    assert torch.special.airy_ai(x.float()).dtype == torch.float32
    assert torch.special.airy_ai(torch.tensor(1)).dtype == torch.float64
    assert torch.special.airy_ai(x.half()).dtype == torch.float16
    assert gradcheck(torch.special.airy_ai, (x,))
    assert gradgradcheck(torch.special.airy_ai, (x,))
