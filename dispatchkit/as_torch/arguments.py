"""Which parameters of operations take the arguments of PyTorch's functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from dispatchkit.as_torch import table
from dispatchkit.protocol.overridable import Overridable

NAME_OF = {
    **{parameter: name for name, taken in reversed(table.KEYWORDS.items()) for parameter in taken if name != "dims"},
    "x": "input",
    "x1": "input",
    "x2": "other",
    "arrays": "tensors",
}
ARGUMENTS_OF = {path: names.split() for names, paths in table.ARGUMENTS.items() for path in paths}


@functools.cache
def parameters_of(path: str, operation: Overridable) -> dict[str, str]:
    """Return the arguments of a function of PyTorch, and the parameters of the operation that take them."""
    parameters = operation.parameters.signature.parameters
    order = list(parameters)
    taken: dict[str, str] = {}
    for place, name in enumerate(ARGUMENTS_OF.get(path, ())):
        same = [each for each in (name, *table.KEYWORDS.get(name, ())) if each in parameters]
        at_place = name
        if place < len(order):
            at_place = order[place]
        by_place = not same or parameters[at_place].kind is inspect.Parameter.POSITIONAL_ONLY
        if by_place:
            taken[name] = at_place
        else:
            taken[name] = same[0]
    rest = [parameter for parameter in order if parameter not in (*taken.values(), "like")]
    return taken | {NAME_OF.get(parameter, parameter): parameter for parameter in rest}


def arguments_by_name(
    path: str, names: Sequence[str], targets: Mapping[str, str], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by PyTorch's names, lists as tuples.

    Raises
    ------
    TypeError : for too many, or one that is there twice
    """
    most = len(names)
    if len(args) > most and names and names[-1] in table.SPREAD:
        args = (*args[: most - 1], args[most - 1 :])
    if len(args) > most:
        raise TypeError(f"dispatchkit.as_torch.{path} takes {most} arguments ({', '.join(names)}), found {len(args)}")
    given = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        name = key
        if name not in targets and table.SYNONYMS.get(key) in targets:
            name = table.SYNONYMS[key]
        if name in given:
            raise TypeError(f"dispatchkit.as_torch.{path} got multiple values for argument {key!r}")
        unused = key in table.UNUSED and (value is None or value is False) and key not in targets
        if key not in table.IGNORED and not unused:
            given[name] = value
    for name, value in given.items():
        if type(value) is list:
            given[name] = tuple(value)
        elif type(value) is int and targets.get(name) == "shape":
            given[name] = (value,)
    return given


def arguments_by_parameter(
    path: str, names: Sequence[str], targets: Mapping[str, str], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by the parameters that take them.

    Raises
    ------
    TypeError : for too many, or one that is there twice
    """
    given = arguments_by_name(path, names, targets, args, kwargs)
    return {targets.get(name, name): value for name, value in given.items()}
