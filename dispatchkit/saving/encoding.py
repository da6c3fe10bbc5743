"""Values as named arrays and a JSON structure that joins them.

A node of the structure is a number that JSON has, text, a boolean or null, which stand for themselves, or an object
with one of these keys:

- ``"tensor"``, ``"array"``, ``"scalar"``: name of the entry that holds a tensor, NumPy's array, a number of NumPy's;
  a tensor may have ``"requires_grad"``, and those of subclasses ``"type"`` and ``"attributes"``
- ``"instance"``: name of an array type, with ``"attributes"``
- ``"object"``: name of a class that defines ``__saved__`` and ``__loaded__``, with the node ``"saved"``
- ``"list"``, ``"tuple"``: nodes
- ``"dict"``, ``"ordered"``: pairs of key and node; the latter may have ``"_metadata"``, that of a module's state
- ``"float"``, ``"complex"``: numbers that JSON lacks, as text
- ``"dtype"``: name of NumPy's
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import as_numpy
from dispatchkit.errors import TransformError
from dispatchkit.nn.parameter import made_for
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import attributes_of
from dispatchkit.tree import place
from dispatchkit.wording import class_name

__all__ = ["DEPTH", "KINDS", "encoded", "is_savable", "type_key"]

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
        held = made_for(cls)
        node["type"] = type_key(held or cls)
        if held is not None:
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
