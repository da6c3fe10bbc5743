"""Sample calls: valid inputs that a declaration states, drawn by tests, coverage and documentation.

A sample is a call in which arrays stand as `Draw`s. An elementwise operation gets samples from its arity and
domain, a reduction from its signature; other operations state theirs in the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.tree import container_items, map_leaves

Content = Literal["real", "complex", "integer", "boolean", "definite", "distinct"]


@dataclass(frozen=True, slots=True)
class Draw:
    """An array to be drawn.

    Parameters
    ----------
    shape : of the array
    low, high : bounds of its elements
    content : ``"real"`` numbers; ``"complex"``, real and imaginary parts within the bounds; ``"integer"``;
        ``"boolean"``; ``"definite"``, symmetric positive definite matrices in the last two axes; ``"distinct"``, real
        numbers no two of which are close, nor one to the negative of another

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.testing.Draw((2, 3), low=0.0).shape
    (2, 3)
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    content: Content = "real"

    def make(self, rng: np.random.Generator) -> Any:
        """Return an array of this description.

        Parameters
        ----------
        rng : draws the elements

        Returns
        -------
        numpy.ndarray
            Of the shape, with such elements.

        Examples
        --------
        >>> import numpy as np
        >>> import dispatchkit as dk
        >>> dk.testing.Draw((2, 3)).make(np.random.default_rng(0)).shape
        (2, 3)
        """
        if self.content == "complex":
            parts = rng.uniform(self.low, self.high, size=(*self.shape, 2))
            return parts.view(np.complex128)[..., 0]
        if self.content == "integer":
            return rng.integers(int(self.low), int(self.high), size=self.shape, endpoint=True)
        if self.content == "boolean":
            return rng.integers(0, 2, size=self.shape).astype(bool)
        if self.content == "definite":
            root = rng.uniform(-1, 1, size=self.shape)
            return root @ np.swapaxes(root, -1, -2) + 2 * np.eye(self.shape[-1])
        if self.content == "distinct":
            count = int(np.prod(self.shape))
            steps = (np.arange(count) + 0.6) / (count + 1.5)
            return rng.permutation(self.low + (self.high - self.low) * steps).reshape(self.shape)
        return rng.uniform(self.low, self.high, size=self.shape)


@dataclass(frozen=True)
class Sample:
    """A call with draws for its arrays.

    Parameters
    ----------
    args, kwargs : of the call
    differentiable : whether gradients are to be checked there

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.testing.Sample((dk.testing.draw(3),)).differentiable
    True
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: bool = True

    def make(self, rng: np.random.Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments of a call, arrays as NumPy arrays.

        Parameters
        ----------
        rng : draws the elements

        Returns
        -------
        tuple
            Positional arguments and keywords.

        Examples
        --------
        >>> import numpy as np
        >>> import dispatchkit as dk
        >>> args, kwargs = dk.testing.sample(dk.testing.draw(3), axis=0).make(np.random.default_rng(0))
        >>> args[0].shape, kwargs
        ((3,), {'axis': 0})
        """
        drawn = with_arrays(self, lambda draw: draw.make(rng))
        return drawn.args, drawn.kwargs

    @cached_property
    def drawn(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of a call, the same at every run, made once: who changes an array copies it."""
        return self.make(np.random.default_rng(0))

    def arrays(self, parameters: Parameters) -> list[tuple[str, Any]]:
        """Return its arrays, drawn or given, each with the name of the parameter of the operation that takes it.

        Parameters
        ----------
        parameters : of the operation

        Returns
        -------
        list of tuple
            Name and array.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> sample = dk.testing.sample(dk.testing.draw(3))
        >>> [name for name, _ in sample.arrays(dk.tensor_protocol.operations["dispatchkit.exp"].parameters)]
        ['x']
        """
        values = parameters.values(self.args, self.kwargs)
        return [(p.name, value) for p, value in values if isinstance(value, (Draw, np.ndarray))]


def draw(*shape: int, low: float = -2.0, high: float = 2.0, content: Content = "real") -> Draw:
    """Describe an array that samples are to be drawn for.

    Parameters
    ----------
    *shape : of the array
    low, high : bounds of its elements
    content : what the elements are, such as ``"real"``, ``"integer"`` or ``"boolean"``, see `Draw`

    Returns
    -------
    Draw
        The description, which stands for the array in a `sample`.

    Examples
    --------
    >>> from dispatchkit.testing import draw
    >>> draw(2, 3, low=0.0).shape
    (2, 3)
    """
    return Draw(shape, low, high, content)


def sample(*args: Any, differentiable: bool = True, **kwargs: Any) -> Sample:
    """Describe a valid call of an operation, for its declaration.

    Parameters
    ----------
    *args : positional arguments, a `draw` in the place of each array
    differentiable : whether gradients are to be checked at such arrays
    **kwargs : keyword arguments

    Returns
    -------
    Sample
        The description, which ``dk.operation(samples=[...])`` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatchkit.testing import draw, sample
    >>> args, kwargs = sample(draw(2, 3), axis=0).make(np.random.default_rng(0))
    >>> args[0].shape, kwargs
    ((2, 3), {'axis': 0})
    """
    return Sample(args, kwargs, differentiable)


def with_arrays(sample: Sample, change: Callable[[Draw], Any]) -> Sample:
    """Return a sample with other arrays in the place of those that are drawn."""
    arguments = sample.args, sample.kwargs
    args, kwargs = map_leaves(container_items, lambda leaf: change(leaf) if isinstance(leaf, Draw) else leaf, arguments)
    return replace(sample, args=args, kwargs=kwargs)


def elementwise_samples(parameters: Parameters, domain: tuple[float, float], content: Content) -> list[Sample]:
    """Return calls of an elementwise operation: equal shapes, broadcasting, 0-D, empty."""
    shapes: Sequence[tuple[tuple[int, ...], ...]] = [((3,),), ((2, 3),), ((),), ((0, 2),)]
    count = len(parameters.arrays)
    if any(p.form is not Form.ONE for p in parameters.arrays):
        return []
    if count > 1:
        shapes = [
            ((3,),) * count,
            ((2, 3), (3,), (2, 1))[:count],
            ((), (2, 3), ())[:count],
            ((2, 1), (1, 3), (3,))[:count],
        ]
    low, high = domain
    samples = []
    for group in shapes:
        draws = tuple([Draw(shape, low, high, content) for shape in group])
        samples.append(Sample(draws))
    return samples


def reduction_samples(parameters: Parameters, content: Content = "distinct") -> list[Sample]:
    """Return calls of a reduction: whole, along each axis, keeping axes."""
    names = parameters.signature.parameters
    x = Draw((2, 3), content=content)
    samples = [Sample((x,)), Sample((Draw((4,), content=content),))]
    if "axis" in names:
        samples += [Sample((x,), {"axis": 0}), Sample((x,), {"axis": -1})]
        if "keepdims" in names:
            samples.append(Sample((x,), {"axis": 1, "keepdims": True}))
    return samples
