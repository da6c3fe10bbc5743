"""`check_type`: every check on a type, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dispatchkit.protocol.densify import densify
from dispatchkit.testing.checks import CHECKS
from dispatchkit.testing.findings import Conformance, ConformanceError, Failure
from dispatchkit.testing.subject import Samples, Subject

__all__ = ["check_type", "conformance"]


def check_type(
    cls: type,
    samples: Samples,
    *,
    to_dense: Callable[[Any], Any] | None = None,
    from_dense: Callable[[Any], Any] | None = None,
    metadata: Sequence[str] | None = None,
    plain: Sequence[str] = (),
    skip: Iterable[str] = (),
    depth: int | None = 2,
    operations: Iterable[Callable[..., Any]] | None = None,
) -> Conformance:
    """Check that a type computes what its dense form computes, in every way that a call can be made.

    Parameters
    ----------
    cls : the type
    samples : instances of it, or a function that makes them anew (so that a handler that changes its arguments
        spoils nothing)
    to_dense : makes a plain tensor of an instance; the type's own by default
    from_dense : makes an instance with the elements of any plain tensor; where the type cannot hold any elements leave
        it out, and the calls are adapted to the shapes of the samples
    metadata : names of attributes that results must have from their arguments; by default the fields after the first
        of a type with the fallback `rewrap`, and the attributes of a subclass of `Tensor`
    plain : names of operations whose results carry no metadata, being plain tensors
    skip : names of checks that are not made, such as ``"pickle"``; ``"vmap:sort"`` leaves out one operation of a check
    depth : how many calls of each operation the checks make that look at more than values; None for all
    operations : the functions that are called; all by default

    Returns
    -------
    what was tried, refused and not reached

    Raises
    ------
    ConformanceError : an `AssertionError`, if a check fails; its text has each failure with the call and both values
    TypeError : if the type takes no part in the protocol, has no dense form, a sample is no instance of it, or one of
        the operations is not overridable
    ValueError : if there are no samples, or `skip` names no check

    Notes
    -----
    A call that the type refuses (`NoImplementationError`) is never a failure: how much a type covers is what
    `dk.coverage` tells. The calls are the samples that each operation declares. Dense fallbacks are allowed meanwhile.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import Wrapper, check_type
    >>> found = check_type(Wrapper, lambda: [Wrapper([1.0, 2.0])], from_dense=Wrapper, operations=[dk.exp, dk.add])
    >>> found.tried["value"], found.tried["companions"], found.failures
    (8, 16, ())
    """
    subject = Subject(
        cls,
        samples,
        to_dense=to_dense,
        from_dense=from_dense,
        metadata=metadata,
        plain=plain,
        depth=depth,
        operations=operations,
    )
    found = conformance(subject, CHECKS, skip)
    if found.failures:
        raise ConformanceError(found)
    return found


def conformance(subject: Subject, names: Iterable[str], skip: Iterable[str] = ()) -> Conformance:
    """Make checks on a type, and return what they found."""
    left_out = _left_out(skip)
    chosen = [name for name in names if (name, "") not in left_out]
    failures: list[Failure] = []
    tried: dict[str, int] = {}
    with _quiet():
        for name in chosen:
            found = list(CHECKS[name].run(subject))
            tried[name] = len(found)
            failures += [one for one in found if one is not None and not _skipped(one, left_out)]
    examined = subject.memory.get("examination", {}).values()
    return Conformance(
        subject.name,
        tuple(chosen),
        tuple(failures),
        tried,
        tuple(one.operation.qualified_name for one in examined if one.refused),
        tuple(one.operation.qualified_name for one in examined if not one.calls),
    )


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
    with densify(on="allow"), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
