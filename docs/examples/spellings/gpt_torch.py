"""A language model of letters with causal attention, in PyTorch's spelling.

Run it by ``python docs/examples/spellings/gpt_torch.py``. Random numbers are NumPy's, so that the losses are
those of `gpt.py`, and of this program with ``import torch``.
"""

import numpy as np

import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog and the slow green turtle sleeps under the old oak tree "
LETTERS = sorted(set(TEXT))
LENGTH, WIDTH, HEADS, LAYERS = 16, 16, 2, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("earlier", torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, HEADS, C // HEADS).transpose(1, 2) for t in self.inputs(x).split(C, dim=2))
        scores = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
        scores = scores.masked_fill(self.earlier[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.output(y.transpose(1, 2).contiguous().view(B, T, C))


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
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.letters(idx) + self.places(pos)
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    @torch.no_grad()
    def generate(self, idx, count):
        for _ in range(count):
            values, _ = torch.topk(self(idx[:, -LENGTH:])[:, -1, :], 1)
            likely = self(idx[:, -LENGTH:])[:, -1, :] >= values
            idx = torch.cat((idx, likely.long().argmax(dim=1, keepdim=True)), dim=1)
        return idx


def initialise(model, rng):
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0.0, 0.2, tuple(p.size()))))


def train(steps=40):
    """Return the losses, and letters that the model writes."""
    rng = np.random.default_rng(0)
    model = GPT()
    initialise(model, rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, betas=(0.9, 0.95), weight_decay=0.1)
    text = torch.tensor([LETTERS.index(letter) for letter in TEXT])
    losses = []
    for _ in range(steps):
        starts = torch.from_numpy(rng.integers(0, len(TEXT) - LENGTH - 1, 4))
        places = starts[:, None] + torch.arange(LENGTH)
        loss = model(text[places], text[places + 1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    written = model.generate(text[:1].view(1, -1), 10)[0].tolist()
    return losses, "".join(LETTERS[place] for place in written)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    losses, written = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; writes {written!r}")
