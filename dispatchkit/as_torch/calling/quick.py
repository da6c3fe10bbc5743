"""The way of calls that nothing is to be looked at for: of tensors alone, and those that a plan is known for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from dispatchkit.as_torch.calling.caller import FunctionCaller
from dispatchkit.as_torch.calling.plans import Plan, key_of
from dispatchkit.as_torch.calling.signatures import least_of

__all__ = ["quick"]


def quick(
    whole: FunctionCaller,
    otherwise: Callable[..., Any],
    most: int,
    classes: frozenset[type],
    plans: Mapping[Any, Plan] = MappingProxyType({}),
) -> Callable[..., Any]:
    """Return a function that calls another at once where there is nothing to look at.

    Parameters
    ----------
    whole : what looks at the arguments
    otherwise : which is called where there is something
    most : how many arguments are passed on as they are
    classes : of tensors and parameters
    plans : of calls that `otherwise` carries out by them
    """
    function, looked, one_dtype = whole.function, whole.looked, whole.one_dtype
    plain = whole.is_plain and whole.takes_first_tensor
    adopt, least = whole.adopt, max(1, least_of(whole.path))
    if not whole.takes_second_tensor:
        most = min(most, 1)

    def call(*args: Any, **kwargs: Any) -> Any:
        # Tensors alone, of which nothing is to be looked at.
        if (
            plain
            and not kwargs
            and least <= len(args) <= most
            and type(args[0]) in classes
            and (not looked or getattr(args[0].array.dtype, "kind", "") not in looked)
            and (
                len(args) == 1
                or (
                    len(args) == 2
                    and type(args[1]) in classes
                    and (not one_dtype or args[0].array.dtype is args[1].array.dtype)
                )
            )
        ):
            try:
                y = function(*args)
            except Exception:  # noqa: BLE001, S110  # what looks at the arguments says it in PyTorch's words
                pass
            else:
                if type(y) in classes:
                    return y
                return adopt(y)
        if plans and not kwargs and (plan := plans.get(key_of(args, kwargs))) is not None:
            try:
                y = plan.carried_out(function, args, kwargs)
            except Exception:  # noqa: BLE001, S110  # likewise
                pass
            else:
                if type(y) in classes:
                    return y
                return whole.finished(y)
        return otherwise(args, kwargs)

    return call
