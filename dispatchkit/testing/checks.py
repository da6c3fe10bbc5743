"""The checks, by name: what each looks at, once for each operation or once for the type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing import companions, concurrency, forms, objects, transforms
from dispatchkit.testing.examination import examination, found_by
from dispatchkit.testing.findings import Failure
from dispatchkit.testing.foreign_types import foreign_types
from dispatchkit.testing.subject import Subject

__all__ = ["CHECKS", "Check"]

Found: TypeAlias = "Iterator[Failure | None]"


@dataclass(frozen=True)
class Check:
    """One thing that a type is checked for.

    Attributes
    ----------
    name : as failures carry it
    about : what must hold, in a sentence
    of_operation : yields a failure, or None where there is none, for each call of an operation
    of_type : the same for what concerns the type itself
    """

    name: str
    about: str
    of_operation: Callable[[Subject, Overridable], Iterable[Failure | None]] | None = None
    of_type: Callable[[Subject], Found] | None = None


def _examined(name: str, subject: Subject, operation: Overridable) -> Found:
    found = examination(subject, operation)
    failures = [failure for failure in found.failures if failure.check == name]
    yield from failures
    yield from [None] * (len(found.answered) - len(failures))


def _on_values(name: str, about: str) -> Check:
    return Check(name, about, partial(_examined, name))


def _on_calls(name: str, function: Callable[[Subject, Overridable], Found]) -> Check:
    return Check(name, _about(function), partial(found_by, function))


def _on_type(name: str, function: Callable[[Subject, Any], Found]) -> Check:
    return Check(name, _about(function), of_type=partial(_of_samples, function))


def _of_samples(function: Callable[[Subject, Any], Found], subject: Subject) -> Found:
    """Yield what a check finds in each sample, the failures with the sample as it was."""
    for index in range(len(subject.samples())):
        for found in function(subject, subject.sample(index)):
            if found is None or found.made is not None:
                yield found
            else:
                yield replace(found, made=subject.sample(index))


def _about(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").partition("\n")[0]


CHECKS = {
    check.name: check
    for check in (
        _on_type("dense", objects.dense_form),
        _on_values("raises", "No handler raises where plain tensors give an answer."),
        _on_values("container", "Several results come in a tuple of the same kind, named ones with their names."),
        _on_values("keywords", "A keyword that a handler takes changes its result as the operation's does."),
        _on_values("shape", "`to_dense(op(x))` has the shape of `op(to_dense(x))`."),
        _on_values("value", "`to_dense(op(x))` has the elements of `op(to_dense(x))`."),
        _on_values("dtype", "`to_dense(op(x))` has the dtype of `op(to_dense(x))`."),
        _on_values("closed", "Results of the functions named `closed`, on instances alone, are instances."),
        _on_values("mutation", "Arguments are as before after the call."),
        _on_values("metadata", "Results have the metadata of their arguments."),
        _on_calls("repeat", forms.repeat),
        Check(
            "gradient",
            _about(transforms.gradient),
            partial(found_by, transforms.gradient),
            partial(_of_samples, transforms.dense_gradient),
        ),
        _on_calls("second", transforms.second),
        _on_calls("forward", transforms.forward),
        _on_calls("vmap", transforms.vmapped),
        _on_calls("companions", companions.companions),
        _on_calls("refusals", companions.refusals),
        _on_calls("foreign", foreign_types),
        _on_calls("operators", forms.operators),
        _on_calls("reflected", forms.reflected),
        _on_calls("inplace", forms.inplace),
        _on_calls("methods", forms.methods),
        _on_calls("asyncio", concurrency.in_tasks),
        _on_calls("threads", concurrency.in_threads),
        _on_type("attributes", objects.attributes),
        _on_type("alias", objects.aliased),
        _on_type("assignment", objects.assignment),
        _on_type("copy", objects.copied),
        _on_type("deepcopy", objects.deep_copied),
        _on_type("pickle", objects.pickled),
        _on_type("repr", objects.printed),
    )
}
