"""Writes docs/differences.md, where array types differ from other libraries, from the lists: ``nox -s generated``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .comparing import SORTS
from .listed import Difference, read
from .pair import Pair
from .pairs import PLACES, load

__all__ = ["make_files"]

HEAD = """\
# Where types differ from the libraries of their fields

Each array type is compared with the library that its users come from: random calls of all functions which that library
answers, by all spellings, dtypes and shapes, are made on both (`nox -s oracles`). This page lists what differs, and
why. A difference that is not listed here is a fault; please report it. `nox -s generated` writes the page.
"""
ESCAPED = r"\|"  # in a table
IN_WORDS = {
    "crash": "fails",
    "shape": "shape",
    "part": "what comes with the values",
    "value": "value",
    "operand": "what happens to an operand",
    "refused by ours alone": "refused here",
    "refused by theirs alone": "refused there",
    "dtype": "dtype",
}


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    return {"docs/differences.md": make_page()}


def make_page() -> str:
    """Return the text of the page."""
    sections = [HEAD]
    for name in PLACES:
        pair = load(name)
        differences = read(name)
        if differences:
            sections.append("\n".join(_section(pair, differences)))
    return "\n".join(sections)


def _section(pair: Pair, differences: Iterable[Difference]) -> Iterator[str]:
    yield f"## `{pair.ours}` and {pair.specialist}"
    yield ""
    yield "| what differs | in | why |"
    yield "| --- | --- | --- |"
    for difference in sorted(differences, key=lambda entry: SORTS.index(entry.sort[0])):
        sorts = ", ".join(IN_WORDS[sort] for sort in difference.sort)
        yield f"| {sorts} | {_calls(difference)} | {difference.reason.replace('|', ESCAPED)} |"
    yield ""


def _calls(difference: Difference) -> str:
    """Return the calls of an entry, the first few where there are many."""
    if difference.calls == ("*",):
        calls = "all calls"
    else:
        shown = [f"`{call.replace('|', ESCAPED)}`" for call in difference.calls[:6]]
        if len(difference.calls) > 6:
            shown.append(f"{len(difference.calls) - 6} more")
        calls = ", ".join(shown)
    if difference.dtypes:
        calls += f" of {', '.join(difference.dtypes)}"
    if difference.when:
        calls += f", where {difference.when}"
    return calls
