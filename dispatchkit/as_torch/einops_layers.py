"""The layers of einops, `einops.layers.torch`, as modules of `as_torch`; they need einops.

Examples
--------
>>> import dispatchkit.as_torch as torch
>>> from dispatchkit.as_torch.einops_layers import Rearrange
>>> Rearrange("b c h w -> b (c h w)")(torch.ones(2, 3, 4, 5)).shape
torch.Size([2, 60])
"""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.spelling import Module
from dispatchkit.marks import override


def _function(name: str) -> Any:
    """Return a function of einops."""
    import einops  # noqa: PLC0415  # optional dependency

    return getattr(einops, name)


class Rearrange(Module):
    """A layer that reorders, joins and divides axes, as `einops.rearrange` does.

    Parameters
    ----------
    pattern : such as ``"b c h w -> b (c h w)"``
    **axes_lengths : lengths of axes that the pattern names
    """

    def __init__(self, pattern: str, **axes_lengths: int) -> None:
        super().__init__()
        self.pattern, self.axes_lengths = pattern, axes_lengths

    @override
    def forward(self, x: Any) -> Any:
        """Return the array with other axes."""
        return _function("rearrange")(x, self.pattern, **self.axes_lengths)

    @override
    def extra_repr(self) -> str:
        """Return the pattern."""
        return ", ".join([repr(self.pattern), *(f"{name}={n}" for name, n in self.axes_lengths.items())])


class Reduce(Rearrange):
    """A layer that reduces over axes, as `einops.reduce` does.

    Parameters
    ----------
    pattern : such as ``"b c h w -> b c"``
    reduction : ``"mean"``, ``"sum"``, ``"max"``, ``"min"`` or ``"prod"``
    **axes_lengths : lengths of axes that the pattern names
    """

    def __init__(self, pattern: str, reduction: str, **axes_lengths: int) -> None:
        super().__init__(pattern, **axes_lengths)
        self.reduction = reduction

    @override
    def forward(self, x: Any) -> Any:
        """Return the array with fewer elements."""
        return _function("reduce")(x, self.pattern, self.reduction, **self.axes_lengths)
