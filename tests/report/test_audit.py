"""`audit`: a faulty set of types for each kind of finding, found once and there alone; a clean set finds nothing."""

from __future__ import annotations

import abc
import inspect
import json
from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.report import Audit
from dispatchkit.report.auditing import findings
from dispatchkit.report.auditing.findings import FAULTS, KINDS
from dispatchkit.testing import Wrapper
from dispatchkit.types import MetadataTensor, ScalarTensor
from tests.declared import LIBRARY
from tests.protocol.support import line_of
from tests.report.audited import REWRAP, conversion, handler, make, never, only
from tests.turns import some_of


def mirrored() -> tuple[Any, Any]:
    """Return two types of which one always goes first, with a rule for either order."""
    a, b = make("A", fallback=REWRAP, priority=1), make("B", fallback=REWRAP)
    dk.implements(dk.add, a, b)(handler("add_a_b"))
    dk.implements(dk.add, b, a)(handler("add_b_a"))
    return a, b


def test_a_clean_set_has_no_findings() -> None:
    a, b = mirrored()
    report = dk.audit([a, b, dk.Tensor])
    assert report.findings == ()
    assert report.totals == dict.fromkeys(KINDS, 0)
    assert report.types == ("A", "B", "Tensor")
    assert [(pair.left, pair.right) for pair in report.pairs] == [
        (left, right) for left in report.types for right in report.types
    ]
    assert str(report).endswith("findings: none")


def test_a_row_says_who_wins_and_by_which_rule() -> None:
    a, b = mirrored()
    pair = dk.audit([a, b])[a, b]
    row = pair["add"]
    assert (row.outcome, row.winner, row.share, row.call) == ("answers", "A", "rule", "add(A, B)")
    assert row.answer.startswith("add_a_b(A, B) at ")
    assert row.location.rpartition(":")[0].endswith("audited.py")
    assert row.otherwise == "A: rewrap: on field 'data'"
    assert (pair["multiply"].share, pair["multiply"].location) == ("rewrap", "")
    assert pair.winners == {"A": len(pair.rows)}
    assert pair.shares == {"rule": 1, "rewrap": len(pair.rows) - 1}


def test_every_place_of_two_arrays_is_a_call() -> None:
    a, b = mirrored()
    rows = dk.audit([a, b], operations=[dk.where, "diff", dk.concat, "dispatchkit.einsum", dk.index_put])[a, b].rows
    assert [row.call for row in rows] == [
        *("where(A, B, Tensor)", "where(A, Tensor, B)", "where(Tensor, A, B)"),
        *("diff(A, prepend=B)", "diff(A, append=B)", "diff(Tensor, prepend=A, append=B)"),
        *("concat([A, B])", "einsum(subscripts, A, B)", "index_put(A, key, B)"),
    ]


def test_all_operations_of_two_arrays_are_there() -> None:
    a, b = mirrored()
    known = {row.operation for row in dk.audit([a, b])[a, b].rows}
    names = {
        name
        for name, operation in dk.tensor_protocol.operations.items()
        if len([p for p in operation.parameters.arrays if p.form.name == "ONE"]) > 1
    }
    assert names <= known
    assert {"dispatchkit.concat", "dispatchkit.stack", "dispatchkit.meshgrid"} <= known
    assert "dispatchkit.exp" not in known


def test_numbers_and_numpy_arrays_can_be_audited() -> None:
    a, _ = mirrored()
    report = dk.audit([a, float, np.ndarray, dk.Tensor], operations=[dk.multiply])
    assert report[a, float]["multiply"].winner == report[np.ndarray, a]["multiply"].winner == "A"
    assert report[float, np.ndarray]["multiply"].share == "default"
    assert report.findings == ()


# Ambiguity.


def rivals() -> tuple[Any, Any]:
    base = make("Base", fallback=REWRAP)
    derived = make("Derived", above=base)

    @dk.implements(dk.add, base, derived)
    def first(x1: Any, x2: Any, /) -> Any:
        return never()

    @dk.implements(dk.add, derived, base)
    def second(x1: Any, x2: Any, /) -> Any:
        return never()

    return base, derived


def test_an_ambiguity_is_found_before_the_call_that_meets_it() -> None:
    base, derived = rivals()
    report = dk.audit([base, derived, dk.Tensor])
    found = only(report, "ambiguity")
    assert (found.operations, found.types) == (("dispatchkit.add",), (("Derived", "Derived"),))
    assert len(found.locations) == 2
    assert all(place in found.text for place in found.locations)
    x = derived(dk.ones(2))
    with pytest.raises(dk.AmbiguousImplementationError) as caught:
        dk.add(x, x)
    assert found.text == str(caught.value)
    assert found.text.endswith("register (Derived, Derived) to resolve it")
    row = report[derived, derived]["add"]
    assert (row.outcome, row.winner, row.share) == ("ambiguous", "", "ambiguous")


def test_the_signature_that_an_ambiguity_names_settles_it() -> None:
    base, derived = rivals()
    dk.implements(dk.add, derived, derived)(handler("third"))
    assert dk.audit([base, derived, dk.Tensor]).findings == ()


def test_an_ambiguity_of_kind_rules_is_one_finding() -> None:
    base = make("Base", fallback=REWRAP)
    derived = make("Derived", above=base)
    for types in ((base, derived), (derived, base)):

        @dk.implements(dk.kinds.elementwise, *types)
        def elementwise(op: Any, x1: Any, x2: Any, /) -> Any:
            return never()

    found = only(dk.audit([base, derived]), "ambiguity")
    assert {"dispatchkit.add", "dispatchkit.pow", "dispatchkit.less"} <= set(found.operations)
    assert found.types == (("Derived", "Derived"),)


def test_an_ambiguity_behind_an_own_method_says_so() -> None:
    class Above:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
            return NotImplemented

    class Below(Above):
        pass

    dk.implements(dk.add, Above, Below)(handler())
    dk.implements(dk.add, Below, Above)(handler())
    found = dk.audit([Above, Below]).of_kind("ambiguity")
    name = "test_an_ambiguity_behind_an_own_method_says_so.Below"
    assert [one.types for one in found] == [((name, name),)]
    assert found[0].text.endswith("to resolve it\nit is met where what is asked before declines")
    with pytest.raises(dk.AmbiguousImplementationError):
        dk.add(Below(), Below())


# Order of two arguments.


def test_a_rule_for_one_order_is_an_asymmetry() -> None:
    a, b = make("A", fallback=REWRAP, priority=1), make("B", fallback=REWRAP)
    add = dk.implements(dk.add, a, b)(handler("add_a_b"))
    found = only(dk.audit([a, b, dk.Tensor]), "asymmetry")
    assert (found.operations, found.types) == (("dispatchkit.add",), (("A", "B"), ("B", "A")))
    assert found.text == "(A, B) is answered by A (a rule); (B, A) is answered by A (rewrap)"
    assert found.locations == (f"{add.__code__.co_filename}:{add.__code__.co_firstlineno}",)


def test_an_order_that_raises_is_an_asymmetry() -> None:
    a = make("A")
    dk.implements(dk.matmul, a, dk.Tensor)(handler())
    found = only(dk.audit([a, dk.Tensor]), "asymmetry")
    assert found.text == "(A, Tensor) is answered by A (a rule); (Tensor, A) is answered by nobody"


def test_left_to_right_is_one_asymmetry_of_every_operation_whose_arguments_are_alike() -> None:
    a, b = make("A", fallback=REWRAP), make("B", fallback=REWRAP)
    found = only(dk.audit([a, b]), "asymmetry")
    assert {"dispatchkit.add", "dispatchkit.where", "dispatchkit.concat", "dispatchkit.logaddexp"} <= set(
        found.operations
    )
    assert {"dispatchkit.take", "dispatchkit.clip", "dispatchkit.setitem"}.isdisjoint(found.operations)


def test_siblings_of_tensor_are_an_asymmetry() -> None:
    class Left(dk.Tensor):
        pass

    class Right(dk.Tensor):
        pass

    found = only(dk.audit([Left, Right, dk.Tensor]), "asymmetry")
    assert "Left (as plain tensors are)" in found.text
    assert type(Left([1.0]) + Right([1.0])) is Left
    assert type(Right([1.0]) + Left([1.0])) is Right


def test_a_handler_for_any_position_and_types_that_become_dense_are_symmetric() -> None:
    a, b = make("A", fallback=dk.fallback.dense), make("B", fallback=dk.fallback.dense)
    dk.implements(dk.add, a)(handler())
    assert dk.audit([a, b, dk.Tensor]).findings == ()


# Order of types.


def test_a_superclass_that_goes_before_its_subclass_is_found() -> None:
    a = make("A", priority=10)
    s = make("S", above=a, priority=2)
    found = only(dk.audit([a, s]), "cycle")
    assert found.types == (("S", "A"),)
    assert found.text.startswith("A (priority 10) is asked before its subclass S (priority 2)")
    assert "10 or more" in found.text
    assert dk.explain(dk.add, s(dk.ones(1)), a(dk.ones(1))).order == ["A", "S"]


# Handlers that are not reached.


def a_member_that_is_abstract(a: Any) -> Any:
    @dk.array_type()
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def value(self) -> float: ...

    add_abstract = handler()
    add_abstract.__annotations__ = {"x1": a, "x2": a | Abstract}
    return dk.implements(dk.add)(add_abstract)


def a_repeated_member(a: Any) -> Any:
    return dk.implements(dk.concat, a, a)(lambda arrays, /, *, axis=0: never())


def more_types_than_arrays(a: Any) -> Any:
    return dk.implements(dk.kinds.reduction, a, a, a, a)(lambda op, *arrays: never())


def a_keyword_nobody_passes(a: Any) -> Any:
    def reduce(op: Any, x: Any, /, *, weight: Any, **kwargs: Any) -> Any:
        return never()

    return dk.implements(dk.kinds.reduction, a)(reduce)


def a_required_array_that_is_none(a: Any) -> Any:
    return dk.implements(dk.add, a, type(None))(handler())


UNREACHABLE = {
    "abstract": (a_member_that_is_abstract, "is abstract, and no class implements it"),
    "repeated": (a_repeated_member, "the distinct types of several arrays count, each once"),
    "count": (more_types_than_arrays, "it names 4 types, and no operation of kinds.reduction takes so many arrays"),
    "keyword": (a_keyword_nobody_passes, "it cannot be called with no 'weight'"),
    "none": (a_required_array_that_is_none, "what comes before it raises: NoneType is no array"),
}


@pytest.mark.parametrize("name", UNREACHABLE)
def test_a_handler_that_no_call_reaches_is_found(name: str) -> None:
    register, why = UNREACHABLE[name]
    a = make("A", fallback=REWRAP)
    function = register(a)
    found = only(dk.audit([a, dk.Tensor]), "unreachable")
    assert why in found.text
    assert found.locations == (f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}",)
    assert found.types[0][0] == "A"


def test_an_unreachable_handler_is_not_reached() -> None:
    a = make("A", fallback=REWRAP)
    a_repeated_member(a)
    more_types_than_arrays(a)
    a_keyword_nobody_passes(a)
    x = a(dk.ones(2))
    assert dk.concat([x, x]).data.shape == (4,)
    assert dk.sum(x).data == 2
    assert dk.mean(x, axis=0, keepdims=True).data == 1


def test_a_kind_without_operations_reaches_nothing() -> None:
    units = dk.DispatchProtocol("__units_function__")

    @units.overridable(kind=dk.kinds.elementwise)
    def scale(x: Any, y: Any) -> Any:
        return x

    @units.array_type()
    class Metres:
        pass

    units.implements(dk.kinds.linalg, Metres)(lambda op, x: never())
    found = only(dk.audit([Metres], protocol=units), "unreachable")
    assert "no operation is of kinds.linalg" in found.text


def test_a_handler_behind_an_ambiguity_is_unreachable() -> None:
    base, derived = rivals()
    dk.implements(dk.add, base, base)(handler("behind"))
    report = dk.audit([derived])
    assert [one.kind for one in report.findings] == ["ambiguity", "unreachable"]
    text = report.findings[1].text
    assert text.startswith("behind(Base, Base) at ")
    assert "what comes before it raises: ambiguous: first(Base, Derived)" in text
    assert dk.audit([base, derived]).of_kind("unreachable") == ()


def test_a_keyword_that_only_a_kind_rule_takes_reaches_it() -> None:
    a = make("A", fallback=REWRAP)
    for function in (dk.sum, dk.mean):
        dk.implements(function, a)(lambda x, /: never())
    with dk.local_registrations():
        dk.implements(dk.kinds.reduction, a)(lambda op, x, /, **kwargs: never())
        assert dk.audit([a]).findings == ()


def functions_of(kind: Any) -> list[Any]:
    return [one.function for one in dk.tensor_protocol.operations.values() if kind in one.kind.lineage()]


def test_a_kind_rule_beaten_for_every_operation_is_shadowed() -> None:
    a = make("A", fallback=REWRAP)
    functions = functions_of(dk.kinds.set)
    assert functions
    for function in functions:
        dk.implements(function, a)(lambda *args, **kwargs: never())
    assert dk.audit([a]).findings == ()
    kind = dk.implements(dk.kinds.set, a)(lambda op, *args, **kwargs: never())
    found = only(dk.audit([a]), "shadowed")
    assert found.locations[0] == f"{kind.__code__.co_filename}:{kind.__code__.co_firstlineno}"
    assert len(found.locations) == 2
    assert "asked only where" in found.text


def test_a_kind_rule_that_one_operation_reaches_is_not_shadowed() -> None:
    a = make("A", fallback=REWRAP)
    for function in functions_of(dk.kinds.set)[1:]:
        dk.implements(function, a)(lambda *args, **kwargs: never())
    dk.implements(dk.kinds.set, a)(lambda op, *args, **kwargs: never())
    assert dk.audit([a]).findings == ()
    # Asked for one operation alone, the kind's rule is judged by all of its operations.
    assert dk.audit([a], operations=functions_of(dk.kinds.set)[1:]).findings == ()


def test_a_rule_of_a_superclass_is_shadowed_for_its_subclass_alone() -> None:
    base = make("Base", fallback=REWRAP)
    derived = make("Derived", above=base)
    dk.implements(dk.exp, base)(lambda x, /: never())
    dk.implements(dk.exp, derived)(lambda x, /: never())
    assert only(dk.audit([derived]), "shadowed").types == (("Base",),)
    assert dk.audit([base, derived]).findings == ()


def test_nothing_is_said_of_a_rule_that_more_calls_fit_than_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    base = make("Base", fallback=REWRAP)
    first, second = make("First", above=base), make("Second", above=base)
    for cls in (base, first, second):
        dk.implements(dk.exp, cls)(lambda x, /: never())
    shadowed = [one.types for one in dk.audit([first, second]).of_kind("shadowed")]
    assert shadowed == [(("Base",),)]
    monkeypatch.setattr(findings, "TRIED", 2)  # exp(First) and exp(Second)
    assert [one.types for one in dk.audit([first, second]).of_kind("shadowed")] == shadowed
    monkeypatch.setattr(findings, "TRIED", 1)
    assert not dk.audit([first, second]).of_kind("shadowed")


def test_rules_that_share_a_signature_object_are_different_handlers() -> None:
    base = make("Base", fallback=REWRAP)
    derived = make("Derived", above=base)
    shared = inspect.signature(lambda x, /: None)
    for cls in (base, derived):
        answer = handler(f"of_{cls.__name__}")
        answer.__signature__ = shared
        dk.implements(dk.exp, cls)(answer)
    assert only(dk.audit([derived]), "shadowed").types == (("Base",),)


class Own:
    """Decides for itself."""

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        raise AssertionError("it was asked")


def test_a_rule_of_a_type_that_decides_at_run_time_is_shadowed() -> None:
    assert dk.audit([Own, dk.Tensor]).findings == ()
    dk.implements(dk.exp, Own)(lambda x, /: never())
    found = only(dk.audit([Own, dk.Tensor]), "shadowed")
    assert "asked only where Own.__tensor_function__ declines" in found.text


def test_a_type_with_its_own_method_decides_at_run_time() -> None:
    a = make("A", fallback=REWRAP)
    row = dk.audit([Own, a])[Own, a]["add"]
    assert (row.outcome, row.winner, row.share) == ("decides at run time", "Own", "own method")
    assert row.otherwise == "A: rewrap: on field 'data'"


# Conversions.


def test_a_lossy_conversion_is_found_with_its_path_and_cost() -> None:
    a = make("A", fallback=dk.fallback.convert)
    b = make("B", fallback=dk.fallback.convert)

    conversion(a, b, cost=1.5)
    b_to_tensor = conversion(b, dk.Tensor, cost=2, lossy=True)
    report = dk.audit([a, dk.Tensor])
    found = only(report, "lossy")
    assert found.text.startswith("convert: A -> B -> Tensor (cost 3.5, with loss) by b_to_tensor at ")
    assert found.locations == (f"{b_to_tensor.__code__.co_filename}:{b_to_tensor.__code__.co_firstlineno}",)
    assert {"dispatchkit.exp", "dispatchkit.add"} <= set(found.operations)
    assert {("A",), ("A", "Tensor"), ("Tensor", "A")} <= set(found.types)
    assert report[a, dk.Tensor]["add"].share == "lossy"


def test_a_conversion_without_loss_is_no_finding() -> None:
    a = make("A", fallback=dk.fallback.convert)
    conversion(a, dk.Tensor)
    report = dk.audit([a, dk.Tensor])
    assert report.findings == ()
    assert report[a, a]["add"].share == "convert"


# The report.


def test_findings_come_worst_first_and_are_data() -> None:
    base, derived = rivals()
    dk.implements(dk.multiply, base, dk.Tensor)(handler())
    a_keyword_nobody_passes(base)
    report = dk.audit([base, derived, dk.Tensor])
    assert [one.kind for one in report.findings] == ["ambiguity", "unreachable", "asymmetry"]
    text = str(report)
    places = [text.index(f"  {kind}: ") for kind in ("ambiguity", "unreachable", "asymmetry")]
    assert places == sorted(places)
    data = json.loads(report.to_json())
    assert list(data) == ["types", "totals", "findings", "pairs"]
    assert sum(data["totals"].values()) == len(data["findings"]) == 3
    assert list(data["findings"][0]) == ["kind", "operations", "types", "text", "locations"]
    first = data["pairs"][0]
    assert list(first) == ["left", "right", "winners", "shares", "calls"]
    assert sum(first["shares"].values()) == len(first["calls"])
    assert list(first["calls"][0]) == [
        *("operation", "call", "outcome", "winner", "share", "answer", "location", "otherwise"),
    ]
    markdown = report.to_markdown()
    assert markdown.startswith("# Audit of `Base`, `Derived`, `Tensor`\n")
    assert "\n## Ambiguity: two rules fit a call equally well: it raises\n" in markdown
    assert "| `Derived` | Derived" in markdown
    assert report.of_kind("asymmetry")[0].text.endswith("\nlikewise (Derived, Tensor)")


def test_the_table_says_who_wins_and_how_often() -> None:
    a = make("A")
    dk.implements(dk.add, a)(handler())
    text = str(dk.audit([a, dk.Tensor], operations=[dk.add, dk.multiply]))
    assert text.startswith("audit of A, Tensor: 2 calls of two arrays for each ordered pair\n")
    lines = [line.split() for line in text.splitlines()[2:5]]
    assert lines == [
        ["first", "\\", "second", "A", "Tensor"],
        ["A", "A", "1,", "raises", "1", "A", "1,", "raises", "1"],
        ["Tensor", "A", "1,", "raises", "1", "Tensor", "2"],
    ]


def test_many_types_are_a_narrow_table_of_letters() -> None:
    types = [make(f"QuiteALongName{place}", fallback=dk.fallback.dense) for place in range(12)]
    lines = str(dk.audit(types, operations=[dk.add])).splitlines()
    assert lines[0] == "audit of 12 types: 1 call of two arrays for each ordered pair"
    assert "How most calls are answered: d=dense." in lines
    assert max(map(len, lines)) < 100


def test_two_types_with_rules_that_nobody_answers_together_are_found() -> None:
    a, b = make("A"), make("B")
    of_a = dk.implements(dk.add, a, a)(handler())
    dk.implements(dk.add, b, b)(handler())
    dk.implements(dk.multiply, a, a)(handler())
    found = only(dk.audit([a, b, dk.Tensor], operations=[dk.add, dk.multiply]), "missing")
    assert found.text == "A and B each have a rule, and nobody answers them together"
    assert (found.operations, found.types) == (("dispatchkit.add",), (("A", "B"), ("B", "A")))
    assert found.locations == (line_of(of_a),)  # both are on one line
    dk.implements(dk.add, a, b)(handler())
    dk.implements(dk.add, b, a)(handler())
    assert dk.audit([a, b], operations=[dk.add]).of_kind("missing") == ()


def test_asymmetries_of_one_handler_met_through_subclasses_are_one_finding() -> None:
    a = make("A", fallback=dk.fallback.dense)
    subs = [make(f"Sub{place}", above=a) for place in range(5)]
    dk.implements(dk.add, a, dk.Tensor)(handler())
    found = only(dk.audit([a, *subs, dk.Tensor], operations=[dk.add]), "asymmetry")
    assert found.text.splitlines()[1] == "likewise (Sub0, Tensor), (Sub1, Tensor), (Sub2, Tensor) and 2 more"
    assert len(found.types) == 12


def test_a_subclass_in_a_call_with_a_third_type_is_no_cycle() -> None:
    for cls in (ScalarTensor, Wrapper):
        sub = type("Sub", (cls,), {})
        assert dk.audit([cls, sub, MetadataTensor], operations=some_of(LIBRARY, 3)).totals["cycle"] == 0


def test_types_that_declare_the_same_are_answered_as_if_each_were_asked() -> None:
    both = dk.fallback.decompose | dk.fallback.dense
    types = [make(f"T{place}", fallback=both if place % 2 else REWRAP) for place in range(4)]
    dk.implements(dk.add, types[1])(handler())
    operations = some_of(LIBRARY, 3)
    everything = dk.audit([*types, dk.Tensor], operations=operations)
    for one, other in combinations_with_replacement(types, 2):
        alone = dk.audit([one, other] if one is not other else [one], operations=operations)
        for pair in {(one, other), (other, one)}:
            assert everything[pair].rows == alone[pair].rows
            for row in alone[pair].rows:
                assert "<" not in row.answer + row.call + row.otherwise


def test_types_of_the_same_name_are_told_apart() -> None:
    first, second = make("A"), make("A")
    second.__module__ = "elsewhere"
    assert dk.audit([first, second], operations=[dk.add]).types == ("tests.report.audited.A", "elsewhere.A")


def test_the_types_that_ship_have_no_faults() -> None:
    report = dk.audit([ScalarTensor, MetadataTensor, Wrapper, dk.Tensor])
    assert [one for one in report.findings if one.kind in FAULTS] == []
    assert report.of_kind("lossy") == ()
    # The general rules of structures that a scalar matrix has nearer ones for.
    general = {("StructuredTensor",) * n for n in (1, 2)}
    general |= {("StructuredTensor", "Tensor"), ("Tensor", "StructuredTensor")}
    assert all(set(one.types) <= general for one in report.of_kind("shadowed"))
    pair = report["ScalarTensor", "MetadataTensor"]
    assert pair.winners == {"MetadataTensor": len(pair.rows)}


def test_nothing_is_kept_in_the_protocol() -> None:
    a, b = mirrored()
    before = [dict(operation.chains) for operation in dk.tensor_protocol.operations.values()]
    dk.audit([a, b, dk.Tensor])
    assert [dict(operation.chains) for operation in dk.tensor_protocol.operations.values()] == before


def test_a_protocol_of_ones_own() -> None:
    units = dk.DispatchProtocol("__units_function__")

    @units.overridable
    def combine(x: Any, y: Any, weight: float = 1.0) -> Any:
        return x

    @units.overridable(arrays=("x", "y"))
    def choose(x: Any, key: Any, y: Any = None) -> Any:
        return x

    @units.array_type()
    class Metres:
        pass

    @units.array_type(fallback=dk.fallback.decompose)
    class Feet:
        pass

    units.implements(combine, Metres, dk.Tensor, object)(lambda x, y, weight=1.0: never())
    units.implements(choose, Metres, Feet)(lambda x, key, y: never())
    report = dk.audit([Metres, Feet], protocol=units)
    rows = {row.call: row.outcome for row in report[Metres, Feet].rows}
    name = "test_a_protocol_of_ones_own"
    assert rows == {
        f"combine({name}.Metres, {name}.Feet)": "answers",
        f"choose({name}.Metres, key, {name}.Feet)": "answers",
    }
    assert report[Metres, Feet]["choose"].share == "rule"
    assert report[Metres, Metres]["combine"].outcome == "raises"


def test_one_type_and_one_operation_need_no_list() -> None:
    a = make("A", fallback=REWRAP)
    assert [pair.left for pair in dk.audit(a, operations="add").pairs] == ["A"]
    assert len(dk.audit(a, operations=dk.add)[a, a].rows) == 1


class Bystander:
    """Takes no part."""


def test_what_cannot_be_audited_is_refused() -> None:
    a = make("A")
    with pytest.raises(TypeError, match=r"audit: Bystander takes no part in __tensor_function__; decorate it"):
        dk.audit([a, Bystander])
    with pytest.raises(TypeError, match=r"^audit: takes a type, not an instance of A; give its type, A$"):
        dk.audit([a(dk.ones(1))])
    with pytest.raises(ValueError, match=r"audit: there are no types; give those that meet, as in audit\(\[A, B\]\)"):
        dk.audit([])
    with pytest.raises(KeyError, match="audit: no overridable function is called 'nothing'"):
        dk.audit([a], operations=["nothing"])
    with pytest.raises(TypeError, match="len is not overridable by __tensor_function__"):
        dk.audit([a], operations=[len])
    report: Audit = dk.audit([a], operations=[dk.add])
    with pytest.raises(KeyError, match="the audit is of A, not of"):
        report[a, dk.Tensor]
    with pytest.raises(KeyError, match=r"no call with \(A, A\) is of 'multiply'"):
        report[a, a]["multiply"]
    with pytest.raises(KeyError, match="no finding is of kind 'worse'; kinds are ambiguity, unreachable"):
        report.of_kind("worse")


def test_operations_of_one_array_alone_leave_the_pairs_empty() -> None:
    a = make("A")
    report = dk.audit([a, dk.Tensor], operations=[dk.exp])
    assert [pair.rows for pair in report.pairs] == [()] * 4
    assert "0 calls of two arrays" in str(report)
    assert [pair.share for pair in report.pairs] == [""] * 4
    assert report._repr_html_().count("<td></td>") >= 4


def test_a_fallback_whose_own_call_nobody_answers_raises() -> None:
    a, b = make("A", fallback=dk.fallback.dense), make("B")
    report = dk.audit([a, b, dk.Tensor], operations=[dk.add])
    row = report[a, b]["add"]
    assert (row.outcome, row.winner, row.share) == ("raises", "", "refused")
    assert row.answer == "dense: to_dense() of A; B: no rule for add; B: its fallback is to refuse"
    with pytest.raises(dk.NoImplementationError), dk.densify(on="allow"):
        dk.add(a(dk.ones(1)), b(dk.ones(1)))
    dk.implements(dk.add, b)(handler())
    assert dk.audit([a, b], operations=[dk.add])[a, b]["add"].winner == "B"
    assert report.findings == ()
