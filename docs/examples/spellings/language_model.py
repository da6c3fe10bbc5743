"""Next words by recurrent layers, in dispatchkit's spelling.

Run it by ``python docs/examples/spellings/language_model.py``. `language_model_torch.py` is the same program in
PyTorch's spelling.
"""

import numpy as np

import dispatchkit as dk
from dispatchkit import nn

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
        return dk.log_softmax(self.decoder(output), axis=2).reshape(-1, len(VOCABULARY)), hidden

    def start(self, batch):
        zeros = dk.zeros((LAYERS, batch, WIDTH))
        return (zeros, zeros) if self.kind == "LSTM" else zeros


def detached(hidden):
    return hidden.detach() if isinstance(hidden, dk.Tensor) else tuple(map(detached, hidden))


def batches():
    """Return the words in columns, one for each sequence of a batch."""
    words = dk.asarray([VOCABULARY.index(word) for word in WORDS])
    columns = words[: len(WORDS) // BATCH * BATCH].reshape(BATCH, -1).T
    return [
        (columns[start : start + LENGTH][:-1], columns[start : start + LENGTH][1:].reshape(-1))
        for start in range(0, len(columns), LENGTH)
    ]


def train(kind, epochs=8):
    """Return the losses, and the word that the model expects after each."""
    rng = np.random.default_rng(0)
    model = Model(kind)
    for p in model.parameters():
        p.data.copy_(rng.uniform(-0.3, 0.3, p.shape))
    optimizer = dk.optim.SGD(model.parameters(), lr=2.0)
    losses = []
    for _ in range(epochs):
        hidden = model.start(BATCH)
        for words, targets in batches():
            optimizer.zero_grad()
            scores, hidden = model(words, detached(hidden))
            loss = nn.functional.nll_loss(scores, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.item())
    with dk.no_grad():
        scores, _ = model(dk.arange(len(VOCABULARY))[None], model.start(len(VOCABULARY)))
    return losses, [VOCABULARY[place] for place in dk.argmax(scores, axis=1).tolist()]


if __name__ == "__main__":
    for kind in ("LSTM", "GRU"):
        losses, expected = train(kind)
        print(f"{kind}: loss {losses[0]:.4f}, then {losses[-1]:.4f}; expects {', '.join(expected)}")
