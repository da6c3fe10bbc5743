"""Sums of products by subscripts: `einsum`, and the order it contracts in."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.decorators import body_on_numpy, product
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.ops.shared import diagonal_of, shape_of

Labels: TypeAlias = tuple[str, ...]
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
Path: TypeAlias = tuple[tuple[int, ...], ...]
Optimize: TypeAlias = bool | str | Sequence[Any]

STRATEGIES = ("greedy", "optimal")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Subscripts(NamedTuple):
    """Subscripts read for operands of given shapes.

    A label is a letter, or for an axis under ``...`` its distance from the last of them as a string.

    Attributes
    ----------
    text : as it was given
    terms : the label of each axis of each operand
    output : the label of each axis of the result
    sizes : the length that goes with each label
    """

    text: str
    terms: tuple[Labels, ...]
    output: Labels
    sizes: dict[str, int]


@lru_cache(maxsize=256)
def read_subscripts(name: str, text: str, shapes: Shapes) -> Subscripts:
    """Return what subscripts say of operands of these shapes.

    Parameters
    ----------
    name : of the operation, for messages
    text : the subscripts, such as ``"ij,jk->ik"``
    shapes : of the operands

    Raises
    ------
    ValueError : naming the operand and the subscript that do not fit

    Examples
    --------
    >>> read = read_subscripts("einsum", "...ij,jk", ((2, 3, 4), (4, 5)))
    >>> read.terms, read.output
    ((('0', 'i', 'j'), ('j', 'k')), ('0', 'i', 'k'))
    """
    squeezed = text.replace(" ", "")
    inputs, arrow, output_text = squeezed.partition("->")
    parts = inputs.split(",")
    strange = sorted(set(squeezed) - set(LETTERS) - set(",.->"))
    if strange or "-" in inputs + output_text or ">" in inputs + output_text:
        culprit = "".join(strange) or "->"
        raise ValueError(f"{name}: subscripts are letters, ',', '...' and one '->', found {culprit!r} in {text!r}")
    if len(parts) != len(shapes):
        raise ValueError(
            f"{name}: subscripts {text!r} are for {len(parts)} operand{'s' * (len(parts) != 1)}, found {len(shapes)}"
        )
    terms = tuple(
        _labels(name, f"operand {number}", part, len(shape))
        for number, (part, shape) in enumerate(zip(parts, shapes, strict=True))
    )
    sizes = _sizes(name, terms, shapes)
    count = sum(label.isdigit() for label in sizes)
    covered = tuple(str(i) for i in reversed(range(count)))
    if arrow:
        output = _given_output(name, output_text, covered, sizes)
    else:
        output = _implied_output(terms, covered)
    return Subscripts(text, terms, output, sizes)


def _labels(name: str, where: str, part: str, ndim: int) -> Labels:
    """Return the labels of an operand's axes."""
    before, dots, after = part.partition("...")
    if "." in before + after:
        raise ValueError(f"{name}: the subscripts {part!r} of {where} hold dots other than one '...'")
    named = len(before) + len(after)
    if named > ndim or (named < ndim and not dots):
        at_least = ""
        if dots:
            at_least = "at least "
        raise ValueError(f"{name}: {where} has {ndim} axes, its subscripts {part!r} name {at_least}{named}")
    return (*before, *(str(i) for i in reversed(range(ndim - named))), *after)


def _sizes(name: str, terms: tuple[Labels, ...], shapes: Shapes) -> dict[str, int]:
    """Return the length that goes with each label; a length of 1 goes with any other."""
    sizes: dict[str, int] = {}
    owners: dict[str, int] = {}
    for number, (labels, shape) in enumerate(zip(terms, shapes, strict=True)):
        lengths: dict[str, int] = {}
        for label, size in zip(labels, shape, strict=True):
            what = "an axis under '...'"
            if not label.isdigit():
                what = f"subscript '{label}'"
            if lengths.setdefault(label, size) != size:
                raise ValueError(f"{name}: {what} stands for lengths {lengths[label]} and {size} in operand {number}")
            known = sizes.get(label, 1)
            if known == 1:
                sizes[label], owners[label] = size, number
            elif size not in (1, known):
                raise ValueError(
                    f"{name}: {what} is {known} long in operand {owners[label]} and {size} long in operand {number}"
                )
    return sizes


def _given_output(name: str, given: str, covered: Labels, sizes: dict[str, int]) -> Labels:
    if covered and "..." not in given:
        raise ValueError(
            f"{name}: the output {given!r} has no place for the axes under '...'; write '...{given}', "
            f"and sum over axes that have subscripts of their own"
        )
    output = _labels(name, "the output", given, len(given.replace("...", "")) + len(covered))
    for label, times in Counter(output).items():
        if times > 1:
            raise ValueError(f"{name}: the output {given!r} names subscript '{label}' {times} times")
        if label not in sizes:
            raise ValueError(f"{name}: subscript '{label}' of the output {given!r} is in no operand")
    return output


def _implied_output(terms: tuple[Labels, ...], covered: Labels) -> Labels:
    """Return the axes under ``...``, then the letters that appear once, in alphabetical order."""
    times = Counter(label for labels in terms for label in labels)
    return (*covered, *sorted(label for label, n in times.items() if n == 1 and not label.isdigit()))


def found_path(name: str, read: Subscripts, optimize: Optimize) -> Path:
    """Return which operands to contract at each step; they leave the list, and the result enters at its end.

    Parameters
    ----------
    name : of the operation, for messages
    read : the subscripts
    optimize : whether to look for a good path and how, or a path

    Raises
    ------
    ValueError : for a strategy that is not known, or a path that does not fit the operands
    """
    count = len(read.terms)
    if isinstance(optimize, (list, tuple)) and (not optimize or optimize[0] not in STRATEGIES):
        return _checked_path(name, optimize, count)
    strategy: Any
    if optimize is True:
        strategy = "greedy"
    elif isinstance(optimize, list):
        strategy = tuple(optimize)
    else:
        strategy = optimize
    if not isinstance(strategy, tuple) and strategy not in (*STRATEGIES, False):
        raise ValueError(f"{name}: optimize must be True, False, 'greedy', 'optimal' or a path, found {optimize!r}")
    if count <= 2 or strategy is False:
        return (tuple(range(count)),)
    return _searched_path(_in_letters(name, read), lengths_of(read), strategy)


def _checked_path(name: str, path: Sequence[Any], count: int) -> Path:
    steps = [tuple(step) for step in path if step != "einsum_path"]
    left = count
    for step in steps:
        if not step or len(set(step)) != len(step) or any(not 0 <= place < left for place in step):
            raise ValueError(f"{name}: step {step} of the path is no choice among the {left} operands left")
        left += 1 - len(step)
    if left != 1:
        raise ValueError(f"{name}: the path {list(path)} leaves {left} operands of {count}, not one")
    return tuple(steps)


@lru_cache(maxsize=256)
def _searched_path(letters: str, shapes: Shapes, strategy: Any) -> Path:
    path, _ = np.einsum_path(letters, *stand_ins(shapes), optimize=strategy)
    return tuple(path[1:])


def _in_letters(name: str, read: Subscripts) -> str:
    """Return the subscripts with a letter for each label, in the form that NumPy's search takes."""
    if len(read.sizes) > len(LETTERS):
        raise ValueError(f"{name}: a path is sought among up to 52 axes, found {len(read.sizes)}; use optimize=False")
    letters = dict(zip(read.sizes, LETTERS, strict=False))
    terms = ["".join(map(letters.__getitem__, labels)) for labels in (*read.terms, read.output)]
    return ",".join(terms[:-1]) + "->" + terms[-1]


def stand_ins(shapes: Shapes) -> list[Any]:
    """Return arrays of these shapes that take no memory, for functions that look at nothing else."""
    return [np.broadcast_to(0.0, shape) for shape in shapes]


Sizes: TypeAlias = dict[str, int]


class Term(NamedTuple):
    """An operand or a product of some, with a label for each axis and the number of its first operand."""

    number: int
    labels: Labels
    x: Any


@product(
    method=False,
    samples=lambda: [
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
    ],
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
    read = read_operands(subscripts, operands)
    terms = [Term(i, *_prepare(xp, x, read.terms[i], read)) for i, x in enumerate(operands)]
    for step in found_path(einsum.__name__, read, optimize):
        # In the order of the operands, as a chain of matrices is written with its products in place.
        chosen = sorted((terms[place] for place in step), key=attrgetter("number"))
        terms = [term for place, term in enumerate(terms) if place not in step]
        while len(chosen) > 1:
            wanted = set(read.output).union(*(term.labels for term in (*chosen[2:], *terms)))
            chosen[:2] = [_contract(xp, chosen[0], chosen[1], wanted, read.sizes)]
        terms += chosen
    y = _sum_out(xp, terms[0], read.output)
    return _permute(xp, y.x, y.labels, read.output)


def read_operands(subscripts: str, operands: Sequence[Any]) -> Subscripts:
    """Return the subscripts of a call, which fit its operands.

    Raises
    ------
    TypeError, ValueError : as documented for `einsum`
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            f"{einsum.__name__}: subscripts must be a string such as 'ij,jk->ik', found {type(subscripts).__name__}"
        )
    return read_subscripts(einsum.__name__, subscripts, tuple(shape_of(x) for x in operands))


def _prepare(xp: Namespace, x: Any, labels: Labels, read: Subscripts) -> tuple[Labels, Any]:
    """Return an operand with one axis for each label, and none of length 1 that is to broadcast."""
    if not labels:
        return labels, x  # a number, too
    # Each product counts in a sum: inf times the sum of what it is multiplied by is another number.
    shape = tuple(n if label in read.output else read.sizes[label] for n, label in zip(x.shape, labels, strict=True))
    if x.shape != shape:
        x = xp.broadcast_to(x, shape)
    stretched = tuple(i for i, label in enumerate(labels) if x.shape[i] != read.sizes[label])
    if stretched:
        x = xp.squeeze(x, axis=stretched)
        labels = tuple(label for i, label in enumerate(labels) if i not in stretched)
    while len(set(labels)) < len(labels):
        label = next(candidate for candidate in labels if labels.count(candidate) > 1)
        pair = [i for i, other in enumerate(labels) if other == label][:2]
        others = [i for i in range(len(labels)) if i not in pair]
        x = diagonal_of(xp, xp.permute_dims(x, (*others, *pair)))
        labels = (*(labels[i] for i in others), label)
    return labels, x


def _sum_out(xp: Namespace, term: Term, wanted: Iterable[str]) -> Term:
    """Return a term without the axes that are not wanted."""
    number, labels, x = term
    axes = tuple(i for i, label in enumerate(labels) if label not in wanted)
    if not axes:
        return term
    # Small integers and booleans keep their dtype, as in products.
    if is_inexact(x.dtype):
        x = xp.sum(x, axis=axes)
    else:
        x = xp.sum(x, axis=axes, dtype=x.dtype)
    return Term(number, tuple(label for label in labels if label in wanted), x)


def _contract(xp: Namespace, first: Term, second: Term, wanted: set[str], sizes: Sizes) -> Term:
    """Return the product of two terms, summed over what they share and nobody wants."""
    number, labels1, x1 = _sum_out(xp, first, wanted.union(second.labels))
    _, labels2, x2 = _sum_out(xp, second, wanted.union(first.labels))
    summed = [label for label in labels1 if label in labels2 and label not in wanted]
    left = [label for label in labels1 if label not in labels2]
    right = [label for label in labels2 if label not in labels1]
    if not summed:
        labels = (*labels1, *right)
        return Term(number, labels, _spread(xp, x1, labels1, labels) * _spread(xp, x2, labels2, labels))
    batch = [label for label in labels1 if label in labels2 and label in wanted]
    y = xp.matmul(
        _join_axes(xp, x1, labels1, batch, left, summed, sizes=sizes),
        _join_axes(xp, x2, labels2, batch, summed, right, sizes=sizes),
    )
    labels = (*batch, *left, *right)
    return Term(number, labels, _reshape(xp, y, _lengths(sizes, labels)))


def _lengths(sizes: Sizes, labels: Iterable[str]) -> tuple[int, ...]:
    """Return the lengths of the axes with some labels."""
    return tuple([sizes[label] for label in labels])


def _join_axes(xp: Namespace, x: Any, labels: Labels, batch: list[str], *groups: list[str], sizes: Sizes) -> Any:
    """Return an array with the batch axes, then one axis for each group; without batch, none for an empty group."""
    order = (*batch, *itertools.chain(*groups))
    shape = [sizes[label] for label in batch]
    shape += [prod(_lengths(sizes, group)) for group in groups if group or batch]
    return _reshape(xp, _permute(xp, x, labels, order), tuple(shape))


def _spread(xp: Namespace, x: Any, labels: Labels, wanted: Labels) -> Any:
    """Return an array with its axes in the order wanted, of length 1 where it has none."""
    if not labels:
        return x
    x = _permute(xp, x, labels, tuple(label for label in wanted if label in labels))
    lengths = iter(x.shape)
    return _reshape(xp, x, tuple(next(lengths) if label in labels else 1 for label in wanted))


def _permute(xp: Namespace, x: Any, labels: Labels, wanted: Labels) -> Any:
    if labels == wanted:
        return x
    return xp.permute_dims(x, tuple(labels.index(label) for label in wanted))


def _reshape(xp: Namespace, x: Any, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    return xp.reshape(x, shape)


SMALL = 8192


@einsum.def_kernel("numpy")
def einsum_numpy(subscripts: str, /, *operands: Any, optimize: Any = True) -> Any:
    """Compute by one call of NumPy where there is one for these subscripts, shapes and dtypes."""
    compute = None
    if optimize is True:
        key: list[Any] = []
        try:
            for x in operands:
                key += x.shape, x.dtype
            compute = _in_one_call(subscripts, *key)
        except (AttributeError, TypeError):
            pass
    if compute is None:
        return body_on_numpy(einsum)(subscripts, *operands, optimize=optimize)
    return compute(*operands)


@lru_cache(maxsize=256)
def _in_one_call(subscripts: str, *key: Any) -> Callable[..., Any] | None:
    """Return what computes einsum of operands of which the shapes and dtypes are given by turns, or None."""
    shapes, dtypes = key[::2], key[1::2]
    read = read_subscripts(einsum.__name__, subscripts, shapes)
    first, second, output = read.terms[0], read.terms[-1], read.output
    if len({*dtypes}) != 1:
        return None
    if len(shapes) == 2 and _are_of_matrices(first, second, output) and lengths_of(read) == shapes:
        return np.matmul
    # Longer loops are slower than what they save of the calls around a product of matrices; of complex infinities they
    # make NaN where that keeps them.
    if dtypes[0].kind != "c" and prod(read.sizes.values()) <= SMALL:
        return partial(np.einsum, subscripts)
    return None


def _are_of_matrices(first: Labels, second: Labels, output: Labels) -> bool:
    """Return whether the labels are those of a product of matrices, or batches of as many, or vectors, as they lie."""
    if not first or not second or len({*first}) < len(first) or len({*second}) < len(second):
        return False
    batch, rows, columns = first[:-2], first[-2:-1], second[-1:]
    if len(second) == 1:
        columns = ()
    if second[-2:-1] != first[-1:] and second != first[-1:]:
        return False
    return second[:-2] == batch and output == (*batch, *rows, *columns) and not {*columns} & {*first}


def lengths_of(read: Subscripts) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of operands of which no axis is to broadcast."""
    return tuple([_lengths(read.sizes, labels) for labels in read.terms])


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
    path = ["einsum_path", *found_path(einsum_path.__name__, read_operands(subscripts, operands), optimize)]
    _, text = np.einsum_path(subscripts, *stand_ins(tuple(map(shape_of, operands))), optimize=path)
    return path, text


enter("einsum_path", einsum_path)
