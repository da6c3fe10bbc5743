"""The laws of units: what each operation asks of the units of its arguments, and which one its result has.

A law is a function of a `QuantityCall`. It gives the units that arguments are converted to first, by the names of their
parameters (`KEPT` is as they are, a factor is multiplied with; what is not named must be a plain number), and the unit
of the result: None for plain arrays, a list for results of several units, a unit and what the numbers are divided by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from dispatchkit.backends.arrays import are_parts
from dispatchkit.errors import UnitError
from dispatchkit.ops.manipulation.shapes import dtype_meant
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.types.units.unit import ONE, WHOLE, Unit

KEPT = object()
START_OF_SUM = (
    "Python's sum() starts with 0, which has no unit: give it a start, as in sum(values, start=QuantityTensor(0, unit))"
)


class QuantityCall(NamedTuple):
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

    def argument(self, name: str, default: Any = None) -> Any:
        """Return an argument that is no array."""
        signature = tensor_protocol.operation(self.op).parameters.signature
        return signature.bind(*self.args, **self.kwargs).arguments.get(name, default)


Plan = tuple[Mapping[str, Any], Any]
Law = Callable[[QuantityCall], Plan]
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
    def law(call: QuantityCall) -> Plan:
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
    def law(call: QuantityCall) -> Plan:
        targets, unit = without_parts(call)
        factors = _parts(*call.units["x1"], *call.units["x2"])
        if factors is None or factors == (1, 1):
            return targets, unit
        return dict(zip(("x1", "x2"), factors, strict=True)), unit and (unit, factors[0])

    return law


@in_one_unit
def comparison(call: QuantityCall) -> Plan:
    """Take two arrays in the coarser unit, of which the other is a whole part, or counted in parts of both.

    A quotient by a whole number is the floating-point number that its decimal fraction is written for, so that 0.57 m
    are 57 cm in either order.
    """
    targets = dict.fromkeys(("x1", "x2"), call.units["x1"][0])
    factors = _parts(*call.units["x1"], *call.units["x2"])
    if factors is None or factors[0] == 1:
        if factors is not None:
            (unit,) = call.units["x2"]
        else:
            (unit,) = call.units["x1"]
        return dict.fromkeys(targets, unit), None
    return targets if factors[1] == 1 else dict(zip(("x1", "x2"), factors, strict=True)), None


def _parts(left: Unit, right: Unit) -> tuple[int, int] | None:
    """Return of how many equal parts two units are; None where they have no such parts, or too many of them."""
    ratio = left.ratio(right)
    if ratio is None or max(ratio.numerator, ratio.denominator) > WHOLE:
        return None
    return ratio.numerator, ratio.denominator


def power(**exponents: float) -> Law:
    """Return the law of arguments of any units, of which the result's is a product of powers."""

    def law(call: QuantityCall) -> Plan:
        unit = ONE
        for name, exponent in exponents.items():
            for factor in call.units.get(name, ()):
                unit *= _vector(call, factor) ** Fraction(exponent).limit_denominator(12)
        return dict.fromkeys(exponents, KEPT), unit

    return law


def number(call: QuantityCall) -> Plan:
    """Take plain numbers and angles alone, and give a plain number."""
    return {}, None


def angle(source: Unit, target: Unit) -> Law:
    """Return the law of angles that are written in one unit before and in another one after.

    Parameters
    ----------
    source, target : units of the numbers of the argument and of the result
    """

    def law(call: QuantityCall) -> Plan:
        (unit,) = call.units["x"]
        if unit.dimension or not unit.is_angle:
            raise UnitError(
                f"{call.op.__name__}: numbers in '{unit}' are no angles; give a quantity in 'deg' or 'rad', or the "
                f"plain numbers, x.magnitude"
            )
        return {"x": source}, target

    return law


def each(call: QuantityCall) -> Plan:
    """Keep the units of several arrays, of which there are as many results."""
    units = call.units["arrays"]
    return {"arrays": KEPT}, list(units)


@in_one_unit
def addition(call: QuantityCall) -> Plan:
    """Take vectors in one unit; a point and a vector give a point."""
    (left,), (right,) = call.units["x1"], call.units["x2"]
    if left.origin and right.origin:
        raise UnitError(f"add: points on a scale, in '{left}' and '{right}', have no sum; one may be a difference")
    if not (left.origin or right.origin):
        return {"x1": left, "x2": left}, left
    point = right
    if left.origin:
        point = left
    steps = {"x1": point.delta, "x2": point.delta}
    return {**steps, "x1" if left.origin else "x2": point}, point


@in_one_unit
def subtraction(call: QuantityCall) -> Plan:
    """Take vectors in one unit; two points give a vector, a point and a vector give a point."""
    (left,), (right,) = call.units["x1"], call.units["x2"]
    if right.origin and not left.origin:
        raise UnitError(f"subtract: a point on a scale, in '{right}', is not subtracted from a vector, in '{left}'")
    if left.origin and not right.origin:
        return {"x1": left, "x2": left.delta}, left
    return {"x1": left, "x2": left}, left.delta


def exponentiation(call: QuantityCall) -> Plan:
    """Raise a unit to a power that is one number; plain numbers, and what can be one, to any plain power."""
    (unit,) = call.units["x1"]
    if unit == ONE:
        return {}, ONE
    exponent = call.args[1]
    if getattr(exponent, "ndim", 0) or isinstance(exponent, complex) or not hasattr(type(exponent), "__float__"):
        if not unit.dimension:
            return {"x1": ONE}, ONE
        raise UnitError(f"pow: the elements of '{unit}' to several powers would have several units; raise to a number")
    return {"x1": KEPT}, _vector(call, unit) ** Fraction(float(exponent)).limit_denominator(1000)


def product_of_all(call: QuantityCall) -> Plan:
    """Give the unit to as many factors as one product has."""
    (unit,) = call.units["x"]
    shape, axis = call.args[0].shape, call.argument("axis")
    axes: Iterable[Any] = (axis,)
    if axis is None:
        axes = range(len(shape))
    elif isinstance(axis, tuple):
        axes = axis
    # The operation refuses any other axis.
    lengths = [shape[i] for i in axes if isinstance(i, int) and -len(shape) <= i < len(shape)]
    return {"x": KEPT}, _vector(call, unit) ** math.prod(lengths)


def determinant(call: QuantityCall) -> Plan:
    """Give the unit to the number of rows."""
    return {"x": KEPT}, _vector(call, call.units["x"][0]) ** call.args[0].shape[-1]


def matrix_power(call: QuantityCall) -> Plan:
    """Give the unit to the same power."""
    return {"x": KEPT}, _vector(call, call.units["x"][0]) ** call.argument("n")


def average(call: QuantityCall) -> Plan:
    """Take values in one unit, weights in any; with `returned` give the sum of the weights, too."""
    unit = call.units["x"][0]
    sums = [unit, call.units.get("weights", [ONE])[0]]
    if call.argument("returned"):
        return {"x": unit, "weights": KEPT}, sums
    return {"x": unit, "weights": KEPT}, unit


def norm(call: QuantityCall) -> Plan:
    """Give the unit of the elements; none for their number, which is the norm of order 0."""
    plan = same("x")(call)
    if call.argument("ord") == 0:
        return plan[0], None
    return plan


def least_squares(call: QuantityCall) -> Plan:
    """Give the quotient of the units, the square of the right side's, none, and the matrix's."""
    matrix, side = (_vector(call, call.units.get(name, [ONE])[0]) for name in ("a", "b"))
    return {"a": KEPT, "b": KEPT}, [side / matrix, side**2, None, matrix]


def affine(call: QuantityCall) -> Plan:
    """Give the unit of a product, in which the summand is to be."""
    unit = _vector(call, call.units["x"][0]) * _vector(call, call.units["weight"][0])
    return {"x": KEPT, "weight": KEPT, "bias": unit}, unit


def interpolation(call: QuantityCall) -> Plan:
    """Take places in one unit, of which a period is a difference, and values in another."""
    place, value = call.units["points"][0], call.units["values"][0]
    return {"x": place, "points": place, "values": value, "left": value, "right": value, "period": place.delta}, value


def filling(call: QuantityCall) -> Plan:
    """Give the unit of the value that fills the array."""
    unit = call.units["fill_value"][0]
    return {"x": KEPT, "fill_value": unit}, unit


def stepping(call: QuantityCall) -> Plan:
    """Take ends in one unit, and steps in that of their differences."""
    unit = call.units["start"][0]
    if unit != ONE and "step" not in call.units:
        raise UnitError(f"arange: between ends in '{unit}' there is no step of 1; give step in '{unit.delta}'")
    return {"start": unit, "stop": unit, "step": unit.delta}, unit


def padding(call: QuantityCall) -> Plan:
    """Give the unit of the elements, in which what is put around them by value is to be."""
    (unit,) = call.units["x"]
    if unit.origin and call.argument("mode", "constant") == "constant" and call.argument("constant_values") is None:
        raise UnitError(f"pad: 0 is a place on the scale '{unit}' like any other; give constant_values in a unit")
    return {"x": unit, "constant_values": unit}, unit


def _vector(call: QuantityCall, unit: Unit) -> Unit:
    if unit.origin:
        raise UnitError(f"{call.op.__name__}: points on a scale, in '{unit}', have no products; convert to 'K'")
    return unit


def _nothing(unit: Unit) -> None:
    return None


def _square(unit: Unit) -> Unit:
    return unit.delta**2


def _delta(unit: Unit) -> Unit:
    return unit.delta


@in_one_unit
def accumulation(call: QuantityCall) -> Plan:
    """Add to elements what is in their unit; to points on a scale, differences."""
    unit = call.units["x"][0]
    return {"x": unit, "src": unit.delta, "value": unit.delta}, unit


_assignment = same("x", "value", points=True)


@in_one_unit
def putting(call: QuantityCall) -> Plan:
    """Write what is in the unit of the elements, or add it."""
    if call.argument("accumulate"):
        return accumulation(call)
    return _assignment(call)


def viewing(call: QuantityCall) -> Plan:
    """Keep the unit in another shape, and of complex numbers that are read as pairs of real ones; bytes have none."""
    (unit,) = call.units["x"]
    asked, dtype = dtype_meant(call.argument("shape")), call.args[0].dtype
    if unit.parts and asked is not None and asked != dtype and not are_parts(asked, dtype):
        raise UnitError(
            f"view: numbers in '{unit}' read as {asked} by their bytes have no unit; convert them with "
            f"astype({asked}), or read x.magnitude.view({asked})"
        )
    return {"x": unit}, unit


_kept, _points, _plain = same("x"), same("x", points=True), same("x", gives=_nothing)
_asked = same("x", gives=_nothing, points=True)
_product = power(x1=1, x2=1)

# Where an operation and its nearer kinds have no law, its arguments must be plain numbers: no unit is lost unnoticed.
BY_KIND: dict[Any, Law] = {
    kinds.additive: same("x", "x1", "x2"),
    kinds.bounds: same("x", "x1", "x2", "min", "max", points=True),
    kinds.rounding: _points,
    kinds.complex_parts: _kept,
    kinds.comparison: comparison,
    kinds.predicate: _asked,
    kinds.elementwise: number,  # exp, sin, ..., activations, bits
    kinds.manipulation: same("x", "arrays", points=True),
    kinds.indexing: same("x", points=True),
    kinds.assignment: _assignment,
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
# The operations with a law of their own.
LAWS: dict[Law, str] = {
    _plain: "sign signbit argwhere nonzero count_nonzero all any matrix_rank corrcoef",
    number: "nanprod logsumexp slogdet bernoulli cumulative_prod softmax log_softmax glu scaled_dot_product_attention "
    "one_hot binary_cross_entropy binary_cross_entropy_with_logits kl_div cross_entropy nll_loss huber_loss "
    "smooth_l1_loss standardize layer_norm rms_norm batch_norm group_norm normalize lstm gru",
    _kept: "relu leaky_relu diag tril triu sum nansum cumulative_sum dropout",
    _points: "positive unique_values diagonal quantile max_pool2d max_pool3d avg_pool2d avg_pool3d "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
    _asked: "argsort argmax argmin",
    _product: "multiply convolve",
    power(x=-1): "reciprocal inv pinv",
    power(x=1 / 2): "sqrt cholesky",
    same("x", gives=_square, points=True): "var nanvar",
    same("x", gives=_delta, points=True): "std nanstd",
    addition: "add",
    subtraction: "subtract",
    comparison: "searchsorted isin",
    in_parts(_nothing): "floor_divide",
    in_parts(lambda unit: unit): "remainder",
    exponentiation: "pow",
    power(x1=1, x2=0): "copysign",
    power(x1=1, x2=-1): "divide",
    power(x=2): "square",
    power(x=1 / 3): "cbrt",
    power(x=-1 / 2): "rsqrt",
    power(weights=1): "bincount",
    power(operands=1): "einsum",
    power(x1=-1, x2=1): "solve",
    power(A=-1, b=1): "cg",
    least_squares: "lstsq",
    power(x=1): "prelu",
    same("x1", "x2", gives=_nothing): "atan2",
    same("x1", "x2", points=True): "where",
    angle(Unit("deg"), Unit("rad")): "deg2rad",
    angle(Unit("rad"), Unit("deg")): "rad2deg",
    each: "meshgrid broadcast_arrays",
    padding: "pad",
    viewing: "view",
    same("x", gives=lambda unit: [unit, None], points=True): "topk unique_counts unique_inverse",
    same("x", gives=lambda unit: [unit, None, None, None], points=True): "unique_all",
    same("x", gives=lambda unit: [None, unit]): "qr",
    same("x", gives=lambda unit: [unit, None]): "eig eigh",
    same("x", gives=lambda unit: [None, unit, None]): "svd",
    same("x", gives=_square): "cov",
    same("x", "prepend", "append", gives=_delta, points=True): "diff",
    product_of_all: "prod",
    average: "average",
    filling: "full full_like",
    same("start", "stop", points=True): "linspace",
    stepping: "arange",
    determinant: "det",
    matrix_power: "matrix_power",
    norm: "norm vector_norm",
    interpolation: "interp",
    affine: "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    same("weight", points=True): "embedding",
    accumulation: "scatter_add",
    putting: "index_put",
    same("x", "target", gives=_delta, points=True): "l1_loss",
    same("x", "target", gives=_square, points=True): "mse_loss",
}
BY_NAME = {name: law for law, names in LAWS.items() for name in names.split()}

# Laws that read more of a call than its units.
BY_ARGUMENTS = frozenset(
    (exponentiation, product_of_all, determinant, matrix_power, average, norm, interpolation, padding)
)
# Of these, laws that read nothing else but the last argument, where that is a number.
BY_LAST_NUMBER = frozenset((exponentiation,))

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
