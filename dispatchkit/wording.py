"""Names and sizes as messages have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
# Types whose conversion to an array is no advice.
INCONVERTIBLE = frozenset({"NoneType", "bytes", "dict", "frozenset", "set", "str"})


def class_name(cls: type) -> str:
    """Return a class as messages name it: with its library, since several libraries have a `Tensor`.

    >>> class_name(int), class_name(range)
    ('int', 'range')
    """
    library, local = cls.__module__.partition(".")[0], "<locals>" in cls.__qualname__
    if library == "jaxlib":
        return "jax.Array"
    if local or library in ("builtins", "__main__"):
        return cls.__name__
    return f"{library}.{cls.__name__}"


def format_bytes(nbytes: int) -> str:
    """Return a number of bytes with a unit.

    >>> format_bytes(2048), format_bytes(3_500_000)
    ('2.0 kB', '3.5 MB')
    """
    size = float(nbytes)
    for unit in ("B", "kB", "MB", "GB"):
        if round(size, 1) < 1000:
            if unit == "B":
                return f"{size:.0f} {unit}"
            return f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def escape(text: str) -> str:
    """Return a text for a page of HTML; `html.escape` comes with two thousand names of characters.

    >>> escape("<int>")
    '&lt;int&gt;'
    """
    return text.translate(MARKUP)


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Return which of some words was probably meant by another one, in a list; an empty one where none is near.

    What compares them loads with the first message that needs it.

    >>> nearest("axes", ["axis", "keepdims"]), nearest("where", ["axis", "keepdims"])
    (['axis'], [])
    """
    close: list[str] = import_module("difflib").get_close_matches(word, words, 1, cutoff)
    return close


def section(title: str, lines: Sequence[str]) -> list[str]:
    """Return the lines of a section under its title; none where it is empty."""
    if lines:
        return [title, *(f"  {line}" for line in lines)]
    return []


def plural(noun: str, count: int) -> str:
    """Return a noun as it follows a number.

    >>> f"{plural('call', 1)}, {plural('call', 2)}"
    'call, calls'
    """
    if count == 1:
        return noun
    return f"{noun}s"


def with_article(name: str) -> str:
    """Return the name of a type as a sentence about a value has it.

    >>> with_article("int"), with_article("str"), with_article("NoneType")
    ('an int', 'a str', 'None')
    """
    article = "a"
    if name[:1] in set("aeiou"):
        article = "an"
    if name == "NoneType":
        return "None"
    return f"{article} {name}"
