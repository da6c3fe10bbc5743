"""Makes calls for a time, and counts what comes of them."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import dispatchkit.as_torch as spelled
from dispatchkit.as_torch import spelling

from .calls import Array, Call, mapped
from .comparing import Difference, compare
from .listed import Entry, read
from .samples import Samples, changed
from .schemas import Pool, draw_index_call, draw_operator_call
from .transformations import draw_transformed_call

__all__ = ["Report", "fuzz"]

SPELLED: Any = spelled
LONGEST = 10  # seconds that a call may take
DRAWN_OF_SCHEMAS = 40  # calls of a function whose arguments may stand for those that are at fault
EXCLUDED = frozenset({"nn.functional.ctc_loss"})


@dataclass
class Report:
    """What came of calls.

    Attributes
    ----------
    counts : of calls, by what came of them
    listed : how many differences each entry of the list names
    unlisted : the others
    slow : calls that did not come to an end
    """

    counts: Counter[str] = field(default_factory=Counter)
    listed: Counter[Entry] = field(default_factory=Counter)
    unlisted: list[Difference] = field(default_factory=list)
    slow: list[Call | None] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """How many calls were made."""
        return sum(self.counts.values())


BOUNDARIES = frozenset({"boundaries", "sorted_sequence"})


def in_order(value: Any) -> Any:
    """Return an array with its rows sorted."""
    if not isinstance(value, Array) or not value.data.ndim:
        return value
    return Array(np.sort(value.data, axis=-1), "plain", value.gradient)


def in_half_precision(call: Call) -> Call:
    """Return a call with its floating-point arrays in float16."""

    def halved(array: Array) -> Array:
        if array.data.dtype.kind != "f":
            return array
        with np.errstate(over="ignore"):
            return Array(array.data.astype(np.float16), array.layout, array.gradient)

    args, kwargs = mapped((call.args, call.kwargs), Array, halved)
    return call.changed(args=args, kwargs=kwargs)


class Drawing:
    """Draws calls of all functions that there are in both libraries."""

    def __init__(self, only: str | None = None, *, half: bool = False) -> None:
        paths = [path for path in spelling.FUNCTIONS if path not in EXCLUDED]
        if only is not None:
            paths = [path for path in paths if only in path]
        self.only, self.half = only, half
        self.samples, self.pool = Samples(paths), Pool(paths)

    def draw(self, rng: random.Random) -> Call | None:
        """Return a call; now and then there is none."""
        kind = rng.random()
        if self.only is None and kind < 0.05:
            return draw_operator_call(rng)
        if self.only is None and kind < 0.12:
            return draw_index_call(rng)
        if kind < 0.5 and self.pool.paths:
            return self.pool.draw(rng)
        if not self.samples.ops:
            return None
        call = self.samples.draw(rng)
        if call is not None and kind > 0.93:
            return draw_transformed_call(rng, call)
        if call is not None and rng.random() < 0.7:
            call = changed(rng, call)
        return call

    def good(self, path: str) -> Iterator[Call]:
        """Yield calls of a function most of which have no fault: samples, and calls by its schemas."""
        yield from self.samples.of(path)
        if path in self.pool.schemas:
            rng = random.Random(path)  # noqa: S311  # no secrets
            yield from (self.pool.draw_of(rng, path) for _ in range(DRAWN_OF_SCHEMAS))

    def draw_sorted(self, rng: random.Random) -> Call | None:
        """Return a call, with boundaries in order: among others, one place is as good as another."""
        call = self.draw(rng)
        if call is not None and self.half and call.form != "transformed":
            call = in_half_precision(call)
        if call is None or call.path not in ("bucketize", "searchsorted"):
            return call
        kwargs = {name: in_order(value) if name in BOUNDARIES else value for name, value in call.kwargs.items()}
        place = int(call.path == "bucketize")
        args = [in_order(value) if number == place else value for number, value in enumerate(call.args)]
        return call.changed(args=tuple(args), kwargs={name: kwargs[name] for name in kwargs if name != "sorter"})


def fuzz(
    seconds: float,
    seed: int,
    *,
    most: int | None = None,
    only: str | None = None,
    half: bool = False,
    default: str = "float64",
) -> Report:
    """Make calls for a time, in a process of their own: wrong arguments can end PyTorch's.

    Parameters
    ----------
    seconds : how long
    seed : of the first call; that of each next one is one more
    most : how many calls at most
    only : a part of the names of the functions that are called
    half : whether floating-point arrays are of float16, which NumPy has, though it is no dtype of the spelling
    default : name of the default dtype
    """
    torch.set_default_dtype(getattr(torch, default))
    SPELLED.set_default_dtype(getattr(SPELLED, default))
    torch.set_num_threads(1)
    report, entries, drawing = Report(), read(), Drawing(only, half=half)
    end = time.monotonic() + seconds
    context = multiprocessing.get_context("fork")
    while time.monotonic() < end and (most is None or report.calls < most):
        begun = context.Value("q", seed)
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=send_all, args=(sender, drawing, begun, end))
        process.start()
        sender.close()
        while most is None or report.calls < most:
            if not receiver.poll(LONGEST):
                report.slow.append(drawing.draw_sorted(random.Random(begun.value)))  # noqa: S311  # no secrets
                process.kill()
                break
            try:
                enter(report, entries, receiver.recv())
            except EOFError:
                break
        else:
            process.kill()
        process.join()
        if process.exitcode not in (0, -signal.SIGKILL):
            report.counts["PyTorch ends the process"] += 1
        seed = begun.value + 1
    return report


def send_all(sender: Any, drawing: Drawing, begun: Any, end: float) -> None:
    """Make calls until the time is over, and send what comes of each."""
    while time.monotonic() < end:
        rng = random.Random(begun.value)  # noqa: S311  # no secrets
        call = drawing.draw_sorted(rng)
        if call is not None:
            torch.manual_seed(0)
            sender.send(compare(call, drawing.good(call.path)))
        begun.value += 1


def enter(report: Report, entries: list[Entry], found: Difference | str) -> None:
    """Count what came of a call."""
    if isinstance(found, str):
        report.counts[found] += 1
        return
    report.counts[found.sort] += 1
    entry = next((entry for entry in entries if entry.covers(found)), None)
    if entry is None:
        report.unlisted.append(found)
    else:
        report.listed[entry] += 1
