"""The modules that PyTorch's packages are made of, such as `torch.optim.optimizer`, from which programs import names.

`homes.csv` says what PyTorch defines in which; `nox -s generated` writes it. Here each shows what its package has.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dispatchkit.as_torch.entering.entered import extend_module, of_module
from dispatchkit.as_torch.layers.families import FAMILIES
from dispatchkit.as_torch.layers.lazy import LazyModuleMixin
from dispatchkit.as_torch.spelling import HOME
from dispatchkit.errors import GradcheckError
from dispatchkit.nn import hooks, init
from dispatchkit.optim import required
from dispatchkit.optim.lr_scheduler.schedules import EPOCH_DEPRECATION_WARNING, LRScheduler
from dispatchkit.resources import read_rows

__all__ = ["PACKAGES", "PRIVATE", "enter_homes"]

PACKAGES = ("autograd", "nn.modules", "nn.utils", "optim", "utils.data")


def _ntuple(length: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that makes a number a tuple of so many of it, and an iterable a tuple."""

    def parse(value: Any) -> tuple[Any, ...]:
        if isinstance(value, Iterable):
            return tuple(value)
        return tuple(itertools.repeat(value, length))

    parse.__name__ = name
    return parse


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    return init.fans("_calculate_fan_in_and_fan_out", tensor)


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    """Return how many inputs an output has, or outputs an input."""
    fan_in, fan_out = init.fans("_calculate_correct_fan", tensor)
    chosen = {"fan_in": fan_in, "fan_out": fan_out}.get(mode.lower())
    if chosen is None:
        raise ValueError(f"_calculate_correct_fan: mode {mode!r} is not supported; use 'fan_in' or 'fan_out'")
    return chosen


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names in a state that begin with it, in place.

    Parameters
    ----------
    state_dict : as `Module.state_dict` gives it, with its ``_metadata`` if it has some
    prefix : such as ``"module."``, which `nn.DataParallel` puts before all names

    Examples
    --------
    >>> from dispatchkit.as_torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [*metadata]:
        # That of the outermost module is "module", without the point.
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


HOOKS_OF_ALL = (
    *(hooks.register_module_forward_pre_hook, hooks.register_module_forward_hook),
    *(hooks.register_module_full_backward_pre_hook, hooks.register_module_full_backward_hook),
)
# What programs import from these modules besides what their packages have.
MEMBERS: dict[str, Any] = {
    **FAMILIES,
    **{each.__name__: each for each in HOOKS_OF_ALL},
    "GradcheckError": GradcheckError,
    "LazyModuleMixin": LazyModuleMixin,
    "required": required,
    "consume_prefix_in_state_dict_if_present": consume_prefix_in_state_dict_if_present,
    "_ntuple": _ntuple,
    "_single": _ntuple(1, "_single"),
    "_pair": _ntuple(2, "_pair"),
    "_triple": _ntuple(3, "_triple"),
    "_quadruple": _ntuple(4, "_quadruple"),
}
PRIVATE = frozenset(MEMBERS)


def enter_homes() -> None:
    """Enter the modules of which there is a name here; what they have already stays."""
    extend_module("nn", {name: FAMILIES[name] for name in ("RNNBase", "RNNCellBase")})
    for place, names in _table().items():
        package = of_module(place.rpartition(".")[0].removesuffix(".modules"))
        members = {name: package[name] for name in names if name in package}
        if f"{HOME}.{place}" in sys.modules:
            members |= of_module(place)
        members |= {name: MEMBERS[name] for name in names if name in MEMBERS}
        if members:
            extend_module(place, {name: value for name, value in members.items() if name[0] != "_"})
            _give(place, {name: value for name, value in members.items() if name[0] == "_"})
    _give("cuda", {"_initialized": False})
    fans = (_calculate_fan_in_and_fan_out, _calculate_correct_fan)
    _give("nn.init", {each.__name__: each for each in fans})
    schedules = {"_LRScheduler": LRScheduler, "EPOCH_DEPRECATION_WARNING": EPOCH_DEPRECATION_WARNING}
    _give("optim.lr_scheduler", schedules)


def _give(place: str, members: Mapping[str, Any]) -> None:
    """Give a module names that are imported, and not shown, as they begin with an underscore."""
    vars(sys.modules[f"{HOME}.{place}"]).update(members)


def _table() -> dict[str, list[str]]:
    return {row["place"]: row["names"].split() for row in read_rows(__package__, "homes.csv")}
