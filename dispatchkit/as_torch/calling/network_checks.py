"""What functions of networks refuse about the values of arguments, in PyTorch's words."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import Given, check_of, dtype_name, look_each_time_of, look_of
from dispatchkit.as_torch.calling.promotion import CATEGORIES
from dispatchkit.as_torch.calling.refused import are_mixed
from dispatchkit.as_torch.shared import in_dtype_of, kind_of, lengths_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.backends.numpy_sums import HALF
from dispatchkit.declare.namespace import tensor_namespace as xp

F = "nn.functional."


NAMES_OF_NUMBERS = frozenset(
    {"min_val", "max_val", "lambd", "negative_slope", "alpha", "beta", "threshold", "value", "weight"}
)


@look_each_time_of(
    *(f"{F}{name}" for name in ("threshold", "hardtanh", "hardshrink", "leaky_relu", "elu", "celu", "softplus", "pad")),
    *("constant_pad_nd", "index_fill", "addmv"),
)
def numbers_that_fit(given: Given) -> None:
    x: Any = given["input"]
    if "pad" in given and (not adds_elements(given) or given.get("mode", "constant") != "constant"):
        return  # no number is written
    for name, number in [*given.items()]:
        if name not in NAMES_OF_NUMBERS:
            continue
        if "threshold" in given and is_array(number) and not number.ndim and not number.is_tracer:
            number = given[name] = number.item()  # which has no derivative by it
        if (
            name in ("min_val", "max_val")
            and isinstance(number, float)
            and kind_of(x) in "iu"
            and math.isfinite(number)
        ):
            number = given[name] = int(number)
        if isinstance(number, (int, float)):
            expect_number(x, number)
            if name in ("threshold", "value") and kind_of(x) in "iu":
                given[name] = in_dtype_of(x, int(number))


def adds_elements(given: Given) -> bool:
    """Return whether an axis is padded, and not only left as it is or cut."""
    widths: Any = given.get("pad")
    return any(width > 0 for width in widths if isinstance(width, int))


@look_each_time_of("logit", "special.logit", f"{F}gaussian_nll_loss")
def least_share_that_fits(given: Given) -> None:
    x, least = given["input"], given.get("eps")
    if isinstance(least, (int, float)):
        if kind_of(x) in "bui":
            x = np.empty((), numpy_dtype(xp.get_default_dtype()))
        expect_number(x, least)


HALF_RANGE = float(np.finfo(HALF).max)


@look_each_time_of("clamp", "clip", "clamp_min", "clamp_max", "histc")
def bounds_that_fit(given: Given) -> None:
    for name in ("min", "max"):
        bound: Any = given.get(name)
        # What half precision holds is within the range of all.
        if isinstance(bound, float) and not -HALF_RANGE <= bound <= HALF_RANGE and kind_of(given["input"]) == "f":
            expect_number(given["input"], bound)


@cache
def _range_of(dtype: Any) -> tuple[str, Any, Any]:
    """Return the kind of a dtype, and the least and the largest number that it holds."""
    plain = numpy_dtype(dtype)
    if plain.kind in "fc":
        most = float(np.finfo(plain).max)
        return plain.kind, -most, most
    if plain.kind in "iu":
        return plain.kind, int(np.iinfo(plain).min), int(np.iinfo(plain).max)
    return plain.kind, -math.inf, math.inf


def expect_number(x: Any, number: float) -> None:
    """Raise for a number that a tensor's dtype does not hold.

    Raises
    ------
    RuntimeError : in PyTorch's words
    """
    kind, least, most = _range_of(x.dtype)
    if kind == "u" and isinstance(number, int):
        least = -most  # of unsigned integers those counted from the end
    fits = least <= number <= most
    if kind in "fcb" and not math.isfinite(number):
        fits = True
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {dtype_name(x)} without overflow")


@check_of("nn.functional.huber_loss")
def target_in_dtype(given: Given) -> Given:
    x, target = given["input"], given["target"]
    if x.dtype == target.dtype:
        return given
    return {**given, "target": xp.astype(target, x.dtype)}


@look_each_time_of(f"{F}softshrink")
def width_of_shrinking(given: Given) -> None:
    width, kind = given.get("lambd", 0.5), kind_of(given["input"])
    most = math.inf
    if kind == "f":
        most = float(np.finfo(numpy_dtype(given["input"].dtype)).max)
    if not isinstance(width, complex) and not 0 <= width <= most:
        raise RuntimeError(
            f"lambda must be in range [0, {most}] for input dtype {dtype_name(given['input'])}, but found {width}"
        )


@look_each_time_of(f"{F}rrelu")
def range_of_slopes(given: Given) -> None:
    lower, upper = given.get("lower", 1 / 8), given.get("upper", 1 / 3)
    if not isinstance(lower, complex) and not isinstance(upper, complex) and not lower <= upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, found {lower} and {upper}")
    if not all(math.isfinite(bound) for bound in (lower, upper) if not isinstance(bound, complex)):
        raise RuntimeError(f"rrelu: bounds must be finite, found {lower} and {upper}")


@look_each_time_of(f"{F}cosine_similarity")
def least_length(given: Given) -> None:
    if not given.get("eps", 0.0) >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {given['eps']}")


@look_of("cdist")
def mode_of_distances(given: Given) -> None:
    word = given.get("compute_mode", "use_mm_for_euclid_dist_if_necessary")
    known = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if word not in known:
        raise ValueError(f"{word} is not a valid value for compute_mode, which is one of {', '.join(known)}")


@look_of(f"{F}one_hot")
def whole_classes(given: Given) -> None:
    if numpy_name(given["input"].dtype) != "int64":
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, found {dtype_name(given['input'])}"
        )


@look_of(f"{F}kl_div")
def floating_operands(given: Given) -> None:
    if any(kind_of(given[name]) in "bui" for name in ("input", "target")):
        raise RuntimeError("kl_div: Integral inputs not supported.")


@look_of(f"{F}prelu", f"{F}grid_sample")
def one_dtype(given: Given) -> None:
    x: Any = given["input"]
    other: Any = given.get("weight", given.get("grid"))
    if is_array(other) and x.dtype != other.dtype:
        raise RuntimeError(f"expected tensors of one dtype, but got {dtype_name(x)} and {dtype_name(other)}")


@look_of(f"{F}batch_norm")
def axes_of_batches(given: Given) -> None:
    shape = [*given["input"].shape]
    if len(shape) < 2:
        raise np.exceptions.AxisError(f"batch_norm: input has shape {shape}, expected (N, C, ...)")


@look_of(*(f"{F}{name}_norm" for name in ("layer", "group", "batch")))
def dtypes_of_norms(given: Given) -> None:
    x, names = given["input"], ("weight", "bias", "running_mean", "running_var")
    values: dict[str, Any] = {name: given[name] for name in names if is_array(given.get(name))}
    if are_mixed({name: numpy_name(value.dtype) for name, value in {"input": x, **values}.items()}):
        return
    for name, value in values.items():
        if value.dtype != x.dtype:
            raise RuntimeError(
                f"mixed dtype (CPU): expect parameter {name} to have scalar type of {dtype_name(x)}, found "
                f"{dtype_name(value)}"
            )


@look_of(f"{F}hardtanh")
def order_of_limits(given: Given) -> None:
    low, high = given.get("min_val", -1.0), given.get("max_val", 1.0)
    if all(isinstance(value, (bool, int, float)) for value in (low, high)) and low > high:
        raise ValueError(f"min_val cannot be greater than max_val, found {low} and {high}")


def _look_at_dropout(path: str, *, training: bool) -> None:
    @look_each_time_of(path)
    def floats_to_drop(given: Given) -> None:
        x = given["input"]
        draws = given.get("training", training) and 0 < given.get("p", 0.5) < 1 and x.numel()
        if path.endswith("alpha_dropout") and draws and kind_of(x) == "c":
            raise NotImplementedError(f'"{path.rpartition(".")[2]}" not implemented for {dtype_name(x)!r}')
        if draws and kind_of(x) in "bui":
            raise RuntimeError(f"result type Double can't be cast to the desired output type {dtype_name(x)}")


for _name in ("dropout", "dropout1d", "dropout2d", "dropout3d"):
    _look_at_dropout(f"{F}{_name}", training=True)
for _name in ("alpha_dropout", "feature_alpha_dropout"):
    _look_at_dropout(f"{F}{_name}", training=False)


@look_each_time_of(f"{F}feature_alpha_dropout")
def axes_of_features(given: Given) -> None:
    x = given["input"]
    draws = given.get("training", False) and x.numel() and 0 < given.get("p", 0.5) < 1
    if draws and x.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")


@look_of(f"{F}poisson_nll_loss")
def real_counts(given: Given) -> None:
    if given.get("full", False) and kind_of(given["target"]) == "c":
        raise NotImplementedError(f'"le" not implemented for {dtype_name(given["target"])!r}')


@look_of(f"{F}huber_loss")
def real_targets(given: Given) -> None:
    x, target = given["input"], given["target"]
    if kind_of(target) == "c" and kind_of(x) != "c":
        raise RuntimeError(f"result type {dtype_name(target)} can't be cast to the desired output type {dtype_name(x)}")


@look_each_time_of(f"{F}soft_margin_loss")
def shape_and_dtype_of_margins(given: Given) -> None:
    real_targets(given)
    x, target = given["input"], given["target"]
    shape = np.broadcast_shapes(x.shape, target.shape)
    if shape != tuple(x.shape):
        raise RuntimeError(f"output with shape {[*x.shape]} doesn't match the broadcast shape {[*shape]}")


@look_of(*(f"{F}conv_transpose{axes}d" for axes in (1, 2)))
def dtype_of_bias(given: Given) -> None:
    x: Any = given["input"]
    bias: Any = given.get("bias")
    if is_array(bias) and kind_of(x) == "c" and bias.dtype != x.dtype:
        raise RuntimeError(f"Input type ({dtype_name(x)}) and bias type ({dtype_name(bias)}) should be the same")
    is_word = isinstance(given.get("padding"), str)
    if is_array(bias) and kind_of(bias) == "f" and kind_of(x) in "bui" and not is_word:
        raise RuntimeError(f"result type {dtype_name(bias)} can't be cast to the desired output type {dtype_name(x)}")
    if is_array(bias) and kind_of(bias) != "c":
        given["bias"] = xp.astype(bias, x.dtype, copy=False)


@look_of(*(f"{F}conv{axes}d" for axes in (1, 2, 3)))
def dtype_of_bias_beside_word(given: Given) -> None:
    if isinstance(given.get("padding"), str):
        dtype_of_bias(given)


@look_of(f"{F}margin_ranking_loss", f"{F}triplet_margin_loss")
def equal_axes(given: Given) -> None:
    names = ("input1", "input2", "target")
    if "anchor" in given:
        names = ("anchor", "positive", "negative")
    if len({given[name].ndim for name in names}) > 1:
        shapes = ", ".join(f"{name}: {[*given[name].shape]}" for name in names)
        raise RuntimeError(f"all input tensors should have the same number of dimensions, but got sizes {shapes}")


@look_of(f"{F}cosine_embedding_loss")
def pairs_of_vectors(given: Given) -> None:
    x, y, target = given["input1"], given["input2"], given["target"]
    wanted = target.ndim + 1
    if target.ndim < 2 and not (x.ndim == y.ndim == wanted):
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {wanted}D input tensors, but found inputs with sizes "
            f"{[*x.shape]} and {[*y.shape]}."
        )


@look_of("stft")
def windows_to_align(given: Given) -> None:
    if given.get("align_to_window") is not None and given.get("center", True):
        raise RuntimeError("stft align_to_window should only be set when center = false")


@look_of(f"{F}binary_cross_entropy_with_logits")
def dtype_of_weights(given: Given) -> None:
    if is_array(given.get("pos_weight")) and kind_of(given["pos_weight"]) == "b":
        raise RuntimeError(
            "binary_cross_entropy_with_logits: Subtraction, the `-` operator, with a bool tensor is not supported"
        )
    names = ("input", "target", "weight", "pos_weight")
    arrays: dict[str, Any] = {name: given[name] for name in names if is_array(given.get(name))}
    target = given["target"]
    if kind_of(given["input"]) != "f" or len({numpy_dtype(x.dtype) for x in arrays.values()}) < 2:
        return
    for x in arrays.values():
        if CATEGORIES[kind_of(x)] > CATEGORIES[kind_of(target)]:
            raise RuntimeError(
                f"result type {dtype_name(x)} can't be cast to the desired output type {dtype_name(target)}: make the "
                f"target of dtype {x.dtype}"
            )
    if kind_of(target) == "f":  # whose dtype the result has
        given |= {name: xp.astype(x, target.dtype, copy=False) for name, x in arrays.items()}


@look_of(f"{F}cross_entropy")
def axes_of_shares(given: Given) -> None:
    target: Any = given["target"]
    if not given["input"].ndim and is_array(target) and (kind_of(target) == "f" or target.ndim > 1):
        raise np.exceptions.AxisError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")


@look_of(*(f"{F}{name}" for name in ("nll_loss", "cross_entropy", "linear_cross_entropy")))
def class_of_one_vector(given: Given) -> None:
    x, target = given["input"], given["target"]
    if is_array(target) and x.ndim == 1 and target.shape == (1,) and kind_of(target) in "ui":
        if given.get("label_smoothing", 0.0) or (x.shape == (1,) and "label_smoothing" in given):
            return
        given["target"] = xp.reshape(target, ())


@look_each_time_of(*(f"{F}{name}" for name in ("nll_loss", "cross_entropy")))
def sizes_of_batches(given: Given) -> None:
    x, target = given["input"], given["target"]
    if not (is_array(x) and is_array(target)):
        return
    shape, places = lengths_of(x), lengths_of(target)
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    count = (*places, 0)[0]
    if len(shape) > 1 and shape[0] != count:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({count}).")
    if len(shape) > 1 and not places:
        raise np.exceptions.AxisError("Dimension specified as 0 but tensor has no dimensions")


@look_each_time_of(*(f"{F}{name}" for name in ("nll_loss", "cross_entropy", "linear_cross_entropy")))
def dtype_of_classes(given: Given) -> None:
    target = given["target"]
    if is_array(target) and target.ndim > 1 and target.numel() and kind_of(target) in "ui" and target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtype_name(target)}")


@look_each_time_of(*(f"{F}{name}" for name in ("nll_loss", "cross_entropy")))
def weights_of_classes_in_images(given: Given) -> None:
    x = given["input"]
    weight: Any = given.get("weight")
    if is_array(weight) and x.ndim > 2 and math.prod(weight.shape) == x.shape[1]:
        given["weight"] = xp.reshape(weight, (-1,))


@look_each_time_of(f"{F}cross_entropy")
def dtype_of_class_weights(given: Given) -> None:
    x, target = given["input"], given["target"]
    weight: Any = given.get("weight")
    if is_array(weight) and kind_of(target) in "ui" and x.numel() and weight.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(x)} but found {dtype_name(weight)}")


@look_each_time_of(f"{F}binary_cross_entropy", f"{F}binary_cross_entropy_with_logits")
def shape_of_target(given: Given) -> None:
    x, target = given["input"], given["target"]
    if is_array(x) and is_array(target) and x.shape != target.shape:
        raise ValueError(
            f"Target size ({[*target.shape]}) must be the same as input size ({[*x.shape]}): make the two alike"
        )


@look_each_time_of(f"{F}binary_cross_entropy")
def range_of_targets(given: Given) -> None:
    target = given["target"]
    weight: Any = given.get("weight")
    if is_array(weight) and kind_of(weight) != "c" and kind_of(given["input"]) == "f":
        given["weight"] = xp.astype(weight, given["input"].dtype, copy=False)  # which the result has
    if target.is_tracer or not hasattr(target, "array"):
        return
    shares = np.asarray(target.array)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise RuntimeError(f"all elements of target should be between 0 and 1, found {shares.min()} to {shares.max()}")


@look_each_time_of(f"{F}gaussian_nll_loss")
def shape_of_variance(given: Given) -> None:
    x, var = given["input"], given["var"]
    if not is_array(var) or var.shape == x.shape or var.shape == x.shape[:-1]:
        return
    if not x.ndim or var.shape != (*x.shape[:-1], 1):
        raise ValueError(f"var is of incorrect size: found {[*var.shape]} for input of size {[*x.shape]}")


@look_each_time_of(f"{F}gaussian_nll_loss")
def sign_of_variance(given: Given) -> None:
    var = given["var"]
    if is_array(var) and var.is_tracer:
        return
    numbers = var.detach().array if is_array(var) else var
    if np.any(np.asarray(numbers) < 0):
        raise ValueError("var has negative entry/entries")


@look_each_time_of(f"{F}interpolate", f"{F}upsample", f"{F}upsample_nearest", f"{F}upsample_bilinear")
def lengths_that_fit(given: Given) -> None:
    x: Any = given["input"]
    factors: Any = given.get("scale_factor")
    if type(factors) in (int, float) and abs(factors) < 2.0**20:  # as most are, times which no length overflows
        return
    if factors is None or x.ndim < 3 or np.size(factors) not in (1, x.ndim - 2):
        return
    lengths = np.multiply(x.shape[2:], np.asarray(factors, dtype=np.float64))
    if np.isnan(lengths).any() or (abs(lengths) >= 2.0**63).any():
        kind: type[Exception] = RuntimeError
        if given.get("mode", "nearest") in ("area", "nearest-exact") or given.get("recompute_scale_factor"):
            kind = TypeError
        raise kind(f"value cannot be converted to type int64_t without overflow: scale_factor={factors}")


@look_each_time_of(f"{F}batch_norm")
def least_variance(given: Given) -> None:
    if given.get("training", False) and given.get("eps", 1e-5) <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {given['eps']}")
    if given.get("eps", 1e-5) < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {given['eps']}")


@look_each_time_of(f"{F}instance_norm")
def shapes_of_statistics(given: Given) -> None:
    for name in ("running_mean", "running_var"):
        statistic: Any = given.get(name)
        if is_array(statistic) and statistic.shape != given["input"].shape[1:2]:
            raise RuntimeError(
                f"{name} should have shape {[*given['input'].shape[1:2]]}, a number for each channel, found "
                f"{[*statistic.shape]}"
            )


@look_each_time_of(f"{F}batch_norm", f"{F}instance_norm", "native_batch_norm")
def both_statistics(given: Given) -> None:
    if (given.get("running_mean") is None) is not (given.get("running_var") is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


@look_each_time_of(f"{F}instance_norm")
def elements_of_instances(given: Given) -> None:
    x = given["input"]
    if given.get("use_input_stats", True) and math.prod(x.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {[*x.shape]}")


@look_each_time_of(f"{F}group_norm")
def elements_of_groups(given: Given) -> None:
    x, groups = given["input"], given["num_groups"]
    if isinstance(groups, bool):
        raise TypeError("group_norm(): argument 'num_groups' (position 2) must be int, not bool")
    lengths = tuple(x.shape)
    # As PyTorch counts them: samples times channels of a group, and what lies behind.
    if len(lengths) > 1 and groups > 0 and lengths[0] * lengths[1] // groups * math.prod(lengths[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {[*lengths]}")


@look_of(f"{F}scaled_dot_product_attention")
def dtype_of_mask(given: Given) -> None:
    x: Any = given["query"]
    if kind_of(x) in "bui":  # whatever the dtype of a mask
        raise NotImplementedError(f'"scaled_dot_product_attention" not implemented for {dtype_name(x)!r}')
    mask: Any = given.get("attn_mask")
    if is_array(mask) and kind_of(mask) not in "bf" and mask.dtype != x.dtype:
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{dtype_name(mask)} and query.dtype: {dtype_name(x)} instead."
        )
    if given.get("enable_gqa", False) and min(given[name].ndim for name in ("query", "key", "value")) < 3:
        raise np.exceptions.AxisError("scaled_dot_product_attention: enable_gqa needs at least 3 dimensions")


@look_of(f"{F}scaled_dot_product_attention")
def one_dtype_of_attention(given: Given) -> None:
    dtypes = {name: given[name].dtype for name in ("query", "key", "value") if is_array(given[name])}
    if len({*dtypes.values()}) > 1:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got "
            f"{', '.join(f'{name}.dtype: {dtype}' for name, dtype in dtypes.items())}"
        )


@look_of(f"{F}prelu")
def axes_of_slopes(given: Given) -> None:
    if is_array(given["weight"]) and given["weight"].ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {given['weight'].ndim}"
        )


REAL_OPTIONS = ("leaky_relu", "elu", "celu", "threshold", "softplus", "softshrink", "hardshrink", "rrelu", "hardtanh")


@look_of(*(f"{F}{name}" for name in REAL_OPTIONS), "constant_pad_nd", f"{F}pad", "index_fill")
def options_that_fit(given: Given) -> None:
    x = given["input"]
    for name, value in given.items():
        if isinstance(value, complex) and not value.imag and "index" not in given:
            given[name] = value.real
    options = [value for name, value in given.items() if name not in ("input", "index", "pad", "dim")]
    if "pad" in given and not adds_elements(given):
        return
    if any(kind_of(value) == "c" for value in options if is_array(value) or isinstance(value, complex)) and (
        kind_of(x) not in "bc"
    ):
        raise RuntimeError(f"value cannot be converted to type {dtype_name(x)} without overflow")
    value = given.get("value")
    if kind_of(x) in "ui" and isinstance(value, float) and not math.isfinite(value):
        raise RuntimeError(f"value {value} cannot be converted to type {dtype_name(x)} without overflow")


@look_of(f"{F}local_response_norm")
def axes_of_responses(given: Given) -> None:
    if given["input"].ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {given['input'].ndim} dimensions)")


@look_of(f"{F}interpolate", f"{F}upsample", f"{F}upsample_nearest", f"{F}upsample_bilinear")
def whole_sizes(given: Given) -> None:
    size = given.get("size")
    first = size[0] if isinstance(size, tuple) and size else size
    if isinstance(first, bool):
        raise TypeError(f"interpolate: argument 'size' must be tuple of ints, found {size}")


@look_of(f"{F}interpolate")
def bytes_between(given: Given) -> None:
    if numpy_name(given["input"].dtype) == "uint8" and given.get("mode") in ("area", "linear", "trilinear"):
        raise NotImplementedError(f"\"{given['mode']}\" not implemented for 'Byte'")


@look_each_time_of(f"{F}hinge_embedding_loss")
def mean_of_floats(given: Given) -> None:
    if kind_of(given["input"]) == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if given.get("reduction", "mean") == "mean" and kind_of(given["input"]) in "ui":
        raise RuntimeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{dtype_name(given['input'])}"
        )


@look_of(f"{F}rms_norm", f"{F}layer_norm")
def axes_of_norms(given: Given) -> None:
    shape = given.get("normalized_shape")
    if shape == ():
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    if not isinstance(shape, tuple) or not all(isinstance(length, int) for length in shape):
        raise TypeError(f"argument 'normalized_shape' (position 2) must be tuple of ints, not {type(shape).__name__}")


@look_each_time_of(f"{F}rms_norm")
def least_axes_of_norms(given: Given) -> None:
    x, shape = given["input"], given["normalized_shape"]
    if x.ndim < len(shape):
        raise ValueError(f"Input tensor must have at least {len(shape)} dimensions, but got {x.ndim}")
    if tuple(x.shape[x.ndim - len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={[*shape]}, expected input with shape [*{', '.join(map(str, shape))}], but got "
            f"input of size {[*x.shape]}"
        )
    weight: Any = given.get("weight")
    is_other = is_array(weight) and weight.dtype != x.dtype and kind_of(weight) == kind_of(x) in "fc"
    if is_other and not are_mixed({"input": numpy_name(x.dtype), "weight": numpy_name(weight.dtype)}):
        given["weight"] = xp.astype(weight, x.dtype)
    if is_array(weight) and tuple(weight.shape) != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {[*weight.shape]} and "
            f"normalized_shape = {[*shape]}"
        )
