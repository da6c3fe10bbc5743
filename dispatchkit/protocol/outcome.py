"""How a call is answered, or fails: one vocabulary for chains, predictions and all that reports what comes of calls."""

from __future__ import annotations

from dispatchkit.fields import with_fields


@with_fields
class Outcome:
    """One way in which a call is answered, or fails.

    Attributes
    ----------
    name : in chains and records
    meaning : in words, as far as it is known before a call
    structured : whether it keeps the structure of the type
    fault : whether it is a mistake of the type
    """

    name: str
    meaning: str
    structured: bool = False
    fault: bool = False


# Answers that a chain can hold; the fallback strategies add theirs.
RULE = Outcome("rule", "by a rule of its own", structured=True)
METHOD = Outcome("own method", "its __tensor_function__ decides at run time", structured=True)
DEFAULT = Outcome("default", "as plain tensors are computed")
KIND = Outcome("rule for the kind", "by a rule for the operation's kind", structured=True)
AMBIGUOUS = Outcome("ambiguous", "two rules fit equally well, and the call raises")
FOREIGN = Outcome("foreign", "an argument is no array")
SKIPPED = Outcome("skipped", "not at all, which is known before a call")

# What no chain holds.
REFUSED = Outcome("nobody", "not at all: a call raises")
PLAIN = Outcome("plain", "computed on plain tensors")
MODE = Outcome("mode", "by an active mode")

# What a prediction says of one who is asked; "" of one that is known to have no answer.
ANSWERS = "answers"
OPEN = "answers unless it declines"
AT_RUN_TIME = "decides at run time"
DECLINES = "declines"
DEPENDS = "depends on values"
IF_DECLINED = "if declined"
PASSED_OVER = "passed over"
RAISES = "raises"
