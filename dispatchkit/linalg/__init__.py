"""Linear algebra: the `linalg` extension of the array API standard."""

from __future__ import annotations

from dispatchkit.ops.linalg import *  # noqa: F403
from dispatchkit.ops.linalg import __all__ as _linalg
from dispatchkit.ops.linalg_decompositions import *  # noqa: F403
from dispatchkit.ops.linalg_decompositions import __all__ as _linalg_decompositions
from dispatchkit.ops.linalg_eigen import *  # noqa: F403
from dispatchkit.ops.linalg_eigen import __all__ as _linalg_eigen
from dispatchkit.ops.linalg_elements import *  # noqa: F403
from dispatchkit.ops.linalg_elements import __all__ as _linalg_elements
from dispatchkit.ops.linalg_norms import *  # noqa: F403
from dispatchkit.ops.linalg_norms import __all__ as _linalg_norms
from dispatchkit.ops.linalg_svd import *  # noqa: F403
from dispatchkit.ops.linalg_svd import __all__ as _linalg_svd

__all__: list[str] = []
__all__ += _linalg
__all__ += _linalg_decompositions
__all__ += _linalg_eigen
__all__ += _linalg_elements
__all__ += _linalg_norms
__all__ += _linalg_svd
