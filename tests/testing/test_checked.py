"""`checked` finds the first call of a program that differs from the same call on dense forms, and no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import WrongCallError
from dispatchkit.types import DiagonalTensor, MetadataTensor

pytest_plugins = "pytester"


@dk.array_type(fallback=dk.fallback.dense)
class Hankel:
    """Constant along the antidiagonals; `data` may be longer than what the matrix has."""

    def __init__(self, data: Any, n: int) -> None:
        self.data, self.n = dk.asarray(data), n

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        places = np.arange(self.n)
        return self.data[dk.asarray(places[:, None] + places)]


@dk.array_type(fallback=dk.fallback.dense)
class Column:
    """A vector whose elements can be assigned."""

    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        return dk.clone(self.data)


@pytest.fixture(autouse=True)
def rules() -> None:
    """Register the rules, of which each has a fault but the first two and the last."""

    @dk.implements(dk.kinds.elementwise)
    def elementwise(op: Any, x: Hankel, /, **options: Any) -> Hankel:
        return Hankel(op(x.data, **options), x.n)

    @dk.implements(dk.add)
    def add(x1: Column, x2: Column, /) -> Column:
        return Column(x1.data + x2.data)

    @dk.implements(dk.sum)
    def sum_of_what_is_kept(x: Hankel, /) -> Any:
        return dk.sum(x.data)

    @dk.implements(dk.multiply)
    def multiply_by_number(x1: Column, x2: dk.Tensor, /) -> Column:
        return Column(x1.data * x2.detach())

    @dk.implements(dk.negative)
    def negative(x: Column, /) -> Column:
        data = x.data.detach()
        np.negative(data.numpy(), out=data.numpy())
        return Column(data)

    @dk.implements(dk.positive)
    def positive(x: Column, /) -> Column:
        return Column(x.data)

    @dk.implements(dk.exp)
    def exp(x: Column, /) -> Column:
        return Column(dk.astype(dk.exp(x.data), dk.float32))

    @dk.implements(dk.divide)
    def divide(x1: Column, x2: dk.Tensor, /) -> Column:
        return Column(x1.data)

    @dk.implements(dk.sqrt)
    def sqrt(x: Column, /) -> Column:
        raise ZeroDivisionError("sqrt of a column")

    @dk.implements(dk.linalg.inv)
    def inv(x: Hankel, /) -> Hankel:
        return x

    @dk.implements(dk.setitem)
    def assign(x: Column, key: Any, value: Any, /) -> None:
        x.data[key] = value


def hankel(*data: float) -> Hankel:
    return Hankel(data, (len(data) + 1) // 2)


def column() -> Column:
    return Column([1.0, 4.0])


def number(*, requires_grad: bool = False) -> Any:
    return dk.tensor(2.0, requires_grad=requires_grad)


PROGRAMS: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "result of a result": ("value", "sum_of_what_is_kept(Hankel", lambda: dk.sum(dk.isfinite(hankel(1, 2, 3, 4, 6)))),
    "the other operand": ("gradient", "multiply_by_number(Column", lambda: column() * number(requires_grad=True)),
    "argument written into": ("mutation", "negative(Column", lambda: -column()),
    "shared memory": ("memory", "positive(Column", lambda: +column()),
    "dtype": ("dtype", "exp(Column", lambda: dk.exp(column() + column())),
    "shape": ("shape", "divide(Column", lambda: column() / dk.ones((3, 1))),
    "error": ("error", "sqrt(Column", lambda: dk.sqrt(column())),
    "answer where there is none": ("error", "inv(Hankel", lambda: dk.linalg.inv(hankel(0.0))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_call_that_differs_is_named_with_its_rule(name: str) -> None:
    aspect, rule, program = PROGRAMS[name]
    with pytest.raises(WrongCallError) as caught, dk.densify(on="allow"):
        dk.verify(program)
    assert caught.value.aspect == aspect
    assert any(rule in text and __file__ in text for text in caught.value.rules)
    assert caught.value.program.splitlines()[-1].startswith("print(dk.")


def test_the_message_shows_both_results_and_the_simplest_call() -> None:
    with pytest.raises(WrongCallError) as caught, dk.checked():
        dk.sum(Hankel([0.5, 0.25, 0.125, 4.0], 2))
    text = str(caught.value)
    assert text.startswith("value: dispatchkit.sum(Hankel (2, 2) float64)\n    rule:     sum_of_what_is_kept(Hankel")
    assert "    found:    10.\n    expected: 8.\n    program:" in text
    assert "        x1 = Hankel(data=dk.tensor(np.array([1.0, 2.0, 3.0, 4.0], dtype='float64')), n=2)" in text


def test_the_program_shows_the_difference_when_it_is_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WrongCallError) as caught:
        dk.verify(lambda: dk.exp(column()))
    exec(caught.value.program, {})  # noqa: S102  # as a user does
    assert capsys.readouterr().out.splitlines()[0].startswith("Column(data=tensor([2.7183")


def test_keywords_that_do_not_matter_are_left_out() -> None:
    @dk.implements(dk.mean)
    def mean(x: Hankel, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return dk.zeros((3,) if axis is not None and not keepdims else (1, 3) if keepdims else ())

    with pytest.raises(WrongCallError, match=r"value: dispatchkit.mean\(Hankel \(3, 3\) float64\)"):
        dk.verify(dk.mean, hankel(1.0, 2, 3, 4, 6), axis=0, keepdims=True)


def test_a_fault_that_the_call_alone_does_not_show_has_no_program() -> None:
    calls: list[Any] = []

    @dk.implements(dk.prod)
    def wrong_once(x: Hankel, /) -> Any:
        calls.append(x)
        return dk.prod(x.to_dense()) + (len(calls) == 1)

    with pytest.raises(WrongCallError) as caught, dk.densify(on="allow"):
        dk.verify(dk.prod, hankel(1.0, 2, 3))
    assert caught.value.program == ""
    assert "wrong_once(Hankel" in str(caught.value)
    assert str(caught.value).endswith("expected: 12.")


def test_half_precision_that_lapack_lacks_is_no_difference() -> None:
    with pytest.raises(TypeError, match="float16 is unsupported in linalg"):
        dk.linalg.det(dk.ones((1, 1), dtype=np.float16))
    assert float(dk.verify(dk.linalg.det, DiagonalTensor(np.ones(1, np.float16)))) == 1.0


@pytest.mark.filterwarnings("ignore::dispatchkit.errors.ReplacementWarning")
def test_products_may_leave_out_zeros_times_infinity_but_no_finite_number() -> None:
    x, y = DiagonalTensor([2.0, 3.0]), dk.asarray([[np.inf, 1.0], [1.0, 1.0]])
    with np.errstate(invalid="ignore"):
        assert not np.array_equal(x @ y, x.to_dense() @ y)
        np.testing.assert_array_equal(dk.verify(dk.matmul, x, y), x @ y)

    @dk.implements(dk.matmul)
    def scale_by_one(x1: DiagonalTensor, x2: dk.Tensor, /) -> Any:
        return x2

    with pytest.raises(WrongCallError, match=r"value: dispatchkit\.matmul"), np.errstate(invalid="ignore"):
        dk.verify(dk.matmul, x, y)


def test_a_right_program_gives_what_it_gives_unchecked() -> None:
    def program() -> Any:
        x = DiagonalTensor(dk.tensor([1.0, 2.0], requires_grad=True))
        y = dk.trace((x @ x.mT) * 2.0)
        y.backward()
        return y

    with dk.checked() as checks:
        y = program()
    assert float(y) == float(program())
    assert checks.compared > 3
    assert not checks.passed_over


def test_errors_that_dense_forms_raise_are_those_of_the_program() -> None:
    with pytest.raises(ValueError, match="shape"):
        dk.verify(lambda: DiagonalTensor([1.0, 2.0]) @ dk.ones(3))


def test_what_a_type_refuses_is_no_difference() -> None:
    @dk.array_type()
    class Closed:
        shape, dtype = (2,), dk.float64

        def to_dense(self) -> Any:
            return dk.ones(2)

    with pytest.raises(dk.NoImplementationError):
        dk.verify(dk.sum, Closed())


def test_a_type_without_dense_form_is_passed_over() -> None:
    with dk.checked() as checks:
        dk.sum(dk.types.MaskedTensor([1.0, 2.0], [True, False]))
    (reason,) = checks.passed_over
    assert reason.startswith("an argument whose dense form raises ValueError: a plain array of a MaskedTensor")
    assert not checks.compared


def test_calls_inside_of_transformations_are_passed_over() -> None:
    with dk.checked() as checks:
        dk.func.vmap(lambda d: dk.trace(DiagonalTensor(d)))(dk.ones((2, 3)))
    assert set(checks.passed_over) == {"inside of a transformation"}


def test_metadata_may_be_shared() -> None:
    note = dk.ones(3)
    with dk.checked() as checks:
        x = MetadataTensor([1.0, 2.0], {"note": note}) + 1.0
    assert x.metadata["note"] is note
    assert checks.compared == 1


def test_checks_leave_no_trace_in_ledger_records_and_warnings() -> None:
    dk.clear_densify_ledger()
    with dk.record_calls() as recorded, dk.densify(on="error"):
        dk.verify(lambda: DiagonalTensor([1.0, 2.0]) @ DiagonalTensor([3.0, 4.0]))
    assert not dk.densify_ledger()
    assert [call.name for call in recorded.calls if call.name == "dispatchkit.eye"] == []


def test_arguments_are_compared_after_an_assignment() -> None:
    def program() -> Any:
        x = column()
        x[0] = 7.0
        return dk.sum(x.to_dense())

    assert float(dk.verify(program)) == 11.0


def test_a_mode_inside_is_asked_first() -> None:
    class Ones(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return dk.ones(1)

    with dk.checked() as checks, Ones():
        dk.sum(hankel(0.5, 0.25, 0.125))
    assert not checks.compared


def test_pytest_runs_marked_tests_and_whole_suites_under_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile("""
        import dispatchkit as dk
        import pytest
        from dispatchkit.types import DiagonalTensor

        @pytest.fixture(autouse=True)
        def rule():
            with dk.local_registrations():
                @dk.implements(dk.trace)
                def trace(x: DiagonalTensor, /):
                    return dk.asarray(0.0)
                yield

        @pytest.mark.checked(gradients=False)
        def test_marked():
            dk.trace(DiagonalTensor([1.0]))

        def test_unmarked():
            dk.trace(DiagonalTensor([1.0]))
    """)
    plugin = ("-p", "dispatchkit.testing.plugin", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*plugin)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*WrongCallError: value: dispatchkit.linalg.trace(DiagonalTensor (1, 1) float64)"])
    result.stdout.no_fnmatch_line("*_wrong_call_error*")  # nor any other line of the library's
    pytester.runpytest_subprocess("--checked", *plugin).assert_outcomes(failed=2)
