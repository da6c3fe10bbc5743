"""`MaskedTensor`: an array of which some elements are missing, and what its rules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit import ops, special
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.types.levels import Wrapper, as_array, level

__all__ = ["MaskedTensor", "neutral", "open_arguments", "parts", "safe", "validity_of", "with_value"]


@tensor_protocol.array_type(fallback=fallback.refuse, priority=level("mask"), fields=("data", "valid"))
class MaskedTensor(Wrapper):
    """An array of which some elements are missing.

    Parameters
    ----------
    data : array, or what `asarray` makes one of; what it holds in the places of missing elements has no influence
    valid : booleans of a shape that broadcasts to that of `data`, True where there is an element; all by default

    Raises
    ------
    ValueError : if the shapes do not fit
    TypeError : if `valid` holds no booleans

    Notes
    -----
    An element of a result is missing where one of the elements that it is computed from is: sums of arrays, functions,
    comparisons. Reductions skip what is missing, and are missing where nothing is left; so do products of matrices,
    which are sums of products. `argmax` of nothing raises. `sort` puts what is missing last. What needs every element
    (`inv`, `svd`, `fft`) is refused; `filled` gives a plain array. Values never become missing by themselves:
    ``log(-1)`` is nan, and valid. Writing an element makes it valid; writing a missing one makes it missing.

    Functions see a number inside their domain in the place of a missing element, and gradients there are zero, so that
    no nan comes out of what is not there.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.types.MaskedTensor([1.0, -5.0, 4.0], [True, False, True])
    >>> x.sum(), dk.sqrt(x).filled(0.0)
    (MaskedTensor(tensor(5.), valid=tensor(True)), tensor([1., 0., 2.]))
    >>> dk.func.grad(lambda x: dk.sqrt(x).sum())(x).data
    tensor([0.5000, 0.0000, 0.2500])
    """

    valid: Any

    def __init__(self, data: Any, valid: Any = None) -> None:
        if isinstance(data, MaskedTensor):
            data, valid = data.data, data.valid if valid is None else data.valid & ops.asarray(valid)
        self.data = as_array(data)
        valid = ops.ones_like(_numbers(self.data), dtype=ops.bool) if valid is None else ops.asarray(valid)
        if valid.dtype != ops.bool:
            raise TypeError(
                f"MaskedTensor: valid must hold booleans, True where there is an element, not {valid.dtype}"
            )
        # Of its own, so that writing into one array changes no other's.
        same = tuple(valid.shape) == tuple(self.data.shape)
        self.valid = valid if same else ops.clone(ops.broadcast_to(valid, self.data.shape))

    def filled(self, value: Any) -> Any:
        """Return the array with a value in the places of the missing elements.

        Parameters
        ----------
        value : a number, or an array that broadcasts to the shape; it takes the dtype of this array
        """
        return ops.where(self.valid, self.data, ops.asarray(value, dtype=self.dtype, device=self.data.device))

    def to_dense(self) -> Any:
        """Raise: what is missing has no value.

        Raises
        ------
        ValueError : always
        """
        raise ValueError("a plain array of a MaskedTensor would hold values that are missing; write x.filled(value)")

    def item(self) -> Any:
        """Return the one element as a Python number.

        Raises
        ------
        ValueError : if it is missing, or there are several
        """
        if self.size == 1 and not self.valid.all():
            raise ValueError("item: the element is missing")
        return self.data.item()

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside; what is missing in it has no influence.

        Parameters
        ----------
        value : what a rule takes together with this array
        """
        return value.data if isinstance(value, MaskedTensor) else value

    def __repr__(self) -> str:
        return f"MaskedTensor({self.data!r}, valid={self.valid!r})"


def _numbers(data: Any) -> Any:
    """Return the innermost array of wrappers."""
    return _numbers(data.data) if isinstance(data, Wrapper) else data


def with_value(x: MaskedTensor, value: Any) -> Any:
    """Return the data with a value in the places of the missing elements."""
    return ops.where(x.valid, x.data, ops.asarray(value, dtype=x.dtype, device=x.data.device))


def open_arguments(op: Any, args: Any, kwargs: Any, change: Callable[[Any, Any], Any]) -> tuple[Any, Any, list[Any]]:
    """Return the arguments with ``change(operation, masked array)`` made, and what is valid in each array."""
    valid: list[Any] = []

    def opened(name: str, value: Any) -> Any:
        if isinstance(value, MaskedTensor):
            valid.append(value.valid)
            return change(op, value)
        return value

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, opened)
    return args, kwargs, valid


# Inside the domain of every function and of its derivative, but for these.
SAFE: dict[Any, float] = {ops.acosh: 2.0, special.erfinv: 0.25}


def safe(op: Any, x: MaskedTensor) -> Any:
    """Return the data with a number inside the domain of a function in the places of the missing elements."""
    return x.data if x.dtype == ops.bool else with_value(x, 1 if x.dtype.kind in "iu" else SAFE.get(op, 0.5))


def parts(x: Any) -> tuple[Any, Any]:
    """Return the data of an operand, and what is valid in it."""
    return (x.data, x.valid) if isinstance(x, MaskedTensor) else (x, True)


def validity_of(x: Any) -> Any:
    """Return what is valid in an operand, of its shape."""
    if isinstance(x, MaskedTensor):
        return x.valid
    return ops.ones(getattr(x, "shape", ()), dtype=ops.bool, device=getattr(x, "device", None))


def neutral(op: Any, x: MaskedTensor) -> Any:
    """Return what changes nothing where it stands in a reduction."""
    if op in (ops.max, ops.min, ops.argmax, ops.argmin):
        low = op in (ops.max, ops.argmax)
        if x.dtype.kind in "fc":
            return float("-inf" if low else "inf")
        info = None if x.dtype == ops.bool else ops.iinfo(x.dtype)
        return (not low) if info is None else info.min if low else info.max
    return 1 if op in (ops.prod, ops.all, ops.cumulative_prod) else 0
