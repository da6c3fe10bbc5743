"""`declared`: a module that calls one function, with options that are fields of its class.

Such a class is short::

    @declared(functional.elu)
    class ELU(Activation):
        alpha: float = 1.0
        inplace: bool = False

The constructor takes the fields in their order, those after ``_: KW_ONLY`` by keyword. They become attributes, which
`forward` hands to the function. The docstring in the source says what is particular; the rest is added to it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from typing_extensions import dataclass_transform

from dispatchkit.declare.docs import EXAMPLES_IMPORT, entries, join_sections, split_sections
from dispatchkit.nn.module import Module

__all__ = ["Declared", "declared"]

D = TypeVar("D", bound="Declared")

# Texts of options that mean the same everywhere.
STANDARD = {
    "dim": "the axis",
    "ignore_index": "number in the target whose places do not count",
    "inplace": "whether the input is overwritten with the result",
    "reduction": '``"mean"`` or ``"sum"`` of all losses, or ``"none"``',
}
EMPTY = inspect.Parameter.empty
PLAIN, NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


class Declared(Module):
    """What modules made by `declared` share.

    Attributes
    ----------
    function : that `forward` calls
    options : names of the fields, in order
    raised : the docstring's section on exceptions, where the source has none
    """

    function: ClassVar[Callable[..., Any]]
    options: ClassVar[tuple[str, ...]] = ()
    raised: ClassVar[str] = ""

    def _set_options(self, options: dict[str, Any]) -> None:
        """Take in the options that the constructor was given, defaults for the others."""
        for name, value in options.items():
            setattr(self, name, value)


@dataclass_transform()
def declared(function: Callable[..., Any]) -> Callable[[type[D]], type[D]]:
    """Return a decorator of a module's class, which makes the constructor of its fields.

    Parameters
    ----------
    function : that the module calls
    """

    def decorate(cls: type[D]) -> type[D]:
        cls.function = staticmethod(function)
        fields = _fields(cls)
        cls.options = tuple(field.name for field in fields)
        cls.__init__ = _constructor(cls, fields)  # type: ignore[method-assign]  # as dataclasses do
        cls.__doc__ = cls.__doc__ and _documented(cls, cls.__doc__)
        return cls

    return decorate


def _fields(cls: type) -> list[inspect.Parameter]:
    """Return the fields of a class as parameters, and take their defaults out of it: modules register attributes."""
    found = []
    named = False
    for name, annotation in inspect.get_annotations(cls).items():
        if name == "_":
            named = True
            continue
        default = cls.__dict__.get(name, EMPTY)
        found.append(inspect.Parameter(name, NAMED if named else PLAIN, default=default, annotation=annotation))
        if name in cls.__dict__:
            delattr(cls, name)
    return found


def _constructor(cls: type[Declared], fields: list[inspect.Parameter]) -> Callable[..., None]:
    signature = inspect.Signature(fields)

    def __init__(self: Declared, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it is one
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.__init__() {error}") from None
        bound.apply_defaults()
        Module.__init__(self)
        self._set_options(bound.arguments)

    this = inspect.Parameter("self", PLAIN)
    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]  # what inspect reads
        parameters=[this, *fields], return_annotation="None"
    )
    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return __init__


def _documented(cls: type[Declared], text: str) -> str:
    """Return the docstring of a class: what its source says, the standard texts, and where its function is."""
    head, sections = split_sections(text)
    own = entries(sections.pop("Parameters", ""))
    made = {
        "Parameters": "\n".join(f"{name} : {own.get(name) or STANDARD[name]}" for name in cls.options),
        "Raises": cls.raised,
        "Notes": f"See `dispatchkit.nn.functional.{cls.function.__name__}`. "
        f"Source: PyTorch, `torch.nn.{cls.__name__}`.",
    } | sections
    made["Examples"] = EXAMPLES_IMPORT + made["Examples"]
    return join_sections(head, made)
