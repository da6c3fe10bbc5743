"""Optimisers that look at whole matrices or at some rows, `torch.optim.Adafactor`, `Muon` and `SparseAdam`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from dispatchkit import optim
from dispatchkit.backends.arrays import is_complex
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import enable_grad, no_grad
from dispatchkit.marks import override

__all__ = ["Adafactor", "Muon", "SparseAdam"]


class _OfMatrices(optim.Optimizer):
    """What both share: a step for each parameter that has a gradient."""

    @override
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient.

        Parameters
        ----------
        closure : computes the loss anew, which is returned

        Returns
        -------
        Any
            What `closure` gives, None without one.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group, p in self._with_gradients():
                self._change_one(group, p, p.grad, self.state[p])
        return loss

    def _with_gradients(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield the parameters that have a gradient, each with its group."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if is_complex(p.dtype):
                        raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
                    yield group, p

    def _change_one(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        """Change a parameter and its state."""
        raise NotImplementedError


def root_mean_square(x: Any) -> float:
    """Return the root of the mean square of the elements of a tensor."""
    return math.sqrt(float(xp.sum(x * x)) / max(x.numel(), 1))


class Adafactor(_OfMatrices):
    """Gradient descent with a rate for each element of a matrix, which is kept for its rows and columns alone.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : the largest relative step
    beta2_decay : power of the number of steps that the running means take in of new squares
    eps : the least size of mean squares, that of the dtype if None, and of parameters
    d : root mean square above which changes are made smaller
    weight_decay : the parameter shrinks by this times the rate
    foreach : which changes nothing here
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for an option out of its range
    RuntimeError : for complex parameters

    Notes
    -----
    Source: Shazeer and Stern, 2018; PyTorch, `torch.optim.Adafactor`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor([2.0, -3.0], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([ 0.7252, -1.7252], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        of_squares, of_parameters = eps
        bounds = [
            ("Learning rate", lr, "be >= 0", lr >= 0),
            ("beta2_decay", beta2_decay, "be <= 0", beta2_decay <= 0),
            ("epsilon1", of_squares, "be >= 0", of_squares is None or of_squares >= 0),
            ("epsilon2", of_parameters, "be >= 0", of_parameters >= 0),
            ("Clipping threshold d", d, "be >= 1", d >= 1),
            ("weight_decay", weight_decay, "be >= 0", weight_decay >= 0),
        ]
        for name, value, what, holds in bounds:
            if not holds:
                raise ValueError(f"{name} should {what} but is: {value}")
        options = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, {**options, "foreach": foreach, "maximize": maximize})

    @override
    def _change_one(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        state["step"] = step = state.get("step", 0) + 1
        of_squares, of_parameters = group["eps"]
        if of_squares is None:
            of_squares = float(xp.finfo(p.dtype).eps)
        if group["maximize"]:
            g = -g
        lr, new = float(group["lr"]), float(step) ** group["beta2_decay"]
        rate = max(of_parameters, root_mean_square(p)) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if p.ndim > 1:
            rows = _kept(state, "row_var", xp.mean(g * g, axis=-1, keepdims=True), new)
            columns = _kept(state, "col_var", xp.mean(g * g, axis=-2, keepdims=True), new)
            square = rows @ columns / xp.clip(xp.mean(rows, axis=-2, keepdims=True), of_squares, None)
        else:
            square = _kept(state, "variance", g * g, new)
        change = g / xp.sqrt(xp.clip(square, of_squares * of_squares, None))
        p.sub_(change * (rate / max(1.0, root_mean_square(change) / group["d"])))


def _kept(state: dict[str, Any], name: str, value: Any, new: float) -> Any:
    """Take a value into a running mean of the state, which begins with zeros, and return the mean."""
    before = state.get(name)
    if before is None:
        before = xp.zeros_like(value)
    state[name] = before + new * (value - before)
    return state[name]


class Muon(_OfMatrices):
    """Descent along running means of the gradients of matrices, made orthogonal.

    Parameters
    ----------
    params : matrices
    lr : learning rate
    weight_decay : the parameter shrinks by this times the rate
    momentum : how much is kept of the running mean
    nesterov : whether to look ahead
    ns_coefficients : of the polynomial by which matrices become orthogonal
    eps : the least norm of a matrix
    ns_steps : how often the polynomial is applied
    adjust_lr_fn : ``"original"``, also None, by the shape's ratio; ``"match_rms_adamw"``, by its longer axis

    Raises
    ------
    ValueError : for a parameter with another number of axes, or an option out of its range
    RuntimeError : for complex parameters

    Notes
    -----
    PyTorch rounds to bfloat16 while a matrix becomes orthogonal; here it keeps its dtype, so that changes differ in the
    third figure. Source: Jordan et al., 2024; PyTorch, `torch.optim.Muon`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor([[2.0, 0.0], [0.0, -3.0]], requires_grad=True)
    >>> optimizer = torch.optim.Muon([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> bool(x[0, 0] < 1.9)
    True
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if value < 0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        options = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov}
        polynomial = {"ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps}
        super().__init__(params, {**options, **polynomial, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {tuple(p.shape)}"
                    )

    @override
    def _change_one(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        mean = _kept(state, "momentum_buffer", g, 1 - group["momentum"])
        if group["nesterov"]:
            mean = g + group["momentum"] * (mean - g)
        change = orthogonal(mean, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr, (m, n) = float(group["lr"]), p.shape
        p.mul_(1 - lr * group["weight_decay"])
        if group["adjust_lr_fn"] == "match_rms_adamw":
            p.sub_(change * (0.2 * math.sqrt(max(m, n)) * lr))
        else:
            p.sub_(change * (math.sqrt(max(1, m / n)) * lr))


def orthogonal(x: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """Return a matrix with singular values near 1, by a polynomial of Newton and Schulz.

    Parameters
    ----------
    x : matrix of shape (M, N)
    coefficients : a, b and c of ``a x + b (x x^T) x + c (x x^T)^2 x``
    steps : how often the polynomial is applied
    eps : the least norm that the matrix is divided by
    """
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.mT
    x = x / max(math.sqrt(float(xp.sum(x * x))), eps)
    for _ in range(steps):
        products = x @ x.mT
        x = a * x + (b * products + c * products @ products) @ x
    if tall:
        return x.mT
    return x


class SparseAdam(_OfMatrices):
    """Adam of those rows that have a gradient: others, and what is kept for them, stay as they are.

    Parameters
    ----------
    params : as for `Optimizer`
    lr : the rate
    betas : what running means of gradients and of their squares keep at each step
    eps : what is added to roots of squares
    maximize : whether to climb rather than descend

    Raises
    ------
    ValueError : for an option out of its range
    RuntimeError : for complex parameters

    Notes
    -----
    Gradients are dense here, also those of ``Embedding(sparse=True)``: a row has none where it is 0. Source: PyTorch,
    `torch.optim.SparseAdam`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> rows = torch.ones(2, 2, requires_grad=True)
    >>> optimizer = torch.optim.SparseAdam([rows], lr=0.5)
    >>> rows[0].sum().backward()
    >>> optimizer.step()
    >>> rows
    tensor([[0.5000, 0.5000],
            [1.0000, 1.0000]], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if not lr > 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for place, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    @override
    def _change_one(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        state["step"] = step = state.get("step", 0) + 1
        if group["maximize"]:
            g = -g
        has_gradient = xp.any(xp.reshape(g != 0, (g.shape[0], -1)), axis=1) if g.ndim else g != 0
        has_gradient = xp.reshape(has_gradient, (*has_gradient.shape, *(1,) * (g.ndim - 1)))
        moments = []
        for name, value, beta in zip(("exp_avg", "exp_avg_sq"), (g, g * g), group["betas"], strict=True):
            before = state.get(name)
            if before is None:
                before = xp.zeros_like(p)
            state[name] = xp.where(has_gradient, before + (1 - beta) * (value - before), before)
            moments.append(state[name])
        first, second = (1 - beta**step for beta in group["betas"])
        rate = float(group["lr"]) * math.sqrt(second) / first
        p.sub_(xp.where(has_gradient, rate * moments[0] / (xp.sqrt(moments[1]) + group["eps"]), 0.0))
