"""`vmap`: a function of one array made a function of many."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar, cast

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.random_state import Drawer, drawer, drawing_by
from dispatchkit.declare.variables import is_array
from dispatchkit.errors import RandomnessError
from dispatchkit.func.containers import arrays_of, as_array, describe, result_and_aux, zip_containers
from dispatchkit.ops.shared import normal_axis
from dispatchkit.protocol.frames import hides_frames
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import call_meant
from dispatchkit.transforms import Batched
from dispatchkit.transforms.batched import ActiveBatch, active, in_batch, in_front, of_elements
from dispatchkit.transforms.tracer import new_level

F = TypeVar("F", bound=Callable[..., Any])
Randomness: TypeAlias = Literal["error", "same", "different"]


def _with_hints(function: F) -> F:
    """Return a function that says what a keyword of another library is called here."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def hinting(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() - signature.parameters.keys():
            meant = call_meant(function.__name__, signature, args, {name: None})
            text = f"{function.__name__}: got an unexpected keyword argument '{name}'"
            if meant:
                text = f"{text}; {meant}"
            raise TypeError(text)
        return function(*args, **kwargs)

    return cast("F", hinting)


@_with_hints
def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Randomness = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes another for each element of a batch, all at once.

    Parameters
    ----------
    func : takes and gives tensors, containers of them, or declared array types, of one element
    in_dims : the axis of each argument along which the batch lies, None where all elements share it; one for all
        arguments, or a tuple with an entry for each, itself a container where the argument is one
    out_dims : the axis of each output along which the batch is to lie; one for all, or a container like the output
    randomness : what random functions do inside: ``"error"`` raises, ``"same"`` gives all elements the same numbers,
        ``"different"`` gives each its own
    chunk_size : how many elements are computed at once; all by default

    Returns
    -------
    function
        It takes the arguments of `func` with a batch axis where `in_dims` has one.

    Raises
    ------
    ValueError : when called, if batches differ in length, or nothing is batched
    TransformError : when called, if the function asks for the value of a batch, as ``if x > 0`` does

    Notes
    -----
    Every operation has a rule for batches, or is computed by way of operations that have one; a user's own that has
    neither is called once for each element, with a `LoopWarning`. Keyword arguments are batched along axis 0.
    Source: PyTorch, `torch.func.vmap`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.vmap(dk.dot)(dk.ones((2, 3)), dk.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    tensor([ 6., 15.])
    """
    if randomness not in ("error", "same", "different"):
        raise ValueError(f"vmap: randomness must be 'error', 'same' or 'different', not {randomness!r}")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size must be at least 1, not {chunk_size}")

    @functools.wraps(func)
    @hides_frames
    def call_batched(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_dims, (tuple, list)):
            dims = tuple(in_dims)
        else:
            dims = (in_dims,) * len(args)
        if len(dims) != len(args):
            raise ValueError(f"vmap: in_dims has {len(dims)} entries for {len(args)} arguments")
        moved: list[int] = []
        arguments, dims_of = (args, kwargs), (dims, dict.fromkeys(kwargs, 0))
        fronted = _with_dims(lambda x, dim: _to_front(x, dim, moved), arguments, dims_of)
        size = _size(moved, arguments)
        step = size
        if chunk_size is not None:
            step = chunk_size
        starts = range(0, max(size, 1), max(step, 1))
        parts = [
            _compute(func, fronted, dims_of, slice(start, min(start + step, size)), randomness, out_dims)
            for start in starts
        ]
        if len(parts) == 1:
            result = parts[0]
        else:
            result = _join(parts, out_dims)
        stays = isinstance(out_dims, int) and out_dims == 0  # which an array type would compare element by element
        if stays:
            return result
        return zip_containers(_place, result, out_dims, "vmap: out_dims")

    return call_batched


def _types_in(arguments: Any) -> list[str]:
    """Return the names of array types among arguments and keywords, each once."""
    args, kwargs = arguments
    types = dict.fromkeys(type(value) for value in (*args, *kwargs.values()) if not is_array(value))
    return [cls.__name__ for cls in types if tensor_protocol.types.participates(cls)]


def _check_elements(arguments: Any, elements: Any) -> None:
    """Raise if what array types are split into has no shape, since their fields are no batch.

    Raises
    ------
    ValueError : naming the type
    """
    names = _types_in(arguments)
    if not names:
        return
    wholes, parts = ((*args, *kwargs.values()) for args, kwargs in (arguments, elements))
    for whole, part in zip(wholes, parts, strict=True):
        if is_array(whole) or type(whole).__name__ not in names:
            continue
        try:
            tuple(part.shape)
        except (IndexError, TypeError, ValueError) as error:
            name = type(whole).__name__
            raise ValueError(
                f"vmap: each field of a {name} is split along its first axis, and the parts make no {name}; give a "
                f"batch of them, as by fields with one axis more, or map over to_dense()"
            ) from error


def _with_dims(change: Callable[[Any, Any], Any], given: Any, dims: Any) -> Any:
    """Return arguments and keywords with ``change(array, dim)`` in the place of each array."""
    return tuple(
        zip_containers(change, part, part_dims, "vmap: in_dims") for part, part_dims in zip(given, dims, strict=True)
    )


def _to_front(x: Any, dim: Any, sizes: list[int]) -> Any:
    """Return an argument with the batch as its first axis, and note the length of the batch."""
    if dim is None:
        return x
    x = as_array(x)
    if not isinstance(dim, int):
        raise TypeError(f"vmap: in_dims must be an integer or None for each array, found {describe(dim)}")
    if not -x.ndim <= dim < x.ndim:
        raise ValueError(f"vmap: in_dims={dim} asks for an axis that an array of shape {tuple(x.shape)} has not")
    sizes.append(x.shape[dim])
    if dim % x.ndim:
        return tensor_namespace.moveaxis(x, dim, 0)
    return x


def _size(sizes: list[int], arguments: Any) -> int:
    if not sizes:
        raise ValueError("vmap: no argument is batched; in_dims must name an axis of at least one array")
    if len(set(sizes)) > 1:
        names = _types_in(arguments)
        text = ""
        if names:
            text = f"; those of a {' and a '.join(names)} are the first axes of its fields"
        raise ValueError(f"vmap: batches differ in length: {', '.join(map(str, sizes))}{text}")
    return sizes[0]


def _compute(
    func: Callable[..., Any],
    fronted: Any,
    dims: Any,
    part: slice,
    randomness: Randomness,
    out_dims: Any,
) -> Any:
    """Return what a function gives for a part of the batch, each output with the batch in front."""
    level, size = new_level(), part.stop - part.start

    def enter(x: Any, dim: Any) -> Any:
        if dim is None:
            return x
        if x.shape[0] != size:
            x = x[part]
        return Batched(x, level)

    args, kwargs = _with_dims(enter, fronted, dims)
    _check_elements(fronted, (args, kwargs))
    outer = active.get()
    try:
        active.set((*outer, ActiveBatch(level, size, randomness)))
        with drawing_by(_drawer(randomness, level, size)):
            output, _ = result_and_aux("vmap", func(*args, **kwargs), has_aux=False)
    except BaseException:
        level.ended = True
        raise
    finally:
        active.set(outer)

    def left(y: Any, dim: Any) -> Any:
        if dim is not None:
            return in_front(y, level, size)
        if in_batch(y, level):
            raise ValueError("vmap: an output differs within the batch, but out_dims is None for it")
        return y

    try:
        return zip_containers(left, output, out_dims, "vmap: out_dims")
    finally:
        level.ended = True


def _join(parts: list[Any], out_dims: Any) -> Any:
    """Return the results of several parts of a batch as one."""
    columns = [iter(list(arrays_of(part))) for part in parts]

    def join(y: Any, dim: Any) -> Any:
        members = [next(column) for column in columns]
        if dim is None:
            return y
        return tensor_namespace.concat(members)

    return zip_containers(join, parts[0], out_dims, "vmap: out_dims")


def _place(y: Any, dim: Any) -> Any:
    """Return an output with the batch at the chosen axis."""
    if not dim:
        return y
    return tensor_namespace.moveaxis(y, 0, normal_axis(dim, y.ndim, "vmap: out_dims"))


def _drawer(randomness: Randomness, level: int, size: int) -> Drawer | None:
    """Return what answers the random functions that a function under `vmap` calls."""
    outer = drawer.get()
    if randomness == "same":
        return outer

    def draw(operation: Overridable, again: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if randomness == "error":
            raise RandomnessError(
                f"vmap: {operation.qualified_name} draws random numbers; say vmap(..., randomness='different') for "
                f"numbers of its own for each element, or 'same' for the same numbers for all"
            )
        with drawing_by(outer):
            return Batched(tensor_namespace.stack(of_elements(operation, again, args, kwargs, level, size)), level)

    return draw
