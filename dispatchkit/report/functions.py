"""`explain`: who answers a call of an operation, and where a whole function loses structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, overload

from dispatchkit.declare.typing import Operation
from dispatchkit.protocol.densify import without_warnings
from dispatchkit.protocol.explain import Explanation
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import of
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.report.record.record import Trace, record_calls
from dispatchkit.report.record.tree import Cause, causes_of, tree_of
from dispatchkit.wording import format_bytes

__all__ = ["FunctionExplanation", "explain"]

STYLE = """
.dk-function { color: light-dark(#1f2328, #f0f6fc); background: light-dark(#ffffff, #0d1117); max-width: 70rem;
  border: 1px solid light-dark(#d1d9e0, #3d444d); border-radius: 8px; font: 14px/1.5 system-ui, sans-serif;
  color-scheme: light dark; overflow: hidden; text-align: left; }
.dk-function header, .dk-function li, .dk-function details { padding: 8px 14px; }
.dk-function header { background: light-dark(#f6f8fa, #151b23); font-weight: 600; }
.dk-function ol { margin: 0; padding: 0; list-style: none; }
.dk-function li { border-left: 4px solid light-dark(#d4a72c, #bb8009); white-space: pre-wrap;
  border-top: 1px solid light-dark(#d1d9e0, #3d444d); }
.dk-function pre { overflow-x: auto; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; margin: 0; }
"""


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
        count = len(self.recorded.calls)
        calls = f"{count:,} call{'' if count == 1 else 's'}"
        dense = (
            f"{self.densified:,} became dense ({format_bytes(self.nbytes)})" if self.densified else "none became dense"
        )
        causes = f", for {len(self.causes)} reason{'' if len(self.causes) == 1 else 's'}" if self.causes else ""
        raised = f"; it raised {first_line(self.exception)}" if self.exception is not None else ""
        return f"{self.function}: {calls}, {dense}{causes}{raised}"

    def __str__(self) -> str:
        causes = [f"{number}. {cause}" for number, cause in enumerate(self.causes, 1)]
        return "\n".join([self._head(), *causes, "", tree_of(self.recorded.calls, self.recorded.dropped)])

    __repr__ = __str__

    def to_html(self) -> str:
        """Return it as a piece of HTML with a style of its own, light or dark as the reader's."""
        causes = "".join(f"<li>{escape(str(cause))}</li>" for cause in self.causes)
        tree = escape(tree_of(self.recorded.calls, self.recorded.dropped))
        return (
            f'<div class="dk-function"><style>{STYLE}</style><header>{escape(self._head())}</header><ol>{causes}</ol>'
            f"<details><summary>all calls</summary><pre>{tree}</pre></details></div>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()


@overload
def explain(function: Operation[..., Any], /, *args: Any, run: bool = ..., **kwargs: Any) -> Explanation: ...
@overload
def explain(function: Callable[..., Any], /, *args: Any, run: bool = ..., **kwargs: Any) -> Any: ...
def explain(function: Callable[..., Any], /, *args: Any, run: bool = False, **kwargs: Any) -> Any:
    """Explain who answers a call of an operation, or what another function calls and where it makes dense copies.

    Parameters
    ----------
    function : an operation, which is not called, or any other Python function, which is called
    *args : of the call
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
    ScalarTensor: negative_structured
    >>> def energy(s):
    ...     return dk.max(s @ s) + dk.mean(s)
    >>> found = dk.explain(energy, s)
    >>> found.densified, found.causes[0].code, found.causes[0].fix
    (1, 'no rule', 'write a rule: @dk.implements(dk.max)')
    """
    entry = of(function)
    if entry is not None and entry.protocol is tensor_protocol:
        found: Explanation = tensor_protocol.explain(function, *args, run=run, **kwargs)
        return found
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
    name = str(getattr(function, "__qualname__", None) or repr(function)).replace("<locals>.", "")
    return FunctionExplanation(name, recorded, tuple(causes_of(recorded.calls)), result, failure)
