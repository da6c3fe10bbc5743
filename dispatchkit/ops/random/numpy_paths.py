"""Fast paths of random numbers for NumPy arrays; what NumPy refuses is for the bodies, which say why."""

from __future__ import annotations

from typing import Any

from dispatchkit.backends.numpy import DOUBLE
from dispatchkit.declare.decorators import body_on_numpy
from dispatchkit.declare.typing import DType, Shape
from dispatchkit.ops.creation.creation import REFUSED, SHAPES
from dispatchkit.ops.creation.dtypes import default_dtype_of
from dispatchkit.ops.random.distributions import normal, uniform
from dispatchkit.ops.random.generator import Generator, source_of

__all__: list[str] = []

REAL = frozenset({int, float})
_uniform_any = body_on_numpy(uniform)


@uniform.def_numpy
def uniform_numpy(
    low: float = 0.0,
    high: float = 1.0,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Any:
    """Leave the bounds to NumPy's generator, which does in one pass what the body does in three."""
    plain = type(shape) in SHAPES and type(low) in REAL and type(high) in REAL
    if plain and _in_double(dtype, device) and low <= high:
        try:
            return source_of(generator).uniform(low, high, shape)
        except REFUSED:
            pass
    return _uniform_any(low, high, shape=shape, dtype=dtype, device=device, generator=generator)


def _in_double(dtype: DType, device: Any) -> bool:
    return device is None and (default_dtype_of("f") if dtype is None else dtype) is DOUBLE


_normal_any = body_on_numpy(normal)


@normal.def_numpy
def normal_numpy(
    mean: float = 0.0,
    std: float = 1.0,
    *,
    shape: Shape = (),
    dtype: DType = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Any:
    """Leave mean and deviation to NumPy's generator, which does in one pass what the body does in three."""
    plain = type(shape) in SHAPES and type(mean) in REAL and type(std) in REAL
    if plain and _in_double(dtype, device) and std >= 0:
        try:
            return source_of(generator).normal(mean, std, shape)
        except REFUSED:
            pass
    return _normal_any(mean, std, shape=shape, dtype=dtype, device=device, generator=generator)
