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


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Return two arrays one after the other, lists of tensors as well."""
    return np.append(array(arr), array(values), axis)


class Joined:
    """What joins what it is indexed with as NumPy's object does, of tensors element by element."""

    def __init__(self, joined: Any) -> None:
        self.joined = joined

    def __getitem__(self, key: Any) -> Any:
        keys = tuple(self.elements(part) for part in key) if isinstance(key, tuple) else self.elements(key)
        result = self.joined[keys]
        return array(result.tolist()) if result.dtype == object else result

    @staticmethod
    def elements(part: Any) -> Any:
        """Return a tensor as an array of its elements, anything else as it is."""
        if not isinstance(part, dk.Tensor):
            return part
        elements = np.empty(part.shape, object)
        for index in np.ndindex(*part.shape):
            elements[index] = part[index]
        return elements


def make_diagonal(x: Any, axis1: int, axis2: int) -> Any:
    """Return the matrices that have an array on their diagonals."""
    if (axis1, axis2) != (-1, -2):
        raise NotImplementedError("make_diagonal: the last axes are those of the matrices")
    matrix = dk.types.DiagonalTensor(x).to_dense()
    return matrix if isinstance(x, dk.Tensor) else np.asarray(matrix)


OWN = {
    "T": lambda x: np.swapaxes(x, -1, -2),
    "_dot": np.matmul,
    "append": append,
    "array": array,
    "c_": Joined(np.c_),
    "make_diagonal": make_diagonal,
    "r_": Joined(np.r_),
    "stack": stack,
    **{function.__name__: of_lists(function) for function in (np.mean, np.std, np.var, np.linalg.norm)},
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


FIRST = 4  # the place of the first leaf among the arguments of `Applied`


def with_leaves(like: Any, leaves: Any) -> Any:
    """Return containers with other leaves, in their order."""
    remaining = iter(leaves)
    return tree.map_leaves(tree.container_items, lambda _: next(remaining), like)


class Applied(dk.autograd.Function):
    """A call of a function whose derivatives are what autograd's `defvjp` and `defjvp` say of it."""

    @staticmethod
    def forward(function: Any, kwargs: Any, owners: Any, like: Any, *leaves: Any) -> Any:
        plain = [np.asarray(leaf)[()] if isinstance(leaf, dk.Tensor) else leaf for leaf in leaves]
        return tree.map_leaves(tree.container_items, dk.asarray, function.raw(*with_leaves(like, plain), **kwargs))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.function, ctx.kwargs, ctx.owners, ctx.like, *leaves = inputs
        ctx.tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, dk.Tensor)]
        ctx.others = [None if i in ctx.tensors else leaf for i, leaf in enumerate(leaves)]
        ctx.save_for_backward(output, *(leaves[i] for i in ctx.tensors))
        ctx.save_for_forward(output, *(leaves[i] for i in ctx.tensors))

    @staticmethod
    def call_of(ctx: Any) -> tuple[Any, Any, list[Any]]:
        y, *tensors = ctx.saved_tensors
        leaves = list(ctx.others)
        for i, tensor in zip(ctx.tensors, tensors, strict=True):
            leaves[i] = tensor
        return ctx.function, y, with_leaves(ctx.like, leaves)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        function, y, args = Applied.call_of(ctx)
        if function not in function.core.primitive_vjps:
            raise NotImplementedError(f"VJP of {function.__name__} not defined")
        argnums = sorted({ctx.owners[i] for i in ctx.tensors if ctx.needs_input_grad[i + FIRST]})
        pulled = function.core.primitive_vjps[function](argnums, y, args, ctx.kwargs)(np.conj(g))
        leaves = tree.leaves(tree.container_items, list(pulled))
        places = [i for i, owner in enumerate(ctx.owners) if owner in argnums]
        gradients = dict(zip(places, (dk.conj(dk.asarray(leaf)) for leaf in leaves), strict=True))
        return *[None] * FIRST, *(
            gradients[i] if i in ctx.tensors and i in gradients else None for i in range(len(ctx.owners))
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        function, y, args = Applied.call_of(ctx)
        if function not in function.core.primitive_jvps:
            raise NotImplementedError(f"JVP of {function.__name__} not defined")
        argnums = [ctx.owners[i] for i, t in enumerate(tangents[FIRST:]) if t is not None]
        pushed = [t for t in tangents[FIRST:] if t is not None]
        return function.core.primitive_jvps[function](argnums, pushed, y, args, ctx.kwargs)


class Primitive:
    """What autograd's `primitive` makes of a function: one that tensors go through."""

    core: Any = None

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.raw = function
        self.defgrad = self.core.deprecated_defgrad(self)
        self.defvjp = self.core.deprecated_defvjp(self)
        self.defvjp_is_zero = self.core.deprecated_defvjp_is_zero(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = [list(tree.leaves(tree.container_items, arg)) for arg in args]
        if any(isinstance(leaf, dk.Tensor) for of_one in leaves for leaf in of_one):
            owners = [i for i, of_one in enumerate(leaves) for _ in of_one]
            like = with_leaves(list(args), owners)
            return Applied.apply(self, kwargs, owners, like, *(leaf for of_one in leaves for leaf in of_one))
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
    # Of it the code stays, with NumPy's function in the place of the one that it wraps.
    sys.modules["autograd.numpy"].__dict__["_original_where"] = np.where
    OWN["where"] = sys.modules["autograd.numpy"].__dict__["custom_where"]
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
