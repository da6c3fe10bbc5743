"""Methods of PyTorch's tensors that give their tensor another shape or memory, and some that are no functions of it.

A tensor gets the array, and the place in the graph, of a view of itself. Views that were made of it before keep theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from dispatchkit.as_torch.methods.storages import UntypedStorage
from dispatchkit.as_torch.operators import in_place
from dispatchkit.as_torch.spelling import ALIKE, FUNCTIONS, Tensor
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name, numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import make_leaf
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import extras_of, memory_of, version_of

__all__ = ["give_shapes_in_place"]

Call = Callable[..., Any]
SHAPES = ("as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")


# What a tensor is but for its gradient, and what stands in its place inside transformations.
PARTS: tuple[str, ...] = ("array", "_node", "_memory")
PARTS_OF_TRACERS = ("value", "tangent", "level", "_node", "_memory")


def become(x: Any, y: Any) -> Any:
    """Give a tensor what another is: its array, its memory and its place in the graph; which counts as a change.

    Parameters
    ----------
    x, y : the tensor, and a view of it, or a copy, which nothing else has
    """
    before, parts, changes = x._memory, PARTS, 0
    if x.is_tracer:
        parts = PARTS_OF_TRACERS
    else:
        changes = version_of(x) + 1
    for name in parts:
        if hasattr(type(x), name):
            setattr(x, name, getattr(y, name))
    memory = x._memory
    if memory is not None and memory is not before:
        memory.views.append(ref(x))
    if not x.is_tracer:
        # What has saved the tensor would read it in another shape; what has saved its array reads that as it was.
        memory = memory_of(x)
        memory.offset += changes - memory.count
    return x


def is_view_of_leaf(x: Any) -> bool:
    """Return whether a tensor shares its memory with a leaf that requires a gradient."""
    if x.is_tracer or x._memory is None:
        return False
    family = [tensor for tensor in x._memory.up_to_date() if tensor is not x]
    return any(tensor._node is not None and tensor._node.is_leaf for tensor in family)


def in_another_shape(name: str, function: Call) -> Call:
    """Return the method that gives its tensor the shape that a function gives a view of it."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_leaf = self.requires_grad and self.is_leaf
        forbidden = is_grad_enabled() and (is_leaf or is_view_of_leaf(self))
        view = function(self, *args, **kwargs)
        if forbidden:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if is_leaf:
            view.requires_grad_()
        return become(self, view)

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"Give the tensor the shape of the view that `{name}` is, and return it."
    return method


def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    """Give the tensor other lengths of its axes, and return it: the first elements of its memory, then zeros.

    Parameters
    ----------
    *size : the lengths, one by one or in a sequence
    memory_format : which changes nothing here

    Raises
    ------
    RuntimeError : if the tensor requires a gradient
    """
    lengths: tuple[int, ...] = size
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        lengths = tuple(size[0])
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if lengths == tuple(self.shape):
        return self
    elements, count = xp.ravel(self), math.prod(lengths)
    if count > elements.shape[0]:
        elements = xp.concat([elements, xp.zeros((count - elements.shape[0],), dtype=self.dtype)])
    return become(self, xp.reshape(elements[:count], lengths))


def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Give the tensor the lengths of the axes of another: see `resize_`."""
    return resize_(self, tuple(the_template.shape))


def set_(self: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """Give the tensor the memory and the shape of another, and return it.

    A leaf that requires a gradient keeps that, its gradient and its hooks, and is another leaf: what was computed of it
    before does not depend on what it is now.

    Parameters
    ----------
    source : the other tensor, of the same dtype, or a storage; without one, the tensor has no elements afterwards
    storage_offset, size, stride : with `size` it gets a part of the memory of `source`, as `as_strided` gives it

    Raises
    ------
    RuntimeError : while a graph is recorded, if one of the two requires a gradient; for another dtype; inside a
        transformation
    """
    if self.is_tracer:
        raise RuntimeError("set_(): a tensor inside a transformation has no memory that another can be put in place of")
    if isinstance(source, UntypedStorage):
        source = xp.asarray(source.elements(numpy_dtype(self.dtype)), copy=False)
        if size is None:
            source = source[storage_offset:]
    if source is None:
        source = xp.empty((0,), dtype=self.dtype)
    elif not is_array(source):
        raise TypeError(f"set_(): argument 'source' must be a Tensor or a storage, not {type(source).__name__}")
    elif size is not None:
        source = FUNCTIONS["as_strided"](source, size, stride, storage_offset)
    if is_grad_enabled() and self.requires_grad and self.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if is_grad_enabled() and (self.requires_grad or source.requires_grad):
        raise RuntimeError("the derivative for 'set_' is not implemented; call it inside no_grad()")
    if source.dtype != self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    if self.requires_grad:
        leaf = make_leaf(source.array)
        leaf.extras = extras_of(self._node)
        self._node = leaf
    self.data = source
    return self


def apply_(self: Any, callable: Call) -> Any:
    """Set each element to what a function of numbers makes of it, one after the other, and return the tensor.

    Raises
    ------
    RuntimeError : if the tensor requires a gradient
    """
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    elements = [callable(element) for element in self.detach().numpy().ravel().tolist()]
    return self.copy_(xp.asarray(np.array(elements, dtype=dtype_name(self.dtype)).reshape(tuple(self.shape))))


def adjoint(self: Any) -> Any:
    """Return the conjugates, with the last two axes interchanged."""
    return self.mH


def where(self: Any, condition: Any, other: Any) -> Any:
    """Return the elements where a condition holds, and those of another tensor, or a number, elsewhere.

    Raises
    ------
    TypeError : if the condition is no tensor
    """
    if not is_array(condition):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    return FUNCTIONS["where"](condition, self, other)


def polygamma(self: Any, n: int) -> Any:
    """Return the derivative of order `n` of the digamma function."""
    return FUNCTIONS["polygamma"](n, self)


# Methods that are functions of another name, or whose first argument has another name there.
BY_FUNCTION = {
    "hardshrink": "nn.functional.hardshrink",
    "lu": "lu",
    "lu_solve": "lu_solve",
    "multinomial": "multinomial",
    "prelu": "nn.functional.prelu",
    "triangular_solve": "triangular_solve",
}
METHODS = (adjoint, apply_, polygamma, resize_, resize_as_, set_, where)


def give_shapes_in_place() -> None:
    """Give tensors these methods."""
    for name in SHAPES:
        setattr(Tensor, f"{name}_", in_another_shape(name, getattr(Tensor, name)))
    for method in METHODS:
        setattr(Tensor, method.__name__, method)
    for name, path in BY_FUNCTION.items():
        function: Any = FUNCTIONS[path]
        setattr(Tensor, name, function.as_method)
    setattr(Tensor, "polygamma_", in_place(ALIKE, "polygamma", polygamma, None))  # noqa: B010  # which types do not know
