"""Files that hold dtypes which NumPy lacks, of which a part is wanted, that stay on disk, or that are no paths."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.saving.test_round_trips import SUFFIXES, suffixes

STATE = {"layers": [dk.asarray([1.0, 2.0]), dk.asarray([3, 4])], "bias": dk.ones((2, 3), dtype="float32")}
FORMATS = pytest.mark.parametrize("format", [p.values[0][1:] if hasattr(p, "values") else p[1:] for p in SUFFIXES])


def safetensors_of(path: Path, dtype: str, content: bytes, shape: tuple[int, ...]) -> Path:
    pytest.importorskip("safetensors")
    head = json.dumps({"w": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(content)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + content)
    return path


def test_bfloat16_becomes_float32(tmp_path: Path) -> None:
    wanted = np.asarray([[1.0, -2.5], [np.inf, 1e-40]], "float32")
    halves = (wanted.view("u4") >> 16).astype("<u2")
    wanted = (halves.astype("u4") << 16).view("f4")
    found = dk.load(safetensors_of(tmp_path / "x.safetensors", "BF16", halves.tobytes(), (2, 2)))["w"]
    assert found.dtype == dk.float32
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["E5M2", "E4M3"])
def test_every_number_of_eight_bits_becomes_float32(dtype: str, tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    every = np.arange(256, dtype=np.uint8)
    loaded = dk.load(safetensors_of(tmp_path / "x.safetensors", f"F8_{dtype}", every.tobytes(), (256,)))["w"].numpy()
    wanted = every.view(ml_dtypes.float8_e5m2 if dtype == "E5M2" else ml_dtypes.float8_e4m3fn).astype("float32")
    np.testing.assert_array_equal(loaded, wanted)


def test_some_numbers_of_eight_bits(tmp_path: Path) -> None:
    stored = bytes([0, 0x38, 0x01, 0x7E, 0x7F, 0xB8])
    loaded = dk.load(safetensors_of(tmp_path / "x.safetensors", "F8_E4M3", stored, (6,)))["w"]
    np.testing.assert_array_equal(loaded.numpy(), [0.0, 1.0, 2.0**-9, 448.0, np.nan, -1.0])
    loaded = dk.load(safetensors_of(tmp_path / "x.safetensors", "F8_E5M2", bytes([0x3C, 0xC0, 0x7C]), (3,)))["w"]
    np.testing.assert_array_equal(loaded.numpy(), [1.0, -2.0, np.inf])


@suffixes
def test_some_entries_are_loaded_by_name_and_the_others_not_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    dk.save(STATE, path)
    found = dk.load(path, names=["layers.1", "bias"])
    assert sorted(found) == ["bias", "layers.1"]
    assert found["layers.1"].tolist() == [3, 4]
    with pytest.raises(KeyError, match=r"load: .*x.* has no entry 'weight'"):
        dk.load(path, names=["weight", "bias"])


def test_an_entry_that_is_not_wanted_may_be_damaged_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, good=np.ones(2), large=np.ones(10_000))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("bad.npy", b"no array")
    assert dk.load(path, names=["good"], limit=1000)["good"].tolist() == [1.0, 1.0]
    with pytest.raises(dk.LoadError, match="more than the limit"):
        dk.load(path, names=["large"], limit=1000)


@suffixes
def test_floating_arrays_are_converted(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    dk.save(STATE, path)
    found = dk.load(path, dtype="float16")
    assert [found["layers"][0].dtype, found["layers"][1].dtype, found["bias"].dtype] == [
        np.float16,
        np.int64,
        np.float16,
    ]
    with pytest.raises(ValueError, match="load: dtype must be floating-point, found int32"):
        dk.load(path, dtype="int32")


@suffixes
def test_arrays_stay_in_the_file_until_they_are_used(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    dk.save({"w": dk.asarray(np.arange(6.0).reshape(2, 3).T), "e": dk.zeros((0, 2))}, path)
    found = dk.load(path, mmap=True)
    base = found["w"].array
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert type(found["w"].array) is np.ndarray
    assert found["w"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    found["w"][0, 0] = 9.0
    assert dk.load(path)["w"][0, 0].item() == 0.0
    assert (found["w"] + 1)[0, 0].item() == 10.0


def test_compressed_arrays_are_read_at_once(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", w=np.ones(3))
    assert dk.load(tmp_path / "x.npz", mmap=True)["w"].tolist() == [1.0, 1.0, 1.0]


@FORMATS
def test_file_objects_are_written_and_read(format: Any) -> None:
    if format == "safetensors":
        pytest.importorskip("safetensors")
    file = io.BytesIO()
    dk.save(STATE, file, format=format)
    found = dk.load(file)
    assert found["layers"][1].tolist() == [3, 4]
    assert dk.load(file, names=["bias"], mmap=True)["bias"].dtype == dk.float32
    with pytest.raises(dk.LoadError, match=r"BytesIO holds .* more than the limit of 10 B"):
        dk.load(file, limit=10)
    with pytest.raises(dk.LoadError, match="BytesIO is truncated or no"):
        dk.load(io.BytesIO(file.getvalue()[:50]))


def test_the_format_of_a_file_object_is_npz_and_others_are_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    dk.save([1, 2], file)
    assert file.getvalue()[:2] == b"PK"
    with pytest.raises(ValueError, match="save: format must be 'npz' or 'safetensors', found 'pt'"):
        dk.save([1, 2], file, format="pt")  # type: ignore[arg-type]
    dk.save([1, 2], tmp_path / "state", format="npz")
    with (tmp_path / "state").open("rb+") as opened:
        assert dk.load(opened) == [1, 2]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", ">f4", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 3)])
def test_the_package_of_safetensors_reads_what_is_saved(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy")
    array = np.ones(shape, dtype)
    dk.save({"a": array, "odd": np.arange(3, dtype="int8")}, tmp_path / "x.safetensors")
    stored = package.load_file(tmp_path / "x.safetensors")
    if dtype == "complex128":  # which the format lacks
        array = np.ones((*shape, 2)) * [1.0, 0.0]
    assert stored["a"].dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(stored["a"], array)
    np.testing.assert_array_equal(stored["odd"], [0, 1, 2])


def test_arrays_are_written_one_by_one(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    arrays = {str(i): np.zeros(2**18) for i in range(4)}
    dk.save(arrays, tmp_path / "x.safetensors")
    tracemalloc.start()
    dk.save(arrays, tmp_path / "x.safetensors")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < arrays["0"].nbytes
