"""`check_type`: every check on a type, in one call; and the checks as a class of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

from dispatchkit import catalogue  # noqa: F401  # every operation is tested
from dispatchkit.progress import ProgressBar
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.types.type_tests import TypeTests, join_tests
from dispatchkit.testing.attribution import gather, rules_of
from dispatchkit.testing.calls import measuring
from dispatchkit.testing.checks import companions, concurrency, forms, objects
from dispatchkit.testing.checks.chains import chains
from dispatchkit.testing.checks.objects import foreign_types
from dispatchkit.testing.examination import examination, found_by
from dispatchkit.testing.findings import Conformance, ConformanceError, Failure, Law, Subject
from dispatchkit.testing.instances import Samples, first, is_strategy
from dispatchkit.testing.partners import unvaried
from dispatchkit.testing.random_programs import programs

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


def _examination_failures(name: str, subject: Subject, operation: Overridable) -> Found:
    examined = examination(subject, operation)
    failures = [failure for failure in examined.failures if failure.check == name]
    yield from failures
    yield from [None] * (len(examined.answered) - len(failures))


def _on_values(name: str, about: str) -> Check:
    return Check(name, about, partial(_examination_failures, name))


def _on_calls(name: str, function: Callable[[Subject, Overridable], Found]) -> Check:
    return Check(name, _about(function), partial(found_by, function))


def _on_type(name: str, function: Callable[[Subject, Any], Found]) -> Check:
    return Check(name, _about(function), of_type=partial(_of_samples, function))


def _of_samples(function: Callable[[Subject, Any], Found], subject: Subject) -> Found:
    """Yield what a check finds in each sample, the failures with the sample as it was."""
    for index in range(subject.count):
        for failure in function(subject, subject.sample(index)):
            if failure is None or failure.made is not None:
                yield failure
            else:
                yield replace(failure, made=subject.sample(index))


def _of_programs(subject: Subject) -> Found:
    """Yield what two calls in a row, and random programs, show."""
    yield from chains(subject)
    yield from programs(subject)


def _about(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").partition("\n")[0]


CHECKS = {
    check.name: check
    for check in (
        _on_type("dense", objects.dense_form),
        _on_type("copy", objects.shallow_copies),
        _on_type("deepcopy", objects.deep_copies),
        _on_type("pickle", objects.pickles),
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
        replace(_on_calls("gradient", forms.gradient), of_type=partial(_of_samples, forms.dense_gradient)),
        _on_calls("second", forms.second),
        _on_calls("forward", forms.forward),
        _on_calls("vmap", forms.under_vmap),
        _on_calls("companions", companions.companions),
        _on_calls("refusals", companions.refusals),
        _on_calls("foreign", foreign_types),
        _on_calls("operators", forms.operators),
        _on_calls("reflected", forms.reflected_operators),
        _on_calls("inplace", forms.inplace),
        _on_calls("methods", forms.methods),
        _on_calls("asyncio", concurrency.in_tasks),
        _on_calls("threads", concurrency.in_threads),
        _on_type("attributes", objects.attributes),
        replace(_on_type("alias", objects.shared_memory), of_operation=partial(_examination_failures, "alias")),
        _on_type("assignment", objects.assignment),
        _on_type("repr", objects.printing),
        Check("programs", _about(programs), of_type=_of_programs),
    )
}


# These change the fields of copies: where copies are wrong, nothing that they find is a fault of its own.
WITH_COPIES = frozenset(
    {"repeat", "gradient", "second", "forward", "vmap", "inplace", "asyncio", "threads", "alias", "programs"}
)


def check_type(
    cls: type,
    samples: Samples = (),
    *,
    to_dense: Callable[[Any], Any] | None = None,
    from_dense: Callable[[Any], Any] | None = None,
    metadata: Sequence[str] | Mapping[str, Law] | None = None,
    plain: Sequence[str] = (),
    skip: Iterable[str] = (),
    checks: Iterable[str] | None = None,
    depth: int | None = 2,
    operations: Iterable[Callable[..., Any]] | None = None,
    tests: TypeTests | None = None,
    refuses: Iterable[type[Exception]] | None = None,
    closed: Iterable[Callable[..., Any]] = (),
    thorough: bool = False,
    progress: bool | None = None,
) -> Conformance:
    """Check that a type computes what its dense form computes, by calling every operation in many ways.

    A call that the type refuses is no failure, and dense fallbacks are none: `dk.coverage` reports what a type covers.

    Parameters
    ----------
    cls : the type
    samples : instances of it; a function that returns new ones; or a Hypothesis strategy, from which one instance of
        each shape and dtype is taken
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
    tests : exceptions by which the type `refuses` calls, such as an error of units, and `closed` functions, whose
        results must be instances when all array arguments are, besides those that the type declares
    refuses, closed : deprecated: those of `tests`
    thorough : whether to look into all calls, and to run twenty times as many programs
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

    Returns
    -------
    Conformance
        Reports what was tried, refused and not reached, and each failure.

    Raises
    ------
    ConformanceError : if a check fails; its text has each faulty handler with a small call and a program to paste
    TypeError : if the type is no array type or has no dense form, or a sample or an operation does not fit
    ValueError : if there are no samples, or `skip` or `checks` names no check

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import Wrapper, check_type
    >>> found = check_type(Wrapper, lambda: [Wrapper([1.0, 2.0])], from_dense=Wrapper, operations=[dk.exp, dk.add])
    >>> found.tried["value"], found.failures
    (8, ())
    """
    arguments = locals()
    stated = _extra_for_subject("check_type", tests, refuses=refuses, closed=closed)
    chosen = _chosen(checks)
    subject = Subject(cls, samples, **{name: arguments[name] for name in (*CONVERSIONS, *PASSED_ON)}, **stated)
    with ProgressBar(f"check_type of {subject.name}", _count_steps(subject, chosen), progress) as bar:
        result = conformance(subject, chosen, skip, bar)
    if result.failures:
        raise ConformanceError(result)
    return result


def _extra_for_subject(use: str, tests: TypeTests | None, **keywords: Any) -> dict[str, Any]:
    """Return what `tests=` adds to what a type declares, as `Subject` takes it.

    Raises
    ------
    ValueError : if it says what only the declaration of the type can say
    """
    stated = join_tests(use, tests, stacklevel=3, **keywords)
    if stated.relation is not None or stated.impossible:
        raise ValueError(
            f"{use}: tests= takes refuses and closed; a relation, and what is impossible, belong to the type: write "
            f"array_type(tests=dk.TypeTests(...))"
        )
    return {"refuses": tuple(stated.refuses or ()), "closed": tuple(stated.closed)}


def _chosen(checks: Iterable[str] | None) -> list[str]:
    """Return the checks that are to be made.

    Raises
    ------
    ValueError : for the name of no check
    """
    if checks is None:
        names = list(CHECKS)
    else:
        names = list(checks)
    for name in names:
        if name not in CHECKS:
            raise ValueError(f"checks: there is no check {name!r}; the checks are {', '.join(CHECKS)}")
    return names


def conformance(
    subject: Subject, names: Iterable[str], skip: Iterable[str] = (), bar: ProgressBar | None = None
) -> Conformance:
    """Make checks on a type, and return what they found; a bar counts the operations of each check."""
    bar = bar or ProgressBar(subject.name, progress=False)
    left_out = _left_out(skip)
    chosen = [name for name in names if (name, "") not in left_out]
    failures: list[Failure] = []
    tried: dict[str, int] = dict.fromkeys(chosen, 0)
    with measuring(), subject.lines.watched():
        dense = [failure for failure in _results(CHECKS["dense"], subject, bar) if failure is not None]
        if dense:  # with which everything else compares
            dense_failures = gather(subject, dense, CHECKS)
            return Conformance(subject.name, tuple(chosen), tuple(dense_failures), {**tried, "dense": len(dense)})
        unseen = ProgressBar(subject.name, progress=False)
        subject.copies = not any(_results(CHECKS["copy"], subject, unseen))
        for name in chosen:
            if name in WITH_COPIES and not subject.copies:
                continue
            for result in _results(CHECKS[name], subject, bar):
                tried[name] += 1
                if result is not None and not _is_skipped(result, left_out):
                    failures.append(result)
        failures = gather(subject, failures, CHECKS)
        alike_fields = tuple(unvaried(subject)) if subject.copies and subject.operations else ()
    examined = subject.memory.get("examination", {}).values()
    missing = [rule for rule in rules_of(subject) if rule in (subject.pending or ())]
    return Conformance(
        subject.name,
        tuple(chosen),
        tuple(failures),
        tried,
        tuple(examination.operation.qualified_name for examination in examined if examination.refused),
        tuple(examination.operation.qualified_name for examination in examined if not examination.calls),
        tuple(map(str, missing)),
        alike_fields,
    )


def _count_steps(subject: Subject, names: Iterable[str]) -> int:
    """Return how many operations checks go through; the check of the dense form comes before all others, too."""
    checks = [CHECKS["dense"], *(CHECKS[name] for name in names)]
    return sum((c.of_type is not None) + len(subject.operations) * (c.of_operation is not None) for c in checks)


def _results(check: Check, subject: Subject, bar: ProgressBar) -> Found:
    """Yield what a check finds, operation by operation."""
    if check.of_type is not None:
        yield from check.of_type(subject)
        bar.advance(1, check.name)
    if check.of_operation is not None:
        for operation in subject.operations:
            yield from check.of_operation(subject, operation)
            bar.advance(1, check.name)


def _left_out(skip: Iterable[str]) -> set[tuple[str, str]]:
    """Return the checks that are not made, each with the operation it is not made of, or with "" for all.

    Raises
    ------
    ValueError : for the name of no check
    """
    left_out = set()
    for text in skip:
        name, _, operation = text.partition(":")
        left_out.add((name, operation))
    for name, _ in sorted(left_out):
        if name not in CHECKS:
            raise ValueError(f"skip: there is no check {name!r}; the checks are {', '.join(CHECKS)}")
    return left_out


def _is_skipped(failure: Failure, left_out: set[tuple[str, str]]) -> bool:
    names = (failure.operation, failure.operation.removeprefix("dispatchkit."))
    return any((failure.check, name) in left_out for name in names)


# One subject for a test class: what its checks have found out of the type serves them all.
_subjects: WeakKeyDictionary[type, Subject] = WeakKeyDictionary()
# The methods, and the attributes, of a test class that `Subject` takes.
CONVERSIONS = ("to_dense", "from_dense")
PASSED_ON = ("metadata", "plain", "depth", "operations", "thorough")
OF_TYPE = [name for name, check in CHECKS.items() if check.of_type is not None]
OF_OPERATIONS = [name for name, check in CHECKS.items() if check.of_operation is not None]


class TypeConformance:
    """Base of a pytest class that runs each check on a type, and all checks on each operation, as tests of their own.

    A test class gives `samples`; `to_dense` where the type has none of its own; and `from_dense` where the type can
    hold any elements. The tests of the type are called ``test_conforms[pickle]``, ``test_conforms[attributes]`` and so
    on, those of operations ``test_operation[product-matmul]``, with the kind in front.

    Attributes
    ----------
    metadata, plain, skip, depth, operations, tests, thorough : as for `check_type`
    refuses, closed : deprecated: those of `tests`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.testing import TypeConformance
    >>> class TestScalarTensor(TypeConformance):
    ...     def samples(self):
    ...         return [dk.types.ScalarTensor(3, dk.tensor(2.0))]
    >>> TestScalarTensor().test_conforms("pickle")
    >>> TestScalarTensor().test_operation("product-matmul")
    """

    metadata: ClassVar[Sequence[str] | Mapping[str, Law] | None] = None
    plain: ClassVar[Sequence[str]] = ()
    skip: ClassVar[Iterable[str]] = ()
    depth: ClassVar[int | None] = 2
    operations: ClassVar[Iterable[Callable[..., Any]] | None] = None
    tests: ClassVar[TypeTests | None] = None
    refuses: ClassVar[Iterable[type[Exception]] | None] = None
    closed: ClassVar[Iterable[Callable[..., Any]]] = ()
    thorough: ClassVar[bool] = False

    def samples(self) -> Any:
        """Return instances of the type, made anew, or a strategy of Hypothesis for one."""
        raise NotImplementedError(f"{type(self).__name__} must define samples(self), a list of instances of the type")

    def to_dense(self, x: Any) -> Any:
        """Return the plain tensor that an instance stands for; by default the type's own dense form.

        Parameters
        ----------
        x : an instance of the type
        """
        raise NotImplementedError

    def from_dense(self, x: Any) -> Any:
        """Return an instance with the elements of a plain tensor; left out where the type cannot hold any.

        Parameters
        ----------
        x : a plain tensor
        """
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each check of the type, and of each operation.

        Parameters
        ----------
        metafunc : what pytest passes
        """
        if "check" in metafunc.fixturenames:
            metafunc.parametrize("check", [name for name in OF_TYPE if name not in set(self.skip)])
        if "operation" in metafunc.fixturenames:
            metafunc.parametrize("operation", list(_operations_by_name(self.operations)))

    def test_conforms(self, check: str) -> None:
        """Make one check on the type itself.

        Parameters
        ----------
        check : the name of one of `CHECKS`

        Raises
        ------
        ConformanceError : if it fails
        """
        __tracebackhide__ = True
        self._check([check], [])

    def test_operation(self, operation: str) -> None:
        """Make all checks on one operation.

        Parameters
        ----------
        operation : its name

        Raises
        ------
        ConformanceError : if one of them fails
        """
        __tracebackhide__ = True
        self._check(OF_OPERATIONS, [_operations_by_name(self.operations)[operation]])

    def _check(self, checks: Iterable[str], operations: list[Overridable]) -> None:
        __tracebackhide__ = True
        subject = self._subject()
        subject.operations = operations
        report = conformance(subject, [name for name in checks if name in OF_TYPE or operations], self.skip)
        if report.failures:
            raise ConformanceError(report)

    def _subject(self) -> Subject:
        cls = type(self)
        if cls not in _subjects:
            conversions = [name for name in CONVERSIONS if getattr(cls, name) is not getattr(TypeConformance, name)]
            samples = self.samples()
            strategy = is_strategy(samples)
            _subjects[cls] = Subject(
                type(first(samples) if strategy else samples[0]),
                samples if strategy else self.samples,
                **{name: getattr(self, name) for name in (*PASSED_ON, *conversions)},
                **_extra_for_subject(cls.__name__, self.tests, refuses=self.refuses, closed=self.closed),
            )
        return _subjects[cls]


def _operations_by_name(operations: Iterable[Callable[..., Any]] | None) -> dict[str, Overridable]:
    """Return operations that have array arguments, by what their tests are called."""
    listed = tensor_protocol.operations.values()
    chosen = listed if operations is None else map(tensor_protocol.operation, operations)
    return {
        f"{operation.kind.name}-{operation.qualified_name.removeprefix('dispatchkit.')}": operation
        for operation in chosen
        if operation.parameters.arrays
    }
