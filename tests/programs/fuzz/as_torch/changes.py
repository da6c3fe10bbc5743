"""Arguments and results of calls that are changed in place before gradients are taken, in both libraries."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

import dispatchkit.as_torch as spelled

from .calls import Call, arrays_in, built, mapped
from .comparing import Difference, function_of, leaves, plain, said
from .samples import Samples
from .schemas import Pool

__all__ = ["changes_of", "differing_changes"]

SPELLED: Any = spelled
LARGEST = 600  # elements of the arrays of a call
SAMPLES = 8  # of a function
DRAWN = 200  # calls by the schemas of a function, among which are suitable ones
FACTOR = -1.5  # by which a tensor is multiplied in place
Gradients = list[Any]
Place = tuple[str, int]


def agree(ones: Gradients, others: Gradients) -> bool:
    """Return whether gradients are the same but for rounding; one that is absent is 0."""
    pairs = [(0.0 if a is None else a, 0.0 if b is None else b) for a, b in zip(ones, others, strict=True)]
    return all(np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True) for a, b in pairs)


def called(call: Call, module: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the leaves of a call, the arguments that are computed from them, and the results that have gradients."""
    args, kwargs, memories = built(call, module)
    recorded: list[Any] = []

    def record(x: Any) -> Any:
        if not x.requires_grad:
            return x
        recorded.append(x * 1)
        return recorded[-1]

    args, kwargs = mapped((args, kwargs), module.Tensor, record)
    parts = leaves(function_of(call, module)(*args, **kwargs))
    return memories, recorded, [y for y in parts if getattr(y, "grad_fn", None) is not None]


def differentiated(call: Call, module: Any, place: Place | None = None, scaled: int | None = None) -> Gradients | str:
    """Return the gradients of a call's arguments, or what is raised.

    Parameters
    ----------
    call : which
    module : PyTorch, or what has its names
    place : what is changed in place before the backward pass; nothing if None
    scaled : the result whose cotangent is multiplied, as it is where the result was changed
    """
    memories, arguments, results = called(call, module)
    try:
        if place is not None:
            {"argument": arguments, "result": results}[place[0]][place[1]].mul_(FACTOR)
        cotangents = [
            module.from_numpy(np.linspace(0.5, 1.5, max(y.numel(), 1))[: y.numel()].reshape(tuple(y.shape))).to(y.dtype)
            for y in results
        ]
        if scaled is not None:
            cotangents[scaled] *= FACTOR
        module.autograd.backward(results, cotangents)
    except Exception as error:  # noqa: BLE001  # compared
        return said(error)
    return [None if leaf.grad is None else plain(leaf.grad) for leaf in memories]


def changes_of(call: Call) -> Iterator[Difference]:
    """Yield what differs where an argument or a result of a call is changed, unless the call itself differs.

    Parameters
    ----------
    call : which
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            counts = [tuple(map(len, called(call, module)[1:])) for module in (torch, SPELLED)]
        except Exception:  # noqa: BLE001  # refused as it is, which the other comparison looks at
            return
        theirs, ours = differentiated(call, torch), differentiated(call, SPELLED)
        if isinstance(theirs, str) or isinstance(ours, str) or counts[0] != counts[1] or not agree(theirs, ours):
            return
        scaled = [None if g is None else FACTOR * g for g in ours]  # of results that are views
        for index in range(counts[0][0]):
            yield from compared_change(call, ("argument", index), [ours, scaled])
        for index in range(counts[0][1]):
            yield from compared_change(call, ("result", index), [differentiated(call, SPELLED, scaled=index)])


def compared_change(call: Call, place: Place, right: list[Any]) -> Iterator[Difference]:
    """Yield in what the libraries differ after a change, unless a gradient of PyTorch's alone is wrong.

    Parameters
    ----------
    call, place : what is called, and what is changed
    right : the gradients that mathematics gives, or several of which one is right
    """
    theirs, ours = differentiated(call, torch, place), differentiated(call, SPELLED, place)

    def is_right(outcome: Gradients | str) -> bool:
        return not isinstance(outcome, str) and any(agree(each, outcome) for each in right)

    sort = ""
    if not isinstance(ours, str) and not isinstance(theirs, str) and agree(theirs, ours):
        return
    if isinstance(ours, str):
        if is_right(theirs):
            sort = "refused"
    elif not is_right(ours):
        sort = "wrong"
    elif isinstance(theirs, str):
        sort = "taken"
    else:
        sort = "gradient"
    if sort:
        text = f"{place[0]} {place[1]}: {ours} for {theirs}"
        yield Difference(call, f"{sort} after a change", " ".join(text.split()))


def calls_with_gradients(samples: Samples, pool: Pool, path: str) -> Iterator[Call]:
    """Yield a few small calls of a function that gradients flow to: samples, or drawn by its schemas."""

    def is_suitable(call: Call) -> bool:
        arrays = arrays_in((call.args, call.kwargs))
        small = 0 < sum(array.data.size for array in arrays) <= LARGEST
        return small and call.form != "in place" and any(array.gradient for array in arrays)

    calls = list(itertools.islice(filter(is_suitable, samples.of(path)), SAMPLES))
    if not calls and path in pool.schemas:
        rng = random.Random(path)  # noqa: S311  # no secrets
        drawn = (pool.draw_of(rng, path) for _ in range(DRAWN))
        calls = list(itertools.islice(filter(is_suitable, drawn), SAMPLES))
    yield from calls


def differing_changes(paths: Sequence[str], most: int = SAMPLES) -> Iterator[Difference]:
    """Yield what differs in calls of functions whose arguments and results are changed before gradients are taken.

    Parameters
    ----------
    paths : of the functions
    most : calls of each
    """
    samples, pool = Samples(paths), Pool(paths)
    for path in paths:
        for call in itertools.islice(calls_with_gradients(samples, pool, path), most):
            yield from changes_of(call)
