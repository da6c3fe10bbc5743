"""What the functionals share: checks that name function and argument, and how bodies call other operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from dispatchkit.backends.arrays import holds_complex
from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.typing import Operation
from dispatchkit.ops.shared import Named, floating, integer
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds

P = ParamSpec("P")
R = TypeVar("R")

# A number for both axes of images, or one for each.
Pair: TypeAlias = int | tuple[int, int]
# A number, which PyTorch's programs may give as a tuple of one.
Single: TypeAlias = int | tuple[int]
# A number for the three axes of volumes, or one for each.
Triple: TypeAlias = int | tuple[int, int, int]
Padding: TypeAlias = Pair | Literal["valid", "same"]


# What arrays are called with this many axes that windows lie on, these axes, and several numbers for them.
KINDS = {1: "sequences", 2: "images", 3: "volumes"}
AXES = {1: "L", 2: "H, W", 3: "D, H, W"}
SEVERAL = {2: "a pair", 3: "a triple"}


def function(**options: Any) -> Callable[[Callable[Concatenate[Any, P], R]], Operation[P, R]]:
    """Declare a function of `dispatchkit.nn.functional`, with the options of `dispatchkit.operation`."""
    return operation(namespace="dispatchkit.nn.functional", **options)


def activation(**options: Any) -> Callable[[Callable[Concatenate[Any, P], R]], Operation[P, R]]:
    """Declare an activation, which computes each element, a real number, by itself; the options are the same."""
    return function(kind=kinds.activation, real=True, gives="float", **options)


def expect(op: Named, parameter: str, shape: tuple[int, ...], right: bool, wanted: str) -> None:
    """Raise if an argument has not the shape that a function is for.

    Parameters
    ----------
    op : that was called
    parameter : name of the argument
    shape : of the argument
    right : whether it is one
    wanted : the shape that would be

    Raises
    ------
    ValueError : naming function, argument, the shape found and the one expected
    """
    if not right:
        raise ValueError(f"{op.__name__}: argument '{parameter}' has shape {shape}, expected {wanted}")


def broadcasts(inner: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return whether an array of a shape can be stretched to another."""
    return len(inner) <= len(shape) and all(n in (1, m) for n, m in zip(inner[::-1], shape[::-1], strict=False))


def real_numbers(op: Named, parameter: str, x: Any) -> None:
    """Raise if an argument is of complex numbers.

    Raises
    ------
    TypeError : naming function, argument and dtype
    """
    if holds_complex(x):
        dtype = getattr(x, "dtype", type(x).__name__)
        raise TypeError(f"{op.__name__}: argument '{parameter}' must be of real numbers, found {dtype}")


def sizes(op: Named, parameter: str, value: Any, axes: int, *, least: int = 1) -> tuple[int, ...]:
    """Return a parameter as an int for each axis: an int, or a sequence of one, counts for all.

    Raises
    ------
    TypeError : if it is neither an int nor a sequence of as many as there are axes
    ValueError : if there are more or fewer, or one is less than `least`
    """
    if type(value) is int and value >= least:
        return (value,) * axes
    several = isinstance(value, Sequence) and not isinstance(value, str)
    if several and axes > 1 and len(value) not in (1, axes):
        raise ValueError(f"{op.__name__}: {parameter} must be an int or {SEVERAL[axes]} of ints, found {value!r}")
    values = value
    if not (several and len(value) in (1, axes)):
        values = (value,)
    numbers = tuple(integer(op, parameter, number, least=least) for number in values)
    if len(numbers) == axes:
        return numbers
    return numbers * axes


def called(xp: Any, op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an operation that the namespace of a body may not have.

    On tensors this is one call, which types can answer and which has one node in the graph, with the operation's own
    derivative; on raw arrays it is the operation's kernel or body.

    Parameters
    ----------
    xp : namespace that computes on the arguments
    op : the operation
    args, kwargs : its arguments
    """
    if xp is tensor_namespace:
        return op(*args, **kwargs)
    return tensor_protocol.operation(op).compute(xp, *args, **kwargs)


def result_of(answer: Any) -> Any:
    """Return the result alone of what gives it with what takes cotangents back, or NotImplemented."""
    if answer is NotImplemented:
        return answer
    return answer[0]


def real_floats(xp: Any, op: Named, x: Any, parameter: str = "x") -> Any:
    """Return an argument as floating-point numbers: integers and booleans in double precision.

    Raises
    ------
    TypeError : for complex numbers, naming operation, argument and dtype
    """
    real_numbers(op, parameter, x)
    if not hasattr(x, "dtype"):
        x = xp.asarray(x)
    return floating(xp, x)
