"""Memory of tensors by itself: as bytes, as a file, in the place of that of a tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch

OF_ANY: Any = torch
STORAGE = OF_ANY.UntypedStorage


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of the numbers 0 to 5 in single precision."""
    path = tmp_path / "numbers"
    np.arange(6, dtype=np.float32).tofile(path)
    return path


def test_a_file_is_the_memory_of_a_tensor(file: Path) -> None:
    storage = STORAGE.from_file(str(file), nbytes=24)
    assert (storage.nbytes(), storage.filename) == (24, None)
    x = OF_ANY.empty(0, dtype=OF_ANY.float32).set_(storage)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert OF_ANY.empty(0, dtype=OF_ANY.float32).set_(storage, 4).tolist() == [4.0, 5.0]
    assert OF_ANY.empty(0, dtype=OF_ANY.float32).set_(storage, 1, (2, 2), (2, 1)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x.zero_()
    assert storage.tolist() == [0] * 24
    assert np.fromfile(file, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_changes_of_shared_memory_go_to_the_file(file: Path) -> None:
    storage = STORAGE.from_file(file, shared=True, nbytes=24)
    assert storage.filename == str(file)
    storage[:4] = 0
    OF_ANY.empty(0, dtype=OF_ANY.float32).set_(storage)[1] = 7.0
    assert np.fromfile(file, np.float32)[:3].tolist() == [0.0, 7.0, 2.0]
    longer = STORAGE.from_file(file.with_name("made"), True, 16).fill_(1)
    assert file.with_name("made").read_bytes() == bytes(longer.tolist()) == b"\1" * 16


def test_files_that_are_not_there_or_too_short_are_told(file: Path) -> None:
    with pytest.raises(RuntimeError, match="size <24> is smaller than the required mapping size <100>"):
        STORAGE.from_file(file, nbytes=100)
    with pytest.raises(RuntimeError, match=r"unable to open file <.*none> in read-only mode: No such file"):
        STORAGE.from_file(file.with_name("none"), nbytes=1)
    assert STORAGE.from_file(file).nbytes() == 0


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(TypeError, match="argument 'source' must be a Tensor or a storage, not list"):
        OF_ANY.ones(1).set_([1.0])
