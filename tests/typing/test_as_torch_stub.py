"""What the stub of PyTorch's spelling says of results is what calls give."""

from __future__ import annotations

import ast
import csv
from pathlib import Path
from typing import Any

import pytest

import dispatchkit.as_torch as torch

ROOT = Path(torch.__file__).parent
TENSOR = "Tensor"


def results(module: str = "__init__") -> dict[str, set[str]]:
    """Return what the functions of a module of the stub give, and the methods of `Tensor` by their names with a dot."""
    tree = ast.parse((ROOT / f"{module}.pyi").read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    tensor = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == TENSOR]
    for prefix, nodes in (("", tree.body), (".", [member for cls in tensor for member in cls.body])):
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                found.setdefault(f"{prefix}{node.name}", set()).add(ast.unparse(node.returns))
    return found


X = torch.arange(6.0)
CALLS: dict[str, Any] = {
    "arange": X,
    "deg2rad": torch.deg2rad(X),
    "cat": torch.cat([X, X]),
    "celu": torch.celu(X),
    "softmax": torch.softmax(X, dim=0),
    "allclose": torch.allclose(X, X),
    "numel": torch.numel(X),
    "std_mean": torch.std_mean(X),
    "split": torch.split(X, 3),
    "hsplit": torch.hsplit(X, 2),
    ".fmod": X.fmod(4.0),
    ".chunk": X.chunk(2),
    ".is_complex": X.is_complex(),
    ".clamp_": torch.arange(3.0).clamp_(0.0, 1.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_function_gives_is_what_the_stub_says(name: str) -> None:
    (said,) = results()[name]
    kinds = {TENSOR: torch.Tensor, "builtins.bool": bool, "builtins.int": int, "list[Tensor]": list}
    assert isinstance(CALLS[name], kinds.get(said, tuple))
    assert said in kinds or said.startswith("tuple[Tensor, ")


def test_the_stub_says_of_no_function_with_several_results_that_it_gives_one_tensor() -> None:
    with (ROOT / "calling" / "signatures.csv").open(encoding="utf-8") as lines:
        several = {row["path"] for row in csv.DictReader(lines) if " " in row["results"].strip()}
    assert {"topk", "linalg.svd", "aminmax"} <= several
    for path in several:
        module, _, name = path.rpartition(".")
        said = results(module.replace(".", "/") or "__init__")
        assert TENSOR not in said.get(name, ())
        assert TENSOR not in said.get(f".{name}", ())
