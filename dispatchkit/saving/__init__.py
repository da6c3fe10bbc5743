"""Saving arrays and containers of arrays in files, and loading them without running code that a file could choose."""

from dispatchkit.saving.files import load, save

__all__ = ["load", "save"]
