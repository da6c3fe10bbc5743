"""Who is asked by `__torch_function__` before a function of PyTorch answers, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["ask", "asks", "is_asking", "keeps_classes", "overloaded", "refuse", "unasked"]

# Whose methods say nothing of their own.
LIBRARIES = ("dispatchkit", "torch")
# Whether the results of calls keep the class of their arguments while nobody is asked; None where all are.
_unasked = state_variable("without __torch_function__", None)


def asks(cls: type) -> bool:
    """Return whether a class has a `__torch_function__` of a program: tensors of libraries are arrays like others."""
    method = getattr(cls, "__torch_function__", None)
    if method is None or getattr(method, "__module__", "").partition(".")[0] in LIBRARIES:
        return False
    return issubclass(cls, Storage) or not any(base.__module__ == "torch" for base in cls.__mro__)


def is_asking() -> bool:
    """Return whether `__torch_function__` is asked at all."""
    return _unasked.get() is None


def keeps_classes() -> bool:
    """Return whether results keep the class of their arguments where nobody is asked."""
    return bool(_unasked.get())


@contextmanager
def unasked(*, keep: bool = False) -> Iterator[None]:
    """Return a block in which nobody is asked.

    Parameters
    ----------
    keep : whether results keep the class of their arguments
    """
    token = _unasked.set(keep)  # type: ignore[arg-type]  # of a variable that is None by default
    try:
        yield
    finally:
        _unasked.reset(token)


def _every(values: Iterable[Any]) -> Iterator[Any]:
    """Yield arguments, and the members of lists and tuples among them."""
    for value in values:
        if type(value) in (list, tuple):
            yield from value
        else:
            yield value


def overloaded(values: Iterable[Any]) -> list[Any]:
    """Return the values that are asked, of each type the first, subclasses before their bases; none in a block."""
    values = list(values)
    if not any(map(asks, set(map(type, values)))) or not is_asking():
        return []
    asked = dict[type, Any]()
    for value in values:
        cls = type(value)
        if asks(cls) and cls not in asked:
            asked[cls] = value
    ordered = list[type]()
    for cls in asked:
        place = next((place for place, other in enumerate(ordered) if issubclass(cls, other)), len(ordered))
        ordered.insert(place, cls)
    return [asked[cls] for cls in ordered]


def ask(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    relevant: Iterable[Any] | None = None,
) -> Any:
    """Return what the `__torch_function__` of arguments answers to a call, `NotImplemented` where none is to be asked.

    Parameters
    ----------
    function : that is called, as PyTorch spells it
    args, kwargs : of the call
    relevant : the values that are asked, by default all arguments

    Raises
    ------
    TypeError : where none of those that are asked answers
    """
    if relevant is None:
        relevant = _every((*args, *kwargs.values()))
    values = overloaded(relevant)
    types = tuple(map(type, values))
    for value in values:
        result = value.__torch_function__(function, types, args, dict(kwargs))
        if result is not NotImplemented:
            return result
    if all(not isinstance(value, Storage) and tensor_protocol.types.participates(type(value)) for value in values):
        return NotImplemented  # rules of the library may answer
    return refuse(function, types)


def refuse(function: Callable[..., Any], types: Iterable[type]) -> NoReturn:
    """Raise for a function that nobody answers.

    Raises
    ------
    TypeError : in PyTorch's words
    """
    name = f"{function.__module__}.{function.__name__}"
    raise TypeError(f"no implementation found for {name!r} on types that implement __torch_function__: {[*types]}")
