"""An explanation as HTML: a piece of a page that brings its own style and needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatchkit.protocol.explain import Explanation, Line

__all__ = ["explanation_html"]

# How verdicts begin, with the class of their colour.
CLASSES = {
    "answer": "yes",
    "decides at run time": "open",
    "if declined": "next",
    "decline": "no",
    "depends on values": "open",
    "passed over": "no",
    "raise": "bad",
}
PLACE = re.compile(r" at (\S.*:[0-9]+|built in)$")

STYLE = """
.dk-explain { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --soft: #f6f8fa;
  --yes: #1a7f37; --yes-paper: #dafbe1; --open: #8250df; --open-paper: #fbefff; --next: #9a6700; --next-paper: #fff8c5;
  --no: #59636e; --no-paper: #eff2f5; --bad: #cf222e; --bad-paper: #ffebe9;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 8px; overflow: hidden;
  max-width: 60rem; font: 14px/1.5 system-ui, sans-serif; text-align: left; }
@media (prefers-color-scheme: dark) { .dk-explain { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --line: #3d444d;
  --soft: #151b23; --yes: #3fb950; --yes-paper: #12261e; --open: #ab7df8; --open-paper: #201a33; --next: #d29922;
  --next-paper: #272115; --no: #9198a1; --no-paper: #212830; --bad: #f85149; --bad-paper: #25171c; } }
.dk-explain * { box-sizing: border-box; }
.dk-explain code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: inherit;
  background: none; padding: 0; overflow-wrap: anywhere; }
.dk-explain header, .dk-explain footer { padding: 10px 14px; background: var(--soft); }
.dk-explain header { border-left: 4px solid transparent; }
.dk-explain header code { font-weight: 600; }
.dk-explain p { margin: 0; color: var(--faint); }
.dk-explain ol { margin: 0; padding: 0; list-style: none; counter-reset: line; }
.dk-explain li { display: flex; flex-wrap: wrap; gap: 2px 12px; padding: 8px 14px; border-top: 1px solid var(--line);
  border-left: 4px solid var(--mark, transparent); margin: 0; counter-increment: line; }
.dk-explain li::before { content: counter(line) "."; color: var(--faint); min-width: 1.2em; }
.dk-explain .who { font-weight: 600; min-width: 7rem; }
.dk-explain .said { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 2px 12px; flex: 1 1 16rem; }
.dk-explain .inner { flex: 1 0 100%; padding-left: 2.4em; color: var(--faint); }
.dk-explain .inner code { display: block; color: var(--faint); white-space: pre-wrap; }
.dk-explain .place { color: var(--faint); }
.dk-explain .verdict { align-self: start; border-radius: 1em; padding: 0 10px; color: var(--mark);
  background: var(--mark-paper); overflow-wrap: anywhere; }
.dk-explain footer { border-top: 1px solid var(--line); border-left: 4px solid var(--mark); }
.dk-explain .yes { --mark: var(--yes); --mark-paper: var(--yes-paper); }
.dk-explain .open { --mark: var(--open); --mark-paper: var(--open-paper); }
.dk-explain .next { --mark: var(--next); --mark-paper: var(--next-paper); }
.dk-explain .no { --mark: var(--no); --mark-paper: var(--no-paper); }
.dk-explain .bad { --mark: var(--bad); --mark-paper: var(--bad-paper); }
"""


def explanation_html(found: Explanation) -> str:
    """Return an explanation as a ``div``; what comes from names, messages and paths is escaped."""
    order = ", ".join(f"<code>{escape(name)}</code>" for name in found.order) or "nobody"
    return "\n".join(
        [
            f'<div class="dk-explain"><style>{STYLE}</style>',
            f"<header><code>{escape(found.call)}</code><p>asked in the order: {order}</p></header>",
            "<ol>",
            *map(_line, found.lines),
            "</ol>",
            f'<footer class="{_outcome(found.outcome, found.lines)}">⇒ {_with_place(found.outcome)}</footer>',
            "</div>",
        ]
    )


def _line(line: Line) -> str:
    kind = _class(line.verdict)
    verdict = f'<span class="verdict">{escape(line.verdict)}</span>' if line.verdict else ""
    return (
        f'<li class="{kind}"><code class="who">{escape(line.who)}</code>'
        f'<span class="said"><span>{_with_place(line.what)}</span>{verdict}</span>{_inner(line)}</li>'
    )


def _inner(line: Line) -> str:
    """Return the calls that an answer makes, those inside of others further to the right."""
    calls = "".join(f'<code style="padding-left:{depth - 1}.5em">{escape(text)}</code>' for depth, text in line.calls())
    return f'<div class="inner">{calls}</div>' if calls else ""


def _class(verdict: str) -> str:
    return next((kind for start, kind in CLASSES.items() if verdict.startswith(start)), "")


def _outcome(outcome: str, lines: Sequence[Line]) -> str:
    """Return the class of what comes of a call."""
    if outcome.startswith("decides at run time"):
        return "open"
    decided = [_class(line.verdict) for line in lines]
    return "yes" if "bad" not in decided and ("yes" in decided or outcome.startswith("answered")) else "bad"


def _with_place(text: str) -> str:
    """Return a text escaped, with file and line set back."""
    place = PLACE.search(text)
    what = text if place is None else text[: place.start()]
    return f"<code>{escape(what)}</code>" + (f' <code class="place">{escape(place[0].strip())}</code>' if place else "")
