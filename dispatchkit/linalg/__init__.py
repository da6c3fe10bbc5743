"""Linear algebra: the `linalg` extension of the array API standard."""

from dispatchkit.ops import (
    linalg,
    linalg_decompositions,
    linalg_eigen,
    linalg_elements,
    linalg_norms,
    linalg_svd,
    numpy_linalg,  # noqa: F401  # shorter ways, declared on import
)
from dispatchkit.ops.linalg import *  # noqa: F403
from dispatchkit.ops.linalg_decompositions import *  # noqa: F403
from dispatchkit.ops.linalg_eigen import *  # noqa: F403
from dispatchkit.ops.linalg_elements import *  # noqa: F403
from dispatchkit.ops.linalg_norms import *  # noqa: F403
from dispatchkit.ops.linalg_svd import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in its chapter alone.
vars()["__all__"] = [
    name
    for chapter in (
        linalg,
        linalg_decompositions,
        linalg_eigen,
        linalg_elements,
        linalg_norms,
        linalg_svd,
    )
    for name in chapter.__all__
]
