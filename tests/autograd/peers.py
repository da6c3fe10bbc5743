"""Programs that run in dispatchkit and in PyTorch alike: what they use of either library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def tools(lib: Any) -> SimpleNamespace:
    """Return what the programs use of either library."""

    def leaf(*values: float) -> Any:
        return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)

    def function(forward: Any = None, backward: Any = None, **others: Any) -> Any:
        methods = {"forward": forward, "backward": backward, **others}
        static = {name: staticmethod(method) for name, method in methods.items() if method is not None}
        made: Any = type("LinearFunction", (lib.autograd.Function,), static)
        return made

    def gradients(y: Any, *inputs: Any, **options: Any) -> Any:
        return lib.autograd.grad(y.sum(), inputs, allow_unused=True, **options)

    return SimpleNamespace(lib=lib, leaf=leaf, function=function, gradients=gradients)


def told(seen: list[Any], value: Any, result: Any) -> Any:
    """Note a value, and return the result."""
    seen.append(value)
    return result


def plain(value: Any) -> Any:
    """Numbers, flags and texts of a result."""
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if hasattr(value, "tolist"):
        return ["tensor", value.tolist(), value.requires_grad]
    return value
