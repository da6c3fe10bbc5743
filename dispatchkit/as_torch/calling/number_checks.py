"""What functions refuse of numbers in PyTorch's words: of data, of what they draw by, and what a dtype lacks."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from dispatchkit.as_torch.calling.checks import Given, dtype_name, look_each_time_of, look_of
from dispatchkit.as_torch.calling.network_checks import expect_number
from dispatchkit.as_torch.calling.promotion import common_dtype
from dispatchkit.as_torch.shared import is_half, kind_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["numbers_in"]

F = "nn.functional."
# The numbers that PyTorch brings into the dtype of tensors before it computes, where others are infinite in it.
OF_ONE_DTYPE = {
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys((f"{F}hinge_embedding_loss", f"{F}multi_margin_loss"), ("margin",)),
    f"{F}normalize": ("eps",),
    f"{F}rrelu": ("lower", "upper"),
    **dict.fromkeys(("linspace", "logspace"), ("start", "end")),
    "where": ("input", "other"),
}
# Functions that compute half precision in single precision, and one that rounds numbers into it.
IN_SINGLE = frozenset({"addcdiv", "addcmul", f"{F}rrelu"})
ROUNDING = frozenset({"where"})
OF_SINGLE = np.empty((), SINGLE)
PLAIN = frozenset({bool, int, float, complex})
WHOLE = frozenset({bool, int})
# What makes a value a number, an array or a sequence of numbers.
METHODS = ("__float__", "__index__", "__complex__", "__array__", "__array_interface__", "__getitem__")


@look_each_time_of(
    *(f"{F}{name}" for name in ("hinge_embedding_loss", "cosine_embedding_loss", "margin_ranking_loss")),
    f"{F}multi_margin_loss",
)
def margins_that_are_numbers(given: Given) -> None:
    margin: Any = given.get("margin")
    if isinstance(margin, bool):
        given["margin"] = float(margin)


@look_of("bernoulli")
def floating_probabilities(given: Given) -> None:
    x: Any = given["input"]
    p: Any = given.get("p")
    if is_array(p) and p.ndim:
        raise TypeError(
            "bernoulli() received an invalid combination of arguments: got (Tensor, Tensor), but expected "
            "(Tensor input) or (Tensor input, float p)"
        )
    if (p is None and kind_of(x) != "f") or kind_of(x) == "c":
        raise NotImplementedError(f'"bernoulli" not implemented for {dtype_name(x)!r}')


@look_each_time_of("bernoulli")
def range_of_probabilities(given: Given) -> None:
    p: Any = given.get("p")
    if p is None:
        p = given["input"]
    if is_array(p):
        if p.is_tracer:
            return
        p = np.asarray(p.detach().array)
        if p.dtype.kind == "c" and p.imag.any():
            raise RuntimeError(f"value cannot be converted to type double without overflow: {p}")
        p = p.real
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise RuntimeError(f"bernoulli: Expected probabilities from 0 to 1, found {p}")


@look_of("multinomial")
def axes_of_shares(given: Given) -> None:
    shares: Any = next(iter(given.values()))
    if shares.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, found {shares.ndim}")


@look_each_time_of("multinomial")
def count_of_draws(given: Given) -> None:
    shares: Any = next(iter(given.values()))
    if not given.get("replacement", False) and given["num_samples"] > shares.shape[-1]:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {given['num_samples']} of "
            f"{shares.shape[-1]}"
        )


@look_each_time_of("poisson")
def rates(given: Given) -> None:
    x = given["input"]
    if not x.is_tracer and not np.all(np.asarray(x.detach().array) >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")


@look_of("randint_like")
def range_of_integers(given: Given) -> None:
    dtype = numpy_dtype(given.get("dtype") or given["input"].dtype)
    if dtype.kind == "c":
        raise RuntimeError(
            f"check_random_bounds handles only integral, floating-point and boolean types, found {dtype}"
        )
    high = given.get("high")
    if high is None:
        high = given.get("low", 0)
    if is_array(high) and high.ndim:
        raise RuntimeError(f"high must be a scalar tensor, found shape {[*high.shape]}")
    low = given.get("low", 0)
    if given.get("high") is not None and isinstance(low, int) and dtype.kind in "bui":
        least = 0 if dtype.kind == "b" else np.iinfo(dtype).min
        if low < least:
            raise RuntimeError(f"from is out of bounds for {dtype}")
    if isinstance(high, int) and dtype.kind in "bui":
        most = 1 if dtype.kind == "b" else np.iinfo(dtype).max
        if high - 1 > most:
            raise RuntimeError(f"to - 1 is out of bounds for {dtype}")


@look_of("binomial")
def floats_of_trials(given: Given) -> None:
    for name in ("count", "prob"):
        if kind_of(given[name]) != "f":
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {dtype_name(given[name])}")
    if given["count"].dtype != given["prob"].dtype:
        raise RuntimeError(
            f"binomial: Found dtype {dtype_name(given['prob'])} but expected {dtype_name(given['count'])}"
        )


@look_of("poisson")
def floats_of_rates(given: Given) -> None:
    if kind_of(given["input"]) != "f":
        raise NotImplementedError(f'"poisson" not implemented for {dtype_name(given["input"])!r}')


@look_of("clamp", "clip", "clamp_min", "clamp_max", "where")
def integers_that_fit(given: Given) -> None:
    values = [value for name, value in given.items() if name != "condition" and value is not None]
    tensors = [value for value in values if is_array(value)]
    if not tensors or len(tensors) == len(values) or kind_of(tensors[0]) not in "ui":
        return
    dtype = common_dtype(values)
    limits = np.iinfo(dtype) if dtype.kind in "ui" else None
    for value in values:
        if limits and isinstance(value, int) and not (limits.min or -limits.max) <= value <= limits.max:
            raise RuntimeError(f"value {value} cannot be converted to type {dtype} without overflow")


def _most_of(path: str, dtype: Any) -> float:
    """Return the largest number that a function takes beside tensors of a dtype, half precision among them."""
    if dtype == HALF and path in IN_SINGLE:
        dtype = SINGLE
    return float(np.finfo(dtype).max)


def _look_at_numbers(path: str, names: tuple[str, ...]) -> None:
    @look_each_time_of(path)
    def numbers_that_fit(given: Given) -> None:
        numbers = {name: given[name] for name in names if type(given.get(name)) in (float, complex)}
        if not numbers:
            return
        dtype: Any = given.get("dtype")
        if dtype is None:
            dtype = common_dtype([x for x in given.values() if is_array(x) and kind_of(x) in "fc"])
        if dtype is None or numpy_dtype(dtype).kind not in "fc":
            return
        most = _most_of(path, numpy_dtype(dtype))
        for name, number in numbers.items():
            if not np.isfinite(number) or max(abs(number.real), abs(number.imag)) <= most:
                continue
            if path not in ROUNDING or numpy_dtype(dtype) != HALF:
                raise RuntimeError(f"value {number} cannot be converted to type {numpy_dtype(dtype)} without overflow")
            given[name] = math.copysign(math.inf, number)


for _path, _names in OF_ONE_DTYPE.items():
    _look_at_numbers(_path, _names)


@look_each_time_of("addmm", "addbmm", "baddbmm", "lerp")
def factors_that_fit(given: Given) -> None:
    x: Any = given["input"]
    if x.dtype == HALF:
        x = OF_SINGLE  # in which half precision is computed
    for name in ("alpha", "beta", "weight"):
        number: Any = given.get(name)
        if isinstance(number, (int, float)):
            expect_number(x, number)


@look_each_time_of("pow")
def exponents_that_fit(given: Given) -> None:
    exponent: Any = given.get("exponent")
    if type(exponent) is not int and type(exponent) is not float:
        return
    x = given["input"]
    kind = kind_of(x)
    if kind in "ui" and type(exponent) is int:
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if is_array(x):
            expect_number(x, exponent)
    elif kind == "f" and is_half(x):
        expect_number(x, exponent)


@look_of("addcdiv", "addcmul")
def real_factor(given: Given) -> None:
    value: Any = given.get("value", 1)
    dtype = common_dtype([given[name] for name in ("input", "tensor1", "tensor2")])
    if isinstance(value, complex) and value.imag and dtype.kind != "c":
        raise RuntimeError("value cannot be converted to type double without overflow")
    if dtype.kind in "ui" and isinstance(value, (int, float)):
        expect_number(np.empty((), dtype), value)
    if dtype.kind in "bui" and isinstance(value, float):
        given["value"] = int(value)  # as numbers of integers are


@look_of(f"{F}cross_entropy")
def dtypes_of_shares(given: Given) -> None:
    x, target = given["input"], given["target"]
    if not is_array(target) or target.shape != x.shape:
        return
    if kind_of(target) in "bui":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {dtype_name(target)}"
        )
    weight: Any = given.get("weight")
    if is_array(weight) and kind_of(weight) in "bui" and kind_of(x) == "f":
        given["weight"] = xp.astype(weight, x.dtype)  # whole numbers do not make the result wider


@look_of(f"{F}mse_loss")
def no_booleans_with_weights(given: Given) -> None:
    x = given["input"]
    weight: Any = given.get("weight")
    if is_array(weight) and weight.shape == x.shape and "b" in (kind_of(x), kind_of(given["target"])):
        raise RuntimeError("mse_loss: Subtraction, the `-` operator, with a bool tensor is not supported")


@look_of("bincount")
def length_of_weights(given: Given) -> None:
    x = given["input"]
    weights: Any = given.get("weights")
    if is_array(weights) and x.ndim == 1 and weights.shape != x.shape:
        raise RuntimeError(
            f"bincount: weights should be 1-d and have the same length as input, found shape {[*weights.shape]} for "
            f"{[*x.shape]}"
        )


@look_of("tensordot")
def axes_that_are_numbers(given: Given) -> None:
    dims: Any = given.get("dims")
    if not is_array(dims) or dims.is_tracer:
        return
    given["dims"] = int(dims.item()) if dims.numel() == 1 else tuple(map(tuple, dims.tolist()))


@look_of("as_tensor", "asarray", "tensor")
def data_of_numbers(given: Given) -> None:
    if "data" in given:
        given["data"] = numbers_in(given["data"], given.get("dtype"))


def numbers_in(data: Any, dtype: Any) -> Any:
    """Return data with tensors of one element in lists as numbers.

    Parameters
    ----------
    data : an array, a number, or a nested sequence of numbers
    dtype : which is asked for; None for that of the numbers

    Raises
    ------
    TypeError, RuntimeError or ValueError : for what is no number, as PyTorch does
    """
    if isinstance(data, (list, tuple)):
        return _elements(data, dtype)
    if is_array(data):
        return data
    _check_number(data, dtype, "")
    if type(data) is int:
        return _whole_numbers((data,), dtype)[0]
    return data


def _elements(values: Any, dtype: Any) -> Any:
    types = set(map(type, values))
    if types <= WHOLE:
        return _whole_numbers(values, dtype)
    if types <= PLAIN:
        return values
    elements = [_element(value, dtype) for value in values]
    if all(after is before for after, before in zip(elements, values, strict=True)):
        return values
    return elements


def _whole_numbers(values: Any, dtype: Any) -> Any:
    """Return whole numbers, of unsigned ones those that stand for negative ones, as in two's complement.

    Raises
    ------
    ValueError : where no dtype is asked for, and int64 does not hold them
    """
    if not values:
        return values
    least, most = min(values), max(values)
    if dtype is None:
        limits = np.iinfo(np.int64)
        if least < limits.min or most > limits.max:
            raise ValueError(f"Overflow when unpacking long long: int64 does not hold {max(most, -least)}")
    elif least < 0 and numpy_dtype(dtype).kind == "u" and least >= -np.iinfo(dtype).max:
        return [value % (np.iinfo(dtype).max + 1) if value < 0 else value for value in values]
    return values


def _element(value: Any, dtype: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return _elements(value, dtype)
    if not is_array(value):
        _check_number(value, dtype, "list")
        return value
    if value.is_tracer or not value.ndim:
        return value
    if value.numel() != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, found shape {[*value.shape]}")
    return xp.reshape(value, ())


def _check_number(value: Any, dtype: Any, within: str) -> None:
    kind = type(value)
    if isinstance(value, str) and within:
        raise ValueError("too many dimensions 'str'")
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(value, dict) or not any(hasattr(kind, method) for method in METHODS):
        _refuse(kind.__name__, dtype)


def _refuse(name: str, dtype: Any) -> NoReturn:
    if dtype is None:
        raise RuntimeError(f"Could not infer dtype of {name}")
    if numpy_dtype(dtype).kind in "bui":
        raise TypeError(f"{name!r} object cannot be interpreted as an integer")
    raise TypeError(f"must be real number, not {name}")
