"""Changes in place: written back into the tensor's memory, counted, and taken into the graph.

An in-place operation computes its result like any other call, by the same rules and overrides, and then writes it
back. Nothing is touched before everything that can fail has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import extras_of
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, Vertex, memory_of
from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.wrapping import wrapped
from dispatchkit.protocol.modes import live

__all__ = ["apply_in_place", "check_may_change", "check_writeable", "make_inplace_operator", "touch", "write_back"]

APART = 4096
LEAF = (
    "{name}: a leaf tensor that requires grad cannot be changed in place while a graph is recorded; change it inside "
    "no_grad(), or work on a copy"
)
SHARED = (
    "{name}: the tensor shares memory with {count} other living tensor(s) made from it by views, whose gradients would "
    "become wrong; change a copy (x = x.clone()), or use the result of the operation instead of changing in place"
)


def touch(x: Storage) -> None:
    """Count a change of a tensor's memory."""
    memory_of(x).version.count += 1


def check_may_change(name: str, x: Storage, *, recorded: bool) -> None:
    """Raise if a change in place would spoil the graph.

    Parameters
    ----------
    name : of the operation, for the message
    x : to be changed
    recorded : whether the change itself is recorded; nothing is refused where recording is off

    Raises
    ------
    AutogradError : for a leaf that requires a gradient, or a recorded change of memory that views share
    """
    if not is_grad_enabled():
        return
    if x._node is not None and x._node.is_leaf:
        raise AutogradError(LEAF.format(name=name))
    if x._memory is not None:
        relatives = x._memory.relatives(x)
        if relatives and (recorded or any(view._node is not None for view in relatives)):
            raise AutogradError(SHARED.format(name=name, count=len(relatives)))


def check_writeable(name: str, x: Storage) -> None:
    """Raise if the memory of a tensor cannot be changed."""
    if isinstance(x.array, np.ndarray) and not x.array.flags.writeable:
        raise ValueError(f"{name}: the tensor's memory is read-only; change a copy")


def write_back(name: str, x: Storage, result: Any) -> None:
    """Make a result the new value of a tensor.

    Raises
    ------
    TypeError : if the result is no tensor, or its dtype does not fit
    ValueError : if its shape is another
    """
    if not isinstance(result, Storage):
        raise TypeError(
            f"{name}: the result is a {type(result).__name__}, which cannot be written into a "
            f"{type(x).__name__}; use the result of the operation instead of changing in place"
        )
    r = result.array
    if r.shape != x.array.shape:
        raise ValueError(f"{name}: the result has shape {r.shape}, the tensor changed in place {x.array.shape}")
    if isinstance(r, np.ndarray) and not np.can_cast(r.dtype, x.array.dtype, casting="same_kind"):
        raise TypeError(f"{name}: the result is {r.dtype}, which the tensor's dtype {x.array.dtype} cannot hold")
    check_writeable(name, x)
    check_may_change(name, x, recorded=result._node is not None)
    memory = memory_of(x)
    x.array[...] = r
    memory.version.count += 1
    if result._node is not None or is_grad_enabled():
        _move_retaining(x._node, result._node)
        x._node = result._node


def _move_retaining(old: Vertex | None, new: Vertex | None) -> None:
    """Let the vertex of a changed tensor retain the gradient where the one before did."""
    if old is not None and new is not None and not old.is_leaf and old.extras is not None and old.extras.retains:
        old.extras.retains = False
        extras_of(new).retains = True


def apply_in_place(operation: DeclaredOperation, x: Storage, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute an operation with `x` as its first array, and make the result the value of `x`.

    The rules may read what `x` was before: where they do, they are given a copy.
    """
    name = f"{operation.name}_"
    source: Any = x
    if x._node is not None or any(isinstance(arg, Storage) and arg._node is not None for arg in args):
        check_may_change(name, x, recorded=False)
        keeps = operation.composite or operation.plan.keeps[0]
        source = wrapped(type(x), x.array.copy() if keeps else x.array, x._node)
        if hasattr(x, "__dict__"):
            source.__dict__.update(x.__dict__)
    write_back(name, x, operation.function(source, *args, **kwargs))
    return x


def make_inplace_operator(operation: DeclaredOperation, base: Any) -> Callable[[Any, Any], Any]:
    """Return the method behind an in-place operator: `__iadd__` of `add`.

    Plain tensors outside the graph are changed by the kernel itself.
    """
    kernel = operation.kernel
    direct = isinstance(kernel, np.ufunc)
    plain = (int, float, complex, np.ndarray)

    def inplace(self: Any, other: Any, /) -> Any:
        cls: Any = type(other)
        if (
            direct
            and type(self) is base
            and (cls is base or cls in plain)
            and not live
            and type(self.array) is np.ndarray
        ):
            tracked = self._node is not None or (cls is base and other._node is not None)
            if not tracked or not is_grad_enabled():
                b = other.array if cls is base else other
                if type(b) is np.ndarray or cls is not base:
                    _compute_into(operation, self, b)
                    return self
        if operation.protocol.is_stranger(cls):
            return NotImplemented
        return apply_in_place(operation, self, (other,), {})

    inplace.__name__ = inplace.__qualname__ = f"{operation.name}_"
    inplace.__doc__ = f"{operation.name}, written back into the tensor."
    return inplace


def _compute_into(operation: DeclaredOperation, x: Storage, b: Any) -> None:
    """Have the kernel write into the tensor's memory; small results are copied there once they are complete.

    NumPy raises floating-point errors after it has written, so where these raise the result is complete first.
    """
    name = f"{operation.name}_"
    check_writeable(name, x)
    check_may_change(name, x, recorded=False)
    a = x.array
    apart = a.size <= APART or "raise" in np.geterr().values()
    try:
        r = operation.kernel(a, b, out=np.empty_like(a) if apart else a)
    except ValueError as error:
        shape = np.shape(b)
        if _broadcasts_to(shape, a.shape):
            raise
        raise ValueError(
            f"{name}: an array of shape {shape} does not broadcast to {a.shape}, the shape of the tensor changed "
            f"in place"
        ) from error
    except TypeError as error:
        raise TypeError(f"{name}: the result cannot be held by the tensor's dtype {a.dtype}") from error
    if apart:
        a[...] = r
    touch(x)


def _broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False
