"""`which`: who answers calls with arrays of some types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from types import MethodType
from typing import Any

from dispatchkit.deprecation import warn_deprecated
from dispatchkit.protocol.engine import DispatchProtocol, misfit_in
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.report.auditing.pairs import SEVERAL, Chains, decide
from dispatchkit.report.registered import protocol_of


@dataclass(frozen=True, slots=True)
class WhichAnswer:
    """Who answers calls with arrays of some types.

    Attributes
    ----------
    call : the operation with the types
    who : name of the type that answers, "" where nobody does
    what : the answer, or why nobody answers
    location : file and line of the rule, "" where none is behind the answer
    handler : the function of the rule, None where none is behind the answer
    """

    call: str
    who: str
    what: str
    location: str = ""
    handler: Callable[..., Any] | None = None

    def __str__(self) -> str:
        return f"{self.call}: {self.what}"

    __repr__ = __str__


def which(function: Callable[..., Any], /, *types: type) -> WhichAnswer:
    """Return who answers calls of an operation with arrays of some types; nothing is called.

    Deprecated: `explain` takes types, too, and says in which order all are asked.

    Parameters
    ----------
    function : an operation, or a bound method that calls one, whose array is the first
    *types : the types of its arrays, in order; a single type stands for all of them

    Returns
    -------
    WhichAnswer
        Prints as one line; ``handler`` is the rule, or None.

    Raises
    ------
    TypeError : if the function is not overridable, or takes fewer arrays

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.explain(dk.matmul, dk.types.ScalarTensor, dk.Tensor).what.partition(" at ")[0]
    'matmul_ScalarTensor_Tensor(ScalarTensor, Tensor)'
    """
    warn_deprecated("dk.which(operation, *types)", "dk.explain(operation, *types)")
    protocol = protocol_of(function)
    operation = protocol.operation(function)
    types = _with_own_type(function, types, len(operation.parameters.arrays))
    by_name = _types_by_parameter(protocol, operation, types)
    call = f"{operation.qualified_name}({', '.join(map(type_name, types))})"
    decision = decide(Chains(protocol), operation, types, by_name, call)
    step = decision.step
    if step is None:
        return WhichAnswer(call, "", f"nobody answers: {decision.reason}")
    if step.rule is None:
        location, handler = "", None
    else:
        location, handler = step.rule.location, step.rule.handler
    return WhichAnswer(call, type_name(step.cls), step.text, location, handler)


def _with_own_type(function: Callable[..., Any], types: tuple[type, ...], count: int) -> tuple[type, ...]:
    """Return the types of a call's arrays, of which that of a bound method's array is one, unless all are given.

    Parameters
    ----------
    function : that is called
    types : of its other arrays
    count : number of arrays that the operation takes
    """
    if not isinstance(function, MethodType) or isinstance(function.__self__, type) or len(types) == count:
        return types
    own = type(function.__self__)
    if function.__name__ in REFLECTED.values():
        return (*types, own)
    return (own, *types)


def _types_by_parameter(protocol: DispatchProtocol, operation: Overridable, types: Sequence[type]) -> dict[str, Any]:
    """Return the types of a call's arrays by their parameters, a tuple of them for several.

    Raises
    ------
    TypeError : if there are none, or more than the operation takes, or an instance in the place of a type
    """
    for cls in types:
        if not isinstance(cls, type):
            raise misfit_in("which", cls, protocol)
    parameters = operation.parameters
    places = [p.name for p in parameters.arrays if p.form in (Form.ONE, Form.LOOSE)]
    several = [p.name for p in parameters.arrays if p.form in SEVERAL]
    if not types or (not several and len(types) > len(places)):
        raise TypeError(f"which: {operation.qualified_name} takes {len(places)} arrays, {len(types)} types were given")
    by_name: dict[str, Any] = {p.name: int for p in parameters.arrays if p.form is Form.INDEX}
    defaults = {name: parameters.signature.parameters[name].default for name in places}
    by_name |= {name: types[-1] for name, default in defaults.items() if default is Parameter.empty}
    return by_name | dict(zip(places, types, strict=False)) | dict.fromkeys(several, types)
