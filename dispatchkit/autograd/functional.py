"""`backward` and `grad`: the backward pass as functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from dispatchkit.autograd.through import pull_through
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import GradientEdge
from dispatchkit.graph.recording import grad_block
from dispatchkit.protocol.frames import hides_frames
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import as_list, place_of, run_backward
from dispatchkit.transforms import Batched, Tracer
from dispatchkit.transforms.batched import in_front
from dispatchkit.transforms.tracer import new_level, top_level

# Whose gradients are wanted, or what is differentiated.
Inputs: TypeAlias = Tensor | GradientEdge | Iterable[Tensor | GradientEdge]


@hides_frames
def backward(
    tensors: Inputs,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
) -> None:
    """Compute the gradients of tensors and add them to the leaves they belong to.

    Parameters
    ----------
    tensors : one tensor, or any iterable of several, whose gradients are added; or what
        `dispatchkit.autograd.graph.get_gradient_edge` gave for them
    grad_tensors : cotangent for each, of its shape; may be left out for tensors of one element
    retain_graph : keep the graph for another pass; as `create_graph` by default
    create_graph : record the pass itself, so that the gradients can be differentiated
    inputs : the tensors to accumulate gradients in, one or any iterable; all leaves by default

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
    outputs = as_list(tensors)
    gradients = _gradients("backward", outputs, grad_tensors)
    targets = None
    if inputs is not None:
        targets = as_list(inputs)
    run_backward(outputs, gradients, retain_graph, create_graph, targets, accumulate=True)


@hides_frames
def grad(
    outputs: Inputs,
    inputs: Inputs,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of tensors, without touching ``.grad``.

    Parameters
    ----------
    outputs : one tensor, or any iterable of several, whose gradients are added
    inputs : the tensors to differentiate by, one or any iterable, such as ``model.parameters()``. In the place of
        each output or input may stand what `dispatchkit.autograd.graph.get_gradient_edge` gave for it
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
    ValueError : for ``allow_unused=False`` with ``materialize_grads=True``

    Notes
    -----
    With `create_graph` the zeros are leaves, so that their derivatives are zeros in their turn.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor(3.0, requires_grad=True)
    >>> (first,) = dk.autograd.grad(x**3, x, create_graph=True)
    >>> dk.autograd.grad(first, x)
    (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True gives zeros for unused inputs, which allow_unused=False refuses")
    results, targets = as_list(outputs), as_list(inputs)
    gradients = _gradients("grad", results, grad_outputs)
    if is_grads_batched or top_level([*results, *targets]) is not None:
        gradients_found = _through(results, gradients, retain_graph, create_graph, targets, is_grads_batched)
    else:
        gradients_found = run_backward(results, gradients, retain_graph, create_graph, targets, accumulate=False)
    for index, (g, target) in enumerate(zip(gradients_found, targets, strict=True)):
        if g is None and materialize_grads:
            x: Any = target
            if isinstance(target, GradientEdge):
                x = place_of(target, "one of the inputs")
            zeros = tensor_namespace.zeros(x.shape, dtype=x.dtype)
            if create_graph:
                gradients_found[index] = zeros.requires_grad_()
            else:
                gradients_found[index] = zeros
        elif g is None and not allow_unused:
            raise AutogradError(
                f"grad: the outputs do not depend on input {index}; pass allow_unused=True to get None for it, or "
                f"materialize_grads=True to get zeros"
            )
    return tuple(gradients_found)


def _through(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Any],
    batched: bool,
) -> list[Any]:
    """Return what `run_backward` gives, for tensors inside transformations, or cotangents with a first axis more."""
    if any(isinstance(output, GradientEdge) for output in outputs):
        raise AutogradError(
            "grad: is_grads_batched=True, and calls inside transformations, take tensors as outputs, not gradient edges"
        )
    for place, tensors in (("the tensor to differentiate", outputs), ("one of the inputs", inputs)):
        for tensor in tensors:
            root = tensor
            if isinstance(tensor, Tracer):
                root = tensor._innermost()
            place_of(root, place)
    level, cts = new_level(), []
    for output, g in zip(outputs, gradients, strict=True):
        ct = g
        if g is None and not (batched or output.shape):
            ct = tensor_namespace.ones_like(output)
        shape = None
        if ct is not None:
            shape = tuple(ct.shape)
        if shape is None or shape[int(batched) :] != tuple(output.shape):
            what, needed = "an output inside a transformation", str(output.shape)
            if batched:
                what, needed = "is_grads_batched=True", f"(n, *{output.shape})"
            raise AutogradError(f"grad: {what} needs grad_outputs {needed}, found {shape}")
        if batched:
            ct = Batched(ct, level)
        cts.append(ct)
    with grad_block(create_graph):
        grads = pull_through("grad", outputs, cts, inputs, bool(retain_graph or create_graph or batched))
        if batched:
            return [None if g is None else in_front(g, level, len(gradients[0])) for g in grads]
        return grads


def _gradients(name: str, outputs: Sequence[Any], given: Any) -> list[Any]:
    if given is None:
        return [None] * len(outputs)
    gradients = as_list(given)
    if len(gradients) != len(outputs):
        raise ValueError(f"{name}: {len(outputs)} outputs, but {len(gradients)} cotangents")
    return gradients
