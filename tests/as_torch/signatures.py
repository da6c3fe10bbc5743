"""Writes dispatchkit/as_torch/signatures.csv, what PyTorch's functions take, from PyTorch: ``nox -s generated``."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

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
        "arange",
        "transpose",
    }
)
PLACES = ("linalg", "special", "fft")


def make_files() -> dict[str, str]:
    """Return the table by its path."""
    return {"dispatchkit/as_torch/signatures.csv": make_table()}


def make_table() -> str:
    """Return the text of the table."""
    schemas = schemas_by_path()
    refused = {op.name: refused_kinds(op) for op in op_db if not op.variant_test_name}
    as_floats = {op.name for op in op_db if getattr(op, "promotes_int_to_float", False)}
    for op in op_db:
        for alias in op.aliases or ():
            name = str(getattr(alias, "name", alias))
            refused.setdefault(name, refused_kinds(op))
            if op.name in as_floats:
                as_floats.add(name)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    results = named_results()
    writer.writerow(("path", "refused", "as_floats", "results", "signatures"))
    for path in sorted(spelling.FUNCTIONS):
        if path.startswith("fft.") and "shift" not in path and "freq" not in path:
            as_floats.add(path)
        kinds = refused.get(path, "") if path not in OF_ALL_KINDS else ""
        row = (kinds, "yes" * (path in as_floats), results.get(path, ""), " | ".join(schemas.get(path, ())))
        if any(row):
            writer.writerow((path, *row))
    return out.getvalue()


def refused_kinds(op: Any) -> str:
    """Return the kinds of elements that an operator does not take."""
    return "".join(kind for kind, dtype in KINDS.items() if dtype not in op.dtypes)


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
        text = re.sub(r"\([a-z!> |*-]*\)", "", str(schema).partition("(")[2].rpartition(") ->")[0])
        skip = "Dimname" in text or " out" in text or "Tensor" not in text or " Tensor values" in text
        if space != "aten" or name.endswith("_") or name.startswith("_") or skip:
            continue
        for place in PLACES:
            if name.startswith(f"{place}_"):
                name = f"{place}.{name.removeprefix(f'{place}_')}"
        if name in spelling.FUNCTIONS and name not in WITHOUT_SCHEMAS and is_parsed(name):
            found.setdefault(name, []).append(text.replace("SymInt", "int"))
    return found
