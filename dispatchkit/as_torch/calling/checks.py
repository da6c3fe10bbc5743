"""What functions of PyTorch refuse about the values of arguments, in its words, where operations would answer.

Each function is given the arguments of a call by name, and may return them changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.signatures import NAMES
from dispatchkit.as_torch.shared import in_dtype_of
from dispatchkit.as_torch.table import is_array

__all__ = [
    "CHECKS",
    "EACH_TIME",
    "LOOKS",
    "Given",
    "axis_of",
    "check_of",
    "dtype_name",
    "kind_of",
    "look_each_time_of",
    "look_of",
]

Given = dict[str, Any]
Check = Callable[[Given], Any]
CHECKS: dict[str, Check] = {}
# What is looked at before operands are brought to one dtype.
LOOKS: dict[str, list[Check]] = {}
# What is looked at when ranks and axes are right, in each call: shapes and numbers.
EACH_TIME: dict[str, list[Check]] = {}


def check_of(*paths: str) -> Callable[[Check], Check]:
    """Make a function look at the arguments of functions of PyTorch."""

    def enter(check: Check) -> Check:
        for path in paths:
            CHECKS[path] = check
        return check

    return enter


def look_of(*paths: str) -> Callable[[Check], Check]:
    """Make a function look at the arguments of functions of PyTorch before these are cast."""

    def enter(check: Check) -> Check:
        for path in paths:
            LOOKS.setdefault(path, []).append(check)
        return check

    return enter


def look_each_time_of(*paths: str) -> Callable[[Check], Check]:
    """Make a function look at the shapes and numbers of calls of functions of PyTorch, whose axes are right."""

    def enter(check: Check) -> Check:
        for path in paths:
            EACH_TIME.setdefault(path, []).append(check)
        return check

    return enter


def kind_of(x: Any) -> str:
    """Return the kind of elements of an argument, as NumPy abbreviates it."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return np.asarray(x).dtype.kind
    kind = getattr(dtype, "kind", None)
    if type(kind) is str:
        return kind
    return np.dtype(str(dtype)).kind


def dtype_name(x: Any) -> str:
    """Return what PyTorch calls the dtype of a tensor."""
    return NAMES.get(str(x.dtype), str(x.dtype))


def axis_of(given: Given, name: str = "dim", default: int = 0) -> tuple[int, int]:
    """Return the axis of a call, counted from the front, and its length."""
    x: Any = given.get("input", given.get("tensor"))
    axis = given.get(name, default)
    if not x.ndim:
        return 0, 1
    return axis % x.ndim, x.shape[axis]


@look_of("transpose", "transpose_copy")
def two_axes(given: Given) -> None:
    if "dim1" not in given:
        return  # as NumPy's method is called, by all axes
    for place, name in enumerate(("dim0", "dim1")):
        value = given.get(name)
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(
                f"transpose(): argument {name!r} (position {place + 2}) must be int, not {type(value).__name__}"
            )


@look_of("full")
def size_and_number(given: Given) -> None:
    value: Any = given.get("fill_value")
    if is_array(value) and value.ndim:
        raise TypeError(
            f"full(): argument 'fill_value' (position 2) must be Number, not a tensor of shape {[*value.shape]}"
        )
    if given.get("dtype") is not None and isinstance(value, (bool, int, float, complex)):
        given["fill_value"] = in_dtype_of(np.empty((), np.dtype(str(given["dtype"]))), value)


@check_of("split", "unsafe_split", "split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
def split_sizes(given: Given) -> None:
    x: Any = given.get("tensor", given.get("input"))
    size = given.get("split_size_or_sections", given.get("split_sizes", given.get("split_size")))
    axis, length = axis_of(given)
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(size, (tuple, list)):
        if any(each < 0 for each in size):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got {[*size]}"
            )
        if sum(size) != length:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                f"{axis}), but got split_sizes={[*size]}"
            )
    elif isinstance(size, int):
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        if not size and length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")


@check_of("narrow", "narrow_copy")
def part_of_axis(given: Given) -> None:
    x, start, count = given["input"], given["start"], given["length"]
    if not x.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    _, length = axis_of(given)
    if count < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if is_array(start) and (start.ndim or kind_of(start) not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    if not -length <= start <= length:
        raise IndexError(f"start out of range (expected to be in range of [{-length}, {length}], but got {int(start)})")
    first = int(start) % length if start < 0 else int(start)
    if first + count > length:
        raise RuntimeError(f"start ({first}) + length ({count}) exceeds dimension size ({length}).")


@check_of("kthvalue")
def rank(given: Given) -> None:
    _, length = axis_of(given, default=-1)
    if given["input"].ndim and not length:
        raise IndexError(f"kthvalue(): Expected reduction dim {given.get('dim', -1)} to have non-zero size.")
    if not 0 < given["k"] <= length:
        raise RuntimeError("selected number k out of range for dimension")


@check_of(
    *(f"fft.{start}{name}{end}" for start in ("", "i") for name in ("fft", "rfft", "hfft") for end in ("", "2", "n"))
)
def norm_of_transform(given: Given) -> None:
    if given.get("norm", "") is None:
        del given["norm"]


@check_of("topk")
def first_ranks(given: Given) -> None:
    _, length = axis_of(given, default=-1)
    if not 0 <= given["k"] <= length:
        raise RuntimeError("selected index k out of range")


@check_of("quantile", "nanquantile")
def probabilities(given: Given) -> None:
    q, x = given["q"], given["input"]
    if not x.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if kind_of(x) != "f":
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if is_array(q):
        if q.dtype != x.dtype:
            raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
        if q.ndim > 1:
            raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    elif not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
    word = given.get("interpolation", "linear")
    if word not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {word}"
        )


@check_of("where")
def condition(given: Given) -> None:
    x = given["condition"]
    if len(given) == 1 or not hasattr(x, "dtype") or type(x).__module__.partition(".")[0] != "dispatchkit":
        return
    if kind_of(x) != "b" and str(x.dtype) != "uint8":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {dtype_name(x)}"
        )


@check_of("masked_fill", "masked_select", "masked_scatter")
def mask(given: Given) -> None:
    x = given["mask"]
    if kind_of(x) != "b":
        raise RuntimeError(f"expected mask to have dtype bool, but got mask with dtype {dtype_name(x)}")
    value: Any = given.get("value")
    if is_array(value) and value.ndim:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    source: Any = given.get("source")
    if source is not None and source.dtype != given["input"].dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes")


@check_of("unflatten")
def lengths_of_parts(given: Given) -> None:
    sizes = given["sizes"]
    if not isinstance(sizes, (tuple, list)):
        return
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    axis, length = axis_of(given)
    if not given["input"].ndim:
        raise RuntimeError("unflatten: a tensor of 0 dimensions has no dimension to unflatten")
    if -1 not in sizes and math.prod(sizes) != length:
        raise RuntimeError(
            f"unflatten: Provided sizes {[*sizes]} don't multiply up to the size of dim {axis} ({length}) in the input "
            f"tensor"
        )


@check_of("chunk", "unsafe_chunk")
def pieces(given: Given) -> None:
    if not given["input"].ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if given["chunks"] <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {given['chunks']}")


@check_of("tensor_split", "hsplit", "vsplit", "dsplit")
def sections(given: Given) -> None:
    names = ("sections", "indices_or_sections", "tensor_indices_or_sections", "indices")
    count: Any = next((given[name] for name in names if name in given), None)
    if not given["input"].ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if is_array(count) and str(count.dtype) != "int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {dtype_name(count)}"
        )
    if isinstance(count, int) and count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")


@check_of("unfold", "unfold_copy")
def windows(given: Given) -> None:
    size, step = given["size"], given["step"]
    _, length = axis_of(given, "dimension")
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {given['dimension']} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")


@check_of("select", "select_copy")
def one_place(given: Given) -> None:
    x = given["input"]
    if not x.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    _, length = axis_of(given)
    if not -length <= given["index"] < length:
        raise IndexError(
            f"select(): index {given['index']} out of range for tensor of size {[*x.shape]} at dimension {given['dim']}"
        )


@check_of("roll")
def shifts(given: Given) -> Given:
    amount, dims = given.get("shifts"), given.get("dims", ())
    count = len(amount) if isinstance(amount, (tuple, list)) else 1
    along = len(dims) if isinstance(dims, (tuple, list)) else 1
    if not count:
        raise RuntimeError("`shifts` required")
    if count != along and not (not along and count == 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {count}, dims:{along}")
    if along:
        return given
    if isinstance(amount, (tuple, list)):
        amount = amount[0]
    return {"input": given["input"], "shifts": amount}


@look_of("linalg.matrix_power", "matrix_power")
def power_of_integers(given: Given) -> None:
    x = next(iter(given.values()))
    if kind_of(x) in "ui" and given["n"] < 0:
        raise NotImplementedError(f'"matrix_power" of negative powers not implemented for {dtype_name(x)!r}')


@look_of("bernoulli")
def floating_probabilities(given: Given) -> None:
    if given.get("p") is None and kind_of(given["input"]) != "f":
        raise NotImplementedError(f'"bernoulli" not implemented for {dtype_name(given["input"])!r}')


@look_each_time_of("bernoulli")
def range_of_probabilities(given: Given) -> None:
    p: Any = given.get("p")
    if p is None:
        p = given["input"]
    if is_array(p):
        if p.is_tracer:
            return
        p = np.asarray(p.detach().array)
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise RuntimeError(f"bernoulli: Expected probabilities from 0 to 1, found {p}")


@look_of("nanmean")
def real_numbers(given: Given) -> None:
    x, dtype = given["input"], given.get("dtype")
    if kind_of(x) != "f" or (dtype is not None and np.dtype(str(dtype)).kind == "c"):
        raise NotImplementedError(f"nanmean(): expected real floating-point numbers, found {dtype_name(x)}")


@look_of("histogram")
def alike_in_bins(given: Given) -> None:
    x = given["input"]
    for name in ("bins", "weight"):
        value: Any = given.get(name)
        if is_array(value) and value.dtype != x.dtype:
            raise RuntimeError(
                f"torch.histogramdd: input tensor and {name} should have the same dtype, but got {dtype_name(x)} and "
                f"{dtype_name(value)}"
            )
        if name == "bins" and is_array(value) and value.ndim != 1:
            raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {value.ndim}")


@look_of("gradient")
def spacing_of_axes(given: Given) -> None:
    spacing, axes = given.get("spacing"), given.get("dim")
    if isinstance(spacing, tuple) and isinstance(axes, tuple) and len(spacing) != len(axes):
        raise RuntimeError(
            f"torch.gradient expected spacing and dim arguments to have the same length, but got {len(spacing)} and "
            f"{len(axes)}"
        )


@look_of("round")
def decimals_of_floats(given: Given) -> None:
    x = given["input"]
    if "decimals" in given and kind_of(x) in "ui":
        raise NotImplementedError(f'"round" with decimals not implemented for {dtype_name(x)!r}')


@look_of("diff")
def order_of_differences(given: Given) -> None:
    if given.get("n", 1) < 0:
        raise RuntimeError(f"order must be non-negative but got {given['n']}")


@look_of("addcdiv")
def no_whole_division(given: Given) -> None:
    if kind_of(given["tensor1"]) in "bui" and kind_of(given["tensor2"]) in "bui":
        raise RuntimeError(
            "Integer division with addcdiv is not supported: use true division or floor division, as in "
            "input + value * (tensor1 / tensor2)"
        )


@look_of("div", "divide")
def no_whole_division_of_booleans(given: Given) -> None:
    kinds = {kind_of(value) for name, value in given.items() if name in ("input", "other")}
    if given.get("rounding_mode") is not None and kinds == {"b"}:
        raise NotImplementedError(f"\"div_{given['rounding_mode']}\" not implemented for 'Bool'")


@look_of("isin")
def kinds_in_sets(given: Given) -> None:
    for name in ("elements", "test_elements"):
        x: Any = given.get(name)
        if kind_of(x) in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {x.dtype if is_array(x) else x!r}")


@look_of("addmm", "addmv", "addr", "baddbmm")
def axes_of_summands(given: Given) -> None:
    most = {"mat": 1, "mat1": 2, "vec1": 2, "batch1": 3}
    count = next(most[name] for name in most if name in given)
    if is_array(given["input"]) and given["input"].ndim > count:
        raise RuntimeError(
            f"expected input to have at most {count} dimensions, but got shape {[*given['input'].shape]}"
        )


@look_each_time_of("repeat_interleave")
def counts_of_repeats(given: Given) -> None:
    x, counts, size = given["input"], given.get("repeats"), given.get("output_size")
    if counts is None:
        return
    if is_array(counts):
        if counts.is_tracer:
            return
        counts = np.asarray(counts.array)
    if np.any(np.asarray(counts) < 0):
        raise RuntimeError(f"Repeats must be non-negative, found {counts}")
    if size is None:
        return
    _, length = axis_of(given)
    if given.get("dim") is None:
        length = x.numel()
    count = int(np.sum(np.broadcast_to(np.asarray(counts), (length,))))
    if count != size:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {count} but got {size}")


@look_of("cumulative_trapezoid", "trapezoid", "trapz")
def real_steps(given: Given) -> None:
    if kind_of(given.get("dx", 1.0)) == "c":
        raise RuntimeError("trapezoid: Currently, we only support dx as a real number.")
    if not given["y"].ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")


@look_of("fft.fftshift", "fft.ifftshift")
def shifted_axes(given: Given) -> None:
    names = list(given)
    if given.get("dim") == () or (len(names) == 1 and not given[names[0]].ndim):
        raise RuntimeError("`shifts` required")


@check_of("clamp", "clip")
def bounds(given: Given) -> None:
    if given.get("min") is None and given.get("max") is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


@check_of("mvlgamma", "special.multigammaln")
def order(given: Given) -> None:
    if not given["p"] >= 1:
        raise RuntimeError("p has to be greater than or equal to 1")


@check_of("linalg.vander")
def columns(given: Given) -> None:
    count = given.get("N")
    if count is None:
        count = (1, *given["x"].shape)[-1]
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")


@check_of("floor_divide", "remainder", "fmod")
def divisor(given: Given) -> None:
    x, other = given["input"], given["other"]
    kinds = [kind_of(value) for value in (x, other)]
    if is_array(x) and not x.size:
        return
    if set(kinds) <= set("bui") and is_zero_somewhere(other):
        raise RuntimeError("ZeroDivisionError")


def is_zero_somewhere(x: Any) -> bool:
    """Return whether an element is known to be 0."""
    if not is_array(x):
        return bool(x == 0)
    if getattr(x, "is_tracer", False) or not hasattr(x, "array"):
        return False
    return bool((np.asarray(x.array) == 0).any())


@check_of("sum_to_size")
def target_shape(given: Given) -> None:
    x, size = given["input"], given["size"]
    try:
        fits = np.broadcast_shapes(tuple(size), x.shape) == tuple(x.shape)
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(f"size {{{[*size]}}} is not expandable to size {{{[*x.shape]}}}.")


@check_of("view_as_complex")
def pairs(given: Given) -> None:
    x = given["input"]
    if not x.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if x.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")


@check_of("repeat")
def repeats_of_all_axes(given: Given) -> None:
    counts: Any = given.get("dims")
    if isinstance(counts, (tuple, list)) and len(counts) < given["input"].ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
            f"found {[*counts]} for a tensor of shape {[*given['input'].shape]}"
        )
    repeats(given)


@check_of("tile")
def repeats(given: Given) -> None:
    counts: Any = given.get("dims")
    if isinstance(counts, int):
        counts = (counts,)
    if counts is None or any(is_array(n) for n in counts):
        return
    if any(n < 0 for n in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {[*counts]}")


@check_of("view_as_real")
def complex_elements(given: Given) -> None:
    if kind_of(given["input"]) != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")


@check_of("imag")
def imaginary(given: Given) -> None:
    if kind_of(given["input"]) != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


@look_of(
    *("sub", "subtract", "rsub", "dist"),
    *(f"nn.functional.{name}_loss" for name in ("l1", "smooth_l1", "huber", "margin_ranking", "triplet_margin")),
    *("nn.functional.pairwise_distance", "nn.functional.poisson_nll_loss", "nn.functional.hinge_embedding_loss"),
)
def no_booleans(given: Given) -> None:
    operands = [value for name, value in given.items() if name in DIFFERENCES]
    kinds = [kind_of(value) if has_kind(value) else "" for value in operands]
    if kinds == ["b", "b"]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if "b" in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


# Arguments that are subtracted from one another.
DIFFERENCES = frozenset({"input", "other", "x1", "x2", "input1", "input2", "anchor", "positive", "negative", "target"})


def has_kind(x: Any) -> bool:
    """Return whether an argument is a tensor, or a boolean."""
    return is_array(x) or isinstance(x, bool)


@check_of("renorm")
def norms(given: Given) -> None:
    if not given["p"] > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if given["maxnorm"] < 0 or math.isnan(given["maxnorm"]):
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {given['maxnorm']}")


@check_of("allclose", "isclose")
def tolerances(given: Given) -> None:
    for name in ("rtol", "atol"):
        value = given.get(name, 0.0)
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    if given["input"].dtype != given["other"].dtype:
        raise RuntimeError(f"{dtype_name(given['input'])} did not match {dtype_name(given['other'])}")


@check_of("heaviside")
def same_dtypes(given: Given) -> None:
    if given["input"].dtype != given["values"].dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@check_of(
    *(f"{place}{name}softmax" for place in ("", "special.", "nn.functional.") for name in ("", "log_")),
    *("mean", "linalg.vector_norm"),
)
def floating_dtype(given: Given) -> None:
    dtype = given.get("dtype")
    if dtype is not None and np.dtype(str(dtype)).kind not in "fc":
        raise RuntimeError(f"could not infer output dtype: dtype must be floating point or complex. Got: {dtype}")


@check_of("full_like")
def fill_value(given: Given) -> Given:
    dtype = given.get("dtype") or getattr(given["input"], "dtype", None)
    if dtype is None or not isinstance(given["fill_value"], (bool, int, float, complex)):
        return given
    return {**given, "fill_value": in_dtype_of(np.empty((), np.dtype(str(dtype))), given["fill_value"])}


@check_of("complex", "polar")
def real_parts(given: Given) -> None:
    parts = [*given.values()]
    if any(kind_of(x) != "f" for x in parts) or len({str(x.dtype) for x in parts}) > 1:
        raise RuntimeError(
            f"Expected both inputs to be Float or Double tensors of one dtype but got "
            f"{' and '.join(dtype_name(x) for x in parts)}"
        )
