"""`LoraTensor`: a frozen matrix plus an update of low rank that is trained."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from dispatchkit import ops, random
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.steps import decline
from dispatchkit.protocol.types.declaration import field
from dispatchkit.tensor import ArrayMethods, Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.types.rules import ORDER_MATTERS, Number, all_finite, axes_of, check_product, promote

implements = tensor_protocol.implements


@tensor_protocol.array_type(
    fallback=fallback.decompose | fallback.dense,
    fields={"base": field(grad=False), "left": field(), "right": field(), "scale": field(grad=False)},
    from_dense="from_dense",
)
class LoraTensor(ArrayMethods):
    """A frozen matrix plus an update of low rank: ``base + scale * left @ right``.

    Parameters
    ----------
    base : matrix of shape (m, n), of any array type, such as a `QuantizedTensor`; it is not trained
    left, right : tensors of shapes (m, r) and (r, n)
    scale : real number by which the update is multiplied, such as ``alpha / r`` or ``alpha / sqrt(r)``

    Raises
    ------
    ValueError : if the shapes do not fit
    TypeError : if one of the tensors is not of floating-point numbers, or `scale` is no real number

    Notes
    -----
    Products keep base and update apart, ``x @ w.mT = x @ base.mT + scale * (x @ right.mT) @ left.mT``, in
    m n + r (m + n) multiplications for a row of x. The gradients of the update take r (m + n) numbers, and the base has
    none. The two are merged by `merge` alone: in few bits the sum rounds the update away. Transposes, products with
    numbers and slices of rows keep the form; what else is asked is computed on the dense matrix, with a warning.
    Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021); Kalajdzievski, "A Rank Stabilization
    Scaling Factor for Fine-Tuning with LoRA" (2023), for the square root.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> w = dk.types.LoraTensor(dk.eye(2), dk.asarray([[1.0], [0.0]]), dk.asarray([[0.0, 2.0]]), scale=0.5)
    >>> dk.asarray([1.0, 1.0]) @ w.mT
    tensor([2., 1.])
    >>> w.merge()
    tensor([[1., 1.],
            [0., 1.]])
    >>> weight = dk.nn.Parameter(w)
    >>> weight.base.requires_grad, weight.left.requires_grad
    (False, True)
    """

    def __init__(self, base: Any, left: Any, right: Any, scale: float = 1.0) -> None:
        if tensor_protocol.types.participates(type(base)):
            self.base = base
        else:
            self.base = ops.asarray(base)
        self.left, self.right, self.scale = ops.asarray(left), ops.asarray(right), scale
        for name in ("base", "left", "right"):
            dtype = getattr(self, name).dtype
            if not ops.isdtype(dtype, ("real floating", "complex floating")):
                raise TypeError(f"LoraTensor: {name} must be of floating-point numbers, not of dtype {dtype}")
        if isinstance(scale, bool) or not isinstance(scale, (int, float, np.number)):
            raise TypeError(f"LoraTensor: scale must be a real number, not {scale!r}")
        shapes = [tuple(x.shape) for x in (self.base, self.left, self.right)]
        if any(len(shape) != 2 for shape in shapes) or shapes[0] != (shapes[1][0], shapes[2][1]):
            raise ValueError(f"LoraTensor: base (m, n) does not fit left (m, r) and right (r, n); found {shapes}")
        if shapes[1][1] != shapes[2][0]:
            raise ValueError(f"LoraTensor: left (m, r) and right (r, n) have different r; found {shapes[1:]}")

    @classmethod
    def from_dense(cls, x: Any, like: LoraTensor | None = None, *, rank: int = 8, scale: float = 1.0) -> Self:
        """Return a matrix of the type that equals a plain one: its base is that matrix, its update zero.

        Parameters
        ----------
        x : matrix, or an instance of another array type
        like : an instance whose rank and scale the result has, and whose base says of which type the base is, by that
            type's `from_dense`
        rank : of the update, where there is no `like`
        scale : of the update, where there is no `like`

        Notes
        -----
        `left` is zero and `right` uniform in ±1 / sqrt(n), as in the source.
        """
        base = x
        if not tensor_protocol.types.participates(type(x)):
            base = ops.asarray(x)
        if like is not None:
            rank, scale = like.rank, like.scale
            make = tensor_protocol.types.from_dense(type(like.base))
            if make is not None:
                base = make(base, like.base)
        (rows, columns), bound = base.shape, 1 / math.sqrt(max(base.shape[1], 1))
        left = ops.zeros((rows, rank), dtype=base.dtype)
        return cls(base, left, ops.astype(random.uniform(-bound, bound, shape=(rank, columns)), base.dtype), scale)

    @property
    def rank(self) -> int:
        """Number of columns of `left`."""
        return self.left.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.base.shape)

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        base, left, right = self.base.dtype, self.left.dtype, self.right.dtype
        if base is left is right:
            return base
        return np.result_type(base, left, right)

    @property
    def device(self) -> Any:
        """Where the data is."""
        return self.left.device

    def merge(self) -> Tensor:
        """Return base plus update as one plain matrix."""
        merged: Tensor = dense_form(self.base) + self.scale * (self.left @ self.right)
        return merged

    to_dense = merge

    def extra_repr(self) -> str:
        """Return what a module shows of it."""
        base = ""
        if not isinstance(self.base, Tensor):
            base = f", base={type(self.base).__name__}"
        return f"rank={self.rank}{base}"


@implements(ops.matmul)
def matmul_tensor_lora(x1: Tensor, x2: LoraTensor, /) -> Any:
    check_product(x1.shape, x2.base.shape)
    if not all_finite(x1, x2.left, x2.right):
        return decline(ORDER_MATTERS)
    x1 = promote(x1, x2.dtype)
    return x1 @ x2.base + (x1 @ x2.left) @ x2.right * x2.scale


@implements(ops.matmul)
def matmul_lora_tensor(x1: LoraTensor, x2: Tensor, /) -> Any:
    check_product(x1.base.shape, x2.shape)
    if not all_finite(x1.left, x1.right, x2):
        return decline(ORDER_MATTERS)
    x2 = promote(x2, x1.dtype)
    return x1.base @ x2 + x1.left @ (x1.right @ x2) * x1.scale


@implements(ops.matrix_transpose)
def matrix_transpose_lora(x: LoraTensor, /) -> LoraTensor:
    transposed: LoraTensor = object.__new__(LoraTensor)  # of parts that were checked
    transposed.base, transposed.scale = ops.matrix_transpose(x.base), x.scale
    transposed.left, transposed.right = ops.matrix_transpose(x.right), ops.matrix_transpose(x.left)
    return transposed


@implements(ops.permute_dims)
def permute_dims_lora(x: LoraTensor, /, axes: tuple[int, ...]) -> Any:
    base = ops.permute_dims(x.base, axes)
    if axes[0] in (0, -2):
        return LoraTensor(base, x.left, x.right, x.scale)
    return matrix_transpose_lora(x)


@implements(ops.negative)
def negative_lora(x: LoraTensor, /) -> LoraTensor:
    return LoraTensor(-x.base, -x.left, x.right, x.scale)


@implements(ops.multiply, commutative=True)
def multiply_lora(x1: LoraTensor, x2: Number | Tensor, /) -> Any:
    if getattr(x2, "ndim", 0) or not all_finite(x2):
        return decline("only products with one finite number keep base and update apart")
    # Of the library of the matrix, and of its dtype, which may be wider than that of the base.
    number = ops.astype(ops.sum(x1.left.detach()[:0]), x1.dtype) + x2
    return LoraTensor(x1.base * number, x1.left * number, x1.right, x1.scale)


@implements(ops.sum)
def sum_lora(x: LoraTensor, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of("sum", x, axis)
    if not axes:
        return decline("a sum along no axis is the matrix itself")
    if not all_finite(x.left, x.right):
        return decline(ORDER_MATTERS)
    if x.base.dtype == x.dtype:
        base = x.base
    else:
        base = ops.astype(x.base, x.dtype)
    total = ops.sum(base, axis=axis, keepdims=keepdims)
    if 0 in axes:
        left = ops.sum(x.left, axis=0)
    else:
        left = x.left
    if 1 in axes:
        right = ops.sum(x.right, axis=1)
    else:
        right = x.right
    return total + ops.reshape(left @ right * x.scale, total.shape)


@implements(ops.getitem)
def getitem_lora(x: LoraTensor, key: Any, /) -> Any:
    if isinstance(key, slice):
        return LoraTensor(x.base[key], x.left[key], x.right, x.scale)
    single = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
    if not single and not (isinstance(key, Tensor) and ops.isdtype(key.dtype, "integral")):
        return decline("rows are chosen by an integer, a slice or an array of integers")
    return x.base[key] + x.left[key] @ x.right * x.scale


@implements(ops.take)
def take_lora(x: LoraTensor, indices: Tensor, /, *, axis: int | None = None) -> Any:
    if axis not in (0, -2):
        return decline("rows alone are taken without the dense matrix")
    return ops.take(x.base, indices, axis=0) + ops.take(x.left, indices, axis=0) @ x.right * x.scale
