"""Where an iteration over a loader stands, and what of it a state holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from dispatchkit.data.sources import END, Source, batch_generator, source_of
from dispatchkit.ops.random.generator import Generator, current_generator, drawing_from

__all__ = ["Progress", "checked", "state_of"]

State = dict[str, Any]
KEYS = ("batches", "generator", "samplers", "loader")


class Progress:
    """One iteration over a loader.

    Parameters
    ----------
    loader : that is gone through
    state : to go on from, as `checked` gives it; None to begin

    Attributes
    ----------
    source : of the batches
    given : number of batches given, those before the iteration went on among them
    done : whether it has come to its end
    """

    def __init__(self, loader: Any, state: State | None) -> None:
        self.own = _generators_of(loader)
        self.starts: list[State] | None = None
        self.given, self.done = 0, False
        if state is not None:
            for one, start in zip(self.own, state["samplers"], strict=False):
                one.set_state(start)
            # Where the samplers have drawn already, the state of the default generator at that time is there as well.
            self.starts = state["samplers"] if len(state["samplers"]) > len(self.own) else None
            self.given = state["batches"]
        if state is None or state["generator"] is None:
            [generator] = (loader.generator or current_generator()).spawn(1)
        else:
            generator = Generator(0).set_state(state["generator"])
        self.source: Source = source_of(loader, generator)
        self.source.skipped = self.given

    def tasks(self, indices: Any) -> Iterator[tuple[Any, Generator]]:
        """Yield each task with a generator of its own, so that no worker takes numbers from another.

        Parameters
        ----------
        indices : what the samplers give; None for a stream
        """
        generator = current_generator()
        if self.starts is None:
            self.starts = [one.get_state() for one in (*self.own, generator)]
        else:
            generator = Generator(0).set_state(self.starts[-1])
        drawn = itertools.repeat(None) if indices is None else iter(indices)
        for number in itertools.count(self.given if indices is None else 0):
            with drawing_from(generator):
                task = next(drawn, END)
            if task is END:
                return
            if number >= self.source.skipped:
                yield task, batch_generator(self.source.generator, number)

    def counted(self, batches: Any) -> Iterator[Any]:
        """Yield batches up to the end, and count them."""
        try:
            for batch in batches:
                if batch is END:
                    break
                self.given += 1
                yield batch
            self.done = True
        finally:
            getattr(batches, "close", bool)()

    def state(self) -> State:
        """Return the parts of a state that are the iteration's."""
        now = [one.get_state() for one in self.own]
        if self.done:
            return {"batches": 0, "generator": None, "samplers": now}
        generator = self.source.generator.get_state()
        return {"batches": self.given, "generator": generator, "samplers": now if self.starts is None else self.starts}


def state_of(loader: Any, progress: Progress | None) -> State:
    """Return the state of a loader, whose latest iteration is `progress`."""
    if progress is not None:
        return {**progress.state(), "loader": layout(loader)}
    samplers = [one.get_state() for one in _generators_of(loader)]
    return {"batches": 0, "generator": None, "samplers": samplers, "loader": layout(loader)}


def _generators_of(loader: Any) -> list[Generator]:
    """Return the generators that samplers keep."""
    samplers = (loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None))
    found: list[Generator] = []
    for sampler in samplers:
        generator = getattr(sampler, "generator", None)
        if isinstance(generator, Generator) and not any(generator is other for other in found):
            found.append(generator)
    return found


def layout(loader: Any) -> State:
    """Return what has to be the same in a loader that goes on from a state."""
    length = len(loader.dataset) if hasattr(loader.dataset, "__len__") else None
    return {
        "length of the data set": length,
        "batch_size": loader.batch_size,
        "drop_last": loader.drop_last,
        "sampler": type(loader.sampler).__name__,
        "batch_sampler": type(loader.batch_sampler).__name__,
    }


def checked(loader: Any, state: Any) -> State:
    """Return a copy of a state that a loader can go on from.

    Raises
    ------
    ValueError : if it is none, or of a loader that is another
    """
    missing = [key for key in KEYS if not isinstance(state, Mapping) or key not in state]
    if missing:
        raise ValueError(f"loaded state dict has no {' and no '.join(map(repr, missing))} (DataLoader)")
    found = {key: state[key] for key in KEYS}
    for name, value in layout(loader).items():
        if not isinstance(found["loader"], Mapping) or found["loader"].get(name) != value:
            other = found["loader"].get(name) if isinstance(found["loader"], Mapping) else None
            raise ValueError(f"the loaded state is of a DataLoader with {name}: {other!r}, this one has {value!r}")
    batches, generator, samplers = found["batches"], found["generator"], found["samplers"]
    sized = hasattr(loader.dataset, "__len__")
    most = len(loader) if sized else float("inf")
    if not isinstance(batches, int) or not 0 <= batches <= most:
        raise ValueError(f"the loaded state counts {batches!r} batches, this DataLoader has {most}")
    if generator is None and batches:
        raise ValueError("the loaded state counts batches, but has no 'generator' (DataLoader)")
    least = len(_generators_of(loader))
    numbers = {least} if generator is None else {least + 1} if batches else {least, least + 1}
    if not isinstance(samplers, list) or len(samplers) not in numbers:
        raise ValueError(f"the loaded state does not have the {least} generators of samplers of this DataLoader")
    for one in samplers if generator is None else [generator, *samplers]:
        Generator(0).set_state(one)
    return found
