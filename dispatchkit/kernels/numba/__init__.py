"""Kernels that Numba compiles when they are first called, for NumPy's arrays: the engine ``"numba"``.

They go over memory once where NumPy goes once for each step of a formula. Each runs on one thread and releases the
interpreter's lock. What is compiled is kept on disk, and loads from there in the next process.
"""

from __future__ import annotations

from dispatchkit.kernels.numba import activations, normalization, rows

__all__ = ["activations", "normalization", "rows"]
