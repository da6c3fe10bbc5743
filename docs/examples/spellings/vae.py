"""A variational autoencoder of small images, in dispatchkit's spelling.

Run it by ``python docs/examples/spellings/vae.py``. `vae_torch.py` is the same program in
PyTorch's spelling.
"""

import numpy as np

import dispatchkit as dk
from dispatchkit import nn, optim
from dispatchkit.data import DataLoader, TensorDataset

SIZE, HIDDEN, LATENT = 8, 24, 3


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(SIZE * SIZE, HIDDEN)
        self.mean, self.spread = nn.Linear(HIDDEN, LATENT), nn.Linear(HIDDEN, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, SIZE * SIZE))

    def forward(self, x, noise):
        hidden = dk.relu(self.encoder(x.reshape(len(x), -1)))
        mu, logvar = self.mean(hidden), self.spread(hidden)
        z = mu + noise * dk.exp(0.5 * logvar)
        return dk.sigmoid(self.decoder(z)).reshape(x.shape), mu, logvar


def loss_of(result, x, mu, logvar):
    likelihood = nn.functional.binary_cross_entropy(result, x, reduction="sum")
    divergence = -0.5 * dk.sum(1 + logvar - mu**2 - dk.exp(logvar))
    return (likelihood + divergence) / len(x)


def images(rng, count=32):
    """Return bright squares on dark ground."""
    x = np.full((count, 1, SIZE, SIZE), 0.1)
    for image, (row, column) in zip(x, rng.integers(0, SIZE - 3, (count, 2)), strict=True):
        image[0, row : row + 3, column : column + 3] = 0.9
    return dk.asarray(x)


def train(epochs=4):
    """Return the losses, and the brightness of images that are made of noise."""
    rng = np.random.default_rng(0)
    model = VAE()
    with dk.no_grad():
        for p in model.parameters():
            p.copy_(rng.normal(0.0, 0.3, p.shape))
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    losses = []
    for _ in range(epochs):
        for (x,) in DataLoader(TensorDataset(images(rng)), batch_size=8):
            optimizer.zero_grad()
            result, mu, logvar = model(x, rng.normal(size=(len(x), LATENT)))
            loss = loss_of(result, x, mu, logvar)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    model.eval()
    with dk.no_grad():
        sample = dk.sigmoid(model.decoder(dk.asarray(rng.normal(size=(4, LATENT)))))
    return losses, dk.mean(sample, axis=1).tolist()


if __name__ == "__main__":
    losses, brightness = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; brightness {', '.join(f'{b:.3f}' for b in brightness)}")
