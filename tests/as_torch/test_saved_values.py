"""What nodes have saved, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as spelled

torch: Any = spelled


def leaf(*values: float) -> Any:
    return torch.tensor([*values], requires_grad=True)


def test_arguments_results_and_numbers_that_rules_read() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product = (x * y).grad_fn
    assert product._saved_self is x
    assert product._saved_other is y
    assert (x * 2).grad_fn._saved_self is None
    assert (x**2).grad_fn._saved_exponent == 2
    assert x.sum(0).grad_fn._saved_dim == 0
    z = x.exp()
    saved = z.grad_fn._saved_result
    assert (saved.tolist(), type(saved), saved.grad_fn) == (z.tolist(), type(z), z.grad_fn)
    assert torch.cat([x, y]).grad_fn._saved_tensors == (None, None)
    assert (x @ y).grad_fn._saved_other is y


def test_names_that_are_not_there() -> None:
    node = (leaf(1.0) * 2).grad_fn
    with pytest.raises(AttributeError, match="MultiplyBackward has saved nothing of the name '_saved_exponent'"):
        _ = node._saved_exponent
    with pytest.raises(AttributeError, match="MultiplyBackward has no attribute 'nothing'"):
        _ = node.nothing


def test_hooks_of_a_saved_value_decide_how_it_is_kept() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    kept: list[Any] = []

    def pack(value: Any) -> int:
        kept.append(value * 2)
        return len(kept) - 1

    y.grad_fn._raw_saved_self.register_hooks(pack, kept.__getitem__)
    assert y.grad_fn._saved_self.tolist() == [2.0, 4.0]
    assert y.grad_fn._saved_other is x
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 6.0]
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda value: value * 0, lambda value: value)
    assert z.grad_fn._saved_result.grad_fn is z.grad_fn
    x.grad = None
    z.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_what_hooks_of_saved_values_refuse() -> None:
    x = leaf(1.0)
    y = x * x
    raw = y.grad_fn._raw_saved_self
    with pytest.raises(dk.AutogradError, match="the pack hook changed a value that MultiplyBackward saves in place"):
        raw.register_hooks(lambda value: value.mul_(2), lambda value: value)
    raw.register_hooks(lambda value: value, lambda value: 1)
    with pytest.raises(TypeError, match="the unpack hook is expected to return a tensor"):
        _ = y.grad_fn._saved_self
    with pytest.raises(dk.AutogradError, match="whose hooks have already been set"):
        raw.register_hooks(lambda value: value, lambda value: value)
    with pytest.raises(dk.AutogradError, match="on a saved tensor with value None is forbidden"):
        (x * 2).grad_fn._raw_saved_self.register_hooks(lambda value: value, lambda value: value)
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        torch.autograd.SavedTensor()
    z = x * x
    assert isinstance(z.grad_fn._raw_saved_self, torch.autograd.SavedTensor)
    z.backward()
    accesses: tuple[Callable[[], Any], ...] = (
        lambda: z.grad_fn._saved_self,
        lambda: z.grad_fn._raw_saved_self.register_hooks(None, None),
    )
    for access in accesses:
        with pytest.raises(dk.AutogradError, match="after they have already been freed"):
            access()


def test_what_hooks_of_a_block_kept_is_given_as_it_was() -> None:
    x = leaf(1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda value: value * 2, lambda value: value / 2):
        y = x * x
        z = torch.unbind(x.view(1, 2).exp(), 1)[0]
    assert y.grad_fn._saved_self.tolist() == [1.0, 2.0]
    assert z.grad_fn.next_functions[0][0]._saved_result.tolist() == x.view(1, 2).exp().tolist()


def test_values_of_the_same_names_as_in_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    found = []
    for library in (theirs, torch):
        x = library.tensor([1.0, 2.0], dtype=library.float64, requires_grad=True)
        values = [*(x * x).grad_fn._saved_other.tolist(), (x**3).grad_fn._saved_exponent]
        found.append([*values, *x.tanh().grad_fn._saved_result.tolist(), *(x / x).grad_fn._saved_self.tolist()])
    assert found[0] == pytest.approx(found[1])
