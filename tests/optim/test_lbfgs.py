"""`LBFGS`: losses as PyTorch's, states that go on, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 5))
Y = (X @ RNG.standard_normal(5) + RNG.standard_normal(200) > 0) * 1.0


def rosenbrock(library: Any, dtype: str) -> tuple[list[Any], Callable[[], Any]]:
    x = library.tensor([-1.5, 2.0], dtype=getattr(library, dtype), requires_grad=True)
    return [x], lambda: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def logistic(library: Any, dtype: str) -> tuple[list[Any], Callable[[], Any]]:
    def tensor(values: Any, **keywords: Any) -> Any:
        return library.tensor(values, dtype=getattr(library, dtype), **keywords)

    w, b = tensor(np.zeros(5), requires_grad=True), tensor(np.zeros(()), requires_grad=True)
    x, y = tensor(X), tensor(Y)
    entropy = library.nn.functional.binary_cross_entropy_with_logits
    return [w, b], lambda: entropy(x @ w + b, y) + 0.01 * (w * w).sum()


def modulus(library: Any, dtype: str) -> tuple[list[Any], Callable[[], Any]]:
    z = library.tensor(np.array([1 + 2j, -0.5 + 0.25j]), requires_grad=True)
    w = library.tensor([0.5, 0.25], dtype=library.float64, requires_grad=True)
    return [w, z], lambda: ((z - w) * (z - w).conj()).real.sum() ** 2 + (w**4).sum() + (z.imag - 1).cos().sum()


def closure_of(optimizer: Any, loss_of: Callable[[], Any], losses: list[float]) -> Callable[[], Any]:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        losses.append(loss.item())
        return loss

    return closure


def run(problem: Any, library: Any, options: dict[str, Any], steps: int, dtype: str = "float64") -> tuple[Any, Any]:
    """Return the loss of every call of the closure, and the parameters at the end."""
    parameters, loss_of = problem(library, dtype)
    optimizer, losses = library.optim.LBFGS(parameters, **options), []  # type: ignore[var-annotated]
    closure = closure_of(optimizer, loss_of, losses)
    for _ in range(steps):
        optimizer.step(closure)
    return losses, [p.detach().numpy() for p in parameters]


SEARCH: dict[str, Any] = {"line_search_fn": "strong_wolfe"}
OPTIONS: list[tuple[dict[str, Any], int]] = [
    (SEARCH, 6),
    ({"lr": 0.01}, 3),
    ({"lr": 0.1, "history_size": 3, "max_iter": 30}, 2),
    ({**SEARCH, "lr": 0.3, "max_iter": 4, "max_eval": 5}, 8),
    ({**SEARCH, "max_eval": 1}, 3),
    ({**SEARCH, "tolerance_grad": 0.1}, 2),
    ({**SEARCH, "tolerance_change": 0.01}, 2),
]


@pytest.mark.parametrize("problem", [rosenbrock, logistic, modulus])
@pytest.mark.parametrize(("options", "steps"), OPTIONS, ids=str)
def test_losses_are_pytorchs(problem: Any, options: dict[str, Any], steps: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch gives the losses to compare with")
    (losses, found), (expected, wanted) = (run(problem, library, options, steps) for library in (dk, torch))
    assert len(losses) == len(expected)
    np.testing.assert_allclose(losses, expected, rtol=1e-10, atol=1e-10)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_the_first_losses_on_rosenbrocks_function() -> None:
    losses, [x] = run(rosenbrock, dk, SEARCH, 6)
    np.testing.assert_allclose(losses[:4], [12.5, 288.82414277074395, 5.875809972976888, 5.863573595921402], rtol=1e-9)
    assert losses[-1] < 1e-9
    np.testing.assert_allclose(x, [1.0, 1.0], atol=1e-5)


def test_a_quadratic_function_is_minimised_in_two_iterations() -> None:
    x = dk.tensor([3.0, -1.0], requires_grad=True)
    optimizer = dk.optim.LBFGS([x], max_iter=2, max_eval=3)
    calls: list[float] = []
    first = optimizer.step(closure_of(optimizer, lambda: ((x - 2.0) ** 2).sum() / 2, calls))
    assert first.item() == 5.0
    np.testing.assert_allclose(x.tolist(), [2.0, 2.0], rtol=1e-14)
    assert (optimizer.state[x]["n_iter"], optimizer.state[x]["func_evals"], len(calls)) == (2, 2, 2)


def test_a_search_on_a_straight_line_takes_ten_times_the_step_until_its_bound() -> None:
    x = dk.tensor([0.0], requires_grad=True)
    optimizer = dk.optim.LBFGS([x], lr=0.25, max_iter=1, max_eval=4, line_search_fn="strong_wolfe")
    seen: list[float] = []

    def closure() -> Any:
        optimizer.zero_grad()
        seen.append(x.item())
        loss = (-2.0 * x).sum()
        loss.backward()
        return loss

    # The first step is `lr` over the sum of the gradient, 0.125, in the direction 2.
    optimizer.step(closure)
    assert seen == [0.0, 0.25, 2.5, 25.0, 250.0]
    assert x.tolist() == [250.0]


def test_single_precision_stays() -> None:
    losses, [w, b] = run(logistic, dk, SEARCH, 2, "float32")
    assert w.dtype == b.dtype == np.float32
    np.testing.assert_allclose(losses[-1], run(logistic, dk, SEARCH, 2)[0][-1], rtol=1e-5)


def test_parameters_without_a_gradient_stay() -> None:
    x, idle = dk.tensor([3.0], requires_grad=True), dk.tensor([1.0, 2.0], requires_grad=True)
    optimizer = dk.optim.LBFGS([idle, x])
    optimizer.step(closure_of(optimizer, lambda: (x * x).sum(), []))
    assert idle.tolist() == [1.0, 2.0]
    np.testing.assert_allclose(x.tolist(), [0.0], atol=1e-12)


@pytest.mark.parametrize("options", [{"max_iter": 3}, {**SEARCH, "max_iter": 3}], ids=str)
def test_a_run_goes_on_from_a_saved_state(options: dict[str, Any], tmp_path: Path) -> None:
    parameters, loss_of = logistic(dk, "float64")
    optimizer = dk.optim.LBFGS(parameters, **options)
    losses: list[float] = []
    for _ in range(2):
        optimizer.step(closure_of(optimizer, loss_of, losses))
    dk.save({"values": [p.detach() for p in parameters], "state": optimizer.state_dict()}, tmp_path / "run.npz")
    losses.clear()
    optimizer.step(closure_of(optimizer, loss_of, losses))
    found = dk.load(tmp_path / "run.npz")
    parameters, loss_of = logistic(dk, "float64")
    for p, values in zip(parameters, found["values"], strict=True):
        p.data.copy_(values)
    again = dk.optim.LBFGS(parameters)
    again.load_state_dict(found["state"])
    repeated: list[float] = []
    again.step(closure_of(again, loss_of, repeated))
    assert repeated == losses


def test_a_state_of_pytorch_goes_on() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch gives the state")
    ends, state = [], None
    for library in (torch, dk):
        parameters, loss_of = logistic(library, "float64")
        optimizer = library.optim.LBFGS(parameters, max_iter=3, **SEARCH)
        if state is None:
            optimizer.step(closure_of(optimizer, loss_of, []))
            state, values = copy.deepcopy(optimizer.state_dict()), [p.detach().numpy().copy() for p in parameters]
        else:
            optimizer.load_state_dict(state)
            for p, value in zip(parameters, values, strict=True):
                p.data.copy_(dk.tensor(value))
        losses: list[float] = []
        optimizer.step(closure_of(optimizer, loss_of, losses))
        ends.append(losses)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": None}, r"the state of parameter 0 in group 0 .* has .*, but no 'd'"),
        ({"n_iter": None}, "but no 'n_iter'"),
        ({"d": dk.ones(3)}, r"'d' of parameter 0 .* has shape \(3,\), the parameters together have 6 elements"),
        ({"ro": []}, "'old_dirs', 'old_stps', 'ro' of parameter 0 .* have different lengths"),
        ({"prev_flat_grad": 3}, "'prev_flat_grad' of parameter 0 .* is a int, the parameters together have 6"),
    ],
    ids=str,
)
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    parameters, loss_of = logistic(dk, "float64")
    optimizer = dk.optim.LBFGS(parameters, max_iter=3)
    optimizer.step(closure_of(optimizer, loss_of, []))
    state = optimizer.state_dict()
    before = dict(optimizer.state[parameters[0]])
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict({**state, "state": {0: {**state["state"][0], **change}}})
    assert all(optimizer.state[parameters[0]][name] is value for name, value in before.items())


def test_what_raises_in_a_search_leaves_the_parameters() -> None:
    x = dk.tensor([3.0], requires_grad=True)
    optimizer = dk.optim.LBFGS([x], line_search_fn="strong_wolfe")
    losses: list[float] = []
    closure = closure_of(optimizer, lambda: (x * x).sum(), losses)

    def failing() -> Any:
        if losses:
            raise RuntimeError("no more")
        return closure()

    with pytest.raises(RuntimeError, match="no more"):
        optimizer.step(failing)
    assert x.tolist() == [3.0]


def test_what_is_refused() -> None:
    x = dk.tensor([3.0], requires_grad=True)
    with pytest.raises(
        TypeError, match=r"^LBFGS\.step needs a closure, which computes the loss and its gradients anew$"
    ):
        dk.optim.LBFGS([x]).step()
    with pytest.raises(
        ValueError, match=r"Invalid line_search_fn: 'armijo' given to LBFGS; it must be 'strong_wolfe' or"
    ):
        dk.optim.LBFGS([x], line_search_fn="armijo")
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        dk.optim.LBFGS([x], lr=-1)
    with pytest.raises(ValueError, match="LBFGS has one group of parameters, since it takes all of them together"):
        dk.optim.LBFGS([{"params": [x]}, {"params": [dk.ones(1, requires_grad=True)]}])
    fixed = dk.asarray(np.broadcast_to(np.ones(1), (2,))).requires_grad_()
    optimizer = dk.optim.LBFGS([fixed])
    with pytest.raises(ValueError, match=r"LBFGS\.step: parameter 0 of group 0 has read-only memory"):
        optimizer.step(closure_of(optimizer, lambda: (fixed * fixed).sum(), []))
