"""Modules and parameters against PyTorch: what a call and an attribute cost."""

from functools import partial
from typing import Any

import dispatchkit as dk

from .harness import Row, Side, pytorch

__all__ = ["ROWS"]


def same(library: Any, x: Any, *, hook: bool) -> Any:
    """Give a module that returns its input, and has a parameter."""

    class Same(library.nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.weight = library.nn.Parameter(x)

        def forward(self, x: Any) -> Any:
            return x

    module = Same()
    if hook:
        module.register_forward_hook(lambda module, args, output: None)
    return module


def sides(code: str, *, hook: bool = False) -> tuple[Side, Side]:
    torch = pytorch()
    x, y = dk.ones(4), torch.ones(4, dtype=torch.float64)
    return (
        Side(code, {"module": same(dk, x, hook=hook), "x": x}),
        Side(code, {"module": same(torch, y, hook=hook), "x": y}),
    )


ROWS = [
    Row("module", "module(x)", "PyTorch", 0.3, partial(sides, "module(x)")),
    Row("module", "module(x) with a hook", "PyTorch", 1.5, partial(sides, "module(x)", hook=True)),
    Row("module", "module.weight.shape", "PyTorch", 0.15, partial(sides, "module.weight.shape")),
    Row("module", "module.weight * x", "PyTorch", 0.8, partial(sides, "module.weight * x")),
]
