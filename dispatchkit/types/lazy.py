"""`LazyTensor`: an array that records elementwise operations and computes them together, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dispatchkit import autograd, ops
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.tensor import ArrayMethods, Tensor

__all__ = ["LazyTensor"]

implements = tensor_protocol.implements
# Elements that are computed at a time: the operands and results of a chain stay in the processor's cache.
BLOCK = 65536
# Operations that are recorded before an array is computed, so that a loop does not record without end.
LONGEST = 64
NAMES = (
    *("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "negative"),
    *("positive", "abs", "sign", "square", "sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "hypot"),
    *("logaddexp", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh"),
    *("atanh", "floor", "ceil", "trunc", "conj", "copysign", "isfinite", "isinf", "isnan", "signbit"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor"),
)
UFUNCS: dict[Any, Any] = {getattr(ops, name): getattr(np, name) for name in NAMES}
REDUCTIONS: dict[Any, Any] = {ops.sum: np.add, ops.max: np.maximum, ops.min: np.minimum, ops.any: np.logical_or}
REDUCTIONS[ops.all] = np.logical_and


# After all other types, so that the order of the arguments does not decide who answers.
@tensor_protocol.array_type(fallback=fallback.refuse, priority=-1, fields=("data",), dense="evaluate")
class LazyTensor(ArrayMethods):
    """An array that records elementwise operations, and computes a chain of them together when its elements are needed.

    Parameters
    ----------
    data : tensor, or what `asarray` makes one of

    Notes
    -----
    A chain such as ``(a + b) * a - b`` is computed in blocks of 65536 elements by NumPy's functions with ``out=``, so
    that only its operands are read from memory and its result is written to it; sums, extrema, `any` and `all` over
    everything read the blocks as they come. dtypes are NumPy's. Other operations compute their operands first. Every
    result is a `LazyTensor`; `evaluate` gives the tensor. Small arrays, arrays of other libraries than NumPy, and
    arrays that require gradients or are inside a transformation, are computed at once, one operation after the other.
    An operand that is changed in place through dispatchkit before a chain is computed is an error; changes through
    NumPy are not seen. Source: the blocked evaluation of numexpr.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> a = dk.types.LazyTensor(dk.ones(100_000))
    >>> y = (a + 1) * a - 0.5
    >>> y
    LazyTensor(3 operations recorded, shape=(100000,), dtype=float64)
    >>> y.sum().item()
    150000.0
    """

    def __init__(self, data: Any) -> None:
        self._call: _Call | None = None
        self._data: Tensor | None = data if isinstance(data, Tensor) else ops.asarray(data)

    @property
    def data(self) -> Tensor:
        """Elements, computed if they are not yet.

        Raises
        ------
        RuntimeError : if an operand was changed in place since its operation was recorded
        """
        if self._call is not None:
            result = np.empty(self.shape, dtype=self.dtype)
            for _ in _Program(self._call).run(result):
                pass
            self.data = ops.asarray(result)
        return self._data  # type: ignore[return-value]  # computed now

    @data.setter
    def data(self, value: Any) -> None:
        self._call, self._data = None, value

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._data.shape if self._call is None else self._call.shape  # type: ignore[union-attr]  # one is there

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self._data.dtype if self._call is None else self._call.sample.dtype  # type: ignore[union-attr]

    @property
    def recorded(self) -> int:
        """Number of operations that are recorded and not computed yet."""
        return 0 if self._call is None else self._call.count

    def evaluate(self) -> Tensor:
        """Return the elements as a plain tensor, computed if they are not yet.

        Raises
        ------
        RuntimeError : if an operand was changed in place since its operation was recorded
        """
        return self.data

    def detach(self) -> LazyTensor:
        """Return the array outside the graph."""
        return LazyTensor(self.data.detach())

    def to(self, *args: Any, **kwargs: Any) -> LazyTensor:
        """Return the array in another dtype or library, or on a device, as `Tensor.to` does."""
        return LazyTensor(self.data.to(*args, **kwargs))

    def __getstate__(self) -> dict[str, Any]:
        return {"_data": self.data, "_call": None}

    def __repr__(self) -> str:
        if self._call is None:
            return f"LazyTensor({self._data!r})"
        return f"LazyTensor({self.recorded} operations recorded, shape={self.shape}, dtype={self.dtype})"


class _Call:
    """A recorded operation: its operands with their versions, and its result on operands of one element."""

    def __init__(self, op: Any, args: list[Any]) -> None:
        self.op, self.ufunc = op, UFUNCS[op]
        if op is ops.pow and type(args[1]) is int and args[1] == 2:
            self.ufunc, args = np.square, args[:1]  # the same numbers, as NumPy's ``**`` computes them
        self.args = [arg._call or arg._data if _is_lazy(arg) else arg for arg in args]
        self.versions = [arg._version if isinstance(arg, Tensor) else None for arg in self.args]
        self.shape = np.broadcast_shapes(*(getattr(arg, "shape", ()) for arg in args))
        self.sample = self.ufunc(*map(_sample, self.args))
        self.count: int = 1 + sum(arg.count for arg in self.args if isinstance(arg, _Call))


def _is_lazy(value: Any) -> bool:
    return isinstance(value, LazyTensor)


def _sample(arg: Any) -> Any:
    return np.ones((1,), dtype=arg.dtype) if isinstance(arg, Tensor) else getattr(arg, "sample", arg)


class _Program:
    """The operations of a chain in order, each with the places of its operands and of its result.

    Places are those of whole operands first, cut into blocks, then of numbers, then of buffers, the length of a block.
    A buffer is used again once its content is not needed any more.
    """

    def __init__(self, last: _Call) -> None:
        self.last = last
        calls = list(dict.fromkeys(_in_order(last)))
        uses = {id(arg): index for index, call in enumerate(calls) for arg in call.args if isinstance(arg, _Call)}
        self.operands: list[Any] = []
        self.constants: list[Any] = []
        self.buffers: list[Any] = []  # dtypes
        self.steps: list[tuple[Any, list[Any], Any]] = []
        places: dict[int, Any] = {}
        free: list[int] = []
        for index, call in enumerate(calls):
            inputs = [self._place(call, number, places) for number in range(len(call.args))]
            last_used = {id(arg) for arg in call.args if isinstance(arg, _Call) and uses[id(arg)] == index}
            free += [places[key][1] for key in last_used]
            if call is last:
                self.steps.append((call.ufunc, inputs, ("result", 0)))
                break
            found = next((buffer for buffer in free if self.buffers[buffer] == call.sample.dtype), None)
            if found is None:
                found = len(self.buffers)
                self.buffers.append(call.sample.dtype)
            else:
                free.remove(found)
            places[id(call)] = ("buffers", found)
            self.steps.append((call.ufunc, inputs, places[id(call)]))

    def _place(self, call: _Call, number: int, places: dict[int, Any]) -> Any:
        arg = call.args[number]
        if isinstance(arg, Tensor) and arg._version != call.versions[number]:
            raise RuntimeError(
                f"LazyTensor: operand {number} of a recorded {call.op.__name__}, of shape {arg.shape}, was changed in "
                f"place before it was computed; call evaluate() before the change, or record on a clone"
            )
        if id(arg) not in places:
            held = self.operands if isinstance(arg, Tensor) else self.constants
            held.append(arg.array if isinstance(arg, Tensor) else arg)
            places[id(arg)] = ("operands" if isinstance(arg, Tensor) else "constants", len(held) - 1)
        return places[id(arg)]

    def run(self, result: Any) -> Iterator[Any]:
        """Yield the blocks of the result as they are computed; without a whole result, in one buffer."""
        shape = self.last.shape
        flat = all(x.shape == shape and x.flags.c_contiguous for x in self.operands if x.ndim)
        if flat:
            operands = [x.reshape(-1) if x.ndim else x for x in self.operands]
            length, step = int(np.prod(shape)), BLOCK
            result = None if result is None else result.reshape(-1)
        else:
            operands = [np.broadcast_to(x, shape) if x.ndim else x for x in self.operands]
            length, step = shape[0], max(1, BLOCK * shape[0] // int(np.prod(shape)))
        inner = () if flat else shape[1:]
        step = min(step, length)
        buffers = [np.empty((step, *inner), dtype=dtype) for dtype in self.buffers]
        own = np.empty((step, *inner), dtype=self.last.sample.dtype) if result is None else None
        for start in range(0, length, step):
            stop = min(start + step, length)
            size = stop - start
            held = {
                "operands": [x[start:stop] if x.ndim else x for x in operands],
                "constants": self.constants,
                "buffers": [x[:size] for x in buffers],
                "result": [own[:size] if result is None else result[start:stop]],  # type: ignore[index]
            }
            for ufunc, inputs, (kind, place) in self.steps:
                ufunc(*(held[one][at] for one, at in inputs), out=held[kind][place])
            yield held["result"][0]


def _in_order(call: _Call) -> Iterator[_Call]:
    """Yield the calls of a chain, operands before what is computed with them."""
    for arg in call.args:
        if isinstance(arg, _Call):
            yield from _in_order(arg)
    yield call


@implements(kinds.elementwise, LazyTensor)
def record(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Record an operation on large arrays of NumPy that nothing differentiates."""
    if op not in UFUNCS or kwargs:
        return decline("it is no function of NumPy's that takes out=")
    given = [ops.asarray(arg) if isinstance(arg, (np.ndarray, np.generic)) else arg for arg in args]
    if not all(map(_is_plain, given)):
        return decline("arrays of other libraries, and those that are differentiated, are computed at once")
    try:
        call = _Call(op, given)
    except (TypeError, ValueError, OverflowError):
        return decline("NumPy's function refuses the operands")
    if int(np.prod(call.shape)) < BLOCK or call.count > LONGEST:
        return decline("small arrays, and chains that are long enough, are computed at once")
    if call.sample.dtype != op(*map(_small, given)).dtype:
        return decline("NumPy's function gives another dtype")
    made = LazyTensor.__new__(LazyTensor)
    made._data, made._call = None, call
    return made


def _small(arg: Any) -> Any:
    return ops.ones((1,), dtype=arg.dtype) if hasattr(arg, "dtype") else arg


def _is_plain(arg: Any) -> bool:
    tensor = arg._data if _is_lazy(arg) else arg
    if not isinstance(tensor, Tensor):
        return _is_lazy(arg) or type(tensor) in (int, float, complex, bool)
    if tensor.is_tracer or (tensor.requires_grad and autograd.is_grad_enabled()):
        return False
    return type(tensor) is Tensor and isinstance(tensor.array, np.ndarray)


@implements(kinds.all, LazyTensor)
def compute(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute the operands, then the operation."""
    args, kwargs = tensor_protocol.map_arguments(
        op, args, kwargs, lambda name, value: value.data if _is_lazy(value) else value
    )
    return tensor_protocol.types.map_arrays(
        op(*args, **kwargs), lambda array: LazyTensor(array) if isinstance(array, Tensor) else array
    )


@implements(kinds.reduction, LazyTensor)
def reduce_blocks(op: Any, x: LazyTensor, /) -> Any:
    """Reduce a chain over everything, block by block, without an array of its elements."""
    if op not in REDUCTIONS or x._call is None or x.dtype.char not in "bB?fdilqFD":
        return decline("the elements are computed first")
    parts = np.asarray([op(ops.asarray(block)).numpy() for block in _Program(x._call).run(None)])
    return LazyTensor(ops.asarray(REDUCTIONS[op].reduce(parts)))
