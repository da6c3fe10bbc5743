"""Lets einx's functions take tensors and array types, which it finds once array-api-compat is imported.

A program that imports einx imports this module with it. Without array-api-compat einx knows no arrays of the standard,
and says that no backend matches: `pip install array-api-compat`.

Examples
--------
>>> import dispatchkit as dk
>>> import einx  # doctest: +SKIP
>>> einx.subtract("i, j -> i j", dk.arange(3), dk.arange(2)).shape  # doctest: +SKIP
(3, 2)
"""

from contextlib import suppress

with suppress(ImportError):
    import array_api_compat  # noqa: F401  # einx waits for it
