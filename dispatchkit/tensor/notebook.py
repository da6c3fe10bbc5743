"""How arrays look in a notebook: tables of elements, and pictures of matrices that have a structure."""

from __future__ import annotations

from reprlib import Repr
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.registration.decorators import shown_fields
from dispatchkit.tensor.pictures import picture_of
from dispatchkit.tensor.printing import Written, fields_of, formatted, parse_format, shape_of, written
from dispatchkit.wording import escape

ROWS, COLUMNS = 20, 12  # of a table that is not cut
NO_BREAK = 'style="white-space:nowrap"'
BELOW = 'style="opacity:0.7;font-size:90%"'


def repr_of(x: Any) -> str:
    """Return an array as its class with its elements, and what its type adds."""
    with fields_of(x):
        return written(x).constructor(type(x).__name__)


def str_of(x: Any) -> str:
    """Return the elements of an array, and what follows them."""
    with fields_of(x):
        return written(x).text()


def format_of(x: Any, spec: str) -> str:
    """Return an array as `str` does, its numbers, deviations and units as a format says.

    Raises
    ------
    ValueError : if it is none, or is none of such numbers
    """
    if not spec:
        return str(x)
    form = parse_format(spec, type(x))
    with fields_of(x):
        shown = written(x)
        if shown.elements is not None or hasattr(type(x), "__written__"):
            return shown.text(form)
        with formatted(form.of_numbers):
            return str(x)


def html_of(x: Any) -> str:
    """Return an array for a notebook: a table of its elements, or a picture and a text of its structure."""
    shape = shape_of(x)
    if shape is None:
        return _structure(x, repr(x)) + f"<div {BELOW}>{type(x).__name__}</div>"
    large = any(length > limit for length, limit in zip(shape[::-1], (COLUMNS, ROWS), strict=False))
    with fields_of(x):
        shown = written(x)
        if shown.elements is not None and not shape:
            drawn = f"<span>{escape(shown.body())} {' '.join(_units(shown))}</span>"
        elif shown.elements is not None and len(shape) <= 2 and 0 not in shape:
            drawn = _table(shown, large)
        else:
            drawn = picture_of(shown.source, shape) + _structure(shown.source, shown.body())
        return drawn + _caption(x, shown, shape) + "".join([_details(*part) for part in shown.folded])


SHORTENED = Repr()
SHORTENED.maxstring = SHORTENED.maxother = 120


def _structure(x: Any, text: str) -> str:
    """Return a table of the fields of an array; the text of a type that says itself how it prints."""
    names: list[tuple[str, str]] = []
    if x is not None and type(x).__repr__ is tensor_protocol.surface.members["__repr__"].value:
        names = shown_fields(tensor_protocol, x)
    if not names:
        return f"<pre>{escape(text)}</pre>"
    with fields_of(x):
        rows = [f"<tr><th>{escape(label)}</th><td>{_field(getattr(x, name))}</td></tr>" for name, label in names]
    return f'<div style="overflow-x:auto"><table>{"".join(rows)}</table></div>'


def _field(value: Any) -> str:
    """Return a field: an array as itself, anything else as text."""
    method = getattr(type(value), "_repr_html_", None)
    if method is not None and tensor_protocol.types.participates(type(value)):
        return str(method(value))
    return f"<code>{escape(SHORTENED.repr(value))}</code>"


def _caption(x: Any, shown: Written, shape: tuple[int, ...]) -> str:
    parts = [type(x).__name__, "×".join(map(str, shape)), str(x.dtype)]
    if shape:
        parts += [f"in {unit}" for unit in _units(shown)]
    if len(shape) > 2 and shown.headings:
        parts.append(escape(", ".join(map(str, shown.headings))))
    notes = [note for note in shown.tail if note.startswith(("requires_grad", "grad_fn"))]
    return f"<div {BELOW}>{', '.join([part for part in [*parts, *map(escape, notes)] if part])}</div>"


def _units(shown: Written) -> list[str]:
    units = [format(part, "H") for part in shown.after if not isinstance(part, str)]
    return list(filter(None, units))


def _details(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def _table(shown: Written, large: bool) -> str:
    texts = shown.cut_texts() if large else shown.texts()
    lengths = (1, 1, *shown.shape)[-2:]
    cells = texts.reshape((1,) * (2 - texts.ndim) + texts.shape)
    places = [_numbers_along(length, count) for length, count in zip(lengths, cells.shape, strict=True)]
    rows = []
    if shown.headings:
        rows.append(_heading(shown.headings, places[1]))
    for row, place in zip(cells, places[0], strict=True):
        first = ""
        if len(shown.headings) == 2:
            first = f"<th>{place}</th>"
        elif shown.headings:
            first = "<th></th>"
        gap = place == "…"
        rows.append(
            f"<tr>{first}{''.join([_cell(t, gap or p == '…') for t, p in zip(row, places[1], strict=True)])}</tr>"
        )
    return f'<div style="overflow-x:auto"><table>{"".join(rows)}</table></div>'


def _cell(text: str, gap: bool) -> str:
    if gap:
        return "<td>…</td>"
    return f"<td {NO_BREAK}>{escape(text.strip())}</td>"


def _heading(names: tuple[Any, ...], places: list[str]) -> str:
    corner = f"{names[-1]} →"
    if len(names) == 2:
        corner = f"{names[0]} ↓ {names[1]} →"
    return f"<tr><th {NO_BREAK}>{escape(corner)}</th>{''.join([f'<th>{place}</th>' for place in places])}</tr>"


def _numbers_along(length: int, count: int) -> list[str]:
    """Return the numbers of the rows that are shown, with a gap in the place of those that are not."""
    if count == length:
        return list(map(str, range(length)))
    edge = count // 2
    return [*map(str, range(edge)), "…", *map(str, range(length - edge, length))]
