"""Optimisers whose steps differ from element to element: `Adagrad`, `Adadelta`, `Adamax`, `NAdam`, `RAdam`, `Rprop`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dispatchkit.marks import override
from dispatchkit.optim.changes import Options
from dispatchkit.optim.descent import Counted, Moments, keep
from dispatchkit.optim.groups import number_of
from dispatchkit.optim.optimizer import at_least, by_parts, factor

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "Rprop"]


def go_by_sum(xp: Any, options: Options, p: Any, g: Any, total: Any) -> tuple[Any, ...]:
    """Go a step along the gradient over the root of the sum of its squares."""
    total += g * g
    rate = options.lr / (1 + (options.step - 1) * options.lr_decay)
    p -= factor(xp, rate, p) * g / (xp.sqrt(total) + options.eps)
    return p, total


class Adagrad(Counted, formula=by_parts(go_by_sum)):
    """Gradient descent with a rate for each element, by the sum of the squares of its gradients.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    lr_decay : how fast it falls with the number of steps
    weight_decay : the parameter times this is added to its gradient
    initial_accumulator_value : what the sums begin with
    eps : added to their root
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for a negative option, naming the group; else as `Optimizer`

    Notes
    -----
    With gradient g and step number t a step computes s ← s + g² and p ← p − lr / (1 + (t − 1) lr_decay) g / (√s + ε).
    The parts of complex numbers are taken for numbers of their own. The state of a parameter is ``"step"``, t, and
    ``"sum"``, s. Source: Duchi, Hazan and Singer, 2011; PyTorch, `torch.optim.Adagrad`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.Adagrad([x], lr=1.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([1.0000, 2.0000], requires_grad=True)
    """

    _buffers = ("sum",)
    _starts: ClassVar[Mapping[str, Any]] = {"sum": "initial_accumulator_value"}

    lr: Any = 1e-2
    lr_decay: float = 0
    weight_decay: float = 0
    initial_accumulator_value: float = 0
    eps: float = 1e-10


def go_by_changes(xp: Any, options: Options, p: Any, g: Any, square: Any, changes: Any) -> tuple[Any, ...]:
    """Go a step along the gradient, times the root of the mean square of changes over that of gradients."""
    square = keep(square, options.rho, g * g)
    change = xp.sqrt(changes + options.eps) / xp.sqrt(square + options.eps) * g
    changes = keep(changes, options.rho, change * change)
    p -= factor(xp, options.lr, p) * change
    return p, square, changes


class Adadelta(Counted, formula=by_parts(go_by_changes)):
    """Gradient descent with a rate for each element, by the mean squares of its gradients and of its changes.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : what the changes are multiplied by
    rho : how much of the mean squares is kept
    eps : added to them under the roots
    weight_decay : the parameter times this is added to its gradient
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for a negative option, or `rho` above 1, naming the group; else as `Optimizer`

    Notes
    -----
    With gradient g a step computes v ← ρ v + (1 − ρ) g², d ← √(u + ε) / √(v + ε) g, u ← ρ u + (1 − ρ) d² and
    p ← p − lr d. The parts of complex numbers are taken for numbers of their own. The state of a parameter is
    ``"step"``; ``"square_avg"``, v; and ``"acc_delta"``, u. Source: Zeiler, 2012; PyTorch, `torch.optim.Adadelta`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.Adadelta([x], eps=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([1.0299, 2.0136], requires_grad=True)
    """

    _buffers = ("square_avg", "acc_delta")

    lr: Any = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0

    @override
    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        super()._check_options(options, where)
        if number_of(options["rho"], "rho value", where) > 1:
            raise ValueError(f"Invalid rho value: {options['rho']} {where}; it must be from 0 to 1")


def go_by_largest(xp: Any, options: Options, p: Any, g: Any, mean: Any, largest: Any) -> tuple[Any, ...]:
    """Go a step along the running mean of the gradient, over the largest one lately."""
    beta1, beta2 = map(float, options.betas)
    mean = keep(mean, beta1, g)
    largest = xp.maximum(largest * beta2, xp.abs(g) + options.eps)
    p -= factor(xp, options.lr / (1 - beta1**options.step), p) * mean / largest
    return p, mean, largest


class Adamax(Moments, formula=by_parts(go_by_largest)):
    """Adaptive moments, with the largest gradient lately in the place of the mean square.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    betas : how much is kept, in each step, of the running mean and of the largest gradient
    eps : added to the size of gradients
    weight_decay : the parameter times this is added to its gradient
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : as `Adam`

    Notes
    -----
    With gradient g and step number t a step computes m ← β₁ m + (1 − β₁) g, u ← max(β₂ u, abs(g) + ε) and
    p ← p − lr / (1 − β₁ᵗ) m / u. The state of a parameter is ``"step"``, t; ``"exp_avg"``, m; and ``"exp_inf"``, u.
    Source: Kingma and Ba, 2015, section 7; PyTorch, `torch.optim.Adamax`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.Adamax([x], lr=1.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([1.0000, 2.0000], requires_grad=True)
    """

    _buffers = ("exp_avg", "exp_inf")

    lr: Any = 2e-3


def look_ahead(xp: Any, options: Options, p: Any, g: Any, mean: Any, square: Any) -> tuple[Any, ...]:
    """Go a step as `Adam` does, with Nesterov's momentum, of which each step has another one."""
    beta1, beta2 = map(float, options.betas)
    mean, square = keep(mean, beta1, g), keep(square, beta2, g * g)
    root = xp.sqrt(square / factor(xp, 1 - beta2**options.step, p)) + options.eps
    of_gradient = options.lr * (1 - options.momentum) / (1 - options.product)
    of_mean = options.lr * options.next_momentum / (1 - options.product * options.next_momentum)
    p -= (factor(xp, of_gradient, p) * g + factor(xp, of_mean, p) * mean) / root
    return p, mean, square


class NAdam(Moments, formula=by_parts(look_ahead)):
    """Adaptive moments with Nesterov's momentum.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    betas : how much is kept, in each step, of the running means of the gradient and of its square
    eps : added to the denominator
    weight_decay : the parameter times this is added to its gradient
    momentum_decay : how fast the momentum rises to the first of `betas`
    decoupled_weight_decay : whether to shrink the parameter itself, as `AdamW` does, rather than its gradient
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : as `Adam`

    Notes
    -----
    With m, v and v̂ as in `Adam` and μₜ = β₁ (1 − 0.96^(t ψ) / 2), where ψ is `momentum_decay`, a step computes
    p ← p − lr ((1 − μₜ) g / (1 − Πₜ) + μₜ₊₁ m / (1 − Πₜ₊₁)) / (√v̂ + ε), where Πₜ = μ₁ ⋯ μₜ. The state of a parameter is
    ``"step"``, t; ``"mu_product"``, Πₜ; ``"exp_avg"``, m; and ``"exp_avg_sq"``, v. Source: Dozat, "Incorporating
    Nesterov momentum into Adam", 2016; PyTorch, `torch.optim.NAdam`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([1.8944, 2.8944], requires_grad=True)
    """

    _counters = ("step", "mu_product")
    _starts: ClassVar[Mapping[str, Any]] = {"mu_product": 1.0}

    lr: Any = 2e-3
    momentum_decay: float = 4e-3
    decoupled_weight_decay: bool = False

    @override
    def _count(self, name: str, value: Any, options: Options) -> Any:
        if name == "step":
            return super()._count(name, value, options)
        most, rise = float(options.betas[0]), 0.96**options.momentum_decay
        options.momentum = most * (1 - 0.5 * rise**options.step)
        options.next_momentum = most * (1 - 0.5 * rise ** (options.step + 1))
        options.product = value * options.momentum
        return options.product


def rectify(xp: Any, options: Options, p: Any, g: Any, mean: Any, square: Any) -> tuple[Any, ...]:
    """Go a step as `Adam` does, by the root of the mean square only once its variance is known."""
    beta1, beta2 = map(float, options.betas)
    mean, square = keep(mean, beta1, g), keep(square, beta2, g * g)
    kept, most = beta2**options.step, 2 / (1 - beta2) - 1
    length = most - 2 * options.step * kept / (1 - kept)
    known = at_least(length, 5.0)
    share = (known - 4) * (known - 2) * most / (max((most - 4) * (most - 2), 1.0) * known) * (1 - kept)
    change = factor(xp, options.lr / (1 - beta1**options.step), p) * mean
    rectified = change * factor(xp, share**0.5, p) / (xp.sqrt(square) + options.eps)
    if isinstance(length, float):
        if length > 5:
            p -= rectified
        else:
            p -= change
    else:
        p -= xp.where(length > 5, rectified, change)
    return p, mean, square


class RAdam(Moments, formula=by_parts(rectify)):
    """Adaptive moments, whose first steps are rectified.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    betas : how much is kept, in each step, of the running means of the gradient and of its square
    eps : added to the denominator
    weight_decay : the parameter times this is added to its gradient
    decoupled_weight_decay : whether to shrink the parameter itself, as `AdamW` does, rather than its gradient
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : as `Adam`

    Notes
    -----
    With m, v and m̂ as in `Adam`, ρ∞ = 2 / (1 − β₂) − 1 and ρ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ) a step computes p ← p − lr m̂
    where ρ ≤ 5, and else p ← p − lr m̂ r √(1 − β₂ᵗ) / (√v + ε) with r² = (ρ − 4)(ρ − 2) ρ∞ / ((ρ∞ − 4)(ρ∞ − 2) ρ). The
    state is that of `Adam`. Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2020;
    PyTorch, `torch.optim.RAdam`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.RAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([1.6000, 2.4000], requires_grad=True)
    """

    decoupled_weight_decay: bool = False


def average(xp: Any, options: Options, p: Any, g: Any, mean: Any) -> tuple[Any, ...]:
    """Go a step along the gradient, and take where it leads into the average."""
    p *= factor(xp, 1 - options.lambd * options.eta, p)
    p -= factor(xp, options.eta, p) * g
    mean += factor(xp, options.mu, p) * (p - mean)
    return p, mean


class ASGD(Counted, formula=by_parts(average)):
    """Gradient descent that averages the parameters of its steps.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : learning rate
    lambd : decay of the parameters, and of the rate
    alpha : power with which the rate falls
    t0 : number of the step from which on the average is taken
    weight_decay : the parameter times this is added to its gradient
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for a negative rate or decay, naming the group; else as `Optimizer`

    Notes
    -----
    With gradient g and step number t a step computes p ← (1 − λ η) p − η g and a ← a + μ (p − a), and for the next one
    η = lr / (1 + λ lr t)^α and μ = 1 / max(1, t − t0). The parameters are not the average: it is in the state,
    ``"step"``, t; ``"eta"``, η; ``"mu"``, μ; and ``"ax"``, a. Source: Polyak and Juditsky, 1992; PyTorch,
    `torch.optim.ASGD`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> optimizer = dk.optim.ASGD([x], lr=0.25, lambd=0.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[x]["ax"]
    tensor([1.0000, 1.5000])
    """

    _buffers = ("ax",)
    _counters = ("step", "eta", "mu")
    _starts: ClassVar[Mapping[str, Any]] = {"eta": "lr", "mu": 1.0}

    lr: Any = 1e-2
    lambd: float = 1e-4
    alpha: float = 0.75
    t0: float = 1e6
    weight_decay: float = 0

    @override
    def _count(self, name: str, value: Any, options: Options) -> Any:
        if name == "step":
            return super()._count(name, value, options)
        setattr(options, name, value)
        if name == "eta":
            return options.lr / (1 + options.lambd * options.lr * options.step) ** options.alpha
        return 1 / at_least(options.step - options.t0, 1.0)


def go_by_sign(xp: Any, options: Options, p: Any, g: Any, before: Any, size: Any) -> tuple[Any, ...]:
    """Go a step by the signs of the gradient, shorter where one has changed, else longer."""
    sign, ones = xp.sign(g * before), xp.ones_like(g)
    shorter, longer = map(float, options.etas)
    size = xp.clip(
        size * xp.where(sign > 0, longer * ones, xp.where(sign < 0, shorter * ones, ones)), *options.step_sizes
    )
    g = xp.where(sign < 0, 0 * ones, g)
    p -= xp.sign(g) * size
    return p, g, size


class Rprop(Counted, formula=by_parts(go_by_sign)):
    """Resilient propagation: steps by the signs of the gradient alone; for gradients of all data.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : length of the first steps
    etas : what the length of an element's step is multiplied by where the sign of its gradient has changed, and where
        it has not
    step_sizes : the least and the largest length of a step
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for a negative rate, or `etas` that are not below and above 1, naming the group; else as `Optimizer`

    Notes
    -----
    Where the sign has changed, no step is taken, and the next one goes by the new sign. The parts of complex numbers
    are taken for numbers of their own. The state of a parameter is ``"step"``; ``"prev"``, the gradient before; and
    ``"step_size"``. Source: Riedmiller and Braun, 1993; PyTorch, `torch.optim.Rprop`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([2.0, -3.0], requires_grad=True)
    >>> optimizer = dk.optim.Rprop([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([ 1.5000, -2.5000], requires_grad=True)
    """

    _buffers = ("prev", "step_size")
    _starts: ClassVar[Mapping[str, Any]] = {"step_size": "lr"}

    lr: Any = 1e-2
    etas: tuple[float, float] = (0.5, 1.2)
    step_sizes: tuple[float, float] = (1e-6, 50)

    @override
    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        super()._check_options(options, where)
        shorter, longer = options["etas"]
        if not 0 < shorter < 1 < longer:
            raise ValueError(f"Invalid eta values: {shorter}, {longer} {where}; one must be below 1, the other above")
