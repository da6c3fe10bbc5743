"""PyTorch's tests over `dispatchkit.as_torch`.

A plugin of pytest: the modules of the tests import `torch` as dispatchkit's spelling of it. What helps PyTorch's tests
stays PyTorch's, but takes and gives tensors of dispatchkit.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import re
import sys
import types
import unittest
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal import common_device_type, common_dtype, common_nn, common_utils

import dispatchkit as dk
import dispatchkit.as_torch as spelled
from dispatchkit import tree
from dispatchkit.as_torch.attributes.dtypes import AbsentDtype
from dispatchkit.autograd import saved_values
from dispatchkit.graph.node import Leaf
from dispatchkit.graph.storage import Vertex

SPELLED: Any = spelled
# PyTorch's own, which tests are made with.
HELPERS = ("torch.testing", "torch.utils._", "torch.utils.flop_counter", "torch.autograd.profiler")
EXCLUDED = (
    "logging_tensor|profiler|record_function|SelectiveActivation|MultipleDispatch|TestAutogradLogging|mkldnn|"
    "TestAutograd::test_multi_grad_all_hooks"  # compiles C++
)


def theirs(value: Any) -> Any:
    """Return a tensor or dtype of dispatchkit as PyTorch's, and anything else as it is."""
    if isinstance(value, dk.Tensor):
        value = value.detach()
        return torch.from_numpy(np.array(value if value.is_tracer else value.numpy()))
    if isinstance(value, SPELLED.dtype):
        return getattr(torch, value.name)
    return value


def ours(value: Any) -> Any:
    """Return a tensor or dtype of PyTorch as dispatchkit's, and anything else as it is."""
    if isinstance(value, torch.Tensor):
        return SPELLED.from_numpy(value.detach().numpy()).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return getattr(SPELLED, str(value).removeprefix("torch."), value)
    return value


def each(change: Any, value: Any) -> Any:
    """Return a container with its members changed."""
    return tree.map_leaves(tree.container_items, change, value)


def translated(function: Any) -> Any:
    """Return a function of PyTorch's that takes and gives tensors and dtypes of dispatchkit."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return each(ours, function(*each(theirs, args), **each(theirs, kwargs)))

    return call


def is_here(dtype: Any) -> bool:
    """Return whether dispatchkit has a dtype, or each of some dtypes, of PyTorch."""
    if isinstance(dtype, tuple | list):
        return all(is_here(member) for member in dtype)
    return not isinstance(ours(dtype), (torch.dtype, AbsentDtype))


def dtypes_here(function: Any) -> Any:
    """Return a function that gives dtypes of PyTorch, as one that gives those of them that dispatchkit has."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return tuple(ours(dtype) for dtype in function(*each(theirs, args), **kwargs) if is_here(dtype))

    return call


def of_their_dtypes(decorator: Any) -> Any:
    """Return a decorator of PyTorch's that takes dtypes of dispatchkit, and whose tests get them."""

    def with_dtypes(*names: Any) -> Any:
        def decorate(test: Any) -> Any:
            @functools.wraps(test)
            def call(*args: Any, **kwargs: Any) -> Any:
                return test(*args, **each(ours, kwargs))

            return decorator(*(dtype for dtype in each(theirs, names) if is_here(dtype)))(call)

        return decorate

    return with_dtypes


class TestCase(common_utils.TestCase):  # type: ignore[misc]  # a class of a peer
    """PyTorch's, whose checks take tensors of dispatchkit."""

    def setUp(self) -> None:
        super().setUp()
        np.seterr(all="ignore")  # of whose warnings PyTorch has none
        SPELLED.set_default_dtype(SPELLED.float32)
        SPELLED.manual_seed(0)

    def compare_with_numpy(self, function: Any, *args: Any, **kwargs: Any) -> None:
        """Compare a function of dispatchkit's tensors with one of NumPy's arrays."""

        def of_theirs(*inputs: Any) -> Any:
            return each(theirs, function(*each(ours, inputs)))

        super().compare_with_numpy(of_theirs, *each(theirs, args), **each(theirs, kwargs))


class Raises:
    """PyTorch's check of an error, which compares no text of dispatchkit's errors."""

    def __init__(self, case: unittest.TestCase, error: Any, text: str, *call: Any, **kwargs: Any) -> None:
        self.case, self.error, self.text, self.exception = case, error, text, None
        if call:
            with self:
                call[0](*call[1:], **kwargs)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        if kind is None:
            self.case.fail(f"{self.error} not raised")
        modules = [kind.__module__, *(frame.f_globals["__name__"] for frame, _ in walk_tb(traceback))]
        self.exception = error
        raised_here = any(module.startswith("dispatchkit.") for module in (modules[0], modules[-1]))
        return issubclass(kind, self.error) and (raised_here or re.search(self.text, str(error)) is not None)


def of_theirs(check: Any) -> Any:
    """Return a check of two values that takes tensors of dispatchkit."""
    return lambda case, x, y, *args, **kwargs: check(case, each(theirs, x), each(theirs, y), *args, **kwargs)


for _name in ("assertEqual", "assertNotEqual"):
    setattr(TestCase, _name, of_theirs(getattr(common_utils.TestCase, _name)))
TestCase.assertRaisesRegex = lambda case, *args, **kwargs: Raises(case, *args, **kwargs)


class NNTestCase(TestCase, common_nn.NNTestCase):  # type: ignore[misc]  # of a peer
    """PyTorch's of layers, likewise."""


def instantiate_for_the_cpu(tests: Any, names: Any, **options: Any) -> None:
    """Put the tests of a class for the CPU into the names of its module, whatever devices they are for."""
    common_device_type.instantiate_device_type_tests(tests, names, only_for="cpu")


def is_view_of(case: TestCase, x: Any, y: Any) -> bool:
    """Return whether two tensors have memory in common; PyTorch's tests read what refers to what."""
    return x is not y and np.shares_memory(np.asarray(x.detach()), np.asarray(y.detach()))


@contextmanager
def default_dtype(dtype: Any) -> Iterator[None]:
    """Let numbers be of a dtype within a block."""
    before = SPELLED.get_default_dtype()
    SPELLED.set_default_dtype(dtype)
    try:
        yield
    finally:
        SPELLED.set_default_dtype(before)


REPLACED = {
    "TestCase": TestCase,
    "NNTestCase": NNTestCase,
    # Tables that make layers of PyTorch's own.
    "module_tests": [],
    "new_module_tests": [],
    "criterion_tests": [],
    "set_default_dtype": default_dtype,
    "instantiate_device_type_tests": instantiate_for_the_cpu,
    **{
        name: of_their_dtypes(getattr(common_device_type, name))
        for name in ("dtypes", "dtypesIfCPU", "dtypesIfCUDA", "dtypesIfXPU", "dtypesIfMPS", "dtypesIfHPU")
    },
    **{
        name: dtypes_here(function)
        for name, function in vars(common_dtype).items()
        if isinstance(function, types.FunctionType) and not name.startswith(("_", "get_", "custom"))
    },
    "numpy_to_torch_dtype_dict": {kind: ours(dtype) for kind, dtype in common_utils.numpy_to_torch_dtype_dict.items()},
    "torch_to_numpy_dtype_dict": {ours(dtype): kind for dtype, kind in common_utils.torch_to_numpy_dtype_dict.items()},
    "gradcheck": SPELLED.autograd.gradcheck,
    "gradgradcheck": SPELLED.autograd.gradgradcheck,
    **{
        function.__name__: translated(function)
        for function in (
            torch.testing.make_tensor,
            torch.testing.assert_close,
            *(
                getattr(importlib.import_module(f"torch.testing._internal.{module}"), name)
                for module, name in (("common_methods_invocations", "mask_not_all_zeros"),)
            ),
        )
    },
}


class Undefined(SPELLED.autograd.Function):  # type: ignore[misc]  # made for PyTorch's spelling
    """A copy whose backward gives no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> None:
        return None


class Delayed(SPELLED.autograd.Function):  # type: ignore[misc]  # likewise
    """A copy whose backward fails."""

    @staticmethod
    def forward(ctx: Any, x: Any, text: str) -> Any:
        ctx.text = text
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> None:
        raise RuntimeError(ctx.text)


class DelayedError(Vertex):
    """PyTorch's, which is a class of nodes; what is made of it is a function here."""

    def __new__(cls, text: str, count: int) -> Any:
        return lambda x: Delayed.apply(x, text)


class Resize(SPELLED.autograd.Function):  # type: ignore[misc]  # likewise
    """Another shape, of the same elements."""

    @staticmethod
    def forward(ctx: Any, x: Any, shape: Any) -> Any:
        ctx.shape = x.shape
        return x.contiguous().view(shape)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.contiguous().view(ctx.shape), None


class WeakReference:
    """PyTorch's reference that does not keep a tensor alive."""

    def __init__(self, tensor: Any) -> None:
        self.reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self.reference() is None


# What tests take from PyTorch's own core, and what does the same here.
OF_THE_CORE = types.SimpleNamespace(
    _WeakTensorRef=WeakReference,
    is_grad_enabled=SPELLED.is_grad_enabled,
    _autograd=types.SimpleNamespace(
        _saved_tensors_hooks_is_enabled=lambda: saved_values._refusal.get().value is None,
        SavedTensor=SPELLED.autograd.SavedTensor,
    ),
    **{
        name: getattr(sys.modules[f"{spelled.__name__}._C"], name)
        for name in ("_current_graph_task_id", "_is_fwd_grad_enabled", "_set_fwd_grad_enabled")
    },
    DispatchKey=torch._C.DispatchKey,
    _functorch=torch._C._functorch,
    _functions=types.SimpleNamespace(
        AccumulateGrad=Leaf,
        DelayedError=DelayedError,
        UndefinedGrad=lambda: Undefined.apply,
    ),
)
OF_PYTORCH_ALONE = {
    "torch._C": OF_THE_CORE,
    "torch.autograd._functions": types.SimpleNamespace(Resize=Resize),
    "torch._utils": types.SimpleNamespace(_element_size=lambda dtype: dtype.itemsize),
}


def spelled_module(path: str) -> str:
    """Return the name of the module that spells one of PyTorch."""
    return f"{spelled.__name__}{path.removeprefix('torch')}"


class Place(types.ModuleType):
    """A module of PyTorch: dispatchkit's spelling of it, or what helps tests."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.ours = sys.modules.get(spelled_module(name))
        self.is_helper = name.startswith(HELPERS)

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if path in OF_PYTORCH_ALONE:
            return OF_PYTORCH_ALONE[path]
        if name.startswith("__"):
            raise AttributeError(name)
        if path.startswith(HELPERS):
            if name in REPLACED:
                value = REPLACED[name]
            else:
                value = getattr(importlib.import_module(self.__name__), name)
            return place(path) if isinstance(value, types.ModuleType) else value
        value = vars(self.ours or spelled).get(name)  # a function hides the module of its name
        if not isinstance(value, types.FunctionType) and spelled_module(path) in sys.modules:
            return place(path)
        if Loading.now and not hasattr(self.ours, name):  # in a decorator of a test that is not for this device
            return getattr(importlib.import_module(self.__name__), name)
        return getattr(self.ours, name)


class Loading:
    """Whether a module of tests is being loaded."""

    now = False


class Absent:
    """A name that dispatchkit does not have, and a module imports at its beginning."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AttributeError(f"dispatchkit.as_{self.path} is not there")

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.path), name) if Loading.now else self()

    def __mro_entries__(self, bases: Any) -> Any:
        return self()


@functools.cache
def place(name: str) -> Place:
    """Return what stands for a module of PyTorch."""
    return Place(name)


def importing(name: str, *args: Any) -> Any:
    """Import a module as the tests do, names that dispatchkit does not have included."""
    if name in BESIDE_TORCH:
        return BESIDE_TORCH[name]
    if name.partition(".")[0] != "torch":
        return builtins.__import__(name, *args)
    members = args[2] if len(args) > 2 else None
    loading, Loading.now = Loading.now, False
    for path in (name, *(f"{name}.{member}" for member in members or ())):
        outer: Any = place("torch")
        parts = path.split(".")
        for count, part in enumerate(parts[1:], 2):
            if not hasattr(outer, part) and part != "*":
                setattr(outer, part, Absent(path))
            inner, outer = ".".join(parts[:count]), getattr(outer, part)
            if count < len(parts) and spelled_module(inner) in sys.modules:
                outer = place(inner)
    Loading.now = loading
    return place(name) if members else place("torch")


def make_functional_with_buffers(module: Any, disable_autograd_tracking: bool = False) -> Any:
    """Return a module as a function of its parameters and buffers, and these, as PyTorch had it before."""
    state = [dict(module.named_parameters()), dict(module.named_buffers())]
    if disable_autograd_tracking:
        state[0] = {name: parameter.detach() for name, parameter in state[0].items()}

    def call(parameters: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        dictionaries = tuple(
            dict(zip(names, values, strict=True)) for names, values in zip(state, (parameters, buffers), strict=True)
        )
        return SPELLED.func.functional_call(module, dictionaries, args, kwargs)

    call.stateless_model = module  # type: ignore[attr-defined]  # as PyTorch gives it
    return call, tuple(state[0].values()), tuple(state[1].values())


def make_functional(module: Any, disable_autograd_tracking: bool = False) -> Any:
    """Return a module without buffers as a function of its parameters, and these, as PyTorch had it before."""
    function, parameters, _ = make_functional_with_buffers(module, disable_autograd_tracking)
    call = functools.wraps(function)(lambda parameters, *args, **kwargs: function(parameters, (), *args, **kwargs))
    return call, parameters


def combine_state_for_ensemble(models: Any) -> Any:
    """Return a function of the stacked parameters and buffers of modules, and these, as PyTorch had it before."""
    states = SPELLED.func.stack_module_state(models)
    return make_functional_with_buffers(models[0])[0], *(tuple(state.values()) for state in states)


class Functorch(types.ModuleType):
    """The module that `torch.func` had been before, of which names that dispatchkit does not have are absent."""

    make_functional_with_buffers = staticmethod(make_functional_with_buffers)
    make_functional = staticmethod(make_functional)
    combine_state_for_ensemble = staticmethod(combine_state_for_ensemble)

    def __getattr__(self, name: str) -> Any:
        return getattr(SPELLED.func, name, Absent(f"torch.func.{name}"))


# Modules that the tests import beside `torch`.
BESIDE_TORCH = {
    **{name: Functorch(name) for name in ("functorch", "functorch.experimental")},
    "common_utils": types.SimpleNamespace(
        expectedFailureIf=lambda holds: unittest.expectedFailure if holds else lambda test: test
    ),
}


def load(path: Path, name: str) -> types.ModuleType:
    """Return a module of tests that gets dispatchkit for PyTorch."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": importing}
    Loading.now = True
    try:
        exec(compile(path.read_text(), str(path), "exec"), vars(module))  # noqa: S102  # tests of a checkout
    finally:
        Loading.now = False
    for tests in list(vars(module).values()):
        for method in {"is_view_of", "is_view_of_same_base"} & set(dir(tests)):
            setattr(tests, method, is_view_of)
    return module


def pytest_configure(config: Any) -> None:
    """Load the modules that the tests take further tests from."""
    package = sys.modules["autograd"] = types.ModuleType("autograd")
    package.__path__ = []
    vars(place("torch.autograd.forward_ad"))["_current_level"] = -1  # tests leave levels until it is so
    for name in ("test_complex", "test_functional", "test_logging"):
        load(config.rootpath / f"test/autograd/{name}.py", f"autograd.{name}")


def pytest_pycollect_makemodule(module_path: Any, parent: Any) -> pytest.Module:
    """Collect a module that is loaded here."""

    class Loaded(pytest.Module):
        def _getobj(self) -> Any:
            return load(module_path, module_path.stem)

    return Loaded.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(config: Any, items: list[pytest.Item]) -> None:
    """Leave out the tests of what is not autograd: of PyTorch's dispatcher, its profiler and its other layouts."""
    excluded = [item for item in items if re.search(EXCLUDED, item.nodeid)]
    config.hook.pytest_deselected(items=excluded)
    items[:] = [item for item in items if item not in excluded]
