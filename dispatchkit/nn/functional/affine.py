"""Products with a weight: `linear`, `bilinear`; and rows chosen by number: `embedding`, `one_hot`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dispatchkit.backends.numpy import numpy_namespace, rows_added
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.wrapping import holds
from dispatchkit.nn.functional.shared import expect, function
from dispatchkit.ops.shared import Named, conjugate, integer, shape_of
from dispatchkit.tensor import Tensor

__all__ = ["embedding", "linear", "one_hot"]


@function(
    samples=lambda: [
        sample(draw(2, 3), draw(4, 3), draw(4)),
        sample(draw(2, 3), draw(4, 3)),
        sample(draw(3), draw(2, 3), draw(2)),
        sample(draw(2, 2, 3), draw(2, 3), draw(2)),
        sample(draw(2, 3), draw(3), draw()),
        sample(draw(0, 3), draw(2, 3), draw(2)),
    ],
)
def linear(xp: Any, x: Tensor, weight: Tensor, /, bias: Tensor | None = None) -> Tensor:
    """Multiply vectors by a matrix and add a bias.

    Parameters
    ----------
    x : array of shape (..., in_features)
    weight : array of shape (out_features, in_features), or (in_features,)
    bias : array of shape (out_features,), or () for a weight of one axis; none is added if None

    Returns
    -------
    array of shape (..., out_features), or (...) for a weight of one axis

    Raises
    ------
    ValueError : if the shapes do not fit

    Notes
    -----
    ``x @ weight.T + bias``, with cotangents ``g @ weight``, ``g.T @ x`` and the sum of ``g``. Source: PyTorch,
    `torch.nn.functional.linear`.

    Examples
    --------
    >>> dk.nn.functional.linear(dk.asarray([1.0, 2.0]), dk.asarray([[1.0, 1.0], [0.0, 3.0]]), dk.asarray([0.5, 0.0]))
    tensor([3.5000, 6.0000])
    """
    _check(x, weight, bias)
    if xp is numpy_namespace:
        return _on_numpy(x, weight, bias)
    y = xp.matmul(x, xp.matrix_transpose(weight) if len(weight.shape) == 2 else weight)
    if bias is None:
        return y
    return xp.add(y, bias)


def _check(x: Any, weight: Any, bias: Any) -> None:
    of_x, of_weight = shape_of(x), shape_of(weight)
    if bias is None:
        of_bias = of_weight[:-1]
    else:
        of_bias = shape_of(bias)
    if len(of_weight) in (1, 2) and of_x and of_x[-1] == of_weight[-1] and of_bias == of_weight[:-1]:
        return
    expect(linear, "weight", of_weight, len(of_weight) in (1, 2), "(out_features, in_features)")
    right, behind = bool(of_x) and of_x[-1] == of_weight[-1], f"for a weight of shape {of_weight}"
    expect(linear, "x", of_x, right, f"(..., {of_weight[-1]}) {behind}")
    expect(linear, "bias", of_bias, False, f"{of_weight[:-1]} {behind}")


def _on_numpy(x: Any, weight: Any, bias: Any) -> Any:
    """Compute without a second array for the sum, and with one product of matrices for all of a batch."""
    if weight.ndim == 2 and x.ndim > 2:
        # The product is written to an array with memory of its own: of a view it would be asked whose memory it shows.
        rows = x.reshape(prod(x.shape[:-1]), x.shape[-1])
        y = np.empty((*x.shape[:-1], weight.shape[0]), np.result_type(x, weight))
        np.matmul(rows, weight.T, out=y.reshape(len(rows), weight.shape[0]))
    else:
        y = x @ weight.T
    if bias is None:
        return y
    if y.ndim == 0 or y.dtype != bias.dtype:
        return y + bias
    y += bias
    return y


@linear.def_vjp("x")
def linear_vjp_x(xp, g, weight):
    weight = conjugate(xp, weight)
    if weight.ndim == 1:
        return g[..., None] * weight
    return xp.matmul(g, weight)


@linear.def_vjp("weight")
def linear_vjp_weight(xp, g, x):
    x = conjugate(xp, x)
    rows = x
    if x.ndim != 2:
        rows = xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    if g.ndim < x.ndim:
        return xp.matmul(xp.reshape(g, (rows.shape[0],)), rows)
    # In the layout of the weight, so that an optimiser's step runs through both in order.
    return xp.matmul(xp.matrix_transpose(xp.reshape(g, (rows.shape[0], g.shape[-1]))), rows)


@linear.def_vjp("bias", shapes=("weight",))
def linear_vjp_bias(xp, g, weight):
    return xp.sum(g, axis=tuple(range(g.ndim - weight.ndim + 1)))


@linear.def_jvp("x")
def linear_jvp_x(xp, t, weight):
    return xp.matmul(t, xp.matrix_transpose(weight) if weight.ndim == 2 else weight)


@linear.def_jvp("weight")
def linear_jvp_weight(xp, t, x, weight):
    return xp.matmul(x, xp.matrix_transpose(t) if weight.ndim == 2 else t)


@linear.def_jvp("bias")
def linear_jvp_bias(xp, t, y):
    return xp.broadcast_to(t, y.shape)


@function(
    samples=lambda: [
        sample(draw(4, low=0, high=2, content="integer"), draw(3, 2)),
        sample(draw(2, 2, low=0, high=2, content="integer"), draw(3, 2), padding_idx=1, differentiable=False),
        sample(draw(low=0, high=2, content="integer"), draw(3, 2), padding_idx=-1, differentiable=False),
        sample(draw(0, 2, low=0, high=2, content="integer"), draw(3, 2)),
    ],
)
def embedding(xp: Any, x: Tensor, weight: Tensor, /, *, padding_idx: int | None = None) -> Tensor:
    """Look up rows of a table.

    Parameters
    ----------
    x : numbers of rows, array of integers of shape (...)
    weight : the table, array of shape (num_embeddings, embedding_dim)
    padding_idx : of the row that gets no gradient; negative ones count from the end

    Returns
    -------
    array of shape (..., embedding_dim)

    Raises
    ------
    TypeError : if `x` is not of integers
    IndexError : if there is no row of a number; they count from 0, negative ones are refused
    ValueError : if the weight is no matrix, or `padding_idx` is none of its rows

    Notes
    -----
    Linear in the weight: each row receives the sum of the cotangents of its copies, that of `padding_idx` none, which
    then is no gradient in the strict sense. Source: PyTorch, `torch.nn.functional.embedding`.

    Examples
    --------
    >>> table = dk.asarray([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
    >>> dk.nn.functional.embedding(dk.asarray([2, 1]), table)
    tensor([[3., 4.],
            [1., 2.]])
    """
    return _rows_of_table(xp, x, weight, padding_idx)


def _rows_of_table(xp: Any, x: Any, weight: Any, padding_idx: int | None) -> Any:
    expect(embedding, "weight", shape_of(weight), len(shape_of(weight)) == 2, "(num_embeddings, embedding_dim)")
    padding = padding_row(embedding, padding_idx, weight.shape[0])
    if not hasattr(x, "dtype"):
        x = xp.asarray(x)  # a number, as rules of types give it
    _numbers_below(xp, embedding, x, weight.shape[0], f"a weight of shape {shape_of(weight)}")
    rows = xp.reshape(xp.take(weight, xp.reshape(x, (-1,)), axis=0), (*x.shape, weight.shape[1]))
    if padding is None or not hasattr(rows, "detach"):
        return rows
    # Where the body itself is differentiated, the row of the padding is a constant.
    return xp.where((x == padding)[..., None], rows.detach(), rows)


@embedding.def_kernel("numpy")
def embedding_numpy(x, weight, /, *, padding_idx=None):
    plain = type(x) is type(weight) is np.ndarray and padding_idx is None
    if not plain or x.dtype.kind not in "iu" or not x.size or weight.ndim != 2:
        return _rows_of_table(numpy_namespace, x, weight, padding_idx)
    # To find the place of the least takes less than to reduce to it.
    if x.item(x.argmin()) < 0 or x.item(x.argmax()) >= len(weight):
        return _rows_of_table(numpy_namespace, x, weight, padding_idx)  # which says what is wrong
    return weight.take(x, axis=0)


@embedding.def_vjp("weight", shapes=("weight",))
def embedding_vjp_weight(xp, g, x, weight, padding_idx):
    if type(x) is type(g) is np.ndarray and padding_idx is None:
        return rows_added(g, x, weight.shape)
    # A stretched zero takes no memory: what is put into is copied once.
    nothing = xp.broadcast_to(xp.zeros((), dtype=g.dtype), tuple(weight.shape))
    return xp.index_put(nothing, x, _without_padding(xp, g, x, weight, padding_idx), accumulate=True)


@embedding.def_jvp("weight")
def embedding_jvp_weight(xp, t, y, x, weight, padding_idx):
    rows = xp.reshape(xp.take(t, xp.reshape(x, (-1,)), axis=0), y.shape)
    return _without_padding(xp, rows, x, weight, padding_idx)


def _without_padding(xp: Any, rows: Any, x: Any, weight: Any, padding_idx: int | None) -> Any:
    """Return rows that belong to numbers, zeros for those of the padding."""
    row = padding_row(embedding, padding_idx, weight.shape[0])
    if row is None:
        return rows
    return xp.where((x == row)[..., None], xp.zeros_like(rows), rows)


def padding_row(op: Named, padding_idx: int | None, count: int) -> int | None:
    """Return the row without gradient of a weight of so many, counted from the first one."""
    if padding_idx is None:
        return None
    row = integer(op, "padding_idx", padding_idx)
    if not -count <= row < count:
        raise ValueError(
            f"{op.__name__}: padding_idx must be a row of the weight, from {-count} to {count - 1}, found {row}"
        )
    return row % count


def _numbers_below(xp: Any, op: Named, x: Any, count: int, what: str) -> None:
    """Raise if elements are not integers from 0 on and below a number.

    Raises
    ------
    TypeError : for another dtype
    IndexError : naming the range
    """
    if not hasattr(x, "dtype") or not xp.isdtype(x.dtype, "integral"):
        dtype = getattr(x, "dtype", type(x).__name__)
        raise TypeError(f"{op.__name__}: argument 'x' must be of integers, found {dtype}")
    if not holds((x >= 0) & (x < count), traced=True):
        raise IndexError(f"{op.__name__}: argument 'x' must be of integers from 0 to {count - 1} for {what}")


@function(
    differentiable=False,
    samples=lambda: [
        sample(draw(4, low=0, high=2, content="integer"), num_classes=3),
        sample(draw(2, 2, low=0, high=2, content="integer"), num_classes=5),
        sample(draw(low=0, high=2, content="integer"), num_classes=3),
    ],
)
def one_hot(xp: Any, x: Tensor, /, num_classes: int = -1) -> Tensor:
    """Represent each number by a vector with a one at its place, zeros elsewhere.

    Parameters
    ----------
    x : array of integers of shape (...), from 0 on
    num_classes : length of the vectors; -1 means one more than the largest number

    Returns
    -------
    array of the shape (..., num_classes) and the dtype of `x`

    Raises
    ------
    TypeError : if `x` is not of integers
    IndexError : if a number is negative or not below `num_classes`
    ValueError : if `num_classes` is 0 or less than -1, or -1 and there are no numbers

    Notes
    -----
    Source: PyTorch, `torch.nn.functional.one_hot`.

    Examples
    --------
    >>> dk.nn.functional.one_hot(dk.asarray([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    count = integer(one_hot, "num_classes", num_classes, least=-1)
    if count == -1:
        if not x.size:
            raise ValueError(f"{one_hot.__name__}: num_classes must be given for an array without elements")
        count = int(xp.max(x)) + 1
    elif count == 0:
        raise ValueError(f"{one_hot.__name__}: num_classes must be positive, found 0")
    _numbers_below(xp, one_hot, x, count, f"{count} classes")
    return xp.astype(x[..., None] == xp.arange(count, dtype=x.dtype), x.dtype)
