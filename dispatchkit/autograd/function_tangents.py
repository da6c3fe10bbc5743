"""Forward mode through a `Function`: its `jvp`, and what is asked of the tangents that this returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.autograd.function_context import (
    FunctionCtx,
    map_tensors,
    members_of,
    tensors_in,
    with_members_of,
    with_tensors,
)
from dispatchkit.backends.arrays import may_share_memory
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import is_floating
from dispatchkit.errors import AutogradError
from dispatchkit.graph.storage import Storage, version_of
from dispatchkit.tensor import Tensor
from dispatchkit.transforms import Dual, Tracer
from dispatchkit.transforms.dual import tangent_at, value_at

NOT_IN_PLACE = (
    "{name}: An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace as well."
)
NO_VIEW = (
    "{name}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view "
    "of the given tangent. Make sure that both are views: return x.view_as(x) in the place of an input, or a tangent, "
    "as it is."
)
COMBINED = (
    "{name}: In order to use an autograd.Function {where}, it must override the setup_context staticmethod; there is a "
    "forward that takes the context"
)


def push_tangents(record: Any, top: Dual, args: tuple[Any, ...]) -> Any:
    """Return outputs with their tangents, by the `jvp` of a `Function`.

    Raises
    ------
    NotImplementedError : if it has none
    AutogradError : if the tangents do not fit the outputs
    """
    level = top.level
    jvp = record.method("jvp")
    values = tuple([map_tensors(arg, lambda x: value_at(x, level)) for arg in args])
    if not record.separate and any(isinstance(x, Tracer) for x in values):
        raise AutogradError(COMBINED.format(name=record.name, where="in several transformations at once"))
    output, ctx = record.with_context(values)
    given = [_tangent_of(arg, level, ctx.materialize_grads) for arg in args]
    versions = [version_of(t) if _is_plain(t) else 0 for t in given]
    pushed_tangents = jvp(ctx, *given)
    outputs = members_of(output)
    if isinstance(pushed_tangents, (tuple, list)):
        tangents = list(pushed_tangents)
    else:
        tangents = [pushed_tangents]
    if len(tangents) != len(outputs):
        raise AutogradError(
            f"{record.name}.jvp returned an incorrect number of tangents (expected {len(outputs)}, got {len(tangents)})"
        )
    for index, (y, t) in enumerate(zip(outputs, tangents, strict=True)):
        if t is not None and any(y is x for x in ctx.non_differentiable):
            raise AutogradError(
                f"{record.name}.jvp returned a tangent at index {index}, where the output was marked "
                "non-differentiable; return None there"
            )
    if record.refuses:
        _refuse_other_memory(record.name, ctx, list(zip(args, values, given, versions, strict=True)), outputs, tangents)
    changed = _changed_duals(args, ctx.dirty_tensors, level)
    duals = []
    for index, (y, t) in enumerate(zip(outputs, tangents, strict=True)):
        dual = _dual(record, index, y, t, level)
        if id(y) in changed:
            changed[id(y)].tangent = tangent_at(dual, level)
            dual = changed[id(y)]
        duals.append(dual)
    return with_members_of(output, duals)


def _changed_duals(args: tuple[Any, ...], dirty: Sequence[Any], level: int) -> dict[int, Dual]:
    """Return the inputs of a level that were changed in place, by the id of their values."""
    ids = {id(part) for value in dirty for part in tensors_in(value)}
    duals = [x for arg in args for x in tensors_in(arg) if isinstance(x, Dual) and x.level == level]
    return {id(x.value): x for x in duals if id(x.value) in ids}


def _tangent_of(arg: Any, level: int, materialize: bool) -> Any:
    """Return the tangent of an argument, of an array type one that holds tangents; None where it has none."""

    def tangent(x: Any) -> Any:
        t = tangent_at(x, level)
        if t is None and materialize and is_floating(x):
            return tensor_namespace.zeros_like(value_at(x, level))
        return t

    tangents = list(map(tangent, tensors_in(arg)))
    if all(t is None for t in tangents):
        return None
    return with_tensors(arg, tangents)


def _dual(record: Any, index: int, y: Any, t: Any, level: int) -> Any:
    """Return an output with its tangent."""
    if t is None or not isinstance(y, Tensor):
        return y
    if not isinstance(t, Tensor) or t.shape != y.shape:
        if isinstance(t, Tensor):
            description = f"a tensor of shape {t.shape}"
        else:
            description = f"a {type(t).__name__}"
        raise AutogradError(
            f"{record.name}.jvp returned an invalid tangent at index {index}: the output has shape {tuple(y.shape)}, "
            f"found {description}"
        )
    return Dual(y, t, level)


def _refuse_other_memory(
    name: str, ctx: FunctionCtx, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
) -> None:
    """Raise if outputs show the memory of inputs, and their tangents not that of the tangents of these.

    Parameters
    ----------
    name, ctx : of the `Function`, and of the call
    inputs : for each argument itself, without its tangent, the tangent that `jvp` was given, and its version then
    outputs, tangents : what the call gives
    """
    dirty = {id(part) for value in ctx.dirty_tensors for part in tensors_in(value)}
    for arg, x, given, version in inputs:
        if not isinstance(arg, Dual) or not _is_plain(x) or not _is_plain(given):
            continue
        for y, t in zip(outputs, tangents, strict=True):
            if not _is_plain(y) or not _is_plain(t) or not may_share_memory(y.array, x.array):
                continue
            if id(y) in dirty:
                if t.array is not given.array or version_of(given) == version:
                    raise AutogradError(NOT_IN_PLACE.format(name=name))
            elif t.array is given.array or not may_share_memory(t.array, given.array):
                raise AutogradError(NO_VIEW.format(name=name))


def _is_plain(x: Any) -> bool:
    return isinstance(x, Storage) and not x.is_tracer
