"""`random.bernoulli`: its only array is neither positional-only nor needed."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk


class Probe:
    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func, args, kwargs


def test_the_probability_may_be_left_out_or_named() -> None:
    dk.manual_seed(0)
    assert dk.random.bernoulli().shape == ()
    drawn = dk.random.bernoulli(shape=(1000,))
    assert 400 < drawn.sum().item() < 600
    assert dk.random.bernoulli(p=dk.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_a_type_is_asked_wherever_it_stands() -> None:
    x = Probe()
    assert dk.random.bernoulli(x) == (dk.random.bernoulli, (x,), {})
    assert dk.random.bernoulli(p=x, shape=(2,)) == (dk.random.bernoulli, (), {"p": x, "shape": (2,)})


def test_none_is_no_probability() -> None:
    with pytest.raises(dk.ForeignArgumentError, match="argument 'p' is None, not an array"):
        dk.random.bernoulli(None)  # type: ignore[call-overload]
