"""`torch.save` and `torch.load`: the library's own files under any name, and PyTorch's own that hold plain tensors."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from dispatchkit import nn, saving
from dispatchkit.as_torch.files.pickles import read_archive
from dispatchkit.as_torch.spelling import spell
from dispatchkit.errors import LoadError

CONVERT = (
    "in PyTorch, save tensors alone: torch.save(model.state_dict(), path), or "
    "safetensors.torch.save_file(model.state_dict(), path)"
)
SAFETENSORS = ".safetensors"


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    **options: Any,
) -> None:
    """Save tensors, and dictionaries, lists and tuples of them, in a file whose name may end in anything.

    Parameters
    ----------
    obj : the value, such as ``model.state_dict()``
    f : path of the file, or a file object
    pickle_module, pickle_protocol : which say nothing here: nothing is pickled
    **options : of `dispatchkit.save`

    Raises
    ------
    TypeError : for a value that cannot be saved, such as a module

    Notes
    -----
    The file is that of `dispatchkit.save`, a ``.npz`` file whatever its name, or a safetensors file where the name ends
    in ``.safetensors``. PyTorch does not read it; `numpy.load` does.

    Examples
    --------
    >>> import io
    >>> import dispatchkit.as_torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if isinstance(obj, nn.Module):
        raise TypeError(
            f"save: obj must be made of tensors, dictionaries, lists, numbers and strings, found the module "
            f"{type(obj).__name__}; save its state: torch.save(model.state_dict(), f)"
        )
    is_file = hasattr(f, "read") and hasattr(f, "write")
    if not is_file and Path(f).suffix.lower() == SAFETENSORS:
        saving.save(obj, f, **options)
    else:
        saving.save(obj, f, **{"format": "npz"} | options)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **options: Any,
) -> Any:
    """Load what `save` wrote, or a file of PyTorch that holds plain tensors.

    Parameters
    ----------
    f : path of the file, whose first bytes say what it is, or a file object
    map_location : where tensors are to be: ``"cpu"``, or None. A dictionary or function is not asked: all are in memory
    pickle_module, weights_only : which say nothing here: no file may choose code that runs
    mmap : whether arrays stay in the file until they are used, for names in ``.npz`` and ``.safetensors``
    **options : of `dispatchkit.load`

    Returns
    -------
    Any
        What was saved, its tensors with PyTorch's methods.

    Raises
    ------
    LoadError : if the file is damaged, or holds what only code could make; the message names it
    RuntimeError : for another device than the CPU

    Notes
    -----
    Of PyTorch's own files those are read that `torch.save` writes since version 1.6. What is pickled in them is taken
    for tensors, parameters, dictionaries, lists, tuples, sets, numbers, strings, sizes, dtypes and devices; any other
    name in it raises, and nothing is imported. bfloat16 becomes float32.

    Examples
    --------
    See `save`.
    """
    _check_location(map_location)
    if hasattr(f, "read"):
        return spell(_load(f, getattr(f, "name", type(f).__name__), options))
    path = Path(f)
    if mmap and path.suffix.lower() in (".npz", SAFETENSORS):
        return spell(saving.load(path, mmap=True, **options))
    with path.open("rb") as file:
        return spell(_load(file, path, options))


def _check_location(location: Any) -> None:
    """Raise for a device that is not here.

    Raises
    ------
    RuntimeError : for another device than the CPU
    """
    if isinstance(location, str) and location.partition(":")[0] not in ("cpu", "meta"):
        raise RuntimeError(
            f"load: map_location must be 'cpu', since torch.cuda.is_available() is False, found {str(location)!r}"
        )


def _load(file: IO[bytes], label: Any, options: dict[str, Any]) -> Any:
    """Return what a file holds, by its first bytes.

    Raises
    ------
    LoadError : for a file that is neither of the library nor one of PyTorch that can be read
    """
    if not (hasattr(file, "write") and hasattr(file, "seek")):
        file = BytesIO(file.read())
    file.seek(0)
    first = file.read(2)
    file.seek(0)
    if first[:1] == b"\x80":
        raise LoadError(
            str(label), f"is a pickle, as torch.save wrote before version 1.6 and pickle.dump does; {CONVERT}"
        )
    if first != b"PK":
        return saving.load(file, **options)
    names = _names_in(file, label)
    pickled = next((name for name in names if name == "data.pkl" or name.endswith("/data.pkl")), None)
    if pickled is None:
        return saving.load(file, **options)
    root = pickled.removesuffix("data.pkl")
    if f"{root}constants.pkl" in names:
        raise LoadError(str(label), f"is a program of TorchScript, which only PyTorch runs; {CONVERT}")
    return read_archive(file, label, root, CONVERT, options.get("limit"))


def _names_in(file: IO[bytes], label: Any) -> Iterable[str]:
    """Return the names of the entries of a ZIP file."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise LoadError(str(label), f"is not a ZIP file that can be read: {error}") from error
    file.seek(0)
    return names
