"""`allow_mutation_on_saved_tensors`: the backward pass reads what was saved, whatever becomes of the tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.graph.test_leaves import leaf

allowing = dk.autograd.graph.allow_mutation_on_saved_tensors


def assigned(x: Any) -> None:
    x[0] = 5.0


CHANGES: dict[str, Callable[[Any], Any]] = {
    "an operator": lambda x: x.__imul__(3.0),
    "a method": lambda x: x.sin_(),
    "elements": assigned,
    "of a view": lambda x: x[1:].add_(1.0),
    "of what it was detached to": lambda x: assigned(x.detach()),
    "from other values": lambda x: x.__setitem__(..., dk.zeros(2)),
}


@pytest.mark.parametrize("records", [True, False])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_gradients_are_those_of_the_values_that_were_saved(change: Callable[[Any], Any], records: bool) -> None:
    x = leaf(1.0, 2.0)

    def product(x: Any) -> Any:
        y = x.clone()
        z = dk.sum(y * y)
        with dk.set_grad_enabled(records):
            change(y)
        return z

    with pytest.raises(dk.InplaceError):
        product(x).backward()
    with allowing() as values:
        z = product(x)
        assert len(values.cloned) == 1
        z.backward()
        assert len(values.cloned) == 0
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_saved_view_of_a_tensor_that_is_changed() -> None:
    x = leaf(1.0, 2.0)
    with allowing():
        y = x.clone()
        z = dk.sum(y[1:] ** 2)
        y *= 2.0
        z.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 4.0]


def test_values_are_copied_once_and_each_version_of_them() -> None:
    with allowing() as values:
        y = leaf(1.0, 2.0).clone()
        a, b = y**2, y**2
        y.sin_()
        assert len(values.cloned) == 1
        c = y**2
        y.sin_()
        assert len(values.cloned) == 2
        del a, b, c
        gc.collect()
        assert len(values.cloned) == 0


def test_what_is_saved_no_more_is_not_copied() -> None:
    with allowing() as values:
        y = leaf(1.0, 2.0).clone()
        z = dk.sum(y**2)
        assert (len(values.original), len(values.tid_to_weakhandle)) == (1, 1)
        z.backward()
        y.sin_()
        assert len(values.cloned) == 0


def test_results_that_rules_read_and_leaves_that_an_optimizer_changes() -> None:
    x = leaf(1.0, 2.0)
    with allowing():
        y = dk.exp(x)
        z = dk.sum(y * x)
        with dk.no_grad():
            y *= 0.0
        dk.sum(x * 1.0).backward()
        dk.optim.SGD([x], lr=0.5).step()
        x.grad = None
        z.backward()
    np.testing.assert_allclose(np.asarray(x.grad), [2 * np.exp(1), 3 * np.exp(2)])


def test_second_derivatives() -> None:
    x = leaf(1.0, 2.0)
    with allowing():
        y = x.clone()
        z = dk.sum(y**3)
        y.sin_()
        (first,) = dk.autograd.grad(z, x, create_graph=True)
        (second,) = dk.autograd.grad(first.sum(), x)
    assert second.tolist() == [6.0, 12.0]


def test_a_pass_outside_of_the_block_and_a_block_in_a_block_raise() -> None:
    with allowing():
        z = dk.sum(leaf(1.0) ** 2)
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
        z.backward()
    with allowing(), pytest.raises(AssertionError, match="in which the graph was originally recorded"):
        z.backward()
    with allowing(), pytest.raises(dk.AutogradError, match="contexts cannot be nested"):
        allowing().__enter__()
    with allowing():  # after an error, too
        pass


def test_after_the_block_changes_are_refused_again() -> None:
    with allowing():
        pass
    y = leaf(1.0).clone()
    z = dk.sum(y**2)
    y.sin_()
    with pytest.raises(dk.InplaceError):
        z.backward()
