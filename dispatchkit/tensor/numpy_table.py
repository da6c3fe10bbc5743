"""The one table of what answers NumPy's overridable functions on tensors and array types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.tensor import numpy_calculus, numpy_numbers, numpy_parameters  # noqa: F401  # enter their compositions
from dispatchkit.tensor.numpy_shapes import compositions, extensions
from dispatchkit.tensor.numpy_universal import universal

__all__ = ["Answer", "answer_of", "operation_of_universal", "path_of"]

# NumPy's names where the array API's, and so the operations', are others.
NAMES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arctan2": "atan2",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "around": "round",
    "bitwise_not": "bitwise_invert",
    "concatenate": "concat",
    "conjugate": "conj",
    "copy": "clone",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "psi": "digamma",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}
ATTRIBUTES = frozenset({"ndim", "shape", "size"})
# They change their first argument.
WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
# By the reason why NumPy computes them, on arrays: functions, and all of a module.
ARRAYS: dict[str, tuple[str, ...]] = {
    "gives text": ("array2string", "array_repr", "array_str", "datetime_as_string", "einsum_path"),
    "writes a file": ("save", "savetxt", "savez", "savez_compressed"),
    "asks whether arrays share memory": ("may_share_memory", "shares_memory"),
    "counts": ("bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
    "calls a function of arrays": ("apply_along_axis", "apply_over_axes", "piecewise"),
    "gives places or bits": ("ix_", "packbits", "ravel_multi_index", "unpackbits", "unravel_index"),
    "has no operation of its meaning": (
        *("geomspace", "i0", "logspace", "poly", "polydiv", "polyfit", "polyint", "roots"),
        *("sort_complex", "trim_zeros", "polynomial.polynomial"),
    ),
    "gives complex numbers where real ones have no answer": ("lib.scimath",),
}
DATES = "it works on dates, and tensors hold numbers"
TEXT = "it works on text, and tensors hold numbers"
# By the reason why they are refused: functions, and all of a module.
DECLINED: dict[str, tuple[str, ...]] = {
    DATES: ("busday_count", "busday_offset", "is_busday"),
    TEXT: ("char", "strings"),
    "it works on structured arrays, and tensors hold numbers": ("lib.recfunctions",),
}
# What NumPy makes of files, text and functions: with `like` of a tensor, it becomes one.
MADE = ("frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "genfromtxt", "loadtxt")
UNIVERSAL_ARRAYS: dict[str, tuple[str, ...]] = {
    "works on the bits of a number": ("bitwise_count", "frexp", "spacing"),
    "has no operation of its meaning": ("gcd", "lcm"),
}
UNIVERSAL_DECLINED: dict[str, tuple[str, ...]] = {
    DATES: ("isnat",),
    TEXT: (
        *("count", "endswith", "find", "index", "isalnum", "isalpha", "isdecimal", "isdigit", "islower", "isnumeric"),
        *("isspace", "istitle", "isupper", "rfind", "rindex", "startswith", "str_len"),
    ),
    "it is a part of NumPy's own code": ("_ones_like",),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What answers a function of NumPy.

    Attributes
    ----------
    how : ``"operation"``; ``"composition"`` of operations; ``"attribute"`` of the array; ``"array"``, which NumPy
        computes on arrays; ``"declined"``
    text : name of what answers, or why nothing but NumPy does
    operation : that answers
    composition : function with NumPy's parameters, of an operation for the calls that it does not take
    """

    how: Literal["operation", "composition", "attribute", "array", "declined"]
    text: str
    operation: Overridable | None = None
    composition: Callable[..., Any] | None = None


def path_of(func: Callable[..., Any]) -> str | None:
    """Return the path of a function in NumPy, such as ``"linalg.inv"``; None for other libraries' functions."""
    library, _, module = (getattr(func, "__module__", "") or "").partition(".")
    name = getattr(func, "__name__", "")
    if library != "numpy" or not name:
        return None
    # NumPy 2.0 names some by the file that defines them, such as `lib._scimath_impl`.
    module = module.removesuffix("_impl").replace("._", ".")
    return f"{module}.{name}" if module else name


@functools.cache
def answer_of(func: Any) -> Answer | None:
    """Return what answers a function of NumPy, or a universal function; None where nothing is said of it."""
    if isinstance(func, np.ufunc):
        return _answer_of_universal(func.__name__)
    path = path_of(func)
    if path is None:
        return None
    if path in ATTRIBUTES:
        return Answer("attribute", path)
    if path in WRITERS:
        return Answer("declined", "it changes an array in place; write x[...] = values, which gradients see")
    for how, reasons in (("array", ARRAYS), ("declined", DECLINED)):
        for reason, paths in reasons.items():
            if path in paths or path.rpartition(".")[0] in paths:
                return Answer(how, reason)  # type: ignore[arg-type]  # one of the two
    if path in MADE:
        return Answer("composition", "asarray", composition=_made_by(func))
    if path in compositions:
        return Answer("composition", "operations", composition=compositions[path])
    operation = _operation(path)
    return None if operation is None else Answer("operation", operation.qualified_name, operation, extensions.get(path))


def _made_by(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def made(*args: Any, **kwargs: Any) -> Any:
        return tensor_namespace.asarray(func(*args, **kwargs))

    return made


def _operation(path: str) -> Overridable | None:
    """Return the operation of a path in NumPy."""
    place: Any = tensor_namespace
    *outer, name = path.split(".")
    for part in outer:
        place = getattr(place, part, None)
    return of(getattr(place, NAMES.get(name, name), None))


def _answer_of_universal(name: str) -> Answer | None:
    function = operation_of_universal(name)
    if function is not None:
        operation = of(function)
        assert operation is not None
        return Answer("operation", operation.qualified_name, operation)
    if name in universal:
        return Answer("composition", "operations", composition=universal[name])
    if name.startswith("_") and name not in UNIVERSAL_DECLINED["it is a part of NumPy's own code"]:
        return Answer("declined", TEXT)
    for how, reasons in (("array", UNIVERSAL_ARRAYS), ("declined", UNIVERSAL_DECLINED)):
        for reason, names in reasons.items():
            if name in names:
                return Answer(how, reason)  # type: ignore[arg-type]  # one of the two
    return None


@functools.cache
def operation_of_universal(name: str) -> Callable[..., Any] | None:
    """Return the operation that is the universal function of a name, None where there is none."""
    named = NAMES.get(name, name)
    for place in (tensor_namespace, getattr(tensor_namespace, "special", None)):
        function: Callable[..., Any] | None = getattr(place, named, None)
        if of(function) is not None:
            return function
    return None
