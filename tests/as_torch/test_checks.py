"""What PyTorch refuses about shapes, places, numbers and dtypes of arguments, by chapters; PyTorch is not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
F = torch.nn.functional
T = torch.tensor
CUBE = torch.ones(1, 2, 2)
ROW, SQUARE, NOTHING = T([3.0, 1.0, 2.0]), torch.eye(2), torch.zeros(0, 3)
DOUBLE, NAN = torch.float64, float("nan")
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    # Arguments come first, whatever else is wrong.
    (lambda: T([1.0], requires_grad=True).exp_(out=None), TypeError, "unexpected keyword argument 'out'"),
    (lambda: T([1.0], requires_grad=True).clamp_min_(ROW, axis=1), TypeError, "unexpected keyword argument 'axis'"),
    (lambda: torch.gather(ROW, 7, T([0]), keepdim=True), TypeError, "unexpected keyword argument 'keepdim'"),
    (lambda: torch.complex(ROW, ROW, dtype=DOUBLE), TypeError, "unexpected keyword argument 'dtype'"),
    (lambda: torch.zeros_like(ROW, out=None), TypeError, "unexpected keyword argument 'out'"),
    (lambda: torch.mm(ROW, mat2=ROW, out_dtype=1), TypeError, "mm"),
    (lambda: F.linear(ROW, 1.5), TypeError, r"argument 'weight' \(position 2\) must be Tensor, not float"),
    (lambda: F.prelu(1.5, ROW), TypeError, r"argument 'input' \(position 1\) must be Tensor, not float"),
    (lambda: torch.signal.windows.hann(1, axis=1), TypeError, "unexpected keyword argument 'axis'"),
    (lambda: torch.masked.argmax(ROW, axis=0), TypeError, "unexpected keyword argument 'axis'"),
    (lambda: torch.meshgrid(ROW, indexing=1.5), TypeError, r"meshgrid\(\): argument 'indexing' must be str, not float"),
    (lambda: torch.norm(T([1, 2]), 2, True), TypeError, r"norm\(\): argument 'dim' must be tuple of ints, not bool"),
    (lambda: torch.fft.fft2(ROW, norm="wrong"), IndexError, "but got -2"),
    (lambda: torch.clamp(ROW > 1, ROW > 1, ROW > 1), NotImplementedError, "\"clamp\" not implemented for 'Bool'"),
    (lambda: torch.histc(torch.zeros(0), 0), RuntimeError, "bins must be > 0, but got 0"),
    (lambda: F.bilinear(SQUARE, SQUARE, torch.ones(3, 2, 2), T([1.0])), RuntimeError, "got 1 but expected 3"),
    (lambda: F.bilinear(SQUARE, SQUARE, torch.ones(3, 2, 2), T(1.0)), IndexError, "tensor has no dimensions"),
    (lambda: F.threshold(T([1], dtype=torch.uint8), 1, -0.5), RuntimeError, "cannot be converted to type Byte"),
    (lambda: F.threshold(T([1], dtype=torch.int8), 1, 127.5), RuntimeError, "cannot be converted to type Char"),
    (lambda: F.multi_margin_loss(SQUARE, T([[0]]), weight=SQUARE), ValueError, "must be one-dimensional"),
    (lambda: F.max_unpool2d(CUBE, T([[[0, 1], [2, 3]]]), (3,)), RuntimeError, "exactly 2 elements .* got 1"),
    (lambda: torch.randint_like(T([1], dtype=torch.uint8), -1, 2), RuntimeError, "from is out of bounds for uint8"),
    (
        lambda: torch.linalg.lu_solve(SQUARE, T(1, dtype=torch.int32), SQUARE),
        IndexError,
        "Dimension specified as -1 but tensor has no dimensions",
    ),
    (
        lambda: F.cross_entropy(torch.eye(2, dtype=DOUBLE), T([0, 1]), torch.ones(2, dtype=torch.float32)),
        RuntimeError,
        "expected scalar type Double but found Float",
    ),
    (lambda: torch.tensordot(ROW, ROW, (0, 0)), TypeError, r"must be two tuples of ints, found \(0, 0\)"),
    (lambda: torch.tensordot(1, ROW), TypeError, "argument 'a' .* must be Tensor, not int"),
    (lambda: torch.transpose(SQUARE, None, 1), TypeError, "argument 'dim0' .* must be int, not NoneType"),
    (lambda: F.pad(SQUARE, (1, 1), None), TypeError, r"argument 'mode' \(position 3\) must be str, not NoneType"),
    (lambda: torch.full((2,), ROW), TypeError, r"must be Number, not a tensor of shape \[3\]"),
    (lambda: ~ROW, TypeError, "only implemented on integer and Boolean-type tensors, found torch.float64"),
    (lambda: torch.cdist(SQUARE, "x"), TypeError, "argument 'x2' must be Tensor, not str"),
    (lambda: torch.split("x", 2), TypeError, "argument 'tensor' must be Tensor, not str"),
    (lambda: torch.split(ROW, "x"), TypeError, "argument 'split_size_or_sections' must be tuple of ints, not str"),
    (lambda: F.max_pool2d(ROW, True), TypeError, "argument 'kernel_size' must be tuple of ints, not bool"),
    (lambda: torch.chain_matmul([SQUARE]), TypeError, "expected Tensor as element 0 in argument 0, but got list"),
    (lambda: torch.chain_matmul(ROW), RuntimeError, "Expected tensors to have 2 dimensions, but got 1"),
    (lambda: torch.chain_matmul(), RuntimeError, "Expected one or more matrices"),
    (lambda: torch.index_put(ROW, (T([0]),), 1.0), TypeError, "argument 'values' .* must be Tensor, not float"),
    (lambda: torch.signal.windows.hann(1e300), TypeError, "argument 'M' must be int, not float: found 1e"),
    (lambda: torch.unravel_index(T([1]), T([2, 2])), TypeError, "expected 'shape' to be int or sequence of ints"),
    # Random numbers.
    (lambda: torch.poisson(T([1])), NotImplementedError, "\"poisson\" not implemented for 'Long'"),
    (lambda: torch.poisson(-ROW), RuntimeError, "expected rate to be non-negative"),
    (lambda: torch.binomial(T([1]), ROW), ValueError, "only supports floating-point dtypes for count, got: Long"),
    (lambda: torch.binomial(ROW, ROW.float()), RuntimeError, "Found dtype Float but expected Double"),
    (lambda: ROW.clone().bernoulli_(T([True])), NotImplementedError, "probabilities must be floating-point numbers"),
    (lambda: torch.randint_like(ROW, 3, dtype=torch.bool), RuntimeError, "to - 1 is out of bounds for bool"),
    # Reductions of nothing.
    (lambda: torch.linalg.norm(T([]), torch.inf), RuntimeError, "cannot compute the inf norm on an empty tensor"),
    (lambda: NOTHING.amax(0), IndexError, "Expected reduction dim to have non-zero size"),
    (lambda: torch.aminmax(NOTHING, dim=-2), IndexError, "Expected reduction dim to have non-zero size"),
    (lambda: torch.argmin(NOTHING), IndexError, "Expected reduction dim to have non-zero size"),
    # Matrices.
    (lambda: torch.linalg.tensorinv(ROW), RuntimeError, "at most the number of axes, 1, but got 2"),
    (
        lambda: torch.linalg.matrix_rank(SQUARE, rtol=T(1j)),
        RuntimeError,
        "rtol tensor of complex type is not supported",
    ),
    (lambda: torch.linalg.lstsq(SQUARE, SQUARE[None]), RuntimeError, "must be greater or equal to other.dim"),
    (lambda: torch.linalg.vecdot(ROW, T([1.0])), RuntimeError, "the same number of elements, but got 3 and 1"),
    (lambda: torch.linalg.lu_factor(torch.zeros(2, 2)), RuntimeError, r"a pivot is 0, .* info is 1; lu_factor_ex"),
    (lambda: torch.linalg.cond(NOTHING, "fro"), RuntimeError, "batches of square matrices, but they are 0 by 3"),
    # Elements and numbers.
    (lambda: torch.round(T([1]), decimals=1), NotImplementedError, "\"round\" with decimals .* 'Long'"),
    (lambda: torch.diff(ROW, -1), RuntimeError, "order must be non-negative but got -1"),
    (lambda: torch.addcdiv(ROW, T([1]), T([1])), RuntimeError, "Integer division with addcdiv"),
    (lambda: torch.div(T([True]), T([True]), rounding_mode="floor"), NotImplementedError, "\"div_floor\" .* 'Bool'"),
    (lambda: torch.isin(True, ROW), RuntimeError, "Unsupported input type encountered for isin"),
    (lambda: torch.clamp(T([True]), max=True), NotImplementedError, "\"clamp\" not implemented for 'Bool'"),
    (lambda: torch.addmm(SQUARE[None], SQUARE, SQUARE), RuntimeError, "at most 2 dimensions, but got shape"),
    (lambda: torch.baddbmm(SQUARE, ROW, ROW), IndexError, "Expected batch1 to have 3 dimensions"),
    (lambda: torch.repeat_interleave(ROW, 2, output_size=3), RuntimeError, "expected 6 but got 3"),
    (lambda: torch.repeat_interleave(ROW, -2), RuntimeError, "Repeats must be non-negative, found -2"),
    (lambda: torch.trapezoid(ROW, dx=1j), RuntimeError, "only support dx as a real number"),
    (lambda: torch.fft.fftshift(ROW, dim=()), RuntimeError, "`shifts` required"),
    (lambda: torch.fft.fft2(T(1.0), dim=(0,)), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: torch.div(T([1]), T([0]), rounding_mode="trunc"), RuntimeError, "ZeroDivisionError"),
    (lambda: torch.nanquantile(ROW, T(-1.0)), RuntimeError, r"q values must be in the range \[0, 1\], found -1"),
    (lambda: torch.linspace(T(1j), 1, 3, dtype=DOUBLE), RuntimeError, r"linspace\(\): .* passed dtype float64"),
    (lambda: torch.logspace(T(1j), 1, 3, dtype=DOUBLE), RuntimeError, r"logspace\(\): .* passed dtype float64"),
    (lambda: F.adaptive_max_pool2d(CUBE, (1, 1, 1)), ValueError, "Input dimension should be at least 4, found 3"),
    (lambda: torch.arange(3, dtype=torch.complex64), NotImplementedError, "not implemented for complex numbers"),
    (lambda: torch.nansum(ROW, dtype=torch.complex64), RuntimeError, "does not support complex inputs"),
    (lambda: torch.histogram(ROW, T([])), RuntimeError, "bins tensor should have at least 1 element"),
    (lambda: torch.histc(T([1]), min=0.5, max=3), NotImplementedError, "\"histc\" not implemented for 'Long'"),
    (lambda: torch.special.round(T([1])), NotImplementedError, "\"round\" not implemented for 'Long'"),
    (lambda: torch.gradient(SQUARE, spacing=[1]), RuntimeError, "the same length, but got 1 and 2"),
    (lambda: torch.constant_pad_nd(T([1]), (1, 1), torch.nan), RuntimeError, "value nan cannot be converted to type"),
    (lambda: torch.all(T([1]), out=T([1])), RuntimeError, "all only supports bool tensor for result, got: int64"),
    (lambda: torch.searchsorted(T([True]), T([True])), NotImplementedError, "\"searchsorted\" .* for 'Bool'"),
    (lambda: torch.searchsorted(ROW, ROW, side="up"), RuntimeError, "side can only be 'left' or 'right' but got up"),
    # Masks.
    (lambda: torch.masked.amax(T(1.0), 0, mask=T([True])), IndexError, "mask dimensionality higher than of the input"),
    # Places.
    (lambda: torch.take_along_dim(ROW, T([0], dtype=torch.int32), 0), RuntimeError, "indices should be Long but got"),
    (lambda: torch.scatter(SQUARE, 0, T([0]), 1.0), RuntimeError, "same number of dimensions as self tensor"),
    (lambda: torch.index_select(T(1.0), 0, T([0, 0])), RuntimeError, "only 1 value, got 2"),
    (lambda: torch.broadcast_shapes((2,), (3,)), RuntimeError, "Shape mismatch: objects cannot be broadcast"),
    (lambda: torch.broadcast_shapes(1.5), RuntimeError, "Input shapes should be of type ints"),
    (lambda: torch.broadcast_shapes(1, -2), RuntimeError, "negative dimension"),
    (lambda: torch.tensor_split(ROW, T(0)), RuntimeError, "must be larger than 0, got 0"),
    (lambda: ROW.mT, RuntimeError, "tensor.mT is only supported on matrices"),
    (lambda: SQUARE[None].H, RuntimeError, "tensor.H is only supported on matrices"),
    (lambda: T(1.0).view(torch.int8), RuntimeError, r"self.dim\(\) cannot be 0 to view Double as int8"),
    (lambda: SQUARE.mT.view(torch.int8), RuntimeError, r"self.stride\(-1\) must be 1 .* but got 2"),
    (lambda: ROW.view(torch.complex128), RuntimeError, r"self.size\(-1\) must be divisible by 2 .* found 3"),
    (lambda: ROW[1:].view(torch.complex128), RuntimeError, r"self.storage_offset\(\) must be divisible by 2"),
    (lambda: torch.ones(2, 3)[:, :2].view(torch.complex128), RuntimeError, r"self.stride\(0\) must be divisible by 2"),
    (lambda: torch.slice_scatter(T(1.0), T(1.0), step=-1), IndexError, "cannot be applied to a 0-dim tensor"),
    (lambda: torch.tensor_split(ROW, T([[1]])), RuntimeError, "zero-dimensional or one-dimensional tensor"),
    (lambda: ROW.clone().__setitem__(ROW > 2.5, T(1j)), RuntimeError, "cannot be converted to type Double"),
    (lambda: ROW.clone().__delitem__(0), TypeError, "does not support deleting items"),
    (lambda: torch.gather(ROW, 0, T([-1])), RuntimeError, "index -1 is out of bounds for dimension 0 with size 3"),
    (lambda: torch.scatter(ROW, 0, T([3]), 5.0), RuntimeError, "index 3 is out of bounds for dimension 0 with size 3"),
    (lambda: torch.index_select(ROW, 0, T([-1])), IndexError, "index -1 is out of bounds"),
    (lambda: torch.take_along_dim(ROW, T([-1])), RuntimeError, "index -1 is out of bounds"),
    (lambda: torch.index_add(ROW, 0, T([0]), ROW), RuntimeError, r"Number of indices \(1\) should be equal"),
    (lambda: torch.index_add(SQUARE, 0, T([0]), ROW[None]), RuntimeError, "source tensor shape must match"),
    (lambda: torch.index_copy(SQUARE, 0, T([0]), T([1.0])), IndexError, "their dimensionality must match"),
    (lambda: torch.index_copy(ROW, 0, T([0, 1]), T(1.0)), IndexError, r"should have one element \(got 2\)"),
    (lambda: torch.index_copy(SQUARE, 0, T([0]), ROW[None]), RuntimeError, "must have same slice shapes"),
    (lambda: torch.put(ROW, T([0, 1]), T([5.0])), IndexError, r"source.numel\(\) = 1, index.numel\(\) = 2"),
    (lambda: torch.slice_scatter(SQUARE, T(1.0)), RuntimeError, r"src size = \[\], slice size = \[2, 2\]"),
    (lambda: torch.diagonal_scatter(SQUARE, SQUARE), RuntimeError, r"src size = \[2, 2\], slice size = \[2\]"),
    (lambda: torch.select_scatter(SQUARE, ROW[:2], 0, 2), IndexError, r"select\(\): index 2 out of range"),
    (lambda: torch.index_fill(ROW, 0, T([True]), 1.0), IndexError, "Expected dtype int64 for index, found Bool"),
    (lambda: torch.index_fill(ROW, 0, T([0]), 1j), RuntimeError, "cannot be converted to type Double"),
    (lambda: F.embedding(T([-1]), SQUARE), IndexError, "integers from 0 to 1 for a weight"),
    # Matrices.
    (lambda: torch.norm(T([1])), RuntimeError, "Expected a floating point or complex tensor as input. Got Long"),
    (lambda: torch.norm(ROW, dtype=torch.int8), RuntimeError, "floating point or complex, but got Char"),
    (lambda: torch.norm(ROW, dtype=torch.float32), RuntimeError, "without narrowing to the specified dtype"),
    (lambda: torch.dist(ROW, ROW, 1j), RuntimeError, "non-complex scalar as the order of norm"),
    (lambda: torch.orgqr(SQUARE, SQUARE), RuntimeError, "Expected tau to have one dimension less than input"),
    (lambda: torch.linalg.multi_dot([SQUARE[None], SQUARE]), RuntimeError, "tensor 0 must be 1D or 2D but got 3D"),
    (lambda: torch.linalg.cross(ROW, ROW[None]), RuntimeError, "same number of dimensions, found 1 and 2"),
    (lambda: torch.lu_solve(SQUARE, SQUARE, T([1, 2])), RuntimeError, "scalar type torch.int32, found Long"),
    (lambda: torch.lu_unpack(SQUARE, T([3, 2]).int()), RuntimeError, "must be between 1 and"),
    (lambda: torch.cholesky_inverse(SQUARE[:1]), RuntimeError, "they are 1 by 2 matrices"),
    (lambda: F.bilinear(ROW, ROW, SQUARE), IndexError, "Expected weight to have 3 dimensions"),
    (lambda: F.bilinear(ROW, ROW, SQUARE[None]), RuntimeError, "input dimensions do not match"),
    (lambda: torch.searchsorted(SQUARE, 1.0), RuntimeError, "scalar only when boundaries tensor dimension is 1"),
    (lambda: torch.einsum(ROW), ValueError, "must specify the equation string and at least one operand"),
    (lambda: torch.histogram(ROW, T(1.0)), RuntimeError, "bins tensor should have one dimension, but got 0"),
    (lambda: torch.histogram(ROW, 2, weight=T([1, 2, 3])), RuntimeError, "weight should have the same dtype"),
    (lambda: torch.gradient(ROW, spacing=[0.5], dim=[]), RuntimeError, "to have the same length, but got 1 and 0"),
    (lambda: torch.nanmean(T([1]), dtype=DOUBLE), NotImplementedError, "expected real floating-point numbers"),
    # What PyTorch's own table says of dtypes.
    (lambda: torch.histc(T([1, 2]), 2), NotImplementedError, "\"histc\" not implemented for 'Long'"),
    (lambda: torch.addcmul(T([True]), T([True]), T([True])), NotImplementedError, "\"addcmul\" .* 'Bool'"),
    (lambda: torch.bucketize(T([True]), T([True])), NotImplementedError, "\"bucketize\" not implemented for 'Bool'"),
    (lambda: torch.ldexp(ROW, T([True])), NotImplementedError, "\"ldexp\" not implemented for 'Bool'"),
    (lambda: torch.linalg.solve_triangular(SQUARE.int(), SQUARE, upper=True), RuntimeError, "argument 'A' .* got Int"),
    (lambda: torch.cumsum(ROW, 0, dtype=torch.bool), NotImplementedError, "'Bool' as the dtype of its result"),
    (lambda: F.threshold(T([True]), 1, 2), NotImplementedError, "\"threshold\" not implemented for 'Bool'"),
    (lambda: F.linear_cross_entropy(SQUARE, SQUARE.int(), T([0, 1])), RuntimeError, "Double for .* and Int"),
    (lambda: F.multilabel_margin_loss(ROW, T([0, 1, 2]).int()), RuntimeError, "argument 'target' .* got Int"),
    # What is written into.
    (lambda: torch.round(ROW, out=torch.ones(3).float()), RuntimeError, "to have dtype float64, but got float32"),
    (lambda: torch.isneginf(ROW, out=torch.ones(3)), RuntimeError, "to have dtype bool, but got float64"),
    (lambda: T([1, 2]).cumsum_(0, dtype=torch.int32), RuntimeError, "Bad in-place call"),
    (lambda: ROW.float().float_power_(2), RuntimeError, "float_power_: the result is float64"),
    (lambda: T([1j]).abs_(), RuntimeError, "abs_: the result is float64"),
    (lambda: ROW.clone().fill_(ROW), RuntimeError, "Expected value to have 0 dimensions, but got 1"),
    (lambda: torch.unbind_copy(ROW, out=ROW), TypeError, "'out' must be tuple of Tensors"),
    # Types, by name.
    (lambda: torch.linspace(0, 1, "x"), TypeError, "argument 'steps' must be int, not str"),
    (lambda: torch.istft(ROW, None), TypeError, r"'n_fft' \(position 2\) must be int, not NoneType"),
    (lambda: torch.stft(ROW, 2, window=1), TypeError, r"'window' \(position 5\) must be Tensor, not int"),
    (lambda: F.max_pool2d(SQUARE, 2, ceil_mode=1.5), TypeError, "'ceil_mode' must be bool, not float"),
    (lambda: F.adaptive_max_pool1d([1], 1), TypeError, r"'input' \(position 1\) must be Tensor, not list"),
    (lambda: F.max_unpool1d(SQUARE, T([[0]]), output_size=(2,)), TypeError, "missing 1 required .* 'kernel_size'"),
    (lambda: F.softmin(ROW, []), TypeError, r"'dim' \(position 2\) must be int, not tuple"),
    (lambda: F.threshold(T([1]), "x", 1), TypeError, r"'threshold' \(position 2\) must be Number, not str"),
    (lambda: T([1]).where(1.0, 2.0), TypeError, "'condition' .* must be Tensor, not float"),
    (lambda: torch.bernoulli(ROW, ROW), TypeError, r"expected \(Tensor input\) or \(Tensor input, float p\)"),
    (lambda: torch.index_put([1.0], (T([0]),), ROW), TypeError, r"'input' \(position 1\) must be Tensor, not list"),
    # Shapes and numbers of networks.
    (lambda: F.max_unpool1d(SQUARE, T([[0, 1], [2, 3]]), 3, output_size=(9,)), ValueError, "between -?[0-9]+ and 9"),
    (lambda: F.max_unpool1d(SQUARE, T([[0]]), -3), ValueError, r"output_size\[0\]=-6"),
    (lambda: F.max_unpool1d(SQUARE, T([[0]]), 2, output_size=(1, 2, 3, 4)), ValueError, "has a length of '4'"),
    (lambda: F.pad(SQUARE, (2, 0), "reflect"), RuntimeError, r"padding \(2, 0\) at dimension 1 of input \[2, 2\]"),
    (lambda: F.pad(SQUARE, (-2, -1), "replicate"), RuntimeError, "is too small for the padding"),
    (lambda: F.pad(SQUARE[:, :0], (1, 1), "replicate"), RuntimeError, "other non-zero dimensions for input"),
    (lambda: torch.stft(ROW, 8, return_complex=True), RuntimeError, r"padding \(4, 4\) at dimension 1"),
    (lambda: F.triplet_margin_loss(ROW, ROW, ROW, -1), ValueError, "margin must be greater than 0, got -1"),
    (lambda: F.hardtanh(ROW, 2, 1), ValueError, "min_val cannot be greater than max_val, found 2 and 1"),
    (lambda: F.alpha_dropout(T([1]), 0.5, True), RuntimeError, "can't be cast to the desired output type Long"),
    (lambda: F.soft_margin_loss(ROW, T([1j, 1, 1])), RuntimeError, "result type ComplexDouble can't be cast"),
    (lambda: F.soft_margin_loss(T(1.0), ROW), RuntimeError, r"shape \[\] doesn't match the broadcast shape \[3\]"),
    (lambda: F.rms_norm(SQUARE, (3,)), RuntimeError, r"normalized_shape=\[3\], expected input with shape \[\*3\]"),
    (lambda: F.rms_norm(SQUARE, (2,), ROW), RuntimeError, r"but got weight of shape \[3\]"),
    # Axes and places.
    (lambda: torch.scatter_add(SQUARE, 0, T([[0]]), ROW), IndexError, r"in range of \[-1, 0\], but got 1"),
    (lambda: torch.scatter(ROW, 0, T([[0]]), ROW), RuntimeError, "same number of dimensions as self tensor"),
    (lambda: torch.index_add(T(1.0), 0, T([0, 0]), T(1.0)), IndexError, "specified as 0 but tensor has no dimensions"),
    (lambda: torch.index_put(ROW, (T([0]), T([0])), ROW), IndexError, "too many indices for tensor of dimension 1"),
    (lambda: ROW.clone().index_reduce_(0, T([0]), ROW[:1], "sum"), RuntimeError, "amax or amin but got sum"),
    (lambda: torch.slice_scatter(ROW, ROW, step=-1), RuntimeError, "slice step must be positive"),
    (lambda: torch.take(ROW, T([0]).int()), RuntimeError, "Expected a long tensor for index, but got Int"),
    (lambda: torch.narrow_copy(ROW, 0, 5, -1), IndexError, r"start out of range .* \[-3, 3\], but got 5"),
    (lambda: torch.nanmedian(NOTHING + 0j, 0), IndexError, "Expected reduction dim 0 to have non-zero size"),
    (lambda: torch.diff(ROW, 0, append=SQUARE), RuntimeError, "to be the same dimension as input"),
    (lambda: torch.diff(SQUARE, append=T([[1.0]])), RuntimeError, r"found \[1, 1\] for \[2, 2\] along dimension 1"),
    (lambda: torch.repeat_interleave(T(1), 2, 0), IndexError, "but got 1"),
    (lambda: torch.orgqr(SQUARE, T(1.0)), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
    (lambda: torch.linalg.diagonal(T(1.0)), IndexError, "but got -2"),
    (lambda: F.grid_sample(T(1.0), SQUARE), IndexError, "tensor has no dimensions"),
    (lambda: torch.masked.softmin(ROW, (0, -1)), RuntimeError, "dim 0 appears multiple times"),
    (lambda: torch.masked.sum(ROW, 2), IndexError, r"in range of \[-1, 0\], but got 2"),
    (lambda: torch.masked.mean(T([1])), ValueError, r"Could not infer output dtype. .* Got: torch.int64"),
    (lambda: torch.addcmul(ROW, ROW, ROW, value=1j), RuntimeError, "cannot be converted to type double"),
    (lambda: torch.trapezoid(ROW, dx=True), RuntimeError, "only support dx as a real number"),
    (lambda: torch.view_as_complex(SQUARE.T), RuntimeError, "a last dimension with stride 1"),
    (lambda: torch.atleast_2d(7), TypeError, "expected Tensor as element 0 in argument 0, but got int"),
    (lambda: F.adaptive_avg_pool3d(torch.ones(1, 2, 3, 2), (2,)), RuntimeError, "output_size must be 3, found 1"),
    (lambda: F.prelu(SQUARE, SQUARE), RuntimeError, "scalar or 1D tensor, but got: ndim = 2"),
    (lambda: F.instance_norm(SQUARE), ValueError, "Expected more than 1 spatial element when training"),
    (lambda: F.gaussian_nll_loss(ROW, ROW, -ROW), ValueError, "var has negative entry/entries"),
    (lambda: F.adaptive_avg_pool2d(torch.ones(1, 2, 3), True), TypeError, "must be tuple of ints, not bool"),
    (lambda: F.gaussian_nll_loss(SQUARE, SQUARE, T(1.0)), ValueError, "var is of incorrect size"),
    (lambda: F.binary_cross_entropy(T([0.5]), T([1.5])), RuntimeError, "target should be between 0 and 1, found 1.5"),
    (lambda: F.scaled_dot_product_attention(SQUARE, SQUARE, T([[1]])), RuntimeError, "have the same dtype, but got"),
    (lambda: F.linear(SQUARE, SQUARE, torch.ones(2, 1, 2)), RuntimeError, "bias has shape"),
    (lambda: F.adaptive_max_pool2d(torch.ones(1, 1, 2, 2), (0, 1, 2)), RuntimeError, "output_size must be 2, found 3"),
    (lambda: torch.cdist(SQUARE, T([[1.0]])), RuntimeError, "same number of columns. X1: 2 X2: 1"),
    (lambda: torch.linalg.solve_ex(SQUARE[:1], SQUARE), RuntimeError, "they are 1 by 2 matrices"),
    (lambda: torch.gradient(ROW, edge_order=3), RuntimeError, "edge_order=1 and edge_order=2, found 3"),
    (lambda: torch.signal.windows.gaussian(3, std=-1.0), ValueError, "deviation must be positive, got: -1.0"),
    (lambda: torch.nansum(ROW + 0j), NotImplementedError, "\"nansum\" not implemented for 'ComplexDouble'"),
    (lambda: torch.addr(ROW, ROW, ROW[:1]), RuntimeError, r"\[3, 1\] does not match the shape \[3\]"),
    (lambda: F.dropout(T([1, 2])), RuntimeError, "can't be cast to the desired output type Long"),
    (lambda: F.poisson_nll_loss(ROW, ROW + 0j, full=True), RuntimeError, "\"le\" not implemented for 'ComplexDouble'"),
    (lambda: torch.cholesky_inverse(SQUARE * 0), RuntimeError, "The diagonal element 1 is zero"),
    # Networks.
    (lambda: torch.relu(T([True])), RuntimeError, "\"relu\" not implemented for 'Bool'"),
    (lambda: F.rms_norm(ROW[0], (1,)), ValueError, "at least 1 dimensions, but got 0"),
    (lambda: F.layer_norm(ROW, T([3])), TypeError, "'normalized_shape' .* must be tuple of ints, not Tensor"),
    (lambda: F.max_unpool1d(SQUARE, indices=SQUARE.int()), TypeError, "missing 1 required .*'kernel_size'"),
    (lambda: F.softshrink(ROW, -1.0), RuntimeError, r"lambda must be in range \[0, .*, but found -1.0"),
    (lambda: F.rrelu(ROW, 2, 1), RuntimeError, "Lower bound should be less than or equal to the upper bound"),
    (lambda: F.cosine_similarity(SQUARE, SQUARE, eps=-1.0), RuntimeError, "eps must be non-negative, got: -1.0"),
    (lambda: F.pdist(SQUARE, -1.0), RuntimeError, "pdist only supports non-negative p values"),
    (lambda: torch.cdist(SQUARE, SQUARE, compute_mode="x"), ValueError, "x is not a valid value for compute_mode"),
    (lambda: F.one_hot(T([1]).int()), RuntimeError, "index tensor of type LongTensor, found Int"),
    (lambda: F.kl_div(ROW, T([1, 2, 3])), RuntimeError, "kl_div: Integral inputs not supported"),
    (lambda: F.prelu(ROW, ROW.float()), RuntimeError, "expected tensors of one dtype, but got Double and Float"),
    (lambda: F.layer_norm(ROW, (3,), ROW.float()), RuntimeError, "scalar type of Double, found Float"),
    (lambda: F.margin_ranking_loss(ROW, ROW, ROW[None]), RuntimeError, "the same number of dimensions"),
    (lambda: F.cosine_embedding_loss(ROW, ROW, T([1.0])), RuntimeError, "1D target tensor expects 2D input tensors"),
    (lambda: F.group_norm(T([[1.0, 2.0]]), 2), ValueError, r"more than 1 value per channel .* input size \[1, 2\]"),
    (lambda: torch.group_norm(T([[1.0]]), 1), ValueError, r"more than 1 value per channel when training"),
    (lambda: F.group_norm(T([[True]]), 1), ValueError, r"more than 1 value per channel when training"),
    (lambda: F.smooth_l1_loss(T([True]), ROW[:1], beta=0), RuntimeError, "'input' to have another dtype, but got Bool"),
    (lambda: F.smooth_l1_loss(T([1]), T([2]), beta=0), NotImplementedError, "not implemented for 'Long'"),
    (lambda: F.smooth_l1_loss(T([1j]), T([2j])), NotImplementedError, "not implemented for 'Complex"),
    (lambda: ROW.split(T(NAN)), TypeError, "must be tuple of ints, found nan"),
    (lambda: ROW.split(T(-1.5)), RuntimeError, "split_size be non-negative, but got split_size=-1"),
    (lambda: ROW.split(T([1.0, 2.0])), TypeError, "'split_size_or_sections' must be tuple of ints, not Tensor"),
    (lambda: F.nll_loss(ROW, T([0, 1])), ValueError, r"target' has shape \(2,\), expected \(\)"),
    (lambda: F.nll_loss(SQUARE, T([0])), ValueError, r"batch_size \(2\) to match target batch_size \(1\)"),
    (lambda: F.binary_cross_entropy(ROW, ROW[:2]), ValueError, r"\[2\]\) must be the same as input size \(\[3\]"),
    (lambda: F.multi_margin_loss(SQUARE, T([0, 1]), p=3), ValueError, "only p == 1 and p == 2 supported, found 3"),
    (lambda: F.avg_pool2d(torch.ones(1, 2, 2).int(), 2), NotImplementedError, "not implemented for 'Int'"),
    (lambda: F.max_unpool1d(SQUARE, SQUARE.int(), 2), RuntimeError, "should be type int64 but got: Int"),
    (lambda: F.max_unpool1d(ROW, T([0, 1, 2]), 2), RuntimeError, "should be a 2d or 3d Tensor"),
    (lambda: F.pad(ROW, (1, 1), "reflect"), NotImplementedError, "Padding size 2 is not supported for 1D"),
    (lambda: F.pad(ROW, (-4, 0)), RuntimeError, r"length must be non-negative, found \[3\] and padding \[-4, 0\]"),
    (lambda: F.pad(SQUARE, (1, 1), "reflect", 5.0), RuntimeError, "doesn't take in value argument"),
    (lambda: F.leaky_relu(ROW, 1j), RuntimeError, "value cannot be converted to type Double without overflow"),
    # Numbers that a dtype does not hold.
    (lambda: F.threshold(ROW.float(), 1.0, 1e300), RuntimeError, "cannot be converted to type Float without overflow"),
    (lambda: F.hardtanh(T([1]), -1, NAN), RuntimeError, "cannot be converted to type Long without overflow"),
    (lambda: F.hardtanh(T([1]).to(torch.int8), -1, 300), RuntimeError, "cannot be converted to type Char without"),
    (lambda: torch.clamp(ROW.float(), 0.0, 1e300), RuntimeError, "cannot be converted to type Float without overflow"),
    (lambda: torch.full((2,), 1e300, dtype=torch.float32), RuntimeError, "cannot be converted to type float32"),
    (lambda: torch.scalar_tensor(300, dtype=torch.uint8), RuntimeError, "cannot be converted to type uint8"),
    (lambda: torch.masked_fill(ROW, ROW > 1, T(1 + 1j)), RuntimeError, "cannot be converted to type float64"),
    (lambda: F.interpolate(ROW[None, None], scale_factor=1e300), RuntimeError, "int64_t without overflow"),
    (lambda: F.interpolate(ROW[None, None], scale_factor=1e300, mode="area"), TypeError, "int64_t without overflow"),
    (lambda: F.softshrink(ROW, float("inf")), RuntimeError, "for input dtype Double, but found inf"),
    # Norms and summands.
    (lambda: torch.norm(NOTHING, -1), RuntimeError, "cannot compute the -1 norm on an empty tensor"),
    (lambda: torch.linalg.vector_norm(NOTHING, float("inf"), 0), RuntimeError, "cannot compute the inf norm"),
    (lambda: torch.linalg.norm(NOTHING.T, -2, 1), RuntimeError, "cannot compute the -2 norm"),
    (lambda: F.pairwise_distance(NOTHING[:, :0], NOTHING[:, :0], -1.0), RuntimeError, "cannot compute the -1.0 norm"),
    (lambda: torch.renorm(NOTHING, float("inf"), 1, 1.0), RuntimeError, "cannot compute the inf norm"),
    (lambda: torch.norm(ROW, [1]), TypeError, "argument 'ord' .* must be Number, not tuple"),
    (lambda: torch.norm(CUBE, "nuc"), RuntimeError, r"dim must be a 2-tuple. Got \(0, 1, 2\)"),
    (lambda: torch.addmm(SQUARE, SQUARE, SQUARE[:, :1]), RuntimeError, r"size \[2, 1\] does not match .* \[2, 2\]"),
    (lambda: torch.addmv(SQUARE[0], SQUARE[:1], SQUARE[0]), RuntimeError, r"size \[1\] does not match .* \[2\]"),
    (lambda: torch.addbmm(CUBE[0], CUBE[:, :1], CUBE), RuntimeError, r"size \[1, 2\] does not match .* \[2, 2\]"),
    (lambda: torch.cdist(SQUARE, SQUARE, NAN), RuntimeError, "only supports non-negative p values, found nan"),
    (lambda: torch.cdist(NOTHING.int(), NOTHING), RuntimeError, "floating-point dtypes, X1 got: Int"),
    (lambda: torch.linalg.cholesky_ex(torch.zeros(1, 0)), RuntimeError, "but they are 1 by 0 matrices"),
    # Shapes and places.
    (lambda: torch.index_copy(SQUARE, 1, T([0]), T(3.0)), RuntimeError, "must have same slice shapes"),
    (lambda: torch.index_put(ROW, (T([0, 1]),), ROW[:1, None]), RuntimeError, r"shape \[1, 1\] cannot be broadcast"),
    (lambda: torch.scatter_reduce(ROW + 0j, 0, T([0]), ROW + 0j, "amax"), NotImplementedError, "'amax' not impl"),
    (lambda: F.embedding(T([2]), SQUARE, scale_grad_by_freq=True), IndexError, "index 2 is out of bounds"),
    (lambda: torch.moveaxis(SQUARE, (1, 1), (-1, 2)), IndexError, r"range of \[-2, 1\], but got 2"),
    (lambda: torch.as_strided_scatter(ROW, ROW[:2], (2,), (0,)), RuntimeError, "refers to a single memory location"),
    (lambda: torch.unique_consecutive(NOTHING, dim=1), RuntimeError, "There are 0 sized dimensions"),
    (lambda: torch.multinomial(CUBE, 1), RuntimeError, "prob_dist must be 1 or 2 dim, found 3"),
    (lambda: torch.gradient(ROW, spacing=[T(1.0)]), RuntimeError, r"got elements with \[0\]"),
    (lambda: torch.randint_like(ROW + 0j, 2), RuntimeError, "integral, floating-point and boolean types"),
    (lambda: torch.signal.windows.exponential(3, tau=-2), ValueError, "Tau must be positive, got: -2"),
    (lambda: torch.signal.windows.kaiser(3, beta=-3.0), ValueError, "beta must be non-negative, got: -3.0"),
    (lambda: torch.zeros(2, 0).bernoulli_(2.0), RuntimeError, r"expects p to be in \[0, 1\], but got p=2.0"),
    (lambda: torch.nansum(ROW + 0j, dtype=DOUBLE), NotImplementedError, '"nansum" not implemented'),
    (lambda: F.batch_norm(SQUARE, None, None, training=True, eps=-1), ValueError, "eps must be positive"),
    (lambda: F.batch_norm(ROW, ROW, ROW), ValueError, r"input has shape \[3\], expected"),
    (lambda: F.instance_norm(CUBE, ROW[:2], None), ValueError, "must either both be None or neither be None"),
    (lambda: F.avg_pool3d(CUBE[None], (2, 2, 2), padding=1), RuntimeError, "smaller than kernel size"),
    (lambda: F.multilabel_margin_loss(ROW, T([0])), RuntimeError, r"target size: \[1\] for input of size: \[3\]"),
    (lambda: F.multilabel_margin_loss(ROW[:0], T([]).long()), RuntimeError, "Expected non-empty vector or matrix"),
    (lambda: F.conv_transpose1d(T([[1]]), T([[[1]]]), ROW[:1]), RuntimeError, "Double can't be cast"),
    (lambda: F.scaled_dot_product_attention(*[SQUARE] * 3, SQUARE.long()), RuntimeError, "attn_mask.dtype: Long"),
    (lambda: torch.masked.median(T([1]), 0, mask=T([False])), ValueError, "expects no fully masked out rows"),
    (lambda: F.unfold(ROW, 2), IndexError, r"Expected 3D or 4D tensor for input, but got: \[3\]"),
    (lambda: torch.stft(ROW, 2, return_complex=True, align_to_window=True), RuntimeError, "when center = false"),
    (lambda: torch.multinomial(ROW, 4), RuntimeError, "without replacement: 4 of 3"),
    (lambda: torch.searchsorted(ROW, ROW, right=True, side="left"), RuntimeError, "can't be set to opposites"),
    (lambda: T([3], dtype=torch.uint8) ** -1, RuntimeError, "Integers to negative integer powers"),
    (lambda: torch.linalg.cond(SQUARE, 1.5), RuntimeError, "invalid norm type: 1.5"),
    (lambda: torch.lerp(ROW, ROW, 1 + 2j), RuntimeError, "cannot be converted to type Double"),
    (lambda: torch.linalg.lu_solve(SQUARE, T([1]).int(), SQUARE), RuntimeError, r"but got \[2, 2\] and \[1\]"),
    (lambda: torch.arange(3, dtype=DOUBLE, out=torch.empty(0).int()), RuntimeError, "does not match dtype of out"),
    (lambda: F.pad(CUBE, (3, 0), "circular"), RuntimeError, "wrapping around more than once"),
    (lambda: F.local_response_norm(T([[1]]), 2), ValueError, r"3D or higher dimensionality input \(got 2"),
    (lambda: F.rrelu(ROW, 0.1, float("inf")), RuntimeError, "bounds must be finite, found 0.1 and inf"),
    (lambda: F.multi_margin_loss(SQUARE, T([1])), RuntimeError, r"Expected target size \[2\], but got \[1\]"),
    (lambda: torch.fft.fftn(ROW, norm="wrong"), RuntimeError, "Invalid normalization mode: 'wrong'"),
    (lambda: torch.clamp_max(T([True]), True), NotImplementedError, "not implemented for 'Bool'"),
    # Types.
    (lambda: torch.float_power(2, 100), TypeError, r"got \(int, int\)"),
    (lambda: torch.where(1, ROW, 0.5), TypeError, r"got \(int, Tensor, float\)"),
    (lambda: torch.heaviside(1.5, ROW), TypeError, "argument 'input' .* must be Tensor, not float"),
    (lambda: torch.imag(-7), TypeError, "argument 'input' must be Tensor, not int"),
    (lambda: torch.unique_consecutive(ROW, return_counts=100), TypeError, "'return_counts' must be bool, not int"),
    (lambda: torch.eye(True), TypeError, "argument 'n' must be int, not bool"),
    (lambda: torch.linspace(0, None, 2), TypeError, "argument 'end' must be Tensor, not NoneType"),
    (lambda: F.pad(ROW, ROW.long()), TypeError, r"argument 'pad' \(position 2\) must be tuple of ints, not Tensor"),
    (lambda: ROW.atan2_(100), TypeError, "argument 'other' .* must be Tensor, not int"),
    (lambda: [1] * T([1, 2]), TypeError, r"only integers of one element can be an index, not .* shape \(2,\)"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_class(call: Callable[[], Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_looks_at_numbers_are_taken_in_each_call() -> None:
    assert F.softshrink(ROW, 0.5).tolist() == [2.5, 0.5, 1.5]
    assert torch.gather(ROW, 0, T([0])).tolist() == [3.0]
    with pytest.raises(RuntimeError, match=r"found -1\.0"):
        F.softshrink(ROW, -1.0)
    with pytest.raises(RuntimeError, match="index -1 is out of bounds"):
        torch.gather(ROW, 0, T([-1]))


def test_results_are_written_where_pytorch_writes_them() -> None:
    y = torch.zeros(3)
    assert torch.softmax(ROW, 0, out=y) is y
    assert abs(float(y.sum()) - 1) < 1e-6
    assert torch.sum(ROW, out=y[0]).item() == torch.mean(ROW, out=None).item() * 3 == 6.0


def test_sums_and_differences_take_factors_as_pytorch_does() -> None:
    with pytest.warns(UserWarning, match="this order of the arguments of sub is deprecated"):
        assert torch.sub(T([1, 2]), -1, 2).tolist() == [3, 4]
    assert torch.addmv(ROW[:2], mat=SQUARE, vec=ROW[:2], beta=0).tolist() == [3.0, 1.0]
    assert torch.baddbmm(SQUARE, batch1=SQUARE[None], batch2=SQUARE[None]).tolist() == (2 * SQUARE)[None].tolist()


def test_norms_are_computed_in_the_dtype_that_is_asked_for() -> None:
    assert torch.norm(ROW, dtype=DOUBLE).dtype == torch.linalg.norm(SQUARE, dtype=DOUBLE).dtype == DOUBLE
    assert torch.linalg.matrix_norm(SQUARE, 1, dtype=DOUBLE).dtype == DOUBLE


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: torch.searchsorted(T([[1.0, 3.0], [2.0, 4.0]]), T([[3.0], [2.0]]), right=True), [[2], [1]]),
        (lambda: torch.searchsorted(T([[1, 3], [2, 4]]), T([[3], [5]])), [[1], [2]]),
        (lambda: F.pad(ROW[None], (2, -2), "reflect"), [[2.0, 1.0, 3.0]]),
        (lambda: F.pad(ROW[None], (5, -4), "replicate"), [[3.0, 3.0, 3.0, 3.0]]),
        (lambda: torch.hstack([torch.zeros(0), SQUARE]), [[1.0, 0.0], [0.0, 1.0]]),
        (lambda: torch.gather(ROW, 0, torch.zeros((0, 2), dtype=torch.int64)), []),
        (lambda: torch.scatter_add(ROW, 0, torch.zeros(0, dtype=torch.int64), ROW), [3.0, 1.0, 2.0]),
        (lambda: torch.take_along_dim(ROW, T([4, -1]), 0), [1.0, 2.0]),
        (lambda: ROW[..., ...], [3.0, 1.0, 2.0]),
        (lambda: torch.add(True, ROW), [4.0, 2.0, 3.0]),
        (lambda: torch.bernoulli(T([3, 4]), 1.0), [1, 1]),
        (lambda: torch.matrix_power(T([[1, 1], [0, 1]]), 3), [[1, 3], [0, 1]]),
        (lambda: torch.split(torch.zeros(0), 0)[0], []),
        (lambda: torch.randint_like(T([5]), high=1), [0]),
        (lambda: torch.full((1,), -5, dtype=torch.uint8), [251]),
        (lambda: torch.linalg.vecdot(SQUARE, T([[2.0]])), [2.0, 2.0]),
        (lambda: torch.view_copy(SQUARE[:, :1], (2,)), [1.0, 0.0]),
        (lambda: F.multilabel_soft_margin_loss(T([[0.0, 0.0]]), T([1.0, 0.0])) > 0, True),
        (lambda: F.mse_loss(T([1.0]), T([True])), 0.0),
        (lambda: torch.inner(T(4), T([0.5])), [2.0]),
        (lambda: torch.masked.median(T([3, 1, 2]), 0, mask=T([True, False, True])), 2),
        (lambda: torch.add(T([1]), 0.5, alpha=2.0), [2.0]),
        (lambda: ROW.clone().add_(1.0, 2), [5.0, 3.0, 4.0]),
        (lambda: torch.clamp_min(T([False]), T([True])), [True]),
        (lambda: torch.view_copy(torch.ones(2, 2).mT, (4,)), [1.0] * 4),
        (lambda: F.avg_pool1d(ROW[None], 3, stride=()), [[2.0]]),
    ],
)
@pytest.mark.filterwarnings("ignore:this order of the arguments")
def test_what_pytorch_takes_is_taken(call: Callable[[], Any], value: Any) -> None:
    assert call().tolist() == value


def test_integers_beside_new_axes_and_booleans_select_first() -> None:
    assert torch.ones(3, 3)[(-2, None, False)].shape == (1, 0, 3)
    assert torch.ones(3, 3)[(None, False, 1)].shape == (1, 0, 3)


def test_triangular_equations_with_a_factor_of_0_have_infinite_solutions() -> None:
    A = T([[1.0, 2.0], [0.0, 0.0]])
    y = torch.linalg.solve_triangular(A, T([[1.0], [2.0]]), upper=True)
    assert y.tolist() == [[-float("inf")], [float("inf")]]
    y = torch.linalg.solve_triangular(A.mT, T([[1.0, 2.0]]), upper=False, left=False)
    assert y.isinf().any()


def test_activations_and_norms_take_complex_numbers() -> None:
    z = T([1 + 1j])
    assert torch.allclose(F.silu(z), z / (1 + torch.exp(-z)))
    assert torch.allclose(F.softsign(z), z / (1 + 2**0.5))
    assert torch.allclose(F.rms_norm(z, (1,), eps=0.0), T([1 + 0j]))


def test_bags_give_the_largest_vectors_and_scale_gradients_by_frequency() -> None:
    weight = torch.tensor([[1.0], [5.0]], requires_grad=True)
    numbers, offsets = T([0, 1, 1]), T([0, 0, 2])
    assert F.embedding_bag(numbers, weight, offsets, mode="max").tolist() == [[0.0], [5.0], [5.0]]
    F.embedding_bag(numbers, weight, offsets, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert weight.grad.tolist() == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="each row is a bag"):
        F.embedding_bag(numbers[None], weight, offsets)


@pytest.mark.parametrize("name", ["uniform_", "cauchy_", "exponential_", "log_normal_"])
def test_what_is_drawn_from_a_density_is_not_written_into_integers(name: str) -> None:
    with pytest.raises(NotImplementedError, match="int64"):
        getattr(T([1, 2]), name)()


def test_dtypes_are_taken_where_pytorch_takes_them() -> None:
    assert F.cross_entropy(SQUARE, SQUARE).item() == F.cross_entropy(SQUARE, T([0, 1])).item()
    assert torch.cummax(T(1j), 0).values.item() == 1j  # a number that is an array is copied
    assert torch.linalg.eigh(torch.zeros(0, 2, 2, dtype=torch.int8))[0].shape == (0, 2)
    assert F.poisson_nll_loss(T([True]), T([1.0])).item() == F.poisson_nll_loss(T([1.0]), T([1.0])).item()
    assert torch.pow(2.0, T([True])).tolist() == [2.0]


def test_a_dtype_that_nothing_is_refused_of_is_refused_of_elements_in_each_call() -> None:
    assert torch.linalg.eigh(torch.zeros(0, 2, 2, dtype=torch.int8))[0].shape == (0, 2)
    with pytest.raises(NotImplementedError, match="\"eigh\" not implemented for 'Char'"):
        torch.linalg.eigh(torch.zeros(1, 2, 2, dtype=torch.int8))


def test_results_are_cast_into_tensors_where_pytorch_casts_them() -> None:
    assert torch.sum(T([0.6, 0.7]), out=torch.zeros((), dtype=torch.int64)).item() == 0
    assert torch.add(T([1]), T([2]), out=torch.zeros(1)).tolist() == [3.0]


def test_numbers_that_are_arrays_are_taken_as_one_element() -> None:
    assert torch.flip(T(1.0), [0]).item() == torch.gather(T([1.0, 2.0]), 0, T(0)).item() == 1.0
    assert T(1.0).unfold(0, 1, 1).tolist() == [1.0]
    assert torch.scatter(T(1.0), 0, T([0]), T([2.0])).tolist() == 2.0
    assert torch.fft.fftn(T(1.0)).dtype == torch.complex128


def test_a_change_of_shape_in_place_is_refused_of_a_view_of_a_leaf() -> None:
    leaf = torch.ones(2, 3).requires_grad_()
    view = leaf.T
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        view.unsqueeze_(0)


def test_pools_of_no_windows_have_no_elements() -> None:
    y, places = F.adaptive_max_pool2d(torch.ones(1, 4, 3), (0, None), return_indices=True)
    assert y.shape == places.shape == (1, 0, 3)
    assert places.dtype == torch.int64


def test_methods_that_draw_change_nothing_where_there_is_nothing() -> None:
    assert torch.zeros(0, dtype=torch.int8).normal_().shape == (0,)
    with pytest.raises(NotImplementedError, match=r"elements of the dtype torch\.int8"):
        torch.zeros(0, dtype=torch.int8).uniform_()
