"""The arguments of a function that `argnums` chooses."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from dispatchkit.declare.variables import beside_fields
from dispatchkit.func.containers import described, variables_in, with_floats

__all__ = ["Argnums", "picked", "replaced"]

Argnums: TypeAlias = "int | tuple[int, ...]"


def picked(name: str, args: tuple[Any, ...], argnums: Argnums) -> list[tuple[int, Any]]:
    """Return the arguments chosen, with their positions.

    Raises
    ------
    TypeError : if `argnums` is neither an integer nor a tuple of them, or an argument holds nothing to differentiate by
    ValueError : if there is no such argument, or it is chosen twice
    """
    chosen = argnums if isinstance(argnums, tuple) else (argnums,)
    found: list[tuple[int, Any]] = []
    for one in chosen:
        try:
            index = operator.index(one)
        except TypeError:
            raise TypeError(f"{name}: argnums must be an integer or a tuple of integers, not {argnums!r}") from None
        if not -len(args) <= index < len(args):
            raise ValueError(f"{name}: argnums={argnums} asks for argument {index}, but {len(args)} were given")
        argument = with_floats(args[index])
        if not any(True for _ in variables_in(argument)):
            raise TypeError(
                f"{name}: argument {index % len(args)} holds no floating-point array to differentiate by; found "
                f"{described(argument)}{beside_fields(argument)}"
            )
        found.append((index % len(args), argument))
    if len({index for index, _ in found}) != len(found):
        raise ValueError(f"{name}: argnums={argnums} names an argument twice")
    return found


def replaced(args: tuple[Any, ...], chosen: list[tuple[int, Any]], values: Sequence[Any]) -> list[Any]:
    """Return the arguments with those chosen replaced."""
    made = list(args)
    for (index, _), value in zip(chosen, values, strict=True):
        made[index] = value
    return made
