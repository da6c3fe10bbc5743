"""MaskedTensor against pandas' nullable arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk
from dispatchkit.types import MaskedTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["MaskedPandas"]

BINARY = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^")
UNARY = (
    *("abs", "exp", "log", "sqrt", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc"),
    *("rint", "sign", "square", "negative", "isnan", "isfinite", "log1p", "expm1", "log10", "log2", "cbrt"),
)


class MaskedPandas(Pair):
    """Masks: vectors of integers, floating-point numbers and booleans, in which pandas has ``NA``."""

    name: ClassVar[str] = "masked-pandas"
    ours: ClassVar[str] = "MaskedTensor"
    specialist: ClassVar[str] = "pandas' nullable arrays"
    needs: ClassVar[tuple[str, ...]] = ("pandas",)
    dtypes: ClassVar[Sequence[str]] = ("float64", "float64", "float32", "int64", "int32", "uint8", "int8", "bool")

    def lines(self) -> Sequence[str]:
        """Return the lines of what an array of pandas answers itself."""
        binary = [f"v {op} w" for op in BINARY] + [f"v {op} 2" for op in BINARY[:13]]
        reflected = [f"2 {op} v" for op in BINARY[:6]]
        functions = [f"np.{name}(v)" for name in UNARY]
        two = [f"np.{name}(v, w)" for name in ("add", "multiply", "maximum", "minimum", "hypot", "arctan2", "fmod")]
        methods = ["v.sum()", "v.prod()", "v.mean()", "v.min()", "v.max()", "v.std(ddof=1)", "v.var(ddof=1)"]
        moves = ["v[0]", "v[::2]", "v[[0]]", "v[::-1]", "v.copy()", "v[spots]", "v.astype(np.float64)"]
        writes = ["v[0] = w[0]; result = v", "v += w; result = v", "v[:] = w; result = v", "v[0] = 1; result = v"]
        made = ["make(v)", "make([v[0], w[0]])"]
        return (*binary, *reflected, *functions, *two, *methods, *moves, *writes, *made)

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return which elements are there."""
        return np.asarray([draw.chance(0.7) for _ in range(data.size)], bool).reshape(data.shape)

    def make_ours(self, operand: Operand) -> Any:
        """Return a MaskedTensor of copies."""
        return MaskedTensor(operand.data.copy(), operand.extra.copy())

    def make_theirs(self, operand: Operand) -> Any:
        """Return an array of pandas."""
        import pandas as pd

        kind = {"f": pd.arrays.FloatingArray, "b": pd.arrays.BooleanArray}.get(
            operand.data.dtype.kind, pd.arrays.IntegerArray
        )
        return kind(operand.data.copy(), ~operand.extra)

    def names_of_ours(self) -> dict[str, Any]:
        """Return NumPy, and what makes an array of others."""
        return {"np": np, "make": MaskedTensor}

    def names_of_theirs(self) -> dict[str, Any]:
        """Return NumPy, and pandas' `array`."""
        import pandas as pd

        return {"np": np, "make": pd.array}

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements that are there, 0 in the place of the others, and which they are."""
        if isinstance(result, MaskedTensor):
            value = np.asarray(dk.asarray(result.filled(0)))
            return {"value": value, "valid": np.broadcast_to(np.asarray(result.valid), value.shape)}
        value = np.asarray(result)
        return {"value": value, "valid": np.ones(value.shape, bool)}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of an array of pandas, or of one of its elements."""
        import pandas as pd

        if result is pd.NA:
            return {"value": np.zeros(()), "valid": np.asarray(False)}
        if isinstance(result, pd.api.extensions.ExtensionArray):
            valid = ~np.asarray(result.isna())
            dtype = result.dtype.numpy_dtype
            return {"value": result.to_numpy(dtype, na_value=dtype.type(0)), "valid": valid}
        value = np.asarray(result)
        return {"value": value, "valid": np.ones(value.shape, bool)}
