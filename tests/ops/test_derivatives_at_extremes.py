"""Derivatives at zeros, huge and tiny numbers, infinities and NaN: by stated numbers, and against PyTorch's."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.declared import marks_of

F = dk.nn.functional
INF, NAN = math.inf, math.nan
Function = Callable[..., Any]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def reverse(function: Function, *arrays: Any) -> tuple[Any, list[Any]]:
    """Return the value of an element-wise function, and its partial derivatives."""
    leaves = [dk.tensor(x, requires_grad=True) for x in arrays]
    y = function(*leaves)
    grads = dk.autograd.grad(y, leaves, dk.ones_like(y))
    return y.detach().numpy(), [one.numpy() for one in grads]


def forward(function: Function, *arrays: Any) -> list[Any]:
    """Return the partial derivatives by forward mode, each with the other arguments held fixed."""
    found = []
    for i, own in enumerate(arrays):

        def of_one(x: Any, i: int = i) -> Any:
            return function(*[x if i == j else dk.asarray(other) for j, other in enumerate(arrays)])

        found.append(dk.func.jvp(of_one, (dk.asarray(own),), (dk.ones_like(dk.asarray(own)),))[1].numpy())
    return found


# What the derivatives are where they used to be wrong: function, arguments, partial derivatives.
NUMBERS: dict[str, tuple[Function, tuple[float, ...], tuple[float, ...]]] = {
    "logaddexp of equal large numbers": (dk.logaddexp, (1e8, 1e8), (0.5, 0.5)),
    "logaddexp of equal huge numbers": (dk.logaddexp, (1e30, 1e30), (0.5, 0.5)),
    "logaddexp of equal negative numbers": (dk.logaddexp, (-1e30, -1e30), (0.5, 0.5)),
    "logaddexp of infinity": (dk.logaddexp, (INF, 1.0), (1.0, 0.0)),
    "logaddexp of minus infinity": (dk.logaddexp, (-INF, 1.0), (0.0, 1.0)),
    "logaddexp of infinities": (dk.logaddexp, (INF, INF), (0.5, 0.5)),
    "logaddexp of negative infinities": (dk.logaddexp, (-INF, -INF), (0.5, 0.5)),
    "logaddexp of opposite infinities": (dk.logaddexp, (-INF, INF), (0.0, 1.0)),
    "logaddexp of NaN": (dk.logaddexp, (NAN, 1.0), (NAN, NAN)),
    "logsumexp of equal large numbers": (lambda *x: dk.logsumexp(dk.stack(x), axis=0), (1e30, 1e30), (0.5, 0.5)),
    "logsumexp of three": (lambda *x: dk.logsumexp(dk.stack(x), axis=0), (1e8, 1e8, 1e8), (1 / 3, 1 / 3, 1 / 3)),
    "pow of a subnormal number to 0": (dk.pow, (2.0**-149, 0.0), (0.0, math.log(2.0**-149))),
    "pow of NaN to 0": (dk.pow, (NAN, 0.0), (0.0, NAN)),
    "pow of 0 to 0": (dk.pow, (0.0, 0.0), (0.0, 0.0)),
    "atan2 near the origin": (dk.atan2, (1e-30, 1e-30), (0.5e30, -0.5e30)),
    "atan2 on the axis": (dk.atan2, (0.0, 1e-25), (1e25, 0.0)),
    "atan2 far away": (dk.atan2, (1e25, 1e25), (0.5e-25, -0.5e-25)),
    "atan2 at the origin": (dk.atan2, (0.0, 0.0), (0.0, 0.0)),
    "remainder of minus infinity": (dk.remainder, (2.5, -INF), (1.0, 1.0)),
    "remainder of infinity": (dk.remainder, (-2.5, INF), (1.0, 1.0)),
    "remainder of infinity, same sign": (dk.remainder, (2.5, INF), (1.0, 0.0)),
    "divide": (dk.divide, (1e30, 1e20), (1e-20, -1e-10)),
    "reciprocal of 0": (dk.reciprocal, (0.0,), (-INF,)),
    "hardtanh of NaN": (F.hardtanh, (NAN,), (1.0,)),
    "relu6 of NaN": (F.relu6, (NAN,), (1.0,)),
    "huber_loss of infinity": (partial(F.huber_loss, reduction="none"), (INF, 1.0), (1.0, -1.0)),
    "smooth_l1_loss of infinity": (partial(F.smooth_l1_loss, reduction="none"), (1.0, INF), (-1.0, 1.0)),
    "huber_loss near 0": (partial(F.huber_loss, reduction="none"), (1e-20, 0.0), (1e-20, -1e-20)),
    "kl_div of infinity and 0": (partial(F.kl_div, reduction="none"), (INF, 0.0), (0.0, 0.0)),
}
# Scores that leave no doubt, with the derivative by the score: sigmoid(x) - target, without the rounding.
CERTAIN = [
    (40.0, 1.0, -math.exp(-40)),
    (-40.0, 0.0, math.exp(-40)),
    (-40.0, 1e-8, math.exp(-40) - 1e-8),
    (-1e8, 1e-20, -1e-20),
    (0.0, 1.0, -0.5),
    (0.0, 0.0, 0.5),
    (INF, 0.0, 1.0),
    (-INF, 1.0, -1.0),
]
for score, target, slope in CERTAIN:
    NUMBERS[f"binary_cross_entropy_with_logits of {score} for {target}"] = (
        lambda x, target=target: F.binary_cross_entropy_with_logits(
            x, dk.full(x.shape, target, dtype=x.dtype), reduction="none"
        ),
        (score,),
        (slope,),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", NUMBERS)
def test_a_derivative_is_the_stated_number(case: str, dtype: str) -> None:
    function, values, expected = NUMBERS[case]
    # Nine at once: NumPy has other code for a few.
    arrays = [np.full(9, value, dtype) for value in values]
    found = reverse(function, *arrays)[1]
    ahead = found if "logsumexp" in case else forward(function, *arrays)
    for one, other, want in zip(found, ahead, expected, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, np.full(9, want), rtol=1e-5 if dtype == "float32" else 1e-12)
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(bool(marks_of("dispatchkit.special.")), reason="SciPy is not installed")
def test_the_derivative_of_logit_is_positive_infinity_at_both_zeros() -> None:
    assert reverse(dk.special.logit, np.array([0.0, -0.0, 1.0]))[1][0].tolist() == [INF, INF, INF]


@pytest.mark.skipif(bool(marks_of("dispatchkit.special.")), reason="SciPy is not installed")
def test_the_derivative_of_gelu_vanishes_with_the_density() -> None:
    x = np.array([-40.0, -35.0, -1e300, -INF, 40.0, INF])
    density = math.exp(-(35**2) / 2) / math.sqrt(2 * math.pi)
    expected = [0.0, 0.5 * math.erfc(35 / math.sqrt(2)) - 35 * density, 0.0, 0.0, 1.0, 1.0]
    np.testing.assert_allclose(reverse(F.gelu, x)[1][0], expected, rtol=1e-9)


@pytest.mark.parametrize("number", [0.0, 1.5, 1e8])
def test_logaddexp_has_its_derivatives_of_all_orders_where_both_are_equal(number: float) -> None:
    x = dk.tensor([number], requires_grad=True)
    g, found = dk.logaddexp(x, number), []
    for _ in range(4):
        (g,) = dk.autograd.grad(g.sum(), [x], create_graph=True)
        found.append(g.item())
    assert found == [0.5, 0.25, 0.0, -0.125]


def test_a_loss_of_logits_has_its_derivatives_of_all_orders_at_0() -> None:
    x = dk.tensor([0.0], requires_grad=True)
    g, found = F.binary_cross_entropy_with_logits(x, dk.asarray([0.25])), []
    for _ in range(4):
        (g,) = dk.autograd.grad(g.sum(), [x], create_graph=True)
        found.append(g.item())
    assert found == [0.25, 0.25, 0.0, -0.125]


def test_pow_has_its_mixed_derivative_where_the_exponent_is_0() -> None:
    x, n = dk.tensor([2.0], requires_grad=True), dk.tensor([0.0], requires_grad=True)
    (g,) = dk.autograd.grad((x**n).sum(), [x], create_graph=True)
    assert dk.autograd.grad(g.sum(), [n])[0].tolist() == [0.5]


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("base", ["float64", "float32", "int64", "complex128", "number"])
def test_a_power_of_a_negative_base_has_its_derivatives_by_a_complex_exponent(base: str, dtype: str) -> None:
    # Of exp(z * L) with the complex logarithm L of the base, which is 0 to all orders at the base 0.
    numbers, z = np.array([-1.0, -2.0, 3.0, 0.0]), np.array([0.3 + 0.4j, -1, 2 + 1j, 1 + 1j])
    logarithms = np.log(np.where(numbers, numbers, 1) + 0j)
    powers = np.where(numbers, np.exp(z * logarithms), 0)
    x: Any = numbers[:1].item() if base == "number" else dk.asarray(numbers.astype(base))
    chosen = slice(0, 1) if base == "number" else slice(None)
    exponents = dk.tensor(z.astype(dtype)[chosen], requires_grad=True)
    (g,) = dk.autograd.grad(dk.sum(dk.real(dk.pow(x, exponents))), [exponents], create_graph=True)
    (gg,) = dk.autograd.grad(dk.sum(dk.real(g)), [exponents])
    _, t = dk.func.jvp(partial(dk.pow, x), (exponents.detach(),), (dk.ones_like(exponents),))
    for found, expected in [
        (g, np.conj(powers * logarithms)),
        (gg, np.conj(powers * logarithms**2)),
        (t, powers * logarithms),
    ]:
        np.testing.assert_allclose(found.detach().numpy(), expected[chosen], rtol=1e-5, atol=1e-6)


# Number of elements, correction, derivatives by the first and last element: PyTorch's for all axes named.
SPREADS = [
    ("var", [3.0], 1, [NAN]),
    ("std", [3.0], 1, [NAN]),
    ("var", [3.0], 5, [NAN]),
    ("var", [1.0, 2.0], 2, [-INF, INF]),
    ("std", [1.0, 2.0], 2, [NAN, NAN]),
    ("var", [], 0, []),
    ("std", [], 1, []),
    ("nanvar", [], 0, []),
    ("nanstd", [], 0, []),
]


@pytest.mark.parametrize(("name", "values", "correction", "expected"), SPREADS)
def test_a_spread_without_degrees_of_freedom_has_a_derivative_and_no_warning(
    name: str, values: list[float], correction: int, expected: list[float], recwarn: pytest.WarningsRecorder
) -> None:
    x = dk.tensor(np.array(values), requires_grad=True)
    y = getattr(dk, name)(x, correction=correction)
    recwarn.clear()
    y.backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    assert [str(one.message) for one in recwarn] == []
    (t,) = forward(partial(getattr(dk, name), correction=correction), np.array(values))
    assert math.isnan(float(t)) or math.isinf(float(t))


def test_a_mean_loss_without_classes_is_nan() -> None:
    x, target = dk.zeros((0, 0), requires_grad=True), dk.zeros((0,), dtype=dk.int64)
    y = F.nll_loss(x, target)
    y.backward()
    assert math.isnan(float(y))


SIZES = {
    "float64": (0.0, 0.3, 1.0, 2.5, 40.0, 1e8, 1e-8, 1e160, 1e-160, 1e300, 1e-300, 5e-324, INF),
    "float32": (0.0, 0.3, 1.0, 2.5, 40.0, 1e8, 1e-8, 1e20, 1e-20, 1e38, 1e-38, 1e-45, INF),
}


def at(place: Any, path: str) -> Any:
    for part in path.split("."):
        place = getattr(place, part)
    return place


Pair = tuple[Function, Function]
UNARY: dict[str, Callable[[Any], Pair]] = {}
BINARY: dict[str, Callable[[Any], Pair]] = {}
ALONG: set[str] = set()


def compare(cases: dict[str, Callable[[Any], Pair]], ours: str, theirs: str, *args: Any, **kwargs: Any) -> None:
    """Add a function of either library, with the same further arguments."""
    given = ", ".join([*map(str, args), *(f"{key}={value}" for key, value in kwargs.items())])
    cases[f"{ours}({given})" if given else ours] = lambda torch: (
        lambda *x: at(dk, ours)(*x, *args, **kwargs),
        lambda *x: at(torch, theirs)(*x, *args, **kwargs),
    )


def of_both(function: Function) -> Callable[[Any], Pair]:
    """Return what gives a function of the arrays of either library."""
    return lambda torch: (function, function)


def compare_along(ours: str, pick: Any = ..., theirs: str = "", **kwargs: Any) -> None:
    """Add a function of two stacked arrays along the axis that they are stacked on."""
    given = ", ".join(f"{key}={value}" for key, value in kwargs.items())
    name = f"{ours}({given})" if given else ours
    ALONG.add(name)
    BINARY[name] = lambda torch: (
        lambda *x: at(dk, ours)(dk.stack(x), axis=0, **kwargs)[pick],
        lambda *x: at(torch, theirs or ours)(torch.stack(x), dim=0, **kwargs)[pick],
    )


for name in [
    *(
        "exp",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "sigmoid",
        "abs",
        "sign",
        "sqrt",
        "rsqrt",
        "square",
        "reciprocal",
    ),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("reciprocal", "relu", "negative", "positive", "ceil", "floor", "trunc", "round"),
    *("special.erf", "special.erfc", "special.erfinv", "special.ndtr"),
    *("special.gammaln", "special.digamma", "special.logit", "special.expit"),
]:
    compare(UNARY, name, name)
for name in [
    *("elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "softsign", "logsigmoid"),
    *("leaky_relu", "hardtanh", "relu6", "hardsigmoid", "hardswish"),
]:
    compare(UNARY, f"nn.functional.{name}", f"nn.functional.{name}")
for name in ("elu", "celu", "leaky_relu"):
    for alpha in (0.5, 2.0, -1.5):
        compare(UNARY, f"nn.functional.{name}", f"nn.functional.{name}", alpha)
compare(UNARY, "nn.functional.softplus", "nn.functional.softplus", 2.0, 1.0)
compare(UNARY, "nn.functional.threshold", "nn.functional.threshold", 0.3, 7.0)
compare(UNARY, "nn.functional.gelu", "nn.functional.gelu", approximate="tanh")
compare(UNARY, "clip", "clip", 0.3, 2.5)
for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5):
    compare(UNARY, "pow", "pow", exponent)
for number in (0, 1, 2, 0.5, -2.0):
    UNARY[f"{number} ** x"] = of_both(partial(operator.pow, number))
    UNARY[f"{number} / x"] = of_both(partial(operator.truediv, number))
    UNARY[f"x * {number}"] = of_both(partial(operator.mul, number))
for name in [
    *("add", "subtract", "multiply", "divide", "remainder", "pow", "atan2", "hypot", "logaddexp"),
    *("maximum", "minimum", "copysign", "nextafter"),
]:
    compare(BINARY, name, name)
compare(BINARY, "special.xlogy", "special.xlogy")
for name in [
    *("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div", "binary_cross_entropy_with_logits"),
]:
    compare(BINARY, f"nn.functional.{name}", f"nn.functional.{name}", reduction="none")
compare(BINARY, "nn.functional.kl_div", "nn.functional.kl_div", reduction="none", log_target=True)
for order in (0, 1, 2, 3, 0.5, INF, -INF, -1):
    compare_along("linalg.vector_norm", ord=order)
for correction in (0, 1, 2):
    compare_along("var", correction=correction)
    compare_along("std", correction=correction)
for name in ("sum", "mean", "prod", "logsumexp", "nansum"):
    compare_along(name)
compare_along("max", theirs="amax")
compare_along("min", theirs="amin")
compare_along("softmax", 0)
compare_along("log_softmax", 0)
compare_along("cumulative_sum", 1, "cumsum")
compare_along("cumulative_prod", 1, "cumprod")


def nan(*x: Any) -> Any:
    return np.any(np.isnan(x), axis=0)


def infinite(*x: Any) -> Any:
    return np.any(np.isinf(x), axis=0)


def squares(*x: Any) -> Any:
    """Return where squares overflow or underflow in single precision."""
    return np.any([(np.abs(one) > 1e18) | ((np.abs(one) < 1e-18) & (one != 0)) for one in x], axis=0)


STAYS = "NaN stays NaN; PyTorch has the slope of one side, or the sign 0"
LIMIT = "the limit; PyTorch multiplies 0 by infinity"
WIDE = "without a square or product that overflows or underflows on the way, as PyTorch's do"
PRECISION = "squares in the precision of the argument; PyTorch's float32 are summed in double precision"
SCIPY = "SciPy's poles and limits; PyTorch has large numbers or NaN there"
# Where dispatchkit departs from PyTorch, and why. The part of a name before the parenthesis stands for all its cases.
DEPARTURES: dict[str, tuple[Callable[..., Any], str]] = {
    "abs": (nan, STAYS),
    "sign": (nan, STAYS),
    "relu": (nan, STAYS),
    "nn.functional.elu": (nan, STAYS),
    "nn.functional.selu": (nan, STAYS),
    "nn.functional.celu": (nan, STAYS),
    "nn.functional.l1_loss": (lambda a, b: nan(a - b), STAYS),
    "nn.functional.hardswish": (lambda x: nan(x) | squares(x), f"{STAYS}; {LIMIT}; {WIDE}"),
    "acosh": (lambda x: (x < 1) | squares(x), f"NaN outside the domain, where PyTorch has numbers; {WIDE}"),
    "special.gammaln": (lambda x: (np.abs(x) < 1e-300) | (x == -INF), SCIPY),
    "special.logit": (lambda x: x == 0, "of one sign; that of PyTorch at -0.0 depends on the number of elements"),
    "special.digamma": (lambda x: (x <= 0) & (x == np.floor(x)), SCIPY),
    "nn.functional.gelu": (infinite, LIMIT),
    "nn.functional.gelu(approximate=tanh)": (squares, f"{LIMIT}; {WIDE}"),
    "nn.functional.softsign": (lambda x: np.abs(x) >= 1e8, f"{LIMIT}; its derivative there loses digits"),
    "pow(0.5)": (lambda x: (x == -INF) | (x == 0), "the power, as in C; PyTorch takes the square root"),
    "pow(-0.5)": (lambda x: (x == -INF) | (x == 0), "the power, as in C; PyTorch takes the square root"),
    "pow(-1)": (squares, WIDE),
    "pow(-2)": (squares, WIDE),
    "0 / x": (squares, "0; PyTorch multiplies by the reciprocal, which overflows"),
    "atan2": (squares, WIDE),
    "logaddexp": (lambda a, b: (a == b) & np.isinf(a), "equal infinities share evenly; PyTorch has NaN"),
    "copysign": (lambda a, b: np.isinf(a), "a sign; PyTorch divides infinity by infinity"),
    "remainder": (lambda a, b: ~(np.abs(a / b) < 1e38), "as Python where the quotient overflows; PyTorch has NaN"),
    "nextafter": (lambda a, b: a == b, "1 as elsewhere; PyTorch 0 where nothing is to be gone"),
    "nn.functional.kl_div(reduction=none)": (
        lambda a, b: infinite(a, b) | (np.abs(b) < 1e-37) | (np.abs(b) > 1e37),
        f"0 where the target is 0; {LIMIT}; {WIDE}; the reciprocal of subnormal targets is infinite",
    ),
    "nn.functional.binary_cross_entropy_with_logits": (
        lambda a, b: (np.abs(a) >= 40) | ~((b >= 0) & (b <= 1)),
        "no difference of nearly equal numbers; targets are shares",
    ),
    "max": (nan, "1 at the NaN; PyTorch NaN everywhere"),
    "min": (nan, "1 at the NaN; PyTorch NaN everywhere"),
    "logsumexp": (
        lambda a, b: (a == b) & (np.abs(a) >= 1e8),
        "portions that sum to 1; PyTorch's of equal large numbers do not",
    ),
    "linalg.vector_norm": (lambda a, b: nan(a, b) | squares(a, b), f"{STAYS}; {WIDE}"),
    "var": (squares, PRECISION),
    "std": (squares, PRECISION),
    "cumulative_prod": (lambda a, b: nan(a, b) | squares(a, b), "products of the others; PyTorch divides the product"),
}
ROUGH = {"nn.functional.hardsigmoid": 1e-7}  # PyTorch's sixth is one of single precision


def departs(name: str, arrays: list[Any]) -> Any:
    allowed, _ = DEPARTURES.get(name) or DEPARTURES.get(name.split("(", 1)[0]) or (nothing, "")
    return allowed(*[x.astype(np.float64) for x in arrays])


def nothing(*x: Any) -> Any:
    return np.zeros(x[0].shape, dtype=bool)


def same(one: Any, other: Any, rtol: float) -> Any:
    near = np.isclose(one, other, rtol=rtol, atol=1e-42 if one.dtype == "float32" else 1e-320, equal_nan=True)
    return near | (one == other)


def agree(what: str, one: Any, other: Any, arrays: list[Any], checked: Any, rtol: float) -> None:
    wrong = np.flatnonzero(checked & ~same(one, other, rtol))
    told = [(*(float(x[i]) for x in arrays), float(one[i]), float(other[i])) for i in wrong[:5]]
    assert not told, f"{what}: {len(wrong)} differ; arguments, found, expected: {told}"


CASES = [
    pytest.param(find, count, name, id=name, marks=marks_of(f"dispatchkit.{name}"))
    for count, cases in ((1, UNARY), (2, BINARY))
    for name, find in cases.items()
]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize(("find", "count", "name"), CASES)
def test_derivatives_are_those_of_pytorch(find: Callable[[Any], Pair], count: int, name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = find(torch)
    numbers = [sign * size for size in SIZES[dtype] for sign in (1.0, -1.0)] + [NAN]
    arrays = [np.array(x, dtype=dtype) for x in zip(*itertools.product(numbers, repeat=count), strict=True)]
    y, grads = reverse(ours, *arrays)
    leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
    z = theirs(*leaves)
    expected = torch.autograd.grad(z, leaves, torch.ones_like(z), allow_unused=True)
    checked, rtol = ~departs(name, arrays), 2e-5 if dtype == "float32" else ROUGH.get(name, 1e-9)
    agree("value", y, z.detach().numpy(), arrays, checked, rtol)
    for i, (one, other) in enumerate(zip(grads, expected, strict=True)):
        want = np.zeros_like(one) if other is None else other.numpy()
        agree(f"derivative by argument {i}", one, want, arrays, checked, rtol)
    # Along an axis the tangents of the other elements are 0, which an infinite derivative makes NaN.
    whole = np.isfinite(grads).all(axis=0) & np.isfinite(arrays).all(axis=0) if name in ALONG else np.array(True)
    for i, (one, other) in enumerate(zip(forward(ours, *arrays), grads, strict=True)):
        agree(f"tangent by argument {i}", one, other, arrays, whole, rtol)


def test_every_departure_from_pytorch_is_of_a_case() -> None:
    assert all(any(case in (name, name.split("(")[0]) for name in [*UNARY, *BINARY]) for case in [*DEPARTURES, *ROUGH])
