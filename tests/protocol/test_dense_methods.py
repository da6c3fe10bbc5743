"""What a type makes dense is counted, whoever calls its method: a fallback, a rule, or the program."""

from __future__ import annotations

import copy
import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.engine import DispatchProtocol


@dk.array_type(fallback=dk.fallback.dense)
class Held:
    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)

    @property
    def shape(self) -> Any:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def to_dense(self) -> Any:
        return self.data + 0


class Below(Held):
    def to_dense(self) -> Any:
        return super().to_dense() * 1


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    dk.clear_densify_ledger()
    with dk.local_registrations():

        @dk.implements(dk.add)
        def add_held(x1: Held, x2: Held, /) -> Any:
            return x1.to_dense() + x2.to_dense()

        yield
    dk.clear_densify_ledger()


def line_of_rule() -> str:
    rule = next(rule for rule in dk.tensor_protocol.handlers.of_operations() if rule.title.startswith("add_held"))
    return rule.location


def test_a_rule_that_makes_its_arguments_dense_is_refused() -> None:
    x = Held([1.0, 2.0])
    with dk.densify(on="error"), pytest.raises(dk.DensifyError) as caught:
        dk.add(x, x)
    assert str(caught.value) == (
        f"'dispatchkit.add' would make Held dense (16 B) inside the rule at {line_of_rule()}, "
        f'and densify(on="error") forbids it'
    )
    with dk.densify(on="allow", limit=15), pytest.raises(dk.DensifyError, match="past the limit of 15 B"):
        dk.add(x, x)


def test_a_rule_that_makes_its_arguments_dense_warns_at_the_line_of_the_call() -> None:
    x = Held([1.0, 2.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dk.add(x, x)
    assert [str(one.message) for one in caught] == [
        f"'dispatchkit.add' made Held dense (16 B), inside the rule at {line_of_rule()}"
    ] * 2
    assert all(one.filename == __file__ and one.lineno == line_of_call() for one in caught)


def line_of_call() -> int:
    code = test_a_rule_that_makes_its_arguments_dense_warns_at_the_line_of_the_call.__code__
    return code.co_firstlineno + 4


def test_the_ledger_and_the_record_say_which_rule_did_it() -> None:
    x = Held([1.0, 2.0])
    with dk.densify(on="allow"), dk.record_calls() as recorded:
        dk.add(x, x)
    (entry,) = dk.densify_ledger()
    assert (entry.function, entry.type, entry.count, entry.nbytes) == ("dispatchkit.add", "Held", 2, 32)
    assert (entry.inside, entry.deliberate) == (f"inside the rule at {line_of_rule()}", False)
    assert str(entry).endswith(f"made Held dense 2 times (32 B), {entry.inside}")
    call = recorded.calls[0]
    assert (call.how, call.self_densified, call.reason) == ("rule", 32, entry.inside)


def test_what_the_program_calls_itself_is_in_the_ledger_and_never_refused() -> None:
    with dk.densify(on="error", limit=0):
        Held([1.0]).to_dense()
    (entry,) = dk.densify_ledger()
    assert (entry.deliberate, entry.function, entry.count, entry.nbytes) == (True, "Held.to_dense", 1, 8)
    assert str(entry).endswith(": Held.to_dense() was called once (8 B)")
    assert entry.file == __file__


def test_a_fallback_counts_once_and_says_who_declined_before() -> None:
    @dk.implements(dk.sum)
    def sum_held(x: Held, /, *, axis: Any = None) -> Any:
        return dk.decline(f"only whole, not axis {axis}")

    x = Held([1.0])
    with pytest.warns(dk.DensifyWarning) as caught, dk.record_calls() as recorded:
        dk.sum(x, axis=0)
    (warning,) = caught
    (entry,) = dk.densify_ledger()
    assert entry.count == 1
    assert entry.inside == ""
    for text in (str(warning.message), str(entry), recorded.calls[0].reason):
        assert f"sum_held(Held in any position) at {__file__}" in text
        assert "declined: only whole, not axis 0" in text


def test_a_decomposition_that_fails_says_what_it_needed() -> None:
    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    class Bare:
        shape, dtype = (3,), dk.float64

        def to_dense(self) -> dk.Tensor:
            return dk.ones(3)

    with pytest.warns(dk.DensifyWarning, match=r"std\(\)|the body of std declined: it needs dispatchkit\.var"):
        dk.std(Bare())


def test_a_method_that_a_subclass_overrides_counts_once_with_its_superclass() -> None:
    with dk.densify(on="allow"):
        dk.add(Below([1.0]), Below([2.0]))
    (entry,) = dk.densify_ledger()
    assert (entry.type, entry.count) == ("Below", 2)


def test_an_inherited_method_is_counted_and_the_superclass_stays_as_it_is() -> None:
    class Plain:
        def to_dense(self) -> dk.Tensor:
            return dk.ones(2)

    before = Plain.__dict__["to_dense"]
    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.dense)
        class Derived(Plain):
            pass

        Derived().to_dense()
        assert [entry.type.rpartition(".")[2] for entry in dk.densify_ledger()] == ["Derived"]
    assert Plain.__dict__["to_dense"] is before
    assert "to_dense" not in Derived.__dict__


def test_a_method_under_another_name_is_counted() -> None:
    @dk.array_type(fallback=dk.fallback.dense, dense="unpacked")
    class Packed:
        shape, dtype = (2,), dk.float64

        def unpacked(self) -> dk.Tensor:
            return dk.ones(2)

    Packed().unpacked()
    assert [entry.function.rpartition(".")[2] for entry in dk.densify_ledger()] == ["unpacked"]


def test_an_abstract_method_stays_abstract() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Abstract(ABC):
        @abstractmethod
        def to_dense(self) -> Any: ...

    with pytest.raises(TypeError, match="abstract"):
        Abstract()  # type: ignore[abstract]


def test_the_method_is_the_authors_to_those_who_look_at_it() -> None:
    assert Held.to_dense.__name__ == "to_dense"
    assert Held.to_dense.__qualname__ == "Held.to_dense"
    x = pickle.loads(pickle.dumps(Held([1.0])))
    assert copy.deepcopy(x).to_dense().tolist() == [1.0]


def test_a_method_that_calls_itself_is_one_clear_error() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Endless:
        def to_dense(self) -> Any:
            return self.to_dense()

    place = f"{__file__}:{Endless.to_dense.__wrapped__.__code__.co_firstlineno}"  # type: ignore[attr-defined]
    for call in (Endless().to_dense, lambda: dk.cos(Endless())):
        with pytest.raises(dk.AnswerError) as caught:
            call()
        assert str(caught.value).endswith(f"to_dense() of {caught.value.function[:-9]} at {place} calls itself")


def test_a_method_of_a_type_whose_operation_needs_it_is_one_clear_error() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Needs:
        shape, dtype = (2,), dk.float64

        def to_dense(self) -> Any:
            return dk.cos(self)

    with pytest.raises(dk.AnswerError, match=r"calls dispatchkit\.cos on .*Needs, whose fallback is to_dense\(\)"):
        dk.sin(Needs())


def test_another_protocol_counts_too() -> None:
    units = DispatchProtocol("__units_function__", "units")

    @units.overridable
    def total(x: Any) -> Any:
        return x.to_dense()

    class Metres:
        def to_dense(self) -> float:
            return 1.0

    units.register_type(Metres, fallback=dk.fallback.decompose)
    with (
        dk.densify(on="error"),
        pytest.raises(dk.DensifyError, match=r"^'units\.total' would make .*Metres dense inside"),
    ):
        total(Metres())
