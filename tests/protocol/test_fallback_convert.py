"""`fallback.convert`: the cheapest path of declared conversions to a type that has a rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.steps import decline
from tests.protocol.support import Answer, binary, unary


class Step:
    """A value that remembers how it came about."""

    def __init__(self, *path: str) -> None:
        self.path = path


class A(Step): ...


class B(Step): ...


class C(Step): ...


class D(Step): ...


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    protocol.register_type(A, fallback=fallback.convert)
    for cls in (B, C, D):
        protocol.register_type(cls)


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    return unary(protocol)


def edge(
    protocol: DispatchProtocol, source: type[Step], target: type[Step], cost: float = 1, *, lossy: bool = False
) -> None:
    def convert(x: Step) -> Step:
        return target(*x.path, f"{source.__name__}{target.__name__}")

    convert.__annotations__ = {"x": source, "return": target}
    protocol.converts(cost, lossy)(convert)


def path_rule(protocol: DispatchProtocol, function: Answer, *types: type) -> None:
    protocol.implements(function, *types)(lambda x, *args, **kwargs: x.path)


def test_one_edge(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B)
    path_rule(protocol, scale, B)
    assert scale(A()) == ("AB",)


def test_edges_compose(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B)
    edge(protocol, B, C)
    edge(protocol, C, D)
    path_rule(protocol, scale, D)
    assert scale(A()) == ("AB", "BC", "CD")


def test_the_cheapest_path_is_taken(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, D, cost=5)
    edge(protocol, A, B, cost=2)
    edge(protocol, B, D, cost=2)
    path_rule(protocol, scale, D)
    assert scale(A()) == ("AB", "BD")


def test_the_cheapest_type_with_a_rule_is_taken(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B, cost=1)
    edge(protocol, A, C, cost=3)
    edge(protocol, A, D, cost=2)
    path_rule(protocol, scale, C)
    path_rule(protocol, scale, D)
    assert scale(A()) == ("AD",)


def test_a_cost_of_nothing(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B, cost=0)
    edge(protocol, A, C, cost=0.5)
    path_rule(protocol, scale, B)
    path_rule(protocol, scale, C)
    assert scale(A()) == ("AB",)


def test_among_equals_the_path_without_loss(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B, lossy=True)
    edge(protocol, A, C)
    path_rule(protocol, scale, B)
    path_rule(protocol, scale, C)
    assert scale(A()) == ("AC",)


def test_a_cheaper_path_with_loss_is_taken(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B, cost=1, lossy=True)
    edge(protocol, A, C, cost=2)
    path_rule(protocol, scale, B)
    path_rule(protocol, scale, C)
    assert scale(A()) == ("AB",)


def test_loss_is_explained(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B, cost=1.5)
    edge(protocol, B, C, lossy=True)
    path_rule(protocol, scale, C)
    assert "convert: A -> B -> C (cost 2.5, with loss)" in str(protocol.explain(scale, A()))


def test_a_rule_goes_before_the_conversion(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B)
    path_rule(protocol, scale, B)
    path_rule(protocol, scale, A)
    assert scale(A()) == ()


def test_every_argument_of_the_type_is_converted(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    edge(protocol, A, B)
    protocol.implements(combine, B, B)(lambda x1, x2, /: (x1.path, x2.path))
    assert combine(A(), A()) == (("AB",), ("AB",))


def test_a_pair_with_another_type_is_found(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    edge(protocol, A, B)
    protocol.implements(combine, C, B)(lambda x1, x2, /: x2.path)
    assert combine(C(), A()) == ("AB",)


def test_both_arguments_are_converted_to_what_they_have_in_common(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    protocol.register_type(B, fallback=fallback.convert)
    edge(protocol, A, D)
    edge(protocol, B, C, cost=2)
    edge(protocol, C, D)
    protocol.implements(combine, D, D)(lambda x1, x2, /: (x1.path, x2.path))
    assert combine(A(), B()) == (("AD",), ("BC", "CD"))
    assert combine(B(), A()) == (("BC", "CD"), ("AD",))
    assert "convert: A -> D, B -> C -> D (cost 4)" in str(protocol.explain(combine, A(), B()))


def test_a_type_that_declares_no_conversion_stays(protocol: DispatchProtocol) -> None:
    combine = binary(protocol)
    edge(protocol, A, D)
    edge(protocol, B, D)
    protocol.implements(combine, D, D)(lambda x1, x2, /: (x1.path, x2.path))
    with pytest.raises(NoImplementationError):
        combine(A(), B())


@pytest.mark.parametrize("first", [True, False])
def test_the_cheapest_conversion_of_any_argument_is_taken(protocol: DispatchProtocol, first: bool) -> None:
    combine = binary(protocol)
    protocol.register_type(B, fallback=fallback.convert)
    edge(protocol, A, D, cost=10)
    edge(protocol, B, D, cost=10)
    edge(protocol, B, A)
    for cls in (A, D):
        protocol.implements(combine, cls, cls)(lambda x1, x2, /: (x1.path, x2.path))
    assert combine(*((A(), B()) if first else (B(), A()))) == (((), ("BA",)) if first else (("BA",), ()))


@pytest.mark.parametrize("first", [True, False])
def test_the_other_argument_alone_is_converted_where_that_is_cheapest(protocol: DispatchProtocol, first: bool) -> None:
    combine = binary(protocol)
    protocol.register_type(B, fallback=fallback.convert)
    edge(protocol, A, D, cost=10)
    edge(protocol, B, D, cost=10)
    edge(protocol, B, C)
    for types in ((A, C), (C, A), (D, D)):
        protocol.implements(combine, *types)(lambda x1, x2, /: (x1.path, x2.path))
    assert combine(*((A(), B()) if first else (B(), A()))) == (((), ("BC",)) if first else (("BC",), ()))


def test_a_conversion_to_what_only_has_the_rule_that_declined_is_passed_over(
    protocol: DispatchProtocol, scale: Answer
) -> None:
    class Sub(A): ...

    protocol.register_type(Sub)
    edge(protocol, A, Sub)
    edge(protocol, A, C, cost=2)
    protocol.implements(scale, A)(lambda x, factor=2.0: decline("never"))
    path_rule(protocol, scale, C)
    assert scale(A()) == ("AC",)


def test_a_kind_rule_counts(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B)
    protocol.implements(scale.__overridable__.kind, B)(lambda function, x, **kwargs: x.path)  # type: ignore[attr-defined]
    assert scale(A()) == ("AB",)


def test_a_type_that_answers_by_its_own_method_counts(protocol: DispatchProtocol, scale: Answer) -> None:
    class Own(Step):
        @classmethod
        def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return args[0].path

    edge(protocol, A, Own)
    assert scale(A()) == ("AOwn",)


def test_a_plain_value_counts(protocol: DispatchProtocol, scale: Answer) -> None:
    @protocol.converts()
    def number_of(x: A) -> float:
        return 7.0

    assert scale(A()) == ("body", 7.0, 2.0)


def test_conversions_are_inherited(protocol: DispatchProtocol, scale: Answer) -> None:
    class Sub(A):
        pass

    edge(protocol, A, B)
    path_rule(protocol, scale, B)
    assert scale(Sub()) == ("AB",)


def test_an_equal_edge_replaces(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B, cost=1)
    edge(protocol, A, C, cost=2)
    path_rule(protocol, scale, B)
    path_rule(protocol, scale, C)
    assert scale(A()) == ("AB",)
    edge(protocol, A, B, cost=3)
    assert scale(A()) == ("AC",)


def test_an_edge_declared_later_changes_the_decision(protocol: DispatchProtocol, scale: Answer) -> None:
    path_rule(protocol, scale, B)
    with pytest.raises(NoImplementationError, match="no declared conversion leads to a type with a rule"):
        scale(A())
    with protocol.local_registrations():
        edge(protocol, A, B)
        assert scale(A()) == ("AB",)
    with pytest.raises(NoImplementationError):
        scale(A())


def test_circles_end(protocol: DispatchProtocol, scale: Answer) -> None:
    edge(protocol, A, B)
    edge(protocol, B, A)
    with pytest.raises(NoImplementationError):
        scale(A())


def test_rules_that_decline_at_both_ends_of_a_circle_end(protocol: DispatchProtocol, scale: Answer) -> None:
    protocol.register_type(B, fallback=fallback.convert)
    edge(protocol, A, B)
    edge(protocol, B, A)
    for cls in (A, B):
        protocol.implements(scale, cls)(lambda x, factor=2.0: decline("not this factor"))
    with pytest.raises(NoImplementationError):
        scale(A())


def test_an_exception_of_the_conversion_passes_through(protocol: DispatchProtocol, scale: Answer) -> None:
    raised = TypeError("cannot")

    @protocol.converts()
    def fail(x: A) -> B:
        raise raised

    path_rule(protocol, scale, B)
    with pytest.raises(TypeError) as caught:
        scale(A())
    assert caught.value is raised


@given(
    costs=st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(1, 5)).filter(lambda ends: ends[0] != ends[1]), st.integers(0, 9)
    )
)
def test_paths_are_as_cheap_as_bellman_and_ford_find(costs: dict[tuple[int, int], int]) -> None:
    protocol = DispatchProtocol("__lib_function__", namespace="lib")
    nodes = [type(f"N{i}", (Step,), {}) for i in range(6)]
    for (start, end), cost in costs.items():
        edge(protocol, nodes[start], nodes[end], cost)
    best: dict[int, float] = {0: 0}
    for _ in nodes:
        for (start, end), cost in costs.items():
            if start in best:
                best[end] = min(best.get(end, float("inf")), best[start] + cost)
    found = {nodes.index(cls): cost for cost, cls, _ in protocol.conversions.reachable(nodes[0])}
    assert found == {node: cost for node, cost in best.items() if node}
