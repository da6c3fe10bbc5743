"""Samples and axes of a user's operation, by public names alone."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.protocol.instance import tensor_protocol


@dk.operation(
    samples=[dk.testing.sample(dk.testing.draw(2, 3), dim=1), dk.testing.sample(dk.testing.draw(4), dim=0)],
    axis=dk.testing.Axes(("dim",), none=None),
    namespace="declared_samples",
)
def spread(xp: Any, x: dk.Tensor, /, *, dim: int | None = None) -> dk.Tensor:
    """Return the difference of the largest and the smallest element."""
    result: dk.Tensor = xp.max(x, axis=dim) - xp.min(x, axis=dim)
    return result


def test_an_operation_of_a_user_states_its_samples() -> None:
    stated = tensor_protocol.operation(spread).samples  # type: ignore[attr-defined]
    calls = [one.make(np.random.default_rng(0)) for one in stated]
    assert [(args[0].shape, kwargs) for args, kwargs in calls] == [((2, 3), {"dim": 1}), ((4,), {"dim": 0})]
    assert all(isinstance(one, dk.testing.Sample) and isinstance(one.args[0], dk.testing.Draw) for one in stated)


def test_a_batch_is_computed_at_once_along_the_axes_it_states() -> None:
    x = dk.asarray([[1.0, 4.0], [2.0, 2.5]])
    assert dk.func.vmap(lambda row: spread(row, dim=0))(x).tolist() == [3.0, 0.5]
    assert dk.func.vmap(spread)(x).tolist() == [3.0, 0.5]
