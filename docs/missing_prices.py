"""Prices of ten series of which many are missing, restored by a model that is trained on what there is.

Run it with ``python docs/missing_prices.py``; docs/tutorials/missing-prices.md tells of it. It needs matplotlib, which
brings the data (monthly prices from 1990 to 2022, from Yahoo Finance) and draws the result into
docs/missing-prices.svg.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.types import MaskedTensor, NamedTensor

# 1. The data: a table with names along both axes, and with gaps.


def load() -> tuple[Any, list[str], list[str]]:
    """Return logarithms of prices, of which some are missing, with the months and the series that they belong to."""
    from matplotlib.cbook import get_sample_data  # noqa: PLC0415  # the rest of the program can be had without it

    text = Path(str(get_sample_data("Stocks.csv", asfileobj=False))).read_text(encoding="utf-8")
    (_, *series), *rows = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    monthly = [row for row in rows if row[0].endswith("-01")]
    prices = np.array([[float(cell or "nan") for cell in row[1:]] for row in monthly])
    return named(np.log(prices)), [row[0] for row in monthly], series


def named(logarithms: np.ndarray) -> Any:
    """Return numbers by month and series, of which those that are nan are missing."""
    return NamedTensor(MaskedTensor(logarithms, ~np.isnan(logarithms)), ("month", "series"))


def with_gaps(prices: Any, share: float = 0.1) -> tuple[Any, Any]:
    """Return the prices without a share of them, drawn at random, and that share alone."""
    hidden = dk.asarray(np.random.default_rng(0).random(prices.shape) < share)
    known, rest = (NamedTensor(MaskedTensor(prices.data, part), prices.names) for part in (~hidden, hidden))
    return known, rest


# 2. The model: from month to month a series changes by its own mean, and by its shares in what moves all of them.


class Market(nn.Module):
    """Changes of the logarithms of prices: `trend` of each series, and its `shares` in the `moves` of each month."""

    def __init__(self, changes: int, series: int, factors: int = 1) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.trend = nn.Parameter(np.zeros(series))
        self.shares = nn.Parameter(1 + 0.1 * rng.normal(size=(series, factors)))
        self.moves = nn.Parameter(np.zeros((factors, changes)))

    def forward(self) -> Any:
        """Return them by month and series."""
        trend = NamedTensor(self.trend, "series")
        shares: Any = NamedTensor(self.shares, ("series", "factor"))
        return trend + shares.vecdot(NamedTensor(self.moves, ("factor", "month")), axis="factor")


def loss(model: Market, prices: Any, stiffness: float = 0.3) -> Any:
    """Return the mean square of what is off in the changes, and a price for moves."""
    wrong = prices.diff(axis="month") - model()
    return dk.mean(dk.square(wrong)) + stiffness * dk.mean(dk.square(model.moves))


def train(model: Market, prices: Any, steps: int = 300) -> Iterator[float]:
    """Take steps of Adam, and yield the loss before each."""
    optimizer = dk.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        found = loss(model, prices)
        found.backward()
        optimizer.step()
        yield found.item()


def restored(model: Market, prices: Any) -> Any:
    """Return prices that move in the gaps as the model does, from one end to the other."""
    with dk.no_grad():
        path = dk.cumulative_sum(model(), axis="month", include_initial=True)
    return path + interpolated(prices - path)


def interpolated(prices: Any) -> Any:
    """Return prices with straight lines in the gaps, which know nothing of the other series."""
    table = prices.aligned(("month", "series"))
    months = np.arange(table.shape[0])
    columns = zip(table.data.numpy().T, table.valid.numpy().T, strict=True)
    lines = [np.interp(months, months[there], column[there]) for column, there in columns]
    return NamedTensor(np.stack(lines, axis=1), ("month", "series"))


def off(found: Any, prices: Any) -> float:
    """Return by how much prices are off where there are some, as a part of them."""
    return float(dk.sqrt(dk.mean(dk.square(found - prices))).item())


# 3. What it costs, and what the same costs with plain tensors.


def plain_loss(model: Market, data: Any, valid: Any, stiffness: float = 0.3) -> Any:
    """Return the loss of prices by month and series; what counts, and along which axis, is written down each time."""
    there = valid[1:] & valid[:-1]
    known = dk.where(valid, data, 0.0)
    wrong = known[1:] - known[:-1] - (model.trend + (model.shares @ model.moves).mT)
    square = dk.sum(dk.where(there, dk.square(wrong), 0.0)) / dk.sum(there)
    return square + stiffness * dk.mean(dk.square(model.moves))


def seconds(months: int, series: int, *, plain: bool) -> float:
    """Return the time of one step, loss and gradient: the best of five."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(months, series))
    data[rng.random(size=data.shape) < 0.2] = np.nan
    prices, model, found = named(data), Market(months - 1, series), []
    for _ in range(5):
        start = perf_counter()
        value = plain_loss(model, prices.data.data, prices.data.valid) if plain else loss(model, prices)
        value.backward()
        found.append(perf_counter() - start)
    return min(found)


def costs() -> str:
    """Return a table of the time of a step with names and a mask, over that with plain tensors."""
    lines = [f"{'elements':>10} {'ratio':>6}"]
    for months, series in ((390, 10), (4_000, 100), (20_000, 200)):
        ratio = seconds(months, series, plain=False) / seconds(months, series, plain=True)
        lines.append(f"{months * series:10,} {ratio:6.1f}")
    return "\n".join(lines)


# 4. The whole.


def plot(pictures: dict[str, Any], months: list[str], path: Path) -> None:
    """Draw prices by month into a file; those that are lines are restored, dots are hidden."""
    import matplotlib as mpl  # noqa: PLC0415  # optional
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    axes = figure.subplots()
    for title, prices in pictures.items():
        masked = prices.data
        there = masked.valid.numpy() if isinstance(masked, MaskedTensor) else np.ones(masked.shape, dtype=bool)
        numbers = masked.data.numpy() if isinstance(masked, MaskedTensor) else masked.numpy()
        places = np.flatnonzero(there)
        style = {"known": "C0.", "hidden": "C1o", "restored": "k-"}[title]
        axes.plot(places, np.exp(numbers[places]), style, label=title, markersize=4, linewidth=0.7)
    ticks = range(0, len(months), 12)
    axes.set_xticks(ticks, [months[tick][:4] for tick in ticks])
    axes.set_ylabel("price in $")
    axes.legend()
    with mpl.rc_context({"svg.hashsalt": "prices", "svg.fonttype": "none"}):
        figure.savefig(path, dpi=80, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Train, restore what was hidden, print what came of it and what it cost, draw one series."""
    prices, months, series = load()
    known, hidden = with_gaps(prices)
    there = [int(part.data.valid.sum().item()) for part in (prices, known, hidden)]
    print(f"{prices.size:,} places, {there[0]:,} prices: {there[1]:,} known, {there[2]:,} hidden")
    model = Market(len(months) - 1, len(series))
    losses = list(train(model, known))
    print(f"loss {losses[0]:.5f} -> {losses[-1]:.5f}")
    shares = (model.shares[:, 0] / model.shares[series.index("^GSPC"), 0]).tolist()
    print(
        "shares in the moves: " + ", ".join(f"{name} {share:.1f}" for name, share in zip(series, shares, strict=True))
    )
    found = restored(model, known)
    errors = {"straight lines": interpolated(known), "the model": found}
    print(", ".join(f"{name}: off by {100 * off(one, hidden):.1f} %" for name, one in errors.items()))
    print(costs())
    place, years = series.index("AMZN"), slice(months.index("2010-01-01"), months.index("2016-01-01"))
    parts = {"restored": found, "known": known, "hidden": hidden}
    pictures = {title: part.at(series=place, month=years) for title, part in parts.items()}
    plot(pictures, months[years], Path(__file__).with_name("missing-prices.svg"))


if __name__ == "__main__":
    main()
