"""Functions that draw numbers."""

from __future__ import annotations

import numpy as np

from dispatchkit.as_torch.shared import written_functions
from dispatchkit.as_torch.table import ALONE, is_array
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.random.generator import source_of
from dispatchkit.tensor.gradients import like_tensor

# Of more trials than these, which int64 still counts, successes are drawn as numbers of a normal distribution.
MOST_TRIALS = 2.0**62


def normal(mean, std=1.0, size=None, *, generator=None, **options):
    if size is not None:
        return xp.random.normal(mean, std, shape=size, generator=generator, **options)
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    return mean + std * xp.random.normal(shape=shape, generator=generator, dtype=xp.result_type(mean, std))


def bernoulli(input, p=None, *, generator=None):
    if p is None:
        return like_tensor(input, xp.random.bernoulli(input, generator=generator))
    if is_array(p):
        p = xp.broadcast_to(p, input.shape)
    return xp.random.bernoulli(p, shape=tuple(input.shape), dtype=input.dtype, generator=generator)


def poisson(input, generator=None):
    drawn = np.asarray(source_of(generator).poisson(np.asarray(input.detach())))
    return like_tensor(input, xp.asarray(drawn.astype(numpy_dtype(input.dtype))))


def binomial(count, prob, generator=None):
    source = source_of(generator)
    counts, shares = np.broadcast_arrays(np.asarray(count.detach()), np.asarray(prob.detach()))
    # Of no trials there is no success, and of certain ones each is.
    certain = np.nan_to_num(np.clip(shares, 0, 1))
    many = counts > MOST_TRIALS
    drawn = source.binomial(np.where((counts > 0) & ~many, counts, 0).astype(np.int64), certain)
    if many.any():
        spread = np.sqrt(np.where(np.isfinite(counts) & many, counts, 0) * certain * (1 - certain))
        mean = np.multiply(counts, certain, where=certain > 0, out=np.zeros_like(spread))
        drawn = np.where(many, mean + spread * source.standard_normal(counts.shape), drawn)
    drawn = np.where(np.isnan(counts) | np.isnan(shares), np.nan, drawn)
    return like_tensor(count, xp.asarray(drawn.astype(numpy_dtype(count.dtype))))


def randint_like(input, low=0, high=None, *, dtype=None, **options):
    if high is None:
        low, high = 0, low
    drawn = xp.random.randint(low, high, shape=input.shape, **options)
    return like_tensor(input, xp.astype(drawn, dtype or input.dtype))


ALONE.update(written_functions(globals()))
