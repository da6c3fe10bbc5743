"""Files of PyTorch's `torch.save`: their pickle, read by steps that know tensors and containers alone."""

from __future__ import annotations

import pickletools
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from dispatchkit import nn
from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.errors import LoadError

LIMIT = 2**30
# NumPy's dtypes of PyTorch's storages and dtypes; bfloat16 is kept as the upper halves of float32.
DTYPES = {
    "float64": "f8",
    "float32": "f4",
    "float16": "f2",
    "bfloat16": "u2",
    "complex64": "c8",
    "complex128": "c16",
    "int64": "i8",
    "int32": "i4",
    "int16": "i2",
    "int8": "i1",
    "bool": "b1",
    "uint64": "u8",
    "uint32": "u4",
    "uint16": "u2",
    "uint8": "u1",
}
STORAGES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
}
# What PyTorch and Python call the same dtype.
OTHER_NAMES = {"double": "float64", "float": "float32", "long": "int64", "int": "int32", "short": "int16"}


class _Named:
    """A name that stands in a pickle, for which these steps have something of their own.

    Parameters
    ----------
    name : the name
    make : what a call of it gives, None where it is not called
    """

    def __init__(self, name: str, make: Callable[..., Any] | None = None) -> None:
        self.name, self.make = name, make


class _OfDtype(_Named):
    """The name of a class of storages."""


class _Mark:
    """Where the elements of a container begin on the stack."""


class _Archive:
    """One reading of a file.

    Parameters
    ----------
    archive : the ZIP file
    label : how messages name it
    root : folder of its entries
    advice : how to convert a file that cannot be read
    limit : number of bytes that its entries may take
    """

    def __init__(self, archive: zipfile.ZipFile, label: Any, root: str, advice: str, limit: int) -> None:
        self.archive, self.label, self.root, self.advice = archive, label, root, advice
        self.left = limit
        self.storages: dict[str, Any] = {}
        order = "little"
        if f"{root}byteorder" in archive.namelist():
            order = self.entry("byteorder").decode("ascii", "replace")
        self.swapped = order != sys.byteorder
        self.names: dict[str, Any] = {
            "collections.Counter": _Named("Counter", Counter),
            "collections.OrderedDict": _Named("OrderedDict", lambda pairs=(): OrderedDict(pairs)),
            "torch._utils._rebuild_tensor_v2": _Named("tensor", self.tensor),
            "torch._utils._rebuild_parameter": _Named("parameter", self.parameter),
            "torch.Size": _Named("Size", tuple),
            "torch.device": _Named("device", device),
            "torch.serialization._get_layout": _Named("layout", str),
            "_codecs.encode": _Named("bytes", _bytes_of),
            **{f"{place}.set": _Named("set", set) for place in ("builtins", "__builtin__")},
            **{f"{place}.complex": _Named("complex", complex) for place in ("builtins", "__builtin__")},
            **{f"torch.{name}Storage": _OfDtype(dtype) for name, dtype in STORAGES.items()},
            **{f"torch.{name}": getattr(xp, name) for name in DTYPES if hasattr(xp, name)},
            **{f"torch.{name}": getattr(xp, dtype) for name, dtype in OTHER_NAMES.items()},
        }

    def error(self, problem: str, entry: str = "") -> LoadError:
        """Return the error of a problem."""
        return LoadError(str(self.label), problem, entry)

    def entry(self, name: str) -> bytes:
        """Return the bytes of an entry.

        Raises
        ------
        LoadError : if there is none, it is damaged, or more than may be loaded
        """
        try:
            info = self.archive.getinfo(self.root + name)
        except KeyError:
            raise self.error("is missing", name) from None
        self.left -= info.file_size
        if self.left < 0:
            raise self.error("holds more bytes than the limit; see load(limit=...)")
        try:
            with self.archive.open(info) as file:
                data = file.read(info.file_size)
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise self.error(f"cannot be read: {error}", name) from error
        if len(data) != info.file_size:
            raise self.error("is shorter than it says", name)
        return data

    def named(self, module: str, name: str) -> Any:
        """Return what stands for a name of Python's.

        Raises
        ------
        LoadError : for one that is not known
        """
        path = f"{module}.{name}"
        if path not in self.names:
            raise self.error(f"holds {path!r}, which only code could make, and no code of a file is run; {self.advice}")
        return self.names[path]

    def storage(self, identity: Any) -> Any:
        """Return the array that tensors show, for what says which one.

        Raises
        ------
        LoadError : if it does not say, or does not fit the entry
        """
        known = isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage"
        if not known or not isinstance(identity[1], _OfDtype) or not isinstance(identity[2], str):
            raise self.error(f"names a storage by {identity!r}")
        dtype, key, count = identity[1].name, identity[2], identity[4]
        if key not in self.storages:
            kind = np.dtype(DTYPES[dtype])
            data = bytearray(self.entry(f"data/{key}"))
            if type(count) is not int or len(data) < count * kind.itemsize or len(data) % kind.itemsize:
                raise self.error(f"has {len(data)} bytes, found for {count} elements of {dtype}", f"data/{key}")
            array = np.frombuffer(data, kind)
            if self.swapped:
                array.byteswap(inplace=True)
            if dtype == "bfloat16":
                array = (array.astype(np.uint32) << 16).view(np.float32)
            self.storages[key] = dtype, array
        before, array = self.storages[key]
        if before != dtype:
            raise self.error(f"is of {before} and of {dtype}", f"data/{key}")
        return array

    def tensor(self, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, *_: Any) -> Any:
        """Return the tensor that shows elements of a storage.

        Raises
        ------
        LoadError : for elements that the storage does not have
        """
        plain = isinstance(storage, np.ndarray) and isinstance(size, tuple) and isinstance(stride, tuple)
        if not plain or any(type(n) is not int or n < 0 for n in (offset, *size, *stride)) or len(size) != len(stride):
            raise self.error(f"has a tensor of size {size!r}, stride {stride!r} and offset {offset!r}")
        if 0 in size:
            array = np.empty(size, storage.dtype)
        else:
            last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
            if last >= storage.size:
                raise self.error(f"has a tensor of element {last} of a storage of {storage.size}")
            steps = [step * storage.itemsize for step in stride]
            writable = not any(n > 1 and step == 0 for n, step in zip(size, stride, strict=True))
            array = np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=writable)
        y = xp.asarray(array)
        if requires_grad and array.dtype.kind in "fc":
            y.requires_grad_()
        return y

    def parameter(self, data: Any, requires_grad: Any, hooks: Any = None) -> Any:
        """Return the parameter of a tensor."""
        if not hasattr(data, "detach"):
            raise self.error(f"has a parameter of {type(data).__name__}")
        return nn.Parameter(data.detach(), requires_grad=bool(requires_grad))


def _bytes_of(text: str, encoding: str) -> bytes:
    """Return bytes, which old pickles have as text of the characters of their numbers."""
    if encoding != "latin1":
        raise ValueError(f"bytes are given in {encoding!r}")
    return text.encode("latin-1")


class _Steps:
    """The stack machine of a pickle.

    Parameters
    ----------
    of : the reading that it belongs to
    """

    def __init__(self, of: _Archive) -> None:
        self.of = of
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        """Return the value that a pickle stands for.

        Raises
        ------
        LoadError : for a step that is not known, and for a pickle that is damaged
        """
        try:
            for opcode, argument, _ in pickletools.genops(data):
                if opcode.name == "STOP":
                    return self.stack.pop()
                self.take(opcode.name, argument)
        except LoadError:
            raise
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise self.of.error(f"is damaged: {error}", "data.pkl") from error
        raise self.of.error("ends before its value", "data.pkl")

    def take(self, name: str, argument: Any) -> None:
        """Take a step."""
        if name in LITERALS:
            self.stack.append(argument)
        elif name in EMPTY:
            self.stack.append(EMPTY[name]())
        elif name in SAVING:
            self.memo[argument if argument is not None else len(self.memo)] = self.stack[-1]
        elif name in ("BINGET", "GET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name not in SKIPPED:
            step = STEPS.get(name)
            if step is None:
                raise self.of.error(f"takes the step {name}, which plain tensors do not; {self.of.advice}", "data.pkl")
            step(self, argument)

    def elements(self) -> list[Any]:
        """Return what is on the stack behind the last mark, and take both away."""
        place = max(i for i, value in enumerate(self.stack) if type(value) is _Mark)
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values


def _tuple_behind_mark(steps: _Steps, argument: Any) -> None:
    steps.stack.append(tuple(steps.elements()))


def _list_behind_mark(steps: _Steps, argument: Any) -> None:
    steps.stack.append(steps.elements())


def _dict_behind_mark(steps: _Steps, argument: Any) -> None:
    values = steps.elements()
    steps.stack.append(dict(zip(values[::2], values[1::2], strict=True)))


def _tuple_of(count: int) -> Callable[[_Steps, Any], None]:
    """Return the step that joins the last values of the stack."""

    def tuple_of_last(steps: _Steps, argument: Any) -> None:
        values = tuple(steps.stack[-count:])
        del steps.stack[-count:]
        steps.stack.append(values)

    return tuple_of_last


def _append(steps: _Steps, argument: Any) -> None:
    value = steps.stack.pop()
    _holder(steps, list).append(value)


def _appends(steps: _Steps, argument: Any) -> None:
    values = steps.elements()
    _holder(steps, list).extend(values)


def _add_items(steps: _Steps, argument: Any) -> None:
    values = steps.elements()
    _holder(steps, set).update(values)


def _set_item(steps: _Steps, argument: Any) -> None:
    value, key = steps.stack.pop(), steps.stack.pop()
    _holder(steps, dict)[key] = value


def _set_items(steps: _Steps, argument: Any) -> None:
    values = steps.elements()
    _holder(steps, dict).update(zip(values[::2], values[1::2], strict=True))


def _holder(steps: _Steps, kind: type) -> Any:
    """Return the container at the end of the stack."""
    holder = steps.stack[-1]
    if not isinstance(holder, kind):
        raise TypeError(f"elements are put into {type(holder).__name__}")
    return holder


def _global(steps: _Steps, argument: Any) -> None:
    steps.stack.append(steps.of.named(*argument.split(" ", 1)))


def _stacked_global(steps: _Steps, argument: Any) -> None:
    name, module = steps.stack.pop(), steps.stack.pop()
    steps.stack.append(steps.of.named(str(module), str(name)))


def _call(steps: _Steps, argument: Any) -> None:
    arguments, called = steps.stack.pop(), steps.stack.pop()
    if type(called) is not _Named or called.make is None or not isinstance(arguments, tuple):
        raise TypeError(f"{type(called).__name__} is called")
    steps.stack.append(called.make(*arguments))


def _build(steps: _Steps, argument: Any) -> None:
    # State dictionaries have the versions of their modules as an attribute.
    steps.stack.pop()
    if type(steps.stack[-1]) is not OrderedDict:
        raise TypeError(f"{type(steps.stack[-1]).__name__} is given attributes")


def _persistent(steps: _Steps, argument: Any) -> None:
    steps.stack.append(steps.of.storage(steps.stack.pop()))


def _mark(steps: _Steps, argument: Any) -> None:
    steps.stack.append(_Mark())


def _frozen(steps: _Steps, argument: Any) -> None:
    steps.stack.append(frozenset(steps.elements()))


def _pop(steps: _Steps, argument: Any) -> None:
    steps.stack.pop()


LITERALS = frozenset(
    (
        *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    )
)
EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
}
SAVING = frozenset({"BINPUT", "PUT", "LONG_BINPUT", "MEMOIZE"})
SKIPPED = frozenset({"PROTO", "FRAME"})
STEPS: dict[str, Callable[[_Steps, Any], None]] = {
    "MARK": _mark,
    "POP": _pop,
    "TUPLE": _tuple_behind_mark,
    "LIST": _list_behind_mark,
    "DICT": _dict_behind_mark,
    **{f"TUPLE{count}": _tuple_of(count) for count in (1, 2, 3)},
    "APPEND": _append,
    "APPENDS": _appends,
    "ADDITEMS": _add_items,
    "FROZENSET": _frozen,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "GLOBAL": _global,
    "STACK_GLOBAL": _stacked_global,
    "REDUCE": _call,
    "BUILD": _build,
    "BINPERSID": _persistent,
}


def read_archive(file: IO[bytes], label: Any, root: str, advice: str, limit: int | None) -> Any:
    """Return what a file of PyTorch holds.

    Parameters
    ----------
    file : the file
    label : how messages name it
    root : folder of its entries
    advice : how to convert a file that cannot be read
    limit : number of bytes that it may take; by default the size of the file, or 1 GiB where that is more

    Raises
    ------
    LoadError : if it is damaged, larger than the limit, or holds what is not known
    """
    if limit is None:
        file.seek(0, 2)
        limit = max(file.tell(), LIMIT)
        file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            reading = _Archive(archive, label, root, advice, limit)
            return _Steps(reading).run(reading.entry("data.pkl"))
    except zipfile.BadZipFile as error:
        raise LoadError(str(label), f"is not a ZIP file that can be read: {error}") from error
