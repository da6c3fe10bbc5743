"""What an array type declares: its fields, its fallback, its priority; and when it was declared."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Version: TypeAlias = tuple[str, int]
_counts = itertools.count()
_processes = [os.urandom(8).hex()]  # this one; a forked process replaces it


def new_version() -> Version:
    """Return the version of what is declared now."""
    return _processes[0], next(_counts)


def is_newer(mark: Version, known: Version | None) -> bool:
    """Return whether what is unpickled replaces what is known: nothing does that was declared in this process.

    Parameters
    ----------
    mark : of what is unpickled
    known : of what takes its place here, None where nothing does
    """
    if mark[0] == _processes[0]:
        return False
    return known is None or known[0] != mark[0] or known[1] < mark[1]


def _start_anew() -> None:
    """Let a forked process be another one."""
    _processes[0] = os.urandom(8).hex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


KEY = "dispatchkit"  # in the metadata of a dataclass field


Merge = Literal["left", "right", "error", "drop"] | Callable[[str, Sequence[Any]], Any]
View = Literal["keep", "drop"] | Callable[..., Any]
Copy = Literal["share", "deep"] | Callable[[Any], Any]
DROPPED = object()


class FieldRule(NamedTuple):
    """What an array type declares about one of its fields.

    Attributes
    ----------
    grad : whether floating-point numbers in it are differentiated; a function gives what the field is in a gradient
    merge, view, copy : what becomes of it where operands meet, in parts and other shapes, and in copies
    """

    grad: bool | Callable[[Any, list[Any]], Any] = True
    merge: Merge = "left"
    view: View = "keep"
    copy: Copy = "share"

    def merged(self, name: str, values: Sequence[Any]) -> Any:
        """Return the field of a result whose operands have the field, `DROPPED` for none.

        Raises
        ------
        ValueError : if they disagree under the law ``"error"``, naming the field and the values
        """
        if all(_same(values[0], value) for value in values[1:]):
            return values[0]
        if callable(self.merge):
            return self.merge(name, values)
        if self.merge == "error":
            shown = " and ".join(map(repr, values))
            raise ValueError(f"metadata: operands disagree on '{name}': {shown}; choose another merge law")
        return DROPPED if self.merge == "drop" else values[0 if self.merge == "left" else -1]

    def viewed(self, value: Any, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the field of a part of an array, or of one of another shape."""
        if callable(self.view):
            return self.view(value, function, args, kwargs)
        return DROPPED if self.view == "drop" else value

    def copied(self, value: Any) -> Any:
        """Return the field of a copy."""
        if callable(self.copy):
            return self.copy(value)
        return copy.deepcopy(value) if self.copy == "deep" else value


CHOICES: dict[str, tuple[str, ...]] = {
    "merge": ("left", "right", "error", "drop"),
    "view": ("keep", "drop"),
    "copy": ("share", "deep"),
}


def field(
    *,
    grad: bool | Callable[[Any, list[Any]], Any] = True,
    merge: Merge = "left",
    view: View = "keep",
    copy: Copy = "share",
    metadata: Mapping[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """Declare how a field of an array type behaves: in a dataclass, or as a value of ``array_type(fields={...})``.

    Parameters
    ----------
    grad : whether floating-point numbers in the field are differentiated. If False, transformations such as `func.grad`
        leave them unchanged, `nn.Parameter` does not make them parameters, and optimisers do not update them. A
        function returns the value of the field in a gradient, such as a quotient of units: it is called with the
        argument's field and a list of the outputs' fields, None for an output without the field
    merge : the field of a result whose operands disagree, under `fallback.rewrap` and in `types.MetadataTensor`:
        ``"left"`` and ``"right"`` take that operand's, ``"error"`` raises, ``"drop"`` sets None; a function is called
        with the name and the values, and returns the value
    view : the field of results of `kinds.indexing` and `kinds.manipulation`: ``"keep"``, ``"drop"``, or a function of
        the value and the call, that is its function, arguments and keywords
    copy : the field of a copy by `clone`: ``"share"`` is the same object, ``"deep"`` a copy, or a function of the value
    metadata, **options : of `dataclasses.field`, such as ``default`` and ``default_factory``

    Returns
    -------
    dataclasses.Field
        The declaration, for a dataclass or for ``fields``.

    Raises
    ------
    TypeError : if an option is neither one of its words nor a function, or `dataclasses.field` has no such option

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
    if not isinstance(grad, bool) and not callable(grad):
        raise TypeError(f"field: grad must be True, False or a function, found {grad!r}")
    for name, law in (("merge", merge), ("view", view), ("copy", copy)):
        if not callable(law) and law not in CHOICES[name]:
            listed = ", ".join(map(repr, CHOICES[name]))
            raise TypeError(f"field: {name} must be {listed} or a function, found {law!r}")
    return dataclasses.field(metadata={**(metadata or {}), KEY: FieldRule(grad, merge, view, copy)}, **options)


def _same(left: Any, right: Any) -> bool:
    try:
        return left is right or bool(left == right)
    except (ValueError, TypeError):
        return False


def rule_of(field: dataclasses.Field[Any]) -> FieldRule | None:
    """Return what a dataclass field declares, None for one that is not made by `field`."""
    rule: FieldRule | None = field.metadata.get(KEY)
    return rule


@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """Names of fallback strategies, tried in order; ``a | b`` tries `a`, then `b`.

    >>> from dispatchkit.protocol.fallbacks import fallback
    >>> fallback.decompose | fallback.dense
    fallback.decompose | fallback.dense
    """

    names: tuple[str, ...]

    def __or__(self, other: Fallback) -> Fallback:
        return Fallback(tuple(dict.fromkeys((*self.names, *other.names))))

    def __repr__(self) -> str:
        return " | ".join(f"fallback.{name}" for name in self.names)

    def __contains__(self, other: Fallback) -> bool:
        return set(self.names).issuperset(other.names)


REFUSE = Fallback(("refuse",))  # of a type that declares none


class Declaration(NamedTuple):
    """What a type declares; what is None is inherited from its superclasses."""

    fallback: Fallback | None = None
    priority: float | None = None
    fields: tuple[str, ...] | Mapping[str, Any] | None = None
    dense: str | Callable[[Any], Any] | None = None
    from_dense: str | Callable[[Any, Any], Any] | None = None
    rules: Mapping[str, FieldRule] | None = None
    closed: tuple[Any, ...] = ()
    impossible: tuple[Any, ...] = ()
