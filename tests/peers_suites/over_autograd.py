"""HIPS autograd's tests over dispatchkit: its operators of derivatives, NumPy's functions called with tensors.

A plugin of pytest. The checkout's own modules stay, with `grad` and what else is written in terms of two functions
that pull back and push forward; these two are dispatchkit's, and so is what carries values through a function.
"""

from __future__ import annotations

import functools
import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit import func, tree
from dispatchkit.tensor.numpy_calls import answer_of


class Spaces(dict[type, Any]):
    """The vector spaces of values by their types, those of tensors for all their subclasses."""

    def __missing__(self, kind: type) -> Any:
        if issubclass(kind, dk.Tensor):
            return self[dk.Tensor]
        raise KeyError(kind)


class Namespace(ModuleType):
    """A module whose functions are those of NumPy or SciPy, which tensors answer."""

    def __init__(self, name: str, library: Any) -> None:
        super().__init__(name)
        self.__dict__["library"] = library
        self.__dict__["__path__"] = []

    def __getattr__(self, name: str) -> Any:
        if name in OWN:
            return OWN[name]
        return getattr(self.__dict__["library"], name)


def array(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an array, a tensor where numbers in lists are tensors, as autograd's function of that name does."""
    if any(isinstance(leaf, dk.Tensor) for leaf in tree.leaves(tree.container_items, value)):
        tensor = value if isinstance(value, dk.Tensor) else dk.stack([dk.asarray(array(member)) for member in value])
        return np.array(tensor, *args, **kwargs) if args or kwargs else tensor
    return np.array(value, *args, **kwargs)


def stack(arrays: Any, axis: int = 0) -> Any:
    """Return arrays side by side, those of an iterator as well."""
    return np.stack([array(x) for x in arrays], axis)


def of_lists(function: Any) -> Any:
    """Return a function of NumPy's that takes a list of tensors for its array."""
    return lambda x, *args, **kwargs: function(array(x) if type(x) in (list, tuple) else x, *args, **kwargs)


OWN = {
    "array": array,
    "stack": stack,
    **{function.__name__: of_lists(function) for function in (np.mean, np.std, np.var)},
}


def conjugated(value: Any) -> Any:
    """Return containers with the complex conjugate of their arrays: autograd's cotangents are those of PyTorch's."""
    return tree.map_leaves(tree.container_items, np.conj, value)


def make_vjp(function: Any, x: Any) -> Any:
    """Return what pulls cotangents back, and the value."""
    y, pull = func.vjp(function, x)
    return (lambda g: conjugated(pull(conjugated(g))[0])), y


def make_jvp(function: Any, x: Any) -> Any:
    """Return what pushes a tangent forward beside the value."""
    return lambda v: func.jvp(function, (x,), (v,))


class Applied(dk.autograd.Function):
    """A call of a function whose derivatives are what autograd's `defvjp` and `defjvp` say of it."""

    @staticmethod
    def forward(function: Any, kwargs: Any, *args: Any) -> Any:
        plain = [np.asarray(arg)[()] if isinstance(arg, dk.Tensor) else arg for arg in args]
        return tree.map_leaves(tree.container_items, dk.asarray, function.raw(*plain, **kwargs))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.function, ctx.kwargs, *args = inputs
        ctx.tensors = [i for i, arg in enumerate(args) if isinstance(arg, dk.Tensor)]
        ctx.others = [None if i in ctx.tensors else arg for i, arg in enumerate(args)]
        ctx.save_for_backward(output, *(args[i] for i in ctx.tensors))
        ctx.save_for_forward(output, *(args[i] for i in ctx.tensors))

    @staticmethod
    def call_of(ctx: Any) -> tuple[Any, Any, list[Any]]:
        y, *tensors = ctx.saved_tensors
        args = list(ctx.others)
        for i, tensor in zip(ctx.tensors, tensors, strict=True):
            args[i] = tensor
        return ctx.function, y, args

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        function, y, args = Applied.call_of(ctx)
        if function not in function.core.primitive_vjps:
            raise NotImplementedError(f"VJP of {function.__name__} not defined")
        argnums = [i for i in ctx.tensors if ctx.needs_input_grad[i + 2]]
        pulled = function.core.primitive_vjps[function](argnums, y, args, ctx.kwargs)(np.conj(g))
        gradients = dict(zip(argnums, (dk.conj(dk.asarray(gradient)) for gradient in pulled), strict=True))
        return None, None, *(gradients.get(i) for i in range(len(args)))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        function, y, args = Applied.call_of(ctx)
        if function not in function.core.primitive_jvps:
            raise NotImplementedError(f"JVP of {function.__name__} not defined")
        argnums = [i for i, t in enumerate(tangents[2:]) if t is not None]
        given = [tangents[i + 2] for i in argnums]
        return function.core.primitive_jvps[function](argnums, given, y, args, ctx.kwargs)


class Primitive:
    """What autograd's `primitive` makes of a function: one that tensors go through."""

    core: Any = None

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.raw = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, dk.Tensor) for arg in args):
            return Applied.apply(self, kwargs, *args)
        return self.raw(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else functools.partial(self, instance)


def primitive(function: Any) -> Any:
    """Return what stands for a function in traced ones: the function itself where tensors answer it."""
    answer = answer_of(function) if isinstance(function, (np.ufunc, type(np.sum))) else None
    return function if answer and answer.how in ("operation", "composition") else Primitive(function)


def pytest_configure(config: Any) -> None:
    """Enter dispatchkit in the modules of the checkout before the tests import them."""
    sys.path.insert(0, str(config.rootpath))
    core: Any = importlib.import_module("autograd.core")
    importlib.import_module("autograd")
    spaces = importlib.import_module("autograd.numpy.numpy_vspaces")
    kinds = (spaces.ArrayVSpace, spaces.ComplexArrayVSpace)
    core.VSpace.mappings = Spaces(core.VSpace.mappings)
    core.VSpace.register(dk.Tensor, lambda x: kinds[np.iscomplexobj(x)](np.empty(x.shape, x.dtype)))
    operators: Any = importlib.import_module("autograd.differential_operators")
    checks = importlib.import_module("autograd.test_util")
    nary = importlib.import_module("autograd.wrap_util").unary_to_nary
    module: Any
    for module in (core, checks):
        module.make_vjp, module.make_jvp = make_vjp, make_jvp
    operators._make_vjp, operators._make_jvp = make_vjp, make_jvp
    package: Any = sys.modules["autograd"]
    for module in (operators, package):
        module.make_vjp, module.make_jvp = nary(make_vjp), nary(make_jvp)
    Primitive.core = core
    for module in (
        core,
        package,
        *(sys.modules[f"autograd.{name}"] for name in ("tracer", "extend", "numpy.numpy_wrapper")),
    ):
        module.primitive = primitive
    for name in ("numpy", "numpy.linalg", "numpy.fft", "numpy.random"):
        enter(package, name, importlib.import_module(name))
    operators.np = sys.modules["autograd.numpy"]  # it was imported with the package's own


def enter(package: ModuleType, name: str, library: Any) -> None:
    """Let a module of the package be another library's."""
    namespace = Namespace(f"{package.__name__}.{name}", library)
    sys.modules[namespace.__name__] = namespace
    *outer, last = name.split(".")
    setattr(functools.reduce(getattr, outer, package), last, namespace)
