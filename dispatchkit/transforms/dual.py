"""`Dual`: a tensor and its tangent, for derivatives in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.errors import LostDerivativeError, TransformError
from dispatchkit.protocol.blocks import ContextState, Innermost, innermost_state
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import ArrayParameter, Form
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import like_tensor
from dispatchkit.transforms.tracer import Tracer, as_tensor
from dispatchkit.tree import with_members

# Whether calls give tangents of their results.
tangents_flow: ContextState[Innermost[bool]] = innermost_state("flow of tangents", True)
# Of these kinds are operations that make targets to assign to.
MAKING = (kinds.creation, kinds.random, kinds.conversion, kinds.manipulation, kinds.indexing)


class Dual(Tracer):
    """A tensor with its tangent: the derivative in the direction that forward mode follows.

    Parameters
    ----------
    value : the tensor
    tangent : of the shape and dtype of `value`; None stands for zeros
    level : of the transformation
    """

    __slots__ = ("tangent",)
    transformation = "jvp"

    tangent: Any

    def __init__(self, value: Any, tangent: Any, level: int) -> None:
        super().__init__(value, level)
        self.tangent = tangent

    def rebuilt(self, value: Any) -> Self:
        """Return a tensor of this level without a tangent."""
        return type(self)(value, None, self.level)

    def take_in(self, x: Any) -> Self:
        """Return a new tensor as one of this level, whose tangent is zero."""
        return self.rebuilt(like_tensor(self.value, x))

    def parts(self) -> tuple[Any, ...]:
        """Return value and tangent."""
        if self.tangent is None:
            return (self.value,)
        return self.value, self.tangent

    def map_values(self, change: Callable[[Any], Any]) -> Self:
        """Return a dual of this level with value and tangent changed."""
        tangent = None
        if self.tangent is not None:
            tangent = change(self.tangent)
        return type(self)(change(self.value), tangent, self.level)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, tangent={self.tangent!r})"

    def detach(self) -> Any:
        """Return the value without its tangent, outside the graph."""
        return self.value.detach()

    def item(self) -> Any:
        """Return the one element as a Python number, which has no tangent.

        Raises
        ------
        LostDerivativeError : if the tensor has one
        """
        return self._without_tangent("item").item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers; raise as `item` does."""
        return self._without_tangent("tolist").tolist()

    def _without_tangent(self, called: str) -> Any:
        if self.tangent is not None and not getattr(self.level, "without_tangents", False):
            raise LostDerivativeError(called, self.transformation)
        return self.value

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call on the values, and the tangent of its result by the operation's rules.

        What is made in the likeness of this tensor is of its level, so that it can be assigned to.
        """
        y = self._compute(operation, args, kwargs)
        if operation.kind not in MAKING or not isinstance(y, Tensor) or getattr(self.level, "without_tangents", False):
            return y
        if isinstance(y, Tracer) and y.level >= self.level:
            return y
        if operation.kind is not kinds.creation and not is_inexact(y.dtype):
            return y
        return Dual(y, None, self.level)

    def _compute(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call, which is a plain one where no tangent flows to it."""
        level = self.level
        if getattr(level, "without_tangents", False) or not tangents_flow.get().value:
            values, keywords = operation.parameters.replace(args, kwargs, lambda _, x: value_at(x, level))
            return operation.function(*values, **keywords)
        special = SPECIAL.get(operation.qualified_name)
        if special is not None:
            return special(level, *args, **kwargs)
        if not isinstance(operation, DeclaredOperation) or operation.composite:
            # Its inner calls carry the tangents.
            body = operation.decomposition()
            if body is None:
                name = operation.qualified_name
                raise TransformError(f"jvp: {name} has neither rules for tangents nor a body to follow")
            return body(*args, **kwargs)
        values, keywords = operation.parameters.replace(args, kwargs, lambda _, x: value_at(x, level))
        if not operation.differentiable:
            return operation.function(*values, **keywords)
        tangents = _tangents(operation, args, kwargs, level)
        call = operation.function
        y = call(*values, **keywords)
        if not tangents:
            return y
        return _pair(y, operation.derivative.push(call, tensor_namespace, y, values, keywords, tangents), level)


def value_at(x: Any, level: int) -> Any:
    """Return the value of a tensor that is dual at a level, and anything else as it is."""
    if isinstance(x, Tracer):
        if x.level == level:
            return x.value
        if x.level > level:
            return x.map_values(lambda one: value_at(one, level))
    return x


def tangent_at(x: Any, level: int) -> Any:
    """Return the tangent of a tensor that is dual at a level, None where it has none."""
    if isinstance(x, Dual) and x.level == level:
        return x.tangent
    return None


def _pair(y: Any, t: Any, level: int) -> Any:
    """Return a result, or each of several, with its tangent."""
    if isinstance(y, (tuple, list)):
        members = [member if part is None else Dual(member, part, level) for member, part in zip(y, t, strict=True)]
        return with_members(y, members)
    if t is None:
        return y
    return Dual(y, t, level)


def _tangents(
    operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], level: int
) -> list[tuple[ArrayParameter, Any]]:
    """Return the array parameters whose arguments have tangents, with these."""
    tangents: list[tuple[ArrayParameter, Any]] = []
    for p in operation.parameters.arrays:
        if p.form is Form.INDEX:
            continue
        argument = p.find(args, kwargs)
        if p.form is Form.ONE or not p.holds_several(argument):
            t: Any = tangent_at(argument, level)
            if t is not None:
                tangents.append((p, t))
        else:
            parts = [tangent_at(member, level) for member in argument]
            if any(part is not None for part in parts):
                tangents.append((p, parts))
    return tangents


def _assign(level: int, x: Any, key: Any, value: Any) -> None:
    """Assign value and tangent; `x` must be dual if `value` is."""
    if isinstance(key, tuple):
        key = tuple(value_at(part, level) for part in key)
    else:
        key = value_at(key, level)
    t = tangent_at(value, level)
    if not (isinstance(x, Dual) and x.level == level):
        if t is not None:
            raise TransformError(
                "setitem: a value with a tangent cannot be assigned into a tensor made outside of what jvp follows; "
                "make the target with zeros_like of an input, or use index_put"
            )
        tensor_namespace.setitem(x, key, value_at(value, level))
        return
    tangent = x.tangent
    if tangent is not None or t is not None:
        if _is_shared(x.value):
            raise TransformError(
                "setitem: the tensor shares memory with views of it, whose tangents would become wrong; change a copy "
                "(x = x.clone()), or use index_put"
            )
        before = tangent
        if tangent is None:
            before = tensor_namespace.zeros_like(x.value)
        written = 0.0
        if t is not None:
            written = t
        tangent = tensor_namespace.index_put(before, key, written)
    tensor_namespace.setitem(x.value, key, value_at(value, level))
    # Others may hold the tangent that was: it is replaced, not changed.
    x.tangent = tangent


def _is_shared(x: Any) -> bool:
    """Return whether another living tensor looks at the memory of one."""
    if isinstance(x, Tracer):
        return any(map(_is_shared, x.parts()))
    return x._memory is not None and bool(x._memory.relatives(x))


def _as_dual(level: int, obj: Any, /, **kwargs: Any) -> Any:
    """Convert value and tangent; of a list, stack its members."""
    if isinstance(obj, (list, tuple)):
        return tensor_namespace.asarray(tensor_namespace.stack([as_tensor(member) for member in obj]), **kwargs)
    t = tangent_at(obj, level)
    y = tensor_namespace.asarray(value_at(obj, level), **kwargs)
    tangent = None
    if t is not None:
        tangent = tensor_namespace.asarray(t, **kwargs)
    return Dual(y, tangent, level)


SPECIAL: dict[str, Callable[..., Any]] = {"dispatchkit.setitem": _assign, "dispatchkit.asarray": _as_dual}
assert tensor_protocol.operations.keys() >= SPECIAL.keys()
