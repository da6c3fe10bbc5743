"""`Wrapper`: a type that does nothing, the reference subject of the conformance checks."""

from __future__ import annotations

from typing import Any

from dispatchkit import ops
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import ArrayMethods, Tensor


@tensor_protocol.array_type(fallback=fallback.rewrap, fields=("data", "tag"))
class Wrapper(ArrayMethods):
    """A tensor in an envelope: every operation computes on the tensor and puts the result into a like envelope.

    Parameters
    ----------
    data : tensor, or what `asarray` makes one of
    tag : anything; results have that of the first wrapper among the arguments

    Notes
    -----
    It has no rule of its own: the fallback `rewrap` answers for every operation. It passes every check of
    `check_type`, so what a check finds wrong with another type is that type's own.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import Wrapper
    >>> dk.sum(Wrapper([1.0, 2.0], tag="m"))
    Wrapper(tensor(3.), tag='m')
    """

    def __init__(self, data: Any, tag: Any = None) -> None:
        self.data: Tensor
        if isinstance(data, Tensor):
            self.data = data
        else:
            self.data = ops.asarray(data)
        self.tag = tag

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.data.dtype

    def to_dense(self) -> Tensor:
        """Return the tensor inside."""
        return self.data

    def __repr__(self) -> str:
        return f"Wrapper({self.data!r}, tag={self.tag!r})"
