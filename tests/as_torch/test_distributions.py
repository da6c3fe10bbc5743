"""Distributions: densities, moments and draws by closed forms and SciPy, and beside PyTorch where it is installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled
from dispatchkit.as_torch.distributions.gamma_draws import slope

pytest.importorskip("scipy")
D = spelled.distributions
RANDOM = np.random.default_rng(0)
REAL, OTHER = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(2, 3))
POSITIVE, SHARES = RANDOM.random((2, 3)) + 0.3, RANDOM.dirichlet(np.ones(3), 2)
COUNTS = np.array([[0.0, 1.0, 3.0], [2.0, 5.0, 4.0]])
MATRIX = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.0]])
LOWER = np.linalg.cholesky(MATRIX)
CORRELATED = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.36, 0.48, 0.8]])
Parameters = dict[str, Any]
# The class, its parameters, and values.
CASES: dict[str, tuple[str, Parameters, Any]] = {
    **{name: (name, {"loc": REAL, "scale": POSITIVE[0]}, OTHER) for name in ("Normal", "Laplace", "Cauchy", "Gumbel")},
    "StudentT": ("StudentT", {"df": POSITIVE + 2, "loc": REAL[0], "scale": POSITIVE[1]}, OTHER),
    "Uniform": ("Uniform", {"low": -POSITIVE[0], "high": POSITIVE}, OTHER / 20),
    "Exponential": ("Exponential", {"rate": POSITIVE}, POSITIVE[::-1]),
    "Gamma": ("Gamma", {"concentration": 3 * POSITIVE, "rate": POSITIVE[0]}, POSITIVE[::-1]),
    "Chi2": ("Chi2", {"df": 3 * POSITIVE}, POSITIVE[::-1]),
    "Beta": ("Beta", {"concentration1": 2 * POSITIVE, "concentration0": POSITIVE[0] + 1}, SHARES),
    "Dirichlet": ("Dirichlet", {"concentration": 2 * POSITIVE}, SHARES),
    "HalfNormal": ("HalfNormal", {"scale": POSITIVE}, POSITIVE[::-1]),
    "HalfCauchy": ("HalfCauchy", {"scale": POSITIVE}, POSITIVE[::-1]),
    "LogNormal": ("LogNormal", {"loc": REAL, "scale": POSITIVE}, POSITIVE[::-1]),
    "MultivariateNormal": ("MultivariateNormal", {"loc": REAL, "covariance_matrix": MATRIX}, OTHER),
    "MultivariateNormal by precision": (
        "MultivariateNormal",
        {"loc": REAL, "precision_matrix": MATRIX},
        OTHER[:, None],
    ),
    "MultivariateNormal by factor": ("MultivariateNormal", {"loc": REAL, "scale_tril": LOWER}, OTHER),
    "Bernoulli": ("Bernoulli", {"probs": SHARES}, (REAL > 0) * 1.0),
    "Bernoulli by logits": ("Bernoulli", {"logits": REAL}, (OTHER > 0) * 1.0),
    "Geometric": ("Geometric", {"probs": SHARES}, COUNTS),
    "Geometric by logits": ("Geometric", {"logits": REAL}, COUNTS),
    "Binomial": ("Binomial", {"total_count": 7, "probs": SHARES}, COUNTS),
    "Binomial by logits": ("Binomial", {"total_count": np.array([5.0, 6.0, 7.0]), "logits": REAL}, COUNTS),
    "NegativeBinomial": ("NegativeBinomial", {"total_count": 4.0, "probs": SHARES}, COUNTS),
    "Poisson": ("Poisson", {"rate": POSITIVE}, COUNTS),
    "Categorical": ("Categorical", {"probs": POSITIVE}, np.array([0, 2])),
    "Categorical by logits": ("Categorical", {"logits": REAL}, np.array([[0], [2], [1]])),
    "OneHotCategorical": ("OneHotCategorical", {"probs": POSITIVE}, np.eye(3)[[0, 2]]),
    "OneHotCategoricalStraightThrough": ("OneHotCategoricalStraightThrough", {"logits": REAL}, np.eye(3)[[1, 2]]),
    "Multinomial": ("Multinomial", {"total_count": 5, "probs": POSITIVE}, np.array([[1.0, 3, 1], [0, 0, 5]])),
}
CASES |= {
    "InverseGamma": ("InverseGamma", {"concentration": 4 + POSITIVE, "rate": POSITIVE[0]}, POSITIVE[::-1]),
    "Kumaraswamy": ("Kumaraswamy", {"concentration1": POSITIVE, "concentration0": POSITIVE[0] + 1}, SHARES),
    "Pareto": ("Pareto", {"scale": SHARES[0] / 4, "alpha": 2 + POSITIVE}, POSITIVE[::-1]),
    "Weibull": ("Weibull", {"scale": POSITIVE, "concentration": 1 + POSITIVE[0]}, POSITIVE[::-1]),
    "LogisticNormal": (
        "LogisticNormal",
        {"loc": REAL, "scale": POSITIVE},
        np.random.default_rng(1).dirichlet(np.ones(4), 2),
    ),
    "RelaxedBernoulli": ("RelaxedBernoulli", {"temperature": np.array(0.7), "probs": SHARES}, SHARES[::-1]),
    "RelaxedBernoulli by logits": ("RelaxedBernoulli", {"temperature": np.array(0.7), "logits": REAL}, SHARES),
    "RelaxedOneHotCategorical": (
        "RelaxedOneHotCategorical",
        {"temperature": np.array(0.7), "probs": POSITIVE},
        SHARES,
    ),
    "VonMises": ("VonMises", {"loc": REAL, "concentration": POSITIVE}, OTHER),
    "FisherSnedecor": ("FisherSnedecor", {"df1": 2 + POSITIVE, "df2": 4 + POSITIVE[0]}, POSITIVE[::-1]),
    "ContinuousBernoulli": ("ContinuousBernoulli", {"probs": np.array([0.1, 0.5, 0.5004])}, SHARES),
    "ContinuousBernoulli by logits": ("ContinuousBernoulli", {"logits": REAL}, SHARES),
    "GeneralizedPareto": (
        "GeneralizedPareto",
        {"loc": REAL, "scale": POSITIVE, "concentration": np.array([0.3, -0.2, 0.1])},
        REAL + POSITIVE[::-1] / 2,
    ),
    "GeneralizedPareto without a heavy tail": (
        "GeneralizedPareto",
        {"loc": REAL, "scale": POSITIVE, "concentration": np.zeros(3)},
        REAL + POSITIVE[::-1],
    ),
    "LKJCholesky": ("LKJCholesky", {"dim": 3, "concentration": POSITIVE[0]}, CORRELATED),
    **{
        f"Wishart by {name}": (
            "Wishart",
            {"df": 3 + POSITIVE[0], name: matrix},
            np.array([MATRIX, MATRIX + 1, MATRIX @ MATRIX]),
        )
        for name, matrix in {"covariance_matrix": MATRIX, "precision_matrix": MATRIX, "scale_tril": LOWER}.items()
    },
    "LowRankMultivariateNormal": (
        "LowRankMultivariateNormal",
        {"loc": REAL, "cov_factor": LOWER[:, :2], "cov_diag": POSITIVE},
        OTHER,
    ),
}
# Of these PyTorch has polynomials of few terms.
ROUGH = {"VonMises": 5e-6}
# Of these there are no means in closed form, or they are no means of numbers.
WITHOUT_MEANS = ("Cauchy", "HalfCauchy", "Categorical", "VonMises", "LogisticNormal", "RelaxedBernoulli", "LKJCholesky")
SHOWN = ("mean", "variance", "stddev", "mode", "batch_shape", "event_shape")
ASKED: dict[str, Callable[..., Any]] = {
    **{name: (lambda d, value, name=name: getattr(d, name)) for name in SHOWN},
    "log_prob": lambda d, value: d.log_prob(value),
    "cdf": lambda d, value: d.cdf(value),
    "icdf": lambda d, value: d.icdf(value * 0 + 0.3),
    "entropy": lambda d, value: d.entropy(),
    "enumerate_support": lambda d, value: d.enumerate_support(),
    "expand": lambda d, value: d.expand((4, *d.batch_shape)).variance,
}


def tensor(library: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return library.tensor(value.copy())
    return value


def distribution(library: Any, name: str, parameters: Parameters) -> Any:
    return getattr(library.distributions, name)(**{key: tensor(library, x) for key, x in parameters.items()})


def numbers(x: Any) -> Any:
    if hasattr(x, "detach"):
        return np.asarray(x.detach().numpy())
    return np.asarray(x)


@pytest.fixture
def stats() -> Any:
    # Not at the top: SciPy asks, when it is loaded first, whether it takes arrays of others, which other tests say.
    return pytest.importorskip("scipy.stats")


@pytest.fixture
def torch() -> Any:
    library = pytest.importorskip("torch")
    before = library.get_default_dtype()
    library.set_default_dtype(library.float64)
    yield library
    library.set_default_dtype(before)


def in_single(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype("float32")
    return value


@pytest.fixture
def single() -> Iterator[Any]:
    """Have floating-point numbers made in single precision."""
    before = spelled.get_default_dtype()
    spelled.set_default_dtype(spelled.float32)
    yield spelled.float32
    spelled.set_default_dtype(before)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_what_distributions_in_single_precision_know_is_in_single_precision(name: str, single: Any) -> None:
    cls, parameters, value = CASES[name]
    d = distribution(spelled, cls, {key: in_single(x) for key, x in parameters.items()})
    x = tensor(spelled, in_single(value))
    for asked, ask in ASKED.items():
        try:
            found = ask(d, x)
        except (NotImplementedError, ValueError):  # rounded, some values are outside of the support
            continue
        if isinstance(found, spelled.Tensor) and found.dtype.kind == "f":
            assert found.dtype == single, asked


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_distributions_know_what_pytorch_knows(name: str, torch: Any) -> None:
    cls, parameters, value = CASES[name]
    for asked, ask in ASKED.items():
        try:
            expected = ask(distribution(torch, cls, parameters), tensor(torch, value))
        except NotImplementedError:
            continue
        if (cls, asked) == ("Kumaraswamy", "mode"):  # PyTorch takes logarithms of negative numbers
            continue
        found = ask(distribution(spelled, cls, parameters), tensor(spelled, value))
        rtol = ROUGH.get(cls, 1e-8)
        np.testing.assert_allclose(numbers(found), numbers(expected), rtol=rtol, atol=1e-10, err_msg=asked)
    assert repr(distribution(spelled, cls, parameters).support) == repr(distribution(torch, cls, parameters).support)


@pytest.mark.parametrize("name", CASES)
def test_densities_have_the_gradients_of_pytorch(name: str, torch: Any) -> None:
    cls, parameters, value = CASES[name]
    for key in [key for key, x in parameters.items() if isinstance(x, np.ndarray)]:
        gradients = []
        for library in (torch, spelled):
            made = {each: tensor(library, x) for each, x in parameters.items()}
            made[key].requires_grad_()
            getattr(library.distributions, cls)(**made).log_prob(tensor(library, value)).sum().backward()
            gradients.append(numbers(made[key].grad))
        rtol = ROUGH.get(cls, 1e-8)
        np.testing.assert_allclose(gradients[1], gradients[0], rtol=rtol, atol=1e-10, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_moments_of_their_distribution(name: str) -> None:
    cls, parameters, _ = CASES[name]
    spelled.manual_seed(0)
    made = distribution(spelled, cls, parameters)
    draws = made.sample((4000,))
    assert draws.shape == (4000, *made.batch_shape, *made.event_shape)
    assert made.log_prob(draws).shape == (4000, *made.batch_shape)
    if cls in (*WITHOUT_MEANS, "RelaxedOneHotCategorical"):
        return
    error = np.sqrt(numbers(made.variance) / 4000)
    assert np.all(np.abs(numbers(draws).mean(0) - numbers(made.mean)) < 6 * error)


SMOOTH = [name for name, (cls, parameters, _) in CASES.items() if distribution(spelled, cls, parameters).has_rsample]


@pytest.mark.parametrize("name", SMOOTH)
def test_draws_are_functions_of_the_parameters(name: str) -> None:
    cls, parameters, _ = CASES[name]
    made = {key: tensor(spelled, x).requires_grad_() for key, x in parameters.items()}
    draws = getattr(D, cls)(**made).rsample((2,))
    (draws * draws).sum().backward()
    assert all(bool(x.grad.isfinite().all()) for x in made.values())
    assert any(bool(x.grad.any()) for x in made.values())
    assert not getattr(D, cls)(**made).sample().requires_grad


@pytest.mark.parametrize("a", [0.05, 0.7, 1.0, 4.0, 60.0])
def test_draws_of_gamma_distributions_move_with_their_shape(a: float, stats: Any) -> None:
    special = pytest.importorskip("scipy.special")
    x = stats.gamma.ppf([0.1, 0.5, 0.9], a)
    step = 1e-5 * a
    moved = [special.gammaincinv(a + side * step, special.gammainc(a, x)) for side in (-1, 1)]
    np.testing.assert_allclose(slope(np.full(3, a), x), (moved[1] - moved[0]) / (2 * step), rtol=2e-5)


SCIPY: dict[str, tuple[Any, Any, Any]] = {
    "Normal": (lambda: D.Normal(1.0, 2.0), lambda stats: stats.norm(1, 2), 0.7),
    "Laplace": (lambda: D.Laplace(1.0, 2.0), lambda stats: stats.laplace(1, 2), 0.7),
    "Cauchy": (lambda: D.Cauchy(1.0, 2.0), lambda stats: stats.cauchy(1, 2), 0.7),
    "Gumbel": (lambda: D.Gumbel(1.0, 2.0), lambda stats: stats.gumbel_r(1, 2), 0.7),
    "StudentT": (lambda: D.StudentT(5.0, 1.0, 2.0), lambda stats: stats.t(5, 1, 2), 0.7),
    "Uniform": (lambda: D.Uniform(-1.0, 3.0), lambda stats: stats.uniform(-1, 4), 0.7),
    "Exponential": (lambda: D.Exponential(2.0), lambda stats: stats.expon(scale=0.5), 0.7),
    "Gamma": (lambda: D.Gamma(3.0, 2.0), lambda stats: stats.gamma(3, scale=0.5), 0.7),
    "Chi2": (lambda: D.Chi2(3.0), lambda stats: stats.chi2(3), 0.7),
    "Beta": (lambda: D.Beta(2.0, 3.0), lambda stats: stats.beta(2, 3), 0.7),
    "HalfNormal": (lambda: D.HalfNormal(2.0), lambda stats: stats.halfnorm(scale=2), 0.7),
    "LogNormal": (lambda: D.LogNormal(0.5, 0.3), lambda stats: stats.lognorm(0.3, scale=math.exp(0.5)), 0.7),
    "Bernoulli": (lambda: D.Bernoulli(0.3), lambda stats: stats.bernoulli(0.3), 1.0),
    "Geometric": (lambda: D.Geometric(0.3), lambda stats: stats.geom(0.3, loc=-1), 3.0),
    "Binomial": (lambda: D.Binomial(5, 0.3), lambda stats: stats.binom(5, 0.3), 2.0),
    "NegativeBinomial": (lambda: D.NegativeBinomial(5, 0.3), lambda stats: stats.nbinom(5, 0.7), 2.0),
    "Poisson": (lambda: D.Poisson(2.5), lambda stats: stats.poisson(2.5), 2.0),
}


@pytest.mark.parametrize("name", SCIPY)
def test_densities_and_moments_are_those_of_scipy(name: str, stats: Any) -> None:
    make, make_other, value = SCIPY[name]
    other = make_other(stats)
    made, x = make(), spelled.tensor(value)
    log_density = getattr(other, "logpdf", None) or other.logpmf
    assert made.log_prob(x).item() == pytest.approx(log_density(value), rel=1e-9)
    if name != "Cauchy":
        assert made.mean.item() == pytest.approx(other.mean(), rel=1e-9)
        assert made.variance.item() == pytest.approx(other.var(), rel=1e-9)
    if name in ("Normal", "Laplace", "Cauchy", "Gumbel", "Uniform", "Exponential", "HalfNormal", "LogNormal"):
        assert made.cdf(x).item() == pytest.approx(other.cdf(value), rel=1e-9)
        assert made.icdf(made.cdf(x)).item() == pytest.approx(value, rel=1e-7)
    if name in ("Normal", "Laplace", "Cauchy", "Gumbel", "StudentT", "Gamma", "Beta", "LogNormal", "Binomial"):
        assert made.entropy().item() == pytest.approx(float(other.entropy()), rel=1e-7)


def test_vectors_have_the_densities_of_scipy(stats: Any) -> None:
    made = D.MultivariateNormal(spelled.tensor(REAL[0]), spelled.tensor(MATRIX))
    expected = stats.multivariate_normal(REAL[0], MATRIX).logpdf(OTHER)
    np.testing.assert_allclose(numbers(made.log_prob(spelled.tensor(OTHER))), expected)
    dirichlet = D.Dirichlet(spelled.tensor(POSITIVE[0]))
    assert dirichlet.log_prob(spelled.tensor(SHARES[0])).item() == pytest.approx(
        stats.dirichlet(POSITIVE[0]).logpdf(SHARES[0])
    )
    assert D.Categorical(spelled.tensor([1.0, 3.0])).probs.tolist() == [0.25, 0.75]


PARAMETERS_OF_PAIRS: dict[str, tuple[float, ...]] = {
    "Beta": (2.0, 1.5),
    "ContinuousBernoulli": (0.2,),
    "Exponential": (2.0,),
    "Gamma": (3.0, 1.5),
    "Gumbel": (0.3, 1.5),
    "Laplace": (0.3, 1.5),
    "Normal": (0.5, 0.75),
    "Pareto": (0.125, 3.5),
    "Poisson": (1.5,),
    "Bernoulli": (0.3,),
    "Binomial": (4, 0.3),
    "Uniform": (0.25, 0.75),
}
PAIRS = [
    *(("Beta", q) for q in ("ContinuousBernoulli", "Pareto", "Exponential", "Gamma")),
    *(("ContinuousBernoulli", q) for q in ("Pareto", "Exponential", "Normal")),
    *(("Exponential", q) for q in ("Beta", "ContinuousBernoulli", "Pareto", "Gumbel")),
    *(("Gamma", q) for q in ("Beta", "ContinuousBernoulli", "Pareto", "Gumbel")),
    *(("Normal", q) for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Pareto", "Gumbel")),
    *(("Gumbel", q) for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Pareto")),
    *(("Laplace", q) for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Pareto")),
    *(("Pareto", q) for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Normal")),
    *(("Poisson", q) for q in ("Bernoulli", "Binomial")),
    *(("Uniform", q) for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Pareto")),
    *((p, "Uniform") for p in ("Exponential", "Gamma", "Normal", "Gumbel", "Laplace", "Pareto")),
]


def of_pair(name: str, d: Any) -> Any:
    return getattr(d, name)(*PARAMETERS_OF_PAIRS[name])


DIVERGENCES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float | None]] = {
    "Normal": (lambda d: d.Normal(1.0, 2.0), lambda d: d.Normal(0.0, 1.0), 0.5 * (4 + 1 - 1) - math.log(2)),
    "Exponential": (lambda d: d.Exponential(2.0), lambda d: d.Exponential(1.0), math.log(2) - 0.5),
    "Poisson": (lambda d: d.Poisson(2.0), lambda d: d.Poisson(1.0), 2 * math.log(2) - 1),
    "Uniform": (lambda d: d.Uniform(0.0, 1.0), lambda d: d.Uniform(-1.0, 3.0), math.log(4)),
    "Uniform outside": (lambda d: d.Uniform(0.0, 4.0), lambda d: d.Uniform(0.0, 3.0), math.inf),
    "Bernoulli": (lambda d: d.Bernoulli(0.5), lambda d: d.Bernoulli(0.25), 0.5 * math.log(4 / 3)),
    "Laplace": (lambda d: d.Laplace(0.0, 2.0), lambda d: d.Laplace(0.0, 1.0), 1 - math.log(2)),
    "Gamma": (lambda d: d.Gamma(1.0, 2.0), lambda d: d.Gamma(1.0, 1.0), math.log(2) - 0.5),
    "Beta": (lambda d: d.Beta(1.0, 1.0), lambda d: d.Beta(2.0, 1.0), 1 - math.log(2)),
    "Geometric": (lambda d: d.Geometric(0.5), lambda d: d.Geometric(0.25), None),
    "Gumbel": (lambda d: d.Gumbel(0.5, 1.5), lambda d: d.Gumbel(0.0, 1.0), None),
    "Cauchy": (lambda d: d.Cauchy(0.5, 1.5), lambda d: d.Cauchy(0.0, 1.0), None),
    "HalfNormal": (lambda d: d.HalfNormal(2.0), lambda d: d.HalfNormal(1.0), 0.5 * (4 - 1) - math.log(2)),
    "LogNormal": (lambda d: d.LogNormal(1.0, 2.0), lambda d: d.LogNormal(0.0, 1.0), 2 - math.log(2)),
    "Binomial": (lambda d: d.Binomial(3, 0.5), lambda d: d.Binomial(3, 0.25), 1.5 * math.log(4 / 3)),
    "Pareto": (lambda d: d.Pareto(2.0, 3.0), lambda d: d.Pareto(1.0, 2.0), None),
    "Pareto outside": (lambda d: d.Pareto(1.0, 3.0), lambda d: d.Pareto(2.0, 2.0), math.inf),
    "ContinuousBernoulli": (lambda d: d.ContinuousBernoulli(0.2), lambda d: d.ContinuousBernoulli(0.7), None),
    "Exponential, Gamma": (lambda d: d.Exponential(2.0), lambda d: d.Gamma(3.0, 1.5), None),
    "Gamma, Exponential": (lambda d: d.Gamma(3.0, 1.5), lambda d: d.Exponential(2.0), None),
    "Exponential, Normal": (lambda d: d.Exponential(2.0), lambda d: d.Normal(1.0, 2.0), None),
    "Gamma, Normal": (lambda d: d.Gamma(3.0, 1.5), lambda d: d.Normal(1.0, 2.0), None),
    "Laplace, Normal": (lambda d: d.Laplace(0.3, 1.5), lambda d: d.Normal(1.0, 2.0), None),
    "Gumbel, Normal": (lambda d: d.Gumbel(0.3, 1.5), lambda d: d.Normal(1.0, 2.0), None),
    "Beta, Normal": (lambda d: d.Beta(2.0, 1.5), lambda d: d.Normal(1.0, 2.0), None),
    "Normal, Laplace": (lambda d: d.Normal(0.3, 1.5), lambda d: d.Laplace(1.0, 2.0), None),
    "Bernoulli, Poisson": (lambda d: d.Bernoulli(0.3), lambda d: d.Poisson(1.5), None),
    **{f"{p}, {q}": (partial(of_pair, p), partial(of_pair, q), None) for p, q in PAIRS},
    "Chi2 of Beta": (lambda d: d.Beta(2.0, 1.5), lambda d: d.Chi2(3.0), None),
    "Exponential below 0": (lambda d: d.Uniform(-1.0, 1.0), lambda d: d.Exponential(1.0), math.inf),
    "Gamma below 0": (lambda d: d.Uniform(-1.0, 1.0), lambda d: d.Gamma(1.0, 1.0), math.inf),
    "Beta above 1": (lambda d: d.Uniform(0.0, 1.5), lambda d: d.Beta(2.0, 1.0), math.inf),
    "Beta at the ends": (lambda d: d.Uniform(0.0, 1.0), lambda d: d.Beta(2.0, 1.0), 1 - math.log(2)),
    "ContinuousBernoulli above 1": (lambda d: d.Uniform(0.5, 1.5), lambda d: d.ContinuousBernoulli(0.3), math.inf),
    "Uniform of Beta outside": (lambda d: d.Beta(2.0, 1.0), lambda d: d.Uniform(0.5, 1.0), math.inf),
    "Pareto below": (lambda d: d.Uniform(0.5, 1.0), lambda d: d.Pareto(0.75, 1.0), math.inf),
    "Normal of a heavy Pareto": (lambda d: d.Pareto(1.0, 1.5), lambda d: d.Normal(0.0, 1.0), math.inf),
    "Exponential of a heavy Pareto": (lambda d: d.Pareto(1.0, 0.75), lambda d: d.Exponential(1.0), math.inf),
    "Uniform of Beta": (lambda d: d.Beta(2.0, 1.5), lambda d: d.Uniform(-0.5, 2.0), None),
    "Uniform, Normal": (lambda d: d.Uniform(0.0, 1.0), lambda d: d.Normal(0.0, 2.0), None),
}


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences_are_those_of_their_formulas(name: str) -> None:
    p, q, expected = DIVERGENCES[name]
    if expected is None:
        other = pytest.importorskip("torch").distributions
        expected = other.kl_divergence(p(other), q(other)).item()
    assert D.kl_divergence(p(D), q(D)).item() == pytest.approx(expected, rel=2e-6)


def test_divergences_of_vectors_are_those_of_pytorch(torch: Any) -> None:
    found = []
    for library in (torch, spelled):
        d = library.distributions
        p = d.MultivariateNormal(tensor(library, REAL), tensor(library, MATRIX))
        q = d.MultivariateNormal(tensor(library, OTHER[0]), scale_tril=library.eye(3) * 2)
        pairs = [
            (p, q),
            *(
                (getattr(d, n)(tensor(library, POSITIVE)), getattr(d, n)(tensor(library, SHARES)))
                for n in ("Dirichlet", "Categorical")
            ),
        ]
        normals = [d.Normal(tensor(library, x), 1.0) for x in (REAL, OTHER)]
        pairs.append((d.Independent(normals[0], 1), d.Independent(normals[1], 1)))
        found.append([numbers(d.kl_divergence(*pair)) for pair in pairs])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_formulas_of_divergences_are_registered() -> None:
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def mine_normal(p: Any, q: Any) -> float:
        return 7.0

    assert D.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)) == 7.0
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0.0
    with pytest.raises(
        NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Normal and q type Poisson"
    ):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
        D.register_kl(3, D.Normal)


def made_of(d: Any, library: Any) -> dict[str, Any]:
    shares = d.Categorical(library.tensor([0.3, 0.7]))
    normals = d.Normal(library.tensor([0.0, 3.0]), library.tensor([1.0, 0.5]))
    tanh = [d.TanhTransform(cache_size=1), d.AffineTransform(1.0, -2.0)]
    return {
        "mixture": d.MixtureSameFamily(shares, normals),
        "tanh": d.TransformedDistribution(d.Normal(library.zeros(1), 1.0), tanh),
        "logistic": d.TransformedDistribution(
            d.Uniform(0.0, 1.0), [d.SigmoidTransform().inv, d.AffineTransform(0.5, 2.0)]
        ),
        "powers": d.TransformedDistribution(d.Exponential(1.0), [d.PowerTransform(library.tensor(0.5))]),
        "softplus": d.TransformedDistribution(d.Normal(0.0, 1.0), d.SoftplusTransform()),
    }


@pytest.mark.parametrize("name", ["mixture", "tanh", "logistic", "powers", "softplus"])
def test_distributions_made_of_others_are_those_of_pytorch(name: str, torch: Any) -> None:
    found = []
    for library in (torch, spelled):
        made = made_of(library.distributions, library)[name]
        x = library.tensor([0.4, 1.7])
        found.append([numbers(made.log_prob(x)), numbers(made.cdf(x)), np.asarray(made.sample((5,)).shape)])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_a_mixture_has_the_moments_of_its_parts(stats: Any) -> None:
    made = made_of(D, spelled)["mixture"]
    assert made.mean.item() == pytest.approx(2.1)
    assert made.variance.item() == pytest.approx(0.3 * (1 + 2.1**2) + 0.7 * (0.25 + 0.9**2))
    expected = 0.3 * stats.norm(0, 1).pdf(1) + 0.7 * stats.norm(3, 0.5).pdf(1)
    assert made.log_prob(spelled.tensor(1.0)).exp().item() == pytest.approx(expected)
    vectors = D.MixtureSameFamily(
        D.Categorical(spelled.ones(2, 4)), D.Independent(D.Normal(spelled.ones(2, 4, 3), 1.0), 1)
    )
    assert (vectors.sample((5,)).shape, vectors.mean.shape) == ((5, 2, 3), (2, 3))
    assert vectors.log_prob(spelled.zeros(5, 2, 3)).shape == (5, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: D.Normal(0.0, -1.0),
            r"Expected parameter scale \(Tensor of shape \(\)\) of distribution Normal\(loc: 0.0, scale: -1.0\) to",
        ),
        (lambda: D.Bernoulli(1.5), r"the constraint Interval\(lower_bound=0.0, upper_bound=1.0\), but found"),
        (lambda: D.Bernoulli(), "Either `probs` or `logits` must be specified, but not both."),
        (lambda: D.Categorical(spelled.tensor(1.0)), "`probs` parameter must be at least one-dimensional"),
        (lambda: D.Uniform(1.0, 0.0), "Uniform is not defined when low >= high"),
        (lambda: D.Beta(-1.0, 1.0), "Expected parameter concentration1 .* of distribution Beta"),
        (lambda: D.MultivariateNormal(spelled.zeros(2), -spelled.eye(2)), r"the constraint PositiveDefinite\(\)"),
        (lambda: D.MultivariateNormal(spelled.zeros(2)), "Exactly one of covariance_matrix or precision_matrix"),
        (lambda: D.Exponential(1.0).log_prob(spelled.tensor(-1.0)), r"to be within the support \(GreaterThanEq"),
        (lambda: D.Normal(0.0, 1.0).log_prob(0.5), "The value argument to log_prob must be a Tensor"),
        (
            lambda: D.Normal(spelled.zeros(3), 1.0).log_prob(spelled.zeros(2)),
            r"not broadcastable .* torch\.Size\(\[2\]\) vs torch",
        ),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Expected reinterpreted_batch_ndims <= .*, actual 1 vs 0"),
    ],
)
def test_parameters_and_values_that_are_wrong_are_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_what_a_distribution_does_not_have_is_said() -> None:
    with pytest.raises(NotImplementedError, match="Poisson has no rsample: its values are not smooth functions"):
        D.Poisson(1.0).rsample()
    with pytest.raises(NotImplementedError, match="Gamma has no icdf"):
        D.Gamma(1.0, 1.0).icdf(spelled.tensor(0.5))
    with pytest.raises(TypeError, match=r"sample_shape must be a tuple such as \(3,\), found 3"):
        D.Normal(0.0, 1.0).sample(3)


def test_checks_can_be_left_out() -> None:
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0
    assert D.Exponential(1.0, validate_args=False).log_prob(spelled.tensor(-1.0)).item() == 1.0


def test_the_reparameterized_gradient_of_a_normal_is_that_of_its_formula() -> None:
    spelled.manual_seed(0)
    loc, scale = spelled.tensor(1.0, requires_grad=True), spelled.tensor(2.0, requires_grad=True)
    x = D.Normal(loc, scale).rsample((3,))
    x.sum().backward()
    assert loc.grad.item() == 3.0
    assert scale.grad.item() == pytest.approx(((x - 1.0) / 2.0).sum().item())


def test_the_mode_of_a_kumaraswamy_distribution_is_where_it_is_densest() -> None:
    made = D.Kumaraswamy(3.0, 2.0)
    x = spelled.linspace(0.001, 0.999, 999)
    assert made.mode.item() == pytest.approx(x[made.log_prob(x).argmax()].item(), abs=1e-3)
    assert math.isnan(D.Kumaraswamy(0.5, 2.0).mode.item())


def test_angles_have_the_circular_moments_of_their_distribution(stats: Any) -> None:
    spelled.manual_seed(0)
    made = D.VonMises(spelled.tensor(0.7), spelled.tensor(2.5))
    draws = numbers(made.sample((4000,)))
    assert abs(np.angle(np.exp(1j * draws).mean()) - 0.7) < 0.05
    assert abs(np.exp(1j * draws).mean()) == pytest.approx(1 - made.variance.item(), abs=0.03)
    assert made.log_prob(spelled.tensor(0.1)).item() == pytest.approx(stats.vonmises(2.5, 0.7).logpdf(0.1))


TRANSFORMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "reshape": (lambda d: d.ReshapeTransform((3,), (3, 1)), REAL),
    "cat": (lambda d: d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], dim=-1, lengths=[1, 2]), REAL),
    "cat of first axes": (lambda d: d.CatTransform([d.ExpTransform(), d.TanhTransform()]), REAL),
    "cat of vectors": (
        lambda d: d.CatTransform([d.IndependentTransform(d.ExpTransform(), 1), d.TanhTransform()], -1, [1, 2]),
        REAL,
    ),
    "stack": (lambda d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=0), REAL),
    "stack of last axes": (lambda d: d.StackTransform([d.ExpTransform()] * 3, dim=-1), REAL),
    "correlations": (lambda d: d.CorrCholeskyTransform(), REAL),
    "correlations of two": (lambda d: d.CorrCholeskyTransform(), REAL[:, :1]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_functions_of_parts_are_those_of_pytorch(name: str, torch: Any) -> None:
    make, argument = TRANSFORMS[name]
    results = []
    for library in (torch, spelled):
        transform = make(library.distributions)
        x = tensor(library, argument)
        y = transform(x)
        shapes = [transform.forward_shape(tuple(x.shape)), transform.inverse_shape(tuple(y.shape))]
        values = [y, transform.inv(y), transform.log_abs_det_jacobian(x, y)]
        results.append([*map(numbers, values), *map(np.asarray, shapes)])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_functions_of_parts_say_what_does_not_fit() -> None:
    exp, x = D.ExpTransform(), spelled.tensor(REAL)
    with pytest.raises(ValueError, match=r"in_shape \(4,\) and out_shape \(3,\) have different numbers of elements"):
        D.ReshapeTransform((4,), (3,))
    with pytest.raises(ValueError, match=r"Shape mismatch: expected \(4,\) but got \(3,\)"):
        D.ReshapeTransform((4,), (2, 2))(x)
    with pytest.raises(ValueError, match="Too few dimensions on input"):
        D.ReshapeTransform((2, 2), (4,)).forward_shape((4,))
    with pytest.raises(TypeError, match="every element of tseq must be a Transform, found 1"):
        D.CatTransform([1])
    with pytest.raises(ValueError, match="a length for each transform, found 1 for 2"):
        D.CatTransform([exp, exp], lengths=[2])
    with pytest.raises(ValueError, match=r"CatTransform: axis 0 must have 1 elements, found shape \[2, 3\]"):
        D.CatTransform([exp])(x)
    with pytest.raises(ValueError, match=r"StackTransform: axis 0 must have 1 elements, found shape \[2, 3\]"):
        D.StackTransform([exp])(x)
    with pytest.raises(ValueError, match="not a flattened lower-diagonal number: found 2 elements"):
        D.CorrCholeskyTransform()(x[:, :2])
    with pytest.raises(ValueError, match=r"Input is not square: found shape \(2, 3\)"):
        D.CorrCholeskyTransform().inverse_shape((2, 3))
    with pytest.raises(ValueError, match=r"greater than or equal to 2\. Found dim=1"):
        D.LKJCholesky(1)


def test_correlations_are_drawn_with_the_moments_of_their_distribution() -> None:
    spelled.manual_seed(0)
    lower = D.LKJCholesky(3, 2.0).sample((4000,))
    assert bool(D.constraints.corr_cholesky.check(lower).all())
    correlations = numbers(lower @ lower.mT)[:, [1, 2, 2], [0, 0, 1]]
    # Each follows a beta distribution between -1 and 1, both of whose parameters are 2.5.
    np.testing.assert_allclose(correlations.mean(0), 0.0, atol=0.04)
    np.testing.assert_allclose(correlations.var(0), 1 / 6, atol=0.02)


@pytest.mark.parametrize(
    ("constraint", "argument"),
    [
        ("positive", REAL),
        ("unit_interval", REAL),
        ("real", REAL),
        ("simplex", REAL),
        ("lower_cholesky", REAL @ REAL.T),
        ("positive_definite", REAL @ REAL.T),
        ("corr_cholesky", REAL),
        ("real_vector", REAL),
    ],
)
def test_sets_have_functions_to_them(constraint: str, argument: Any) -> None:
    target, x = getattr(D.constraints, constraint), spelled.tensor(argument)
    for registry in (D.biject_to, D.transform_to):
        transform = registry(target)
        y = transform(x)
        assert bool(target.check(y).all())
        again = transform(transform.inv(y))
        np.testing.assert_allclose(numbers(again), numbers(y), rtol=1e-9, atol=1e-12)


def test_functions_to_bounds_stay_on_their_side() -> None:
    x = spelled.tensor(REAL)
    assert bool((D.biject_to(D.constraints.less_than(-1.0))(x) < -1).all())
    y = D.transform_to(D.constraints.interval(2.0, 5.0))(x)
    assert bool(((y > 2) & (y < 5)).all())
    with pytest.raises(NotImplementedError, match="its values are isolated"):
        D.biject_to(D.constraints.nonnegative_integer)
    with pytest.raises(NotImplementedError, match="Cannot transform _OneHot constraints"):
        D.biject_to(D.constraints.one_hot)


def test_functions_to_sets_are_registered() -> None:
    class Mine(D.constraints.Constraint):
        pass

    registry = D.transform_to
    assert registry.register(Mine)(lambda _: D.ExpTransform())(Mine()) is not None
    assert type(registry(Mine())) is D.ExpTransform
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass or instance"):
        registry.register(int, lambda _: D.ExpTransform())


@pytest.mark.parametrize("name", ["StickBreakingTransform", "IndependentTransform", "CumulativeDistributionTransform"])
def test_functions_of_several_numbers_have_the_slopes_of_pytorch(name: str, torch: Any) -> None:
    found = []
    for library in (torch, spelled):
        d = library.distributions
        makers: dict[str, Callable[[], Any]] = {
            "StickBreakingTransform": d.StickBreakingTransform,
            "IndependentTransform": partial(d.transforms.IndependentTransform, d.ExpTransform(), 1),
            "CumulativeDistributionTransform": partial(d.CumulativeDistributionTransform, d.Normal(0.0, 2.0)),
        }
        transform, x = makers[name](), tensor(library, REAL)
        y = transform(x)
        found.append([*map(numbers, (y, transform.inv(y), transform.log_abs_det_jacobian(x, y)))])
        found[-1].append(np.asarray(transform.forward_shape((4, 3))))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_tools_of_distributions_of_ones_own() -> None:
    tools: Any = getattr(spelled.distributions, "utils")  # noqa: B009  # entered
    loc, scale = tools.broadcast_all(spelled.zeros(3), 2.0)
    assert (scale.tolist(), loc.shape) == ([2.0, 2.0, 2.0], (3,))
    logits = tools.probs_to_logits(spelled.tensor([0.25, 0.75]), is_binary=True)
    assert tools.logits_to_probs(logits, is_binary=True).tolist() == pytest.approx([0.25, 0.75])
    assert tools.logits_to_probs(tools.probs_to_logits(spelled.tensor([0.25, 0.75]))).tolist() == pytest.approx(
        [0.25, 0.75]
    )
    vector = tools.tril_matrix_to_vec(spelled.tensor(MATRIX))
    assert tools.vec_to_tril_matrix(vector).tolist() == np.tril(MATRIX).tolist()
    with pytest.raises(ValueError, match="The size of last dimension is 4 which cannot be expressed"):
        tools.vec_to_tril_matrix(spelled.ones(4))

    class Counting:
        calls = 0

        @tools.lazy_property  # type: ignore[untyped-decorator]  # of what programs give
        def once(self) -> int:
            self.calls += 1
            return self.calls

    counting = Counting()
    assert (counting.once, counting.once) == (1, 1)


def test_wishart_wants_enough_degrees_of_freedom_and_one_matrix() -> None:
    matrix = spelled.eye(3)
    with pytest.raises(ValueError, match=r"Value of df=2\.0 expected to be greater than ndim - 1 = 2"):
        D.Wishart(2.0, matrix)
    with pytest.raises(ValueError, match="Exactly one of covariance_matrix or precision_matrix or scale_tril"):
        D.Wishart(3.0)
    with pytest.raises(ValueError, match="scale_tril must be at least two-dimensional"):
        D.Wishart(3.0, scale_tril=spelled.ones(3))
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(2.5, matrix)


def test_parameters_that_follow_have_gradients_wherever_they_are_asked_for() -> None:
    lower = spelled.eye(2).requires_grad_()
    normal = D.MultivariateNormal(spelled.zeros(2), scale_tril=lower)
    with spelled.no_grad():
        covariance = normal.covariance_matrix
    covariance.sum().backward()
    assert lower.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    logits = spelled.zeros(2, requires_grad=True)
    categories = D.Categorical(logits=logits)
    with spelled.no_grad():
        assert categories.probs.requires_grad


def test_parameters_that_others_are_computed_of_are_checked() -> None:
    with pytest.raises(ValueError, match=r"Expected parameter df .* to satisfy the constraint GreaterThan"):
        D.Chi2(spelled.tensor(-1.0))
    for error in (ValueError, RuntimeError):
        with pytest.raises(error, match="broadcast"):
            D.Normal(spelled.zeros(1, 2), spelled.ones(4, 1, 3))


def test_densities_take_numbers() -> None:
    for distribution in (D.Gamma(1.0, 1.0), D.Chi2(2.0)):
        assert distribution.log_prob(1).item() == distribution.log_prob(spelled.tensor(1.0)).item()


def test_what_is_certain_has_an_infinite_density_of_anything_else() -> None:
    certain = D.Geometric(1.0)
    assert certain.log_prob(spelled.tensor([0.0, 1.0])).tolist() == [0.0, -math.inf]


def test_shares_that_are_moved_into_the_interval_have_gradients() -> None:
    spelled.manual_seed(0)
    a = spelled.full((200, 2), 0.05, dtype=spelled.float32).requires_grad_()
    shares = D.Dirichlet(a).rsample()
    last = float(np.nextafter(np.float32(1), np.float32(0)))
    moved = shares.detach() == last
    assert bool(moved.any())
    (slopes,) = spelled.autograd.grad(shares[:, 0].sum(), a)
    assert bool((slopes[:, 1][moved[:, 0]] != 0).any())


def test_moments_of_heavy_tails_are_infinite() -> None:
    pareto = D.Pareto(spelled.tensor([1.0, 1.0, 2.0]), spelled.tensor([0.5, 1.5, 3.0]))
    assert pareto.mean.tolist() == [math.inf, 3.0, 3.0]
    assert pareto.variance.tolist() == [math.inf, math.inf, 3.0]


def test_wishart_takes_a_whole_number_of_degrees_of_freedom() -> None:
    wishart = D.Wishart(spelled.tensor(1), spelled.tensor([[1.0]]))
    assert wishart.sample((3, 2)).shape == (3, 2, 1, 1)
    assert wishart.df.dtype == spelled.get_default_dtype()


@pytest.mark.parametrize(
    "call",
    [
        lambda: spelled.rand(20_000, dtype=spelled.float16),
        lambda: spelled.rand_like(spelled.zeros(20_000, dtype=spelled.float16)),
    ],
)
def test_half_precision_numbers_are_drawn_below_one(call: Callable[[], Any]) -> None:
    numbers = call()
    assert numbers.dtype == spelled.float16
    assert float(numbers.max()) < 1.0
    assert float(numbers.min()) >= 0.0
    assert float(numbers.float().mean()) == pytest.approx(0.5, abs=0.02)


def test_half_precision_normal_numbers_are_drawn() -> None:
    half = spelled.zeros(20_000, dtype=spelled.float16)
    for numbers in (
        spelled.randn(20_000, dtype=spelled.float16),
        spelled.randn_like(half),
        spelled.normal(half, half + 1),
    ):
        assert numbers.dtype == spelled.float16
        assert float(numbers.float().std()) == pytest.approx(1.0, abs=0.05)
    with pytest.raises(
        (ValueError, RuntimeError), match="randn: dtype must be float16, float32 or float64, found int64"
    ):
        spelled.randn(3, dtype=spelled.int64)


def test_shares_of_small_concentrations_are_less_than_one() -> None:
    spelled.manual_seed(0)
    draws = D.Beta(spelled.tensor(1e-3), spelled.tensor(1e-3)).sample((1000,))
    assert draws.min() > 0
    assert draws.max() < 1
    assert (draws > 0.9).any()


def test_the_batch_of_a_mixture_may_be_broadcast() -> None:
    shares = D.Categorical(spelled.ones(3, 1, 2))
    mixture = D.MixtureSameFamily(shares, D.Normal(spelled.zeros(3, 4, 2), 1.0))
    assert (mixture.batch_shape, mixture.sample((5,)).shape, mixture.mean.shape) == ((3, 4), (5, 3, 4), (3, 4))
    with pytest.raises(ValueError, match=r"is not compatible with `component_distribution.batch_shape`"):
        D.MixtureSameFamily(D.Categorical(spelled.ones(2, 1, 2)), D.Normal(spelled.zeros(3, 4, 2), 1.0))
    assert isinstance(mixture.support, D.constraints.MixtureSameFamilyConstraint)
    assert mixture.support.check(spelled.zeros(3, 4)).tolist() == [[True] * 4] * 3


def test_supports_are_known_of_classes() -> None:
    for cls in (D.Uniform, D.Pareto, D.Independent, D.TransformedDistribution):
        assert isinstance(cls.support, D.constraints.Constraint)
        assert D.constraints.is_dependent(cls.support)
    assert (D.Multinomial.support.event_dim, D.Binomial.support.is_discrete) == (1, True)


WITH_SETS = [
    (lambda: D.ExpTransform(), "Real()", "GreaterThan(lower_bound=0.0)"),
    (lambda: D.ExpTransform().inv, "GreaterThan(lower_bound=0.0)", "Real()"),
    (lambda: D.SoftmaxTransform(), "IndependentConstraint(Real(), 1)", "Simplex()"),
    (lambda: D.AffineTransform(0.0, 2.0, event_dim=1), *["IndependentConstraint(Real(), 1)"] * 2),
    (
        lambda: D.ComposeTransform([D.ExpTransform(), D.PowerTransform(2.0)]),
        *("Real()", "GreaterThan(lower_bound=0.0)"),
    ),
    (lambda: D.IndependentTransform(D.TanhTransform(), 1), "IndependentConstraint(Real(), 1)", None),
    (lambda: D.ReshapeTransform((4,), (2, 2)), "IndependentConstraint(Real(), 1)", "IndependentConstraint(Real(), 2)"),
    (lambda: D.CorrCholeskyTransform(), "IndependentConstraint(Real(), 1)", "CorrCholesky()"),
    (lambda: D.transforms.PositiveDefiniteTransform(), "IndependentConstraint(Real(), 2)", "PositiveDefinite()"),
    (lambda: D.CumulativeDistributionTransform(D.Exponential(1.0)), "GreaterThanEq(lower_bound=0.0)", None),
]


@pytest.mark.parametrize(("make", "domain", "codomain"), WITH_SETS)
def test_transforms_have_sets_of_arguments_and_values(make: Any, domain: str, codomain: str | None) -> None:
    transform = make()
    assert repr(transform.domain) == domain
    if codomain is not None:
        assert repr(transform.codomain) == codomain


def test_values_of_a_transformed_distribution_are_checked() -> None:
    positive = D.TransformedDistribution(D.Normal(spelled.zeros(2), 1.0), D.ExpTransform())
    assert positive.support.check(spelled.tensor([1.0, -1.0])).tolist() == [True, False]
    with pytest.raises(ValueError, match="to be within the support"):
        positive.log_prob(spelled.tensor([1.0, -1.0]))
    assert D.TransformedDistribution(D.Normal(0.0, 1.0), []).support is D.constraints.real


def test_parts_belong_to_their_own_sets() -> None:
    C = D.constraints
    both = D.CatTransform([D.ExpTransform(), D.identity_transform], 0, [2, 1])
    assert both.domain.check(spelled.tensor([1.0, -1.0, 2.0])).tolist() == [True, True, True]
    assert both.codomain.check(spelled.tensor([1.0, -1.0, -2.0])).tolist() == [True, False, True]
    x = spelled.tensor([0.5, 2.0, 3.0])
    assert both.log_abs_det_jacobian(x, both(x)).tolist() == [0.5, 2.0, 0.0]
    stacked = D.StackTransform([D.ExpTransform(), D.identity_transform], dim=1)
    assert stacked.codomain.check(spelled.tensor([[-1.0, -1.0], [1.0, -1.0]])).tolist() == [[False, True], [True, True]]
    assert (C.stack([C.simplex, C.simplex], 0).event_dim, C.stack([C.simplex, C.simplex], -2).event_dim) == (1, 2)
    assert C.cat([C.boolean, C.real]).is_discrete
    for call in (lambda: C.cat([1]), lambda: C.stack([1]), lambda: C.MixtureSameFamilyConstraint(1)):
        with pytest.raises(AssertionError, match="Constraint"):
            call()
    with pytest.raises(AssertionError, match=r"lengths \(1\) must match cseq \(2\)"):
        C.cat([C.real, C.real], 0, [1])
    with pytest.raises(AssertionError, match="dim 1 out of range for value with 1 dimensions"):
        C.cat([C.real], 1).check(spelled.ones(1))


def test_sets_of_symmetric_matrices() -> None:
    C = D.constraints
    matrices = spelled.tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]])
    assert C.symmetric.check(matrices).tolist() == [True, True, False]
    assert C.positive_semidefinite.check(spelled.stack([spelled.zeros(2, 2), -spelled.eye(2)])).tolist() == [
        True,
        False,
    ]
    assert C.positive_definite.check(matrices).tolist()[1:] == [True, False]
    assert C.symmetric.check(spelled.ones(2, 3)).tolist() is False


def test_tensors_are_made_of_sizes() -> None:
    x = spelled.ones(2, 3)
    assert x.new(x.size()).shape == (2, 3)
    assert spelled.Tensor(x.shape).shape == (2, 3)
    assert spelled.Tensor((2, 3)).tolist() == [2.0, 3.0]
