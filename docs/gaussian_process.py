"""A Gaussian process on 138,632 heights of real terrain, trained by the gradient of its exact likelihood.

Run it with ``python docs/gaussian_process.py``; docs/tutorials/gaussian-process.md tells of it. It needs matplotlib,
which brings the data (a part of the elevation model of the U.S. Geological Survey around the Jacksboro fault in
Tennessee, public domain) and draws the result into docs/gaussian-process.svg.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import nn

# 1. The data: heights on a regular grid, measured with noise.


def load() -> np.ndarray:
    """Return heights in metres, on a grid of 344 × 403 points about 80 m apart."""
    from matplotlib.cbook import get_sample_data  # noqa: PLC0415  # the rest of the program can be had without it

    with np.load(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as file:
        return np.asarray(file["elevation"], np.float64)


def measured(heights: np.ndarray, noise: float = 25.0) -> np.ndarray:
    """Return heights as a poor instrument gives them."""
    return heights + noise * np.random.default_rng(0).normal(size=heights.shape)


# 2. The model: the covariance of two heights falls with their distance along each axis.


class Terrain(nn.Module):
    """A Gaussian process on a grid: `amplitude` and `noise` in the unit of the data, `lengths` in cells."""

    def __init__(self, shape: tuple[int, int], amplitude: float, noise: float, length: float = 5.0) -> None:
        super().__init__()
        self.shape = shape
        self.log_amplitude = nn.Parameter(math.log(amplitude))
        self.log_noise = nn.Parameter(math.log(noise))
        self.log_lengths = nn.Parameter(np.log([length, length]))

    def signal(self) -> dk.types.KroneckerTensor:
        """Return the covariance of the true heights, whose points are in the order of the grid's rows."""
        rows, columns = (
            dk.types.ToeplitzTensor(matern(dk.arange(float(n)) / dk.exp(log_length)))
            for n, log_length in zip(self.shape, dk.unstack(self.log_lengths), strict=True)
        )
        return dk.types.KroneckerTensor(dk.exp(2 * self.log_amplitude) * rows, columns)

    def covariance(self) -> Any:
        """Return the covariance of the measured heights."""
        signal = self.signal()
        return signal + dk.types.ScalarTensor(signal.shape[0], dk.exp(2 * self.log_noise))

    def forward(self, y: Any) -> Any:
        """Return the negative logarithm of the likelihood of heights that have the mean 0, for each height."""
        return negative_log_likelihood(self.covariance(), y)


def matern(distance: Any) -> Any:
    """Return Matérn's correlation of smoothness 3/2 at distances in units of the length."""
    scaled = math.sqrt(3) * distance
    return (1 + scaled) * dk.exp(-scaled)


def negative_log_likelihood(covariance: Any, y: Any) -> Any:
    """Return it for each element of y, whatever the type of the covariance is."""
    fit = y @ dk.linalg.solve(covariance, y)
    return (fit + dk.linalg.slogdet(covariance).logabsdet + y.size * math.log(2 * math.pi)) / (2 * y.size)


# 3. Training.


def train(model: Terrain, y: Any, steps: int = 25) -> Iterator[float]:
    """Take steps of Adam, and yield the loss before each; nothing becomes dense on the way."""
    optimizer = dk.optim.Adam(model.parameters(), lr=0.1)
    with dk.densify(on="error"):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = model(y)
            loss.backward()
            optimizer.step()
            yield loss.item()


def restored(model: Terrain, y: Any) -> Any:
    """Return the mean of the true heights given the measured ones."""
    with dk.no_grad(), dk.densify(on="error"):
        return model.signal() @ dk.linalg.solve(model.covariance(), y)


# 4. What it costs, and what the same costs with dense matrices.


def seconds(size: int, *, dense: bool) -> float:
    """Return the time of one step, loss and gradient, on a square grid: the best of three."""
    model = Terrain((size, size), 100.0, 25.0)
    y = dk.asarray(100 * np.random.default_rng(0).normal(size=size * size))
    found = []
    for _ in range(3):
        start = perf_counter()
        covariance = model.covariance()
        negative_log_likelihood(covariance.to_dense() if dense else covariance, y).backward()
        found.append(perf_counter() - start)
    return min(found)


def costs() -> str:
    """Return a table of the time of a step."""
    lines = [f"{'points':>9} {'structured':>11} {'dense':>9}"]
    for size in (16, 32, 48, 320):
        dense = f"{seconds(size, dense=True):7.3f} s" if size < 50 else f"{size**4 * 8 / 1e9:6.0f} GB"
        lines.append(f"{size * size:9,} {seconds(size, dense=False):9.3f} s {dense:>9}")
    return "\n".join(lines)


# 5. The whole.


def plot(pictures: dict[str, np.ndarray], path: Path) -> None:
    """Draw grids of heights next to each other, lit from the north-west, into a file."""
    import matplotlib as mpl  # noqa: PLC0415  # optional
    from matplotlib.colors import LightSource  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9.6, 3.3), layout="constrained")
    light = LightSource(azdeg=315, altdeg=45)
    for axes, (title, heights) in zip(figure.subplots(1, len(pictures)), pictures.items(), strict=True):
        axes.imshow(
            light.hillshade(heights, vert_exag=1, dx=80, dy=80), cmap="gray", vmin=0.2, vmax=1, interpolation="none"
        )
        axes.set_title(title, fontsize=10)
        axes.set_axis_off()
    with mpl.rc_context({"svg.hashsalt": "terrain", "svg.fonttype": "none"}):
        figure.savefig(path, dpi=80, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Train, restore the heights, print what came of it and what it cost, draw the terrain."""
    heights = load()
    noisy = measured(heights)
    mean = noisy.mean()
    y = dk.asarray((noisy - mean).ravel())
    model = Terrain(heights.shape, amplitude=float(noisy.std()), noise=40.0)
    start, losses = perf_counter(), []
    for loss in train(model, y):
        losses.append(loss)
        print(f"\r{len(losses):3} steps, {losses[-1]:.4f}", end="", file=sys.stderr, flush=True)
    print(f"\r{y.size:,} heights, {len(losses)} steps in {perf_counter() - start:.0f} s")
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    found = [math.exp(p.item()) for p in (model.log_amplitude, model.log_noise, *model.log_lengths.detach())]
    print("amplitude {:.0f} m, noise {:.1f} m, lengths {:.1f} and {:.1f} cells".format(*found))
    smooth = restored(model, y).numpy().reshape(heights.shape) + mean
    errors = {"measured": noisy - heights, "restored": smooth - heights}
    print(", ".join(f"{name}: off by {np.sqrt(np.mean(e**2)):.1f} m" for name, e in errors.items()))
    print(costs())
    part = {name: x[100:220, 100:250] for name, x in (("true", heights), ("measured", noisy), ("restored", smooth))}
    plot(part, Path(__file__).with_name("gaussian-process.svg"))


if __name__ == "__main__":
    main()
