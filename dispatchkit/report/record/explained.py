"""`FunctionExplanation`: what a function calls, and where it makes dense copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dispatchkit.protocol.densify import without_warnings
from dispatchkit.protocol.naming import location_of
from dispatchkit.protocol.prediction.tree import first_line
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

    @classmethod
    def of_call(cls, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Self:
        """Call a function, and return what it called.

        Parameters
        ----------
        function : any function
        args, kwargs : of the call
        """
        result: Any = None
        failure: Exception | None = None
        # Warnings would say again what the explanation says.
        with without_warnings(), record_calls() as recorded:
            try:
                result = function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # which is what is explained
                failure = error
        return cls(_name_of(function), recorded, tuple(causes_of(recorded.calls)), result, failure)

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


def _name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function; of a lambda its place."""
    name = str(getattr(function, "__qualname__", None) or repr(function)).replace("<locals>.", "")
    if name.endswith("<lambda>"):
        return f"lambda at {short_location(location_of(function))}"
    return name
