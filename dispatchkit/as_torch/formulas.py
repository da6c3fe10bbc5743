"""The functions of PyTorch that are no operation and whose meaning is an expression of one line.

Parameters have the names and defaults that they have in PyTorch.
"""

from __future__ import annotations

import numpy as np

from dispatchkit.as_torch.shared import index_along, several, times
from dispatchkit.as_torch.table import TRANSLATIONS, Function
from dispatchkit.declare.namespace import tensor_namespace as xp

FORMULAS: dict[str, Function] = {
    # Of elements.
    "add": lambda input, other, *, alpha=1: xp.add(input, times(other, alpha)),
    "addcdiv": lambda input, tensor1, tensor2, *, value=1: input + times(tensor1 / tensor2, value),
    "addcmul": lambda input, tensor1, tensor2, *, value=1: input + times(tensor1 * tensor2, value),
    "ldexp": lambda input, other: input * xp.pow(2.0, xp.astype(other, xp.result_type(input, 1.0))),
    "lerp": lambda input, end, weight: input + weight * (end - input),
    "masked_fill": lambda input, mask, value: xp.where(mask, value, input),
    "polar": lambda abs, angle: abs * xp.exp(1j * angle),
    "rsub": lambda input, other, *, alpha=1: xp.subtract(other, times(input, alpha)),
    "sub": lambda input, other, *, alpha=1: xp.subtract(input, times(other, alpha)),
    "nn.functional.hardshrink": lambda input, lambd=0.5: xp.where(xp.abs(input) > lambd, input, xp.zeros_like(input)),
    "nn.functional.softshrink": lambda input, lambd=0.5: input - xp.clip(input, -lambd, lambd),
    # Of places.
    "index_copy": lambda input, dim, index, source: xp.index_put(input, index_along(dim, index, input.ndim), source),
    "index_select": lambda input, dim, index: xp.take(input, index, axis=dim),
    "masked_select": lambda input, mask: xp.getitem(*xp.broadcast_arrays(input, mask)),
    "nonzero": lambda input, *, as_tuple=False: xp.nonzero(input) if as_tuple else xp.argwhere(input),
    "select": lambda input, dim, index: input[index_along(dim, index, input.ndim)],
    # Of shapes.
    "atleast_1d": lambda *tensors: np.atleast_1d(*several(tensors)),
    "atleast_2d": lambda *tensors: np.atleast_2d(*several(tensors)),
    "atleast_3d": lambda *tensors: np.atleast_3d(*several(tensors)),
    "broadcast_tensors": lambda *tensors: xp.broadcast_arrays(*several(tensors)),
    "meshgrid": lambda *tensors, indexing="ij": xp.meshgrid(*several(tensors), indexing=indexing),
    "tensor_split": lambda input, sections, dim=0: tuple(np.array_split(input, sections, dim)),
    # Of matrices.
    "addmm": lambda input, mat1, mat2, *, beta=1, alpha=1: times(input, beta) + times(mat1 @ mat2, alpha),
    "dist": lambda input, other, p=2: xp.linalg.vector_norm(input - other, ord=p),
    "einsum": lambda *args: np.einsum(args[0], *several(args[1:])),
    # Of arrays as a whole.
    "equal": lambda input, other: input.shape == other.shape and bool(xp.all(input == other)),
    "is_complex": lambda input: bool(xp.isdtype(input.dtype, "complex floating")),
    "is_floating_point": lambda input: bool(xp.isdtype(input.dtype, "real floating")),
    "numel": lambda input: int(input.size),
}
FORMULAS |= {"subtract": FORMULAS["sub"], "addmv": FORMULAS["addmm"], "baddbmm": FORMULAS["addmm"]}
TRANSLATIONS.update(FORMULAS)
