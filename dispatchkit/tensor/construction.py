"""How instances of subclasses of `Tensor` are made; mistakes raise with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.handlers import location_of, type_name

__all__ = ["check_subclass", "refuse_arguments"]

OWN_ARGUMENTS = "a subclass with arguments of its own defines __init__, which calls super().__init__(data)"


def check_subclass(cls: type) -> None:
    """Refuse NumPy's hook for subclasses, and let the constructors of a new subclass explain their mistakes.

    Raises
    ------
    RegistrationError : if the class defines ``__array_finalize__``, which nobody would call
    """
    own = vars(cls)
    if "__array_finalize__" in own:
        raise RegistrationError(
            f"{type_name(cls)}.__array_finalize__ would never be called, since results are no NumPy arrays; "
            f"define __tensor_finalize__(self, op, sources), which takes over the attributes of the sources"
        )
    if "__init__" in own:
        cls.__init__ = _initializer(own["__init__"])  # type: ignore[misc]  # of this very class
    if isinstance(own.get("__new__"), staticmethod):
        cls.__new__ = _creator(own["__new__"].__func__)  # type: ignore[method-assign]


def _initializer(initialize: Callable[..., None]) -> Callable[..., None]:
    """Return an ``__init__`` that raises where the one of `Tensor` was not called."""

    @wraps(initialize)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        # One that another calls may leave the array to it.
        if type(self).__init__ is checked and not hasattr(self, "array"):
            raise TypeError(
                f"{type_name(type(self))}.__init__ at {location_of(initialize)} gave the tensor no array; "
                f"call super().__init__(data) in it"
            )

    return checked


def _creator(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``__new__`` that says what to write where data is passed on to the one of `object`."""

    @wraps(create)
    def explained(cls: type, *args: Any, **kwargs: Any) -> Any:
        try:
            return create(cls, *args, **kwargs)
        except TypeError as error:
            if not str(error).startswith("object.__new__() takes exactly one argument"):
                raise
            name = f"{type_name(cls)}.__new__ at {location_of(create)}"
            raise TypeError(f"{name}: Tensor takes no data in __new__; {OWN_ARGUMENTS}") from error

    return explained


def refuse_arguments(cls: type, args: tuple[Any, ...]) -> NoReturn:
    """Raise for the positional arguments of a call of `Tensor`, or of a subclass, that are too many."""
    if cls.__module__.partition(".")[0] == "dispatchkit":
        shown = ", ".join("..." if len(repr(arg)) > 20 else repr(arg) for arg in args)
        advice = f"write {cls.__name__}([{shown}]) for these elements"
        if all(isinstance(arg, int) for arg in args):
            advice += f", or dk.empty(({shown})) for a tensor of this shape"
    else:
        advice = OWN_ARGUMENTS
    raise TypeError(f"{type_name(cls)} takes one positional argument, data, found {len(args)}; {advice}")
