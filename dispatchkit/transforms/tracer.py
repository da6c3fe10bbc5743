"""`Tracer`: tensors that stand for more than one array while a transformation runs.

Forward mode replaces a tensor by a pair of value and tangent, `vmap` by a batch. Each use of a transformation has a
level, later ones a higher one; a call is answered by the highest level among its arguments, which calls the operation
again on what is inside. So transformations nest to any depth, and what is inside may be a plain tensor of a graph, a
subclass, or another tracer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from operator import attrgetter
from typing import Any, ClassVar, NoReturn, Self

from dispatchkit.backends.arrays import foreign, making_with, namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import TransformError
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.steps import decline
from dispatchkit.protocol.types.declaration import Declaration
from dispatchkit.tensor import Tensor

_numbers = itertools.count(1)


class Level(int):
    """The number of one use of a transformation.

    Attributes
    ----------
    ended : whether the function has returned, after which no tensor of this level may be used
    without_tangents : whether its tensors have lost their tangents, and are used without
    """

    ended = False
    without_tangents = False


@contextmanager
def reopen_level(level: int) -> Iterator[None]:
    """Allow tensors of an ended level where a backward pass continues what its transformation began."""
    before = getattr(level, "ended", False)
    if before:
        level.ended = False  # type: ignore[attr-defined]  # a Level
    try:
        yield
    finally:
        if before:
            level.ended = True  # type: ignore[attr-defined]


def new_level() -> Level:
    """Return the level of a transformation that begins, higher than all before."""
    return Level(next(_numbers))


ENDED = (
    "{operation}: a tensor from inside a function under {name} was used after {name} had ended; give it out of the "
    "function as a result or with has_aux, rather than by a variable or a list from elsewhere"
)
# Types of users, which know what they hold, are asked first.
LAST = -1_000_000


class Tracer(Tensor):
    """A tensor that a transformation has put in the place of another.

    Attributes
    ----------
    value : the array inside
    level : of the transformation
    """

    __slots__ = ("level", "value")
    is_tracer = True
    transformation: ClassVar[str] = ""

    value: Any
    level: int

    def __init__(self, value: Any, level: int) -> None:
        self.value = value
        self.level = level
        self._node = self._memory = None

    @classmethod
    def __tensor_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Let the highest level among the arguments answer."""
        if not all(issubclass(other, Storage) for other in types):
            return decline(f"another type holds what {cls.transformation} cannot look into")
        operation = tensor_protocol.operation(func)
        keywords = {}
        if kwargs:
            keywords = dict(kwargs)
        parameters = operation.parameters
        alone = not keywords and len(args) == parameters.positional
        top = top_level(args if alone else [value for _, value in parameters.values(args, keywords)])
        assert top is not None
        if getattr(top.level, "ended", False):
            raise TransformError(ENDED.format(name=cls.transformation, operation=operation.qualified_name))
        if not foreign:
            return top.answer_call(operation, args, keywords)
        with making_with(namespace_of(top._innermost().array)):
            return top.answer_call(operation, args, keywords)

    def answer_call(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let an operation that knows the transformation answer, else its rules and body."""
        result = operation.call_transformed(self, args, kwargs)
        if result is NotImplemented:
            return self.answer(operation, args, kwargs)
        return result

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call in which this level is the highest."""
        raise NotImplementedError

    def rebuilt(self, value: Any) -> Self:
        """Return a tensor of this level around another array."""
        raise NotImplementedError

    def map_values(self, change: Callable[[Any], Any]) -> Self:
        """Return a tensor of this level with every array inside changed."""
        return self.rebuilt(change(self.value))

    def take_in(self, x: Any) -> Any:
        """Return a new tensor, which nothing else holds, as one of this level and of those inside."""
        raise NotImplementedError

    def parts(self) -> tuple[Any, ...]:
        """Return the arrays inside."""
        return (self.value,)

    def _innermost(self) -> Storage:
        return self.value._innermost()  # type: ignore[no-any-return]  # of a tensor

    @property
    def array(self) -> Any:
        """Nothing: who reads a raw array would lose the tangent or the batch.

        Raises
        ------
        TransformError : always
        """
        raise TransformError(
            f"a tensor inside {self.transformation} has no array of its own: write the function in terms of "
            f"dispatchkit's operations, or call the part that needs NumPy outside of {self.transformation}"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.value.shape  # type: ignore[no-any-return]  # a tuple

    dtype = property(attrgetter("value.dtype"), doc="Type of the elements.")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    device = property(attrgetter("value.device"), doc="Where the data is.")

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to what is inside."""
        return bool(self.value.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Raise: the transformation chooses what is differentiated.

        Raises
        ------
        TransformError : always
        """
        name = self.transformation
        raise TransformError(f"requires_grad cannot be set inside {name}; use dispatchkit.func.grad there")

    def backward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: the graph is that of the tensors inside.

        Raises
        ------
        TransformError : always
        """
        raise TransformError(
            f"backward, hooks and retained gradients belong to tensors outside of {self.transformation}; inside, use "
            f"dispatchkit.func.grad or dispatchkit.func.vjp"
        )

    register_hook = register_post_accumulate_grad_hook = retain_grad = backward

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made what is inside."""
        return bool(self.value.is_leaf)

    grad_fn = property(attrgetter("value.grad_fn"), doc="The recorded operation that made what is inside.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(level={self.level}, {self.value!r})"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Self:
        """Return the tensor on a device."""
        return self.map_values(lambda part: part.to_device(device, stream=stream))

    def cpu(self) -> Self:
        """Return the tensor in main memory."""
        return self.map_values(lambda part: part.cpu())

    def is_contiguous(self) -> bool:
        """Return whether the elements lie one after the other in memory."""
        return True

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = self.transformation
        raise TransformError(f"a tensor inside {name} cannot be pickled or copied; it is gone afterwards")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


tensor_protocol.types.records.declare(Tracer, Declaration(priority=LAST))


def top_level(values: Sequence[Any]) -> Tracer | None:
    """Return a tracer of the highest level among arguments, None where there is none."""
    top: Tracer | None = None
    for value in values:
        if isinstance(value, Tracer) and (top is None or value.level > top.level):
            top = value
    return top


def as_tensor(value: Any) -> Any:
    """Return an array or number as a tensor; tensors and array types as they are."""
    if tensor_protocol.types.participates(type(value)):
        return value
    return tensor_namespace.asarray(value)
