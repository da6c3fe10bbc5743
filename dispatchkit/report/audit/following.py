"""Whether a body is answered for some types: what is predicted of the calls that an operation states as its samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.protocol.prediction import Layout, Memory, make_stand_in, predict
from dispatchkit.protocol.prediction.tree import DECLINES

__all__ = ["Bodies"]

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


class Bodies:
    """Why the bodies of operations cannot be run.

    Parameters
    ----------
    memory : of the predictions
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._samples: dict[Overridable, list[Arguments]] = {}
        self._reasons: dict[Step, str] = {}

    def reason(self, operation: Overridable, key: Key, step: Step) -> str:
        """Return why the body of an operation cannot be run on arguments of some types, by its samples; "" if it may.

        Parameters
        ----------
        operation : that is decomposed
        key : types of its array arguments
        step : the answer that runs the body
        """
        if step not in self._reasons:
            self._reasons[step] = self._reason(operation, key, step)
        return self._reasons[step]

    def _reason(self, operation: Overridable, key: Key, step: Step) -> str:
        if operation not in self._samples:
            self._samples[operation] = [_made(operation, one) for one in getattr(operation, "samples", ())]
        reason = ""
        for call in _calls_with(operation, self._samples[operation], key):
            predicted = predict(operation, *call, self.memory, until=step)
            asked = next(
                (asked for asked in predicted.asked if (asked.outcome, asked.cls) == (step.source, step.cls)), None
            )
            if asked is None or asked.verdict != DECLINES:
                return ""
            reason = reason or asked.reason
        return reason


@dataclass(frozen=True, slots=True)
class _Array:
    """A plain array of a sample, and its layout."""

    plain: Any
    layout: Layout


def _calls_with(operation: Overridable, samples: Sequence[Arguments], key: Key) -> Iterator[Arguments]:
    """Yield the sample calls with stand-ins of some types, and a call with matrices where there are none."""
    found = False
    for sample in samples:
        call = _stand_ins(operation, sample, key)
        if call is not None:
            found = True
            yield call
    if not found:
        yield from _matrices(operation, key)


def _made(operation: Overridable, sample: Sample) -> Arguments:
    """Return a sample call with its arrays made."""

    def made(name: str, value: Any) -> Any:
        if not isinstance(value, (Draw, np.ndarray)):
            return value
        array = value.make(np.random.default_rng(0)) if isinstance(value, Draw) else value
        return _Array(operation.types.wrap(array), Layout(array.shape, array.dtype))

    return operation.parameters.replace(sample.args, sample.kwargs, made)


def _stand_ins(operation: Overridable, sample: Arguments, key: Key) -> Arguments | None:
    """Return a sample call with stand-ins of some types for its arrays; None where it gives others."""
    classes: dict[str, Iterator[type]] = {}
    for p, entry in zip(operation.parameters.arrays, key, strict=True):
        value = p.find(*sample)
        kinds: Sequence[type] = entry if isinstance(entry, tuple) else (entry,)
        if p.form is not Form.INDEX:
            several = isinstance(value, (list, tuple))
            if (several or isinstance(value, _Array)) is (entry is type(None)) or (several and len(value) < len(kinds)):
                return None
        classes[p.name] = itertools.chain(kinds, itertools.repeat(kinds[-1])) if kinds else iter(())

    def stand_in(name: str, value: Any) -> Any:
        if not isinstance(value, _Array):
            return value
        cls = next(classes[name], float)
        if cls is operation.types.base:
            return value.plain
        return make_stand_in(operation.protocol, (cls,), value.layout)

    return operation.parameters.replace(*sample, stand_in)


def _matrices(operation: Overridable, key: Key) -> list[Arguments]:
    """Return the shortest call with stand-ins for square matrices; none where it needs more than arrays."""
    entries = dict(zip([p.name for p in operation.parameters.arrays], key, strict=True))
    layout = Layout((3, 3), np.dtype(np.float64))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    left_out = False
    for p in operation.parameters.signature.parameters.values():
        entry = entries.get(p.name)
        if entry is None or entry is type(None) or not isinstance(entry, type):
            if p.default is p.empty:
                return []
            left_out = True
            continue
        x = make_stand_in(operation.protocol, (entry,), layout)
        if p.kind is p.KEYWORD_ONLY or left_out:
            kwargs[p.name] = x
        else:
            args.append(x)
    return [(tuple(args), kwargs)]
