"""How many axes PyTorch's functions want their arguments to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dispatchkit.as_torch.table import is_array

__all__ = ["check_ranks", "ranks_of"]

POOLS = ("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool", "fractional_max_pool", "lp_pool")
MATRICES = (
    *("cholesky", "cholesky_ex", "eig", "eigh", "eigvals", "eigvalsh", "inv", "inv_ex", "lu", "lu_factor"),
    *(
        "ldl_factor",
        "ldl_factor_ex",
        "lu_factor_ex",
        "matrix_exp",
        "matrix_power",
        "pinv",
        "qr",
        "slogdet",
        "svd",
        "svdvals",
        "det",
    ),
)
# By the names of arguments: the least number, and the largest where there is one.
RANKS: dict[str, dict[str, tuple[int, ...]]] = {
    "addbmm": {"batch1": (3, 3), "batch2": (3, 3)},
    "addmm": {"mat1": (2, 2), "mat2": (2, 2)},
    "addmv": {"mat": (2, 2), "vec": (1, 1)},
    "addr": {"vec1": (1, 1), "vec2": (1, 1)},
    "baddbmm": {"batch1": (3, 3), "batch2": (3, 3)},
    "bincount": {"input": (1, 1)},
    "bmm": {"input": (3, 3), "mat2": (3, 3)},
    "bucketize": {"boundaries": (1, 1)},
    "cartesian_prod": {"tensors": (1, 1)},
    "cdist": {"x1": (2,), "x2": (2,)},
    "chain_matmul": {"tensors": (2, 2)},
    "cholesky": {"input": (2,)},
    "cholesky_inverse": {"input": (2,)},
    "cholesky_solve": {"input": (2,), "input2": (2,)},
    "combinations": {"input": (1, 1)},
    "diag": {"input": (1, 2)},
    "diag_embed": {"input": (1,)},
    "dot": {"input": (1, 1), "tensor": (1, 1)},
    "fill": {"value": (0, 0)},
    "fliplr": {"input": (2,)},
    "flipud": {"input": (1,)},
    "ger": {"input": (1, 1), "vec2": (1, 1)},
    "index_fill": {"index": (0, 1), "value": (0, 0)},
    "inverse": {"input": (2,)},
    "linspace": {"start": (0, 0), "end": (0, 0)},
    "logdet": {"input": (2,)},
    "logspace": {"start": (0, 0), "end": (0, 0)},
    "lu_unpack": {"LU_data": (2,)},
    "lu_solve": {"LU_data": (2,), "b": (2,)},
    "meshgrid": {"tensors": (0, 1)},
    "mm": {"input": (2, 2), "mat2": (2, 2)},
    "multinomial": {"input": (1, 2)},
    "native_batch_norm": {"input": (2,)},
    "mv": {"input": (2, 2), "vec": (1, 1)},
    "ormqr": {"input": (2,), "input2": (1,)},
    "outer": {"input": (1, 1), "vec2": (1, 1)},
    "renorm": {"input": (2,)},
    "rot90": {"input": (2,)},
    "slogdet": {"input": (2,)},
    "svd": {"input": (2,)},
    "trace": {"input": (2, 2)},
    "triangular_solve": {"b": (2,), "A": (2,)},
    "tril": {"input": (2,)},
    "triu": {"input": (2,)},
    "vdot": {"input": (1, 1), "other": (1, 1)},
    "linalg.cond": {"input": (2,)},
    "linalg.ldl_solve": {"LD": (2,), "B": (2,)},
    "linalg.lu_solve": {"LU": (2,), "B": (2,)},
    "linalg.matrix_norm": {"A": (2,)},
    "linalg.matrix_rank": {"A": (2,)},
    "linalg.solve": {"A": (2,)},
    "linalg.solve_ex": {"A": (2,)},
    "linalg.solve_triangular": {"A": (2,), "B": (2,)},
    "nn.functional.channel_shuffle": {"input": (3,)},
    "nn.functional.cosine_embedding_loss": {"target": (0, 1)},
    "nn.functional.pdist": {"input": (2, 2)},
    "nn.functional.pixel_shuffle": {"input": (3,)},
    "nn.functional.pixel_unshuffle": {"input": (3,)},
    **{name: {"index": (0, 1)} for name in ("index_add", "index_copy", "index_reduce", "index_select")},
    **{f"linalg.{name}": {"A": (2,), "input": (2,)} for name in MATRICES},
    **{
        f"nn.functional.{pool}{axes}d": {"input": (axes + 1, axes + 2)}
        for pool in POOLS
        for axes in (1, 2, 3)
        if pool != "lp_pool"
    },
}


def ranks_of(path: str) -> dict[str, tuple[int, ...]]:
    """Return how many axes the arguments of a function have: the least number, and the largest where there is one."""
    return RANKS.get(path) or {}


def check_ranks(path: str, ranks: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]) -> None:
    """Raise if an argument of a call has more axes or fewer than its function takes.

    Raises
    ------
    AxisError : which PyTorch's functions raise as RuntimeError, ValueError or IndexError
    """
    for name, bounds in ranks.items():
        value = given.get(name)
        members = value
        if not isinstance(value, (tuple, list)):
            members = (value,)
        for x in members or ():
            if is_array(x) and not bounds[0] <= x.ndim <= bounds[-1] + 99 * (len(bounds) == 1):
                raise np.exceptions.AxisError(
                    f"{path.rpartition('.')[2]}(): Expected {name} to have {_words(bounds)}, but got {x.ndim} "
                    f"(shape {[*x.shape]})"
                )


def _words(bounds: tuple[int, ...]) -> str:
    if len(bounds) == 1:
        return f"at least {bounds[0]} dimensions"
    if bounds[0] == bounds[1]:
        return f"{bounds[0]} dimensions"
    return f"{bounds[0]} to {bounds[1]} dimensions"
