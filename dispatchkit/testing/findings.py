"""The type under test, and what the checks found of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import NoImplementationError
from dispatchkit.fields import with_fields
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import disable_dispatch, tensor_protocol
from dispatchkit.protocol.naming import misfit, type_name
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.testing.comparing.beside import Beside, failure_html
from dispatchkit.testing.comparing.differences import difference, elements_of, error_text, members, same, value_text
from dispatchkit.testing.comparing.relations import unrelated_part
from dispatchkit.testing.instances import Samples, anew, drawn, is_strategy
from dispatchkit.testing.lines import Lines, own_places
from dispatchkit.tree import with_members

# Gives what a result is to carry: of the function, and of what each of its array arguments carries, None if nothing.
Law = Callable[[Any, list[Any]], Any]


class Subject:
    """A type under test.

    Parameters
    ----------
    cls : the type
    samples : its instances, a function that makes them anew, or a strategy of Hypothesis for one
    to_dense : makes a plain tensor of an instance; the type's declared one, of a `Tensor` subclass a plain copy, by
        default
    from_dense : makes an instance with the elements of a plain tensor; None where the type cannot hold any elements
    metadata : attributes that every result has from the arguments; by default the fields after the first of a type
        with the fallback `rewrap`, and the attributes of a subclass of `Tensor`. As a mapping it gives for each name
        the law by which results get it: ``law(function, values)`` returns what is expected, NotImplemented for anything
    plain : names of operations whose results are plain tensors though there is metadata
    depth : how many calls of each operation the checks make that look at more than values; None for all
    operations : the functions that are called; all by default
    refuses : exceptions by which the type refuses calls by design, besides those that it declares
    closed : the functions whose results on instances alone must be instances
    thorough : whether all calls are looked into, and many more programs

    Raises
    ------
    TypeError : if the type takes no part in the protocol, has no dense form, a sample is no instance of it, or one of
        the operations is not overridable
    ValueError : if there are no samples

    Attributes
    ----------
    operations : the overridable functions with array arguments
    memory : what checks have found out, by check and operation, for those that build on them
    looked_into : by instance, rules and lines the operations that stand for the calls of all
    copies : whether copies of instances are right, with which most checks work
    by_fallback : operations that stand for all those that no rule answers
    lines : those of the type's own code, and which of them calls have entered
    operands : its samples as arguments of calls, by number and by what is changed of them
    pending : the rules of the type that no call has entered so far, None before the first call
    rewraps : whether results have the fields of their arguments because the fallback is `rewrap`
    name : of the type
    """

    def __init__(
        self,
        cls: type,
        samples: Samples = (),
        *,
        to_dense: Callable[[Any], Any] | None = None,
        from_dense: Callable[[Any], Any] | None = None,
        metadata: Sequence[str] | Mapping[str, Law] | None = None,
        plain: Sequence[str] = (),
        depth: int | None = 2,
        operations: Iterable[Callable[..., Any]] | None = None,
        refuses: Sequence[type[Exception]] = (),
        closed: Iterable[Callable[..., Any]] = (),
        thorough: bool = False,
    ) -> None:
        if not isinstance(cls, type) or not tensor_protocol.types.participates(cls):  # type: ignore[redundant-expr]
            raise misfit("check_type", cls, tensor_protocol.types)
        self.name = type_name(cls)
        self.cls = cls
        self._to_dense = to_dense or self._declared_dense()
        self._ready: dict[int, list[Any]] = {}
        self._samples: Any
        if is_strategy(samples):
            self._samples = drawn(samples, self._to_dense)
        else:
            self._samples = samples
        self.from_dense = from_dense
        self.plain = frozenset(plain)
        if thorough:
            self.depth = None
        else:
            self.depth = depth
        self.thorough = thorough
        self.relation = tensor_protocol.types.relation(cls)
        declared = tensor_protocol.types.refuses(cls)
        self.refusals: tuple[type[Exception], ...] = (NoImplementationError, *declared, *refuses)
        self.closed = frozenset(map(tensor_protocol.operation, closed))
        self.laws: Mapping[str, Law]
        if isinstance(metadata, Mapping):
            self.laws = metadata
        else:
            self.laws = {}
        if metadata is None:
            self.metadata = self._metadata_names()
        else:
            self.metadata = tuple(metadata)
        self.rewraps = metadata is None and fallback.rewrap in tensor_protocol.types.fallback(cls)
        self.memory: dict[str, dict[Any, Any]] = {}
        self.looked_into: dict[Any, list[Overridable]] = {}
        self.copies = True
        self.by_fallback: set[Overridable] = set()
        self.pending: set[Any] | None = None
        self.operands: dict[Any, Any] = {}
        chosen: Iterable[Overridable] = tensor_protocol.operations.values()
        if operations is not None:
            chosen = map(tensor_protocol.operation, operations)
        self.operations = [operation for operation in chosen if operation.parameters.arrays]
        self.lines = Lines(file for file, _ in own_places(cls, self.operations))

    def _declared_dense(self) -> Callable[[Any], Any]:
        declared = tensor_protocol.types.to_dense(self.cls)
        if declared is not None:
            return declared
        if issubclass(self.cls, Tensor):
            return _plain_copy
        raise TypeError(
            f"check_type: {self.name} has no dense form to compare with; define to_dense(), or pass to_dense="
        )

    def _metadata_names(self) -> tuple[str, ...]:
        first = self.samples()[0]
        if issubclass(self.cls, Tensor):
            return tuple(getattr(first, "__dict__", ()))
        if fallback.rewrap in tensor_protocol.types.fallback(self.cls):
            return tensor_protocol.types.fields_of(first)[1:]
        return ()

    def samples(self) -> list[Any]:
        """Return the samples, made anew."""
        if isinstance(self._samples, self.cls):
            raise TypeError(
                f"check_type: samples is one instance of {self.name}; write a list, [{self.cls.__name__}(...)]"
            )
        if callable(self._samples):
            samples = list(self._samples())
        else:
            samples = list(map(anew, self._samples))
        if not samples:
            raise ValueError(f"check_type: there are no samples of {self.name}; give one instance at least")
        for sample in samples:
            if not isinstance(sample, self.cls):
                raise TypeError(f"check_type: a sample of {self.name} is a {type(sample).__name__}")
        return samples

    @cached_property
    def count(self) -> int:
        """How many samples there are."""
        return len(self.samples())

    def sample(self, index: int) -> Any:
        """Return one of the samples, made anew."""
        if not callable(self._samples):
            return anew(self._samples[index])
        # One call of the function makes them all, and each of them is handed out once.
        ready = self._ready.setdefault(index, [])
        if not ready:
            for place, made in enumerate(self.samples()):
                self._ready.setdefault(place, []).append(made)
        return ready.pop()

    def dense(self, value: Any) -> Any:
        """Return an argument or result with plain tensors in the place of instances, in lists and tuples too."""
        if isinstance(value, self.cls):
            return self._to_dense(value)
        if isinstance(value, (tuple, list)):
            return with_members(value, [self.dense(member) for member in value])
        if isinstance(value, Storage) or not tensor_protocol.types.participates(type(value)):
            return value
        other = tensor_protocol.types.to_dense(type(value))
        if other is None:
            return value
        return other(value)

    def right_dense(self, value: Any) -> Any:
        """Return the dense form of an argument.

        Raises
        ------
        ValueError : if the relation is false for an instance and its own dense form, so that the type cannot hold it
        """
        dense = self.dense(value)
        holds = None
        if isinstance(value, self.cls):
            holds = self.relation.holds
        if holds is not None and not bool(holds(value, dense)):
            raise ValueError(f"check_type: {value!r} is not right for its own dense form")
        return dense

    def array(self, value: Any) -> Any:
        """Return the elements of an argument or result as a NumPy array; what holds none as it is."""
        return elements_of(self.dense(value))

    def by_given_laws(self, operation: Overridable, values: list[Any]) -> dict[str, Any]:
        """Return the metadata that results of a call are to have by the laws that were given for the type."""
        expected = {}
        for name, law in self.laws.items():
            metadata = law(operation.function, [getattr(value, name, None) for value in values])
            if metadata is not NotImplemented:
                expected[name] = metadata
        return expected

    def metadata_of(self, value: Any) -> dict[str, Any]:
        """Return the metadata of an instance."""
        return {name: getattr(value, name, None) for name in self.metadata}


def _plain_copy(x: Any) -> Any:
    with disable_dispatch():
        return tensor_namespace.clone(x)


# Gives the failure of a check on another call, None where it passes.
Again: TypeAlias = "Callable[[Any], Failure | None]"
SHOWN = 20  # failures of one check that a message lists
LISTED = 6  # further calls of one handler


@dataclass(frozen=True, slots=True)
class Failure:
    """A call or a deed that went wrong.

    Attributes
    ----------
    check : name of the check
    operation : qualified name of the operation, "" where it is about the type itself
    call : what was done
    found, expected : what came of it, and what was right
    handler : the rule or method at fault with its file and line, "" where it is not known
    program : that shows it when it is pasted
    also : the further calls and checks that failed by the same handler
    beside : the arrays that were found and expected, None where it is about something else
    made : the call as it can be made again; None where it is no call of an operation
    again : gives the failure of the same check on another call, None where it passes
    """

    check: str
    operation: str
    call: str
    found: str
    expected: str
    handler: str = ""
    program: str = ""
    also: tuple[str, ...] = ()
    beside: Beside | None = field(default=None, compare=False, repr=False)
    made: Any = field(default=None, compare=False, repr=False)
    again: Again | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        lines = [f"{self.check}: {self.call}"]
        if self.handler:
            lines.append(f"    handler:  {self.handler}")
        lines += [f"    found:    {_indent(self.found)}", f"    expected: {_indent(self.expected)}"]
        lines += differing_lines(self.beside)
        if self.also:
            more = ""
            if len(self.also) > LISTED:
                more = f", and {len(self.also) - LISTED} more"
            lines.append(f"    also:     {', '.join(self.also[:LISTED])}{more}")
        if self.program:
            lines += ["    program:", *(f"        {line}".rstrip() for line in self.program.splitlines())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lines = [("handler", self.handler), ("found", self.found), ("expected", self.expected)]
        return failure_html(f"{self.check}: {self.call}", lines, self.beside, self.program)


def differing_lines(beside: Beside | None) -> list[str]:
    """Return the lines of a message that say which elements of an array differ."""
    if beside is None:
        return []
    first, *rest = beside.lines() or [""]
    if not first:
        return []
    return [f"    differs:  {first}", *(f"              {line}" for line in rest)]


@dataclass(frozen=True)
class Conformance:
    """What `check_type` did and found; prints as a summary.

    Attributes
    ----------
    type : name of the type
    checks : names of the checks that ran
    failures : what they found
    tried : per check, how many calls or deeds it looked at
    refused : names of operations all of whose calls the type refused
    unreached : names of operations for which no call could be made with the type's samples
    unentered : rules of the type, for the functions under test, that no call entered
    unvaried : fields in which no two instances that met in a call differed
    """

    type: str
    checks: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    tried: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    unentered: tuple[str, ...] = ()
    unvaried: tuple[str, ...] = ()

    def __str__(self) -> str:
        failed = Counter(failure.check for failure in self.failures)
        lines = [f"conformance of {self.type}: {len(self.failures)} failures in {len(self.checks)} checks"]
        lines += [
            f"  {name:<12}{self.tried.get(name, 0):>6} tried  {f'{failed[name]} FAILED' if failed[name] else 'passed'}"
            for name in self.checks
        ]
        for title, names in (("refused", self.refused), ("not reached", self.unreached)):
            if names:
                lines.append(f"  {title} ({len(names)}): {', '.join(names)}")
        if self.unentered:
            lines.append(f"  rules that no call entered ({len(self.unentered)}), for want of samples that reach them:")
            lines += [f"    {text}" for text in self.unentered]
        if self.unvaried:
            lines.append(f"  alike in all instances that met ({len(self.unvaried)}): {', '.join(self.unvaried)};")
            lines.append("    give two samples of one shape that differ in them")
        for name in self.checks:
            mine = [failure for failure in self.failures if failure.check == name]
            if mine:
                lines += ["", *map(str, mine[:SHOWN])]
            if len(mine) > SHOWN:
                lines.append(f"{name}: and {len(mine) - SHOWN} more")
        return "\n".join(lines)


@with_fields
class ConformanceError(AssertionError):
    """A type failed checks.

    Attributes
    ----------
    conformance : what was done and found
    """

    conformance: Conformance

    def __str__(self) -> str:
        return str(self.conformance)

    def _repr_html_(self) -> str:
        return "".join(failure._repr_html_() for failure in self.conformance.failures)


def different(subject: Subject, found: Any, expected: Any) -> tuple[str, str, str] | None:
    """Compare a value with the right one, by the relation of the type: in what they differ and both as text.

    Instances among what is found are compared by a relation that is a function, the dense forms of all else for
    equality, within the tolerance of the type.
    """
    try:
        dense = subject.dense(found)
    except Exception as error:  # noqa: BLE001  # whatever to_dense() of a wrong result raises is shown
        return dense_form_failure(subject, found, expected, error)
    right, by_function = subject.dense(expected), subject.relation.holds is not None
    differs = difference(dense, right, values=not by_function, tolerance=subject.relation.tolerance)
    if differs is None and by_function:
        differs = unrelated_part(tensor_protocol.types, found, right, [subject.samples()[0]])
    if differs is None:
        return None
    return differs.failure


def dense_form_failure(subject: Subject, found: Any, expected: Any, error: Exception) -> tuple[str, str, str]:
    """Return what is said of a result whose dense form cannot be made."""
    text = f"{type_name(type(found))}, whose dense form raises {error_text(error)}"
    return "value", text, value_text(subject.dense(expected))


class Reading(NamedTuple):
    """What is compared of an array of a result: its type, elements and metadata."""

    cls: type
    array: Any
    carried: dict[str, Any]


def readings(subject: Subject, result: Any) -> list[Reading]:
    """Return what is compared of a result now, whatever becomes of it later."""
    return [
        Reading(
            type(member), subject.array(member), subject.metadata_of(member) if isinstance(member, subject.cls) else {}
        )
        for member in members(result)
    ]


def alike(found: list[Reading], expected: list[Reading]) -> tuple[str, str] | None:
    """Compare two results of the same thing; None where they agree, else both as text."""
    if len(found) != len(expected):
        return f"{len(found)} results", f"{len(expected)} results"
    for reading, other in zip(found, expected, strict=True):
        if reading.cls is not other.cls:
            return f"a {type_name(reading.cls)}", f"a {type_name(other.cls)}"
        if not same(reading.array, other.array):
            return value_text(reading.array), value_text(other.array)
        dtypes = [getattr(array, "dtype", None) for array in (reading.array, other.array)]
        if dtypes[0] != dtypes[1]:
            return f"dtype {dtypes[0]}", f"dtype {dtypes[1]}"
        if not all(same(reading.carried[name], other.carried[name]) for name in other.carried):
            return repr(reading.carried), repr(other.carried)
    return None


def _indent(text: str) -> str:
    return text.replace("\n", "\n" + " " * 14)
