"""`field`: how one field of an array type behaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["FieldRule", "field", "rule_of"]

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
