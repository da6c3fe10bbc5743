"""Functions of one library as functions of the other, each differentiated by the rules of the library it is of.

Both kinds put one node into the graph of the caller's library, whose backward pass runs that of the other. A second
derivative is the derivative of that backward pass, which is a function of the same kind again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dispatchkit.autograd import Function, enable_grad, grad
from dispatchkit.backends.arrays import in_own_graph, raw_array
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.func.containers import arrays_of
from dispatchkit.func.containers import mapped as with_arrays
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.interop.torch.tensors import from_torch, like, mapped, opened, raw_torch, to_torch
from dispatchkit.tensor import Tensor

__all__ = ["as_dispatchkit_function", "as_torch_function"]

Call = Callable[..., Any]


def as_torch_function(function: Call) -> Call:
    """Return a function of dispatchkit as one of PyTorch, differentiated by dispatchkit's rules.

    Unlike what is computed on `from_torch`, this uses the derivatives that operations, a `dk.autograd.Function` and
    ``dk.operation`` declare, and PyTorch keeps one node for the whole function.

    Parameters
    ----------
    function : takes and returns tensors, array types, and containers of them

    Returns
    -------
    a function that takes PyTorch's tensors in their place, and gives PyTorch's; array types stay, around its tensors

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import as_torch_function
    >>> softplus = as_torch_function(lambda x: dk.logaddexp(x, 0.0))
    >>> t = torch.zeros(2, requires_grad=True)
    >>> softplus(t).sum().backward()
    >>> t.grad
    tensor([0.5000, 0.5000])
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = mapped(opened, (args, kwargs))
        inputs = [raw_torch(x) for x in arrays_of(given)]
        made: list[Any] = []

        def run(xs: Sequence[Tensor]) -> list[Tensor]:
            left = iter(xs)
            own, keywords = with_arrays(lambda _: next(left), given)
            made[:] = [function(*own, **keywords)]
            return list(arrays_of(made[0]))

        outputs = iter(_OfDispatchkit.apply(run, *inputs))
        return mapped(closed, with_arrays(lambda _: from_torch(next(outputs)), made.pop()))

    return call


def closed(value: Any) -> Any:
    """Return a plain tensor as PyTorch's; an array type or subclass of `Tensor` as it is."""
    return to_torch(value) if type(value) is Tensor else value


class _OfDispatchkit(torch.autograd.Function):  # type: ignore[misc]  # `Any` where PyTorch is not installed
    """A function of a list of tensors that dispatchkit computes and differentiates."""

    @staticmethod
    def forward(ctx: Any, run: Callable[[Sequence[Tensor]], list[Tensor]], *inputs: torch.Tensor) -> Any:
        xs = [_leaf(t) for t in inputs]
        with enable_grad():
            ys = run(xs)
        ctx.run, ctx.xs, ctx.ys = run, xs, ys
        ctx.save_for_backward(*inputs)
        # New tensors in the same memory: PyTorch puts its graph on what is given back.
        outputs = [raw_torch(y).detach() for y in ys]
        ctx.mark_non_differentiable(*[t for t, y in zip(outputs, ys, strict=True) if y._node is None])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        reached = [place for place, y in enumerate(ctx.ys) if y._node is not None]
        wanted = [place for place, x in enumerate(ctx.xs) if x._node is not None]
        given = [cotangents[place] for place in reached]

        def pull(ys: Sequence[Tensor], xs: Sequence[Tensor], gs: Sequence[Tensor], *, again: bool) -> list[Any]:
            found = grad(
                [ys[place] for place in reached],
                [xs[place] for place in wanted],
                list(gs),
                retain_graph=True,
                create_graph=again,
                allow_unused=True,
            )
            zeros = [xs[place] * 0.0 if g is None else g for g, place in zip(found, wanted, strict=True)]
            return [g if again else g.detach() for g in zeros]

        if torch.is_grad_enabled():
            count, run = len(ctx.xs), ctx.run

            def again(tensors: Sequence[Tensor]) -> list[Tensor]:
                xs = tensors[:count]
                return pull(run(xs), xs, tensors[count:], again=True)

            gradients = _OfDispatchkit.apply(again, *ctx.saved_tensors, *given)
        else:
            gs = [from_torch(g) for g in given]
            gradients = [raw_torch(g) for g in pull(ctx.ys, ctx.xs, gs, again=False)]
        by_place = dict(zip(wanted, gradients, strict=True))
        return None, *[by_place.get(place) for place in range(len(ctx.xs))]


def _leaf(t: torch.Tensor) -> Tensor:
    """Return a leaf of dispatchkit's graph in the memory of a tensor of PyTorch."""
    x = from_torch(t.detach())
    return x.requires_grad_() if t.requires_grad else x


def as_dispatchkit_function(function: Call) -> Call:
    """Return a function or module of PyTorch as a function of dispatchkit, differentiated by PyTorch.

    Parameters
    ----------
    function : takes PyTorch's tensors, and returns one or a tuple of them. The parameters of a module get gradients,
        too, when dispatchkit's backward pass reaches it

    Returns
    -------
    a function that takes tensors in their place, and gives tensors of the library that the arguments are of

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import as_dispatchkit_function
    >>> entropy = as_dispatchkit_function(torch.special.entr)
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> entropy(x).sum().backward()
    >>> x.grad
    tensor([-0.3069, -1.0000])
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = mapped(_tensors, (args, kwargs))
        xs = list(arrays_of(given))
        if any(in_own_graph(x.array) for x in xs):
            args, kwargs = mapped(closed, given)
            return mapped(_tensors, function(*args, **kwargs))
        return _OfTorch.apply(_Placed(function, given), *xs)

    return call


def _tensors(value: Any) -> Any:
    return from_torch(value) if isinstance(value, torch.Tensor) else value


class _Placed:
    """A function of PyTorch with a call in which only the tensors are left open.

    Parameters
    ----------
    function : of PyTorch
    given : positional and keyword arguments
    """

    def __init__(self, function: Call, given: Any) -> None:
        self.function, self.given = function, given

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        left = iter(tensors)
        args, kwargs = with_arrays(lambda _: from_torch(next(left)), self.given)
        args, kwargs = mapped(closed, (args, kwargs))
        return self.function(*args, **kwargs)


class _OfTorch(Function):
    """A function of tensors that PyTorch computes and differentiates."""

    @staticmethod
    def forward(ctx: Any, run: Callable[[Sequence[torch.Tensor]], Any], *xs: Tensor) -> Any:
        needs = ctx.needs_input_grad[1:]
        with torch.enable_grad():
            leaves = [raw_torch(x).detach().requires_grad_(need) for x, need in zip(xs, needs, strict=True)]
            found = run(leaves)
        several = isinstance(found, (tuple, list))
        outputs = list(found) if several else [found]
        ctx.run, ctx.leaves, ctx.outputs = run, leaves, outputs
        ctx.save_for_backward(*xs)
        results = [_tensor(y.detach(), xs) for y in outputs]
        return tuple(results) if several else results[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        reached = [place for place, y in enumerate(ctx.outputs) if y.requires_grad]
        wanted = [place for place, t in enumerate(ctx.leaves) if t.requires_grad]
        count, run = len(ctx.leaves), ctx.run

        def pull(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
            found = run(tensors[:count])
            ys = list(found) if isinstance(found, (tuple, list)) else [found]
            with torch.enable_grad():
                gs = torch.autograd.grad(
                    [ys[place] for place in reached],
                    [tensors[place] for place in wanted],
                    list(tensors[count:]),
                    create_graph=True,
                    materialize_grads=True,
                )
            return tuple(gs)

        given = [cotangents[place] for place in reached]
        if is_grad_enabled():
            gradients = _OfTorch.apply(pull, *ctx.saved_tensors, *given)
        else:
            for t in ctx.leaves:
                t.grad = None
            torch.autograd.backward(
                [ctx.outputs[place] for place in reached], [raw_torch(g) for g in given], retain_graph=True
            )
            found = [ctx.leaves[place] for place in wanted]
            gradients = [_tensor(torch.zeros_like(t) if t.grad is None else t.grad, ctx.saved_tensors) for t in found]
        by_place = dict(zip(wanted, gradients, strict=True))
        return None, *[by_place.get(place) for place in range(count)]


def _tensor(t: torch.Tensor, others: Sequence[Tensor]) -> Tensor:
    """Return a tensor of PyTorch as a tensor of the library that the first of others is of."""
    found: Tensor = wrapped(Tensor, raw_array(like(others[0], t) if others else t))
    return found
