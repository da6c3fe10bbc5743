"""The libraries that compile: how they trace a function of arrays, and how arrays go in and out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import dtype_name, namespace_of
from dispatchkit.declare.inplace import touch
from dispatchkit.errors import CompileError

Pure = Callable[..., list[Any]]
# Where the text of a program of JAX does not say which constants or functions it has.
UNSAID = re.compile(r"\{ lambda [^;]|\[\.\.\.\]|0x")


class Backend:
    """A library that compiles functions of its arrays.

    Attributes
    ----------
    name : as `compile` takes it
    package : that has to be installed
    writes : whether new elements are written to the memory of arrays, rather than new arrays taken over
    known : types of what goes in as it is
    _programs : by what they compute, for a step that finds gradients often computes what it computes without
    """

    name: str
    package: str
    writes = False

    def __init__(self) -> None:
        self.known: set[type] = set()
        self._programs: dict[Any, Callable[..., Sequence[Any]]] = {}

    def own(self, array: Any) -> Any:
        """Return a raw array as the library's own, those of NumPy converted.

        Raises
        ------
        CompileError : for an array of another library, or a dtype that the library would round
        """
        if isinstance(array, (np.ndarray, np.generic)):
            converted = self.from_numpy(np.asarray(array))
            if array.ndim and dtype_name(converted.dtype) != array.dtype.name:
                raise CompileError(f"{self.package} would round {array.dtype} to {converted.dtype}; {self.wider}")
            return converted
        if namespace_of(array).__name__.partition(".")[0] != self.package:
            raise CompileError(
                f"an array is of {namespace_of(array)!r}, which backend={self.name!r} does not compile; give the "
                f"backend of that library, or move the array"
            )
        self.known.add(type(array))
        return array

    wider = "convert it first"

    def from_numpy(self, array: Any) -> Any:
        """Return an array of NumPy's as the library's own."""
        raise NotImplementedError

    def to_numpy(self, array: Any) -> Any:
        """Return an array of the library as NumPy's."""
        return np.asarray(array)

    def mutable(self, array: Any) -> Any:
        """Return an array that the traced function may change."""
        return array

    def rate(self, value: float) -> Any:
        """Return a learning rate as an argument, whose dtype leaves that of other arrays as it is."""
        return value

    def placed(self, array: Any, first: Any) -> Any:
        """Return an array of the state where a program gives it, so that the next call compiles nothing.

        Parameters
        ----------
        array, first : the array, and the first one of the state
        """
        return array

    def result(self, array: Any) -> Any:
        """Return an array that a program gives as it is to be."""
        return array

    def trace(self, pure: Pure, inputs: Sequence[Any]) -> list[bool]:
        """Call a function with arrays that stand for others, and return which of them it reads."""
        raise NotImplementedError

    def compile(self, pure: Pure, inputs: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        """Return a function compiled for arrays such as these."""
        raise NotImplementedError

    def asks_for_values(self, error: Exception) -> bool:
        """Return whether an error says that a value was asked for which nobody knows while a function is traced."""
        raise NotImplementedError

    def is_unknown(self, value: Any) -> bool:
        """Return whether a value that is no array stands for a number that nobody knows yet."""
        return False

    def put(self, tensors: Sequence[Any], arrays: Sequence[Any], stays: bool) -> None:
        """Make arrays of the library those of tensors: in the memory that they have, where that can be changed.

        Parameters
        ----------
        tensors, arrays : the tensors, and the new array of each
        stays : whether arrays of NumPy without axes stay NumPy's, such as counters
        """
        for tensor, array in zip(tensors, arrays, strict=True):
            held = tensor.array
            if isinstance(held, np.ndarray) and (stays or self.writes or held.ndim):
                held[...] = self.to_numpy(array)
            elif self.writes:
                held.copy_(array)
            else:
                tensor.array = array
        touch(*tensors)


class Jax(Backend):
    """`jax.jit`."""

    name = package = "jax"
    wider = 'JAX has wider numbers after jax.config.update("jax_enable_x64", True)'

    def __init__(self) -> None:
        super().__init__()
        import jax  # noqa: PLC0415  # optional dependency

        self.jax = jax
        # A number costs a call more than an array does; weak types, as this one's, are those of numbers.
        self._rate = lru_cache(maxsize=16)(jax.numpy.asarray)

    def from_numpy(self, array: Any) -> Any:
        return self.jax.numpy.asarray(array)

    def rate(self, value: float) -> Any:
        return self._rate(value)

    def placed(self, array: Any, first: Any) -> Any:
        where = array.sharding
        mesh = getattr(getattr(first, "sharding", None), "mesh", None)
        if mesh is not None and not array.committed:
            where = self.jax.sharding.NamedSharding(mesh, self.jax.sharding.PartitionSpec())
        return self.jax.device_put(self.result(array), where)

    def result(self, array: Any) -> Any:
        return self.jax.numpy.asarray(array, dtype=array.dtype)  # of that dtype for good, unlike a Python number

    def trace(self, pure: Pure, inputs: Sequence[Any]) -> list[bool]:
        traced = self.jax.make_jaxpr(pure)(*inputs).jaxpr
        read = set(map(id, chain(traced.outvars, *(equation.invars for equation in traced.eqns))))
        return [id(variable) in read for variable in traced.invars]

    def compile(self, pure: Pure, inputs: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        compiled: Callable[..., Sequence[Any]] = self.jax.jit(pure)
        text = str(compiled.trace(*inputs).jaxpr)  # type: ignore[attr-defined]  # of JAX's
        if not UNSAID.search(text):
            compiled = self._programs.setdefault(text, compiled)
        compiled(*inputs)  # compiled now, so that what is wrong is said here
        return compiled

    def asks_for_values(self, error: Exception) -> bool:
        return isinstance(error, self.jax.errors.JAXTypeError)


class Torch(Backend):
    """`make_fx` and inductor."""

    name = package = "torch"
    writes = True

    def __init__(self) -> None:
        super().__init__()
        import torch  # noqa: PLC0415  # optional dependency
        from torch.fx.experimental import proxy_tensor, symbolic_shapes  # noqa: PLC0415  # optional dependency

        self.torch, self.make_fx, self.symbolic = torch, proxy_tensor.make_fx, symbolic_shapes

    def from_numpy(self, array: Any) -> Any:
        if not array.flags.writeable:
            array = array.copy()
        return self.torch.from_numpy(array)

    def mutable(self, array: Any) -> Any:
        return array.clone()

    def rate(self, value: float) -> Any:
        return self.torch.tensor(value, dtype=self.torch.float64)

    def trace(self, pure: Pure, inputs: Sequence[Any]) -> list[bool]:
        # Constants would be baked in silently with real tensors.
        graph = self.make_fx(pure, tracing_mode="fake")(*inputs).graph
        graph.eliminate_dead_code()  # such as the copies that a step may change
        return [bool(node.users) for node in graph.nodes if node.op == "placeholder"]

    def compile(self, pure: Pure, inputs: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        import torch._inductor  # noqa: PLC0415  # optional dependency

        graph = self.make_fx(pure, tracing_mode="fake")(*inputs)
        key = graph.code, *((x.shape, x.stride(), x.dtype, x.device) for x in inputs)
        if key not in self._programs or any(node.op == "get_attr" for node in graph.graph.nodes):
            self._programs[key] = torch._inductor.compile(graph, list(inputs))
        return self._programs[key]

    def asks_for_values(self, error: Exception) -> bool:
        from torch._subclasses import fake_tensor  # noqa: PLC0415  # optional dependency

        kinds = (self.symbolic.GuardOnDataDependentSymNode, fake_tensor.UnsupportedFakeTensorException)
        return isinstance(error, kinds) or "not supported for tensor subclasses" in str(error)

    def is_unknown(self, value: Any) -> bool:
        return isinstance(value, (self.torch.SymInt, self.torch.SymFloat, self.torch.SymBool))


BACKENDS: dict[str, type[Backend]] = {"jax": Jax, "torch": Torch}


def backend_named(name: str) -> Backend:
    """Return a library that compiles.

    Raises
    ------
    ValueError : for another name
    ImportError : if it is not installed
    """
    if name not in BACKENDS:
        raise ValueError(f"compile: backend must be 'jax' or 'torch', found {name!r}")
    try:
        return BACKENDS[name]()
    except ImportError as error:
        raise ImportError(f"compile: backend={name!r} needs {name}: pip install {name}") from error
