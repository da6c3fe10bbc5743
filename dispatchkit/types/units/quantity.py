"""`QuantityTensor`: numbers in a unit, checked by every operation."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dispatchkit import ops
from dispatchkit.errors import UnitError
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.protocol.types.declaration import field
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.printing import Written
from dispatchkit.tree import container_items, leaves, map_leaves
from dispatchkit.types.exchange.parts import Parts, with_level
from dispatchkit.types.exchange.quantities import OF_ASTROPY_MEANT, read_object
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.exchange.tables import read_pandas
from dispatchkit.types.levels import MOVING, Wrapper, arguments, level, map_results, meets_another_type
from dispatchkit.types.plotting import Drawn
from dispatchkit.types.units.conversion import convert_numbers
from dispatchkit.types.units.gradients import loss_unit, notes, unit_of_gradient, watch
from dispatchkit.types.units.laws import (
    ASSIGNING,
    BY_ARGUMENTS,
    BY_LAST_NUMBER,
    IN_ONE_UNIT,
    KEPT,
    START_OF_SUM,
    Law,
    QuantityCall,
    law_of,
)
from dispatchkit.types.units.unit import ONE, UNCHANGED, Rescaling, Unit, is_unit


@tensor_protocol.array_type(
    fallback=fallback.decompose,
    priority=level("unit"),
    fields={"data": field(), "unit": field(grad=unit_of_gradient)},
    from_dense="from_dense",
    derivative="derivative",
)
class QuantityTensor(Wrapper):
    """An array of numbers in a unit.

    Parameters
    ----------
    data : array, or what `asarray` makes one of; inside an array type, such as `NamedTensor`, that is outside of units,
        the quantity is put inside of it. A quantity of Pint or astropy has its unit already
    unit : text such as ``"m/s"``, a `Unit`, or a unit of Pint or astropy; by default that of `data` if it is a
        quantity, else a plain number

    Raises
    ------
    UnitError : if the unit is none. From operations, if units do not go together

    Notes
    -----
    Each operation follows a law: sums need one dimension, and are in the unit of the first argument; products multiply
    units; `exp` and its like take plain numbers; comparisons need one dimension and give plain booleans; `floor` and
    its like round numbers as they are written. What is plain counts as a number without a unit, whatever its values,
    so that ``q + 0`` is refused as ``q + 1`` is. Angles may stand where numbers may. Temperatures in ``degC`` and
    ``degF`` are points on a scale: they have differences (``delta_degC``) and means, but no sums and no products.
    Gradients are in the quotient of the units.

    There is no dense form, which would lose the unit: `magnitude` gives the numbers, ``to(unit).magnitude`` those in a
    unit of your choice. A plain number, an angle included, has one.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> way, time = dk.types.QuantityTensor([3.0, 5.0], "km"), dk.types.QuantityTensor(2.0, "h")
    >>> way / time, (way / time).to("m/s")
    (QuantityTensor([1.5000, 2.5000], 'km/h'), QuantityTensor([0.4167, 0.6944], 'm/s'))
    >>> way + time
    Traceback (most recent call last):
        ...
    dispatchkit.errors.UnitError: add: 'h' and 'km' measure different things
    >>> dk.func.grad(lambda t: (way / t).sum())(time)
    QuantityTensor(-2., 'km/h**2')
    """

    unit: Unit

    def __init__(self, data: Any, unit: Any = None) -> None:
        data = as_array(data)
        if isinstance(data, QuantityTensor):
            if unit is None:
                data, unit = data.data, data.unit
            else:
                data = _without_unit(data, Unit(unit))
        elif unit is None:
            unit = ONE
        self.data, self.unit = data, Unit(unit)

    @classmethod
    def from_pint(cls, data: Any) -> Any:
        """Return a quantity of Pint; masked and uncertain numbers in it, and a `Measurement`, stay what they are.

        Parameters
        ----------
        data : a quantity, or a list of them

        Raises
        ------
        TypeError : for anything else
        UnitError : for a unit that is not known here, such as a logarithmic one
        """
        return with_level(cls, read_object("pint", data, "QuantityTensor.from_pint", "a Quantity of Pint"))

    @classmethod
    def from_astropy(cls, data: Any) -> Any:
        """Return a quantity of astropy; the mask of a `Masked` one, and what `NDData` has besides, are kept.

        Parameters
        ----------
        data : a `Quantity`, `Masked`, column or `NDData`, or a list of quantities

        Raises
        ------
        TypeError : for anything else
        UnitError : for a unit that is not known here, such as a magnitude of stars
        """
        return with_level(cls, read_object("astropy", data, "QuantityTensor.from_astropy", OF_ASTROPY_MEANT))

    @classmethod
    def from_pandas(cls, data: Any, unit: Any = None) -> Any:
        """Return data of pandas in the unit that ``attrs["units"]`` says, with what is missing in them.

        Parameters
        ----------
        data : a Series, DataFrame, Index or array of numbers, or of numbers of the library uncertainties
        unit : of data that have none

        Raises
        ------
        TypeError : for anything else
        UnitError : if there is a unit, and another one is given
        """
        return cls(read_pandas(data, "QuantityTensor.from_pandas"), unit)

    @property
    def magnitude(self) -> Any:
        """The numbers, without the unit."""
        return self.data

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the quantity in another unit; with a dtype or a device, as `Tensor.to` does.

        Parameters
        ----------
        *args, **kwargs : a unit, or its text; or what `Tensor.to` takes

        Raises
        ------
        UnitError : if it does not convert
        """
        if args and not kwargs and is_unit(args[0]):
            unit = Unit(args[0])
            return QuantityTensor(_by_step(self, _conversion("to", self.unit, unit)), unit)
        return super().to(*args, **kwargs)

    def to_dense(self) -> Any:
        """Return a plain array of the numbers of what has no dimension.

        Raises
        ------
        UnitError : if it has one
        """
        if self.unit.dimension:
            raise UnitError(
                f"a plain array of a QuantityTensor in '{self.unit}' would lose the unit; take .magnitude, or "
                f".to(unit).magnitude"
            )
        return dense_form(_by_step(self, _conversion("to_dense", self.unit, ONE)))

    def item(self) -> Any:
        """Return the one element of what has no dimension as a Python number."""
        return self.to_dense().item()

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside: what has a unit in the unit of this quantity.

        Parameters
        ----------
        value : what a rule takes together with this quantity
        """
        if isinstance(value, QuantityTensor):
            return value.to(self.unit.delta).data
        return value

    @staticmethod
    def derivative(array: Any, output: QuantityTensor | None, argument: QuantityTensor | None) -> Any:
        """Return derivatives in the unit of the output by that of the argument; plain numbers where neither has one.

        Parameters
        ----------
        array : the numbers
        output, argument : quantities, None for plain numbers
        """
        unit = ONE
        if output is not None:
            unit = output.unit.delta
        if argument is not None:
            unit /= argument.unit.delta
        if argument is None and unit == ONE:
            return array
        return QuantityTensor(array, unit)

    @property
    def grad(self) -> Any:
        """The gradient that backward passes have accumulated, in the unit of the loss by that of this quantity."""
        gradient = self.data.grad
        if gradient is None:
            return None
        note = notes.get(id(self.data))
        return QuantityTensor(gradient, unit_of_gradient(self.unit, [note.unit if note else None]))

    @grad.setter
    def grad(self, value: Any) -> None:
        if isinstance(value, QuantityTensor):
            self.data.grad = value.data
        else:
            self.data.grad = value

    def backward(self, gradient: Any = None, **kwargs: Any) -> None:
        """Compute gradients; those of quantities that it was computed from are in the quotient of the units.

        Parameters
        ----------
        gradient, **kwargs : as of `Tensor.backward`

        Raises
        ------
        UnitError : if gradients of a loss in another unit were accumulated before
        """
        outer = loss_unit.get()
        try:
            loss_unit.set(self.unit)
            self.data.backward(gradient, **kwargs)
        finally:
            loss_unit.set(outer)

    def filled(self, value: Any) -> Any:
        """Return the quantity with a value in the places of missing elements; itself if there are none.

        Parameters
        ----------
        value : a quantity that converts, or a plain 0, NaN or infinity

        Raises
        ------
        UnitError : for another number without a unit, or one in another unit
        """
        return super().filled(_number_in("filled", "value", value, self.unit))

    def __index__(self) -> int:
        """Return the one element of whole numbers without a unit.

        Raises
        ------
        TypeError : for what has a unit, such as a factor of a list
        """
        if self.unit.parts:
            raise TypeError(
                f"a QuantityTensor in '{self.unit}' is no whole number; where it is to be multiplied with a list, make "
                f"that an array: dk.asarray(values) * x"
            )
        return operator.index(self.data)

    def _parts(self, inner: Parts) -> Parts:
        return inner.with_parts(unit=self.unit)

    def _drawn(self, inner: Drawn) -> Drawn:
        return replace(inner, unit=self.unit, convert=_drawn_in)

    def _written(self, inner: Written) -> Written:
        return inner.around(notes=(repr(str(self.unit)),), after=(self.unit,))


def _drawn_in(shown: Drawn, unit: Unit) -> Drawn:
    """Return what is drawn in another unit."""
    numbers = QuantityTensor(shown.numbers, shown.unit).to(unit).data.numpy()
    std = shown.std
    if std is not None:
        std = QuantityTensor(std, shown.unit.delta).to(unit.delta).data.numpy()
    return replace(shown, numbers=numbers, std=std, unit=unit)


def times_unit(value: Any, unit: Unit) -> Any:
    """Return numbers, or a quantity inside of any wrappers, times a unit.

    Parameters
    ----------
    value : array, or what `asarray` makes one of
    unit : the unit
    """
    if isinstance(value, QuantityTensor):
        return QuantityTensor(value.data, value.unit * unit)
    if isinstance(value, Wrapper) and tensor_protocol.types.priority(type(value)) > level("unit"):
        return value.with_data(times_unit(value.data, unit))
    return QuantityTensor(value, unit)


Unit.quantity = staticmethod(times_unit)


def _without_unit(x: QuantityTensor, unit: Unit) -> Any:
    """Return the numbers of a quantity that is to get a unit: one in '' is a plain number, as its quotients are.

    Raises
    ------
    UnitError : if it has a unit already
    """
    if not x.unit.parts:
        return x.data
    advice = f"write x.to({str(unit)!r})"
    if x.unit.dimension != unit.dimension:
        advice = f"write x * Unit({str(unit)!r}) for the product, or give x.magnitude"
    raise UnitError(f"QuantityTensor: the array is in '{x.unit}' already; {advice}")


SIMPLE, NUMBERS = frozenset((QuantityTensor, Tensor, int, float)), (int, float)
new: Callable[[Any], Any] = object.__new__


@tensor_protocol.implements(kinds.all, QuantityTensor)
def compute_on_quantities(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Convert the arguments as the law of the operation says, compute on the numbers, and give results their unit."""
    if op in MOVING and args and type(x := args[0]) is QuantityTensor:
        numbers = x.data
        if type(numbers) is not Tensor or numbers._node is not None:
            watch(numbers)
        if kwargs or len(args) > 2:
            moved = op(numbers, *args[1:], **kwargs)
        elif len(args) == 2:
            moved = op(numbers, args[1])
        else:
            moved = op(numbers)
        if type(moved) is not Tensor:
            return with_units(moved, x.unit)
        quantity = new(QuantityTensor)
        quantity.data, quantity.unit = moved, x.unit
        return quantity
    # What most calls give: arrays and numbers by position, whose plan depends on the units alone.
    if not kwargs and all(type(value) in SIMPLE for value in args):
        key = (op, *[id(value.unit) if type(value) is QuantityTensor else None for value in args])
        plan = _plans.get(key)
        if type(plan) is dict:
            plan = plan.get(args[-1]) if type(args[-1]) in NUMBERS else None
        if plan is not None:
            steps, unit = plan
            result = op(*[_by_step(value, step) for value, step in zip(args, steps, strict=True)])
            if unit is None:
                return result
            return with_units(result, unit)
    return _compute_by_units(op, args, kwargs)


def _compute_by_units(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call of which no plan is kept."""
    law = law_of(op)
    if law is None:
        return decline(f"there is no law of units for {op.__name__}")
    named = arguments(op, args, kwargs)
    # A function of NumPy takes plain 0, NaN and infinities to be in the unit of what they go together with.
    adopting = law in IN_ONE_UNIT and tensor_protocol.composing.get()
    adopted = ONE
    if adopting:
        adopted = next((value.unit for _, value in named if isinstance(value, QuantityTensor)), ONE)
    units: dict[str, list[Unit]] = {}
    for name, value in named:
        if value is not None:
            units.setdefault(name, []).append(_unit_of(value, adopted))
    try:
        return _compute_by_law(op, law, units, adopted, args, kwargs)
    except UnitError as error:
        if meets_another_type(op, args, kwargs):
            return decline(str(error))
        if op is ops.add and type(args[0]) is int and args[0] == 0:
            raise UnitError(f"{error}; {START_OF_SUM}") from None
        raise


def _compute_by_law(op: Any, law: Law, units: Any, adopted: Unit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call whose law is known, and remember what was done where the units alone decide it."""
    targets, unit = law(QuantityCall(op, units, args, kwargs))
    assigning = op.__name__ in ASSIGNING
    steps: list[Any] = []

    def numbers(name: str, value: Any) -> Any:
        target = targets.get(name, ONE)
        if type(target) is int:
            steps.append(Rescaling(float(target)))
        else:
            kept = value is None or target is KEPT
            # What is to be a plain number, such as a share, is one.
            unit_here = _unit_of(value, ONE if target is ONE else adopted)
            step = None
            if not kept:
                step = _conversion(op.__name__, unit_here, target)
            steps.append(step)
        if assigning and name == "value" and isinstance(value, QuantityTensor) and hasattr(args[0], "dtype"):
            return _assignable(op.__name__, value, target, args[0].dtype, steps[-1])
        return _by_step(value, steps[-1])

    opened, options = tensor_protocol.map_arguments(op, args, kwargs, numbers)
    for name in targets.keys() - units.keys() & options.keys():
        options[name] = _number_in(op.__name__, name, options[name], targets[name])
        if name == "constant_values":
            _check_whole(op.__name__, name, options[name], args[0])
    result = op(*opened, **options)
    if op is ops.setitem and type(args[0]) is type(args[2]) is QuantityTensor:
        assigned[id(args[0].unit), id(args[2].unit)] = steps[-1]
    if not assigning and not kwargs and adopted is ONE and len(steps) == len(args):
        _remember(op, law, args, (tuple(steps), unit))
    return with_units(result, unit)


def _remember(op: Any, law: Law, args: tuple[Any, ...], plan: tuple[tuple[Any, ...], Any]) -> None:
    """Keep the plan of a call of arrays and numbers, which the units decide alone, or with the last argument."""
    if not all(type(value) in SIMPLE for value in args):
        return
    key = (op, *[id(value.unit) if type(value) is QuantityTensor else None for value in args])
    if law not in BY_ARGUMENTS:
        _plans[key] = plan
    elif law in BY_LAST_NUMBER and type(args[-1]) in NUMBERS:
        plans = _plans.setdefault(key, {})
        if len(plans) == MOST_NUMBERS:
            plans.clear()
        plans[args[-1]] = plan


def _number_in(name: str, parameter: str, value: Any, target: Unit) -> Any:
    """Return the numbers of a parameter that takes no arrays; a plain 0, NaN or infinity is in every unit of vectors.

    Parameters
    ----------
    name, parameter : of the operation, for messages
    value : numbers and quantities, in lists and mappings, or None
    target : unit of the result

    Raises
    ------
    UnitError : if a number has no unit, or another one, naming the parameter
    """

    def number(part: Any) -> Any:
        if part is None or not isinstance(part, (QuantityTensor, Tensor, np.ndarray, np.generic, int, float, complex)):
            return part
        if isinstance(part, QuantityTensor):
            return part.to(target).magnitude.tolist()
        plain = ops.asarray(part)
        everywhere = not target.origin and bool(ops.all((plain == 0) | ~ops.isfinite(plain)))
        if everywhere or (ONE.dimension == target.dimension and ONE.conversion(target) == UNCHANGED):
            return part
        raise UnitError(f"a plain number is not in '{target}'")

    try:
        return map_leaves(container_items, number, value)
    except UnitError as error:
        raise UnitError(
            f"{name}: {parameter}: {str(error).removeprefix('to: ')}; give {parameter}=QuantityTensor(number, "
            f"'{target}')"
        ) from None


def _check_whole(name: str, parameter: str, value: Any, x: Any) -> None:
    """Raise where an array of whole numbers is to hold a number of a parameter that is none."""
    numbers = (part for part in leaves(container_items, value) if isinstance(part, float))
    if x.dtype.kind in "biu" and any(number != math.trunc(number) for number in numbers):
        raise UnitError(
            f"{name}: an array of {x.dtype} in '{x.unit}' cannot hold {parameter} exactly; make it one of "
            f"floating-point numbers first, x = x.astype('float64')"
        )


def _unit_of(value: Any, adopted: Unit) -> Unit:
    """Return the unit of an argument; a zero has none among points on a scale, whose zero is a choice."""
    if isinstance(value, QuantityTensor):
        return value.unit
    if adopted is ONE or type(value) not in (int, float):
        return ONE
    if not math.isfinite(value) or (value == 0 and not adopted.origin):
        return adopted
    return ONE


# Of calls whose arguments are arrays and numbers alone: how each is converted, and the unit of the result; by the last
# number where that decides, too, such as an exponent, of which so many are kept.
_plans: dict[Any, Any] = {}
MOST_NUMBERS = 100
# By the units of an array and of a quantity that is written into it: how that is converted, None where it is as it is.
assigned: dict[tuple[int, int], Rescaling | None] = {}


def _conversion(name: str, unit: Unit, target: Unit) -> Rescaling | None:
    """Return how numbers in a unit become numbers in another, None where they are.

    Raises
    ------
    UnitError : if they do not convert, naming the operation
    """
    if unit is target:
        return None
    try:
        conversion = unit.conversion(target)
    except UnitError as error:
        raise UnitError(f"{name}: {error}") from None
    if conversion == UNCHANGED:
        return None
    return conversion


def _by_step(value: Any, step: Rescaling | None) -> Any:
    """Return the numbers of an argument, converted."""
    if isinstance(value, QuantityTensor):
        value = numbers_of(value)
    if step is None:
        return value
    return convert_numbers(value, step)


def numbers_of(value: QuantityTensor) -> Any:
    """Return the numbers of a quantity, whose gradients are watched where they have any."""
    numbers = value.data
    if type(numbers) is not Tensor or numbers._node is not None:
        watch(numbers)
    return numbers


def _assignable(name: str, value: QuantityTensor, target: Unit, dtype: Any, step: Rescaling | None) -> Any:
    """Return the numbers of a value in the unit of what it is assigned to, where its dtype holds each as it is.

    Raises
    ------
    UnitError : if whole numbers are to hold a fraction, or what is beyond their range
    """
    kind = np.dtype(dtype).kind
    if step is not None and kind in "fc" and np.can_cast(value.dtype, dtype):
        # Converted among the numbers that it becomes: the narrower ones may not hold it in the other unit.
        return _by_step(ops.astype(value, dtype), step)
    number = _by_step(value, step)
    if step is None and (target is ONE or np.can_cast(number.dtype, dtype)):  # plain numbers as in plain arrays
        return number
    if kind not in "biu" or number.dtype.kind == "c":
        return number
    if kind == "b":
        lowest, highest = 0, 1
    else:
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    if value.dtype.kind in "biu":  # by whole numbers, which are exact beyond 2**53, too
        number, fits = _whole(value, target, lowest, highest)
    else:
        number, fits = _fitting(number, lowest, highest)
    if not ops.all(fits):
        raise UnitError(
            f"{name}: an array of {dtype} in '{target}' cannot hold the value in '{value.unit}' exactly; make it one "
            f"of floating-point numbers first, x = x.astype('float64'), or round the value, "
            f"dk.round(value.to({str(target)!r}))"
        )
    return ops.astype(number, dtype)


def _fitting(number: Any, lowest: int, highest: int) -> tuple[Any, Any]:
    """Return floating-point numbers, and which of them are whole and within a range."""
    return number, (number >= float(lowest)) & (number < float(highest + 1)) & (number == ops.trunc(number))


def _whole(value: QuantityTensor, target: Unit, lowest: int, highest: int) -> tuple[Any, Any]:
    """Return whole numbers in another unit, and which of them are exact and within a range."""
    if value.dtype == np.uint64:
        numbers = value.data
    else:
        numbers = ops.astype(value.data, np.int64)
    limits = np.iinfo(numbers.dtype)
    ratio = value.unit.ratio(target)
    factor, divisor = (ratio.numerator, ratio.denominator) if ratio is not None else (math.inf, 1)
    if max(factor, divisor) > limits.max:
        return _fitting(_by_step(value, _conversion("to", value.unit, target)), lowest, highest)
    least, most = max(-(-lowest // factor), limits.min), min(highest // factor, limits.max)
    number = numbers // divisor
    fits = (numbers % divisor == 0) & (number >= least) & (number <= most)
    return ops.where(fits, number, ops.zeros_like(number)) * factor, fits


def with_units(result: Any, unit: Any) -> Any:
    """Return the results of a call in their units: one, one for each, or one in parts of which they are counted."""
    if type(result) is Tensor and type(unit) is Unit:
        quantity = new(QuantityTensor)
        quantity.data, quantity.unit = result, unit
        return quantity
    if unit is None:
        return result
    if isinstance(unit, tuple):  # counted in parts
        return map_results(result, lambda array: QuantityTensor(array / unit[1], unit[0]))
    if isinstance(unit, list):
        units = iter(unit)
        return map_results(
            result, lambda array: array if (part_unit := next(units)) is None else QuantityTensor(array, part_unit)
        )
    return map_results(result, lambda array: QuantityTensor(array, unit))
