"""Gradient descent: with momentum (`SGD`), or by the running mean of the squared gradient (`RMSprop`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.optim.groups import check_not_negative, number_of
from dispatchkit.optim.optimizer import Group, Optimizer, Options, Params, directed, factor, number, update
from dispatchkit.tensor import Tensor


class SGD(Optimizer):
    """Gradient descent.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    momentum : how much of the last direction is kept
    dampening : how much less of the gradient enters the direction where there is momentum
    weight_decay : the parameter times this is added to its gradient
    nesterov : whether to look ahead by the momentum
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for a negative rate, momentum or decay, naming the group; for `nesterov` without momentum or with
        dampening; else as `Optimizer`

    Notes
    -----
    With gradient g (its sign changed by `maximize`), decay λ, momentum μ and dampening τ a step computes
    g ← g + λ p, b ← μ b + (1 − τ) g (b ← g in the first step), g ← g + μ b with `nesterov`, else g ← b where there
    is momentum, and p ← p − lr g. The state of a parameter is ``"momentum_buffer"``, b. Source: PyTorch,
    `torch.optim.SGD`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = dk.optim.SGD([x], lr=0.1, momentum=0.9)
    >>> for _ in range(100):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> bool(dk.all(dk.abs(x) < 0.05))
    True
    """

    _buffers = ("momentum_buffer",)

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        check_not_negative(
            options, where, lr="learning rate", momentum="momentum value", weight_decay="weight_decay value"
        )
        dampening = number_of(options["dampening"], "dampening value", where)
        if options["nesterov"] and (not options["momentum"] or dampening):
            raise ValueError(
                f"Nesterov momentum requires a momentum and zero dampening; {where} momentum is "
                f"{options['momentum']}, dampening {options['dampening']}"
            )

    @override
    def _change(self, group: Group, parameters: list[Tensor]) -> None:
        numbers = {name: float(group[name]) for name in ("momentum", "dampening", "weight_decay")}
        options = Options(**{**group, **numbers, "lr": number(group["lr"])})
        for p in parameters:
            if not options.momentum:
                update(descend, options, p, ())
                continue
            state = self.state[p]
            options.weight = 1.0 - options.dampening if state.get("momentum_buffer") is not None else 1.0
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = tensor_namespace.zeros_like(p)
            update(descend_with_momentum, options, p, [state["momentum_buffer"]])


def descend(xp: Any, options: Options, p: Any, g: Any) -> tuple[Any]:
    """Go a step along the gradient."""
    p -= factor(xp, options.lr, p) * directed(p, g, options.weight_decay, options.maximize)
    return (p,)


def descend_with_momentum(xp: Any, options: Options, p: Any, g: Any, buffer: Any) -> tuple[Any, Any]:
    """Go a step along what has gathered in the buffer."""
    g = directed(p, g, options.weight_decay, options.maximize)
    buffer *= options.momentum
    buffer += g if options.weight == 1 else options.weight * g
    p -= factor(xp, options.lr, p) * (g + options.momentum * buffer if options.nesterov else buffer)
    return p, buffer


BUFFERS = ("square_avg", "momentum_buffer", "grad_avg")


class RMSprop(Optimizer):
    """Gradient descent with a rate for each element, by the mean square of its gradients.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    alpha : how much of the mean square is kept
    eps : added to its root
    weight_decay : the parameter times this is added to its gradient
    momentum : how much of the last direction is kept
    centered : whether the variance of the gradients takes the place of their mean square
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for a negative option, naming the group; else as `Optimizer`

    Notes
    -----
    With gradient g a step computes v ← α v + (1 − α) g², d ← g / (√v + ε), b ← μ b + d and p ← p − lr b, without
    momentum p ← p − lr d; `centered` takes the square of the running mean of g from v. The state of a parameter is
    ``"square_avg"``, and where they are used ``"momentum_buffer"`` and ``"grad_avg"``. Real parameters only. Source:
    Hinton, lecture 6e of "Neural networks for machine learning", 2012; PyTorch, `torch.optim.RMSprop`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.RMSprop([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([1.0000, 2.0000], requires_grad=True)
    """

    _buffers = BUFFERS

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        check_not_negative(
            options,
            where,
            lr="learning rate",
            alpha="alpha value",
            eps="epsilon value",
            weight_decay="weight_decay value",
            momentum="momentum value",
        )

    @override
    def _change(self, group: Group, parameters: list[Tensor]) -> None:
        numbers = {name: number(group[name]) for name in ("lr", "alpha", "eps", "weight_decay", "momentum")}
        options = Options(**{**group, **numbers})
        switches = (True, options.momentum, options.centered)
        used = [name for name, on in zip(BUFFERS, switches, strict=True) if on]
        for p in parameters:
            state = self.state[p]
            for name in used:
                if state.get(name) is None:
                    state[name] = tensor_namespace.zeros_like(p)
            update(go_by_root, options, p, [state[name] for name in used])


def go_by_root(xp: Any, options: Options, p: Any, g: Any, square: Any, *others: Any) -> tuple[Any, ...]:
    """Go a step along the gradient over the root of its mean square."""
    g = directed(p, g, options.weight_decay, options.maximize)
    square *= options.alpha
    square += (1 - options.alpha) * g * g
    spread = square
    if options.centered:
        mean = others[-1]
        mean += (1 - options.alpha) * (g - mean)
        spread = square - mean * mean
    change = g / (xp.sqrt(spread) + options.eps)
    if options.momentum:
        buffer = others[0]
        buffer *= options.momentum
        buffer += change
        change = buffer
    p -= factor(xp, options.lr, p) * change
    return (p, square, *others)
