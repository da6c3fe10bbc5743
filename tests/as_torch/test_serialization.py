"""`torch.save` and `torch.load`: files under any name, PyTorch's own of plain tensors, and pickles that are refused."""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled
from dispatchkit.errors import LoadError


class Global:
    """A name in a pickle, and what it is called with."""

    def __init__(self, name: str, *args: Any) -> None:
        self.name, self.args = name, args


class Storage:
    """What a tensor of PyTorch says of its storage."""

    def __init__(self, kind: str, key: str, count: int) -> None:
        self.identity = ("storage", kind, key, "cpu", count)


def written(value: Any) -> bytes:
    """Return the pickle, of protocol 2, of a value: names stand in it as text, and need not be there."""
    if isinstance(value, Global):
        module, _, name = value.name.rpartition(".")
        return f"c{module}\n{name}\n".encode() + written(value.args) + b"R"
    if isinstance(value, Storage):
        _, kind, key, place, count = value.identity
        parts = [written("storage"), f"ctorch\n{kind}\n".encode(), written(key), written(place), written(count)]
        return b"(" + b"".join(parts) + b"tQ"
    if isinstance(value, OrderedDict):
        return b"ccollections\nOrderedDict\n)R(" + b"".join(map(written, sum(value.items(), ()))) + b"u"
    if isinstance(value, dict):
        return b"}(" + b"".join(map(written, sum(value.items(), ()))) + b"u"
    if isinstance(value, (list, tuple)):
        return b"(" + b"".join(map(written, value)) + (b"t" if isinstance(value, tuple) else b"l")
    return pickle.dumps(value, 2)[2:-1]


def tensor(kind: str, key: str, count: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Global:
    place = Storage(kind, key, count)
    return Global("torch._utils._rebuild_tensor_v2", place, offset, size, stride, False, OrderedDict())


def archive(value: Any, **storages: Any) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as entries:
        body = value if isinstance(value, bytes) else b"\x80\x02" + written(value) + b"."
        entries.writestr("model/data.pkl", body)
        entries.writestr("model/byteorder", sys.byteorder)
        for key, array in storages.items():
            entries.writestr(f"model/data/{key.removeprefix('s')}", array.tobytes())
    file.seek(0)
    return file


def test_tensors_of_a_file_of_pytorch_are_read() -> None:
    weight = np.arange(6, dtype=np.float32)
    state = OrderedDict(
        weight=Global(
            "torch._utils._rebuild_parameter", tensor("FloatStorage", "0", 6, 0, (2, 3), (3, 1)), True, OrderedDict()
        ),
        turned=tensor("FloatStorage", "0", 6, 1, (2, 2), (1, 3)),
        count=tensor("LongStorage", "1", 1, 0, (), ()),
    )
    rest = [None, True, 1.5, "text", (3, -4), Global("torch.Size", [2, 3]), Global("torch.device", "cpu")]
    held = spelled.load(archive({"state": state, "rest": rest}, s0=weight, s1=np.array([7])))
    assert held["rest"] == [None, True, 1.5, "text", (3, -4), (2, 3), "cpu"]
    assert held["state"]["weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert held["state"]["weight"].requires_grad
    assert held["state"]["turned"].tolist() == [[1.0, 4.0], [2.0, 5.0]]
    assert held["state"]["count"].item() == 7
    assert type(held["state"]["turned"]) is spelled.Tensor


def test_bfloat16_is_read_as_float32() -> None:
    halves = (np.array([1.5, -2.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    x = spelled.load(archive(tensor("BFloat16Storage", "0", 2, 0, (2,), (1,)), s0=halves))
    assert x.tolist() == [1.5, -2.0]


RAN: list[Any] = []


class Hostile:
    def __reduce__(self) -> Any:
        return os.system, ("exit 1",)


class OfState:
    def __setstate__(self, state: Any) -> None:
        RAN.append(state)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (pickle.dumps(Hostile(), 2), "posix.system"),
        (pickle.dumps(Hostile(), 4), "posix.system"),
        (b"\x80\x02" + written(Global("builtins.eval", "RAN.append(1)")) + b".", "builtins.eval"),
        (
            b"\x80\x02" + written(Global("torch.nn.modules.linear.Linear", 2, 3)) + b".",
            "torch.nn.modules.linear.Linear",
        ),
        (b"\x80\x02" + written(Global("torch._utils.__builtins__.eval", "1")) + b".", "torch._utils.__builtins__.eval"),
        (b"\x80\x02" + written(Global("numpy._core.multiarray.scalar", 1)) + b".", "numpy._core.multiarray.scalar"),
        (pickle.dumps(RAN.append, 4), "builtins.getattr"),
    ],
)
def test_what_only_code_could_make_is_refused_by_its_name(value: bytes, name: str) -> None:
    RAN.append(OfState())
    with pytest.raises(LoadError) as caught:
        spelled.load(archive(value))
    assert f"holds {name!r}, which only code could make, and no code of a file is run" in str(caught.value)
    assert "safetensors.torch.save_file(model.state_dict(), path)" in str(caught.value)
    assert len(RAN) == 1
    RAN.clear()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x80\x02ccollections\nOrderedDict\n)R}X\x08\x00\x00\x00__dict__K\x01sb.", None),  # attributes are left out
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb.", "_Named is given attributes"),
        (b"\x80\x02X\x01\x00\x00\x00a)R.", "str is called"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "_OfDtype is called"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)\x81.", "takes the step NEWOBJ"),
        (b"\x80\x02K\x01", "is damaged|ends before its value"),
        (b"\x80\x02h\x07.", "is damaged"),
        (b"\x80\x02X\x01\x00\x00\x00aQ.", "names a storage by 'a'"),
    ],
)
def test_steps_that_tensors_do_not_need_are_refused(body: bytes, message: str | None) -> None:
    if message is None:
        assert spelled.load(archive(body)) == OrderedDict()
        return
    with pytest.raises(LoadError, match=message):
        spelled.load(archive(body))


@pytest.mark.parametrize(
    ("value", "storages", "message"),
    [
        (tensor("FloatStorage", "0", 2, 0, (3,), (1,)), {"s0": np.zeros(2, "f4")}, "element 2 of a storage of 2"),
        (tensor("FloatStorage", "0", 2, -1, (1,), (1,)), {"s0": np.zeros(2, "f4")}, "offset -1"),
        (tensor("FloatStorage", "0", 9, 0, (1,), (1,)), {"s0": np.zeros(2, "f4")}, "has 8 bytes, found for 9 elements"),
        (tensor("FloatStorage", "0", 2, 0, (1,), (1,)), {}, "entry 'data/0' of BytesIO is missing"),
        (
            [tensor("FloatStorage", "0", 2, 0, (1,), (1,)), tensor("IntStorage", "0", 2, 0, (1,), (1,))],
            {"s0": np.zeros(2, "f4")},
            "is of float32 and of int32",
        ),
    ],
)
def test_tensors_that_their_storage_does_not_hold_are_refused(value: Any, storages: Any, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        spelled.load(archive(value, **storages))


def test_a_file_that_is_too_large_is_refused() -> None:
    file = archive(tensor("FloatStorage", "0", 4000, 0, (4000,), (1,)), s0=np.zeros(4000, "f4"))
    with pytest.raises(LoadError, match="more bytes than the limit"):
        spelled.load(file, limit=1000)


def test_old_pickles_and_programs_are_named() -> None:
    with pytest.raises(LoadError, match=r"is a pickle, as torch.save wrote before version 1\.6"):
        spelled.load(io.BytesIO(pickle.dumps({"a": 1})))
    file = archive(b"\x80\x02N.")
    with zipfile.ZipFile(file, "a") as entries:
        entries.writestr("model/constants.pkl", b"")
    with pytest.raises(LoadError, match="is a program of TorchScript"):
        spelled.load(file)


@pytest.mark.parametrize("name", ["model.pt", "x.pth", "net.chkpt", "plain", "m.npz"])
def test_files_of_any_name_are_saved_and_loaded(tmp_path: Path, name: str) -> None:
    model = spelled.nn.Linear(2, 3)
    optimizer = spelled.optim.Adam(model.parameters(), foreach=False)
    model(spelled.ones(1, 2)).sum().backward()
    optimizer.step()
    spelled.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, tmp_path / name)
    held = spelled.load(tmp_path / name, map_location=spelled.device("cpu"), weights_only=False)
    assert held["epoch"] == 3
    assert held["model"]["weight"].tolist() == model.weight.tolist()
    optimizer.load_state_dict(held["optimizer"])
    assert held["optimizer"]["state"][0]["exp_avg"].shape == (3, 2)


def test_a_module_is_refused_and_its_state_named(tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match=r"found the module Linear; save its state: torch.save\(model.state_dict\(\), f\)"
    ):
        spelled.save(spelled.nn.Linear(2, 3), tmp_path / "model.pt")
    assert not (tmp_path / "model.pt").exists()


def test_devices_that_are_not_here_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"map_location must be 'cpu', since torch.cuda.is_available\(\) is False"):
        spelled.load(io.BytesIO(), map_location="cuda:0")


def test_averages_and_milestones_are_pickled() -> None:
    torch: Any = spelled
    model = torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 1))
    assert pickle.loads(pickle.dumps(model)).module.weight.tolist() == model.module.weight.tolist()
    schedule = torch.optim.lr_scheduler.MultiStepLR(torch.optim.SGD(model.parameters()), [2, 5, 5])
    stream = io.BytesIO()
    torch.save(schedule.state_dict(), stream)
    stream.seek(0)
    milestones = torch.load(stream)["milestones"]
    assert type(milestones) is Counter
    assert milestones == {2: 1, 5: 2}


def test_what_pytorch_saves_is_loaded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    x = torch.arange(12.0).reshape(3, 4)
    others = {"x": x, "turned": x.t()[1:], "half": x.bfloat16(), "wide": torch.ones(1).expand(3), "b": b"b", "s": {1}}
    torch.save({"m": model.state_dict(), "o": optimizer.state_dict(), **others}, tmp_path / "model.pt")
    held = spelled.load(tmp_path / "model.pt")
    ours = spelled.nn.Sequential(spelled.nn.Linear(3, 4), spelled.nn.BatchNorm1d(4))
    ours.load_state_dict(held["m"])
    spelled.optim.Adam(ours.parameters()).load_state_dict(held["o"])
    for name, value in model.state_dict().items():
        assert held["m"][name].tolist() == value.tolist()
    for name in ("x", "turned", "half", "wide"):
        assert held[name].tolist() == others[name].tolist()
    assert (held["b"], held["s"]) == (b"b", {1})
    torch.save(model, tmp_path / "whole.pt")
    with pytest.raises(LoadError, match=r"holds 'torch.nn.modules.container.Sequential'"):
        spelled.load(tmp_path / "whole.pt", weights_only=False)
