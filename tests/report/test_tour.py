"""The tour's program: the gradient it follows is right, and leads down."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

import dispatchkit as dk


@pytest.fixture(scope="module")
def tour() -> Iterator[ModuleType]:
    """Give the program as a module, and undo what it registers."""
    with dk.local_registrations():
        yield importlib.import_module("dispatchkit.tour.__main__")


def test_the_data_are_all_patients_standardised_by_the_training_part(tour: ModuleType) -> None:
    x, y, x_valid, y_valid = tour.load()
    assert x.shape == (100, 10)
    assert x_valid.shape == (342, 10)
    assert y.shape[0] + y_valid.shape[0] == 442
    np.testing.assert_allclose(x.numpy().mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(x.numpy().std(axis=0), 1)


def validation_loss(tour: ModuleType, log_penalty: float) -> float:
    """Compute the loss with NumPy alone."""
    x, y, x_valid, y_valid = (part.numpy() for part in tour.load())
    w = np.linalg.solve(x.T @ x + np.exp(log_penalty) * np.eye(10), x.T @ y)
    return float(np.mean((x_valid @ w - y_valid) ** 2))


def test_following_the_gradient_improves_the_validation_loss(tour: ModuleType) -> None:
    path = tour.follow_the_gradient()
    losses = [loss for _, loss, _ in path]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.98 * losses[0]


def test_losses_and_derivatives_agree_with_numpy(tour: ModuleType) -> None:
    for penalty, loss, slope in tour.follow_the_gradient():
        at, eps = np.log(penalty), 1e-5
        assert loss == pytest.approx(validation_loss(tour, at), rel=1e-10)
        difference = (validation_loss(tour, at + eps) - validation_loss(tour, at - eps)) / (2 * eps)
        assert slope == pytest.approx(difference, rel=1e-5, abs=1e-8)


def test_the_tour_says_the_same_each_time(tour: ModuleType) -> None:
    assert tour.follow_the_gradient(3) == tour.follow_the_gradient(3)
