"""Who is at fault: failures with the rule they come from, and as programs to paste."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dispatchkit.declare.samples import Draw, Sample, with_arrays
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import location_of, type_name
from dispatchkit.protocol.observers import CallEvent, Observer, observing
from dispatchkit.protocol.rules import Rule, in_order
from dispatchkit.protocol.steps import Step
from dispatchkit.testing.calls import TypeCall, with_shapes
from dispatchkit.testing.findings import Failure, Subject
from dispatchkit.testing.pasting import Writer, call_code

C = TypeVar("C")
T = TypeVar("T")


class Entered(Observer):
    """Notes the rules that calls enter, those of the inner calls first."""

    is_silent = True
    replaces = False

    def __init__(self, rules: dict[Rule, None] | None = None) -> None:
        if rules is None:
            self.rules = {}
        else:
            self.rules = rules

    def on_end(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        """Note the rules that a call asked, up to the one that answered or raised."""
        if call.operation is None or call.operation.protocol is not tensor_protocol:
            return
        chain = tensor_protocol.chain(call.operation, call.operation.parameters.key(call.args, call.kwargs))
        asked = call.asked
        if asked is not None and not isinstance(asked, Step):
            return
        for step in chain.steps:
            if step.rule is not None and not step.rule.refusal(call.args, call.kwargs, call.operation.parameters):
                self.rules[step.rule] = None
            if asked is None or step.text == asked.text:
                break


@contextmanager
def noting(subject: Subject, rules: dict[Rule, None] | None = None) -> Iterator[None]:
    """Note in `rules`, and for the subject as long as no call has entered some of its rules, which ones calls enter."""
    if subject.pending is None:
        subject.pending = set(rules_of(subject))
    if rules is None and not subject.pending:
        yield
        return
    with observing(noted := Entered(rules)):
        try:
            yield
        finally:
            subject.pending -= noted.rules.keys()


def rules_of(subject: Subject) -> list[Rule]:
    """Return the rules of a type for the functions under test and their kinds.

    Of inherited rules those are left out for which the type, or a nearer one, has a rule of its own.
    """
    targets: set[Any] = set(subject.operations)
    targets |= {kind for operation in subject.operations for kind in operation.kind.lineage()}
    rules = [rule for target in targets for rule in tensor_protocol.handlers.of(target)]
    nearest: list[Rule] = []
    for cls in subject.cls.__mro__:
        if cls in (tensor_protocol.types.base, object):
            break
        known = {rule.target for rule in nearest}
        nearest += in_order(rule for rule in rules if cls in rule.types and rule.target not in known)
    return nearest


# What compares a call with the same on plain tensors, so that the two calls show the fault.
COMPARED = {"raises", "container", "shape", "value", "dtype", "keywords", "companions", "refusals", "closed"}

TOGETHER = {"asyncio", "threads"}  # take the first and the last instance


def simplest(call: C, failure: T, simpler: Callable[[C], Iterable[C]], again: Callable[[C], T | None]) -> tuple[C, T]:
    """Return the simplest call that fails, and how: as long as a simpler one fails, that one is simplified."""
    for other in simpler(call):
        try:
            smaller = again(other)
        except Exception:  # noqa: BLE001, S112  # no call at all
            continue
        if smaller is not None:
            return simplest(other, smaller, simpler, again)
    return call, failure


def shrink(subject: Subject, failure: Failure) -> Failure:
    """Return the failure of the same check on the smallest call that can be found."""
    again = failure.again
    if again is None or not isinstance(failure.made, TypeCall):
        return failure
    call, smallest = simplest(failure.made, failure, partial(_smaller, subject), again)
    return replace(smallest, made=call, again=again)


def _smaller(subject: Subject, call: TypeCall) -> Iterator[TypeCall]:
    """Yield simpler calls: without an option, of a smaller instance, of simpler elements."""
    for name in call.options():
        yield call.without(name)
    if call.index is not None:
        sizes = [_size_of_instance(subject, instance) for instance in subject.samples()]
        better = [i for i, size in enumerate(sizes) if 0 < size < sizes[call.index]]
        for index in sorted(better, key=sizes.__getitem__):
            yield replace(call, index=index, sample=_resize(call.sample, subject, call.index, index))
    if not call.counted and not call.turn:
        yield replace(call, counted=True)
    counted = _with_simple_elements(call.sample)
    if counted is not None:
        yield replace(call, sample=counted)


def _size_of_instance(subject: Subject, x: Any) -> int:
    try:
        size = int(np.prod(x.shape, dtype=int))
        if str(x.dtype) == "float64":
            return size
        return 2 * size
    except Exception:  # noqa: BLE001  # the check of attributes reports it
        return 0


def _resize(sample: Sample, subject: Subject, old: int, new: int) -> Sample:
    """Return a sample with its arrays of the other instance's shape, where they have the first one's."""
    before, after = (tuple(subject.sample(index).shape) for index in (old, new))
    lengths = dict(zip(before, after, strict=False))
    return with_shapes(sample, lambda shape: tuple(lengths.get(n, n) for n in shape))


def _with_simple_elements(sample: Sample) -> Sample | None:
    """Return a sample with 1, 2, 3 and so on in its arrays of real numbers; None where it has none."""
    replaced: list[Draw] = []

    def count_up(draw: Draw) -> Any:
        if draw.content not in ("real", "distinct"):
            return draw
        replaced.append(draw)
        return np.arange(1.0, np.prod(draw.shape, dtype=int) + 1).reshape(draw.shape)

    simpler = with_arrays(sample, count_up)
    if replaced:
        return simpler
    return None


def program(subject: Subject, failure: Failure) -> str:
    """Return a program that shows a failure: imports, instances, the call, what came of it and what is right."""
    writer = Writer()
    if isinstance(failure.made, TypeCall):
        return _of_call(subject, failure, failure.made, writer)
    operation = ""
    if failure.operation:
        operation = f"dk.{failure.operation.removeprefix('dispatchkit.')}"
    return writer.text([_check(subject, failure, writer.write(failure.made), operation), *_comments(failure)])


def _of_call(subject: Subject, failure: Failure, call: TypeCall, writer: Writer) -> str:
    args, kwargs = call.make()
    values = [value for _, value in call.operation.parameters.values(args, kwargs)]
    instances = [value for value in values if isinstance(value, subject.cls)]
    function = f"dk.{call.operation.qualified_name.removeprefix('dispatchkit.')}"
    changed = failure.found.startswith("'")  # an argument, which results do not show
    if failure.check not in COMPARED or changed or not hasattr(subject.cls, "to_dense"):
        if failure.check in TOGETHER and call.index is not None:
            instances = [subject.sample(index) for index in sorted({0, subject.count - 1})]
        text = _check(subject, failure, ", ".join(map(writer.write, instances)), function)
        return writer.text([text, *_comments(failure)])
    names = {id(instance): writer.write(instance) for instance in instances}
    code, dense = (call_code(call.operation, args, kwargs, names, on_dense) for on_dense in (False, True))
    lines = [f"found = {code}", f"expected = {dense}", "print(found, expected, sep='\\n')", *_comments(failure)]
    return writer.text(lines)


def _check(subject: Subject, failure: Failure, instances: str, function: str) -> str:
    operations = "[]"
    if function:
        operations = f"[{function}]"
    return f"check_type({subject.cls.__name__}, [{instances}], operations={operations}, checks=[{failure.check!r}])"


def _comments(failure: Failure) -> list[str]:
    return [
        f"# {name}: {line}"
        for name, text in (("found", failure.found), ("expected", failure.expected))
        for line in text.splitlines()[:3]
    ]


# The checks of what a method or an operator gives.
FORMS = frozenset({"operators", "reflected", "inplace", "methods"})
# The methods that a check on the type itself looks at.
METHODS = {
    "dense": ("to_dense",),
    "gradient": ("to_dense",),
    "alias": ("to_dense",),
    "assignment": ("__setitem__",),
    "copy": ("__copy__", "__reduce__", "__reduce_ex__", "__getstate__"),
    "deepcopy": ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__"),
    "pickle": ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
    "repr": ("__repr__", "__str__"),
}


def gather(subject: Subject, failures: Iterable[Failure], order: Iterable[str]) -> list[Failure]:
    """Return one failure for each handler, on the smallest call that shows it, with what else fails by it.

    Parameters
    ----------
    subject : the type under test
    failures : as the checks found them
    order : the names of the checks, the most telling first
    """
    rank = {name: place for place, name in enumerate(order)}
    listed = list(failures)
    its_rules = set(rules_of(subject))
    entered = [_rules_entered(subject, failure, its_rules) for failure in listed]
    suspects = {rules[0] for rules in entered if len(rules) == 1}
    groups: defaultdict[Any, list[Failure]] = defaultdict(list)
    for failure, rules in zip(listed, entered, strict=True):
        handler = _handler(subject, failure, rules, suspects)
        key = handler or (failure.check, failure.operation)
        groups[key].append(replace(failure, handler=handler))
    return [_first(subject, group, rank) for group in groups.values()]


def _rules_entered(subject: Subject, failure: Failure, its_rules: set[Rule]) -> list[Rule]:
    """Return the rules of the type that the call of a failure enters, those of inner calls first."""
    if failure.program or not failure.operation or _method(subject, failure):
        return []
    operation = tensor_protocol.operations[failure.operation]
    with observing(noted := Entered()):
        try:
            if isinstance(failure.made, TypeCall):
                failure.made.result()
            else:
                further = []
                if operation.name == "astype":
                    further = [failure.made.dtype]
                operation.function(failure.made, *further)
        except Exception:  # noqa: BLE001, S110  # that it fails is known
            pass
    return [rule for rule in noted.rules if rule in its_rules]


def _handler(subject: Subject, failure: Failure, rules: list[Rule], suspects: set[Rule]) -> str:
    method = _method(subject, failure)
    if method:
        return method
    if not rules:
        return failure.handler
    matching = [rule for rule in rules if getattr(rule.target, "qualified_name", "") == failure.operation]
    return str(next((rule for rule in rules if rule in suspects), (matching or rules)[-1]))


def _method(subject: Subject, failure: Failure) -> str:
    """Return the method of the type's author that a failure is about, with its file and line; "" where it is none."""
    first = failure.call.partition(" ")[0].partition("(")[0]
    names: list[str] = []
    if failure.check in FORMS:
        names = [first, first.rpartition(".")[2]]
    elif failure.check == "attributes":
        names = [first, f"__{first}__"]
    elif not failure.operation or failure.check == "assignment":
        names = list(METHODS.get(failure.check, ()))
    for name in names:
        owner = next((cls for cls in subject.cls.__mro__ if name in vars(cls)), None)
        if owner is None or owner.__module__.startswith("dispatchkit."):
            continue
        function = getattr(vars(owner)[name], "fget", vars(owner)[name])
        if hasattr(function, "__code__") and function.__module__ == owner.__module__:
            return f"{type_name(owner)}.{name} at {location_of(function)}"
    return ""


def _first(subject: Subject, group: list[Failure], rank: dict[str, int]) -> Failure:
    """Return the failure of a group that tells most, shrink, with the others named in it."""
    chosen = min(group, key=lambda failure: (rank.get(failure.check, 99), _size(subject, failure)))
    rest = [f"{other.check} of {other.call}" for other in group if other is not chosen]
    small = shrink(subject, chosen)
    result = replace(small, handler=chosen.handler, also=tuple(dict.fromkeys(rest)))
    return replace(result, program=result.program or program(subject, result))


def _size(subject: Subject, failure: Failure) -> tuple[int, int]:
    if not isinstance(failure.made, TypeCall):
        return (0, len(failure.call))
    sizes = [int(np.prod(getattr(value, "shape", ()), dtype=int)) for value in failure.made.values()]
    if all(sizes):
        return (sum(sizes), len(failure.call))
    return (sys.maxsize, len(failure.call))  # one without elements shows little
