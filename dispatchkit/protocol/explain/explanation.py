"""What `explain` gives: who answers a call, in which order, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dispatchkit.protocol.explain.lines import Line
from dispatchkit.protocol.explain.page import STYLE, html_of_line, outcome_class, with_place
from dispatchkit.protocol.prediction import Asked, Prediction
from dispatchkit.wording import escape


@dataclass(slots=True)
class Explanation:
    """Who answers a call; prints as a table, and a notebook shows it in colour.

    Attributes
    ----------
    call : the operation with the types of its arguments
    order : names of the types in the order they are asked
    lines : one for each answer, in order
    outcome : what comes of the call
    prediction : what all of it was read from; None where the call was made
    result : of the call, where it was made
    exception : that it raised, where it was made
    """

    call: str
    order: list[str]
    lines: list[Line] = field(default_factory=list)
    outcome: str = ""
    prediction: Prediction | None = None
    result: Any = None
    exception: Exception | None = None

    @property
    def _answer(self) -> Asked | None:
        """The first that answers; None where nobody does, and where the call was made."""
        if self.prediction is None:
            return None
        return self.prediction.by

    @property
    def who(self) -> str:
        """Name of the type that answers, "" where nobody does."""
        return "" if self._answer is None else self._answer.who

    @property
    def what(self) -> str:
        """The rule or the fallback that answers, as the table has it; "" where nobody does."""
        return "" if self._answer is None else self._answer.what

    @property
    def location(self) -> str:
        """File and line of the rule that answers, "" where none does."""
        return "" if self._answer is None else self._answer.location

    @property
    def handler(self) -> Callable[..., Any] | None:
        """The function of the rule that answers, None where none does."""
        if self._answer is None or self._answer.rule is None:
            return None
        handler: Callable[..., Any] = self._answer.rule.handler
        return handler

    def __str__(self) -> str:
        rows = [self.call, f"  asked in the order: {', '.join(self.order) or 'nobody'}"]
        width = max((len(line.who) for line in self.lines), default=0)
        for number, line in enumerate(self.lines, 1):
            verdict = ""
            if line.verdict:
                verdict = f"  [{line.verdict}]"
            rows.append(f"  {number}. {line.who:<{width}}  {line.what}{verdict}")
            rows += [f"     {'  ' * depth}{text}" for depth, text in line.calls()]
        return "\n".join([*rows, f"  => {self.outcome}"])

    __repr__ = __str__

    def to_html(self) -> str:
        """Return it as a piece of HTML with a style of its own, light or dark as the reader's."""
        order = ", ".join(f"<code>{escape(name)}</code>" for name in self.order) or "nobody"
        return "\n".join(
            [
                f'<div class="dk-explain"><style>{STYLE}</style>',
                f"<header><code>{escape(self.call)}</code><p>asked in the order: {order}</p></header>",
                "<ol>",
                *map(html_of_line, self.lines),
                "</ol>",
                f'<footer class="{outcome_class(self.outcome, self.lines)}">⇒ {with_place(self.outcome)}</footer>',
                "</div>",
            ]
        )

    _repr_html_ = to_html
