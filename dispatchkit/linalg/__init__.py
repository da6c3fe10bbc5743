"""Linear algebra: the `linalg` extension of the array API standard, and the named tuples that its functions give."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.ops.linalg.decompositions import *  # noqa: F403
from dispatchkit.ops.linalg.decompositions import EighResult as EighResult
from dispatchkit.ops.linalg.decompositions import EigResult as EigResult
from dispatchkit.ops.linalg.decompositions import QRResult as QRResult
from dispatchkit.ops.linalg.elements import *  # noqa: F403
from dispatchkit.ops.linalg.least_squares import *  # noqa: F403
from dispatchkit.ops.linalg.least_squares import LstsqResult as LstsqResult
from dispatchkit.ops.linalg.linalg import *  # noqa: F403
from dispatchkit.ops.linalg.linalg import SlogdetResult as SlogdetResult
from dispatchkit.ops.linalg.norms import *  # noqa: F403
from dispatchkit.ops.linalg.norms import SVDResult as SVDResult

# Not spelled `__all__ =`: type checkers then follow the star import.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)
