"""The laws of units: what each operation asks of the units of its arguments, and which one its result has.

A law is a function of a `Call`. It gives the units that arguments are converted to first, by the names of their
parameters (`KEPT` is as they are, a factor is multiplied with; what is not named must be a plain number), and the unit
of the result: None for plain arrays, a list for results of several units, a unit and what the numbers are divided by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from dispatchkit.errors import UnitError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.types.units.unit import ONE, Unit

KEPT = object()
# Up to here every whole number is a floating-point number.
WHOLE = 2**53


class Call(NamedTuple):
    """A call of an operation on quantities.

    Attributes
    ----------
    op : the operation
    units : of the arrays by parameter, in signature order; those of plain arrays are `ONE`
    args, kwargs : of the call
    """

    op: Any
    units: Mapping[str, list[Unit]]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def given(self, name: str, default: Any = None) -> Any:
        """Return an argument that is no array."""
        signature = tensor_protocol.operation(self.op).parameters.signature
        return signature.bind(*self.args, **self.kwargs).arguments.get(name, default)


Plan = tuple[Mapping[str, Any], Any]
Law = Callable[[Call], Plan]
# Laws of arguments in one unit.
IN_ONE_UNIT: set[Law] = set()


def in_one_unit(law: Law) -> Law:
    """Enter a law of arguments in one unit."""
    IN_ONE_UNIT.add(law)
    return law


def same(*names: str, gives: Callable[[Unit], Any] = lambda unit: unit, points: bool = False) -> Law:
    """Return the law of arguments in one unit, that of the first; others are plain numbers.

    Parameters
    ----------
    names : of the parameters
    gives : the unit of the result, of that of the arguments
    points : whether points on a scale may be there, since the result moves as they do
    """

    @in_one_unit
    def law(call: Call) -> Plan:
        unit = next((units[0] for name in names if (units := call.units.get(name))), ONE)
        if unit.origin and not points:
            raise UnitError(
                f"{call.op.__name__}: numbers in '{unit}' are points on a scale, of which there is none; convert to "
                f"'K', or take differences, which are in '{unit.delta}'"
            )
        return dict.fromkeys(names, unit), gives(unit)

    return law


def in_parts(gives: Callable[[Unit], Any]) -> Law:
    """Return the law of two arrays that are counted in parts of which both units are whole numbers.

    Parameters
    ----------
    gives : the unit of the result, of that of the first array
    """
    without_parts = same("x1", "x2", gives=gives)

    @in_one_unit
    def law(call: Call) -> Plan:
        targets, unit = without_parts(call)
        factors = _parts(*call.units["x1"], *call.units["x2"])
        if factors is None or factors == (1, 1):
            return targets, unit
        return dict(zip(("x1", "x2"), factors, strict=True)), unit and (unit, factors[0])

    return law


@in_one_unit
def compared(call: Call) -> Plan:
    """Take two arrays in the coarser unit, of which the other is a whole part, or counted in parts of both.

    A quotient by a whole number is the floating-point number that its decimal fraction is written for, so that 0.57 m
    are 57 cm in either order.
    """
    targets, _ = _asked_of_two(call)
    factors = _parts(*call.units["x1"], *call.units["x2"])
    if factors is None or factors[0] == 1:
        (unit,) = call.units["x2"] if factors is not None else call.units["x1"]
        return dict.fromkeys(targets, unit), None
    return targets if factors[1] == 1 else dict(zip(("x1", "x2"), factors, strict=True)), None


def _parts(one: Unit, other: Unit) -> tuple[int, int] | None:
    """Return of how many equal parts two units are; None where they have no such parts, or too many of them."""
    ratio = one.ratio(other)
    if ratio is None or max(ratio.numerator, ratio.denominator) > WHOLE:
        return None
    return ratio.numerator, ratio.denominator


def power(**exponents: float) -> Law:
    """Return the law of arguments of any units, of which the result's is a product of powers."""

    def law(call: Call) -> Plan:
        unit = ONE
        for name, exponent in exponents.items():
            for own in call.units.get(name, ()):
                unit *= _vector(call, own) ** Fraction(exponent).limit_denominator(12)
        return dict.fromkeys(exponents, KEPT), unit

    return law


def number(call: Call) -> Plan:
    """Take plain numbers and angles alone, and give a plain number."""
    return {}, None


def each(call: Call) -> Plan:
    """Keep the units of several arrays, of which there are as many results."""
    units = call.units["arrays"]
    return {"arrays": KEPT}, list(units)


@in_one_unit
def added(call: Call) -> Plan:
    """Take vectors in one unit; a point and a vector give a point."""
    (one,), (other,) = call.units["x1"], call.units["x2"]
    if one.origin and other.origin:
        raise UnitError(f"add: points on a scale, in '{one}' and '{other}', have no sum; one may be a difference")
    if not (one.origin or other.origin):
        return {"x1": one, "x2": one}, one
    point = one if one.origin else other
    steps = {"x1": point.delta, "x2": point.delta}
    return {**steps, "x1" if one.origin else "x2": point}, point


@in_one_unit
def subtracted(call: Call) -> Plan:
    """Take vectors in one unit; two points give a vector, a point and a vector give a point."""
    (one,), (other,) = call.units["x1"], call.units["x2"]
    if other.origin and not one.origin:
        raise UnitError(f"subtract: a point on a scale, in '{other}', is not subtracted from a vector, in '{one}'")
    if one.origin and not other.origin:
        return {"x1": one, "x2": one.delta}, one
    return {"x1": one, "x2": one}, one.delta


def raised(call: Call) -> Plan:
    """Raise a unit to a power that is one number, and plain numbers to any plain power."""
    (unit,) = call.units["x1"]
    if unit == ONE:
        return {}, ONE
    exponent = call.args[1]
    if getattr(exponent, "ndim", 0) or isinstance(exponent, complex) or not hasattr(type(exponent), "__float__"):
        raise UnitError(f"pow: the elements of '{unit}' to several powers would have several units; raise to a number")
    return {"x1": KEPT}, _vector(call, unit) ** Fraction(float(exponent)).limit_denominator(1000)


def product_of_all(call: Call) -> Plan:
    """Give the unit to as many factors as one product has."""
    (unit,) = call.units["x"]
    shape, axis = call.args[0].shape, call.given("axis")
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {"x": KEPT}, _vector(call, unit) ** math.prod(shape[i] for i in axes)


def determinant(call: Call) -> Plan:
    """Give the unit to the number of rows."""
    return {"x": KEPT}, _vector(call, call.units["x"][0]) ** call.args[0].shape[-1]


def matrix_power(call: Call) -> Plan:
    """Give the unit to the same power."""
    return {"x": KEPT}, _vector(call, call.units["x"][0]) ** call.given("n")


def averaged(call: Call) -> Plan:
    """Take values in one unit, weights in any; with `returned` give the sum of the weights, too."""
    unit = call.units["x"][0]
    sums = [unit, call.units.get("weights", [ONE])[0]]
    return {"x": unit, "weights": KEPT}, sums if call.given("returned") else unit


def norm(call: Call) -> Plan:
    """Give the unit of the elements; none for their number, which is the norm of order 0."""
    plan = same("x")(call)
    return (plan[0], None) if call.given("ord") == 0 else plan


def affine(call: Call) -> Plan:
    """Give the unit of a product, in which the summand is to be."""
    unit = _vector(call, call.units["x"][0]) * _vector(call, call.units["weight"][0])
    return {"x": KEPT, "weight": KEPT, "bias": unit}, unit


def interpolated(call: Call) -> Plan:
    """Take places in one unit, values in another."""
    if any(call.given(name) is not None for name in ("left", "right", "period")):
        return number(call)
    place, value = call.units["points"][0], call.units["values"][0]
    return {"x": place, "points": place, "values": value}, value


def filled(call: Call) -> Plan:
    """Give the unit of the value that fills the array."""
    unit = call.units["fill_value"][0]
    return {"x": KEPT, "fill_value": unit}, unit


def ranged(call: Call) -> Plan:
    """Take ends in one unit, and steps in that of their differences."""
    unit = call.units["start"][0]
    if unit != ONE and "step" not in call.units:
        raise UnitError(f"arange: between ends in '{unit}' there is no step of 1; give step in '{unit.delta}'")
    return {"start": unit, "stop": unit, "step": unit.delta}, unit


def padded(call: Call) -> Plan:
    """Give the unit of the elements; what is put around them by value has none."""
    return number(call) if call.given("constant_values") is not None else same("x", points=True)(call)


def _vector(call: Call, unit: Unit) -> Unit:
    if unit.origin:
        raise UnitError(f"{call.op.__name__}: points on a scale, in '{unit}', have no products; convert to 'K'")
    return unit


def _nothing(unit: Unit) -> None:
    return None


def _squared(unit: Unit) -> Unit:
    return unit.delta**2


_kept, _points, _plain = same("x"), same("x", points=True), same("x", gives=_nothing)
_asked, _asked_of_two = same("x", gives=_nothing, points=True), same("x1", "x2", gives=_nothing, points=True)
_product = power(x1=1, x2=1)

BY_KIND: dict[Any, Law] = {
    kinds.additive: same("x", "x1", "x2"),
    kinds.arithmetic: _plain,
    kinds.bounds: same("x", "x1", "x2", "min", "max", points=True),
    kinds.rounding: _points,
    kinds.complex_parts: _kept,
    kinds.comparison: compared,
    kinds.predicate: _asked,
    kinds.elementwise: number,  # exp, sin, ..., activations, bits
    kinds.manipulation: same("x", "arrays", points=True),
    kinds.indexing: same("x", "value", points=True),
    kinds.sorting: _points,
    kinds.conversion: _points,
    kinds.creation: same("x", "obj", "data", points=True),
    kinds.product: _product,
    kinds.decomposition: _kept,
    kinds.linalg: _kept,
    kinds.fft: _kept,
    kinds.reduction: _points,
    kinds.random: _points,
}
BY_NAME: dict[str, Law] = {
    "add": added,
    "subtract": subtracted,
    "positive": _points,
    "copysign": power(x1=1, x2=0),
    "multiply": _product,
    "divide": power(x1=1, x2=-1),
    "floor_divide": in_parts(_nothing),
    "remainder": in_parts(lambda unit: unit),
    "pow": raised,
    "square": power(x=2),
    "reciprocal": power(x=-1),
    "sqrt": power(x=1 / 2),
    "cbrt": power(x=1 / 3),
    "rsqrt": power(x=-1 / 2),
    "signbit": _plain,
    "atan2": same("x1", "x2", gives=_nothing),
    **dict.fromkeys(("relu", "leaky_relu"), _kept),
    **dict.fromkeys(("diag", "tril", "triu"), _kept),
    "meshgrid": each,
    "broadcast_arrays": each,
    "pad": padded,
    "setitem": same("x", "value", points=True),
    "argsort": _asked,
    "argwhere": _plain,
    "nonzero": _plain,
    "argmax": _asked,
    "argmin": _asked,
    "topk": same("x", gives=lambda u: [u, None], points=True),
    "bincount": power(weights=1),
    "searchsorted": compared,
    "where": same("x1", "x2", points=True),
    "isin": compared,
    "unique_all": same("x", gives=lambda u: [u, None, None, None], points=True),
    "unique_values": _points,
    **dict.fromkeys(("unique_counts", "unique_inverse"), same("x", gives=lambda u: [u, None], points=True)),
    **dict.fromkeys(("sum", "nansum"), _kept),
    **dict.fromkeys(("var", "nanvar"), same("x", gives=_squared, points=True)),
    **dict.fromkeys(("std", "nanstd"), same("x", gives=lambda u: u.delta, points=True)),
    "prod": product_of_all,
    "nanprod": number,
    "average": averaged,
    "logsumexp": number,
    "count_nonzero": _plain,
    "all": _plain,
    "any": _plain,
    "diagonal": _points,
    **dict.fromkeys(("full", "full_like"), filled),
    "linspace": same("start", "stop", points=True),
    "arange": ranged,
    "einsum": power(operands=1),
    "cholesky": power(x=1 / 2),
    "qr": same("x", gives=lambda u: [None, u]),
    **dict.fromkeys(("eig", "eigh"), same("x", gives=lambda u: [u, None])),
    "svd": same("x", gives=lambda u: [None, u, None]),
    "inv": power(x=-1),
    "pinv": power(x=-1),
    "solve": power(x1=-1, x2=1),
    "cg": power(A=-1, b=1),
    "det": determinant,
    "slogdet": number,
    "matrix_power": matrix_power,
    "matrix_rank": _plain,
    "norm": norm,
    "vector_norm": norm,
    "bernoulli": number,
    "cumulative_sum": _kept,
    "cumulative_prod": number,
    "corrcoef": _plain,
    "cov": same("x", gives=_squared),
    "diff": same("x", "prepend", "append", gives=lambda u: u.delta, points=True),
    "quantile": _points,
    "softmax": number,
    "log_softmax": number,
    "convolve": _product,
    "interp": interpolated,
    # Of `nn.functional`.
    "prelu": power(x=1),
    "linear": affine,
    **dict.fromkeys(("conv1d", "conv2d", "conv_transpose2d"), affine),
    "dropout": _kept,
    **dict.fromkeys(("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"), _points),
    "embedding": same("weight", points=True),
    "l1_loss": same("x", "target", gives=lambda u: u.delta, points=True),
    "mse_loss": same("x", "target", gives=_squared, points=True),
    **dict.fromkeys(("glu", "scaled_dot_product_attention", "one_hot", "binary_cross_entropy", "kl_div"), number),
    **dict.fromkeys(("binary_cross_entropy_with_logits", "cross_entropy", "nll_loss", "huber_loss"), number),
    **dict.fromkeys(("smooth_l1_loss", "standardize", "layer_norm", "batch_norm", "group_norm", "normalize"), number),
}


# Laws that read more of a call than its units.
BY_ARGUMENTS = frozenset((raised, product_of_all, determinant, matrix_power, averaged, norm, interpolated, padded))

# Operations that write `value` among the elements of `x`, whose dtype stays.
ASSIGNING = frozenset(("setitem", "index_put"))


@cache
def law_of(op: Any) -> Law | None:
    """Return the law of an operation of the library, that of its kind where it has none of its own; None for others."""
    operation = tensor_protocol.operation(op)
    if operation.qualified_name.partition(".")[0] != "dispatchkit":
        return None
    lineage = (law for kind in operation.kind.lineage() if (law := BY_KIND.get(kind)) is not None)
    return BY_NAME.get(op.__name__) or next(lineage, None)
