"""The safetensors format, by the package of that name: a header of JSON, then the bytes of the arrays.

The format lacks complex numbers in double precision: such arrays are stored as real ones with a last axis of two, and
named in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from dispatchkit.errors import LoadError
from dispatchkit.progress import ProgressBar
from dispatchkit.saving.npz import check_limit, parse_json

STRUCTURE = "dispatchkit"
PAIRS = "dispatchkit.complex128"
# What NumPy has of the format's dtypes.
DTYPES = {
    "BOOL": "bool",
    **{f"{letter}{8 * size}": f"{kind}{size}" for letter, kind in (("I", "i"), ("U", "u")) for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
    "C64": "c8",
}
CODES = {np.dtype(name): code for code, name in DTYPES.items()}


def write(target: IO[bytes], structure: Any, arrays: dict[str, Any]) -> None:
    """Write arrays by name, and their structure, into a file.

    Raises
    ------
    OSError : if it cannot be written
    TypeError : for a dtype that the format lacks
    """
    _package("save")  # which is to read it
    stored, pairs = {}, []
    for name, array in arrays.items():
        native = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
        if native.dtype == np.complex128:
            pairs.append(name)
            native = native.reshape(*native.shape, 1).view(np.float64)
        if native.dtype not in CODES:
            raise TypeError(f"save: entry '{name}' has dtype {native.dtype}, which the safetensors format lacks")
        stored[name] = native
    metadata = {STRUCTURE: json.dumps(structure, allow_nan=False)}
    if pairs:
        metadata[PAIRS] = json.dumps(pairs)
    # Long elements first, so that each array begins at a multiple of what its elements take.
    names = sorted(stored, key=lambda name: (-stored[name].itemsize, name))
    target.write(_header(metadata, {name: stored[name] for name in names}))
    for name in names:
        # Array by array, where the package would make two copies of all of them.
        little_endian = stored[name].astype(stored[name].dtype.newbyteorder("<"), copy=False)
        if little_endian.size:
            target.write(little_endian.reshape(-1).view(np.uint8).data)


def _header(metadata: dict[str, str], stored: dict[str, Any]) -> bytes:
    """Return what stands before the arrays: JSON that is filled up to a multiple of eight bytes, after its length."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, array in stored.items():
        stop = start + array.nbytes
        entries[name] = {"dtype": CODES[array.dtype], "shape": array.shape, "data_offsets": (start, stop)}
        start = stop
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def read(
    source: Path | IO[bytes], label: Any, limit: int, names: frozenset[str] | None, bar: ProgressBar, *, mmap: bool
) -> tuple[Any, dict[str, Any]]:
    """Return structure and arrays of a file, as `npz.read` does; `limit` is for the bytes of the whole file."""
    package = _package("load")
    memory: np.ndarray[Any, Any] = np.empty(0, np.uint8)
    if _size(source, label, limit):
        memory = np.memmap(source, mode="c")
    if not isinstance(source, Path):
        memory = np.frombuffer(bytearray(source.read()), np.uint8)
    try:
        # It checks that each byte belongs to one array at most, and as many as shape and dtype say.
        if isinstance(source, Path):
            with package.safe_open(source, framework="np"):
                pass
        else:
            package.deserialize(memory.tobytes())
    except package.SafetensorError as error:
        raise LoadError(str(label), f"is truncated or no safetensors file: {error}") from error
    start = 8 + int.from_bytes(memory[:8].tobytes(), "little")
    header = parse_json(label, memory[8:start].tobytes(), limit)
    metadata = header.pop("__metadata__", {})
    bar.total = len(memory) - start
    arrays = {}
    for name, entry in header.items():
        if names is None or name in names:
            arrays[name] = _array(label, name, entry, memory[start:], mmap)
            bar.advance(arrays[name].nbytes, name)
    for name in _complex_names(label, metadata, limit):
        if names is None or name in names:
            arrays[name] = _join_pairs(label, name, arrays.get(name))
    structure = None
    if STRUCTURE in metadata:
        structure = parse_json(label, metadata[STRUCTURE], limit)
    return structure, arrays


def _size(source: Path | IO[bytes], label: Any, limit: int) -> int:
    """Return the size of a file by its path, 0 for a file object.

    Raises
    ------
    LoadError : if either is larger than `limit`
    """
    if isinstance(source, Path):
        size = source.stat().st_size
    else:
        size = source.seek(0, 2) - source.seek(0)
    # Each byte of the file belongs to one array at most, which the package checks.
    check_limit(label, size, limit)
    if isinstance(source, Path):
        return size
    return 0


def _array(label: Any, name: str, entry: dict[str, Any], memory: Any, mmap: bool) -> Any:
    """Return an array of the file: what NumPy has no dtype for as float32, which holds all its values."""
    first, last = entry["data_offsets"]
    stored, shape = memory[first:last], tuple(entry["shape"])
    if entry["dtype"] in WIDENED:
        return WIDENED[entry["dtype"]](stored).reshape(shape)
    if entry["dtype"] not in DTYPES:
        raise LoadError(str(label), f"has dtype {entry['dtype']}, which NumPy lacks", name)
    array = np.ndarray(shape, np.dtype(DTYPES[entry["dtype"]]).newbyteorder("<"), stored)
    # Not a `memmap`, of which NumPy makes results of the same class; it stays alive as the base.
    if mmap:
        return array
    return np.array(array, array.dtype.newbyteorder("="))


def _from_bfloat16(stored: Any) -> Any:
    """Return float32 numbers of their upper halves."""
    return (stored.view("<u2").astype(np.uint32) << 16).view(np.float32)


def _from_float8_e5m2(stored: Any) -> Any:
    """Return float32 numbers of the upper halves of float16."""
    return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)


def _from_float8_e4m3(stored: Any) -> Any:
    """Return float32 numbers of four bits of exponent and three of mantissa, without infinities."""
    exponent, mantissa = (stored >> 3) & 15, (stored & 7).astype(np.float32)
    normal = np.ldexp(8 + mantissa, exponent.astype(np.int32) - 10)
    size = np.where(exponent == 0, np.ldexp(mantissa, -9), normal)
    size = np.where(stored & 127 == 127, np.float32("nan"), size)
    return np.where(stored & 128, -size, size).astype(np.float32)


# Dtypes of the format that NumPy lacks, with what makes float32 of their bytes.
WIDENED: dict[str, Callable[[Any], Any]] = {
    "BF16": _from_bfloat16,
    "F8_E5M2": _from_float8_e5m2,
    "F8_E4M3": _from_float8_e4m3,
}


def _complex_names(path: Any, metadata: dict[str, str], limit: int) -> list[str]:
    """Return the names of complex arrays that are stored as pairs of real ones."""
    if PAIRS not in metadata:
        return []
    names = parse_json(path, metadata[PAIRS], limit)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LoadError(str(path), f"its metadata '{PAIRS}' is no list of names")
    return names


def _join_pairs(path: Any, name: str, pairs: Any) -> Any:
    if pairs is None or pairs.dtype != np.float64 or pairs.shape[-1:] != (2,):
        raise LoadError(str(path), "is said to hold complex numbers, but is missing or no array of pairs", name)
    return np.ascontiguousarray(pairs).view(np.complex128).reshape(pairs.shape[:-1])


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
