"""Generators of random numbers, whose draws can be repeated."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.arrays import UNTRACKED
from dispatchkit.declare.namespace import enter
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, innermost_state

# What is public; the library itself uses more.
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

    seed: Any
    source: np.random.Generator

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None:
            self.manual_seed(seed)

    def __getattr__(self, name: str) -> Any:
        # Without a seed it starts when it is first used: NumPy loads its generators then, not with the library.
        if name not in {"seed", "source"}:
            raise AttributeError(f"Generator has no attribute {name!r}")
        return getattr(self.manual_seed(None), name)

    def __getstate__(self) -> dict[str, Any]:
        return {"seed": self.seed, "source": self.source}

    def __repr__(self) -> str:
        return f"Generator(seed={self.seed})"

    def manual_seed(self, seed: int | None) -> Generator:
        """Start again from a seed.

        Parameters
        ----------
        seed : an int from 0 on; drawn from the operating system if None

        Returns
        -------
        Generator
            The generator itself.
        """
        if seed is not None and operator.index(seed) < 0:
            raise ValueError(f"Generator: a seed must not be negative, found {seed}")
        self._start(np.random.SeedSequence(seed))
        return self

    def _start(self, sequence: np.random.SeedSequence) -> None:
        self.seed = sequence.entropy
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
        Generator
            The generator itself.

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
    Generator
        The default generator, which all threads share. While a `DataLoader` makes a batch, the generator of that batch.

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


_current = innermost_state("generator", default_generator)


def current_generator() -> Generator:
    """Return the generator that random functions draw from here.

    Returns
    -------
    Generator
        The default generator, or the one given to `drawing_from`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> generator = dk.Generator(0)
    >>> with dk.random.drawing_from(generator):
    ...     dk.random.current_generator() is generator
    True
    """
    return _current.get().value


def drawing_from(generator: Generator) -> Block:
    """Draw from a generator wherever none is given, in this thread or asyncio task alone.

    Parameters
    ----------
    generator : to draw from inside the `with` block

    Returns
    -------
    context manager
        To use in a `with` statement.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> def drawn():
    ...     with dk.random.drawing_from(dk.Generator(0)):
    ...         return dk.rand(2).tolist()
    >>> drawn() == drawn()
    True
    """
    return Block(_current, generator, "drawing_from")


def source_of(generator: Generator | None) -> Any:
    """Return what to draw from: a generator's source, that of the default one, or what stands for it in a replay.

    Raises
    ------
    TypeError : if it is no `Generator`
    """
    if generator is None:
        generator = _current.get().value
    if not isinstance(generator, Generator):
        raise TypeError(
            f"generator must be a dispatchkit.random.Generator or None, found {generator!r}; "
            "dispatchkit.random.Generator(seed) makes one"
        )
    source = generator.source
    replay = _replay.get().value
    if replay is None:
        return source
    return _StandIn(source, *replay)


class RandomDraw(NamedTuple):
    """Random numbers as they were drawn: from a source, by a method of it."""

    source: np.random.Generator
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def numbers(self) -> Any:
        """Return the numbers that the source gives next."""
        return np.asarray(getattr(self.source, self.method)(*self.args, **self.kwargs))

    def like(self) -> Any:
        """Return such numbers, and leave the source as it is."""
        return self._replace(source=copy.deepcopy(self.source)).numbers()


class _StandIn:
    """Stands for a source while a function is traced: notes the draws, and gives arrays that stand for their results.

    Where none are given, it gives such numbers as are drawn, and leaves the source as it was.
    """

    def __init__(self, source: np.random.Generator, given: Sequence[Any] | None, draws: list[RandomDraw]) -> None:
        self.source, self.given, self.draws = source, given, draws

    def __getattr__(self, method: str) -> Any:
        def drawn(*args: Any, **kwargs: Any) -> Any:
            draw = RandomDraw(self.source, method, args, kwargs)
            self.draws.append(draw)
            if self.given is None:
                return draw.like()
            return self.given[len(self.draws) - 1]

        return drawn


# What is given for the draws of a function that is traced, and the draws so far.
_replay: ContextState[Innermost[tuple[Sequence[Any] | None, list[RandomDraw]] | None]] = innermost_state("replay", None)


@contextmanager
def replaying(given: Sequence[Any] | None) -> Iterator[list[RandomDraw]]:
    """Have everything random draw nothing inside a `with` block, but take arrays that are given, in order.

    Parameters
    ----------
    given : an array for each draw; None for arrays of the right shapes, where the draws are not known yet

    Returns
    -------
    list of the draws, which grows with them
    """
    draws: list[RandomDraw] = []
    with Block(_replay, (given, draws)):
        yield draws


for _name in ("Generator", "default_generator", "manual_seed"):
    enter(f"random.{_name}", globals()[_name])
enter("Generator", Generator)
enter("manual_seed", manual_seed)
