"""Rules of structures whose numbers are one array, written out for each: plain arrays are computed on at once.

Of a few hundred elements a product takes less time than the calls that lead to it: the rule of all structures, the
method of one, what takes the array out of a tensor and what wraps the result. Here all of these are one function,
compiled at its first call from a text that a structure fills in. What is no plain array, or does not fit, goes to the
rule of all structures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatchkit import linalg, ops
from dispatchkit.declare.compiled.template import compiled_later, fill_template
from dispatchkit.tensor import Tensor
from dispatchkit.types.rules import enter

__all__ = ["FIXED_PRODUCT", "PAIRS", "implement_pair_on_arrays", "implement_products_on_arrays"]

PRODUCT = """
def call(x1, x2, /):
    <order> = x1, x2
    _held = m.<field>
    if type(_other) is _Tensor is type(_held) and _other._node is None is _held._node and type(m) is _cls:
        a, x = _held.array, _other.array
        if type(x) is _array is type(a) and <fits>:
            _result = <computed>
            if _result is not None:
                _wrapped = _new(_Tensor)
                _wrapped.array = _result
                _wrapped._node = None
                _wrapped._memory = None
                return _wrapped
    return _otherwise(x1, x2)
"""
# Of a structure whose numbers nobody can change, of which is known what would be asked.
FIXED_PRODUCT = """
def call(x1, x2, /):
    <order> = x1, x2
    _held, _shape, _dtype, ahead, back = m._fixed
    if type(_other) is _Tensor and _other._node is None and _held is m.<field>:
        x = _other.array
        if type(x) is _array and x.dtype is _dtype and x.shape == _shape and <fits>:
            _wrapped = _new(_Tensor)
            _wrapped.array = <computed>
            _wrapped._node = None
            _wrapped._memory = None
            return _wrapped
    return _otherwise(x1, x2)
"""
PAIR = """
def call(x1, x2, /):
    _one, _two = x1.<field>, x2.<field>
    if type(_one) is _Tensor is type(_two) and _one._node is None is _two._node and type(x1) is _cls is type(x2):
        a, b = _one.array, _two.array
        if type(a) is _array is type(b) and a.dtype is _double is b.dtype and a.shape == b.shape:
            _wrapped = _new(_Tensor)
            _wrapped.array = _function(a, b)
            _wrapped._node = None
            _wrapped._memory = None
            _matrix = _new(_cls)
            _matrix.<field> = _wrapped
            return _matrix
    return _otherwise(x1, x2)
"""
NAMES: Mapping[str, Any] = {
    "_Tensor": Tensor,
    "_array": np.ndarray,
    "_double": np.dtype(np.float64),
    "_new": object.__new__,
}
# Of numbers in double precision these are NumPy's own functions, and say nothing by errors.
PAIRS: Mapping[Any, np.ufunc] = {ops.add: np.add, ops.subtract: np.subtract, ops.multiply: np.multiply}


def implement_products_on_arrays(
    cls: type,
    field: str,
    rules: Mapping[str, Callable[..., Any]],
    ways: Mapping[str, tuple[str, str]],
    *,
    template: str = PRODUCT,
    **names: Any,
) -> None:
    """Register the products of a structure with tensors, and its systems, for plain arrays of NumPy.

    The texts are expressions of ``m``, the matrix, ``a``, the array of its field, and ``x``, that of the tensor; in
    `FIXED_PRODUCT` of ``x``, ``ahead`` and ``back``, where ``m._fixed`` says of what shape and dtype x has to be.

    Parameters
    ----------
    cls : the structure, for which alone this is: classes that are derived from it may compute in another way
    field : its field, a tensor
    rules : the rules of all structures for "times", "from_left" and "solve"
    ways : for each of these the condition that the arrays have to meet, in which nothing is computed, and the result, a
        new array, or None where the rule of all structures is to answer
    template : `PRODUCT` or `FIXED_PRODUCT`
    **names : in the texts
    """
    for way, (fits, computed) in ways.items():
        operation: Any = ops.matmul
        order = "m, _other"
        types: tuple[type, ...] = (cls, Tensor)
        if way == "from_left":
            order, types = "_other, m", (Tensor, cls)
        if way == "solve":
            operation = linalg.solve
        lines = fill_template(template, field=field, fits=fits, computed=computed, order=order)
        _register(operation, types, lines, {**NAMES, **names, "_cls": cls, "_otherwise": rules[way]})


def implement_pair_on_arrays(operation: Any, cls: type, field: str, rule: Callable[..., Any]) -> None:
    """Register an operation of `PAIRS` on two matrices of a structure whose only field is a tensor.

    Parameters
    ----------
    operation : sum, difference or product by elements
    cls : the structure
    field : its field
    rule : that answers where these are no plain arrays of one shape
    """
    names = {**NAMES, "_function": PAIRS[operation], "_cls": cls, "_otherwise": rule}
    _register(operation, (cls, cls), fill_template(PAIR, field=field), names)


def _register(operation: Any, types: tuple[type, ...], lines: list[str], names: Mapping[str, Any]) -> None:
    def build(_: object) -> tuple[str, Mapping[str, Any]]:
        return "\n".join(lines), names

    function = compiled_later(build)
    function.__name__ = function.__qualname__ = f"{operation.__name__}_{'_'.join(cls.__name__ for cls in types)}"
    function.__module__ = __name__
    vars(function)["__wrapped__"] = names["_otherwise"]  # whose signature it has, and whose place messages name
    globals()[function.__name__] = function  # where pickles of rules find it
    enter(operation, *types)(function)
