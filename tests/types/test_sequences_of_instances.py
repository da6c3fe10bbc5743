"""Arrays made of sequences of instances: by stacking them, whatever the type, the nesting and the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, MetadataTensor, NamedTensor, QuantityTensor, UncertainTensor

# For type checkers anything: they give functions of numbers a tensor.
asarray: Any = dk.asarray
Uncertain: Any = UncertainTensor
Masked: Any = MaskedTensor

MEANS = [MaskedTensor(1.5, True), MaskedTensor(7.0, False), MaskedTensor(5.0, True)]
LIKE: Any = MEANS[0]
MAKERS: dict[str, Callable[[Any], Any]] = {
    "asarray": dk.asarray,
    "tensor": dk.tensor,
    "as_tensor": dk.as_tensor,
    "stack": dk.stack,
    "np.stack": np.stack,
    "np.asarray": lambda members: np.asarray(members, like=LIKE),
    "np.array": lambda members: np.array(members, like=LIKE),
    "constructor": MaskedTensor,
    "constructor, of a tuple": lambda members: MaskedTensor(tuple(members)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_each_masked_number_of_a_list_keeps_its_own_mask(name: str) -> None:
    x = MAKERS[name](MEANS)
    assert type(x) is MaskedTensor
    assert x.valid.tolist() == [True, False, True]
    assert x.filled(0.0).tolist() == [1.5, 0.0, 5.0]


@pytest.mark.parametrize("make", [dk.asarray, dk.tensor, MaskedTensor])
def test_nested_lists_of_instances_numbers_and_arrays_are_stacked(make: Callable[[Any], Any]) -> None:
    x = make([[MEANS[1], 2.0], (np.float64(3.0), asarray(4.0))])
    assert x.valid.tolist() == [[False, True], [True, True]]
    assert x.filled(0.0).tolist() == [[0.0, 2.0], [3.0, 4.0]]


def test_members_of_different_dtypes_are_promoted_and_a_dtype_is_kept() -> None:
    assert asarray([MaskedTensor(1), MaskedTensor(2.5)]).dtype == np.float64
    x = asarray(MEANS, dtype=dk.float32)
    assert x.dtype == np.float32
    assert x.valid.tolist() == [True, False, True]


def test_members_of_different_shapes_are_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"asarray: the members of a sequence must have one shape .* \(1,\) and \(2,\)"
    ):
        asarray([[MEANS[0]], [1.0, 2.0]])
    with pytest.raises(ValueError, match="asarray: a list of arrays is copied, found copy=False"):
        asarray(MEANS, copy=False)


def test_uncertain_numbers_of_a_list_keep_their_deviations_and_correlations() -> None:
    first = UncertainTensor(1.0, 0.1)
    for x in (Uncertain([first, first, 2.0]), asarray([first, first, 2.0])):
        assert x.std.tolist() == pytest.approx([0.1, 0.1, 0.0])
        assert float((x[0] - x[1]).std) == 0.0
    assert Uncertain(first).std.tolist() == pytest.approx(0.1)
    with pytest.raises(TypeError, match="the value has a standard deviation already"):
        Uncertain([first, first], 0.1)


def test_quantities_of_a_list_are_converted_and_no_second_unit_is_taken() -> None:
    lengths = [QuantityTensor(1.0, "m"), QuantityTensor(2.0, "km")]
    assert asarray(lengths).to("m").magnitude.tolist() == [1.0, 2000.0]
    with pytest.raises(UnitError, match="the array is in 'm' already"):
        QuantityTensor(lengths, "s")
    masked = Masked(lengths, [True, False])
    assert type(masked) is QuantityTensor
    assert masked.magnitude.valid.tolist() == [True, False]


def test_wrappers_of_lists_of_wrappers_are_in_the_order_of_levels() -> None:
    x = MaskedTensor([UncertainTensor(1.0, 0.1), UncertainTensor(2.0, 0.2)], [True, False])
    assert x.data.std.tolist() == pytest.approx([0.1, 0.2])
    named = NamedTensor([MEANS[0], MEANS[1]], "place")
    assert named.data.valid.tolist() == [True, False]
    y = MetadataTensor([MetadataTensor(1.0, {"a": 1}), MetadataTensor(2.0, {"a": 1})], {"b": 2})
    assert (y.metadata, y.data.tolist()) == ({"a": 1, "b": 2}, [1.0, 2.0])


def test_types_of_ones_own_are_stacked_by_their_rules_and_fallbacks() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Filled:
        def __init__(self, value: float) -> None:
            self.value = value

        def to_dense(self) -> dk.Tensor:
            return dk.full((2,), self.value)

    @dk.array_type(fallback=dk.fallback.rewrap)
    class Tagged:
        def __init__(self, data: Any, tag: str) -> None:
            self.data, self.tag = data, tag

    with pytest.warns(dk.DensifyWarning, match="stack"):
        assert asarray([[Filled(1.0)], [Filled(2.0)]]).tolist() == [[[1.0, 1.0]], [[2.0, 2.0]]]
    x = asarray([Tagged(dk.ones(2), "a"), Tagged(dk.zeros(2), "a")])
    assert (x.tag, x.data.tolist()) == ("a", [[1.0, 1.0], [0.0, 0.0]])


def test_gradients_and_batches_pass_through_lists_of_instances() -> None:
    def total(x: Any) -> Any:
        return asarray([MaskedTensor(x), MaskedTensor(2 * x, False), MaskedTensor(3 * x)]).sum().filled(0.0)

    assert float(dk.func.grad(total)(asarray(3.0))) == 4.0
    assert float(dk.func.jvp(total, (asarray(3.0),), (asarray(1.0),))[1]) == 4.0
    assert dk.func.vmap(total)(asarray([1.0, 2.0])).tolist() == [4.0, 8.0]


def test_explain_says_that_members_are_stacked() -> None:
    assert "asarray stacks the members of the sequence" in str(dk.explain(dk.asarray, MEANS))


def test_masked_arrays_of_numpy_keep_their_masks() -> None:
    x = np.ma.array([1, 2], mask=[False, True])
    assert MaskedTensor(x).valid.tolist() == [True, False]
    assert MaskedTensor(x, [False, True]).valid.tolist() == [False, False]
    assert MaskedTensor([x, x]).valid.tolist() == [[True, False], [True, False]]
    assert MaskedTensor([1.0, np.ma.masked]).valid.tolist() == [True, False]
    assert MaskedTensor(x).to_numpy_ma().tolist() == [1, None]


def test_nullable_arrays_of_pandas_keep_what_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    x = MaskedTensor(pandas.array([1, None]))
    assert (x.dtype, x.valid.tolist()) == (np.int64, [True, False])
    assert MaskedTensor(pandas.array([True, None])).dtype == np.bool_
    assert MaskedTensor(pandas.Series([1.5, None])).valid.tolist() == [True, False]
    assert MaskedTensor([1.0, pandas.NA]).valid.tolist() == [True, False]
    table = pandas.DataFrame({"a": pandas.array([1, None]), "b": [1.5, 2.0]})
    assert MaskedTensor(table).valid.tolist() == [[True, True], [False, True]]
    with pytest.raises(TypeError, match="data of pandas must hold numbers or booleans, not category"):
        MaskedTensor(pandas.Categorical([1, 2]))
