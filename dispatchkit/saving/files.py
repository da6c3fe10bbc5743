"""`save` and `load`: values as named arrays and a JSON structure that joins them, neither of which is trusted."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from dispatchkit import types
from dispatchkit.backends.arrays import as_numpy, numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import make_leaf, wrap_array
from dispatchkit.errors import AutogradError, LoadError, TransformError
from dispatchkit.nn.parameter import Parameter, made_for
from dispatchkit.progress import ProgressBar, counted
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.saving import npz, safetensors
from dispatchkit.tensor import Tensor
from dispatchkit.tree import attributes_held, place
from dispatchkit.wording import class_name

KINDS = "biufc"
DEPTH = 100
LONGEST = 1000


def type_key(cls: type) -> str:
    """Return the name that stands for a class in a file."""
    return f"{cls.__module__}:{cls.__qualname__}"


def is_savable(cls: type) -> bool:
    """Return whether a class says what is saved of its instances, and makes them of it again."""
    defined = {name for base in cls.__mro__ for name in vars(base)}
    return {"__saved__", "__loaded__"} <= defined


class _Encoder:
    """One use of `save`.

    Attributes
    ----------
    arrays : NumPy's, by the names of their entries
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}

    def node(self, value: Any, path: tuple[Any, ...]) -> Any:
        """Return the node of a value that stands at a path of keys."""
        if len(path) > DEPTH:
            raise ValueError(f"save: containers are nested more than {DEPTH} deep at value{place(path[:3])}...")
        cls = type(value)
        if value is None or cls in (bool, int, str) or (cls is float and math.isfinite(value)):
            return value
        if isinstance(value, Tensor):
            return self._tensor(value, path)
        if cls is np.ndarray or isinstance(value, np.generic):
            kind = "scalar"
            if cls is np.ndarray:
                kind = "array"
            return {kind: self._entry(value, path)}
        if cls in (float, complex):
            return {cls.__name__: str(value)}
        if cls in (list, tuple):
            return {cls.__name__: [self.node(part, (*path, index)) for index, part in enumerate(value)]}
        if cls in (dict, OrderedDict, Counter):
            return self._dict(value, path)
        if isinstance(value, np.dtype) and value.kind in KINDS:
            return {"dtype": value.name}
        if is_savable(cls):
            return {"object": type_key(cls), "saved": self.node(value.__saved__(), (*path, "saved"))}
        if not isinstance(value, type) and tensor_protocol.types.participates(cls):
            return {"instance": type_key(cls), "attributes": self._attributes(value, path)}
        raise TypeError(
            f"save: value{place(path)} is a {class_name(cls)}; what can be saved is tensors, NumPy arrays, array "
            f"types, dict, OrderedDict, Counter, list, tuple, numbers, text, None, dtypes and classes that define "
            f"__saved__ and __loaded__"
        )

    def _tensor(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        if value.is_tracer:
            raise TransformError(f"save: value{place(path)} is a tensor inside {value.transformation}; save it outside")
        node: dict[str, Any] = {"tensor": self._entry(as_numpy("save", value.array), path)}
        if value.requires_grad:
            node["requires_grad"] = True
        cls = type(value)
        if cls is Tensor:
            return node
        parameter_of = made_for(cls)
        node["type"] = type_key(parameter_of or cls)
        if parameter_of is not None:
            node["parameter"] = True
        if attributes_held(value):
            node["attributes"] = self._attributes(value, path)
        return node

    def _attributes(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        return {name: self.node(part, (*path, name)) for name, part in attributes_held(value).items()}

    def _dict(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        pairs = []
        for key, part in value.items():
            if not (key is None or type(key) in (bool, int, str)):
                raise TypeError(f"save: value{place(path)} has the key {key!r}; keys must be text, integers or None")
            pairs.append([key, self.node(part, (*path, key))])
        if type(value) is dict:
            return {"dict": pairs}
        if type(value) is Counter:
            return {"counter": pairs}
        metadata = getattr(value, "_metadata", None)
        extra = {}
        if metadata is not None:
            extra = {"_metadata": self.node(metadata, (*path, "_metadata"))}
        return {"ordered": pairs, **extra}

    def _entry(self, array: Any, path: tuple[Any, ...]) -> str:
        """Add an array under a new name, made of the keys that lead to it."""
        if array.dtype.kind not in KINDS:
            raise TypeError(
                f"save: value{place(path)} has dtype {array.dtype}; what can be saved is booleans, integers, real and "
                f"complex numbers"
            )
        plain = ".".join(map(str, path)) or "value"
        name = "".join(c if c.isprintable() else "_" for c in plain[:LONGEST])
        while name in self.arrays or name == "__metadata__":
            name += "_"
        self.arrays[name] = np.asarray(array)
        return name


def decode(path: Any, structure: Any, arrays: dict[str, Any], known: tuple[type, ...]) -> Any:
    """Return the value that a structure describes.

    Parameters
    ----------
    path : of the file, for messages
    structure : of JSON, as `encoding` describes it
    arrays : by name; each is used once
    known : classes that may be made in addition to those in imported modules

    Raises
    ------
    LoadError : if the structure is not as it should be, or names a type that is not known
    """
    decoder = _Decoder(path, dict(arrays), known)
    try:
        value = decoder.value(structure, 0)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, LoadError):
            raise
        raise decoder.error("", f"its structure cannot be read: {error!r}") from error
    if decoder.arrays:
        raise decoder.error(next(iter(decoder.arrays)), "does not belong to the structure of the file")
    return value


class _Decoder:
    """One use of `load`.

    Attributes
    ----------
    arrays : those that are not used yet
    """

    def __init__(self, path: Any, arrays: dict[str, Any], known: tuple[type, ...]) -> None:
        self.path = path
        self.arrays = arrays
        self._known = {type_key(cls): cls for cls in known}
        self._makers: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "tensor": self._tensor,
            "array": lambda node, depth: self._entry(node["array"]),
            "scalar": lambda node, depth: self._entry(node["scalar"])[()],
            "instance": self._instance,
            "object": self._object,
            "list": lambda node, depth: [self.value(part, depth) for part in node["list"]],
            "tuple": lambda node, depth: tuple(self.value(part, depth) for part in node["tuple"]),
            "dict": lambda node, depth: self._pairs(node["dict"], depth),
            "counter": lambda node, depth: Counter(self._pairs(node["counter"], depth)),
            "ordered": self._write_order,
            "float": lambda node, depth: float(node["float"]),
            "complex": lambda node, depth: complex(node["complex"]),
            "dtype": self._dtype,
        }

    def error(self, entry: str, problem: str) -> LoadError:
        """Return an error about an entry, or about the whole file."""
        return LoadError(str(self.path), problem, entry)

    def value(self, node: Any, depth: int) -> Any:
        """Return what a node stands for."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if depth > DEPTH:
            raise self.error("", f"its containers are nested more than {DEPTH} deep")
        maker = None
        if isinstance(node, dict):
            maker = self._makers.get(next(iter(node), ""))
        if maker is None:
            raise self.error("", f"its structure holds {str(node)[:60]}, which stands for nothing")
        return maker(node, depth + 1)

    def _entry(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in self.arrays:
            raise self.error(str(name), "is missing, or named twice by the structure of the file")
        return self.arrays.pop(name)

    def _tensor(self, node: dict[str, Any], depth: int) -> Any:
        name = node["tensor"]
        cls: type = Tensor
        if "type" in node:
            cls = self._type(node["type"], name)
        if not issubclass(cls, Tensor):
            raise self.error(name, f"is a tensor, but {cls.__qualname__} is no subclass of Tensor")
        tensor: Any = wrap_array(cls, self._entry(name))
        requires_grad = node.get("requires_grad") is True
        try:
            if requires_grad:
                tensor._node = make_leaf(tensor.array)
            else:
                tensor._node = None
        except AutogradError as error:
            raise self.error(name, str(error)) from error
        for key, part in self._attributes(node, cls, depth):
            if hasattr(Tensor, key):
                raise self.error(name, f"has the attribute '{key}', which belongs to Tensor")
            object.__setattr__(tensor, key, part)
        if node.get("parameter") is True:
            return Parameter(tensor, requires_grad)
        return tensor

    def _instance(self, node: dict[str, Any], depth: int) -> Any:
        name = node["instance"]
        cls = self._type(name, "")
        if issubclass(cls, (Tensor, np.ndarray)) or not tensor_protocol.types.participates(cls):
            raise self.error("", f"its structure says that {cls.__qualname__} is an array type, which it is not")
        attributes = dict(self._attributes(node, cls, depth))
        instance = object.__new__(cls)
        for key, part in attributes.items():
            object.__setattr__(instance, key, part)
        fields = tensor_protocol.types.declared_value(cls, "fields") or getattr(cls, "__dataclass_fields__", ())
        missing = [field for field in fields if field not in attributes and not hasattr(cls, field)]
        if missing:
            raise self.error("", f"its {cls.__qualname__} lacks the field '{missing[0]}'")
        return instance

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        name = node["object"]
        cls: Any = self._type(name, "")
        if not is_savable(cls):
            raise self.error("", f"its structure says that {cls.__qualname__} defines __loaded__, which it does not")
        saved = self.value(node["saved"], depth)
        try:
            return cls.__loaded__(saved)
        except Exception as error:  # whatever a file makes it raise
            raise self.error("", f"its {cls.__qualname__} cannot be made: {error!r}") from error

    def _attributes(self, node: dict[str, Any], cls: type, depth: int) -> list[tuple[str, Any]]:
        pairs = node.get("attributes", {}).items()
        for key, _ in pairs:
            if not key.isidentifier() or (key.startswith("__") and key.endswith("__")):
                raise self.error("", f"its {cls.__qualname__} has an attribute '{key}', which is not allowed")
        return [(key, self.value(part, depth)) for key, part in pairs]

    def _type(self, key: Any, entry: str) -> type:
        """Return the class of a name: one that was given, that comes with the library, or of an imported module."""
        cls: Any = self._known.get(key)
        if cls is None and isinstance(key, str):
            module, _, qualname = key.partition(":")
            cls = sys.modules.get(module)
            if cls is types and qualname in types.__all__:
                return getattr(types, qualname)  # type: ignore[no-any-return]
            for name in qualname.split("."):
                # Not by getattr, since the functions that a module or class may have for it are code.
                cls = getattr(cls, "__dict__", {}).get(name)
        if isinstance(cls, type) and (tensor_protocol.types.participates(cls) or is_savable(cls)):
            return cls
        raise self.error(
            entry,
            f"holds an instance of {str(key).replace(':', '.')}, which is no array type that is known here; import its "
            f"module first, or give the class: load(..., types=[{str(key).rpartition(':')[2].rpartition('.')[2]}])",
        )

    def _pairs(self, pairs: Any, depth: int) -> dict[Any, Any]:
        members = {key: self.value(part, depth) for key, part in pairs}
        if len(members) != len(pairs):
            raise self.error("", "its structure has a dictionary with a key twice")
        return members

    def _write_order(self, node: dict[str, Any], depth: int) -> Any:
        members: Any = OrderedDict(self._pairs(node["ordered"], depth))
        if "_metadata" in node:
            members._metadata = self.value(node["_metadata"], depth)
        return members

    def _dtype(self, node: dict[str, Any], depth: int) -> Any:
        dtype = None
        if isinstance(node["dtype"], str):
            dtype = np.dtype(node["dtype"])
        if dtype is None or dtype.kind not in KINDS:
            raise self.error("", f"its structure names the dtype {node['dtype']!r}")
        return dtype


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Have a file written in a hidden folder next to its place, and move it there once it is on disk.

    Parameters
    ----------
    path : place of the file; where it is a link, what it leads to is replaced
    write : writes into the file that it is given

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
            with written.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, written)
            written.replace(target)
        if os.name == "posix":
            # The folder's entry is to outlast a loss of power, too.
            place = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(place)
            finally:
                os.close(place)
    except OSError as error:
        if error.errno is None:
            raise
        # Of the place that was asked for, not of the file that was to become it.
        raise OSError(error.errno, error.strerror, str(path)) from error


Format: TypeAlias = Literal["npz", "safetensors"]
FORMATS: dict[str, Any] = {".npz": npz, ".safetensors": safetensors}
LIMIT = 2**30


def save(
    value: Any,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    format: Format | None = None,
    progress: bool | None = None,
) -> None:
    """Save arrays, or a container of arrays, in a file.

    Parameters
    ----------
    value : tensor, NumPy array or number of NumPy's, instance of a `Tensor` subclass or declared array type, or dict,
        OrderedDict, Counter, list or tuple of such, nested at will, with None, booleans, Python numbers, text and NumPy
        dtypes in between
    path : of the file, whose suffix decides the format, ``.npz`` or ``.safetensors``; or a file object, such as a
        `io.BytesIO`, that is written to where it stands
    format : ``"npz"`` or ``"safetensors"``, where the suffix is not to decide; ``"npz"`` by default for a file object
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

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
    encoder = _Encoder()
    structure = encoder.node(value, ())
    size = sum(array.nbytes for array in encoder.arrays.values())
    with ProgressBar("save", size, progress, unit="B") as bar:

        def write(file: IO[bytes]) -> None:
            chosen.write(counted(file, bar), structure, encoder.arrays)

        if isinstance(file, Path):
            write_whole(file, write)
        else:
            write(file)


def load(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    types: Iterable[type] = (),
    limit: int | None = None,
    names: Iterable[str] | None = None,
    dtype: Any = None,
    mmap: bool = False,
    progress: bool | None = None,
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
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

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
    wanted = _floating(dtype)
    asked = None
    if names is not None:
        asked = frozenset(names)
    file = _file(path)
    label: Any = file
    if isinstance(file, Path):
        chosen = _format("load", file, None)
        size = file.stat().st_size
    else:
        chosen = _format("load", file, _format_of(file))
        label, size = getattr(file, "name", type(file).__name__), 0
    if limit is None:
        limit = max(size, LIMIT)
    with ProgressBar("load", progress=progress, unit="B") as bar:
        structure, arrays = chosen.read(file, label, limit, asked, bar, mmap=mmap)
    if asked is not None and (missing := sorted(asked - arrays.keys())):
        raise KeyError(f"load: {label} has no entry '{missing[0]}'")
    if wanted is not None:
        arrays = {name: x.astype(wanted, copy=False) if x.dtype.kind == "f" else x for name, x in arrays.items()}
    if structure is None or asked is not None:
        return {name: tensor_namespace.asarray(array) for name, array in arrays.items()}
    return decode(label, structure, arrays, tuple(types))


def _floating(dtype: Any) -> Any:
    """Return the dtype that floating-point arrays are wanted in, None where any will do.

    Raises
    ------
    ValueError : if it is not floating-point
    """
    if dtype is None:
        return None
    wanted = numpy_dtype(dtype)
    if wanted.kind != "f":
        raise ValueError(f"load: dtype must be floating-point, found {wanted}")
    return wanted


def _file(path: Any) -> Any:
    """Return a path, or a file object as it is."""
    if hasattr(path, "read") and hasattr(path, "write"):
        return path
    return Path(path)


def _format_of(file: IO[bytes]) -> Format:
    """Return the format of a file object by its first bytes: those of a ZIP file, or another."""
    file.seek(0)
    first = file.read(2)
    file.seek(0)
    if first == b"PK":
        return "npz"
    return "safetensors"


def _format(name: str, path: Any, format: str | None) -> Any:
    """Return the module that reads and writes a format: the one of a name, or of the suffix of a path."""
    if format is None:
        suffix = path.suffix.lower()
    else:
        suffix = f".{format}"
    module = FORMATS.get(suffix)
    if module is not None:
        return module
    if format is not None:
        raise ValueError(f"{name}: format must be 'npz' or 'safetensors', found {format!r}")
    raise ValueError(
        f'{name}: the suffix of {path} names no format; end it with {" or ".join(FORMATS)}, or write format="npz"'
    )
