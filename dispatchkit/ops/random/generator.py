"""Generators of random numbers, whose draws can be repeated."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import UNTRACKED
from dispatchkit.declare.namespace import enter

__all__ = ["Generator", "current_generator", "default_generator", "drawing_from", "manual_seed"]


class Generator:
    """A source of random numbers, repeatable by its seed.

    Parameters
    ----------
    seed : an int from 0 on; drawn from the operating system if None

    Attributes
    ----------
    seed : the seed, also where it was drawn
    source : NumPy's generator, from which everything is drawn

    Raises
    ------
    ValueError : for a negative seed

    Examples
    --------
    >>> import dispatchkit as dk
    >>> first = dk.random.uniform(shape=3, generator=dk.random.Generator(7))
    >>> again = dk.random.uniform(shape=3, generator=dk.random.Generator(7))
    >>> bool(dk.all(first == again))
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.manual_seed(seed)

    def __repr__(self) -> str:
        return f"Generator(seed={self.seed})"

    def manual_seed(self, seed: int | None) -> Generator:
        """Start again from a seed.

        Parameters
        ----------
        seed : an int from 0 on; drawn from the operating system if None

        Returns
        -------
        the generator itself
        """
        if seed is not None and operator.index(seed) < 0:
            raise ValueError(f"Generator: a seed is not negative, found {seed}")
        self._start(np.random.SeedSequence(seed))
        return self

    def _start(self, sequence: np.random.SeedSequence) -> None:
        self.seed: Any = sequence.entropy
        self.source = np.random.Generator(np.random.PCG64(sequence))

    def get_state(self) -> dict[str, Any]:
        """Return where the generator stands, in a form that `save` takes.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> generator = dk.random.Generator(7)
        >>> state = generator.get_state()
        >>> first = dk.rand(3, generator=generator)
        >>> bool(dk.all(first == dk.rand(3, generator=generator.set_state(state))))
        True
        """
        bits: Any = self.source.bit_generator
        sequence = bits.seed_seq
        return {
            "bit_generator": bits.state,
            "seed": sequence.entropy,
            "spawn_key": list(sequence.spawn_key),
            "spawned": sequence.n_children_spawned,
        }

    def set_state(self, state: Mapping[str, Any]) -> Generator:
        """Go on from where a generator stood, also in what `spawn` gives.

        Parameters
        ----------
        state : as `get_state` gave it

        Returns
        -------
        the generator itself

        Raises
        ------
        ValueError : if `state` is none; the generator is then as before
        """
        try:
            sequence = np.random.SeedSequence(
                state["seed"], spawn_key=state["spawn_key"], n_children_spawned=state["spawned"]
            )
            bits = np.random.PCG64(sequence)
            bits.state = state["bit_generator"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"Generator.set_state: this is no state that get_state gave: {error!r}") from error
        self.seed, self.source = sequence.entropy, np.random.Generator(bits)
        return self

    def spawn(self, count: int) -> list[Generator]:
        """Return generators that are independent of this one and of each other, for threads or workers.

        Parameters
        ----------
        count : how many; every call gives new ones

        Examples
        --------
        >>> import dispatchkit as dk
        >>> len(dk.random.Generator(7).spawn(2))
        2
        """
        children = []
        for source in self.source.spawn(count):
            child = Generator.__new__(Generator)
            child.seed, child.source = self.seed, source
            children.append(child)
        return children


default_generator = Generator()
# It holds no arrays of calls.
UNTRACKED.add(Generator)


def manual_seed(seed: int, /) -> Generator:
    """Seed what everything random draws from where it is given no generator.

    Parameters
    ----------
    seed : an int from 0 on

    Returns
    -------
    the default generator, which all threads share; while a `DataLoader` makes a batch, the generator of that batch

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.manual_seed(0)
    Generator(seed=0)
    >>> x = dk.rand(3)
    >>> _ = dk.manual_seed(0)
    >>> bool(dk.all(x == dk.rand(3)))
    True
    """
    return current_generator().manual_seed(seed)


_current: ContextVar[Generator] = ContextVar("dispatchkit.generator", default=default_generator)


def current_generator() -> Generator:
    """Return the generator that random functions draw from here.

    Returns
    -------
    the default generator, or the one that `drawing_from` names
    """
    return _current.get()


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Have everything random that is given no generator draw from one, in this context alone.

    Parameters
    ----------
    generator : to draw from inside the `with` block
    """
    token = _current.set(generator)
    try:
        yield
    finally:
        _current.reset(token)


def source_of(generator: Generator | None) -> np.random.Generator:
    """Return what to draw from: a generator's source, or that of the default one."""
    return (_current.get() if generator is None else generator).source


for _name in ("Generator", "default_generator", "manual_seed"):
    enter(f"random.{_name}", globals()[_name])
enter("Generator", Generator)
enter("manual_seed", manual_seed)
