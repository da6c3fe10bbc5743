"""The functions of PyTorch that are no operation and whose meaning is an expression of one line.

Parameters have the names and defaults that they have in PyTorch.
"""

from __future__ import annotations

import math
import string
from itertools import accumulate
from typing import Any

import numpy as np

from dispatchkit.as_torch.factors import linalg_lu_solve
from dispatchkit.as_torch.functions import narrow, split
from dispatchkit.as_torch.further_functions import lgamma
from dispatchkit.as_torch.shared import (
    in_dtype_of,
    in_floats,
    in_single_precision,
    index_along,
    kept,
    norm_of_vectors,
    number_for,
    of_parts,
    product_times,
    scaled_product,
    several,
    times,
)
from dispatchkit.as_torch.table import TRANSLATIONS, Function
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.source import with_name
from dispatchkit.protocol.kinds import kinds

LOG_PI = math.log(math.pi)


def with_axes(function: Function, tensors: tuple[object, ...]) -> object:
    """Return what a function makes of one tensor, or a tuple of what it makes of several."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tuple(map(function, tensors[0]))
    if len(tensors) == 1:
        return function(tensors[0])
    return tuple(map(function, tensors))


def einsum(*args: Any) -> Any:
    """Return a sum of products by subscripts; axes under dots that the result has no place for are summed over."""
    operands = several(args[1:])
    if not isinstance(args[0], str):
        return np.einsum(args[0], *operands)  # subscripts in lists of integers
    if "..." not in args[0]:
        return xp.einsum(args[0], *operands)
    inputs, arrow, output = args[0].replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow or "..." in output or len(terms) != len(operands):
        return xp.einsum(args[0], *operands)
    free = [letter for letter in string.ascii_letters if letter not in args[0]]
    for place, (term, x) in enumerate(zip(terms, operands, strict=True)):
        covered = x.ndim - len(term.replace("...", ""))
        terms[place] = term.replace("...", "".join(reversed(free[: max(covered, 0)])))
    return xp.einsum(f"{','.join(terms)}->{output}", *operands)


def one_by_one(x: Any, parts: Any, dim: int) -> Any:
    """Return parts along an axis, each a view by itself, so that programs may change it in place.

    Parameters
    ----------
    x : tensor
    parts : for each the places of its elements along the axis
    dim : the axis
    """
    ends = accumulate(map(len, parts))
    return tuple([narrow(x, dim, end - len(part), len(part)) for part, end in zip(parts, ends, strict=True)])


@operation(kind=kinds.elementwise, namespace="torch")
def exp2(xp: Any, x: Any, /) -> Any:
    """Return powers of 2, whose derivative reads the result."""
    return xp.pow(2.0, x)


@operation(kind=kinds.elementwise, namespace="torch")
def ldexp(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return products with powers of 2, whose derivatives read the exponent and the result."""
    return x1 * xp.pow(2.0, x2)


@ldexp.def_partial("x1")
def ldexp_partial_x1(x2: Any) -> Any:
    return 2.0**x2


@operation(kind=kinds.elementwise, namespace="torch")
def reciprocal(xp: Any, x: Any, /) -> Any:
    """Return 1 divided by numbers; the derivative reads the result."""
    return xp.reciprocal(x)


exp2.def_partial(lambda y: math.log(2) * y)
reciprocal.def_partial(lambda y: -y * y)
ldexp.def_partial("x2")(lambda y: math.log(2) * y)

_FORMULAS: dict[str, Function] = {
    # Of elements.
    "complex": of_parts,
    "fill": lambda input, value: xp.where(xp.ones_like(input, dtype=xp.bool), in_dtype_of(input, value), input),
    "frac": lambda input: input - xp.trunc(input),
    "add": lambda input, other, alpha=1: xp.add(input, times(other, alpha, input)),
    "addcdiv": lambda input, tensor1, tensor2, *, value=1: input + times(tensor1 / tensor2, value),
    "addcmul": lambda input, tensor1, tensor2, *, value=1: input + times(tensor1 * tensor2, value),
    "exp2": lambda input: exp2(in_floats(input)),
    "special.exp2": lambda input: exp2(in_floats(input)),
    "ldexp": lambda input, other: ldexp(input, xp.astype(other, xp.result_type(input, 1.0))),
    "masked_fill": lambda input, mask, value: xp.where(mask, number_for(input, value), input),
    "polar": lambda abs, angle: abs * xp.exp(1j * angle),
    "reciprocal": lambda input: reciprocal(in_floats(input)),
    "rsub": lambda input, other, alpha=1: xp.subtract(other, times(input, alpha)),
    "sub": lambda input, other, alpha=1: xp.subtract(input, times(other, alpha, input)),
    "nn.functional.hardshrink": lambda input, lambd=0.5: xp.where(xp.abs(input) <= lambd, xp.zeros_like(input), input),
    "nn.functional.tanhshrink": lambda input: input - xp.tanh(input),
    "nn.functional.softshrink": lambda input, lambd=0.5: input - xp.clip(input, -lambd, lambd),
    "mvlgamma": lambda input, p: p * (p - 1) / 4 * LOG_PI + sum(lgamma(input - i / 2) for i in range(p)),
    "special.spherical_bessel_j0": lambda input: xp.where(xp.isinf(input), 0.0, np.sinc(input / math.pi)),
    # Of places.
    "msort": lambda input: xp.sort(input, axis=0) if input.ndim else xp.clone(input),
    "select_scatter": lambda input, src, dim, index: xp.index_put(input, index_along(input, dim, index), src),
    "index_copy": lambda input, dim, index, source: xp.index_put(
        input, index_along(input, dim, xp.reshape(index, (-1,))), source
    ),
    "masked_select": lambda input, mask: xp.getitem(*xp.broadcast_arrays(input, mask)),
    "nonzero": lambda input, *, as_tuple=False: np.nonzero(np.atleast_1d(input)) if as_tuple else xp.argwhere(input),
    "select": lambda input, dim, index: input[index_along(input, dim, index)],
    # Of shapes.
    "constant_pad_nd": lambda input, pad, value=0: TRANSLATIONS["nn.functional.pad"](input, pad, value=value),
    "atleast_1d": lambda *tensors: with_axes(np.atleast_1d, tensors),
    "atleast_2d": lambda *tensors: with_axes(np.atleast_2d, tensors),
    "atleast_3d": lambda *tensors: with_axes(np.atleast_3d, tensors),
    "broadcast_tensors": lambda *tensors: xp.broadcast_arrays(*several(tensors)),
    "meshgrid": lambda *tensors, indexing="ij": xp.meshgrid(*several(tensors), indexing=indexing or "ij"),
    "split_with_sizes": lambda input, split_sizes, dim=0: split(input, split_sizes, dim),
    "unsafe_split": lambda tensor, split_size_or_sections, dim=0: one_by_one(
        tensor, split(xp.arange(tensor.shape[dim]), split_size_or_sections), dim
    ),
    "unsafe_split_with_sizes": lambda input, split_sizes, dim=0: one_by_one(
        input, split(xp.arange(input.shape[dim]), split_sizes), dim
    ),
    "unsafe_chunk": lambda input, chunks, dim=0: one_by_one(input, xp.chunk(xp.arange(input.shape[dim]), chunks), dim),
    "tensor_split": lambda input, sections, dim=0: tuple(np.array_split(input, sections, dim)),
    # Of matrices.
    "addr": lambda input, vec1, vec2, *, beta=1, alpha=1: kept(input, beta) + times(vec1[:, None] * vec2, alpha),
    "lu_solve": lambda b, LU_data, LU_pivots: linalg_lu_solve(LU_data, LU_pivots, b),
    "addmm": lambda input, mat1, mat2, *, beta=1, alpha=1: kept(input, beta) + scaled_product(mat1, mat2, alpha),
    "addmv": lambda input, mat, vec, *, beta=1, alpha=1: kept(input, beta) + scaled_product(mat, vec, alpha),
    "baddbmm": lambda input, batch1, batch2, *, beta=1, alpha=1: (
        kept(input, beta) + product_times(batch1, batch2, alpha)
    ),
    "dist": lambda input, other, p=2: norm_of_vectors(input - other, p),
    "einsum": einsum,
    # Of arrays as a whole.
    "resolve_conj": lambda input: input,
    "resolve_neg": lambda input: input,
    "equal": lambda input, other: input.shape == other.shape and bool(xp.all(input == other)),
    "is_complex": lambda input: bool(xp.isdtype(input.dtype, "complex floating")),
    "is_floating_point": lambda input: bool(xp.isdtype(input.dtype, "real floating")),
    "numel": lambda input: int(input.size),
}
# Each gets the name that messages and tracebacks show.
FORMULAS = {path: with_name(formula, path.rpartition(".")[2]) for path, formula in _FORMULAS.items()}
for _name in ("addcdiv", "addcmul", "addmm", "baddbmm"):
    FORMULAS[_name] = in_single_precision(FORMULAS[_name])
FURTHER = {"special.multigammaln": "mvlgamma", "subtract": "sub"}
TRANSLATIONS.update(FORMULAS | {further: FORMULAS[name] for further, name in FURTHER.items()})
