"""What calls say that no other test makes go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk

X: Any = dk.ones((2, 3))
ANY: Any = dk  # calls that type checkers refuse
ITERABLE = type("Stream", (dk.data.IterableDataset,), {})

TEXTS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "mm": (lambda: dk.mm(X, dk.ones(3)), ValueError, "mm: x2 must be a matrix (2-D), found shape (3,)"),
    "trace": (
        lambda: dk.linalg.trace(dk.ones(3)),
        ValueError,
        "trace: x must be matrices, of shape (..., M, N), found shape (3,)",
    ),
    "flatten": (lambda: dk.flatten(X, 1, 0), ValueError, "flatten: axis end_dim=0 comes before start_dim=1"),
    "meshgrid": (
        lambda: dk.meshgrid(dk.ones(2), indexing=ANY.nn),
        ValueError,
        "meshgrid: indexing must be 'xy' or 'ij', not ",
    ),
    "uniform": (lambda: dk.random.uniform(1.0, 0.0), ValueError, "high is not below low, found low=1.0 and high=0.0"),
    "randint": (lambda: dk.randint(2, 2, (3,)), ValueError, "high must be above low, found low=2 and high=2"),
    "randint without size": (lambda: ANY.randint(2), TypeError, "wants (high, size) or (low, high, size)"),
    "norm": (lambda: dk.norm(dk.ones(3), ord="fro"), ValueError, "ord='fro' is of matrices, found shape (3,)"),
    "matrix_norm": (
        lambda: dk.linalg.matrix_norm(X, ord=ANY.inf - ANY.inf),
        ValueError,
        "ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, found nan",
    ),
    "finfo": (
        lambda: dk.finfo(dk.int64),
        ValueError,
        "finfo: wants a floating dtype, found int64; see iinfo for integers",
    ),
    "iinfo": (
        lambda: dk.iinfo(dk.float64),
        ValueError,
        "iinfo: wants an integer dtype, found float64; see finfo for floating ones",
    ),
    "isdtype": (lambda: dk.isdtype(dk.int8, "whole"), ValueError, "isdtype: 'whole' names no kind of dtype; there are"),
    "einsum_path": (
        lambda: dk.einsum_path("...,...,...", *[dk.ones((1,) * 60)] * 3),
        ValueError,
        "a path is sought among up to 52 axes, found 60; use optimize=False",
    ),
    "kaiming": (
        lambda: dk.nn.init.kaiming_uniform_(dk.zeros((2, 2)), mode=ANY.nn.__name__),
        ValueError,
        "is not supported; use 'fan_in' or 'fan_out'",
    ),
    "reshape": (
        lambda: dk.reshape(X.mT, (6,), copy=False),
        ValueError,
        "Unable to avoid creating a copy while reshaping.",
    ),
    "matmul under vmap": (
        lambda: dk.func.vmap(lambda x: dk.matmul(x, dk.ones(2)))(dk.ones(3)),
        ValueError,
        "matmul: x1 is 0-D; multiply numbers with *",
    ),
    "ConcatDataset": (
        lambda: dk.data.ConcatDataset([ITERABLE()]),
        TypeError,
        "ConcatDataset does not support IterableDataset: data set 0 is Stream",
    ),
    "matvec": (
        lambda: dk.types.ScalarTensor(2, dk.tensor(1.0, requires_grad=True)).matvec(np.ones(2)),
        dk.errors.AutogradError,
        "requires grad, which NumPy's vector would lose; solve by dispatchkit.linalg.cg",
    ),
    "sliding_window_view": (
        lambda: np.lib.stride_tricks.sliding_window_view(ANY.ones(2), 3),
        ValueError,
        "window shape cannot be larger than input array shape",
    ),
    "array_type": (
        lambda: ANY.array_type(int),
        dk.errors.RegistrationError,
        "array_type takes what it declares; write @array_type()",
    ),
    "converts": (
        lambda: ANY.converts(lambda x: x),
        dk.errors.RegistrationError,
        "converts takes cost and lossy; write @converts()",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_an_error_says_what_was_wrong(case: str) -> None:
    call, kind, text = TEXTS[case]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_an_operation_without_rules_for_tangents_says_so() -> None:
    @dk.operation
    def doubled(xp: Any, x: Any, /) -> Any:
        return np.asarray(x) * 2

    doubled.def_vjp(lambda g: 2 * g)
    with pytest.raises(dk.errors.TransformError, match="declare one with def_jvp"):
        dk.func.jvp(doubled, (dk.ones(2),), (dk.ones(2),))


def test_a_module_without_extra_state_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Linear has no set_extra_state"):
        dk.nn.Linear(1, 1).set_extra_state({})
