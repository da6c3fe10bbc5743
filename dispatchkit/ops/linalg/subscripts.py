"""Subscripts of `einsum`: what they say of operands of given shapes, and in which order to contract these."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = ["Labels", "Optimize", "Path", "Subscripts", "found_path", "read_subscripts", "stand_ins"]

Labels: TypeAlias = tuple[str, ...]
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
Path: TypeAlias = tuple[tuple[int, ...], ...]
Optimize: TypeAlias = bool | str | Sequence[Any]

STRATEGIES = ("greedy", "optimal")


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
    inputs, arrow, given = squeezed.partition("->")
    parts = inputs.split(",")
    strange = sorted(set(squeezed) - set(string.ascii_letters) - set(",.->"))
    if strange or "-" in inputs + given or ">" in inputs + given:
        found = "".join(strange) or "->"
        raise ValueError(f"{name}: subscripts are letters, ',', '...' and one '->', found {found!r} in {text!r}")
    if len(parts) != len(shapes):
        raise ValueError(
            f"{name}: subscripts {text!r} are for {len(parts)} operand{'s' * (len(parts) != 1)}, found {len(shapes)}"
        )
    terms = tuple(
        _labels(name, f"operand {number}", part, len(shape))
        for number, (part, shape) in enumerate(zip(parts, shapes, strict=True))
    )
    sizes = _sizes(name, terms, shapes)
    covered = tuple(str(i) for i in reversed(range(sum(label.isdigit() for label in sizes))))
    output = _given_output(name, given, covered, sizes) if arrow else _implied_output(terms, covered)
    return Subscripts(text, terms, output, sizes)


def _labels(name: str, where: str, part: str, ndim: int) -> Labels:
    """Return the labels of an operand's axes."""
    before, dots, after = part.partition("...")
    if "." in before + after:
        raise ValueError(f"{name}: the subscripts {part!r} of {where} hold dots other than one '...'")
    named = len(before) + len(after)
    if named > ndim or (named < ndim and not dots):
        at_least = "at least " if dots else ""
        raise ValueError(f"{name}: {where} has {ndim} axes, its subscripts {part!r} name {at_least}{named}")
    return (*before, *(str(i) for i in reversed(range(ndim - named))), *after)


def _sizes(name: str, terms: tuple[Labels, ...], shapes: Shapes) -> dict[str, int]:
    """Return the length that goes with each label; a length of 1 goes with any other."""
    sizes: dict[str, int] = {}
    owners: dict[str, int] = {}
    for number, (labels, shape) in enumerate(zip(terms, shapes, strict=True)):
        own: dict[str, int] = {}
        for label, size in zip(labels, shape, strict=True):
            what = "an axis under '...'" if label.isdigit() else f"subscript '{label}'"
            if own.setdefault(label, size) != size:
                raise ValueError(f"{name}: {what} stands for lengths {own[label]} and {size} in operand {number}")
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
    strategy: Any = "greedy" if optimize is True else tuple(optimize) if isinstance(optimize, list) else optimize
    if not isinstance(strategy, tuple) and strategy not in (*STRATEGIES, False):
        raise ValueError(f"{name}: optimize must be True, False, 'greedy', 'optimal' or a path, found {optimize!r}")
    if count <= 2 or strategy is False:
        return (tuple(range(count)),)
    shapes = tuple(tuple(read.sizes[label] for label in labels) for labels in read.terms)
    return _searched_path(_lettered(name, read), shapes, strategy)


def _checked_path(name: str, path: Sequence[Any], count: int) -> Path:
    steps = [tuple(step) for step in path if step != "einsum_path"]
    left = count
    for step in steps:
        if not step or len(set(step)) != len(step) or any(not 0 <= one < left for one in step):
            raise ValueError(f"{name}: step {step} of the path is no choice among the {left} operands left")
        left += 1 - len(step)
    if left != 1:
        raise ValueError(f"{name}: the path {list(path)} leaves {left} operands of {count}, not one")
    return tuple(steps)


@lru_cache(maxsize=256)
def _searched_path(letters: str, shapes: Shapes, strategy: Any) -> Path:
    path, _ = np.einsum_path(letters, *stand_ins(shapes), optimize=strategy)
    return tuple(path[1:])


def _lettered(name: str, read: Subscripts) -> str:
    """Return the subscripts with a letter for each label, in the form that NumPy's search takes."""
    if len(read.sizes) > len(string.ascii_letters):
        raise ValueError(f"{name}: a path is sought among up to 52 axes, found {len(read.sizes)}; use optimize=False")
    letters = dict(zip(read.sizes, string.ascii_letters, strict=False))
    terms = ["".join(letters[label] for label in labels) for labels in (*read.terms, read.output)]
    return ",".join(terms[:-1]) + "->" + terms[-1]


def stand_ins(shapes: Shapes) -> list[Any]:
    """Return arrays of these shapes that take no memory, for functions that look at nothing else."""
    return [np.broadcast_to(0.0, shape) for shape in shapes]
