"""Who computes layers on NumPy arrays: `set_engine`, `get_engine`."""

from __future__ import annotations

from typing import Literal

from dispatchkit.backends.arrays import engines
from dispatchkit.declare.kernels import use_engine

Engine = Literal["numpy", "numba"]


def get_engine() -> Engine:
    """Return who computes the functions of layers on NumPy arrays.

    Returns
    -------
    str
        By default ``"numpy"``; `set_engine` chooses another.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.get_engine()
    'numpy'
    """
    if engines[0] == "numba":
        return "numba"
    return "numpy"


def set_engine(engine: Engine, /) -> None:
    """Choose who computes the functions of layers on NumPy arrays, in all threads.

    Parameters
    ----------
    engine : ``"numpy"``, or ``"numba"`` for loops that Numba compiles where there are some, and NumPy elsewhere

    Raises
    ------
    ValueError : for another name
    ImportError : if Numba is not installed

    Notes
    -----
    Values are equal but for rounding. docs/performance.md says which functions are compiled, and what they gain. A
    function is compiled when it is first called, which takes seconds, and then kept on disk.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.set_engine("numpy")
    >>> dk.nn.get_engine()
    'numpy'
    """
    if engine == "numba":
        try:
            import numba  # noqa: F401, PLC0415  # optional dependency
        except ImportError as error:
            raise ImportError(
                "set_engine: the engine 'numba' needs a library of that name, which is not installed: "
                'pip install "dispatchkit[numba]"'
            ) from error
    elif engine != "numpy":
        raise ValueError(f"set_engine: engine must be 'numpy' or 'numba', found {engine!r}")
    use_engine(engine)
