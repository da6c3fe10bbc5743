"""What answers for a type where it has no rule: declared, ordered, visible."""

from typing import TYPE_CHECKING, ClassVar

from dispatchkit.deprecation import warn_deprecated
from dispatchkit.protocol.fallbacks.base import FallbackStrategy
from dispatchkit.protocol.fallbacks.execution import Undecomposable
from dispatchkit.protocol.fallbacks.strategies import Decompose
from dispatchkit.protocol.types.declaration import REFUSE, Fallback

__all__ = ["STRATEGIES", "Decompose", "Fallback", "FallbackStrategy", "Undecomposable", "fallback"]


FORMER = {"fieldwise": "each_field"}


class _WithFormerNames(type):
    """The type of `fallback`, which knows the former names of fallbacks, and warns of them."""

    if not TYPE_CHECKING:  # a type checker would take any name for one

        def __getattr__(cls, name: str) -> Fallback:
            if name not in FORMER:
                raise AttributeError(f"there is no fallback {name!r}; there are {', '.join(STRATEGIES)}")
            warn_deprecated(f"dk.fallback.{name}", f"dk.fallback.{FORMER[name]}")
            return getattr(cls, FORMER[name])


class fallback(metaclass=_WithFormerNames):  # noqa: N801  # a namespace, read as `dk.fallback.dense`
    """What answers for a type where it has no rule; join several by ``|``.

    Attributes
    ----------
    refuse : nothing does: the call raises
    dense : ``to_dense()`` on every argument that has it, plain arrays back
    rewrap : compute on the first field, rebuild with the other fields
    decompose : run the operation's body, whose inner calls reach the type's rules
    each_field : copies and casts of each field; every type has it first, without a declaration
    convert : the cheapest path of declared conversions to a type that has a rule

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.fallback.decompose | dk.fallback.dense
    fallback.decompose | fallback.dense
    """

    refuse = REFUSE
    dense = Fallback(("dense",))
    rewrap = Fallback(("rewrap",))
    decompose = Fallback(("decompose",))
    convert = Fallback(("convert",))
    each_field = Fallback(("each_field",))
    if TYPE_CHECKING:
        fieldwise: ClassVar[Fallback]


for _name in FallbackStrategy.named:
    if not hasattr(fallback, _name):
        setattr(fallback, _name, Fallback((_name,)))

STRATEGIES = tuple(name for name, value in vars(fallback).items() if isinstance(value, Fallback))
