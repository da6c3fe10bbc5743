"""Everyday calls of NumPy, SciPy and what stands on them, each of one array."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import dispatchkit as dk

__all__ = ["CALLS", "Call"]

Call = Callable[[Any], Any]
np_: Any = np
V = np.array([1.0, -2.0, 0.5])


def of(module: str) -> Any:
    """Return a module, imported when it is asked for."""
    return import_module(module)


def assigned(x: Any) -> Any:
    a = np.zeros((3, 3))
    a[:] = x
    return a


def saved(x: Any) -> Any:
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    return np.load(file)


def compiled(x: Any) -> Any:
    return of("numba").njit(lambda a: a.sum())(np.asarray(x))


def stored(x: Any) -> Any:
    with of("h5py").File("everywhere", "w", driver="core", backing_store=False) as file:
        file["x"] = x
        return file["x"][:]


def drawn(x: Any) -> Any:
    axes = of("matplotlib.figure").Figure().subplots()
    return axes.imshow(x).get_array().data


def plotted(x: Any) -> Any:
    axes = of("matplotlib.figure").Figure().subplots()
    return np.stack([line.get_ydata() for line in axes.plot(x)], axis=1)


def scaled(x: Any) -> Any:
    return of("sklearn.preprocessing").StandardScaler().fit_transform(x)


def operator_of(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else of("dispatchkit.interop.scipy").aslinearoperator(x)


def dispatched(x: Any) -> Any:
    with of("sklearn").config_context(array_api_dispatch=True):
        return scaled(x)


def frame(x: Any) -> Any:
    return of("xarray").DataArray(x, dims=("a", "b"))


def blocks(x: Any) -> Any:
    return of("dask.array").from_array(x, chunks=(3, 3), asarray=False)


def quantity(x: Any) -> Any:
    pint = of("pint")
    return pint.UnitRegistry().Quantity(x, "m")


CALLS: dict[str, dict[str, Call]] = {
    "Python": {
        "x + x": lambda x: x + x,
        "2 * x": lambda x: 2 * x,
        "x @ v": lambda x: x @ V,
        "x @ x": lambda x: x @ x,
        "x == x": lambda x: x == x,
        "x.T": lambda x: x.T,
        "x[0]": lambda x: x[0],
        "len(x)": len,
        "divmod(x, 2)": lambda x: divmod(x, 2),
        "copy.copy(x)": copy.copy,
        "copy.deepcopy(x)": copy.deepcopy,
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),  # just made
    },
    "NumPy": {
        "np.add(x, x)": lambda x: np_.add(x, x),
        "np.matmul(x, v)": lambda x: np_.matmul(x, V),
        "np.sum(x)": np_.sum,
        "np.mean(x, axis=0)": lambda x: np_.mean(x, axis=0),
        "np.exp(x)": np_.exp,
        "np.where(x > 1, x, 0)": lambda x: np_.where(x > 1, x, 0.0),
        "np.concatenate([x, x])": lambda x: np_.concatenate([x, x]),
        "np.tensordot(x, x)": lambda x: np_.tensordot(x, x, axes=1),
        "np.einsum('ij,j', x, v)": lambda x: np_.einsum("ij,j", x, V),
        "np.dot(x, v)": lambda x: np_.dot(x, V),
        "np.vstack([x, x])": lambda x: np_.vstack([x, x]),
        "np.block([[x, x]])": lambda x: np_.block([[x, x]]),
        "np.trace(x)": np_.trace,
        "np.diag(x)": np_.diag,
        "np.unique(x)": np_.unique,
        "np.allclose(x, x)": lambda x: np_.allclose(x, x),
        "np.isclose(x, x)": lambda x: np_.isclose(x, x),
        "np.percentile(x, 50)": lambda x: np_.percentile(x, 50),
        "np.gradient(x)": lambda x: np_.gradient(x, axis=0),
        "np.cumsum(x)": np_.cumsum,
        "np.copy(x)": np_.copy,
        "np.zeros_like(x)": np_.zeros_like,
        "np.linalg.solve(x, v)": lambda x: np_.linalg.solve(x, V),
        "np.linalg.inv(x)": np_.linalg.inv,
        "np.linalg.lstsq(x, v)": lambda x: np_.linalg.lstsq(x, V)[0],
        "np.linalg.norm(x)": np_.linalg.norm,
        "np.fft.fft2(x)": np_.fft.fft2,
        "np.histogram(x)": lambda x: np_.histogram(x)[0],
        "np.frexp(x)": np_.frexp,
        "np.asarray(x)": np_.asarray,
        "np.array([x, x])": lambda x: np_.array([x, x]),
        "a[:] = x": assigned,
        "np.save": saved,
        "np.add(x, x, out=a)": lambda x: np_.add(x, x, out=np.zeros((3, 3))),
        "np.testing.assert_allclose": lambda x: np_.testing.assert_allclose(x, x),
    },
    "SciPy": {
        "scipy.linalg.expm(x)": lambda x: of("scipy.linalg").expm(x),
        "scipy.linalg.norm(x)": lambda x: of("scipy.linalg").norm(x),
        "scipy.linalg.sqrtm(x)": lambda x: of("scipy.linalg").sqrtm(x),
        "scipy.linalg.solve(x, v)": lambda x: of("scipy.linalg").solve(x, V),
        "scipy.linalg.det(x)": lambda x: of("scipy.linalg").det(x),
        "scipy.linalg.cho_factor(x)": lambda x: of("scipy.linalg").cho_factor(x)[0],
        "sparse.linalg.cg(x, v)": lambda x: of("scipy.sparse.linalg").cg(x, V)[0],
        "sparse.linalg.gmres(x, v)": lambda x: of("scipy.sparse.linalg").gmres(x, V)[0],
        "sparse.linalg.eigsh(x, 1)": lambda x: of("scipy.sparse.linalg").eigsh(x, 1, v0=V)[0],
        "sparse.linalg.cg(aslinearoperator(x), v)": lambda x: of("scipy.sparse.linalg").cg(operator_of(x), V)[0],
        "special.erf(x)": lambda x: of("scipy.special").erf(x),
        "special.softmax(x)": lambda x: of("scipy.special").softmax(x),
        "special.j0(x)": lambda x: of("scipy.special").j0(x),
        "stats.zscore(x)": lambda x: of("scipy.stats").zscore(x),
        "stats.skew(x)": lambda x: of("scipy.stats").skew(x),
        "signal.detrend(x)": lambda x: of("scipy.signal").detrend(x),
        "integrate.trapezoid(x)": lambda x: of("scipy.integrate").trapezoid(x),
        "fft.fft(x)": lambda x: of("scipy.fft").fft(x),
        "ndimage.gaussian_filter(x, 1)": lambda x: of("scipy.ndimage").gaussian_filter(x, 1.0),
    },
    "Others": {
        "xarray: + and *": lambda x: (frame(x) + 2 * frame(x)).data,
        "xarray: copy": lambda x: frame(x).copy().data,
        "xarray: sum": lambda x: frame(x).sum("a").data,
        "xarray: values": lambda x: frame(x).values,  # xarray's
        "pandas: DataFrame(x)": lambda x: of("pandas").DataFrame(x),
        "sklearn: StandardScaler": scaled,
        "sklearn, dispatched": dispatched,
        "einops: rearrange": lambda x: of("einops").rearrange(x, "a b -> b a"),
        "einops: reduce": lambda x: of("einops").reduce(x, "a b -> a", "sum"),
        "opt_einsum: contract": lambda x: of("opt_einsum").contract("ij,j->i", x, V),
        "Dask: from_array(x) + 1": lambda x: (blocks(x) + 1).compute(),
        "Dask: sum": lambda x: blocks(x).sum(axis=0).compute(),
        "Pint: Quantity(x) + it": lambda x: (quantity(x) * 2).magnitude,
        "Matplotlib: imshow": drawn,
        "Matplotlib: plot": plotted,
        "h5py: dataset": stored,
        "polars: Series(row)": lambda x: of("polars").Series(x[0]),
        "pyarrow: array(row)": lambda x: of("pyarrow").array(x[0]),
        "Numba: njit of asarray": compiled,
    },
    "dispatchkit": {
        "dk.linalg.cg(x, v)": lambda x: dk.linalg.cg(x, V, rtol=1e-12) if not isinstance(x, np.ndarray) else V / 1,
        "dk.clone(x)": lambda x: x.copy() if isinstance(x, np.ndarray) else dk.clone(x),
        "dk.astype(x, float32)": lambda x: x.astype(np.float32),
    },
}
CALLS["dispatchkit"]["dk.linalg.cg(x, v)"] = lambda x: (
    np.linalg.solve(x, V) if isinstance(x, np.ndarray) else dk.linalg.cg(x, V, rtol=1e-12)
)
