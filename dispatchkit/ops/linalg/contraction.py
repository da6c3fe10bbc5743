"""Sums of products by subscripts: `einsum`, and the order it contracts in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from math import prod
from operator import methodcaller
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.backends.sums import total
from dispatchkit.declare.decorators import body_on_numpy, product
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.linalg.subscripts import Labels, Optimize, Subscripts, found_path, read_subscripts, stand_ins
from dispatchkit.ops.shared.arrays import shape_of

__all__ = ["einsum", "einsum_path"]

Sizes: TypeAlias = dict[str, int]


class Term(NamedTuple):
    """An operand or a product of some, with a label for each axis and the number of its first operand."""

    number: int
    labels: Labels
    x: Any


@product(
    samples=[
        sample("ij,jk->ik", draw(2, 3), draw(3, 2)),
        sample("ij,jk", draw(2, 3), draw(3, 2), optimize=False),
        sample("bij,bkj->bki", draw(2, 2, 3), draw(2, 1, 3)),
        sample("...ij,...jk->...ik", draw(2, 1, 2, 3), draw(2, 3, 1)),
        sample("i,j->ji", draw(2), draw(3)),
        sample("ij,ij->", draw(2, 3), draw(2, 3)),
        sample("bij,b->j", draw(2, 2, 3), draw(2)),
        sample("ii", draw(3, 3)),
        sample("iji->ji", draw(2, 3, 2)),
        sample("ij,j", draw(2, 3), draw(1)),
        sample("ij,jk,kl->il", draw(2, 3), draw(3, 2), draw(2, 2), optimize="optimal"),
        sample("ij,kj,k", draw(2, 3), draw(2, 3), draw(2), optimize=["einsum_path", (1, 2), (0, 1)]),
        sample(",i,->i", draw(), draw(2), draw()),
    ]
)
def einsum(xp: Namespace, subscripts: str, /, *operands: Array, optimize: Optimize = True) -> Array:
    """Sum products of elements over the axes that subscripts name.

    Parameters
    ----------
    subscripts : a letter for each axis of each operand, commas between operands: ``"ij,jk->ik"``. Axes of one letter
        are multiplied element by element, a letter twice in one operand takes its diagonal, and letters that are not
        in the output are summed over. Without ``->`` the output has the letters that appear once, in alphabetical
        order. ``...`` stands for further axes, which broadcast; in the output they come first unless it says otherwise
    operands : arrays, as many as subscripts; an axis of length 1 broadcasts
    optimize : in which order more than two operands are contracted: True and ``"greedy"`` take cheap pairs first,
        ``"optimal"`` compares all orders, False goes from left to right; or a path as `einsum_path` gives it

    Returns
    -------
    array with the axes of the output; it may look at the memory of a single operand

    Raises
    ------
    TypeError : if the subscripts are no string
    ValueError : if subscripts and operands do not fit, with operand and subscript; or for a path that does not

    Notes
    -----
    Operands are contracted pair by pair, each pair as a matrix product of transposed and reshaped arrays, or as a
    product of elements where nothing is summed over. Gradients flow through these. Source: NumPy, `numpy.einsum`;
    the form with lists of integers instead of letters is not taken.

    Examples
    --------
    >>> a = dk.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> dk.einsum("ij,jk->ik", a, a)
    tensor([[ 7., 10.],
            [15., 22.]])
    >>> dk.einsum("ii", a)
    tensor(5.)
    """
    read = _read(subscripts, operands)
    terms = [Term(i, *_prepared(xp, x, read.terms[i], read.sizes)) for i, x in enumerate(operands)]
    for step in found_path(einsum.__name__, read, optimize):
        # In the order of the operands, as a chain of matrices is written with its products in place.
        chosen = sorted((terms[place] for place in step), key=_number)
        terms = [term for place, term in enumerate(terms) if place not in step]
        while len(chosen) > 1:
            wanted = set(read.output).union(*(term.labels for term in (*chosen[2:], *terms)))
            chosen[:2] = [_contracted(xp, chosen[0], chosen[1], wanted, read.sizes)]
        terms += chosen
    y = _summed(xp, terms[0], read.output)
    return _permuted(xp, y.x, y.labels, read.output)


def _read(subscripts: str, operands: Sequence[Any]) -> Subscripts:
    if not isinstance(subscripts, str):
        raise TypeError(
            f"{einsum.__name__}: subscripts must be a string such as 'ij,jk->ik', found {type(subscripts).__name__}"
        )
    return read_subscripts(einsum.__name__, subscripts, tuple(shape_of(x) for x in operands))


def _prepared(xp: Namespace, x: Any, labels: Labels, sizes: Sizes) -> tuple[Labels, Any]:
    """Return an operand with one axis for each label, and none of length 1 that is to broadcast."""
    stretched = tuple(i for i, label in enumerate(labels) if x.shape[i] != sizes[label])
    if stretched:
        x = xp.squeeze(x, axis=stretched)
        labels = tuple(label for i, label in enumerate(labels) if i not in stretched)
    while len(set(labels)) < len(labels):
        label = next(one for one in labels if labels.count(one) > 1)
        pair = [i for i, one in enumerate(labels) if one == label][:2]
        others = [i for i in range(len(labels)) if i not in pair]
        x = xp.linalg.diagonal(xp.permute_dims(x, (*others, *pair)))
        labels = (*(labels[i] for i in others), label)
    return labels, x


def _number(term: Term) -> int:
    return term.number


def _summed(xp: Namespace, term: Term, wanted: Iterable[str]) -> Term:
    """Return a term without the axes that are not wanted."""
    number, labels, x = term
    axes = tuple(i for i, label in enumerate(labels) if label not in wanted)
    if not axes:
        return term
    # Small integers and booleans keep their dtype, as in products.
    x = xp.sum(x, axis=axes) if is_inexact(x.dtype) else xp.sum(x, axis=axes, dtype=x.dtype)
    return Term(number, tuple(label for label in labels if label in wanted), x)


def _contracted(xp: Namespace, first: Term, second: Term, wanted: set[str], sizes: Sizes) -> Term:
    """Return the product of two terms, summed over what they share and nobody wants."""
    number, labels1, x1 = _summed(xp, first, wanted.union(second.labels))
    _, labels2, x2 = _summed(xp, second, wanted.union(first.labels))
    summed = [label for label in labels1 if label in labels2 and label not in wanted]
    left = [label for label in labels1 if label not in labels2]
    right = [label for label in labels2 if label not in labels1]
    if not summed:
        labels = (*labels1, *right)
        return Term(number, labels, _spread(xp, x1, labels1, labels) * _spread(xp, x2, labels2, labels))
    batch = [label for label in labels1 if label in labels2 and label in wanted]
    y = xp.matmul(
        _joined(xp, x1, labels1, batch, left, summed, sizes=sizes),
        _joined(xp, x2, labels2, batch, summed, right, sizes=sizes),
    )
    labels = (*batch, *left, *right)
    return Term(number, labels, _reshaped(xp, y, tuple(sizes[label] for label in labels)))


def _joined(xp: Namespace, x: Any, labels: Labels, batch: list[str], *groups: list[str], sizes: Sizes) -> Any:
    """Return an array with the batch axes, then one axis for each group; without batch, none for an empty group."""
    order = (*batch, *(label for group in groups for label in group))
    shape = [sizes[label] for label in batch]
    shape += [prod(sizes[label] for label in group) for group in groups if group or batch]
    return _reshaped(xp, _permuted(xp, x, labels, order), tuple(shape))


def _spread(xp: Namespace, x: Any, labels: Labels, wanted: Labels) -> Any:
    """Return an array with its axes in the order wanted, of length 1 where it has none."""
    if not labels:
        return x
    x = _permuted(xp, x, labels, tuple(label for label in wanted if label in labels))
    lengths = iter(x.shape)
    return _reshaped(xp, x, tuple(next(lengths) if label in labels else 1 for label in wanted))


def _permuted(xp: Namespace, x: Any, labels: Labels, wanted: Labels) -> Any:
    return x if labels == wanted else xp.permute_dims(x, tuple(labels.index(label) for label in wanted))


def _reshaped(xp: Namespace, x: Any, shape: tuple[int, ...]) -> Any:
    return x if x.shape == shape else xp.reshape(x, shape)


SMALL = 8192
einsum_body = body_on_numpy(einsum)


@einsum.def_numpy
def einsum_numpy(subscripts: str, /, *operands: Any, optimize: Any = True) -> Any:
    """Compute by one call of NumPy where there is one for these subscripts, shapes and dtypes."""
    found = None
    if optimize is True:
        key: list[Any] = []
        try:
            for x in operands:
                key += x.shape, x.dtype
            found = _in_one_call(subscripts, *key)
        except (AttributeError, TypeError):
            pass
    return einsum_body(subscripts, *operands, optimize=optimize) if found is None else found(*operands)


@lru_cache(maxsize=256)
def _in_one_call(subscripts: str, *key: Any) -> Callable[..., Any] | None:
    """Return what computes einsum of operands of which the shapes and dtypes are given by turns, or None."""
    shapes, dtypes = key[::2], key[1::2]
    read = read_subscripts(einsum.__name__, subscripts, shapes)
    first, second, output = read.terms[0], read.terms[-1], read.output
    if len({*dtypes}) != 1:
        return None
    if len(shapes) == 1 and len(set(first)) == len(output):
        # Views: of the same axes in another order, or of a diagonal.
        if len(first) == len(output):
            return methodcaller("transpose", tuple(map(first.index, output)))
        return methodcaller("diagonal", 0, -2, -1) if first == (*output, output[-1]) else None
    if len(shapes) == 1 and len(set(first)) == len(first) and dtypes[0].kind in "fc":
        summed = tuple(axis for axis, label in enumerate(first) if label not in output)
        if [label for label in first if label in output] == list(output):
            return partial(total, axis=summed)
    if len(shapes) == 2:
        if first == second == output:
            return np.multiply
        if first + second == output:
            return np.multiply.outer
        if _are_of_matrices(first, second, output) and _lengths(read) == shapes:
            return np.matmul
    # Longer loops are slower than what they save of the calls around a product of matrices; of complex infinities they
    # make NaN where that keeps them.
    return partial(np.einsum, subscripts) if dtypes[0].kind != "c" and prod(read.sizes.values()) <= SMALL else None


def _are_of_matrices(first: Labels, second: Labels, output: Labels) -> bool:
    """Return whether the labels are those of a product of matrices, or batches of as many, or vectors, as they lie."""
    if not first or not second or len({*first}) < len(first) or len({*second}) < len(second):
        return False
    batch, rows, columns = first[:-2], first[-2:-1], second[-1:] if len(second) > 1 else ()
    if second[-2:-1] != first[-1:] and second != first[-1:]:
        return False
    return second[:-2] == batch and output == (*batch, *rows, *columns) and not {*columns} & {*first}


def _lengths(read: Subscripts) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of operands of which no axis is to broadcast."""
    return tuple(tuple(read.sizes[label] for label in labels) for labels in read.terms)


def einsum_path(subscripts: str, /, *operands: Array, optimize: Optimize = "greedy") -> tuple[list[Any], str]:
    """Find the order in which `einsum` contracts operands.

    Parameters
    ----------
    subscripts : as `einsum` takes them
    *operands : as `einsum` takes them; only their shapes matter
    optimize : as `einsum` takes it

    Returns
    -------
    tuple
        The path, which `einsum` takes as `optimize`, and a description of its steps and their cost.

    Raises
    ------
    ValueError : if subscripts and operands do not fit

    Notes
    -----
    Source: NumPy, `numpy.einsum_path`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> operands = dk.ones((9, 8)), dk.ones((8, 7)), dk.ones(7)
    >>> path, text = dk.einsum_path("ij,jk,k->i", *operands, optimize="optimal")
    >>> path
    ['einsum_path', (1, 2), (0, 1)]
    """
    found = ["einsum_path", *found_path(einsum_path.__name__, _read(subscripts, operands), optimize)]
    _, text = np.einsum_path(subscripts, *stand_ins(tuple(map(shape_of, operands))), optimize=found)
    return found, text


enter("einsum_path", einsum_path)
