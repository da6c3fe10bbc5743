"""`MetadataTensor`: a tensor with a dictionary that every operation carries on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from dispatchkit import ops
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.tensor import ArrayMethods, Tensor

__all__ = ["MergeLaw", "MetadataTensor"]

MergeLaw = Literal["left", "right", "error", "drop"] | Callable[[str, Sequence[Any]], Any]


@tensor_protocol.array_type(fallback=fallback.refuse, fields=("data", "metadata", "merge"), dense="to_dense")
class MetadataTensor(ArrayMethods):
    """A tensor with metadata, which the results of all operations on it have too.

    Parameters
    ----------
    data : tensor, or what `asarray` makes one of
    metadata : dictionary with text keys; copied
    merge : the law for keys on which operands that meet disagree: ``"left"`` and ``"right"`` take that operand's
        value, ``"error"`` raises, ``"drop"`` leaves the key out; a function is called with the key and the values
        and gives the value. Among operands with different laws the leftmost decides.

    Raises
    ------
    ValueError : for another `merge`, or when operands disagree under ``"error"``

    Examples
    --------
    >>> import dispatchkit as dk
    >>> speed = dk.types.MetadataTensor([1.0, 2.0], {"unit": "m/s", "run": 7})
    >>> (2 * speed).sum()
    MetadataTensor(tensor(6.), metadata={'unit': 'm/s', 'run': 7})
    """

    def __init__(self, data: Any, metadata: Mapping[str, Any] | None = None, *, merge: MergeLaw = "left") -> None:
        if not callable(merge) and merge not in ("left", "right", "error", "drop"):
            raise ValueError(
                f"MetadataTensor: merge must be 'left', 'right', 'error', 'drop' or a function, not {merge!r}"
            )
        self.data: Tensor = data if isinstance(data, Tensor) else ops.asarray(data)
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.merge = merge

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self.data.dtype

    def to_dense(self) -> Tensor:
        """Return the tensor without its metadata."""
        return self.data

    def __repr__(self) -> str:
        return f"MetadataTensor({self.data!r}, metadata={self.metadata!r})"


@tensor_protocol.implements(kinds.all, MetadataTensor)
def carry_metadata(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute on the tensors inside, and give every result the merged metadata."""
    sources: list[MetadataTensor] = []

    def opened(name: str, value: Any) -> Any:
        if isinstance(value, MetadataTensor):
            sources.append(value)
            return value.data
        return value

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, opened)
    result = op(*args, **kwargs)
    metadata = merged(sources)
    law = sources[0].merge
    return tensor_protocol.types.map_arrays(result, lambda array: MetadataTensor(array, metadata, merge=law))


def merged(sources: Sequence[MetadataTensor]) -> dict[str, Any]:
    """Return the metadata of several operands under the law of the first.

    Raises
    ------
    ValueError : if they disagree under the law ``"error"``, naming the key and the values
    """
    law = sources[0].merge
    found: dict[str, Any] = {}
    for key in dict.fromkeys(key for source in sources for key in source.metadata):
        values = [source.metadata[key] for source in sources if key in source.metadata]
        if all(_same(values[0], value) for value in values[1:]):
            found[key] = values[0]
        elif callable(law):
            found[key] = law(key, values)
        elif law == "error":
            shown = " and ".join(map(repr, values))
            raise ValueError(f"metadata: operands disagree on '{key}': {shown}; choose another merge law")
        elif law != "drop":
            found[key] = values[0 if law == "left" else -1]
    return found


def _same(left: Any, right: Any) -> bool:
    try:
        return left is right or bool(left == right)
    except (ValueError, TypeError):
        return False
