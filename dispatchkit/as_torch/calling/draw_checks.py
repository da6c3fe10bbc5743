"""What functions that draw numbers refuse about the values of arguments, in PyTorch's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import Given, dtype_name, kind_of, look_each_time_of, look_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import numpy_dtype


@look_of("bernoulli")
def floating_probabilities(given: Given) -> None:
    x: Any = given["input"]
    p: Any = given.get("p")
    if is_array(p) and p.ndim:
        raise TypeError(
            "bernoulli() received an invalid combination of arguments: got (Tensor, Tensor), but expected "
            "(Tensor input) or (Tensor input, float p)"
        )
    if (p is None and kind_of(x) != "f") or kind_of(x) == "c":
        raise NotImplementedError(f'"bernoulli" not implemented for {dtype_name(x)!r}')


@look_each_time_of("bernoulli")
def range_of_probabilities(given: Given) -> None:
    p: Any = given.get("p")
    if p is None:
        p = given["input"]
    if is_array(p):
        if p.is_tracer:
            return
        p = np.asarray(p.detach().array)
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise RuntimeError(f"bernoulli: Expected probabilities from 0 to 1, found {p}")


@look_of("multinomial")
def axes_of_shares(given: Given) -> None:
    shares: Any = next(iter(given.values()))
    if shares.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, found {shares.ndim}")


@look_each_time_of("multinomial")
def count_of_draws(given: Given) -> None:
    shares: Any = next(iter(given.values()))
    if not given.get("replacement", False) and given["num_samples"] > shares.shape[-1]:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {given['num_samples']} of "
            f"{shares.shape[-1]}"
        )


@look_each_time_of("poisson")
def rates(given: Given) -> None:
    x = given["input"]
    if not x.is_tracer and not np.all(np.asarray(x.detach().array) >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")


@look_of("randint_like")
def range_of_integers(given: Given) -> None:
    dtype = numpy_dtype(given.get("dtype") or given["input"].dtype)
    if dtype.kind == "c":
        raise RuntimeError(
            f"check_random_bounds handles only integral, floating-point and boolean types, found {dtype}"
        )
    high = given.get("high")
    if high is None:
        high = given.get("low", 0)
    if is_array(high) and high.ndim:
        raise RuntimeError(f"high must be a scalar tensor, found shape {[*high.shape]}")
    low = given.get("low", 0)
    if given.get("high") is not None and isinstance(low, int) and dtype.kind in "bui":
        least = 0 if dtype.kind == "b" else np.iinfo(dtype).min
        if low < least:
            raise RuntimeError(f"from is out of bounds for {dtype}")
    if isinstance(high, int) and dtype.kind in "bui":
        most = 1 if dtype.kind == "b" else np.iinfo(dtype).max
        if high - 1 > most:
            raise RuntimeError(f"to - 1 is out of bounds for {dtype}")


@look_of("binomial")
def floats_of_trials(given: Given) -> None:
    for name in ("count", "prob"):
        if kind_of(given[name]) != "f":
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {dtype_name(given[name])}")
    if given["count"].dtype != given["prob"].dtype:
        raise RuntimeError(
            f"binomial: Found dtype {dtype_name(given['prob'])} but expected {dtype_name(given['count'])}"
        )


@look_of("poisson")
def floats_of_rates(given: Given) -> None:
    if kind_of(given["input"]) != "f":
        raise NotImplementedError(f'"poisson" not implemented for {dtype_name(given["input"])!r}')
