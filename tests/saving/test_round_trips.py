import copy
import dataclasses
import importlib.util
import pickle
import re
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.tree import attributes_held
from tests.report.shipped import samples

needs_safetensors = pytest.mark.skipif(
    importlib.util.find_spec("safetensors") is None, reason="safetensors is not installed"
)
SUFFIXES = [".npz", pytest.param(".safetensors", marks=needs_safetensors)]
suffixes = pytest.mark.parametrize("suffix", SUFFIXES)
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


class Named(dk.Tensor):
    def __init__(self, data: Any, name: str, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.name = name


class Slotted(dk.Tensor):
    __slots__ = ("unit",)
    unit: str


@dk.array_type(fallback=dk.fallback.dense)
@dataclasses.dataclass(frozen=True, slots=True)
class LowRank:
    left: Any
    right: Any
    note: str = ""

    def to_dense(self) -> Any:
        return self.left @ self.right


def through(value: Any, folder: Path, suffix: str, **options: Any) -> Any:
    path = folder / f"file{suffix}"
    dk.save(value, path)
    return dk.load(path, **options)


@suffixes
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3), (1, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_shapes(tmp_path: Path, suffix: str, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    array = (100 * rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype("c16")
    array = np.asarray((array if dtype[0] == "c" else np.abs(array.real)).astype(dtype))
    found = through(dk.asarray(array), tmp_path, suffix)
    assert type(found) is dk.Tensor
    assert found.dtype == array.dtype
    assert found.shape == shape
    np.testing.assert_array_equal(found.numpy(), array)
    assert found.array.flags.writeable


@suffixes
@pytest.mark.parametrize(
    "view",
    [np.transpose, np.asfortranarray, lambda x: x[::-2, 1:], lambda x: np.broadcast_to(x[:1], x.shape)],
    ids=["transposed", "fortran", "strided", "broadcast"],
)
@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">c16"])
def test_memory_layouts(tmp_path: Path, suffix: str, dtype: str, view: Any) -> None:
    array = view(np.arange(12, dtype=dtype).reshape(4, 3))
    found = through(array, tmp_path, suffix)
    assert type(found) is np.ndarray
    assert found.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, array)


@suffixes
def test_containers(tmp_path: Path, suffix: str) -> None:
    value = {
        "state": {0: {"step": dk.asarray(3.0), "betas": (0.9, 0.999)}, None: [], True: ()},
        "list": [None, True, -(2**70), 0.1, float("inf"), 1 - 2j, "text \ud800 \0 é", np.float32(0.1), np.dtype("f2")],
        "a.b": np.arange(2),
        "a": {"b": np.arange(3)},
        "": dk.ones(1),
        "../x/\0\\": dk.ones(2),
        "__metadata__": dk.ones(3),
        "long" * 1000: dk.ones(4),
    }
    found = through(value, tmp_path, suffix)
    assert repr(found) == repr(value)
    assert type(found["list"][7]) is np.float32


@suffixes
def test_nan_stays(tmp_path: Path, suffix: str) -> None:
    found = through([float("nan"), complex("nan-infj"), dk.asarray([np.nan])], tmp_path, suffix)
    assert repr(found) == "[nan, (nan-infj), tensor([nan])]"


@suffixes
def test_graph_is_left_behind(tmp_path: Path, suffix: str) -> None:
    leaf = dk.ones(2, requires_grad=True)
    first, second, third = through([leaf, 2 * leaf, leaf.detach()], tmp_path, suffix)
    assert [x.requires_grad for x in (first, second, third)] == [True, True, False]
    assert first.is_leaf
    assert second.is_leaf
    (first * 3).sum().backward()
    np.testing.assert_array_equal(first.grad.numpy(), [3, 3])


@suffixes
def test_subclasses_of_tensor(tmp_path: Path, suffix: str) -> None:
    slotted = dk.ones(2).as_subclass(Slotted)
    slotted.unit = "m"
    named, found, parameter, plain, mixed = through(
        [
            Named([1.0], "x", requires_grad=True),
            slotted,
            dk.nn.Parameter(Named([2.0], "y")),
            dk.nn.Parameter(dk.ones(1), requires_grad=False),
            dk.nn.Parameter(dk.types.ScalarTensor(3, 2.0)),
        ],
        tmp_path,
        suffix,
    )
    assert type(named) is Named
    assert (named.name, named.requires_grad, named.tolist()) == ("x", True, [1.0])
    assert type(found) is Slotted
    assert found.unit == "m"
    assert isinstance(parameter, dk.nn.Parameter)
    assert isinstance(parameter, Named)
    assert type(parameter) is type(dk.nn.Parameter(Named([2.0], "y")))
    assert (parameter.name, parameter.requires_grad) == ("y", True)
    assert type(plain) is dk.nn.Parameter
    assert not plain.requires_grad
    assert isinstance(mixed, dk.nn.Parameter)
    assert repr(mixed) == repr(dk.nn.Parameter(dk.types.ScalarTensor(3, 2.0)))


@suffixes
def test_declared_types(tmp_path: Path, suffix: str) -> None:
    low = LowRank(dk.ones((3, 1)), np.ones((1, 2)), note="n")
    tagged = dk.types.MetadataTensor([1.0], {"unit": "m", "inner": [low]})
    found_low, found_tagged = through((low, tagged), tmp_path, suffix)
    assert type(found_low) is LowRank
    assert repr(found_low) == repr(low)
    assert repr(found_tagged) == repr(tagged)
    np.testing.assert_array_equal(found_low.to_dense().numpy(), np.ones((3, 2)))


def test_types_that_no_module_holds_must_be_given(tmp_path: Path) -> None:
    @dk.array_type()
    class Local:
        def __init__(self, value: Any) -> None:
            self.value = value

    path = tmp_path / "local.npz"
    dk.save({"x": Local(dk.ones(2))}, path)
    with pytest.raises(
        dk.LoadError, match=r"local\.npz holds an instance of .*Local, .* load\(\.\.\., types=\[Local\]\)"
    ):
        dk.load(path)
    assert type(dk.load(path, types=[Local])["x"]) is Local


@suffixes
def test_state_of_a_module_and_its_optimiser(tmp_path: Path, suffix: str) -> None:
    def built() -> tuple[Any, Any]:
        module = dk.nn.Module()
        module.weight = dk.nn.Parameter(dk.types.ScalarTensor(3, 2.0))
        module.bias = dk.nn.Parameter(dk.zeros(3))
        return module, dk.optim.Adam(module.parameters(), lr=0.1)

    module, optimizer = built()
    dk.sum(module.weight @ dk.ones(3) + module.bias).backward()
    optimizer.step()
    state = {"module": module.state_dict(), "optimizer": optimizer.state_dict()}
    found = through(state, tmp_path, suffix)
    assert repr(found) == repr(state)
    assert type(found["module"]) is OrderedDict
    schedule = dk.optim.lr_scheduler.MultiStepLR(optimizer, [2, 5, 5])
    milestones = through(schedule.state_dict(), tmp_path, suffix)["milestones"]
    assert type(milestones) is Counter
    assert milestones == {2: 1, 5: 2}
    assert vars(found["module"])["_metadata"] == vars(state["module"])["_metadata"]
    other, other_optimizer = built()
    other.load_state_dict(found["module"])
    other_optimizer.load_state_dict(found["optimizer"])
    for each, its in ((module, optimizer), (other, other_optimizer)):
        its.zero_grad()
        dk.sum(each.weight @ dk.ones(3) * each.bias).backward()
        its.step()
    assert repr(module.state_dict()) == repr(other.state_dict())


def test_files_of_numpy(tmp_path: Path) -> None:
    arrays: Any = {"a": np.arange(6).reshape(2, 3), "b/c": np.asfortranarray(np.ones((2, 3), "c8"))}
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "numpy.npz", **arrays)
        found = dk.load(tmp_path / "numpy.npz")
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            assert type(found[name]) is dk.Tensor
            np.testing.assert_array_equal(found[name].numpy(), array)


def test_numpy_reads_the_entries(tmp_path: Path) -> None:
    dk.save({"layer": {"weight": dk.ones(2)}, "bias": dk.zeros(1)}, tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as found:
        assert {name for name in found if name != "dispatchkit.json"} == {"layer.weight", "bias"}
        np.testing.assert_array_equal(found["layer.weight"], [1, 1])


def test_safetensors_both_ways(tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy")
    package.save_file({"w": np.ones((2, 3), "f2")}, tmp_path / "theirs.safetensors")
    found = dk.load(tmp_path / "theirs.safetensors")
    assert list(found) == ["w"]
    assert found["w"].dtype == np.float16
    dk.save({"layer": {"weight": dk.ones(2)}}, tmp_path / "ours.safetensors")
    np.testing.assert_array_equal(package.load_file(tmp_path / "ours.safetensors")["layer.weight"], [1, 1])


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth(tmp_path: Path) -> None:
    assert through(nested(100), tmp_path, ".npz") == nested(100)
    with pytest.raises(ValueError, match=r"save: containers are nested more than 100 deep at value"):
        dk.save(nested(101), tmp_path / "deep.npz")
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        dk.save(circle, tmp_path / "circle.npz")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {2}]}, "save: value['a'][1] is a set; what can be saved is tensors, NumPy arrays"),
        ({(1, 2): 3}, "save: value has the key (1, 2); keys must be text, integers or None"),
        ({"x": np.array([None])}, "save: value['x'] has dtype object; what can be saved is booleans, integers"),
        ([dk.types.MetadataTensor([1.0], merge=max)], "save: value[0]['merge'] is a builtin_function_or_method"),
        (LowRank, "save: value is a type"),
    ],
    ids=["set", "key", "objects", "function", "class"],
)
def test_what_cannot_be_saved(tmp_path: Path, value: Any, message: str) -> None:
    path = tmp_path / "file.npz"
    path.write_text("old")
    with pytest.raises(TypeError, match=re.escape(message)):
        dk.save(value, path)
    assert path.read_text() == "old"


def test_tensors_of_a_transformation(tmp_path: Path) -> None:
    def saving(x: Any) -> Any:
        dk.save({"x": x}, tmp_path / "file.npz")
        return x

    with pytest.raises(dk.errors.TransformError, match=r"save: value\['x'\] is a tensor inside vmap"):
        dk.func.vmap(saving)(dk.ones(2))
    assert not list(tmp_path.iterdir())


def shipped() -> dict[str, Any]:
    """Return instances of every shipped type, some around each other, with metadata that is not the default."""
    t, matrix = dk.types, dk.asarray([[2.0, 0.5], [0.25, 1.0]], dtype=dk.float32)
    uncertain = t.UncertainTensor([1.0, 2.0], [0.1, 0.2])
    found: dict[str, Any] = {
        **{f"{type(x).__name__} {index}": x for index, x in enumerate(samples())},
        "recorded": t.LazyTensor(matrix) * 2 + 1,
        "csr": t.SparseTensor.csr(np.asarray([1, 2], "f4"), [1, 0], [0, 1, 2], shape=(2, 2)),
        "transposed": t.SparseTensor.coo([2.0, 3.0], [0, 1], [1, 2], shape=(2, 3)).T,
        "masked": t.MaskedTensor(matrix, np.asarray([[True, False], [True, True]])),
        "named": t.NamedTensor(matrix, ("row", "column")),
        "uncertain": uncertain,
        "correlated": uncertain * uncertain + uncertain[0],
        **{f"in {unit!r}": t.QuantityTensor(matrix, unit) for unit in ("", "km/h", "degC", "m**(1/2)*kg/s**2", "deg")},
        "whole": t.QuantityTensor(np.asarray([1, 2], "i2"), "m"),
        "nested": t.NamedTensor(t.QuantityTensor(t.MaskedTensor(matrix, matrix > 0.4), "m"), ("a", "b")),
        "uncertain quantity": t.QuantityTensor(uncertain, "s"),
        "metadata": t.MetadataTensor(matrix, {"unit": t.Unit("m"), "of": t.DiagonalTensor([1.0])}),
        "unit": t.Unit("kg*m/s**2"),
        "pattern": t.SparsePattern([0, 1], [1, 0], (2, 2)),
    }
    return found


SHIPPED = shipped()


def assert_same(found: Any, expected: Any) -> None:
    """Assert that two values are equal in type, dtype, and all that they hold."""
    assert type(found) is type(expected)
    if isinstance(expected, (dk.Tensor, np.ndarray)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    elif isinstance(expected, dk.types.LazyTensor):
        assert_same(found.data, expected.data)
    elif isinstance(expected, (list, tuple, dict)):
        assert len(found) == len(expected)
        pairs = expected.items() if isinstance(expected, dict) else enumerate(expected)
        for key, part in pairs:
            assert_same(found[key], part)
    elif isinstance(expected, dk.types.Unit):
        assert found is expected
    elif attributes := attributes_held(expected):
        assert_same(attributes_held(found), attributes)
    else:
        assert found == expected


def test_the_samples_are_of_all_shipped_types() -> None:
    missing = set(dk.types.__all__) - {type(value).__name__ for value in SHIPPED.values()}
    assert missing == {"StructuredTensor"}  # the base of others


@suffixes
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_type_is_loaded_as_it_was_saved(tmp_path: Path, suffix: str, name: str) -> None:
    assert_same(through({"value": [SHIPPED[name]]}, tmp_path, suffix)["value"][0], SHIPPED[name])


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_type_is_pickled_and_copied(name: str) -> None:
    assert_same(pickle.loads(pickle.dumps(SHIPPED[name])), SHIPPED[name])
    assert_same(copy.deepcopy(SHIPPED[name]), SHIPPED[name])


def test_numbers_are_correlated_with_themselves_in_a_file(tmp_path: Path) -> None:
    x = dk.types.UncertainTensor([1.0, 2.0], 0.1)
    found = through((x, x * 2), tmp_path, ".npz")
    assert (found[1] - 2 * x).std.tolist() == [0.0, 0.0]


class Calendar:
    """What an array type of one's own keeps in a field, and says how to save."""

    def __init__(self, days: int) -> None:
        if not 360 <= days <= 366:
            raise ValueError(f"a year has no {days} days")
        self.days = days

    def __saved__(self) -> Any:
        return {"days": self.days}

    @classmethod
    def __loaded__(cls, saved: Any) -> Any:
        return cls(saved["days"])


@dk.array_type(fallback=dk.fallback.rewrap)
class Dated:
    def __init__(self, data: Any, calendar: Any) -> None:
        self.data, self.calendar = data, calendar

    shape, dtype = (2,), np.dtype("f8")


@suffixes
def test_a_field_that_says_what_is_saved_of_it_is_loaded(tmp_path: Path, suffix: str) -> None:
    found = through(Dated(dk.ones(2), Calendar(365)), tmp_path, suffix)
    assert (type(found), type(found.calendar), found.calendar.days) == (Dated, Calendar, 365)


def test_a_local_class_that_says_what_is_saved_of_it_is_given_to_load(tmp_path: Path) -> None:
    class Local(Calendar):
        pass

    dk.save(Local(365), tmp_path / "x.npz")
    with pytest.raises(dk.errors.LoadError, match=r"load\(\.\.\., types=\[Local\]\)"):
        dk.load(tmp_path / "x.npz")
    assert type(dk.load(tmp_path / "x.npz", types=[Local])) is Local
