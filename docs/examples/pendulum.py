"""Fits the acceleration of gravity to swings of pendulums: ``python docs/examples/pendulum.py``.

``--plot FILE`` draws the fit, which needs Matplotlib.
"""

from __future__ import annotations

import argparse

import dispatchkit as dk
from dispatchkit.types import QuantityTensor, UncertainTensor

# Lengths by a ruler, and the times of ten swings by a stopwatch: synthetic numbers around 9.81 m/s^2.
LENGTHS = [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]
TIMES = [8.98, 10.97, 12.71, 14.15, 15.57, 16.76, 17.98]


def measurements():
    """Return lengths and periods, with their uncertainties."""
    lengths = UncertainTensor(QuantityTensor(LENGTHS, "cm"), QuantityTensor(1.0, "mm"))
    periods = UncertainTensor(QuantityTensor(TIMES, "s"), QuantityTensor(0.05, "s")) / 10
    return lengths, periods


def fitted(lengths, periods):
    """Return g of the straight line T² = 4π²/g · L through the origin, by least squares."""
    squares = periods**2
    slope = (squares @ lengths) / (lengths @ lengths)
    return ((2 * dk.pi) ** 2 / slope).to("m/s**2")


def trained(lengths, periods, steps=50):
    """Return g by gradient descent on the squares of what is left over: the gradient has a unit, too."""
    length, square = (x.with_data(x.magnitude.value) for x in (lengths, periods**2))
    g = QuantityTensor(9.0, "m/s**2")

    def loss(g):
        return dk.mean((square - (2 * dk.pi) ** 2 * length / g) ** 2)

    step = QuantityTensor(8.0, "m**2/s**8")
    for _ in range(steps):
        g = g - step * dk.func.grad(loss)(g)
    return g


def plot(file):
    """Draw the measurements and the line."""
    import matplotlib as mpl  # noqa: PLC0415  # the fit can be had without it
    import matplotlib.pyplot as plt  # noqa: PLC0415

    lengths, periods = measurements()
    g, squares = fitted(lengths, periods), periods**2
    x = lengths.to("m").magnitude
    y = squares.to("s**2").magnitude
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.errorbar(
        x.value.numpy(), y.value.numpy(), y.std.numpy(), x.std.numpy(), fmt="o", ms=4, capsize=3, label="measured"
    )
    line = dk.linspace(0.0, 0.9, 2)
    value, std = float(g.magnitude.value), float(g.magnitude.std)
    axes.plot(line.numpy(), ((2 * dk.pi) ** 2 / value * line).numpy(), label=f"g = {value:.3f} ± {std:.3f} m/s²")
    axes.set_xlabel("length in m")
    axes.set_ylabel("period squared in s²")
    axes.legend()
    with mpl.rc_context({"svg.hashsalt": "pendulum", "svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None} if file.endswith(".svg") else None)


def main():
    """Print the fit, and draw it where a file is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args()
    g = fitted(*measurements())
    print(f"by least squares:       {float(g.magnitude.value):.3f} ± {float(g.magnitude.std):.3f} m/s**2")
    print(f"by gradient descent:    {float(trained(*measurements()).magnitude):.3f} m/s**2")
    if options.plot:
        plot(options.plot)


if __name__ == "__main__":
    main()
