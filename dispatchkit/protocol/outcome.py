"""How a call is answered, or fails: one vocabulary for chains, records, audits, coverage and their pictures."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import NamedTuple

OUTCOMES: list[Outcome] = []


class Colours(NamedTuple):
    """Fill and edge on light and on dark pages; text of the page's colour is legible on either fill."""

    fill: str
    edge: str
    dark_fill: str
    dark_edge: str


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Outcome:
    """One way in which a call is answered, or fails; those that are made are found in `OUTCOMES`, in order.

    Attributes
    ----------
    order : its place, from the most to the least that a type can have; no two share one
    meaning : in words, as far as it is known before a call
    seen : the same after the call, where that is another text
    how : its name in chains and records, "" where none has it
    share : its name in audits, "" where none has it
    bucket : its name in coverage, "" where it has none of its own
    measured : its name in measured coverage, where that is another one
    before_calls, after_calls : whether coverage without calls, and with them, can find it
    letter : one for a narrow column; no two share one
    colours : in pictures and pages
    structured : whether it keeps the structure of the type
    fault : whether it is a mistake of the type
    counted : whether a type can be expected to answer
    listed : whether coverage gives each function a line, rather than its name alone
    reference : whether the result is computed as the one that it would be compared with
    for_all : what is said of the call where it does not matter which of several types is asked, "" where it does
    """

    order: int
    meaning: str
    colours: Colours
    seen: str = ""
    how: str = ""
    share: str = ""
    bucket: str = ""
    measured: str = ""
    before_calls: bool = True
    after_calls: bool = True
    letter: str = " "
    structured: bool = False
    fault: bool = False
    counted: bool = True
    listed: bool = False
    reference: bool = False
    for_all: str = ""

    def __post_init__(self) -> None:
        for other in OUTCOMES:
            if self.order == other.order or self.letter == other.letter != " ":
                taken = f"order {self.order}" if self.order == other.order else f"letter {self.letter!r}"
                raise ValueError(f"{taken} belongs to the outcome {other.meaning!r}: choose another one")
        insort(OUTCOMES, self, key=lambda one: one.order)

    @property
    def answered(self) -> bool:
        """Whether a call that ends so has a result that can be used."""
        return self.counted and not self.fault and self is not REFUSED

    @property
    def buckets(self) -> tuple[str, ...]:
        """Its names in coverage, before and after calls."""
        return (self.bucket, self.measured or self.bucket) if self.bucket else ()


GREY = Colours("#d8dee4", "#8c959f", "#2d333b", "#6e7681")
PALE = Colours("#eaeef2", "#afb8c1", "#21262d", "#484f58")
FAULT = Colours("#ff8f87", "#cf222e", "#a0201c", "#ff7b72")
MISSING = Colours("#ffd3cf", "#ff8182", "#67211d", "#f85149")

# Answers that a chain can hold; the fallback strategies add theirs.
RULE = Outcome(
    order=20,
    meaning="by a rule of its own",
    how="rule",
    share="rule",
    bucket="implemented",
    measured="native",
    letter="N",
    colours=Colours("#aceebb", "#4ac26b", "#033a16", "#2ea043"),
    structured=True,
    listed=True,
)
METHOD = Outcome(
    order=30,
    meaning="its __tensor_function__ decides at run time",
    seen="its __tensor_function__ answered",
    how="own method",
    share="own method",
    bucket="own method",
    letter="M",
    colours=Colours("#d8b9ff", "#a475f9", "#3c1e70", "#8957e5"),
    structured=True,
    listed=True,
)
DEFAULT = Outcome(
    order=39, meaning="as plain tensors are computed", how="default", share="default", bucket="inherited", colours=GREY
)
INHERITED = Outcome(
    order=40,
    meaning="by a rule of a superclass, or as plain tensors are computed",
    bucket="inherited",
    letter="I",
    colours=GREY,
    structured=True,
)
KIND = Outcome(
    order=50,
    meaning="by a rule for the operation's kind",
    how="rule for the kind",
    share="kind rule",
    bucket="by kind",
    letter="K",
    colours=Colours("#b6e3ff", "#54aeff", "#0c2d6b", "#388bfd"),
    structured=True,
    listed=True,
)
AMBIGUOUS = Outcome(
    order=110,
    meaning="two rules fit equally well, and the call raises",
    share="ambiguous",
    colours=FAULT,
)
REFUSED = Outcome(
    order=130,
    meaning="not at all: a call raises",
    seen="not at all: nobody answered",
    how="nobody",
    share="raises",
    bucket="refused",
    letter="-",
    colours=MISSING,
)
FOREIGN = Outcome(order=129, meaning="an argument is no array", share="raises", colours=MISSING)

PLAIN = Outcome(order=10, meaning="computed on plain tensors", how="plain", colours=PALE)
MODE = Outcome(
    order=31, meaning="by an active mode", how="mode", colours=Colours("#ffd3eb", "#e85aad", "#5e103e", "#bf4b8a")
)

# What only records, or only coverage, know of.
UNDECIDED = Outcome(
    order=95,
    meaning="by running the operation's body, unless a rule on the way declines",
    bucket="depends on values",
    after_calls=False,
    letter="~",
    colours=Colours("#ddf4d0", "#94c973", "#27401a", "#6a9c4c"),
)
Outcome(
    order=11,
    meaning="a step of a backward pass",
    how="backward",
    colours=Colours("#ffe2cc", "#f0883e", "#4d2d10", "#bd561d"),
)
Outcome(
    order=120,
    meaning="no call could be made that plain tensors of the samples' shapes take",
    bucket="never reached",
    before_calls=False,
    letter="?",
    colours=PALE,
    counted=False,
)
for _order, _bucket, _letter, _meaning in (
    (135, "plain result", "P", "a plain result of an operation under which the type says it is closed"),
    (140, "raises", "!", "an exception where plain tensors give a result"),
    (150, "wrong type", "T", "a result that is not what the rule or the operation promises"),
    (155, "wrong dtype", "Y", "a result of another dtype than that of the dense computation"),
    (160, "wrong gradient", "G", "derivatives other than those of the dense computation"),
    (170, "wrong value", "V", "a result other than that of the dense computation"),
):
    Outcome(
        order=_order,
        meaning=_meaning,
        bucket=_bucket,
        before_calls=_bucket == "plain result",
        letter=_letter,
        colours=FAULT,
        fault=True,
        listed=True,
    )
Outcome(
    order=180,
    meaning="types cannot answer it, modes can",
    bucket="no array argument",
    colours=Colours("transparent", "#8c959f", "transparent", "#6e7681"),
    counted=False,
)
