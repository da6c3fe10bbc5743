"""Derivatives of one array by another, where both may be inside of array types that say what a derivative is.

A type declares it by ``array_type(derivative=law)``. Its instances, and those of such types inside of each other, are
*blocks*: one array, wrapped. The derivative of a block by a block is one array, which each of the types wraps, the
innermost first, rather than an instance for the output with one for the argument inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import is_array, is_floating, items_of, variables_of
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import Item, leaves, map_leaves, rebuilt

types = tensor_protocol.types


def layers_of(value: Any) -> list[Any]:
    """Return the instances that wrap the array of a block, the outermost first; none for what is no block."""
    layers = []
    while not is_array(value) and types.derivative(type(value)) is not None:
        layers.append(value)
        value = _inside(value)
    if is_array(value):
        return layers
    return []


def _inside(layer: Any) -> Any:
    """Return what an instance wraps: its first field."""
    return getattr(layer, types.field_names(type(layer))[0])


def array_in(value: Any) -> Any:
    """Return the array of a block; of an array itself."""
    layers = layers_of(value)
    if layers:
        return _inside(layers[-1])
    return value


def items_between_blocks(value: Any) -> Sequence[Item] | None:
    """Return the parts of a container with their keys; None for a leaf, which a block is."""
    if layers_of(value):
        return None
    return items_of(value)


def variables_between_blocks(value: Any) -> Sequence[Item] | None:
    """Return the parts that may be differentiated with their keys; None for a leaf, which a block is."""
    if layers_of(value):
        return None
    return variables_of(value)


def blocks_of(value: Any) -> list[Any]:
    """Return the arrays and blocks of a container."""
    return [leaf for leaf in leaves(items_between_blocks, value) if is_array(array_in(leaf))]


def variable_blocks_of(value: Any) -> list[Any]:
    """Return the arrays and blocks of a container that are differentiated."""
    return [leaf for leaf in leaves(variables_between_blocks, value) if is_floating(array_in(leaf))]


def with_blocks(blocks: Iterable[Any], value: Any) -> Any:
    """Return a container with others in the places of its arrays and blocks."""
    rest = iter(blocks)
    return map_leaves(items_between_blocks, lambda leaf: next(rest) if is_array(array_in(leaf)) else leaf, value)


def with_variable_blocks(blocks: Iterable[Any], value: Any) -> Any:
    """Return a container with others in the places of those arrays and blocks that are differentiated."""
    rest = iter(blocks)
    return map_leaves(variables_between_blocks, lambda leaf: next(rest) if is_floating(array_in(leaf)) else leaf, value)


def with_array(block: Any, array: Any) -> Any:
    """Return a block around another array, with zeros for all other numbers; an array itself.

    Parameters
    ----------
    block : or an array
    array : to take the place of its array
    """
    for layer in reversed(layers_of(block)):
        name, *others = types.fields_of(layer)
        zeros = [(key, map_leaves(items_of, _zeros, getattr(layer, key))) for key in others]
        array = rebuilt(layer, [(name, array), *zeros])
    return array


def _zeros(leaf: Any) -> Any:
    if is_array(leaf):
        return tensor_namespace.zeros_like(leaf)
    return leaf


def derivative_of(array: Any, output: Any, argument: Any = None, accepts: Callable[[type], bool] | None = None) -> Any:
    """Return the derivative of one block by another, of which the numbers are known.

    Parameters
    ----------
    array : the numbers, of shape ``(*output.shape, *argument.shape)``
    output : array or block that is differentiated
    argument : what it is differentiated by; None for a number without a type, such as the size of a step
    accepts : whether the type of an output wraps derivatives by arguments that are not of it; all do by default
    """
    pairs: dict[type, list[Any]] = {}
    for layer in layers_of(argument):
        pairs[type(layer)] = [None, layer]
    for layer in layers_of(output):
        if type(layer) in pairs:
            pairs[type(layer)][0] = layer
        elif accepts is None or accepts(type(layer)):
            pairs[type(layer)] = [layer, None]
    for cls in sorted(pairs, key=types.priority):
        law = types.derivative(cls)
        assert law is not None  # of layers
        array = law(array, *pairs[cls])
    return array


def has_law_of_gradients(cls: type) -> bool:
    """Return whether a field of a type has a law for gradients, as units have."""
    return any(callable(rule.grad) for rule in types.field_rules(cls).values())


def tangent_of(array: Any, output: Any, pushed: Any) -> Any:
    """Return the tangent of an output.

    Parameters
    ----------
    array : the numbers of the tangent
    output : array or block
    pushed : the tangent with fields like those of the output, for types of which derivatives have no instances
    """
    wrapped = derivative_of(array, output)
    kept = len(layers_of(wrapped)) == len(layers_of(output))
    if kept or is_array(output):
        return wrapped
    return pushed


def fitted_tangents(primals: Any, tangents: Any) -> Any:
    """Return tangents whose numbers are meant as those of the arguments are, such as in the same unit.

    Parameters
    ----------
    primals, tangents : containers of the same structure
    """
    if layers_of(primals):
        return _fit_tangent(primals, tangents)
    items, others = items_of(primals), items_of(tangents)
    if not items or others is None or [key for key, _ in items] != [key for key, _ in others]:
        return tangents
    parts = [(key, fitted_tangents(part, other)) for (key, part), (_, other) in zip(items, others, strict=True)]
    return rebuilt(tangents, parts)


def _fit_tangent(primal: Any, tangent: Any) -> Any:
    """Return a tangent with the fields of the block that it belongs to."""
    if is_array(primal) or not isinstance(tangent, type(primal)) or not hasattr(primal, "fitted"):
        return tangent
    name = types.field_names(type(primal))[0]
    return rebuilt(tangent, [(name, _fit_tangent(getattr(primal, name), primal.fitted(tangent)))])
