"""A handler's signature against its operation's: what is refused, warned of, guarded against."""

import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.errors import (
    NoImplementationError,
    RegistrationError,
    SignatureWarning,
    UnsupportedArgumentError,
)
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.parameters import Form, Parameters
from dispatchkit.protocol.rules import Rule
from tests.protocol.support import Answer, line_of


class A:
    def to_dense(self) -> float:
        return 1.0


@pytest.fixture
def mean(protocol: DispatchProtocol) -> Answer:
    protocol.register_type(A)

    @protocol.overridable(arrays=("x",))
    def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return ("body", x, axis, keepdims)

    return mean


def test_missing_keywords_are_fine_until_they_are_passed(protocol: DispatchProtocol, mean: Answer) -> None:
    @protocol.implements(mean)
    def mean_a(x: A, /) -> str:
        return "rule"

    assert mean(A()) == "rule"
    with pytest.raises(UnsupportedArgumentError):
        mean(A(), axis=0)
    assert mean(A()) == "rule"


def test_the_error_names_the_keyword(protocol: DispatchProtocol, mean: Answer) -> None:
    @protocol.implements(mean)
    def mean_a(x: A, /) -> str:
        return "rule"

    with pytest.raises(UnsupportedArgumentError) as caught:
        mean(A(), axis=0, keepdims=True)
    assert str(caught.value).splitlines()[0] == (
        "no implementation of 'lib.mean' for [A] takes the keyword 'axis', the keyword 'keepdims', "
        "and no declared fallback answers the call"
    )
    assert isinstance(caught.value, NoImplementationError)
    assert isinstance(caught.value, TypeError)


def test_an_unsupported_keyword_goes_to_the_fallback(protocol: DispatchProtocol, mean: Answer) -> None:
    protocol.register_type(A, fallback=fallback.dense)

    @protocol.implements(mean)
    def mean_a(x: A, /) -> str:
        return "rule"

    assert mean(A()) == "rule"
    with pytest.warns(match="made A dense"):
        assert mean(A(), axis=0) == ("body", 1.0, 0, False)


def test_an_unsupported_keyword_goes_to_the_next_rule(protocol: DispatchProtocol, mean: Answer) -> None:
    class Sub(A):
        pass

    protocol.implements(mean, Sub)(lambda x, /: "narrow")
    protocol.implements(mean, A)(lambda x, /, *, axis=None: "wide")
    assert mean(Sub()) == "narrow"
    assert mean(Sub(), axis=0) == "wide"


def test_a_required_keyword_is_guarded(protocol: DispatchProtocol, mean: Answer) -> None:
    protocol.implements(mean, A)(lambda x, /, *, axis: "with axis")
    assert mean(A(), axis=0) == "with axis"
    with pytest.raises(UnsupportedArgumentError, match="takes no 'axis'"):
        mean(A())


def test_a_keyword_of_another_name_for_the_array_is_guarded(protocol: DispatchProtocol) -> None:
    protocol.register_type(A)

    @protocol.overridable(arrays=("x",))
    def scale(x: Any, factor: float = 2.0) -> Any:
        return "body"

    protocol.implements(scale, A)(lambda value, factor=2.0: "rule")
    assert scale(A()) == "rule"
    with pytest.raises(UnsupportedArgumentError, match="the keyword 'x'"):
        scale(x=A())


def test_a_type_error_of_the_handler_is_its_own(protocol: DispatchProtocol, mean: Answer) -> None:
    @protocol.implements(mean)
    def mean_a(x: A, /) -> Any:
        return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as caught:
        mean(A())
    assert not isinstance(caught.value, NoImplementationError)


def test_a_renamed_keyword_is_warned_of(protocol: DispatchProtocol, mean: Answer) -> None:
    with pytest.warns(SignatureWarning, match=r"for lib\.mean: 'axes' is never passed; did you mean 'axis'\?"):

        @protocol.implements(mean)
        def mean_a(x: A, /, *, axes: Any = None, keepdims: bool = False) -> None: ...


@pytest.mark.parametrize(
    ("theirs", "right"), [("dim", "axis"), ("keepdim", "keepdims"), ("unbiased", "correction"), ("other", "x2")]
)
def test_the_name_of_a_keyword_in_pytorch_is_warned_of(protocol: DispatchProtocol, theirs: str, right: str) -> None:
    @protocol.overridable(arrays=("x",))
    def reduce(x: Any, /, *, x2: Any = None, axis: Any = None, keepdims: bool = False, correction: float = 0.0) -> Any:
        return x

    names: dict[str, Any] = {"Any": Any, "A": A}
    exec(f"def reduce_a(x: A, /, *, {theirs}: Any = None) -> Any: ...", names)  # noqa: S102
    with pytest.warns(SignatureWarning, match=f"'{theirs}' is never passed; did you mean '{right}'"):
        protocol.implements(reduce)(names["reduce_a"])


def test_a_required_name_of_pytorch_is_refused_with_the_right_one(protocol: DispatchProtocol, mean: Answer) -> None:
    with pytest.raises(
        RegistrationError, match="requires 'dim', which the operation never passes; did you mean 'axis'"
    ):

        @protocol.implements(mean)
        def mean_a(x: A, /, *, dim: Any) -> Any: ...


def test_another_default_is_warned_of(protocol: DispatchProtocol, mean: Answer) -> None:
    text = r"mean_a for lib\.mean: 'keepdims' is True by default here, False in the operation"
    with pytest.warns(SignatureWarning, match=text):

        @protocol.implements(mean)
        def mean_a(x: A, /, *, axis: Any = None, keepdims: bool = True) -> None: ...


def test_the_warning_points_at_the_handler(protocol: DispatchProtocol, mean: Answer) -> None:
    def register() -> None:
        protocol.implements(mean, A)(lambda x, /, *, keepdims=True: None)

    with pytest.warns(SignatureWarning) as caught:
        register()
    assert f"{caught[0].filename}:{caught[0].lineno - 1}" == line_of(register)


def test_a_warning_made_an_error_registers_nothing(protocol: DispatchProtocol, mean: Answer) -> None:
    with pytest.raises(SignatureWarning):
        protocol.implements(mean, A)(lambda x, /, *, keepdims=True: "rule")
    with pytest.raises(NoImplementationError):
        mean(A())


@pytest.mark.parametrize(
    "handler",
    [
        lambda x, /, *, axis=None, keepdims=False, extra=3: "rule",
        lambda x, extra=3, /, *, axis=None, keepdims=False: "rule",
        lambda *args, **kwargs: "rule",
        lambda x, **kwargs: "rule",
        lambda *args, axis=None, keepdims=False: "rule",
    ],
)
def test_extra_parameters_are_fine(protocol: DispatchProtocol, mean: Answer, handler: Callable[..., str]) -> None:
    protocol.implements(mean, A)(handler)
    assert mean(A()) == mean(A(), axis=0, keepdims=True) == "rule"


@pytest.mark.parametrize(
    ("handler", "fault"),
    [
        (lambda: None, "it takes 0 positional arguments, the operation passes 1"),
        (lambda *, x: None, "it takes 0 positional arguments, the operation passes 1"),
        (lambda x, other: None, "it requires 'other', which the operation never passes"),
        (lambda x, /, *, other: None, "it requires 'other', which the operation never passes"),
    ],
)
def test_what_can_never_be_called_is_refused(
    protocol: DispatchProtocol, mean: Answer, handler: Callable[..., None], fault: str
) -> None:
    with pytest.raises(RegistrationError) as caught:
        protocol.implements(mean, A)(handler)
    assert "<lambda> can never be called for lib.mean(x" in str(caught.value)
    assert fault in str(caught.value)
    with pytest.raises(NoImplementationError):
        mean(A())


# Every small pair of signatures, against Python's own binding of arguments.

NAMES = ("x", "y", "z")
KINDS = st.sampled_from(
    [inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY]
)


@st.composite
def signatures(draw: st.DrawFn, *, stars: bool) -> inspect.Signature:
    """Draw a signature of up to three parameters with these names in any order, and maybe stars."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(0 if stars else 1, 3))]
    kinds = sorted(draw(KINDS) for _ in names)
    optional = draw(st.integers(0, len(names)))
    parameters = [
        inspect.Parameter(name, kind, default=0 if index >= optional else inspect.Parameter.empty)
        for index, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    if stars and draw(st.booleans()):
        place = sum(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in parameters)
        parameters.insert(place, inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL))
    if stars and draw(st.booleans()):
        parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def function_of(signature: inspect.Signature, result: str) -> Callable[..., str]:
    def function(*args: Any, **kwargs: Any) -> str:
        signature.bind(*args, **kwargs)
        return result

    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def binds(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def calls(signature: inspect.Signature) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield every way to call a function of this signature with instances of A."""
    for count in range(len(NAMES) + 1):
        for size in range(len(NAMES) + 1):
            for names in itertools.combinations(NAMES, size):
                args, kwargs = tuple(A() for _ in range(count)), {name: A() for name in names}
                if binds(signature, args, kwargs):
                    yield args, kwargs


@given(operation=signatures(stars=False), takes=signatures(stars=True))
def test_a_handler_is_called_where_it_can_be_and_else_declines(
    operation: inspect.Signature, takes: inspect.Signature
) -> None:
    protocol = DispatchProtocol("__lib_function__", namespace="lib")
    function = protocol.overridable(function_of(operation, "body"))
    handler = function_of(takes, "rule")
    possible = list(calls(operation))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignatureWarning)
        try:
            protocol.implements(function, A)(handler)
        except RegistrationError:
            assert not any(binds(takes, *call) for call in possible), "only what can never be called is refused"
            return
    for args, kwargs in possible:
        if not args and not kwargs:
            continue  # nobody is asked
        if binds(takes, args, kwargs):
            assert function(*args, **kwargs) == "rule"
        else:
            with pytest.raises(UnsupportedArgumentError):
                function(*args, **kwargs)


def test_a_rule_of_the_very_same_signature_takes_every_call() -> None:
    protocol = DispatchProtocol("__lib_function__")

    @protocol.overridable
    def both_needed(a: Any, b: Any, c: Any = 1) -> None:
        """Take two arguments that must be given, by position or by name."""

    def handler(a: Any, b: Any, c: Any = 1) -> None: ...
    def without(a: Any, b: Any) -> None: ...

    operation = protocol.operation(both_needed)
    rules = [Rule(operation, (A,), True, one, inspect.signature(one), protocol.types) for one in (handler, without)]
    assert [rule.takes_everything(operation.parameters) for rule in rules] == [True, False]


SIGNATURES = [
    lambda a, b: None,
    lambda a, /, b=None: None,
    lambda a, b=1: None,
    lambda a, *, b: None,
    lambda a, *, b=None: None,
    lambda a, *rest: None,
    lambda *all_of_them, **names: None,
    lambda a, **names: None,
    lambda a, b, /: None,
]


@pytest.mark.parametrize("operation", SIGNATURES)
@pytest.mark.parametrize("handler", SIGNATURES)
def test_a_handler_takes_every_call_if_it_refuses_none_of_the_different_ones(handler: Any, operation: Any) -> None:
    parameters = Parameters(inspect.signature(operation), {"a": Form.ONE})
    for most in (None, 1):
        rule = Rule(None, (object,), False, handler, inspect.signature(handler), None, most=most)  # type: ignore[arg-type]  # asks no types
        calls = [((None,) * count, names) for count in range(4) for names in ((), ("a",), ("b",), ("a", "b"), ("c",))]
        refused = False
        for args, names in calls:
            kwargs = dict.fromkeys(names)
            try:
                parameters.signature.bind(*args, **kwargs)
            except TypeError:
                continue
            refused = refused or bool(rule.refusal(args, kwargs))
        assert rule.takes_everything(parameters) is not refused


def test_a_handler_without_an_optional_keyword_is_passed_over_where_it_is_given() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Three:
        def to_dense(self) -> dk.Tensor:
            return dk.full((3,), 2.0)

    @dk.implements(dk.sum, Three)
    def sum_three(x: Three, /, *, axis: Any = None, keepdims: bool = False) -> str:
        return "by the rule"

    x: Any = Three()
    for _ in range(2):
        assert dk.sum(x, dtype=None) == "by the rule"
        with pytest.warns(dk.DensifyWarning, match="it cannot be called with the keyword 'dtype'"):
            assert dk.sum(x, dtype=np.float32).dtype == "float32"


def test_what_handlers_take_is_found_out_once_for_those_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[Any] = []
    bind = inspect.Signature.bind

    def counted(signature: inspect.Signature, /, *args: Any, **kwargs: Any) -> Any:
        bound.append(signature)
        return bind(signature, *args, **kwargs)

    monkeypatch.setattr(inspect.Signature, "bind", counted)
    counts = []
    for default in (1.0, 2.0, None):
        takes = inspect.signature(lambda a_name_of_its_own, /, by=default: None)
        rule = Rule(None, (object,), False, print, takes, None)  # type: ignore[arg-type]  # asks no types
        assert rule.takes_everything(Parameters(inspect.signature(lambda x, /, by=1.0: None), {"x": Form.ONE}))
        counts.append(len(bound))
    assert 0 < counts[0] == counts[1] == counts[2]


def test_whether_a_rule_takes_every_call_is_found_out_once_for_an_operation(
    protocol: DispatchProtocol, mean: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    takes_everything = Rule.takes_everything

    def counted(rule: Rule, parameters: Any) -> bool:
        asked.append(rule.title)
        return takes_everything(rule, parameters)

    class Sub(A):
        pass

    monkeypatch.setattr(Rule, "takes_everything", counted)
    protocol.implements(mean, A)(lambda x, /, *, axis=None, keepdims=False: "wide")
    assert [mean(A()), mean(Sub()), mean(A(), axis=0)] == ["wide", "wide", "wide"]
    assert asked == ["<lambda>(A in any position)"]


def test_what_a_handler_cannot_take_is_found_out_once(
    protocol: DispatchProtocol, mean: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    refusal = Rule.refusal

    def counted(rule: Rule, args: Any, kwargs: Any) -> list[str]:
        asked.append(tuple(kwargs))
        return refusal(rule, args, kwargs)

    class Sub(A):
        pass

    protocol.implements(mean, Sub)(lambda x, /: "narrow")
    protocol.implements(mean, A)(lambda x, /, *, axis=None, keepdims=False: "wide")
    assert mean(Sub()) == "narrow"
    monkeypatch.setattr(Rule, "refusal", counted)
    assert [mean(Sub()), mean(Sub(), axis=0), mean(Sub(), axis=1)] == ["narrow", "wide", "wide"]
    assert asked == [("axis",)]
