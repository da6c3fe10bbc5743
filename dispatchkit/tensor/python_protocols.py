"""What programs ask of any array: its namespace, `divmod` and `round`, products with a vector, `detach` and `to`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import public_namespace, tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import enable_grad, is_grad_enabled
from dispatchkit.ops.creation.fields import with_arrays
from dispatchkit.ops.indexing.indexing import rows_of
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.outcome import DEFAULT, METHOD
from dispatchkit.protocol.registration.decorators import repr_of_fields
from dispatchkit.tensor.conversion import number_for, parse_to
from dispatchkit.tensor.gradients import run_backward
from dispatchkit.tensor.notebook import format_of, html_of
from dispatchkit.tensor.printing import summarised

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """Return the namespace whose functions take this array: one for all types, since it is the types that answer."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"__array_namespace__: version {api_version!r} is not known; known: {', '.join(VERSIONS)}")
    return public_namespace()


def divide(self: Any, other: Any) -> Any:
    """Return quotient and remainder."""
    return self // other, self % other


def divide_into(self: Any, other: Any) -> Any:
    """Return quotient and remainder of another array by this one."""
    return other // self, other % self


def round_decimals(self: Any, ndigits: int | None = None) -> Any:
    """Return the array rounded to some decimals."""
    if not ndigits:
        return tensor_namespace.round(self)
    return np.round(self, ndigits)


def element(self: Any) -> Any:
    """Return the one element as a Python number: that of the dense form, or of the first field of a type that rewraps.

    Raises
    ------
    ValueError : if there are several elements, or none
    TypeError : if the type has no dense form, and its elements are more than numbers
    """
    cls = type(self)
    if self.size != 1:
        raise ValueError(f"item() needs an array of one element; this {cls.__name__} has shape {tuple(self.shape)}")
    types = tensor_protocol.types
    to_dense = types.to_dense(cls)
    # All operations compute on the first field of such a type, which is as good as a number where numbers are all that
    # it holds: a truth value or a place is one, whatever else the type holds.
    if fallback.rewrap in types.fallback(cls) and (to_dense is not None or self.dtype.kind in "biu"):
        inner: Any = getattr(self, types.fields_of(self)[0])
        if types.participates(type(inner)) and tuple(inner.shape) == tuple(self.shape):
            return inner.item()
    if to_dense is None:
        raise TypeError(f"{cls.__name__} has no dense form whose element could be a number; define to_dense()")
    asked = f"{cls.__name__}.item"
    dense = make_dense(asked, cls, to_dense, self, types.is_plain, as_attribute=True, deliberate=True)
    return tensor_namespace.asarray(dense).item()


def _as_number(called: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def as_number(self: Any) -> Any:
        """Return the one element as a Python number."""
        return make(number_for(called, self))

    return as_number


def as_index(self: Any) -> int:
    """Return the one element of an array of integers."""
    if self.dtype.kind not in "iu":
        raise TypeError(
            f"only integers of one element can be an index, not a {type(self).__name__} of {self.dtype}; where a list "
            f"is to be multiplied, make it an array: dk.asarray(values) * x"
        )
    if self.size != 1:
        raise TypeError(f"only integers of one element can be an index, not an array of shape {tuple(self.shape)}")
    return int(self.item())


def truth(self: Any) -> bool:
    """Return whether the one element is true; the truth of several is ambiguous."""
    if self.size != 1:
        raise ValueError(
            f"the truth value of a {type(self).__name__} of shape {tuple(self.shape)} is ambiguous; use any() or all()"
        )
    return bool(number_for("bool", self))


def as_list(self: Any) -> Any:
    """Return the elements in nested lists: as Python numbers, and what is more than a number as an array of no axes.

    So the list of a masked array has None where an element is missing, and the list of a quantity has quantities.
    """
    if self.ndim:
        return [part.tolist() for part in self]
    try:
        return self.item()
    except (TypeError, ValueError):  # it would lose what the type says of the number
        return self


def contains(self: Any, value: Any) -> bool:
    """Return whether an element equals a value."""
    return bool(tensor_namespace.any(self == value))


def arrow_array(self: Any, type: Any = None) -> Any:  # PyArrow's name
    """Return the vector as PyArrow's array; what it calls."""
    return import_module("pyarrow").array(np.asarray(self), type=type)


def arrow_capsules(self: Any, requested_schema: Any = None) -> Any:
    """Return the vector as Arrow's capsules, by PyArrow; what polars and others call."""
    return arrow_array(self).__arrow_c_array__(requested_schema)


def matvec(self: Any, x: Any) -> Any:
    """Return the product of this matrix with a vector, or with a matrix of one column.

    What `scipy.sparse.linalg` calls. A NumPy array gives a NumPy array; a tensor gives a tensor that gradients flow
    through.

    Parameters
    ----------
    x : of shape (N,) or (N, 1) for a matrix of shape (M, N)

    Raises
    ------
    AutogradError : if a gradient would be lost, since `x` is a NumPy array
    """
    return _product("matvec", self, x, lambda vector: tensor_namespace.matmul(self, vector))


def rmatvec(self: Any, x: Any) -> Any:
    """Return the product of the adjoint matrix with a vector, or with a matrix of one column.

    The type's rule for ``x @ self`` computes it, else that for ``self.mT``, else the derivative of ``self @ x``, so
    that the matrix does not become dense.

    Parameters
    ----------
    x : of shape (M,) or (M, 1) for a matrix of shape (M, N)
    """
    return _product("rmatvec", self, x, lambda vector: _adjoint_product(self, vector))


def _product(name: str, matrix: Any, x: Any, product: Callable[[Any], Any]) -> Any:
    vector = x
    if not tensor_protocol.types.participates(type(x)):
        vector = tensor_namespace.asarray(x)
    # SciPy gives columns, too, which rules for vectors would broadcast.
    column = vector.ndim == 2
    if column:
        vector = tensor_namespace.reshape(vector, (-1,))
    y = product(vector)
    if column:
        y = tensor_namespace.reshape(y, (-1, 1))
    if not isinstance(x, np.ndarray):
        return y
    if getattr(y, "requires_grad", False) and is_grad_enabled():
        raise AutogradError(
            f"{name}: {type(matrix).__name__} requires grad, which NumPy's vector would lose; solve by "
            f"dispatchkit.linalg.cg, compute under no_grad(), or give a tensor"
        )
    return np.asarray(y)


def _adjoint_product(matrix: Any, x: Any) -> Any:
    xp, cls = tensor_namespace, type(matrix)
    if _has_rule(xp.matmul, type(x), cls):
        if matrix.dtype.kind == "c":
            return xp.conj(xp.matmul(xp.conj(x), matrix))
        return xp.matmul(x, matrix)
    if not _has_rule(xp.matrix_transpose, cls):
        with enable_grad():
            v = xp.zeros((matrix.shape[1],), dtype=np.result_type(matrix.dtype, x.dtype), requires_grad=True)
            y = xp.matmul(matrix, v)
        if getattr(y, "requires_grad", False):
            return run_backward([y], [xp.astype(x, y.dtype)], None, is_grad_enabled(), [v], accumulate=False)[0]
    transposed = xp.matrix_transpose(matrix)
    if matrix.dtype.kind == "c":
        transposed = xp.conj(transposed)
    return xp.matmul(transposed, x)


def _has_rule(function: Any, *types: type) -> bool:
    """Return whether a call with these types is answered by a rule, or as plain tensors are."""
    operation = tensor_protocol.operation(function)
    steps = tensor_protocol.chain(operation, types).steps
    return bool(steps) and (steps[0].rule is not None or steps[0].source in (METHOD, DEFAULT))


def detach(self: Any) -> Any:
    """Return the array with the same fields outside the graph; they share their memory.

    Raises
    ------
    TypeError : if its fields are not known
    """
    return _by_fields("detach", self, lambda field: field.detach())


def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the array in another dtype, or with its fields on a device.

    Parameters
    ----------
    *args, **kwargs : a dtype, a device, or a tensor whose dtype is meant; ``dtype=``, ``device=``, ``copy=``, ``like=``

    Raises
    ------
    TypeError : if its fields are not known
    """
    dtype, device, copy = parse_to(args, kwargs)
    if (like := kwargs.get("like")) is not None:
        self = _by_fields("to", self, lambda field: field.to(like=like))
    if device is not None:
        self = _by_fields("to", self, lambda field: field.to(device=device))
    if dtype is not None:
        return tensor_namespace.astype(self, numpy_dtype(dtype), copy=copy)
    if copy:
        return tensor_namespace.clone(self)
    return self


def _by_fields(name: str, x: Any, change: Callable[[Any], Any]) -> Any:
    result = with_arrays(x, change)
    if result is None:
        raise TypeError(
            f"{name}: {type(x).__name__} holds arrays that are not in its fields; declare them: "
            f"array_type(fields=('value', ...))"
        )
    return result


_members: dict[str, Callable[..., Any]] = {
    "__array_namespace__": array_namespace,
    "__arrow_array__": arrow_array,
    "__arrow_c_array__": arrow_capsules,
    "__bool__": truth,
    "__contains__": contains,
    "__complex__": _as_number("complex", complex),
    "__divmod__": divide,
    "__float__": _as_number("float", float),
    "__format__": format_of,
    "__index__": as_index,
    "__int__": _as_number("int", int),
    "__iter__": rows_of,
    "__rdivmod__": divide_into,
    "__repr__": summarised(repr_of_fields(tensor_protocol)),
    "__round__": round_decimals,
    "__trunc__": _as_number("math.trunc", int),
    "_repr_html_": html_of,
    "detach": detach,
    "item": element,
    "matvec": matvec,
    "rmatvec": rmatvec,
    "to": convert,
    "tolist": as_list,
}
for _name, _value in _members.items():
    tensor_protocol.surface.add_attribute(_name, _value)
