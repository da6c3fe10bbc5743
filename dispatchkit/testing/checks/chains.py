"""Two calls in a row: what each of a type's own rules gives is an argument of each of them, and compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.attribution import noting
from dispatchkit.testing.authored import own_rules
from dispatchkit.testing.calls import Arguments, Call, TypeCall, fitted_samples
from dispatchkit.testing.comparing.differences import is_determined
from dispatchkit.testing.examination import examination
from dispatchkit.testing.findings import Failure, Subject
from dispatchkit.testing.programs import REFUSALS, ProgramCall, WrongCallError
from dispatchkit.testing.random_programs import LARGEST, Program, is_comparable, program_failure

PAIRS = 300  # of calls
OF_A_KIND = 2  # operations that stand for those with the same rules
WAYS = 3  # to fit a sample to a result


def chains(subject: Subject) -> Iterator[Failure | None]:
    """Results of the type's own rules, as arguments of these rules, give what their dense forms give."""
    if not is_comparable(subject):
        return
    operations = _operations(subject)
    wrong: set[Overridable] = set()
    count = 0
    for operation in operations:
        for call in _first_calls(subject, operation):
            further = [then for then in operations if then not in wrong]
            for place, then in enumerate(further):
                if count == PAIRS:
                    return
                # The first of two calls is the same in all pairs: whether it is right, and still is after all others.
                compared = place in (0, len(further) - 1)
                failure = _failure_of_two(subject, call, then, compared)
                count += 1
                yield failure
                if failure is not None:
                    wrong.add(then)


def _operations(subject: Subject) -> list[Overridable]:
    """Return the operations that the type has rules for, of those with the same rules two."""
    chosen: list[Overridable] = []
    known: dict[tuple[Any, ...], int] = {}
    for operation in subject.operations:
        rules = tuple(own_rules(subject, operation))
        usable = isinstance(operation, DeclaredOperation) and is_determined(operation) and operation.name != "setitem"
        if rules and usable and known.setdefault(rules, 0) < OF_A_KIND:
            known[rules] += 1
            if not examination(subject, operation).failures:
                chosen.append(operation)
    return chosen


def _first_calls(subject: Subject, operation: Overridable) -> list[TypeCall]:
    """Return a sound call of an operation for each sample that gives an instance."""
    first: dict[Any, TypeCall] = {}
    for call in examination(subject, operation).sound:
        is_new = call.index not in first and not call.turn and not call.partner
        if is_new and isinstance(call.result(), subject.cls):
            first[call.index] = call
    return list(first.values())


def _failure_of_two(subject: Subject, call: TypeCall, then: Overridable, compared: bool) -> Failure | None:
    """Make a call, and one of another operation with its result; return in what this one is wrong.

    Parameters
    ----------
    subject : the type
    call, then : the first call, and the operation of the second
    compared : whether the first one is compared, too
    """
    program = Program()
    refusals = (*REFUSALS, *subject.refusals)
    try:
        with noting(subject):
            first = ProgramCall(call.operation, *call.make(), gradients=False, refuses=refusals)
            program.step(first, compared=compared)
            result: Any = program.values[-1]
            is_large = result.size > LARGEST
            if is_large or not isinstance(result, subject.cls):
                return None
            arguments = _fitting(subject, then, result)
            if arguments is not None:
                program.step(ProgramCall(then, *arguments, gradients=False, refuses=refusals))
    except WrongCallError as error:
        return program_failure(error, program)
    except Exception:  # noqa: BLE001  # refused by the type, as it may be, or by dense forms, too
        return None
    return None


def _fitting(subject: Subject, operation: Overridable, instance: Any) -> Arguments | None:
    """Return arguments of a call with an instance at all arrays, else at the first, that its dense form takes."""
    assert isinstance(operation, DeclaredOperation)
    shape, dense = tuple(instance.shape), subject.dense(instance)
    for sample in operation.samples:
        everywhere = range(len(sample.arrays(operation.parameters)))
        for seats in (None, (0,)) if everywhere else ():
            for fitted in islice(fitted_samples(operation, sample, shape, seats, unnamed=False), WAYS):
                places = everywhere if seats is None else seats
                try:
                    args, kwargs = _arguments(operation, fitted, places, dense)
                    operation.function(*args, **kwargs)
                except Exception:  # noqa: BLE001, S112  # another way to fit it may do
                    continue
                return _arguments(operation, fitted, places, instance)
    return None


def _arguments(operation: Overridable, sample: Sample, places: Collection[int], value: Any) -> Arguments:
    """Return the arguments of a sample with a value at some of its arrays, and plain tensors at the others."""
    drawn_sample = replace(sample, args=sample.drawn[0], kwargs=sample.drawn[1])
    drawn = [array for _, array in drawn_sample.arrays(operation.parameters)]
    values = tuple(value if place in places else xp.asarray(array) for place, array in enumerate(drawn))
    return Call(operation, sample, values).arguments(lambda chosen: chosen)
