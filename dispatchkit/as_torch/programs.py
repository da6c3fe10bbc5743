"""What programs need beside functions: files, mixed precision, distributions, entered into the modules of PyTorch."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from dispatchkit.as_torch import amp, distributions, serialization
from dispatchkit.as_torch.spelling import HOME, enter_module

# The names of distributions, and PyTorch's modules of one distribution each.
NAMED = frozenset(name for name, value in vars(distributions).items() if isinstance(value, type))
NAMED |= {"constraints", "transforms", "identity_transform", "kl_divergence", "register_kl"}
OF_DISTRIBUTIONS = {
    "kl": ("kl_divergence", "register_kl"),
    "studentT": ("StudentT",),
    "one_hot_categorical": ("OneHotCategorical", "OneHotCategoricalStraightThrough"),
    **{
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): (name,)
        for name in NAMED
        if name[0].isupper() and not name.endswith("Transform") and name not in ("OneHotCategorical", "StudentT")
    },
}


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


def enter_programs() -> None:
    """Enter all of it."""
    enter_module("distributions", {name: value for name, value in vars(distributions).items() if name in NAMED})
    for name, members in OF_DISTRIBUTIONS.items():
        enter_module(f"distributions.{name}", {each: getattr(distributions, each) for each in members})
    extend_module("", {"save": serialization.save, "load": serialization.load})
    precision = {name: getattr(amp, name) for name in ("autocast", "GradScaler", "custom_fwd", "custom_bwd")}
    extend_module("", {"autocast": amp.autocast, "GradScaler": amp.GradScaler, "compile": amp.compile_nothing})
    enter_module("amp", precision)
    of_cuda = {**precision, "autocast": amp.autocast_of, "GradScaler": amp.scaler_of}
    enter_module("cuda.amp", of_cuda)
