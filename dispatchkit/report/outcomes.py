"""How outcomes of calls are named, sorted, lettered and coloured in records, audits, coverage and their pictures."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

from dispatchkit.protocol.fallbacks import FallbackStrategy
from dispatchkit.protocol.outcome import AMBIGUOUS, DEFAULT, FOREIGN, KIND, METHOD, MODE, PLAIN, REFUSED, RULE, Outcome
from dispatchkit.resources import read_text


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
        if self.bucket:
            return self.bucket, self.measured or self.bucket
        return ()


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

_ROWS = [line.split(",") for line in read_text("dispatchkit.report", "colours.csv").splitlines()]
HUES = {name: Colours(*values) for name, *values in _ROWS}

_fallbacks = {name: one.outcome for name, one in FallbackStrategy.named.items() if hasattr(one, "outcome")}
DECOMPOSE, DENSE, EACH_FIELD = (_fallbacks[name] for name in ("decompose", "dense", "each_field"))
REWRAP, CONVERT = _fallbacks["rewrap"], _fallbacks["convert"]

METHOD_SEEN = "its __tensor_function__ answered"
# From the most to the least that a type can have: first what answers.
ANSWERS = [
    Shown(PLAIN, "plain", "", "", " ", HUES["pale"]),
    Shown(BACKWARD, "backward", "", "", " ", HUES["orange"]),
    Shown(RULE, "rule", "rule", "implemented", "N", HUES["green"], measured="native", listed=True),
    Shown(METHOD, "own method", "own method", "own method", "M", HUES["purple"], seen=METHOD_SEEN, listed=True),
    Shown(MODE, "mode", "", "", " ", HUES["pink"]),
    Shown(DEFAULT, "default", "default", "inherited", "i", HUES["grey"]),
    Shown(INHERITED, "", "", "inherited", "I", HUES["grey"]),
    Shown(KIND, "rule for the kind", "kind rule", "by kind", "K", HUES["blue"], listed=True),
    Shown(EACH_FIELD, "each_field", "each field", "each field", "f", HUES["leaf"]),
    Shown(DECOMPOSE, "decompose", "decompose", "decomposed", "c", HUES["cyan"], for_all="is decomposed"),
    Shown(REWRAP, "rewrap", "rewrap", "rewrapped", "w", HUES["teal"]),
    Shown(CONVERT, "convert", "convert", "converted", "v", HUES["olive"]),
    Shown(LOSSY, "", "lossy", "", "l", HUES["rose"]),
    Shown(UNDECIDED, "", "", "depends on values", "~", HUES["sand"], after_calls=False),
    Shown(DENSE, "dense", "dense", "dense", "d", HUES["yellow"], reference=True, for_all="becomes dense"),
]
FAILURES = [
    Shown(AMBIGUOUS, "", "ambiguous", "", "x", HUES["red"]),
    Shown(UNREACHED, "", "", "never reached", "?", HUES["pale"], before_calls=False, counted=False),
    Shown(FOREIGN, "", "refused", "", " ", HUES["missing"]),
    Shown(REFUSED, "nobody", "refused", "refused", "-", HUES["missing"], seen="not at all: nobody answered"),
    *(
        Shown(fault, "", "", fault.name, letter, HUES["red"], before_calls=fault.name == "plain result", listed=True)
        for letter, fault in FAULTS.items()
    ),
    Shown(NO_ARRAY, "", "", "no array argument", " ", HUES["clear"], counted=False),
]


# For fallbacks that have no line above, in the order in which they are declared; then they begin anew.
SPARE = ("violet", "indigo", "amber")


def _further(lines: Sequence[Shown]) -> Iterator[Shown]:
    """Yield how fallbacks without a line are shown: by their names, with colours and letters that are not taken."""
    hues = cycle(SPARE)
    known, letters = {line.outcome for line in lines}, {line.letter for line in lines}
    for outcome in _fallbacks.values():
        if outcome not in known:
            characters = filter(str.isalpha, f"{outcome.name}{string.ascii_letters}")
            letter = next(character for character in characters if character not in letters)
            letters.add(letter)
            yield Shown(outcome, outcome.name, outcome.name, outcome.name, letter, HUES[next(hues)])


OUTCOMES = [*ANSWERS, *_further([*ANSWERS, *FAILURES]), *FAILURES]
SHOWN = {line.outcome: line for line in OUTCOMES}
