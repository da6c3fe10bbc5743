"""Lines with gaps, from which calls are drawn.

A line is Python. These names in it are operands:

=============== ===================================================================================================
``x``           an array of any shape
``y``, ``z``    arrays that broadcast with ``x``
``u``           an array of the shape of ``x``
``v``, ``w``    vectors of one length; ``t`` one that grows
``a``, ``b``    square matrices of one size
``s``           one number as an array
``plain``       a plain array that broadcasts with ``x``
``condition``   a plain array of booleans, of the shape of ``x``
``places``      a plain array of positions along the last axis of ``x``
``spots``       a plain array of positions along ``v``
=============== ===================================================================================================

and these are gaps: ``{axis}`` one axis of ``x``, ``{axes}`` two of them, ``{n}`` a small number, ``{q}`` a share,
``{slice}`` a key of ``x``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from .drawing import Draw
from .pair import Operand

if TYPE_CHECKING:
    from .pair import Pair

__all__ = ["filled", "operands_of"]

# In the order in which they are drawn: later ones may depend on earlier ones.
NAMES = ("x", "y", "z", "u", "v", "w", "t", "a", "b", "s", "plain", "condition", "places", "spots")
PLAIN = ("plain", "condition", "places", "spots")


def operands_of(line: str, draw: Draw, pair: Pair) -> dict[str, Operand]:
    """Draw what the names of a line stand for."""
    used = {node.id for node in ast.walk(ast.parse(_any_filling(line))) if isinstance(node, ast.Name)}
    if used & {"y", "z", "u", "plain", "condition", "places"} or "{" in line:
        used.add("x")
    operands: dict[str, Operand] = {}
    shape, length, size = draw.shape(), draw.pick((1, 3, 4, 5)), draw.pick((1, 2, 3, 3))
    for name in NAMES:
        if name not in used:
            continue
        data = _data(name, draw, shape, length, size)
        lifted = name not in PLAIN
        extra = pair.draw_extra(draw, name, data, operands) if lifted else None
        operands[name] = Operand(data, extra, lifted)
    return operands


def _data(
    name: str, draw: Draw, shape: tuple[int, ...], length: int, size: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Draw the numbers of an operand."""
    if name in ("x", "u"):
        return draw.array(shape)
    if name in ("y", "z", "plain"):
        return draw.array(draw.broadcasting_with(shape))
    if name in ("v", "w"):
        return draw.array((length,))
    if name == "t":
        return draw.array((length,), of="steps")
    if name in ("a", "b"):
        batch = (2,) if draw.chance(0.15) else ()
        return draw.array((*batch, size, size))
    if name == "s":
        return draw.array(())
    if name == "condition":
        return draw.array(shape, "bool")
    along = length if name == "spots" else (shape or (1,))[-1]
    count = draw.pick((1, 2, 3)) if along else 0
    return np.array([draw.random.randrange(along) for _ in range(count)], np.int64)


def filled(line: str, draw: Draw, operands: Mapping[str, Operand]) -> str:
    """Return a line with its gaps filled."""
    if "{" not in line:
        return line
    ndim = operands["x"].data.ndim
    axis = draw.random.randrange(-ndim, ndim) if ndim else draw.pick((0, -1))
    other = draw.random.randrange(-ndim, ndim) if ndim else 0
    line = line.replace("{axis}", str(axis)).replace("{axes}", f"({axis}, {other})")
    line = line.replace("{n}", str(draw.pick((0, 1, 2, 3)))).replace("{q}", str(draw.pick((0, 0.25, 0.5, 0.9, 1))))
    if "{slice}" in line:
        line = line.replace("{slice}", draw.pick(list(_keys(operands["x"].data.shape))))
    return line


def _keys(shape: tuple[int, ...]) -> Iterable[str]:
    """Return keys of an array."""
    yield "..."
    yield "None"
    if not shape:
        yield "()"
        return
    yield from ("::2", "::-1", "1:", ":0", "..., ::2", "..., None", "[]")
    if shape[0]:
        yield from ("0", "-1", "[0]", "[0, -1, 0]", "np.array([0, -1])", f"np.arange({shape[0]}) > 0")
    if len(shape) > 1:
        yield from (":, ::-1", ":, None")
        if shape[1]:
            yield from (":, 0", ":, [0, -1]")
        if shape[0] and shape[1]:
            yield from ("0, -1", "[0, -1], [0, 0]")


def _any_filling(line: str) -> str:
    """Return a line that parses, whatever its gaps are filled with."""
    for gap in ("{axis}", "{axes}", "{n}", "{q}", "{slice}"):
        line = line.replace(gap, "0")
    return line
