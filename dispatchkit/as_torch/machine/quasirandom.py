"""`torch.quasirandom`: points that fill a cube evenly, by SciPy's tables."""

from __future__ import annotations

import warnings
from typing import Any

from dispatchkit.as_torch.spelling import Tensor
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["SobolEngine"]


class SobolEngine:
    """A Sobol sequence of points in the unit cube.

    Parameters
    ----------
    dimension : number of coordinates, at most 21201
    scramble : whether the points are moved at random, each other's distances kept even
    seed : of that; drawn by the machine if None

    Attributes
    ----------
    MAXDIM : the most coordinates
    num_generated : how many points were drawn or left out

    Raises
    ------
    ValueError : for another number of coordinates
    ModuleNotFoundError : without SciPy

    Notes
    -----
    Source: Joe and Kuo, 2008, whose tables SciPy has, too. Scrambled points differ from PyTorch's.

    Examples
    --------
    >>> from dispatchkit.as_torch.quasirandom import SobolEngine
    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        from scipy.stats import qmc  # noqa: PLC0415  # optional

        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], found {dimension}"
            )
        self.dimension, self.scramble, self.seed, self.num_generated = dimension, scramble, seed, 0
        self._sequence = qmc.Sobol(dimension, scramble=scramble, rng=seed, bits=30)

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """Return the next points, of shape (n, dimension).

        Parameters
        ----------
        n : number of points
        out : tensor that they are written into
        dtype : of the result; the default one if None
        """
        with warnings.catch_warnings(action="ignore"):  # of numbers of points other than 2**m, which PyTorch takes
            points = self._sequence.random(n)
        self.num_generated += n
        drawn = Tensor(points.astype(numpy_dtype(dtype or xp.get_default_dtype())))
        if out is None:
            return drawn
        return out.resize_(drawn.shape).copy_(drawn)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """Return the next ``2**m`` points.

        Parameters
        ----------
        m : as in ``2**m``
        out, dtype : as of `draw`

        Raises
        ------
        ValueError : unless there are as many as a power of two afterwards
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do "
                f"this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out points, and return the engine.

        Parameters
        ----------
        n : number of points
        """
        self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def reset(self) -> SobolEngine:
        """Begin anew, and return the engine."""
        self._sequence.reset()
        self.num_generated = 0
        return self

    def __repr__(self) -> str:
        shown = f"dimension={self.dimension}"
        if self.scramble:
            shown += ", scramble=True"
        if self.seed is not None:
            shown += f", seed={self.seed}"
        return f"SobolEngine({shown})"
