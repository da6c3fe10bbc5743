"""Values as named arrays and a JSON structure that joins them, and back, neither of which is trusted."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit import types
from dispatchkit.backends.arrays import as_numpy
from dispatchkit.declare.wrapping import make_leaf, wrapped
from dispatchkit.errors import AutogradError, LoadError, TransformError
from dispatchkit.nn.parameter import Parameter, made_for
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import attributes_of
from dispatchkit.tree import place
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


def encoded(value: Any) -> tuple[Any, dict[str, Any]]:
    """Return the structure of a value, and its arrays by name.

    Raises
    ------
    TypeError : if the value holds something that cannot be saved
    ValueError : if containers are nested too deeply, such as one that holds itself
    """
    encoder = _Encoder()
    return encoder.node(value, ()), encoder.arrays


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
            kind = "array" if cls is np.ndarray else "scalar"
            return {kind: self._entry(value, path)}
        if cls in (float, complex):
            return {cls.__name__: str(value)}
        if cls in (list, tuple):
            return {cls.__name__: [self.node(part, (*path, index)) for index, part in enumerate(value)]}
        if cls in (dict, OrderedDict):
            return self._dict(value, path)
        if isinstance(value, np.dtype) and value.kind in KINDS:
            return {"dtype": value.name}
        if is_savable(cls):
            return {"object": type_key(cls), "saved": self.node(value.__saved__(), (*path, "saved"))}
        if not isinstance(value, type) and tensor_protocol.types.participates(cls):
            return {"instance": type_key(cls), "attributes": self._attributes(value, path)}
        raise TypeError(
            f"save: value{place(path)} is a {class_name(cls)}; what can be saved is tensors, NumPy arrays, array "
            f"types, dict, OrderedDict, list, tuple, numbers, text, None, dtypes and classes that define __saved__ and "
            f"__loaded__"
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
        if attributes_of(value):
            node["attributes"] = self._attributes(value, path)
        return node

    def _attributes(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        return {name: self.node(part, (*path, name)) for name, part in attributes_of(value).items()}

    def _dict(self, value: Any, path: tuple[Any, ...]) -> dict[str, Any]:
        pairs = []
        for key, part in value.items():
            if not (key is None or type(key) in (bool, int, str)):
                raise TypeError(f"save: value{place(path)} has the key {key!r}; keys must be text, integers or None")
            pairs.append([key, self.node(part, (*path, key))])
        if type(value) is dict:
            return {"dict": pairs}
        metadata = getattr(value, "_metadata", None)
        extra = {} if metadata is None else {"_metadata": self.node(metadata, (*path, "_metadata"))}
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


def decoded(path: Any, structure: Any, arrays: dict[str, Any], given: tuple[type, ...]) -> Any:
    """Return the value that a structure describes.

    Parameters
    ----------
    path : of the file, for messages
    structure : of JSON, as `encoding` describes it
    arrays : by name; each is used once
    given : classes that may be made in addition to those in imported modules

    Raises
    ------
    LoadError : if the structure is not as it should be, or names a type that is not known
    """
    decoder = _Decoder(path, dict(arrays), given)
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

    def __init__(self, path: Any, arrays: dict[str, Any], given: tuple[type, ...]) -> None:
        self.path = path
        self.arrays = arrays
        self._known = {type_key(cls): cls for cls in given}
        self._makers: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "tensor": self._tensor,
            "array": lambda node, depth: self._entry(node["array"]),
            "scalar": lambda node, depth: self._entry(node["scalar"])[()],
            "instance": self._instance,
            "object": self._object,
            "list": lambda node, depth: [self.value(part, depth) for part in node["list"]],
            "tuple": lambda node, depth: tuple(self.value(part, depth) for part in node["tuple"]),
            "dict": lambda node, depth: self._pairs(node["dict"], depth),
            "ordered": self._ordered,
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
        maker = self._makers.get(next(iter(node), "")) if isinstance(node, dict) else None
        if maker is None:
            raise self.error("", f"its structure holds {str(node)[:60]}, which stands for nothing")
        return maker(node, depth + 1)

    def _entry(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in self.arrays:
            raise self.error(str(name), "is missing, or named twice by the structure of the file")
        return self.arrays.pop(name)

    def _tensor(self, node: dict[str, Any], depth: int) -> Any:
        name = node["tensor"]
        cls = self._type(node["type"], name) if "type" in node else Tensor
        if not issubclass(cls, Tensor):
            raise self.error(name, f"is a tensor, but {cls.__qualname__} is no subclass of Tensor")
        tensor: Any = wrapped(cls, self._entry(name))
        requires_grad = node.get("requires_grad") is True
        try:
            tensor._node = make_leaf(tensor.array) if requires_grad else None
        except AutogradError as error:
            raise self.error(name, str(error)) from error
        for key, part in self._attributes(node, cls, depth):
            if hasattr(Tensor, key):
                raise self.error(name, f"has the attribute '{key}', which belongs to Tensor")
            object.__setattr__(tensor, key, part)
        return Parameter(tensor, requires_grad) if node.get("parameter") is True else tensor

    def _instance(self, node: dict[str, Any], depth: int) -> Any:
        name = node["instance"]
        cls = self._type(name, "")
        if issubclass(cls, (Tensor, np.ndarray)) or not tensor_protocol.types.participates(cls):
            raise self.error("", f"its structure says that {cls.__qualname__} is an array type, which it is not")
        attributes = dict(self._attributes(node, cls, depth))
        instance = object.__new__(cls)
        for key, part in attributes.items():
            object.__setattr__(instance, key, part)
        fields = tensor_protocol.types.declared(cls, "fields") or getattr(cls, "__dataclass_fields__", ())
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

    def _ordered(self, node: dict[str, Any], depth: int) -> Any:
        members: Any = OrderedDict(self._pairs(node["ordered"], depth))
        if "_metadata" in node:
            members._metadata = self.value(node["_metadata"], depth)
        return members

    def _dtype(self, node: dict[str, Any], depth: int) -> Any:
        dtype = np.dtype(node["dtype"]) if isinstance(node["dtype"], str) else None
        if dtype is None or dtype.kind not in KINDS:
            raise self.error("", f"its structure names the dtype {node['dtype']!r}")
        return dtype
