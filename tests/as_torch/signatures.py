"""Writes dispatchkit/as_torch/calling/signatures.csv, what PyTorch's functions take: ``nox -s generated``."""

from __future__ import annotations

import csv
import inspect
import io
import itertools
import re
import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch._jit_internal import boolean_dispatched
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

from dispatchkit.as_torch import spelling

__all__ = ["make_files"]

# A dtype that stands for each kind, as NumPy abbreviates kinds.
KINDS = {"b": torch.bool, "u": torch.uint8, "i": torch.int64, "f": torch.float64, "c": torch.complex128}
# Of which samples are of fewer dtypes than are taken.
OF_ALL_KINDS = frozenset(
    {
        *("allclose", "nn.functional.embedding", "nn.functional.embedding_bag", "nn.functional.max_unpool1d"),
        *("nn.functional.max_unpool2d", "nn.functional.max_unpool3d"),
    }
)
# Of which samples are of other kinds than are refused, or have no elements.
REFUSED = {
    **dict.fromkeys(("matrix_exp", "linalg.matrix_exp", "linalg.vector_norm"), "bui"),
    **dict.fromkeys(("matrix_power", "linalg.matrix_power"), "b"),
    "bernoulli": "",
    "nanmean": "buic",
    "nn.functional.poisson_nll_loss": "",
    **dict.fromkeys(("igamma", "igammac", "special.gammainc", "special.gammaincc"), "buic"),
    "nansum": "c",
    **dict.fromkeys(("clamp", "clip"), "c"),
    **dict.fromkeys(("relu", "nn.functional.relu"), "bc"),
    "addcmul": "b",
    "masked.logaddexp": "bui",
    "linalg.slogdet": "bui",
    "slogdet": "bui",
    "heaviside": "c",
    "nn.functional.hinge_embedding_loss": "",
    **dict.fromkeys(("linspace", "logspace", "randint_like"), ""),
    "searchsorted": "c",
    "bucketize": "c",
}
# Which take more than their schemas say.
WITHOUT_SCHEMAS = frozenset(
    {
        "nonzero",
        "as_tensor",
        "asarray",
        "from_numpy",
        "tensordot",
        "bernoulli",
        "linspace",
        "logspace",
        "normal",
        "transpose",
        "nn.functional.ctc_loss",
    }
)
# Which take `out` beside axes alone.
OUT_WITH_AXES = frozenset({"std", "var"})
# Which take more than one form.
WITHOUT_NAMES = frozenset({"norm", "split", "stft", "istft", "tensordot", "meshgrid", "cdist"})
# Which make tensors of numbers.
CREATION = frozenset(
    {"arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randn", "range", "zeros"}
)
# Of which numbers alone decide what they make.
OF_NUMBERS = frozenset({"arange", "randint", "randperm", "range"})
# Of which sums of integers, or other operands, are floating-point numbers, and decide what others become.
IN_ANOTHER_DTYPE = frozenset(
    {"cumulative_trapezoid", "gradient", "nn.functional.cosine_embedding_loss", "trapezoid", "trapz"}
)
# Functions of Python that pass their arguments on as they are.
PASSED_ON = frozenset({"stft", "istft"})
PLACES = ("linalg", "special", "fft")
# What an error of PyTorch calls the kinds that it wants of arguments, and what schemas call them.
SAID = re.compile(r"argument '\w+' (?:\(position \d+\) )?must be ([\w. ]+), not Nothing")
KINDS_SAID = {
    "Number": "Scalar",
    "float": "float",
    "int": "int",
    "bool": "bool",
    "str": "str",
    "tuple of ints": "int[]",
}
MOST = 12  # samples of an operator that are called
MOST_PROBED = 6  # and of which an argument is replaced by what is of no kind


def make_files() -> dict[str, str]:
    """Return the table by its path."""
    return {"dispatchkit/as_torch/calling/signatures.csv": make_table()}


def make_table() -> str:
    """Return the text of the table."""
    torch.set_default_dtype(torch.float64)
    schemas, found, with_out = schemas_by_path(), kinds_by_path(), paths_with_out()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    results = named_results()
    writer.writerow(("path", "refused", "as_floats", "keeps", "out", "results", "names", "passed_on", "signatures"))
    for path in sorted(spelling.FUNCTIONS):
        refused, as_floats, keeps = found.get(path, ("", False, False))
        refused = REFUSED.get(path, refused)
        if path in OF_ALL_KINDS:
            refused, keeps = "", False
        if path.startswith("fft.") and "shift" not in path and "freq" not in path:
            as_floats = True
        if path in IN_ANOTHER_DTYPE:
            as_floats = False
        flags = ("yes" * as_floats, "yes" * keeps, with_out.get(path, ""))
        names = " ".join(names_of(path)), ", ".join(passed_on(path))
        row = (refused, *flags, results.get(path, ""), *names, " | ".join(schemas.get(path, ())))
        if any(row):
            writer.writerow((path, *row))
    return out.getvalue()


def names_of(path: str) -> list[str]:
    """Return the names of the arguments of a function of Python, in order; of others there are none."""
    function: Any = torch
    for name in path.split("."):
        function = getattr(function, name, None)
    if not isinstance(function, FunctionType) or path in WITHOUT_NAMES:
        return []
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return []
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    while names and names[-1][0] == "_":
        names.pop()
    return names


class Nothing:
    """What no function takes."""


def passed_on(path: str) -> Iterator[str]:
    """Yield the arguments that a function of Python passes on as they are, of the kinds that PyTorch's core names."""
    function: Any = torch
    for name in path.split("."):
        function = getattr(function, name, None)
    if not isinstance(function, FunctionType) or path in WITHOUT_SCHEMAS or path == "norm":
        return  # the order of a norm may be a word
    kinds: dict[str, set[str]] = {}
    for op in [op for op in op_db if op.name == path]:
        for sample in samples_of(op, torch.float64)[:MOST_PROBED]:
            args = (sample.input, *sample.args)
            parameters = inspect.signature(function).parameters.values()
            names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
            given = dict(zip(names, args, strict=False)) | sample.kwargs
            if error_of(function, given):
                continue
            for name in names:
                kinds.setdefault(name, set()).add(kind_wanted(function, given, name))
    for name, wanted in kinds.items():
        if len(wanted) == 1 and "" not in wanted:
            yield f"{wanted.pop()} {name}"


def error_of(function: Any, given: dict[str, Any]) -> str:
    """Return what a function says of arguments that it does not take; nothing where it takes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**given)
        except Exception as error:  # noqa: BLE001  # of any class
            return str(error) or type(error).__name__
    return ""


def kind_wanted(function: Any, given: dict[str, Any], name: str) -> str:
    """Return of which kind an argument must be, as schemas say it; nothing where PyTorch's core does not say it."""
    match = SAID.search(error_of(function, {**given, name: Nothing()}))
    kind = KINDS_SAID.get(match.group(1), "") if match is not None else ""
    if kind == "int[]" and "must be" not in error_of(function, {**given, name: 1}):
        kind = "int[1]"
    if kind and not error_of(function, {**given, name: None}):
        kind += "?"
    return kind


def kinds_by_path() -> dict[str, tuple[str, bool, bool]]:
    """Return of each operator with samples which kinds it refuses, and whether integers become floats or stay so."""
    found: dict[str, tuple[str, bool, bool]] = {}
    for name in sorted({op.name for op in op_db}):
        # Variants that are given a dtype take all.
        ops = [op for op in op_db if op.name == name and op.variant_test_name != "with_dtype"]
        kinds = kinds_of(ops)
        found[name] = kinds
        for alias in ops[0].aliases or ():
            found.setdefault(str(getattr(alias, "name", alias)), kinds)
    return found


def kinds_of(ops: list[Any]) -> tuple[str, bool, bool]:
    """Return which kinds of elements an operator refuses, and whether integers become floats or stay integers.

    Parameters
    ----------
    ops : the variants of the operator
    """
    refused, integers, results = "", {torch.uint8, torch.int64}, set()
    dtypes = set().union(*(op.dtypes for op in ops))
    base = torch.float64
    if base not in dtypes:
        base = torch.int64
    samples = [(op, sample) for op in ops for sample in samples_of(op, base)]
    for kind, dtype in KINDS.items():
        taken = [gives for op, sample in samples if (gives := result_of(op, sample, base, dtype)) is not None]
        if len(taken) * 2 <= len(samples) and dtype not in dtypes:
            refused += kind
        elif dtype in integers and base is torch.float64:
            results |= {(dtype, gives) for gives in taken}
    as_floats = bool(results) and all(gives is torch.float64 for _, gives in results)
    return refused, as_floats, bool(results) and all(dtype is gives for dtype, gives in results)


def samples_of(op: Any, dtype: torch.dtype) -> list[Any]:
    """Return some of the samples of an operator."""
    if dtype not in op.dtypes:
        return []
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(itertools.islice(op.sample_inputs_func(op, "cpu", dtype, False), MOST))
    return [sample for sample in samples if is_filled(sample.input) or len(samples) == 1]


def is_filled(value: Any) -> bool:
    """Return whether an argument is no tensor without elements."""
    return not isinstance(value, torch.Tensor) or value.numel() > 0


def result_of(op: Any, sample: Any, base: torch.dtype, dtype: torch.dtype) -> Any:
    """Return the dtype that the result of a sample has, whose arrays are made of another dtype; None if refused."""

    def of_kind(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype is base:
            return value.detach().clone().to(dtype)
        return value

    args, kwargs = tree_map(of_kind, ((sample.input, *sample.args), sample.kwargs))
    if "dtype" in kwargs:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = op.op(*args, **kwargs)
        except Exception:  # noqa: BLE001  # of any class
            return None
    tensors = [leaf for leaf in tree_leaves(y) if isinstance(leaf, torch.Tensor)]
    if tensors:
        return tensors[0].dtype
    return torch.bool


def named_results() -> dict[str, str]:
    """Return the names of the results of functions that have several."""
    found = {}
    for name, kind in vars(torch.return_types).items():
        if isinstance(kind, type) and not name.startswith("_") and not name.endswith("_out"):
            path = name
            if name.startswith("linalg_"):
                path = f"linalg.{name.removeprefix('linalg_')}"
            found[path] = " ".join(getattr(kind, "__match_args__", ()))
    return found


def paths_with_out() -> dict[str, str]:
    """Return the paths of functions that write their results into tensors that are given as `out`, and into which."""
    found = {path for path in spelling.FUNCTIONS if "out" in names_of(path)}
    called = {op.name: accepts for op in op_db if (accepts := accepts_out(op)) is not None}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        for place in PLACES:
            if name.startswith(f"{place}_"):
                name = f"{place}.{name.removeprefix(f'{place}_')}"
        if space == "aten" and any(argument.is_out for argument in schema.arguments) and has_out(name):
            found.add(name)
    found -= {path for path, accepts in called.items() if not accepts and path not in OUT_WITH_AXES}
    found |= {path for path, accepts in called.items() if accepts} | {"norm", "tensordot"}
    return {path: casting_of(path) for path in found}


def casting_of(path: str) -> str:
    """Return into tensors of which dtypes a function writes its result: its own, any to compute in, or higher ones.

    Parameters
    ----------
    path : of a function that takes `out`
    """
    function: Any = torch
    for name in path.split("."):
        function = getattr(function, name)
    taken: set[tuple[torch.dtype, torch.dtype]] = set()
    if path in ("inner", "searchsorted"):
        return "same"  # which has no samples that show it
    if path in CREATION:
        return "dtype"
    for op in [op for op in op_db if op.name == path]:
        for dtype in (torch.float64, torch.int64):
            for sample in samples_of(op, dtype):
                taken |= set(pairs_taken(function, sample))
    if taken and all(one is other for one, other in taken):
        return "same"
    if (torch.float64, torch.int64) in taken:
        return "dtype"
    return "yes"


def pairs_taken(function: Any, sample: Any) -> Iterator[tuple[torch.dtype, torch.dtype]]:
    """Yield the dtype of the result of a sample beside each dtype that it is written into."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = function(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # noqa: BLE001  # of any class
            return
        if not isinstance(y, torch.Tensor):
            return
        for dtype in (*KINDS.values(), torch.float32, torch.complex64):
            try:
                function(sample.input, *sample.args, **sample.kwargs, out=torch.empty(0, dtype=dtype))
            except Exception:  # noqa: BLE001, S112  # of any class
                continue
            yield y.dtype, dtype


def accepts_out(op: Any) -> bool | None:
    """Return whether an operator takes `out`, by calls with None for it; None where there are no such calls."""
    function: Any = torch
    for name in op.name.split("."):
        function = getattr(function, name, None)
    if function is None or op.name not in spelling.FUNCTIONS:
        return None
    samples = samples_of(op, torch.float64) or samples_of(op, torch.int64)
    said = {is_out_taken(function, (sample.input, *sample.args), sample.kwargs) for sample in samples} - {None}
    return any(said) if said else None


def is_out_taken(function: Any, args: Any, kwargs: Any) -> bool | None:
    """Return whether a call takes None for `out`; None if it is refused without that, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **kwargs)
            function(*args, **kwargs, out=None)
        except TypeError as error:
            return False if "'out'" in str(error) or "out=" in str(error) else None
        except Exception:  # noqa: BLE001  # of any class
            return None
    return True


def has_out(path: str) -> bool:
    """Return whether the function of a path takes `out`: some have a schema with it that is not for users."""
    function: Any = torch
    for name in path.split("."):
        function = getattr(function, name, None)
    if function is None or isinstance(function, FunctionType):
        return False
    return "out" in (function.__doc__ or "").partition("\n\n")[0]


def is_parsed(path: str) -> bool:
    """Return whether PyTorch itself reads the arguments of a function by its schemas."""
    holders: list[Any] = [torch, torch.Tensor] if "." not in path else [torch]
    found = False
    for holder in holders:
        value = holder
        for name in path.split("."):
            value = getattr(value, name, None)
        if value is not None:
            found = True
            if type(value).__name__ not in ("builtin_function_or_method", "method_descriptor", "_OpNamespace"):
                return False
    return found


def schemas_by_path() -> dict[str, list[str]]:
    """Return the arguments of the overloads of each function whose arguments PyTorch reads by them."""
    found: dict[str, list[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        written = any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments)
        text = re.sub(r"\([a-z!> |*-]*\)", "", str(schema).partition("(")[2].rpartition(") ->")[0])
        is_sparse = re.search(r"Tensor(\[\])? \w*indices, Tensor values", text)
        has_arguments = "Tensor" in text or name in OF_NUMBERS
        skip = "Dimname" in text or not has_arguments or is_sparse or written
        if space != "aten" or name.endswith("_") or name.startswith("_") or skip:
            continue
        for place in PLACES:
            if name.startswith(f"{place}_"):
                name = f"{place}.{name.removeprefix(f'{place}_')}"
        if f"nn.functional.{name}" in spelling.FUNCTIONS and is_built_in(name):
            found.setdefault(f"nn.functional.{name}", []).append(text.replace("SymInt", "int"))
        is_read = is_parsed(name) or (name in PASSED_ON and "bool center" in text)
        if name in spelling.FUNCTIONS and name not in WITHOUT_SCHEMAS and is_read and text not in found.get(name, ()):
            found.setdefault(name, []).append(text.replace("SymInt", "int"))
    return {path: [text] for path in sorted(spelling.FUNCTIONS) if (text := annotated(path))} | found


def is_built_in(name: str) -> bool:
    """Return whether a function of networks is one of PyTorch's core, which reads arguments by its schemas."""
    function = getattr(torch.nn.functional, name, None)
    return type(function).__name__ == "builtin_function_or_method"


def annotated(path: str) -> str:
    """Return the arguments of a function of networks that is one of Python, which are tensors by its annotations."""
    function = getattr(torch.nn.functional, path.removeprefix("nn.functional."), None)
    # Of functions that have one or two results, as they are asked, one stands for both.
    if function is not None and function in boolean_dispatched:
        function = boolean_dispatched[function]["if_true"]
    if path in WITHOUT_SCHEMAS or not path.startswith("nn.functional.") or not isinstance(function, FunctionType):
        return ""
    parts = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is not p.POSITIONAL_OR_KEYWORD:
            return ""
        kind = {"Tensor": "Tensor", "Tensor | None": "Tensor?"}.get(annotation_of(p), "Any")
        default = "" if p.default is p.empty else "=None"
        parts.append(f"{kind} {p.name}{default}")
    return ", ".join(parts)


def annotation_of(parameter: inspect.Parameter) -> str:
    """Return the text of an annotation, which may be a class or written as text."""
    kind = parameter.annotation
    if kind is torch.Tensor:
        return "Tensor"
    return re.sub(r"(?:typing\.)?Optional\[(?:torch\.)?Tensor\]|(?:torch\.)?Tensor \| None", "Tensor | None", str(kind))
