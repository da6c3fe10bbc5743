"""What runs: the versions of the library, of Python, and of the libraries that work with it."""

import sys
from importlib.metadata import distributions
from typing import Any

from dispatchkit.accelerator import state
from dispatchkit.backends.arrays import engines

PEERS = ("numpy", "array-api-compat", "jax", "numba", "safetensors", "scipy", "torch")


def show_config(mode: str = "stdout") -> Any:
    """Show which versions run, whether the compiled accelerator is used, and what computes NumPy's arrays.

    Parameters
    ----------
    mode : ``"stdout"`` to print it, ``"dicts"`` to return it

    Returns
    -------
    dict or None
        What is shown, by its name, where `mode` is ``"dicts"``.

    Raises
    ------
    ValueError : for another mode

    Examples
    --------
    >>> import dispatchkit as dk
    >>> list(dk.show_config("dicts"))[:4]
    ['dispatchkit', 'accelerator', 'engine', 'python']
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config: mode must be 'stdout' or 'dicts', found {mode!r}")
    rows = {"dispatchkit": sys.modules["dispatchkit"].__version__, "accelerator": state, "engine": engines[0]}
    installed = {str(distribution.name).lower(): distribution.version for distribution in distributions()}
    rows |= {"python": sys.version, **{name: installed.get(name, "not installed") for name in PEERS}}
    if mode == "dicts":
        return rows
    return sys.stdout.writelines(f"{name}: {value}\n" for name, value in rows.items())
