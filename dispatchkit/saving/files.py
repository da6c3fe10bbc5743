"""`save` and `load`: which format a file has, and how large its contents may be."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.saving import npz, safetensors
from dispatchkit.saving.atomic import write_whole
from dispatchkit.saving.decoding import decoded
from dispatchkit.saving.encoding import encoded

__all__ = ["load", "save"]

FORMATS: dict[str, Any] = {".npz": npz, ".safetensors": safetensors}
LIMIT = 2**30


def save(value: Any, path: str | os.PathLike[str]) -> None:
    """Save arrays, or a container of arrays, in a file.

    Parameters
    ----------
    value : tensor, NumPy array or number of NumPy's, instance of a `Tensor` subclass or declared array type, or dict,
        OrderedDict, list or tuple of such, nested at will, with None, booleans, Python numbers, text and NumPy dtypes
        in between
    path : of the file; its suffix decides the format, ``.npz`` or ``.safetensors``

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
    path = Path(path)
    chosen = _format("save", path)
    structure, arrays = encoded(value)
    write_whole(path, partial(chosen.write, structure=structure, arrays=arrays))


def load(path: str | os.PathLike[str], *, types: Iterable[type] = (), limit: int | None = None) -> Any:
    """Load what `save` wrote, or the arrays of any ``.npz`` or ``.safetensors`` file.

    Parameters
    ----------
    path : of the file; its suffix decides the format
    types : classes that the file may hold instances of; those that stand in an imported module under the name in the
        file need not be given
    limit : number of bytes that the arrays may take, and the structure that joins them; by default the size of the
        file, or 1 GiB where that is more

    Returns
    -------
    what was saved; for files written by other programs a dictionary of tensors

    Raises
    ------
    LoadError : if the file is truncated, damaged, larger than the limit, of entries that are no plain arrays, or of
        types that are not known; the message names the file and the entry
    OSError : if it cannot be read
    ValueError : for another suffix
    ImportError : for ``.safetensors`` where the package is not installed

    Notes
    -----
    No code runs that the file could choose: nothing is imported or unpickled, and constructors are not called. Shape
    and size of each array are compared with the bytes that are there before memory is taken for it.

    Examples
    --------
    See `save`.
    """
    path = Path(path)
    chosen = _format("load", path)
    bound = max(path.stat().st_size, LIMIT) if limit is None else limit
    structure, arrays = chosen.read(path, bound)
    if structure is None:
        return {name: tensor_namespace.asarray(array) for name, array in arrays.items()}
    return decoded(path, structure, arrays, tuple(types))


def _format(name: str, path: Path) -> Any:
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise ValueError(f"{name}: the suffix of {path} is to say the format, one of {', '.join(FORMATS)}")
    return found
