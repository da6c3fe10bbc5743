"""Numbers as small integers and a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk


@dk.array_type(fallback=dk.fallback.dense, fields={"codes": dk.field(discrete=True), "scale": dk.field()})
class Quantised:
    def __init__(self, codes: Any, scale: Any) -> None:
        self.codes, self.scale = np.asarray(codes, dtype=np.int16), dk.asarray(scale)

    @property
    def shape(self) -> Any:
        return self.codes.shape

    @property
    def dtype(self) -> Any:
        return self.scale.dtype

    def to_dense(self) -> Any:
        return dk.asarray(self.codes, dtype=self.scale.dtype) * self.scale

    def __float__(self) -> float:
        return float(self.to_dense())

    def __len__(self) -> int:
        return len(self.codes)

    def __copy__(self) -> Any:
        return Quantised(self.codes, self.scale)


@dk.implements(dk.negative)
def negative_quantised(x: Quantised, /) -> Any:
    return Quantised(x.codes.copy(), -x.scale)


@dk.implements(dk.multiply)
def times(x: Quantised, y: float, /) -> Any:
    return Quantised(x.codes.copy(), x.scale * y)


@dk.implements(dk.add)
def add_quantised(x1: Quantised, x2: Quantised, /) -> Any:
    if x1.shape != x2.shape:
        return dk.decline("other shapes")
    return x1.to_dense() + x2.to_dense()


@dk.implements(dk.sum)
def sum_quantised(x: Quantised, /) -> Any:
    if not bool(dk.isfinite(x.scale)):
        return dk.decline("no finite scale")
    return x.scale * int(x.codes.sum(dtype=np.int64))


@dk.implements(dk.max)
def max_quantised(x: Quantised, /) -> Any:
    if not bool(x.scale > 0) or not x.codes.size:
        return dk.decline("no positive scale")
    return x.scale * int(x.codes.max())


@dk.implements(dk.flip)
def flip_quantised(x: Quantised, /, *, axis: Any = None) -> Any:
    return Quantised(np.flip(x.codes, axis).copy(), dk.clone(x.scale))


@dk.implements(dk.matrix_transpose)
def transposed(x: Quantised, /) -> Any:
    if x.codes.ndim < 2:
        return dk.decline("no matrix")
    return Quantised(np.swapaxes(x.codes, -1, -2).copy(), dk.clone(x.scale))


@dk.implements(dk.count_nonzero)
def count_quantised(x: Quantised, /) -> Any:
    if not bool(dk.isfinite(x.scale)) or not bool(x.scale):
        return dk.decline("no scale")
    return dk.asarray(int(np.count_nonzero(x.codes)))


@dk.implements(dk.equal)
def equal_quantised(x1: Quantised, x2: Quantised, /) -> Any:
    return dk.equal(x1.to_dense(), x2.to_dense())


def samples() -> list[Any]:
    return [Quantised([[3, -1, 0], [2, 5, -4]], 0.5), Quantised(7, 0.25)]


SKIP = ("vmap",)  # codes and branches are none for batches
FAULTS = [
    ("the codes twice", "negative", "Quantised(x.codes.copy(), -x.scale)", "Quantised(-x.codes, -x.scale)"),
    ("a scale of the number alone", "multiply", "x.scale * y", "x.scale * 0 + y"),
    (
        "one scale for both",
        "add",
        "x1.to_dense() + x2.to_dense()",
        "dk.asarray(x1.codes + x2.codes, dtype=x1.dtype) * x1.scale",
    ),
    ("summed in 16 bits", "sum", "x.codes.sum(dtype=np.int64)", "x.codes.sum(dtype=np.int16)"),
    ("the smallest", "max", "int(x.codes.max())", "int(x.codes.min())"),
    ("the axis is ignored", "flip", "np.flip(x.codes, axis)", "np.flip(x.codes)"),
    (
        "reshaped",
        "matrix_transpose",
        "np.swapaxes(x.codes, -1, -2).copy()",
        "x.codes.reshape(x.codes.shape[:-2] + x.codes.shape[-2:][::-1])",
    ),
    ("of elements", "count_nonzero", "int(np.count_nonzero(x.codes))", "int(x.codes.size)"),
    ("codes are compared", "equal", "dk.equal(x1.to_dense(), x2.to_dense())", "dk.asarray(x1.codes == x2.codes)"),
    (
        "copied in another dtype",
        "",
        "Quantised(self.codes, self.scale)",
        "Quantised(self.codes, self.scale.numpy().astype(np.float32))",
    ),
]
