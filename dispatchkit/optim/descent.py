"""Optimisers whose steps follow the gradient: `SGD`, `RMSprop`, `Adam`, `AdamW`, each a table and a formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from types import MappingProxyType
from typing import Any, ClassVar, Literal, dataclass_transform

import numpy as np

from dispatchkit.fields import declare_fields
from dispatchkit.marks import override
from dispatchkit.optim import torch_steps
from dispatchkit.optim.changes import Formula, Options, Together
from dispatchkit.optim.groups import number_of
from dispatchkit.optim.optimizer import Optimizer, Params, by_parts, downhill, factor

__all__ = ["SGD", "Adam", "AdamW", "RMSprop"]


def descend(xp: Any, options: Options, p: Any, g: Any, *buffers: Any) -> tuple[Any, ...]:
    """Go a step along the gradient, or along what has gathered in a buffer."""
    g = downhill(p, g, options.weight_decay, options.maximize)
    if buffers:
        (buffer,) = buffers
        weight = 1.0
        if not options.is_first:
            weight = 1.0 - options.dampening
        buffer *= options.momentum
        if weight == 1:
            buffer += g
        else:
            buffer += weight * g
        if options.nesterov:
            g = g + options.momentum * buffer
        else:
            g = buffer
        buffers = (buffer,)  # another one where arrays cannot be changed, as JAX's
    p -= factor(xp, options.lr, p) * g
    return p, *buffers


@dataclass_transform()
class DeclaredOptimizer(Optimizer):
    """Base of classes whose options are fields, of which the constructor is made, where they name their formula.

    One that names None has none, or leaves it to those that inherit its fields. Options that are numbers by default
    must not be negative, where the class does not say which.
    """

    _always: ClassVar[tuple[str, ...]] = ()  # options that are True

    def __init_subclass__(
        cls,
        *,
        formula: Formula | Literal[False] | None = False,
        together: Mapping[str, Together] = MappingProxyType({}),
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if formula is not False:
            cls._formula, cls._together = formula and staticmethod(formula), together
            fields = declare_fields(cls, _begin, without=cls._always)
            if "_not_negative" not in cls.__dict__:
                cls._not_negative = tuple(name for name, x in fields.items() if type(x.default) in (int, float))


def _begin(self: DeclaredOptimizer, values: dict[str, Any]) -> None:
    Optimizer.__init__(self, values.pop("params"), {**values, **dict.fromkeys(self._always, True)})


class Descent(DeclaredOptimizer, formula=None):
    """What optimisers share that have a formula."""

    params: Params
    _: KW_ONLY
    maximize: bool = False


def keep(buffer: Any, share: float, value: Any) -> Any:
    """Return a buffer of which a share is kept, and the rest is of another value; NumPy's is changed."""
    buffer *= share
    buffer += (1 - share) * value
    return buffer


def increase(x: Any, value: Any) -> Any:
    """Return an intermediate result plus a value; NumPy's is changed, a tensor's graph may need it as it is."""
    if isinstance(x, np.ndarray):
        x += value
        return x
    return x + value


class SGD(Descent, formula=descend, together={"torch": Together(torch_steps.place_of, torch_steps.descend)}):
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
    _asked_by: ClassVar[Mapping[str, str]] = {"momentum_buffer": "momentum"}
    _not_negative = ("lr", "momentum", "weight_decay")
    _first_differs = ("dampening",)

    lr: Any = 1e-3
    momentum: float = 0
    dampening: float = 0
    weight_decay: float = 0
    nesterov: bool = False

    @override
    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        super()._check_options(options, where)
        dampening = number_of(options["dampening"], "dampening value", where)
        if options["nesterov"] and (not options["momentum"] or dampening):
            raise ValueError(
                f"Nesterov momentum requires a momentum and zero dampening; {where} momentum is "
                f"{options['momentum']}, dampening {options['dampening']}"
            )


def go_by_root(xp: Any, options: Options, p: Any, g: Any, square: Any, *others: Any) -> tuple[Any, ...]:
    """Go a step along the gradient over the root of its mean square."""
    square = keep(square, options.alpha, g * g)
    spread, buffers = square, list(others)
    if options.centered:
        buffers[-1] += (1 - options.alpha) * (g - buffers[-1])
        spread = square - buffers[-1] * buffers[-1]
    change = g / (xp.sqrt(spread) + options.eps)
    if options.momentum:
        buffers[0] *= options.momentum
        buffers[0] += change
        change = buffers[0]
    p -= factor(xp, options.lr, p) * change
    return (p, square, *buffers)


class RMSprop(Descent, formula=by_parts(go_by_root)):
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
    ``"square_avg"``, and where they are used ``"momentum_buffer"`` and ``"grad_avg"``. Source: Hinton, lecture 6e of
    "Neural networks for machine learning", 2012; PyTorch, `torch.optim.RMSprop`.

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

    _buffers = ("square_avg", "momentum_buffer", "grad_avg")
    _asked_by: ClassVar[Mapping[str, str]] = {"momentum_buffer": "momentum", "grad_avg": "centered"}

    lr: Any = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0
    momentum: float = 0
    centered: bool = False


def adapt(xp: Any, options: Options, p: Any, g: Any, mean: Any, square: Any, largest: Any = None) -> tuple[Any, ...]:
    """Go a step along the running mean of the gradient, over the root of that of its square.

    The corrections of both enter as factors of the whole step.
    """
    beta1, beta2 = map(float, options.betas)
    mean, square = keep(mean, beta1, g), keep(square, beta2, g * g)
    if largest is None:
        buffers = [mean, square]
    else:
        buffers = [mean, square, xp.maximum(largest, square)]
    root = (1 - beta2**options.step) ** 0.5
    change = mean / increase(xp.sqrt(buffers[-1]), factor(xp, options.eps * root, p))
    change *= factor(xp, options.lr * root / (1 - beta1**options.step), p)
    p -= change
    return p, *buffers


class Counted(Descent):
    """What optimisers share that count their steps."""

    _counters: ClassVar[tuple[str, ...]] = ("step",)

    @override
    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        super()._check_options(options, where)
        betas = options.get("betas", ())
        if "betas" in options and (not isinstance(betas, (tuple, list)) or len(betas) != 2):
            raise ValueError(f"Invalid betas: {betas!r} {where}; expected a pair of numbers")
        for index, beta in enumerate(betas):
            if not 0 <= number_of(beta, f"beta parameter at index {index}", where) < 1:
                raise ValueError(
                    f"Invalid beta parameter at index {index}: {beta} {where}; it must be from 0 on and below 1"
                )

    @override
    def _check_state(self, state: Mapping[str, Any], where: str) -> None:
        missing = [name for name in (*self._counters, *self._buffers[:2]) if state.get(name) is None]
        if state and missing:
            raise ValueError(f"the state of {where} has {list(state)}, but no {' and no '.join(map(repr, missing))}")
        if state:
            number_of(state["step"], "number of steps", f"of {where}")


class Moments(Counted, formula=None):
    """What optimisers share that keep running means of the gradient and of its square."""

    _buffers: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")

    lr: Any = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0


ADAPT_TOGETHER = {"torch": Together(torch_steps.place_of, torch_steps.adapt)}


class Adam(Moments, formula=by_parts(adapt), together=ADAPT_TOGETHER):
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

    _buffers = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    _asked_by: ClassVar[Mapping[str, str]] = {"max_exp_avg_sq": "amsgrad"}

    amsgrad: bool = False
    _: KW_ONLY
    decoupled_weight_decay: bool = False


class AdamW(Adam, formula=by_parts(adapt), together=ADAPT_TOGETHER):
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

    _always = ("decoupled_weight_decay",)

    weight_decay: float = 1e-2

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state; the decay stays decoupled whatever was saved."""
        super().__setstate__(state)
        for group in self.param_groups:
            group.update(dict.fromkeys(self._always, True))
