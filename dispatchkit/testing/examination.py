"""`Examination`: every call of an operation made on instances and on plain tensors, and what differs.

It is made once for a type and operation. The checks on values read it, and those that go deeper (gradients, forms,
companions) pass over what is wrong already, so that a fault is reported under its own name alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.handlers import Rule, type_name
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.attribution import entering, noting
from dispatchkit.testing.calls import Arguments, TypeCall, calls_of, variations_of
from dispatchkit.testing.differences import described, difference, members, same, shown
from dispatchkit.testing.findings import Failure, Subject
from dispatchkit.testing.instances import copied


def qr_invariants(result: Any) -> Any:
    """Return the product of the factors, and of the orthogonal one with itself."""
    q, r = result
    return q @ r, _adjoint(q) @ q


def eigh_invariants(result: Any) -> Any:
    """Return the eigenvalues, the matrix, and the products of the eigenvectors."""
    values, vectors = result
    return values, (vectors * values[..., None, :]) @ _adjoint(vectors), _adjoint(vectors) @ vectors


def eig_invariants(result: Any) -> Any:
    """Return the matrix."""
    values, vectors = result
    return (vectors * values[..., None, :]) @ xp.linalg.inv(vectors)


def svd_invariants(result: Any) -> Any:
    """Return the singular values, the matrix, and the products of the singular vectors."""
    u, s, vh = result
    k = s.shape[-1]
    product = (u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :]
    return s, product, _adjoint(u) @ u, vh @ _adjoint(vh)


def eigvals_invariants(result: Any) -> Any:
    """Return the sums of powers of the eigenvalues, whose order is free."""
    return tuple(xp.sum(result**power, axis=-1) for power in (1, 2, 3))


INVARIANTS: dict[str, Callable[[Any], Any]] = {
    "dispatchkit.linalg.qr": qr_invariants,
    "dispatchkit.linalg.eigh": eigh_invariants,
    "dispatchkit.linalg.eig": eig_invariants,
    "dispatchkit.linalg.eigvals": eigvals_invariants,
    "dispatchkit.linalg.svd": svd_invariants,
}


# Functions whose elements may be anything.
UNDEFINED = frozenset({"dispatchkit.empty", "dispatchkit.empty_like"})


def is_determined(operation: Overridable) -> bool:
    """Return whether the arguments of an operation determine its result."""
    return operation.kind is not kinds.random and operation.qualified_name not in UNDEFINED


def comparable(subject: Subject, operation: Overridable, result: Any) -> Any:
    """Return the dense form of a result, of one that is not unique what all right results have in common."""
    dense = subject.dense(result)
    invariants = INVARIANTS.get(operation.qualified_name)
    return dense if invariants is None else invariants(dense)


def determined(operation: Overridable, found: Any, expected: Any) -> tuple[Any, Any]:
    """Return two dense results, of those that are not unique what all right ones have in common."""
    invariants = INVARIANTS.get(operation.qualified_name)
    if invariants is None:
        return found, expected
    try:
        return invariants(found), invariants(expected)
    except Exception:  # noqa: BLE001  # a result of another form, which the comparison shows
        return found, expected


def _adjoint(x: Any) -> Any:
    return xp.conj(xp.matrix_transpose(x))


Novelty = tuple[Any, ...]
FALLBACKS = 12  # operations that no rule answers, of which the checks look at more than values


@dataclass
class Examination:
    """What came of the calls of an operation.

    Attributes
    ----------
    operation : that was called
    calls : that were made
    answered : those of them that the type answered, rightly or not
    novelty : for each of these what tells it from others, the instance and the rules that it entered; None where
        others like it are looked into
    failures : what was wrong
    """

    operation: Overridable
    calls: list[TypeCall] = field(default_factory=list)
    answered: list[TypeCall] = field(default_factory=list)
    novelty: list[Novelty | None] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def sound(self) -> list[TypeCall]:
        """The answered calls, none where one of the operation's calls went wrong."""
        wrong = any(failure.check != "metadata" for failure in self.failures)
        return [] if wrong else self.answered

    def some(self, count: int | None) -> list[TypeCall]:
        """Return so many of the sound calls of each instance and each group of rules."""
        if count is None:
            return self.sound
        seen: Counter[Novelty] = Counter()
        chosen: list[TypeCall] = []
        for call, novelty in zip(self.sound, self.novelty, strict=False):
            if novelty is not None:
                seen[novelty] += 1
                if seen[novelty] <= count:
                    chosen.append(call)
        return chosen

    @property
    def refused(self) -> bool:
        """Whether the type answered no call."""
        return bool(self.calls) and not self.answered


def examination(subject: Subject, operation: Overridable) -> Examination:
    """Return the examination of an operation, made at the first request."""
    known: dict[Overridable, Examination] = subject.memory.setdefault("examination", {})
    if operation not in known:
        known[operation] = _examine(subject, operation)
    return known[operation]


def found_by(
    check: Callable[..., Iterator[Failure | None]], subject: Subject, operation: Overridable
) -> list[Failure | None]:
    """Return what a check finds of an operation, made at the first request."""
    known: dict[Overridable, list[Failure | None]] = subject.memory.setdefault(check.__name__, {})
    if operation not in known:
        known[operation] = list(check(subject, operation))
    return known[operation]


def fails(subject: Subject, operation: Overridable, check: Callable[..., Iterator[Failure | None]]) -> bool:
    """Return whether a check finds an operation wrong, for checks that build on it."""
    return any(found_by(check, subject, operation))


def _examine(subject: Subject, operation: Overridable) -> Examination:
    found = Examination(operation)
    varied: set[int] = set()
    for call in calls_of(subject, operation):
        # What a rule makes of other arguments is its author's, what a fallback does the library's.
        if _note(subject, found, call) and call.index is not None and call.index not in varied:
            varied.add(call.index)
            for other in variations_of(subject, call):
                _note(subject, found, other)
    return found


def _note(subject: Subject, found: Examination, call: TypeCall) -> bool:
    """Make a call, and note what came of it; return whether it entered a rule."""
    try:
        expected = call.expected
    except Exception:  # noqa: BLE001  # a call that plain tensors refuse is none to compare with
        return False
    found.calls.append(call)
    with noting(subject), entering() as entered:
        answered, failures = _looked_at(subject, call, expected)
    if answered:
        found.answered.append(call)
        found.novelty.append(_novelty(subject, call, tuple(entered.rules)))
    found.failures += failures
    return bool(entered.rules)


def _novelty(subject: Subject, call: TypeCall, rules: tuple[Rule, ...]) -> Novelty | None:
    """Return what tells a call from others; None where enough others like it are looked into.

    A rule for the operation or its kind is looked into for each operation. Rules that are entered inside a
    decomposition are so once, and so are the fallbacks of a few operations: what else there is is the library's.
    """
    operation = call.operation
    if subject.from_dense is not None or any(rule.target in (operation, *operation.kind.lineage()) for rule in rules):
        return (call.index, *rules)
    if not rules:
        if call.index == 0 and len(subject.by_fallback) < FALLBACKS:
            subject.by_fallback.add(operation)
        return () if operation in subject.by_fallback else None
    novelty = (call.index, *rules)
    return novelty if subject.looked_into.setdefault(novelty, operation) is operation else None


def _looked_at(subject: Subject, call: TypeCall, expected: Any) -> tuple[bool, list[Failure]]:
    """Make a call; return whether it was answered, and what is wrong with the answer."""
    operation = call.operation
    args, kwargs = call.make()
    before = Snapshot(subject, [(p.name, value) for p, value in operation.parameters.values(args, kwargs)])
    try:
        result = call.run(args, kwargs)
    except subject.refusals:
        return False, []
    except Exception as error:  # noqa: BLE001  # what a handler raises is what is looked for
        return True, [_failure("raises", subject, call, described(error), "an answer, or a decline")]
    changed = before.changed()
    if changed:
        return True, [_failure("mutation", subject, call, *changed)]
    fault = _fault(subject, call, result, expected) or _opened(subject, call, args, kwargs, result)
    return True, [fault] if fault else list(lost_metadata("metadata", subject, call, (args, kwargs), result))


def _again(subject: Subject, check: str, call: TypeCall) -> Failure | None:
    """Return the failure of a check on one call, None where it passes."""
    try:
        expected = call.expected
    except Exception:  # noqa: BLE001  # there is nothing to compare with
        return None
    return next((one for one in _looked_at(subject, call, expected)[1] if one.check == check), None)


def _failure(check: str, subject: Subject, call: TypeCall, found: str, expected: str) -> Failure:
    return Failure(
        check,
        call.operation.qualified_name,
        call.text,
        found,
        expected,
        made=call,
        again=partial(_again, subject, check),
    )


def _opened(subject: Subject, call: TypeCall, args: Any, kwargs: Any, result: Any) -> Failure | None:
    """Return that a call among instances alone gave plain tensors, where the type says that it is closed."""
    values = [value for _, value in call.operation.parameters.values(args, kwargs)]
    if call.operation not in subject.closed or not all(isinstance(value, subject.cls) for value in values):
        return None
    if len({tuple(value.shape) for value in values}) > 1:
        return None
    outside = next((one for one in members(result) if not isinstance(one, subject.cls)), None)
    text = f"a {type_name(type(outside))}"
    return None if outside is None else _failure("closed", subject, call, text, f"a {subject.name}")


def _fault(subject: Subject, call: TypeCall, result: Any, expected: Any) -> Failure | None:
    """Return in what a result differs from the right one."""
    found = _difference(subject, call, result, expected)
    if found is None:
        return None
    for name in call.options() if found[0] != "container" else ():
        bare = call.without(name)
        if not bare.is_valid():
            continue
        if _difference(subject, call, result, bare.expected) is None:
            return _failure("keywords", subject, call, f"what a call without '{name}' gives", f"'{name}' honoured")
    return _failure(found[0], subject, call, *found[1:])


def _difference(subject: Subject, call: TypeCall, result: Any, expected: Any) -> tuple[str, str, str] | None:
    try:
        dense = subject.dense(result)
    except Exception as error:  # noqa: BLE001  # a result of the wrong form, shown with what it led to
        return "value", f"{shown(result)}, whose dense form raises {described(error)}", shown(expected)
    compared = determined(call.operation, dense, expected)
    found = difference(*compared, call.values(), values=is_determined(call.operation))
    return None if found is None else found.failure


def lost_metadata(check: str, subject: Subject, call: TypeCall, arguments: Arguments, result: Any) -> Iterator[Failure]:
    """Yield what a result has lost of what its arguments carried."""
    operation = call.operation
    if not subject.metadata or not {operation.name, operation.qualified_name}.isdisjoint(subject.plain):
        return
    values = [value for _, value in operation.parameters.values(*arguments)]
    wanted = subject.wanted(operation, values)
    if not wanted:
        return
    for one in members(result):
        if not isinstance(one, subject.cls):
            if not subject.laws:
                yield _failure(check, subject, call, f"a {type(one).__name__}", f"a {subject.name} with {wanted!r}")
            return
        carried = {name: subject.carried(one)[name] for name in wanted}
        if not all(same(carried[name], wanted[name]) for name in wanted):
            yield _failure(check, subject, call, repr(carried), repr(wanted))
            return


class Snapshot:
    """Arrays and their metadata as they were.

    Parameters
    ----------
    subject : the type under test
    values : instances and other arrays, each with its name
    """

    def __init__(self, subject: Subject, values: Iterable[tuple[str, Any]]) -> None:
        self.subject = subject
        self.values = list(values)
        self.states = [self._state(value) for _, value in self.values]

    def _state(self, value: Any) -> tuple[Any, dict[str, Any]]:
        carried = self.subject.carried(value) if isinstance(value, self.subject.cls) else {}
        return self.subject.array(value), {name: copied(one) for name, one in carried.items()}

    def changed(self) -> tuple[str, str] | None:
        """Return what has changed since, as found and expected; None where nothing has."""
        for (name, value), (array, carried) in zip(self.values, self.states, strict=True):
            now, now_carried = self._state(value)
            if not same(now, array):
                return f"'{name}' became {shown(now)}", f"'{name}' still {shown(array)}"
            for key, one in carried.items():
                if not same(now_carried[key], one):
                    return f"'{key}' of '{name}' became {now_carried[key]!r}", f"still {one!r}"
        return None
