"""UncertainTensor against uncertainties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from dispatchkit.types import UncertainTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["UncertainUncertainties"]

BINARY = ("+", "-", "*", "/", "**", "//", "%")
COMPARISONS = ("<", "<=", ">", ">=")
OTHERS = (
    *("-x", "+x", "abs(x)", "x - x", "x * x", "x / x", "x + plain", "plain * x", "x ** 2", "2 ** x", "x * 3", "3 - x"),
    *("np.sum(x)", "np.sum(x, axis={axis})", "x.sum()", "np.mean(x)", "x.mean()", "np.prod(x)", "np.cumsum(v)"),
    *("np.cumsum(x, axis={axis})", "np.dot(v, w)", "v @ w", "a @ b", "np.diff(v)", "np.max(v)", "np.min(v)"),
    *("x[{slice}]", "np.reshape(x, -1)", "np.concatenate([v, w])", "np.stack([x, u])", "x.T", "np.trace(a)"),
    *("np.where(condition, x, u)", "np.outer(v, w)", "np.linalg.inv(a + 4 * np.eye(a.shape[-1]))", "np.square(x)"),
    *(
        "x += y; result = x",
        "x *= 2; result = x",
        "np.mean(x, axis={axis})",
        "np.var(v)",
        "np.sort(v)",
        "make([s, 1.5])",
    ),
    *(
        "make([s, s])",
        "x * y + x",
        "np.exp(x) - np.exp(x)",
        "x + x * 2",
        "np.average(v)",
        "np.ptp(v)",
        "s",
        "make([v, w])",
    ),
)
FUNCTIONS = (
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "cos", "cosh", "degrees", "exp", "expm1"),
    *("fabs", "floor", "isinf", "isnan", "log", "log10", "log1p", "radians", "sin", "sinh", "sqrt", "tan", "tanh"),
    *("trunc",),
)
TWO = ("arctan2", "hypot", "copysign", "fmod")


class UncertainUncertainties(Pair):
    """Standard deviations: to first order in both, with the correlations kept."""

    name: ClassVar[str] = "uncertain-uncertainties"
    ours: ClassVar[str] = "UncertainTensor"
    specialist: ClassVar[str] = "uncertainties"
    needs: ClassVar[tuple[str, ...]] = ("uncertainties",)
    dtypes: ClassVar[Sequence[str]] = ("float64", "float64", "float64", "int64", "float32", "uint8", "float16")

    def lines(self) -> Sequence[str]:
        """Return the lines of operators, of the functions of `uncertainties.unumpy`, and of sums and moves."""
        operators = [f"x {op} y" for op in (*BINARY, *COMPARISONS)]
        functions = [f"np.{name}(x)" for name in FUNCTIONS] + [f"np.{name}(x, y)" for name in TWO]
        return (*operators, *functions, *OTHERS)

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return standard deviations, some of which are 0."""
        sizes = (0.0, 0.125, 0.25, 0.5, 1.0)
        return np.asarray([draw.pick(sizes) for _ in range(data.size)]).reshape(data.shape)

    def make_ours(self, operand: Operand) -> Any:
        """Return an UncertainTensor."""
        return UncertainTensor(operand.data.copy(), operand.extra)

    def make_theirs(self, operand: Operand) -> Any:
        """Return an array of objects."""
        from uncertainties import ufloat

        data, result = operand.data.astype(np.float64), np.empty(operand.data.shape, object)
        for place in np.ndindex(data.shape):
            result[place] = ufloat(data[place], operand.extra[place])
        return result

    def numbers_of(self, operand: Operand) -> np.ndarray[Any, Any]:
        """Return an array of floating-point numbers, as all values that have a deviation are."""
        if operand.data.dtype.kind in "iu":
            return operand.data.astype(np.float64)
        return operand.data.copy()

    def names_of_ours(self) -> dict[str, Any]:
        """Return NumPy, and what makes an array of others."""
        return {"np": np, "make": UncertainTensor}

    def names_of_theirs(self) -> dict[str, Any]:
        """Return `unumpy` in the place of NumPy where it has a function of the name."""
        return {"np": _Both(), "make": _array_of_objects}

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the numbers and their standard deviations."""
        if isinstance(result, UncertainTensor):
            value = np.asarray(result.value)
            return {"value": value, "std": np.asarray(result.std).astype(value.dtype)}  # as precise as that
        value = np.asarray(result)
        return {"value": value, "std": np.zeros(value.shape)}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of an array of objects, or of one of them."""
        from uncertainties import nominal_value, std_dev

        array = np.asarray(result)
        if array.dtype != object:
            return {"value": array, "std": np.zeros(array.shape)}
        if all(isinstance(element, (bool, np.bool_)) for element in array.flat):
            return {"value": array.astype(bool), "std": np.zeros(array.shape)}
        elements = [_element(element) for element in array.flat]
        value = np.reshape([float(nominal_value(element)) for element in elements], array.shape)
        return {"value": value, "std": np.reshape([float(std_dev(element)) for element in elements], array.shape)}


def _element(element: Any) -> Any:
    """Return what arrays of no axes hold that objects of arrays may be."""
    return element.item() if isinstance(element, np.ndarray) else element


def _array_of_objects(members: Any) -> Any:
    arrays = [np.asarray(member, object) for member in members]
    return np.stack(arrays)


class _Both:
    """NumPy's names, as `uncertainties.unumpy` has them where it does."""

    def __getattr__(self, name: str) -> Any:
        from uncertainties import unumpy

        return getattr(unumpy, name) if hasattr(unumpy, name) else getattr(np, name)
