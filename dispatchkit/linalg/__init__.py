"""Linear algebra: the `linalg` extension of the array API standard."""

from dispatchkit.ops import (
    linalg as _linalg,
)
from dispatchkit.ops import (
    linalg_decompositions as _linalg_decompositions,
)
from dispatchkit.ops import (
    linalg_eigen as _linalg_eigen,
)
from dispatchkit.ops import (
    linalg_elements as _linalg_elements,
)
from dispatchkit.ops import (
    linalg_norms as _linalg_norms,
)
from dispatchkit.ops import (
    linalg_svd as _linalg_svd,
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
        _linalg,
        _linalg_decompositions,
        _linalg_eigen,
        _linalg_elements,
        _linalg_norms,
        _linalg_svd,
    )
    for name in chapter.__all__
]
