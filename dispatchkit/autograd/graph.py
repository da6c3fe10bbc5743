"""What is done to the graph: hooks of several tensors, and for the values that nodes save; and `detect_anomaly`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from dispatchkit.autograd.saved_values import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from dispatchkit.graph.node import Anomaly, GradientEdge, Node
from dispatchkit.graph.storage import RemovableHandle, Storage, Vertex, memory_of
from dispatchkit.graph.sweep import hooked_in_pass
from dispatchkit.marks import override
from dispatchkit.protocol.blocks import Block, Setting
from dispatchkit.protocol.observers import active_observer, watch_state
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import as_list, place_of
from dispatchkit.wording import class_name

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
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


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a change in place of the memory of tensors, which was made where it is not seen.

    A backward pass that would read what was saved of them before raises `InplaceError` then.

    Parameters
    ----------
    tensor : one tensor, or any iterable of several

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.ones(2)
    >>> x.numpy()[0] = 5.0
    >>> dk.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for x in as_list(tensor):
        if not isinstance(x, Storage):
            raise TypeError(f"increment_version: expected tensors, found a {class_name(type(x))}")
        memory_of(x).version.count_change()


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

    _observer: ClassVar[type[Anomaly]] = Anomaly

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(watch_state, self._observer(check_nan, is_on=mode))


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

    _observer: ClassVar[type[Anomaly]] = Anomaly

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(watch_state, self._observer(check_nan))
