"""Calls as libraries for PyTorch write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch
from dispatchkit.errors import InplaceError

OF_ANY: Any = torch
F: Any = OF_ANY.nn.functional
X = np.asarray([[1.0, 3.0, 2.0, 5.0], [0.0, 2.0, 7.0, 1.0]])


def changed(value: float) -> Any:
    """Return a parameter that was changed in place, as by a step of an optimiser."""
    weight = OF_ANY.nn.Parameter(OF_ANY.ones(4))
    with OF_ANY.no_grad():
        weight.mul_(value)
    return weight


@pytest.mark.parametrize("name", ["layer_norm", "group_norm"])
def test_norms_take_factors_that_were_changed_before_the_call(name: str) -> None:
    weight, bias = changed(2.0), changed(3.0)
    arguments: dict[str, Any] = {"layer_norm": ((4,), weight, bias), "group_norm": (2, weight, bias)}
    y = getattr(F, name)(OF_ANY.from_numpy(X), *arguments[name])
    y.sum().backward()
    np.testing.assert_allclose(bias.grad, [2.0] * 4)
    np.testing.assert_allclose(y.detach().sum(0), (weight.grad * 2.0 + 6.0).detach())


def test_factors_that_are_changed_after_the_call_are_told_also_by_name() -> None:
    weight = changed(2.0)
    x = OF_ANY.from_numpy(X.copy()).requires_grad_()
    y = F.layer_norm(x, (4,), weight=weight)
    with OF_ANY.no_grad():
        weight.mul_(2.0)
    with pytest.raises(InplaceError, match="a value needed by the backward of LayerNormBackward was changed"):
        y.sum().backward()
