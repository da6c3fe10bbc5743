"""Who computes layers on NumPy arrays: `set_engine`, `get_engine`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

from dispatchkit.backends.numpy import replace_kernels

Engine = Literal["numpy", "numba"]
# Where the kernels of an engine are that needs a library.
PLACES = {"numba": "dispatchkit.nn.functional.compiled"}


class _Chosen:
    """One setting for all threads, as the default dtype."""

    engine: Engine = "numpy"


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
    return _Chosen.engine


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
    if engine not in ("numpy", *PLACES):
        raise ValueError(f"set_engine: engine must be 'numpy' or 'numba', found {engine!r}")
    replace_kernels(_kernels(engine) if engine in PLACES else {})
    _Chosen.engine = engine


def _kernels(engine: Engine) -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """Return what an engine replaces kernels by.

    Raises
    ------
    ImportError : if its library is not installed
    """
    try:
        import_module(engine)
    except ImportError as error:
        raise ImportError(
            f"set_engine: the engine {engine!r} needs a library of that name, which is not installed: "
            f'pip install "dispatchkit[{engine}]"'
        ) from error
    found: Mapping[Callable[..., Any], Callable[..., Any]] = import_module(PLACES[engine]).KERNELS
    return found
