"""Advice from use: the recorded calls that became dense, as the adviser reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dispatchkit.protocol.fallbacks.dense import Dense
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.coverage.advice import Advice, Event, advise
from dispatchkit.report.coverage.dry_run import measuring
from dispatchkit.report.coverage.survey import Survey
from dispatchkit.report.operations import Named
from dispatchkit.report.record.call import TracedCall

__all__ = ["recorded_advice"]


def recorded_advice(
    calls: Sequence[TracedCall], n: int, *, cls: type | None, impossible: Named, with_kinds: bool
) -> Advice:
    """Return the rules that would have kept the most of some recorded calls from becoming dense.

    Parameters
    ----------
    calls, n : the record, and how many rules at most
    cls : the type that they are for, None for the one whose calls became dense most often
    impossible, with_kinds : as of `advise`
    """
    dense = [call for call in calls if call.how == Dense.outcome.how and call.asked is not None]
    counted = Counter(call.asked for call in dense)
    chosen = cls or next((one for one, _ in counted.most_common(1)), None)
    if chosen is None:
        return Advice("the record", ())
    events = [
        Event(
            tensor_protocol.operations[call.function],
            tuple("" if name == type_name(chosen) else name for name in call.types),
            call.self_densified,
            call.duration,
            call.place,
        )
        for call in dense
        if call.asked is chosen and call.function in tensor_protocol.operations
    ]
    survey = Survey(tensor_protocol, chosen)
    with measuring():
        return advise(survey, events, n, impossible=impossible, with_kinds=with_kinds)
