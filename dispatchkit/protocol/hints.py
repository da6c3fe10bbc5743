"""What was meant by a call that does not fit a signature: keywords of other libraries, and tuples spread out."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

__all__ = ["ELSEWHERE", "call_meant"]

# What a keyword of PyTorch's or NumPy's is called here: the first that an operation has.
ELSEWHERE = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis", "shift"),
    "keepdim": ("keepdims",),
    "input": ("x", "x1"),
    "other": ("x2",),
    "unbiased": ("correction",),
    "ddof": ("correction",),
    "size": ("shape",),
}
# Parameters that take a tuple of ints.
TUPLES = frozenset({"shape", "axes", "repetitions"})


def call_meant(name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return what to write in place of a call that does not fit a signature; "" where that cannot be guessed.

    Parameters
    ----------
    name : of the function
    signature : that the call does not fit
    args, kwargs : of the call
    """
    parameters = signature.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return ""
    named = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    for keyword in kwargs:
        if keyword not in named and (near := _keyword_meant(keyword, [one for one in named if one not in kwargs])):
            return f"did you mean '{near}'?"
    places = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    several = len(args) - len(places) + 1
    for start, place in enumerate(places):
        spread = args[start : start + several]
        if place in TUPLES and several > 1 and all(isinstance(one, int) for one in spread):
            shown = [*places[:start], str(tuple(spread)), *places[start + 1 :]]
            return f"give the {place} as a tuple: {name}({', '.join(shown)})"
    return ""


def _keyword_meant(keyword: str, named: Collection[str]) -> str:
    elsewhere = [one for one in ELSEWHERE.get(keyword, ()) if one in named]
    return next(iter(elsewhere or get_close_matches(keyword, named, n=1)), "")
