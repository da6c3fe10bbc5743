"""Pictures of matrices for notebooks: each element of a small one, blocks of elements of a larger one."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.densify import densify, make_dense
from dispatchkit.protocol.instance import tensor_protocol

SMALL = 64  # rows and columns of a matrix of which each element is drawn
BLOCKS = 32  # along each axis of a larger one
DENSE = 1024  # rows and columns up to which the dense form is looked at
LARGEST = 10_000  # of a matrix that is drawn by products
SIDE = 128  # of a picture, in pixels
DRAWS = 8  # random signs that are tried


def picture_of(x: Any, shape: tuple[int, ...]) -> str:
    """Return a picture of the sizes of the elements of a matrix, or of blocks of them; "" of anything else.

    Parameters
    ----------
    x : array of a type that has a dense form, or None
    shape : of it
    """
    if x is None or len(shape) != 2 or not 0 < min(shape) <= max(shape) <= LARGEST:
        return ""
    to_dense = tensor_protocol.types.to_dense(type(x))
    if to_dense is None:
        return ""
    try:
        if max(shape) <= SMALL:
            sizes = _dense_sizes(x, to_dense)
        elif max(shape) <= DENSE:
            sizes = _largest_of_blocks(_dense_sizes(x, to_dense))
        else:
            sizes = _sizes_by_products(x, shape)
    except Exception:  # noqa: BLE001  # a type without such a form, or inside of a transformation, has its text alone
        return ""
    return _drawing(sizes, shape)


def _dense_sizes(x: Any, to_dense: Any) -> Any:
    """Return the size of each element."""
    dense = make_dense(
        "print", type(x), to_dense, x, tensor_protocol.types.is_plain, as_attribute=True, deliberate=True
    )
    return np.abs(np.asarray(dense, dtype=complex))


def _bounds(length: int) -> Any:
    """Return where the blocks along an axis begin, and its length."""
    return np.linspace(0, length, min(length, BLOCKS) + 1).astype(int)


def _largest_of_blocks(sizes: Any) -> Any:
    """Return the largest element of each block."""
    for axis in (0, 1):
        sizes = np.maximum.reduceat(sizes, _bounds(sizes.shape[axis])[:-1], axis=axis)
    return sizes


def _sizes_by_products(x: Any, shape: tuple[int, ...]) -> Any:
    """Return estimates of the norms of blocks: what random signs on both sides leave of each, 0 of zeros.

    The mean of the squares of such products is the sum of the squares of the elements of a block.
    """
    rng, squares = np.random.default_rng(0), 0.0
    with densify(on="error"):
        for _ in range(DRAWS):
            left, right = (_random_signs(rng, length, x.dtype) for length in shape)
            products = left.T @ xp.matmul(x, xp.asarray(right)).detach().numpy()
            squares = squares + np.abs(products) ** 2
    return np.sqrt(squares)


def _random_signs(rng: Any, length: int, dtype: Any) -> Any:
    """Return a column for each block, with 1 or -1 in its rows, and 0 elsewhere."""
    bounds = _bounds(length)
    signs = np.zeros((length, len(bounds) - 1), dtype)
    for column, (start, end) in enumerate(pairwise(bounds)):
        signs[start:end, column] = rng.choice([-1, 1], size=end - start)
    return signs


def _drawing(sizes: Any, shape: tuple[int, ...]) -> str:
    """Return squares that are the darker the larger their part is."""
    largest = float(np.max(sizes[np.isfinite(sizes)], initial=0.0)) or 1.0
    height, width = (SIDE * length / max(shape) for length in shape)
    high, wide = height / sizes.shape[0], width / sizes.shape[1]
    cells = []
    for row, column in zip(*np.nonzero(sizes), strict=True):
        size = float(sizes[row, column]) / largest
        opacity = 1.0
        if math.isfinite(size):
            opacity = 0.15 + 0.75 * min(size, 1.0)
        cells.append(
            f'<rect x="{column * wide:.1f}" y="{row * high:.1f}" width="{wide:.1f}" height="{high:.1f}" '
            f'fill-opacity="{opacity:.2f}"/>'
        )
    label = "sizes of the elements"
    if sizes.shape != shape:
        label = f"sizes of {sizes.shape[0]}×{sizes.shape[1]} blocks of elements"
    return (
        f'<svg width="{width + 2:.0f}" height="{height + 2:.0f}" viewBox="-1 -1 {width + 2:.1f} {height + 2:.1f}" '
        f'fill="currentColor" role="img" aria-label="{label}"><title>{label}</title>{"".join(cells)}'
        f'<rect width="{width:.1f}" height="{height:.1f}" fill="none" stroke="currentColor"/></svg>'
    )
