"""The list of differences from PyTorch that are meant: an entry covers what it says, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.programs.fuzz.as_torch.calls import Array, Call, Dtype
from tests.programs.fuzz.as_torch.faults import (
    has_two_faults,
    is_seen_with_elements,
    mixed,
    repaired,
    with_finite_numbers,
)
from tests.programs.fuzz.as_torch.listed import Entry, read


@dataclass(frozen=True)
class Found:
    """A difference, as `comparing` finds it."""

    call: Call
    sort: str
    text: str
    proved: bool = False
    part: str = ""
    filled: bool = False
    tamed: bool = False


def refusal(text: str, *shape: int) -> Any:
    """Return the refusal of a call of an array of a shape."""
    return Found(Call("matmul", "function", (Array(np.zeros(shape)),)), "refused here", text)


@pytest.mark.parametrize(("shape", "covered"), [((0, 3), True), ((2, 3), False)])
def test_an_entry_about_nothing_covers_arrays_without_elements(shape: tuple[int, ...], covered: bool) -> None:
    entry = Entry(("refused here",), ("*",), "why", texts=("*not implemented for *",), empty=True)
    assert entry.covers(refusal("\"matmul\" not implemented for 'Bool'", *shape)) is covered


def test_entries_say_why_and_about_what() -> None:
    for entry in read():
        assert entry.reason.strip(), entry
        assert entry.paths, entry
        if entry.paths == ("*",):
            assert entry.texts != ("*",) or entry.proved or entry.filled, entry


@pytest.mark.parametrize("proved", [True, False])
def test_an_entry_about_two_faults_covers_calls_that_were_shown_to_have_them(proved: bool) -> None:
    entry = Entry(("class of error",), ("*",), "why", proved=True)
    call = Call("matmul", "function", (Array(np.zeros(2)),))
    found: Any = Found(call, "class of error", "TypeError: x | IndexError: y", proved)
    assert entry.covers(found) is proved


def errors_of(call: Call, *, looks_at_axes: bool = True) -> tuple[Any, Any, bool]:
    """Return the errors of a library that looks at dtypes first, and of one that looks at axes first."""
    array, axis = (*call.args, 0)[:2]
    if not isinstance(array, Array):
        return None, None, False
    dtype_fault = TypeError(f"no {array.data.dtype}") if array.data.dtype.kind == "b" else None
    axis_fault = IndexError(f"no axis {axis}") if axis != 0 else None
    ours: Exception | None = dtype_fault
    if looks_at_axes and ours is None:
        ours = axis_fault
    theirs = axis_fault or dtype_fault
    return ours, theirs, ours is not None and type(ours) is type(theirs)


def test_two_faults_are_shown_where_each_of_both_remains_alone() -> None:
    call = Call("sum", "function", (Array(np.zeros(2, "bool")), 5))
    assert has_two_faults(call, [], errors_of)


def test_a_fault_that_one_library_alone_refuses_is_none_of_two() -> None:
    call = Call("sum", "function", (Array(np.zeros(2, "bool")), 5))
    assert not has_two_faults(call, [], lambda other: errors_of(other, looks_at_axes=False))


@pytest.mark.parametrize("filled", [True, False])
def test_an_entry_about_filled_arrays_covers_calls_that_are_refused_with_elements(filled: bool) -> None:
    entry = Entry(("refused here",), ("*",), "why", filled=True)
    call = Call("sum", "function", (Array(np.zeros((0, 2), "bool")),))
    found: Any = Found(call, "refused here", "TypeError: no bool", filled=filled)
    assert entry.covers(found) is filled


def errors_with_elements(call: Call) -> tuple[Any, Any, bool]:
    """Return the errors of a library that takes no booleans, and of one that takes them where there are no elements."""
    (array,) = call.args
    fault = TypeError("no bool") if array.data.dtype.kind == "b" else None
    return fault, fault if array.data.size else None, bool(fault and array.data.size)


@pytest.mark.parametrize(
    ("shape", "dtype", "seen"), [((0, 2), "bool", True), ((1, 2), "bool", False), ((0,), "int64", False)]
)
def test_a_fault_is_seen_with_elements_where_both_libraries_refuse_it_then(
    shape: tuple[int, ...], dtype: str, seen: bool
) -> None:
    call = Call("sum", "function", (Array(np.zeros(shape, dtype)),))
    assert is_seen_with_elements(call, errors_with_elements) is seen


def errors_of_two_arrays(call: Call) -> tuple[Any, Any, bool]:
    """Return the errors of a library that looks at dtypes of all arrays first, and of one that looks at axes first."""
    arrays = [x for x in call.args if isinstance(x, Array)]
    if len(arrays) < 2:
        return None, None, False
    dtype_fault = TypeError("no bool") if any(x.data.dtype.kind == "b" for x in arrays) else None
    axis_fault = IndexError("too few axes") if any(x.data.ndim < 2 for x in arrays) else None
    ours, theirs = dtype_fault or axis_fault, axis_fault or dtype_fault
    return ours, theirs, ours is not None and type(ours) is type(theirs)


def test_two_faults_of_all_arrays_are_shown_where_each_of_both_remains_alone() -> None:
    call = Call("mm", "function", (Array(np.zeros(2, "bool")), Array(np.zeros(2, "bool"))))
    assert has_two_faults(call, [], errors_of_two_arrays)


@pytest.mark.parametrize(
    ("parts", "shape", "dtype", "option"),
    [({"shapes"}, (2,), "float64", 1), ({"dtypes"}, (3, 4), "bool", 1), ({"options"}, (3, 4), "float64", 5)],
)
def test_parts_of_a_call_are_taken_of_one_with_faults(parts: set[str], shape: Any, dtype: str, option: int) -> None:
    bad = Call("f", "function", (Array(np.zeros(2, "bool")), 5))
    call = mixed(bad, Call("f", "function", (Array(np.zeros((3, 4))), 1)), parts)
    array, number = call.args
    assert (array.data.shape, array.data.dtype.name, number) == (shape, dtype, option)


@pytest.mark.parametrize(("kwargs", "covered"), [({"dtype": Dtype("float32")}, True), ({"dim": 0}, False), ({}, False)])
def test_an_entry_about_an_option_covers_calls_that_have_it(kwargs: dict[str, Any], covered: bool) -> None:
    entry = Entry(("gradient",), ("prod",), "why", options=("dtype=torch.float*", "dtype=torch.double"))
    found: Any = Found(Call("prod", "function", (), kwargs), "gradient", "")
    assert entry.covers(found) is covered


@pytest.mark.parametrize(("part", "covered"), [("P", True), ("L", False), ("", False)])
def test_an_entry_about_a_part_covers_results_that_differ_in_it(part: str, covered: bool) -> None:
    entry = Entry(("value",), ("lu_unpack",), "why", parts=("P",))
    found: Any = Found(Call("lu_unpack", "function", ()), "value", "", part=part)
    assert entry.covers(found) is covered


@pytest.mark.parametrize(
    ("names", "covered"), [(("jvp", "grad"), True), (("grad", "jvp"), False), (("jvp",), False), ((), False)]
)
def test_an_entry_about_derivatives_covers_calls_that_are_transformed_so(names: tuple[str, ...], covered: bool) -> None:
    entry = Entry(("value",), ("det",), "why", derivatives=("grad of jvp",))
    found: Any = Found(Call("det", "transformed", (), transformations=names), "value", "")
    assert entry.covers(found) is covered


@pytest.mark.parametrize(("places", "covered"), [([0, 1, 0], True), ([0, 1, 2], False), ([0.0, 0.0], False)])
def test_an_entry_about_repeated_integers_covers_calls_that_have_some(places: list[Any], covered: bool) -> None:
    entry = Entry(("value",), ("put",), "why", repeated=True)
    found: Any = Found(Call("put", "function", (Array(np.asarray(places)),)), "value", "")
    assert entry.covers(found) is covered


@pytest.mark.parametrize("tamed", [True, False])
def test_an_entry_about_infinities_covers_calls_that_agree_with_finite_numbers(tamed: bool) -> None:
    entry = Entry(("gradient",), ("*",), "why", tamed=True)
    found: Any = Found(Call("sin", "function", (Array(np.asarray([np.inf])),)), "gradient", "", tamed=tamed)
    assert entry.covers(found) is tamed


@pytest.mark.parametrize(("layout", "covered"), [("stepped", True), ("expanded", True), ("plain", False)])
def test_an_entry_about_steps_covers_calls_of_views_that_are_not_in_one_piece(layout: str, covered: bool) -> None:
    entry = Entry(("value",), ("native_group_norm",), "why", stepped=True)
    found: Any = Found(Call("native_group_norm", "function", (Array(np.zeros(4), layout),)), "value", "")
    assert entry.covers(found) is covered


@pytest.mark.parametrize(("args", "covered"), [((1, 0), True), ((1,), False), ((1, 2), False)])
def test_an_entry_about_an_option_covers_calls_that_have_it_in_its_place(args: tuple[Any, ...], covered: bool) -> None:
    entry = Entry(("value",), ("sub",), "why", options=("alpha=*", "1=0"))
    found: Any = Found(Call("sub", "method", args), "value", "")
    assert entry.covers(found) is covered


def test_finite_numbers_stand_for_infinities_and_nan() -> None:
    data = np.asarray([1.0, np.nan, -np.inf], "float32")
    call = Call(
        "f", "function", (Array(data, gradient=True), np.inf, [Array(np.asarray([2]))]), {"p": complex(0, np.nan)}
    )
    other = with_finite_numbers(call)
    array, number, (integers,) = other.args
    assert (array.data.tolist(), array.data.dtype.name, array.gradient) == ([1.0, 0.5, 0.515625], "float32", True)
    assert (number, integers.data.tolist(), other.kwargs) == (1.5, [2], {"p": 1.5})


def test_one_argument_of_a_call_with_faults_is_tried_in_a_good_call() -> None:
    good = Call("f", "function", (Array(np.zeros(2)), 1), {"p": 2})
    tried = [call for call in repaired(Call("f", "function", ("x", 1), {"p": -1}), [good]) if call.kwargs == {"p": -1}]
    assert any(isinstance(call.args[0], Array) and call.args[0].data.size == 2 for call in tried)


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        ([1.0, 0.0, 2.0], [0.0, 1.0, 2.0], " (moved to a neighbour)"),
        ([1.0, 0.0, 2.0], [1.0, 1.0, 2.0], ""),
        ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], ""),
        ([[1.0, 0.0]], [[0.0, 1.0]], ""),
        ([1.0, 2.0], [np.inf, 2.0], " (infinite there alone)"),
        ([1.0, 2.0], [1.0, np.nan], " (NaN there alone)"),
        ([1.0, 2.0, np.inf], [np.inf, np.nan, np.nan], " (NaN or infinite there alone)"),
    ],
)
def test_counts_that_went_to_a_neighbour_are_told_from_others(ours: Any, theirs: Any, text: str) -> None:
    comparing = pytest.importorskip("tests.programs.fuzz.as_torch.comparing")
    a, b = np.array(ours), np.array(theirs)
    with np.errstate(invalid="ignore"):
        assert comparing.of_numbers_apart(a, b, ~np.isclose(a, b, equal_nan=True)) == text


@pytest.mark.parametrize(("other", "words"), [(1.001, "finite ones differ"), (np.nan, "one of two is not finite")])
def test_numbers_that_differ_little_are_no_infinities(other: float, words: str) -> None:
    comparing = pytest.importorskip("tests.programs.fuzz.as_torch.comparing")
    call = Call("abs", "function", (Array(np.ones(2)),))
    assert comparing.of_differing(call, "gradient", np.ones(2), np.asarray([1.0, other])) == words


def test_rounding_beside_nan_is_no_difference_of_finite_numbers() -> None:
    comparing = pytest.importorskip("tests.programs.fuzz.as_torch.comparing")
    call = Call("abs", "function", (Array(np.ones(2, np.float16)),))
    words = comparing.of_differing(call, "gradient", np.ones(2), np.asarray([1.1, np.nan]))
    assert words == "one of two is not finite"


@pytest.mark.parametrize(
    ("args", "kwargs", "drawn"), [((0.5,), {}, True), ((), {"dropout_p": 0.5}, True), ((), {}, False)]
)
def test_attention_that_drops_is_drawn(args: Any, kwargs: Any, drawn: bool) -> None:
    comparing = pytest.importorskip("tests.programs.fuzz.as_torch.comparing")
    x = Array(np.ones((2, 2)))
    call = Call("nn.functional.scaled_dot_product_attention", "function", (x, x, x, None, *args), kwargs)
    assert comparing.is_drawn(call) is drawn


def test_a_dtype_that_is_asked_for_says_how_near_numbers_must_be() -> None:
    comparing = pytest.importorskip("tests.programs.fuzz.as_torch.comparing")
    x = Array(np.ones(2))
    call = Call("cumprod", "function", (x, 0), {"dtype": Dtype("float32")})
    assert comparing.dtypes_of(call) == {"float64", "float32"}
    a, b = np.ones(2), np.full(2, 1.0001)
    assert comparing.compared_values(call, "value", a, b) is None
    assert comparing.compared_values(call.changed(kwargs={}), "value", a, b) is not None
