"""Classes of `torch.autograd.function` beside `Function` that programs derive from."""

from __future__ import annotations

from dispatchkit.as_torch.spelling import Function

__all__ = ["InplaceFunction"]


class InplaceFunction(Function):
    """A `Function`, by the name that PyTorch had for those that may change their arguments in place.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> class Rounded(torch.autograd.function.InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.mark_dirty(x)
    ...         return x.round_()
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g
    >>> x = torch.tensor([1.2, 2.7], requires_grad=True)
    >>> Rounded.apply(x.clone())
    tensor([1., 3.], grad_fn=<RoundedBackward>)
    """
