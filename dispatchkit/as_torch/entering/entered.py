"""What the modules of PyTorch have here, and how they get more."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from dispatchkit.as_torch.spelling import HOME, enter_module

__all__ = ["extend_module", "of_module"]


def extend_module(path: str, members: Mapping[str, Any]) -> None:
    """Give a module of PyTorch further names.

    Parameters
    ----------
    path : of the module inside PyTorch, which is entered if it is not there
    members : the names and what they stand for
    """
    module = sys.modules.get(f"{HOME}.{path}".rstrip("."))
    held = {}
    if module is not None:
        held = {name: getattr(module, name) for name in vars(module)["__all__"]}
    enter_module(path, {**held, **members})


def of_module(path: str) -> dict[str, Any]:
    """Return what a module of PyTorch has by now."""
    module = sys.modules[f"{HOME}.{path}"]
    return {name: getattr(module, name) for name in vars(module)["__all__"]}
