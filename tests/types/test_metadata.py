"""`MetadataTensor`: metadata goes through the whole namespace, and meets other metadata under a law."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.types import MetadataTensor, ScalarTensor
from tests.declared import by_operation
from tests.protocol.support import steps_of

CALLS = [
    pytest.param(entry, sample, id=f"{name.removeprefix('dispatchkit.')}-{index}")
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
    for index, sample in enumerate(entry.samples)
]


def arrays(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [one for member in result for one in arrays(member)]
    return [result]


@by_operation(("entry", "sample"), CALLS)
def test_every_operation_carries_metadata_and_computes_the_same(entry: DeclaredOperation, sample: Sample) -> None:
    args, kwargs = sample.make(np.random.default_rng(0))
    found = 0

    def dressed(name: str, value: Any) -> Any:
        nonlocal found
        if isinstance(value, np.ndarray):
            found += 1
            return MetadataTensor(dk.tensor(value), {"unit": "m", str(found): found})
        return value

    own_args, own_kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, dressed)
    if not found:
        pytest.skip("no array argument")
    dk.manual_seed(0)
    result = entry.function(*own_args, **own_kwargs)
    dk.manual_seed(0)
    expected = entry.function(*args, **kwargs)
    if entry.name == "setitem":
        assert result is None
        return
    assert len(arrays(result)) == len(arrays(expected))
    for one, other in zip(arrays(result), arrays(expected), strict=True):
        assert type(one) is MetadataTensor
        assert one.metadata == {"unit": "m"} | {str(i): i for i in range(1, found + 1)}
        if "empty" not in entry.name:
            np.testing.assert_array_equal(one.data.numpy(), other.numpy())


LEFT, RIGHT = {"unit": "m", "run": 1, "a": 1}, {"unit": "s", "run": 1, "b": 2}


def joined(key: str, values: Sequence[Any]) -> str:
    return f"{key}:" + "/".join(map(str, values))


LAWS: dict[str, tuple[Any, dict[str, Any]]] = {
    "left": ("left", {"unit": "m", "run": 1, "a": 1, "b": 2}),
    "right": ("right", {"unit": "s", "run": 1, "a": 1, "b": 2}),
    "drop": ("drop", {"run": 1, "a": 1, "b": 2}),
    "function": (joined, {"unit": "unit:m/s", "run": 1, "a": 1, "b": 2}),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_law_decides_where_operands_disagree(name: str) -> None:
    law, expected = LAWS[name]
    x, y = MetadataTensor([1.0, 2.0], LEFT, merge=law), MetadataTensor([3.0, 4.0], RIGHT, merge=law)
    for result in (x + y, dk.concat([x, y]), dk.where(dk.tensor([True, False]), x, y), x @ y):
        assert result.metadata == expected
        assert result.merge == law


def test_operands_that_disagree_can_be_an_error() -> None:
    x = MetadataTensor([1.0], LEFT, merge="error")
    with pytest.raises(
        ValueError, match=r"^metadata: operands disagree on 'unit': 'm' and 's'; choose another merge law$"
    ):
        x + MetadataTensor([1.0], RIGHT)
    assert (x + MetadataTensor([1.0], LEFT)).metadata == LEFT


def test_of_different_laws_the_leftmost_decides() -> None:
    x, y = MetadataTensor([1.0], LEFT, merge="right"), MetadataTensor([1.0], RIGHT, merge="drop")
    assert (x + y).metadata["unit"] == "s"
    assert "unit" not in (y + x).metadata


def test_three_operands_meet_in_their_order() -> None:
    made = [MetadataTensor([float(i)], {"k": i}, merge=joined) for i in range(3)]
    assert dk.stack(made).metadata == {"k": "k:0/1/2"}


def test_the_keys_of_the_left_operand_come_first() -> None:
    x, y = (MetadataTensor([1.0], metadata) for metadata in ({"a": 1, "b": 2}, {"c": 3, "b": 4}))
    for result in (x + y, dk.add(x, y), dk.where(dk.asarray([True]), x, y), dk.maximum(x, y)):
        assert list(result.metadata.items()) == [("a", 1), ("b", 2), ("c", 3)]
        assert (type(result), result.merge, result.laws) == (MetadataTensor, "left", {})
    assert list((1.0 + x).metadata.items()) == [("a", 1), ("b", 2)]


def test_a_plain_call_takes_a_few_steps_more_than_the_call_inside() -> None:
    x = MetadataTensor([1.0], {"a": 1})
    x + x  # which decides
    assert steps_of(lambda: x + x) <= steps_of(lambda: x.data + x.data) + 45


def test_another_law_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"^MetadataTensor: merge must be 'left', 'right', 'error', 'drop' or a function, not 'middle'$",
    ):
        MetadataTensor([1.0], {}, merge="middle")  # type: ignore[arg-type]


def test_metadata_that_are_arrays_can_be_compared() -> None:
    x = MetadataTensor([1.0], {"axis": np.arange(3)})
    assert (x + x).metadata["axis"] is x.metadata["axis"]
    y = MetadataTensor([1.0], {"axis": np.arange(3)})
    assert (x + y).metadata["axis"].tolist() == [0, 1, 2]


OTHERS: dict[str, Any] = {
    "number": 2.0,
    "tensor": dk.tensor([2.0, 3.0]),
    "NumPy": np.array([2.0, 3.0]),
    "NumPy scalar": np.float64(2),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("swapped", [False, True])
def test_other_operands_on_either_side(name: str, swapped: bool) -> None:
    x, other = MetadataTensor([1.0, 4.0], {"unit": "m"}), OTHERS[name]
    result = other - x if swapped else x - other
    plain = other - x.data if swapped else x.data - other
    assert type(result) is MetadataTensor
    assert result.metadata == {"unit": "m"}
    assert result.data.tolist() == plain.tolist()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_structured_operand_on_either_side(swapped: bool) -> None:
    x, s = MetadataTensor(dk.ones((2, 2)), {"unit": "m"}), ScalarTensor(2, 3.0)
    result = s + x if swapped else x + s
    assert type(result) is MetadataTensor
    assert result.metadata == {"unit": "m"}
    assert result.data.tolist() == [[4.0, 1.0], [1.0, 4.0]]


def test_methods_operators_and_properties() -> None:
    x: Any = MetadataTensor([[1.0, 2.0], [3.0, 4.0]], {"unit": "m"})
    for result in (x.sum(0), x.T, x[0], -x, x.view(4), x.mean(), abs(x), x == x, np.exp(x)):
        assert type(result) is MetadataTensor
        assert result.metadata == {"unit": "m"}


def test_several_outputs_all_carry_the_metadata() -> None:
    x = MetadataTensor([[2.0, 0.0], [0.0, 1.0]], {"unit": "m"})
    for result in (dk.unstack(x), dk.linalg.slogdet(x), dk.linalg.eigh(x)):
        assert len(result) == 2
        assert all(type(one) is MetadataTensor and one.metadata == {"unit": "m"} for one in result)
    assert dk.linalg.slogdet(x).sign.data.item() == 1.0


def test_results_do_not_share_the_dictionary() -> None:
    given = {"unit": "m"}
    x: Any = MetadataTensor([1.0], given)
    y = -x
    y.metadata["unit"] = "s"
    x.metadata["run"] = 1
    assert given == {"unit": "m"}
    assert x.metadata["unit"] == "m"


def test_gradients_flow_to_the_tensor_inside() -> None:
    data = dk.tensor([1.0, 2.0], requires_grad=True)
    x: Any = MetadataTensor(data, {"unit": "m"})
    (x * x).sum().data.backward()
    assert data.grad is not None
    assert data.grad.tolist() == [2.0, 4.0]


def test_assignment_keeps_the_metadata_of_what_is_written_into() -> None:
    x: Any = MetadataTensor([1.0, 2.0, 3.0], {"run": 7})
    x[1] = MetadataTensor(5.0, {"unit": "m"})
    x[:1] = 4.0
    x[dk.asarray([2])] = dk.asarray([6.0])
    assert x.data.tolist() == [4.0, 5.0, 6.0]
    assert x.metadata == {"run": 7}


def test_sums_have_the_keys_of_both_in_the_order_of_the_operands() -> None:
    x: Any = MetadataTensor([1.0], {"run": 7, "unit": "m"})
    y: Any = MetadataTensor([2.0], {"by": "Ada", "run": 8})
    assert list((x + y).metadata.items()) == [("run", 7), ("unit", "m"), ("by", "Ada")]
    assert list((y + x).metadata.items()) == [("by", "Ada"), ("run", 8), ("unit", "m")]
    assert (x + x).metadata is not x.metadata


def test_assignment_changes_the_tensor_inside() -> None:
    x: Any = MetadataTensor([1.0, 2.0], {"unit": "m"})
    x[0] = 5.0
    assert x.data.tolist() == [5.0, 2.0]


def test_attributes_and_printing() -> None:
    x: Any = MetadataTensor([1.0, 2.0], {"unit": "m"})
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2,), 1, 2, dk.float64)
    assert repr(x) == "MetadataTensor([1., 2.], metadata={'unit': 'm'})"
    assert x.to_dense() is x.data


def test_an_error_of_the_operation_comes_out_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        MetadataTensor(dk.ones(2)) + MetadataTensor(dk.ones(3))


# Laws for single keys.


def measured(run: int) -> Any:
    laws = {
        "run": dk.field(merge="drop"),
        "history": dk.field(merge=lambda key, values: [*values[0], *values[1]], copy="deep"),
        "index": dk.field(view=lambda value, op, args, kwargs: value[args[1]] if op is dk.getitem else None),
        "note": dk.field(view="drop"),
    }
    metadata = {"run": run, "history": [run], "index": ["a", "b"], "note": "whole"}
    return MetadataTensor([1.0, 2.0], metadata, laws=laws)


def test_each_key_follows_its_law() -> None:
    one, other = measured(1), measured(2)
    assert (one + other).metadata == {"history": [1, 2], "index": ["a", "b"], "note": "whole"}
    assert one[1].metadata == {"run": 1, "history": [1], "index": "b"}
    assert dk.reshape(one, (2, 1)).metadata["index"] is None
    assert (one[1] + other[1]).metadata == {"history": [1, 2], "index": "b"}
    made = one.clone()
    assert made.metadata["history"] is not one.metadata["history"]
    assert made.metadata["index"] is one.metadata["index"]


def test_metadata_are_a_mapping_and_laws_are_made_by_field() -> None:
    with pytest.raises(TypeError, match=r"^MetadataTensor: metadata must be a mapping, found 3$"):
        MetadataTensor(dk.ones(2), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^MetadataTensor: the law of 'run' is made by dk\.field\(\), found 'left'$"):
        MetadataTensor([1.0], {"run": 1}, laws={"run": "left"})
    for name in ("merge", "view", "copy"):
        with pytest.raises(TypeError, match=f"^field: {name} must be .* or a function, found 'middle'$"):
            dk.field(**{name: "middle"})  # type: ignore[arg-type]


def test_the_fields_of_a_rewrapped_type_follow_their_laws() -> None:
    with dk.local_registrations():

        @dk.array_type(
            fallback=dk.fallback.rewrap,
            fields={"data": dk.field(), "unit": dk.field(merge="error"), "place": dk.field(view="drop", merge="right")},
        )
        class Measured:
            def __init__(self, data: Any, unit: str, place: str) -> None:
                self.data, self.unit, self.place = dk.asarray(data), unit, place

            shape = property(lambda self: self.data.shape)
            dtype = property(lambda self: self.data.dtype)

        one: Any = Measured([1.0, 2.0], "m", "here")
        other: Any = Measured([1.0, 2.0], "m", "there")
        assert (one + other).place == "there"
        assert (one[0].unit, one[0].place) == ("m", None)
        with pytest.raises(ValueError, match="operands disagree on 'unit': 'm' and 's'"):
            one + Measured([1.0, 2.0], "s", "here")


def test_metadata_are_the_outermost() -> None:
    inner = dk.types.QuantityTensor([1.0, 2.0], "m")
    for made in (
        MetadataTensor(inner, {"run": 1}),
        dk.types.QuantityTensor(MetadataTensor([1.0, 2.0], {"run": 1}), "m"),
    ):
        found: Any = made * made
        assert (type(found), found.metadata) == (MetadataTensor, {"run": 1})
        assert repr(found.data.unit) == "Unit('m**2')"


class Opaque:
    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers


EQUAL: dict[str, Callable[[], Any]] = {
    "array": lambda: np.eye(2),
    "tensor": lambda: dk.eye(2),
    "list of arrays": lambda: [np.eye(2), 1],
    "dictionary of arrays": lambda: {"origin": np.zeros(3), "spacing": [1.0, float("nan")]},
    "nan": lambda: float("nan"),
    "array with nan": lambda: np.asarray([float("nan"), 1.0]),
    "quantity": lambda: dk.types.QuantityTensor([1.0, 2.0], "m"),
    "masked": lambda: dk.types.MaskedTensor([1.0, 2.0], [True, False]),
    "texts": lambda: np.asarray(["a", "b"]),
}
DIFFERENT: dict[str, tuple[Any, Any]] = {
    "elements": (np.eye(2), np.ones((2, 2))),
    "shapes": (np.eye(2), np.eye(3)),
    "list and array": ([1.0, 1.0], np.ones(2)),
    "nan and number": (float("nan"), 1.0),
    "keys": ({"a": 1}, {"b": 1}),
    "objects": (Opaque(1), Opaque(1)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_values_agree_whatever_holds_them(name: str) -> None:
    x, y = (MetadataTensor([1.0], {"affine": EQUAL[name]()}, merge="error") for _ in range(2))
    assert list((x + y).metadata) == ["affine"]


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_values_disagree(name: str) -> None:
    x, y = (MetadataTensor([1.0], {"affine": value}, merge="drop") for value in DIFFERENT[name])
    assert (x + y).metadata == {}


def test_fields_of_ones_own_types_agree_by_their_elements() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap)
    @dataclasses.dataclass
    class Image:
        data: Any
        affine: Any = dk.field(merge="error", grad=False)

    x, y = (Image(dk.ones(2), np.eye(2)) for _ in range(2))
    assert (x + y).affine.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="operands disagree on 'affine'"):
        x + Image(dk.ones(2), np.ones((2, 2)))


def test_laws_are_kept_by_pickles_copies_and_files(tmp_path: Path) -> None:
    x = MetadataTensor([1.0], {"run": 1, "site": 2}, laws={"run": dk.field(view="drop")})
    dk.save(x, tmp_path / "x.npz")
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), dk.clone(x), dk.load(tmp_path / "x.npz")):
        assert y.metadata == {"run": 1, "site": 2}
        assert y[0].metadata == {"site": 2}
