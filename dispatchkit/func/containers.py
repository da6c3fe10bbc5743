"""The arguments of a function that `argnums` chooses."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from dispatchkit.backends.arrays import is_complex, namespace_of
from dispatchkit.backends.libraries import brought_to
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import (
    beside_fields,
    constants_in,
    is_array,
    is_floating,
    items_of,
    variables_in,
    variables_of,
)
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import Items, container_items, leaves, map_leaves, rebuilt, rebuilt_if_changed
from dispatchkit.wording import class_name

Leaf = Callable[[Any], Any]


def as_array(value: Any) -> Any:
    """Return a leaf as a tensor, Python numbers too."""
    if isinstance(value, Storage):
        return value
    return tensor_namespace.asarray(value)


def as_array_like(value: Any, like: Any) -> Any:
    """Return an array of any library as a tensor of the library of another tensor, sharing memory where possible.

    Raises
    ------
    TypeError : where NumPy, by which the numbers pass, cannot read the array
    """
    array = value
    if isinstance(value, Storage):
        array = value.array
    xp = namespace_of(like.array)
    if namespace_of(array) is not xp:
        value = brought_to(xp, array)
    return as_array(value)


def map_container(change: Leaf, value: Any) -> Any:
    """Return a container with `change` made to each array."""
    return map_leaves(items_of, lambda leaf: change(leaf) if is_array(leaf) else leaf, value)


def with_variables(change: Leaf, value: Any) -> Any:
    """Return a container with `change` made to each array that is differentiated."""
    return map_leaves(variables_of, lambda leaf: change(leaf) if is_floating(leaf) else leaf, value)


def with_constants(change: Leaf, value: Any) -> Any:
    """Return a container with `change` made to each array in a field that is not differentiated, itself if none."""
    items = items_of(value)
    if items is None:
        return value
    constants = constants_in(value)
    parts = [(key, (map_container if key in constants else with_constants)(change, part)) for key, part in items]
    return rebuilt_if_changed(value, items, parts)


def fit(name: str, owner: str, kind: str, x: Any, given: Any) -> Any:
    """Return a tangent or cotangent of an array as a tensor of its dtype.

    Parameters
    ----------
    name, owner, kind : of the transformation, the array and what goes with it, for messages
    x, given : the array, and what goes with it

    Raises
    ------
    ValueError : if it is no array, of another shape, or complex where the array is real
    """
    if not is_array(given) and not isinstance(given, (int, float, complex)):
        raise ValueError(f"{name}: the {kind} of an {owner} must be an array, found a {class_name(type(given))}")
    array = as_array(given)
    if tuple(array.shape) != tuple(x.shape):
        raise ValueError(f"{name}: an {owner} has shape {tuple(x.shape)}, its {kind} has shape {tuple(array.shape)}")
    if is_complex(array.dtype) and not is_complex(x.dtype):
        raise ValueError(f"{name}: an {owner} is real, {x.dtype}, its {kind} is complex, {array.dtype}")
    if array.dtype == x.dtype:
        return array
    return tensor_namespace.astype(array, x.dtype)


def with_gradient_fields(gradient: Any, output: Any, items_in: Items = items_of) -> Any:
    """Return a gradient with the fields that its types have laws for, ``field(grad=law)``, as the laws say.

    Parameters
    ----------
    gradient : container like the argument
    output : of the function
    items_in : gives the parts of a container; what has none stays
    """
    items = items_in(gradient)
    if items is None:
        return gradient
    rules = {}
    if container_items(gradient) is None:
        rules = tensor_protocol.types.field_rules(type(gradient))
    parts = []
    for key, part in items:
        rule = rules.get(key)
        if rule is not None and callable(rule.grad):
            part = rule.grad(part, [_field_of(leaf, key) for leaf in leaves(container_items, output)])
        else:
            part = with_gradient_fields(part, output, items_in)
        parts.append((key, part))
    return rebuilt_if_changed(gradient, items, parts)


def _field_of(value: Any, name: str) -> Any:
    """Return a field of an instance, or of one in its fields; None where there is none."""
    items = None
    if not (value is None or is_array(value)):
        items = tensor_protocol.types.items_of(value, strict=False)
    fields = dict(items or ())
    if name in fields:
        return fields[name]
    return next((inner for part in fields.values() if (inner := _field_of(part, name)) is not None), None)


def with_floats(value: Any) -> Any:
    """Return an argument whose arrays and floating-point numbers are all tensors."""
    return _with_tensors(value, (float, complex))


def _with_tensors(value: Any, numbers: tuple[type, ...]) -> Any:
    if isinstance(value, numbers) or is_array(value):
        return as_array(value)
    items = items_of(value)
    if items is None:
        return value
    if isinstance(value, (list, tuple, Mapping)):
        return rebuilt(value, [(key, _with_tensors(part, numbers)) for key, part in items])
    constants = constants_in(value)

    def stays(key: Any, part: Any) -> bool:
        return isinstance(part, (list, tuple, Mapping)) or (key in constants and isinstance(part, (float, complex)))

    return rebuilt(value, [(key, part if stays(key, part) else with_floats(part)) for key, part in items])


def arrays_of(value: Any) -> Iterator[Any]:
    """Yield the arrays of a container."""
    return filter(is_array, leaves(items_of, value))


def result_and_aux(name: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return what a function gives to differentiate, with tensors for its numbers, and what it gives beside.

    Parameters
    ----------
    name : of the transformation, for messages
    output : of the function
    has_aux : whether it gives a pair of both

    Raises
    ------
    TypeError : if it gives no such pair, or nothing that holds arrays
    """
    if has_aux and not (isinstance(output, tuple) and len(output) == 2):
        raise TypeError(f"{name}: with has_aux the function must return a pair (output, aux)")
    if has_aux:
        result, aux = output
    else:
        result, aux = output, None
    result = _with_tensors(result, (int, float, complex))
    if not any(True for _ in arrays_of(result)):
        raise TypeError(f"{name}: the function must return tensors, found {describe(result)}")
    return result, aux


def zip_containers(
    change: Callable[[Any, Any], Any], value: Any, other: Any, what: str, path: str = "", *, variables: bool = False
) -> Any:
    """Return a container with ``change(array, part of the other at the same path)`` in the place of each array.

    The other container may be less deep: its leaf then goes with all arrays below. With `variables`, arrays
    that are not differentiated stay.

    Raises
    ------
    ValueError : if the two do not fit, naming the place
    """
    if is_array(value):
        if not variables or is_floating(value):
            return change(value, other)
        return value
    items = items_of(value)
    if items is None:
        return value
    constants = frozenset[str]()
    if variables:
        constants = constants_in(value)
    others: list[Any] = [other] * len(items)
    if not (other is None or isinstance(other, int) or is_array(other)):
        other_items = items_of(other)
        if other_items is None or [key for key, _ in other_items] != [key for key, _ in items]:
            if not any(True for _ in arrays_of(value)):
                return value
            raise ValueError(
                f"{what}: the container at {path or 'the top'} is {describe(value)}, but what goes with it is "
                f"{describe(other)}"
            )
        others = [part for _, part in other_items]
    parts = []
    for (key, part), beside in zip(items, others, strict=True):
        if key not in constants:
            part = zip_containers(change, part, beside, what, f"{path}[{key!r}]", variables=variables)
        parts.append((key, part))
    return rebuilt(value, parts)


def describe(value: Any) -> str:
    """Return what a value is, for messages."""
    if is_array(value):
        return f"an array of shape {tuple(value.shape)} and dtype {value.dtype}"
    items = items_of(value)
    if items is None:
        return f"a {class_name(type(value))}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(items)}"
    keys = ", ".join(repr(key) for key, _ in items)
    nothing = "no fields"
    if isinstance(value, Mapping):
        nothing = "nothing in it"
    return f"a {type(value).__name__} with {keys or nothing}"


Argnums: TypeAlias = "int | tuple[int, ...]"


def pick(name: str, args: tuple[Any, ...], argnums: Argnums) -> list[tuple[int, Any]]:
    """Return the arguments chosen, with their positions.

    Raises
    ------
    TypeError : if `argnums` is neither an integer nor a tuple of them, or an argument holds nothing to differentiate by
    ValueError : if there is no such argument, or it is chosen twice
    """
    chosen: list[tuple[int, Any]] = []
    if isinstance(argnums, tuple):
        numbers = argnums
    else:
        numbers = (argnums,)
    for argnum in numbers:
        try:
            index = operator.index(argnum)
        except TypeError:
            raise TypeError(f"{name}: argnums must be an integer or a tuple of integers, not {argnums!r}") from None
        if not -len(args) <= index < len(args):
            raise ValueError(f"{name}: argnums={argnums} asks for argument {index}, but {len(args)} were given")
        argument = with_floats(args[index])
        if not any(True for _ in variables_in(argument)):
            raise TypeError(
                f"{name}: argument {index % len(args)} holds no floating-point array to differentiate by; found "
                f"{describe(argument)}{beside_fields(argument)}"
            )
        chosen.append((index % len(args), argument))
    if len({index for index, _ in chosen}) != len(chosen):
        raise ValueError(f"{name}: argnums={argnums} names an argument twice")
    return chosen


def of_chosen(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], chosen: list[tuple[int, Any]]
) -> Callable[..., Any]:
    """Return the function of the arguments chosen that has the other arguments of a call."""

    def of_these(*values: Any) -> Any:
        arguments = list(args)
        for (index, _), value in zip(chosen, values, strict=True):
            arguments[index] = value
        return func(*arguments, **kwargs)

    return of_these
