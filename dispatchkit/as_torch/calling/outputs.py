"""Results that are written into tensors that a call names: ``out=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.as_torch.calling.promotion import CATEGORIES
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import is_grad_enabled, no_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.transforms import Dual
from dispatchkit.tree import leaves, sequence_items

__all__ = ["is_of_one_dtype", "written_into"]

# Functions whose results are written into booleans, or bytes, alone.
OF_TRUTH = frozenset({"all", "any"})
# Functions that join tensors, and raise TypeError where `out` cannot hold them.
JOINING = frozenset(
    {"cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack", "dstack", "column_stack"}
)
# Functions whose results, where bounds are plain numbers, are written into their own dtype.
OF_BOUNDS = frozenset({"clamp", "clip", "clamp_max", "clamp_min"})
# Functions whose results are written into real numbers alone.
OF_REAL_NUMBERS = frozenset({"irfft", "irfft2", "irfftn", "hfft", "hfft2", "hfftn"})
# Functions of truth, places and counts, which have no derivatives: they are written, whatever requires a gradient.
WITHOUT_DERIVATIVES = frozenset(
    {
        *("all", "any", "argmax", "argmin", "argsort", "bucketize", "histc", "histogram", "isin"),
        *("eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal"),
        *("logical_and", "logical_not", "logical_or", "logical_xor", "nonzero", "nonzero_static", "searchsorted"),
        *("isneginf", "isposinf", "signbit"),
    }
)


def is_of_one_dtype(path: str, category: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether `out` must be of the dtype of the result of a call.

    Parameters
    ----------
    path : of the function
    category : what its table says of `out`
    args, kwargs : the other arguments
    """
    if path == "fft.ifft":  # that of complex numbers is written into those of other precisions
        x: Any = (*args, kwargs.get("input"))[0]
        return not (isinstance(x, Storage) and numpy_dtype(x.dtype).kind == "c")  # type: ignore[attr-defined]
    if path in ("matrix_power", "linalg.matrix_power"):  # the last product is computed in `out`
        return [*args, kwargs.get("n")][min(len(args), 1)] not in (0, 1)
    if path in OF_BOUNDS:  # what tensors bound is written into any dtype
        bounds = (*args[1:], *(value for name, value in kwargs.items() if name != "input"))
        return not any(isinstance(value, Storage) for value in bounds)
    return category == "same" or path == "where"


def written_into(
    name: str,
    out: Any,
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    several: bool = False,
    same: bool = False,
) -> Any:
    """Return `out`, which holds what a call gives from now on.

    Parameters
    ----------
    name : of the function
    out : a tensor, or a sequence of as many as there are results
    call : the function, whose result is written
    args, kwargs : its arguments
    several : whether there are several results
    same : whether a tensor must be of the dtype of its result

    Raises
    ------
    RuntimeError : if a gradient is asked for, or a result cannot be cast to the dtype of its tensor
    TypeError : for what is no tensor
    """
    is_sequence = isinstance(out, (tuple, list))
    if several and not is_sequence:
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    outs = out if is_sequence else (out,)
    for each in outs:
        if not isinstance(each, Storage):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(each).__name__}")
    check_no_gradient(name, outs, args, kwargs)
    with no_grad():
        y = call(args, kwargs)
    parts = y if isinstance(y, (tuple, list)) else (y,)
    if len(parts) != len(outs):
        raise TypeError(f"{name}(): argument 'out' must be tuple of {len(parts)} Tensors, found {len(outs)}")
    for each, part in zip(outs, parts, strict=True):
        check_cast(name, part, each, same=same)
    with no_grad():
        for each, part in zip(outs, parts, strict=True):
            write(each, part)
    if isinstance(y, tuple) and hasattr(y, "_fields"):
        return type(y)(*outs)
    return out


def check_no_gradient(name: str, outs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if a tensor among arguments requires a gradient, which cannot pass through what is written.

    Raises
    ------
    RuntimeError : in PyTorch's words
    NotImplementedError : likewise, if one has a tangent
    """
    records, read = is_grad_enabled(), (*args, *kwargs.values())
    if name in WITHOUT_DERIVATIVES:
        read = ()
    for each in (*outs, *read):
        for leaf in leaves(sequence_items, each):
            if isinstance(leaf, Dual) and leaf.tangent is not None:
                raise NotImplementedError(
                    f"{name}(): Trying to use forward AD with {name} that does not support it because it is an out= "
                    f"function"
                )
            if records and isinstance(leaf, Storage) and getattr(leaf, "requires_grad", False):
                raise RuntimeError(
                    f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                    f"the arguments requires grad."
                )


def check_cast(name: str, part: Any, out: Any, *, same: bool = False) -> None:
    """Raise if a result is of a higher category than the dtype of its tensor, or of another one than must be.

    Raises
    ------
    RuntimeError : naming both dtypes
    TypeError : likewise, of functions that join tensors
    """
    own, found = numpy_dtype(out.dtype), numpy_dtype(part.dtype)
    if name in OF_TRUTH and own.name not in ("bool", "uint8"):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {own}")
    if name in OF_REAL_NUMBERS and own.kind == "c":
        raise RuntimeError(f"{name} expects a floating point output tensor, but got {own}")
    if same and own != found:
        raise RuntimeError(f"Expected out tensor to have dtype {found}, but got {own} instead")
    if CATEGORIES[found.kind] > CATEGORIES[own.kind]:
        kind: type[Exception] = TypeError if name in JOINING else RuntimeError
        raise kind(f"result type {found} can't be cast to the desired output type {own}")


def write(out: Any, part: Any) -> None:
    """Write a result into its tensor, which takes its shape."""
    if tuple(out.shape) != tuple(part.shape):
        if out.numel():
            text = (
                f"An output with one or more elements was resized since it had shape {[*out.shape]}, which does not "
                f"match the required output shape {[*part.shape]}. This behavior is deprecated; reuse an out tensor t "
                f"by resizing it, inplace, to zero elements with t.resize_(0)."
            )
            warn_at(caller_frame(), text, UserWarning)
        out.data = xp.empty(part.shape, dtype=out.dtype)
    out.copy_(xp.astype(part, out.dtype))
