"""Writes what type checkers see of `dispatchkit.as_torch`: ``nox -s generated -- stubs``.

A stub for the package and one for each of its modules, from the signatures that functions and methods show.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import dispatchkit as dk
import dispatchkit.as_torch
from dispatchkit.as_torch import spelling, table
from dispatchkit.as_torch.attributes import dtypes

__all__ = ["make_files"]

ROOT = Path(dk.__file__).parent / "as_torch"
HOME = "dispatchkit.as_torch"
HEAD = '''\
"""{text}

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
'''
FIRST = '\nF = TypeVar("F", bound=Callable[..., Any])\n'
TENSOR = """
class Size(tuple[builtins.int, ...]):
    def numel(self) -> builtins.int: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __add__(self, other: Any) -> Size: ...

class device(str):
    def __new__(cls, type: str, index: builtins.int | None = ...) -> device: ...
    @property
    def type(self) -> str: ...
    @property
    def index(self) -> builtins.int | None: ...

class dtype:
    def __new__(cls, value: Any) -> dtype_: ...
    @property
    def is_floating_point(self) -> builtins.bool: ...
    @property
    def is_complex(self) -> builtins.bool: ...
    @property
    def is_signed(self) -> builtins.bool: ...
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def dtype(self) -> Any: ...
    def to_real(self) -> dtype_: ...
    def to_complex(self) -> dtype_: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...
    def __getattr__(self, name: str) -> Any: ...

dtype_ = dtype

class Tensor(PlainTensor):
    def __init__(self, *data: Any, dtype: Any = ..., device: Any = ..., requires_grad: builtins.bool = ...) -> None: ...
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    @property
    def requires_grad(self) -> builtins.bool: ...
    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    @property
    def shape(self) -> Size: ...
    @property
    def size(self) -> Any: ...
    @property
    def dtype(self) -> dtype_: ...
    @property
    def output_nr(self) -> builtins.int: ...
    @property
    def device(self) -> Any: ...
    @property
    def grad(self) -> Any: ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    def detach(self) -> Tensor: ...
    def clone(self) -> Tensor: ...
    def to(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def float(self) -> Tensor: ...
    def double(self) -> Tensor: ...
    def long(self) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
"""
# Whose names are shown as they are.
PUBLIC = {f"dispatchkit.{path}".rstrip(".") for path in ("", "autograd", "data", "func", "nn", "nn.init", "nn.utils")}
PUBLIC |= {"dispatchkit.optim", "dispatchkit.optim.lr_scheduler", "dispatchkit.optim.swa_utils", "dispatchkit.random"}
INFERENCE_MODE = """
@overload
def inference_mode(mode: F) -> F: ...
@overload
def inference_mode(mode: builtins.bool = ...) -> Block: ...
"""
# What takes `inplace`: whether the result is written into the argument.
ACTIVATIONS = (
    *("celu", "dropout", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "relu6"),
    *("selu", "silu", "threshold"),
)
# What the functions give that do not give one tensor, whatever they are given.
TENSORS, TWO = "tuple[Tensor, ...]", "tuple[Tensor, Tensor]"
OTHER_RESULTS = {
    **dict.fromkeys(("allclose", "equal", "is_complex", "is_floating_point"), "builtins.bool"),
    "numel": "builtins.int",
    **dict.fromkeys(("broadcast_tensors", "chunk", "gradient", "meshgrid", "split", "split_with_sizes"), TENSORS),
    **dict.fromkeys(("split_with_sizes_copy", "tensor_split", "unbind", "unbind_copy"), TENSORS),
    **dict.fromkeys(("unsafe_chunk", "unsafe_split", "unravel_index"), TENSORS),
    **dict.fromkeys(("dsplit", "hsplit", "vsplit"), "list[Tensor]"),
    **dict.fromkeys(("std_mean", "var_mean"), TWO),
    # Tuples with names of their own, and what is a tensor or a tuple as the arguments say.
    **dict.fromkeys(("max", "min", "median", "nanmedian", "where", "nonzero", "unique", "unique_consecutive"), "Any"),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d", "aminmax", "cummax", "cummin", "histogram"), "Any"),
    **dict.fromkeys(("kthvalue", "mode", "sort", "topk", "lu", "lu_unpack", "svd", "triangular_solve"), "Any"),
    **dict.fromkeys(("pca_lowrank", "svd_lowrank", "slogdet", "frexp"), "Any"),
    **dict.fromkeys(("cholesky_ex", "eig", "eigh", "inv_ex", "lstsq", "lu_factor", "lu_factor_ex", "qr"), "Any"),
    **dict.fromkeys(("geqrf", "histogramdd", "native_batch_norm", "native_group_norm", "native_layer_norm"), "Any"),
    **dict.fromkeys(("solve_ex", "ldl_factor", "ldl_factor_ex", "multi_head_attention_forward"), "Any"),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d"), "Any"),
    **dict.fromkeys(("adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d"), "Any"),
}
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
COMPARISONS = ("lt", "le", "gt", "ge")


def make_files() -> dict[str, str]:
    """Return the texts of the stubs by their paths."""
    modules = {name.removeprefix(HOME).strip("."): sys.modules[name] for name in sys.modules if name.startswith(HOME)}
    # Of the modules that have a file there is no stub.
    modules = {path: module for path, module in modules.items() if not path or not hasattr(module, "__file__")}
    files = {_file(path, modules): _text(path, module, modules) for path, module in sorted(modules.items())}
    return {file.relative_to(ROOT.parents[1]).as_posix(): text for file, text in files.items()}


def _file(path: str, modules: dict[str, ModuleType]) -> Path:
    place = ROOT.joinpath(*path.split(".")) if path else ROOT
    holds = any(other.startswith(f"{path}.") or not path for other in modules if other != path)
    return place / "__init__.pyi" if holds else place.with_suffix(".pyi")


def _text(path: str, module: Any, modules: dict[str, ModuleType]) -> str:
    summary = (module.__doc__ or "").partition("\n")[0]
    lines: set[str] = set()
    names = module.__all__
    if path in table.ALIASES:
        shown = sys.modules[f"{HOME}.{table.ALIASES[path]}"]
        names = [name for name in names if getattr(module, name) is not getattr(shown, name, ...)]
        lines.add(f"from {HOME}.{table.ALIASES[path]} import *")
    private = [name for name in vars(module) if name[0] == "_" != name[1] and path and not hasattr(module, "__file__")]
    body = "".join(_member(path, name, getattr(module, name), lines) for name in (*names, *private))
    if not path:
        body = f"{FIRST}{TENSOR}{_methods()}{body}\ndef __getattr__(name: str) -> Any: ...\n"
        lines |= {
            "import builtins",
            "from dispatchkit import Tensor as PlainTensor",
            "from typing import Callable, NoReturn, TypeVar",
        }
        lines.add("from dispatchkit.protocol.blocks import Block")
    elif re.search(r"\bTensor\b", body):
        lines.add(f"from {HOME} import Tensor as Tensor")
    needed = [name for name in ("Any", "overload") if re.search(rf"\b{name}\b", body)]
    if needed:
        lines.add(f"from typing import {', '.join(needed)}")
    if re.search(r"\(Module\b", body) and not re.search(r"^class Module\b", body, re.MULTILINE):
        lines.add(f"from {HOME}.nn import Module as Module")
    lines |= {f"import {place}" for place in re.findall(r"\(?(?:Module, )?(dispatchkit\.[\w.]+)\.\w+\)", body)}
    return HEAD.format(text=summary) + "".join(f"{line}\n" for line in sorted(lines)) + body


def _member(path: str, name: str, value: Any, lines: set[str]) -> str:
    """Return what the stub of a module says of a name in it, or add an import."""
    source, home = getattr(value, "__module__", ""), f"{HOME}.{path}".rstrip(".")
    if isinstance(value, ModuleType) and f"{home}.{name}" in sys.modules:
        lines.add(f"from {home} import {name} as {name}")
    elif f"{path}.{name}".strip(".") in spelling.FUNCTIONS or any(value is one for one in spelling.FUNCTIONS.values()):
        return f"\n{_function(name, value)}"
    elif isinstance(value, type) and path and source == home:
        return _layer(name, value) if issubclass(value, dk.nn.Module) else _derived(name, value)
    elif isinstance(value, (type, FunctionType)) and source in PUBLIC:
        lines.add(f"from {source} import {value.__name__} as {name}")
    elif name == "inference_mode" and path:
        lines.add(f"from {HOME} import {name} as {name}")
    elif name == "inference_mode":
        return INFERENCE_MODE
    elif isinstance(value, FunctionType) and source == spelling.__name__:
        return f"\ndef {name}(*args: Any, **kwargs: Any) -> Any: ...\n"
    elif isinstance(value, dtypes.dtype) and not path:
        return f"\n{name}: dtype\n"
    elif name not in {"Size", "Tensor", "device", "dtype"}:
        return f"\n{name}: Any\n"
    return ""


def _derived(name: str, cls: type) -> str:
    public = (each for each in cls.__mro__[1:] if each is dispatchkit.as_torch.Tensor or each.__module__ in PUBLIC)
    base = next(public, None)
    if base is None:
        return f"\nclass {name}:\n{_constructor(cls)}"
    if base in cls.__mro__[1:2] and cls.__module__ != f"{HOME}.nn":
        return f"\nclass {name}({_named(base)}): ...\n"
    return f"\nclass {name}({_named(base)}):\n{_constructor(cls)}"


def _constructor(cls: Any) -> str:
    """Return the constructor of a class that has more arguments than that of the library."""
    parameters = list(inspect.signature(cls).parameters.values())
    own = getattr(cls, "__signature__", None) is None
    first = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    if own and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return "    def __init__(self, *args: Any, **kwargs: Any) -> None: ...\n"
    return f"    def __init__{_shown([*first, *parameters], method=True)} -> None: ...\n"


def _named(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _layer(name: str, cls: Any) -> str:
    if name == "Module":
        call = "def __call__(self, *args: Any, **kwargs: Any) -> Any: ..."
        return f"\nclass Module({_named(cls.__mro__[1])}):\n    {call}\n"
    base = next(each for each in cls.__mro__ if each.__module__ == "dispatchkit.nn")
    if cls.__bases__ == (spelling.Module, base):
        return f"\nclass {name}(Module, {_named(base)}): ...\n"
    bases = "Module" if base is dk.nn.Module else f"Module, {_named(base)}"
    return f"\nclass {name}({bases}):\n{_constructor(cls)}"


def _methods() -> str:
    text = ""
    for name in sorted(vars(dispatchkit.as_torch.Tensor)):
        value = vars(dispatchkit.as_torch.Tensor)[name]
        known = spelling.FUNCTIONS.get(name)
        if known is not None and inspect.unwrap(value) in (known, getattr(known, "as_method", None)):
            text += _function(name, known, " " * 4)
        elif isinstance(getattr(value, "fget", None), functools.partial):
            text += f"    @property\n    def {name}(self) -> NoReturn: ...  # PyTorch has none\n"
        elif isinstance(value, property) and f"def {name}(" not in TENSOR:
            result = "builtins.bool" if name.startswith("is_") else "Tensor"
            text += f"    @property\n    def {name}(self) -> {result}: ...\n"
            if value.fset is not None:
                text += f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n"
        elif isinstance(value, FunctionType) and not name.startswith("_"):
            result = "Tensor" if name.endswith("_") else "Any"
            text += f"    def {name}(self, *args: Any, **kwargs: Any) -> {result}: ...\n"
    operators = [*(f"__{name}__" for name in OPERATORS), *(f"__r{name}__" for name in OPERATORS)]
    operators += [f"__{name}__" for name in COMPARISONS]
    text += "".join(f"    def {name}(self, other: Any, /) -> Tensor: ...\n" for name in operators)
    return text + "".join(f"    def __{name}__(self, other: object, /) -> Tensor: ...\n" for name in ("eq", "ne"))


def _function(name: str, function: Any, indent: str = "") -> str:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    places = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    result = OTHER_RESULTS.get(name, "Tensor")
    is_activation = function.__module__ == f"{HOME}.nn.functional" and name in ACTIVATIONS
    if is_activation and "inplace" not in signature.parameters:
        parameters.append(inspect.Parameter("inplace", inspect.Parameter.KEYWORD_ONLY, default=False))
    forms = [parameters]
    if places and places[-1].name in table.SPREAD:
        spread = places[-1].replace(kind=inspect.Parameter.VAR_POSITIONAL, default=inspect.Parameter.empty)
        rest = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        forms.append([*places[:-1], spread, *rest])
    lines = [f"{indent}def {name}{_shown(form, bool(indent))} -> {result}: ...\n" for form in forms]
    return "".join(lines) if len(lines) == 1 else "".join(f"{indent}@overload\n{line}" for line in lines)


def _shown(parameters: list[inspect.Parameter], method: bool) -> str:
    shown, last, optional = ["self"] if method else [], None, False
    for p in parameters[1:] if method else parameters:
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        if p.kind is p.KEYWORD_ONLY and last not in {p.KEYWORD_ONLY, p.VAR_POSITIONAL}:
            shown.append("*")
        last = p.kind
        optional = (optional or p.default is not p.empty) and p.kind is p.POSITIONAL_OR_KEYWORD
        shown.append(f"{star}{p.name}: Any{' = ...' if optional or p.default is not p.empty else ''}")
    return f"({', '.join(shown)})"
