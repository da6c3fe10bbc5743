"""Batches of nested items, and images."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.data import default_collate, default_convert, to_tensor
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, UncertainTensor

Point = namedtuple("Point", ["x", "y"])


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    with dk.local_registrations():
        yield


def listed(value: Any) -> Any:
    """Return a structure with lists in the place of tensors."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: listed(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [listed(part) for part in value]
    return value


@pytest.mark.parametrize(
    "batch",
    [
        [0, 1, 2],
        [True, False],
        [1.5, 2.5],
        ["a", "bc"],
        [b"a", b"bc"],
        [np.float32(1.5), np.float32(2.5)],
        [np.ones(2, dtype=np.int16), np.zeros(2, dtype=np.int16)],
        [(1, "a"), (2, "b")],
        [[1, 2.0], [3, 4.0]],
        [{"x": 1, "y": [2.0, "z"]}, {"y": [3.0, "w"], "x": 4}],
        [Point(1, (2, 3)), Point(4, (5, 6))],
        [((1, {"deep": np.ones((2, 2))}),)] * 3,
        [[], []],
        [(), ()],
    ],
    ids=str,
)
def test_structures_are_pytorchs(batch: list[Any]) -> None:
    torch: Any = pytest.importorskip("torch")
    ours, theirs = default_collate(batch), torch.utils.data.default_collate(batch)
    assert type(ours).__name__ == type(theirs).__name__
    assert listed(ours) == listed(theirs)
    if hasattr(theirs, "numpy"):
        assert ours.numpy().dtype == theirs.numpy().dtype


def test_tensors() -> None:
    got = default_collate([dk.ones(2), dk.zeros(2), np.ones(2)])
    assert type(got) is dk.Tensor
    assert got.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]

    class Marked(dk.Tensor):
        pass

    assert type(default_collate([Marked([1.0]), Marked([2.0])])) is Marked
    x = dk.ones(2, requires_grad=True)
    default_collate([x, x]).sum().backward()
    assert listed(x.grad) == [2.0, 2.0]


def test_numbers_of_several_kinds() -> None:
    assert listed(default_collate([1, 2.5])) == [1.0, 2.5]
    assert listed(default_collate([1j, 2.0])) == [1j, 2.0]
    assert listed(default_collate([1, dk.tensor(2.5), np.float32(3.5)])) == [1.0, 2.5, 3.5]


def test_mappings() -> None:
    ordered = default_collate([OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)])
    assert type(ordered) is OrderedDict
    assert list(ordered) == ["b", "a"]
    assert listed(default_collate([MappingProxyType({"a": 1}), MappingProxyType({"a": 2})])) == {"a": [1, 2]}
    given = [{"a": 1}, {"a": 2}]
    default_collate(given)
    assert given == [{"a": 1}, {"a": 2}]


def test_floats_take_the_default_dtype() -> None:
    dk.set_default_dtype(dk.float32)
    try:
        assert default_collate([1.0, 2.0]).dtype == np.float32
    finally:
        dk.set_default_dtype(dk.float64)


def test_declared_types() -> None:
    @dk.array_type()
    @dataclass
    class LowRank:
        u: Any
        parts: list[Any]
        n: int
        scale: float = 1.0
        note: str = ""

    items = [LowRank(dk.ones(2) * i, [np.ones(3), {"k": i}], 4, float(i), "same") for i in range(3)]
    got = default_collate(items)
    assert type(got) is LowRank
    assert (got.n, got.note) == (4, "same")
    assert listed(got.u) == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert (got.parts[0].shape, listed(got.parts[1])) == ((3, 3), {"k": [0, 1, 2]})
    assert listed(got.scale) == [0.0, 1.0, 2.0]
    assert items[0].scale == 0.0
    nested = default_collate([{"weight": items[1]}, {"weight": items[2]}])
    assert listed(nested["weight"].scale) == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"item 1 has 5 where item 0 has 4, at item\['w'\].n; only arrays and floats"):
        default_collate([{"w": items[0]}, {"w": LowRank(dk.ones(2), items[0].parts, 5)}])


def test_a_batch_of_a_declared_type_has_the_shape_of_a_batch() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    @dataclass
    class Product:
        left: Any
        right: Any

        def to_dense(self) -> Any:
            return self.left @ self.right

    @dk.array_type(fallback=dk.fallback.dense)
    @dataclass
    class Sized(Product):
        @property
        def shape(self) -> tuple[int, ...]:
            return (self.left.shape[0], self.right.shape[1])

    factors = [(dk.ones((8, 2)) * i, dk.ones((2, 7))) for i in range(4)]
    got = default_collate([Product(*both) for both in factors])
    assert (type(got), got.shape) == (Product, (4, 8, 7))
    assert got.to_dense()[3].tolist() == (factors[3][0] @ factors[3][1]).tolist()
    advice = r"Sized of shape \(8, 7\) whose .* \(4, 8, 7\), at item\[1\]; give a collate_fn, such as list .*to_dense"
    with pytest.raises(TypeError, match=advice):
        default_collate([(i, Sized(*both)) for i, both in enumerate(factors)])


def test_types_of_the_library() -> None:
    scalars = [dk.types.ScalarTensor(2, dk.tensor(float(i))) for i in range(3)]
    with pytest.raises(TypeError, match=r"ScalarTensor of shape \(2, 2\) whose fields are .* none of shape \(3, 2, 2"):
        default_collate([{"w": x} for x in scalars])
    tagged = default_collate([dk.types.MetadataTensor(dk.ones(2), {"unit": "m"}) for _ in range(2)])
    assert (tagged.shape, tagged.metadata) == ((2, 2), {"unit": "m"})


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([], ValueError, "a batch needs an item"),
        (
            [None, None],
            TypeError,
            "must contain tensors, .* dicts or lists; found <class 'NoneType'>",
        ),
        ([{"a": (1, object())}] * 2, TypeError, r"found <class 'object'>, at item\['a'\]\[1\]"),
        ([np.array(["a"])] * 2, TypeError, "found <U1"),
        ([dk.ones(3), dk.ones(4)], ValueError, r"equal size, but got \(3,\) at entry 0 and \(4,\) at entry 1"),
        (
            [{"x": [dk.ones(1)]}, {"x": [dk.ones(1)]}, {"x": [dk.ones(2)]}],
            ValueError,
            r"\(2,\) at entry 2, at item\['x'\]\[0\]",
        ),
        ([[1, 2], [1]], RuntimeError, "list of batch should be of equal size: item 1 has 1 elements, item 0 has 2"),
        ([{"a": 1}, {"b": 1}], ValueError, r"item 1 has the keys \['b'\], item 0 \['a'\]"),
        ([(1,), [1]], TypeError, "item 1 is a list of length 1, item 0 a tuple of length 1"),
        ([dk.ones(2), "a"], TypeError, r"item 1 is a str, item 0 an array of shape \(2,\)"),
        ([1, None], TypeError, "item 1 is a NoneType, item 0 a int"),
    ],
)
def test_what_cannot_be_put_together(batch: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_conversion_of_single_items() -> None:
    array = np.ones(2)
    x, (name, number), words = default_convert([array, ("a", 1), np.array(["b"])])
    assert type(x) is dk.Tensor
    array[0] = 5.0
    assert listed(x) == [5.0, 1.0]
    assert (name, number) == ("a", 1)
    assert isinstance(words, np.ndarray)
    assert default_convert("text") == "text"


IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10


def test_images() -> None:
    got = to_tensor(IMAGE)
    assert (got.shape, got.dtype) == ((3, 2, 4), np.float64)
    np.testing.assert_array_equal(got.array, IMAGE.transpose(2, 0, 1) / 255)
    assert got.is_contiguous()
    assert to_tensor(np.full((2, 2), 255, dtype=np.uint8)).tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
    assert to_tensor(dk.asarray(IMAGE), dtype=dk.float32).dtype == np.float32
    assert to_tensor(IMAGE[:, :, :1]).shape == (1, 2, 4)


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA"])
def test_images_of_pillow(mode: str) -> None:
    image_module: Any = pytest.importorskip("PIL.Image")
    image = image_module.fromarray(IMAGE).convert(mode)
    assert to_tensor(image).shape == (len(image.getbands()), 2, 4)
    np.testing.assert_array_equal(to_tensor(image).array[0], np.atleast_3d(np.asarray(image))[:, :, 0] / 255)
    with pytest.raises(TypeError, match="an image is of uint8, from 0 to 255; found bool"):
        to_tensor(image.convert("1"))


@pytest.mark.parametrize(
    ("image", "dtype", "error", "message"),
    [
        (np.ones((2, 2)), None, TypeError, "an image is of uint8, from 0 to 255; found float64"),
        (np.ones(4, dtype=np.uint8), None, ValueError, r"has shape \(H, W, C\) or \(H, W\); found \(4,\)"),
        (np.ones((1, 2, 2, 3), dtype=np.uint8), None, ValueError, r"found \(1, 2, 2, 3\)"),
        (IMAGE, np.int64, TypeError, "dtype must be a floating one, found int64"),
    ],
)
def test_what_is_no_image(image: Any, dtype: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        to_tensor(image, dtype=dtype)


def test_items_of_array_types_are_stacked_by_their_rule() -> None:
    lengths: Any = default_collate([QuantityTensor(1.0, "m"), QuantityTensor(5.0, "cm")])
    assert repr(lengths) == "QuantityTensor([1.0000, 0.0500], 'm')"
    x = UncertainTensor([[1.0, 2.0], [3.0, 4.0]], [[0.1, 0.2], [0.3, 0.4]])
    found: Any = default_collate([x[0], x[1]])
    np.testing.assert_array_equal((found - x).std, 0.0)
    with pytest.raises(TypeError, match="a new axis needs a name"):
        default_collate([NamedTensor([1.0], "a"), NamedTensor([2.0], "a")])
    with pytest.raises(ValueError, match=r"got \(1,\) at entry 0 and \(2,\) at entry 1, at item\['x'\]"):
        default_collate([{"x": MaskedTensor([1.0])}, {"x": MaskedTensor([1.0, 2.0])}])
