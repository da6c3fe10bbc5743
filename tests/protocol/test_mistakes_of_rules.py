"""Rules that can never work, or never end: each error or note names the rule and what to write."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import dispatchkit as dk


@dk.array_type()
class Held:
    shape = (2,)
    dtype = dk.float64

    def __init__(self, v: Any) -> None:
        self.v = v


@pytest.fixture(autouse=True)
def _undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


def place(function: Any) -> str:
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def test_a_rule_that_calls_itself_without_end_is_named() -> None:
    @dk.implements(dk.exp)
    def exp_held(x: Held, /) -> Any:
        return dk.exp(x)

    with pytest.raises(RecursionError) as caught:
        dk.exp(Held(1.0))
    (note,) = caught.value.__notes__
    assert note == (
        f"exp_held(Held in any position) at {place(exp_held)} calls dispatchkit.exp on its own type again, without "
        f"end; call it on the fields, or pass the call on with redispatch(func, args, kwargs, without=Type)"
    )


def test_a_protocol_method_that_calls_the_function_again_is_named() -> None:
    class Loud(dk.Tensor):
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    method: Any = Loud.__tensor_function__
    calls: tuple[Any, ...] = (lambda: dk.exp(Loud([1.0])), lambda: Loud([1.0]) + 1, lambda: dk.sum(Loud([1.0]), axis=0))
    for call in calls:
        with pytest.raises(RecursionError) as caught:
            call()
        (note,) = caught.value.__notes__
        assert note.startswith(f"{method.__func__.__code__.co_qualname} at {place(method.__func__)} calls dispatchkit.")


@pytest.mark.parametrize("what", [NotImplementedError, NotImplementedError("later"), NotImplemented])
def test_a_rule_that_raises_to_decline_is_told_to_return(what: Any) -> None:
    @dk.implements(dk.exp)
    def exp_held(x: Held, /) -> Any:
        raise what

    with pytest.raises((NotImplementedError, TypeError)) as caught:
        dk.exp(Held(1.0))
    (note,) = caught.value.__notes__
    advice = 'declines by return NotImplemented, or return decline("reason"); it raises neither'
    assert note == f"exp_held(Held in any position) at {place(exp_held)} {advice}"


def test_what_a_rule_calls_may_raise_not_implemented() -> None:
    def later() -> None:
        raise NotImplementedError("later")

    @dk.implements(dk.exp)
    def exp_held(x: Held, /) -> Any:
        later()

    with pytest.raises(NotImplementedError) as caught:
        dk.exp(Held(1.0))
    assert not hasattr(caught.value, "__notes__")


def _generator(x: Held, /) -> Iterator[int]:
    yield 3


async def _coroutine(x: Held, /) -> int:
    return 3


async def _both(x: Held, /) -> AsyncIterator[int]:
    yield 3


@pytest.mark.parametrize(
    ("handler", "result"), [(_generator, "generator"), (_coroutine, "coroutine"), (_both, "asynchronous generator")]
)
def test_a_handler_that_computes_later_is_refused(handler: Callable[..., Any], result: str) -> None:
    text = f"would answer with a {result}, since it is a {result} function; return the result instead"

    with pytest.raises(dk.RegistrationError) as caught:
        dk.implements(dk.exp)(handler)
    assert str(caught.value) == f"implements: {handler.__name__} {text}"
    with pytest.raises(dk.RegistrationError) as caught:
        dk.array_type(dense=handler)(type("Late", (), {}))
    assert str(caught.value) == f"array_type: {handler.__name__} {text}"


def test_a_function_that_computes_later_may_have_such_rules() -> None:
    @dk.overridable
    async def fetch(x: Any) -> Any:
        return x

    @dk.implements(fetch)
    async def fetch_held(x: Held) -> Any:
        return x.v

    with pytest.raises(StopIteration) as caught:
        fetch(Held(2.0)).send(None)
    assert caught.value.value == 2.0


def test_rules_of_python_types_are_refused_as_the_types_are() -> None:
    for cls in (str, list, dict):
        with pytest.raises(dk.RegistrationError) as refused:
            dk.register_type(cls)
        with pytest.raises(dk.RegistrationError) as caught:
            dk.implements(dk.add, cls)(lambda x1, x2, /: x1)
        assert str(caught.value) == str(refused.value).replace("register_type", "implements", 1)


def test_a_first_parameter_for_the_operation_is_remarked() -> None:
    with pytest.warns(dk.SignatureWarning) as caught:

        @dk.implements(dk.exp, Held)
        def exp_held(op: Any, *args: Any) -> Any: ...  # type: ignore[handler]

    name = "test_a_first_parameter_for_the_operation_is_remarked.<locals>.exp_held"
    remark = "'op' receives the first argument; only handlers of kinds receive the operation"
    assert str(caught[0].message) == f"{name} for dispatchkit.exp: {remark}"


@pytest.mark.parametrize(
    ("module", "function"),
    [
        (dk.nn.Linear, "dk.nn.functional.linear"),
        (dk.nn.LayerNorm, "dk.nn.functional.layer_norm"),
        (dk.nn.Conv2d, "dk.nn.functional.conv2d"),
        (dk.nn.BatchNorm1d, "dk.nn.functional.batch_norm"),
        (dk.nn.ReLU, "dk.relu"),
        (type("Mine", (dk.nn.Linear,), {}), "dk.nn.functional.linear"),
    ],
)
def test_the_function_of_a_module_is_named(module: Any, function: str) -> None:
    with pytest.raises(dk.RegistrationError) as caught:
        dk.implements(module, Held)
    assert str(caught.value) == (
        f"implements: {module.__name__} is a module, not a function; give the function that it calls, {function}"
    )


def test_a_module_without_a_function_of_its_name_says_where_to_look() -> None:
    model = dk.nn.Sequential(dk.nn.ReLU())
    for target in (model, dk.nn.Sequential):
        with pytest.raises(dk.RegistrationError) as caught:
            dk.implements(target, Held)
        text = "Sequential is a module, not a function; give the functions that its forward calls"
        assert str(caught.value) == f"implements: {text}"


@pytest.mark.parametrize(
    ("target", "result", "shown"), [(dk.Tensor, 3, "an int, not a Tensor"), (dk.Tensor, None, "None, not a Tensor")]
)
def test_a_conversion_to_another_type_than_declared_is_named(target: type, result: Any, shown: str) -> None:
    @dk.array_type(fallback=dk.fallback.convert)
    class Source:
        shape = (2,)
        dtype = dk.float64

    def convert(x: Any) -> Any:
        return result

    convert.__annotations__ = {"x": Source, "return": target}
    dk.converts()(convert)
    with pytest.raises(dk.AnswerError) as caught:
        dk.exp(Source())
    assert str(caught.value) == (
        f"dispatchkit.exp: the conversion {convert.__qualname__} at {place(convert)} returned {shown}"
    )


@pytest.mark.parametrize(
    ("name", "what"),
    [("log", "method x.log()"), ("sign", "method x.sign()"), ("T", "attribute x.T"), ("grad", "attribute x.grad")],
)
def test_a_field_that_hides_what_arrays_have_is_warned_of(name: str, what: str) -> None:
    wrong = re.escape(f"array_type: the field '{name}' of Hiding hides the {what} of arrays; name it otherwise")
    for made in (
        type("Hiding", (), {"__annotations__": {name: dk.Tensor}}),
        type("Hiding", (), {"__slots__": (name,)}),
    ):
        with dk.local_registrations(), pytest.warns(dk.errors.FieldWarning, match=f"^{wrong}$") as caught:
            dk.array_type(fallback=dk.fallback.refuse)(made)
        assert [warning.filename for warning in caught] == [__file__]
    with dk.local_registrations(), pytest.warns(dk.errors.FieldWarning, match=f"^{wrong}$"):
        dk.array_type(fallback=dk.fallback.refuse, fields=(name,))(type("Hiding", (), {}))


def test_a_method_of_a_type_of_its_own_hides_nothing() -> None:
    own = type("Own", (), {"log": lambda self: self, "__annotations__": {"logs": Any}})
    dk.array_type(fallback=dk.fallback.refuse)(own)
