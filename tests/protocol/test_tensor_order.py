"""Tensors among the candidates: asked last, the default of their subclasses, seen in `types`."""

from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import AnswerError


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


class Own:
    """Answers with what it was given."""

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return (func, types, args, kwargs)


class Declining(dk.Tensor):
    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dk.decline("on principle")


class Calling(dk.Tensor):
    calls: list[Any] = []  # noqa: RUF012  # shared on purpose

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func)
        return super().__tensor_function__(func, types, args, kwargs)


def test_types_hold_plain_tensors_in_signature_order() -> None:
    t = dk.ones(2)
    assert dk.add(t, Own())[1] == (dk.Tensor, Own)
    assert dk.add(Own(), t)[1] == (Own, dk.Tensor)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: dk.concat([t, Own(), t]),
        lambda t: dk.stack((t, Own())),
        lambda t: t[Own()],
        lambda t: t[Own(), 0],
        lambda t: dk.where(t > 0, t, Own()),
        lambda t: dk.clip(t, Own()),
        lambda t: dk.clip(t, max=Own()),
        lambda t: dk.linalg.solve(t, Own()),
    ],
)
def test_types_come_from_sequences_indices_and_keywords(call: Any) -> None:
    assert call(dk.ones((2, 2)))[1] == (dk.Tensor, Own)


def test_arguments_arrive_as_written() -> None:
    x = Own()
    assert dk.mean(x, axis=0) == (dk.mean, (Own,), (x,), {"axis": 0})
    assert dk.mean(x) == (dk.mean, (Own,), (x,), {})
    members = [x, 1.0]
    assert dk.concat(members)[2][0] is members


def test_setting_an_item_asks_the_value_and_the_index() -> None:
    log: list[Any] = []

    class Value:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            log.append((func, types))
            return None

    t = dk.ones(2)
    t[0] = Value()
    t[Value()] = 1.0
    assert log == [(dk.setitem, (dk.Tensor, Value))] * 2


def test_a_tensor_on_the_left_is_asked_after_another_type() -> None:
    assert dk.add(dk.ones(2), Own())[0] is dk.add


def test_a_keyword_that_does_not_exist_reaches_nobody() -> None:
    with pytest.raises(TypeError, match="alpha"):
        dk.add(Own(), 1, alpha=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="bogus"):
        dk.mean(Own(), bogus=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="bogus"):
        dk.mean(dk.ones(2), bogus=2)  # type: ignore[call-arg]


def test_super_is_the_default() -> None:
    Calling.calls.clear()
    found = dk.add(Calling([1.0, 2.0]), 1)
    assert type(found) is Calling
    assert found.tolist() == [2.0, 3.0]
    assert Calling.calls == [dk.add]


def test_super_through_a_method_and_an_operator() -> None:
    Calling.calls.clear()
    x = Calling([1.0, 2.0])
    assert (x.sum().item(), (x * 2).tolist(), x[0].item()) == (3.0, [2.0, 4.0], 1.0)
    assert Calling.calls == [dk.sum, dk.multiply, dk.getitem]


def test_a_tensor_answers_for_its_instances_after_a_subclass_declined() -> None:
    assert dk.add(Declining([1.0]), dk.ones(1)).tolist() == [2.0]


def test_a_tensor_is_the_default_of_a_subclass_that_declined() -> None:
    assert dk.sum(Declining([1.0, 2.0])).item() == 3.0


def test_redispatch_without_a_subclass_ends_at_tensor() -> None:
    found = dk.redispatch(dk.sum, (Declining([1.0, 2.0]),), {}, without=Declining)
    assert found.item() == 3.0


def test_a_tensor_does_not_answer_for_a_type_of_another_family() -> None:
    @dk.array_type()
    class Other:
        pass

    with pytest.raises(dk.NoImplementationError) as caught:
        dk.add(dk.ones(2), Other())
    assert str(caught.value).splitlines()[0] == (
        "no implementation found for 'dispatchkit.add' on types that implement __tensor_function__: "
        "[Tensor, test_a_tensor_does_not_answer_for_a_type_of_another_family.Other]"
    )


def test_siblings_go_left_to_right() -> None:
    class One(dk.Tensor):
        pass

    class Two(dk.Tensor):
        pass

    assert type(dk.add(One([1.0]), Two([1.0]))) is One
    assert type(dk.add(Two([1.0]), One([1.0]))) is Two


def test_a_subclass_goes_before_its_superclass() -> None:
    class One(dk.Tensor):
        pass

    class Sub(One):
        pass

    assert type(dk.add(One([1.0]), Sub([1.0]))) is Sub
    assert type(dk.add(dk.ones(1), One([1.0]))) is One


def test_a_priority_decides_among_siblings() -> None:
    class One(dk.Tensor):
        pass

    class Two(dk.Tensor):
        pass

    dk.register_type(Two, priority=1)
    result: Any = dk.add(One([1.0]), Two([1.0]))
    assert type(result) is Two


def test_a_rule_for_a_subclass_goes_before_the_default() -> None:
    class One(dk.Tensor):
        pass

    @dk.implements(dk.add)
    def add_one(x1: One, x2: Any, /) -> str:
        return "rule"

    assert dk.add(One([1.0]), 1) == "rule"
    assert dk.multiply(One([1.0]), 1).tolist() == [1.0]


def test_a_subclass_rule_that_declines_leaves_it_to_the_default() -> None:
    class One(dk.Tensor):
        pass

    @dk.implements(dk.add)
    def add_one(x1: One, x2: Any, /) -> Any:
        return dk.decline("not today")

    found = dk.add(One([1.0]), 1)
    assert type(found) is One
    assert found.tolist() == [2.0]


def test_the_stub_of_the_error_covers_the_call() -> None:
    @dk.array_type()
    class Other:
        pass

    for args in ((Other(), dk.ones(2)), (dk.ones(2), Other()), (Other(), 1.0), (Other(), Other())):
        with dk.local_registrations():
            with pytest.raises(dk.NoImplementationError) as caught:
                dk.add(*args)
            exec(compile(caught.value.stub, "<stub>", "exec"), {"dk": dk, "Other": Other, "Tensor": dk.Tensor})  # noqa: S102
            with pytest.raises(AnswerError, match="returned None"):
                dk.add(*args)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, t: dk.mean(x),
        lambda x, t: dk.mean(x, axis=0, keepdims=True),
        lambda x, t: dk.concat([x, t]),
        lambda x, t: dk.concat([t, x], axis=1),
        lambda x, t: x[0, 1:],
        lambda x, t: t[x],
        lambda x, t: dk.reshape(x, (2, 2)),
        lambda x, t: dk.where(t, x, 0.0),
        lambda x, t: dk.clip(x, 0.0),
        lambda x, t: dk.clip(t, max=x),
        lambda x, t: dk.linalg.solve(x, t),
        lambda x, t: dk.expand_dims(x, axis=0),
        lambda x, t: dk.linalg.norm(x),
        lambda x, t: dk.zeros_like(x),
        lambda x, t: dk.astype(x, dk.float32),
    ],
)
def test_the_stub_covers_every_form_of_call(call: Any) -> None:
    @dk.array_type()
    class Other:
        pass

    with pytest.raises(dk.NoImplementationError) as caught:
        call(Other(), dk.ones(2))
    exec(compile(caught.value.stub, "<stub>", "exec"), {"dk": dk, "Other": Other})  # noqa: S102
    with pytest.raises(AnswerError, match="returned None"):
        call(Other(), dk.ones(2))
