"""What random calls beside PyTorch found: answers and refusals that are PyTorch's; PyTorch is not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch
from dispatchkit.as_torch.calling.refused import RefusedDtypes

torch: Any = dispatchkit.as_torch
F, T = torch.nn.functional, torch.tensor
NAN = float("nan")
ROW, SQUARE = T([3.0, 1.0, 2.0]), T([[3.0, 1.0], [1.0, 2.0]])
TRUE = T([True, False, True])
CUBE = torch.arange(18.0).reshape(2, 3, 3)
NONE = torch.zeros(0)


def whole(*shape: int) -> Any:
    """Return integers of a shape."""
    return torch.ones(shape, dtype=torch.int64)


ANSWERS: list[tuple[Callable[[], Any], Any]] = [
    (lambda: torch.repeat_interleave(T([1, 2])), [0, 1, 1]),
    (lambda: torch.repeat_interleave(T([1, 2]), output_size=3), [0, 1, 1]),
    (lambda: torch.repeat_interleave(whole(0), output_size=3), []),
    (lambda: torch.bincount(T([1, 2, 2]), T([0.5, 1.0, 1.0])), [0.0, 0.5, 2.0]),
    (lambda: T([1, 2]).bincount(weights=T([1j, 2.0])), [0.0, 0.0, 2.0]),
    (lambda: torch.bincount(whole(0), NONE, minlength=2), [0, 0]),
    (lambda: torch.clamp(TRUE, max=T([False, True, True])), [False, False, True]),
    (lambda: torch.clamp(TRUE, min=T([False, True, True])), [True, True, True]),
    (lambda: torch.add(TRUE, TRUE, alpha=-1), [True, False, True]),
    (lambda: torch.pow(True, T([-4, 0, 4])), [1, 1, 1]),
    (lambda: torch.inner(TRUE, T(True)), [True, False, True]),
    (lambda: T([[True]]).matrix_power(1), [[True]]),
    (lambda: torch.movedim(T(2.0), 0, -1), 2.0),
    (lambda: torch.movedim(T(2.0), (0,), (0,)), 2.0),
    (lambda: torch.diff(ROW, 0, prepend=T([1j])), [3.0, 1.0, 2.0]),
    (lambda: torch.trapz(ROW, dx=True), 3.5),
    (lambda: torch.trapezoid(torch.zeros(0, dtype=torch.bool)), False),
    (lambda: torch.block_diag(T([1.0], dtype=torch.float32), T(1.0)).dtype, torch.float32),
    (lambda: F.hardtanh(T([1, 3], dtype=torch.uint8), 0.0, 2.0), [1, 2]),
    (lambda: F.l1_loss(T([1, 2]), T([3, 2]), reduction="sum"), 2),
    (lambda: F.l1_loss(T([1, 2]), T([3, 2]), reduction="none"), [2, 0]),
    (lambda: F.linear(CUBE[None, :, :1, :1], T([[2.0]]), T([[[[1.0]]]])).flatten(), [1.0, 19.0]),
    (lambda: F.softmax(ROW, 0, torch.float32).dtype, torch.float64),
    (lambda: F.softmax(ROW, 0, 3, torch.float32).dtype, torch.float32),
    (lambda: F.multi_margin_loss(ROW[None], T(0)), 0.0),
    (lambda: F.multi_margin_loss(ROW[None], T(1)), 5 / 3),
    (lambda: F.rms_norm(ROW.float(), (3,), ROW).dtype, torch.float32),
    (lambda: F.binary_cross_entropy_with_logits(ROW, ROW.float()).dtype, torch.float32),
    (lambda: F.alpha_dropout(T(1 + 1j), 1.0, True), 0j),
    (lambda: F.multilabel_soft_margin_loss(T([0.0]), T([2j])), torch.log(T(2.0)).item() + 0j),
    (lambda: torch.native_group_norm(CUBE, None, None, 1, 6, 3, 3, 0.0)[1].shape, (1, 3)),
    (lambda: CUBE[..., 0, ...].shape, (2, 3)),
    (lambda: CUBE[..., ..., :].shape, (2, 3, 3)),
    (lambda: torch.signal.windows.gaussian(1, std=NAN).shape, (1,)),
    (lambda: F.dropout(T([1, 2]), 1.0).dtype, torch.int64),
    (lambda: F.dropout(T([1, 2]), 1.0, inplace=True), [0, 0]),
    (lambda: F.dropout(T([True, False]), 1.0), [False, False]),
    (lambda: F.dropout(whole(0)).dtype, torch.int64),
    (lambda: F.dropout2d(whole(2, 3, 4, 5), 1.0).dtype, torch.int64),
    (lambda: F.dropout1d(whole(2, 0, 3)).dtype, torch.int64),
    (lambda: F.dropout3d(whole(0, 1, 2, 2, 2), inplace=True).shape, (0, 1, 2, 2, 2)),
    (lambda: F.alpha_dropout(NONE * 1j, 0.5, True).dtype, torch.complex128),
    (lambda: F.adaptive_avg_pool2d(whole(0, 8, 8), (5, 7)).dtype, torch.int64),
    (lambda: torch.masked.prod(T(8.5), dim=(), dtype=torch.uint8).dtype, torch.uint8),
    (lambda: torch.masked.prod(T(8, dtype=torch.uint8), dim=()).dtype, torch.int64),
    (lambda: torch.split(NONE, []), ()),
    (lambda: NONE.split_with_sizes(()), ()),
    (lambda: torch.unsafe_split_with_sizes(NONE, []), ()),
    (lambda: torch.split_with_sizes_copy(NONE, []), ()),
    (lambda: torch.norm(SQUARE, dim=()), 15**0.5),
    (lambda: torch.cov(T(-0.8), correction=0, aweights=T(2.88)), 0.0),
    (lambda: torch.index_copy(T(5.0), 0, T([0]), T([7.0])), 7.0),
    (lambda: torch.cumsum(dim=0, input=T(2.0)), 2.0),
    (lambda: torch.sort(dim=0, input=T(2.0)).values, 2.0),
    (lambda: torch.matrix_power(n=-1, input=T([[2.0]])), [[0.5]]),
    (lambda: torch.orgqr(input2=T([0.5]), input=T([[2.0]])), [[0.5]]),
    (lambda: torch.multinomial(num_samples=1, input=T([0.0, 1.0])), [1]),
    (lambda: F.conv1d(whole(1, 1, 3), whole(1, 1, 2), T([-1.7]), padding="valid"), [[[1, 1]]]),
    (lambda: F.conv1d(whole(1, 1, 2), whole(1, 1, 3), T([1.7]), padding="same"), [[[3, 3]]]),
    (lambda: F.binary_cross_entropy_with_logits(T([0.0]), T([1.0]), None, T(2j)), torch.log(T(2.0)).item()),
    (lambda: F.kl_div(NONE[:, None], NONE[:, None], reduction="batchmean").isnan(), True),
    (lambda: F.linear_cross_entropy(torch.ones(2, 0), torch.ones(4, 0), T([3, 1])), 1.3862943611198906),
    (lambda: F.grid_sample(whole(0, 3, 5, 5), whole(0, 4, 4, 2), align_corners=False).dtype, torch.int64),
    (lambda: F.grid_sample(torch.zeros(2, 3, 5, 5) * 1j, torch.zeros(2, 0, 4, 2) * 1j).shape, (2, 3, 0, 4)),
]


@pytest.mark.parametrize(("call", "expected"), ANSWERS)
def test_what_pytorch_answers_is_answered(call: Callable[[], Any], expected: Any) -> None:
    y = call()
    if isinstance(y, torch.Tensor):
        y = y.tolist()
    if isinstance(expected, (float, complex)):
        assert y == pytest.approx(expected)
    else:
        assert y == expected


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (
            lambda: torch.repeat_interleave(T([[1, 2]])),
            RuntimeError,
            r"only accept 1D vector as repeat, found \[1, 2\]",
        ),
        (lambda: torch.repeat_interleave(T([1, 2]), output_size=4), RuntimeError, "expected 3 but got 4"),
        (lambda: whole(2).repeat_interleave(), TypeError, "at least 2 arguments, found 1"),
        (lambda: torch.lu(True), TypeError, "'A' must be Tensor, not bool"),
        (lambda: torch.clamp(TRUE, min=TRUE, max=TRUE), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: torch.inner(TRUE, TRUE), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: T([[True]]).matrix_power(2), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: torch.trapezoid(TRUE), NotImplementedError, "not implemented for 'Bool'"),
        (
            lambda: torch.addr(SQUARE, ROW[:2], ROW[:2], beta=True),
            RuntimeError,
            "Boolean beta only supported for Boolean",
        ),
        (lambda: torch.addr(TRUE, TRUE, TRUE, beta=0.5), RuntimeError, "argument beta must not be a floating point"),
        (lambda: torch.arange(T([1, 0]), 2), TypeError, r"combination of arguments: got \(Tensor, int\)"),
        (lambda: torch.arange(1, 5, dtype=torch.bool), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: torch.linspace(1, 5, 2, dtype=torch.bool), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: torch.full(True, 1.0), TypeError, "'size' must be tuple of ints, not bool"),
        (lambda: torch.full(2, 1.0), TypeError, "'size' must be tuple of ints, not int"),
        (lambda: torch.broadcast_to(SQUARE, T([2, 2])), TypeError, "must be tuple of ints, not Tensor"),
        (lambda: torch.as_tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
        (lambda: torch.bernoulli((1, 2), 0.5), TypeError, "'input' must be Tensor, not tuple"),
        (lambda: torch.unflatten(SQUARE, 1, (-1, -1)), RuntimeError, r"only one dimension can be inferred"),
        (lambda: torch.cov(SQUARE, aweights=torch.zeros(2)), RuntimeError, "weights sum to zero"),
        (lambda: torch.linalg.inv_ex(SQUARE[:1]), RuntimeError, "square matrices, but they are 1 by 2"),
        (lambda: torch.linalg.lstsq(torch.ones(3, 2, 3), SQUARE), RuntimeError, "sizes of tensors must match"),
        (lambda: torch.ormqr(SQUARE, T(1.0), SQUARE), IndexError, "Expected input2 to have at least 1 dimensions"),
        (lambda: torch.scatter_reduce(TRUE, 0, T([0]), TRUE, "mean"), NotImplementedError, "'mean' not implemented"),
        (lambda: F.elu(ROW, 1.0, False, 0), TypeError, "at most 3 positional arguments but 4 were given"),
        (
            lambda: F.embedding(T([1], dtype=torch.int16), SQUARE),
            RuntimeError,
            "scalar types: Long, Int; but got Short",
        ),
        (lambda: F.linear(SQUARE, ROW[:2], T(1.0)), RuntimeError, r"must be a matrix, got 1-D tensor"),
        (lambda: F.rms_norm(SQUARE, ()), RuntimeError, "at least 1-dimensional"),
        (lambda: F.unfold(torch.ones(1, 1, 2, 2, 2), 1), RuntimeError, r"3D or 4D .* tensor .*\[1, 1, 2, 2, 2\]"),
        (lambda: F.adaptive_max_pool2d(CUBE, None), TypeError, "not NoneType"),
        (lambda: F.adaptive_avg_pool2d(CUBE, None), TypeError, "not NoneType"),
        (lambda: F.max_unpool3d(SQUARE, whole(2, 2), (-1,)), ValueError, r"output_size\[0\]=-"),
        (
            lambda: F.binary_cross_entropy_with_logits(ROW, whole(3)),
            RuntimeError,
            "make the target of dtype torch.float64",
        ),
        (lambda: F.interpolate(CUBE.to(torch.uint8), scale_factor=2, mode="linear"), NotImplementedError, "'Byte'"),
        (lambda: torch.masked.mean(TRUE), ValueError, "Could not infer output dtype. .* Got: torch.bool"),
        (lambda: torch.masked.mean(ROW, dtype=torch.int8), ValueError, "must be floating-point or complex"),
        (
            lambda: torch.masked.argmax(ROW * 1j, 0, mask=TRUE),
            TypeError,
            "no complex number is the least or the largest",
        ),
        (lambda: torch.masked.amax(TRUE, 0, mask=TRUE), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: torch.masked.logaddexp(ROW, ROW, input_mask=CUBE > 1), IndexError, "higher than of the input"),
        (lambda: torch.masked.logaddexp(TRUE, TRUE, other_mask=TRUE), NotImplementedError, "on boolean input"),
        (lambda: CUBE[..., ..., 0], IndexError, "an index has one ellipsis"),
        (lambda: ROW.to(torch.uint8).__setitem__(TRUE, T(-2.5)), RuntimeError, "cannot be converted to type uint8"),
        (lambda: F.interpolate(CUBE[:, :0], 3), RuntimeError, r"Non-empty 3D data tensor expected .* \[2, 0, 3\]"),
        (
            lambda: F.grid_sample(torch.ones(2, 3, 0, 5), torch.ones(2, 4, 4, 2)),
            RuntimeError,
            r"non-empty spatial dimensions, found shape \(2, 3, 0, 5\)",
        ),
        (
            lambda: torch.linalg.tensorsolve(ROW[0], ROW[:1]),
            RuntimeError,
            r"as many axes as B, found .* \[\] and \[1\]",
        ),
        (lambda: F.conv1d(whole(1, 1, 3), whole(1, 1, 2), T([1.5])), RuntimeError, "Double"),
        (lambda: torch.grid_sampler_2d(SQUARE, T(1.0), 3, 0, False), IndexError, "tensor has no dimensions"),
        (lambda: torch.norm(SQUARE, "nuc", dim=()), RuntimeError, r"dim must be a 2-tuple. Got \(\)"),
        (lambda: CUBE.norm("fro", (0, 1, 2)), RuntimeError, r"dim must be a 2-tuple. Got \(0, 1, 2\)"),
        (lambda: torch.logspace(2, 3, 1, NAN, dtype=torch.int64), RuntimeError, "cannot be converted to type int64"),
        (lambda: torch.logspace(2, 3, 1, 20.0, dtype=torch.int8), RuntimeError, "cannot be converted to type int8"),
        (lambda: torch.histogram(ROW, T([0.0, NAN])), ValueError, r"must increase, found NaN among \[0.0, nan\]"),
        (lambda: torch.index_add(ROW, 0, whole(2), T(1.0)), IndexError, "tensor has no dimensions"),
        (lambda: torch.index_copy(T(5.0), 0, whole(0), ROW[:1]), IndexError, r"Number of indices \(0\) .* \(1\)"),
        (lambda: torch.index_copy(T(5.0), 0, whole(1), SQUARE), RuntimeError, "must have same slice shapes"),
        (
            lambda: torch.grid_sampler_2d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 3), 0, 0, False),
            RuntimeError,
            r"grid_sampler_2d\(\): expected 4D input and grid .* input with sizes \[1, 1, 2, 2, 2\]",
        ),
    ],
)
def test_what_pytorch_refuses_is_refused(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ormqr(torch.zeros(2, 0), whole(0), torch.zeros(2, 0)),
        lambda: torch.linalg.ldl_solve(torch.zeros(0, 0), torch.zeros(0, dtype=torch.int32), whole(0, 5)),
        lambda: torch.native_layer_norm(torch.zeros(0, 1), (1,), whole(1), None, 1e-5),
    ],
)
def test_dtypes_of_arrays_without_elements_are_looked_at_where_pytorch_does(call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="expected tensors of one dtype, but got"):
        call()


def test_dtypes_of_arrays_without_elements_are_not_looked_at_where_pytorch_does_not() -> None:
    refused = RefusedDtypes("cdist")
    assert "x2" in refused.single
    assert "x2" not in refused.single_of_nothing
    assert torch.cdist(torch.zeros(0, 2), torch.zeros(3, 2, dtype=torch.float32)).shape == (0, 3)


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_asked_for_as_real_numbers_have_the_derivatives_of_real_parts(name: str) -> None:
    x, real = T([1.5 + 1j, 2.0 - 3j], requires_grad=True), T([1.5, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(getattr(torch, name)(x, 0, dtype=torch.float64).sum(), x)
    (expected,) = torch.autograd.grad(getattr(torch, name)(real, 0).sum(), real)
    assert gradient.tolist() == expected.tolist()

    def of_parts(function: Any, x: Any) -> Any:
        return torch.func.jvp(lambda x: function(x, 0, dtype=torch.float64), (x,), (x * 0.5,))[1]

    assert of_parts(getattr(torch, name), x).tolist() == of_parts(getattr(torch, name), real).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(1,), (7,), (4, 6), (3, 2, 5)])
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
def test_medians_are_those_of_sorted_elements(shape: tuple[int, ...], missing: float, dtype: str) -> None:
    draws = np.random.default_rng(0)
    x = draws.integers(-3, 4, shape).astype(dtype)
    if dtype != "int64":
        x[draws.random(shape) < missing] = np.nan
    for name, median in (("median", np.max), ("nanmedian", np.nanmax)):
        for dim in range(-1, x.ndim):
            rows = np.moveaxis(x, dim, -1) if dim >= 0 else x.reshape(1, -1)
            ordered = np.sort(rows, -1)
            counts = np.sum(~np.isnan(rows), -1, keepdims=True)
            wanted = np.take_along_axis(ordered, (np.maximum(counts, 1) - 1) // 2, -1)[..., 0]
            if median is np.max:
                wanted = np.where(counts[..., 0] < rows.shape[-1], np.nan, wanted)
            if dim < 0:
                found = getattr(torch, name)(T(x))
                assert found.shape == ()
                np.testing.assert_array_equal(found.numpy(), wanted[0])
                continue
            found, places = getattr(torch, name)(T(x), dim)
            assert (found.dtype, places.dtype) == (T(x).dtype, torch.int64)
            np.testing.assert_array_equal(found.numpy(), wanted)
            taken = np.take_along_axis(x, np.expand_dims(places.numpy(), dim), dim)
            np.testing.assert_array_equal(np.squeeze(taken, dim), wanted)


def test_the_gradient_of_a_median_goes_to_all_elements_that_are_it() -> None:
    for others in ([5.0, 1.0], [torch.inf, -torch.inf]):
        x = T([2.0, *others, 2.0], requires_grad=True)
        y = torch.median(x)
        assert y.item() == 2.0
        y.backward()
        assert x.grad.tolist() == [0.5, 0.0, 0.0, 0.5]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("records", [False, True])
def test_elements_are_written_at_places_along_an_axis(dim: int, records: bool) -> None:
    x, source = torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4) + 1
    index = T([[2, 0, 1], [0, 1, 2]])
    wanted = np.zeros((3, 4))
    for (row, column), place in np.ndenumerate(index.numpy()):
        wanted[(place, column) if dim == 0 else (row, place)] = source[row, column].item()
    y = torch.scatter(x.requires_grad_(records), dim, index, source)
    np.testing.assert_array_equal(y.detach().numpy(), wanted)
    assert x.detach().numpy().sum() == 0


def test_a_largest_element_has_the_same_place_with_a_graph_and_without() -> None:
    x = T([[1.0, NAN, 3.0], [2.0, 2.0, -1.0]])
    for keepdim in (False, True):
        for name in ("max", "min"):
            plain = getattr(torch, name)(x, 1, keepdim)
            recorded = getattr(torch, name)(x.clone().requires_grad_(), 1, keepdim)
            np.testing.assert_array_equal(plain.values.numpy(), recorded.values.detach().numpy())
            assert plain.indices.tolist() == recorded.indices.tolist()


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 8])
def test_numbers_at_equal_distances_are_counted_from_both_ends(steps: int) -> None:
    for dtype in (torch.float32, torch.float64):
        y = torch.linspace(-3.0, 7.5, steps, dtype=dtype)
        assert y.dtype == dtype
        np.testing.assert_allclose(y.numpy(), np.linspace(-3.0, 7.5, steps), rtol=1e-6)
        assert y[-1:].tolist() == [7.5 if steps > 1 else -3.0][: min(steps, 1)]
