"""A custom array type in a ridge regression on real data, start to finish.

Run it with ``python -m dispatchkit tour``; read it from top to bottom. It needs NumPy alone.

The data are 442 diabetes patients with ten measurements each, and a measure of how the disease went on within a year:
Efron, Hastie, Johnstone and Tibshirani (2004), "Least Angle Regression", Annals of Statistics 32, 407-499.
"""

from __future__ import annotations

import warnings
from importlib import resources
from typing import Any

import numpy as np

import dispatchkit as dk

# 1. An array type in ten lines: a multiple of the identity, which is a number and a size. What it has no rule for is
#    decomposed into operations that it has rules for, or else computed on the dense matrix.


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class ScaledIdentity:
    def __init__(self, n: int, value: Any) -> None:
        self.n, self.value = n, value

    def to_dense(self) -> dk.Tensor:
        return self.value * dk.eye(self.n)  # type: ignore[no-any-return]  # a tensor, whatever `value` is

    def __repr__(self) -> str:
        return f"ScaledIdentity({self.n}, {self.value})"


@dk.implements(dk.add)
def add_scaled_identities(x1: ScaledIdentity, x2: ScaledIdentity, /) -> ScaledIdentity:
    return ScaledIdentity(x1.n, x1.value + x2.value)


@dk.implements(dk.mean)
def mean_scaled_identity(x: ScaledIdentity, /) -> Any:
    return x.value / x.n


def show_the_type() -> None:
    """Add the type to itself and to a plain tensor."""
    print("1. Your own type\n")
    s = ScaledIdentity(3, 2.0)
    print(f"   s                      {s!r}")
    print(f"   s + s                  {s + s!r}    by its own rule")
    mean = s.mean()
    print(f"   s.mean(), dk.mean(s)   {mean:.4f}, {dk.mean(s):.4f}    one rule serves method and function")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        total = s + dk.ones((3, 3))
    print(f"   s + dk.ones((3, 3))    {indented(total, 26)}")
    print(f"   ... no rule for this pair: the declared fallback answered, and said so:\n      {said[0].message}")


# 2. Ridge regression. The penalty sits inside the custom type, is added to the Gram matrix, and is a tensor: the
#    derivative of the validation loss flows through the solution of the linear system back to it.


def load() -> tuple[dk.Tensor, dk.Tensor, dk.Tensor, dk.Tensor]:
    """Return measurements and outcomes for training and for validation, standardised by the training part."""
    with resources.files("dispatchkit.tour").joinpath("diabetes.csv").open() as lines:
        table = np.loadtxt((line for line in lines if line[0] not in "#a"), delimiter=",")
    table = np.random.default_rng(2004).permutation(table)
    train, valid = table[:100], table[100:]
    centre, scale = train.mean(axis=0), train.std(axis=0)
    train, valid = (train - centre) / scale, (valid - centre) / scale
    return (
        dk.asarray(train[:, :-1]),
        dk.asarray(train[:, -1]),
        dk.asarray(valid[:, :-1]),
        dk.asarray(valid[:, -1]),
    )


def fit(x: dk.Tensor, y: dk.Tensor, penalty: ScaledIdentity) -> dk.Tensor:
    """Return the weights that minimise ``|x w - y|² + wᵀ penalty w``: written for tensors, given a custom type."""
    weights: dk.Tensor = dk.linalg.solve(x.T @ x + penalty, x.T @ y)
    return weights


def loss(x: dk.Tensor, y: dk.Tensor, w: dk.Tensor) -> dk.Tensor:
    """Return the mean squared error."""
    error: dk.Tensor = dk.mean((x @ w - y) ** 2)
    return error


def follow_the_gradient(steps: int = 12, rate: float = 60.0) -> list[tuple[float, float, float]]:
    """Return penalty, validation loss and derivative at each step of a descent on the logarithm of the penalty."""
    x, y, x_valid, y_valid = load()
    log_penalty = dk.tensor(0.0, requires_grad=True)
    path = []
    for _ in range(steps):
        penalty = dk.exp(log_penalty)
        with dk.densify(on="allow"):
            error = loss(x_valid, y_valid, fit(x, y, ScaledIdentity(10, penalty)))
        error.backward()
        assert log_penalty.grad is not None
        path.append((penalty.item(), error.item(), log_penalty.grad.item()))
        with dk.no_grad():
            log_penalty -= rate * log_penalty.grad
        log_penalty.grad = None
    return path


def show_the_regression() -> None:
    """Print how the penalty improves."""
    print("\n2. A gradient improves a ridge regression on 442 diabetes patients (100 to fit, 342 to validate)\n")
    print("   step    penalty   validation loss   d loss / d log penalty")
    path = follow_the_gradient()
    for step, (penalty, error, slope) in enumerate(path):
        print(f"   {step:>4} {penalty:>10.4f} {error:>17.6f} {slope:>24.6f}")
    first, last = path[0], path[-1]
    gain = 100 * (1 - last[1] / first[1])
    print(f"   the penalty went from {first[0]:.2f} to {last[0]:.2f}, the validation loss down by {gain:.1f} %")


# 3. What happens, and what is covered.


def show_the_decisions() -> None:
    """Explain one call and print the coverage of the type."""
    print("\n3. Who answers, and why\n")
    print(indented(dk.explain(dk.add, dk.ones((10, 10)), ScaledIdentity(10, 2.0)), 3, first=True))
    print("\n4. What the type covers\n")
    totals = str(dk.coverage(ScaledIdentity)).partition("\n\n  by namespace")[0]
    print(indented(totals, 3, first=True))
    print("\n   print(dk.coverage(ScaledIdentity)) goes on with the functions of each bucket.")


def indented(value: object, by: int, first: bool = False) -> str:
    """Return the text of a value with its further lines moved to the right."""
    text = str(value).replace("\n", "\n" + " " * by)
    if first:
        return " " * by + text
    return text


def main() -> None:
    """Take the tour."""
    show_the_type()
    show_the_regression()
    show_the_decisions()


if __name__ == "__main__":
    main()
