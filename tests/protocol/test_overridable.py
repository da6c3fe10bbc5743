"""Functions made overridable: one's own and a third party's."""

import inspect
import json
import math
import operator
import pickle
import statistics
from collections.abc import Callable
from typing import Any

import pytest

from dispatchkit.errors import NoImplementationError, RegistrationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.overridable import of


class A:
    pass


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    protocol.register_type(A)


GLOBAL = DispatchProtocol("__global_function__")


@GLOBAL.overridable
def scaled(x: Any, /, factor: float = 2.0, *, offset: float = 0.0) -> Any:
    """Scale, then shift."""
    return x * factor + offset


def test_plain_calls_run_the_body() -> None:
    assert scaled(3.0) == 6.0
    assert scaled(3.0, 3.0, offset=1.0) == 10.0


def test_it_looks_like_the_function() -> None:
    assert (scaled.__name__, scaled.__qualname__, scaled.__module__) == ("scaled", "scaled", __name__)
    assert scaled.__doc__ == "Scale, then shift."
    assert str(inspect.signature(scaled)).startswith("(x: Any, /, factor: float = 2.0, *, offset: float")
    assert scaled.__annotations__["factor"] is float


def test_it_pickles_by_name() -> None:
    assert pickle.loads(pickle.dumps(scaled)) is scaled


def test_it_is_named_by_its_module() -> None:
    operation = of(scaled)
    assert operation is not None
    assert operation.qualified_name == f"{__name__}.scaled"


def test_it_is_listed(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def listed(x: Any) -> Any:
        return x

    assert protocol.operations["lib.listed"].function is listed


def test_two_of_one_name_are_both_listed(protocol: DispatchProtocol) -> None:
    def make() -> Callable[..., Any]:
        def same(x: Any) -> Any:
            return x

        return protocol.overridable(same)

    made = [make(), make()]
    assert [operation.function for operation in protocol.operations.values()] == made


def test_a_namespace_may_be_given(protocol: DispatchProtocol) -> None:
    @protocol.overridable(namespace="lib.special")
    def gamma(x: Any) -> Any:
        return x

    with pytest.raises(NoImplementationError, match=r"'lib\.special\.gamma'"):
        gamma(A())


@pytest.mark.parametrize(
    ("function", "args", "result"),
    [
        (statistics.fmean, ([1.0, 2.0],), 1.5),
        (math.sqrt, (4.0,), 2.0),
        (operator.add, (1, 2), 3),
        (json.dumps, ({"a": 1},), '{"a": 1}'),
        (len, ([1, 2],), 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_third_party_functions(
    protocol: DispatchProtocol, function: Callable[..., Any], args: tuple[Any, ...], result: Any
) -> None:
    taken = protocol.overridable(function)
    assert taken(*args) == result
    protocol.implements(taken, A)(lambda *args, **kwargs: "rule")
    assert taken(*[A()] * len(args)) == "rule"
    assert taken(*args) == result


def test_the_third_partys_function_itself_stays_as_it_was(protocol: DispatchProtocol) -> None:
    taken = protocol.overridable(statistics.fmean)
    assert taken is not statistics.fmean
    assert of(statistics.fmean) is None


def test_a_function_without_a_signature_is_refused_and_not_listed(protocol: DispatchProtocol) -> None:
    with pytest.raises((RegistrationError, ValueError), match="signature"):
        protocol.overridable(max)
    assert not protocol.operations


def test_its_body_is_its_decomposition(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def inner(x: Any) -> Any:
        return x

    @protocol.overridable
    def outer(x: Any) -> Any:
        return ("outer", inner(x))

    protocol.register_type(A, fallback=fallback.decompose)
    protocol.implements(inner, A)(lambda x: "rule")
    assert outer(A()) == ("outer", "rule")


def test_it_is_explained(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def explained(x: Any) -> Any:
        return x

    assert str(protocol.explain(explained, 1)).startswith("lib.explained(int)")


def test_it_can_be_a_method(protocol: DispatchProtocol) -> None:
    class Model:
        @protocol.overridable(arrays=("x",))
        def predict(self, x: Any) -> Any:
            return (type(self), x)

    protocol.implements(Model.predict, A)(lambda self, x: ("rule", type(self)))
    assert Model().predict(1) == (Model, 1)
    assert Model().predict(A()) == ("rule", Model)


def test_arrays_must_be_parameters(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError, match="overridable: scale has no parameter 'y'"):

        @protocol.overridable(arrays=("x", "y"))
        def scale(x: Any) -> Any:
            return x

    assert not protocol.operations


def test_an_unexpected_keyword_is_a_type_error_for_everyone(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def scale(x: Any, factor: float = 2.0) -> Any:
        return "body"

    protocol.implements(scale, A)(lambda *args, **kwargs: "rule")
    for x in (1, A()):
        with pytest.raises(TypeError, match="alpha"):
            scale(x, alpha=2)  # type: ignore[call-arg]


def test_a_missing_argument_is_a_type_error_for_everyone(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def combine(x1: Any, x2: Any) -> Any:
        return "body"

    protocol.implements(combine, A)(lambda *args, **kwargs: "rule")
    for x in (1, A()):
        with pytest.raises(TypeError, match="x2"):
            combine(x)  # type: ignore[call-arg]


def test_the_function_can_be_overridden_by_two_protocols() -> None:
    one, two = DispatchProtocol("__one__", namespace="one"), DispatchProtocol("__two__", namespace="two")

    def scale(x: Any) -> Any:
        return "body"

    first = one.overridable(scale)
    second = two.overridable(first)
    one.implements(first, A)(lambda x: "one")
    assert (first(A()), second(A())) == ("one", "one")

    class B:
        pass

    two.implements(second, B)(lambda x: "two")
    assert (first(B()), second(B())) == ("body", "two")


def test_the_protocol_prints_its_method(protocol: DispatchProtocol) -> None:
    assert repr(protocol) == "DispatchProtocol('__lib_function__')"
