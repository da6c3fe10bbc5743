"""`field`: how one field of an array type behaves."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["FieldRule", "field", "rule_of", "with_field"]

KEY = "dispatchkit"  # in the metadata of a dataclass field


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What an array type declares about one of its fields.

    Attributes
    ----------
    grad : whether floating-point numbers in it are differentiated
    """

    grad: bool = True


def field(*, grad: bool = True, metadata: Mapping[Any, Any] | None = None, **options: Any) -> Any:
    """Declare how a field of an array type behaves: in a dataclass, or as a value of ``array_type(fields={...})``.

    Parameters
    ----------
    grad : whether floating-point numbers in the field are differentiated. Where not, transformations such as
        `func.grad` pass them on, `nn.Parameter` does not make them parameters, and optimizers do not change them
    metadata, **options : of `dataclasses.field`, such as ``default`` and ``default_factory``

    Returns
    -------
    `dataclasses.Field`

    Raises
    ------
    TypeError : if `grad` is no bool, or `dataclasses.field` has no such option

    Examples
    --------
    >>> import dataclasses
    >>> import dispatchkit as dk
    >>> @dk.array_type(fallback=dk.fallback.dense)
    ... @dataclasses.dataclass
    ... class Shifted:
    ...     shift: dk.Tensor
    ...     base: dk.Tensor = dk.field(grad=False)
    ...     def to_dense(self):
    ...         return self.base + self.shift
    >>> weight = dk.nn.Parameter(Shifted(shift=dk.zeros(2), base=dk.ones(2)))
    >>> weight.base.requires_grad, weight.shift.requires_grad
    (False, True)
    """
    if not isinstance(grad, bool):
        raise TypeError(f"field: grad must be True or False, found {grad!r}")
    return dataclasses.field(metadata={**(metadata or {}), KEY: FieldRule(grad)}, **options)


def rule_of(field: dataclasses.Field[Any]) -> FieldRule | None:
    """Return what a dataclass field declares, None for one that is not made by `field`."""
    rule: FieldRule | None = field.metadata.get(KEY)
    return rule


def with_field(source: Any, name: str, value: Any) -> Any:
    """Return a copy of an object in which one attribute has another value."""
    if isinstance(source, tuple):
        return source._replace(**{name: value})  # type: ignore[attr-defined]  # a named one, which has fields
    made = copy.copy(source)
    object.__setattr__(made, name, value)
    return made
