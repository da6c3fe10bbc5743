"""Rules of losses and of normalization, which align what they compare and keep the axes of what they scale."""

from __future__ import annotations

from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.steps import decline
from dispatchkit.types.levels import arguments, map_results
from dispatchkit.types.named.alignment import number_axes
from dispatchkit.types.named.array import NamedTensor, inside, with_names
from dispatchkit.types.rules import implements


@implements(kinds.loss, NamedTensor)
def loss_named(op: Any, x: Any, target: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Align what is compared by name, and what has none by position; a loss of each element has the same axes."""
    if "ignore_index" in tensor_protocol.operation(op).parameters.signature.parameters:
        return loss_of_classes_named(op, x, target, *args, **kwargs)
    values = [value for _, value in arguments(op, (x, target, *args), kwargs)]
    first, *others = [value for value in values if isinstance(value, NamedTensor)]
    for other in others:
        if not set(other.names) <= set(first.names):
            return decline(f"arrays of axes {first.names} and {other.names} cannot be compared element by element")
    args, kwargs = tensor_protocol.map_arguments(
        op, (x, target, *args), kwargs, lambda name, value: first.fitted(value)
    )
    return map_results(op(*args, **kwargs), lambda data: NamedTensor(data, first.names if data.ndim else ()))


def loss_of_classes_named(op: Any, x: Any, target: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Align the target with the scores, whose second axis is that of the classes, and the first of a vector."""
    if not isinstance(x, NamedTensor):
        return decline("the scores have no names, so that it is not known which axis is that of the classes")
    names = x.names[:1] + x.names[2:]
    if x.ndim < 2:
        names = ()
    if isinstance(target, NamedTensor):
        if set(target.names) == set(names):
            target = target.aligned(names)
        elif set(target.names) == set(x.names):
            target = target.aligned(x.names)
        else:
            return decline(f"a target of axes {target.names} does not fit scores of axes {x.names}")
    args, kwargs = tensor_protocol.map_arguments(op, (x, target, *args), kwargs, lambda name, value: inside(value))
    return map_results(op(*args, **kwargs), lambda data: NamedTensor(data, names if data.ndim else ()))


@implements(kinds.normalization, NamedTensor)
def normalize_named(op: Any, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Keep the axes; the numbers that they are scaled with have no names."""
    if any(isinstance(value, NamedTensor) for value in (*args, *kwargs.values())):
        return decline("only the array that is normalized has names; take .data of the others")
    args, kwargs = number_axes(op, x, args, kwargs)
    return with_names(op(x.data, *args, **kwargs), x.names)
