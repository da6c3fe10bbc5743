"""What functions of PyTorch refuse about the values of arguments, in its words, where operations would answer.

Each function is given the arguments of a call by name, and may return them changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.promotion import common_dtype
from dispatchkit.as_torch.calling.signatures import NAMES
from dispatchkit.as_torch.shared import in_dtype_of, kind_of, lengths_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp

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


def dtype_name(x: Any) -> str:
    """Return what PyTorch calls the dtype of a tensor."""
    return NAMES.get(numpy_name(x.dtype), numpy_name(x.dtype))


def axis_of(given: Given, name: str = "dim", default: int = 0) -> tuple[int, int]:
    """Return the axis of a call, counted from the front, and its length."""
    x: Any = given.get("input", given.get("tensor"))
    axis = given.get(name, default)
    shape = lengths_of(x)
    if not shape:
        return 0, 1
    return axis % len(shape), shape[axis]


@look_of("full")
def size_and_number(given: Given) -> None:
    value: Any = given.get("fill_value")
    if is_array(value) and value.ndim:
        raise TypeError(
            f"full(): argument 'fill_value' (position 2) must be Number, not a tensor of shape {[*value.shape]}"
        )
    if given.get("dtype") is not None and isinstance(value, (bool, int, float, complex)):
        number: Any = in_dtype_of(np.empty((), numpy_dtype(given["dtype"])), value)
        if number != value:
            given["fill_value"] = number


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
    if given.get("norm", "ortho") not in ("forward", "backward", "ortho"):
        raise RuntimeError(f"Invalid normalization mode: {given['norm']!r}")
    if isinstance(given.get("s"), int):
        given["s"] = (given["s"],)


@look_of(*(f"fft.{start}{name}2" for start in ("", "i") for name in ("fft", "rfft", "hfft")))
def two_axes_of_transform(given: Given) -> None:
    if given["input"].ndim == 1 and given.get("dim") is None and given.get("s") is None:
        raise np.exceptions.AxisError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")


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
    if is_array(q):
        if q.dtype != x.dtype:
            raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
        if q.ndim > 1:
            raise RuntimeError("quantile() q must be a scalar or 1D tensor")
        ranks = None if q.is_tracer else np.asarray(q.detach().array)
        if ranks is not None and not np.all((ranks >= 0) & (ranks <= 1)):
            raise RuntimeError(f"quantile() q values must be in the range [0, 1], found {ranks}")
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
    if kind_of(x) != "b" and numpy_name(x.dtype) != "uint8":
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


@look_of("nansum")
def sums_of_reals(given: Given) -> None:
    kind = kind_of(given["input"])
    if kind == "c":
        raise NotImplementedError(f'"nansum" not implemented for {dtype_name(given["input"])!r}')
    if kind == "f" and is_complex(given.get("dtype")):
        raise RuntimeError("nansum on CPU does not support complex inputs")


@look_of("arange")
def start_of_range(given: Given) -> None:
    if "end" in given:
        given.setdefault("start", 0)


@look_of("arange", "range")
def real_steps_of_range(given: Given) -> None:
    if is_complex(given.get("dtype")):
        raise NotImplementedError('"arange" not implemented for complex numbers')
    no_boolean_results(given)


def no_boolean_results(given: Given) -> None:
    """Raise where numbers in steps are asked for as booleans."""
    if given.get("dtype") is not None and numpy_dtype(given["dtype"]).kind == "b":
        raise NotImplementedError("numbers in steps are not implemented for 'Bool'")


def is_complex(dtype: Any) -> bool:
    """Return whether a dtype is asked for that is complex."""
    return dtype is not None and numpy_dtype(dtype).kind == "c"


@look_of("repeat_interleave")
def axis_of_repeats(given: Given) -> None:
    if given.get("repeats") is None and given["input"].ndim != 1:
        raise RuntimeError(f"repeat_interleave only accept 1D vector as repeat, found {[*given['input'].shape]}")
    is_number = is_array(given["input"]) and not given["input"].ndim
    if is_number and isinstance(given.get("dim"), int) and given.get("repeats") is not None:
        raise np.exceptions.AxisError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")


@look_of("masked.mean")
def floats_of_means(given: Given) -> None:
    x: Any = given.get("input")
    dtype = given.get("dtype")
    if dtype is not None and numpy_dtype(dtype).kind in "bui":
        raise ValueError(f"mean(): Could not infer output dtype: it must be floating-point or complex, found {dtype}")
    if is_array(x) and dtype is None and kind_of(x) in "bui":
        raise ValueError(
            f"mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{x.dtype}"
        )


@look_each_time_of("median", "nanmedian", "mode")
def elements_along_axis(given: Given) -> None:
    if given["input"].ndim and isinstance(given.get("dim"), int) and not axis_of(given)[1]:
        raise IndexError(f"median(): Expected reduction dim {given['dim']} to have non-zero size.")


@look_of("nanmean")
def real_numbers(given: Given) -> None:
    x = given["input"]
    if kind_of(x) != "f" and given.get("dtype") is not None:  # whatever the dtype of the result
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
        if name == "weight" and is_array(value) and value.numel() != x.numel():
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                f"excluding its innermost dimension, but got input with shape {[x.numel(), 1]} and weight with shape "
                f"{[value.numel()]}"
            )
        if name == "bins" and is_array(value) and value.ndim != 1:
            raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {value.ndim}")
        if name == "bins" and is_array(value) and not value.numel():
            raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements")
        if name == "bins" and is_array(value) and value.numel() == 1:
            raise RuntimeError("torch.histogram(): bins must be > 0, but got 0 for dimension 0, with one edge")


@look_of("gradient")
def axes_of_steps(given: Given) -> None:
    spacing: Any = given.get("spacing")
    axes = [part.ndim for part in spacing if is_array(part)] if isinstance(spacing, tuple) else []
    if any(count != 1 for count in axes):
        raise RuntimeError(
            f"torch.gradient expected each element of spacing to have one dimension, but got elements with {axes}"
        )
    if axes and "b" in map(kind_of, spacing):
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported, found booleans in `spacing`")


@look_of("gradient")
def order_at_edges(given: Given) -> None:
    if given.get("edge_order", 1) not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, found {given['edge_order']}")


@look_each_time_of("signal.windows.gaussian", "signal.windows.exponential", "signal.windows.kaiser")
def positive_widths(given: Given) -> None:
    for name, words in (("std", "Standard deviation"), ("tau", "Tau")):
        if given.get(name, 1.0) <= 0:
            raise ValueError(f"{words} must be positive, got: {given[name]} instead.")
    if given.get("beta", 12.0) < 0:
        raise ValueError(f"beta must be non-negative, got: {given['beta']} instead.")


@look_of("gradient")
def spacing_of_axes(given: Given) -> None:
    spacing, axes = given.get("spacing"), given.get("dim")
    if axes is None:
        axes = tuple(range(given["input"].ndim))
    elif isinstance(axes, int):
        axes = (axes,)
    if isinstance(spacing, tuple) and len(spacing) != len(axes):
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
    x, order = given["input"], given.get("n", 1)
    if not x.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if order < 0:
        raise RuntimeError(f"order must be non-negative but got {order}")
    parts = [given[name] for name in ("prepend", "append") if is_array(given.get(name))]
    if not order and not parts:
        given.pop("dim", None)
    if not order:
        given |= dict.fromkeys(("prepend", "append"))  # which have no part in the result
    for part in parts:
        axis, _ = axis_of(given, default=-1)
        if part.ndim != x.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        if without(part.shape, axis) != without(x.shape, axis):
            raise RuntimeError(
                f"diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; found {[*part.shape]} for {[*x.shape]} along dimension {axis}"
            )


def without(shape: Any, axis: int) -> tuple[int, ...]:
    """Return the lengths of all axes but one."""
    return (*shape[:axis], *shape[axis + 1 :])


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


@look_each_time_of("repeat_interleave")
def counts_of_repeats(given: Given) -> None:
    x, counts, size = given["input"], given.get("repeats"), given.get("output_size")
    if counts is None:
        x = counts = given["input"]
        if numpy_name(x.dtype) not in ("int32", "int64"):
            raise NotImplementedError(f'"repeat_interleave" not implemented for {dtype_name(x)!r}')
    if is_array(counts):
        if counts.is_tracer:
            return
        counts = np.asarray(counts.array)
    if np.any(np.asarray(counts) < 0):
        raise RuntimeError(f"Repeats must be non-negative, found {counts}")
    if size is None or (given.get("repeats") is None and not x.numel()):
        return
    length = x.numel()
    if given.get("dim") is not None:
        _, length = axis_of(given)
    count = int(np.sum(np.broadcast_to(np.asarray(counts), (length,))))
    if count != size:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {count} but got {size}")


@look_of("cumulative_trapezoid", "trapezoid")
def steps_of_numbers(given: Given) -> None:
    if kind_of(given.get("dx", 1.0)) == "b":
        raise RuntimeError("trapezoid: Currently, we only support dx as a real number.")


@look_of("cumulative_trapezoid", "trapezoid", "trapz")
def real_steps(given: Given) -> None:
    if kind_of(given.get("dx", 1.0)) == "c":
        raise RuntimeError("trapezoid: Currently, we only support dx as a real number.")
    if not given["y"].ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")


@check_of("clamp", "clip")
def bounds(given: Given) -> None:
    limits = [given[name] for name in ("min", "max") if given.get(name) is not None]
    if not limits:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    kinds = {kind_of(limit) for limit in limits if is_array(limit)}
    if len(limits) == 1 and kinds == {"b"}:
        return  # the larger or the smaller of two booleans
    if kind_of(given["input"]) == "b" and kinds <= {"b"}:
        raise NotImplementedError("\"clamp\" not implemented for 'Bool'")


@look_of("clamp_min", "clamp_max")
def single_bound(given: Given) -> None:
    limit: Any = given.get("min", given.get("max"))
    if isinstance(limit, bool):
        bounds({"input": given["input"], "min": limit})


@look_each_time_of("lerp")
def real_weights(given: Given) -> None:
    weight: Any = given.get("weight")
    if type(weight) is float:
        return
    operands = {name: given[name] for name in ("input", "end") if name in given}
    if is_array(weight) and not weight.ndim and len({x.dtype for x in operands.values()}) == 1:
        dtype = common_dtype([*operands.values(), weight])
        given |= {name: xp.astype(x, dtype, copy=False) for name, x in (operands | {"weight": weight}).items()}
    if isinstance(weight, complex) and weight.imag and kind_of(given["input"]) != "c":
        raise RuntimeError(f"value cannot be converted to type {dtype_name(given['input'])} without overflow")


def _look_at_ends(name: str) -> None:
    @look_of(name)
    def kind_of_ends(given: Given) -> None:
        dtype = given.get("dtype")
        no_boolean_results(given)
        kinds = [kind_of(given[end]) for end in ("start", "end") if given.get(end) is not None]
        if dtype is not None and "c" in kinds and not is_complex(dtype):
            raise RuntimeError(f"torch.{name}(): inferred complex dtype can't be safely cast to passed dtype {dtype}")


for _name in ("linspace", "logspace"):
    _look_at_ends(_name)


WINDOWS = ("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming")


@look_of(*(f"signal.windows.{name}" for name in (*WINDOWS, "hann", "kaiser", "nuttall")))
def whole_lengths(given: Given) -> None:
    count = given.get("M")
    if isinstance(count, float) and count > 1:
        raise TypeError(f"argument 'M' must be int, not float: found {count}")


@look_of("ldexp")
def no_boolean_exponents(given: Given) -> None:
    if kind_of(given["other"]) == "b" and kind_of(given["input"]) == "f":
        raise NotImplementedError("\"ldexp\" not implemented for 'Bool'")


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


@check_of("view_as_real")
def complex_elements(given: Given) -> None:
    if kind_of(given["input"]) != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")


@check_of("imag")
def imaginary(given: Given) -> None:
    if kind_of(given["input"]) != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


@look_each_time_of("nn.functional.triplet_margin_loss")
def width_of_margin(given: Given) -> None:
    if given.get("margin", 1.0) <= 0:
        raise ValueError(f"margin must be greater than 0, got {given['margin']}")


@look_of(
    *("sub", "subtract", "rsub", "dist"),
    *(f"nn.functional.{name}_loss" for name in ("l1", "margin_ranking", "triplet_margin")),
    "nn.functional.pairwise_distance",
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


@look_of("nn.functional.hinge_embedding_loss")
def no_boolean_margins(given: Given) -> None:
    no_booleans({"input": given["input"]})


@look_of("nn.functional.poisson_nll_loss")
def no_boolean_rates(given: Given) -> None:
    if not given.get("log_input", True):
        no_booleans({"input": given["input"]})
    if given.get("full", False):
        no_booleans({"target": given["target"]})


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
    *("mean", "linalg.vector_norm"),
)
def floating_dtype(given: Given) -> None:
    dtype = given.get("dtype")
    if dtype is not None and numpy_dtype(dtype).kind not in "fc":
        raise RuntimeError(f"could not infer output dtype: dtype must be floating point or complex. Got: {dtype}")


@check_of("full_like")
def fill_value(given: Given) -> Given:
    dtype = given.get("dtype") or getattr(given["input"], "dtype", None)
    if dtype is None or not isinstance(given["fill_value"], (bool, int, float, complex)):
        return given
    return {**given, "fill_value": in_dtype_of(np.empty((), numpy_dtype(dtype)), given["fill_value"])}


@check_of("complex", "polar")
def real_parts(given: Given) -> None:
    parts = [*given.values()]
    if any(kind_of(x) != "f" for x in parts) or len({numpy_name(x.dtype) for x in parts}) > 1:
        raise RuntimeError(
            f"Expected both inputs to be Float or Double tensors of one dtype but got "
            f"{' and '.join(dtype_name(x) for x in parts)}"
        )
