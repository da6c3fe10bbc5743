"""What the tests of structured matrices share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.testing import check_type

# The operations that structures have rules for, and some that are made of those.
OPERATIONS = [
    *(dk.add, dk.subtract, dk.multiply, dk.divide, dk.pow, dk.negative, dk.abs, dk.less, dk.astype),
    *(dk.matmul, dk.matrix_transpose, dk.permute_dims, dk.getitem, dk.sum, dk.mean),
    *(dk.linalg.trace, dk.linalg.diagonal, dk.linalg.inv, dk.linalg.solve, dk.linalg.det, dk.linalg.slogdet),
    *(dk.linalg.cholesky, dk.linalg.eigh, dk.linalg.eigvalsh, dk.linalg.svd, dk.linalg.svdvals),
    *(dk.linalg.matrix_power, dk.linalg.matrix_norm),
]


def conforms(samples: Callable[[], list[Any]], **options: Any) -> None:
    """Check a type on samples against its dense form, by all operations that structures answer."""
    options = {"operations": OPERATIONS, "depth": 1, **options}
    with np.errstate(all="ignore"):
        check_type(type(samples()[0]), samples, **options)


def dense(x: Any) -> Any:
    """Return a structured matrix as a tensor, and anything else as it is."""
    return x.to_dense() if isinstance(x, dk.types.StructuredTensor) else x


def same(structured: Any, plain: Any, rtol: float = 1e-12) -> None:
    """Check a result against that of the dense matrices: values, shape, dtype."""
    structured, plain = dense(structured), dense(plain)
    assert structured.shape == plain.shape
    assert structured.dtype == plain.dtype
    np.testing.assert_allclose(structured.detach().numpy(), plain.detach().numpy(), rtol=rtol, atol=rtol)
