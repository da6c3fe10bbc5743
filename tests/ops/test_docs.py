"""Docstrings of operations: composed of the declaration's facts, the signature and the text in the source."""

from __future__ import annotations

import inspect
import re
from operator import attrgetter

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.docs import DEDENTED, Facts, compose_docstring, split_sections
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from tests.declared import CALLS, OPERATIONS, by_operation

KNOWN = ["Parameters", "Returns", "Raises", "Notes", "Examples"]
SQRT = """\
Return the square root of each element.

Parameters
----------
x : Array
    Numbers, of any shape.

Returns
-------
Array
    Array of the shape of `x`, floating-point also for integers; NaN for negative numbers.

Notes
-----
``dy/dx = 0.5 / y``, infinite at 0.
Source: array API standard, `sqrt`.

Examples
--------
>>> import dispatchkit as dk
>>> dk.sqrt(dk.asarray([1.0, 4.0]))
tensor([1., 2.])
"""


def sections_of(text: str) -> dict[str, str]:
    _, *parts = re.split(r"\n\n([A-Z]\w+)\n-+\n", text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_help_states_what_the_declaration_does() -> None:
    assert dk.sqrt.__doc__ == SQRT


def test_only_what_the_standard_has_is_said_to_be_of_it() -> None:
    strict = pytest.importorskip("array_api_strict")
    for name, entry in OPERATIONS.items():
        if f"Source: array API standard, `{name.partition('.')[2]}`." in (entry.function.__doc__ or ""):
            attrgetter(name.partition(".")[2])(strict)


def test_help_of_a_method_names_the_array_that_it_belongs_to() -> None:
    head, sections = split_sections(dk.Tensor.sum.__doc__ or "")
    assert head == "Sum the elements.\n\n`x` is this array, of shape (...)."
    assert sections["Parameters"].startswith("axis : Axis, default None\n")
    head, sections = split_sections(dk.Tensor.cross.__doc__ or "")
    assert head.endswith("\n\n`x1` is this array.")
    assert sections["Parameters"].startswith("x2 : Array\n")
    head, sections = split_sections(dk.Tensor.T.__doc__ or "")
    assert head.endswith("\n\n`x` is this array, of shape (m, n), (n,) or ().")
    assert list(sections) == ["Returns", "Raises", "Notes", "Examples"]


def test_help_of_a_method_that_changes_its_tensor_states_what_it_takes() -> None:
    head, sections = split_sections(dk.Tensor.clip_.__doc__ or "")
    assert head == "Write the result of `clip` into the tensor."
    assert list(sections) == ["Parameters", "Returns", "Raises"]
    assert sections["Parameters"].startswith("min, max : Array | float | None, default None\n")
    assert str(inspect.signature(dk.Tensor.clip_)).startswith("(self, /, min: ")
    assert "other : Array or number\nThe second operand of `add`." in (dk.Tensor.__iadd__.__doc__ or "").replace(
        "    ", ""
    )
    assert "Parameters" not in (dk.Tensor.exp_.__doc__ or "")


def test_what_the_source_says_comes_before_the_standard_text() -> None:
    types = {"x": "Any", "axis": "int, default 0", "keepdims": "bool, default False"}
    text = "Scale.\n\n    Parameters\n    ----------\n    axis : to scale along,\n        one or several\n    "
    text = inspect.cleandoc(text) if DEDENTED else text
    found = sections_of(compose_docstring(text, types, "Any", dk.kinds.reduction, Facts(real=True), "mine.scaled"))
    assert found["Parameters"] == (
        "x : Any\n    Array of shape (...), of real numbers.\n"
        "axis : int, default 0\n    Axis to scale along,\n    one or several.\n"
        "keepdims : bool, default False\n    Whether the reduced axes stay, with length 1."
    )
    assert found["Raises"] == "TypeError\n    For complex numbers.\n"


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_docstring_has_numpydocs_form(name: str) -> None:
    entry = OPERATIONS[name]
    signature = entry.parameters.signature
    sections = sections_of(entry.function.__doc__ or "")
    assert list(sections) == [name for name in KNOWN if name in sections]
    entries = re.findall(r"^(\S.*) : (.+)\n    (\S)(?:.*\n    )*.*\.$", sections.get("Parameters", ""), re.MULTILINE)
    assert [one.strip("*") for names, _, _ in entries for one in names.split(", ")] == list(signature.parameters)
    assert not [type_ for _, type_, _ in entries if type_.startswith(("array ", "arrays ", "whether ", "of ", "to "))]
    assert not [first for _, _, first in entries if first.islower()]
    assert ("Returns" in sections) is (signature.return_annotation != "None")
    assert "\n    " in "\n" + sections.get("Returns", "\n    ")
    assert sections["Examples"].startswith(">>> ")


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@by_operation(("entry", "sample"), [case for case in CALLS if case.values[0].facts.gives])  # type: ignore[union-attr]
def test_an_elementwise_result_has_the_stated_dtype(entry: DeclaredOperation, sample: Sample, dtype: str) -> None:
    args, kwargs = sample.make(np.random.default_rng(1))
    if not any(isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in args):
        return
    args, kwargs = entry.parameters.replace(
        args, kwargs, lambda name, x: x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
    )
    with np.errstate(all="ignore"):
        y = np.asarray(entry.function(*(dk.asarray(x) if isinstance(x, np.ndarray) else x for x in args), **kwargs))
    stated = {"same": dtype, "real": dtype, "float": "float64", "bool": "bool"}
    assert y.dtype == stated[entry.facts.gives or "same"]


# Differentiable ones refuse them in `tests/ops/test_complex_gradients.py`.
REAL = [name for name, entry in OPERATIONS.items() if entry.facts.real and not entry.differentiable]


@pytest.mark.parametrize("name", REAL)
def test_an_operation_on_real_numbers_refuses_complex_ones(name: str) -> None:
    with pytest.raises(TypeError, match="complex"):
        OPERATIONS[name].function(dk.asarray([1 + 1j]))
