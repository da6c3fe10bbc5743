"""What answers for a type where it has no rule: declared, ordered, visible."""

from dispatchkit.deprecation import warn_deprecated
from dispatchkit.protocol.fallbacks.base import FallbackStrategy
from dispatchkit.protocol.fallbacks.execution import Undecomposable
from dispatchkit.protocol.fallbacks.strategies import Decompose
from dispatchkit.protocol.types.declaration import REFUSE, Fallback

__all__ = ["STRATEGIES", "Decompose", "Fallback", "FallbackStrategy", "Undecomposable", "fallback"]


class _Former:
    """A former name of a fallback, which warns.

    Parameters
    ----------
    name : what it is called now
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.former = ""

    def __set_name__(self, owner: type, former: str) -> None:
        self.former = former

    def __get__(self, instance: object, owner: type) -> Fallback:
        warn_deprecated(f"dk.fallback.{self.former}", f"dk.fallback.{self.name}")
        return Fallback((self.name,))


class fallback:  # noqa: N801  # a namespace, read as `dk.fallback.dense`
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
    fieldwise = _Former("each_field")


for _name in FallbackStrategy.named:
    if not hasattr(fallback, _name):
        setattr(fallback, _name, Fallback((_name,)))

STRATEGIES = tuple(name for name, value in vars(fallback).items() if isinstance(value, Fallback))
