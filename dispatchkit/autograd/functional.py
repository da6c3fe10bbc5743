"""`backward` and `grad`: the backward pass as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.errors import AutogradError
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import run_backward


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
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
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of tensors, without touching ``.grad``.

    Parameters
    ----------
    outputs : one tensor, or several whose gradients are added
    inputs : the tensors to differentiate by
    grad_outputs : cotangent for each output, of its shape; may be left out for outputs of one element
    retain_graph : keep the graph for another pass; as `create_graph` by default
    create_graph : record the pass itself, so that the gradients can be differentiated
    allow_unused : give None for inputs that the outputs do not depend on, rather than raise

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
    gradients_found = run_backward(results, gradients, retain_graph, create_graph, targets, accumulate=False)
    for index, g in enumerate(gradients_found):
        if g is None and not allow_unused:
            raise AutogradError(
                f"grad: the outputs do not depend on input {index}; pass allow_unused=True to get None for it"
            )
    return tuple(gradients_found)


def _as_list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]


def _gradients(name: str, outputs: Sequence[Any], given: Any) -> list[Any]:
    if given is None:
        return [None] * len(outputs)
    gradients = _as_list(given)
    if len(gradients) != len(outputs):
        raise ValueError(f"{name}: {len(outputs)} outputs, but {len(gradients)} cotangents")
    return gradients
