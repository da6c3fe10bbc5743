import contextlib
import io
import json
import pickle
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dispatchkit as dk

HUGE = 2**40


class Trap:
    """Tells when it is unpickled, or when its constructor is called."""

    sprung = False

    def __init__(self) -> None:
        Trap.sprung = True

    def __reduce__(self) -> Any:
        return Trap, ()


def header(shape: Any, descr: Any = "<f8", fortran: bool = False) -> bytes:
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    return begun(text)


def begun(text: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archive(path: Path, compression: int = zipfile.ZIP_STORED, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in entries.items():
            file.writestr("dispatchkit.json" if name == "structure" else f"{name}.npy", content)
    return path


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(dk.LoadError, match=message) as caught:
        dk.load(path, **options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header((HUGE, HUGE)) + bytes(8), "entry 'x.npy' .* take 9671406556917033397649408 bytes, but 8 are there"),
        (header((3,)) + bytes(16), "take 24 bytes, but 16 are there"),
        (header((1,)) + bytes(16), "take 8 bytes, but 16 are there"),
        (header((-1, -1)) + bytes(8), "not one of a plain array"),
        (header((True,)) + bytes(8), "not one of a plain array"),
        (header((0, 2**62, 2**62)), "cannot be read"),
        (header((1,) * 100) + bytes(8), "cannot be read"),
        (header("shape"), "shape is not valid"),
        (header((1,), "<f3") + bytes(3), "descr is not a valid dtype descriptor: '<f3'"),
        (header((2,), "<f8")[:-20], "EOF: reading array header"),
        (header((1,), "<U2") + bytes(8), "not one of a plain array, .*; objects are never loaded"),
        (header((1,), [("a", "<f8")]) + bytes(8), "not one of a plain array"),
        (header((1,), "|O") + pickle.dumps(Trap), "not one of a plain array, .*; objects are never loaded"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "cannot be read"),
        (b"\x93NUMPY\x03\x00" + header((1,))[8:] + bytes(8), "does not begin as an array does"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "cannot be read"),
        *((begun(sign * 1900), "cannot be read") for sign in (b"(", b"-", b"[", b"\xff", b"'", b"{0:", b"1+")),
        (begun(b"-" * 1900 + b"1"), "cannot be read"),
        (begun(b" " * 3000), "Header info length .* is large"),
        (b"PK", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_entries_that_are_not_as_they_say(tmp_path: Path, content: bytes, message: str) -> None:
    refused(archive(tmp_path / "x.npz", x=content), message)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    trap = np.empty(1, object)
    trap[0] = Trap.__new__(Trap)
    np.savez(tmp_path / "x.npz", trap=trap)
    refused(tmp_path / "x.npz", "entry 'trap.npy' .* not one of a plain array, .*; objects are never loaded")
    assert not Trap.sprung


def test_what_unpacks_to_more_than_is_allowed(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.npz", zipfile.ZIP_DEFLATED, x=header((2**20,)) + bytes(2**23))
    assert bomb.stat().st_size < 2**15
    refused(bomb, r"holds 8\.4 MB, more than the limit of 1\.0 MB; see load\(limit=\.\.\.\)", limit=10**6)
    assert dk.load(bomb)["x"].shape == (2**20,)


def test_a_structure_that_takes_much_more_memory_than_its_text(tmp_path: Path) -> None:
    structure = '{"list":[' + '{"list":[]},' * 2_000_000 + "0]}"
    bomb, plain = tmp_path / "bomb.npz", tmp_path / "plain.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("dispatchkit.json", structure)
    tracemalloc.start()
    try:
        refused(bomb, r"a structure that may take 1\.3 GB of memory, more than the limit of 1\.1 GB; see load\(limit")
        assert tracemalloc.get_traced_memory()[1] < 100 * 10**6
    finally:
        tracemalloc.stop()
    numbers = [0.5 + i for i in range(20_000)]
    dk.save(numbers, plain)
    refused(plain, r"may take 2\.. MB of memory, more than the limit of 1\.0 MB", limit=10**6)
    assert dk.load(plain) == numbers


def test_any_bit_of_the_directory_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    dk.save({"a": dk.ones(2)}, path)
    content = path.read_bytes()
    for bit in range(8 * content.rindex(b"PK\x01\x02"), 8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with contextlib.suppress(dk.errors.LoadError):
            dk.load(path)


def patched(path: Path, old: bytes, new: bytes, *, last: bool = False) -> Path:
    content = path.read_bytes()
    at = content.rindex(old) if last else content.index(old)
    path.write_bytes(content[:at] + new + content[at + len(old) :])
    return path


def test_sizes_of_an_archive(tmp_path: Path) -> None:
    content = npy(np.arange(4.0))
    size = struct.pack("<L", len(content))
    refused(patched(archive(tmp_path / "a.npz", x=content), size * 2, size + struct.pack("<L", 2**31 - 1), last=True),
            "more than the limit")  # fmt: skip
    refused(patched(archive(tmp_path / "b.npz", x=content), size * 2, size + struct.pack("<L", 200), last=True),
            "entry 'x.npy' .* has two sizes that differ")  # fmt: skip
    refused(patched(archive(tmp_path / "c.npz", x=content), np.float64(3).tobytes(), bytes(8)), "Bad CRC-32")


def test_names_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../../evil.npy", npy(np.ones(2)))
        file.writestr("/etc/evil.npy", npy(np.ones(2)))
    assert list(dk.load(path)) == ["../../evil", "/etc/evil"]
    assert [found.name for found in tmp_path.iterdir()] == ["x.npz"]
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", npy(np.ones(2)))
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("x.npy", npy(np.ones(2)))
    refused(path, "entry 'x.npy' .* is there twice")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.pkl", pickle.dumps(Trap))
    refused(path, "entry 'x.pkl' .* is no array: its name does not end in .npy")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("x.npy", npy(np.ones(2)))
    refused(path, "entry 'x.npy' .* compressed in a way that is not NumPy's")


@pytest.fixture(params=[".npz", ".safetensors"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    path = tmp_path / f"state{request.param}"
    dk.save({"weight": dk.asarray(np.arange(6.0)), "inner": [dk.ones((2, 2)), 1j, np.ones(1, "c16")]}, path)
    return path


def test_truncated_at_any_place(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(0, len(content), 7):
        saved.write_bytes(content[:length])
        refused(saved, "is truncated or no .* file")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_damage_gives_an_answer_or_a_clear_error(saved: Path, data: st.DataObject) -> None:
    whole = saved.read_bytes()
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    saved.write_bytes(content)
    with contextlib.suppress(dk.LoadError):
        dk.load(saved)
    saved.write_bytes(whole)


def tensors(path: Path, head: Any, content: bytes = b"", length: int | None = None) -> Path:
    text = json.dumps(head).encode() if not isinstance(head, bytes) else head
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + content)
    return path


def entry(shape: Any, start: int, stop: int, dtype: str = "F64") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


@pytest.mark.parametrize(
    ("head", "content", "length"),
    [
        ({"x": entry([1], 0, 8)}, bytes(8), 2**63),
        ({"x": entry([1], 0, 8)}, bytes(8), 5),
        ({"x": entry([1], 0, 8)}, bytes(4), None),
        ({"x": entry([1], 0, 8)}, bytes(12), None),
        ({"x": entry([HUGE, HUGE], 0, 8)}, bytes(8), None),
        ({"x": entry([-1], 0, 8)}, bytes(8), None),
        ({"x": entry([2], 0, 16), "y": entry([2], 8, 24)}, bytes(24), None),
        ({"x": entry([1], 8, 16)}, bytes(16), None),
        ({"x": entry([1], 8, 0)}, bytes(8), None),
        ({"x": entry([1], 0, 8, "Q64")}, bytes(8), None),
        (b"[" * 100_000, b"", None),
        (b"{", b"", None),
    ],
    ids=[
        "long",
        "short",
        "truncated",
        "more",
        "huge",
        "negative",
        "overlap",
        "hole",
        "reversed",
        "dtype",
        "nested",
        "cut",
    ],
)
def test_headers_of_safetensors(tmp_path: Path, head: Any, content: bytes, length: int | None) -> None:
    pytest.importorskip("safetensors")
    refused(tensors(tmp_path / "x.safetensors", head, content, length), "is truncated or no safetensors file: ")


def test_safetensors_that_numpy_lacks(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    path = tensors(tmp_path / "x.safetensors", {"x": entry([8], 0, 8, "F8_E8M0")}, bytes(8))
    refused(path, "entry 'x' of .* has dtype F8_E8M0, which NumPy lacks")
    path = tensors(tmp_path / "x.safetensors", {"x": entry([1], 0, 8)}, bytes(8))
    refused(path, r"more than the limit of 50 B; see load\(limit=\.\.\.\)", limit=50)
    meta = {"__metadata__": {"dispatchkit.complex128": '["x"]'}, "x": entry([1], 0, 8)}
    refused(tensors(path, meta, bytes(8)), "entry 'x' .* is said to hold complex numbers, but is missing or no array")
    meta["__metadata__"] = {"dispatchkit.complex128": "3"}
    refused(tensors(path, meta, bytes(8)), "its metadata 'dispatchkit.complex128' is no list of names")


def deep(depth: int) -> str:
    return '{"list":[' * depth + "]}" * depth


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ('{"tensor": "y"}', "entry 'y' .* is missing, or named twice"),
        ('{"list": [{"tensor": "x"}, {"tensor": "x"}]}', "entry 'x' .* is missing, or named twice"),
        ('{"list": []}', "entry 'x' .* does not belong to the structure"),
        ('{"tensor": "x", "type": "os:system"}', r"holds an instance of os\.system, which is no array type"),
        (
            '{"tensor": "x", "type": "antigravity:Tensor"}',
            r"holds an instance of antigravity\.Tensor, ",
        ),
        ('{"tensor": "x", "type": "builtins:dict"}', r"holds an instance of builtins\.dict"),
        ('{"tensor": "x", "type": 3}', "holds an instance of 3"),
        ('{"tensor": "x", "type": "dispatchkit.types:ScalarTensor"}', "is no subclass of Tensor"),
        ('{"instance": "dispatchkit.tensor.tensor:Tensor"}', "says that Tensor is an array type, which it is not"),
        ('{"instance": "dispatchkit.types:ScalarTensor", "attributes": {"n": 3}}', "lacks the field 'value'"),
        (
            '{"instance": "dispatchkit.types:ScalarTensor", "attributes": {"__class__": 3}}',
            "its ScalarTensor has an attribute '__class__', which is not allowed",
        ),
        ('{"tensor": "x", "attributes": {"array": 3}}', "has the attribute 'array', which belongs to Tensor"),
        ('{"tensor": "x", "attributes": 3}', "its structure cannot be read"),
        ('{"dict": [[[], 1]]}', "its structure cannot be read"),
        ('{"dict": [[1, 1], [1, 2]]}', "a dictionary with a key twice"),
        ('{"dict": 3}', "its structure cannot be read"),
        ('{"pickle": "x"}', "its structure holds .*, which stands for nothing"),
        ("[1]", r"its structure holds \[1\], which stands for nothing"),
        ('{"float": []}', "its structure cannot be read"),
        ('{"dtype": "O"}', "its structure names the dtype 'O'"),
        (deep(150), "its containers are nested more than 100 deep"),
        (deep(100_000), "its structure is not JSON that can be read"),
        ("{", "its structure is not JSON that can be read"),
        ("\xff", "its structure is not JSON that can be read"),
    ],
)
def test_structures(tmp_path: Path, structure: str, message: str) -> None:
    path = archive(tmp_path / "x.npz", x=npy(np.ones(2)), structure=structure.encode("latin-1"))
    refused(path, message)


def test_integers_that_would_require_a_gradient(tmp_path: Path) -> None:
    structure = b'{"tensor": "x", "requires_grad": true}'
    refused(
        archive(tmp_path / "x.npz", x=npy(np.arange(2)), structure=structure),
        "entry 'x' .* only floating-point and complex tensors can require gradients",
    )


@pytest.mark.parametrize("find", [getattr, lambda module, name: module.__dict__.get(name)], ids=["getattr", "dict"])
def test_no_code_of_a_lazy_module_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, find: Callable[[Any, str], Any]
) -> None:
    import sys
    import types

    module = types.ModuleType("lazy")
    asked: list[str] = []
    module.__getattr__ = asked.append  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy", module)
    structure = b'{"tensor": "x", "type": "lazy:Missing"}'
    refused(archive(tmp_path / "x.npz", x=npy(np.ones(2)), structure=structure), re.escape("lazy.Missing"))
    assert not asked
    find(module, "Missing")
    assert asked == (["Missing"] if find is getattr else [])


def test_the_constructor_is_not_called(tmp_path: Path) -> None:
    @dk.array_type(fields=("value",))
    class Trapped(Trap):
        value: Any

    made = Trapped.__new__(Trapped)
    made.value = dk.ones(2)
    Trap.sprung = False
    dk.save(made, tmp_path / "x.npz")
    found = dk.load(tmp_path / "x.npz", types=[Trapped])
    assert found.value.tolist() == [1.0, 1.0]
    assert not Trap.sprung


UNIT, PATTERN, SOURCES = (
    *("dispatchkit.types:Unit", "dispatchkit.types:SparsePattern"),
    "dispatchkit.types.uncertain:Sources",
)


def pattern(first: Any, second: Any, shape: Any, format: str) -> Any:
    return {"list": [*({"list": list(part)} for part in (first, second, shape)), format]}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"object": UNIT, "saved": {"list": [{"list": ["m", 10**9, 1]}]}}, "its Unit cannot be made: UnitError"),
        ({"object": UNIT, "saved": {"list": [{"list": ["m", 1, 0]}]}}, "is no power of a named unit"),
        ({"object": UNIT, "saved": {"list": [{"list": ["m" * 10**5, 1, 1]}]}}, "is no power of a named unit"),
        ({"object": UNIT, "saved": {"list": [{"list": ["m**9**9**9", 1, 1]}]}}, "is no power of a named unit"),
        ({"object": UNIT, "saved": {"list": [{"list": ["__import__('os')", 1, 1]}]}}, "is no power of a named unit"),
        ({"object": UNIT, "saved": {"list": [{"list": ["m", 0.5, 1]}]}}, "its Unit cannot be made: TypeError"),
        ({"object": UNIT, "saved": 3}, "its Unit cannot be made: TypeError"),
        ({"object": UNIT}, "its structure cannot be read: KeyError"),
        ({"object": SOURCES, "saved": "ids"}, "its Sources cannot be made: TypeError"),
        (
            {"object": PATTERN, "saved": {"list": [{"list": [5]}, {"list": [0]}, {"list": [1, 1]}, "coo"]}},
            "out of range",
        ),
        (
            {"object": PATTERN, "saved": {"list": [0, 0, {"list": [2**62, 2**62]}, "csr"]}},
            "must be vectors of integers",
        ),
        ({"object": "dispatchkit.types:LazyTensor", "saved": None}, "its LazyTensor cannot be made"),
        ({"object": "dispatchkit.types:ScalarTensor", "saved": 1}, "says that ScalarTensor defines __loaded__"),
        ({"object": "pathlib:Path", "saved": "/"}, "no array type that is known here"),
        ({"object": f"{__name__}:Trap", "saved": None}, "no array type that is known here"),
        ({"instance": UNIT, "attributes": {}}, "says that Unit is an array type, which it is not"),
        ({"tensor": "x", "type": UNIT}, "Unit is no subclass of Tensor"),
    ],
)
def test_fields_that_say_how_they_are_made_refuse_what_does_not_fit(tmp_path: Path, node: Any, message: str) -> None:
    # Its module must be imported: in imported modules alone a class is looked for.
    assert isinstance(dk.types.UncertainTensor, type)
    structure = json.dumps({"list": [node]}).encode()
    refused(archive(tmp_path / "x.npz", structure=structure, x=npy(np.ones(1))), re.escape(message))
    assert not Trap.sprung
