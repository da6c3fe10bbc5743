"""Rules of products of named arrays: axes that are contracted have one name, and the others keep their places."""

from __future__ import annotations

from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.protocol.steps import decline
from dispatchkit.tensor import Tensor
from dispatchkit.types.named.array import NamedTensor, inside, places, united_names, united_sizes, with_names
from dispatchkit.types.rules import axis_of, implements, implements_each

NAMELESS = "an axis of the result would have no name, which the plain array does not have; name it"


def _twice(names: Any) -> Any:
    """Return a decline that says that axes of a result would have one name."""
    return decline(f"axes of the result would have one name: {tuple(names)}; rename one, as x.rename(old='new')")


@implements(ops.matmul)
def matmul_named(x1: NamedTensor, x2: NamedTensor, /) -> Any:
    if not x1.names or not x2.names:
        return decline("a number has no axis to contract")
    over = x1.names[-1]
    contracted, column = x2.names[-1], x2.names[:0]
    if len(x2.names) > 1:
        contracted, column = x2.names[-2], x2.names[-1:]
    if over != contracted:
        return decline(f"{over!r}, the last axis of the first, is not contracted in {x2.names}; use vecdot(axis=name)")
    row = x1.names[-2:-1]
    batch = united_sizes(ops.matmul, [_batch_sizes(x1), _batch_sizes(x2)])
    names = (*batch, *row, *column)
    if len(set(names)) < len(names):
        shared = next(name for name in names if names.count(name) > 1)
        return decline(
            f"both have an axis {shared!r} besides {over!r}: vecdot(x1, x2, axis={over!r}) aligns it, and "
            f"x.rename({shared}=...) tells two apart"
        )
    if x1.names[:-2] == batch or not row:
        left = x1.data
    else:
        left = x1.aligned((*batch, *row, over))
    if x2.names[:-2] == batch or not column:
        right = x2.data
    else:
        right = x2.aligned((*batch, over, *column))
    return with_names(ops.matmul(left, right), names)


def _batch_sizes(x: NamedTensor) -> dict[str, int]:
    """Return the lengths of all axes but the last two."""
    return {name: x.sizes[name] for name in x.names[:-2]}


# How many axes the operands of PyTorch's products have.
PRODUCTS = {ops.dot: (1, 1), ops.mv: (2, 1), ops.mm: (2, 2), ops.bmm: (3, 3)}


@implements_each(tuple(PRODUCTS), NamedTensor)
def product_named(op: Any, x1: Any, x2: Any, /) -> Any:
    """Multiply where the operands have as many axes as the product is for."""
    if not all(isinstance(x, (NamedTensor, Tensor)) for x in (x1, x2)):
        return decline("no product with another type")
    if (x1.ndim, x2.ndim) != PRODUCTS[op]:
        return op(inside(x1), inside(x2))  # which says what it takes
    return ops.matmul(x1, x2)


@implements(ops.matmul)
def matmul_named_plain(x1: NamedTensor, x2: Tensor, /) -> Any:
    if x2.ndim != 1:
        return decline(NAMELESS)
    return with_names(ops.matmul(x1.data, x2), x1.names[:-1])


@implements(ops.matmul)
def matmul_plain_named(x1: Tensor, x2: NamedTensor, /) -> Any:
    if x1.ndim != 1:
        return decline(NAMELESS)
    return with_names(ops.matmul(x1, x2.data), (*x2.names[:-2], *x2.names[-1:]) if len(x2.names) > 1 else ())


@implements(ops.vecdot)
def vecdot_named(x1: NamedTensor, x2: NamedTensor, /, *, axis: Any = -1) -> Any:
    names = united_names(ops.vecdot, (x1, x2))
    over = axis
    if not isinstance(axis, str):
        over = x1.names[axis_of("vecdot", x1, axis)]
    if over not in x1.names or over not in x2.names:
        raise ValueError(f"vecdot: axis {over!r} is in one array alone: {x1.names} and {x2.names}")
    place = names.index(over) - len(names)
    result = ops.vecdot(x1.aligned(names), x2.aligned(names), axis=place)
    return with_names(result, tuple(name for name in names if name != over))


@implements(ops.vecdot)
def vecdot_named_plain(x1: NamedTensor, x2: Tensor, /, *, axis: Any = -1) -> Any:
    return _vecdot_with_plain(x1, x2, axis, lambda place: ops.vecdot(x1.data, x2, axis=place))


@implements(ops.vecdot)
def vecdot_plain_named(x1: Tensor, x2: NamedTensor, /, *, axis: Any = -1) -> Any:
    return _vecdot_with_plain(x2, x1, axis, lambda place: ops.vecdot(x1, x2.data, axis=place))


def _vecdot_with_plain(x: NamedTensor, plain: Tensor, axis: Any, compute: Any) -> Any:
    if plain.ndim > len(x.names):
        return decline(NAMELESS)
    place = places(ops.vecdot, x, axis)
    if place >= 0:
        place = place - len(x.names)
    names = [name for i, name in enumerate(x.names) if i - len(x.names) != place]
    return with_names(compute(place), tuple(names))


@implements(ops.tensordot, NamedTensor)
def tensordot_named(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    left, right = _contracted(x1, x2, axes)
    if isinstance(x1, NamedTensor) and isinstance(x2, NamedTensor):
        pairs = [(x1.names[i], x2.names[j]) for i, j in zip(left, right, strict=True)]
        different = [pair for pair in pairs if pair[0] != pair[1]]
        if different:
            return decline(f"axis {different[0][0]!r} is contracted with {different[0][1]!r}; rename one")
    names: list[str] = []
    for x, contracted in ((x1, left), (x2, right)):
        rest = [i for i in range(x.ndim) if i not in contracted]
        if rest and not isinstance(x, NamedTensor):
            return decline(NAMELESS)
        names += [x.names[i] for i in rest]
    if len(set(names)) < len(names):
        return _twice(names)
    return with_names(ops.tensordot(inside(x1), inside(x2), axes=(left, right)), tuple(names))


def _contracted(x1: Any, x2: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes that `tensordot` contracts, counted from the front."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: axes={axes} cannot be contracted in arrays with {x1.ndim} and {x2.ndim} axes")
        return tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    pair = axes
    if not isinstance(axes, (str, tuple, list)):
        raise TypeError(f"tensordot: axes must be an int, or a name, or the axes of each array, found {axes!r}")
    if isinstance(axes, str):
        pair = (axes, axes)
    elif all(isinstance(axis, str) for axis in axes):
        names = tuple(dict.fromkeys(axes))  # NumPy's pair of two axes is one name twice
        pair = (names, names)
    numbers = []
    for x, chosen in zip((x1, x2), pair, strict=True):
        listed = (chosen,) if isinstance(chosen, (int, str)) else tuple(chosen)
        named = places(ops.tensordot, x, listed) if isinstance(x, NamedTensor) else listed
        numbers.append(tuple(axis_of("tensordot", x, axis) for axis in named))
    return numbers[0], numbers[1]


@implements(linalg.outer)
def outer_named(x1: NamedTensor, x2: NamedTensor, /) -> Any:
    names = (*x1.names, *x2.names)
    if len(set(names)) < len(names):
        return _twice(names)
    return with_names(linalg.outer(x1.data, x2.data), names)


@implements(linalg.cross)
def cross_named(x1: NamedTensor, x2: NamedTensor, /, *, axis: Any = -1) -> Any:
    names = united_names(linalg.cross, (x1, x2))
    over = axis
    if not isinstance(axis, str):
        over = x1.names[axis_of("cross", x1, axis)]
    if over not in x1.names or over not in x2.names:
        raise ValueError(f"cross: axis {over!r} is in one array alone: {x1.names} and {x2.names}")
    return with_names(linalg.cross(x1.aligned(names), x2.aligned(names), axis=names.index(over) - len(names)), names)


@implements(ops.einsum, NamedTensor)
def einsum_named(subscripts: str, /, *operands: Any, optimize: Any = True) -> Any:
    inputs, output = _labels(subscripts, operands)
    known: dict[str, str] = {}
    for operand, labels in zip(operands, inputs, strict=True):
        if not isinstance(operand, NamedTensor):
            continue
        here = dict(zip(labels, operand.names, strict=True))
        for label, name in here.items():
            if known.setdefault(label, name) != name:
                return decline(f"{label!r} is the axis {known[label]!r} of one array and {name!r} of another")
    nameless = [label for label in output if label not in known]
    if nameless:
        return decline(NAMELESS)
    names = tuple(known[label] for label in output)
    if len(set(names)) < len(names):
        return _twice(names)
    return with_names(ops.einsum(subscripts, *map(inside, operands), optimize=optimize), names)


def _labels(subscripts: str, operands: tuple[Any, ...]) -> tuple[list[list[str]], list[str]]:
    """Return a label for each axis of the operands of an `einsum` and of its result; those of ``...`` are numbers.

    Raises
    ------
    ValueError : if the subscripts do not fit the operands
    """
    text, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = text.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {subscripts!r} is for {len(terms)} arrays, found {len(operands)}")
    inputs = []
    for term, operand in zip(terms, operands, strict=True):
        before, dots, after = term.partition("...")
        rest = operand.ndim - len(before) - len(after)
        if rest < 0 or (rest and not dots):
            raise ValueError(f"einsum: {term!r} is not for an array of {operand.ndim} axes")
        inputs.append([*before, *map(str, range(-rest, 0)), *after])
    spread = sorted({label for labels in inputs for label in labels if label.startswith("-")}, key=int)
    if arrow:
        before, _, after = result.partition("...")
        return inputs, [*before, *(spread if "..." in result else ()), *after]
    letters = [label for labels in inputs for label in labels if not label.startswith("-")]
    return inputs, [*spread, *sorted(letter for letter in set(letters) if letters.count(letter) == 1)]


# Linear algebra.


@implements(linalg.trace)
def trace_named(x: NamedTensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return with_names(linalg.trace(x.data, offset=offset, dtype=dtype), x.names[:-2])


@implements(linalg.det)
def det_named(x: NamedTensor, /) -> Any:
    return with_names(linalg.det(x.data), x.names[:-2])


@implements(linalg.slogdet)
def slogdet_named(x: NamedTensor, /) -> Any:
    return with_names(linalg.slogdet(x.data), x.names[:-2])


@implements(linalg.inv)
def inv_named(x: NamedTensor, /) -> Any:
    return with_names(linalg.inv(x.data), (*x.names[:-2], *x.names[:-3:-1]))


@implements(linalg.pinv)
def pinv_named(x: NamedTensor, /, *, rtol: Any = None) -> Any:
    return with_names(linalg.pinv(x.data, rtol=rtol), (*x.names[:-2], *x.names[:-3:-1]))


@implements(linalg.solve)
def solve_named(x1: NamedTensor, x2: NamedTensor, /) -> Any:
    if len(x1.names) < 2 or not x2.names:
        return decline("a system needs a matrix and a right-hand side")
    row, column = x1.names[-2:]
    rest = x2.names[-1:] if len(x2.names) > 1 else ()
    if row != x2.names[0 if not rest else -2] or column in x2.names:
        return decline(f"the rows of the matrix are {row!r}, and those of the right-hand side are in {x2.names}")
    if x1.names[:-2] != x2.names[:-2]:
        return decline(f"the batches have different names: {x1.names[:-2]} and {x2.names[:-2]}")
    return with_names(linalg.solve(x1.data, x2.data), (*x2.names[:-2], column, *rest))
