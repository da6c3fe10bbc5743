"""The protocol of this library's operations, and its modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dispatchkit.marks import override
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.overridable import Overridable

tensor_protocol = DispatchProtocol("__tensor_function__")
Kind.listed, Kind.load_all = tensor_protocol.operations, tensor_protocol.journal.load_all
tensor_protocol.surface.home = "dispatchkit", "ArrayMethods"


class FunctionMode(Mode):
    """A mode that answers by the method of its protocol's name."""

    of_users = True

    @override
    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        types = None
        if len(args) == operation.parameters.positional:
            types = operation.present.get(tuple(map(type, args)))  # as `participating` finds them, in fewer steps
        if types is None:
            types = operation.participating(args, kwargs)
        return getattr(self, operation.types.method)(operation.function, types, args, kwargs)


class TensorFunctionMode(FunctionMode):
    """Base of modes: sees every call of an operation made inside its `with` block.

    Define ``__tensor_function__(self, func, types, args, kwargs)``. What it returns is the result of the call;
    `NotImplemented` or `decline` pass the call on to the next mode outward, and then to the types. Calls that the
    method makes itself do not come back to it.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Names(dk.TensorFunctionMode):
    ...     def __tensor_function__(self, func, types, args, kwargs):
    ...         print(func.__name__)
    ...         return func(*args, **kwargs)
    >>> with Names():
    ...     x = dk.ones(2) + 1
    ones
    add
    """

    protocol = tensor_protocol

    def __tensor_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return NotImplemented

    __tensor_function__.__passes__ = True  # type: ignore[attr-defined]  # it is known to pass on every call


class disable_dispatch(Mode):  # noqa: N801  # used like a function, in `with`
    """Switch overrides off inside a `with` block: subclasses of `Tensor` are computed as plain tensors.

    Calls with other array types raise. Modes are not asked, not even those entered inside.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Loud(dk.Tensor):
    ...     @classmethod
    ...     def __tensor_function__(cls, func, types, args, kwargs):
    ...         raise RuntimeError("asked")
    >>> with dk.disable_dispatch():
    ...     dk.sum(Loud([1.0, 2.0]))
    tensor(3.)
    """

    protocol = tensor_protocol
    switches_off = True

    @override
    def stays_on(self) -> bool:
        return True

    @override
    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        chain: Chain = operation.protocol.plain_chain(operation, operation.parameters.key(args, kwargs))
        return chain.run(args, kwargs, on_step=note_asked)
