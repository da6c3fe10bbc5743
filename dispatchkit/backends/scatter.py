"""Adding to places of a flat array, and keeping the largest there: the standard has neither, the libraries do.

A library whose name is not in `SCATTERS` goes by functions of the standard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["SCATTERS", "Scatter"]

Function = Callable[[Any, Any, Any], Any]


class Scatter(NamedTuple):
    """The functions of a library; both are of a flat array, integers that say where, and as many values.

    Attributes
    ----------
    add : gives a copy of the array with every value added at its place
    largest : gives a copy with the largest value of each place, or what was there if that is larger
    """

    add: Function
    largest: Function


def _cupy(name: str) -> Function:
    def scatter(flat: Any, places: Any, values: Any) -> Any:
        import cupyx  # noqa: PLC0415  # optional dependency

        out = flat.copy()
        getattr(cupyx, name)(out, places, values)
        return out

    return scatter


SCATTERS = {
    "torch": Scatter(
        lambda flat, places, values: flat.index_add(0, places, values),
        lambda flat, places, values: flat.scatter_reduce(0, places, values, "amax"),
    ),
    "jax.numpy": Scatter(
        lambda flat, places, values: flat.at[places].add(values),
        lambda flat, places, values: flat.at[places].max(values),
    ),
    "cupy": Scatter(_cupy("scatter_add"), _cupy("scatter_max")),
}
