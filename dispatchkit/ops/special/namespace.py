"""Who computes special functions, which the array API standard has none of.

A library that has a namespace `special`, as PyTorch and dispatchkit itself have, computes on its own arrays, and so
does JAX what it has in `jax.scipy.special`. For NumPy arrays, and for libraries without such a namespace, SciPy does:
an optional dependency, imported when first needed.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import holds_complex, is_lazy
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.typing import Namespace
from dispatchkit.ops.shared.arguments import Named

__all__ = ["SPECIAL", "computed"]

SPECIAL = "dispatchkit.special"


def computed(xp: Namespace, op: Named, *args: Any) -> Any:
    """Return a special function of arrays.

    Parameters
    ----------
    xp : namespace that computes on the arrays
    op : the operation of that name
    args : as both SciPy and PyTorch take them

    Raises
    ------
    TypeError : for complex numbers
    ImportError : where SciPy is needed and not installed
    """
    for arg in args:
        if holds_complex(arg):
            raise TypeError(f"{op.__name__}: takes real numbers, found complex ones: {getattr(arg, 'dtype', arg)}")
    if xp is numpy_namespace:
        return _scipy_function(op.__name__)(*args)
    if hasattr(xp, "special"):
        return getattr(xp.special, op.__name__)(*args)
    if xp.__name__ == "jax.numpy" and (function := _jax_function(op.__name__)) is not None:
        return function(*args)
    numbers = [arg if isinstance(arg, (int, float)) or is_lazy(arg) else np.asarray(arg) for arg in args]
    return xp.asarray(_scipy_function(op.__name__)(*numbers))


@functools.cache
def _jax_function(name: str) -> Any:
    """Return the function of JAX, which keeps its special functions apart from its array namespace."""
    from jax.scipy import special  # noqa: PLC0415  # optional dependency

    return getattr(special, name, None)


@functools.cache
def _scipy_function(name: str) -> Any:
    try:
        from scipy import special  # noqa: PLC0415  # optional dependency
    except ImportError as error:
        raise ImportError(
            f'dispatchkit.special.{name} computes with SciPy, which is not installed: pip install "dispatchkit[scipy]"'
        ) from error
    return getattr(special, name)
