"""How the values that nodes save are kept: packed by hooks, in main memory, or copied before their tensors change."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary, ref

import numpy as np

from dispatchkit.errors import AutogradError, InplaceError
from dispatchkit.graph.node import CallNode, Node, NodeWrapper, is_wrapped_by, nodes_of_call
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Storage, Vertex, memory_of, version_of, vertex_of
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, innermost_state
from dispatchkit.protocol.observers import Observer, active_observer, run_unobserved, watch_state
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import container_items, leaves, map_leaves

OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally "
    "recorded."
)
_refusal: ContextState[Innermost[str | None]] = innermost_state("saved tensors hooks", None)
_entered: ContextState[Innermost[bool]] = innermost_state("mutation of saved tensors", False)


class Packing(Observer):
    """Packs the saved values of the nodes of each call by a hook.

    Parameters
    ----------
    pack : makes of a tensor what is kept in its place
    unpack : makes a tensor of that again
    """

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self.pack = pack
        self.unpack = unpack

    def on_result(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Pack what the nodes of a call have saved."""
        for node, outputs in nodes_of_call(operation, args, kwargs, result).items():
            if not is_wrapped_by(Unpacking, node):
                self._pack_node(node, outputs)

    def _pack_node(self, node: Node, outputs: Mapping[int, Storage]) -> None:
        """Pack the values of a node; it is changed once all hooks have run."""
        name = node.name
        saved = self.pack_saved(name, node.saved or ())
        keywords = self.pack_saved(name, getattr(node, "keywords", {}))
        output = None
        if node.operation.keeps_output:
            output = getattr(node, "output", None)
        if isinstance(output, tuple):
            output = tuple([Packed(self, name, outputs.get(i, leaf), None) for i, leaf in enumerate(output)])
        elif output is not None:
            output = Packed(self, name, outputs.get(0, output), None)
        if not any(isinstance(leaf, Packed) for leaf in leaves(container_items, [saved, keywords, output])):
            return
        node.saved = saved
        if keywords:
            node.keywords = keywords
        if output is not None:
            node.output = output
        node.operation = Unpacking(node.operation)

    def pack_saved(self, name: str, value: Any) -> Any:
        """Return a saved argument with its tensors and raw arrays packed."""
        return _map_instances(
            (Storage, np.ndarray),
            lambda leaf: Packed(self, name, leaf, vertex_of(leaf) if isinstance(leaf, Storage) else None),
            value,
        )


class Packed:
    """What is kept in the place of a tensor or a raw array.

    Parameters
    ----------
    packing : the hooks
    name : of the node, for messages
    value : to be packed
    vertex : its place in the graph; none for the node's own output, as the graph would hold itself otherwise

    Raises
    ------
    AutogradError : if the hook changes its argument in place
    """

    __slots__ = ("count", "dtype", "handle", "name", "raw", "shape", "unpack", "version", "vertex")

    def __init__(self, packing: Packing, name: str, value: Any, vertex: Vertex | None) -> None:
        self.raw = not isinstance(value, Storage)
        self.vertex = vertex
        tensor: Any
        if self.raw:
            tensor = Tensor(value)
        else:
            tensor = value.detach()
        before = version_of(tensor)
        self.handle = _call_hook(packing.pack, tensor)
        if version_of(tensor) != before:
            raise AutogradError(
                f"saved_tensors_hooks: the pack hook changed a value that {name} saves in place; change a copy"
            )
        self.name = name
        self.unpack = packing.unpack
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype
        if self.raw:
            self.version = None
        else:
            self.version = tensor._memory.version
        if self.version is None:
            self.count = 0
        else:
            self.count = self.version.changes

    def restore(self) -> Any:
        """Return the value as it was.

        Raises
        ------
        TypeError : if the hook gives no tensor
        AutogradError : if it gives one of another shape or dtype
        InplaceError : if it gives the very memory that was saved, and that was changed in place since
        """
        tensor = _call_hook(self.unpack, self.handle)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"saved_tensors_hooks: the unpack hook is expected to return a tensor, but for a value that "
                f"{self.name} saved it returned a {type(tensor).__name__}"
            )
        if tuple(tensor.shape) != self.shape or tensor.dtype != self.dtype:
            raise AutogradError(
                f"saved_tensors_hooks: the unpack hook returned a {tensor.dtype} tensor of shape "
                f"{tuple(tensor.shape)} for a value that {self.name} saved as {self.dtype} of shape {self.shape}"
            )
        memory = tensor._memory
        if memory is not None and memory.version is self.version and memory.version.changes != self.count:
            raise InplaceError(self.name, self.shape, str(self.dtype), self.count, memory.version.changes)
        if self.raw:
            return tensor.array
        return twin(tensor, self.vertex)


class Unpacking(NodeWrapper):
    """The operation of a node whose values are packed."""

    __slots__ = ()
    keeps_output = False

    def _pull(self, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any) -> Sequence[Any]:
        """Return cotangents, with the node's values unpacked during the call."""
        return pull(_unpacked_node(self.inner, node), g)


class NodeStandIn(CallNode):
    """Takes a node's place while its operation goes backwards."""

    __slots__ = ("of",)

    of: Node

    @property
    def original(self) -> Node:
        """The vertex of the graph."""
        return self.of


def _unpacked_node(operation: Any, node: Node) -> NodeStandIn:
    """Return a node with unpacked values; it is local to the call, so that threads may share the graph."""
    stand_in = NodeStandIn()
    stand_in.of = node.original
    stand_in.operation, stand_in.edges, stand_in.extras = operation, node.edges, None
    stand_in.shape, stand_in.dtype = node.shape, node.dtype
    stand_in.saved = unpack_saved(node.saved)
    if isinstance(node, CallNode):
        stand_in.keywords = unpack_saved(node.keywords)
        stand_in.outputs = node.outputs
    else:
        stand_in.keywords = {}
        stand_in.outputs = None
    stand_in.output = _map_instances(Storage, lambda output: output.array, unpack_saved(getattr(node, "output", None)))
    return stand_in


def pack_for_backward(name: str, value: Any) -> Any:
    """Return what is to be saved for a backward pass: tensors as the hooks of this context pack them.

    Parameters
    ----------
    name : of the node that saves it, for messages
    value : a tensor, or a container of them; anything else is kept as it is
    """
    packing = active_observer(Packing)
    if packing is None:
        return value
    return packing.pack_saved(name, value)


def unpack_saved(value: Any) -> Any:
    """Return a saved value, or container of them, as it was before it was packed."""
    return _map_instances(Packed, Packed.restore, value)


def _call_hook(hook: Callable[[Any], Any], value: Any) -> Any:
    """Call a hook; its own computations are neither recorded nor packed."""
    with no_grad():
        return run_unobserved(hook, value)


def _map_instances(cls: type | tuple[type, ...], change: Callable[[Any], Any], value: Any) -> Any:
    """Return saved arguments with each instance of a class changed."""
    return map_leaves(container_items, lambda leaf: change(leaf) if isinstance(leaf, cls) else leaf, value)


class saved_tensors_hooks(Block):  # noqa: N801  # PyTorch's name
    """Set how tensors saved for the backward pass are kept, inside a `with` block.

    Parameters
    ----------
    pack_hook : called with each value as it is saved; what it returns is kept instead
    unpack_hook : called with that when the backward pass needs the value; returns it, of the same shape and dtype

    Raises
    ------
    AutogradError : on entering inside `disable_saved_tensors_hooks`; from the forward, if `pack_hook` changes its
        argument in place; from the backward, if `unpack_hook` gives another shape or dtype
    TypeError : from the backward, if `unpack_hook` gives no tensor

    Notes
    -----
    Values are the arguments and results that derivative rules read, arrays of indices included; one that two nodes
    save is packed for each. Hooks compute outside the graph, and what they compute is not packed itself. Of nested
    blocks the innermost counts. Values that are not kept cannot be watched for changes in place. Source: PyTorch,
    `torch.autograd.graph.saved_tensors_hooks`.

    Examples
    --------
    Keep values in single precision:

    >>> import dispatchkit as dk
    >>> def pack(x):
    ...     return x.dtype, x.astype(dk.float32) if x.is_floating_point() else x
    >>> def unpack(kept):
    ...     dtype, x = kept
    ...     return x.astype(dtype)
    >>> x = dk.tensor([1.0, 1 / 3], requires_grad=True)
    >>> with dk.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2.0000, 0.6667])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        super().__init__(watch_state, Packing(pack_hook, unpack_hook))

    def __enter__(self) -> None:
        refusal = _refusal.get().value
        if refusal is not None:
            raise AutogradError(refusal)
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801  # PyTorch's name
    """Keep tensors saved for the backward pass in main memory, inside a `with` block, until it needs them.

    Parameters
    ----------
    pin_memory, device_type : say nothing here: the pass returns each to the device that it came from

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> with dk.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda x: (x.device, x.cpu()), lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks(Block):  # noqa: N801  # PyTorch's name
    """Have `saved_tensors_hooks` raise inside a `with` block.

    Parameters
    ----------
    error_message : of the error

    Raises
    ------
    AutogradError : with that message, also on entering where hooks are in use

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with dk.autograd.graph.saved_tensors_hooks(dk.clone, dk.clone):
    ...         pass
    Traceback (most recent call last):
        ...
    dispatchkit.errors.AutogradError: no hooks here
    """

    def __init__(self, error_message: str) -> None:
        super().__init__(_refusal, error_message)

    def __enter__(self) -> None:
        if active_observer(Packing) is not None:
            raise AutogradError(self._value)
        super().__enter__()


class SavedValue:
    """Stands for the value of a tensor in all nodes that have saved it.

    Parameters
    ----------
    values : of the block that it was saved in
    key : what it is found by there
    """

    __slots__ = ("__weakref__", "key", "values")

    def __init__(self, values: SavedValues, key: tuple[int, int, int]) -> None:
        self.values, self.key = ref(values), key

    def before_change(self) -> None:
        """Copy the value, as the memory of its tensor is about to be changed."""
        values = self.values()
        if values is not None:
            values.copy(self)


class SavedValues:
    """What has been saved inside a block of `allow_mutation_on_saved_tensors`.

    Attributes
    ----------
    cloned : the copies of values whose tensors were changed since
    original : the tensors of the others
    tid_to_weakhandle : these values by their tensors' memory, its version and array
    """

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[SavedValue, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[SavedValue, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int, int], SavedValue] = WeakValueDictionary()

    def clear(self) -> None:
        """Give up all values."""
        self.cloned.clear()
        self.original.clear()
        self.tid_to_weakhandle.clear()

    def pack(self, tensor: Tensor) -> SavedValue:
        """Return what stands for a value, the same for all that save it."""
        version = memory_of(tensor).version
        key = (id(version), version.changes, id(tensor.array))
        value = self.tid_to_weakhandle.get(key)
        if value is None:
            value = self.tid_to_weakhandle[key] = SavedValue(self, key)
            self.original[value] = tensor
            if version.watchers is None:
                version.watchers = WeakSet()
            version.watchers.add(value)
        return value

    def copy(self, value: SavedValue) -> None:
        """Copy a value that has not been copied."""
        tensor = self.original.pop(value, None)
        if tensor is not None:
            self.tid_to_weakhandle.pop(value.key, None)  # its ids may be those of others from now on
            with no_grad():
                self.cloned[value] = run_unobserved(tensor.clone)

    def unpack(self, value: SavedValue) -> Any:
        """Return a value.

        Raises
        ------
        AssertionError : outside of the block
        """
        for known in (self.cloned, self.original):
            if value in known:
                return known[value]
        raise AssertionError(OUTSIDE)


@contextmanager
def allow_mutation_on_saved_tensors() -> Generator[SavedValues]:
    """Allow tensors that the graph has saved to be changed in place, inside a `with` block.

    A value is copied just before its tensor is changed, so that the backward pass reads it as it was.

    Returns
    -------
    context manager
        It gives an object whose `cloned` has the copies that are kept.

    Raises
    ------
    AutogradError : on entering a block inside another one
    AssertionError : from a backward pass outside of the block, through what was recorded inside

    Notes
    -----
    Changes that NumPy or another library makes of the array of a tensor are not seen. It holds for the values that
    `saved_tensors_hooks` holds for, and takes their place. Source: PyTorch,
    `torch.autograd.graph.allow_mutation_on_saved_tensors`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> with dk.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     y += 1
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if _entered.get().value:
        raise AutogradError("allow_mutation_on_saved_tensors contexts cannot be nested")
    values = SavedValues()
    with Block(_entered, True, "allow_mutation_on_saved_tensors"), saved_tensors_hooks(values.pack, values.unpack):
        try:
            yield values
        finally:
            values.clear()
