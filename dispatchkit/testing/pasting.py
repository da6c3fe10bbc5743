"""Programs to paste: Python text that makes arrays, calls an operation, and shows what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor

MOST = 60  # elements that a program spells out


def code_of(value: Any, write: Callable[[Any], str] | None = None) -> str:
    """Return an expression that gives a value, in a program that imports `numpy` as np and `dispatchkit` as dk.

    Parameters
    ----------
    value : any
    write : gives the name of an instance of an array type in it; by default its text is taken
    """
    if write is not None and type(value) is not Tensor and tensor_protocol.types.participates(type(value)):
        return write(value)
    if type(value) is Tensor:
        flag = ""
        if value.requires_grad and value.is_leaf:
            flag = ", requires_grad=True"
        return f"dk.tensor({_elements(np.asarray(value.detach().numpy()))}{flag})"
    if isinstance(value, np.ndarray):
        return _elements(value)
    if isinstance(value, np.generic):
        return f"np.{value.dtype}({value.item()!r})"
    if isinstance(value, np.dtype):
        return repr(str(value))
    if type(value) in (list, tuple):
        inner = ", ".join(code_of(member, write) for member in value)
        if isinstance(value, list):
            return f"[{inner}]"
        comma = ""
        if len(value) == 1:
            comma = ","
        return f"({inner}{comma})"
    if type(value) is dict:
        return "{" + ", ".join(f"{code_of(key)}: {code_of(member, write)}" for key, member in value.items()) + "}"
    return repr(value)


def _elements(array: Any) -> str:
    if not array.size:
        return f"np.zeros({array.shape}, dtype={str(array.dtype)!r})"
    if array.size > MOST:
        return f"np.array({array.tolist()!r}, dtype={str(array.dtype)!r})"
    order = ""
    if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous:
        order = ", order='F'"
    return f"np.array({array.tolist()!r}, dtype={str(array.dtype)!r}{order})"


class TextOf:
    """Prints as a text, in the place of an array."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def call_code(
    operation: Overridable,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    names: Mapping[int, str],
    on_dense: bool = False,
) -> str:
    """Return a call as it is written in a program.

    Parameters
    ----------
    operation, args, kwargs : the call
    names : of the values of the program, by identity
    on_dense : whether it is made on dense forms
    """

    def text(_: str, value: Any) -> Any:
        name = names.get(id(value))
        suffix = ""
        if on_dense and type(value) is not Tensor:
            suffix = ".to_dense()"
        if name is None:
            return value
        return TextOf(f"{name}{suffix}")

    args, kwargs = operation.parameters.replace(args, kwargs, text)
    arguments = [*map(code_of, args), *(f"{key}={code_of(value)}" for key, value in kwargs.items())]
    return f"dk.{operation.qualified_name.removeprefix('dispatchkit.')}({', '.join(arguments)})"


class Writer:
    """Collects the lines that make instances of array types, and what they import."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.imports: dict[str, None] = {}
        self.count = 0

    def write(self, value: Any) -> str:
        """Write the lines that make an instance, and return its name."""
        self.count += 1
        name = f"x{self.count}"
        cls = type(value)
        if cls is Tensor:
            constructed: str | None = code_of(value)
        else:
            self._import(cls)
            constructed = self._constructor_call(value)
        if constructed is not None:
            self.lines.append(f"{name} = {constructed}")
            return name
        self.lines.append(f"{name} = object.__new__({cls.__name__})")
        self.lines += [f"{name}.{key} = {code_of(part, self.write)}" for key, part in vars(value).items()]
        return name

    def _import(self, cls: type) -> None:
        if "<locals>" in cls.__qualname__ or cls.__module__ == "__main__":
            self.imports[f"# {cls.__qualname__} is defined inside {cls.__module__}; put its definition here"] = None
        else:
            self.imports[f"from {cls.__module__} import {cls.__qualname__.partition('.')[0]}"] = None

    def _constructor_call(self, value: Any) -> str | None:
        """Return a call of the constructor that makes an equal instance; None where its fields are none for it."""
        cls = type(value)
        if issubclass(cls, Tensor):
            return f"{cls.__name__}({_elements(np.asarray(value.detach().numpy()))})"
        fields = tensor_protocol.types.fields_of(value)
        arguments = {name: getattr(value, name) for name in fields}
        try:
            equal = cls(**arguments)
        except Exception:  # noqa: BLE001  # its constructor takes something else
            return None
        if fields != tensor_protocol.types.fields_of(equal) or vars(equal).keys() != vars(value).keys():
            return None
        return f"{cls.__name__}({', '.join(f'{name}={code_of(part, self.write)}' for name, part in arguments.items())})"

    def text(self, lines: list[str]) -> str:
        """Return the program that makes the instances, and goes on with other lines."""
        body = "\n".join([*self.lines, *lines])
        imports = []
        if "np." in body:
            imports = ["import numpy as np"]
        if "inf" in body or "nan" in body:
            imports += ["from numpy import inf, nan"]
        imports.append("import dispatchkit as dk")
        if "check_type(" in body:
            imports += ["from dispatchkit.testing import check_type"]
        return "\n".join([*imports, *self.imports, "", body])
