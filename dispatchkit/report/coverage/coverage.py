"""What a type covers: every overridable function in exactly one bucket, found by a dry survey or by calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, overload

from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.report.coverage.advice import Advice, advise, stubs_of
from dispatchkit.report.coverage.measure import measured_row, measuring
from dispatchkit.report.coverage.operands import Subject
from dispatchkit.report.coverage.page import page
from dispatchkit.report.coverage.rows import (
    BUCKETS,
    FAULTS,
    MEASURED,
    STRUCTURED,
    UNCOUNTED,
    MeasuredRow,
    Row,
    short_name,
)
from dispatchkit.report.coverage.survey import Survey
from dispatchkit.report.coverage.tables import markdown_matrix, markdown_table, text_matrix, text_table
from dispatchkit.report.coverage.terminal import rich_view
from dispatchkit.testing.progress import Progress

__all__ = ["Coverage", "CoverageSet", "MeasuredCoverage", "coverage"]


@dataclass(frozen=True)
class Coverage:
    """What a type covers; prints as a table.

    Attributes
    ----------
    type : name of the type
    rows : one for each overridable function
    """

    buckets: ClassVar[dict[str, str]] = BUCKETS

    type: str
    rows: tuple[Row, ...]
    survey: Survey | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def totals(self) -> dict[str, int]:
        """Number of functions in each bucket; together they are all functions."""
        counted = Counter(row.bucket for row in self.rows)
        return {bucket: counted.get(bucket, 0) for bucket in self.buckets}

    @property
    def percent(self) -> float:
        """Per cent of the functions with array arguments that answer, in whatever way; faulty answers do not count."""
        wrong = ("refused", *FAULTS, *UNCOUNTED)
        return self._share([bucket for bucket in self.buckets if bucket not in wrong])

    @property
    def structured_percent(self) -> float:
        """Per cent of the functions with array arguments that answer without conversion and without becoming dense."""
        return self._share(STRUCTURED)

    def _share(self, buckets: Iterable[str]) -> float:
        totals = self.totals
        counted = len(self.rows) - sum(totals.get(bucket, 0) for bucket in UNCOUNTED)
        return 100 * sum(totals.get(bucket, 0) for bucket in buckets) / counted if counted else 100.0

    def __getitem__(self, name: str) -> Row:
        """Return the row of a function by its name, qualified or not.

        Raises
        ------
        KeyError : if there is none
        """
        for row in self.rows:
            if name in (row.function, short_name(row), row.qualified_name):
                return row
        raise KeyError(f"no overridable function is called {name!r}")

    def part(self, rows: Iterable[Row]) -> Coverage:
        """Return the coverage of some of the functions."""
        return type(self)(self.type, tuple(rows))

    def __str__(self) -> str:
        return text_table(self)

    __repr__ = __str__

    def __rich__(self) -> Any:
        return rich_view(self)

    def data(self) -> dict[str, Any]:
        """Return what `to_json` writes."""
        return {
            "type": self.type,
            "percent": round(self.percent, 2),
            "structured_percent": round(self.structured_percent, 2),
            "totals": self.totals,
            "functions": [asdict(row) for row in self.rows],
        }

    def to_json(self) -> str:
        """Return the coverage as JSON text.

        Returns
        -------
        an object with ``type`` (name), ``percent`` and ``structured_percent`` (numbers), ``totals`` (an object:
        bucket to number of functions, which add up to the number of functions) and ``functions`` (a list of objects
        with ``function``, ``namespace``, ``kind``, ``bucket``, ``location`` and ``note``)
        """
        return json.dumps(self.data(), indent=2)

    def to_markdown(self) -> str:
        """Return the coverage as Markdown: a table of totals and one of functions."""
        return markdown_table(self)

    def to_html(self) -> str:
        """Return the coverage as one HTML page that needs nothing else."""
        return page([self])

    def advice(self, n: int = 5) -> Advice:
        """Tell which operations to implement next, by how many others each unlocks through decomposition.

        Parameters
        ----------
        n : how many

        Returns
        -------
        suggestions, the best first, each chosen as if those before it were done; prints as a list

        Raises
        ------
        ValueError : for a report that was not made by `coverage`

        Examples
        --------
        >>> import dispatchkit as dk
        >>> first = dk.coverage(dk.types.ScalarTensor).advice(1)[0]
        >>> len(first.unlocks) > 0
        True
        """
        return advise(self._surveyed("advice"), n)

    def stubs(self, operations: Iterable[str | Callable[..., Any]] | None = None) -> str:
        """Write the skeleton of a module with handlers, which decline until they are filled in.

        Parameters
        ----------
        operations : functions or their names; by default all that do not keep the structure

        Returns
        -------
        Python text that can be imported as it is

        Raises
        ------
        KeyError : for a name that no function has
        """
        survey = self._surveyed("stubs")
        named: list[str] = []
        if operations is None:
            left_out = (*STRUCTURED, "no array argument")
            named = [row.qualified_name for row in self.rows if row.bucket not in left_out]
        else:
            for one in operations:
                name = one if isinstance(one, str) else survey.protocol.operation(one).qualified_name
                named.append(self[name].qualified_name)
        return stubs_of(survey, named)

    def _surveyed(self, name: str) -> Survey:
        if self.survey is None:
            raise ValueError(f"{name}: this report does not hold the type; ask the one that coverage() returned")
        return self.survey


@dataclass(frozen=True, repr=False)
class MeasuredCoverage(Coverage):
    """What a type covers, found by calling every function.

    Attributes
    ----------
    samples : type, shape and dtype of each sample
    companions : the same of what stood beside them
    """

    buckets: ClassVar[dict[str, str]] = MEASURED

    rows: tuple[MeasuredRow, ...]
    samples: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return what `to_json` writes: also the samples, and for each function what `MeasuredRow` has."""
        found = super().data()
        functions = found.pop("functions")
        return {**found, "samples": list(self.samples), "companions": list(self.companions), "functions": functions}


@dataclass(frozen=True)
class CoverageSet:
    """What several types cover; prints as a table of types by functions.

    Attributes
    ----------
    reports : one for each type, of the same functions
    """

    reports: tuple[Coverage, ...]

    def __iter__(self) -> Iterator[Coverage]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    def __getitem__(self, key: int | str) -> Coverage:
        """Return the report of a type, by place or by name.

        Raises
        ------
        KeyError : if no type has the name
        """
        if isinstance(key, int):
            return self.reports[key]
        for report in self.reports:
            if report.type == key:
                return report
        raise KeyError(f"no report is of a type called {key!r}")

    def __str__(self) -> str:
        return text_matrix(self.reports)

    __repr__ = __str__

    def to_json(self) -> str:
        """Return an object with ``types``: a list of what `Coverage.to_json` gives for each."""
        return json.dumps({"types": [report.data() for report in self.reports]}, indent=2)

    def to_markdown(self) -> str:
        """Return a table of totals and one of functions, with a column for each type."""
        return markdown_matrix(self.reports)

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else: a heat map of types by functions."""
        return page(self.reports)


@overload
def coverage(
    cls: type,
    *,
    samples: Iterable[Any] | None = ...,
    companions: Iterable[Any] = ...,
    protocol: DispatchProtocol = ...,
    progress: bool = ...,
) -> Coverage: ...
@overload
def coverage(
    cls: Sequence[type],
    *,
    samples: Iterable[Any] | None = ...,
    companions: Iterable[Any] = ...,
    protocol: DispatchProtocol = ...,
    progress: bool = ...,
) -> CoverageSet: ...
def coverage(
    cls: type | Sequence[type],
    *,
    samples: Iterable[Any] | None = None,
    companions: Iterable[Any] = (),
    protocol: DispatchProtocol = tensor_protocol,
    progress: bool = False,
) -> Coverage | CoverageSet:
    """Tell for every overridable function how a type answers it.

    Parameters
    ----------
    cls : a type that takes part in the protocol, or a sequence of them
    samples : instances, or functions without arguments that make one; where they are given, every function is called
        with each of them, with every keyword, and the results are compared with those of the dense form. Of several
        types each is measured with its own samples, those of the others beside them
    companions : instances of other types, or functions that make one, to stand beside the samples, as plain tensors,
        NumPy arrays and numbers do anyway
    protocol : whose functions are asked for
    progress : whether to show on the terminal how far a long measurement is

    Returns
    -------
    a report that prints as a table, with ``.to_json()``, ``.to_markdown()``, ``.to_html()``, ``.advice()`` and
    ``.stubs()``; for several types a set of reports

    Raises
    ------
    TypeError : if a type takes no part, or a sample is of none of the types
    ValueError : if a type has no sample among those given, or the protocol has no plain arrays to compare with

    Notes
    -----
    Without samples no rule of the type is called. A function of several arrays counts by its best call: on the type
    alone, or with plain tensors or numbers in other positions, which is noted. A decomposition counts if every call
    that the body makes, run on a sample, keeps the structure; a rule that declines by the values it gets can undo that.

    Measured, a function counts by its worst fault, and where it has none by its best call. Calls are made from those
    that the operation declares as samples, with the shape of the instance, as far as plain tensors of that shape take
    them. Derivatives are taken by the floating fields of the instance. Warnings are silenced, and the ledger of
    densifications and the default random generator stay as they were.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> report = dk.coverage(dk.types.ScalarTensor)
    >>> report["add"].bucket, report["cos"].bucket
    ('implemented', 'dense')
    >>> sum(report.totals.values()) == len(report.rows)
    True
    """
    types: list[Any] = list(cls) if isinstance(cls, (list, tuple)) else [cls]
    for one in types:
        if not isinstance(one, type) or not protocol.types.participates(one):
            raise TypeError(
                f"coverage: {getattr(one, '__qualname__', one)!r} takes no part in {protocol.method}; decorate it with "
                f"array_type, or define {protocol.method}"
            )
    if samples is None:
        reports: list[Coverage] = [_dry(protocol, one) for one in types]
    else:
        reports = _measured(protocol, types, list(samples), list(companions), progress)
    return CoverageSet(tuple(reports)) if isinstance(cls, (list, tuple)) else reports[0]


def _dry(protocol: DispatchProtocol, cls: type) -> Coverage:
    survey = Survey(protocol, cls)
    rows = tuple(survey.row(operation) for operation in protocol.operations.values())
    return Coverage(type_name(cls), rows, survey=survey)


def _measured(
    protocol: DispatchProtocol, types: list[type], samples: list[Any], companions: list[Any], progress: bool
) -> list[Coverage]:
    if protocol.types.base is None:
        raise ValueError(f"coverage: {protocol!r} has no plain arrays to compare with; leave the samples out")
    operations = list(protocol.operations.values())
    bar = Progress(len(types) * len(operations), shown=progress)
    reports: list[Coverage] = []
    with measuring(), bar:
        subjects = [Subject(protocol, given) for given in samples]
        beside = [Subject(protocol, given) for given in companions]
        _check_samples(types, subjects)
        for cls in types:
            own = [subject for subject in subjects if subject.cls is cls]
            others = [subject for subject in subjects if subject.cls is not cls] + beside
            rows = []
            for operation in operations:
                bar.step(f"{type_name(cls)}: {operation.name}")
                rows.append(measured_row(protocol, operation, cls, own, others))
            texts = (tuple(subject.text for subject in group) for group in (own, others))
            reports.append(MeasuredCoverage(type_name(cls), tuple(rows), *texts, survey=Survey(protocol, cls)))
    return reports


def _check_samples(types: list[type], subjects: list[Subject]) -> None:
    """Raise where a sample is of none of the types, or a type has no sample."""
    for subject in subjects:
        if subject.cls not in types:
            names = " or ".join(map(type_name, types))
            raise TypeError(
                f"coverage: a sample is a {type_name(subject.cls)}, not a {names}; give it among the companions"
            )
    for cls in types:
        if not any(subject.cls is cls for subject in subjects):
            raise ValueError(f"coverage: no sample is a {type_name(cls)}; give one, or leave the samples out")
