"""A variational autoencoder of small images, in PyTorch's spelling.

Run it by ``python docs/examples/spellings/vae_torch.py``. Random numbers are NumPy's, so that the losses are
those of `vae.py`, and of this program with ``import torch``.
"""

import numpy as np

import dispatchkit.as_torch as torch
import dispatchkit.as_torch.nn.functional as F
from dispatchkit.as_torch import nn, optim
from dispatchkit.as_torch.utils.data import DataLoader, TensorDataset

SIZE, HIDDEN, LATENT = 8, 24, 3


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(SIZE * SIZE, HIDDEN)
        self.mean, self.spread = nn.Linear(HIDDEN, LATENT), nn.Linear(HIDDEN, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(inplace=True), nn.Linear(HIDDEN, SIZE * SIZE))

    def forward(self, x, noise):
        hidden = F.relu(self.encoder(x.view(x.size(0), -1)))
        mu, logvar = self.mean(hidden), self.spread(hidden)
        z = torch.addcmul(mu, noise, torch.exp(0.5 * logvar))
        return torch.sigmoid(self.decoder(z)).view_as(x), mu, logvar


def loss_of(result, x, mu, logvar):
    likelihood = F.binary_cross_entropy(result, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (likelihood + divergence) / x.size(0)


def images(rng, count=32):
    """Return bright squares on dark ground."""
    x = np.full((count, 1, SIZE, SIZE), 0.1)
    for image, (row, column) in zip(x, rng.integers(0, SIZE - 3, (count, 2)), strict=True):
        image[0, row : row + 3, column : column + 3] = 0.9
    return torch.from_numpy(x)


def train(epochs=4):
    """Return the losses, and the brightness of images that are made of noise."""
    rng = np.random.default_rng(0)
    model = VAE()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0.0, 0.3, tuple(p.shape))))
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    losses = []
    for _ in range(epochs):
        for (x,) in DataLoader(TensorDataset(images(rng)), batch_size=8):
            optimizer.zero_grad()
            noise = torch.from_numpy(rng.normal(size=(x.size(0), LATENT)))
            result, mu, logvar = model(x, noise)
            loss = loss_of(result, x, mu, logvar)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    model.eval()
    with torch.no_grad():
        sample = torch.sigmoid(model.decoder(torch.from_numpy(rng.normal(size=(4, LATENT))))).cpu()
    return losses, sample.view(4, 1, SIZE, SIZE).mean(dim=(1, 2, 3)).tolist()


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    losses, brightness = train()
    print(f"loss {losses[0]:.4f}, then {losses[-1]:.4f}; brightness {', '.join(f'{b:.3f}' for b in brightness)}")
