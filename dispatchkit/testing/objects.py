"""The checks of instances as objects: copied, pickled, printed, assigned to."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import NoImplementationError
from dispatchkit.func.containers import arrays_of
from dispatchkit.testing.findings import Failure, alike, described, different, readings
from dispatchkit.testing.subject import Subject

__all__ = ["assignment", "copied", "deep_copied", "pickled", "printed"]


def copied(subject: Subject) -> Iterator[Failure | None]:
    """`copy.copy` gives an instance with the same elements and metadata."""
    for x in subject.samples():
        yield _same("copy", subject, x, "copy.copy", copy.copy)


def deep_copied(subject: Subject) -> Iterator[Failure | None]:
    """`copy.deepcopy` gives an equal instance that shares no memory with the first."""
    for x in subject.samples():
        yield _same("deepcopy", subject, x, "copy.deepcopy", copy.deepcopy) or _shares(subject, x)


def _shares(subject: Subject, x: Any) -> Failure | None:
    made = [_memory(one) for one in arrays_of(copy.deepcopy(x))]
    if any(np.may_share_memory(one, _memory(other)) for one in made for other in arrays_of(x)):
        return Failure("deepcopy", "", f"copy.deepcopy({subject.name})", "memory shared with the original", "its own")
    return None


def _memory(x: Any) -> Any:
    return np.asarray(getattr(x, "array", x))


def pickled(subject: Subject) -> Iterator[Failure | None]:
    """Pickling and loading gives an equal instance, in every protocol from 2 on."""
    for x in subject.samples():
        for number in range(2, pickle.HIGHEST_PROTOCOL + 1):

            def loaded(value: Any, number: int = number) -> Any:
                return pickle.loads(pickle.dumps(value, number))  # noqa: S301  # what was written a moment ago

            yield _same("pickle", subject, x, f"pickle protocol {number} of", loaded)


def printed(subject: Subject) -> Iterator[Failure | None]:
    """`repr` and `str` give text."""
    for x in subject.samples():
        for form in (repr, str):
            try:
                form(x)
            except Exception as error:  # noqa: BLE001  # what the type's own method raises is what is looked for
                yield Failure("repr", "", f"{form.__name__}({subject.name})", described(error), "text")
            else:
                yield None


def assignment(subject: Subject) -> Iterator[Failure | None]:
    """`x[key] = value` changes the element, or is refused."""
    for index, x in enumerate(subject.samples()):
        key = (0,) * len(x.shape)
        plain = tensor_namespace.asarray(subject.array(x))
        if 0 in plain.shape:
            continue
        value = int(plain[key] != 1)
        plain[key] = value
        text = f"{subject.name}[{', '.join(map(str, key)) or '()'}] = {value}"
        try:
            x[key] = value
        except (NoImplementationError, TypeError):
            untouched = different(subject, x, subject.samples()[index])
            yield None if untouched is None else Failure("assignment", "dispatchkit.setitem", text, *untouched[1:])
        except Exception as error:  # noqa: BLE001  # what the type's own method raises is what is looked for
            yield Failure("assignment", "dispatchkit.setitem", text, described(error), "no exception, or a refusal")
        else:
            found = different(subject, x, plain)
            yield None if found is None else Failure("assignment", "dispatchkit.setitem", text, *found[1:])


def _same(check: str, subject: Subject, x: Any, name: str, form: Callable[[Any], Any]) -> Failure | None:
    text = f"{name}({subject.name})"
    try:
        found = alike(readings(subject, form(x)), readings(subject, x))
    except Exception as error:  # noqa: BLE001  # what the type's own methods raise is what is looked for
        return Failure(check, "", text, described(error), f"an equal {subject.name}")
    return None if found is None else Failure(check, "", text, *found)
