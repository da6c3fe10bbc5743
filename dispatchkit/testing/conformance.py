"""`check_type`: every check on a type, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dispatchkit.progress import Progress
from dispatchkit.protocol.densify import unbounded
from dispatchkit.testing.attribution import gathered
from dispatchkit.testing.checks import CHECKS, Check
from dispatchkit.testing.entered import rules_of
from dispatchkit.testing.findings import Conformance, ConformanceError, Failure
from dispatchkit.testing.subject import Law, Samples, Subject

__all__ = ["check_type", "conformance"]


def check_type(
    cls: type,
    samples: Samples = None,
    *,
    to_dense: Callable[[Any], Any] | None = None,
    from_dense: Callable[[Any], Any] | None = None,
    metadata: Sequence[str] | Mapping[str, Law] | None = None,
    plain: Sequence[str] = (),
    skip: Iterable[str] = (),
    checks: Iterable[str] | None = None,
    depth: int | None = 2,
    operations: Iterable[Callable[..., Any]] | None = None,
    refuses: Sequence[type[Exception]] = (),
    closed: Iterable[Callable[..., Any]] = (),
    progress: bool = True,
) -> Conformance:
    """Check that a type computes what its dense form computes, by calling every operation in many ways.

    Parameters
    ----------
    cls : the type
    samples : instances of it; a function that returns new ones; or a Hypothesis strategy, from which one instance of
        each shape and dtype is taken. By default they are drawn from the fields
    to_dense : returns a plain tensor for an instance; the type's own by default
    from_dense : returns an instance with the elements of any plain tensor. If the type cannot hold arbitrary elements,
        leave it out: the calls are then adapted to the shapes of the samples
    metadata : names of attributes that results must take over from their arguments; by default the fields after the
        first of a type with the fallback `rewrap`, and the attributes of a subclass of `Tensor`. Or a mapping from
        each name to a law: ``law(function, values)`` gets the value of each array argument, None where it has none,
        and returns the expected value, or NotImplemented if any value is right
    plain : names of operations whose results are plain tensors without metadata
    skip : names of checks to leave out, such as ``"pickle"``; ``"vmap:sort"`` leaves out one operation of a check
    checks : names of the checks to make; all by default
    depth : for how many calls of each operation, instance and rule more than values is checked; None for all
    operations : the functions to call; all by default
    refuses : exceptions that the type raises by design, such as an error of units
    closed : functions whose results must be instances when all array arguments are
    progress : whether to show the progress on a terminal, after a second

    Returns
    -------
    Conformance
        Reports what was tried, refused and not reached, and each failure.

    Raises
    ------
    ConformanceError : if a check fails; its text has each faulty handler with a small call and a program to paste
    TypeError : if the type is no array type or has no dense form, or a sample or an operation does not fit
    ValueError : if there are no samples, or `skip` or `checks` names no check

    Notes
    -----
    A call that the type refuses is never a failure: `dk.coverage` reports how much a type covers. The calls are the
    samples that each operation declares, and variations of them. Dense fallbacks are allowed.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import Wrapper, check_type
    >>> found = check_type(Wrapper, lambda: [Wrapper([1.0, 2.0])], from_dense=Wrapper, operations=[dk.exp, dk.add])
    >>> found.tried["value"], found.failures
    (8, ())
    """
    chosen = _chosen(checks)
    subject = Subject(
        cls,
        samples,
        to_dense=to_dense,
        from_dense=from_dense,
        metadata=metadata,
        plain=plain,
        depth=depth,
        operations=operations,
        refuses=refuses,
        closed=closed,
    )
    found = conformance(subject, chosen, skip, progress=progress)
    if found.failures:
        raise ConformanceError(found)
    return found


def _chosen(checks: Iterable[str] | None) -> list[str]:
    """Return the checks that are to be made.

    Raises
    ------
    ValueError : for the name of no check
    """
    names = list(CHECKS) if checks is None else list(checks)
    for name in names:
        if name not in CHECKS:
            raise ValueError(f"checks: there is no check {name!r}; the checks are {', '.join(CHECKS)}")
    return names


def conformance(
    subject: Subject, names: Iterable[str], skip: Iterable[str] = (), *, progress: bool = False
) -> Conformance:
    """Make checks on a type, and return what they found."""
    left_out = _left_out(skip)
    chosen = [name for name in names if (name, "") not in left_out]
    failures: list[Failure] = []
    tried: dict[str, int] = dict.fromkeys(chosen, 0)
    with _quiet():
        dense = _wrong_dense_forms(subject)
        if dense:  # with which everything else compares
            found = gathered(subject, dense, CHECKS)
            return Conformance(subject.name, tuple(chosen), tuple(found), {**tried, "dense": len(dense)})
        with Progress(subject.name, len(chosen) * len(subject.operations), shown=progress) as bar:
            for name in chosen:
                for place, one in _steps(CHECKS[name], subject):
                    bar.advance(f"{subject.name}: {name} of {place}")
                    tried[name] += len(one)
                    failures += [f for f in one if f is not None and not _skipped(f, left_out)]
        failures = gathered(subject, failures, CHECKS)
    examined = subject.memory.get("examination", {}).values()
    missing = [rule for rule in rules_of(subject) if rule in (subject.pending or ())]
    return Conformance(
        subject.name,
        tuple(chosen),
        tuple(failures),
        tried,
        tuple(one.operation.qualified_name for one in examined if one.refused),
        tuple(one.operation.qualified_name for one in examined if not one.calls),
        tuple(map(str, missing)),
    )


def _wrong_dense_forms(subject: Subject) -> list[Failure]:
    if subject.wrong_dense is None:
        subject.wrong_dense = [one for _, found in _steps(CHECKS["dense"], subject) for one in found if one is not None]
    return subject.wrong_dense


def _steps(check: Check, subject: Subject) -> Iterator[tuple[str, list[Failure | None]]]:
    """Yield what a check finds, operation by operation."""
    if check.of_type is not None:
        yield subject.name, list(check.of_type(subject))
    if check.of_operation is not None:
        for operation in subject.operations:
            yield operation.name, list(check.of_operation(subject, operation))


def _left_out(skip: Iterable[str]) -> set[tuple[str, str]]:
    """Return the checks that are not made, each with the operation it is not made of, or with "" for all.

    Raises
    ------
    ValueError : for the name of no check
    """
    found = {(name, operation) for name, _, operation in (one.partition(":") for one in skip)}
    for name, _ in sorted(found):
        if name not in CHECKS:
            raise ValueError(f"skip: there is no check {name!r}; the checks are {', '.join(CHECKS)}")
    return found


def _skipped(failure: Failure, left_out: set[tuple[str, str]]) -> bool:
    names = (failure.operation, failure.operation.removeprefix("dispatchkit."))
    return any((failure.check, name) in left_out for name in names)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let calls densify, warn and overflow: what is checked is what they give."""
    with unbounded(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
