"""A language model of letters with causal attention, in dispatchkit's spelling.

Run it by ``python docs/examples/spellings/gpt.py``. `gpt_torch.py` is the same program in
PyTorch's spelling.
"""

import numpy as np

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog and the slow green turtle sleeps under the old oak tree "
LETTERS = sorted(set(TEXT))
LENGTH, WIDTH, HEADS, LAYERS = 16, 16, 2, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("earlier", dk.tril(dk.ones((LENGTH, LENGTH))))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (dk.swapaxes(t.reshape(B, T, HEADS, C // HEADS), 1, 2) for t in dk.split(self.inputs(x), 3, axis=2))
        scores = (q @ k.mT) * k.shape[-1] ** -0.5
        scores = dk.where(self.earlier[:T, :T] == 0, float("-inf"), scores)
        y = dk.softmax(scores, axis=-1) @ v
        return self.output(dk.swapaxes(y, 1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, len(LETTERS), bias=False)

    def forward(self, idx, targets=None):
        x = self.letters(idx) + self.places(dk.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        if targets is None:
            return logits
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))

    @dk.no_grad()
    def generate(self, idx, count):
        for _ in range(count):
            likely = dk.argmax(self(idx[:, -LENGTH:])[:, -1, :], axis=1, keepdims=True)
            idx = dk.concat((idx, likely), axis=1)
        return idx


def initialise(model, rng):
    with dk.no_grad():
        for p in model.parameters():
            p.copy_(rng.normal(0.0, 0.2, p.shape))


def train(steps=40):
    """Return the losses, and letters that the model writes."""
    rng = np.random.default_rng(0)
    model = GPT()
    initialise(model, rng)
    optimizer = dk.optim.AdamW(model.parameters(), lr=0.02, betas=(0.9, 0.95), weight_decay=0.1)
    text = dk.asarray([LETTERS.index(letter) for letter in TEXT])
    losses = []
    for _ in range(steps):
        places = dk.asarray(rng.integers(0, len(TEXT) - LENGTH - 1, 4))[:, None] + dk.arange(LENGTH)
        loss = model(text[places], text[places + 1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    written = model.generate(text[:1].reshape(1, -1), 10)[0].tolist()
    return losses, "".join(LETTERS[place] for place in written)


if __name__ == "__main__":
    losses, written = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; writes {written!r}")
