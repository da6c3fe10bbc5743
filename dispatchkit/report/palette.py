"""The colours of all pages and pictures: those of the outcomes, of paper and of ink, light and dark."""

from __future__ import annotations

from collections.abc import Iterable

from dispatchkit.protocol.outcome import OUTCOMES, PALE, Colours

__all__ = ["COLOURS", "css_class", "style"]

# By each name that an outcome has in records, audits and coverage; "several" is a box of several calls.
COLOURS: dict[str, Colours] = {
    **{name: one.colours for one in OUTCOMES for name in (one.how, one.share, *one.buckets) if name},
    "several": PALE,
}
LIGHT = "--paper: #ffffff; --ink: #1f2328; --faint: #57606a; --line: #d0d7de; --bad: #cf222e;"
DARK = "--paper: #0d1117; --ink: #f0f6fc; --faint: #b1bac4; --line: #3d444d; --bad: #f85149;"
MONOSPACED = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'


def css_class(name: str) -> str:
    """Return the CSS class of an outcome; ``--c`` is its fill there, ``--e`` its edge.

    >>> css_class("own method")
    'b-own-method'
    """
    return "b-" + (name or "plain").replace(" ", "-")


def style(scope: str, rules: str, names: Iterable[str] = COLOURS) -> str:
    """Return the style of a picture or page, for light and dark readers.

    Parameters
    ----------
    scope : the selector inside of which it holds, such as ``".dk-audit"``
    rules : what comes after the colours; ``&`` stands for the scope
    names : of the outcomes whose colours are needed
    """
    listed = [(css_class(name), COLOURS[name]) for name in dict.fromkeys(names)]
    light = "\n".join(f"{scope} .{css} {{ --c: {one.fill}; --e: {one.edge} }}" for css, one in listed)
    dark = "\n".join(f"{scope} .{css} {{ --c: {one.dark_fill}; --e: {one.dark_edge} }}" for css, one in listed)
    return (
        f"{scope} {{ {LIGHT} font-family: {MONOSPACED} }}\n{light}\n"
        f"@media (prefers-color-scheme: dark) {{\n{scope} {{ {DARK} }}\n{dark}\n}}\n{rules.replace('&', scope)}"
    )
