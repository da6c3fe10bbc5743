"""Layers, losses, optimisers and functions of programs take the arguments of PyTorch's, in its order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn

F = nn.functional
x, y = torch.tensor([[1.0, 3.0]]), torch.zeros(1, 2)
REDUCED: dict[str, tuple[Callable[[], Any], str]] = {
    "sums": (lambda: nn.MSELoss(size_average=False), "sum"),
    "by place": (lambda: nn.L1Loss(None, False), "none"),
    "means": (lambda: nn.SmoothL1Loss(True, True), "mean"),
    "of a function's layer": (lambda: nn.TripletMarginLoss(1.0, 2.0, 1e-6, False, False), "sum"),
    "in the middle": (lambda: nn.CrossEntropyLoss(None, False, -1), "sum"),
    "new": (lambda: nn.NLLLoss(reduction="none"), "none"),
}


@pytest.mark.parametrize("name", REDUCED)
def test_losses_take_the_old_words_for_a_reduction(name: str) -> None:
    make, reduction = REDUCED[name]
    assert make().reduction == reduction


def test_losses_reduce_as_they_are_told() -> None:
    assert nn.MSELoss(size_average=False)(x, y).item() == 10.0
    assert nn.CrossEntropyLoss(None, None, 1)(x, torch.tensor([1])).isnan()
    with pytest.raises(ValueError, match="MSELoss: reduction must be 'none', 'mean' or 'sum', found 'all'"):
        nn.MSELoss(reduction="all")
    with pytest.raises(TypeError, match=r"MSELoss\(\): got an unexpected keyword argument 'weight'"):
        nn.MSELoss(weight=x)  # type: ignore[call-arg]  # which is what is tested


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"])
def test_dropouts_take_inplace(name: str) -> None:
    layer = getattr(nn, name)(0.25, True)
    assert (layer.p, layer.inplace, repr(layer)) == (0.25, True, f"{name}(p=0.25)")


def test_norms_scale_without_a_bias() -> None:
    for layer in (nn.BatchNorm1d(2, bias=False), nn.GroupNorm(1, 2, bias=False), nn.SyncBatchNorm(2, bias=False)):
        assert layer.bias is None
        assert "bias" not in layer.state_dict()
        assert layer.weight.shape == (2,)
    assert nn.SyncBatchNorm(2, 1e-5, 0.1, True, True, None).bias.shape == (2,)
    assert nn.BatchNorm1d(2, bias=False)(torch.tensor([[1.0, 2.0], [3.0, 6.0]])).sum().item() == 0.0


def test_bounds_have_old_names() -> None:
    assert nn.Hardtanh(min_value=-2.0)(torch.tensor([-3.0, 3.0])).tolist() == [-2.0, 1.0]


@pytest.mark.parametrize(("shape", "axis"), [((3,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 1, 2), 1)])
def test_a_softmax_without_an_axis_chooses_it_as_pytorch_does(shape: tuple[int, ...], axis: int) -> None:
    z = torch.arange(float(torch.ones(shape).numel())).reshape(shape)
    expected = dk.softmax(z, axis=axis).tolist()
    calls: list[Any] = [nn.Softmax(), F.softmax, lambda z: nn.LogSoftmax()(z).exp(), lambda z: F.log_softmax(z).exp()]
    for call in calls:
        with pytest.warns(UserWarning, match="Implicit dimension choice for .*[sS]oft"):
            assert torch.allclose(call(z), torch.tensor(expected))
    with pytest.warns(UserWarning, match="Implicit dimension"):
        assert torch.allclose(nn.Softmin()(-z), torch.tensor(expected))
    assert nn.Softmax(dim=0)(z).shape == shape


def test_gradients_are_asked_for_with_words_of_old() -> None:
    z = torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad((z * z).sum(), z, None, None, False, True, None)
    assert gradient.tolist() == [2.0, 2.0]
    assert type(gradient) is torch.Tensor
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        torch.autograd.grad((z * z).sum(), z, only_inputs=False)


def test_norms_of_gradients_are_bounded() -> None:
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.tensor([3.0, 4.0])
    utils = nn.utils
    total = utils.get_total_norm([weight.grad, torch.tensor([12.0])])
    assert total.item() == 13.0
    assert utils.get_total_norm([]).item() == 0.0
    utils.clip_grads_with_norm_([weight], 1.0, torch.tensor(5.0))
    assert torch.allclose(weight.grad, torch.tensor([0.6, 0.8]), atol=1e-6)
    assert utils.clip_grad_norm_(weight, 0.5, foreach=False).item() == pytest.approx(1.0, abs=1e-6)
    utils.clip_grad_value_([weight], 0.1, foreach=True)
    assert weight.grad.tolist() == pytest.approx([0.1, 0.1])
    with pytest.raises(RuntimeError, match=r"^get_total_norm: the total norm of order 2\.0 for .* is non-finite"):
        utils.get_total_norm([torch.tensor([float("inf")])], error_if_nonfinite=True)


def test_names_of_old_warn() -> None:
    init: Any = nn.init
    with pytest.warns(FutureWarning, match=r"`nn\.init\.constant` is now deprecated in favor of `nn\.init\.constant_`"):
        assert init.constant(torch.zeros(2), 3.0).tolist() == [3.0, 3.0]
    with pytest.warns(FutureWarning, match="in favor of `clip_grad_norm_`"):
        nn.utils.clip_grad_norm([nn.Parameter(torch.ones(1))], 1.0)


def test_segments_are_computed_anew_in_the_backward_pass() -> None:
    calls = []

    def function(z: Any) -> Any:
        calls.append(1)
        return z * z

    in_segments = torch.utils.checkpoint.checkpoint_sequential
    for run in (in_segments, lambda fs, n, z, **_: fs[2](fs[1](fs[0](z)))):
        z = torch.tensor([2.0], requires_grad=True)
        calls.clear()
        run([function, function, function], 2, z, use_reentrant=True).sum().backward()
        assert (z.grad.tolist(), len(calls) > 3) == ([8 * 2.0**7], run is in_segments)
    once = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False, preserve_rng_state=False)
    assert once.tolist() == [[1.0, 9.0]]


def differing(theirs: Any, ours: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the classes of two modules whose parameters differ, and PyTorch's."""
    for name in sorted(set(dir(theirs)) & set(dir(ours))):
        known, own = getattr(theirs, name), getattr(ours, name)
        if isinstance(known, type) and isinstance(own, type):
            wanted, found = (list(inspect.signature(cls).parameters.values()) for cls in (known, own))
            named = [p.name for p in found if p.kind is not p.VAR_KEYWORD]
            if not any(p.kind is p.VAR_POSITIONAL for p in (*found, *wanted)) and named != [p.name for p in wanted]:
                yield name, [p.name for p in wanted]


def test_the_parameters_of_layers_are_those_of_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    found = dict(differing(theirs.nn, nn))
    others = {"RNNBase", "RNNCellBase", "UninitializedBuffer"}  # they are not to be made, or learn their dtype later
    assert sorted(name for name in found if name not in others and not name.startswith("Lazy")) == []
