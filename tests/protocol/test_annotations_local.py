"""Annotations that name classes local to a function, kept as text by the `annotations` future."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.engine import DispatchProtocol
from tests.protocol.support import binary, unary


class Module:
    pass


def test_a_class_of_the_module(protocol: DispatchProtocol) -> None:
    protocol.register_type(Module)
    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_module(x: Module, factor: float = 2.0) -> str:
        return "rule"

    assert scale(Module()) == "rule"


def test_a_class_local_to_the_function(protocol: DispatchProtocol) -> None:
    @protocol.array_type()
    class Local:
        pass

    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_local(x: Local, factor: float = 2.0) -> str:
        return "rule"

    assert scale(Local()) == "rule"


def test_a_class_of_the_function_around(protocol: DispatchProtocol) -> None:
    @protocol.array_type()
    class Outer:
        pass

    scale = unary(protocol)

    def register() -> None:
        @protocol.implements(scale)
        def scale_outer(x: Outer, factor: float = 2.0) -> str:
            return "rule"

    register()
    assert scale(Outer()) == "rule"


def test_the_innermost_of_two_names_is_meant(protocol: DispatchProtocol) -> None:
    class Module:
        pass

    protocol.register_type(Module)
    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_shadowed(x: Module, factor: float = 2.0) -> str:
        return "rule"

    assert scale(Module()) == "rule"
    assert scale(globals()["Module"]())[0] == "body"


def test_unions_of_local_classes(protocol: DispatchProtocol) -> None:
    class A:
        pass

    class B:
        pass

    protocol.register_type(A)
    protocol.register_type(B)
    combine = binary(protocol)

    @protocol.implements(combine)
    def combine_either(x1: A | B, x2: A | B | int, /) -> str:
        return "rule"

    assert combine(A(), B()) == combine(B(), 1) == "rule"


def test_a_class_nested_in_a_local_class(protocol: DispatchProtocol) -> None:
    class Outer:
        class Inner:
            pass

    protocol.register_type(Outer.Inner)
    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_inner(x: Outer.Inner, factor: float = 2.0) -> str:
        return "rule"

    assert scale(Outer.Inner()) == "rule"


def test_a_return_annotation_is_not_looked_at(protocol: DispatchProtocol) -> None:
    protocol.register_type(Module)

    @protocol.implements(unary(protocol))
    def scale_unresolved(x: Module, factor: float = 2.0) -> NotImportedHere:  # type: ignore[name-defined]  # noqa: F821
        return x


def test_a_name_that_cannot_be_found_says_to_pass_the_types(protocol: DispatchProtocol) -> None:
    with pytest.raises(RegistrationError) as caught:

        @protocol.implements(unary(protocol))
        def scale_missing(x: Missing, factor: float = 2.0) -> Any:  # type: ignore[name-defined]  # noqa: F821
            return x

    assert "the annotation 'Missing' of parameter 'x' of " in str(caught.value)
    assert "scale_missing cannot be resolved (name 'Missing' is not defined)" in str(caught.value)
    assert "pass the types instead: implements(operation, Type, ...)" in str(caught.value)


def test_a_class_whose_function_has_returned_says_to_pass_the_types(protocol: DispatchProtocol) -> None:
    def define() -> tuple[type, Callable[..., str]]:
        class Gone:
            pass

        def scale_gone(x: Gone, factor: float = 2.0) -> str:
            return "rule"

        return Gone, scale_gone

    returned, handler = define()
    protocol.register_type(returned)
    scale = unary(protocol)
    with pytest.raises(RegistrationError, match="pass the types instead"):
        protocol.implements(scale)(handler)
    protocol.implements(scale, returned)(handler)
    assert scale(returned()) == "rule"


def test_a_conversion_to_a_class_of_the_module(protocol: DispatchProtocol) -> None:
    class Source:
        pass

    @protocol.converts()
    def module_of(x: Source) -> Module:
        return Module()

    assert [cls for _, cls, _ in protocol.conversions.reachable(Source)] == [Module]


def test_conversions_between_local_classes(protocol: DispatchProtocol) -> None:
    class Source:
        pass

    class Target:
        pass

    @protocol.converts()
    def target_of(x: Source) -> Target:
        return Target()

    edges = list(protocol.conversions.reachable(Source))
    assert [(cost, cls) for cost, cls, _ in edges] == [(1.0, Target)]
