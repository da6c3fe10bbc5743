"""L-BFGS: steps by an approximation of the inverse Hessian that the last gradients give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from dispatchkit.backends.arrays import is_complex
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.optim.descent import DeclaredOptimizer
from dispatchkit.optim.optimizer import Closure, Group, Params, number
from dispatchkit.tensor import Tensor

# How much of the decrease that the slope promises is enough, and which share of the slope may be left.
DECREASE, CURVATURE = 1e-4, 0.9


class LinePoint(NamedTuple):
    """A point on the line.

    Attributes
    ----------
    step : where it lies
    loss : the function there
    gradient : vector, as a tensor
    slope : of the function along the line
    """

    step: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], LinePoint], start: LinePoint, step: float, extent: float, *, tolerance: float, most: int
) -> tuple[LinePoint, int]:
    """Return a point of low loss and small slope, and how many points were evaluated.

    Parameters
    ----------
    evaluate : gives the point of a step
    start : the point of step 0, with a negative slope
    step : to try first
    extent : largest change of an element for a step of 1
    tolerance : the search ends where steps differ by less, times `extent`
    most : number of points, besides the first, that may be evaluated

    Notes
    -----
    Source: Nocedal and Wright, "Numerical optimization", algorithms 3.5 and 3.6, with the choices of Schmidt's minFunc
    and PyTorch's `torch.optim.LBFGS`.
    """

    def too_high(point: LinePoint) -> bool:
        return point.loss > start.loss + DECREASE * point.step * start.slope

    def is_flat(point: LinePoint) -> bool:
        return abs(point.slope) <= -CURVATURE * start.slope

    last, point, count = start, evaluate(step), 0
    while count < most:
        if too_high(point) or (count > 1 and point.loss >= last.loss):
            break
        if is_flat(point):
            return point, 1 + count
        if point.slope >= 0:
            break
        step = _least_of_cubic(last, point, point.step + 0.01 * (point.step - last.step), 10 * point.step)
        last, point, count = point, evaluate(step), count + 1
    else:
        last = start
    # A point that is right lies between these two.
    ends = [last, point]
    low, stuck = _lower(ends), False
    while count < most:
        least, most_step = sorted(end.step for end in ends)
        if (most_step - least) * extent < tolerance:
            break
        step = _least_of_cubic(ends[0], ends[1], least, most_step)
        step, stuck = _apart(step, least, most_step, stuck)
        point, count = evaluate(step), count + 1
        if too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = _lower(ends)
            continue
        if not is_flat(point) and point.slope * (ends[1 - low].step - ends[low].step) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
        if is_flat(point):
            break
    return ends[low], 1 + count


def _lower(ends: list[LinePoint]) -> int:
    if ends[0].loss <= ends[1].loss:
        return 0
    return 1


def _apart(step: float, least: float, most: float, stuck: bool) -> tuple[float, bool]:
    """Return a step that is not too near to an end twice in a row, and whether this one is."""
    margin = 0.1 * (most - least)
    if min(most - step, step - least) >= margin:
        return step, False
    if not stuck and least < step < most:
        return step, True
    if abs(step - most) < abs(step - least):
        return most - margin, False
    return least + margin, False


def _least_of_cubic(end: LinePoint, other: LinePoint, least: float, most: float) -> float:
    """Return where the cubic through two points with their slopes is least, within bounds; else their middle."""
    first, second = sorted((end, other), key=lambda point: point.step)
    if first.step != second.step:
        d1 = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.step - second.step)
        square = d1 * d1 - first.slope * second.slope
        if square >= 0:
            root = math.sqrt(square)
        else:
            root = math.nan
        divisor, share = second.slope - first.slope + 2 * root, second.slope + root - d1
        if divisor and math.isfinite(divisor):
            least_step = second.step - (second.step - first.step) * (share / divisor)
            return min(max(least_step, least), most)
        # Of a straight line, which has no least point but an end.
        if not divisor and share < 0:
            return most
        if not divisor and share > 0:
            return least
    return (least + most) / 2


HISTORY = ("old_dirs", "old_stps", "ro")
LAST = ("d", "t", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(DeclaredOptimizer, formula=None):
    """Quasi-Newton steps with limited memory, for problems whose loss is computed on all data.

    Parameters
    ----------
    params : as for `Optimizer`; one group
    lr : the length of a step in units of the quasi-Newton step; the first that the line search tries
    max_iter : number of iterations in a `step`
    max_eval : number of calls of the closure in a `step`; ``max_iter * 5 // 4`` if None
    tolerance_grad : a `step` ends where no element of the gradient is larger
    tolerance_change : it ends where parameters or loss change by less
    history_size : number of gradients that are kept
    line_search_fn : ``"strong_wolfe"`` for a line search in each iteration, None for steps of length `lr`

    Raises
    ------
    ValueError : for a negative rate or tolerance, another `line_search_fn`, or a second group; else as `Optimizer`

    Notes
    -----
    `step` needs a closure and calls it several times. Where that raises in a line search, the parameters are as they
    were before the search. The state stands with the first parameter: ``"func_evals"`` and ``"n_iter"``, numbers;
    ``"d"``, ``"t"``, ``"prev_flat_grad"`` and ``"prev_loss"``, the last direction, step, gradient and loss;
    ``"old_dirs"``, ``"old_stps"`` and ``"ro"``, the changes of gradients and parameters and the reciprocals of their
    products; ``"H_diag"``. Where a line search begins with a step so small that losses differ in their last digits
    alone, rounding decides which points it tries, and they are others than PyTorch's. Source: Nocedal and Wright,
    "Numerical optimization", algorithm 7.4; PyTorch, `torch.optim.LBFGS`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([-1.5, 2.0], requires_grad=True)
    >>> optimizer = dk.optim.LBFGS([x], max_iter=100, line_search_fn="strong_wolfe")
    >>> def rosenbrock():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(rosenbrock).item()
    12.5
    >>> x
    tensor([1.0000, 1.0000], requires_grad=True)
    """

    _not_negative = ("lr", "tolerance_grad", "tolerance_change")

    params: Params
    lr: Any = 1
    max_iter: int = 20
    max_eval: int | None = None
    tolerance_grad: float = 1e-7
    tolerance_change: float = 1e-9
    history_size: int = 100
    line_search_fn: str | None = None

    @override
    def add_param_group(self, param_group: Group) -> None:
        if self.param_groups:
            raise ValueError("LBFGS has one group of parameters, since it takes all of them together")
        super().add_param_group(param_group)
        if self.param_groups[0]["max_eval"] is None:
            self.param_groups[0]["max_eval"] = self.param_groups[0]["max_iter"] * 5 // 4

    @override
    def _check_options(self, options: Mapping[str, Any], where: str) -> None:
        super()._check_options(options, where)
        if options["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(
                f"Invalid line_search_fn: {options['line_search_fn']!r} {where}; it must be 'strong_wolfe' or None"
            )

    @override
    def _check_state(self, state: Mapping[str, Any], where: str) -> None:
        if not state:
            return
        later: tuple[str, ...] = ()
        if state.get("n_iter"):
            later = (*HISTORY, *LAST)
        needed = ("func_evals", "n_iter", *later)
        missing = [name for name in needed if state.get(name) is None]
        if missing:
            raise ValueError(f"the state of {where} has {list(state)}, but no {' and no '.join(map(repr, missing))}")
        if not state["n_iter"]:
            return
        if len({len(state[name]) for name in HISTORY}) > 1:
            raise ValueError(f"{', '.join(map(repr, HISTORY))} of {where} have different lengths")
        size = sum(p.size * (1 + is_complex(p.dtype)) for p in self.param_groups[0]["params"])
        vectors = {name: [state[name]] for name in ("d", "prev_flat_grad")}
        for name, parts in {**vectors, **{name: state[name] for name in HISTORY[:2]}}.items():
            for part in parts:
                if not isinstance(part, Tensor) or part.shape != (size,):
                    if isinstance(part, Tensor):
                        problem = f"has shape {part.shape}"
                    else:
                        problem = f"is a {type(part).__name__}"
                    raise ValueError(f"{name!r} of {where} {problem}, the parameters together have {size} elements")

    @override
    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters in up to `max_iter` iterations.

        Parameters
        ----------
        closure : computes the loss and its gradients anew and returns the loss

        Returns
        -------
        Any
            What `closure` gave first.

        Raises
        ------
        TypeError : without a closure
        ValueError : if a parameter cannot be changed
        """
        if closure is None:
            raise TypeError("LBFGS.step needs a closure, which computes the loss and its gradients anew")
        loss = self._loss_of(closure)
        self._pending()
        with no_grad():
            self._iterate(closure, number(loss))
        return loss

    def _iterate(self, closure: Closure, loss: float) -> None:
        """Go on from a loss, whose gradients are there, until a bound is reached."""
        [group] = self.param_groups
        parameters, bound = group["params"], group["tolerance_change"]
        state = self.state[parameters[0]]
        state["func_evals"], evaluations = state.get("func_evals", 0) + 1, 1
        state.setdefault("n_iter", 0)
        gradient = self._gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return
        for left in reversed(range(group["max_iter"])):
            state["n_iter"] += 1
            d = state["d"] = _direction(state, gradient, group["history_size"])
            factor = 1.0
            if state["n_iter"] == 1:
                factor = min(1.0, 1 / number(xp.sum(xp.abs(gradient))))
            state["t"] = number(group["lr"]) * factor
            state["prev_flat_grad"], state["prev_loss"] = gradient, loss
            before, slope, starts = loss, _dot(gradient, d), [p.clone() for p in parameters]
            if slope > -bound:
                return
            count = 0
            if group["line_search_fn"] is not None:
                start, most = LinePoint(0.0, loss, gradient, slope), group["max_eval"] - evaluations
                point, count = strong_wolfe(
                    partial(self._point, closure, starts, d),
                    start,
                    state["t"],
                    _largest(d),
                    tolerance=bound,
                    most=most,
                )
                state["t"], loss, gradient, _ = point.step, point.loss, point.gradient, point.slope
            self._move(starts, d, state["t"])
            if group["line_search_fn"] is None and left:
                loss, gradient, count = number(self._loss_of(closure)), self._gradient(), 1
            evaluations += count
            state["func_evals"] += count
            if evaluations >= group["max_eval"] or _largest(gradient) <= group["tolerance_grad"]:
                return
            if state["t"] * _largest(d) <= bound or abs(loss - before) < bound:
                return

    def _gradient(self) -> Tensor:
        """Return all gradients as one vector, zeros where there is none."""
        parameters = self.param_groups[0]["params"]
        vector: Tensor = xp.concat([_flat(_gradient_of(p)) for p in parameters])
        return vector

    def _point(self, closure: Closure, starts: list[Tensor], d: Tensor, t: float) -> LinePoint:
        """Return the point at a step; the parameters go back to where they start."""
        try:
            self._move(starts, d, t)
            loss = number(self._loss_of(closure))
            gradient = self._gradient()
        finally:
            self._move(starts, d, 0.0)
        return LinePoint(t, loss, gradient, _dot(gradient, d))

    def _move(self, starts: list[Tensor], d: Tensor, t: float) -> None:
        """Set the parameters to where they start plus a step in a direction."""
        place = 0
        for p, start in zip(self.param_groups[0]["params"], starts, strict=True):
            n = p.size
            change = d[place : place + n]
            place += n
            if is_complex(p.dtype):
                change = change + 1j * d[place : place + n]
                place += n
            moved = start
            if t:
                moved = start + t * change.reshape(p.shape)
            p.copy_(moved)


def _gradient_of(p: Tensor) -> Tensor:
    if p.grad is None:
        return xp.zeros_like(p)  # type: ignore[no-any-return]  # a tensor
    return p.grad.detach()


def _flat(x: Tensor) -> Tensor:
    """Return the elements as a vector of real numbers."""
    parts = [x]
    if is_complex(x.dtype):
        parts = [xp.real(x), xp.imag(x)]
    return xp.concat([part.reshape(-1) for part in parts])  # type: ignore[no-any-return]  # a tensor


def _dot(x: Tensor, y: Tensor) -> Any:
    return number(x @ y)


def _largest(x: Tensor) -> Any:
    return number(xp.max(xp.abs(x)))


def _direction(state: dict[str, Any], gradient: Tensor, size: int) -> Any:
    """Return minus the gradient times the approximate inverse Hessian, with the last step in the approximation."""
    if state["n_iter"] == 1:
        state.update({name: [] for name in HISTORY}, H_diag=1.0)
        return -gradient
    y, s = gradient - state["prev_flat_grad"], state["d"] * number(state["t"])
    product = _dot(y, s)
    if product > 1e-10:
        for name, value in zip(HISTORY, (y, s, 1 / product), strict=True):
            state[name] = [*state[name], value][-size:]
        state["H_diag"] = product / _dot(y, y)
    history = list(zip(*(state[name] for name in HISTORY), strict=True))
    q, shares = -gradient, []
    for y, s, ro in reversed(history):
        shares.append(_dot(s, q) * number(ro))
        q = q - shares[-1] * y
    r = q * number(state["H_diag"])
    for (y, s, ro), share in zip(history, reversed(shares), strict=True):
        r = r + (share - _dot(y, r) * number(ro)) * s
    return r
