"""The backward pass through a `Function`: the arguments of its `backward`, and the checks of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from dispatchkit.autograd.function_node import FunctionNode
from dispatchkit.autograd.tensor_leaves import NO_LEAVES, TENSOR, TensorLeaves
from dispatchkit.backends.arrays import namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import Node
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, Vertex, vertex_of
from dispatchkit.tensor import Tensor

__all__ = ["pulled", "stretches_to"]

TWICE = "{name}: trying to differentiate twice a function that was marked with @once_differentiable"
OUTSIDE = (
    "{name}: trying to differentiate twice a function whose backward returned a NumPy array, which is outside the "
    "graph; compute it with tensors, or mark backward with @once_differentiable"
)


def pulled(backward: Callable[..., Any], node: FunctionNode, g: Any, *, live: bool) -> list[Any]:
    """Return the cotangent of each tensor of a recorded call, None where there is none.

    Parameters
    ----------
    backward : the static method
    node : of the call
    g : cotangent of the output, a list of them for several outputs
    live : whether cotangents are tensors in the graph, rather than raw arrays

    Raises
    ------
    AutogradError : if what `backward` returns does not fit the inputs
    """
    ctx = node.context
    found = backward(ctx, *_cotangents(node, g, ctx.materialize_grads, live))
    grads: Sequence[Any] = found if isinstance(found, (tuple, list)) else (found,)
    count = len(node.inputs)
    if len(grads) < count or any(grad is not None for grad in grads[count:]):
        raise AutogradError(
            f"function {node.name} returned an incorrect number of gradients (expected {count}, got {len(grads)})"
        )
    result: list[Any] = []
    for index, (parts, grad) in enumerate(zip(node.inputs, grads, strict=False)):
        if parts is NO_LEAVES:
            if grad is not None:
                raise AutogradError(
                    f"function {node.name} returned a gradient different than None at position {index + 1}, but the "
                    f"corresponding forward input was no tensor"
                )
            continue
        for part in (grad,) if parts is TENSOR else _parts_of_gradient(node, index, parts, grad):
            edge = node.edges[len(result)]
            result.append(None if part is None or edge is None else _checked(node, index, part, edge, live))
    if not is_grad_enabled():
        return result
    if live and getattr(backward, "once_differentiable", False):
        return [None if one is None else _refusing(one, node, g, TWICE) for one in result]
    if live:
        return [_refusing(one, node, g, OUTSIDE) if isinstance(one, np.ndarray) else one for one in result]
    return result


def _cotangents(node: FunctionNode, g: Any, materialize: bool, live: bool) -> list[Any]:
    """Return the argument of `backward` for each output."""
    if node.results is None:
        return [g if live else wrapped(Tensor, g)]
    assert node.outputs is not None
    arrived = next(one for one in g if one is not None)
    xp = tensor_namespace if live else namespace_of(arrived)
    flat: list[Any] = []
    for one, (shape, dtype) in zip(g, node.outputs, strict=True):
        if one is None and materialize:
            one = xp.zeros(shape, dtype=dtype, device=getattr(arrived, "device", None))
        flat.append(one if one is None or live else wrapped(Tensor, one))
    rest = iter(flat)
    found: list[Any] = []
    for parts, emptied in node.results:
        own = [next(rest) for _ in parts.paths]
        found.append(None if all(one is None for one in own) else parts.put(emptied, own))
    return found


def _parts_of_gradient(node: FunctionNode, index: int, parts: TensorLeaves, grad: Any) -> list[Any]:
    """Return the gradient of each tensor in an array type."""
    if grad is None:
        return [None] * len(parts.paths)
    if isinstance(grad, parts.cls):
        return parts.take(grad)
    single = len(parts.paths) == 1
    if single and isinstance(grad, (Storage, np.ndarray, np.generic)):
        return [grad]
    name = parts.cls.__name__
    raise AutogradError(
        f"function {node.name} returned a gradient at index {index} that does not fit a {name}: expected a {name} with "
        f"gradients in its fields{', a tensor' if single else ''} or None (got {type(grad).__name__})"
    )


def _checked(node: FunctionNode, index: int, grad: Any, edge: Vertex, live: bool) -> Any:
    """Return a gradient as the sweep takes it."""
    if not isinstance(grad, (Storage, np.ndarray, np.generic)):
        raise AutogradError(
            f"function {node.name} returned a gradient at index {index} that is no tensor: expected a tensor, a NumPy "
            f"array or None (got {type(grad).__name__})"
        )
    tensor = isinstance(grad, Storage)
    found: Any = grad if tensor else np.asarray(grad)
    shape = tuple(found.shape)
    if shape != edge.shape and not stretches_to(edge.shape, shape):
        raise AutogradError(
            f"Function {node.name} returned an invalid gradient at index {index} - got {list(shape)} but "
            f"expected shape compatible with {list(edge.shape)}"
        )
    return found if live or not tensor else found.array


def stretches_to(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether broadcasting makes `other` of `shape`, so that summing brings it back."""
    if len(shape) > len(other):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(other), strict=False))


class _Refusal:
    """Stands in the graph where there is no second derivative."""

    node_name = "Error"
    keeps_output = False
    trusted = False

    def __init__(self, text: str) -> None:
        self.text = text

    def pull_raw(self, node: Any, g: Any) -> NoReturn:
        """Raise.

        Raises
        ------
        AutogradError : always
        """
        raise AutogradError(self.text)

    pull_live = pull_raw


def _refusing(grad: Any, node: FunctionNode, g: Any, text: str) -> Any:
    """Return a gradient that raises when it is differentiated, by an input of the function or a cotangent of it."""
    array = grad.array if isinstance(grad, Storage) else grad
    refusal = Node()
    refusal.operation = _Refusal(text.format(name=node.name))
    cotangents = g if isinstance(g, list) else [g]
    refusal.edges = (*node.edges, *(vertex_of(one) for one in cotangents if one is not None))
    refusal.saved = ()
    refusal.shape, refusal.dtype, refusal.extras = array.shape, array.dtype, None
    return wrapped(Tensor, array, refusal)
