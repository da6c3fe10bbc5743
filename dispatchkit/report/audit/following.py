"""Whether a body is answered for some types: what is predicted of the calls that an operation states as its samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dispatchkit.declare.samples import Draw, Sample
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.protocol.prediction import Layout, Memory, Prediction, make_stand_in, predict
from dispatchkit.protocol.prediction.tree import DECLINES

__all__ = ["Bodies", "Called", "Decomposition"]

# The qualified name of an operation, and the types of a call; None for any call, where they are not certain.
Called: TypeAlias = "tuple[str, Key | None]"
Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


class Decomposition(NamedTuple):
    """What comes of the body of an operation.

    Attributes
    ----------
    declines : why it cannot be run, "" where it may
    calls : the operations that it calls with the types of their arguments, as far as it was followed
    """

    declines: str
    calls: frozenset[Called]


class Bodies:
    """What comes of the bodies of operations.

    Parameters
    ----------
    memory : of the predictions
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._samples: dict[Overridable, list[Arguments]] = {}
        self._found: dict[Step, Decomposition] = {}

    def decomposition(self, operation: Overridable, key: Key, step: Step) -> Decomposition:
        """Return what comes of the body of an operation on arguments of some types, by its samples.

        Parameters
        ----------
        operation : that is decomposed
        key : types of its array arguments
        step : the answer that runs the body
        """
        found = self._found.get(step)
        if found is None:
            found = self._found[step] = self._decomposition(operation, key, step)
        return found

    def _decomposition(self, operation: Overridable, key: Key, step: Step) -> Decomposition:
        if operation not in self._samples:
            self._samples[operation] = [_made(operation, one) for one in getattr(operation, "samples", ())]
        reason = ""
        made: set[Called] = set()
        for call in _calls_with(operation, self._samples[operation], key):
            predicted = predict(operation, *call, self.memory, until=step)
            found = next((one for one in predicted.asked if one.outcome is step.source and one.cls is step.cls), None)
            made.update(_calls(predicted))
            if found is None or found.verdict != DECLINES:
                return Decomposition("", frozenset(made))
            reason = reason or found.reason
        return Decomposition(reason, frozenset(made))


def _calls(predicted: Prediction) -> Iterator[Called]:
    """Yield the calls that were followed; where a result may be of several types, not all types of a call are known."""
    inner = [one for _, one in predicted.walk()]
    certain = all(len(one.results) < 2 for one in inner)
    return ((one.function, one.key if certain else None) for one in inner)


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
