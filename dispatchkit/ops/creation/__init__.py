"""Creation, conversion, dtypes."""

from dispatchkit.ops.creation import (
    conversion,
    creation,
    dtypes,
    fields,  # noqa: F401  # what types have without rules, declared on import
    numpy_paths,  # noqa: F401  # NumPy's fast paths, declared on import
)
from dispatchkit.ops.creation.conversion import *  # noqa: F403
from dispatchkit.ops.creation.creation import *  # noqa: F403
from dispatchkit.ops.creation.dtypes import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = [
    name
    for part in (
        conversion,
        creation,
        dtypes,
    )
    for name in vars(part)["__all__"]
]
