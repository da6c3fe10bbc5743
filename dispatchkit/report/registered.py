"""`explain` and `rules`: who answers a call, and the rules of a type or of an operation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from dispatchkit.declare.typing import Operation
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.explain.explanation import Explanation
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.overridable import of
from dispatchkit.protocol.rules import RuleList
from dispatchkit.report import record


@overload
def explain(function: Operation[..., Any], /, *args: Any, run: bool = ..., **kwargs: Any) -> Explanation: ...
@overload
def explain(function: Callable[..., Any], /, *args: Any, run: bool = ..., **kwargs: Any) -> Any: ...
def explain(function: Callable[..., Any], /, *args: Any, run: bool = False, **kwargs: Any) -> Any:
    """Explain who answers a call of an operation, or what another function calls and where it makes dense copies.

    Parameters
    ----------
    function : an operation, or a bound method that calls one, which is not called; or any other Python function, which
        is called
    *args : of the call. Of an operation types may stand in the place of arrays: ``explain(dk.add, T, dk.Tensor)`` says
        who would answer, as far as types alone decide it; one type stands for all arrays
    run : whether to make the call of an operation, to see which handlers decline
    **kwargs : of the call

    Returns
    -------
    Explanation or FunctionExplanation
        An `Explanation` for an operation. For another function a `FunctionExplanation`: counts, then each reason why
        calls became dense, with advice and the lines that led to it, then all calls as a tree.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> s = dk.types.ScalarTensor(3, 2.0)
    >>> print(dk.explain(dk.negative, s).outcome.partition("(")[0])
    ScalarTensor: sign_structured[negative]
    >>> dk.explain(dk.matmul, dk.types.ScalarTensor, dk.Tensor).what.partition(" at ")[0]
    'matmul_ScalarTensor_Tensor(ScalarTensor, Tensor)'
    >>> def energy(s):
    ...     return dk.max(s @ s) + dk.mean(s)
    >>> found = dk.explain(energy, s)
    >>> found.densified, found.causes[0].code, found.causes[0].fix
    (1, 'no rule', 'write a rule')
    >>> print(found.causes[0].stub.partition("(x")[0])
    @dk.implements(dk.max)
    def max_scalartensor
    """
    function, args, kwargs = _without_partial(function, args, kwargs)
    if of(function) is not None:
        return protocol_of(function).explain(function, *args, run=run, **kwargs)
    if not callable(function):
        raise TypeError(f"explain takes a function, not {function!r}")
    return record.explained.FunctionExplanation.of_call(function, args, kwargs)


def _without_partial(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the call of an operation that a `functools.partial` makes; any other call as it is."""
    inner: Any = function
    given, named = args, kwargs
    while isinstance(inner, partial):
        inner, given, named = inner.func, (*inner.args, *given), {**inner.keywords, **named}
    if of(inner) is None:
        return function, args, kwargs
    return inner, given, named


def rules(target: type | Kind | Callable[..., Any], /) -> RuleList:
    """Return the rules of a type, or those of an operation or kind, each with file and line.

    Parameters
    ----------
    target : a type, for all rules that its instances can reach, including rules for pairs and rules of superclasses; an
        operation, for its rules and those of its kinds; or a kind. Of another protocol than dispatchkit's own,
        operations; for its types and kinds, call `rules` of the protocol

    Returns
    -------
    RuleList
        A list that prints one rule per line.

    Raises
    ------
    TypeError : if it is none of these

    Examples
    --------
    >>> import dispatchkit as dk
    >>> [rule.types for rule in dk.rules(dk.matmul) if dk.types.ScalarTensor in rule.types][:1]
    [(<class 'dispatchkit.types.ScalarTensor'>, <class 'dispatchkit.types.ScalarTensor'>)]
    >>> [rule.target for rule in dk.rules(dk.types.MetadataTensor)]
    ['getitem', 'setitem', 'kind all']
    """
    return protocol_of(target).rules(target)


def protocol_of(function: Any) -> DispatchProtocol:
    """Return the protocol that a function is overridable by, dispatchkit's own for all else."""
    entry = of(function)
    if entry is None:
        return tensor_protocol
    return entry.protocol  # type: ignore[return-value]  # as all make theirs
