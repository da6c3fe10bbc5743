"""Context managers that say so where nobody enters them: ``densify(on="error")`` without `with` would do nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any

__all__ = ["Reminding", "remind"]


def remind(name: str) -> None:
    """Warn, in a ``__del__``, at the line that drops a context manager which nobody has entered."""
    text = f"{name}() has no effect before a with statement enters it; write with {name}(...):"
    warnings.warn(text, RuntimeWarning, stacklevel=3)


class Reminding(ContextDecorator):
    """A context manager around another that warns if it is dropped before somebody has entered it.

    Parameters
    ----------
    name : of the public function that returns it
    context : the other
    """

    def __init__(self, name: str, context: Any) -> None:
        self._name, self._context, self._used = name, context, False

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Decorate a function, as the other context manager does."""
        self._used = True
        return self._context(func)

    def __enter__(self) -> Any:
        self._used = True
        return self._context.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        suppresses: bool | None = self._context.__exit__(kind, value, traceback)
        return suppresses

    def __del__(self) -> None:
        if not self._used:
            remind(self._name)
