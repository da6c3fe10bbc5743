"""Steps over PyTorch's arrays, many parameters at once, beside the same steps over NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.optim import torch_steps

torch = pytest.importorskip("torch")
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1, "maximize": True}),
    "Nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "Adam": ("Adam", {"weight_decay": 0.1, "maximize": True}),
    "amsgrad": ("Adam", {"amsgrad": True, "betas": (0.5, 0.9)}),
    "decoupled": ("AdamW", {"weight_decay": 0.2, "lr": 0.1}),
}


def trained(make: Any, name: str, options: dict[str, Any], late: bool = False) -> list[Any]:
    """Return parameters and their state after four steps; the second has no gradient in the first step where asked."""
    rng = np.random.default_rng(0)
    parameters = [dk.Tensor(make(rng.normal(size=shape))).requires_grad_() for shape in ((2, 3), (4,), ())]
    optimizer = getattr(dk.optim, name)(parameters, **options)
    for step in range(4):
        optimizer.zero_grad()
        sum(((p * p * p).sum() for p in parameters[: 1 if late and step == 0 else 3]), dk.asarray(make(0.0))).backward()
        optimizer.step()
    state = [value for p in parameters for value in optimizer.state[p].values()]
    return [x.detach().numpy() for x in (*parameters, *state)]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("case", OPTIONS)
def test_steps_are_those_over_numpy(case: str, late: bool) -> None:
    ours, wanted = (trained(make, *OPTIONS[case], late) for make in (torch.tensor, np.array))
    for one, other in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_all_parameters_are_changed_by_one_call_and_in_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    change = torch._fused_adam_

    def counted(ps: list[Any], *args: Any, **kwargs: Any) -> None:
        calls.append(len(ps))
        change(ps, *args, **kwargs)

    monkeypatch.setattr(torch, "_fused_adam_", counted)
    parameters = [dk.Tensor(torch.ones(2), requires_grad=True) for _ in range(3)]
    arrays = [p.array for p in parameters]
    sum((p.sum() for p in parameters), dk.asarray(torch.tensor(0.0))).backward()
    dk.optim.Adam(parameters, lr=0.5).step()
    assert calls == [3]
    assert all(p.array is array for p, array in zip(parameters, arrays, strict=True))
    np.testing.assert_allclose(arrays[0].numpy(), 0.5, rtol=1e-6)


def test_a_graph_sees_that_a_parameter_was_changed() -> None:
    p = dk.Tensor(torch.ones(2), requires_grad=True)
    y = (p * p).sum()
    p.grad = dk.Tensor(torch.ones(2))
    dk.optim.SGD([p], lr=0.1).step()
    with pytest.raises(dk.AutogradError, match="version"):
        y.backward()


@pytest.mark.parametrize(
    "arrays",
    [
        [torch.ones(2, dtype=torch.complex64)] * 2,
        [torch.ones(2), torch.ones(2, dtype=torch.float64)],
        [torch.ones(2, 3), torch.ones(3, 2).T],
        [torch.ones(2), torch.ones(1).expand(2)],
    ],
    ids=["complex", "of two dtypes", "of two layouts", "of elements that are one"],
)
def test_other_arrays_are_changed_one_by_one(arrays: list[Any]) -> None:
    assert torch_steps.place_of(arrays) is None


def test_a_gradient_whose_elements_are_one_is_applied_to_each() -> None:
    p = dk.Tensor(torch.ones(2, 3), requires_grad=True)
    p.grad = dk.Tensor(torch.tensor([[1.0], [2.0]]).expand(2, 3))
    dk.optim.SGD([p], lr=0.5).step()
    assert p.tolist() == [[0.5] * 3, [0.0] * 3]
