"""Random numbers: generators that can be repeated, and draws from distributions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import UNTRACKED, numpy_dtype
from dispatchkit.declare.decorators import random
from dispatchkit.declare.namespace import enter
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, DType, Namespace, Shape
from dispatchkit.ops.creation.creation import shape_of
from dispatchkit.ops.creation.dtypes import default_dtype_of

__all__ = [
    "Generator",
    "bernoulli",
    "current_generator",
    "default_generator",
    "drawing_from",
    "manual_seed",
    "normal",
    "permutation",
    "randint",
    "uniform",
]

RANDOM = "dispatchkit.random"
# Characters of float32 and float64, which NumPy's generators draw.
FLOATS = frozenset("fd")


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
current_generator = _current.get


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Have everything random that is given no generator draw from one, in this context alone."""
    token = _current.set(generator)
    try:
        yield
    finally:
        _current.reset(token)


def drawn(
    xp: Namespace,
    name: str,
    distribution: Callable[..., Any],
    shape: Shape,
    dtype: DType = None,
    device: Any = None,
) -> Any:
    """Return an array of floating numbers from a distribution.

    Parameters
    ----------
    xp : namespace of the result
    name : of the operation, for messages
    distribution : a generator's method that takes `size` and `dtype`
    shape, dtype, device : of the result; the default floating dtype if None

    Raises
    ------
    ValueError : if `dtype` is not float32 or float64
    """
    wanted = default_dtype_of("f") if dtype is None else numpy_dtype(dtype)
    if wanted.char not in FLOATS:
        raise ValueError(f"{name}: dtype must be float32 or float64, found {wanted}")
    values = np.asarray(distribution(size=shape_of(name, shape), dtype=wanted))
    return xp.asarray(values, device=device)


def source_of(generator: Generator | None) -> np.random.Generator:
    """Return what to draw from: a generator's source, or that of the default one."""
    return (_current.get() if generator is None else generator).source


@random(
    namespace=RANDOM,
    differentiable=False,
    samples=[sample(shape=(2, 3)), sample(-1.0, 1.0), sample(shape=2, dtype="float32")],
)
def uniform(
    xp: Namespace,
    low: float = 0.0,
    high: float = 1.0,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw numbers that are equally likely everywhere between two bounds.

    Parameters
    ----------
    low, high : the bounds; `high` is not drawn
    shape : of the result
    dtype : of the result, float32 or float64; the default one if None

    Raises
    ------
    ValueError : if `high` is below `low`, or `dtype` is another

    Examples
    --------
    >>> dk.random.uniform(-1.0, 1.0, shape=(2, 3)).shape
    (2, 3)
    """
    if high < low:
        raise ValueError(f"{uniform.__name__}: high is not below low, found low={low} and high={high}")
    numbers = drawn(xp, uniform.__name__, source_of(generator).random, shape, dtype, device)
    return numbers * float(high - low) + float(low)


@random(
    namespace=RANDOM,
    differentiable=False,
    samples=[sample(shape=(2, 3)), sample(5.0, 0.5), sample(shape=2, dtype="float32")],
)
def normal(
    xp: Namespace,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw numbers from the normal distribution.

    Parameters
    ----------
    mean, std : of the distribution
    shape : of the result
    dtype : of the result, float32 or float64; the default one if None

    Raises
    ------
    ValueError : if `std` is negative, or `dtype` is another

    Examples
    --------
    >>> dk.random.normal(5.0, 0.1, shape=(2, 3)).shape
    (2, 3)
    """
    if std < 0:
        raise ValueError(f"{normal.__name__}: std is not negative, found {std}")
    numbers = drawn(xp, normal.__name__, source_of(generator).standard_normal, shape, dtype, device)
    return numbers * float(std) + float(mean)


@random(
    namespace=RANDOM,
    differentiable=False,
    samples=[sample(0, 9, shape=(2, 3)), sample(-3, 3), sample(0, 2, dtype="int8")],
)
def randint(
    xp: Namespace,
    low: int,
    high: int,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw integers that are equally likely.

    Parameters
    ----------
    low, high : bounds; `high` is not drawn
    shape : of the result
    dtype : of the result, int64 if None

    Raises
    ------
    ValueError : if there is no integer between the bounds, or `dtype` cannot hold them

    Examples
    --------
    >>> dk.random.randint(5, 6, shape=3)
    tensor([5, 5, 5])
    """
    return integers(xp, randint.__name__, low, high, shape, dtype, device, generator)


def integers(
    xp: Namespace,
    name: str,
    low: int,
    high: int,
    shape: Shape,
    dtype: DType,
    device: Any,
    generator: Generator | None,
) -> Any:
    """Return an array of integers from `low` on and below `high`, of int64 if `dtype` is None."""
    if high <= low:
        raise ValueError(f"{name}: high must be above low, found low={low} and high={high}")
    wanted = np.dtype("int64") if dtype is None else numpy_dtype(dtype)
    lengths = shape_of(name, shape)
    if wanted.kind in "fc":
        values = source_of(generator).integers(low, high, size=lengths).astype(wanted)
    else:
        values = np.asarray(source_of(generator).integers(low, high, size=lengths, dtype=wanted))
    return xp.asarray(values, device=device)


@random(
    namespace=RANDOM,
    differentiable=False,
    samples=[sample(5), sample(draw(4)), sample(draw(3, 2), axis=1)],
)
def permutation(xp: Namespace, x: int | Array, /, *, axis: int = 0, generator: Generator | None = None) -> Array:
    """Shuffle an array along an axis, or the integers below a number.

    Parameters
    ----------
    x : array of shape (..., N, ...), whose elements along the axis change places together; or an int N
    axis : of length N

    Returns
    -------
    a copy in random order, or the integers below `x` in random order

    Raises
    ------
    ValueError : if `x` is 0-D

    Examples
    --------
    >>> dk.sort(dk.random.permutation(4))
    tensor([0, 1, 2, 3])
    """
    source = source_of(generator)
    if isinstance(x, int):
        return xp.asarray(source.permutation(x))
    if x.ndim == 0:
        raise ValueError(f"{permutation.__name__}: wants an array with axes, or an int; found shape ()")
    order = xp.asarray(source.permutation(x.shape[axis]))
    return xp.take(x, order, axis=axis)


@random(
    namespace=RANDOM,
    differentiable=False,
    samples=[
        sample(0.5, shape=(2, 3)),
        sample(draw(4, low=0.0, high=1.0)),
        sample(1.0, shape=2, dtype="int64"),
    ],
)
def bernoulli(
    xp: Namespace,
    p: float | Array = 0.5,
    *,
    shape: Shape | None = None,
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Array:
    """Draw ones with a probability, else zeros.

    Parameters
    ----------
    p : probability of a one: a number, or an array of shape (...) that broadcasts to `shape`
    shape : of the result, that of `p` by default
    dtype : of the result; by default that of an array `p`, else the default floating one

    Raises
    ------
    ValueError : if a probability is not between 0 and 1

    Examples
    --------
    >>> dk.random.bernoulli(1.0, shape=3)
    tensor([1., 1., 1.])
    """
    own = getattr(p, "shape", ())
    lengths = tuple(own) if shape is None else shape_of(bernoulli.__name__, shape)
    inside = (p >= 0) & (p <= 1)
    if not (inside if isinstance(inside, bool) else bool(xp.all(inside))):
        raise ValueError(f"{bernoulli.__name__}: a probability is between 0 and 1, found {p!r}")
    device = getattr(p, "device", None) if device is None else device
    numbers = xp.asarray(source_of(generator).random(lengths), device=device)
    default = getattr(p, "dtype", default_dtype_of("f"))
    return xp.astype(numbers < p, dtype or default)


for _name in ("Generator", "default_generator", "manual_seed"):
    enter(f"random.{_name}", globals()[_name])
enter("Generator", Generator)
enter("manual_seed", manual_seed)
