"""A user's script. It is checked, not run: lines with `# error` are errors to type checkers, and no others are."""

from __future__ import annotations

from typing import Any, assert_type

import dispatchkit as dk


def operators(x: dk.Tensor) -> None:
    assert_type(x + 1, dk.Tensor)
    assert_type(1 + x, dk.Tensor)
    assert_type(2.0**-x / x, dk.Tensor)
    assert_type(x @ x.T, dk.Tensor)
    assert_type(x == x, dk.Tensor)
    assert_type(x < 0.5, dk.Tensor)
    assert_type(x[0], dk.Tensor)
    assert_type(x[:, None, ...], dk.Tensor)
    assert_type(abs(~(x > 0)), dk.Tensor)


def methods(x: dk.Tensor) -> None:
    assert_type(x.sum(axis=0), dk.Tensor)
    assert_type(x.sum(0, keepdims=True).mean(), dk.Tensor)
    assert_type(x.T, dk.Tensor)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.ndim, int)
    assert_type(x.reshape(3, 2), dk.Tensor)
    assert_type(x.reshape((3, -1)).clip(min=0), dk.Tensor)
    assert_type(x.nonzero(), tuple[dk.Tensor, ...])
    assert_type(x.T.svd().S, dk.Tensor)
    assert_type(x.double(), dk.Tensor)
    assert_type(x.detach(), dk.Tensor)
    assert_type(x.grad, dk.Tensor | None)
    assert_type(x.tolist(), Any)
    x.nosuch  # error
    x.sum(axsi=0)  # error
    x.reshape("3")  # error


def functions(x: dk.Tensor) -> None:
    assert_type(dk.add(x, 1.0), dk.Tensor)
    assert_type(dk.add(1.0, x), dk.Tensor)
    assert_type(dk.sum(x, axis=0), dk.Tensor)
    assert_type(dk.linalg.inv(x @ x.T), dk.Tensor)
    assert_type(dk.concat([x, x]), dk.Tensor)
    assert_type(dk.stack([x, x], axis=1), dk.Tensor)
    assert_type(dk.zeros((2, 3)), dk.Tensor)
    assert_type(dk.tensor([1.0, 2.0], requires_grad=True), dk.Tensor)
    assert_type(dk.einsum("ij->j", x), dk.Tensor)
    assert_type(dk.linalg.qr(x).R, dk.Tensor)
    assert_type(dk.fft.fft(x), dk.Tensor)
    dk.sum(x, axsi=0)  # error
    dk.concat([x, x], axsi=0)  # error
    dk.exp(x, x)  # error


def in_place(x: dk.Tensor) -> None:
    y = x.detach()
    y += 1
    assert_type(y, dk.Tensor)
    assert_type(y.add_(1).zero_(), dk.Tensor)
    y[0] = 2.0


def modules(x: dk.Tensor) -> None:
    model = dk.nn.Linear(3, 4)
    assert_type(model(x), dk.Tensor)
    loss = dk.nn.functional.mse_loss(model(x), dk.zeros((2, 4)))
    loss.backward()


class Cube(dk.autograd.Function):
    @staticmethod
    def forward(ctx: dk.autograd.FunctionCtx, x: dk.Tensor) -> dk.Tensor:
        ctx.save_for_backward(x)
        return x**3


# A type of the user's own: handlers decide what its operations give.
@dk.array_type(fallback=dk.fallback.dense)
class ScaledIdentity(dk.ArrayMethods):
    def __init__(self, n: int, value: float) -> None:
        self.n, self.value = n, value

    def to_dense(self) -> dk.Tensor:
        return dk.eye(self.n) * self.value


def own_type(s: ScaledIdentity, x: dk.Tensor) -> None:
    assert_type(s, ScaledIdentity)
    assert_type(s + s, Any)
    assert_type(s.mean(axis=0), Any)
    assert_type(s.T, Any)
    assert_type(x + s, Any)
    assert_type(s @ x.T, Any)
    assert_type(dk.mean(s, axis=0), Any)
    assert_type(dk.add(x, s), Any)
    assert_type(dk.concat([s, s]), Any)
    s.nosuch  # error
    s.mean(axsi=0)  # error
