"""The operations beyond the standard, computed by other libraries and by types that know the standard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.ops import signal as extras_signal
from dispatchkit.ops.linalg import contraction as extras_einsum
from dispatchkit.ops.manipulation import splitting as extras_manipulation
from dispatchkit.ops.reductions import nan as extras_nan
from dispatchkit.ops.reductions import softmaxes as extras_softmax
from dispatchkit.ops.statistics import moments as extras_statistics
from dispatchkit.ops.statistics import quantiles as extras_order

CHAPTERS: list[Any] = [
    *(extras_einsum, extras_manipulation, extras_nan, extras_order, extras_signal, extras_softmax, extras_statistics),
]
OPERATIONS: Any = dk.tensor_protocol.operations
DECLARED_IN = {chapter.__name__ for chapter in CHAPTERS}
NAMES = {entry.name for entry in OPERATIONS.values() if entry.source.__module__ in DECLARED_IN}
CALLS = [
    pytest.param(OPERATIONS[f"dispatchkit.{name}"], sample, id=f"{name}-{index}")
    for name in sorted(NAMES)
    for index, sample in enumerate(OPERATIONS[f"dispatchkit.{name}"].samples)
    # Dtypes are those of NumPy in samples.
    if "dtype" not in sample.kwargs
]


def changed(entry: DeclaredOperation, sample: Sample, change: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the arguments of a sample with something else for its arrays, beside those of the sample itself."""
    args, kwargs = sample.make(np.random.default_rng(0))
    return (args, kwargs), dk.tensor_protocol.map_arguments(
        entry.function, args, kwargs, lambda name, value: change(value) if isinstance(value, np.ndarray) else value
    )


def arrays(result: Any) -> Iterator[Any]:
    yield from result if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize(("entry", "sample"), CALLS)
def test_bodies_use_the_standard_alone(entry: DeclaredOperation, sample: Sample) -> None:
    strict = pytest.importorskip("array_api_strict")
    (args, kwargs), (strict_args, strict_kwargs) = changed(entry, sample, strict.asarray)
    found = entry.implementation.body(strict, *strict_args, **strict_kwargs)
    for one, expected in zip(arrays(found), arrays(entry.function(*args, **kwargs)), strict=True):
        np.testing.assert_allclose(np.asarray(one), expected.numpy(), rtol=1e-12, atol=1e-12)


@dk.array_type(fallback=dk.fallback.decompose)
class Boxed:
    """A type of its own, which answers the operations of the standard alone."""

    def __init__(self, inside: Any) -> None:
        self.inside = inside
        self.shape, self.dtype = inside.shape, inside.dtype

    def __bool__(self) -> bool:
        return bool(self.inside)


def opened(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(opened(one) for one in value)
    return value.inside if isinstance(value, Boxed) else value


def boxing(function: Callable[..., Any]) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:
        result = function(*opened(args), **{name: opened(value) for name, value in kwargs.items()})
        return tuple(map(Boxed, result)) if isinstance(result, tuple) else Boxed(result)

    return answer


@pytest.fixture(scope="module", autouse=True)
def boxed() -> Iterator[None]:
    with dk.local_registrations():
        for name, entry in OPERATIONS.items():
            if name.startswith("dispatchkit.") and entry.name not in NAMES and not entry.parameters.nullary:
                dk.implements(entry.function, Boxed)(boxing(entry.function))
        yield


@pytest.mark.parametrize(("entry", "sample"), CALLS)
def test_a_type_that_knows_the_standard_has_them_all(entry: DeclaredOperation, sample: Sample) -> None:
    (args, kwargs), (boxed_args, boxed_kwargs) = changed(entry, sample, lambda value: Boxed(dk.asarray(value)))
    found = entry.function(*boxed_args, **boxed_kwargs)
    for one, expected in zip(arrays(found), arrays(entry.function(*args, **kwargs)), strict=True):
        assert type(one) is Boxed
        np.testing.assert_allclose(opened(one).numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
