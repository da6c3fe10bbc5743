"""NumPy's archives: a ZIP file of arrays, each with a header that holds dtype and shape; nothing is ever unpickled."""

from __future__ import annotations

import errno
import json
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from dispatchkit.errors import LoadError
from dispatchkit.progress import ProgressBar, counted
from dispatchkit.wording import format_bytes

# Bytes of memory for a character of text, and for what begins or goes on with each of these, when all is built.
TEXT = 4
NODES = {"{": 400, "[": 150, ",": 64}
# What a structure may take under any limit.
SMALL = 2**20


def parse_json(path: Any, text: str | bytes, limit: int) -> Any:
    """Return what JSON in a file says.

    Raises
    ------
    LoadError : if it is none, or would take more bytes of memory than `limit`
    """
    if isinstance(text, bytes):
        counted = text
    else:
        counted = text.encode()
    size = TEXT * len(counted) + sum(each * counted.count(mark.encode()) for mark, each in NODES.items())
    if size > max(limit, SMALL):
        raise LoadError(
            str(path),
            f"has a structure that may take {format_bytes(size)} of memory, more than the limit of "
            f"{format_bytes(limit)}; see load(limit=...)",
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(str(path), f"its structure is not JSON that can be read: {error}") from error


def check_limit(path: Any, size: int, limit: int) -> None:
    """Raise `LoadError` where a file holds more bytes than may be loaded."""
    if size > limit:
        raise LoadError(
            str(path), f"holds {format_bytes(size)}, more than the limit of {format_bytes(limit)}; see load(limit=...)"
        )


STRUCTURE = "dispatchkit.json"
SUFFIX = ".npy"
# What reads the headers of plain arrays, by version of the format.
READERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
LONGEST = 2_000
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def write(target: IO[bytes], structure: Any, arrays: dict[str, Any]) -> None:
    """Write arrays by name, and their structure, into a file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(name + SUFFIX, "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        archive.writestr(STRUCTURE, json.dumps(structure, allow_nan=False))


def read(
    source: Path | IO[bytes], label: Any, limit: int, names: frozenset[str] | None, bar: ProgressBar, *, mmap: bool
) -> tuple[Any, dict[str, Any]]:
    """Return structure, None where there is none, and arrays of a file.

    Parameters
    ----------
    source : the file
    label : how messages name it
    limit : number of bytes that its contents may take
    names : of the arrays that are wanted, all if None
    bar : counts the bytes of the arrays
    mmap : whether arrays that are not compressed are read from the file when they are used; of a file object none is

    Raises
    ------
    LoadError : if something in the file is not as it should be, or its contents take more bytes than `limit`
    OSError : if it cannot be read
    """
    try:
        with zipfile.ZipFile(source) as archive:
            mapped = None
            if mmap and isinstance(source, Path):
                mapped = source
            return _contents(mapped, label, archive, limit, names, bar)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error) as error:
        if isinstance(error, LoadError):
            raise
        raise LoadError(str(label), f"is truncated or no .npz file: {error}") from error
    except OSError as error:
        # An entry that is said to begin before the file.
        if error.errno != errno.EINVAL:
            raise
        raise LoadError(str(label), f"is damaged, or no .npz file: {error}") from error


def _contents(
    mapped: Path | None,
    label: Any,
    archive: zipfile.ZipFile,
    limit: int,
    names: frozenset[str] | None,
    bar: ProgressBar,
) -> tuple[Any, dict[str, Any]]:
    infos = archive.infolist()
    wanted = [info for info in infos if names is None or info.filename.removesuffix(SUFFIX) in names]
    bar.total = sum(info.file_size for info in wanted)
    check_limit(label, bar.total, limit)
    _check_entries(label, infos)
    structure = None
    arrays: dict[str, Any] = {}
    for info in wanted:
        if info.filename == STRUCTURE:
            text = archive.read(info)
            if len(text) != info.file_size:
                raise LoadError(str(label), "is truncated", info.filename)
            structure = parse_json(label, text, limit)
            continue
        name = info.filename.removesuffix(SUFFIX)
        if name == info.filename or name in arrays:
            problem = "is no array: its name does not end in .npy"
            if name in arrays:
                problem = "is there twice"
            raise LoadError(str(label), problem, info.filename)
        try:
            with archive.open(info) as entry:
                if mapped is not None and info.compress_type == zipfile.ZIP_STORED:
                    arrays[name] = _map_array(mapped, info, entry)
                else:
                    arrays[name] = _array(counted(entry, bar), info.file_size)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError, ValueError, zlib.error) as error:
            raise LoadError(str(label), f"cannot be read: {error}", info.filename) from error
    return structure, arrays


def _map_array(path: Path, info: zipfile.ZipInfo, entry: IO[bytes]) -> Any:
    """Return an array that is read from the file where it is used; its checksum is not compared.

    Raises
    ------
    ValueError : if header and size do not fit, or the header is not one of a plain array
    """
    shape, in_columns, dtype = _read_header(entry, info.file_size)
    if not math.prod(shape):
        return np.empty(shape, dtype.newbyteorder("="))
    with path.open("rb") as file:
        # The entry's own header has 30 bytes and two fields, whose lengths stand at its end.
        file.seek(info.header_offset + 26)
        lengths = file.read(4)
    fields = int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    start = info.header_offset + 30 + fields + entry.tell()
    order: Any = "C"
    if in_columns:
        order = "F"
    # Not a `memmap`, of which NumPy makes results of the same class; it stays alive as the base.
    return np.asarray(np.memmap(path, dtype, "c", start, shape, order))


def _check_entries(path: Any, infos: list[zipfile.ZipInfo]) -> None:
    for info in infos:
        if info.flag_bits & 1 or info.compress_type not in COMPRESSIONS:
            raise LoadError(str(path), "is encrypted, or compressed in a way that is not NumPy's", info.filename)
        if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
            raise LoadError(str(path), "has two sizes that differ, though it is not compressed", info.filename)


def _array(entry: IO[bytes], size: int) -> Any:
    """Return the array of an entry of `size` bytes, none of which is read into memory before all fits together.

    Raises
    ------
    ValueError : if header and size do not fit, or the header is not one of a plain array
    """
    *_, dtype = _read_header(entry, size)
    entry.seek(0)
    array = np.lib.format.read_array(entry, max_header_size=LONGEST)
    entry.read(1)  # at the end of an entry its checksum is compared
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_header(entry: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns are stored one after the other, and dtype of an array that takes the rest of it."""
    try:
        read = READERS.get(np.lib.format.read_magic(entry))
        if read is None:
            raise ValueError("it does not begin as an array does")
        shape, in_columns, dtype = read(entry, max_header_size=LONGEST)
    except (MemoryError, RecursionError, SyntaxError, TypeError, tokenize.TokenError) as error:
        raise ValueError(f"its header cannot be read: {error}") from error
    if dtype.kind not in "biufc" or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"its header is not one of a plain array, {dtype} of {shape}; objects are never loaded")
    nbytes = math.prod(shape) * dtype.itemsize
    if entry.tell() + nbytes != size:
        raise ValueError(f"shape {shape} and {dtype} take {nbytes} bytes, but {size - entry.tell()} are there")
    return shape, in_columns, dtype
