"""Which parameters of operations take the arguments of PyTorch's functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

from dispatchkit.as_torch import table
from dispatchkit.as_torch.attributes.dtypes import dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.protocol.overridable import Overridable

NAME_OF = {
    **{parameter: name for name, taken in reversed(table.KEYWORDS.items()) for parameter in taken if name != "dims"},
    "x": "input",
    "x1": "input",
    "x2": "other",
    "arrays": "tensors",
}
# Old words, which losses take.
OLD = frozenset({"size_average", "reduce"})
# Types of Python's numbers as dtypes.
OF_PYTHON: dict[type, Any] = {bool: xp.bool, int: xp.int64, float: xp.float64, complex: xp.complex128}
# What older programs give before the tensors that it goes with.
OF_MATRICES = ("addbmm", "addmm", "addmv", "addr", "baddbmm")
# Functions by the factors that may stand there, and by the number of their tensors.
FACTORS_BEFORE = {
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys(OF_MATRICES, ("beta", "alpha")),
}
TENSORS_AFTER = {path: 2 if path in ("add", "sub") else 3 for path in FACTORS_BEFORE}
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
    if len(args) > most and names and names[-1] in table.SPREAD and path != "tensordot":
        args = (*args[: most - 1], args[most - 1 :])
    if len(args) > most:
        raise TypeError(f"dispatchkit.as_torch.{path} takes {most} arguments ({', '.join(names)}), found {len(args)}")
    given = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        name = table.SYNONYMS_OF.get(path, {}).get(key, key)
        if name not in targets and table.SYNONYMS.get(key) in targets and has_synonyms(path):
            name = table.SYNONYMS[key]
        if name in given:
            raise TypeError(f"dispatchkit.as_torch.{path} got multiple values for argument {key!r}")
        if key not in table.IGNORED:
            given[name] = value
    given = with_first_in_front(names, given)
    drop_unused(path, targets, given)
    for name, value in given.items():
        if type(value) is list:
            given[name] = tuple(value)
        elif type(value) is dtype:
            given[name] = value.dtype
        elif name == "dtype" and type(value) is type:
            given[name] = OF_PYTHON.get(value, value)
        elif type(value) is int and takes_one_length(path, name, targets):
            given[name] = (value,)
    return given


def with_first_in_front(names: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the first parameter's in front, as checks find it whatever order a call has them in."""
    if names and names[0] in given and next(iter(given)) != names[0]:
        return {names[0]: given[names[0]]} | given
    return given


def takes_one_length(path: str, name: str, targets: Mapping[str, str]) -> bool:
    """Return whether a single integer may stand for a shape."""
    if name == "dims":
        return path == "permute"
    return targets.get(name) == "shape" and path != "full"


def has_synonyms(path: str) -> bool:
    """Return whether a function takes other names of arguments, as those of PyTorch's core do."""
    return path != "split" and not path.startswith("masked.")


def drop_unused(path: str, targets: Mapping[str, str], given: dict[str, Any]) -> None:
    """Take out what says nothing here.

    Raises
    ------
    TypeError : for an argument that the function has not
    """
    for name in [each for each in given if each not in targets]:
        says_nothing = given[name] is None and path in table.UNUSED.get(name, ())
        if name in table.IGNORED or says_nothing:
            del given[name]
        elif name not in OLD and name not in ("like", "out") and "options" not in targets:
            raise TypeError(f"{path.rpartition('.')[2]}() got an unexpected keyword argument {name!r}")


def shown_as_named(names: Sequence[str], shown: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters that a function shows, those by position in the order of the names of its arguments."""
    known = {p.name: p for p in shown}
    if known.keys() >= set(names) and list(names) == [p.name for p in shown][: len(names)]:
        return list(shown)
    by_place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [known.pop(name, inspect.Parameter(name, by_place, default=None)).replace(kind=by_place) for name in names]
    rest = [p if p.kind is p.VAR_POSITIONAL else p.replace(kind=p.KEYWORD_ONLY) for p in known.values()]
    return [*first, *rest]


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


def count_of_tensors(path: str) -> int | None:
    """Return how many tensors a function takes that older programs call in another order; None for others."""
    return TENSORS_AFTER.get(path)


def in_new_order(path: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with the factors by their names, where they stand before tensors.

    ``x.add_(2, y)`` is ``x.add_(y, alpha=2)``, ``x.addcmul_(2, y, z)`` is ``x.addcmul_(y, z, value=2)``, and
    ``x.addmm_(3, 2, y, z)`` is ``x.addmm_(y, z, beta=3, alpha=2)``; in functions, the first one may stand before `x`.
    Of two numbers behind `x` the first is the factor, too.

    Parameters
    ----------
    path : of the function
    args, kwargs : of the call

    Warns
    -----
    UserWarning : where they do, as PyTorch does
    """
    factors = [x for x in args if isinstance(x, Number)]
    tensors = tuple(x for x in args if not isinstance(x, Number))
    names, count = FACTORS_BEFORE[path], TENSORS_AFTER[path]
    leading, last = args[: len(args) - count + 1], args[len(args) - count + 1 :]
    is_old = len(tensors) == count and 0 < len(factors) <= len(names) and not any(isinstance(x, Number) for x in last)
    if len(args) == 3 > count and all(isinstance(x, Number) for x in args[1:]):
        factors, tensors = [args[1]], (args[0], args[2])
    elif not is_old or (path not in OF_MATRICES and isinstance(leading[0], Number)):
        return args, dict(kwargs)
    by_name = dict(zip(names, factors, strict=False))
    shown = ", ".join(f"{name}={value}" for name, value in by_name.items())
    text = (
        f"this order of the arguments of {path} is deprecated: give the factor by its name after the tensors ({shown})"
    )
    warn_at(caller_frame(), text, UserWarning)
    return tensors, {**kwargs, **by_name}
