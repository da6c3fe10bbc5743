"""The `linalg` extension."""

from dispatchkit.ops.linalg import (
    decompositions,
    eigen,
    elements,
    iterative,
    linalg,
    norms,
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
    singular_values,
)
from dispatchkit.ops.linalg.decompositions import *  # noqa: F403
from dispatchkit.ops.linalg.eigen import *  # noqa: F403
from dispatchkit.ops.linalg.elements import *  # noqa: F403
from dispatchkit.ops.linalg.iterative import *  # noqa: F403
from dispatchkit.ops.linalg.linalg import *  # noqa: F403
from dispatchkit.ops.linalg.norms import *  # noqa: F403
from dispatchkit.ops.linalg.singular_values import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        decompositions,
        eigen,
        elements,
        iterative,
        linalg,
        norms,
        singular_values,
    )
    for name in vars(part)["__all__"]
]
