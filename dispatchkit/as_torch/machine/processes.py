"""What programs import for several processes, compilers and tests, as it is in one process: modules by their paths."""

from __future__ import annotations

import enum
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlparse

import numpy as np

from dispatchkit import data
from dispatchkit.as_torch.files import serialization
from dispatchkit.as_torch.machine import futures, settings
from dispatchkit.as_torch.machine.program_graphs import OF_GRAPHS
from dispatchkit.as_torch.spelling import spelling_results
from dispatchkit.backends.arrays import dtype_name
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import holds
from dispatchkit.graph.storage import Storage
from dispatchkit.marks import override

__all__ = ["modules"]

# By dtype, the relative and the absolute tolerance of `assert_close`; those of other dtypes are 0.
TOLERANCES = {
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class DistributedSampler(data.Sampler[int]):
    """The indices of one of several processes, each of which draws others.

    Parameters
    ----------
    dataset : whose length is asked for
    num_replicas : of processes; 1 if None
    rank : the number of this one; 0 if None
    shuffle : whether the order is drawn anew for each epoch
    seed : of the order, the same in all processes
    drop_last : whether the last indices are left out where they do not go round; else the first come again

    Raises
    ------
    ValueError : if there is no process of the number
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas or 1, rank or 0
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        share = len(dataset) / self.num_replicas
        self.num_samples = math.ceil(share)
        if drop_last:
            self.num_samples = math.floor(share)
        self.total_size = self.num_samples * self.num_replicas

    @override
    def __iter__(self) -> Iterator[int]:
        order = np.arange(len(self.dataset))
        if self.shuffle:
            order = np.random.default_rng((self.seed, self.epoch)).permutation(order)
        return iter(np.resize(order, self.total_size)[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes, so that its order is another."""
        self.epoch = epoch


class DistributedDataParallel:
    """A module in several processes; there is one here, so that making it raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("DistributedDataParallel: there is one process; use the module itself")


class SDPBackend(enum.Enum):
    """The ways in which PyTorch computes attention, of which none is chosen here."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Check that two tensors are close.

    Parameters
    ----------
    actual, expected : the tensors, arrays or numbers
    rtol, atol : the tolerances; both are those of the dtypes if None
    equal_nan : whether NaN equals NaN
    check_dtype : whether the dtypes are to be equal
    allow_subclasses, check_device, check_layout, check_stride : which change nothing here
    msg : text of the error, or a function that makes it of what it would be

    Raises
    ------
    AssertionError : if the shapes, the dtypes or some elements differ
    ValueError : if one tolerance is given alone
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: rtol and atol are given together, or neither is")
    found, wanted = _array_of(actual), _array_of(expected)
    text = ""
    if found.shape != wanted.shape:
        text = f"The values for attribute 'shape' do not match: {found.shape} != {wanted.shape}."
    elif check_dtype and found.dtype != wanted.dtype:
        text = f"The values for attribute 'dtype' do not match: {found.dtype} != {wanted.dtype}."
    else:
        if rtol is None or atol is None:
            known = [TOLERANCES.get(dtype_name(x.dtype), (0.0, 0.0)) for x in (found, wanted)]
            rtol, atol = (max(both) for both in zip(*known, strict=True))
        close = np.isclose(found, wanted, rtol, atol, equal_nan)
        if not close.all():
            text = f"Tensor-likes are not close!\n\nMismatched elements: {np.sum(~close)} / {close.size}"
    if not text:
        return
    if isinstance(msg, str):
        text = msg
    elif msg is not None:
        text = msg(text)
    raise AssertionError(text)


def _array_of(x: Any) -> Any:
    if isinstance(x, Storage):
        return x.detach().numpy()  # type: ignore[attr-defined]  # a tensor
    return np.asarray(x)


def to_dlpack(tensor: Any) -> Any:
    """Return what other libraries take a tensor's memory from, once.

    Parameters
    ----------
    tensor : the tensor
    """
    return tensor.__dlpack__()


def assert_async(condition: Any, message: str = "") -> None:
    """Raise where a condition does not hold.

    Parameters
    ----------
    condition : a tensor of one element
    message : of the error

    Raises
    ------
    RuntimeError : where it is 0
    """
    if not holds(condition != 0, traced=True):
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")


def _from_the_net(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("nothing is loaded from the net; download the file, and read it with torch.load(path)")


def _folder_of_hub() -> str:
    """Return the folder that PyTorch keeps files from the net in."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return str(Path(os.environ.get("TORCH_HOME") or f"{cache}/torch").expanduser() / "hub")


def _without_devices(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("there are no devices to scatter tensors to, and nothing to gather: all are on the processor")


def _without_group(*args: Any, **kwargs: Any) -> NoReturn:
    raise ValueError(
        "Default process group has not been initialized: there is one process here; ask torch.distributed."
        "is_initialized() first"
    )


# What several processes do together.
TOGETHER = (
    *("all_gather", "all_gather_object", "all_reduce", "all_to_all", "barrier", "broadcast", "broadcast_object_list"),
    *("gather", "new_group", "recv", "reduce", "reduce_scatter", "scatter", "send"),
)


class ScriptFunction:
    """A function that was translated, of which there are none: `torch.jit.script` gives functions back as they are."""


class ProcessGroup:
    """Processes that do something together, of which there are none; annotations name it."""


class group:  # noqa: N801  # PyTorch's name
    """Groups of processes by their names: there is none of all."""

    WORLD = None


class ReduceOp(enum.Enum):
    """How what several processes have becomes one."""

    SUM, AVG, PRODUCT, MIN, MAX = range(5)


def modules() -> dict[str, dict[str, Any]]:
    """Return what the modules have, by their paths inside PyTorch."""
    of_processes = {name: getattr(multiprocessing, name) for name in multiprocessing.__all__}
    sharing = {"get_sharing_strategy": lambda: "file_system", "set_sharing_strategy": settings.nothing}
    files = {"save": serialization.save, "load": serialization.load, "add_safe_globals": settings.nothing}
    asked = ("is_compiling", "is_dynamo_compiling", "is_exporting")
    as_they_are = dict.fromkeys(("disable", "allow_in_graph", "assume_constant_result"), settings.as_it_is)
    return {
        "": {"Future": futures.Future, "to_dlpack": to_dlpack},
        "compiler": {**as_they_are, **dict.fromkeys(asked, settings.no)},
        "distributed": {
            **dict.fromkeys(TOGETHER, _without_group),
            "ProcessGroup": ProcessGroup,
            "ReduceOp": ReduceOp,
            "group": group,
        },
        "distributed.nn": dict.fromkeys(
            ("all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"),
            _without_group,
        ),
        "fx": OF_GRAPHS,
        "fx.node": {"Node": OF_GRAPHS["Node"]},
        "futures": {name: getattr(futures, name) for name in futures.__all__},
        "hub": {
            **dict.fromkeys(("load", "load_state_dict_from_url", "download_url_to_file"), _from_the_net),
            "get_dir": _folder_of_hub,
            "urlparse": urlparse,
        },
        "jit": {"ScriptFunction": ScriptFunction},
        "jit.annotations": {"List": list},
        "multiprocessing": {**of_processes, **sharing},
        "nn.attention": {"SDPBackend": SDPBackend, "sdpa_kernel": nullcontext},
        "nn.parallel": {"DistributedDataParallel": DistributedDataParallel},
        "nn.parallel.scatter_gather": dict.fromkeys(("gather", "scatter", "scatter_kwargs"), _without_devices),
        "onnx": {"is_in_onnx_export": settings.no},
        "serialization": {**files, "MAP_LOCATION": Any},
        "testing": {"assert_close": assert_close},
        "types": {"Device": Any, "Number": int | float | bool},
        "utils.data": {"DistributedSampler": DistributedSampler},
        "utils.dlpack": {"from_dlpack": spelling_results(xp.from_dlpack), "to_dlpack": to_dlpack},
        "utils.model_zoo": {"load_url": _from_the_net},
        "version": {"cuda": None, "hip": None, "git_version": "", "debug": False},
    }
