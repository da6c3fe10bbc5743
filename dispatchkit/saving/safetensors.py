"""The safetensors format, by the package of that name: a header of JSON, then the bytes of the arrays.

The format lacks complex numbers in double precision: such arrays are stored as real ones with a last axis of two, and
named in the metadata.
"""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from dispatchkit.errors import LoadError
from dispatchkit.saving.structures import parsed
from dispatchkit.wording import format_bytes

__all__ = ["read", "write"]

STRUCTURE = "dispatchkit"
PAIRS = "dispatchkit.complex128"
# What NumPy has of the format's dtypes.
DTYPES = {
    "BOOL": "bool",
    **{f"{letter}{8 * size}": f"{kind}{size}" for letter, kind in (("I", "i"), ("U", "u")) for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
    "C64": "c8",
}
WRITEABLE = {np.dtype(name) for name in DTYPES.values()}


def write(path: Path, structure: Any, arrays: dict[str, Any]) -> None:
    """Write arrays by name, and their structure, into a file.

    Raises
    ------
    OSError : if it cannot be written
    TypeError : for a dtype that the format lacks
    """
    package = _package("save")
    stored, pairs = {}, []
    for name, array in arrays.items():
        native = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
        if native.dtype == np.complex128:
            pairs.append(name)
            native = native.reshape(*native.shape, 1).view(np.float64)
        if native.dtype not in WRITEABLE:
            raise TypeError(f"save: entry '{name}' has dtype {native.dtype}, which the safetensors format lacks")
        stored[name] = native
    metadata = {STRUCTURE: json.dumps(structure, allow_nan=False)}
    if pairs:
        metadata[PAIRS] = json.dumps(pairs)
    try:
        package.numpy.save_file(stored, path, metadata)
    except package.SafetensorError as error:
        # The package says the number of a system's error in its text alone.
        found = re.search(r"os error (\d+)", str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number) if found else str(error), str(path)) from error


def read(path: Path, limit: int) -> tuple[Any, dict[str, Any]]:
    """Return structure, None where there is none, and arrays of a file.

    Raises
    ------
    LoadError : if something in the file is not as it should be, or the file has more bytes than `limit`
    """
    package = _package("load")
    size = path.stat().st_size
    # Each byte of the file belongs to one array at most, which the package checks.
    if size > limit:
        raise LoadError(
            str(path), f"holds {format_bytes(size)}, more than the limit of {format_bytes(limit)}; see load(limit=...)"
        )
    try:
        with package.safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: _array(path, file, name) for name in file.keys()}  # noqa: SIM118  # no mapping
    except package.SafetensorError as error:
        raise LoadError(str(path), f"is truncated or no safetensors file: {error}") from error
    for name in _paired(path, metadata, limit):
        arrays[name] = _joined(path, name, arrays.get(name))
    return parsed(path, metadata[STRUCTURE], limit) if STRUCTURE in metadata else None, arrays


def _array(path: Path, file: Any, name: str) -> Any:
    dtype = file.get_slice(name).get_dtype()
    if dtype not in DTYPES:
        raise LoadError(str(path), f"has dtype {dtype}, which NumPy lacks", name)
    return np.require(file.get_tensor(name), requirements="W")


def _paired(path: Path, metadata: dict[str, str], limit: int) -> list[str]:
    """Return the names of complex arrays that are stored as pairs of real ones."""
    names = parsed(path, metadata[PAIRS], limit) if PAIRS in metadata else []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LoadError(str(path), f"its metadata '{PAIRS}' is no list of names")
    return names


def _joined(path: Path, name: str, pairs: Any) -> Any:
    if pairs is None or pairs.dtype != np.float64 or pairs.shape[-1:] != (2,):
        raise LoadError(str(path), "is said to hold complex numbers, but is missing or no array of pairs", name)
    return pairs.view(np.complex128).reshape(pairs.shape[:-1])


def _package(name: str) -> Any:
    """Return the package.

    Raises
    ------
    ImportError : where it is not installed
    """
    try:
        import safetensors.numpy  # noqa: PLC0415  # optional dependency
    except ImportError as error:
        raise ImportError(
            f"{name}: files in the safetensors format need the package safetensors: "
            f"pip install dispatchkit[safetensors]; a file with the suffix .npz needs none"
        ) from error
    return safetensors
