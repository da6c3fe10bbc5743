"""How arrays look in a notebook: tables of elements, and pictures of matrices that have a structure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor.printing import Written, fields_of, formatted, parse_format, shape_of, written
from dispatchkit.wording import escape

ROWS, COLUMNS = 20, 12  # of a table that is not cut
LARGEST = 64  # rows and columns of a matrix that is drawn
SIDE = 128  # of a picture, in pixels
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
        return f"<pre>{escape(repr(x))}</pre>"
    large = any(length > limit for length, limit in zip(shape[::-1], (COLUMNS, ROWS), strict=False))
    with fields_of(x):
        shown = written(x)
        if shown.elements is not None and not shape:
            drawn = f"<span>{escape(shown.body())} {' '.join(_units(shown))}</span>"
        elif shown.elements is not None and len(shape) <= 2 and 0 not in shape:
            drawn = _table(shown, large)
        else:
            drawn = _picture(shown.source, shape) + f"<pre>{escape(shown.body())}</pre>"
        return drawn + _caption(x, shown, shape) + "".join([_details(*part) for part in shown.folded])


def _caption(x: Any, shown: Written, shape: tuple[int, ...]) -> str:
    parts = [type(x).__name__, "×".join(map(str, shape)), str(x.dtype)]
    if shape:
        parts += [f"in {unit}" for unit in _units(shown)]
    if len(shape) > 2 and shown.headings:
        parts.append(escape(", ".join(map(str, shown.headings))))
    notes = [note for note in shown.tail if note.startswith(("requires_grad", "grad_fn"))]
    return f"<div {BELOW}>{', '.join([part for part in [*parts, *map(escape, notes)] if part])}</div>"


def _units(shown: Written) -> list[str]:
    return [unit for unit in [format(part, "H") for part in shown.after if not isinstance(part, str)] if unit]


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


def _picture(x: Any, shape: tuple[int, ...]) -> str:
    """Return a picture of the size of each element of a small matrix, "" of anything else."""
    if x is None or len(shape) != 2 or not 0 < min(shape) <= max(shape) <= LARGEST:
        return ""
    to_dense = tensor_protocol.types.to_dense(type(x))
    if to_dense is None:
        return ""
    try:
        dense = make_dense(
            "print", type(x), to_dense, x, tensor_protocol.types.is_plain, as_attribute=True, deliberate=True
        )
        sizes = np.abs(np.asarray(dense, dtype=complex))
    except Exception:  # noqa: BLE001  # a type without such a form, or inside of a transformation, has its text alone
        return ""
    largest = float(np.max(sizes[np.isfinite(sizes)], initial=0.0)) or 1.0
    side = SIDE / max(shape)
    cells = []
    for row, column in zip(*np.nonzero(sizes), strict=True):
        size = float(sizes[row, column]) / largest
        opacity = 0.15 + 0.75 * min(size, 1.0) if math.isfinite(size) else 1.0
        cells.append(
            f'<rect x="{column * side:.1f}" y="{row * side:.1f}" width="{side:.1f}" height="{side:.1f}" '
            f'fill-opacity="{opacity:.2f}"/>'
        )
    width, height = shape[1] * side, shape[0] * side
    return (
        f'<svg width="{width + 2:.0f}" height="{height + 2:.0f}" viewBox="-1 -1 {width + 2:.1f} {height + 2:.1f}" '
        f'fill="currentColor" role="img" aria-label="sizes of the elements">{"".join(cells)}'
        f'<rect width="{width:.1f}" height="{height:.1f}" fill="none" stroke="currentColor"/></svg>'
    )
