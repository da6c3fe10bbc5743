"""How outcomes of calls are named, sorted, lettered and coloured in records, audits, coverage and their pictures."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dispatchkit.protocol.fallbacks import FallbackStrategy
from dispatchkit.protocol.outcome import AMBIGUOUS, DEFAULT, FOREIGN, KIND, METHOD, MODE, PLAIN, REFUSED, RULE, Outcome


class Colours(NamedTuple):
    """Fill and edge on light and on dark pages; text of the page's colour is legible on either fill."""

    fill: str
    edge: str
    dark_fill: str
    dark_edge: str


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """An outcome as reports show it.

    Attributes
    ----------
    outcome : the outcome
    how : its name in records, "" where none has it
    share : its name in audits, "" where none has it
    bucket : its name in coverage, "" where it has none of its own
    letter : one for a narrow column; no two share one
    colours : in pictures and pages
    measured : its name in measured coverage, where that is another one
    seen : its meaning after the call, where that is another text
    before_calls, after_calls : whether coverage without calls, and with them, can find it
    counted : whether a type can be expected to answer
    listed : whether coverage gives each function a line, rather than its name alone
    reference : whether the result is computed as the one that it would be compared with
    for_all : what is said of the call where it does not matter which of several types is asked, "" where it does
    """

    outcome: Outcome
    how: str
    share: str
    bucket: str
    letter: str
    colours: Colours
    measured: str = ""
    seen: str = ""
    before_calls: bool = True
    after_calls: bool = True
    counted: bool = True
    listed: bool = False
    reference: bool = False
    for_all: str = ""

    @property
    def answered(self) -> bool:
        """Whether a call that ends so has a result that can be used."""
        return self.counted and not self.outcome.fault and self.outcome is not REFUSED

    @property
    def buckets(self) -> tuple[str, ...]:
        """Its names in coverage, before and after calls."""
        return (self.bucket, self.measured or self.bucket) if self.bucket else ()


# What records, audits or coverage alone know of.
BACKWARD = Outcome("backward", "a step of a backward pass")
INHERITED = Outcome("inherited", "by a rule of a superclass, or as plain tensors are computed", structured=True)
LOSSY = Outcome("lossy", "by a declared conversion that loses something")
UNDECIDED = Outcome("depends on values", "by running the operation's body, unless a rule on the way declines")
UNREACHED = Outcome("never reached", "no call could be made that plain tensors of the samples' shapes take")
NO_ARRAY = Outcome("no array argument", "types cannot answer it, modes can")
FAULTS = {
    "P": Outcome("plain result", "a plain result of an operation under which the type says it is closed", fault=True),
    "!": Outcome("raises", "an exception where plain tensors give a result", fault=True),
    "T": Outcome("wrong type", "a result that is not what the rule or the operation promises", fault=True),
    "Y": Outcome("wrong dtype", "a result of another dtype than that of the dense computation", fault=True),
    "G": Outcome("wrong gradient", "derivatives other than those of the dense computation", fault=True),
    "V": Outcome("wrong value", "a result other than that of the dense computation", fault=True),
}

GREY = Colours("#d8dee4", "#8c959f", "#2d333b", "#6e7681")
PALE = Colours("#eaeef2", "#afb8c1", "#21262d", "#484f58")
RED = Colours("#ff8f87", "#cf222e", "#a0201c", "#ff7b72")
MISSING = Colours("#ffcdc8", "#ff8182", "#67211d", "#f85149")
PURPLE = Colours("#d8b9ff", "#a475f9", "#3c1e70", "#8957e5")
PINK = Colours("#ffd3eb", "#e85aad", "#5e103e", "#bf4b8a")
CLEAR = Colours("transparent", "#8c959f", "transparent", "#6e7681")
GREEN = Colours("#7fd894", "#2da44e", "#0f5323", "#2ea043")
BLUE = Colours("#93bdf9", "#4184e4", "#0c3a86", "#388bfd")
LEAF = Colours("#c9e75c", "#91a81f", "#55660a", "#9cb51f")
CYAN = Colours("#a6f0f7", "#3fb6c6", "#0b5561", "#1b9aaa")
TEAL = Colours("#5cc7b4", "#22917c", "#03493e", "#22917c")
OLIVE = Colours("#cdbb8c", "#94804a", "#54461c", "#94804a")
ROSE = Colours("#ffc9e6", "#e85aad", "#5e103e", "#bf4b8a")
SAND = Colours("#f3ead9", "#b09a6d", "#3b3428", "#8a7a58")
YELLOW = Colours("#fbd960", "#d4a72c", "#6b4a00", "#bb8009")
ORANGE = Colours("#ffd3b0", "#f0883e", "#5a3410", "#bd561d")

_fallbacks = {name: one.outcome for name, one in FallbackStrategy.named.items() if hasattr(one, "outcome")}
DECOMPOSE, DENSE, FIELDWISE = (_fallbacks[name] for name in ("decompose", "dense", "fieldwise"))
REWRAP, CONVERT = _fallbacks["rewrap"], _fallbacks["convert"]

METHOD_SEEN = "its __tensor_function__ answered"
# From the most to the least that a type can have: first what answers.
ANSWERS = [
    Shown(PLAIN, "plain", "", "", " ", PALE),
    Shown(BACKWARD, "backward", "", "", " ", ORANGE),
    Shown(RULE, "rule", "rule", "implemented", "N", GREEN, measured="native", listed=True),
    Shown(METHOD, "own method", "own method", "own method", "M", PURPLE, seen=METHOD_SEEN, listed=True),
    Shown(MODE, "mode", "", "", " ", PINK),
    Shown(DEFAULT, "default", "default", "inherited", "i", GREY),
    Shown(INHERITED, "", "", "inherited", "I", GREY),
    Shown(KIND, "rule for the kind", "kind rule", "by kind", "K", BLUE, listed=True),
    Shown(FIELDWISE, "fieldwise", "fieldwise", "fieldwise", "f", LEAF),
    Shown(DECOMPOSE, "decompose", "decompose", "decomposed", "c", CYAN, for_all="is decomposed"),
    Shown(REWRAP, "rewrap", "rewrap", "rewrapped", "w", TEAL),
    Shown(CONVERT, "convert", "convert", "converted", "v", OLIVE),
    Shown(LOSSY, "", "lossy", "", "l", ROSE),
    Shown(UNDECIDED, "", "", "depends on values", "~", SAND, after_calls=False),
    Shown(DENSE, "dense", "dense", "dense", "d", YELLOW, reference=True, for_all="becomes dense"),
]
FAILURES = [
    Shown(AMBIGUOUS, "", "ambiguous", "", "x", RED),
    Shown(UNREACHED, "", "", "never reached", "?", PALE, before_calls=False, counted=False),
    Shown(FOREIGN, "", "refused", "", " ", MISSING),
    Shown(REFUSED, "nobody", "refused", "refused", "-", MISSING, seen="not at all: nobody answered"),
    *(
        Shown(fault, "", "", fault.name, letter, RED, before_calls=fault.name == "plain result", listed=True)
        for letter, fault in FAULTS.items()
    ),
    Shown(NO_ARRAY, "", "", "no array argument", " ", CLEAR, counted=False),
]


def _further(lines: Sequence[Shown]) -> Iterator[Shown]:
    """Yield how the fallbacks are shown that have no line yet: by their names, with letters that are not taken."""
    known, letters = {line.outcome for line in lines}, {line.letter for line in lines}
    for outcome in _fallbacks.values():
        if outcome not in known:
            characters = filter(str.isalpha, f"{outcome.name}{string.ascii_letters}")
            letter = next(character for character in characters if character not in letters)
            letters.add(letter)
            yield Shown(outcome, outcome.name, outcome.name, outcome.name, letter, GREY)


OUTCOMES = [*ANSWERS, *_further([*ANSWERS, *FAILURES]), *FAILURES]
SHOWN = {line.outcome: line for line in OUTCOMES}
