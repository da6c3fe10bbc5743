"""The docstrings of operations: what a declaration states, and what its source text says, in numpydoc's form.

The source says what is particular, in short: ``axis : to sum along``. Types and defaults come from the signature,
standard parameters have a standard text here, and the facts of the declaration make the rest::

    @elementwise(passthrough=True, domain=(0.1, 3.0), gives="float", special="NaN for negative numbers")
    def sqrt(xp: Namespace, x: Array, /) -> Array:
        '''Return the square root of each element.'''
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from dispatchkit.protocol.kinds import Kind, kinds

# The dtype of an elementwise result: that of the arguments, floating-point also for integers, booleans, or real also
# for complex numbers.
Gives: TypeAlias = Literal["same", "float", "bool", "real"]


class Facts(NamedTuple):
    """What a declaration states of the numbers that an operation takes and gives.

    Attributes
    ----------
    real : whether it refuses complex numbers with a TypeError
    takes : what numbers its arrays hold
    gives : the dtype of its result, where it is elementwise
    special : special values of the result, and what else there is to say of it
    """

    real: bool = False
    takes: str = "numbers"
    gives: Gives | None = None
    special: str = ""


# What arrays hold, by the elements of samples; numbers by default.
HELD = {"integer": "integers or booleans", "boolean": "booleans"}
# Texts of parameters that mean the same everywhere.
STANDARD = {
    "axis": "to reduce along, one or several; all by default",
    "device": "of the result",
    "dtype": "of the result",
    "eps": "added to the variance",
    "generator": "to draw from, the default one if None",
    "keepdims": "whether the reduced axes stay, with length 1",
    "like": "a tensor, an array, or a type that holds some: the result is of its library and on its device",
    "reduction": '``"mean"`` or ``"sum"`` of all losses, or ``"none"``',
    "requires_grad": "whether the result is a leaf that gradients are collected in",
}
# A text that begins with one of these words follows the parameter's name, or the noun for it.
LEADS = ("of ", "from ", "to ", "that ", "whose ", "along ")
NOUNS = {"dtype": "data type", "padding_idx": "index", "std": "standard deviation"}
FLOATING = "floating-point also for integers"
# What the result is, by the shape and dtype of one argument or of two.
GIVES = {
    "same": ("of the shape and dtype of `x`", "of the broadcast shape and the promoted dtype"),
    "float": (f"of the shape of `x`, {FLOATING}", f"of the broadcast shape, {FLOATING}"),
    "bool": ("of booleans of the shape of `x`", "of booleans of the broadcast shape"),
    "real": ("of the shape of `x`, real also for complex numbers", "of the broadcast shape, real"),
}
# From Python 3.13 on the compiler takes the indentation away; before, a body of a module has four spaces.
DEDENTED = sys.version_info >= (3, 13)
HEADING = re.compile(r"\n\n?([A-Z][A-Za-z ]+)\n---+\n")
ENTRIES = re.compile(r"\n(?! )")
EXAMPLES_IMPORT = ">>> import dispatchkit as dk\n"
# An operation here is the standard's, unless its docstring names another source.
OF_THE_STANDARD = ("dispatchkit", "dispatchkit.fft", "dispatchkit.linalg")


def compose_docstring(
    text: str, types: Mapping[str, str], result: str, kind: Kind, facts: Facts, qualified_name: str
) -> str:
    """Return the docstring of an operation of this library, of the text in its source and the facts.

    Parameters
    ----------
    text : the source's docstring; a section in it may hold only what the facts and the standard texts do not say
    types : the annotation of each parameter with its default, by name
    result : the annotation of what is returned
    kind : the operation's family
    facts : what its declaration states
    qualified_name : the namespace and the name, as in ``"dispatchkit.linalg.inv"``
    """
    head, sections = split_sections(text)
    composed_sections = {
        "Parameters": _parameters(entries(sections.pop("Parameters", "")), types, kind, facts),
        "Returns": _returns(sections.pop("Returns", ""), result, kind, facts, of_two="x1" in types),
        "Raises": _raises(sections.pop("Raises", ""), facts),
    }
    examples = sections.pop("Examples", "")
    if qualified_name.rpartition(".")[0] in OF_THE_STANDARD and "Source:" not in text:
        source = f"Source: array API standard, `{qualified_name.partition('.')[2]}`."
        sections["Notes"] = f"{sections.get('Notes', '').rstrip()}\n{source}"
    if examples and EXAMPLES_IMPORT not in examples + "\n":
        examples = EXAMPLES_IMPORT + examples
    sections["Examples"] = examples
    return join_sections(head, composed_sections | sections)


def split_sections(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the sections of a docstring in a source, and the bodies of these by name."""
    head, *parts = HEADING.split(text if DEDENTED else text.strip().replace("\n    ", "\n"))
    return head, dict(zip(parts[::2], parts[1::2], strict=True))


def join_sections(head: str, sections: dict[str, str]) -> str:
    """Return a docstring made of its sections; empty ones are left out."""
    bodies = [(name, body) for name, body in sections.items() if body]
    return head.rstrip() + "".join(f"\n\n{name}\n{'-' * len(name)}\n{body.strip()}" for name, body in bodies) + "\n"


def entries(section: str) -> dict[str, str]:
    """Return the texts in a section of the source by name; a continuation line is indented."""
    texts: dict[str, str] = {}
    if not section:
        return texts
    for entry in ENTRIES.split(section.strip()):
        names, colon, text = entry.partition(" : ")
        if colon:
            texts.update(dict.fromkeys(names.replace("*", "").split(", "), text))
    return texts


def _parameters(texts: dict[str, str], types: Mapping[str, str], kind: Kind, facts: Facts) -> str:
    groups: list[tuple[list[str], str, str]] = []
    for name, type_ in types.items():
        text = texts.get(name.strip("*")) or _standard(name, kind, facts)
        if groups and groups[-1][1:] == (type_, text):
            groups[-1][0].append(name)
        else:
            groups.append(([name], type_, text))
    return "\n".join(f"{', '.join(names)} : {type_}\n{_sentence(text, names[0])}" for names, type_, text in groups)


def _standard(name: str, kind: Kind, facts: Facts) -> str:
    """Return what is said of a parameter whose text the source leaves out."""
    numbers = "real numbers"
    if not facts.real:
        numbers = facts.takes
    if name == "x":
        if kind.family is kinds.elementwise:
            return f"{numbers}, of any shape"
        if numbers == "numbers":
            return "array of shape (...)"
        return f"array of shape (...), of {numbers}"
    if name in {"x1", "x2"}:
        return f"{numbers} that broadcast together; one may be a Python scalar"
    return STANDARD.get(name, "")


def _returns(text: str, result: str, kind: Kind, facts: Facts, *, of_two: bool) -> str:
    """Return the section on results: what the source says, or what the dtype rule does."""
    if not text and facts.gives is not None:
        text = f"array {GIVES[facts.gives][of_two]}"
        if facts.special:
            text += f"; {facts.special}"
    if not text and kind in (kinds.creation, kinds.random):
        text = "the array"
    if not text:
        return ""
    named = {}
    if result.endswith("Result"):
        named = entries(text)
    if named:
        return "\n".join(f"{name} : Array\n{_sentence(part)}" for name, part in named.items())
    return f"{result}\n{_sentence(text)}"


def _raises(text: str, facts: Facts) -> str:
    errors = ({"TypeError": "for complex numbers"} if facts.real else {}) | entries(text)
    return "\n".join(f"{name}\n{_sentence(part)}" for name, part in errors.items())


@cache
def _sentence(text: str, name: str = "") -> str:
    """Return the lines of a description, indented, with a capital and a full stop."""
    if name and text.startswith(LEADS):
        text = f"{NOUNS.get(name) or name.strip('*').replace('_', ' ')} {text}"
    lines = f"    {text[:1].upper()}{text[1:]}".replace("\n    ", "\n").replace("\n", "\n    ")
    if lines.endswith("."):
        return lines
    return f"{lines}."
