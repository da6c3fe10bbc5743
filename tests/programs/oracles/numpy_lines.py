"""The lines that spell each function of NumPy, for pairs whose specialist answers NumPy's functions.

`lines_of(names)` takes names such as ``"sum"`` and ``"linalg.norm"`` and returns how they are called: the function with
its options, the method, the operator, in place, and with ``out=``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["OPERATORS", "WRITES", "lines_of"]

OPERATORS = (
    *(
        "x + y",
        "x - y",
        "x * y",
        "x / y",
        "x // y",
        "x % y",
        "x ** 2",
        "x ** 0.5",
        "2.0 ** x",
        "x @ u",
        "a @ b",
        "v @ w",
    ),
    *("-x", "+x", "abs(x)", "~x", "x & y", "x | y", "x ^ y", "x << 1", "x >> 1", "divmod(x, y)"),
    *("x < y", "x <= y", "x == y", "x != y", "x >= y", "x > y"),
    *("x + 2", "2 - x", "x * 3", "2 * x", "x / 4", "1 / x", "x // 2", "7 // x", "x % 3", "5 % x", "x < 1", "1 < x"),
    *("x + plain", "plain + x", "x * plain", "plain * x", "plain - x", "plain / x", "plain < x", "plain == x"),
    *("x + np.float32(2)", "np.float64(2) * x", "np.int64(3) - x", "x * 2j"),
    *("x[{slice}]", "x[x > 1]", "x[condition]", "x[..., places]", "len(x)", "bool(s)", "float(s)", "int(s)", "list(v)"),
    *("x.T", "x.real", "x.imag", "x.shape", "x.ndim", "x.size", "a.mT"),
)
WRITES = (
    *("x += y; result = x", "x -= y; result = x", "x *= y; result = x", "x /= y; result = x", "x //= y; result = x"),
    *(
        "x += 1; result = x",
        "x *= 2; result = x",
        "x **= 2; result = x",
        "x %= 3; result = x",
        "x += plain; result = x",
    ),
    *("r = x[::2]; r += 1; result = x", "r = x[...]; r *= 2; result = x", "r = x.T; r -= 1; result = x"),
    *("x[{slice}] = s; result = x", "x[{slice}] = 0; result = x", "x[condition] = s; result = x"),
    *("x[...] = y; result = x", "x[..., places] = s; result = x", "r = x.reshape(-1); r[:1] = 0; result = x"),
    *("np.add(x, y, out=u); result = u", "np.sqrt(x, out=u); result = u", "np.sin(x, out=x); result = x"),
    *("np.multiply(x, y, out=x); result = x", "np.sum(x, out=s); result = s", "np.copyto(x, y); result = x"),
)
REDUCTIONS = "sum prod mean std var max min amax amin ptp any all argmax argmin median average count_nonzero"
NAN_REDUCTIONS = "nansum nanprod nanmean nanstd nanvar nanmax nanmin nanargmax nanargmin nanmedian"
CUMULATIVE = "cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod"
WITHOUT_KEEPDIMS = {"ptp"}
METHODS = """
sum prod mean std var max min any all argmax argmin cumsum cumprod ravel squeeze copy round clip transpose swapaxes
repeat reshape conj conjugate sort argsort diagonal trace take compress nonzero astype flatten item tolist dot
searchsorted ptp
"""
SPECIAL: dict[str, tuple[str, ...]] = {
    "allclose": ("np.allclose(x, y)", "np.allclose(x, u)", "np.allclose(x, x)"),
    "append": ("np.append(x, y)", "np.append(x, u, axis={axis})"),
    "apply_along_axis": ("np.apply_along_axis(np.sum, {axis}, x)", "np.apply_along_axis(np.sort, {axis}, x)"),
    "apply_over_axes": ("np.apply_over_axes(np.sum, x, [{axis}])",),
    "arange": ("np.arange(s)",),
    "argpartition": (),
    "argsort": ("np.argsort(x, kind='stable')", "np.argsort(x, axis={axis}, kind='stable')"),
    "argwhere": ("np.argwhere(x)",),
    "around": ("np.around(x)", "np.around(x, {n})", "np.around(x, -1)"),
    "array_equal": ("np.array_equal(x, u)", "np.array_equal(x, x)", "np.array_equal(x, y)"),
    "array_equiv": ("np.array_equiv(x, y)",),
    "array_split": ("np.array_split(x, 2)", "np.array_split(x, [1], axis={axis})"),
    "astype": ("np.astype(x, np.float32)",),
    "atleast_1d": ("np.atleast_1d(x)", "np.atleast_1d(x, y)"),
    "average": ("np.average(x)", "np.average(x, axis={axis})", "np.average(v, weights=w)", "np.average(x, weights=u)"),
    "bincount": ("np.bincount(spots, v[spots])", "np.bincount(spots, minlength=4)"),
    "block": ("np.block([[x, u], [u, x]])", "np.block([v, w])"),
    "broadcast_arrays": ("np.broadcast_arrays(x, y)",),
    "broadcast_to": ("np.broadcast_to(x, (2, *x.shape))",),
    "choose": ("np.choose(spots % 2, [s, s])", "np.choose((v > 0).astype(int), [v, w])"),
    "clip": ("np.clip(x, y, z)", "np.clip(x, -1, 2)", "np.clip(x, None, y)", "np.clip(x, y, None)", "x.clip(y, z)"),
    "column_stack": ("np.column_stack([v, w])",),
    "compress": ("np.compress([True, False], x, axis={axis})", "np.compress(v > 0, v)"),
    "concatenate": (
        *("np.concatenate([x, u])", "np.concatenate([x, u], axis={axis})", "np.concatenate([x, u], axis=None)"),
        *("np.concatenate([x, u, x])", "np.concatenate([x, plain])"),
    ),
    "convolve": (
        "np.convolve(v, w)",
        "np.convolve(v, w, 'same')",
        "np.convolve(v, [1, 2])",
        "np.convolve(v, w, 'valid')",
    ),
    "copyto": ("np.copyto(x, y); result = x", "np.copyto(x, u, where=condition); result = x"),
    "corrcoef": ("np.corrcoef(v, w)", "np.corrcoef(a)"),
    "correlate": ("np.correlate(v, w)", "np.correlate(v, w, 'full')"),
    "cov": ("np.cov(v)", "np.cov(v, w)", "np.cov(a)", "np.cov(a, rowvar=False, bias=True)"),
    "cross": ("np.cross(v[:3], w[:3])", "np.cross(a, b)"),
    "delete": ("np.delete(x, 0, axis={axis})", "np.delete(v, [0])", "np.delete(v, spots)"),
    "diag": ("np.diag(v)", "np.diag(a)", "np.diag(a, 1)", "np.diag(v, -1)"),
    "diagflat": ("np.diagflat(v)",),
    "diagonal": ("np.diagonal(a)", "np.diagonal(a, 1)", "a.diagonal()"),
    "diff": ("np.diff(x)", "np.diff(x, 2)", "np.diff(x, axis={axis})", "np.diff(v, prepend=s)", "np.diff(v, append=w)"),
    "digitize": ("np.digitize(v, t)", "np.digitize(v, t, right=True)"),
    "dot": ("np.dot(v, w)", "np.dot(a, b)", "np.dot(x, s)", "v.dot(w)", "np.dot(v, np.arange(v.size))"),
    "dsplit": ("np.dsplit(x, 1)",),
    "dstack": ("np.dstack([x, u])",),
    "ediff1d": ("np.ediff1d(x)", "np.ediff1d(v, s, w)"),
    "einsum": (
        "np.einsum('i,i', v, w)",
        "np.einsum('...ij,...jk', a, b)",
        "np.einsum('ii->i', a)",
        "np.einsum('i,j->ij', v, w)",
    ),
    "empty_like": (),
    "expand_dims": ("np.expand_dims(x, {axis})", "np.expand_dims(x, (0, -1))"),
    "extract": ("np.extract(condition, x)",),
    "fill_diagonal": ("np.fill_diagonal(a, s); result = a",),
    "flip": ("np.flip(x)", "np.flip(x, {axis})"),
    "full_like": ("np.full_like(x, s)", "np.full_like(x, 3)"),
    "geomspace": ("np.geomspace(t, t * 4, 3)",),
    "gradient": ("np.gradient(v)", "np.gradient(v, t)", "np.gradient(x, 2.0)", "np.gradient(v, s)"),
    "histogram": ("np.histogram(v, t)", "np.histogram(v, 3)", "np.histogram(v, t, weights=w)", "np.histogram(x)"),
    "histogram2d": ("np.histogram2d(v, w, bins=3)", "np.histogram2d(v, w, bins=[t, t])"),
    "histogram_bin_edges": ("np.histogram_bin_edges(v)", "np.histogram_bin_edges(v, 4)"),
    "histogramdd": ("np.histogramdd([v, w], bins=3)",),
    "hsplit": ("np.hsplit(x, 1)",),
    "hstack": ("np.hstack([x, u])",),
    "inner": ("np.inner(v, w)", "np.inner(x, u)"),
    "insert": ("np.insert(v, 0, s)", "np.insert(v, spots, s)", "np.insert(x, 0, s, axis={axis})"),
    "interp": (
        *("np.interp(v, t, w)", "np.interp(s, t, w)", "np.interp(v, t, np.arange(t.size))"),
        *("np.interp(v, t, w, left=s)", "np.interp(v, t, w, right=w[0])"),
    ),
    "intersect1d": ("np.intersect1d(v, w)", "np.intersect1d(v, w, return_indices=True)"),
    "isclose": ("np.isclose(x, y)", "np.isclose(x, u, atol=0)", "np.isclose(x, y, equal_nan=True)"),
    "isin": ("np.isin(x, v)", "np.isin(v, w, invert=True)"),
    "ix_": (),
    "kron": ("np.kron(v, w)", "np.kron(a, b)"),
    "lexsort": ("np.lexsort((v, w))",),
    "linspace": ("np.linspace(x, y, 3)", "np.linspace(s, s, 2)", "np.linspace(x, u, 4, endpoint=False)"),
    "logspace": ("np.logspace(s, s, 3)",),
    "may_share_memory": ("np.may_share_memory(x, x)", "np.may_share_memory(x, y)"),
    "meshgrid": ("np.meshgrid(v, w)", "np.meshgrid(v, w, indexing='ij')"),
    "moveaxis": ("np.moveaxis(x, {axis}, 0)", "np.moveaxis(x, 0, {axis})"),
    "nan_to_num": ("np.nan_to_num(x)", "np.nan_to_num(x, nan=1.0)", "np.nan_to_num(x, nan=s)"),
    "nanpercentile": ("np.nanpercentile(x, 30)", "np.nanpercentile(x, 50, axis={axis})"),
    "nanquantile": ("np.nanquantile(x, {q})", "np.nanquantile(x, {q}, axis={axis})"),
    "nonzero": ("np.nonzero(x)", "x.nonzero()"),
    "outer": ("np.outer(v, w)", "np.outer(x, y)", "np.multiply.outer(v, w)"),
    "pad": (
        "np.pad(x, 1)",
        "np.pad(x, 1, constant_values=s)",
        "np.pad(x, 1, mode='edge')",
        "np.pad(v, (1, 2), 'reflect')",
    ),
    "partition": (),
    "percentile": (
        "np.percentile(x, 30)",
        "np.percentile(x, [20, 50], axis={axis})",
        "np.percentile(x, 50, method='lower')",
    ),
    "piecewise": ("np.piecewise(x, [condition], [1, 2])", "np.piecewise(x, [x > y, x <= y], [s, s])"),
    "place": ("np.place(x, condition, v); result = x",),
    "polyfit": ("np.polyfit(t, w, 1)",),
    "polyval": ("np.polyval(v, w)", "np.polyval([1, 2], x)"),
    "put": ("np.put(v, spots, s); result = v",),
    "put_along_axis": (),
    "putmask": ("np.putmask(x, condition, u); result = x",),
    "quantile": (
        "np.quantile(x, {q})",
        "np.quantile(x, [0.2, 0.5], axis={axis})",
        "np.quantile(x, {q}, axis={axis}, keepdims=True)",
    ),
    "ravel": ("np.ravel(x)", "np.ravel(x, order='F')"),
    "repeat": ("np.repeat(x, 2)", "np.repeat(x, 2, axis={axis})", "x.repeat(3)"),
    "reshape": ("np.reshape(x, -1)", "np.reshape(x, (1, -1))", "x.reshape(-1)", "np.reshape(x, x.shape[::-1])"),
    "resize": ("np.resize(x, 4)", "np.resize(v, (2, 3))"),
    "roll": ("np.roll(x, 1)", "np.roll(x, {n}, axis={axis})"),
    "rollaxis": ("np.rollaxis(x, {axis})",),
    "rot90": ("np.rot90(a)", "np.rot90(a, 2)"),
    "round": ("np.round(x)", "np.round(x, {n})", "x.round(1)"),
    "searchsorted": ("np.searchsorted(t, v)", "np.searchsorted(t, s, side='right')", "t.searchsorted(w)"),
    "select": ("np.select([condition], [x])", "np.select([condition, x > 1], [x, u], s)"),
    "setdiff1d": ("np.setdiff1d(v, w)",),
    "setxor1d": ("np.setxor1d(v, w)",),
    "shares_memory": ("np.shares_memory(x, x)", "np.shares_memory(x, y)"),
    "sort": ("np.sort(x)", "np.sort(x, axis={axis})", "np.sort(x, axis=None)"),
    "split": ("np.split(v, 1)", "np.split(x, [1], axis={axis})"),
    "squeeze": ("np.squeeze(x)", "x.squeeze()"),
    "stack": ("np.stack([x, u])", "np.stack([x, u], axis=-1)", "np.stack([v, w], axis=1)"),
    "swapaxes": ("np.swapaxes(x, {axis}, 0)", "x.swapaxes({axis}, -1)"),
    "take": ("np.take(x, places, axis=-1)", "np.take(v, 0)", "x.take(places, axis=-1)", "np.take(v, spots)"),
    "take_along_axis": ("np.take_along_axis(v, spots, 0)", "np.take_along_axis(x, np.argsort(condition, axis=-1), -1)"),
    "tensordot": ("np.tensordot(a, b)", "np.tensordot(v, w, 0)", "np.tensordot(a, b, 1)"),
    "tile": ("np.tile(x, 2)", "np.tile(x, (2, 1))"),
    "trace": ("np.trace(a)", "np.trace(a, 1)", "a.trace()"),
    "transpose": ("np.transpose(x)", "x.transpose()", "np.transpose(a, axes=tuple(range(a.ndim))[::-1])"),
    "trapezoid": ("np.trapezoid(v)", "np.trapezoid(v, t)", "np.trapezoid(x, dx=2.0)", "np.trapezoid(v, dx=s)"),
    "tril": ("np.tril(a)", "np.tril(a, -1)"),
    "trim_zeros": ("np.trim_zeros(v)",),
    "triu": ("np.triu(a)", "np.triu(a, 1)"),
    "union1d": ("np.union1d(v, w)",),
    "unique": (
        *("np.unique(x)", "np.unique(v, return_inverse=True)", "np.unique(v, return_counts=True)"),
        *("np.unique(a, axis=0)", "np.unique(v, return_index=True)"),
    ),
    "unstack": ("np.unstack(x)",),
    "unwrap": ("np.unwrap(v)", "np.unwrap(v, period=s)"),
    "vander": ("np.vander(v, 3)",),
    "vdot": ("np.vdot(v, w)", "np.vdot(x, u)"),
    "vsplit": ("np.vsplit(x, 1)",),
    "vstack": ("np.vstack([x, u])",),
    "where": ("np.where(condition, x, u)", "np.where(x > y, x, y)", "np.where(condition, x, 0)", "np.where(condition)"),
    "linalg.cholesky": ("np.linalg.cholesky(a @ a.swapaxes(-1, -2) + np.eye(a.shape[-1]))",),
    "linalg.cond": ("np.linalg.cond(a + 4 * np.eye(a.shape[-1]))",),
    "linalg.det": ("np.linalg.det(a)",),
    "linalg.inv": ("np.linalg.inv(a)",),
    "linalg.matrix_power": ("np.linalg.matrix_power(a, 2)", "np.linalg.matrix_power(a, 0)"),
    "linalg.norm": ("np.linalg.norm(v)", "np.linalg.norm(x)", "np.linalg.norm(v, 1)", "np.linalg.norm(a, axis=-1)"),
    "linalg.pinv": ("np.linalg.pinv(a)",),
    "linalg.solve": ("np.linalg.solve(a, b)",),
    "linalg.tensorsolve": (),
    "linalg.tensorinv": (),
    "linalg.multi_dot": ("np.linalg.multi_dot([a, b, a])",),
    "linalg.lstsq": ("np.linalg.lstsq(a, b[..., 0])",),
    "ldexp": ("np.ldexp(x, 2)", "np.ldexp(v, spots[:1])"),
    "matmul": ("np.matmul(a, b)", "np.matmul(a, np.eye(a.shape[-1]))"),
    "matvec": ("np.matvec(a, a[..., 0])",),
    "vecmat": ("np.vecmat(a[..., 0], a)",),
    "vecdot": ("np.vecdot(x, u)",),
    "power": ("np.power(x, 2)", "np.power(x, y)", "np.power(x, 0.5)", "np.power(x, -1)", "np.power(2, x)"),
    "float_power": ("np.float_power(x, 2)",),
}
BY_MATRIX = """
fliplr flipud linalg.eigh linalg.eigvalsh linalg.eigvals linalg.eig linalg.svdvals linalg.slogdet linalg.matrix_rank
linalg.matrix_norm linalg.diagonal linalg.trace linalg.matrix_transpose matrix_transpose linalg.qr linalg.svd fft.fft2
fft.fftn fft.ifft2 fft.ifftn fft.rfft2 fft.rfftn fft.irfft2 fft.irfftn tril_indices_from triu_indices_from
diag_indices_from
"""


def lines_of(names: Iterable[str]) -> list[str]:
    """Return the lines that call functions of NumPy.

    Parameters
    ----------
    names : of the functions, without ``np.``; those that NumPy does not have are left out
    """
    lines: list[str] = []
    for name in sorted(set(names)):
        if _has(name):
            lines += _lines_of_function(name)
            if name in METHODS.split() and name not in SPECIAL:
                lines += _lines_of_method(name)
    return lines


def _lines_of_function(name: str) -> tuple[str, ...]:
    if name in SPECIAL:
        return SPECIAL[name]
    if name in (*REDUCTIONS.split(), *NAN_REDUCTIONS.split()):
        lines = (f"np.{name}(x)", f"np.{name}(x, axis={{axis}})", f"np.{name}(v)")
        if name in WITHOUT_KEEPDIMS:
            return lines
        return (*lines, f"np.{name}(x, axis={{axis}}, keepdims=True)")
    if name in CUMULATIVE.split():
        return (f"np.{name}(v)", f"np.{name}(x, axis={{axis}})")
    if name in BY_MATRIX.split():
        return (f"np.{name}(a)",)
    function = _function(name)
    if isinstance(function, np.ufunc):
        return _lines_of_ufunc(name, function)
    return (f"np.{name}(x)",)


def _lines_of_ufunc(name: str, function: np.ufunc) -> tuple[str, ...]:
    if function.nin == 1:
        if function.nout == 1:  # arrays more often than single numbers
            return (f"np.{name}(x)", f"np.{name}(x)", f"np.{name}(s)")
        return (f"np.{name}(x)",)
    lines = (f"np.{name}(x, y)", f"np.{name}(x, y)", f"np.{name}(x, 2)", f"np.{name}(2.5, x)", f"np.{name}(x, plain)")
    if function.nout > 1 or function.signature is not None:
        return lines
    return (*lines, f"np.{name}.reduce(x)", f"np.{name}.accumulate(v)", f"np.{name}.outer(v, w)")


def _lines_of_method(name: str) -> tuple[str, ...]:
    if name in REDUCTIONS.split():
        return (f"x.{name}()", f"x.{name}(axis={{axis}})")
    if name == "astype":
        return ("x.astype(np.float32)",)
    return (f"x.{name}()",)


def _has(name: str) -> bool:
    try:
        return callable(_function(name))
    except AttributeError:
        return False


def _function(name: str) -> object:
    place: object = np
    for part in name.split("."):
        place = getattr(place, part)
    return place
