"""`__torch_function__` of subclasses of tensors, which sees the operations on their instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dispatchkit.as_torch.spelling import Tensor

__all__ = ["answer_plainly", "give_torch_function"]

_of_subclasses = Tensor.__init_subclass__.__func__  # type: ignore[attr-defined]  # of a classmethod
_answer = Tensor.__tensor_function__.__func__  # type: ignore[attr-defined]  # of a classmethod


def _torch_function(
    cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Answer a call as plain tensors do, giving results this class; what overrides reach by `super()`."""
    return _answer(cls, func, types, args, kwargs)


def answer_plainly(
    func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Answer a call as plain tensors do, giving results their class: that of classes whose results are not of theirs.

    Parameters
    ----------
    func : the operation
    types : of the arguments that have a `__torch_function__`
    args, kwargs : of the call
    """
    return _answer(Tensor, func, types, args, kwargs)


def _by_torch_function(
    cls: Any, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Ask the `__torch_function__` of a class."""
    return cls.__torch_function__(func, types, args, dict(kwargs or {}))


def _ask_own_function(cls: Any, **kwargs: Any) -> None:
    if "__torch_function__" in vars(cls) and "__tensor_function__" not in vars(cls):
        cls.__tensor_function__ = classmethod(_by_torch_function)
    _of_subclasses(cls, **kwargs)


def give_torch_function() -> None:
    """Have subclasses asked that define `__torch_function__`; its function is the library's operation of the call."""
    setattr(Tensor, "__torch_function__", classmethod(_torch_function))  # noqa: B010  # mypy knows no such assignment
    setattr(Tensor, "__init_subclass__", classmethod(_ask_own_function))  # type: ignore[arg-type]  # noqa: B010
