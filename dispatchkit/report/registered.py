"""`explain`, `rules` and `which`: who answers a call, and the rules of a type or of an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import Parameter
from types import MethodType
from typing import Any, overload

from dispatchkit.declare.typing import Operation
from dispatchkit.deprecation import warn_deprecated
from dispatchkit.protocol.densify import without_warnings
from dispatchkit.protocol.engine import DispatchProtocol, misfit_in
from dispatchkit.protocol.explain.explanation import Explanation
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import Kind
from dispatchkit.protocol.naming import location_of, type_name
from dispatchkit.protocol.overridable import Overridable, of
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.protocol.rules import RuleList
from dispatchkit.protocol.surface import REFLECTED
from dispatchkit.report.auditing.pairs import SEVERAL, Chains, decide
from dispatchkit.report.documents import short_location
from dispatchkit.report.record.record import Trace, record_calls
from dispatchkit.report.record.summary import Cause, calls_html, causes_of, headline, tree_of


@dataclass(frozen=True, slots=True)
class FunctionExplanation:
    """What a function called, and where it lost structure; prints with the counts first.

    Attributes
    ----------
    function : its name
    recorded : the calls that it made
    causes : why calls became dense, the largest first
    result : of the function; None where it raised
    exception : that it raised, None where it did not
    """

    function: str
    recorded: Trace
    causes: tuple[Cause, ...]
    result: Any = None
    exception: Exception | None = None

    @property
    def densified(self) -> int:
        """Number of calls that became dense."""
        return sum(cause.count for cause in self.causes)

    @property
    def nbytes(self) -> int:
        """Bytes of all dense copies."""
        return sum(cause.nbytes for cause in self.causes)

    def _head(self) -> str:
        raised = ""
        if self.exception is not None:
            raised = f"; it raised {first_line(self.exception)}"
        return f"{self.function}: {headline(self.recorded.calls, self.causes)}{raised}"

    def __str__(self) -> str:
        causes = [f"{number}. {cause}" for number, cause in enumerate(self.causes, 1)]
        return "\n".join([self._head(), *causes, "", tree_of(self.recorded.calls, self.recorded.dropped)])

    __repr__ = __str__

    def to_html(self) -> str:
        """Return it as a piece of HTML with a style of its own, light or dark as the reader's."""
        recorded = self.recorded
        return calls_html(self._head(), self.causes, recorded.calls, recorded.dropped)

    _repr_html_ = to_html


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
        return _protocol_of(function).explain(function, *args, run=run, **kwargs)
    if not callable(function):
        raise TypeError(f"explain takes a function, not {function!r}")
    result: Any = None
    failure: Exception | None = None
    # Warnings would say again what the explanation says.
    with without_warnings(), record_calls() as recorded:
        try:
            result = function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # which is what is explained
            failure = error
    return FunctionExplanation(_name_of(function), recorded, tuple(causes_of(recorded.calls)), result, failure)


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


def _name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function; of a lambda its place."""
    name = str(getattr(function, "__qualname__", None) or repr(function)).replace("<locals>.", "")
    if name.endswith("<lambda>"):
        return f"lambda at {short_location(location_of(function))}"
    return name


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
    return _protocol_of(target).rules(target)


def _protocol_of(function: Any) -> DispatchProtocol:
    """Return the protocol that a function is overridable by, dispatchkit's own for all else."""
    entry = of(function)
    if entry is None:
        return tensor_protocol
    return entry.protocol  # type: ignore[return-value]  # as all make theirs


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
    protocol = _protocol_of(function)
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
