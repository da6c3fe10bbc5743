"""Changes in place: written into the tensor's memory, counted, and taken into the graph, of views too."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import ref

import numpy as np

from dispatchkit.backends.arrays import namespace_of, numpy_dtype
from dispatchkit.declare.libraries import in_library
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.overlays import Change, after_change
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Memory, Storage, Strides, Vertex, extras_of, memory_of, vertex_of
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.observers import live
from dispatchkit.tree import container_items, map_leaves, slotted, take_attributes

APART = 4096
# The tensors that changes in place have given a vertex, by id, while a function is recorded; not to keep them alive.
_changed: ContextVar[dict[int, ref[Storage]] | None] = state_variable("changes in place", None)
LEAF = (
    "{name}: a leaf tensor that requires grad cannot be changed in place while a graph is recorded; change it inside "
    "no_grad(), or work on a copy"
)
OUTSIDE = (
    "{name}: the tensor is a view made outside the graph, as inside no_grad(), of a tensor in the graph, whose "
    "gradient would become wrong; change it inside no_grad(), make the view while recording is on, or change a copy "
    "(x = x.clone())"
)
REPEATED = (
    "{name}: the tensor's memory is read-only, as it is after broadcast_to and expand, where several elements are one; "
    "change a copy (x = x.clone())"
)
READ_ONLY = "{name}: the tensor holds a NumPy array that is read-only; change a copy (x = x.clone())"
SHARED = (
    "{name}: arrays of {library} cannot be changed, only replaced, which views of the tensor, and what it was detached "
    "from, would not see; use the result of the operation, or of index_put, instead of changing in place"
)


def touch(*tensors: Storage) -> None:
    """Count a change of the memory of tensors."""
    for x in tensors:
        memory = x._memory or memory_of(x)
        (memory._version or memory).count_change()


def in_graph(x: Storage, *operands: Any) -> bool:
    """Return whether a change in place by these operands concerns the graph: theirs, or that of a view."""
    if not is_grad_enabled():
        return False
    for operand in (x, *operands):
        if isinstance(operand, Storage) and operand._node is not None:
            return True
    if is_alone(x):
        return False
    memory = memory_of(x)
    return memory.outside or memory.in_graph()


def is_alone(x: Storage) -> bool:
    """Return whether no other tensor is known to share a tensor's memory; dead ones are not looked for."""
    memory = x._memory
    return memory is None or (len(memory.views) == 1 and not memory.behind and not memory.outside)


def check_may_change(name: str, x: Storage) -> None:
    """Raise if a change in place would spoil the graph; nothing is refused where recording is off.

    Parameters
    ----------
    name : of the operation, for the message
    x : to be changed

    Raises
    ------
    AutogradError : for a leaf that requires a gradient, and a view that the graph does not know of
    """
    if not is_grad_enabled():
        return
    if x._node is not None and x._node.is_leaf:
        raise AutogradError(LEAF.format(name=name))
    if x._memory is not None:
        if x._node is not None:
            x._refuse_change(name)
        if x._memory.outside:
            raise AutogradError(OUTSIDE.format(name=name))


def check_writeable(name: str, x: Storage) -> None:
    """Raise if a tensor cannot be changed: its memory is read-only, or cannot be changed and others look at it."""
    if isinstance(x.array, np.ndarray):
        if not x.array.flags.writeable:
            text = REPEATED
            if Strides(x.array).decodable:
                text = READ_ONLY
            raise ValueError(text.format(name=name))
    elif not (xp := namespace_of(x.array)).mutable and _has_sharers(x):
        raise TypeError(SHARED.format(name=name, library=xp.__name__))


def _has_sharers(x: Storage) -> bool:
    """Return whether a living tensor would have to see a change: a view, a base, or what it was detached from.

    A leaf, which optimisers give new arrays, leaves what it was detached from as it is.
    """
    memory = x._memory
    if memory is None:
        return False
    detached = memory.version is not memory and not (x._node is not None and x._node.is_leaf)
    return bool(memory.relatives(x) or (detached and memory.version.relatives(x)))


def put_elements(x: Storage, xp: Any, key: Any, value: Any) -> None:
    """Assign raw elements to those of a tensor, which is given another array where its own cannot be changed.

    Parameters
    ----------
    x : tensor that `check_writeable` lets pass
    xp : namespace that computes on its array
    key, value : index and elements
    """
    if type(x.array) is np.ndarray:
        x.array[key] = value  # no call, so that no interrupt comes after it
    elif xp.mutable:
        xp.setitem(x.array, key, value)
    else:
        x.array = xp.index_put(x.array, key, value)


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
    if result.is_tracer:
        _assign(name, x, result)
        return
    r = result.array
    if (type(r) is np.ndarray) is not (type(x.array) is np.ndarray):
        result = in_library(result, namespace_of(x.array))
        r = result.array
    if r.shape != x.array.shape:
        raise ValueError(f"{name}: the result has shape {r.shape}, the tensor changed in place {x.array.shape}")
    if not np.can_cast(numpy_dtype(r.dtype), numpy_dtype(x.array.dtype), casting="same_kind"):
        raise TypeError(f"{name}: the result is {r.dtype}, which the tensor's dtype {x.array.dtype} cannot hold")
    check_writeable(name, x)
    check_may_change(name, x)
    changes = after_change(name, x, result._node) if is_grad_enabled() else ()
    memory = memory_of(x)

    def write() -> None:
        memory.version.count_change()  # first: a graph must not miss a change
        put_elements(x, namespace_of(x.array), ..., r)

    move_vertices(changes, memory, write)


@contextmanager
def changes_noted() -> Iterator[dict[int, ref[Storage]]]:
    """Collect the tensors that changes in place put into the graph inside a `with` block, for those around it, too."""
    outer = _changed.get()
    tensors: dict[int, ref[Storage]] = {}
    try:
        _changed.set(tensors)
        yield tensors
    finally:
        _changed.set(outer)
        if outer is not None:
            outer.update(tensors)


def move_vertices(
    changes: Iterable[Change], memory: Memory | None = None, write: Callable[[], None] | None = None
) -> None:
    """Give changed tensors their new vertices, with the gradients that they have and whether they retain them.

    As in PyTorch, the old vertex of a view that is behind retains its gradient until the view is used again.

    Parameters
    ----------
    changes : tensors with their new vertices
    memory, write : the memory that is changed, and what changes it in the end; after an error, such as an interrupt
        before, the tensors have their old vertices
    """
    noted = _changed.get()
    source = None if memory is None else memory.source
    before: list[tuple[Storage, Vertex | None, Any, Any]] = []
    try:
        for tensor, new in changes:
            old = tensor._node
            if old is new:
                continue
            if noted is not None:
                noted[id(tensor)] = ref(tensor)
            extras = None if old is None else old.extras
            kept = None
            if extras is not None:
                kept = (extras.grad, extras.retains)
            before.append((tensor, old, getattr(tensor, "_grad", None), kept))
            _move(tensor, old, new)
        if write is not None:
            write()
    except BaseException:
        for tensor, old, grad, kept in reversed(before):
            tensor._node, tensor._grad = old, grad
            if kept is not None and old is not None and old.extras is not None:
                old.extras.grad, old.extras.retains = kept
        if memory is not None:
            memory.source = source
        raise


def _move(tensor: Storage, old: Vertex | None, new: Vertex | None) -> None:
    tensor._node = new
    if old is None:
        if new is not None and getattr(tensor, "_grad", None) is not None:
            extras_of(new).grad = tensor._grad
    elif old.is_leaf or old.extras is None:
        tensor._grad = None
    elif new is None:
        tensor._grad = old.extras.grad
    elif new.behind:
        new.extras = old.extras
    else:
        old.extras.give_gradient(new)


def apply_in_place(operation: DeclaredOperation, x: Storage, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute an operation with `x` as its first array, and make the result the value of `x`.

    The rules may read what `x` was before: where they do, they are given a copy.
    """
    keeps = operation.composite or operation.derivative.plan.keeps[0]
    return change_by(operation.function, f"{operation.name}_", x, args, kwargs, keeps=keeps)


def change_by(
    function: Callable[..., Any],
    name: str,
    x: Storage,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    keeps: bool = True,
) -> Any:
    """Compute a function with `x` as its first argument, and make the result the value of `x`.

    Parameters
    ----------
    function : gives a tensor of the shape of `x`
    name : of the change, for the messages
    x : to be changed
    args, kwargs : the arguments after `x`
    keeps : whether rules of the function may read what `x` was before
    """
    if x.is_tracer:
        rest, keywords = unspoilt(x, (args, kwargs))
        _assign(name, x, function(tensor_namespace.clone(x), *rest, **keywords))
        return x
    source: Any = x
    if in_graph(x, *args, *kwargs.values()):
        check_may_change(name, x)
        source = _in_its_place(x, namespace_of(x.array).asarray(x.array, copy=True) if keeps else x.array)
        args, kwargs = unspoilt(x, (args, kwargs))
    write_back(name, x, function(source, *args, **kwargs))
    if x._node is not None and x._node.extras is not None:
        vertex_of(x)  # which retains the gradient from now on
    return x


def unspoilt(x: Storage, value: Any) -> Any:
    """Return the arguments of a call whose result is to be written into `x`, so that its rules can read them later.

    Parameters
    ----------
    x : that is to be changed
    value : arguments, in containers; those that share memory with `x` are copied, in their place in the graph
    """

    def copy_if_shared(leaf: Any) -> Any:
        if not isinstance(leaf, Storage) or not _shares(leaf, x):
            return leaf
        if leaf.is_tracer:
            return tensor_namespace.clone(leaf)
        return _in_its_place(leaf, namespace_of(leaf.array).asarray(leaf.array, copy=True))

    return map_leaves(container_items, copy_if_shared, value, share=True)


def _shares(x: Storage, other: Storage) -> bool:
    """Return whether two tensors are known to share memory."""
    x, other = x._innermost(), other._innermost()
    if x is other:
        return True
    memory, theirs = x._memory, other._memory
    return memory is not None and theirs is not None and memory.version is theirs.version


def _in_its_place(x: Storage, array: Any) -> Any:
    """Return a tensor of another array in the place in the graph, and with the attributes, of `x`."""
    twin = wrap_array(type(x), array, vertex_of(x))
    if hasattr(x, "__dict__"):
        twin.__dict__.update(x.__dict__)
    if slotted:
        take_attributes(twin, (x,))
    return twin


def _assign(name: str, x: Any, result: Any) -> None:
    """Make a result the new value of a tensor where a transformation holds one of them, which says whether it can."""
    if not isinstance(result, Storage) or result.shape != x.shape:  # type: ignore[attr-defined]  # of any tensor
        actual = getattr(result, "shape", type(result).__name__)
        raise ValueError(f"{name}: the result has shape {actual}, the tensor changed in place {x.shape}")
    tensor_namespace.setitem(x, ..., result)


def make_inplace(operation: DeclaredOperation, base: Any, as_operator: bool) -> Callable[[Any, Any], Any]:
    """Return the method behind an in-place operator, `__iadd__` of `add`, or the method `add_`.

    Tensors outside the graph, whose types leave the call to the operation, are changed by the kernel itself.

    Parameters
    ----------
    operation : of two arrays
    base : the class of plain tensors
    as_operator : whether it is the operator, which leaves types that take no part to Python
    """
    kernel = operation.implementation.kernel
    direct = isinstance(kernel, np.ufunc)
    plain, table = (int, float, complex, np.ndarray), operation.table

    def inplace(self: Any, other: Any, /) -> Any:
        try:
            own: Any = type(self)
            cls: Any = type(other)
            known = own is base and (cls is base or cls in plain)
            if direct and not live and (known or _leaves_calls(table, own, cls)) and type(self.array) is np.ndarray:
                b = other
                if is_tensor := isinstance(other, Storage):
                    b = other.array
                if (type(b) is np.ndarray or not is_tensor) and not in_graph(self, other):
                    _compute_into(operation, self, b)
                    return self
            if as_operator and operation.protocol.types.is_foreign(cls):
                return NotImplemented
            return apply_in_place(operation, self, (other,), {})
        except Exception as error:
            hide_frames(error, operation)
            in_terms_of = getattr(type(self), "__dispatch_error__", None)
            if in_terms_of is not None:
                raise in_terms_of(error) from error.__cause__
            raise

    inplace.__name__ = inplace.__qualname__ = f"{operation.name}_"
    return inplace


def _leaves_calls(table: Any, own: type, other: type) -> bool:
    """Return whether two types, of which the first is one of tensors, are known to leave a call to the operation."""
    try:
        return table[own][other].gives is not None
    except (KeyError, TypeError, AttributeError):  # a call that was not made yet, or that others answer
        return False


def _compute_into(operation: DeclaredOperation, x: Storage, b: Any) -> None:
    """Have the kernel write into the tensor's memory; small results are copied there once they are complete.

    NumPy raises floating-point errors after it has written, so where these may raise the result is complete first.
    """
    name = f"{operation.name}_"
    check_writeable(name, x)
    a = x.array
    apart = a.size <= APART or _may_raise()
    counter = memory_of(x).version
    if counter.watchers is not None:
        counter.tell_watchers()
    try:
        r = operation.implementation.kernel(a, b, out=np.empty_like(a) if apart else a)
        if apart:
            a[...] = r
        counter.changes += 1
    except ValueError as error:
        shape = np.shape(b)
        if _broadcasts_to(shape, a.shape):
            raise
        raise ValueError(
            f"{name}: an array of shape {shape} does not broadcast to {a.shape}, the shape of the tensor changed "
            f"in place"
        ) from error
    except TypeError as error:
        dtype = getattr(b, "dtype", type(b).__name__)
        raise TypeError(f"{name}: the result with {dtype} cannot be held by the tensor's dtype {a.dtype}") from error
    except BaseException:  # an interrupt, before which the kernel may have written
        counter.changes += not apart
        raise


def _may_raise() -> bool:
    """Return whether a floating-point error may become an exception: as one, as a warning, or in a user's function."""
    kinds = set(np.geterr().values())
    if not kinds.isdisjoint(("raise", "call")):
        return True
    errors = [category for action, _, category, _, _ in warnings.filters if action == "error"]
    return "warn" in kinds and any(issubclass(RuntimeWarning, category) for category in errors)


def _broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False
