"""What every optimiser does: groups, state, saving, hooks, and optimisers that people write."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

from .problems import Problem

TENSOR: Any = dk.Tensor
OPTIMISERS: list[Any] = [
    (dk.optim.SGD, {"lr": 0.1}),
    (dk.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (dk.optim.Adam, {"lr": 0.1, "amsgrad": True}),
    (dk.optim.AdamW, {"lr": 0.1}),
]
every = pytest.mark.parametrize(("make", "options"), OPTIMISERS, ids=str)


def leaf(*values: float) -> Any:
    return dk.tensor(list(values), requires_grad=True)


class Momentum(dk.optim.Optimizer):
    """As people write one, after PyTorch's tutorials."""

    def __init__(self, params: Any, lr: Any = dk.optim.required, momentum: float = 0.5) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def step(self, closure: Any = None) -> Any:
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                d = p.grad.data
                state = self.state[p]
                if "buffer" not in state:
                    state["buffer"] = dk.clone(d).detach()
                else:
                    state["buffer"].multiply_(group["momentum"]).add_(d)
                p.data.add_(state["buffer"] * -group["lr"])
        return loss


def test_an_optimiser_of_ones_own() -> None:
    problem, other = Problem(dk), Problem(dk)
    seen = problem.run(Momentum(problem.parameters, lr=0.1), steps=20)
    expected = other.run(dk.optim.SGD(other.parameters, lr=0.1, momentum=0.5), steps=20)
    for one, two in zip(seen, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_changes_by_an_optimiser_of_ones_own_are_counted() -> None:
    p = leaf(1.0, 2.0)
    y = (p * p).sum()
    p.grad = dk.ones(2)
    Momentum([p], lr=0.1).step()
    with pytest.raises(dk.errors.InplaceError, match="backward of Multiply"):
        y.backward()


def test_a_required_option() -> None:
    assert repr(dk.optim.required) == "<required parameter>"
    assert copy.deepcopy(dk.optim.required) is dk.optim.required
    assert pickle.loads(pickle.dumps(dk.optim.required)) is dk.optim.required
    with pytest.raises(ValueError, match=r"didn't specify a value of required optimization parameter lr .*group 0"):
        Momentum([leaf(1.0)])
    optimizer = Momentum([{"params": leaf(1.0), "lr": 0.1}])
    with pytest.raises(ValueError, match=r"required optimization parameter lr \(parameter group 1 of Momentum\)"):
        optimizer.add_param_group({"params": leaf(1.0)})
    assert len(optimizer.param_groups) == 1
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        dk.optim.SGD([leaf(1.0)], lr=dk.optim.required)


def test_a_step_that_is_not_defined() -> None:
    class Idle(dk.optim.Optimizer):
        pass

    with pytest.raises(NotImplementedError, match=r"Idle does not define step\(\)"):
        Idle([leaf(1.0)], {}).step()


def test_state_makes_an_empty_dictionary_for_a_new_parameter() -> None:
    p = leaf(1.0)
    optimizer = dk.optim.SGD([p])
    assert dict(optimizer.state) == {}
    assert optimizer.state[p] == {}
    optimizer.state[p]["seen"] = 1
    assert optimizer.state[p] == {"seen": 1}


@every
def test_parameters_without_gradient_are_skipped(make: Any, options: Any) -> None:
    p, q, constant = leaf(1.0), leaf(2.0), dk.tensor([3.0])
    optimizer = make([p, q, constant], **options)
    q.grad = dk.ones(1)
    optimizer.step()
    assert (p.tolist(), constant.tolist()) == ([1.0], [3.0])
    assert q.tolist() != [2.0]
    assert p not in optimizer.state
    assert (p._version, q._version) == (0, 1)


@every
def test_gradients_and_what_was_saved_stay_as_they_are(make: Any, options: Any) -> None:
    p = leaf(1.0, 2.0)
    optimizer = make([p], weight_decay=0.1, maximize=True, **options)
    for _ in range(3):
        p.grad = dk.tensor([0.5, -1.0])
        p.grad.array.flags.writeable = False
        optimizer.step()
        assert p.grad.tolist() == [0.5, -1.0]
    saved = optimizer.state_dict()
    before = copy.deepcopy(saved)
    other = make([leaf(1.0, 2.0)], **options)
    other.load_state_dict(saved)
    other.param_groups[0]["params"][0].grad = dk.ones(2)
    other.step()
    for key, value in before["state"].get(0, {}).items():
        assert saved["state"][0][key].tolist() == value.tolist()
    assert saved["param_groups"] == before["param_groups"]


@every
def test_a_graph_that_saved_a_parameter_raises(make: Any, options: Any) -> None:
    p = leaf(1.0, 2.0)
    y = (p * p).sum()
    p.grad = dk.ones(2)
    make([p], **options).step()
    with pytest.raises(dk.errors.InplaceError, match="at version 1, expected version 0"):
        y.backward()


@every
def test_a_graph_that_saved_a_buffer_raises(make: Any, options: Any) -> None:
    p, w = leaf(1.0, 2.0), leaf(1.0, 1.0)
    optimizer = make([p], **options)
    p.grad = dk.ones(2)
    optimizer.step()
    for name, kept in list(optimizer.state[p].items()):
        y = (w * kept).sum()
        optimizer.step()
        with pytest.raises(dk.errors.InplaceError):
            y.backward()
        assert name in optimizer.state[p]


def test_views_and_arrays_see_the_change() -> None:
    array = np.ones(3)
    p = dk.asarray(array).requires_grad_()
    alias = p.detach()
    p.grad = dk.ones(3)
    dk.optim.SGD([p], lr=0.5).step()
    assert array.tolist() == alias.tolist() == [0.5, 0.5, 0.5]
    assert alias._version == 1


def test_zero_grad() -> None:
    p, q = leaf(1.0), leaf(2.0)
    optimizer = dk.optim.SGD([p, q], lr=0.1)
    (p * p).sum().backward(create_graph=True)
    held = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is held
    assert (held.tolist(), held.requires_grad) == ([0.0], False)
    assert q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


def test_closures_record_a_graph_and_give_their_loss() -> None:
    p = leaf(1.0)
    optimizer = dk.optim.Adam([p], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with dk.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert optimizer.step(closure=closure).item() < 1.0
    assert optimizer.step() is None


def test_repr() -> None:
    optimizer = dk.optim.SGD([{"params": [leaf(1.0)], "lr": 0.5}, {"params": [leaf(1.0)]}], lr=0.1, momentum=0.9)
    assert (
        repr(optimizer)
        == """SGD (
Parameter Group 0
    dampening: 0
    lr: 0.5
    maximize: False
    momentum: 0.9
    nesterov: False
    weight_decay: 0
Parameter Group 1
    dampening: 0
    lr: 0.1
    maximize: False
    momentum: 0.9
    nesterov: False
    weight_decay: 0
)"""
    )


@every
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_go_on_like_the_original(make: Any, options: Any, copied: Any) -> None:
    problem = Problem(dk)
    optimizer = make(problem.parameters, **options)
    problem.run(optimizer, steps=3)
    other = Problem(dk)
    other.parameters, copy_ = copied((problem.parameters, optimizer))
    assert all(a is b for a, b in zip(copy_.param_groups[0]["params"], other.parameters, strict=True))
    for a, b in zip(problem.run(optimizer, steps=3), other.run(copy_, steps=3), strict=True):
        np.testing.assert_array_equal(a, b)


@every
def test_a_loaded_state_goes_on_like_the_saved_one(make: Any, options: Any) -> None:
    problem, other = Problem(dk), Problem(dk)
    optimizer = make(problem.parameters, **options)
    problem.run(optimizer, steps=3)
    optimizer.param_groups[0]["lr"] = 0.025
    for p, q in zip(problem.parameters, other.parameters, strict=True):
        q.data.copy_(p.detach())
    loaded = make(other.parameters, **options)
    loaded.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    assert loaded.param_groups[0]["lr"] == 0.025
    for a, b in zip(problem.run(optimizer, steps=3), other.run(loaded, steps=3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_loading_casts_to_the_parameters_dtype() -> None:
    p, q = leaf(1.0, 2.0), dk.tensor([1.0, 2.0], dtype=dk.float32, requires_grad=True)
    optimizer, other = dk.optim.Adam([p]), dk.optim.Adam([q])
    p.grad = dk.ones(2)
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    assert {key: str(value.dtype) for key, value in other.state[q].items()} == {
        "step": "float64",
        "exp_avg": "float32",
        "exp_avg_sq": "float32",
    }
    q.grad = dk.ones(2, dtype=dk.float32)
    other.step()
    assert q.dtype == np.float32


def test_states_of_elder_optimisers() -> None:
    p = leaf(1.0)
    optimizer = Momentum([p], lr=0.1)
    state = {7: {"extra": [dk.ones(1), {"deep": dk.ones(2)}]}, "note": "kept"}
    optimizer.load_state_dict({"state": state, "param_groups": [{"lr": 0.2, "params": [7]}]})
    assert optimizer.param_groups[0]["nesterov"] is False
    assert optimizer.param_groups[0]["params"][0] is p
    assert optimizer.state[p]["extra"][1]["deep"].tolist() == [1.0, 1.0]
    assert optimizer.state_dict()["state"]["note"] == "kept"
    adam = dk.optim.Adam([p])
    adam.load_state_dict(
        {
            "state": {0: {"step": 3, "exp_avg": dk.zeros(1), "exp_avg_sq": dk.zeros(1)}},
            "param_groups": [{"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0, "params": [0]}],
        }
    )
    p.grad = dk.ones(1)
    adam.step()
    assert adam.state[p]["step"].item() == 4.0
    decoupled = dk.optim.AdamW([p])
    decoupled.load_state_dict(adam.state_dict())
    assert decoupled.param_groups[0]["decoupled_weight_decay"] is True


def test_states_that_do_not_fit() -> None:
    p, q = leaf(1.0), leaf(2.0)
    optimizer = dk.optim.SGD([{"params": [p]}, {"params": [q]}], lr=0.5)
    before = copy.deepcopy(optimizer.state_dict())
    saved = optimizer.state_dict()
    first, second = saved["param_groups"]
    wrong: list[tuple[Any, str]] = [
        ({"state": {}}, "loaded state dict has no 'param_groups' .SGD."),
        ({"state": {}, "param_groups": [first]}, "different number of parameter groups: 1, this SGD has 2"),
        (
            {"state": {}, "param_groups": [first, {**second, "params": [1, 2]}]},
            "doesn't match the size of optimizer's group: group 1 has 2 parameters there, 1 in this SGD",
        ),
        (
            {"state": {}, "param_groups": [first, {**second, "lr": -1.0}]},
            "Invalid learning rate: -1.0 in parameter group 1 of the loaded state dict",
        ),
    ]
    for state, message in wrong:
        with pytest.raises(ValueError, match=message):
            optimizer.load_state_dict(state)
        assert optimizer.state_dict() == before
        assert optimizer.param_groups[0]["params"][0] is p


@pytest.mark.parametrize("convert", ["numpy", "torch"])
def test_a_state_of_other_arrays_is_converted(convert: str) -> None:
    torch = pytest.importorskip("torch")
    p, q = leaf(1.0, 2.0), leaf(1.0, 2.0)
    optimizer, other = dk.optim.Adam([p]), dk.optim.Adam([q])
    p.grad = q.grad = dk.ones(2)
    optimizer.step()
    saved = optimizer.state_dict()
    kept = {k: np.array(v.array) for k, v in saved["state"][0].items()}
    saved["state"][0] = {k: v if convert == "numpy" else torch.from_numpy(v) for k, v in kept.items()}
    other.load_state_dict(saved)
    q.data.copy_(p.detach())
    optimizer.step()
    other.step()
    assert q.tolist() == p.tolist()
    for name, value in other.state[q].items():
        assert type(value.array) is np.ndarray
        np.testing.assert_array_equal(value.array, optimizer.state[p][name].array)
        np.testing.assert_array_equal(saved["state"][0][name], kept[name])


def test_a_state_of_pytorch_goes_on() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    ours = leaf(1.0, 2.0)
    cases: dict[str, dict[str, Any]] = {"Adam": {"amsgrad": True}, "SGD": {"lr": 0.1, "momentum": 0.9}}
    for name, options in cases.items():
        reference, optimizer = (getattr(m.optim, name)([p], **options) for m, p in ((torch, theirs), (dk, ours)))
        for step in range(4):
            if step == 2:
                optimizer.load_state_dict(reference.state_dict())
                ours.data.copy_(theirs.detach().numpy())
            theirs.grad, ours.grad = 2 * theirs.detach(), 2 * ours.detach()
            reference.step()
            if step >= 2:
                optimizer.step()
        np.testing.assert_allclose(ours.detach().array, theirs.detach().numpy(), rtol=1e-14)


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ([0.0, 0.0], TypeError, "'exp_avg' of bias in group 1 of the loaded state dict (Adam) is a list, not a tensor"),
        ("text", TypeError, "'exp_avg' of bias in group 1 of the loaded state dict (Adam) is a str, not a tensor"),
        (
            np.array(["a", "b"]),
            TypeError,
            "'exp_avg' of bias in group 1 of the loaded state dict (Adam) cannot be read",
        ),
        (np.ones(2, complex), TypeError, "'exp_avg' of bias in group 1 of the loaded state dict (Adam) is complex"),
        (np.ones(3), ValueError, "loaded state dict (Adam) has shape (3,), the parameter (2,)"),
        (None, ValueError, "the state of bias in group 1 of the loaded state dict (Adam) has ['step', 'exp_avg',"),
    ],
)
def test_a_state_that_cannot_be_used_is_refused_at_once(entry: Any, error: type[Exception], message: str) -> None:
    p, q = leaf(1.0), leaf(1.0, 2.0)
    optimizer = dk.optim.Adam([{"params": [("weight", p)]}, {"params": [("bias", q)]}])
    p.grad, q.grad = dk.ones(1), dk.ones(2)
    optimizer.step()
    saved = optimizer.state_dict()
    before = copy.deepcopy(saved)
    spoilt = {**saved, "state": {**saved["state"], 1: {**saved["state"][1], "exp_avg": entry}}}
    with pytest.raises(error, match=re.escape(message)):
        optimizer.load_state_dict(spoilt)
    for number, x in enumerate((p, q)):
        assert optimizer.state[x]["exp_avg"].tolist() == before["state"][number]["exp_avg"].tolist()


def test_a_state_of_another_optimiser_is_refused() -> None:
    optimizer = dk.optim.Adam([leaf(1.0)])
    group = optimizer.state_dict()["param_groups"][0]
    with pytest.raises(ValueError, match=r"has \['momentum_buffer'\], but no 'step' and no 'exp_avg'"):
        optimizer.load_state_dict({"state": {0: {"momentum_buffer": dk.ones(1)}}, "param_groups": [group]})
    state = {"step": "x", "exp_avg": dk.ones(1), "exp_avg_sq": dk.ones(1)}
    with pytest.raises(TypeError, match=r"Invalid number of steps: 'x' of parameter 0 in group 0"):
        optimizer.load_state_dict({"state": {0: state}, "param_groups": [group]})
    with pytest.raises(TypeError, match=r"the state of parameter 0 in group 0 .* is a list, not a dictionary"):
        optimizer.load_state_dict({"state": {0: [1]}, "param_groups": [group]})


def test_hooks_around_a_step() -> None:
    p = leaf(1.0)
    optimizer = dk.optim.SGD([p], lr=0.1)
    seen: list[Any] = []
    first = optimizer.register_step_pre_hook(lambda *call: seen.append(("before", *call)))
    last = optimizer.register_step_post_hook(lambda *call: seen.append(("after", *call)))
    optimizer.step(None)
    assert seen == [("before", optimizer, (optimizer, None), {}), ("after", optimizer, (optimizer, None), {})]
    first.remove()
    last.remove()
    optimizer.step()
    assert len(seen) == 2


def test_a_hook_may_change_the_arguments() -> None:
    optimizer = dk.optim.SGD([leaf(1.0)], lr=0.1)
    with optimizer.register_step_pre_hook(lambda self, args, kwargs: ((self,), {"closure": lambda: 5.0})):
        assert optimizer.step() == 5.0
    with (
        optimizer.register_step_pre_hook(lambda self, args, kwargs: 3),
        pytest.raises(RuntimeError, match=r"SGD.step: a pre-hook must return None or a tuple .* but got 3"),
    ):
        optimizer.step()


def test_hooks_run_once_where_a_step_calls_the_one_it_extends() -> None:
    class Twice(dk.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            super().step(closure)
            return super().step(closure)

    p = leaf(1.0)
    optimizer = Twice([p], lr=0.25)
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *call: seen.append("before"))
    optimizer.register_step_post_hook(lambda *call: seen.append("after"))
    p.grad = dk.ones(1)
    optimizer.step()
    assert p.tolist() == [0.5]
    assert seen == ["before", "after"]
    assert Twice.step.__name__ == "step"


def test_rates_may_be_tensors_and_change_between_steps() -> None:
    p = leaf(1.0)
    optimizer = dk.optim.SGD([p], lr=dk.tensor(0.5))
    p.grad = dk.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["lr"] = np.float64(0.25)
    optimizer.step()
    assert p.tolist() == [0.25]


@every
def test_trouble_with_one_parameter_leaves_all_as_they_were(make: Any, options: Any) -> None:
    p, q = leaf(1.0), leaf(2.0, 3.0)
    optimizer = make([{"params": [p]}, {"params": [leaf(0.0), q]}], **options)
    p.grad, q.grad = dk.ones(1), dk.ones(2)
    q.array.flags.writeable = False
    with pytest.raises(ValueError, match=r"step: parameter 1 of group 1 has read-only memory"):
        optimizer.step()
    q.array.flags.writeable = True
    q.data = dk.ones(3)
    with pytest.raises(ValueError, match=r"parameter 1 of group 1 has shape \(3,\), its grad \(2,\)"):
        optimizer.step()
    assert (p.tolist(), p._version, dict(optimizer.state)) == ([1.0], 0, {})


def test_a_state_of_another_shape() -> None:
    p = leaf(1.0, 2.0)
    optimizer = dk.optim.SGD([p], momentum=0.9)
    optimizer.state[p]["momentum_buffer"] = dk.ones(3)
    p.grad = dk.ones(2)
    with pytest.raises(ValueError, match=r"parameter 0 of group 0 has shape \(2,\), its momentum_buffer \(3,\)"):
        optimizer.step()
