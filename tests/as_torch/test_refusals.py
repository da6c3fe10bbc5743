"""The one caller of functions in PyTorch's spelling answers and refuses as PyTorch does; PyTorch is not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch
from dispatchkit.as_torch import spelling
from dispatchkit.as_torch.calling.raised import as_raised_by_pytorch
from dispatchkit.as_torch.calling.signatures import signatures_of

torch: Any = dispatchkit.as_torch
T = torch.tensor
NAN, INF = float("nan"), float("inf")
ROW = T([3.0, 1.0, 2.0])
# Functions of one array that make a number of NaN in PyTorch, too.
OF_NAN = frozenset(
    {
        *("sign", "sgn", "nan_to_num", "heaviside", "nansum", "nanmean", "nanmedian", "mode", "nn.functional.relu6"),
        *("nn.functional.hardswish", "nn.functional.hardsigmoid", "logical_not", "signbit", "isnan", "isfinite"),
    }
)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ROW.sum(5), IndexError, r"expected to be in range of \[-1, 0\], but got 5"),
        (lambda: torch.cumsum(T(1.0), 1), IndexError, r"expected to be in range of \[-1, 0\], but got 1"),
        (lambda: T([[1.0]]).sum((0, -2)), RuntimeError, "dim 0 appears multiple times"),
        (lambda: torch.unbind(T(1.0), 0), IndexError, "tensor has no dimensions"),
        (lambda: torch.split(torch.arange(5), [1, 2]), RuntimeError, "to sum exactly to 5"),
        (lambda: torch.narrow(torch.arange(5), 0, 3, 10), RuntimeError, r"start \(3\) \+ length \(10\) exceeds"),
        (lambda: torch.kthvalue(ROW, 0), RuntimeError, "selected number k out of range"),
        (lambda: torch.where(ROW, ROW, 0.0), RuntimeError, "condition to be a boolean tensor, but got .* Double"),
        (lambda: torch.quantile(ROW, 1.5), RuntimeError, r"q must be in the range \[0, 1\] but got 1.5"),
        (lambda: torch.std(T([1, 2])), NotImplementedError, "\"std\" not implemented for 'Long'"),
        (lambda: torch.exp([1.0]), TypeError, r"exp\(\): argument 'input' \(position 1\) must be Tensor, not list"),
        (lambda: torch.sum(ROW, "x"), TypeError, r"sum\(\) received an invalid combination of arguments"),
        (lambda: ROW.masked_fill(ROW, 1.0), RuntimeError, "mask to have dtype bool, but got mask with dtype Double"),
        (lambda: T([1, 2]).masked_fill(T([True, False]), NAN), RuntimeError, "cannot be converted to type int64"),
        (lambda: ROW[::-1], ValueError, "step must be greater than zero"),
        (lambda: ROW[T([1], dtype=torch.int8)], IndexError, "must be long, int, byte or bool tensors, found int8"),
        (lambda: ROW + T([1.0, 2.0]), RuntimeError, "could not be broadcast"),
        (lambda: T([1]).exp_(), RuntimeError, "exp_: the result is float64"),
        (lambda: ROW.scatter(0, T([0, 1]), T([1.0])), RuntimeError, r"no larger size than src \[1\]"),
        (lambda: torch.hsplit(ROW, 0), RuntimeError, "must be larger than 0, got 0"),
    ],
)
def test_calls_that_pytorch_refuses_are_refused_in_its_classes(call: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: T([[1.0, 2.0]]).sum(dim=()), 3.0),
        (lambda: T([[1.0, 2.0]]).amax(()), 2.0),
        (lambda: torch.median(T([1.0, NAN, 3.0])), NAN),
        (lambda: T([[1.0, NAN, 3.0]]).median(1).indices, [1]),
        (lambda: torch.nn.functional.hardshrink(T([NAN, 0.1, 2.0])), [NAN, 0.0, 2.0]),
        (lambda: torch.addmm(T([[NAN]]), torch.ones(1, 1), torch.ones(1, 1), beta=0), [[1.0]]),
        (lambda: torch.baddbmm(T([[[NAN]]]), torch.ones(1, 1, 1), torch.ones(1, 1, 1), beta=0), [[[1.0]]]),
        (lambda: torch.complex(T([1.0]), T([INF])).real, [1.0]),
        (lambda: torch.masked_fill(T([1, 2]), T([True, False]), 1.5), [1, 2]),
        (lambda: torch.fill(T([1, 2]), 2.5), [2, 2]),
        (lambda: torch.fft.fft(T([1, 1])).real, [2.0, 0.0]),
        (lambda: torch.masked.amax(T([1, 5]), 0, mask=T([True, False])), 1),
        (lambda: torch.masked.var(T([1 + 2j, 3 - 1j, 0.5j]), 0), 4.5833333333333333),
        (lambda: torch.masked.prod(T([9, 7]), mask=T([True, False]), keepdim=True), [9]),
        (lambda: torch.binomial(T([-1.0, 2.0, 3.0, 1.0]), T([0.5, -1.0, 2.0, NAN])), [0.0, 0.0, 3.0, NAN]),
        (lambda: torch.unravel_index(T([6], dtype=torch.int8), (2, 4))[1] * 100, [200]),
        (lambda: torch.narrow(torch.arange(5), 0, T(2, dtype=torch.uint8), 2), [2, 3]),
        (lambda: torch.linalg.cond(torch.zeros(2, 0, 3)), [0.0, 0.0]),
        (lambda: torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 2, 3), (0, None)), np.zeros((1, 0, 3))),
        (lambda: torch.nn.functional.linear(ROW, torch.ones(2, 3), T([1.0])), [7.0, 7.0]),
        (lambda: torch.nn.functional.linear(ROW[None], torch.ones(1, 3), T([[1.0]])), [[7.0]]),
        (lambda: torch.nn.functional.smooth_l1_loss(T([1.0, 2.0]), T([True, False])), 0.75),
        (lambda: torch.nn.functional.multilabel_margin_loss(T([1.5]), T(0)), 0.0),
        (lambda: torch.ldexp(T([1, 2]), T([True, False])), [2.0, 2.0]),
        (lambda: torch.softmax(torch.zeros(0, 3), 0, dtype=torch.int64), np.zeros((0, 3))),
        (lambda: torch.swapaxes(T(2.0), 0, -1), 2.0),
        (lambda: torch.addcmul(T([1, 2]), T([1, 1]), T([1, 1]), value=0.5), [1, 2]),
        (lambda: torch.chain_matmul(torch.eye(2)), np.eye(2)),
        (lambda: T([1, 2], dtype=torch.uint8).cumsum(0), [1, 3]),
        (lambda: ROW.transpose((0,)), [3.0, 1.0, 2.0]),
        (lambda: T([[1.0, 4.0]]).max(axis=(0, 1)), 4.0),
        (lambda: torch.zeros(2, 0).view(torch.int8), [[], []]),
        (lambda: torch.zeros(0, 3).as_strided((0,), (1,)), []),
        (lambda: torch.adjoint(T(1 + 2j)), 1 - 2j),
        (lambda: torch.linalg.tensorsolve(T([2.0]), other=T([4.0]), dims=(0,)), 2.0),
        (lambda: torch.scatter_reduce(ROW, 0, T([0]), T([5.0]), "max"), [5.0, 1.0, 2.0]),
        (lambda: torch.max(T(1.0), T([2.0])), [2.0]),
        (lambda: torch.max(ROW, T(2.0), out=torch.empty(0)), [3.0, 2.0, 2.0]),
        (lambda: torch.zeros(2, out=torch.empty(0, dtype=torch.int64)), [0, 0]),
        (lambda: torch.ldexp(T([1j]), T([True])), [2j]),
        (lambda: torch.linspace(T(1j), 0, 2), [1j, 0j]),
        (lambda: torch.nansum(T([1, 2]), dtype=torch.complex64), 3 + 0j),
        (lambda: torch.fft.rfftn(T([[1.0, 2.0]]), 1), [[1 + 0j]]),
        (lambda: torch.masked_fill(ROW, ROW > 1, 5 + 0j), [5.0, 1.0, 5.0]),
        (lambda: torch.scalar_tensor(-5, dtype=torch.uint8).int(), 251),
        (lambda: torch.constant_pad_nd(T([1], dtype=torch.uint8), (0, 1), -3).int(), [1, 253]),
        (lambda: torch.cov(T(-1.0), fweights=T(2)), 0.0),
        (lambda: torch.index_copy(ROW, 0, T(0), T([5.0])), [5.0, 1.0, 2.0]),
        (lambda: torch.index_add(ROW, 0, T(0), T([5.0])), [8.0, 1.0, 2.0]),
        (lambda: torch.lu(T([[2.0]]), True, "x")[2], 0),
        (lambda: torch.linalg.lu(T([[0.0]])).U, [[0.0]]),
        (lambda: torch.linalg.lstsq(T([[2.0]]), b=T([[4.0]])).solution, [[2.0]]),
        (lambda: torch.linalg.vecdot(T(2.0), T([[3.0]])), [6.0]),
        (lambda: torch.scatter_reduce(T([1.0]), 0, T([0]), T(2.0), "sum"), [3.0]),
        (lambda: torch.scatter_add(T([1.0, 2.0]), 0, T([1]), T(2.0)), [1.0, 4.0]),
        (lambda: torch.nn.functional.threshold(ROW, T(2.5), T(0.0)), [3.0, 0.0, 0.0]),
        (lambda: torch.lerp(ROW, ROW, T(3)), [3.0, 1.0, 2.0]),
        (lambda: torch.zeros(2, 0).sum_to_size([1, 1]), [[0.0]]),
        (lambda: torch.nn.functional.multilabel_soft_margin_loss(T([0.0] * 2), T([[1.0, 0.0]])), np.log(2) / 2),
        (lambda: torch.masked.mean(T([1.0, 3.0]), 0, mask=T([0j, 1j])), 3.0),
        (lambda: torch.nn.functional.conv1d(T([[1.0]]), T([[[1.0]]]), T([1]), padding="same"), [[2.0]]),
        (lambda: torch.nn.functional.elu(T([-1.0]), -1.5, 2), [1.5 * (1 - np.exp(-1.0))]),
        (lambda: T([2, 3], dtype=torch.uint8).sum_to_size(()), 5),
        (lambda: torch.randint_like(T([True, False]), 1), [False, False]),
    ],
)
@pytest.mark.filterwarnings("ignore:this order of the arguments")
def test_calls_are_answered_as_by_pytorch(call: Any, expected: Any) -> None:
    result = call()
    np.testing.assert_allclose(result.numpy(), expected)
    assert result.dtype.kind != "u"


def functions_of_one_array() -> list[str]:
    return sorted(
        path
        for path in spelling.FUNCTIONS
        if any(len(each) == 1 and each[0].kind == "Tensor" for each in signatures_of(path).overloads)
        and "f" not in signatures_of(path).refused
        and path not in OF_NAN
    )


@pytest.mark.parametrize("path", functions_of_one_array())
def test_no_function_of_one_array_makes_a_number_of_nan(path: str) -> None:
    try:
        y = spelling.FUNCTIONS[path](T([NAN]))
    except (RuntimeError, ValueError, TypeError, IndexError):
        return  # of matrices
    if isinstance(y, torch.Tensor) and y.dtype.kind == "f":
        assert np.isnan(y.numpy()).all()


def test_results_have_pytorchs_names() -> None:
    A = T([[2.0, 1.0], [1.0, 3.0]])
    assert torch.linalg.lu(A)._fields == ("P", "L", "U")
    assert torch.linalg.lstsq(A, A)._fields == ("solution", "residuals", "rank", "singular_values")
    assert torch.aminmax(A)._fields == ("min", "max")


def test_what_is_computed_without_an_error_says_where_it_was_not_possible() -> None:
    L, info = torch.linalg.cholesky_ex(T([[[2.0, 1.0], [1.0, -3.0]], [[4.0, 0.0], [0.0, 9.0]]]))
    assert info.tolist() == [2, 0]
    assert L[1].tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert torch.linalg.inv_ex(torch.zeros(2, 2)).info.item() == 1
    assert torch.linalg.solve_ex(torch.ones(2, 2), torch.ones(2)).info.item() == 2


def cubes(x: Any) -> Any:
    return torch.where(x > 0.5, x**3, 0.0).sum()


@pytest.mark.parametrize(
    "derive",
    [
        lambda f, x: torch.func.hessian(f)(x),
        lambda f, x: torch.func.jacfwd(torch.func.grad(f))(x),
        lambda f, x: torch.func.vmap(lambda v: torch.func.jvp(torch.func.grad(f), (x,), (v,))[1])(torch.eye(2)),
        lambda f, x: torch.func.jacrev(torch.func.jacfwd(f))(x),
    ],
)
@pytest.mark.parametrize("function", [cubes, lambda x: (x**3).masked_fill(x < 0.5, 0.0).sum()])
def test_second_derivatives_go_through_conditions(derive: Any, function: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(derive(function, T([0.3, 0.7])).numpy(), [[0.0, 0.0], [0.0, 4.2]], atol=1e-14)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_y1", "modified_bessel_k1", "scaled_modified_bessel_k1"])
def test_bessel_functions_have_derivatives(name: str) -> None:
    function, x = getattr(torch.special, name), T([0.5, 2.5])
    slope = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    gradient = torch.func.grad(lambda x: function(x).sum())(x)
    np.testing.assert_allclose(gradient.numpy(), slope.numpy(), rtol=1e-7)


def test_tensors_have_no_methods_that_pytorchs_have_not() -> None:
    for name in ("combinations", "power_", "isnan_", "unbind_copy", "rsub"):
        assert not hasattr(ROW, name)


def test_errors_of_other_libraries_stay_as_they_are() -> None:
    error = LookupError("x")
    assert as_raised_by_pytorch(error).__class__.__mro__[1] is LookupError
    assert as_raised_by_pytorch(RuntimeError("x")).__class__ is RuntimeError


def test_results_that_pytorch_copies_share_no_memory() -> None:
    x = torch.arange(9.0).view(3, 3)
    for y in (torch.flip(x, [0]), torch.diag(x), torch.rot90(x), torch.fliplr(x)):
        assert not np.shares_memory(y.numpy(), x.numpy())
    assert np.shares_memory(torch.positive(x).numpy(), x.numpy())


@pytest.mark.parametrize(
    ("name", "advice"),
    [("erfcx", "write torch.special.erfcx"), ("lstm", "write dk.nn.functional.lstm"), ("interp", "write dk.interp")],
)
def test_a_name_that_is_elsewhere_is_said_to_be_there(name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(torch, name)


def test_types_of_python_are_dtypes_and_lengths_may_be_tensors() -> None:
    assert torch.arange(3, dtype=int).dtype == torch.int64
    assert torch.ones(2).sum(dtype=complex).dtype == torch.complex128
    assert torch.randn(2, dtype=float).dtype == torch.float64
    assert torch.zeros_like(torch.ones(2), dtype=bool).dtype == torch.bool
    length = torch.tensor(3)
    assert torch.randn(length).shape == torch.ones(length).shape == torch.rand(2, length).shape[1:]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.stack(()), "expects a non-empty TensorList"),
        (lambda: torch.hstack([]), "expects a non-empty TensorList"),
        (lambda: torch.column_stack(()), "expects a non-empty TensorList"),
        (lambda: torch.cartesian_prod(), "cartesian_prod expects a non-empty TensorList"),
        (lambda: torch.linalg.multi_dot([torch.eye(2)]), r"multi_dot\(\): expected at least 2 tensors but got 1"),
    ],
)
def test_functions_of_several_tensors_refuse_none(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()
    assert torch.block_diag().shape == (1, 0)


def test_a_right_side_of_more_axes_than_the_matrix_is_refused() -> None:
    with pytest.raises(RuntimeError, match="tensorsolve: A must have at least as many axes as B, found shapes"):
        torch.linalg.tensorsolve(torch.ones(2, 2), torch.ones(2, 1, 1))
