"""`save` and `load`: which format a file has, and how large its contents may be."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.saving import npz, safetensors
from dispatchkit.saving.values import decoded, encoded


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written in a hidden folder next to its place, and move it there once it is on disk.

    Parameters
    ----------
    path : place of the file; where it is a link, what it leads to is replaced
    write : writes the file at the path it is given, where an empty one is

    Raises
    ------
    OSError : if the file cannot be written, naming its place; what was there before is still there then, as after any
        other exception
    """
    try:
        target = path.resolve()
        with tempfile.TemporaryDirectory(
            prefix=".dispatchkit-", dir=target.parent, ignore_cleanup_errors=True
        ) as folder:
            written = Path(folder) / target.name
            written.touch()
            mode = (target if target.exists() else written).stat().st_mode
            write(written)
            _flush(written)
            # What writes may make a file of its own, which others cannot read.
            written.chmod(stat.S_IMODE(mode))
            written.replace(target)
        if os.name == "posix":
            # The folder's entry is to outlast a loss of power, too.
            _flush(target.parent)
    except OSError as error:
        if error.errno is None:
            raise
        # Not the place where it was written meanwhile.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


Format: TypeAlias = Literal["npz", "safetensors"]
FORMATS: dict[str, Any] = {".npz": npz, ".safetensors": safetensors}
LIMIT = 2**30


def save(value: Any, path: str | os.PathLike[str] | IO[bytes], *, format: Format | None = None) -> None:
    """Save arrays, or a container of arrays, in a file.

    Parameters
    ----------
    value : tensor, NumPy array or number of NumPy's, instance of a `Tensor` subclass or declared array type, or dict,
        OrderedDict, list or tuple of such, nested at will, with None, booleans, Python numbers, text and NumPy dtypes
        in between
    path : of the file, whose suffix decides the format, ``.npz`` or ``.safetensors``; or a file object, such as a
        `io.BytesIO`, that is written to where it stands
    format : ``"npz"`` or ``"safetensors"``, where the suffix is not to decide; ``"npz"`` by default for a file object

    Raises
    ------
    TypeError : if the value holds something else, naming its place
    ValueError : for another suffix, or a container that holds itself
    ImportError : for ``.safetensors`` where the package is not installed
    OSError : if the file cannot be written, naming its place

    Notes
    -----
    Tensors are saved without their graph, but whether they require a gradient is kept. Attributes of subclasses and
    array types are saved with the name of the type. The entries of a file have the keys of a dictionary as names, with
    dots in between where it is nested, so that other programs can read them; a further entry holds their structure
    as JSON. The file is written under another name in the same folder and renamed when it is whole.

    Examples
    --------
    >>> import dispatchkit as dk, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "state.npz")
    >>> dk.save({"weight": dk.ones(2), "epoch": 3}, path)
    >>> dk.load(path)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    >>> folder.cleanup()
    """
    file = _file(path)
    chosen = _format("save", file, format or ("npz" if not isinstance(file, Path) else None))
    structure, arrays = encoded(value)
    if isinstance(file, Path):
        write_whole(file, partial(chosen.write, structure=structure, arrays=arrays))
    else:
        chosen.write(file, structure, arrays)


def load(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    types: Iterable[type] = (),
    limit: int | None = None,
    names: Iterable[str] | None = None,
    dtype: Any = None,
    mmap: bool = False,
) -> Any:
    """Load what `save` wrote, or the arrays of any ``.npz`` or ``.safetensors`` file.

    Parameters
    ----------
    path : of the file, whose suffix decides the format; or a file object that can be read from its beginning, whose
        first bytes do
    types : classes that the file may hold instances of; those that stand in an imported module under the name in the
        file need not be given
    limit : number of bytes that the arrays may take, and the structure that joins them; by default the size of the
        file, or 1 GiB where that is more
    names : of the entries to load, such as ``["layers.0.weight"]``; all by default. The others are not read
    dtype : floating-point dtype that floating-point arrays are converted to
    mmap : whether arrays stay in the file until they are used; what is written to them does not reach the file.
        Compressed arrays and those of file objects are read at once, and checksums of the others not compared

    Returns
    -------
    Any
        What was saved. For a file written by another program, and with `names`, a dictionary of tensors.

    Raises
    ------
    LoadError : if the file is truncated, damaged, larger than the limit, of entries that are no plain arrays, or of
        types that are not known; the message names the file and the entry
    OSError : if it cannot be read
    KeyError : for a name that the file does not have
    ValueError : for another suffix, or a `dtype` that is not floating-point
    ImportError : for ``.safetensors`` where the package is not installed

    Notes
    -----
    No code runs that the file could choose: nothing is imported or unpickled, and constructors are not called. Shape
    and size of each array are compared with the bytes that are there before memory is taken for it.

    NumPy has no bfloat16 and no floating-point numbers of 8 bits: such entries of a safetensors file become float32,
    which holds all their values.

    Examples
    --------
    See `save`.
    """
    wanted = None if dtype is None else numpy_dtype(dtype)
    if wanted is not None and wanted.kind != "f":
        raise ValueError(f"load: dtype must be floating-point, found {wanted}")
    file = _file(path)
    chosen = _format("load", file, None if isinstance(file, Path) else _format_of(file))
    label = file if isinstance(file, Path) else getattr(file, "name", type(file).__name__)
    size = file.stat().st_size if isinstance(file, Path) else 0
    asked = None if names is None else frozenset(names)
    structure, arrays = chosen.read(file, label, max(size, LIMIT) if limit is None else limit, asked, mmap=mmap)
    if asked is not None and (missing := sorted(asked - arrays.keys())):
        raise KeyError(f"load: {label} has no entry '{missing[0]}'")
    if wanted is not None:
        arrays = {name: x.astype(wanted, copy=False) if x.dtype.kind == "f" else x for name, x in arrays.items()}
    if structure is None or asked is not None:
        return {name: tensor_namespace.asarray(array) for name, array in arrays.items()}
    return decoded(label, structure, arrays, tuple(types))


def _file(path: Any) -> Any:
    """Return a path, or a file object as it is."""
    return path if hasattr(path, "read") and hasattr(path, "write") else Path(path)


def _format_of(file: IO[bytes]) -> Format:
    """Return the format of a file object by its first bytes: those of a ZIP file, or another."""
    file.seek(0)
    first = file.read(2)
    file.seek(0)
    return "npz" if first == b"PK" else "safetensors"


def _format(name: str, path: Any, format: str | None) -> Any:
    """Return the module that reads and writes a format: the one of a name, or of the suffix of a path."""
    module = FORMATS.get(path.suffix.lower() if format is None else f".{format}")
    if module is not None:
        return module
    if format is not None:
        raise ValueError(f"{name}: format must be 'npz' or 'safetensors', found {format!r}")
    raise ValueError(f"{name}: the suffix of {path} is to say the format, one of {', '.join(FORMATS)}")
