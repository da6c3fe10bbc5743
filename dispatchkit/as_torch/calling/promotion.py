"""The dtype that operands of several dtypes have in common, by PyTorch's rules.

Booleans, integers, floating-point and complex numbers are categories, in this order. Arrays with axes decide; arrays
without axes, and then plain numbers, count only where their category is higher.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.storage import Storage

__all__ = ["CATEGORIES", "NUMBERS", "PROMOTING", "common_dtype", "in_common_dtype"]

CATEGORIES = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
NUMBERS = {bool: "b", int: "i", float: "f", complex: "c"}
POLYNOMIALS = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w")
# Functions whose operands are brought to one dtype.
PROMOTING = frozenset(
    {
        *("add", "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "true_divide", "floor_divide"),
        *(
            "remainder",
            "fmod",
            "pow",
            "float_power",
            "atan2",
            "arctan2",
            "hypot",
            "copysign",
            "nextafter",
            "gcd",
            "lcm",
        ),
        *("maximum", "minimum", "fmax", "fmin", "max", "min", "clamp", "clip", "clamp_min", "clamp_max", "where"),
        *("eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"),
        *("addcdiv", "addcmul", "logaddexp", "logaddexp2", "ldexp", "xlogy", "igamma", "igammac"),
        *("diff", "cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack", "dstack", "column_stack"),
        *("outer", "ger", "kron", "cross", "linalg.cross", "dist", "block_diag", "addr"),
        *(f"special.{name}" for name in ("xlogy", "xlog1py", "zeta", "gammainc", "gammaincc", "laguerre_polynomial_l")),
        *(f"special.{name}" for name in ("hermite_polynomial_h", "hermite_polynomial_he", "legendre_polynomial_p")),
        *(f"special.{start}{name}" for name in POLYNOMIALS for start in ("", "shifted_")),
        *(f"nn.functional.{name}" for name in ("mse_loss", "l1_loss", "smooth_l1_loss")),
        "nn.functional.cosine_similarity",
        *(f"nn.functional.{name}" for name in ("margin_ranking_loss", "gaussian_nll_loss", "kl_div")),
    }
)

# Functions that make matrices of their operands first, by the names of those: all of them have axes.
WITH_AXES = {
    **dict.fromkeys(("column_stack", "hstack", "vstack", "row_stack", "dstack"), frozenset({"tensors"})),
    "addr": frozenset({"input"}),
    "kron": frozenset({"input"}),
    "nn.functional.gaussian_nll_loss": frozenset({"var"}),
    "nn.functional.cosine_similarity": frozenset({"x1", "x2"}),
}


def common_dtype(values: Iterable[Any], with_axes: bool = False) -> Any:
    """Return the dtype that tensors and numbers have in common.

    Parameters
    ----------
    values : the operands
    with_axes : whether all tensors count as ones with axes
    """
    of_axes, without, numbers = set(), set(), set()
    for value in values:
        if type(value) in NUMBERS:
            numbers.add(NUMBERS[type(value)])
        elif isinstance(value, (np.bool_, np.number)):
            numbers.add(value.dtype.kind.replace("u", "i"))
        elif value.ndim or with_axes:
            of_axes.add(numpy_dtype(value.dtype))
        else:
            without.add(numpy_dtype(value.dtype))
    default = np.dtype(xp.get_default_dtype())
    return _common(frozenset(of_axes), frozenset(without), frozenset(numbers), default)


@cache
def _common(of_axes: frozenset[Any], without: frozenset[Any], numbers: frozenset[str], default: Any) -> Any:
    of_numbers = [_of_number(kind, default) for kind in sorted(numbers)]
    return _combined(_promoted(of_axes), _combined(_promoted(without), _promoted(of_numbers)))


def _of_number(kind: str, default: Any) -> Any:
    """Return the dtype that a plain number has."""
    if kind == "c":
        return np.result_type(default, np.complex64)
    return {"b": np.dtype(bool), "i": np.dtype(np.int64), "f": default}[kind]


def _promoted(dtypes: Iterable[Any]) -> Any:
    """Return the dtype of equals: the widest of the highest category."""
    y: Any = None
    for dtype in sorted(dtypes, key=str):
        y = dtype if y is None else promote_types(y, dtype)
    return y


def promote_types(one: Any, other: Any) -> Any:
    """Return the dtype that two dtypes have in common, those of arrays with axes."""
    low, high = sorted((one, other), key=lambda dtype: CATEGORIES[dtype.kind])
    if CATEGORIES[low.kind] < 2 <= CATEGORIES[high.kind]:
        return high
    return np.promote_types(one, other)


def _combined(higher: Any, lower: Any) -> Any:
    """Return the dtype of two of which the second counts by its category alone."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if CATEGORIES[lower.kind] <= CATEGORIES[higher.kind]:
        return higher
    if higher.kind == "f":
        return np.result_type(higher, np.complex64)
    return promote_types(higher, lower)


def in_common_dtype(
    given: dict[str, Any],
    as_operands: frozenset[str] = frozenset(),
    aside: frozenset[str] = frozenset(),
    *,
    path: str = "",
    as_floats: bool = False,
) -> dict[str, Any]:
    """Return those arguments that have to be cast, in the dtype that all operands have in common.

    Parameters
    ----------
    given : arguments by name
    as_operands : names of arguments that are operands where they are plain numbers, too
    aside : names of arguments that are no operands
    path : of the function
    as_floats : whether integers become numbers of the default dtype
    """
    operands = {}
    for name, value in given.items():
        if name in aside:
            continue
        if hasattr(value, "dtype") and not isinstance(value, (Storage, np.generic)):
            return {}  # of another type, which has rules of its own
        if is_operand(name, value, as_operands):
            operands[name] = value
    flat = [each for value in operands.values() for each in (value if type(value) is tuple else (value,))]
    if len(flat) < 2:
        return {}
    dtype = common_dtype(flat, not WITH_AXES.get(path, frozenset()).isdisjoint(operands))
    if as_floats and dtype.kind in "bui":
        dtype = np.dtype(xp.get_default_dtype())
    if not any(isinstance(each, Storage) for each in flat):
        return {name: xp.asarray(value, dtype=dtype) for name, value in operands.items()}
    return {name: cast for name, value in operands.items() if (cast := _cast(value, dtype)) is not value}


def is_operand(name: str, value: Any, as_operands: frozenset[str]) -> bool:
    """Return whether an argument is a tensor, a tuple of tensors, or a number that counts as one."""
    if type(value) is tuple:
        return bool(value) and all(isinstance(each, Storage) for each in value)
    is_number = type(value) in NUMBERS or isinstance(value, np.number)
    return isinstance(value, Storage) or (name in as_operands and is_number)


def _cast(value: Any, dtype: Any) -> Any:
    """Return an operand in a dtype; it is the same one if nothing is to be done."""
    if type(value) is tuple:
        cast = tuple([_cast(each, dtype) for each in value])
        if all(one is other for one, other in zip(cast, value, strict=True)):
            return value
        return cast
    if isinstance(value, Storage):
        tensor: Any = value
        if dtype_name(tensor.dtype) == dtype_name(dtype):
            return value
        return xp.astype(value, dtype)
    if type(value) is bool and dtype.kind in "fc":
        return float(value)
    if dtype.kind in "iu" and isinstance(value, int):
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            return int(np.array(value).astype(dtype))
    return value


def of_number(x: Any, number: Any) -> Any:
    """Return the dtype in which a number is taken beside a tensor."""
    kind = np.asarray(number).dtype.kind
    own = numpy_dtype(x.dtype)
    if CATEGORIES[kind] <= CATEGORIES[own.kind]:
        return own
    if kind == "i":
        return np.dtype(np.int64)
    if kind == "f":
        return np.dtype(xp.get_default_dtype())
    if own.kind == "f":
        return np.result_type(own, np.complex64)
    return np.result_type(np.dtype(xp.get_default_dtype()), np.complex64)
