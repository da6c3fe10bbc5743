"""Libraries written for the standard, on tensors: what goes in as a tensor comes out as one, with NumPy's values.

`nox -s clients` installs them; each test skips where its library is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

# What these libraries warn of is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")

A = np.random.default_rng(0).normal(size=(20, 3))


def same(call: Callable[[Any], Any], *, rtol: float = 1e-7) -> None:
    got, want = call(dk.asarray(A)), call(A)
    assert isinstance(got, dk.Tensor), type(got)
    np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=1e-9)


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = dk.ones((2, 3))
    assert compat.array_namespace(x, x) is dk
    assert compat.is_array_api_obj(x)
    assert compat.size(x) == 6
    assert compat.to_device(x, compat.device(x)).shape == (2, 3)


SCIPY: dict[str, Callable[[Any, Any], Any]] = {
    "special.logsumexp": lambda f, x: f(x, axis=0),
    "special.softmax": lambda f, x: f(x, axis=0),
    "special.erf": lambda f, x: f(x),
    "special.xlogy": lambda f, x: f(x * x, 2.0),
    "stats.zscore": lambda f, x: f(x),
    "stats.skew": lambda f, x: f(x),
    "stats.kurtosis": lambda f, x: f(x),
    "stats.gmean": lambda f, x: f(x * x + 1),
    "stats.moment": lambda f, x: f(x, order=2),
    "stats.ttest_1samp": lambda f, x: f(x, 0.0).statistic,
    "stats.pearsonr": lambda f, x: f(x[:, 0], x[:, 1]).statistic,
    "fft.fft": lambda f, x: f(x[:, 0]),
    "fft.dct": lambda f, x: f(x[:, 0]),
    "signal.convolve": lambda f, x: f(x[:, 0], x[:5, 1]),
    "signal.detrend": lambda f, x: f(x[:, 0]),
    "ndimage.gaussian_filter": lambda f, x: f(x, 1.0),
    "spatial.distance.pdist": lambda f, x: f(x),
    "cluster.vq.whiten": lambda f, x: f(x),
    "cluster.hierarchy.linkage": lambda f, x: f(x),
    "integrate.trapezoid": lambda f, x: f(x[:, 0]),
    "constants.convert_temperature": lambda f, x: f(x[:, 0], "C", "K"),
}


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name: str) -> None:
    module, _, function = name.rpartition(".")
    pytest.importorskip("array_api_compat", reason="SciPy's array API dispatch is tested with all clients")
    place = pytest.importorskip(f"scipy.{module}")
    same(lambda x: SCIPY[name](getattr(place, function), x))


def test_scipy_finds_roots_and_derivatives() -> None:
    pytest.importorskip("array_api_compat", reason="SciPy's array API dispatch is tested with all clients")
    optimize = pytest.importorskip("scipy.optimize.elementwise")
    differentiate = pytest.importorskip("scipy.differentiate")
    found = optimize.find_root(lambda x: x * x - 2, (dk.asarray(0.0), dk.asarray(2.0)))
    assert isinstance(found.x, dk.Tensor)
    assert float(found.x) == pytest.approx(2**0.5)
    slopes = differentiate.derivative(dk.sin, dk.asarray([0.1, 0.2])).df
    np.testing.assert_allclose(slopes.numpy(), np.cos([0.1, 0.2]))


@pytest.fixture
def sklearn() -> Iterator[Any]:
    found = pytest.importorskip("sklearn")
    with found.config_context(array_api_dispatch=True):
        yield found


def target(x: Any) -> Any:
    return x @ type(x)([1.0, 2.0, 3.0]) if isinstance(x, dk.Tensor) else x @ np.array([1.0, 2.0, 3.0])


def classes(x: Any) -> Any:
    labels = np.arange(20) % 2
    return dk.asarray(labels) if isinstance(x, dk.Tensor) else labels


def test_sklearn_transforms(sklearn: Any) -> None:
    from sklearn import preprocessing
    from sklearn.decomposition import PCA

    same(lambda x: preprocessing.StandardScaler().fit_transform(x))
    same(lambda x: preprocessing.MinMaxScaler().fit_transform(x))
    same(lambda x: preprocessing.Normalizer().fit_transform(x))
    same(lambda x: preprocessing.PolynomialFeatures(2).fit_transform(x))
    same(lambda x: PCA(2, svd_solver="full").fit(x).transform(x))
    same(lambda x: preprocessing.LabelEncoder().fit_transform(classes(x)))


def test_sklearn_estimators(sklearn: Any) -> None:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.naive_bayes import GaussianNB

    same(lambda x: Ridge(solver="svd").fit(x, target(x)).predict(x))
    same(lambda x: LinearDiscriminantAnalysis().fit(x, classes(x)).predict(x))
    same(lambda x: LogisticRegression(solver="lbfgs").fit(x, classes(x)).predict(x))
    same(lambda x: GaussianNB().fit(x, classes(x)).predict(x))


def test_sklearn_metrics(sklearn: Any) -> None:
    from sklearn import metrics
    from sklearn.model_selection import train_test_split

    x, y = dk.asarray(A), classes(dk.asarray(A))
    assert metrics.accuracy_score(y, y) == 1.0
    assert metrics.r2_score(target(x), target(x)) == 1.0
    assert metrics.mean_squared_error(target(x), target(x) + 1) == pytest.approx(1.0)
    same(metrics.pairwise.cosine_similarity)
    same(metrics.pairwise.rbf_kernel)
    assert all(isinstance(part, dk.Tensor) for part in train_test_split(x, y, random_state=0))


XARRAY: dict[str, Callable[[Any], Any]] = {
    "mean": lambda a: a.mean("a"),
    "std": lambda a: a.std("a"),
    "sum, skipna": lambda a: a.sum("a", skipna=True),
    "max": lambda a: a.max("a"),
    "arithmetic": lambda a: (a + 1) * a,
    "ufunc": lambda a: np.sin(a),
    "transpose": lambda a: a.transpose("b", "a"),
    "isel": lambda a: a.isel(a=[0, 3]),
    "where": lambda a: a.where(a > 0, 0.0),
    "fillna": lambda a: a.where(a > 0).fillna(1.0),
    "stack": lambda a: a.stack(z=("a", "b")),
    "diff": lambda a: a.diff("a"),
    "pad": lambda a: a.pad(a=1, constant_values=0.0),
    "shift": lambda a: a.shift(a=1, fill_value=0.0),
    "matmul": lambda a: a @ a.T,
    "groupby": lambda a: a.groupby("b").mean(),
}


@pytest.mark.parametrize("name", XARRAY)
def test_xarray(name: str) -> None:
    xarray = pytest.importorskip("xarray")
    same(lambda x: XARRAY[name](xarray.DataArray(x, dims=("a", "b"), coords={"b": [0, 1, 0]})).data)


def test_einops() -> None:
    einops = pytest.importorskip("einops")
    pytest.importorskip("einops.array_api")
    same(lambda x: einops.rearrange(x, "(a b) c -> a c b", a=4))
    same(lambda x: einops.reduce(x, "(a b) c -> b", "mean", a=4))
    same(lambda x: einops.repeat(x, "a c -> a r c", r=2))
    same(lambda x: einops.einsum(x, x, "a c, b c -> a b"))
    same(lambda x: einops.array_api.rearrange(x, "(a b) c -> a c b", a=4))
    x = dk.tensor(A, requires_grad=True)
    einops.reduce(x, "a b -> b", "sum").sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.ones((20, 3)))


def test_einx() -> None:
    einx = pytest.importorskip("einx")
    same(lambda x: einx.subtract("a c, a -> c a", x, x[:, 0]))
    same(lambda x: einx.sum("(a b) [c]", x, a=4))
    same(lambda x: einx.dot("a [c], b [c] -> a b", x, x))
    same(lambda x: einx.where("a, a c, -> c a", x[:, 0] > 0.5, x, 0.0))
    same(lambda x: einx.get_at("[a] c, i -> i c", x, x.__array_namespace__().asarray([2, 0])))
    x = dk.tensor(A, requires_grad=True)
    einx.sum("a [b]", x).sum().backward()
    np.testing.assert_array_equal(np.asarray(x.grad), np.ones((20, 3)))
    lengths, widths = dk.types.QuantityTensor([1.0], "m"), dk.types.QuantityTensor([2.0], "cm")
    assert einx.add("a, b -> a b", lengths, widths).unit == dk.types.Unit("m")


def test_opt_einsum() -> None:
    opt_einsum = pytest.importorskip("opt_einsum")
    same(lambda x: opt_einsum.contract("ij,kj,kl->il", x, x, x))


def test_dask() -> None:
    da = pytest.importorskip("dask.array")

    def chunked(x: Any) -> Any:
        return da.from_array(x, chunks=(10, 3), asarray=False)

    same(lambda x: chunked(x).sum().compute())
    same(lambda x: (chunked(x) + 1).mean(axis=0).compute())
    same(lambda x: chunked(x).T.compute())
    same(lambda x: da.concatenate([chunked(x), chunked(x)]).compute())
    same(lambda x: da.exp(chunked(x)).compute())
    same(lambda x: (chunked(x) @ chunked(x).T).compute())
    same(lambda x: chunked(x).std(axis=0).compute())


def test_pint() -> None:
    pint = pytest.importorskip("pint")
    units = pint.UnitRegistry()
    same(lambda x: (units.Quantity(x, "m") * 2).to("cm").magnitude)
    concatenate: Any = np.concatenate
    same(lambda x: concatenate([units.Quantity(x, "m"), units.Quantity(x, "cm")]).magnitude)
    q = dk.ones(2) * units.m
    assert isinstance(q.magnitude, dk.Tensor)
    assert str(q.units) == "meter"


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(dk.asarray(A)).shape == (20, 3)
    assert pandas.Series(dk.asarray(A)[:, 0]).sum() == pytest.approx(A[:, 0].sum())
