"""Who is asked, in which order: priority, subclass first, left to right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.fallbacks.strategies import Dense
from dispatchkit.protocol.modes import current
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.resolution import build_chain
from dispatchkit.protocol.steps import Step
from tests.protocol.support import binary, declining_type, many


def asked(protocol: DispatchProtocol, log: list[str], *types: type) -> list[str]:
    """Return the names of the types in the order a call asks them."""
    with pytest.raises(NoImplementationError):
        many(protocol)(*(cls() for cls in types))
    return log


def test_left_to_right(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    assert asked(protocol, log, B, A) == ["B", "A"]


def test_each_type_is_asked_once(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    assert asked(protocol, log, A, B, A, B) == ["A", "B"]


def test_subclass_goes_before_its_superclass(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    S = declining_type("S", log, (A,))
    assert asked(protocol, log, A, B, S) == ["S", "A", "B"]


def test_subclass_goes_before_the_first_of_its_superclasses(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    S = declining_type("S", log, (B, A))
    assert asked(protocol, log, A, B, S) == ["S", "A", "B"]


def test_subclass_on_the_left_stays_there(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    S = declining_type("S", log, (A,))
    assert asked(protocol, log, S, B, A) == ["S", "B", "A"]


def test_priority_goes_before_position(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    protocol.register_type(B, priority=1)
    assert asked(protocol, log, A, B) == ["B", "A"]


def test_priority_goes_before_subclass(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A = declining_type("A", log)
    S = declining_type("S", log, (A,))
    protocol.register_type(A, priority=1)
    protocol.register_type(S, priority=0)
    assert asked(protocol, log, S, A) == ["A", "S"]


def test_negative_priority_goes_last(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    protocol.register_type(A, priority=-1)
    assert asked(protocol, log, A, B) == ["B", "A"]


def test_priority_is_inherited(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    protocol.register_type(A, priority=1)
    S = declining_type("S", log, (A,))
    assert asked(protocol, log, B, S) == ["S", "B"]


def test_a_superclass_of_another_priority_pulls_nothing_forward(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    S = declining_type("S", log, (A,))
    protocol.register_type(B, priority=1)
    protocol.register_type(S, priority=1)
    assert asked(protocol, log, A, B, S) == ["B", "S", "A"], "among the equals B and S, left to right decides"


def test_a_changed_priority_reorders_the_next_call(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)
    gather = many(protocol)
    for expected, priority in ((["A", "B"], 0), (["B", "A"], 1), (["A", "B"], -1)):
        protocol.register_type(B, priority=priority)
        log.clear()
        with pytest.raises(NoImplementationError):
            gather(A(), B())
        assert log == expected


def test_keyword_arguments_stand_at_their_parameter(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)

    @protocol.overridable
    def solve(left: Any, right: Any = None) -> Any:
        return None

    with pytest.raises(NoImplementationError):
        solve(right=B(), left=A())
    assert log == ["A", "B"]


def test_members_of_a_sequence_are_asked_in_order(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A, B = declining_type("A", log), declining_type("B", log)

    @protocol.overridable
    def stack(arrays: Any) -> Any:
        return None

    for sequence in ([B(), A(), B()], (B(), A(), B())):
        log.clear()
        with pytest.raises(NoImplementationError):
            stack(sequence)
        assert log == ["B", "A"]


def test_a_namedtuple_that_is_an_array_type_is_asked_itself(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    Point = declining_type("Point", log, (tuple,))
    with pytest.raises(NoImplementationError):
        binary(protocol)(Point(), 1.0)
    assert log == ["Point"]


def test_a_list_subclass_that_is_an_array_type_is_asked_itself(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    Row = declining_type("Row", log, (list,))
    with pytest.raises(NoImplementationError):
        binary(protocol)(1.0, Row())
    assert log == ["Row"]


def test_arguments_that_were_not_declared_are_not_asked(protocol: DispatchProtocol) -> None:
    log: list[str] = []
    A = declining_type("A", log)

    @protocol.overridable(arrays=("x",))
    def scale(x: Any, by: Any) -> Any:
        return "body"

    assert scale(1.0, A()) == "body"
    assert log == []


def test_nobody_is_asked_about_plain_values(protocol: DispatchProtocol) -> None:
    assert binary(protocol)(1, "two") == ("body", 1, "two")
    assert current() is None


# A slow reference: the rule of the contract, one sentence at a time.

PARENTS = st.lists(st.sets(st.integers(0, 5), max_size=2), min_size=6, max_size=6)


def hierarchy(parents: list[set[int]], log: list[str]) -> list[type]:
    """Return classes of which each inherits from those before it that `parents` names."""
    classes: list[type] = []
    for index, wanted in enumerate(parents):
        bases = tuple(classes[i] for i in sorted(wanted) if i < index)
        roots = tuple(b for b in bases if not any(other is not b and issubclass(other, b) for other in bases))
        try:
            classes.append(declining_type(f"C{index}", log, roots))
        except TypeError:  # no consistent method resolution order
            classes.append(declining_type(f"C{index}", log))
    return classes


def reference_order(types: list[type], priorities: dict[type, int]) -> list[type]:
    distinct = list(dict.fromkeys(types))
    order: list[type] = []
    for level in sorted(set(priorities.values()), reverse=True):
        among_equals: list[type] = []
        for cls in (c for c in distinct if priorities[c] == level):
            superclasses = [i for i, other in enumerate(among_equals) if other in cls.__mro__]
            among_equals.insert(superclasses[0] if superclasses else len(among_equals), cls)
        order += among_equals
    return order


@given(parents=PARENTS, picks=st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_order_follows_the_rule(parents: list[set[int]], picks: list[int]) -> None:
    log: list[str] = []
    protocol = DispatchProtocol("__lib_function__", namespace="lib")
    classes = hierarchy(parents, log)
    types = [classes[i] for i in picks]
    expected = reference_order(types, dict.fromkeys(types, 0))
    assert asked(protocol, log, *types) == [cls.__name__ for cls in expected]


@given(
    parents=PARENTS,
    picks=st.permutations(range(6)),
    levels=st.lists(st.integers(0, 1), min_size=6, max_size=6),
)
def test_order_with_priorities_follows_the_rule(parents: list[set[int]], picks: list[int], levels: list[int]) -> None:
    log: list[str] = []
    protocol = DispatchProtocol("__lib_function__", namespace="lib")
    classes = hierarchy(parents, log)
    for cls, level in zip(classes, levels, strict=True):
        protocol.register_type(cls, priority=level)
    types = [classes[i] for i in picks]
    expected = reference_order(types, dict(zip(classes, levels, strict=True)))
    assert asked(protocol, log, *types) == [cls.__name__ for cls in expected]


def test_a_fallback_is_made_when_somebody_comes_to_it(
    protocol: DispatchProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(self: Dense, operation: Overridable, key: Key, cls: type) -> Step | str:
        made.append(cls.__name__)
        return "it cannot"

    @protocol.array_type(fallback=fallback.dense)
    class A:
        def to_dense(self) -> float:
            return 1.0

    @protocol.array_type(fallback=fallback.dense)
    class B:
        def to_dense(self) -> float:
            return 1.0

    combine = binary(protocol)
    protocol.implements(combine, A)(lambda x1, x2, /: "rule")
    monkeypatch.setattr(Dense, "step", counted)
    chain = build_chain(protocol.operation(combine), (A, B))
    assert [step.cls for step in chain.handlers] == [A]
    entries = iter(chain)
    assert [next(entries).cls for _ in range(2)] == [A, B]  # the rule of one, and that the other has none
    assert made == []
    assert [next(entries).text, made] == ["it cannot", ["A"]]
    skipped = [(step.cls, step.text) for step in chain.skipped]
    assert skipped == [(B, "no rule for combine"), (A, "it cannot"), (B, "it cannot")]
    assert made == ["A", "B"]
    assert [step.cls for step in chain.steps] == [A]
