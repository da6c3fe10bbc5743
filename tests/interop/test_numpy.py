"""NumPy's functions on tensors and array types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import ScalarTensor
from tests.protocol.support import steps_of

A = np.arange(6.0).reshape(2, 3) + 1
CALLS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum(x, axis=0),
    "sum, by position": lambda x: np.sum(x, 1),
    "mean, keepdims": lambda x: np.mean(x, axis=1, keepdims=True),
    "std, ddof": lambda x: np.std(x, ddof=1),
    "var": lambda x: np.var(x, axis=0),
    "max": lambda x: np.max(x, axis=1),
    "amin": lambda x: np.amin(x),
    "prod": lambda x: np.prod(x),
    "clip": lambda x: np.clip(x, 1.5, 3),
    "where": lambda x: np.where(x > 2, x, 0.0),
    "concatenate": lambda x: np.concatenate([x, A], axis=1),
    "stack": lambda x: np.stack((x, x)),
    "transpose": lambda x: np.transpose(x),
    "transpose, axes": lambda x: np.transpose(x, (1, 0)),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "ravel": lambda x: np.ravel(x),
    "squeeze": lambda x: np.squeeze(x[None], axis=0),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "roll": lambda x: np.roll(x, 1),
    "flip": lambda x: np.flip(x),
    "tile": lambda x: np.tile(x, 2),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "take": lambda x: np.take(x, [0, 2], axis=1),
    "take, in a row": lambda x: np.take(x, [0, 5]),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "cumsum, in a row": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "sort": lambda x: np.sort(-x, axis=0),
    "sort, in a row": lambda x: np.sort(-x, axis=None),
    "tensordot": lambda x: np.tensordot(x, x, axes=2),
    "matmul": lambda x: np.matmul(x, x.T),
    "outer": lambda x: np.outer(x[0], x[1]),
    "linalg.norm": lambda x: np.linalg.norm(x),
    "linalg.inv": lambda x: np.linalg.inv(x @ x.T),
    "round": lambda x: np.round(x),
    "copy": lambda x: np.copy(x),
    "add.reduce": lambda x: np.add.reduce(x),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
    "absolute": lambda x: np.absolute(x),
    "arctan2": lambda x: np.arctan2(x, A),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_the_operation(name: str) -> None:
    x = dk.tensor(A, requires_grad=True)
    got, want = CALLS[name](x), CALLS[name](A)
    assert isinstance(got, dk.Tensor)
    assert got.grad_fn is not None
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.detach().numpy(), want)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.roots(x[0]),
        lambda x: np.sort_complex(x),
        lambda x: np.concatenate([x, x], casting="unsafe"),
    ],
)
def test_a_function_that_is_none_here_takes_and_gives_arrays(call: Callable[[Any], Any]) -> None:
    got, want = call(dk.asarray(A)), call(A)
    assert not isinstance(got, dk.Tensor)
    np.testing.assert_array_equal(got, want)
    with pytest.raises(dk.errors.AutogradError, match="would lose the graph"):
        call(dk.tensor(A, requires_grad=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.maximum.accumulate(x),
        lambda x: np.add.reduceat(x, [0, 1], axis=1),
        lambda x: np.frexp(x)[1],
        lambda x: np.add(x, 1, out=np.zeros((2, 3), np.float32), casting="unsafe"),
    ],
)
def test_a_universal_function_that_is_none_here_takes_and_gives_arrays(call: Callable[[Any], Any]) -> None:
    got, want = call(dk.asarray(A)), call(A)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, want)


def test_scipys_universal_functions_are_the_special_ones() -> None:
    special = pytest.importorskip("scipy.special")
    if not isinstance(special.erf, np.ufunc):
        pytest.skip("SciPy asks array namespaces instead")
    x = dk.tensor(A / 7, requires_grad=True)
    for theirs, ours in [(special.erf, dk.special.erf), (special.psi, dk.special.digamma)]:
        y, own = theirs(x), ours(x).grad_fn
        assert own is not None
        assert y.grad_fn.name == own.name
        np.testing.assert_allclose(y.detach().numpy(), theirs(A / 7))
    np.testing.assert_allclose(special.j0(x.detach()), special.j0(A / 7))
    with pytest.raises(dk.errors.AutogradError, match="would lose the graph"):
        special.j0(x)


def test_a_universal_function_does_not_change_a_tensor_unseen() -> None:
    x: Any = dk.zeros(3)
    with pytest.raises(TypeError, match="NotImplemented"):
        np.add.at(x, [0], 1.0)
    with pytest.raises(TypeError, match="NotImplemented"):
        np.frexp(np.ones(3), out=(x, np.zeros(3, int)))
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_attributes_are_not_computed() -> None:
    x = dk.tensor(A, requires_grad=True)
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2
    assert np.size(x) == 6


def test_a_result_is_written_where_the_caller_wants_it() -> None:
    x: Any = dk.asarray(A)
    out: Any = dk.zeros(3)
    raw = np.zeros(3)
    assert np.sum(x, axis=0, out=out) is out
    assert np.sum(x, axis=0, out=raw) is raw
    np.testing.assert_array_equal(out.numpy(), raw)
    np.testing.assert_array_equal(raw, A.sum(axis=0))


def test_a_rule_of_an_array_type_answers() -> None:
    s = ScalarTensor(3, 2.0)
    assert float(np.mean(s)) == pytest.approx(2 / 3)
    assert isinstance(np.add(s, s), ScalarTensor)
    assert isinstance(np.linalg.inv(s), ScalarTensor)


def test_a_type_that_is_no_array_declines_what_is_no_operation() -> None:
    @dk.array_type()
    class Opaque:
        shape, dtype = (2,), dk.float64

    sort_complex: Any = np.sort_complex
    with pytest.raises(TypeError, match=r"found for 'numpy\.sort_complex' on Opaque: .* define to_dense"):
        sort_complex(Opaque())


def test_a_foreign_object_among_the_arguments_is_asked() -> None:
    class Foreign:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return "foreign"

    assert np.concatenate([dk.ones(2), Foreign()]) == "foreign"


def test_functions_of_two_operands_find_their_operation_in_a_few_steps_and_see_what_is_registered() -> None:
    s = ScalarTensor(3, 2.0)
    np.add(s, s)  # which decides
    assert steps_of(lambda: np.add(s, s)) <= steps_of(lambda: dk.add(s, s)) + 8
    with dk.local_registrations():
        with pytest.warns(dk.ReplacementWarning):
            dk.implements(dk.add, ScalarTensor, ScalarTensor)(lambda x1, x2, /: "registered")
        assert np.add(s, s) == "registered"
    assert np.add(s, s).value.item() == 4.0
