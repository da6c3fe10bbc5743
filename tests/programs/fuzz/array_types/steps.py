"""The steps of the programs: calls that mean the same for an array type and for its dense form, as lines of Python.

Instances hold numbers of few digits, so that a value that jumps, as those of `floor`, does not jump with a
rounding error; derivatives are taken of smooth forms alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

__all__ = ["FORMS", "MATRIX", "SMOOTH", "filled"]


def _forms(text: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in text.split(";"))


SMOOTH = _forms("""
    -{x}; {x} * 2; 0.5 * {x}; {x} / 4.0; {x} + 1.5; 1 - {x}; dk.sin({x}); dk.tanh({x}); dk.square({x});
    dk.exp({x} * 0.1); {x}.mT; {x}.sum(); {x}.sum(axis={axis}); {x}.mean(axis={axis}); {x}.mean(); dk.cos({x});
    dk.linalg.trace({x}); dk.linalg.diagonal({x}, offset={offset}); {x}[{key}]; {x}[..., {slice}, {slice}];
    {x} + {y}; {x} - {y}; {x} * {y}; {x} @ {y}; {y} @ {x}; {y} - {x}; {x} @ {x}; dk.matmul({x}, {x}.mT);
    dk.linalg.det({x}); dk.linalg.slogdet({x})[1]; dk.linalg.inv({x}); dk.linalg.solve({x}, {y});
    dk.linalg.matrix_norm({x}); dk.linalg.matrix_power({x}, {power}); dk.where({mask}, {x}, {y});
    {x}.prod(axis={axis}); {x}.std(axis={axis}); dk.linalg.cholesky({x} @ {x}.mT); dk.tril({x});
    dk.concat([{x}, {x}], axis={axis}); dk.stack([{x}, {x}]); dk.linalg.vector_norm({x}, axis={axis});
    {x}.reshape((-1,)); dk.kron({x}, {y}); dk.cumulative_sum({x}, axis={axis});
    dk.func.checkpoint(lambda s: dk.sin(s) * s)({x}); dk.func.checkpoint(lambda s, t: s @ t)({x}, {y});
    dk.func.vmap(lambda t, s: plain(s * t), (0, None))(dk.asarray([0.5, 2.0]), {x});
    dk.func.vmap(lambda t, s: plain(s @ t), (-1, None), -1)(plain({y}), {x})
""")
ELEMENTWISE = _forms("""
    +{x}; abs({x}); {x} * {number}; {number} * {x}; {x} + {number}; {number} - {x}; {x} - {number}; {x} / {number};
    {x} ** 2; {x} ** {number}; {number} ** {x}; {x} // {number}; {x} % {number}; dk.sign({x}); dk.floor({x});
    dk.sqrt({x}); dk.log({x}); dk.exp({x}); dk.isnan({x}); dk.isfinite({x}); dk.logical_not({x}); dk.real({x});
    dk.imag({x}); dk.conj({x}); dk.round({x}); dk.bitwise_invert({x}); dk.signbit({x}); dk.expm1({x});
    dk.reciprocal({x}); {x}.clone(); {x}.astype(np.{dtype}); dk.clip({x}, -1, 1); {x} < {number}; {x} == {number};
    {x} >= {number}; dk.trunc({x}); dk.zeros_like({x}); dk.ones_like({x}); dk.relu({x}); dk.cbrt({x}); dk.atan({x});
    dk.sigmoid({x})
""")
PAIRS = _forms("""
    {x} + {y}; {x} - {y}; {y} - {x}; {x} * {y}; {x} / {y}; {y} / {x}; {x} < {y}; {x} == {y}; {x} != {y}; {x} >= {y};
    dk.maximum({x}, {y}); dk.minimum({y}, {x}); dk.logical_and({x}, {y}); dk.logical_or({x}, {y});
    dk.logical_xor({x}, {y}); {x} & {y}; {x} | {y}; {x} ^ {y}; dk.where({mask}, {x}, {y}); {x} // {y}; {x} % {y};
    {x} ** {y}; dk.hypot({x}, {y}); dk.copysign({x}, {y}); dk.atan2({y}, {x}); dk.where({x} > 0, {x}, {y})
""")
PRODUCTS = _forms("""
    {x} @ {y}; {y} @ {x}; {x} @ {x}; {x} @ {x}.mT; {x}.mT @ {y}
""")
CONTRACTIONS = _forms("""
    dk.tensordot({x}, {y}, axes=1); dk.vecdot({x}, {y}); dk.outer({x}[0], {y}[0]); dk.kron({x}, {y});
    dk.einsum('...ij,...jk->...ik', {x}, {y}); dk.linalg.matrix_power({x}, {power})
""")
REDUCTIONS = _forms("""
    {x}.sum(); {x}.sum(axis={axis}); {x}.sum(axis={axis}, keepdims=True); {x}.sum(axis={axes}); {x}.mean();
    {x}.mean(axis={axis}); {x}.mean(axis={axes}, keepdims=True); {x}.max(); {x}.max(axis={axis});
    {x}.min(axis={axis}, keepdims=True); {x}.prod(axis={axis}); {x}.prod(); {x}.any(); {x}.all(axis={axis});
    dk.count_nonzero({x}, axis={axis}); {x}.argmax(axis={axis}); {x}.std(axis={axis}); {x}.var(correction=1);
    {x}.argmin(); dk.logsumexp({x}, axis={axis}); dk.median({x}, axis={axis});
    dk.linalg.vector_norm({x}, axis={axis}); dk.linalg.vector_norm({x}); dk.nansum({x}, axis={axis});
    {x}.sum(axis=()); {x}.sum(dtype=np.{dtype})
""")
MOVES = _forms("""
    {x}.mT; dk.permute_dims({x}, {order}); {x}[{key}]; {x}[{key}]; {x}[{key}]; {x}[..., {slice}, {slice}];
    {x}[..., {square}, {square}]; {x}[{mask}]; {x}[{indices}]; {x}[:, {indices}]; dk.reshape({x}, (-1,));
    dk.expand_dims({x}, axis={axis}); dk.flip({x}, axis={axis}); dk.roll({x}, 1, axis={axis});
    dk.concat([{x}, {x}], axis={axis}); dk.stack([{x}, {x}], axis={axis}); dk.concat([{x}, {y}], axis={axis});
    dk.broadcast_to({x}, (2, *{x}.shape)); dk.take({x}, dk.asarray({indices}), axis={axis});
    dk.tril({x}, k={offset}); dk.triu({x}, k={offset}); dk.linalg.diagonal({x}, offset={offset});
    dk.unstack({x}, axis={axis})[0]; dk.squeeze({x}, axis={axis}); dk.repeat({x}, 2, axis={axis});
    dk.sort({x}, axis={axis}); dk.cumulative_sum({x}, axis={axis}); dk.moveaxis({x}, 0, -1); dk.tile({x}, (2, 1));
    dk.swapaxes({x}, 0, -1); dk.pad({x}, ((1, 0), (0, 1))); dk.diff({x}, axis={axis}); {x}.T; dk.ravel({x});
    dk.nonzero({x})[0]; dk.meshgrid({x}[0], {x}[0])[0]
""")
MATRIX = _forms("""
    dk.linalg.trace({x}); dk.linalg.trace({x}, offset={offset}); dk.linalg.det({x}); dk.linalg.slogdet({x})[0];
    dk.linalg.slogdet({x})[1]; dk.linalg.inv({x}); dk.linalg.solve({x}, {y}); dk.linalg.matrix_norm({x});
    dk.linalg.matrix_norm({x}, ord=1); dk.linalg.matrix_norm({x}, ord=2); dk.linalg.matrix_power({x}, {power});
    dk.linalg.svdvals({x}); dk.linalg.eigvalsh({x} + {x}.mT); dk.linalg.matrix_norm({x}, ord=dk.inf, keepdims=True);
    dk.linalg.cholesky({x} @ {x}.mT + 9 * dk.eye({x}.shape[-1])); dk.linalg.cholesky({x}); dk.linalg.pinv({x});
    dk.linalg.qr({x})[1]; dk.linalg.cross({x}[..., :3], {x}[..., :3]); dk.linalg.eigh({x} + {x}.mT)[0];
    dk.linalg.matrix_rank({x}); dk.linalg.matrix_norm({x}, ord='nuc'); dk.linalg.svd({x}, full_matrices=False)[1]
""")
# What happens to values between the steps of a program: they travel, and functions of them are transformed. What `vmap`
# gives is plain: an array type that it gives has a batch in each of its fields.
TRANSFORMS = _forms("""
    pickled({x}); saved({x}); copied({x}); pickled({x}); saved({x}); dk.func.checkpoint(lambda s: s * 2)({x});
    dk.func.checkpoint(lambda s, t: s @ t)({x}, {y});
    dk.func.vmap(lambda t, s: plain(s * t), (0, None))({numbers}, {x});
    dk.func.vmap(lambda t, s: plain(t - s), (0, None))({numbers}, {x});
    dk.func.vmap(lambda t, s: plain(s @ t), (-1, None), -1)(plain({y}), {x});
    dk.func.vmap(lambda t, s: plain(t @ s), (0, None))(plain({y}), {x});
    dk.func.vmap(lambda t, s: plain(s + t), (0, None))(plain({y}), {x});
    dk.func.vmap(lambda t, s: plain((s * t).sum(axis=-1)), (0, None))({numbers}, {x});
    dk.func.vmap(lambda t, s: plain(dk.where(t > 1, s, s * 2)), (0, None))({numbers}, {x})
""")
# Forms with their weights.
FORMS = (
    *((ELEMENTWISE, 18), (PAIRS, 18), (PRODUCTS, 12), (CONTRACTIONS, 3), (REDUCTIONS, 12), (MOVES, 22), (MATRIX, 12)),
    (TRANSFORMS, 12),
)
NUMBERS = ("2", "0", "-1", "0.5", "1", "3", "True", "1.5", "-0.0", "2.0", "255")
DTYPES = ("float64", "float32", "int64", "uint8", "bool", "complex128", "int8", "float16", "uint64", "complex64")


def bounds(rng: random.Random, n: int) -> str:
    """Return a slice: crossed, empty, negative or with steps as well."""
    ends = ["", "", *map(str, range(-n - 1, n + 2))]
    step = rng.choice(("", "", "", ":1", ":2", ":-1", ":-2"))
    return f"{rng.choice(ends)}:{rng.choice(ends)}{step}"


def key(rng: random.Random, shape: tuple[int, ...]) -> str:
    """Return an index of integers, slices, None and an ellipsis."""
    lengths = shape[: rng.randint(0, len(shape))] if rng.random() < 0.5 else shape
    parts = [str(rng.randint(-n, n - 1)) if n and rng.random() < 0.4 else bounds(rng, n) for n in lengths]
    if rng.random() < 0.15:
        parts.insert(rng.randint(0, len(parts)), "None")
    if not parts or rng.random() < 0.15:
        parts.insert(rng.randint(0, len(parts)), "...")
    return ", ".join(parts)


def booleans(rng: random.Random, shape: tuple[int, ...]) -> Any:
    """Return nested lists of booleans."""
    return [booleans(rng, shape[1:]) for _ in range(shape[0])] if shape else rng.random() < 0.5


def filled(rng: random.Random, form: str, shape: tuple[int, ...]) -> dict[str, str]:
    """Return what a form asks for besides its operands.

    Parameters
    ----------
    rng : draws it
    form : text with names in braces
    shape : of the first operand
    """
    ndim, last = max(len(shape), 1), shape[-1] if shape else 1
    makers: dict[str, Callable[[], str]] = {
        "axis": lambda: str(rng.randrange(-ndim, ndim)),
        "axes": lambda: str(tuple(rng.sample(range(-ndim, 0), rng.randint(1, ndim)))),
        "order": lambda: str(tuple(rng.sample(range(ndim), ndim))),
        "offset": lambda: str(rng.randint(-last, last)),
        "power": lambda: str(rng.choice((0, 1, 2, 3, 2, -1))),
        "number": lambda: rng.choice(NUMBERS),
        "numbers": lambda: f"dk.asarray({rng.choice(('[0.5, 2.0]', '[1, 3]', '[2.0]'))})",
        "dtype": lambda: rng.choice(DTYPES),
        "key": lambda: key(rng, shape),
        "slice": lambda: bounds(rng, last),
        "mask": lambda: f"dk.asarray(np.array({booleans(rng, shape)}, 'bool').reshape({shape}))",
        "indices": lambda: (
            f"np.array({[rng.randrange(-n, n) for n in shape[:1] if n for _ in range(rng.randint(0, 3))]}, 'int64')"
        ),
    }
    values = {name: make() for name, make in makers.items() if f"{{{name}}}" in form}
    if "{square}" in form:
        values["square"] = bounds(rng, last)
    return values
