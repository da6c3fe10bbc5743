"""PyTorch's special functions beyond those of `dispatchkit.special`: SciPy's as operations, and polynomials.

Calls from PyTorch are not answered by them: PyTorch computes its own.
"""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from dispatchkit import special
from dispatchkit.as_torch.calling.promotion import common_dtype
from dispatchkit.as_torch.shared import copy_if_recorded
from dispatchkit.as_torch.table import ALONE, Function
from dispatchkit.backends.numpy import numpy_namespace
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import values_of_batch
from dispatchkit.graph.storage import Storage
from dispatchkit.ops.special import compute
from dispatchkit.protocol.kinds import kinds

# SciPy's functions of one and of two arguments by PyTorch's names, where these are others.
UNARY = {
    **dict.fromkeys(("i0", "i0e", "i1", "i1e", "entr", "ndtri", "log_ndtr", "erfcx")),
    **{f"bessel_{name}": name for name in ("j0", "j1", "y0", "y1")},
    **{f"modified_bessel_{name}": name for name in ("i0", "i1", "k0", "k1")},
    **{f"scaled_modified_bessel_{name}": f"{name}e" for name in ("k0", "k1")},
}
BINARY = dict.fromkeys(("gammainc", "gammaincc", "xlog1py", "zeta"))


def function_at(name: str, *args: Any) -> Any:
    """Return the values of one of these functions: an array of the library of the arguments, of tensors a tensor."""
    return values_of(OPERATIONS[f"special.{name}"], *args)


def values_of(function: Function, *args: Any) -> Any:
    """Return the values of an operation: an array of the library of the arguments, of tensors a tensor."""
    y = function(*args)
    if any(isinstance(value, Storage) for value in args):
        return y
    return y.array


GAMMALN: Any = SimpleNamespace(__name__="gammaln")
# Partial derivatives for the last argument.
PARTIALS: dict[str, Function] = {
    "entr": lambda xp, x: -xp.log(x) - 1,
    "erfcx": lambda x, y: 2 * x * y - 2 / math.sqrt(math.pi),
    "gammainc": lambda xp, x1, x2: xp.exp((x1 - 1) * xp.log(x2) - x2 - compute(xp, GAMMALN, x1)),
    "gammaincc": lambda xp, x1, x2: -xp.exp((x1 - 1) * xp.log(x2) - x2 - compute(xp, GAMMALN, x1)),
    "i0": lambda x: function_at("i1", x),
    "i0e": lambda xp, x, y: function_at("i1e", x) - xp.sign(x) * y,
    "i1": lambda xp, x, y: xp.where(x == 0, 0.5, function_at("i0", x) - y / xp.where(x == 0, 1, x)),
    "i1e": lambda xp, x, y: xp.where(
        x == 0, 0.5, function_at("i0e", x) - y * (xp.sign(x) + 1 / xp.where(x == 0, 1, x))
    ),
    "log_ndtr": lambda x: math.sqrt(2 / math.pi) / function_at("erfcx", -x / math.sqrt(2)),
    "ndtri": lambda xp, y: math.sqrt(2 * math.pi) * xp.exp(y * y / 2),
    "xlog1py": lambda x1, x2: x1 / (1 + x2),
    "zeta": lambda x1, x2: -x1 * function_at("zeta", x1 + 1, x2),
}


def _divided(xp: Any, y: Any, x: Any) -> Any:
    """Return an odd function divided by its argument, which is half where that is 0."""
    return xp.where(x == 0, 0.5, y / xp.where(x == 0, 1, x))


def bessel_j0_partial(x: Any) -> Any:
    return -function_at("bessel_j1", x)


def bessel_j1_partial(xp: Any, x: Any, y: Any) -> Any:
    return function_at("bessel_j0", x) - _divided(xp, y, x)


def bessel_y0_partial(x: Any) -> Any:
    return -function_at("bessel_y1", x)


def bessel_y1_partial(x: Any, y: Any) -> Any:
    return function_at("bessel_y0", x) - y / x


def modified_bessel_i0_partial(x: Any) -> Any:
    return function_at("modified_bessel_i1", x)


def modified_bessel_i1_partial(xp: Any, x: Any, y: Any) -> Any:
    return function_at("modified_bessel_i0", x) - _divided(xp, y, x)


def modified_bessel_k0_partial(x: Any) -> Any:
    return -function_at("modified_bessel_k1", x)


def modified_bessel_k1_partial(x: Any, y: Any) -> Any:
    return -function_at("modified_bessel_k0", x) - y / x


def scaled_modified_bessel_k0_partial(x: Any, y: Any) -> Any:
    return y - function_at("scaled_modified_bessel_k1", x)


def scaled_modified_bessel_k1_partial(x: Any, y: Any) -> Any:
    return y - function_at("scaled_modified_bessel_k0", x) - y / x


for _partial in (
    *(bessel_j0_partial, bessel_j1_partial, bessel_y0_partial, bessel_y1_partial, modified_bessel_i0_partial),
    *(modified_bessel_i1_partial, modified_bessel_k0_partial, modified_bessel_k1_partial),
    *(scaled_modified_bessel_k0_partial, scaled_modified_bessel_k1_partial),
):
    PARTIALS[_partial.__name__.removesuffix("_partial")] = _partial


def _of_scipy(name: str, scipy: str, *, binary: bool) -> Any:
    named: Any = SimpleNamespace(__name__=scipy)

    def of_one(xp: Any, x: Any, /) -> Any:
        return compute(xp, named, x)

    def of_two(xp: Any, x1: Any, x2: Any, /) -> Any:
        y = compute(xp, named, x1, x2)
        dtype = xp.result_type(x1, x2)
        if dtype == xp.float32 and y.dtype != dtype:
            return xp.astype(y, dtype)  # of functions that SciPy computes in float64 alone
        return y

    body: Any = of_one
    if binary:
        body = of_two
    body.__name__ = name
    function = operation(kind=kinds.special, namespace="torch.special", decomposes=False, real=True)(body)
    if name in PARTIALS:
        if binary:
            function.def_partial("x2")(PARTIALS[name])
        else:
            function.def_partial(PARTIALS[name])
    return function


OPERATIONS: dict[str, Any] = {
    f"special.{name}": _of_scipy(name, scipy or name, binary=names is BINARY)
    for names in (UNARY, BINARY)
    for name, scipy in names.items()
}


def xlog1py_partial_x1(xp: Any, x1: Any, x2: Any) -> Any:
    nothing = (x1 == 0) & (x2 <= -1)
    return xp.where(nothing, 0.0, xp.log1p(xp.where(nothing, 0.0, x2)))


OPERATIONS["special.xlog1py"].def_partial("x1")(xlog1py_partial_x1)


AIRY: Any = SimpleNamespace(__name__="airy")


def _airy(xp: Any, x: Any, place: int) -> Any:
    """Return one of the results of SciPy's Airy function: Ai is the first, its derivative the second."""
    values = compute(numpy_namespace, AIRY, np.asarray(x, dtype=np.float64))[place]
    if xp.isdtype(x.dtype, "real floating"):
        return xp.astype(xp.asarray(values), x.dtype)  # SciPy computes in float64 alone
    return xp.asarray(values)


@operation(kind=kinds.special, namespace="torch.special", decomposes=False, real=True)
def airy_ai(xp: Any, x: Any, /) -> Any:
    return _airy(xp, x, 0)


@operation(kind=kinds.special, namespace="torch.special", decomposes=False, real=True)
def airy_ai_slope(xp: Any, x: Any, /) -> Any:
    return _airy(xp, x, 1)


@airy_ai.def_partial
def airy_ai_partial(x: Any) -> Any:
    return values_of(airy_ai_slope, x)


@airy_ai_slope.def_partial
def airy_ai_slope_partial(x: Any) -> Any:
    return x * values_of(airy_ai, x)


OPERATIONS["special.airy_ai"] = airy_ai
OPERATIONS |= {"i0": OPERATIONS["special.i0"]}
OPERATIONS |= {"igamma": OPERATIONS["special.gammainc"], "igammac": OPERATIONS["special.gammaincc"]}


# Of degree 1, and of the next degree after that of degree k, p, and the one before.
CHEBYSHEV = {
    name: (lambda x, constant=constant, slope=slope: slope * x + constant, lambda k, x, p, before: 2 * x * p - before)
    for name, slope, constant in (("t", 1, 0), ("u", 2, 0), ("v", 2, -1), ("w", 2, 1))
}
POLYNOMIALS: dict[str, tuple[Function, Function]] = {
    **{f"chebyshev_polynomial_{name}": formulas for name, formulas in CHEBYSHEV.items()},
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, before: 2 * (x * p - k * before)),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, before: x * p - k * before),
    # Divided before they are multiplied: no term is much larger than the next polynomial.
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda k, x, p, before: (2 * k + 1 - x) / (k + 1) * p - k / (k + 1) * before,
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda k, x, p, before: (2 * k + 1) / (k + 1) * x * p - k / (k + 1) * before,
    ),
}


def _polynomial(first: Function, following: Function, shifted: bool, /, input: Any, n: Any) -> Any:
    dtype = common_dtype((input, n))
    if dtype.kind in "bui":
        dtype = xp.get_default_dtype()
    degree = xp.trunc(xp.asarray(n, dtype=dtype))
    # A degree that is no number is less than 0, as in PyTorch.
    degree = xp.where(xp.isfinite(degree), degree, -1)
    input = xp.astype(xp.asarray(input), dtype)
    argument = input
    if shifted:
        argument = 2 * input - 1
    x, degree = xp.broadcast_arrays(argument, degree)
    before, p = xp.ones_like(x), first(x)
    y = xp.where(degree == 0, before, xp.where(degree == 1, p, xp.zeros_like(x)))
    highest = values_of_batch(degree)  # of all elements of a batch
    degrees = 0
    if degree.size:
        degrees = int(highest.max())
    for k in range(1, degrees):
        before, p = p, following(k, x, p, before)
        y = xp.where(degree == k + 1, p, y)
    return y


def ndtr(input: Any) -> Any:
    return special.ndtr(copy_if_recorded(input))


ALONE["special.ndtr"] = ndtr
ALONE.update({f"special.{name}": partial(_polynomial, *formulas, False) for name, formulas in POLYNOMIALS.items()})
for _name, _formulas in CHEBYSHEV.items():
    ALONE[f"special.shifted_chebyshev_polynomial_{_name}"] = partial(_polynomial, *_formulas, True)
