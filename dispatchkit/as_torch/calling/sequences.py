"""Functions of PyTorch that take any number of tensors, and what these must be."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.calling.checks import dtype_name
from dispatchkit.as_torch.calling.dtypes import UNIFORM
from dispatchkit.as_torch.calling.ranks import check_ranks, ranks_of
from dispatchkit.as_torch.table import is_array

__all__ = ["check_several"]

# Functions that take no sequence in the place of several tensors.
ONE_BY_ONE = frozenset({"block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul"})
# Functions that take a sequence of them, too.
EITHER = frozenset({"atleast_1d", "atleast_2d", "atleast_3d", "meshgrid"})


def check_several(path: str, args: tuple[Any, ...]) -> None:
    """Raise for arguments that are no tensors, or not of one dtype or number of axes, where they must be.

    Raises
    ------
    TypeError : for what is no tensor
    RuntimeError : for several dtypes, or other numbers of axes
    ValueError : where there is no equation
    """
    if path == "einsum" and not (args and isinstance(args[0], str)) and len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    tensors = args
    if path == "einsum" and args and isinstance(args[0], str):
        operands = args[1:]
        if len(args) == 2 and isinstance(args[1], (tuple, list)):
            operands = tuple(args[1])
        expect_tensors(operands, 1)
    if path in EITHER and len(args) == 1 and isinstance(args[0], (tuple, list)):
        tensors = tuple(args[0])
    if path not in ONE_BY_ONE and path not in EITHER:
        return
    if path in ("meshgrid", "cartesian_prod") and not tensors:
        raise RuntimeError(f"{path} expects a non-empty TensorList")
    expect_tensors(tensors, 0)
    check_ranks(path, ranks_of(path), {"tensors": tensors})
    if path in UNIFORM:
        for x in tensors[1:]:
            if x.dtype != tensors[0].dtype:
                raise RuntimeError(
                    f"{path} expects all tensors to have the same dtype, but got {dtype_name(tensors[0])} and "
                    f"{dtype_name(x)}"
                )


def expect_tensors(values: tuple[Any, ...], argument: int) -> None:
    """Raise for a value that is no tensor.

    Parameters
    ----------
    values : members of an argument
    argument : its number

    Raises
    ------
    TypeError : naming the place of the value
    """
    for place, x in enumerate(values):
        if not is_array(x):
            raise TypeError(f"expected Tensor as element {place} in argument {argument}, but got {type(x).__name__}")
