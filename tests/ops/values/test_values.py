"""Values, dtypes and shapes of every operation against NumPy: all dtypes, the edges of their ranges, all layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample, draw, sample
from dispatchkit.protocol.kinds import kinds
from tests.declared import OPERATIONS, flat
from tests.ops.values.inputs import DTYPES, LAYOUTS, drawn, edge_values, laid_out, pairs
from tests.ops.values.references import NOT_SWEPT, SINCE, STRICTER, reference

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")

# Calls beyond the stated ones: 0-D and empty arrays, broadcasting, several axes.
X, EMPTY, ZERO_D = draw(2, 3), draw(0, 3), draw()
FURTHER: dict[str, Sequence[Sample]] = {
    "sum": [sample(draw(2, 3, 2), axis=(0, 2)), sample(X, dtype="float32"), sample(EMPTY, axis=(0, 1))],
    "prod": [sample(draw(2, 3, 2), axis=(0, 2)), sample(X, dtype="complex128")],
    "var": [sample(X, axis=1, correction=1), sample(X, correction=7)],
    "std": [sample(X, axis=1, correction=1), sample(draw(2, 3, 2), axis=(0, 2))],
    "nansum": [sample(draw(2, 3, 2), axis=(0, 2))],
    "nanvar": [sample(draw(2, 3, 2), axis=(0, 2), ddof=1)],
    # Longer than what is sorted as a whole.
    "median": [sample(draw(2, 600), axis=1), sample(draw(601)), sample(draw(2, 300, 2), axis=(2, 1), keepdims=True)],
    "quantile": [
        sample(draw(2, 600), np.array([0.0, 0.1, 0.5]), axis=1),
        sample(draw(601), 0.7, method="nearest"),
        sample(draw(601), 1.0, method="midpoint", keepdims=True),
    ],
    "cumulative_sum": [sample(EMPTY, axis=0), sample(EMPTY, axis=0, include_initial=True), sample(X)],
    "cumulative_prod": [sample(EMPTY, axis=1), sample(X, axis=0, include_initial=True), sample(X)],
    "diff": [sample(X, axis=0), sample(X, 2, axis=1, prepend=draw(2, 1)), sample(X, 9), sample(ZERO_D), sample(EMPTY)],
    "clip": [sample(X, draw(3), draw(2, 1)), sample(EMPTY, 0, 1), sample(X), sample(draw(2), draw(3))],
    "where": [
        sample(draw(content="boolean"), X, draw(3)),
        sample(draw(0, 3, content="boolean"), EMPTY, ZERO_D),
        sample(X, X, X),
        sample(draw(2, content="boolean"), draw(3), ZERO_D),
    ],
    "argmax": [sample(EMPTY, axis=0), sample(EMPTY, axis=1), sample(ZERO_D), sample(X, axis=-1, keepdims=True)],
    "argmin": [sample(EMPTY, axis=0), sample(EMPTY, axis=1), sample(ZERO_D), sample(X, axis=-1, keepdims=True)],
    "nonzero": [sample(EMPTY), sample(ZERO_D), sample(draw(2, 1, 3))],
    "sort": [sample(EMPTY, axis=0), sample(ZERO_D), sample(draw(4, 3), axis=0, descending=True)],
    "argsort": [sample(EMPTY, axis=0), sample(draw(4, 3), axis=0, descending=True)],
    "unique_values": [sample(EMPTY), sample(ZERO_D)],
    "unique_all": [sample(EMPTY), sample(ZERO_D), sample(draw(2, 2, 2))],
    "unique_inverse": [sample(EMPTY), sample(ZERO_D), sample(draw(2, 2, 2))],
    "isin": [sample(EMPTY, X), sample(X, draw(0)), sample(ZERO_D, X)],
    "take": [sample(X, draw(0, content="integer"), axis=1), sample(draw(0), draw(2, content="integer"), axis=0)],
    "getitem": [
        sample(X, ()),
        sample(X, (None, Ellipsis, -1)),
        sample(X, (slice(None, None, -1), slice(5, 1, -2))),
        sample(X, ([0, 1], [2, 0])),
        sample(X, [True, False]),
        sample(EMPTY, (slice(None), 0)),
        sample(ZERO_D, ()),
        sample(ZERO_D, (None, Ellipsis)),
        sample(X, 5),
    ],
    "concat": [sample([EMPTY, X], axis=0), sample([X, ZERO_D], axis=None), sample([X, draw(2, 2)], axis=0)],
    "stack": [sample([ZERO_D, ZERO_D]), sample([EMPTY, EMPTY], axis=-1), sample([X, draw(3, 2)])],
    "unstack": [sample(EMPTY), sample(X, axis=-1), sample(ZERO_D)],
    "repeat": [
        sample(X, np.array([0, 2, 1]), axis=1),
        sample(ZERO_D, 3),
        sample(EMPTY, 2, axis=0),
        sample(X, np.array([1, 2]), axis=1),
    ],
    "tile": [sample(ZERO_D, (2, 2)), sample(EMPTY, (1, 2)), sample(X, ()), sample(X, (0,))],
    "broadcast_arrays": [sample(EMPTY, ZERO_D), sample(draw(2, 1), draw(3)), sample(draw(2), draw(3))],
    "broadcast_to": [sample(ZERO_D, (0, 2)), sample(EMPTY, (2, 0, 3)), sample(X, (3, 2))],
    "meshgrid": [sample(ZERO_D, draw(2)), sample(draw(0), draw(2)), sample(draw(2))],
    "reshape": [sample(EMPTY, (3, 0)), sample(ZERO_D, (1, 1)), sample(draw(1), ()), sample(X, (4,))],
    "flatten": [sample(EMPTY), sample(ZERO_D), sample(draw(2, 3, 2, 1), 1, 2)],
    "ravel": [sample(EMPTY)],
    "squeeze": [sample(draw(1, 0, 1), axis=0), sample(X, axis=0), sample(ZERO_D)],
    "expand_dims": [sample(ZERO_D, 0), sample(EMPTY, (0, -1)), sample(X, 4)],
    "permute_dims": [sample(ZERO_D, ()), sample(EMPTY, (1, 0)), sample(X, (0, 0))],
    "matrix_transpose": [sample(EMPTY), sample(draw(2, 0, 3)), sample(draw(3))],
    "flip": [sample(ZERO_D), sample(EMPTY, axis=0), sample(draw(2, 3, 2), axis=(0, -1))],
    "roll": [sample(ZERO_D, 2), sample(EMPTY, 1, axis=0), sample(X, (1, -2), axis=(0, 1))],
    "tril": [sample(EMPTY), sample(draw(2, 3, 3), k=-1), sample(draw(3))],
    "triu": [sample(EMPTY), sample(draw(2, 3, 3), k=1), sample(draw(3))],
    "astype": [sample(X, dtype) for dtype in ("bool", "int8", "uint64", "float32", "complex64")],
    "matmul": [
        sample(EMPTY, draw(3, 0)),
        sample(draw(0), draw(0)),
        sample(draw(2, 1, 2, 3), draw(4, 3, 2)),
        sample(X, X),
    ],
    "vecdot": [sample(EMPTY, draw(3)), sample(draw(0), draw(0)), sample(draw(2, 1, 3), draw(4, 3)), sample(X, draw(2))],
    "tensordot": [sample(draw(0, 2), draw(2, 0), axes=1), sample(X, X, axes=0), sample(X, X, axes=1)],
    "outer": [sample(draw(0), draw(2)), sample(X, draw(2))],
    "trace": [sample(draw(2, 0, 0)), sample(draw(2, 3, 4), offset=-1)],
    "diagonal": [sample(draw(2, 0, 0)), sample(draw(2, 3, 4), offset=-1)],
    "det": [sample(draw(0, 0)), sample(draw(0, 2, 2)), sample(draw(2, 1, 3, 3))],
    "slogdet": [sample(draw(0, 0)), sample(draw(0, 2, 2))],
    "inv": [sample(draw(0, 0)), sample(draw(0, 2, 2))],
    "solve": [sample(draw(0, 0), draw(0)), sample(draw(2, 0, 3, 3), draw(3, 1))],
    "qr": [sample(draw(0, 2)), sample(draw(2, 0), mode="complete"), sample(draw(0, 3, 2))],
    "svd": [sample(draw(2, 0, 3, 2)), sample(draw(0, 3, 2), full_matrices=False)],
    "svdvals": [sample(draw(0, 2)), sample(draw(0, 3, 2))],
    "cholesky": [sample(draw(0, 0)), sample(draw(0, 2, 2))],
    "eigh": [sample(draw(0, 0)), sample(draw(0, 2, 2))],
    "pinv": [sample(draw(0, 2)), sample(draw(0, 3, 2))],
    "matrix_rank": [sample(draw(0, 3, 2)), sample(draw(2, 3, 3), rtol=np.array([0.0, 0.9]))],
    "vector_norm": [sample(draw(0)), sample(draw(0, 3), axis=0), sample(ZERO_D), sample(draw(0), ord=0)],
    "matrix_norm": [sample(draw(0, 2, 3)), sample(draw(2, 0)), sample(draw(2, 2, 3), ord=-2, keepdims=True)],
}
REDUCED = [
    sample(draw()),
    sample(draw(0, 3)),
    sample(draw(0, 3), axis=0),
    sample(draw(3, 0), axis=0),
    sample(draw(2, 3, 2), axis=1),
    sample(draw(2, 3, 2), axis=-1, keepdims=True),
]
SHARING = (kinds.manipulation, kinds.indexing, kinds.assignment, kinds.conversion, kinds.creation)
MISTAKES = (TypeError, ValueError, IndexError, ZeroDivisionError)


def compare(got: Any, want: Any, exact: bool, eps: float, case: str) -> None:
    """Assert that results agree in number, shape, dtype and values; signs of zeros where they are to be exact.

    Otherwise they may differ by their own precision, and by `eps`, that of the arguments.
    """
    ones, others = flat(got), flat(want)
    assert len(ones) == len(others), case
    for one, other in zip(ones, others, strict=True):
        assert isinstance(one, dk.Tensor), case
        x, y = one.array, np.asarray(other)
        assert (x.shape, x.dtype) == (y.shape, y.dtype), f"{case}: {x.dtype}{x.shape} is not {y.dtype}{y.shape}"
        if exact or x.dtype.kind not in "fc":
            np.testing.assert_array_equal(x, y, err_msg=case)
        else:
            finite = np.isfinite(y)
            eps = max(eps, float(np.finfo(y.dtype).eps))
            np.testing.assert_allclose(x[finite], y[finite], rtol=64 * eps, atol=16 * eps, err_msg=case)
            np.testing.assert_array_equal(np.isfinite(x), finite, err_msg=case)
            if x.dtype.kind == "f":
                np.testing.assert_array_equal(x[~finite], y[~finite], err_msg=case)
        if exact and x.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(x[x == 0]), np.signbit(y[x == 0]), err_msg=case)


def check(entry: DeclaredOperation, args: Sequence[Any], kwargs: dict[str, Any], case: str) -> bool:
    """Compare one call, or assert that both refuse it; return whether it was answered."""
    expected = reference(entry)
    assert expected is not None
    arrays = [x for x in flat(list(args)) if isinstance(x, np.ndarray)]
    before = [x.tobytes() for x in arrays]
    tensors, named = dk.tensor_protocol.map_arguments(
        entry.function, tuple(args), kwargs, lambda name, x: dk.asarray(x) if isinstance(x, np.ndarray) else x
    )
    try:
        if any(np.asarray(x).dtype.kind in STRICTER.get(entry.name, "") for x in flat(list(args))):
            raise TypeError
        want = expected(*args, **kwargs)
    except MISTAKES:
        with pytest.raises(MISTAKES) as caught:
            entry.function(*tensors, **named)
        assert str(caught.value).startswith((f"{entry.qualified_name}: ", f"{entry.name}: ")), case
        return False
    got = entry.function(*tensors, **named)
    exact = entry.implementation.passthrough and entry.name != "mean" and entry.kind is not kinds.linalg
    eps = max((float(np.finfo(x.dtype).eps) for x in arrays if x.dtype.kind in "fc"), default=0.0)
    compare(got, want, exact, eps, case)
    assert [x.tobytes() for x in arrays] == before, f"{case}: an argument was changed"
    if entry.kind not in SHARING and entry.name not in ("diagonal", "einsum"):
        assert not any(np.may_share_memory(y.array, x) for y in flat(got) for x in arrays), f"{case}: shared memory"
    return True


def numbers(entry: DeclaredOperation) -> bool:
    return entry.kind.family is kinds.elementwise and (entry.parameters.unary or entry.parameters.binary)


def elementwise_calls(entry: DeclaredOperation) -> Iterator[tuple[list[Any], str]]:
    """Yield calls of an operation of one or two arrays on all edges of all dtypes."""
    if entry.parameters.unary:
        for dtype in DTYPES:
            x = edge_values(dtype)
            x = x[: x.size // 2 * 2].reshape(2, -1)
            yield [x[0, 1]], f"scalar of {dtype}"
            yield [np.asarray(x[0, 1])], f"0-D {dtype}"
            yield [x[:, :0]], f"empty {dtype}"
            yield from (([laid_out(x, layout)], f"{layout} {dtype}") for layout in LAYOUTS)
        return
    for dtype in DTYPES:
        x = edge_values(dtype)
        second = x[x >= 0] if dtype.kind == "i" and entry.name in ("pow", *SHIFTS) else x
        yield [x[:, None], second], f"all pairs of {dtype}"
        yield [x[:2], second[1]], f"scalar of {dtype}"
        yield [np.asarray(x[1]), second[:2]], f"0-D {dtype}"
        yield [x[:0], second[1:2]], f"empty {dtype}"
        few = x[:4].reshape(2, 2), second[:4].reshape(2, 2)
        for layout in LAYOUTS:
            yield [laid_out(few[0], layout), laid_out(few[1], "transposed")], f"{layout} {dtype}"
        for number in (True, 2, 1.5, 1j):
            yield [x[:4], number], f"{dtype} and {number}"
            yield [number, second[:4]], f"{number} and {dtype}"
    for one, other in pairs():
        yield [np.array([1, 0, 3]).astype(one), np.array([[1], [2]]).astype(other)], f"{one} and {other}"


EVERY_LAYOUT = ("bool", "int16", "float64", "complex64")
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def stated_calls(entry: DeclaredOperation) -> Iterator[tuple[list[Any], dict[str, Any], str]]:
    """Yield the calls that a declaration states, and a few more, in every dtype and layout."""
    samples = [*entry.samples, *FURTHER.get(entry.name, ())]
    if entry.kind.family is kinds.reduction:
        samples += REDUCED
    for number, one in enumerate(samples):
        for dtype in DTYPES:
            for layout in LAYOUTS if dtype in EVERY_LAYOUT else LAYOUTS[:1]:
                args, kwargs = drawn(one, dtype, layout, edges=False)
                yield args, kwargs, f"call {number}, {layout} {dtype}"
            if dtype.kind in "fc" and entry.kind is not kinds.linalg:
                args, kwargs = drawn(one, dtype, "contiguous", edges=True)
                yield args, kwargs, f"call {number}, edges of {dtype}"


# The functionals of networks have PyTorch's values, with which tests/nn/functional compares them.
SWEPT = [
    name for name, entry in OPERATIONS.items() if entry.name not in NOT_SWEPT and not name.startswith("dispatchkit.nn.")
]


@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
def test_a_reduction_of_an_array_that_runs_backwards_looks_at_all_elements(name: str) -> None:
    backwards = np.asarray([3.0, 1.0, 0.5, -2.0])[::-1]
    assert getattr(dk, name)(dk.asarray(backwards)).item() == getattr(np, name)(backwards.copy())


@pytest.mark.parametrize("name", SWEPT)
def test_values_are_those_of_numpy(name: str) -> None:
    entry = OPERATIONS[name]
    since = SINCE.get(entry.name, "2.0.0")
    if np.lib.NumpyVersion(np.__version__) < since:
        pytest.skip(f"NumPy's function does what the standard says since {since}")
    assert reference(entry) is not None, f"{name} has no reference; give it one, or a reason in NOT_SWEPT"
    with np.errstate(all="ignore"):
        if numbers(entry):
            answered = [check(entry, args, {}, case) for args, case in elementwise_calls(entry)]
        else:
            answered = [check(entry, args, kwargs, case) for args, kwargs, case in stated_calls(entry)]
    assert any(answered), f"nothing was compared for {name}"


def test_what_is_not_swept_is_there() -> None:
    names = {entry.name for entry in OPERATIONS.values()}
    assert set(NOT_SWEPT) <= names
    assert all(entry.samples or numbers(entry) for entry in OPERATIONS.values() if entry.name not in NOT_SWEPT)
