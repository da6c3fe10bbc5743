"""What a type covers: every overridable function in exactly one bucket; and a report compared with an earlier one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict, Unpack, overload

from dispatchkit import catalogue  # noqa: F401  # every operation has a row
from dispatchkit.progress import ProgressBar
from dispatchkit.protocol.engine import DispatchProtocol, misfit_in
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.prediction import PredictionCache
from dispatchkit.protocol.types.type_tests import TypeTests, join_tests
from dispatchkit.report.covering.advice import Advice, advise, decomposes, lacking_events
from dispatchkit.report.covering.measure import measured_row
from dispatchkit.report.covering.page import matrix, page, report_document
from dispatchkit.report.covering.rows import MEASURED, MeasuredRow, Report, Row, counts_text, rank
from dispatchkit.report.covering.sources import sources_of
from dispatchkit.report.covering.survey import Survey
from dispatchkit.report.documents import Document, Reported
from dispatchkit.report.operations import Named
from dispatchkit.testing.calls import measuring
from dispatchkit.testing.instances import is_strategy
from dispatchkit.testing.samples import TypeSample, samples_of
from dispatchkit.wording import plural, section

ON_PAGE = 2  # rules to write next that a page shows


@dataclass(frozen=True, repr=False)
class Coverage(Report):
    """What a type covers; prints as a table.

    Attributes
    ----------
    type : name of the type
    rows : one for each overridable function
    """

    survey: Survey | None = field(default=None, repr=False, compare=False, kw_only=True)

    def __getitem__(self, name: str) -> Row:
        """Return the row of a function by its name, qualified or not.

        Raises
        ------
        KeyError : if there is none
        """
        for row in self.rows:
            if name in (row.function, row.short_name, row.qualified_name):
                return row
        raise KeyError(f"no overridable function is called {name!r}")

    def document(self) -> Document:
        """Return totals, shares by namespace and kind, and the functions of each bucket."""
        return report_document(self)

    def to_json(self) -> str:
        """Return the coverage as JSON text.

        Returns
        -------
        an object with ``type`` (name), ``percent`` and ``structured_percent`` (per cent of the calls that are answered,
        and that keep the structure), ``totals`` (an object: bucket to number of functions, which add up to the
        number of functions), ``outcomes`` (an object: bucket to number of calls) and ``functions`` (a list of objects
        with the attributes of `Row`)
        """
        return json.dumps(self.data(), indent=2)

    def to_html(self) -> str:
        """Return the coverage as one HTML page that needs nothing else."""
        return page([self])

    def sources(self) -> dict[str, Any]:
        """Return the source of the rules that the type has, line by line, by their locations."""
        if self.survey is None:
            return {}
        locations = {rule.location for row in self.rows for rule in row.rules}
        return sources_of(self.survey.protocol.rules(), locations, self.survey.lines)

    def advice_text(self) -> str:
        """Return the rules to write next, as text; "" where there is nothing to add."""
        if self.survey is None:
            return ""
        found = self.advice(ON_PAGE)
        if not len(found):
            return ""
        return str(found)

    def advice(self, n: int = 5, *, impossible: Named = ()) -> Advice:
        """Return the rules that let the most functions keep the structure, by themselves and through decomposition.

        What a program would gain is what ``dk.record_calls()`` and ``recorded.advice()`` show.

        Parameters
        ----------
        n : how many
        impossible : functions and kinds that cannot keep the structure, besides those that the type declares:
            ``dk.TypeTests(impossible=[dk.reshape])``

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
        if self.survey is None:
            raise ValueError("advice: this report does not hold the type; ask the one that coverage() returned")
        with measuring():
            # Where no body is computed, a rule for one function helps that one alone.
            with_kinds = not decomposes(self.survey)
            return advise(self.survey, lacking_events, n, impossible=impossible, with_kinds=with_kinds)


@dataclass(frozen=True, repr=False)
class MeasuredCoverage(Coverage):
    """What a type covers, found by calling every function.

    Attributes
    ----------
    samples : type, shape and dtype of each sample
    companions : the same of the other arrays in the calls
    """

    buckets: ClassVar[dict[str, str]] = MEASURED

    rows: tuple[MeasuredRow, ...]
    samples: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return what `to_json` writes: also the samples, and for each function what `MeasuredRow` has."""
        data = super().data()
        functions = data.pop("functions")
        return {**data, "samples": list(self.samples), "companions": list(self.companions), "functions": functions}


@dataclass(frozen=True, repr=False)
class CoverageSet(Reported):
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

    def document(self) -> Document:
        """Return a table of totals and one of functions, narrow enough for text."""
        return matrix(self.reports, letters=True)

    def _repr_html_(self) -> str:
        return matrix(self.reports, letters=False).html()

    def to_json(self) -> str:
        """Return an object with ``types``: a list of what `Coverage.to_json` gives for each."""
        return json.dumps({"types": [report.data() for report in self.reports]}, indent=2)

    def to_markdown(self) -> str:
        """Return a table of totals and one of functions, with a column for each type."""
        return matrix(self.reports, letters=False).markdown()

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else: a heat map of types by functions."""
        return page(self.reports)


class CoverageOptions(TypedDict, total=False):
    """The keywords of `coverage`, for type checkers."""

    samples: Any
    companions: Iterable[Any]
    tests: TypeTests | None
    closed: Named
    refuses: Iterable[type[Exception]]
    protocol: DispatchProtocol
    progress: bool | None


@overload
def coverage(cls: type, **options: Unpack[CoverageOptions]) -> Coverage: ...
@overload
def coverage(cls: Sequence[type], **options: Unpack[CoverageOptions]) -> CoverageSet: ...
def coverage(
    cls: type | Sequence[type],
    *,
    samples: Any = None,
    companions: Iterable[Any] = (),
    tests: TypeTests | None = None,
    closed: Named = (),
    refuses: Iterable[type[Exception]] | None = None,
    protocol: DispatchProtocol = tensor_protocol,
    progress: bool | None = None,
) -> Coverage | CoverageSet:
    """Report how a type answers each overridable function.

    Parameters
    ----------
    cls : an array type, or a sequence of them
    samples : instances, functions without arguments that return one, or a strategy of Hypothesis, of which one instance
        of each shape and dtype is taken. With samples, every function is called with each of them and with every
        keyword, and the results are compared with those of the dense form. Of several types, each is measured with its
        own samples, and those of the others are the other arguments
    companions : instances of other types, or functions that return one, to use as other arguments; plain tensors, NumPy
        arrays and numbers are used in any case
    tests : `closed` functions and kinds, and exceptions by which the type `refuses` calls, in addition to those that
        the type declares
    closed, refuses : deprecated: those of `tests`
    protocol : the protocol whose functions are reported
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

    Returns
    -------
    Coverage or CoverageSet
        Prints as a table, and has ``.to_json()``, ``.to_markdown()``, ``.to_html()`` and ``.advice()``.
        For several types, a set of such reports.

    Raises
    ------
    TypeError : if a class is no array type, or a sample is an instance of none of them
    ValueError : if a type has no sample, or the protocol has no plain arrays to compare with

    Notes
    -----
    The calls are the samples that each operation declares, with the type in place of all arrays, in place of one array
    next to plain tensors and numbers, and with each keyword. The report counts how many calls keep the structure. A
    function is listed in one bucket: that of its simplest calls, which have no optional arguments. For each form of
    them (the type alone, with a tensor, with a number) the most frequent bucket counts, and among the forms the best.

    Without samples no rule of the type is called: the report is what `explain` predicts for each call. The prediction
    can depend on values: whether a rule declines, or what it returns if its annotation does not name a class.

    With samples, a function with a fault is listed under its worst fault. Calls use the shape of the instance, if plain
    tensors of that shape can be used in the call. A call whose rule makes the array dense inside counts as dense.
    Derivatives are taken with respect to the floating-point fields of the instance. Warnings are silenced. The ledger
    of dense copies and the default random generator do not change.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> report = dk.coverage(dk.types.ScalarTensor)
    >>> report["add"].bucket, report["cos"].bucket
    ('implemented', 'dense')
    >>> sum(report.totals.values()) == len(report.rows)
    True
    """
    types = _types_in(cls)
    for candidate in types:
        if not isinstance(candidate, type) or not protocol.types.participates(candidate):
            raise misfit_in("coverage", candidate, protocol)
    memory = PredictionCache()
    stated = join_tests("dk.coverage", tests, closed=closed, refuses=refuses)
    surveys = [Survey(protocol, candidate, stated.closed, memory, stated.refuses or ()) for candidate in types]
    with ProgressBar("coverage", len(surveys) * len(protocol.operations), progress) as bar:
        if samples is None:
            reports = _predict(protocol, surveys, bar)
        else:
            reports = _measure(protocol, surveys, _listed_samples(samples, types), list(companions), bar)
    if isinstance(cls, (list, tuple)):
        return CoverageSet(tuple(reports))
    return reports[0]


def _types_in(cls: Any) -> list[Any]:
    if isinstance(cls, (list, tuple)):
        return list(cls)
    return [cls]


def _listed_samples(samples: Any, types: Sequence[type]) -> list[Any]:
    """Return samples as a list, after a check; a strategy that draws them is one."""
    for cls in types:
        if isinstance(samples, cls):
            advice = f"write a list, [{cls.__name__}(...)]"
            raise TypeError(f"coverage: samples is one instance of {type_name(cls)}; {advice}")
    if is_strategy(samples):
        return [samples]
    return list(samples)


def _predict(protocol: DispatchProtocol, surveys: list[Survey], bar: ProgressBar) -> list[Coverage]:
    reports = []
    with measuring():
        for survey in surveys:
            name, rows = type_name(survey.cls), []
            for operation in protocol.operations.values():
                rows.append(survey.row(operation))
                bar.advance(1, name)
            reports.append(Coverage(name, tuple(rows), survey=survey))
    return reports


def _measure(
    protocol: DispatchProtocol, surveys: list[Survey], samples: list[Any], companions: list[Any], bar: ProgressBar
) -> list[Coverage]:
    if protocol.types.base is None:
        raise ValueError(f"coverage: {protocol!r} has no plain arrays to compare with; leave the samples out")
    operations = list(protocol.operations.values())
    reports: list[Coverage] = []
    with measuring():
        subjects = [subject for sample in samples for subject in samples_of(protocol, sample)]
        further = [subject for sample in companions for subject in samples_of(protocol, sample)]
        _check_samples([survey.cls for survey in surveys], subjects)
        for survey in surveys:
            of_type = [subject for subject in subjects if subject.cls is survey.cls]
            others = [subject for subject in subjects if subject.cls is not survey.cls] + further
            rows = []
            for operation in operations:
                rows.append(measured_row(survey, operation, of_type, others))
                bar.advance(1, type_name(survey.cls))
            texts = _texts_of(of_type), _texts_of(others)
            reports.append(MeasuredCoverage(type_name(survey.cls), tuple(rows), *texts, survey=survey))
    return reports


def _texts_of(samples: Iterable[TypeSample]) -> tuple[str, ...]:
    return tuple([sample.text for sample in samples])


def _check_samples(types: list[type], subjects: list[TypeSample]) -> None:
    """Raise where a sample is of none of the types, or a type has no sample."""
    for subject in subjects:
        if subject.cls not in types:
            name, wanted = type_name(subject.cls), " or ".join(map(type_name, types))
            raise TypeError(f"coverage: a sample is a {name}, not a {wanted}; give it among the companions")
    for cls in types:
        if not any(subject.cls is cls for subject in subjects):
            raise ValueError(f"coverage: no sample is a {type_name(cls)}; give one, or leave the samples out")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed of one type since a baseline.

    Attributes
    ----------
    type : its name
    worse : functions, each with what got worse: its bucket, its calls, the types of its results, keywords of its rules
    new : functions that the baseline does not have, with their buckets
    gone : functions that are no longer there
    """

    type: str
    worse: tuple[tuple[str, str], ...]
    new: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]

    def lines(self, baseline: str) -> list[str]:
        """Return what changed, for people to read."""
        count, new, gone = (_functions(len(names)) for names in ({*dict(self.worse)}, self.new, self.gone))
        listed = ", ".join(self.gone)
        return [
            *section(f"coverage: {count} of {self.type} got worse than in {baseline}:", [*map(": ".join, self.worse)]),
            *section(f"coverage: {new} new for {self.type} since {baseline}:", [*map(": ".join, self.new)]),
            *([f"coverage: {gone} of {baseline} no longer there: {listed}"] if self.gone else []),
        ]


def _functions(count: int) -> str:
    return f"{count} {plural('function', count)}"


def read_baseline(text: str) -> dict[str, dict[str, Any]]:
    """Return the reports of a JSON text by type: of one report, or of several.

    Raises
    ------
    ValueError : if it is no JSON, or holds no report
    """
    data = json.loads(text.replace('"fieldwise"', '"each field"'))  # as earlier versions called it
    reports = None
    if isinstance(data, dict):
        reports = data.get("types", [data])
    if not isinstance(reports, list) or not all(
        isinstance(report, dict) and "functions" in report for report in reports
    ):
        raise ValueError("the baseline holds no coverage report; make one with --json FILE")
    return {report["type"]: report for report in reports}


def compare(reports: Iterable[Report], baseline: Mapping[str, dict[str, Any]]) -> list[Comparison]:
    """Return what changed since a baseline, for each type that it has.

    Raises
    ------
    ValueError : if one was measured and the other was not
    """
    comparisons = []
    for report in reports:
        earlier = baseline.get(report.type)
        if earlier is None:
            continue
        data = report.data()
        was, is_now = "samples" in earlier, "samples" in data
        if was is not is_now:
            words = {True: "was measured", False: "was not measured"}
            if was:
                advice = "give --samples"
            else:
                advice = "leave --samples out, or make the baseline with it"
            raise ValueError(
                f"the baseline of {report.type} {words[was]}, the report {words[is_now]}: they cannot be compared; "
                f"{advice}"
            )
        before, now = _rows_by_name(earlier), _rows_by_name(data)
        worse = [
            (name, text) for name in now if name in before for text in _worse(before[name], now[name], report.type)
        ]
        new = [(name, now[name]["bucket"]) for name in now if name not in before]
        gone = [name for name in before if name not in now]
        comparisons.append(Comparison(report.type, tuple(worse), tuple(new), tuple(gone)))
    return comparisons


def _rows_by_name(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a saved report by the names of their functions, without the package's."""
    return {f"{row['namespace']}.{row['function']}".partition(".")[2]: row for row in data["functions"]}


def _worse(before: Mapping[str, Any], now: Mapping[str, Any], cls: str) -> Iterator[str]:
    """Yield what got worse of a function: by its bucket, else by single calls, by results and by rules."""
    if rank(now["bucket"]) > rank(before["bucket"]):
        yield f"{before['bucket']} -> {now['bucket']}"
    elif _sinks(before.get("outcomes", {}), now.get("outcomes", {})):
        yield f"{counts_text(before['outcomes'])} -> {counts_text(now['outcomes'])}"
    results = before.get("results", {}), now.get("results", {})
    kept = [_count_with(counts, cls) for counts in results]
    if all(results) and kept[1] * sum(results[0].values()) < kept[0] * sum(results[1].values()):
        yield f"results {counts_text(results[0])} -> {counts_text(results[1])}"
    rules: Sequence[Any] = now.get("rules", ())
    for old in before.get("rules", ()):
        for rule in rules:
            if rule["types"] != old["types"]:
                continue
            lost = [name for name in old["keywords"] if name not in rule["keywords"]]
            if lost:
                yield f"the rule for ({rule['types']}) at {rule['location']} no longer takes {', '.join(lost)}"
            if old["result"] != rule["result"] and cls in old["result"] and cls not in rule["result"]:
                yield f"the rule for ({rule['types']}) at {rule['location']} no longer promises {cls}"


def _sinks(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Return whether a smaller share of the calls ends as well as some bucket, or better."""
    wholes = sum(before.values()), sum(now.values())
    if not all(wholes):
        return False
    places = map(rank, {*before, *now})
    return any(_count_up_to(before, place) * wholes[1] > _count_up_to(now, place) * wholes[0] for place in places)


def _count_up_to(outcomes: Mapping[str, int], place: Any) -> int:
    """Return how many calls end in the buckets up to a place in their order."""
    return sum(count for bucket, count in outcomes.items() if rank(bucket) <= place)


def _count_with(counts: Mapping[str, int], text: str) -> int:
    """Return how many calls are counted under names that have a text in them."""
    return sum(count for name, count in counts.items() if text in name)
