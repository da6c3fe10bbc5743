"""Keeping gradients from growing too large."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import holds
from dispatchkit.graph.recording import no_grad
from dispatchkit.nn.parameter import tensors_of
from dispatchkit.tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


def clip_grad_norm_(
    parameters: Iterable[Any] | Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients of parameters, in place, so that the norm of all together has a bound.

    Parameters
    ----------
    parameters : iterable of tensors or array types that hold some, or one; those without gradient are left out
    max_norm : the bound
    norm_type : of the norm, ``float("inf")`` for the largest absolute value
    error_if_nonfinite : whether a norm that is infinite or no number raises

    Returns
    -------
    Tensor
        The norm before scaling, of shape ().

    Raises
    ------
    RuntimeError : if the norm is infinite or no number, and that is an error; nothing is scaled then
    ValueError : for a negative bound
    TypeError : if one of `parameters` is neither a tensor nor holds some

    Notes
    -----
    The factor is ``max_norm / (norm + 1e-6)`` where that is less than 1. Source: PyTorch,
    `torch.nn.utils.clip_grad_norm_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.nn.Parameter(dk.tensor([3.0, 4.0]))
    >>> (p * p / 2).sum().backward()
    >>> dk.nn.utils.clip_grad_norm_([p], max_norm=1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    grads = _grads_of("clip_grad_norm_", parameters)
    _check_bound("clip_grad_norm_", "max_norm", max_norm)
    with no_grad():
        xp = tensor_namespace
        norms = [xp.linalg.vector_norm(g, ord=norm_type) for g in grads]
        total: Tensor = xp.linalg.vector_norm(xp.stack(norms), ord=norm_type) if norms else xp.zeros(())
        if error_if_nonfinite and not holds(xp.isfinite(total), traced=True):
            raise RuntimeError(
                f"clip_grad_norm_: the total norm of order {norm_type} for gradients from `parameters` is non-finite, "
                f"so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                f"anyway, set `error_if_nonfinite=False`"
            )
        factor = max_norm / (total + 1e-6)
        if not holds(factor >= 1):
            for g in grads:
                g.mul_(xp.astype(xp.minimum(factor, 1.0), g.dtype))
    return total


def clip_grad_value_(parameters: Iterable[Any] | Any, clip_value: float) -> None:
    """Bring the elements of gradients, in place, to the nearest number between two bounds.

    Parameters
    ----------
    parameters : iterable of tensors or array types that hold some, or one; those without gradient are left out
    clip_value : the bounds are ``-clip_value`` and ``clip_value``

    Raises
    ------
    ValueError : for a negative bound
    TypeError : if one of `parameters` is neither a tensor nor holds some

    Notes
    -----
    Source: PyTorch, `torch.nn.utils.clip_grad_value_`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> p = dk.nn.Parameter(dk.tensor([3.0, -4.0]))
    >>> (p * p / 2).sum().backward()
    >>> dk.nn.utils.clip_grad_value_(p, 1.0)
    >>> p.grad
    tensor([ 1., -1.])
    """
    grads = _grads_of("clip_grad_value_", parameters)
    _check_bound("clip_grad_value_", "clip_value", clip_value)
    with no_grad():
        for g in grads:
            g.clip_(-clip_value, clip_value)


def _grads_of(name: str, parameters: Any) -> list[Any]:
    return [p.grad for p in tensors_of(name, parameters) if p.grad is not None]


def _check_bound(name: str, argument: str, bound: float) -> None:
    if not bound >= 0:
        raise ValueError(f"{name}: {argument} is {bound}; it must be a number that is not negative")
