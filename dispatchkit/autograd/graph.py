"""What is done to the graph: hooks of several tensors, and for the values that nodes save; and `detect_anomaly`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from dispatchkit.errors import AutogradError, InplaceError
from dispatchkit.graph.node import Anomaly, CallNode, GradientEdge, Node, NodeWrapper, is_wrapped_by, nodes_of_call
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import RemovableHandle, Storage, Vertex, version_of, vertex_of
from dispatchkit.graph.sweep import hooked_in_pass
from dispatchkit.marks import override
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, Setting, innermost_state
from dispatchkit.protocol.observers import Observer, active_observer, run_unobserved, watch_state
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import as_list, place_of
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import container_items, leaves, map_leaves

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor, /) -> GradientEdge:
    """Return the place of a tensor in the graph, for `dispatchkit.autograd.grad` once the tensor is gone.

    Parameters
    ----------
    tensor : that gradients flow to

    Raises
    ------
    AutogradError : if none do

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> edge = dk.autograd.graph.get_gradient_edge(y)
    >>> y = dk.exp(y) / dk.exp(y)
    >>> dk.autograd.grad(y * 2.0, edge)
    (tensor(0.),)
    """
    vertex = place_of(tensor, "get_gradient_edge: the tensor")
    return GradientEdge(vertex, getattr(vertex, "index", 0))


class MultiHook:
    """A hook of several tensors.

    Parameters
    ----------
    vertices : of the tensors
    call : the hook
    first : whether it is called with the first gradient, rather than with a list of all
    """

    def __init__(self, vertices: Sequence[Vertex], call: Callable[[Any], object], first: bool) -> None:
        # The hooks of a leaf must not keep a graph alive.
        self.vertices = [weakref.ref(vertex) for vertex in vertices]
        self.call, self.first = call, first
        # The pass that each thread is in, and the gradients of it.
        self._passes: dict[int, tuple[Collection[Vertex], list[Any]]] = {}

    def take(self, index: int, g: Any) -> None:
        """Take the gradient of a tensor."""
        thread, hooked = threading.get_ident(), hooked_in_pass.get()
        begun, grads = self._passes.get(thread, ((), []))
        if begun is not hooked:
            grads = [None] * len(self.vertices)
            self._passes[thread] = hooked, grads
        is_first = all(x is None for x in grads)
        grads[index] = g
        is_last = all((x is not None) == (vertex() in hooked) for x, vertex in zip(grads, self.vertices, strict=True))
        if is_last:
            del self._passes[thread]
        if self.first and is_first:
            self.call(g)
        if is_last and not self.first:
            self.call(grads)


class MultiHandle(RemovableHandle):
    """Removes the hooks of several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = handles

    @override
    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Iterable[Tensor], fn: Callable[[Any], object], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Have a function called once in a backward pass, when gradients of several tensors have been computed.

    Parameters
    ----------
    tensors : that gradients flow to
    fn : called with a list, the gradient of each tensor, None for those that the pass does not reach; with
        ``mode="any"`` with the first gradient alone. What it returns is not used
    mode : whether it waits for all gradients that the pass computes, or for any

    Returns
    -------
    RemovableHandle
        Its `remove` takes the hook off.

    Raises
    ------
    ValueError : for another `mode`
    AutogradError : if no gradient flows to one of the tensors

    Notes
    -----
    With ``mode="all"`` it is not called in a pass that reaches a tensor, but whose rules give no gradient for it.
    Source: PyTorch, `torch.autograd.graph.register_multi_grad_hook`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x, y, z = (dk.tensor(n, requires_grad=True) for n in (1.0, 2.0, 3.0))
    >>> with dk.autograd.graph.register_multi_grad_hook([x, y, z], print):
    ...     (x * y).backward()
    [tensor(2.), tensor(1.), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', found {mode!r}")
    tensors = as_list(tensors)
    vertices = [place_of(tensor, "register_multi_grad_hook: one of the tensors") for tensor in tensors]
    hook = MultiHook(vertices, fn, mode == "any")
    return MultiHandle([tensor.register_hook(partial(hook.take, i)) for i, tensor in enumerate(tensors)])


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
            node.keywords = keywords  # type: ignore[attr-defined]  # where they come from
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


def is_anomaly_enabled() -> bool:
    """Return whether `detect_anomaly` is on in this thread or task.

    Returns
    -------
    bool
        True inside of `detect_anomaly`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.autograd.detect_anomaly():
    ...     dk.autograd.is_anomaly_enabled()
    True
    """
    return active_observer(Anomaly) is not None


class set_detect_anomaly(Setting):  # noqa: N801  # PyTorch's name
    """Switch `detect_anomaly` on or off at once; `with` switches it back on leaving.

    Parameters
    ----------
    mode : whether it is on from here on
    check_nan : whether gradients that are no numbers count as failures

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.autograd.set_detect_anomaly(True):
    ...     dk.autograd.is_anomaly_enabled()
    True
    >>> dk.autograd.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(watch_state, Anomaly(check_nan, is_on=mode))


class detect_anomaly(Block):  # noqa: N801  # PyTorch's name
    """Show where the operation was recorded whose backward fails, inside a `with` block or a decorated function.

    Each operation that is recorded inside remembers the lines it was called from. In a backward pass inside, a rule
    that raises, or gives a gradient with NaN in it, raises an error that shows them.

    Parameters
    ----------
    check_nan : whether gradients that are no numbers count as failures

    Raises
    ------
    AnomalyError : from the backward pass, an `AutogradError`; what a rule raised is its ``__cause__``

    Notes
    -----
    It makes every call slower, and is for finding errors. It belongs to the thread or asyncio task. With
    ``create_graph=True`` the operations that the backward pass records remember, too, whose backward recorded them.
    Source: PyTorch, `torch.autograd.detect_anomaly`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> @dk.operation
    ... def half(xp, x, /):
    ...     return x / 2
    >>> @half.def_vjp("x")
    ... def half_vjp(g):
    ...     return g * float("nan")
    >>> x = dk.tensor(1.0, requires_grad=True)
    >>> with dk.autograd.detect_anomaly():
    ...     half(x).backward()
    Traceback (most recent call last):
        ...
    dispatchkit.errors.AnomalyError: Function 'HalfBackward' returned nan values in its 0th output.
    It was recorded here (most recent call last):
    ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(watch_state, Anomaly(check_nan))


_refusal: ContextState[Innermost[str | None]] = innermost_state("saved tensors hooks", None)


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
