"""The vertices of the graph as tensors of PyTorch's spelling give them: their hooks get such tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from dispatchkit.as_torch.calling.raised import raising_as_pytorch
from dispatchkit.as_torch.spelling import Tensor, spell
from dispatchkit.autograd import graph
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import GradientEdge
from dispatchkit.graph.storage import extras_of, vertex_of

__all__ = ["get_gradient_edge", "give_vertices"]

ALWAYS_THERE = ("data", "requires_grad", "grad_fn", "_grad_fn", "_backward_hooks")


def grad_fn(self: Any) -> Any:
    """Return the recorded operation that made this tensor, None for leaves."""
    vertex = super(Tensor, self).grad_fn
    if vertex is not None:
        vertex.spell_by(spell)
    return vertex


@raising_as_pytorch
def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the place of a tensor in the graph: see `dispatchkit.autograd.graph.get_gradient_edge`."""
    edge = graph.get_gradient_edge(tensor)
    edge.node.spell_by(spell)
    return edge


def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Any], object]) -> Any:
    """Have a function called with this leaf after a backward pass has accumulated its gradient.

    Parameters
    ----------
    hook : takes the leaf; returns None
    """

    def call(leaf: Any) -> None:
        if hook(leaf) is not None:
            raise AutogradError("Tensor post accumulate grad hooks should return None.")

    return super(Tensor, self).register_post_accumulate_grad_hook(call)


def hooks_of(self: Any) -> Any:
    """Return the hooks that `register_hook` has registered, by their ids; None where there are none."""
    vertex = vertex_of(self)
    if vertex is None:
        return vars(self).get("_backward_hooks")  # of a tensor that no gradient flows to, and which calls none
    return None if vertex.extras is None else vertex.extras.hooks or None


def set_hooks(self: Any, hooks: Any) -> None:
    """Replace the hooks of a tensor, which are called where gradients flow to it."""
    vertex = vertex_of(self)
    if vertex is None:
        vars(self)["_backward_hooks"] = hooks
    else:
        extras_of(vertex).hooks = dict(hooks or ())


def volatile(self: Any) -> bool:
    """Return False: PyTorch has no tensors any more whose graph is not recorded."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def without_deletion(name: str) -> property:
    """Return an attribute that every tensor has, to delete which raises PyTorch's error.

    A `__delattr__` of the class in its place would make it take ten times as long to set any attribute.
    """

    def refuse(self: Any) -> NoReturn:
        raise RuntimeError(f"tensor attribute {name!r} cannot be deleted")

    attribute: property = getattr(Tensor, name)
    return attribute.deleter(refuse)


def give_vertices() -> None:
    """Give tensors the attributes."""
    held = {
        "grad_fn": property(grad_fn),
        "_grad_fn": property(grad_fn),
        "_backward_hooks": property(hooks_of, set_hooks),
        "volatile": property(volatile),
        "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    }
    for name, attribute in held.items():
        setattr(Tensor, name, attribute)
    for name in ALWAYS_THERE:
        setattr(Tensor, name, without_deletion(name))
