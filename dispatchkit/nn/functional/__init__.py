"""What layers compute, as functions: overridable operations with derivatives."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.nn.functional.activations import *  # noqa: F403
from dispatchkit.nn.functional.adaptive_pooling import *  # noqa: F403
from dispatchkit.nn.functional.affine import *  # noqa: F403
from dispatchkit.nn.functional.attention import *  # noqa: F403
from dispatchkit.nn.functional.convolution import *  # noqa: F403
from dispatchkit.nn.functional.losses import *  # noqa: F403
from dispatchkit.nn.functional.losses_of_classes import *  # noqa: F403
from dispatchkit.nn.functional.normalization import *  # noqa: F403
from dispatchkit.nn.functional.pooling import *  # noqa: F403
from dispatchkit.nn.functional.recurrent import *  # noqa: F403
from dispatchkit.nn.functional.smooth import *  # noqa: F403

# Not spelled `__all__ =`: type checkers then follow the star imports, and an operation is named in one place.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)
