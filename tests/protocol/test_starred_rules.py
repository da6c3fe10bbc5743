"""Rules for functions that take any number of arrays: asked whatever is passed there, and exactly for what they say."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AmbiguousImplementationError, NoImplementationError, RegistrationError
from dispatchkit.protocol.engine import DispatchProtocol


@dk.array_type()
class Row:
    """A type that answers by rules alone."""


@dk.array_type()
class Column:
    """Another one."""


class Mode(enum.Enum):
    """An option that is no array."""

    FAST = 1


def test_a_rule_is_asked_where_nothing_is_passed_for_the_rest() -> None:
    @dk.overridable
    def join(x: Any, *rest: Any) -> str:
        return "body"

    @dk.implements(join)
    def join_rows(x: Row, *rest: Any) -> str:
        return f"rule of {1 + len(rest)}"

    assert join(Row()) == "rule of 1"
    assert join(Row(), 1) == "rule of 2"
    assert join(Row(), Row(), None) == "rule of 3"
    assert join(1) == "body"


def test_a_rule_without_the_rest_is_asked_for_calls_without_it() -> None:
    @dk.overridable(arrays=("x", "rest"))
    def join(x: Any, *rest: Any) -> str:
        return "body"

    @dk.implements(join)
    def join_row(x: Row) -> str:
        return "rule"

    assert join(Row()) == "rule"
    with pytest.raises(NoImplementationError):
        join(Row(), Row())


def test_arrays_may_follow_a_parameter_that_is_none() -> None:
    @dk.overridable(arrays=("rest",))
    def pick(place: Any, *rest: Any) -> str:
        return "body"

    @dk.implements(pick)
    def pick_rows(place: Any, *rest: Row) -> str:
        return f"rule of {len(rest)}"

    assert pick(0, Row()) == "rule of 1"
    assert pick(0, Row(), Row()) == "rule of 2"
    with pytest.raises(NoImplementationError):
        pick(0, Row(), Column())


@pytest.mark.parametrize("call", [dk.einsum, np.einsum], ids=["dk", "np"])
def test_einsum_asks_its_rule_in_all_spellings(call: Any) -> None:
    @dk.implements(dk.einsum)
    def einsum_rows(subscripts: str, /, *operands: Row, optimize: Any = True) -> str:
        return f"{subscripts} of {len(operands)}"

    assert call("ii->", Row()) == "ii-> of 1"
    assert call("ij,ij", Row(), Row()) == "ij,ij of 2"
    assert call("ij,ij", Row(), Row(), optimize=False) == "ij,ij of 2"
    with pytest.raises((NoImplementationError, TypeError)):
        call("ij,ij", Row(), Column())


def test_operations_of_users_ask_rules_whatever_the_rest_is() -> None:
    @dk.operation(kind=dk.kinds.function)
    def first_of(xp: Any, x: Any, /, *rest: Any) -> Any:
        return x

    @dk.implements(first_of)
    def first_of_rows(x: Row, /, *rest: Row) -> str:
        return f"rule of {1 + len(rest)}"

    assert first_of(Row()) == "rule of 1"
    assert first_of(Row(), Row()) == "rule of 2"


def test_functions_with_derivatives_ask_rules_whatever_the_rest_is() -> None:
    class First(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, *rest: Any) -> Any:
            return x

    @dk.implements(First.apply)
    def first_of_rows(x: Row, *rest: Row) -> str:
        return f"rule of {1 + len(rest)}"

    assert First.apply(Row()) == "rule of 1"
    assert First.apply(Row(), Row()) == "rule of 2"


def test_own_protocols_ask_rules_whatever_the_rest_is() -> None:
    protocol = DispatchProtocol("__lib_function__")

    @protocol.array_type()
    class Box:
        pass

    @protocol.overridable
    def join(x: Any, *rest: Any) -> str:
        return "body"

    @protocol.implements(join)
    def join_boxes(x: Box, *rest: Any) -> str:
        return f"rule of {1 + len(rest)}"

    assert join(Box()) == "rule of 1"
    assert join(Box(), 1, 2) == "rule of 3"


def test_an_index_without_anything_in_it_asks_the_rule() -> None:
    @dk.array_type()
    class Indexed(dk.ArrayMethods):
        pass

    @dk.implements(dk.getitem)
    def pick(x: Indexed, key: Any, /) -> str:
        return f"rule with {key}"

    assert Indexed()[()] == "rule with ()"


def test_an_empty_list_is_one_of_any_type() -> None:
    @dk.overridable(arrays=("x", "others"))
    def gather(x: Any, others: Any) -> str:
        return "body"

    @dk.implements(gather)
    def gather_rows(x: Row, others: list[Column]) -> str:
        return "rule"

    assert gather(Row(), []) == gather(Row(), [Column()]) == "rule"
    with pytest.raises(NoImplementationError):
        gather(Row(), [Row()])


def test_the_rule_without_a_demand_is_nearest_where_nothing_is_passed() -> None:
    @dk.overridable
    def join(x: Any, *rest: Any) -> str:
        return "body"

    @dk.implements(join)
    def with_rows(x: Row, *rest: Row) -> str:
        return "rows"

    @dk.implements(join)
    def with_columns(x: Row, *rest: Column) -> str:
        return "columns"

    assert join(Row(), Row()) == "rows"
    assert join(Row(), Column()) == "columns"
    with pytest.raises(AmbiguousImplementationError, match=r"register \(Row, any\) to resolve it"):
        join(Row())

    @dk.implements(join)
    def with_anything(x: Row, *rest: Any) -> str:
        return "anything"

    assert join(Row()) == "anything"
    assert join(Row(), Row()) == "rows"


def test_options_that_are_left_out_do_not_make_rules_equal() -> None:
    @dk.overridable
    def bound(x: Any, low: Any = None, high: Any = None) -> str:
        return "body"

    @dk.implements(bound)
    def below(x: Row, low: float, high: Any = None) -> str:
        return "low"

    @dk.implements(bound)
    def above(x: Row, low: Any = None, high: float = ...) -> str:  # type: ignore[assignment]
        return "high"

    assert bound(Row(), 1.0) == "low"
    assert bound(Row(), high=1.0) == "high"


def test_starred_arrays_that_would_take_another_parameter_are_refused() -> None:
    with pytest.raises(RegistrationError) as caught:

        @dk.implements(dk.einsum)
        def einsum_all(*args: Row, optimize: Any = True) -> str:
            return "rule"

    text = "'*args: Row' takes 'subscripts', too, which is no array; give it a parameter of its own"
    assert str(caught.value).endswith(text)
    assert "einsum_all can never be called for dispatchkit.einsum" in str(caught.value)


def test_starred_arrays_are_passed_over_where_an_option_is_among_them() -> None:
    @dk.overridable(arrays=("x", "rest"))
    def repeat(x: Any, times: Any = 2, *rest: Any) -> str:
        return "body"

    @dk.implements(repeat)
    def repeat_rows(*args: Row) -> str:
        return f"rule of {len(args)}"

    assert repeat(Row()) == "rule of 1"
    with pytest.raises(NoImplementationError, match="3 positional arguments, of which 1 are arrays"):
        repeat(Row(), 3, Row())


def test_starred_options_are_no_arrays() -> None:
    @dk.overridable(arrays=("x",))
    def permute(x: Any, *axes: int) -> str:
        return "body"

    @dk.implements(permute)
    def permute_row(x: Row, *axes: int) -> str:
        return f"rule with {axes}"

    assert permute(Row()) == "rule with ()"
    assert permute(Row(), 1, 0) == "rule with (1, 0)"


def test_parameters_that_share_any_number_of_arrays_take_those_of_their_types() -> None:
    @dk.overridable
    def gather(*xs: Any) -> str:
        return "body"

    @dk.implements(gather)
    def gather_pair(x: Row, y: Column) -> str:
        return "pair"

    assert gather(Row(), Column()) == "pair"
    refused = "a Column as 'x', which is annotated as Row, a Row as 'y', which is annotated as Column"
    with pytest.raises(NoImplementationError, match=refused):
        gather(Column(), Row())
    with pytest.raises(NoImplementationError, match="no 'y'"):
        gather(Row())
    assert refused in str(dk.explain(gather, Column(), Row()))


def test_the_rest_of_a_rule_for_a_kind_is_of_its_type_alone() -> None:
    @dk.implements(dk.kinds.elementwise)
    def with_columns(op: Any, x: Row, *rest: Column) -> str:
        return op.__name__

    assert dk.add(Row(), Column()) == "add"  # type: ignore[comparison-overlap]
    assert dk.exp(Row()) == "exp"  # type: ignore[comparison-overlap]
    with pytest.raises(NoImplementationError):
        dk.add(Row(), Row())


def test_what_a_rule_names_beside_an_array_type_is_no_array_type_by_it() -> None:
    @dk.overridable
    def sharpen(x: Any, mode: Any) -> str:
        return "body"

    @dk.implements(sharpen)
    def sharpen_row(x: Row, mode: Mode) -> str:
        return "mode"

    @dk.implements(sharpen)
    def sharpen_named(x: Row, mode: str | bytes) -> str:
        return "name"

    assert sharpen(Row(), Mode.FAST) == "mode"
    assert sharpen(Row(), "fast") == sharpen(Row(), b"fast") == "name"
    assert sharpen(1, Mode.FAST) == sharpen(1, "fast") == "body"
    assert not dk.overrides.is_tensor_like(Mode.FAST)
    assert not dk.overrides.is_tensor_like("fast")
