"""Next words by recurrent layers, in PyTorch's spelling.

Run it by ``python docs/examples/spellings/language_model_torch.py``. Random numbers are NumPy's, so that the losses are
those of `language_model.py`, and of this program with ``import torch``.
"""

import numpy as np

import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch import nn

TEXT = "a rose is a rose is a rose and a rose by any other name would smell as sweet as a rose is sweet"
WORDS = TEXT.split()
VOCABULARY = sorted(set(WORDS))
WIDTH, LAYERS, BATCH, LENGTH = 12, 2, 2, 5


class Model(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.encoder = nn.Embedding(len(VOCABULARY), WIDTH)
        self.rnn = getattr(nn, kind)(WIDTH, WIDTH, LAYERS)
        self.decoder = nn.Linear(WIDTH, len(VOCABULARY))
        self.decoder.weight = self.encoder.weight

    def forward(self, words, hidden):
        output, hidden = self.rnn(self.encoder(words), hidden)
        return F.log_softmax(self.decoder(output), dim=2).view(-1, len(VOCABULARY)), hidden

    def start(self, batch):
        zeros = next(self.parameters()).new_zeros(LAYERS, batch, WIDTH)
        return (zeros, zeros.clone()) if self.kind == "LSTM" else zeros


def detached(hidden):
    return hidden.detach() if torch.is_tensor(hidden) else tuple(map(detached, hidden))


def batches():
    """Return the words in columns, one for each sequence of a batch."""
    words = torch.tensor([VOCABULARY.index(word) for word in WORDS], dtype=torch.long)
    columns = words.narrow(0, 0, len(WORDS) // BATCH * BATCH).view(BATCH, -1).t().contiguous()
    return [
        (columns[start : start + LENGTH][:-1], columns[start : start + LENGTH][1:].reshape(-1))
        for start in range(0, columns.size(0), LENGTH)
    ]


def train(kind, epochs=8):
    """Return the losses, and the word that the model expects after each."""
    rng = np.random.default_rng(0)
    model = Model(kind)
    for p in model.parameters():
        p.data.copy_(torch.from_numpy(rng.uniform(-0.3, 0.3, tuple(p.size()))))
    losses = []
    for _ in range(epochs):
        hidden = model.start(BATCH)
        for words, targets in batches():
            model.zero_grad()
            scores, hidden = model(words, detached(hidden))
            loss = F.nll_loss(scores, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-2.0)
            losses.append(loss.item())
    with torch.no_grad():
        scores, _ = model(torch.arange(len(VOCABULARY)).unsqueeze(0), model.start(len(VOCABULARY)))
    return losses, [VOCABULARY[place] for place in scores.max(1)[1].tolist()]


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    for kind in ("LSTM", "GRU"):
        losses, expected = train(kind)
        print(f"{kind}: loss {losses[0]:.4f}, then {losses[-1]:.4f}; expects {', '.join(expected)}")
