"""Parts of PyTorch that libraries import, and of which little is here: profilers, streams, settings of compilers.

What can be answered is answered. What would measure, translate or compute elsewhere says so when it is called.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NoReturn

from dispatchkit.as_torch.attributes.asking import ask, overloaded, refuse, unasked
from dispatchkit.as_torch.attributes.devices import device
from dispatchkit.as_torch.machine import settings
from dispatchkit.as_torch.machine.custom_ops import OF_LIBRARY, Named
from dispatchkit.as_torch.machine.limits import VERSION
from dispatchkit.as_torch.machine.processes import DistributedDataParallel
from dispatchkit.as_torch.machine.quasirandom import SobolEngine
from dispatchkit.as_torch.machine.trees import OF_TREES
from dispatchkit.as_torch.methods.torch_functions import answer_plainly
from dispatchkit.as_torch.spelling import Tensor
from dispatchkit.nn import utils
from dispatchkit.nn.state import IncompatibleKeys
from dispatchkit.tensor import conversion

__all__ = ["parts"]


def _refuse(text: str) -> Callable[..., NoReturn]:
    """Return a function that raises."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(text)

    return refuse


def _without_instances(path: str, text: str, base: type = object) -> type:
    """Return a class that libraries ask `isinstance` for, and that nothing is made of."""
    place, _, name = path.rpartition(".")
    refuse = _refuse(f"torch.{path}: {text}")
    members = {"__init__": refuse, "__enter__": refuse, "__exit__": refuse, "__module__": f"torch.{place}"}
    return type(name, (base,), {**members, "__doc__": f"`torch.{path}`, of which there is none here."})


class ProfilerActivity(enum.Enum):
    """What PyTorch's profiler measures."""

    CPU, CUDA, XPU, MTIA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What PyTorch's profiler does at a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class record_function(contextlib.ContextDecorator):  # noqa: N801  # PyTorch's name
    """A block, or a function, that profiles show by a name; there are none, and it is run as it is.

    Parameters
    ----------
    name, args : which say nothing here
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the block."""


def has_torch_function(relevant_args: Any) -> bool:
    """Return whether one of several values has a `__torch_function__` of its own, which is asked.

    Parameters
    ----------
    relevant_args : the values
    """
    return bool(overloaded(relevant_args))


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what the first `__torch_function__` of some values answers.

    Parameters
    ----------
    public_api : the function that is called
    relevant_args : the values that are asked
    *args, **kwargs : of the call

    Raises
    ------
    TypeError : if none answers
    """
    y = ask(public_api, args, kwargs, relevant_args)
    if y is NotImplemented:
        refuse(public_api, ())
    return y


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a tensor, or has a `__torch_function__`.

    Parameters
    ----------
    inp : the value
    """
    return type(inp) is Tensor or hasattr(type(inp), "__torch_function__")


def check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise where a condition does not hold.

    Parameters
    ----------
    cond : whether it holds
    message : gives the text of the error

    Raises
    ------
    RuntimeError : where it does not
    """
    if not cond:
        text = "Expected cond to be True, but got False. (Could this error message be improved? If so, please report)"
        raise RuntimeError(text if message is None else message())


def assert_true(condition: Any, message: str) -> None:
    """Raise where a condition does not hold.

    Parameters
    ----------
    condition : whether it holds
    message : of the error

    Raises
    ------
    AssertionError : where it does not
    """
    assert condition, message


def config() -> str:
    """Return how the library was built: that PyTorch was not."""
    return f"dispatchkit.as_torch, names of PyTorch {VERSION}: no CUDA, USE_MKL=OFF, USE_OPENMP=OFF"


def _block_of_options(**options: Any) -> Any:
    """Return a block in which settings would be others."""
    return nullcontext()


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, whether to wait for no copy, and layout, of the arguments of `Module.to`.

    Parameters
    ----------
    *args : a device, a dtype or a tensor, then whether to wait for no copy
    **kwargs : `device`, `dtype`, `non_blocking` and `memory_format`
    """
    flags = [value for value in args if isinstance(value, bool)]
    places = tuple(value for value in args if not isinstance(value, bool))
    dtype, place, _ = conversion.parse_to(places, kwargs)
    if place is None:
        place = next((value.device for value in places if isinstance(value, Tensor)), None)
    if isinstance(place, str):
        place = device(place)
    return place, dtype, kwargs.get("non_blocking", any(flags[:1])), kwargs.get("memory_format")


def _capability() -> str:
    """Return which further instructions of the processor PyTorch's kernels would use: none."""
    return "DEFAULT"


@contextlib.contextmanager
def _named_range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Return a block that NVIDIA's tools would show."""
    yield


MEASURES = "nothing is measured here; use Python's profilers, such as cProfile"
ONE_PROCESS = "there is one process here"
ELSEWHERE = "there are no devices with streams here; all is computed on the processor, in order"


FLEX = "no kernel of a program's own scores is made here; use nn.functional.scaled_dot_product_attention"
MODES = "modes see operations of the library here; derive from dk.TensorFunctionMode"
SCANS = "no scan is compiled here; write the loop"
SYMBOLS = "no program is traced without its values here; dk.compile compiles whole steps"
LOADERS = "the iterators of loaders are Python's"
FILES = "files are read by torch.load"
STREAMS = ("CUDAGraph", "Event", "Stream", "StreamContext", "graph")


class OutOfMemoryError(RuntimeError):
    """That a device has no memory left, which nothing here raises."""


COMPILED = ("allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph", "optimize", "run")


def _measures() -> dict[str, dict[str, Any]]:
    """Return what profilers have."""
    profile = _without_instances("profiler.profile", MEASURES)
    blocks = {"profile": profile, "record_function": record_function, "ProfilerActivity": ProfilerActivity}
    raising = dict.fromkeys(("schedule", "tensorboard_trace_handler"), _refuse(f"torch.profiler: {MEASURES}"))
    ranges = dict.fromkeys(("mark", "range_end", "range_pop", "range_push", "range_start"), settings.nothing)
    return {
        "autograd.profiler": {**blocks, "EventList": list, "emit_nvtx": profile, "emit_itt": profile},
        "cuda.nvtx": {**ranges, "range": _named_range},
        "profiler": {
            **blocks,
            **raising,
            "ProfilerAction": ProfilerAction,
            "kineto_available": settings.no,
            "supported_activities": set,
        },
        "utils.flop_counter": {"FlopCounterMode": _without_instances("utils.flop_counter.FlopCounterMode", MEASURES)},
    }


def _devices_and_processes() -> dict[str, dict[str, Any]]:
    """Return what streams of devices, and tensors that several processes share, have."""
    streams = {name: _without_instances(f"cuda.{name}", ELSEWHERE) for name in STREAMS}
    sharded = ("DTensor", "DeviceMesh", "FullyShardedDataParallel", "ZeroRedundancyOptimizer")
    shards = {name: _without_instances(f"distributed.{name}", ONE_PROCESS) for name in sharded}
    of_cuda = {
        **streams,
        "OutOfMemoryError": OutOfMemoryError,
        "current_stream": _refuse(f"torch.cuda.current_stream: {ELSEWHERE}"),
        "get_rng_state_all": list,
        "set_rng_state_all": settings.nothing,
        "stream": nullcontext,
    }
    return {
        "": {**{name: streams[name] for name in ("Event", "Stream")}, "OutOfMemoryError": OutOfMemoryError},
        "accelerator": {"current_accelerator": settings.nothing},
        "backends.cudnn": {"flags": _block_of_options},
        "backends.cpu": {"get_cpu_capability": _capability},
        "backends.mkldnn": {"flags": _block_of_options, "is_available": settings.no},
        "backends.opt_einsum": {"is_available": settings.no},
        **{f"backends.{name}": {"is_available": settings.no} for name in ("mkl", "openmp")},
        "cuda": of_cuda,
        "cuda.streams": streams,
        "distributed.device_mesh": {"DeviceMesh": shards["DeviceMesh"]},
        "distributed.fsdp": {"FullyShardedDataParallel": shards["FullyShardedDataParallel"]},
        "distributed.optim": {"ZeroRedundancyOptimizer": shards["ZeroRedundancyOptimizer"]},
        "distributed.tensor": {"DTensor": shards["DTensor"], "DeviceMesh": shards["DeviceMesh"]},
        "nn.parallel.distributed": {"DistributedDataParallel": DistributedDataParallel},
    }


def _compilers() -> dict[str, dict[str, Any]]:
    """Return what compilers have: functions stay as they are."""
    silent = ("graph_break", "mark_dynamic", "mark_static_address", "maybe_mark_dynamic", "reset")
    optimized = {"OptimizedModule": _without_instances("_dynamo.OptimizedModule", "no module is compiled")}
    of_dynamo = {
        **dict.fromkeys(COMPILED, settings.as_it_is),
        **dict.fromkeys(silent, settings.nothing),
        **optimized,
        "is_compiling": settings.no,
    }
    kernels = ("and_masks", "create_block_mask", "create_mask", "flex_attention", "or_masks")
    flex = "nn.attention.flex_attention"
    of_scripts = dict.fromkeys(("_overload", "_overload_method", "_script_if_tracing"), settings.as_it_is)
    return {
        "_dynamo": of_dynamo,
        "_dynamo.eval_frame": optimized,
        # A tensor is an index inside of `vmap` as it is.
        "_dynamo._trace_wrapped_higher_order_op": {"TransformGetItemToIndex": nullcontext},
        "_higher_order_ops": {},
        "_higher_order_ops.associative_scan": {"associative_scan": _refuse(f"torch: {SCANS}")},
        "_jit_internal": {"_copy_to_script_wrapper": settings.as_it_is, "unused": settings.as_it_is},
        "jit": {**of_scripts, "isinstance": isinstance},
        flex: {
            **{name: _without_instances(f"{flex}.{name}", FLEX) for name in ("AuxRequest", "BlockMask")},
            **dict.fromkeys(kernels, _refuse(f"torch.{flex}: {FLEX}")),
            "_DEFAULT_SPARSE_BLOCK_SIZE": 128,
        },
    }


def parts() -> dict[str, dict[str, Any]]:
    """Return what the modules have, by their paths inside PyTorch."""
    of_functions = {
        "handle_torch_function": handle_torch_function,
        "has_torch_function": has_torch_function,
        "has_torch_function_unary": lambda x: has_torch_function((x,)),
        "has_torch_function_variadic": lambda *values: has_torch_function(values),
    }
    mode = {"TorchFunctionMode": _without_instances("overrides.TorchFunctionMode", MODES)}
    blocks = dict.fromkeys(("DisableTorchFunction", "DisableTorchFunctionSubclass"), unasked)
    symbols = {name: _without_instances(name, SYMBOLS) for name in ("SymBool", "SymFloat", "SymInt")}
    fake = _without_instances("_subclasses.fake_tensor.FakeTensor", SYMBOLS)
    active = {"_are_functorch_transforms_active": settings.no}
    reader = {"PyTorchFileReader": _without_instances("_C.PyTorchFileReader", FILES)}
    of_loaders = ("_BaseDataLoaderIter", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter")
    loaders = {name: _without_instances(f"utils.data.dataloader.{name}", LOADERS) for name in of_loaders}
    others: dict[str, dict[str, Any]] = {
        "": {**reader, **symbols, "ops": Named("torch.ops"), "_assert": assert_true, "_check": check},
        "_subclasses": {},
        "fx.experimental": {},
        "_subclasses.fake_tensor": {"FakeTensor": fake, "is_fake": settings.no},
        "fx.experimental.proxy_tensor": {"get_proxy_mode": settings.nothing},
        "utils.data.dataloader": loaders,
        "_C": {
            **reader,
            **active,
            "_TensorMeta": type(Tensor),
            "_disabled_torch_function_impl": answer_plainly,
            **blocks,
        },
        "_C._nn": {"_parse_to": parse_to},
        "__config__": {"show": config, "parallel_info": config},
        "_tensor_str": {"PRINT_OPTS": SimpleNamespace(precision=4, threshold=1000, edgeitems=3), "_tensor_str": str},
        "library": OF_LIBRARY,
        "nn.functional": of_functions,
        "nn.modules.module": {"_IncompatibleKeys": IncompatibleKeys},
        "nn.utils.stateless": {"functional_call": utils.functional_call},
        "overrides": {**of_functions, **mode, "is_tensor_like": is_tensor_like},
        "quasirandom": {"SobolEngine": SobolEngine},
        "utils._pytree": OF_TREES,
    }
    every = dict[str, dict[str, Any]]()
    for held in (_measures(), _devices_and_processes(), _compilers(), others):
        for path, members in held.items():
            every[path] = every.get(path, {}) | members
    return every
