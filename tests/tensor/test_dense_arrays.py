"""Array types where NumPy and SciPy want an array: the dense form, warned of and counted, or an error."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError, DensifyError, DensifyWarning

DENSE = np.diag([1.0, 2.0])


class Diagonal:
    """A diagonal matrix, which has a dense form."""

    def __init__(self, d: Any) -> None:
        self.d: dk.Tensor = dk.asarray(d)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.d.shape * 2

    @property
    def dtype(self) -> Any:
        return self.d.dtype

    def to_dense(self) -> Any:
        return self.d * dk.eye(self.d.shape[0])


class Labelled:
    """An array with a label, which has no dense form."""

    def __init__(self, values: Any, label: str = "") -> None:
        self.values: dk.Tensor = dk.asarray(values)
        self.label = label

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


@pytest.fixture
def diagonal() -> Any:
    return dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)(Diagonal)


@pytest.fixture
def labelled() -> Any:
    return dk.array_type(fallback=dk.fallback.rewrap)(Labelled)


def saved(x: Any) -> Any:
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    return np.load(file)


def assigned(x: Any) -> Any:
    a = np.zeros((2, 2))
    a[:] = x
    return a


CALLS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "array, in a list": lambda x: np.array([x, x]),
    "allclose": lambda x: np.allclose(x, DENSE),
    "save": saved,
    "block": lambda x: np.block([[x, x]]),
    "dot": lambda x: np.dot(x, x),
    "trace": np.trace,
    "assignment": assigned,
    "unique": np.unique,
    "add, out": lambda x: np.add(x, x, out=np.zeros((2, 2))),
}
# They are operations, on the dense form.
OPERATIONS = ("allclose", "block", "dot", "trace", "unique")
SCIPY: dict[str, Callable[[Any, Any], Any]] = {
    "expm": lambda linalg, x: linalg.expm(x),
    "norm": lambda linalg, x: linalg.norm(x),
    "sqrtm": lambda linalg, x: linalg.sqrtm(x),
    "solve": lambda linalg, x: linalg.solve(x, np.ones(2)),
    "det": lambda linalg, x: linalg.det(x),
    "eigvalsh": lambda linalg, x: linalg.eigvalsh(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpy_computes_on_the_dense_form_and_a_warning_says_so(diagonal: Any, name: str) -> None:
    with pytest.warns(DensifyWarning, match="made Diagonal dense"):
        got = CALLS[name](diagonal([1.0, 2.0]))
    want = CALLS[name](DENSE)
    assert type(got) is (dk.Tensor if name in OPERATIONS and name != "allclose" else type(want))
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", SCIPY)
def test_scipy_computes_on_the_dense_form_and_a_warning_says_so(diagonal: Any, name: str) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    with pytest.warns(DensifyWarning, match=r"'(numpy|dispatchkit)\.asarray' made Diagonal dense \(32 B\)"):
        got = SCIPY[name](linalg, diagonal([1.0, 2.0]))
    np.testing.assert_allclose(got, SCIPY[name](linalg, DENSE))


def test_numpys_assertions_compare_the_dense_form(diagonal: Any) -> None:
    with dk.densify(on="allow"):
        np.testing.assert_allclose(diagonal([1.0, 2.0]), DENSE)
        with pytest.raises(AssertionError, match="Mismatched elements"):
            np.testing.assert_allclose(diagonal([1.0, 3.0]), DENSE)


def test_what_numpy_reads_is_counted(diagonal: Any) -> None:
    dk.clear_densify_ledger()
    with dk.densify(on="allow"):
        for _ in range(3):
            np.asarray(diagonal([1.0, 2.0]))
    (entry,) = dk.densify_ledger()
    assert (entry.file, entry.function, entry.type) == (__file__, "numpy.asarray", "Diagonal")
    assert (entry.count, entry.nbytes) == (3, 96)


@pytest.mark.parametrize("name", CALLS)
def test_a_budget_holds_for_what_numpy_reads(diagonal: Any, name: str) -> None:
    d = diagonal([1.0, 2.0])
    with dk.densify(on="error"), pytest.raises(DensifyError, match="would make Diagonal dense"):
        CALLS[name](d)
    with dk.densify(on="allow", limit=31), pytest.raises(DensifyError, match="32 B"):
        np.asarray(d)


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_that_is_an_error_comes_out(diagonal: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DensifyWarning, match="made Diagonal dense"):
            CALLS[name](diagonal([1.0, 2.0]))


def test_a_dtype_and_a_copy_are_given_as_asked(diagonal: Any) -> None:
    d = diagonal([1.0, 2.0])
    inner = dk.asarray([1.0, 2.0])
    m: Any = dk.types.MetadataTensor(inner)
    with dk.densify(on="allow"):
        assert np.asarray(d, dtype=np.float32).dtype == np.float32
        assert np.asarray(d, dtype=object).shape == (2, 2)
        assert np.shares_memory(np.asarray(m), inner.array)
        assert not np.shares_memory(np.array(m), inner.array)
        with pytest.raises(ValueError, match="Diagonal is its dense form, a copy; leave copy=False out"):
            np.asarray(d, copy=False)


def test_a_gradient_is_not_lost(diagonal: Any) -> None:
    d = diagonal(dk.tensor([1.0, 2.0], requires_grad=True))
    with dk.densify(on="allow"):
        for call in CALLS.values():
            if call in (CALLS[name] for name in OPERATIONS):
                result = call(d)
                assert isinstance(result, bool) or result.requires_grad
                continue
            with pytest.raises(AutogradError, match="would lose the graph"):
                call(d)
        with dk.no_grad():
            np.testing.assert_array_equal(np.asarray(d), DENSE)


@pytest.mark.parametrize("action", ["default", "error"])
@pytest.mark.parametrize("call", [np.asarray, np.array, assigned, lambda x: np.array([x, x])])
def test_a_type_without_a_dense_form_never_becomes_an_array_of_objects(labelled: Any, call: Any, action: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        with pytest.raises(TypeError, match=r"Labelled has no dense form .* define to_dense\(\), or __array__"):
            call(labelled([1.0, 2.0]))


def test_a_type_without_a_dense_form_declines_numpys_functions(labelled: Any) -> None:
    sort_complex: Any = np.sort_complex
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy\.sort_complex' on Labelled"):
        sort_complex(labelled([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy\.frexp' on Labelled: .* define to_dense"):
        np.frexp(labelled([1.0, 2.0]))


def test_a_dense_form_that_is_no_array_is_refused() -> None:
    @dk.array_type(dense=lambda x: "no array")
    class Wrong:
        shape, dtype = (), dk.float64

    with dk.densify(on="allow"), pytest.raises(TypeError, match="Wrong"):
        np.asarray(Wrong())


def test_the_length_is_that_of_the_first_axis(diagonal: Any, labelled: Any) -> None:
    assert len(diagonal([1.0, 2.0])) == 2
    with pytest.raises(TypeError, match=r"len\(\) of a 0-D Labelled"):
        len(labelled(1.0))


def test_a_type_keeps_its_own_way_to_an_array_and_its_own_length() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Own:
        shape, dtype = (2,), dk.float64

        def to_dense(self) -> Any:
            raise AssertionError("its own __array__ answers")

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.asarray([7.0, 7.0], dtype=dtype)

        def __len__(self) -> int:
            return 11

    x: Any = Own()
    assert np.asarray(x).tolist() == [7.0, 7.0]
    assert np.sort_complex(x).sum() == 14
    assert len(x) == 11
