"""Samples of the types that the library ships, on which docs/coverage-of-types.md is measured."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk


def samples() -> list[Any]:
    """Return instances of every shipped type."""
    scalar, metadata = dk.types.ScalarTensor, dk.types.MetadataTensor
    matrix = dk.asarray([[2.0, -0.5, 0.25], [0.5, 1.5, -1.0], [0.75, 0.125, 3.0]])
    return [
        scalar(3, 2.0),
        scalar(2, 3),
        metadata(matrix, {"unit": "m", "run": 7}),
        metadata(dk.asarray([3, 1, 2]), {"unit": "m"}),
    ]
