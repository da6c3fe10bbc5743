"""What answers for a type where it has no rule: declared, ordered, visible; one module for each strategy."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from dispatchkit.protocol.fallbacks.base import Fallback, FallbackStrategy
from dispatchkit.protocol.fallbacks.convert import Convert
from dispatchkit.protocol.fallbacks.decompose import Decompose, Undecomposable
from dispatchkit.protocol.fallbacks.dense import Dense
from dispatchkit.protocol.fallbacks.fieldwise import FIELDWISE
from dispatchkit.protocol.fallbacks.refuse import Refuse
from dispatchkit.protocol.fallbacks.rewrap import Rewrap

__all__ = ["STRATEGIES", "Decompose", "Fallback", "FallbackStrategy", "Undecomposable", "fallback"]


class fallback:  # noqa: N801  # a namespace, read as `dk.fallback.dense`
    """What answers for a type where it has no rule; join several by ``|``.

    Attributes
    ----------
    refuse : nothing does: the call raises
    dense : ``to_dense()`` on every foreign argument, plain arrays back
    rewrap : compute on the first field, rebuild with the other fields
    decompose : run the operation's body, whose inner calls reach the type's rules
    fieldwise : copies and casts go field by field; every type has it first, without a declaration
    convert : the cheapest path of declared conversions to a type that has a rule
    """

    refuse = Fallback(Refuse())
    dense = Fallback(Dense())
    rewrap = Fallback(Rewrap())
    decompose = Fallback(Decompose())
    convert = Fallback(Convert())
    fieldwise = Fallback(FIELDWISE)


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
for _strategy in FallbackStrategy.__subclasses__():
    if not hasattr(fallback, _strategy.name):
        setattr(fallback, _strategy.name, Fallback(_strategy()))

STRATEGIES = tuple(name for name, value in vars(fallback).items() if isinstance(value, Fallback))
