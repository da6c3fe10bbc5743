"""`torch.autograd.forward_ad`: levels that do not nest, tangents that do not flow, and what has no tangents."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch.autograd import forward_ad

PRIVATE: Any = forward_ad
ADD: Any = torch.add


def test_levels_do_not_nest() -> None:
    with forward_ad.dual_level() as level:
        assert level == 0
        for begin in (forward_ad.enter_dual_level, lambda: forward_ad.dual_level().__enter__()):
            with pytest.raises(RuntimeError) as caught:
                begin()
            assert str(caught.value) == "Nested forward mode AD is not supported at the moment"
    assert forward_ad.enter_dual_level() == 0
    forward_ad.exit_dual_level()
    with dk.autograd.forward_ad.dual_level(), dk.autograd.forward_ad.dual_level() as inner:
        assert inner == 1


def test_tangents_flow_where_it_is_said() -> None:
    assert PRIVATE._is_fwd_grad_enabled()
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
        with PRIVATE._set_fwd_grad_enabled(False):
            assert not PRIVATE._is_fwd_grad_enabled()
            y = x * 3
            assert forward_ad.unpack_dual(x).tangent is None
            other = forward_ad.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
            with PRIVATE._set_fwd_grad_enabled(True):
                z = x * 3
        assert forward_ad.unpack_dual(y).tangent is None
        assert forward_ad.unpack_dual(other).tangent is None
        assert forward_ad.unpack_dual(z).tangent.tolist() == [6.0]
        assert forward_ad.unpack_dual(x).tangent.tolist() == [2.0]
    assert PRIVATE._is_fwd_grad_enabled()


def test_out_takes_no_tensors_with_tangents() -> None:
    with forward_ad.dual_level():
        x, y = forward_ad.make_dual(torch.ones(2), torch.ones(2)), torch.ones(2)
        for args, out in (((x, y), y), ((y, y), x)):
            with pytest.raises(NotImplementedError) as caught:
                ADD(*args, out=out)
            assert str(caught.value) == (
                "add(): Trying to use forward AD with add that does not support it because it is an out= function"
            )
        ADD(y, y, out=y)
        assert y.tolist() == [2.0, 2.0]


def test_a_missing_rule_is_not_implemented() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="has no rule for tangents of 'x1'; declare one with def_jvp"):
            torch.igamma(x, x)
