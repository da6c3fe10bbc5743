"""Types each of which has one fault, and the check that is to name it.

All derive from `Box`, which is in order: one rule computes every operation on the tensor inside. A broken type has one
rule or method that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import dispatchkit as dk

# For each broken type the check that names its fault.
FAULTS: dict[type, str] = {}


@dk.array_type(fields=("data", "tag"))
class Box(dk.ArrayMethods):
    def __init__(self, data: Any, tag: str = "m") -> None:
        self.data = data if isinstance(data, dk.Tensor) else dk.asarray(data)
        self.tag = tag

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> dk.Tensor:
        return self.data

    def filled(self, data: Any) -> Any:
        return type(self)(data, self.tag)


@dk.implements(dk.kinds.all, Box)
def on_the_inside(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    first: list[Box] = []

    def opened(name: str, value: Any) -> Any:
        if not isinstance(value, Box):
            return value
        first.append(value)
        return value.data

    args, kwargs = dk.tensor_protocol.map_arguments(op, args, kwargs, opened)
    return dk.tensor_protocol.types.map_arrays(op(*args, **kwargs), first[0].filled)


def fault(check: str) -> Callable[[type], type]:
    """Enter a type with the check that is to find it."""

    def enter(cls: type) -> type:
        FAULTS[cls] = check
        return cls

    return enter


@fault("raises")
class Raises(Box):
    pass


@dk.implements(dk.exp)
def exp_raises(x: Raises, /) -> Any:
    raise ValueError("exp of a box")


@fault("shape")
class Shape(Box):
    pass


@dk.implements(dk.exp)
def exp_shape(x: Shape, /) -> Any:
    return x.filled(dk.expand_dims(dk.exp(x.data), axis=0))


@fault("value")
class Value(Box):
    pass


@dk.implements(dk.exp)
def exp_value(x: Value, /) -> Any:
    return x.filled(2 * dk.exp(x.data))


@fault("value")
class NoArray(Box):
    pass


@dk.implements(dk.exp)
def exp_no_array(x: NoArray, /) -> Any:
    return "exp"


@fault("dtype")
class DType(Box):
    pass


@dk.implements(dk.exp)
def exp_dtype(x: DType, /) -> Any:
    return x.filled(dk.astype(dk.exp(x.data), dk.float32))


@fault("keywords")
class Keeps(Box):
    pass


@dk.implements(dk.sum)
def sum_keeps(x: Keeps, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return x.filled(dk.sum(x.data, axis=axis, dtype=dtype))


@fault("keywords")
class Correction(Box):
    pass


@dk.implements(dk.var)
def var_correction(x: Correction, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return x.filled(dk.var(x.data, axis=axis, keepdims=keepdims))


@fault("mutation")
class Mutates(Box):
    pass


@dk.implements(dk.exp)
def exp_mutates(x: Mutates, /) -> Any:
    x.data = dk.exp(x.data)
    return x.filled(x.data)


@fault("mutation")
class MutatesTag(Box):
    pass


@dk.implements(dk.exp)
def exp_mutates_tag(x: MutatesTag, /) -> Any:
    tag, x.tag = x.tag, "exp"
    return type(x)(dk.exp(x.data), tag)


@fault("metadata")
class Forgets(Box):
    pass


@dk.implements(dk.exp)
def exp_forgets(x: Forgets, /) -> Any:
    return Forgets(dk.exp(x.data), "")


@fault("metadata")
class Unwraps(Box):
    pass


@dk.implements(dk.exp)
def exp_unwraps(x: Unwraps, /) -> Any:
    return dk.exp(x.data)


@fault("repeat")
class Counts(Box):
    calls: ClassVar[int] = 0


@dk.implements(dk.exp)
def exp_counts(x: Counts, /) -> Any:
    Counts.calls += 1
    return x.filled(dk.exp(x.data) * (1 + 1e-10 * Counts.calls))


@fault("gradient")
class NumPyInside(Box):
    pass


@dk.implements(dk.exp)
def exp_numpy_inside(x: NumPyInside, /) -> Any:
    return x.filled(np.exp(x.data.detach().numpy()))


@fault("gradient")
class HalfGradient(Box):
    pass


@dk.implements(dk.multiply)
def multiply_half_gradient(x1: HalfGradient, x2: HalfGradient, /) -> Any:
    return x1.filled(x1.data * x2.data.detach())


@fault("gradient")
class NumPyDense(Box):
    def to_dense(self) -> dk.Tensor:
        dense: dk.Tensor = dk.asarray(self.data.detach().numpy())
        return dense


@fault("forward")
class OnlyBackward(Box):
    pass


class Exp(dk.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return dk.exp(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 2 * t


@dk.implements(dk.exp)
def exp_only_backward(x: OnlyBackward, /) -> Any:
    return x.filled(Exp.apply(x.data))


@fault("vmap")
class Branches(Box):
    pass


@dk.implements(dk.exp)
def exp_branches(x: Branches, /) -> Any:
    return x.filled(dk.exp(x.data) if dk.all(x.data < 100) else dk.exp(x.data) + 0)


@fault("companions")
class Doubles(Box):
    pass


@dk.implements(dk.add)
def add_doubles(x1: Doubles, x2: dk.Tensor, /) -> Any:
    return x1.filled(x1.data + 2 * x2)


@fault("companions")
class ForgetsBesideNumbers(Box):
    pass


@dk.implements(dk.add)
def add_forgets(x1: ForgetsBesideNumbers, x2: float, /) -> Any:
    return ForgetsBesideNumbers(x1.data + x2, "")


@fault("foreign")
class Presumes(Box):
    pass


@dk.implements(dk.add, Presumes)
def add_presumes(x1: Any, x2: Any, /) -> Any:
    box = x1 if isinstance(x1, Box) else x2
    values: Any = [x if isinstance(x, (dk.Tensor, int, float, complex, np.generic)) else x.data for x in (x1, x2)]
    return box.filled(dk.add(*values))


@fault("foreign")
class OwnOperator(Box):
    def __add__(self, other: Any) -> Any:
        if type(other).__name__ == "Foreigner":
            raise AttributeError("no data")
        return dk.add(self, other) if type(other) is not object else NotImplemented


@fault("operators")
class Negation(Box):
    def __neg__(self) -> Any:
        return dk.positive(self)


@fault("operators")
class Equality(Box):
    def __eq__(self, other: object) -> Any:
        return isinstance(other, Equality) or NotImplemented

    __hash__ = object.__hash__


@fault("reflected")
class Reflected(Box):
    def __rsub__(self, other: Any) -> Any:
        return dk.subtract(self, other)


@fault("inplace")
class InPlace(Box):
    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return dk.subtract(self, other)


@fault("inplace")
class InPlaceElsewhere(Box):
    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        made = dk.add(self, other)
        other.data = made.data
        return made


@fault("methods")
class Method(Box):
    def exp(self) -> Any:
        return dk.negative(self)


@fault("asyncio")
class Latest(Box):
    """Results read their elements from a place that they share."""

    latest: ClassVar[Any] = None

    def __init__(self, data: Any, tag: str = "m", lazy: bool = False) -> None:
        super().__init__(data, tag)
        self.lazy = lazy

    def to_dense(self) -> dk.Tensor:
        return self.latest if self.lazy else self.data


@dk.implements(dk.exp)
def exp_latest(x: Latest, /) -> Any:
    Latest.latest = dk.exp(x.data)
    return Latest(Latest.latest, x.tag, lazy=True)


@fault("threads")
class Scratch(Box):
    scratch: ClassVar[Any] = None


@dk.implements(dk.exp)
def exp_scratch(x: Scratch, /) -> Any:
    Scratch.scratch = dk.exp(x.data)
    return x.filled(Scratch.scratch)


@fault("assignment")
class Ignores(Box):
    def __setitem__(self, key: Any, value: Any) -> None:
        pass


@fault("copy")
class Copies(Box):
    def __copy__(self) -> Any:
        return type(self)(self.data, "")


@fault("deepcopy")
class Shares(Box):
    def __deepcopy__(self, memo: Any) -> Any:
        return self.filled(self.data)


@fault("pickle")
class Unpicklable(Box):
    def __init__(self, data: Any, tag: str = "m") -> None:
        super().__init__(data, tag)
        self.shown = lambda: tag


@fault("repr")
class Unprintable(Box):
    def __repr__(self) -> str:
        return str(self.date)  # type: ignore[attr-defined]


@fault("programs")
class Remembering(Box):
    is_exp = False


@dk.implements(dk.exp)
def exp_remembered(x: Remembering, /) -> Any:
    made = x.filled(dk.exp(x.data))
    made.is_exp = True
    return made


@dk.implements(dk.sum)
def sum_of_exp(x: Remembering, /) -> Any:
    return x.filled(dk.sum(x.data) * (2.0 if x.is_exp else 1.0))
