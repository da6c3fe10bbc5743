"""The way of calls that nothing is to be looked at for: of tensors alone, and those that a plan is known for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dispatchkit.accelerator import core
from dispatchkit.as_torch.calling.caller import FunctionCaller
from dispatchkit.as_torch.calling.plans import Plan, key_function, key_of, kinds_of
from dispatchkit.as_torch.calling.signatures import least_of
from dispatchkit.errors import TransformError
from dispatchkit.protocol.parameters import MISSING

__all__ = ["quick"]

ndarray = np.ndarray


# Written out: each call in it would take a tenth of the time of a small one.
def quick(  # noqa: C901, PLR0915
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
    function, planned, looked, one_dtype = whole.function, whole.planned, whole.looked, whole.one_dtype
    alone = _types_of_tensors(whole, most, classes)
    # What carries out calls of which the first argument alone varies, by all types, then by what is left of the key.
    by_types: dict[Any, dict[Any, Callable[[Any], Any]]] = {}
    # The same of other calls, with what makes a key of the arguments of these types.
    by_kinds: dict[Any, tuple[Callable[..., Any], dict[Any, Callable[..., Any]]]] = {}

    def call(first: Any = MISSING, /, *rest: Any, **kwargs: Any) -> Any:  # noqa: C901
        types: Any = type(first)
        if kwargs:
            types = (types, *map(type, rest), *kwargs, *map(type, kwargs.values()))
        elif len(rest) == 1:
            types = (types, type(rest[0]))
        elif rest:
            types = (types, *map(type, rest))
        run: Any = None
        others = rest
        if types in alone:
            dtype = first.array.dtype
            if (not looked or getattr(dtype, "kind", "") not in looked) and (
                not rest or not one_dtype or dtype is rest[0].array.dtype
            ):
                run = function
        elif types in by_types:
            others = ()
            if type(first) in classes and type(array := first.array) is ndarray:
                kind: Any = ndarray, array.ndim, array.dtype.num  # as `_kind_of` says
            else:
                kind = _kind_of(first)
            run = by_types[types].get((kind, (*rest, *kwargs.values()) if kwargs else rest))
        elif types in by_kinds:
            if kwargs:
                others = (*rest, *kwargs.values())
            key, known = by_kinds[types]
            run = known.get(key(first, *others))
        if run is not None:
            try:
                y = run(first, *others) if others else run(first)
            except Exception:  # noqa: BLE001, S110  # what looks at the arguments says it in PyTorch's words
                pass
            else:
                return y if type(y) in classes else whole.finished(y)
        return by_plan(types, () if first is MISSING else (first, *rest), kwargs)

    def by_plan(types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        plan = plans.get(key_of(args, kwargs)) if plans else None
        if plan is None:
            return otherwise(args, kwargs)
        if plan.of_first is not None and args and (kind := _kind_of(args[0])) is not None:
            run = plan.of_first(planned, as_tuple=type(args[0]) is list)
            by_types.setdefault(types, {})[kind, (*args[1:], *kwargs.values())] = run
        elif args and (letters := kinds_of(values := (*args, *kwargs.values()), classes)) is not None:
            key, known = by_kinds.setdefault(types, (key_function(letters), {}))
            if (parts := key(*values)) is not None:
                known[parts] = plan.compiled(planned, len(args), list(kwargs))
        try:
            y = plan.carried_out(planned, args, kwargs)
        except Exception:  # noqa: BLE001  # likewise
            return otherwise(args, kwargs)
        return y if type(y) in classes else whole.finished(y)

    members = (alone, looked, one_dtype, function, classes, by_types, by_kinds, by_plan, whole.finished)
    return _through_core(call, members)


def _through_core(call: Callable[..., Any], members: tuple[Any, ...]) -> Callable[..., Any]:
    """Return a function whose calls the compiled core carries out, where it is in use.

    Parameters
    ----------
    call : which does so without it
    members : what that knows, as the core takes it
    """
    carry_out = None
    if core is not None:
        carry_out = core.spelled((*members, call))
    if carry_out is None:
        return call

    def through_core(first: Any = MISSING, /, *rest: Any, **kwargs: Any) -> Any:
        if first is MISSING:
            return call(**kwargs)
        return carry_out(first, rest, kwargs)

    return through_core


def _kind_of(first: Any) -> Any:
    """Return what decides, besides the type, how tensors in NumPy's memory are taken: one, or a list or tuple."""
    try:
        if type(first) is list or type(first) is tuple:
            return tuple([(type(x), type(x.array), x.array.ndim, x.array.dtype.num) for x in first])
        array = first.array
        return type(array), array.ndim, array.dtype.num
    except (AttributeError, TransformError):  # of a tensor in another library's memory, or one that stands for another
        return None


def _types_of_tensors(whole: FunctionCaller, most: int, classes: frozenset[type]) -> frozenset[Any]:
    """Return the types of one tensor, or two, of which only dtypes are to be looked at; a single one as it is."""
    if not (whole.is_plain and whole.takes_first_tensor):
        return frozenset()
    if not whole.takes_second_tensor:
        most = min(most, 1)
    counts = range(max(1, least_of(whole.path)), min(most, 2) + 1)
    return frozenset(
        types[0] if count == 1 else types for count in counts for types in itertools.product(classes, repeat=count)
    )
