"""Functions that answer no calls from PyTorch: special functions, masks, windows, copies, and what draws numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch
from dispatchkit.as_torch import masking, signals, special_functions, spelling
from dispatchkit.backends.arrays import foreign

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")
spelled: Any = dispatchkit.as_torch
X = np.array([[0.5, -1.25, 2.0], [0.75, 1.5, -0.25]])
POSITIVE = np.abs(X) + 0.125
MASK = np.array([[True, False, True], [False, True, True]])

# PyTorch warns of masks that they may change, NumPy of infinities.
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    yield
    foreign.clear()


def function(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def check(path: str, *args: Any, tracked: int | None = None, **kwargs: Any) -> None:
    """Compare a function with PyTorch's, and its derivative for one argument if PyTorch has that."""
    sides = []
    for module in (spelled, torch):
        given = [module.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in args]
        options = {name: module.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in kwargs.items()}
        if "dtype" in options:
            options["dtype"] = getattr(module, options["dtype"])
        if tracked is not None:
            given[tracked].requires_grad_()
        y = function(module, path)(*given, **options)
        results = [*(y if isinstance(y, tuple) else (y,))]
        if tracked is not None:
            (y * y).sum().backward()
            results.append(given[tracked].grad)
        sides.append(results)
    for mine, other in zip(*sides, strict=True):
        assert str(mine.dtype) == str(other.dtype)
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-7, atol=1e-10)


NO_DERIVATIVE = ("bessel", "modified_bessel", "scaled_modified_bessel")
DOMAINS = {"ndtri": X * 0.2 + 0.5, "entr": POSITIVE}


@pytest.mark.parametrize("name", special_functions.UNARY)
def test_functions_of_scipy_have_pytorchs_values_and_derivatives(name: str) -> None:
    x = DOMAINS.get(name, POSITIVE if name.startswith(NO_DERIVATIVE) else X)
    check(f"special.{name}", x, tracked=None if name.startswith(NO_DERIVATIVE) else 0)


@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
def test_bessel_functions_have_their_derivatives_at_zero(name: str) -> None:
    check(f"special.{name}", np.zeros(2), tracked=0)


@pytest.mark.parametrize("path", ["igamma", "igammac", "special.gammainc", "special.zeta", "special.xlog1py"])
def test_functions_of_two_arguments_have_pytorchs_values_and_derivatives(path: str) -> None:
    check(path, POSITIVE + 1, POSITIVE[::-1].copy(), tracked=1)


def test_a_product_with_a_logarithm_has_both_derivatives() -> None:
    check("special.xlog1py", np.append(X, 0.0), np.append(POSITIVE, 0.5), tracked=0)


def test_second_derivatives_of_special_functions_are_there() -> None:
    x = spelled.from_numpy(X).requires_grad_()
    (g,) = spelled.autograd.grad(spelled.i0(x).sum(), x, create_graph=True)
    (h,) = spelled.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), (spelled.i0(x) - spelled.special.i1(x) / x).detach().numpy())


@pytest.mark.parametrize("name", special_functions.POLYNOMIALS)
def test_polynomials_have_pytorchs_values(name: str) -> None:
    for degree in (np.array([[0, 1, 2], [3, 4, -1]]), 3):
        check(f"special.{name}", X, degree)
    if name in (f"chebyshev_polynomial_{letter}" for letter in "tuvw"):
        check(f"special.shifted_{name}", X, np.array([0, 2, 5]))


@pytest.mark.parametrize("name", signals.WINDOWS)
def test_windows_are_pytorchs(name: str) -> None:
    options: dict[str, Any] = {
        "general_cosine": {"a": [0.5, 0.25, 0.25]},
        "kaiser": {"beta": 3.0},
        "gaussian": {"std": 1.5},
    }
    for length in (0, 1, 2, 5, 6):
        for sym in (True, False):
            check(f"signal.windows.{name}", length, sym=sym, dtype="float64", **options.get(name, {}))
    assert function(spelled, f"signal.windows.{name}")(3, **options.get(name, {})).dtype == spelled.get_default_dtype()


def test_a_window_of_another_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'beta'"):
        spelled.signal.windows.hann(4, beta=2.0)


@pytest.mark.parametrize("name", masking.NEUTRAL)
def test_reductions_leave_out_what_a_mask_hides(name: str) -> None:
    for mask in (None, MASK):
        check(f"masked.{name}", X, 1, mask=mask, tracked=None if name.startswith("arg") else 0)


@pytest.mark.parametrize(
    ("name", "args"),
    [("mean", (1,)), ("mean", ()), ("var", (1, False)), ("std", (1,)), ("norm", (3, 1)), ("normalize", (2.0, 1))],
)
def test_moments_and_lengths_leave_out_what_a_mask_hides(name: str, args: tuple[Any, ...]) -> None:
    for mask in (None, MASK):
        check(f"masked.{name}", X, *args, mask=mask, tracked=0)
    check(f"masked.{name}", X.astype(np.float32), *args, mask=MASK, dtype="float64")


def test_sums_of_exponentials_have_a_mask_each() -> None:
    check("masked.logaddexp", X, X[::-1].copy(), input_mask=MASK, other_mask=~MASK, tracked=0)


def test_copies_have_memory_of_their_own() -> None:
    x = spelled.from_numpy(X.copy())
    for copied in (spelled.narrow_copy(x, 0, 0, 1), spelled.view_copy(x, (3, 2)), *spelled.unbind_copy(x)):
        copied.zero_()
    assert x.tolist() == X.tolist()


def test_numbers_are_one_element_along_an_axis() -> None:
    x = spelled.tensor(2.0)
    for y in (x.cumsum(0), x.sort()[0], x.index_select(0, spelled.tensor([0])), x.transpose(0, -1), x.max(0).values):
        assert (y.shape, y.item()) == ((), 2.0)
    assert spelled.unsqueeze(x, 0).shape == (1,)
    assert spelled.quantile(x, spelled.tensor([0.5, 0.75]), 0).tolist() == [2.0, 2.0]
    with pytest.raises(np.exceptions.AxisError):
        x.cumsum(1)


@pytest.mark.parametrize(
    ("name", "args", "middle"),
    [("cauchy_", (1.0, 0.5), 1.0), ("exponential_", (2.0,), math.log(2) / 2), ("geometric_", (0.2,), 4.0)],
)
def test_tensors_are_filled_from_distributions(name: str, args: tuple[Any, ...], middle: float) -> None:
    spelled.manual_seed(0)
    x = getattr(spelled.empty(20_000), name)(*args)
    assert abs(float(spelled.median(x)) - middle) < 0.05
    assert abs(float(spelled.median(spelled.empty(20_000).log_normal_(0.5, 1.0).log())) - 0.5) < 0.05


def test_normal_takes_arrays_of_means_and_of_standard_deviations() -> None:
    means = spelled.tensor([0.0, 100.0])
    assert spelled.normal(means, 0.0).tolist() == [0.0, 100.0]
    assert spelled.normal(1.0, spelled.zeros(2, 1)).tolist() == [[1.0], [1.0]]
    assert spelled.randint_like(means, 3, 4).tolist() == [3.0, 3.0]
    assert spelled.scalar_tensor(2).dtype == spelled.get_default_dtype()


def test_tensors_are_converted_as_in_pytorch() -> None:
    x = spelled.zeros(2)
    assert x.to(spelled.float64, True).dtype == spelled.float64
    assert x.to("cpu", non_blocking=True, memory_format=spelled.preserve_format) is x
    assert x.to(x, False, True) is not x
    assert (1 / spelled.tensor(4.0)).item() == spelled.tensor(4.0).__rdiv__(1).item() == 0.25
    assert spelled.tensor([[1j]]).H.tolist() == [[-1j]]


def test_factors_multiply_to_the_matrix_and_have_derivatives() -> None:
    A = np.array([[0.0, 2.0, 1.0], [1.0, -1.0, 0.5], [2.0, 0.25, 3.0]])
    P, L, U = spelled.linalg.lu(spelled.from_numpy(A))
    np.testing.assert_allclose((P @ L @ U).numpy(), A, atol=1e-12)
    check("linalg.lu_factor_ex", A)
    x = spelled.from_numpy(A).requires_grad_()
    spelled.linalg.lu_solve(*spelled.linalg.lu_factor(x), spelled.from_numpy(A[:, :1])).sum().backward()
    t = torch.from_numpy(A).requires_grad_()
    torch.linalg.solve(t, torch.from_numpy(A[:, :1])).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), atol=1e-12)


def test_every_function_that_answers_no_calls_is_tested_here() -> None:
    assert all(path in spelling.FUNCTIONS for path in special_functions.OPERATIONS)
