"""Rules for batches of Fourier transforms."""

from __future__ import annotations

from typing import Any

from dispatchkit.ops.shared.axes import normal_axes
from dispatchkit.protocol.kinds import kinds
from dispatchkit.transforms.batching.rules import BY_KIND, Batch, along_axis, rule_for

__all__: list[str] = []


@rule_for("fft.fftshift", "fft.ifftshift", "fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn")
def along_axes(batch: Batch, x: Any, /, **kwargs: Any) -> Any:
    """Compute along several axes counted behind the batch."""
    places = normal_axes(kwargs.pop("axes", None), len(x.shape), batch.operation.name)
    return batch.operation.function(x.value, axes=tuple(one + 1 for one in places), **kwargs)


BY_KIND[kinds.fft] = along_axis
