"""The lines of code of each shipped type beside those of the modules that other libraries have for the same.

Lines without blank ones, comments and docstrings. What both sides share (our structured matrices their base, the other
libraries theirs) has rows of its own.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

__all__ = ["lines"]

OPERATORS = "linear_operator/operators/{}_linear_operator.py"
# What it is, our files in dispatchkit/types, the other library's files; a folder stands for all that is in it.
ROWS = (
    ("scalar and diagonal", "structured/diagonal.py", f"{OPERATORS.format('identity')} {OPERATORS.format('diag')}"),
    ("triangular", "structured/triangular.py", OPERATORS.format("triangular")),
    ("permutation", "structured/permutation.py", OPERATORS.format("permutation")),
    ("block diagonal", "structured/block_diagonal.py", OPERATORS.format("block_diag")),
    (
        "low rank, alone and added to another",
        "structured/low_rank.py",
        f"{OPERATORS.format('low_rank_root')} {OPERATORS.format('low_rank_root_added_diag')}",
    ),
    ("Kronecker", "structured/kronecker.py", OPERATORS.format("kronecker_product")),
    ("Kronecker + scalar", "structured/shifted_kronecker.py", OPERATORS.format("kronecker_product_added_diag")),
    (
        "Toeplitz",
        "structured/toeplitz.py",
        OPERATORS.format("toeplitz") + " linear_operator/utils/toeplitz.py",
    ),
    ("circulant", "structured/circulant.py", ""),
    ("banded", "structured/banded.py", ""),
    ("all structured matrices", "structured", "linear_operator"),
    ("all structured matrices", "structured", "cola"),
    ("units", "units", "pint"),
    ("masks", "masked", "numpy/ma/core.py numpy/ma/extras.py"),
    ("names", "named", "xarray/core/dataarray.py xarray/core/variable.py xarray/namedarray"),
    ("sparse", "sparse sparse_pattern.py", "scipy/sparse"),
    (
        "uncertain",
        "uncertain.py uncertain_parts.py uncertain_sources.py uncertain_sums.py uncertainties_numbers.py",
        "uncertainties",
    ),
    ("lazy", "lazy.py", ""),
    ("eight bits", "quantized.py", ""),
    ("LoRA", "lora.py", ""),
    ("metadata", "metadata.py", ""),
)
HERE = Path(__file__).parents[3] / "dispatchkit" / "types"
OTHERS = ("linalg", "csgraph", "test", "tests", "testsuite")  # folders that hold something else


def code_lines(path: Path) -> int:
    """Return the number of lines with code."""
    text = path.read_text(encoding="utf-8")
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in nothing:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def counted(paths: list[Path]) -> int:
    """Return the lines of files, and of the files in folders.

    Raises
    ------
    FileNotFoundError : if one is not there
    """
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"lines of code: there is no {path}")
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    return sum(code_lines(file) for file in files if not set(file.parts) & set(OTHERS))


def of_peer(names: str) -> str:
    """Return the lines of the files of an installed library; "-" where there are none."""
    if not names:
        return "-"
    library, *_ = names.partition("/")
    spec = find_spec(library.split()[0])
    if spec is None or spec.origin is None:
        return "-"
    root = Path(spec.origin).parents[1]
    return f"{counted([root / name for name in names.split()]):,} ({library})"


def lines() -> Iterator[str]:
    """Yield the table."""
    yield "| what | dispatchkit | other library |"
    yield "| --- | --- | --- |"
    for what, ours, theirs in ROWS:
        yield f"| {what} | {counted([HERE / name for name in ours.split()]):,} | {of_peer(theirs)} |"
