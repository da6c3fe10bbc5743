"""What reports are printed with: tables as text, Markdown, HTML and JSON, pages in one file, and their colours."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, TypeAlias

from dispatchkit.report.outcomes import OUTCOMES, Colours
from dispatchkit.resources import read_text

# By each name that an outcome has in records, audits and coverage.
COLOURS: dict[str, Colours] = {
    name: one.colours for one in OUTCOMES for name in (one.how, one.share, *one.buckets) if name
}
LIGHT = "--paper: #ffffff; --ink: #1f2328; --faint: #57606a; --line: #d0d7de; --bad: #cf222e;"
DARK = "--paper: #0d1117; --ink: #f0f6fc; --faint: #b1bac4; --line: #3d444d; --bad: #f85149;"
LEAST = 16  # columns that are left to a text however narrow the terminal is
MONOSPACED = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'


def css_class(name: str) -> str:
    """Return the CSS class of an outcome; ``--c`` is its fill there, ``--e`` its edge.

    >>> css_class("own method")
    'b-own-method'
    """
    return "b-" + (name or "plain").replace(" ", "-")


def breakable(name: str) -> str:
    """Return the name of a type for a page, which may go on below itself before each word in it.

    >>> breakable("ScalarTensor")
    'Scalar<wbr>Tensor'
    """
    return re.sub(r"(?<=[a-z0-9.])(?=[A-Z])", "<wbr>", escape(name))


def style(scope: str, rules: str, names: Iterable[str] = COLOURS) -> str:
    """Return the style of a picture or page, for light and dark readers.

    Parameters
    ----------
    scope : the selector inside of which it holds, such as ``".dk-audit"``
    rules : what comes after the colours; ``&`` stands for the scope
    names : of the outcomes whose colours are needed
    """
    listed = [(css_class(name), COLOURS[name]) for name in dict.fromkeys(names)]
    light = "\n".join(f"{scope} .{css} {{ --c: {two.fill}; --e: {two.edge} }}" for css, two in listed)
    dark = "\n".join(f"{scope} .{css} {{ --c: {two.dark_fill}; --e: {two.dark_edge} }}" for css, two in listed)
    return (
        f"{scope} {{ {LIGHT} font-family: {MONOSPACED} }}\n{light}\n"
        f"@media (prefers-color-scheme: dark) {{\n{scope} {{ {DARK} }}\n{dark}\n}}\n\n{rules.replace('&', scope)}"
    )


def save_as(use: str, path: str | Path, makers: Mapping[str, Callable[[], str]]) -> None:
    """Write a file in the form that its suffix names.

    Raises
    ------
    ValueError : for another suffix
    """
    path = Path(path)
    make = makers.get(path.suffix.lower())
    if make is None:
        listed = " or ".join(", ".join(makers).rsplit(", ", 1))
        raise ValueError(f"{use}: cannot save as '{path.name}'; use a name that ends in {listed}")
    path.write_text(make(), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Title:
    """A heading; one of level 1 stands above everything.

    Attributes
    ----------
    text, level : of it
    names : of what it is about
    note : the most important of it, in a sentence
    is_open : whether a page shows what comes below it without a click
    """

    text: str
    level: int = 2
    names: Sequence[str] = ()
    note: str = ""
    is_open: bool = False

    def line(self) -> str:
        """Return it as a line of text."""
        return " ".join([self.text, *([", ".join(self.names)] if self.names else [])])


@dataclass(frozen=True, slots=True)
class Names:
    """Names that need no more words, after what leads to them."""

    names: Sequence[str]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under heads.

    Attributes
    ----------
    heads : of the columns
    rows : their texts; a text that is the name of an outcome has its colour
    right : columns that hold numbers, by place
    code : columns that hold code, by place
    code_heads : heads that are code, by place
    indent : of the table as text
    outcomes : of the texts that stand for an outcome, such as its letter, the outcome's name
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int] = ()
    code: Sequence[int] = (0,)
    code_heads: Sequence[int] = ()
    indent: int = 2
    outcomes: Mapping[str, str] = field(default_factory=dict)

    def lines(self, width: int | None = None) -> Iterator[str]:
        """Yield the table as lines of text.

        Parameters
        ----------
        width : columns that there are; the last one goes on below itself, and where the others leave it no room, each
            row is written cell by cell. None for as many as it takes
        """
        table = list(self.rows)
        if any(self.heads):
            table.insert(0, self.heads)
        columns = list(zip(*table, strict=True))
        widths = [max(map(len, texts)) for texts in columns]
        start = self.indent + sum(size + 2 for size in widths[:-1])
        if width is not None and start + min(widths[-1], LEAST) > width:
            numbered, names = self._with_numbers()
            if names:
                yield from wrap_last(" " * self.indent, " ".join(names), width)
                yield from numbered.lines(width)
            else:
                yield from self._cell_by_cell(width)
            return
        for row in table:
            cells = []
            for place, (text, size) in enumerate(zip(row, widths, strict=True)):
                if place in self.right:
                    cells.append(text.rjust(size))
                else:
                    cells.append(text.ljust(size))
            line = (" " * self.indent + "  ".join(cells)).rstrip()
            if width is None or len(line) <= width:
                yield line
            else:
                yield from wrap_last(line[:start], row[-1], width)

    def _with_numbers(self) -> tuple[Table, list[str]]:
        """Return the table with numbers for the heads that are wider than their columns, and what these mean."""
        heads, names = list(self.heads), list[str]()
        for place, head in enumerate(self.heads[1:], 1):
            number = str(place)
            below = max((len(row[place]) for row in self.rows), default=0)
            if max(below, len(number)) < len(head):
                heads[place] = number
                names.append(f"{number}={head}")
        return replace(self, heads=heads), names

    def _cell_by_cell(self, width: int) -> Iterator[str]:
        """Yield for each row its first cell, and below it the others with their heads."""
        for row in self.rows:
            yield from wrap_last(" " * self.indent, row[0], width)
            for head, text in zip(self.heads[1:], row[1:], strict=True):
                if text:
                    lead = f"{head}: " if head else ""
                    yield from wrap_last(" " * (self.indent + 4), lead + text, width)

    def markdown(self) -> Iterator[str]:
        """Yield the table as lines of Markdown."""
        yield self._markdown_row(self.heads, self.code_heads)
        yield "| " + " | ".join("---:" if place in self.right else "---" for place in range(len(self.heads))) + " |"
        for row in self.rows:
            yield self._markdown_row(row, self.code)

    def _markdown_row(self, texts: Sequence[str], code: Sequence[int]) -> str:
        cells = [(markdown_code if place in code else markdown_text)(text) for place, text in enumerate(texts)]
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    def texts(self) -> Iterator[str]:
        """Yield the texts that may have the colour of an outcome."""
        for row in self.rows:
            yield from row

    def html(self) -> str:
        """Return the table as HTML."""
        heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in self.heads)
        body = "".join(f"<tr>{''.join(map(self._cell, range(len(row)), row))}</tr>" for row in self.rows)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"

    def _cell(self, place: int, text: str) -> str:
        outcome = self.outcomes.get(text, text)
        css = [name for name, on in (("n", place in self.right), ("o " + css_class(outcome), outcome in COLOURS)) if on]
        if text and place in self.code:
            shown = f"<code>{escape(text)}</code>"
        else:
            shown = escape(text)
        if css:
            return f'<td class="{" ".join(css)}">{shown}</td>'
        return f"<td>{shown}</td>"


def numbered_table(texts: Iterable[str]) -> Table:
    """Return texts of several lines as a table with a number before each."""
    rows = [
        ("" if place else f"{number}.", line)
        for number, text in enumerate(texts, 1)
        for place, line in enumerate(text.splitlines())
    ]
    return Table(("", ""), rows, code=())


Part: TypeAlias = Title | Names | Table | str


@dataclass(frozen=True)
class Document:
    """A report, part by part."""

    parts: Sequence[Part]

    def text(self, width: int | None = None) -> str:
        """Return it as plain text.

        Parameters
        ----------
        width : columns that lines may take, but for single words that are longer; None for as many as they take
        """
        lines: list[str] = []
        for place, part in enumerate(self.parts):
            before = None
            if place:
                before = self.parts[place - 1]
            if place and not (isinstance(before, Title) and before.level > 1):
                lines.append("")
            if isinstance(part, Title):
                more = ""
                if part.note:
                    more = f": {part.note}"
                if part.level == 1:
                    lines += wrap_last("", f"{part.line()}{more}", width)
                else:
                    lines += wrap_last("  ", f"{part.line()}:", width)
            elif isinstance(part, Names):
                if part.lead:
                    lines += wrap_last("", f"{part.lead} {', '.join(part.names)}.", width)
                else:
                    lines += wrapped_names(part.names, width)
            elif isinstance(part, str):
                lines += wrap_last("", part, width)
            else:
                lines += part.lines(width)
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return it as Markdown."""
        blocks: list[str] = []
        for part in self.parts:
            if isinstance(part, Title):
                title = replace(part, text=markdown_text(part.text), names=[*map(markdown_code, part.names)]).line()
                note = markdown_text(part.note)
                blocks.append(f"{'#' * part.level} {title[:1].upper()}{title[1:]}")
                if note:
                    blocks += [f"{note[:1].upper()}{note[1:]}."]
            elif isinstance(part, Names):
                names = ", ".join(map(markdown_code, part.names))
                if part.lead:
                    names = f"{markdown_text(part.lead)} {names}."
                blocks.append(names)
            elif isinstance(part, str):
                blocks.append(markdown_text(part))
            else:
                blocks.append("\n".join(part.markdown()))
        return "\n\n".join(blocks) + "\n"

    def html(self, *, unfolded: bool = False) -> str:
        """Return it as a piece of HTML with its own style; what comes under a title of level 2 may be folded."""
        pieces: list[str] = []
        opened = False
        for part in self.parts:
            if isinstance(part, Title):
                if opened:
                    pieces.append("</details>")
                opened = part.level > 1
                text, note = escape(part.line()), ""
                if part.note:
                    note = f"<p>{escape(part.note)}</p>"
                start = "<details>"
                if unfolded or part.is_open:
                    start = "<details open>"
                if opened:
                    pieces.append(f"{start}<summary>{text}</summary>{note}")
                else:
                    pieces.append(f"<h2>{text}</h2>{note}")
            elif isinstance(part, Names):
                names = " ".join(f"<code>{escape(name)}</code>" for name in part.names)
                pieces.append(f"<p>{escape(part.lead)} {names}</p>")
            elif isinstance(part, str):
                pieces.append(f"<p>{escape(part)}</p>")
            else:
                pieces.append(part.html())
        if opened:
            pieces.append("</details>")
        used = {text for part in self.parts if isinstance(part, Table) for text in part.texts()}
        css = style(
            ".dk-report", read_text("dispatchkit.report", "document.css"), [name for name in COLOURS if name in used]
        )
        return f'<div class="dk-report"><style>{css}</style>{"".join(pieces)}</div>'


class Reported:
    """What prints as its document."""

    def document(self) -> Document:
        """Return it for text, Markdown and pages."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.document().text(terminal_width())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.document().html()

    def to_markdown(self) -> str:
        """Return it as Markdown: the same tables."""
        return self.document().markdown()


def markdown_text(text: str) -> str:
    r"""Return a text as a line of Markdown in which it begins no element of HTML, no entity and no code.

    >>> print(markdown_text("< 1 % of <b>"))
    < 1 % of \<b>
    """
    return re.sub(r"<(?=[\w/!?])|&(?=[\w#]+;)|`", r"\\\g<0>", " ".join(text.splitlines()))


def markdown_code(text: str) -> str:
    """Return a text as code in a line of Markdown, whatever marks it holds; "" stays.

    >>> markdown_code("a"), markdown_code("`a"), markdown_code("")
    ('`a`', '`` `a ``', '')
    """
    text = " ".join(text.splitlines())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = ""
    if text.startswith("`") or text.endswith("`"):
        space = " "
    if text:
        return f"{fence}{space}{text}{space}{fence}"
    return ""


def wrapped_names(names: Iterable[str], width: int | None = None) -> list[str]:
    """Return lines of names."""
    return wrap_last(" " * 4, " ".join(names), min(88, width or 88), hanging=0)


def terminal_width() -> int | None:
    """Return how many columns the terminal has that is written to; None where the output goes elsewhere."""
    try:
        is_terminal = sys.stdout.isatty()
    except (AttributeError, ValueError):  # a program has taken it away, or closed it
        is_terminal = False
    if is_terminal:
        return get_terminal_size().columns
    return None


def wrap_last(start: str, text: str, width: int | None, hanging: int = 2) -> list[str]:
    """Return the lines of a text that goes on below itself, never cut inside a word.

    Parameters
    ----------
    start : what stands before it
    text : of one line or several
    width : columns that a line may take, but for single words that are longer; None for as many as it takes
    hanging : columns by which it goes on further to the right

    >>> wrap_last("1. ", "the rule of sum lacks axis", 20)
    ['1. the rule of sum', '     lacks axis']
    """
    if width is None:
        return [start + text]
    longest = max(map(len, text.split()), default=0)
    below = " " * max(min(len(start) + hanging, width - longest), min(len(start), hanging))
    lines: list[str] = []
    for line in text.split("\n"):
        first = start if not lines else " " * len(start)
        inner = line[: len(line) - len(line.lstrip())]
        lines += wrap(
            line.strip(),
            max(width, len(below) + LEAST),
            initial_indent=first + inner,
            subsequent_indent=below + inner,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]
    return lines


def short_location(location: str) -> str:
    """Return file and line of a handler, below the current directory where it is there."""
    file, _, line = location.rpartition(":")
    path = Path(file)
    if file and path.is_relative_to(Path.cwd()):
        return f"{path.relative_to(Path.cwd())}:{line}"
    return location


def format_time(nanoseconds: float, digits: str = ".1f") -> str:
    """Write a time as people do.

    Parameters
    ----------
    nanoseconds : of the time
    digits : format of the number before the unit

    >>> format_time(950), format_time(12_345), format_time(2_500_000_000)
    ('950 ns', '12.3 µs', '2.5 s')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= 0.9995 * size:
            return f"{nanoseconds / size:{digits}} {unit}"
    return f"{nanoseconds:.0f} ns"


def filled_page(package: str, parts: Mapping[str, str], data: Any, outcomes: Iterable[str]) -> str:
    """Return the page of a package: the head of all, its ``page.html``, and a text for each name in double braces.

    Parameters
    ----------
    package : that holds the template
    parts : texts by name, escaped where they have to be; ``css`` and ``data`` are added
    data : what the page's script reads
    outcomes : names of those whose colours it has
    """
    css = read_text("dispatchkit.report", "page.css") + style("html", "", outcomes)
    # Inside a script element only the start of a tag could end it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    texts = {**parts, "css": css, "data": text}
    page = read_text("dispatchkit.report", "head.html") + read_text(package, "page.html")
    return re.sub(r"{{(\w+)}}", lambda name: texts[name[1]], page)
