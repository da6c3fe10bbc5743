"""A declared operation with the functions that follow: public ones, and what computes calls by default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override

from dispatchkit.declare.compiled.default_implementations import default_implementation
from dispatchkit.declare.compiled.entry_points import entry_point, operator_entry_point
from dispatchkit.declare.declared import Declared
from dispatchkit.declare.layouts import is_cheap, layouts
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.callers import make_function
from dispatchkit.protocol.parameters import Key, flatten

__all__ = ["DeclaredOperation"]


class DeclaredOperation(Declared):
    """An operation on arrays, with the functions that call and compute it."""

    @override
    def make_function(self) -> Callable[..., Any]:
        """Return the public function, which computes plain tensors without reading the table."""
        return entry_point(self, self.make_general())

    def make_general(self) -> Callable[..., Any]:
        """Return what answers the calls that the public function does not compute itself."""
        return make_function(self)

    @override
    def make_operator(self, reflected: str) -> Callable[..., Any]:
        return operator_entry_point(self, reflected)

    @override
    def default(self, key: Key, result: type | None) -> Callable[..., Any] | None:
        cls = result if result is not None else self.protocol.types.base
        assert cls is not None
        tracer: Any = next((t for t in flatten(key) if issubclass(t, Storage) and t.is_tracer), None)
        return default_implementation(self, key, cls) if tracer is None else self._by_tracer(tracer)

    def _by_tracer(self, cls: Any) -> Callable[..., Any]:
        """Return what lets a type answer whose instances have no raw array."""

        def handler(*args: Any, **kwargs: Any) -> Any:
            return cls.__tensor_function__(self.function, (cls,), args, kwargs)

        return handler

    @override
    def is_cheap(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        return is_cheap(self, args, kwargs)

    @override
    def layouts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return layouts(self, args, kwargs)
