"""Functions of PyTorch whose tensors must be of one dtype, and factors that must fit them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import dtype_name
from dispatchkit.as_torch.calling.promotion import CATEGORIES, NUMBERS, common_dtype
from dispatchkit.as_torch.shared import in_dtype_of, kind_of
from dispatchkit.as_torch.table import ARGUMENTS_OF_ANY_KIND, NUMBERS_AS_OPERANDS, is_array

__all__ = ["FACTORS", "UNIFORM", "check_dtypes", "check_factors"]

# Functions whose tensors must be of one dtype.
UNIFORM = frozenset(
    {
        *("matmul", "mm", "bmm", "mv", "dot", "vdot", "inner", "tensordot", "addmm", "addmv", "addbmm", "baddbmm"),
        *("lerp", "meshgrid", "cartesian_prod", "chain_matmul", "cross", "linalg.cross", "cholesky_solve", "lu_solve"),
        "triangular_solve",
        *(f"linalg.{name}" for name in ("solve", "solve_ex", "lu_solve", "matmul", "vecdot", "lstsq", "multi_dot")),
        *(f"nn.functional.{name}" for name in ("bilinear", "linear")),
        *(f"nn.functional.conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)),
    }
)
FACTORS = frozenset({"alpha", "beta"})
# Functions that bring factors to the dtype of the tensors: to whole numbers, and to real ones where nothing is lost.
CUTTING = frozenset({"addmm", "addmv", "addbmm", "baddbmm"})


def check_dtypes(path: str, given: dict[str, Any]) -> None:
    """Raise if tensors are of several dtypes.

    Raises
    ------
    RuntimeError : naming two of them
    """
    arrays = []
    for name, value in given.items():
        members = value if type(value) is tuple else (value,)
        if path == "lerp" and name == "weight" and not getattr(value, "ndim", 0):
            continue  # a number
        if name not in ARGUMENTS_OF_ANY_KIND or name == "weight":
            arrays += [x for x in members if is_array(x) and hasattr(x, "dtype")]
    if path == "inner" and any(not x.ndim for x in arrays):
        return  # a product by a number
    for x in arrays[1:]:
        if x.dtype != arrays[0].dtype:
            raise RuntimeError(
                f"{path.rpartition('.')[2]}: expected tensors of one dtype, but got {dtype_name(arrays[0])} and "
                f"{dtype_name(x)}"
            )


def check_factors(path: str, given: dict[str, Any]) -> None:
    """Look at `alpha` and `beta`, which must be of a kind that tensors of integers hold, and no larger than these.

    Raises
    ------
    RuntimeError : for those of a higher kind, and those that the dtype of the result does not hold
    """
    operands = [value for name, value in given.items() if name not in ARGUMENTS_OF_ANY_KIND and name not in FACTORS]
    operands = [value for value in operands if is_array(value) and hasattr(value, "dtype")]
    numbers = [value for name, value in given.items() if name in NUMBERS_AS_OPERANDS and not is_array(value)]
    operands += [value for value in numbers if isinstance(value, (bool, int, float, complex))]
    if not operands or path.startswith("nn."):
        return
    highest = max(map(kind_of, operands), key="buifc".index)
    for name in FACTORS & given.keys():
        factor = given[name]
        if is_array(factor):
            continue
        if path in CUTTING:
            if CATEGORIES[highest] < CATEGORIES[NUMBERS.get(type(factor), "b")]:
                given[name] = in_dtype_of(np.empty((), common_dtype(operands)), factor)
            continue
        if isinstance(factor, bool) and highest != "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, (float, complex)) and highest in "bui":
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        if isinstance(factor, complex) and highest == "f":
            raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")
        in_dtype_of(np.empty((), common_dtype(operands)), factor)
