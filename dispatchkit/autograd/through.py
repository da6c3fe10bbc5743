"""Gradients of tensors inside transformations: a batch has one for each element, a dual tensor's is dual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import TransformError
from dispatchkit.graph.node import GradientEdge
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import vertex_of
from dispatchkit.graph.sweep import sweep
from dispatchkit.tensor.gradients import gradient_for, plain
from dispatchkit.transforms import Batched, Dual, Tracer
from dispatchkit.transforms.batched import in_front
from dispatchkit.transforms.dual import tangent_at, value_at
from dispatchkit.transforms.tracer import top_level


def pull_through(
    name: str, outputs: Sequence[Any], cts: Sequence[Any], inputs: Sequence[Any], retain: bool
) -> list[Any]:
    """Return the gradient of each input, None where none flows, level by level from the highest."""
    top = top_level([*outputs, *inputs])
    if top is None:
        return _sweep(outputs, cts, inputs, retain)
    if isinstance(top, Batched):
        return _through_batch(name, top, outputs, cts, inputs, retain)
    assert isinstance(top, Dual)
    return _through_dual(name, top, outputs, cts, inputs, retain)


def _through_batch(
    name: str, top: Batched, outputs: Sequence[Any], cts: Sequence[Any], inputs: Sequence[Any], retain: bool
) -> list[Any]:
    level, size = top.level, top.value.shape[0]
    if any(not isinstance(x, Tracer) or x.level != level for x in inputs):
        raise TransformError(f"{name}: a batch has left the vmap it belongs to")
    # An output outside the batch does not depend on the inputs, which are all inside.
    pairs = [
        (y.value, in_front(ct, level, size))
        for y, ct in zip(outputs, cts, strict=True)
        if isinstance(y, Batched) and y.level == level
    ]
    gradients = pull_through(name, [y for y, _ in pairs], [ct for _, ct in pairs], [x.value for x in inputs], retain)
    return [None if g is None else Batched(g, level) for g in gradients]


def _through_dual(
    name: str, top: Dual, outputs: Sequence[Any], cts: Sequence[Any], inputs: Sequence[Any], retain: bool
) -> list[Any]:
    level = top.level
    values = [value_at(y, level) for y in outputs]
    straight = [value_at(ct, level) for ct in cts]
    inner = [value_at(x, level) for x in inputs]
    turned = [
        *((tangent_at(y, level), ct) for y, ct in zip(outputs, straight, strict=True)),
        *((y, tangent_at(ct, level)) for y, ct in zip(values, cts, strict=True)),
    ]
    turned = [(y, ct) for y, ct in turned if y is not None and ct is not None]
    grads = pull_through(name, values, straight, inner, retain or bool(turned))
    if not turned:
        return grads
    tangents = pull_through(name, [y for y, _ in turned], [ct for _, ct in turned], inner, retain)
    return [g if t is None else Dual(filled(g, x), t, level) for g, t, x in zip(grads, tangents, inner, strict=True)]


def _sweep(outputs: Sequence[Any], cts: Sequence[Any], inputs: Sequence[Any], retain: bool) -> list[Any]:
    places = [(vertex_of(y), ct) for y, ct in zip(outputs, cts, strict=True)]
    pairs = [(vertex, ct) for vertex, ct in places if vertex is not None]
    if not pairs:
        return [None] * len(inputs)
    live = is_grad_enabled() or any(ct.is_tracer for _, ct in pairs)
    roots = pairs
    if not live:
        roots = [(vertex, ct.array) for vertex, ct in pairs]
    # What is recorded here may be part of a graph outside, which is gone through again.
    keep = retain or is_grad_enabled()
    targets: list[Any] = [x.node if isinstance(x, GradientEdge) else vertex_of(x) for x in inputs]
    grads = sweep(roots, plain, inputs=targets, retain_graph=keep, create_graph=live, accumulate=False)
    return [gradient_for(x, grads.get(vertex), raw=not live) for x, vertex in zip(inputs, targets, strict=True)]


def filled(g: Any, x: Any) -> Any:
    """Return a gradient, zeros where none flows."""
    if g is None:
        return tensor_namespace.zeros_like(x)
    return g
