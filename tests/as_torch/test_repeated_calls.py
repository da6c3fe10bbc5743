"""A call of a known kind with other numbers or lengths is answered as one that is the first of its kind."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch
from dispatchkit.as_torch.calling import caller
from dispatchkit.as_torch.calling.plans import Plan
from dispatchkit.as_torch.calling.signatures import Argument, signatures_of
from dispatchkit.as_torch.spelling import FUNCTIONS

torch: Any = dispatchkit.as_torch
GOOD = (0.5, 2.0, 1.0, 3.0)
OTHERS = (-1.5, 0.0, 1.5, 4.0, math.nan, math.inf, 1e300, -1e300)
NUMBERS = frozenset({"float", "Scalar"})
SHAPES = ((3,), (3, 3), (2, 3), (1, 3, 4))
DTYPES = (torch.float64, torch.float32, torch.float32, torch.int64, torch.bool)
ATTEMPTS = 20
LEAST = 100  # calls that plans carry out
# Which draw, and those of counts that 1e300 is none of.
ASIDE = ("dropout", "rrelu", "bernoulli", "polynomial", "normal", "native_")

pytestmark = pytest.mark.filterwarnings("ignore")


def with_numbers() -> Iterator[str]:
    """Yield the paths of the functions that numbers may be given to."""
    for path in FUNCTIONS:
        kinds = {argument.kind for overload in signatures_of(path).overloads for argument in overload}
        if kinds & NUMBERS and not any(part in path for part in ASIDE):
            yield path


def drawn(rng: random.Random, argument: Argument, like: Any) -> Any:
    """Return a good argument, and None where there is none of its kind."""
    if argument.kind in NUMBERS:
        return tuple(rng.choices(GOOD, k=2)) if argument.several else rng.choice(GOOD)
    if argument.kind == "Tensor" and not argument.several:
        shape, dtype = like if rng.random() < 0.8 else (rng.choice(SHAPES), rng.choice(DTYPES))
        return torch.as_tensor(np.arange(math.prod(shape)).reshape(shape) % 3 / 4 + 0.25).to(dtype)
    if argument.kind == "int":
        return rng.choice((0, 1, 2))
    return None


def arguments_of(rng: random.Random, overload: tuple[Argument, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments by position, and by name behind one that is left out."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    left_out, like = False, (rng.choice(SHAPES), rng.choice(DTYPES))
    for argument in overload:
        value = None
        if not argument.has_default or rng.random() < 0.6:
            value = drawn(rng, argument, like)
        if value is None:
            left_out = True
        elif left_out or argument.by_name:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def varied(rng: random.Random, value: Any) -> Any:
    """Return another argument of the same kind."""
    if type(value) is float:
        return rng.choice(OTHERS)
    if type(value) is tuple:
        return tuple([varied(rng, each) for each in value])
    if hasattr(value, "ndim") and rng.random() < 0.3:
        return torch.cat([value, value], rng.randrange(value.ndim))
    return value


def as_lists(y: Any) -> Any:
    """Return the dtypes and elements of results."""
    if isinstance(y, (tuple, list)):
        return [as_lists(each) for each in y]
    return (y.dtype, y.tolist()) if hasattr(y, "tolist") else y


def outcome(function: Any, args: Any, kwargs: Any) -> str:
    """Return what comes of a call, as text."""
    try:
        return repr(as_lists(function(*args, **kwargs)))
    except Exception as error:  # noqa: BLE001  # whatever it refuses
        return f"{type(error).__name__}: {error}"


def test_other_numbers_are_looked_at_in_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = 0
    carried_out = Plan.carried_out

    def counted(self: Plan, function: Any, args: Any, kwargs: Any) -> Any:
        nonlocal planned
        planned += 1
        return carried_out(self, function, args, kwargs)

    monkeypatch.setattr(Plan, "carried_out", counted)
    faults = []
    for path in with_numbers():
        rng, function = random.Random(path), FUNCTIONS[path]  # noqa: S311  # no secrets
        for _ in range(ATTEMPTS):
            args, kwargs = arguments_of(rng, rng.choice(signatures_of(path).overloads))
            if outcome(function, args, kwargs).partition(":")[0].endswith("Error"):
                continue
            others = [varied(rng, each) for each in args], {name: varied(rng, kwargs[name]) for name in kwargs}
            with monkeypatch.context() as alone:
                alone.setattr(caller, "key_of", lambda *_: None)
                first = outcome(function, *others)
            again = outcome(function, *others)
            if first != again:
                faults.append((path, args, kwargs, *others, first, again))
    assert not faults, faults[0]
    assert planned > LEAST
