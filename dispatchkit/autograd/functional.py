"""`backward` and `grad`: the backward pass as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dispatchkit.autograd.through import pull_through
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import GradientEdge
from dispatchkit.graph.recording import set_grad_enabled
from dispatchkit.graph.sweep import sweep
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import place_of, plain, run_backward
from dispatchkit.transforms import Batched, Tracer
from dispatchkit.transforms.batched import in_front
from dispatchkit.transforms.tracer import new_level, top_level

# Whose gradients are wanted.
Inputs: TypeAlias = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
) -> None:
    """Compute the gradients of tensors and add them to the leaves they belong to.

    Parameters
    ----------
    tensors : one tensor, or several whose gradients are added
    grad_tensors : cotangent for each, of its shape; may be left out for tensors of one element
    retain_graph : keep the graph for another pass; as `create_graph` by default
    create_graph : record the pass itself, so that the gradients can be differentiated
    inputs : the tensors to accumulate gradients in; all leaves by default

    Raises
    ------
    AutogradError : if no gradient flows to a tensor, the graph was freed, or a cotangent is missing

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> dk.autograd.backward([(x * x).sum(), x.sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    outputs = _as_list(tensors)
    gradients = _gradients("backward", outputs, grad_tensors)
    targets = None if inputs is None else _as_list(inputs)
    run_backward(outputs, gradients, retain_graph, create_graph, targets, accumulate=True)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Inputs,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of tensors, without touching ``.grad``.

    Parameters
    ----------
    outputs : one tensor, or several whose gradients are added
    inputs : the tensors to differentiate by, or what `dispatchkit.autograd.graph.get_gradient_edge` gave for them
    grad_outputs : cotangent for each output, of its shape; may be left out for outputs of one element
    retain_graph : keep the graph for another pass; as `create_graph` by default
    create_graph : record the pass itself, so that the gradients can be differentiated
    allow_unused : give None for inputs that the outputs do not depend on, rather than raise
    is_grads_batched : whether the cotangents have a first axis more, along which they are mapped; so do the gradients
    materialize_grads : give zeros for inputs that the outputs do not depend on, rather than raise

    Returns
    -------
    tuple
        The gradient for each input, of the input's shape.

    Raises
    ------
    AutogradError : if an output depends on no input, the graph was freed, or a cotangent is missing

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor(3.0, requires_grad=True)
    >>> (first,) = dk.autograd.grad(x**3, x, create_graph=True)
    >>> dk.autograd.grad(first, x)
    (tensor(18.),)
    """
    results, targets = _as_list(outputs), _as_list(inputs)
    gradients = _gradients("grad", results, grad_outputs)
    if top_level([*results, *targets]) is not None and not is_grads_batched:
        gradients_found = _inside(results, gradients, retain_graph, create_graph, targets)
    elif is_grads_batched:
        gradients_found = _of_batch(results, gradients, create_graph, targets)
    else:
        gradients_found = run_backward(results, gradients, retain_graph, create_graph, targets, accumulate=False)
    for index, (g, target) in enumerate(zip(gradients_found, targets, strict=True)):
        if g is None and materialize_grads and getattr(target, "is_tracer", False):
            gradients_found[index] = tensor_namespace.zeros_like(target)
        elif g is None and materialize_grads:
            vertex = place_of(target, "one of the inputs")
            gradients_found[index] = tensor_namespace.zeros(vertex.shape, dtype=vertex.dtype)
        elif g is None and not allow_unused:
            raise AutogradError(
                f"grad: the outputs do not depend on input {index}; pass allow_unused=True to get None for it, or "
                f"materialize_grads=True to get zeros"
            )
    return tuple(gradients_found)


def _inside(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Any],
) -> list[Any]:
    """Return what `run_backward` gives, for tensors inside transformations or with tangents."""
    for place, tensors in (("the tensor to differentiate", outputs), ("one of the inputs", inputs)):
        for tensor in tensors:
            place_of(tensor._innermost() if isinstance(tensor, Tracer) else tensor, place)
    for output, g in zip(outputs, gradients, strict=True):
        if output.shape != (() if g is None else g.shape):
            raise AutogradError(f"grad: an output has shape {output.shape}: pass grad_outputs of its shape")
    cts = [tensor_namespace.ones_like(y) if g is None else g for y, g in zip(outputs, gradients, strict=True)]
    with set_grad_enabled(create_graph):
        return pull_through("grad", list(outputs), cts, list(inputs), bool(retain_graph or create_graph))


def _of_batch(outputs: Sequence[Any], gradients: Sequence[Any], create_graph: bool, inputs: Sequence[Any]) -> list[Any]:
    """Return what `run_backward` gives, for cotangents that have a first axis more; the graph is kept."""
    for output, g in zip(outputs, gradients, strict=True):
        if g is None or tuple(g.shape[1:]) != tuple(output.shape):
            shape = None if g is None else tuple(g.shape)
            raise AutogradError(f"grad: is_grads_batched=True needs grad_outputs (n, *{output.shape}), found {shape}")
    level, size = new_level(), gradients[0].shape[0]
    starts = [place_of(output, "the tensor to differentiate") for output in outputs]
    roots = [(vertex, Batched(g, level)) for vertex, g in zip(starts, gradients, strict=True)]
    targets = [place_of(tensor, "one of the inputs") for tensor in inputs]
    with set_grad_enabled(create_graph):
        grads = sweep(roots, plain, inputs=targets, retain_graph=True, create_graph=True, accumulate=False)
        return [None if (g := grads.get(vertex)) is None else in_front(g, level, size) for vertex in targets]


def _as_list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, (list, tuple)) and type(tensors) is not GradientEdge else [tensors]


def _gradients(name: str, outputs: Sequence[Any], given: Any) -> list[Any]:
    if given is None:
        return [None] * len(outputs)
    gradients = _as_list(given)
    if len(gradients) != len(outputs):
        raise ValueError(f"{name}: {len(outputs)} outputs, but {len(gradients)} cotangents")
    return gradients
