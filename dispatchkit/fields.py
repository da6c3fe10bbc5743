"""Constructors made of the annotated fields of a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, dataclass_transform

from dispatchkit.signatures import annotations_of

T = TypeVar("T")

EMPTY = inspect.Parameter.empty
PLAIN, NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def declare_fields(
    cls: type, begin: Callable[[Any, dict[str, Any]], None], *, without: Sequence[str] = ()
) -> dict[str, inspect.Parameter]:
    """Give a class the constructor of its fields and of those that its bases have declared, as dataclasses do.

    Defaults are taken out of the class: instances have their own.

    Parameters
    ----------
    cls : the class, whose annotations without an underscore are its fields
    begin : called with an instance and the values of all fields
    without : names of inherited fields that it does not take

    Returns
    -------
    dict of the fields by name
    """
    fields: dict[str, inspect.Parameter] = dict(getattr(cls, "_fields", {}))
    named = False
    for name, annotation in annotations_of(cls).items():
        if name[0] == "_":  # of the class; one of them says that keywords follow
            named = named or name == "_"
            continue
        default = cls.__dict__.get(name, EMPTY)
        fields[name] = inspect.Parameter(name, NAMED if named else PLAIN, default=default, annotation=annotation)
        if name in cls.__dict__:
            delattr(cls, name)
    fields = {name: fields[name] for name in sorted(fields, key=lambda name: fields[name].kind) if name not in without}
    cls._fields = fields  # type: ignore[attr-defined]
    cls.__init__ = _constructor(cls, list(fields.values()), begin)  # type: ignore[misc]
    return fields


def _constructor(
    cls: type, fields: list[inspect.Parameter], begin: Callable[[Any, dict[str, Any]], None]
) -> Callable[..., None]:
    """Return a constructor that calls ``begin(instance, values)`` with the values of all fields."""
    signature = inspect.Signature(fields)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it is one
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.__init__() {error}") from None
        bound.apply_defaults()
        begin(self, bound.arguments)

    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]  # what inspect reads
        parameters=[inspect.Parameter("self", PLAIN), *fields], return_annotation="None"
    )
    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return __init__


@dataclass_transform(eq_default=False)
def with_fields(cls: type[T]) -> type[T]:
    """Let the constructor of a class take its fields; `dataclass` compiles one from text, which takes longer."""
    declare_fields(cls, lambda instance, values: vars(instance).update(values))
    return cls
