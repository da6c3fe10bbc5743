import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from tests.waiting import PATIENCE


class Stop(BaseException):
    """What interrupts a program, such as Ctrl-C."""


@pytest.mark.parametrize("error", [Stop(), OSError(errno.ENOSPC, "no space left")], ids=["interrupt", "full disk"])
def test_an_interrupted_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "state.npz"
    dk.save({"a": dk.ones(3), "b": dk.ones(3)}, path)
    before = path.read_bytes()
    original, calls = np.lib.format.write_array, []

    def failing(file: Any, array: Any, **options: Any) -> None:
        calls.append(array)
        if len(calls) == 2:
            raise error
        original(file, array, **options)

    monkeypatch.setattr(np.lib.format, "write_array", failing)
    with pytest.raises(type(error)):
        dk.save({"a": dk.zeros(3), "b": dk.zeros(3)}, path)
    assert len(calls) == 2
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_after_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "state.npz"
    path.write_text("old")

    def failing(*args: Any) -> None:
        assert path.read_text() == "old"
        raise Stop

    monkeypatch.setattr(*((os, "fsync", failing) if step == "fsync" else (Path, "replace", failing)))
    with pytest.raises(Stop):
        dk.save(dk.ones(2), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_dtype_that_the_format_lacks_leaves_the_old_file(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is double here")
    path = tmp_path / "state.safetensors"
    path.write_text("old")
    with pytest.raises(TypeError, match=r"save: entry 'x' has dtype .*, which the safetensors format lacks"):
        dk.save({"x": np.ones(2, np.longdouble)}, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_permissions_and_links(tmp_path: Path, suffix: str) -> None:
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    (tmp_path / "plain").touch()
    path, link = tmp_path / f"state{suffix}", tmp_path / f"link{suffix}"
    dk.save(dk.ones(2), path)
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    link.symlink_to(path)
    dk.save(dk.zeros(2), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(dk.load(path).numpy(), [0, 0])


KILLED = """
import os, signal, sys
import numpy as np
import dispatchkit as dk

def killing(file, array, **options):
    file.write(b"a part")
    os.kill(os.getpid(), signal.SIGKILL)

np.lib.format.write_array = killing
dk.save(dk.ones(3), sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="processes are POSIX's")
def test_a_save_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    dk.save(dk.zeros(2), path)
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=PATIENCE)
    [left] = {*tmp_path.iterdir()} - {path}
    assert left.name.startswith(".dispatchkit-")
    assert dk.load(path).tolist() == [0.0, 0.0]


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX's")
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_that_becomes_too_large_is_an_error_of_the_system(tmp_path: Path, suffix: str) -> None:
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    path = tmp_path / f"state{suffix}"
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            dk.save(dk.ones(10_000), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


def test_places_and_suffixes(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "state.npz"
    with pytest.raises(FileNotFoundError) as caught:
        dk.save(dk.ones(2), nowhere)
    assert caught.value.filename == str(nowhere)
    dk.save(dk.ones(2), tmp_path / "STATE.NPZ")
    assert dk.load(tmp_path / "STATE.NPZ").tolist() == [1.0, 1.0]
    with pytest.raises(FileNotFoundError):
        dk.load(tmp_path / "state.npz")
    for call in (lambda: dk.save(dk.ones(2), "state.pt"), lambda: dk.load("state.pt")):
        with pytest.raises(
            ValueError, match=r'suffix of state\.pt names no format; end it with \.npz or .*, or write format="npz"$'
        ):
            call()


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.safetensors"
    path.write_text("old")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"save: .* pip install dispatchkit\[safetensors\]"):
        dk.save(dk.ones(2), path)
    with pytest.raises(ImportError, match=r"load: .* pip install dispatchkit\[safetensors\]"):
        dk.load(path)
    assert path.read_text() == "old"
