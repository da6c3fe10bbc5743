"""How far an iteration over a loader is, and the state from which another goes on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from dispatchkit.data.sources import END, BatchGenerator, Task
from dispatchkit.ops.random.generator import Generator, current_generator, drawing_from

State = dict[str, Any]
KEYS = ("batches", "generators", "loader")


class Progress:
    """How far an iteration over a loader is.

    Parameters
    ----------
    loader : that is gone through
    state : to go on from, as `check_state` gives it; None to begin

    Attributes
    ----------
    count : of the batches so far, those before the iteration went on among them
    starts : states of the generators that the loader keeps, and of the default one, when the first index was drawn
    """

    def __init__(self, loader: Any, state: State | None = None) -> None:
        self.loader = loader
        self.count: int = 0
        self.starts: list[State] = []
        if state is not None:
            self.count, self.starts = state["batches"], state["generators"]

    def tasks(self, indices: Any) -> Iterator[Task]:
        """Yield each task with a generator of its own, so that no worker takes numbers from another.

        Parameters
        ----------
        indices : what the samplers give; None for a stream, which is read from its beginning
        """
        kept, default = generators_of(self.loader), current_generator()
        for generator, start in zip(kept, self.starts, strict=False):
            generator.set_state(start)
        if len(self.starts) > len(kept):
            default = Generator(0).set_state(self.starts[-1])
        self.starts = [generator.get_state() for generator in (*kept, default)]
        [parent] = (self.loader.generator or default).spawn(1)
        if indices is None:
            drawn, skipped = itertools.repeat(None), 0
        else:
            drawn, skipped = iter(indices), self.count
        for number in itertools.count():
            with drawing_from(default):
                task = next(drawn, END)
            if task is END:
                return
            if number >= skipped:
                yield task, BatchGenerator(parent, number)

    def count_batches(self, batches: Iterator[Any], *, skipped: int) -> Iterator[Any]:
        """Yield batches after the skipped ones, up to the end of a stream, and count them.

        Parameters
        ----------
        batches : in order; closed with this iterator
        skipped : number of batches to leave out, which have been counted
        """
        try:
            for batch in itertools.islice(batches, skipped, None):
                if batch is END:
                    break
                self.count += 1
                yield batch
            self.count, self.starts = 0, []
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()

    def state(self) -> State:
        """Return the state of the loader."""
        starts = self.starts or [generator.get_state() for generator in generators_of(self.loader)]
        return {"batches": self.count, "generators": starts, "loader": layout_of(self.loader)}


def generators_of(loader: Any) -> list[Generator]:
    """Return the generators that a loader and its samplers keep, each once."""
    generators: list[Generator] = []
    for holder in (loader, loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None)):
        generator = getattr(holder, "generator", None)
        if isinstance(generator, Generator) and not any(generator is other for other in generators):
            generators.append(generator)
    return generators


def layout_of(loader: Any) -> State:
    """Return what has to be the same in a loader that goes on from a state."""
    length = None
    if hasattr(loader.dataset, "__len__"):
        length = len(loader.dataset)
    return {
        "length of the data set": length,
        "batch_size": loader.batch_size,
        "drop_last": loader.drop_last,
        "sampler": type(loader.sampler).__name__,
        "batch_sampler": type(loader.batch_sampler).__name__,
    }


def check_state(loader: Any, state: Any) -> State:
    """Return a copy of a state that a loader can go on from.

    Parameters
    ----------
    loader : that is to go on
    state : as `Progress.state` gave it

    Raises
    ------
    ValueError : if it is none, or of a loader that is another
    """
    missing = [key for key in KEYS if not isinstance(state, Mapping) or key not in state]
    if missing:
        raise ValueError(f"loaded state dict has no {' and no '.join(map(repr, missing))} (DataLoader)")
    batches, generators, layout = (state[key] for key in KEYS)
    for name, value in layout_of(loader).items():
        before = None
        if isinstance(layout, Mapping):
            before = layout.get(name)
        if before != value:
            raise ValueError(f"the loaded state is of a DataLoader with {name}: {before!r}, this one has {value!r}")
    _check_count(loader, batches)
    least = len(generators_of(loader))
    # That of the default generator comes with the first batch.
    expected = (least + 1,) if batches else (least, least + 1)
    if not isinstance(generators, list) or len(generators) not in expected:
        raise ValueError(f"the loaded state does not have the {least} generators of this DataLoader and its samplers")
    for generator_state in generators:
        Generator(0).set_state(generator_state)
    return {"batches": batches, "generators": generators, "loader": layout}


def _check_count(loader: Any, batches: Any) -> None:
    try:
        most = float(len(loader))
    except TypeError:  # neither a stream nor every sampler has a length
        most = float("inf")
    if not isinstance(batches, int) or not 0 <= batches <= most:
        raise ValueError(f"the loaded state counts {batches!r} batches, this DataLoader has {most:.0f}")
