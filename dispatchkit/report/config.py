"""What runs: the versions of the library, of Python, and of the libraries that work with it."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, overload

from dispatchkit.accelerator import state
from dispatchkit.backends.arrays import engines

PEERS = ("numpy", "array-api-compat", "jax", "numba", "safetensors", "scipy", "torch")


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, str]: ...
def show_config(mode: str = "stdout") -> dict[str, str] | None:
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
    rows["python"] = f"{platform.python_version()} on {platform.platform()}"
    for name in PEERS:
        try:
            rows[name] = version(name)
        except PackageNotFoundError:
            rows[name] = "not installed"
    if mode == "dicts":
        return rows
    sys.stdout.write("".join(f"{name}: {value}\n" for name, value in rows.items()))
    return None
