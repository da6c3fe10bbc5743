"""Whole programs in float64 have PyTorch's losses: a GPT, a residual net, a VAE and a meta-learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

torch: Any = pytest.importorskip("torch", reason="PyTorch gives the losses to compare with")
RNG = np.random.default_rng(0)
STEPS = 8


def axis_of(library: Any, axis: int) -> dict[str, int]:
    return {"axis" if library is dk else "dim": axis}


class Pair:
    """A program in both libraries: `make` gives the module of one, `loss` the loss of a step."""

    def make(self, library: Any) -> Any:
        raise NotImplementedError

    def loss(self, library: Any, module: Any, step: int) -> Any:
        raise NotImplementedError

    def optimizer(self, library: Any, module: Any) -> Any:
        return library.optim.AdamW(module.parameters(), lr=1e-2, weight_decay=0.1)

    def losses(self) -> list[list[float]]:
        ours, theirs = self.make(dk), self.make(torch).double()
        theirs.load_state_dict({name: torch.tensor(x.numpy()) for name, x in ours.state_dict().items()})
        found = []
        for library, module in ((dk, ours), (torch, theirs)):
            optimizer, seen = self.optimizer(library, module), []
            for step in range(STEPS):
                optimizer.zero_grad()
                loss = self.loss(library, module, step)
                loss.backward()
                library.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
                optimizer.step()
                seen.append(float(loss.item()))
            found.append(seen)
        return found


class Gpt(Pair):
    tokens = RNG.integers(0, 11, (STEPS, 3, 9))

    def make(self, library: Any) -> Any:
        nn = library.nn

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.LayerNorm(12), nn.LayerNorm(12)
                self.qkv, self.out = nn.Linear(12, 36), nn.Linear(12, 12)
                self.mlp = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 12))

            def forward(self, x: Any) -> Any:
                n, length, _ = x.shape
                parts = library.split(self.qkv(self.first(x)), 3 if library is dk else 12, **axis_of(library, -1))
                heads = [library.swapaxes(part.reshape((n, length, 3, 4)), 1, 2) for part in parts]
                y = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
                x = x + self.out(library.swapaxes(y, 1, 2).reshape((n, length, 12)))
                return x + self.mlp(self.second(x))

        class Net(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.words, self.places = nn.Embedding(11, 12), nn.Embedding(8, 12)
                self.blocks = nn.Sequential(Block(), Block())
                self.last, self.head = nn.LayerNorm(12), nn.Linear(12, 11, bias=False)

            def forward(self, tokens: Any) -> Any:
                x = self.words(tokens) + self.places(library.arange(8))
                return self.head(self.last(self.blocks(x)))

        return Net()

    def loss(self, library: Any, module: Any, step: int) -> Any:
        tokens = library.tensor(self.tokens[step])
        logits = module(tokens[:, :-1])
        return library.nn.functional.cross_entropy(logits.reshape((24, 11)), tokens[:, 1:].reshape((24,)))


class Residual(Pair):
    images, labels = RNG.standard_normal((STEPS, 4, 2, 8, 8)), RNG.integers(0, 5, (STEPS, 4))

    def make(self, library: Any) -> Any:
        nn = library.nn

        class Net(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.stem = nn.Conv2d(2, 6, 3, padding=1)
                self.body = nn.Sequential(
                    nn.BatchNorm2d(6), nn.SiLU(), nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.Conv2d(6, 6, 1)
                )
                self.pool, self.head = nn.AdaptiveAvgPool2d(2), nn.Linear(24, 5)

            def forward(self, x: Any) -> Any:
                x = self.stem(x)
                return self.head(self.pool(x + self.body(x)).reshape((4, 24)))

        return Net()

    def optimizer(self, library: Any, module: Any) -> Any:
        return library.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, nesterov=True)

    def loss(self, library: Any, module: Any, step: int) -> Any:
        labels = library.tensor(self.labels[step])
        return library.nn.functional.cross_entropy(module(library.tensor(self.images[step])), labels)


class Vae(Pair):
    data, noise = RNG.uniform(size=(STEPS, 6, 10)), RNG.standard_normal((STEPS, 6, 3))

    def make(self, library: Any) -> Any:
        nn = library.nn
        return nn.Sequential(
            nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 6)),
            nn.Sequential(nn.Linear(3, 16), nn.Softplus(), nn.Linear(16, 10)),
        )

    def loss(self, library: Any, module: Any, step: int) -> Any:
        x = library.tensor(self.data[step])
        found = module[0](x)
        mean, log_variance = found[:, :3], found[:, 3:]
        z = mean + library.exp(0.5 * log_variance) * library.tensor(self.noise[step])
        likelihood = library.nn.functional.binary_cross_entropy_with_logits(module[1](z), x, reduction="sum")
        return likelihood - 0.5 * (1 + log_variance - mean * mean - library.exp(log_variance)).sum()


class Meta(Pair):
    x, slope = RNG.standard_normal((STEPS, 10, 1)), RNG.uniform(1, 3, STEPS)

    def make(self, library: Any) -> Any:
        nn = library.nn
        return nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss(self, library: Any, module: Any, step: int) -> Any:
        x = library.tensor(self.x[step])
        y = library.sin(self.slope[step] * x)
        called = library.nn.utils.functional_call if library is dk else library.func.functional_call
        weights = dict(module.named_parameters())
        for _ in range(2):
            inner = library.nn.functional.mse_loss(called(module, weights, (x[:5],)), y[:5])
            grads = library.autograd.grad(inner, list(weights.values()), create_graph=True)
            weights = {name: w - 0.1 * g for (name, w), g in zip(weights.items(), grads, strict=True)}
        return library.nn.functional.mse_loss(called(module, weights, (x[5:],)), y[5:])


@pytest.mark.parametrize("program", [Gpt(), Residual(), Vae(), Meta()], ids=lambda one: type(one).__name__.lower())
def test_losses_are_pytorchs(program: Pair) -> None:
    dk.manual_seed(0)
    ours, theirs = program.losses()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert ours[-1] != ours[0]
