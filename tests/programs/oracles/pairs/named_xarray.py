"""NamedTensor against xarray.DataArray."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from dispatchkit.types import NamedTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.numpy_lines import lines_of
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["NamedXarray"]

UFUNCS = """
sin cos tan arcsin arctan sinh tanh arcsinh exp exp2 expm1 log1p sqrt cbrt square abs negative positive sign floor ceil
trunc rint conj isnan isinf isfinite signbit reciprocal logical_not add subtract multiply divide maximum minimum
floor_divide remainder hypot arctan2 power fmax fmin greater less equal not_equal less_equal greater_equal logical_and
logical_or copysign logaddexp
"""
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "std", "var", "any", "all", "median", "argmax", "argmin")
LINES = (
    *(f"np.{name}(x, axis={{axis}})" for name in REDUCTIONS),
    *(f"np.{name}(x)" for name in REDUCTIONS),
    *(f"x.{name}(axis={{axis}})" for name in ("sum", "mean", "max", "min", "prod", "std", "var", "any", "all")),
    *(
        "x + y",
        "x - y",
        "x * y",
        "y / x",
        "x < y",
        "x == y",
        "x + x.T",
        "x.T * x",
        "a + b",
        "a.T - b",
    ),
    *("2 * x", "x % 3"),
    *("x + plain", "plain * x", "x ** 2", "-x", "abs(x)", "x & y", "~x", "x @ x", "v @ v"),
    *("a @ b", "a[0] @ b", "a @ b[:, 0]"),
    *("x[{slice}]", "x[{slice}]", "x[condition]", "x.T[{slice}]", "len(x)", "list(v)", "float(s)", "bool(s)"),
    *("np.transpose(x)", "x.T", "np.swapaxes(x, {axis}, 0)", "np.swapaxes(x, 0, {axis})", "np.moveaxis(x, {axis}, 0)"),
    *("np.moveaxis(x, 0, {axis})", "np.rollaxis(x, {axis})", "np.squeeze(x)", "np.flip(x, {axis})", "np.fliplr(a)"),
    *("np.roll(x, {n}, axis={axis})", "np.concatenate([x, u], axis={axis})", "np.split(x, [1], axis={axis})"),
    *("np.take(x, places, axis=-1)", "np.clip(x, -1, 2)", "np.where(condition, x, u)", "np.where(x > u, x, u)"),
    *("np.cumsum(x, axis={axis})", "np.cumprod(x, axis={axis})", "np.diff(x, axis={axis})", "np.rot90(a)"),
    *("np.quantile(x, {q}, axis={axis})", "np.quantile(x, {q})", "np.pad(x, 1)", "np.inner(v, v)"),
    *("np.tensordot(a, b, 1)",),
    *(
        "np.outer(a[0], b[0])",
        "np.dot(a, b)",
        "np.einsum('ij,jk->ik', a, b)",
        "np.einsum('ij->ji', a)",
    ),
    *("np.stack([x, u], axis='n')",),
    *("np.expand_dims(x, axis='n')", "np.broadcast_arrays(x, y)", "np.isin(x, v)", "np.sort(v)", "np.vecdot(a, a)"),
    *("x += y; result = x", "x -= 1; result = x", "x *= plain; result = x", "x[{slice}] = 0; result = x"),
    *(
        "x[condition] = 1; result = x",
        "x[{slice}] = s; result = x",
        "np.astype(x, np.float32)",
    ),
    *("np.nansum(x, axis={axis})",),
    *("np.nanmedian(x, axis={axis})", "np.trace(a)", "np.linalg.det(a)", "np.linalg.norm(x)", "np.zeros_like(x)"),
)


class NamedXarray(Pair):
    """Names of axes, which both align by; theirs skips no NaN here."""

    name: ClassVar[str] = "named-xarray"
    ours: ClassVar[str] = "NamedTensor"
    specialist: ClassVar[str] = "xarray"
    needs: ClassVar[tuple[str, ...]] = ("xarray",)

    def lines(self) -> Sequence[str]:
        """Return the lines of what xarray has a function, a method or a ufunc for."""
        return (*LINES, *(line for line in lines_of(UFUNCS.split()) if ".reduce" not in line and ".acc" not in line))

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return the names: those of ``x`` for what broadcasts with it, now and then in another order or others."""
        if name in ("a", "b"):
            names = ("t", "p") if name == "a" else ("p", draw.pick("aqz"))
            return ("n", *names)[-data.ndim :]
        if name in ("v", "w", "t"):
            return ("t",)
        if name in ("x", "s"):
            return tuple(draw.pick(("tpq", "bax", "zya"))[3 - data.ndim :])
        if name != "u" and draw.chance(0.2):
            return tuple("klm"[: data.ndim])
        names = before["x"].extra
        return tuple(names[len(names) - data.ndim :])

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Return False for axes of length 1 that are stretched, which xarray refuses, and for batches."""
        lengths: dict[str, int] = {}
        for operand in operands.values():
            for name, length in zip(operand.extra or (), operand.data.shape, strict=False):
                if lengths.setdefault(name, length) != length:
                    return False
        return all(operands[name].data.ndim == 2 for name in ("a", "b") if name in operands)

    def make_ours(self, operand: Operand) -> Any:
        """Return a NamedTensor of a copy."""
        return NamedTensor(operand.data.copy(), operand.extra)

    def make_theirs(self, operand: Operand) -> Any:
        """Return a DataArray of a copy."""
        from xarray import DataArray  # optional

        return DataArray(operand.data.copy(), dims=operand.extra)

    def names_of_theirs(self) -> dict[str, Any]:
        """Return the functions by xarray's means in the place of NumPy's."""
        return {"np": Spelled()}

    def line_of_theirs(self, line: str) -> str:
        """Return methods that skip no NaN."""
        return (
            line.replace("(axis=", "(skipna=False, axis=")
            if line.startswith("x.") and "any" not in line and "all" not in line
            else line
        )

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements and the names."""
        if isinstance(result, NamedTensor):
            return {"value": np.asarray(dk.asarray(result.data)), "names": result.names}
        return {"value": np.asarray(result), "names": ()}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of a DataArray."""
        return {"value": np.asarray(result), "names": tuple(getattr(result, "dims", ()))}


class Spelled:
    """NumPy's functions as xarray has them: by methods that take names of dimensions."""

    def __getattr__(self, name: str) -> Any:
        if name in REDUCTIONS or name in ("cumsum", "cumprod"):
            return lambda x, axis=None: _reduced(x, name, axis)
        return getattr(np, name)

    def nansum(self, x: Any, axis: int) -> Any:
        return x.sum(axis=axis, skipna=True)

    def nanmedian(self, x: Any, axis: int) -> Any:
        return x.median(axis=axis, skipna=True)

    def quantile(self, x: Any, q: Any, axis: Any = None) -> Any:
        return x.quantile(q, dim=None if axis is None else x.dims[axis], skipna=False).drop_vars("quantile")

    def transpose(self, x: Any) -> Any:
        return x.transpose()

    def swapaxes(self, x: Any, i: int, j: int) -> Any:
        dims = list(x.dims)
        dims[i], dims[j] = dims[j], dims[i]
        return x.transpose(*dims)

    def moveaxis(self, x: Any, i: int, j: int) -> Any:
        dims = list(x.dims)
        name = dims.pop(i)
        dims.insert(j % x.ndim, name)
        return x.transpose(*dims)

    def rollaxis(self, x: Any, i: int) -> Any:
        return self.moveaxis(x, i, 0)

    def squeeze(self, x: Any) -> Any:
        return x.squeeze()

    def flip(self, x: Any, axis: int) -> Any:
        return x.isel({x.dims[axis]: slice(None, None, -1)})

    def fliplr(self, x: Any) -> Any:
        return self.flip(x, 1)

    def rot90(self, x: Any) -> Any:
        return self.flip(x, 1).transpose()

    def roll(self, x: Any, n: int, axis: int) -> Any:
        return x.roll({x.dims[axis]: n})

    def concatenate(self, arrays: Any, axis: int) -> Any:
        from xarray import concat  # optional

        return concat(arrays, arrays[0].dims[axis])

    def stack(self, arrays: Any, axis: str) -> Any:
        from xarray import concat  # optional

        return concat(arrays, axis)

    def expand_dims(self, x: Any, axis: str) -> Any:
        return x.expand_dims(axis)

    def split(self, x: Any, at: list[int], axis: int) -> Any:
        name = x.dims[axis]
        return [x.isel({name: slice(None, at[0])}), x.isel({name: slice(at[0], None)})]

    def take(self, x: Any, places: Any, axis: int) -> Any:
        return x.isel({x.dims[axis]: places})

    def clip(self, x: Any, low: Any, high: Any) -> Any:
        return x.clip(low, high)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        import xarray  # optional

        plain = isinstance(condition, np.ndarray)
        return xarray.where(xarray.DataArray(condition, dims=x.dims) if plain else condition, x, y)

    def diff(self, x: Any, axis: int) -> Any:
        return x.diff(x.dims[axis])

    def pad(self, x: Any, width: int) -> Any:
        return x.pad(dict.fromkeys(x.dims, (width, width)), constant_values=0)

    def broadcast_arrays(self, x: Any, y: Any) -> Any:
        from xarray import broadcast  # optional

        return broadcast(x, y)

    def isin(self, x: Any, v: Any) -> Any:
        return x.isin(v)

    def sort(self, v: Any) -> Any:
        return v.copy(data=np.sort(v.data))

    def astype(self, x: Any, dtype: Any) -> Any:
        return x.astype(dtype)

    def zeros_like(self, x: Any) -> Any:
        from xarray import zeros_like  # optional

        return zeros_like(x)

    def tensordot(self, x: Any, y: Any, axes: int = 1) -> Any:
        from xarray import dot  # optional

        return dot(x, y, dim=x.dims[-axes:])

    inner = dot = outer = property(lambda self: self._product)

    def _product(self, x: Any, y: Any) -> Any:
        from xarray import dot  # optional

        return dot(x, y)

    def vecdot(self, x: Any, y: Any) -> Any:
        from xarray import dot  # optional

        return dot(np.conj(x), y, dim=x.dims[-1])

    def einsum(self, text: str, *arrays: Any) -> Any:
        return arrays[0].transpose() if len(arrays) == 1 else self._product(*arrays)

    def trace(self, x: Any) -> Any:
        from xarray import DataArray, dot  # optional

        return dot(x, DataArray(np.eye(*x.shape, dtype=x.dtype), dims=x.dims))

    @property
    def linalg(self) -> Any:
        return _Linalg()


class _Linalg:
    def det(self, x: Any) -> Any:
        return np.linalg.det(x.data)

    def norm(self, x: Any) -> Any:
        return np.linalg.norm(x.data)


def _reduced(x: Any, name: str, axis: Any) -> Any:
    options = {} if name in ("any", "all") else {"skipna": False}
    return getattr(x, name)(axis=axis, **options)
