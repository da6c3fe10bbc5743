"""The nodes of the graph: one for each recorded operation, one for each leaf; and what wraps or checks them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from operator import attrgetter
from types import CodeType, MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from dispatchkit.backends.arrays import PLAIN, is_inexact, is_plain, namespace_of, project
from dispatchkit.errors import AnomalyError, AutogradError, InplaceError
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import Memory, Storage, Vertex, VertexExtras, VertexName, extras_of
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.frames import stack
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.observers import Observer, active_observer
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tree import Item, leaves, sequence_items


class Differentiable(Protocol):
    """What a node asks of its operation."""

    @property
    def node_name(self) -> str:
        """Name as printed, such as ``AddBackward``."""

    @property
    def keeps_output(self) -> bool:
        """Whether the rules read the output."""

    @property
    def trusted(self) -> bool:
        """Whether its rules keep no gradient, and give new arrays or views of their cotangent."""

    @property
    def pull_raw(self) -> Callable[[Any, Any], Sequence[Any]]:
        """Gives one raw cotangent for each edge, None where there is none, of a node and its cotangent."""

    @property
    def pull_live(self) -> Callable[[Any, Any], Sequence[Any]]:
        """Gives one tensor for each edge, so that the cotangents are differentiable again."""


FREED = (
    "Trying to backward through the graph a second time: the graph of {name} was freed by an earlier backward pass. "
    "Specify retain_graph=True there to go through it again"
)
AnyNode = TypeVar("AnyNode", bound="Node")


class Node(Vertex):
    """A recorded operation.

    Attributes
    ----------
    operation : gives the name and the rules
    edges : vertices of the inputs, None for inputs without gradient
    saved : the arguments of the call that the rules read; None once the graph was freed
    output : raw output; unset or None where the rules do not read it
    """

    __slots__ = ("edges", "operation", "output", "saved")

    operation: Differentiable
    saved: tuple[Any, ...] | None
    output: Any
    # Of calls alone: a name that nothing has takes ten times as long to look up.
    keywords: Any = MappingProxyType({})
    outputs: Any = None
    # Gives what a node has saved by PyTorch's names; none but where PyTorch's spelling is in use.
    saved_attribute: ClassVar[Callable[[Node, str], Any] | None] = None

    def __getattr__(self, name: str) -> Any:
        if self.saved_attribute is not None and name.startswith(("_saved_", "_raw_saved_")):
            return self.saved_attribute(name)
        raise AttributeError(f"{self.name} has no attribute {name!r}")

    @property
    def name(self) -> str:  # type: ignore[override]  # read only here
        """Name of the operation, as printed."""
        return VertexName(self.operation.node_name)

    @property
    def next_functions(self) -> tuple[tuple[Vertex | None, int], ...]:
        """The vertices of the inputs, each with the index of its output, as in PyTorch."""
        pairs = tuple((edge.main, edge.index) if isinstance(edge, Output) else (edge, 0) for edge in self.edges)
        if self.extras is not None and self.extras.spell is not None:
            for vertex, _ in pairs:
                if vertex is not None:
                    vertex.spell_by(self.extras.spell)
        return pairs

    def __call__(self, *gradients: Any) -> Any:
        """Return what the operation pulls gradients back to, once: nothing is accumulated, and nothing freed.

        Parameters
        ----------
        *gradients : a tensor for each output, None for one without gradient

        Returns
        -------
        Tensor or tuple
            The gradient of each input, None where there is none; of a single input, its gradient.

        Raises
        ------
        TypeError : for more or fewer gradients
        AutogradError : if the graph was freed
        """
        outputs = self.outputs
        count = 1 if outputs is None else len(outputs)
        if len(gradients) != count:
            raise TypeError(f"{self.name}: expected {count} arguments, got {len(gradients)} instead")
        if self.saved is None:
            raise AutogradError(FREED.format(name=self.name))
        pulled = tuple(self.operation.pull_live(self, gradients[0] if outputs is None else list(gradients)))
        return pulled[0] if len(pulled) == 1 else pulled

    @property
    def original(self) -> Node:
        """The vertex of the graph that this is, or stands in for while its operation runs backwards."""
        return self

    def hooks_of_operation(self) -> Hooked:
        """Return the wrapper that has the hooks, made if needed."""
        hooks = wrapper_of(Hooked, self)
        if hooks is None:
            self.operation = hooks = Hooked(self.operation)
        return hooks

    def track_memory(self, memory: Memory, index: int = 0) -> None:
        """Note that the memory of the output, or of one of several, is shared from now on."""
        if self.operation.keeps_output:
            # The first time counts: the values that the rules read are those of then.
            extras_of(self).shared.setdefault(index, (memory.version, memory.version.changes))

    def check_versions(self, read: Sequence[Any] | None = None, *, output: bool = True) -> None:
        """Raise if a value that the rules read was changed in place since it was saved.

        Parameters
        ----------
        read : the arguments that are looked at; all that are saved if None
        output : whether the output is looked at, where the rules read it

        Raises
        ------
        InplaceError : naming the operation, the shape and both versions
        """
        extras = self.extras
        if read is None:
            read = saved_by(self)
        for tensor in saved_tensors(read):
            memory = tensor._memory
            if memory is not None:
                expected = 0
                if extras is not None:
                    expected = extras.versions.get(id(tensor), 0)
                if memory.count != expected:
                    self._spoilt(tensor.array, expected, memory.count)
        if output and extras is not None and self.operation.keeps_output:
            for index, (version, count) in extras.shared.items():
                if version.changes != count:
                    if isinstance(self.output, tuple):
                        output = self.output[index]
                    else:
                        output = self.output
                    self._spoilt(output, count, version.changes)

    def _spoilt(self, array: Any, expected: int, found: int) -> None:
        raise InplaceError(self.name, tuple(array.shape), str(array.dtype), expected, found)


def make_node(
    cls: type[AnyNode], operation: Any, edges: Sequence[Vertex | None], saved: Any, shape: tuple[int, ...], dtype: Any
) -> AnyNode:
    """Return a node of a class; its output, and what the class has besides, are left to set."""
    node = cls()
    node.operation, node.edges, node.saved = operation, tuple(edges), saved
    node.shape, node.dtype, node.extras = shape, dtype, None
    return node


class CallNode(Node):
    """A recorded call with parameters besides its arrays.

    Attributes
    ----------
    keywords : of the call
    outputs : shape and dtype of each output, where there are several
    """

    __slots__ = ("keywords", "outputs")

    keywords: dict[str, Any]
    outputs: list[tuple[tuple[int, ...], Any]] | None


class Output(Vertex):
    """One of several outputs of a node; an edge leads to it as to a node."""

    __slots__ = ("index", "main")

    def __init__(self, main: Node, index: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.main = main
        self.index = index
        self.shape = shape
        self.dtype = dtype
        self.extras = None

    def __call__(self, *gradients: Any) -> Any:
        """Return what the operation of all outputs pulls gradients back to, one for each output."""
        return self.main(*gradients)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            return getattr(self.main, name)
        raise AttributeError(f"{self.name} has no attribute {name!r}")

    @property
    def edges(self) -> tuple[Vertex | None, ...]:  # type: ignore[override]  # read only here
        """The node of all outputs."""
        return (self.main,)

    @property
    def name(self) -> str:  # type: ignore[override]  # read only here
        """Name of the operation, as printed."""
        return self.main.name

    @property
    def next_functions(self) -> tuple[tuple[Vertex | None, int], ...]:
        """The vertices of the operation's inputs."""
        if self.extras is not None:
            self.main.spell_by(self.extras.spell)
        return self.main.next_functions

    def hooks_of_operation(self) -> Hooked:
        """Return the wrapper that has the hooks of the node of all outputs."""
        return self.main.hooks_of_operation()

    def track_memory(self, memory: Memory) -> None:
        """Note that the output's memory is shared from now on."""
        self.main.track_memory(memory, self.index)


class GradientEdge(NamedTuple):
    """A place that gradients arrive at, in the stead of the tensor there.

    Attributes
    ----------
    node : vertex of the tensor
    output_nr : which of the outputs of its operation it is
    """

    node: Vertex
    output_nr: int


class Leaf(Vertex):
    """A tensor that the user made to require a gradient."""

    __slots__ = ()
    is_leaf = True
    name = VertexName("AccumulateGrad")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.extras = VertexExtras()

    @property
    def next_functions(self) -> tuple[()]:
        """Nothing: the graph ends here."""
        return ()

    def track_memory(self, memory: Memory) -> None:
        """Do nothing: the graph does not read the values of a leaf."""


def snapshot_versions(node: Node) -> None:
    """Record how often the memory of each saved argument has been changed so far."""
    for value in saved_by(node):
        if isinstance(value, Storage):
            if value._memory is not None:
                extras_of(node).versions[id(value)] = value._memory.count
        elif isinstance(value, (list, tuple)) and not is_plain(value):
            for tensor in saved_tensors(value):
                if tensor._memory is not None:
                    extras_of(node).versions[id(tensor)] = tensor._memory.count


def saved_by(node: Node) -> Sequence[Any]:
    """Return the arguments that a node has saved, those by position and by name."""
    if not (keywords := node.keywords) or PLAIN.issuperset(map(type, keywords.values())):
        return node.saved or ()
    return (*(node.saved or ()), *keywords.values())


def saved_tensors(saved: Sequence[Any]) -> list[Storage]:
    """Return the tensors among saved arguments."""
    tensors = []
    for value in saved:
        if isinstance(value, Storage):
            tensors.append(value)
        elif isinstance(value, (list, tuple)) and not is_plain(value):
            tensors += saved_tensors(value)
    return tensors


class NodeWrapper:
    """Wraps the operation of a node.

    Parameters
    ----------
    inner : the operation
    """

    __slots__ = ("inner",)

    def __init__(self, inner: Differentiable) -> None:
        self.inner = inner

    @property
    def node_name(self) -> str:
        """Name of the operation, as printed."""
        return self.inner.node_name

    @property
    def keeps_output(self) -> bool:
        """Whether the rules read the output that the node has."""
        return self.inner.keeps_output

    @property
    def trusted(self) -> bool:
        """Whether its rules are trusted with gradients."""
        return self.inner.trusted

    @property
    def repeats(self) -> bool:
        """Whether its rules read nothing that a pass would free."""
        return getattr(self.inner, "repeats", False)

    def pull_raw(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the raw cotangents of a node's inputs."""
        return self._pull(self.inner.pull_raw, node, g)

    def pull_live(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the cotangents of a node's inputs as tensors."""
        return self._pull(self.inner.pull_live, node, g)

    def _pull(self, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any) -> Sequence[Any]:
        """Return what the operation inside gives; a subclass does here what it does around it."""
        return pull(node, g)


AnyWrapper = TypeVar("AnyWrapper", bound=NodeWrapper)


def wrapper_of(cls: type[AnyWrapper], node: Node) -> AnyWrapper | None:
    """Return the wrapper of a class that is around the operation of a node, None if there is none."""
    operation: Any = node.operation
    while isinstance(operation, NodeWrapper):
        if isinstance(operation, cls):
            return operation
        operation = operation.inner
    return None


def is_wrapped_by(cls: type[NodeWrapper], node: Node) -> bool:
    """Return whether a wrapper of a class is around the operation of a node."""
    return wrapper_of(cls, node) is not None


class Hooked(NodeWrapper):
    """The operation of a node that has hooks.

    Attributes
    ----------
    before, after : called with gradients before and after the operation goes backwards, in order
    """

    __slots__ = ("after", "before")
    trusted = False  # hooks may keep gradients

    def __init__(self, inner: Differentiable) -> None:
        super().__init__(inner)
        self.before: dict[int, Callable[[Any], Any]] = {}
        self.after: dict[int, Callable[[Any, Any], Any]] = {}

    def pull_live(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the cotangents of a node's inputs as tensors, as the hooks leave them."""
        return self._around(self.inner.pull_live, node, g, None)

    def pull_raw(self, node: Any, g: Any) -> Sequence[Any]:
        """Return the raw cotangents of a node's inputs, as the hooks leave them."""
        return self._around(self.inner.pull_raw, node, g, tensor_protocol.types.base)

    def _around(self, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any, wrap: Any) -> Sequence[Any]:
        """Return cotangents; `wrap` makes tensors of raw ones for the hooks, None where they are tensors."""
        several, raw = isinstance(g, list), attrgetter("array") if wrap else None
        if several:
            outputs = node.outputs
        else:
            outputs = [(node.shape, node.dtype)]
        inputs = [None if edge is None else (edge.shape, edge.dtype) for edge in node.edges]
        of_outputs = _each(wrap, g if several else [g])
        with no_grad() if wrap else nullcontext():
            for before in list(self.before.values()):
                of_outputs = answer_of_hook(self.node_name, before(of_outputs), of_outputs, outputs)
        if all(x is None for x in of_outputs):
            cotangents: Sequence[Any] = [None] * len(inputs)
        else:
            cotangents = pull(node, list(_each(raw, of_outputs)) if several else _each(raw, of_outputs)[0])
        of_inputs = _each(wrap, [_like_input(c, spec) for c, spec in zip(cotangents, inputs, strict=True)])
        with no_grad() if wrap else nullcontext():
            for after in list(self.after.values()):
                of_inputs = answer_of_hook(self.node_name, after(of_inputs, of_outputs), of_inputs, inputs)
        return _each(raw, of_inputs)


def _each(change: Any, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values changed by a function, but None as None; as they are without one."""
    return tuple(x if x is None or change is None else change(x) for x in values)


def _like_input(g: Any, spec: Any) -> Any:
    """Return a cotangent with the shape and dtype of its input, None where there is no gradient."""
    if g is None or spec is None:
        return None
    return project(namespace_of(g), g, *spec)


def answer_of_hook(name: str, values: Any, before: tuple[Any, ...], specs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients that a hook returned in the place of others, those where it returned None.

    Raises
    ------
    TypeError : if it returned no tuple of tensors
    ValueError : if it returned more or fewer, or one of another shape
    """
    if values is None:
        return before
    if not isinstance(values, tuple) or not all(x is None or isinstance(x, Storage) for x in values):
        kinds: Any = type(values).__name__
        if isinstance(values, tuple):
            kinds = [type(x).__name__ for x in values]
        raise TypeError(f"{name}: expected a hook to return a tuple of tensors, or None; found {kinds}")
    shapes = [None if x is None else tuple(x.array.shape) for x in values]
    wanted = [None if spec is None else spec[0] for spec in specs]
    if len(shapes) != len(wanted) or any(x is not None and x != shape for x, shape in zip(shapes, wanted, strict=True)):
        raise ValueError(f"{name}: expected a hook to return gradients of shapes {wanted}, found {shapes}")
    return values


def nodes_of_call(
    operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
) -> dict[Node, dict[int, Storage]]:
    """Return the nodes of a call's result that are not those of its arguments.

    Parameters
    ----------
    operation, args, kwargs, result : the call

    Returns
    -------
    each node with the tensors of the result that are its outputs, by their index
    """
    fields = operation.protocol.types
    before = {
        _main(tensor)
        for _, value in operation.parameters.values(args, kwargs)
        for tensor in _tensors(fields, value)
        if tensor._node is not None
    }
    nodes: dict[Node, dict[int, Storage]] = {}
    for tensor in _tensors(fields, result):
        node = _main(tensor)
        if isinstance(node, Node) and node not in before:
            nodes.setdefault(node, {})[getattr(tensor._node, "index", 0)] = tensor
    return nodes


def _main(tensor: Storage) -> Any:
    if isinstance(tensor._node, Output):
        return tensor._node.main
    return tensor._node


def _tensors(records: Any, value: Any) -> Iterator[Storage]:
    """Yield the tensors of a result: its own, its members', and those in the fields of array types."""
    for leaf in leaves(partial(_items, records), value):
        if isinstance(leaf, Storage) and not leaf.is_tracer:
            yield leaf


def _items(records: Any, part: Any) -> Sequence[Item] | None:
    """Return what a part of a result holds, None where it is looked at as it is."""
    if isinstance(part, Storage):
        return None
    if isinstance(part, (list, tuple)):
        return sequence_items(part)
    items: Sequence[Item] | None = records.items_of(part, strict=False)
    return items


class Anomaly(Observer):
    """Records on each node the lines of the call that made it.

    Parameters
    ----------
    check_nan : whether gradients that are no numbers count as failures
    is_on : whether it is to record anything
    """

    def __init__(self, check_nan: bool, *, is_on: bool = True) -> None:
        self.check_nan = check_nan
        self.is_on = bool(is_on)

    def on_result(self, operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Record the calling lines on the nodes of a call."""
        lines: list[tuple[CodeType, int]] = []
        for node in nodes_of_call(operation, args, kwargs, result):
            if not is_wrapped_by(TracedOperation, node):
                lines = lines or stack()
                node.operation = TracedOperation(node.operation, lines, _running.get())

    def tell(self, name: str, forward: str, causes: Sequence[tuple[str, str]]) -> None:
        """Do nothing before the failure of an operation is raised; a subclass may tell of it.

        Parameters
        ----------
        name : of the operation
        forward, causes : as of `AnomalyError`
        """

    def on_backward(self, vertices: Iterable[Vertex]) -> None:
        """Check what the nodes of a backward pass give, including those recorded outside of `detect_anomaly`."""
        for vertex in vertices:
            if isinstance(vertex, Node) and not is_wrapped_by(TracedOperation, vertex):
                vertex.operation = TracedOperation(vertex.operation, (), None)


class TracedOperation(NodeWrapper):
    """The operation of a node that remembers where it was recorded.

    Parameters
    ----------
    inner : the operation
    lines : code and line of each frame, the outermost first; none where they are not known
    cause : the node whose backward pass it was recorded by, None in a forward pass
    """

    __slots__ = ("cause", "lines")

    def __init__(
        self, inner: Differentiable, lines: Sequence[tuple[CodeType, int]], cause: TracedOperation | None
    ) -> None:
        super().__init__(inner)
        self.lines = lines
        self.cause = cause

    def _pull(self, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any) -> Sequence[Any]:
        """Return cotangents, checked where this context asks for it."""
        anomaly = active_observer(Anomaly)
        if anomaly is None:
            return pull(node, g)
        outer = _running.get()
        try:
            _running.set(self)
            return self._check(anomaly, pull, node, g)
        finally:
            _running.set(outer)

    def _check(self, anomaly: Anomaly, pull: Callable[[Any, Any], Sequence[Any]], node: Any, g: Any) -> Sequence[Any]:
        try:
            cotangents = pull(node, g)
        except AnomalyError:
            raise
        except Exception as error:
            what = f"Function '{self.node_name}' raised {type(error).__name__}: {error}"
            raise self.failure(anomaly, what) from error
        if anomaly.check_nan:
            for index, cotangent in enumerate(cotangents):
                if cotangent is not None and _has_nan(cotangent):
                    what = f"Function '{self.node_name}' returned nan values in its {index}th output."
                    raise self.failure(anomaly, what)
        return cotangents

    def failure(self, anomaly: Anomaly, what: str) -> AnomalyError:
        """Return the error of what happened, of which the observer is told first."""
        history = self.history()
        anomaly.tell(self.node_name, *history)
        return AnomalyError(what, *history)

    def history(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the lines that recorded the node, and name and lines of each node whose backward led there."""
        causes: list[tuple[str, str]] = []
        cause = self.cause
        while cause is not None:
            causes.append((cause.node_name, cause.text()))
            cause = cause.cause
        return self.text(), causes

    def text(self) -> str:
        """Return the lines as in a traceback."""
        frames = [traceback.FrameSummary(code.co_filename, line, code.co_name) for code, line in self.lines]
        return "".join(traceback.format_list(frames)).rstrip()


# The node whose backward pass is being recorded.
_running: ContextVar[TracedOperation | None] = state_variable("node of a backward pass", None)


def _has_nan(value: Any) -> bool:
    if isinstance(value, Storage):
        return any(map(_has_nan, value.parts())) if value.is_tracer else _has_nan(value.array)  # type: ignore[attr-defined]
    if not is_inexact(value.dtype):
        return False
    xp = namespace_of(value)
    return bool(xp.any(xp.isnan(value)))
