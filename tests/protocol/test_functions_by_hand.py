"""Functions that dispatch by hand, in the way of PyTorch's protocol, are answered as overridable ones are."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError
from dispatchkit.overrides import handle_tensor_function, has_tensor_function, wrap_tensor_function


def by_hand(x: Any, n: Any = 2) -> Any:
    """Divide, after asking the type of `x`."""
    if has_tensor_function((x,)):
        return handle_tensor_function(by_hand, (x,), x, n)
    return x / n


@wrap_tensor_function(lambda x, n=2: (x,))
def wrapped(x: Any, n: Any = 2) -> Any:
    """Divide, after asking the type of `x`."""
    return x / n


class Tagged(dk.Tensor):
    """A subclass without a handler."""

    tag: str


class Loud(dk.Tensor):
    """A subclass whose handler notes the call and asks the default."""

    calls: ClassVar[list[str]] = []

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func.__name__)
        return super().__tensor_function__(func, types, args, kwargs)


class Guard(dk.Tensor):
    """A subclass that answers nothing itself."""

    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


@dk.array_type()
class Refusing:
    """A type without rules."""


FORMS = pytest.mark.parametrize("half", [by_hand, wrapped], ids=["by hand", "wrapped"])


@FORMS
def test_tensors_without_a_handler_are_computed_by_the_function_itself(half: Any) -> None:
    assert half(dk.asarray([2.0])).tolist() == [1.0]
    assert half(dk.nn.Parameter(dk.asarray([2.0])), n=4).tolist() == [0.5]
    tagged = Tagged([2.0])
    tagged.tag = "t"
    result = half(tagged)
    assert (type(result), result.tolist(), result.tag) == (Tagged, [1.0], "t")
    assert type(half(Guard([2.0]))) is Guard


@FORMS
def test_the_default_is_reached_by_super(half: Any) -> None:
    Loud.calls.clear()
    assert half(Loud([2.0])).tolist() == [1.0]
    assert Loud.calls == [half.__name__, "divide"]


@FORMS
def test_modes_are_asked_first(half: Any) -> None:
    class Names(dk.TensorFunctionMode):
        names: ClassVar[list[str]] = []

        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            self.names.append(func.__name__)
            return func(*args, **kwargs)

    class Passes(dk.TensorFunctionMode):
        pass

    plain, tagged = dk.asarray([2.0]), Tagged([2.0])
    with Names() as names:
        assert half(plain).tolist() == [1.0]
        assert half(tagged).tolist() == [1.0]
    assert names.names == [half.__name__] * 2
    with Passes():
        assert half(dk.asarray([2.0])).tolist() == [1.0]
    with dk.disable_dispatch():
        assert half(Loud([2.0])).tolist() == [1.0]


@FORMS
def test_other_arguments_are_not_asked(half: Any) -> None:
    assert half(dk.asarray([2.0]), 4).tolist() == [0.5]
    with pytest.raises(NoImplementationError, match=r"dispatchkit\.divide"):
        half(dk.asarray([2.0]), Refusing())


@FORMS
def test_types_without_an_answer_are_refused(half: Any) -> None:
    with pytest.raises(
        NoImplementationError, match=rf"no implementation found for '.*\.{half.__name__}'.*\[Refusing\]"
    ):
        half(Refusing())


def test_a_function_that_is_wrapped_takes_rules() -> None:
    @wrap_tensor_function(lambda x, y: (x,))
    def pair(x: Any, y: Any) -> Any:
        return "body"

    @dk.implements(pair)
    def pair_refusing(x: Refusing, y: Any) -> str:
        return "rule"

    assert pair(Refusing(), 1) == "rule"
    assert pair(1, Refusing()) == "body"


def test_what_decides_may_stand_inside_an_argument() -> None:
    @wrap_tensor_function(lambda options: options.values())
    def pick(options: dict[str, Any]) -> Any:
        return "body"

    class Answers:
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return f"{func.__name__} with {[cls.__name__ for cls in types]}"

    assert pick({"a": 1}) == "body"
    assert pick({"a": dk.ones(1), "b": Answers()}) == "pick with ['Tensor', 'Answers']"


def test_the_library_s_own_classes_of_tensors_override_nothing() -> None:
    assert not has_tensor_function((dk.ones(1), dk.nn.Parameter(dk.ones(1)), 1.0))
    assert has_tensor_function((dk.ones(1), Tagged([1.0])))
    with dk.TensorFunctionMode():
        assert has_tensor_function(())
