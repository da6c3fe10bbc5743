"""The calls of operations that are measured against NumPy's function of the same name, and the arrays that they take.

`f` is the operation on one side and NumPy's function on the other. Every other name is looked up in `Inputs`, so that
a call is timed without the making of its arguments.
"""

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Draw
from dispatchkit.protocol.kinds import kinds

__all__ = ["CALLS", "VIEWS", "Call", "Inputs", "calls_of", "inputs_of"]

# The most elements for what takes more than one step for each, matrices to decompose, and numbers in a list.
FEWER, STACK, LISTED = 1_000_000, 10_000, 100_000

# A call of the operation, and NumPy's where it reads otherwise.
Call = str | tuple[str, str]

REDUCTION = ("f(x)", "f(m, axis=0)", "f(m, axis=1, keepdims=True)")
# Sums and products in another dtype too.
SUM = (*REDUCTION, "f(m, axis=0, dtype=f32)")
VARIANCE = (*REDUCTION, "f(m, axis=0, correction=1)")
WITHOUT_NAN = ("f(x)", "f(m, axis=0)", "f(gaps, axis=1, keepdims=True)")
WITH_NUMBER = ("f(x, y)", "f(x, 2.0)")
LIKE = ("f(x)", "f(x, dtype=f32)")
# NumPy sorts stably only where it is told to.
SORTING: Sequence[Call] = (
    ("f(m, axis=0)", "f(m, axis=0, stable=True)"),
    "f(tall, axis=1, stable=False)",
)

# What the signature alone does not tell.
CALLS: dict[str, Sequence[Call]] = {
    # Creation and conversion.
    "asarray": ("f(array, dtype=f32)", "f(array, copy=True)", "f(numbers)"),
    "astype": ("f(x, f32)", "f(x, f32, copy=False)"),
    "ones": ("f(shape)", "f(shape, dtype=f32)"),
    "full": ("f(shape, 2.0)", "f(shape, 2.0, dtype=f32)"),
    "eye": ("f(side)", "f(side, k=1, dtype=f32)"),
    "arange": ("f(n)", "f(0, n, 2, dtype=f32)"),
    "linspace": ("f(0.0, 1.0, n)", "f(0.0, 1.0, n, endpoint=False)"),
    "zeros_like": LIKE,
    "ones_like": LIKE,
    "full_like": ("f(x, 2.0)", "f(x, 2.0, dtype=f32)"),
    "tril": ("f(m)", "f(m, k=1)"),
    "triu": ("f(m)", "f(m, k=1)"),
    "meshgrid": ("f(u, v)", "f(u, v, indexing='ij')"),
    # Elementwise operations.
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "pow", "maximum", "greater"), WITH_NUMBER),
    **dict.fromkeys(("real", "imag", "conj"), ("f(z)",)),
    "clip": ("f(x, 0.5, 1.0)", "f(x, min=0.5, max=1.0)", "f(x, min=0.5)"),
    "where": ("f(chosen, x, y)",),
    # Reductions, and what runs along an axis.
    "sum": SUM,
    "prod": SUM,
    "var": VARIANCE,
    "std": VARIANCE,
    **dict.fromkeys(("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"), WITHOUT_NAN),
    # Where nothing decides before the last element.
    "all": ("f(x)", "f(always, axis=0)", "f(always, axis=1, keepdims=True)"),
    "any": ("f(never)", "f(never, axis=0)", "f(never, axis=1, keepdims=True)"),
    "cumulative_sum": ("f(x)", "f(m, axis=0)", "f(m, axis=1, include_initial=True)"),
    "cumulative_prod": ("f(x)", "f(m, axis=0)", "f(m, axis=1, include_initial=True)"),
    "diff": ("f(x)", "f(m, axis=0)", "f(m, n=2, axis=1)"),
    "average": ("f(x)", "f(m, axis=0)", "f(m, axis=0, weights=weights)"),
    "cov": ("f(m)", ("f(tall, rowvar=False, correction=0)", "f(tall, rowvar=False, ddof=0)")),
    "corrcoef": ("f(m)", "f(tall, rowvar=False)"),
    "quantile": ("f(x, 0.3)", "f(m, quarters, axis=0)", "f(m, 0.3, axis=0, method='lower', keepdims=True)"),
    "convolve": ("f(x, kernel)", "f(x, kernel, mode='same')"),
    "interp": ("f(signal, ordered, values)", "f(signal, ordered, values, left=0.0, right=1.0)"),
    # Sorting, searching and sets.
    "sort": SORTING,
    "argsort": SORTING,
    "argmax": REDUCTION,
    "argmin": REDUCTION,
    "argwhere": ("f(chosen)",),
    "nonzero": ("f(chosen)",),
    "searchsorted": ("f(ordered, signal)", "f(ordered, signal, side='right')"),
    "bincount": ("f(labels)",),
    "diag": ("f(u)", "f(m)"),
    "isin": ("f(labels, some)", "f(labels, some, invert=True)"),
    "unique_all": ("f(labels)",),
    "unique_counts": ("f(labels)",),
    "unique_inverse": ("f(labels)",),
    "unique_values": ("f(labels)",),
    # Indexing.
    "take": ("f(x, i)", "f(x, i, axis=0)", "f(m, k, axis=1)"),
    "take_along_axis": ("f(x, i, axis=0)", "f(m, backwards, axis=1)"),
    "getitem": ("x[i]", "m[j]", "m[:, k]", "x[chosen]"),
    "setitem": ("own[1:] = 2.0", "own[:] = y", "own[i] = y", "own[chosen] = 0.0"),
    # Manipulation.
    "concat": ("f([x, y])", "f([x, y], axis=0)", "f([m, m], axis=1)"),
    "stack": ("f([x, y])", "f([x, y], axis=-1)"),
    "repeat": ("f(x, 2)", "f(m, 2, axis=1)"),
    "tile": ("f(x, 2)", "f(x, (2,))"),
    "roll": ("f(x, 1)", "f(m, 1, axis=0)"),
    "pad": ("f(x, 1)", "f(m, 1, constant_values=1.0)", "f(m, ((1, 1), (1, 1)), mode='reflect')"),
    # Linear algebra. What grows faster than its arguments gets few of them.
    "matmul": ("f(x, y)", "f(m, q)", "f(stack, stack)"),
    "dot": ("f(x, y)",),
    "vecdot": ("f(x, y)", "f(m, m, axis=-1)"),
    "tensordot": ("f(x, y, axes=1)", "f(m, q, axes=1)", "f(m, m, axes=2)"),
    "einsum": ("f('i,i->', x, y)", "f('ij,jk->ik', m, q, optimize=True)", "f('ij->j', m)"),
    "kron": ("f(u, v)",),
    "linalg.outer": ("f(u, v)",),
    "linalg.cross": ("f(triples, triples)", "f(triples, triples, axis=-1)"),
    "linalg.trace": ("f(stack)", "f(stack, offset=1)"),
    "linalg.vector_norm": ("f(x)", "f(m, axis=1)", "f(m, axis=0, ord=1, keepdims=True)"),
    "linalg.matrix_norm": ("f(m)", "f(stack, ord=1)", "f(square, ord='nuc', keepdims=True)"),
    "linalg.norm": ("f(x)", "f(m, axis=1)", "f(m, ord=1, axis=0, keepdims=True)"),
    "linalg.matrix_power": ("f(square, 3)",),
    "linalg.inv": ("f(square)",),
    "linalg.solve": ("f(square, right)",),
    "linalg.lstsq": (("f(tall, tall)[0]", "f(tall, tall)[0]"),),
    "linalg.det": ("f(square)",),
    "linalg.slogdet": ("f(square)",),
    "linalg.cholesky": ("f(definite)", "f(definite, upper=True)"),
    "linalg.qr": ("f(square)", "f(square, mode='complete')"),
    "linalg.eig": ("f(square)",),
    "linalg.eigvals": ("f(square)",),
    "linalg.eigh": ("f(definite)",),
    "linalg.eigvalsh": ("f(definite)",),
    "linalg.svd": ("f(square)", "f(square, full_matrices=False)"),
    "linalg.svdvals": ("f(square)",),
    "linalg.pinv": ("f(square)", "f(square, rtol=1e-6)"),
    "linalg.matrix_rank": ("f(square)", "f(square, rtol=1e-6)"),
    # Fourier transforms.
    "fft.fft": ("f(wave)", "f(waves, axis=0)", "f(waves, n=side, axis=-1, norm='ortho')"),
    "fft.ifft": ("f(wave)", "f(waves, axis=0)", "f(waves, n=side, axis=-1, norm='ortho')"),
    "fft.rfft": ("f(signal)", "f(signals, axis=0)", "f(signals, n=side, axis=-1, norm='ortho')"),
    "fft.irfft": ("f(spectra)", "f(spectra, n=length, axis=-1)"),
    "fft.hfft": ("f(spectra)", "f(spectra, n=length, axis=-1)"),
    "fft.ihfft": ("f(signal)", "f(signals, axis=0)"),
    "fft.fftn": ("f(waves)", "f(waves, axes=(0, 1), norm='ortho')"),
    "fft.ifftn": ("f(waves)", "f(waves, axes=(0, 1), norm='ortho')"),
    "fft.rfftn": ("f(signals)", "f(signals, axes=(0, 1), norm='ortho')"),
    "fft.irfftn": ("f(spectra)", "f(spectra, s=lengths, axes=(0, 1))"),
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), ("f(n)", "f(n, d=0.1)")),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), ("f(x)", "f(m, axes=0)")),
    # Random numbers, against the methods of NumPy's generator.
    "random.uniform": (("f(-1.0, 1.0, shape=shape, generator=rng)", "f(rng, -1.0, 1.0, shape)"),),
    "random.normal": (("f(1.0, 2.0, shape=shape, generator=rng)", "f(rng, 1.0, 2.0, shape)"),),
    "random.permutation": (("f(m, axis=0, generator=rng)", "f(rng, m, axis=0)"),),
}

# What does no work per element: views, and memory that is not written to. Time for many elements is the call's own.
VIEWS: dict[str, Sequence[Call]] = {
    "asarray": ("f(array)",),
    "from_dlpack": ("f(array)",),
    "astype": ("f(x, x_dtype, copy=False)",),
    "empty": ("f(shape)", "f(shape, dtype=f32)"),
    "empty_like": LIKE,
    "zeros": ("f(shape)", "f(shape, dtype=f32)"),
    "getitem": ("x[1:]", "x[::2]", "x[1]", "m[0]", "m[:, 0]", "m[1, 1]", "m[1:, :-1]", "x[..., None]"),
    "setitem": ("own[1] = 2.0",),
    "reshape": ("f(x, (2, -1))", "f(x, (2, -1), copy=False)"),
    "ravel": ("f(m)",),
    "squeeze": ("f(row)", "f(row, axis=0)"),
    "expand_dims": ("f(x, axis=0)",),
    "permute_dims": ("f(m, (1, 0))",),
    "transpose": ("f(m)", "f(m, (1, 0))"),
    "matrix_transpose": ("f(m)",),
    "swapaxes": ("f(m, 0, 1)",),
    "moveaxis": ("f(m, 0, 1)",),
    "flip": ("f(x)", "f(m, axis=0)"),
    "broadcast_to": ("f(x, wider)",),
    "broadcast_arrays": ("f(m, column)",),
    "split": ("f(x, 2)", "f(m, 2, axis=1)"),
    "unstack": ("f(m)", "f(m, axis=0)"),
    "linalg.diagonal": ("f(m)", "f(m, offset=1)"),
}


def calls_of(name: str, entry: DeclaredOperation) -> Sequence[Call]:
    """Return the calls of an operation: those listed, else what its signature tells, if that is enough."""
    if name in CALLS or name in VIEWS:
        return (*CALLS.get(name, ()), *VIEWS.get(name, ()))
    if entry.parameters.binary and entry.kind.family in (kinds.elementwise, kinds.reduction):
        return ("f(x, y)",)
    if entry.parameters.unary and entry.kind.family is kinds.elementwise:
        return ("f(x)",)
    if entry.parameters.leading and entry.kind.family in (kinds.reduction, kinds.sorting):
        return REDUCTION
    return ()


class Inputs:
    """The arguments of calls on so many elements, each made when a call first asks for it.

    Attributes
    ----------
    x, y : numbers of the operation's domain
    z : complex numbers
    m : a matrix of few rows
    signal, wave, labels : fewer numbers where there are many, for what takes more than one step per element
    signals, waves, spectra : matrices of as few; the last stands for the signals, as their transforms do
    stack : small matrices, as many as there are elements for
    square, definite, right : matrices that can be inverted, positive definite ones, and right-hand sides of equations;
        no more than that the steps of an elimination are as many as the elements asked for
    u, v : vectors with an outer product of as many elements
    i, j, k : all indices of x, of m's rows and of its columns, backwards
    """

    f32 = np.dtype("float32")

    def __init__(self, draw: Draw, size: int) -> None:
        rng = np.random.default_rng(0)
        self.n = size
        self.shape, self.wider = (size,), (2, size)
        self.side = math.isqrt(size)
        self.x, self.y = (Draw(self.shape, draw.low, draw.high, draw.content).make(rng) for _ in range(2))
        self.rows = 2 if size < 100 else 100
        self.columns = size // self.rows
        self.table = (self.rows, self.columns)
        self.length = min(size, FEWER) // self.rows
        self.lengths = (self.rows, self.length)
        self.order = 2 if size < 100 else 10
        self.x_dtype = self.x.dtype

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    @property
    def own(self) -> Any:
        """Give a copy to be written to."""
        return self.x.copy()

    @property
    def array(self) -> Any:
        """Give what stays a NumPy array on both sides."""
        return self.x

    @property
    def m(self) -> Any:
        return self.x.reshape(self.table)

    @property
    def row(self) -> Any:
        return self.x[None]

    @property
    def column(self) -> Any:
        return self.m[:, :1]

    @property
    def tall(self) -> Any:
        return self.x.reshape(-1, self.order)

    @property
    def triples(self) -> Any:
        return self.x[: self.n // 3 * 3].reshape(-1, 3)

    @property
    def u(self) -> Any:
        return self.x[: self.side]

    @property
    def v(self) -> Any:
        return self.y[: self.side]

    @property
    def q(self) -> Any:
        """Give a factor for `m` of few columns."""
        return self.y[: self.columns * self.order].reshape(self.columns, self.order)

    @property
    def kernel(self) -> Any:
        return self.y[:10]

    @property
    def numbers(self) -> list[float]:
        numbers: list[float] = self.x[:LISTED].tolist()
        return numbers

    @cached_property
    def gaps(self) -> Any:
        gaps = self.x.copy()
        gaps[::7] = np.nan
        return gaps.reshape(self.table)

    @cached_property
    def z(self) -> Any:
        return self.x + 1j * self.y

    @property
    def signal(self) -> Any:
        return self.x[:FEWER]

    @property
    def wave(self) -> Any:
        return self.z[:FEWER]

    @property
    def signals(self) -> Any:
        return self.signal.reshape(self.rows, -1)

    @property
    def waves(self) -> Any:
        return self.wave.reshape(self.rows, -1)

    @cached_property
    def spectra(self) -> Any:
        return np.fft.rfft(self.signals)

    @property
    def stack(self) -> Any:
        return self.x.reshape(-1, self.order, self.order)

    @cached_property
    def square(self) -> Any:
        some = self.stack[:STACK]
        return np.eye(self.order) + some - some.mT

    @cached_property
    def definite(self) -> Any:
        return self.square @ self.square.mT

    @property
    def right(self) -> Any:
        return self.stack[:STACK, :, :1]

    @cached_property
    def chosen(self) -> Any:
        return self.x > self.x.mean()

    @cached_property
    def always(self) -> Any:
        return np.ones(self.table, dtype=bool)

    @cached_property
    def never(self) -> Any:
        return np.zeros(self.table, dtype=bool)

    @cached_property
    def i(self) -> Any:
        return np.arange(self.n)[::-1].copy()

    @cached_property
    def j(self) -> Any:
        return np.arange(self.rows)[::-1].copy()

    @cached_property
    def k(self) -> Any:
        return np.arange(self.columns)[::-1].copy()

    @cached_property
    def backwards(self) -> Any:
        return np.broadcast_to(self.k, self.table).copy()

    @cached_property
    def labels(self) -> Any:
        return np.random.default_rng(1).integers(10, size=min(self.n, FEWER))

    @property
    def some(self) -> Any:
        return np.asarray([1, 3, 5])

    @property
    def weights(self) -> Any:
        return np.linspace(1.0, 2.0, self.rows)

    @property
    def ordered(self) -> Any:
        return np.linspace(-2.0, 2.0, 100)

    @property
    def values(self) -> Any:
        return self.ordered**2

    @property
    def quarters(self) -> Any:
        return np.asarray([0.25, 0.5, 0.75])


@lru_cache(maxsize=1)
def drawn(low: float, high: float, content: Any, size: int) -> Inputs:
    return Inputs(Draw((), low, high, content), size)


def inputs_of(entry: DeclaredOperation, size: int) -> Inputs:
    """Return arguments of the operation's domain, kept until those of another domain or size are asked for."""
    draw = next((arg for sample in entry.samples for arg in sample.args if isinstance(arg, Draw)), Draw(()))
    return drawn(draw.low, draw.high, draw.content if draw.content in ("integer", "boolean") else "real", size)
