"""Writes docs/numpy-functions.md from the table: ``nox -s generated``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# NumPy lists the functions of the modules that are imported.
import numpy.char
import numpy.fft
import numpy.lib.recfunctions
import numpy.polynomial
import numpy.strings  # noqa: F401
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

from dispatchkit.tensor.numpy_arguments import own_names, signature_in_numpy, taken_by
from dispatchkit.tensor.numpy_calls import Answer, answer_of, path_of

__all__ = ["FUNCTIONS", "UFUNCS", "make_files"]

FUNCTIONS = {path_of(function) or "": function for function in get_overridable_numpy_array_functions()}
UFUNCS = {function.__name__: function for function in get_overridable_numpy_ufuncs()}

HEAD = """\
# NumPy's functions

Written by `nox -s generated` from the table that decides their calls.

All functions of NumPy that can be overridden ({functions} functions and {ufuncs} universal functions of NumPy 2.4) on
tensors and array types:

- **An operation** of the same meaning answers, or **several operations** do: rules, gradients and fallbacks apply to
  each.
- **Arrays**: NumPy computes them on arrays: those of tensors, the dense form of types (warned of and counted).
  A tensor that requires a gradient raises there instead of losing it.
- **Declined**: a `TypeError` says why.

**Array-likes** beside a tensor, such as lists, are taken in every place where NumPy takes them, as NumPy takes them;
the tables name these parameters (where they name none, and in universal functions, these are all that hold numbers).
Functions of dispatchkit itself take arrays only.

The tables also name the parameters, or their values, that **lead to arrays**: a call with them gives NumPy's arrays, or
raises for a tensor that requires a gradient. All other parameters, and `out=`, mean what they mean in NumPy. Universal
functions take `dtype=`, and `where=` with `out=`; `reduce`, `accumulate` and `outer` are operations where there are
such; `casting=`, `order=`, `subok=` and `reduceat` lead to arrays.

**`like=`** of the functions that create arrays asks for the type of an array: `np.zeros(2, like=q)` is a quantity in
the unit of `q`, of a subclass of `Tensor` the result has the attributes, too. A declared type is made by its
`array_type(from_dense=...)`; one without refuses `like`.
"""
TITLES = {
    "operation": "An operation",
    "composition": "Several operations",
    "attribute": "An attribute",
    "array": "Arrays",
    "declined": "Declined",
}


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    return {"docs/numpy-functions.md": make_page()}


def make_page() -> str:
    """Return the text of the page."""
    answers = {name: _answer(function) for name, function in (UFUNCS | FUNCTIONS).items()}
    lines = [HEAD.format(functions=len(FUNCTIONS), ufuncs=len(UFUNCS))]
    for how, title in TITLES.items():
        names = sorted(name for name, answer in answers.items() if answer.how == how)
        lines.append(f"## {title}\n")
        if how in ("operation", "composition"):
            rows = [_row(name, answers[name]) for name in names if name in FUNCTIONS]
            lines += ["| function | array-likes | leads to arrays |", "| --- | --- | --- |", *rows, ""]
            universal = [_named(name, answers[name]) for name in names if name not in FUNCTIONS]
            lines.append(f"Universal functions: {', '.join(universal)}.\n")
        elif how == "attribute":
            lines.append(_listed(names) + "\n")
        else:
            reasons = sorted({answers[name].text for name in names})
            lines += [f"- {text}: {_listed([n for n in names if answers[n].text == text])}" for text in reasons]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _answer(function: Callable[..., Any]) -> Answer:
    answer = answer_of(function)
    assert answer is not None
    return answer


def _named(name: str, answer: Answer) -> str:
    """Return a name, with that of the operation where it is another."""
    operation = answer.text.removeprefix("dispatchkit.")
    return f"`{name}`" if answer.how == "composition" or name == operation else f"`{name}` (`{operation}`)"


def _row(name: str, answer: Answer) -> str:
    """Return what the table says of a function: its array parameters, and what leads to arrays."""
    if answer.text == "asarray":
        return f"| {_named(name, answer)} | | |"
    function = FUNCTIONS[name]
    taken = [] if answer.composition is None else [taken_by(answer.composition)]
    names = [{own: own for own in one.parameters.signature.parameters} for one in taken]
    if answer.operation is not None:
        taken.append(taken_by(answer.operation))
        names.append(own_names(function, answer.operation))
    signature = signature_in_numpy(function)
    theirs = [*names[0]] if signature is None else [*signature.parameters]
    known = [(p, own[p], one) for p in theirs for own, one in zip(names, taken, strict=True) if p in own]
    arrays = dict.fromkeys(p for p, own, one in known if own in one.parameters.names)
    further = [p for p in theirs if p not in {"out", "like", "kwargs"}.union(*names)]
    words = {p: [word for name, own, one in known if name == p for word in one.words.get(own, ())] for p in theirs}
    others = [f"`{p}` but {', '.join(f'`{word!r}`' for word in dict.fromkeys(words[p]))}" for p in theirs if words[p]]
    leading = [*(f"`{p}`" for p in further), *others]
    return f"| {_named(name, answer)} | {', '.join(f'`{p}`' for p in arrays)} | {', '.join(leading)} |"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."
