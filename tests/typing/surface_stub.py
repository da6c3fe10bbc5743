"""Writes what type checkers see of what the program declares while it runs.

``nox -s generated -- stubs`` writes anew, from the declarations,

- `dispatchkit/tensor/surface.pyi`, the operators, methods and properties of arrays
- `dispatchkit/ops/__init__.pyi`, the names of the operations, and where each is declared
- `dispatchkit/protocol/functions.pyi`, the methods of the library's own protocol as functions
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import defaultdict
from functools import cache
from typing import Any

import dispatchkit as dk
from dispatchkit import ops
from dispatchkit.protocol import engine, functions
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.surface import REFLECTED, Member, Property, method_signature
from dispatchkit.tensor import tensor as inplace

__all__ = ["make_files"]

FUNCTIONS_HEAD = '''\
"""The methods of the library's own protocol as functions, for type checkers and editors.

Written by ``nox -s generated`` from the methods; do not edit.
"""

{imports}
'''
CATALOGUE_HEAD = '''\
"""The catalogue of operations, for type checkers and editors.

Written by ``nox -s generated`` from the declarations; do not edit.
"""

'''
HEAD = '''\
# mypy: disable-error-code="override, overload-overlap"
"""The operators, methods and properties of arrays, for type checkers and editors.

Written by ``nox -s generated`` from the table of the surface; do not edit.
"""

import numpy as np
{imports}

__all__ = ["ArrayMethods", "ParameterMethods", "TensorMethods"]

R = TypeVar("R")
C_co = TypeVar("C_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
# What goes with a tensor and gives one of its class.
Operand: TypeAlias = Tensor | complex | np.ndarray[Any, Any] | np.generic

class Derived(ArrayOf[R_co], Protocol[C_co, R_co]):
    """A tensor of the class `C_co` or a subclass, whose results are of the class `R_co`."""

    def __copy__(self) -> C_co: ...
'''
ARRAY_METHODS = '''
class ArrayMethods:
    """Mixin with every operator, method and property that calls an operation."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
    def __arrow_array__(self, type: Any = None) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...
    def __bool__(self) -> bool: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def __complex__(self) -> complex: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
    def __divmod__(self, other: Any) -> tuple[Any, Any]: ...
    def __rdivmod__(self, other: Any) -> tuple[Any, Any]: ...
    def __round__(self, ndigits: int | None = None) -> Any: ...
    def __trunc__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    @property
    def grad(self) -> Any: ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def requires_grad(self) -> bool: ...
    @requires_grad.setter
    def requires_grad(self, value: bool) -> None: ...
    def requires_grad_(self, requires_grad: bool = True) -> Self: ...
    def detach(self) -> Any: ...
    def item(self) -> Any: ...
    def tolist(self) -> Any: ...
    def to(self, *args: Any, **kwargs: Any) -> Any: ...
    def matvec(self, x: Any) -> Any: ...
    def rmatvec(self, x: Any) -> Any: ...
    def __hash__(self) -> int: ...
'''
TENSOR_METHODS = '''
class TensorMethods(ArrayMethods):
    """The methods that view operations, and the in-place ones, of tensors: results keep the class."""

    @property
    def _result(self) -> Self: ...
    # For `Other`, which tensors are none of.
    def __sizeof__(self, none_of_others: Never) -> int: ...
    def __divmod__(self, other: Any) -> tuple[Self, Self]: ...
    def __rdivmod__(self, other: Any) -> tuple[Self, Self]: ...
    def __round__(self, ndigits: int | None = None) -> Self: ...
'''
PARAMETER_METHODS = '''
class ParameterMethods(TensorMethods):
    """The methods of parameters, whose results are plain tensors."""

    @property
    def _result(self) -> Tensor: ...
    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __round__(self, ndigits: int | None = None) -> Tensor: ...
'''
NAME = re.compile(r"[A-Za-z_]+")
# Editors strike such a call through.
WRONG = '    @deprecated("text, None and classes are no arrays")\n'
DOCSTRING = '"' * 3
# Where the names of the stub's own lines are from.
IMPORTS = {
    **dict.fromkeys(("Any", "Never", "Protocol", "Self", "TypeAlias", "TypeVar", "overload"), "typing"),
    **dict.fromkeys(("ArrayOf", "NoArray", "Unfit"), "dispatchkit.declare.typing"),
    "Tensor": "dispatchkit.tensor.tensor",
    "deprecated": "typing_extensions",
}
INPLACE = sorted(
    name
    for name in vars(dk.Tensor)
    if (name.startswith("__i") and f"__{name[3:]}" in REFLECTED) or (name.endswith("_") and not name.startswith("_"))
)


def make_files() -> dict[str, str]:
    """Return the texts of the stubs by their paths."""
    return {
        "dispatchkit/tensor/surface.pyi": make_surface(),
        "dispatchkit/ops/__init__.pyi": make_catalogue(),
        "dispatchkit/protocol/functions.pyi": make_functions(),
    }


def make_surface() -> str:
    """Return the text of the stub of operators, methods and properties."""
    imports = dict(IMPORTS)
    members = [member for member in tensor_protocol.surface if member.operation is not None]
    for member in members:
        _add_imports(imports, member)
    text = HEAD.format(imports=_import_lines(imports))
    text += ARRAY_METHODS + "".join(_member(member, "Any") for member in members)
    text += TENSOR_METHODS + "".join(_member(member, "Self") for member in members) + "".join(map(_inplace, INPLACE))
    return text + PARAMETER_METHODS + "".join(_member(member, "Tensor") for member in members)


def _import_lines(imports: dict[str, str]) -> str:
    names = defaultdict(list)
    for name, module in sorted(imports.items()):
        names[module].append(name)
    return "\n".join(f"from {module} import {', '.join(found)}" for module, found in sorted(names.items()))


def make_functions() -> str:
    """Return the text of the stub that has methods of the protocol as functions."""
    names = vars(functions)["__all__"]
    tree = ast.parse(inspect.getsource(engine))
    methods = [n for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body if isinstance(n, ast.FunctionDef)]
    body = ""
    imports: dict[str, str] = {}
    for name in names:
        variants = [node for node in methods if node.name == name]
        documented = ast.get_docstring(variants[-1])
        for node in variants if len(variants) == 1 else variants[:-1]:
            arguments = node.args
            del (arguments.posonlyargs or arguments.args)[0]
            node.body = [ast.Expr(ast.Constant(...))]
            text = ast.unparse(node).partition("\n    ...")[0]
            imports |= {n: m for n, m in _sources(engine.__name__).items() if re.search(rf"\b{n}\b", text)}
            body += f"\n{text}{_docstring(documented, '    ')}\n"
            documented = None
    known = {**imports, **{name: engine.__name__ for name in ("F", "T") if re.search(rf"\b{name}\b", body)}}
    return FUNCTIONS_HEAD.format(imports=_import_lines(known)) + body


def _docstring(text: str | None, indent: str) -> str:
    """Return a docstring as the body of a function in a stub; dots where there is none."""
    if not text:
        return " ..."
    lines = [f"{indent}{line}" if line else "" for line in f"{DOCSTRING}{text}\n{DOCSTRING}".splitlines()]
    return "\n" + "\n".join(lines)


def _said(operation: Any) -> str | None:
    """Return what a docstring says first, and its first example."""
    text = inspect.getdoc(operation.function)
    if text is None:
        return None
    examples = text.partition("Examples\n--------\n")[2].partition("\n\n")[0]
    return text.partition("\n\n")[0] + (f"\n\n{examples.rstrip()}" if examples else "")


def make_catalogue() -> str:
    """Return the text of the stub that has the names of the operations."""
    names = vars(ops)["__all__"]
    places = {
        name: module
        for module in sorted(sys.modules)
        if module.startswith("dispatchkit.ops.")
        for name in _bound(module) & {*names}
        if vars(sys.modules[module])[name] is vars(ops)[name]
    }
    lines = sorted(f"from {module} import {name} as {name}\n" for name, module in places.items())
    assert places.keys() == {*names}, {*names} - places.keys()
    return CATALOGUE_HEAD + "".join(lines)


def _bound(module: str) -> set[str]:
    """Return the names that a module binds itself, rather than importing them."""
    bound: set[str] = set()
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return bound


def _member(member: Member, given: str) -> str:
    """Return the lines of a member of a class whose operations give arrays of the type `given`."""
    operation = member.operation
    assert operation is not None
    result, name = _result(operation, given), member.name
    # Editors take the docstring from the base class.
    said = " ..." if name.startswith("__") or given == "Tensor" else _docstring(_said(operation), " " * 8)
    if isinstance(member.value, Property):
        return f"    @property\n    def {name}(self) -> {result}:{said}\n"
    if name in {"__eq__", "__ne__"}:
        return f"    def {name}(self, other: object, /) -> {result}: ...\n"
    if operation.parameters.binary:
        return _binary(name, given, said) if result == given else f"    def {name}(self, other: Any, /) -> Any:{said}\n"
    signature = method_signature(operation)
    text = f"    def {name}{_shown(signature, result)}:{said}\n"
    if member.varargs is None:
        return text
    spread = [
        p.replace(kind=p.VAR_POSITIONAL, annotation="int", default=p.empty)
        if p.name == member.varargs
        else p.replace(kind=p.KEYWORD_ONLY)
        for p in list(signature.parameters.values())[1:]
    ]
    first = next(iter(signature.parameters.values()))
    spread_signature = signature.replace(parameters=[first, *spread])
    return f"    @overload\n{text}    @overload\n    def {name}{_shown(spread_signature, result)}: ...\n"


def _binary(name: str, given: str, said: str) -> str:
    """Return the lines of a method of two arrays, an operator if its name has underscores."""
    takes = [("Operand", given), ("Unfit | None", "NoArray"), ("object", "Any")]
    if given == "Any":
        takes = [("object", "Any")]
    elif name.startswith("__"):
        takes.insert(0, (f"Derived[{given}, R]", "R"))
    lines = [f"    def {name}(self, other: {taken}, /) -> {result}:" for taken, result in takes]
    if len(lines) == 1:
        return f"{lines[0]}{said}\n"
    marks = ["    @overload\n" + (WRONG if result == "NoArray" else "") for _, result in takes]
    documented = [" ..." if number else said for number in range(len(lines))]
    return "".join(f"{mark}{line}{text}\n" for mark, line, text in zip(marks, lines, documented, strict=True))


def _inplace(name: str) -> str:
    plain = f"__{name[3:]}" if name.startswith("__i") else name.removesuffix("_")
    member = tensor_protocol.surface.members.get(plain)
    # `copy_` sets the elements, though `copy` is a method, too.
    if member is None or member.operation is None or hasattr(inplace, name):
        signature = inspect.signature(vars(dk.Tensor)[name])
    elif member.operation.parameters.binary:
        # Python asks for an operator in place first, so that it may give less than the plain one.
        ignored = "  # type: ignore[misc]" if name.startswith("__") else ""
        return f"    def {name}(self, other: Any, /) -> Self: ...{ignored}\n"
    else:
        signature = method_signature(member.operation)
    return f"    def {name}{_shown(signature, 'Self')}: ...\n"


def _result(operation: Any, given: str) -> str:
    written = operation.parameters.signature.return_annotation
    return re.sub(r"\bArray\b", given, written) if isinstance(written, str) else "Any"


def _shown(signature: inspect.Signature, result: str) -> str:
    found, last = [], None
    for p in signature.parameters.values():
        if last is p.POSITIONAL_ONLY and p.kind is not last:
            found.append("/")
        if p.kind is p.KEYWORD_ONLY and last not in {p.KEYWORD_ONLY, p.VAR_POSITIONAL}:
            found.append("*")
        last = p.kind
        star = "*" if p.kind is p.VAR_POSITIONAL else ""
        default = "" if p.default is p.empty else f" = {p.default!r}"
        note = "" if p.name == "self" else f": {_annotation(p.annotation)}"
        found.append(f"{star}{p.name}{note}{default}")
    if last is inspect.Parameter.POSITIONAL_ONLY:
        found.append("/")
    return f"({', '.join(found)}) -> {result}"


def _annotation(written: Any) -> str:
    text = written if isinstance(written, str) else "Any"
    # An argument may be of any array type.
    return re.sub(r"\bArray\b", "Any", text).replace("builtins.", "").replace("Any | float | None", "Any")


def _add_imports(imports: dict[str, str], member: Member) -> None:
    operation = member.operation
    assert operation is not None
    signature = operation.parameters.signature
    for written in (*(p.annotation for p in signature.parameters.values()), signature.return_annotation):
        for name in NAME.findall(_annotation(written)):
            found = _sources(operation.source.__module__).get(name)
            if found is not None and name not in imports:
                imports[name] = found


@cache
def _sources(module: str) -> dict[str, str]:
    """Return where a module has its names from."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node.module or "" for alias in node.names}
    for statement in tree.body:  # what a function annotates is its own
        if isinstance(statement, ast.ClassDef):
            found[statement.name] = module
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = module
    return found
