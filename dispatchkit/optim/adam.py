"""Adam and AdamW: steps scaled by running moments of the gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from dispatchkit.backends.arrays import is_complex
from dispatchkit.declare.inplace import touch
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.optim.groups import check_not_negative, number_of
from dispatchkit.optim.optimizer import Group, Optimizer, Options, Params, directed, factor, number, update
from dispatchkit.tensor import Tensor

BUFFERS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


class Adam(Optimizer):
    """Adaptive moments.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    betas : how much is kept, in each step, of the running means of the gradient and of its square
    eps : added to the denominator
    weight_decay : the parameter times this is added to its gradient
    amsgrad : whether the denominator never falls
    maximize : whether to climb rather than descend
    decoupled_weight_decay : whether to shrink the parameter itself, as `AdamW` does, rather than its gradient

    Raises
    ------
    ValueError : for a negative rate, decay or `eps`, or betas outside [0, 1), naming the group; else as `Optimizer`

    Notes
    -----
    With gradient g, decay λ and step number t a step computes g ← g + λ p, m ← β₁ m + (1 − β₁) g,
    v ← β₂ v + (1 − β₂) g², and p ← p − lr m̂ / (√v̂ + eps), where m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ); with `amsgrad`
    the largest v so far is in the place of v. The parts of complex numbers are taken for numbers of their own. The
    state of a parameter is ``"step"``, t; ``"exp_avg"``, m; ``"exp_avg_sq"``, v; and with `amsgrad`
    ``"max_exp_avg_sq"``. Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015; Reddi, Kale and
    Kumar, "On the convergence of Adam and beyond", 2018; PyTorch, `torch.optim.Adam`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = dk.optim.Adam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    _buffers = BUFFERS

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        check_not_negative(options, where, lr="learning rate", eps="epsilon value", weight_decay="weight_decay value")
        betas = options["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ValueError(f"Invalid betas: {betas!r} {where}; expected a pair of numbers")
        for index, beta in enumerate(betas):
            if not 0 <= number_of(beta, f"beta parameter at index {index}", where) < 1:
                raise ValueError(
                    f"Invalid beta parameter at index {index}: {beta} {where}; it must be from 0 on and below 1"
                )

    def _check_state(self, state: Mapping[str, Any], where: str) -> None:
        missing = [name for name in ("step", *BUFFERS[:2]) if state.get(name) is None]
        if state and missing:
            raise ValueError(f"the state of {where} has {list(state)}, but no {' and no '.join(map(repr, missing))}")
        if state:
            number_of(state["step"], "number of steps", f"of {where}")

    @override
    def _change(self, group: Group, parameters: list[Tensor]) -> None:
        numbers = {name: number(group[name]) for name in ("lr", "eps", "weight_decay")}
        options = Options(**{**group, **numbers, "betas": [float(beta) for beta in group["betas"]]})
        for p in parameters:
            state = self._state_of(p, group)
            step = state["step"]
            step.array += 1
            touch(step)
            moments = [state[name] for name in (BUFFERS if group["amsgrad"] else BUFFERS[:2])]
            options.step = number(step)
            update(adapt, options, p, moments)

    def _state_of(self, p: Tensor, group: Group) -> dict[str, Any]:
        """Return what is kept for a parameter, made in its first step."""
        state = self.state[p]
        if not state:
            state["step"] = tensor_namespace.tensor(0.0)
            state["exp_avg"] = tensor_namespace.zeros_like(p)
            state["exp_avg_sq"] = tensor_namespace.zeros_like(p)
        if group["amsgrad"] and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = tensor_namespace.zeros_like(p)
        return state


class AdamW(Adam):
    """Adaptive moments, with a decay of weights that does not enter them.

    Parameters
    ----------
    params, lr, betas, eps : as for `Adam`
    weight_decay : in each step a parameter shrinks by this times the learning rate
    amsgrad, maximize : as for `Adam`

    Raises
    ------
    ValueError : as `Adam`

    Notes
    -----
    A step computes p ← p − lr λ p and then what `Adam` does without decay. Source: Loshchilov and Hutter, "Decoupled
    weight decay regularization", 2019; PyTorch, `torch.optim.AdamW`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = dk.optim.AdamW([x], lr=0.1, weight_decay=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8500, 1.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state; the decay stays decoupled whatever was saved."""
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adapt(xp: Any, options: Options, p: Any, g: Any, *moments: Any) -> tuple[Any, ...]:
    """Go a step along the running mean of the gradient, over the root of that of its square."""
    weight_decay = options.weight_decay
    if options.decoupled_weight_decay and weight_decay:
        p *= factor(xp, 1 - options.lr * weight_decay, p)
        weight_decay = 0.0
    g = directed(p, g, weight_decay, options.maximize)
    if not is_complex(p.dtype):
        return _adapt_real(xp, options, p, g, *moments)
    re, im = (_adapt_real(xp, options, *map(part, (p, g, *moments))) for part in (xp.real, xp.imag))
    return tuple(a + 1j * b for a, b in zip(re, im, strict=True))


def _adapt_real(
    xp: Any, options: Options, p: Any, g: Any, mean: Any, square: Any, largest: Any = None
) -> tuple[Any, ...]:
    """Do what `adapt` does with real numbers; the corrections of the moments enter as factors of the whole step."""
    beta1, beta2 = options.betas
    mean *= beta1
    mean += (1 - beta1) * g
    square *= beta2
    square += (1 - beta2) * g * g
    buffers = [mean, square] if largest is None else [mean, square, xp.maximum(largest, square)]
    root = (1 - beta2**options.step) ** 0.5
    denominator = xp.sqrt(buffers[-1])
    denominator += factor(xp, options.eps * root, p)
    change = mean / denominator
    change *= factor(xp, options.lr * root / (1 - beta1**options.step), p)
    p -= change
    return p, *buffers
