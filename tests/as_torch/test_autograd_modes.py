"""Modes of `torch.autograd`, and errors of its functions."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import dispatchkit.as_torch as spelled

torch: Any = spelled


def states(library: Any) -> list[bool]:
    return [library.is_grad_enabled(), library.is_inference_mode_enabled()]


def modes(library: Any) -> list[list[bool]]:
    """Return the modes inside blocks, and after them."""
    found = [states(library)]
    with library.inference_mode():
        found.append(states(library))
        with library.inference_mode(False):
            found.append(states(library))
        found.append(states(library))
        with library.no_grad(), library.inference_mode(mode=False):
            found.append(states(library))
    waiting = library.inference_mode()
    found.append(states(library))
    with waiting:
        found.append(states(library))
    found += [library.inference_mode(lambda: states(library))(), library.inference_mode()(lambda: states(library))()]
    found.append(library.inference_mode(mode=False)(lambda: states(library))())
    with library.autograd.inference_mode():
        found.append(states(library))
    return found


def test_inference_mode_is_what_the_innermost_block_says() -> None:
    on, off = [False, True], [True, False]
    assert modes(torch) == [off, on, off, on, off, off, on, on, on, off, on]


def test_inference_mode_is_that_of_pytorch() -> None:
    assert modes(torch) == modes(pytest.importorskip("torch"))


def test_multithreading_is_a_setting_for_good_or_for_a_block() -> None:
    setting, asked = torch.autograd.set_multithreading_enabled, torch.autograd.is_multithreading_enabled
    with setting(False):
        assert not asked()
        setting(True)
        assert asked()
    assert asked()
    assert not setting(False)(asked)()
    assert asked()
    setting(False)
    assert not asked()
    setting(True)
    assert asked()


def test_errors_of_gradients_and_of_dual_tensors_are_runtime_errors_as_well() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"grad: the tensor has shape \(2,\), the gradient \(3,\)") as raised:
        x.grad = torch.ones(3)
    assert isinstance(raised.value, ValueError)
    x.grad = torch.ones(2)
    assert x.grad.tolist() == [1.0, 1.0]
    del x.grad
    assert x.grad is None
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match=r"the tangent torch\.Size\(\[3\]\)"):
        torch.autograd.forward_ad.make_dual(x, torch.ones(3))


def test_the_error_of_gradcheck_is_in_its_module() -> None:
    module: Any = importlib.import_module("dispatchkit.as_torch.autograd.gradcheck")

    def wrong(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g + 1)
        return y

    with pytest.raises(module.GradcheckError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(wrong, torch.ones(2, requires_grad=True))
