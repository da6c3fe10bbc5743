"""What a handler's annotations say: which types it answers for."""

import functools
import numbers
import typing
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, NewType, Optional, Protocol, TypeVar, Union

import pytest
from typing_extensions import TypeAliasType

from dispatchkit.errors import NoImplementationError, RegistrationError
from dispatchkit.protocol.engine import DispatchProtocol
from tests.protocol.support import Answer, binary, many, unary


class A:
    pass


class B:
    pass


class Sub(A):
    pass


T = TypeVar("T", bound=A)
Alias = TypeAliasType("Alias", A | B)
Native: Any = getattr(typing, "TypeAliasType", TypeAliasType)("Native", A | B)  # from Python 3.12 on


@pytest.fixture(autouse=True)
def types(protocol: DispatchProtocol) -> None:
    for cls in (A, B):
        protocol.register_type(cls)


@pytest.fixture
def combine(protocol: DispatchProtocol) -> Answer:
    return binary(protocol)


def answered(function: Answer, *args: Any, **kwargs: Any) -> bool:
    try:
        function(*args, **kwargs)
    except NoImplementationError:
        return False
    return True


def test_a_pair_has_its_own_rule(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_pair(x1: A, x2: B, /) -> str:
        return "pair"

    assert combine(A(), B()) == "pair"
    assert not answered(combine, B(), A())
    assert not answered(combine, A(), A())


def test_an_unannotated_parameter_takes_anything(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_any(x1: A, x2, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, RUF100
        return "left"

    assert combine(A(), B()) == combine(A(), 1) == combine(A(), object()) == "left"
    assert not answered(combine, 1, A())


def test_any_takes_anything(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_any(x1: Any, x2: B, /) -> str:
        return "right"

    assert combine(A(), B()) == combine("text", B()) == "right"


def test_a_triple_has_its_own_rule(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def where(condition: Any, x1: Any, x2: Any, /) -> Any:
        return "body"

    @protocol.implements(where)
    def where_triple(condition: A, x1: B, x2: A, /) -> str:
        return "triple"

    assert where(A(), B(), A()) == "triple"
    assert not answered(where, A(), A(), B())


@pytest.mark.parametrize("hint", [A | B, Union[A, B], Annotated[A | B, "either"], Alias, Native])  # noqa: UP007
def test_unions_are_expanded(protocol: DispatchProtocol, combine: Answer, hint: Any) -> None:
    def combine_union(x1, x2, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, RUF100
        return "union"

    combine_union.__annotations__ = {"x1": hint, "x2": hint}
    protocol.implements(combine)(combine_union)
    for x1 in (A(), B()):
        for x2 in (A(), B()):
            assert combine(x1, x2) == "union"


def test_optional_takes_none(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_optional(x1: A, x2: Optional[B], /) -> str:  # noqa: UP045
        return "optional"

    assert combine(A(), None) == combine(A(), B()) == "optional"
    assert not answered(combine, A(), A())


def test_a_bounded_type_variable_means_its_bound(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_bound(x: T, factor: float = 2.0) -> T:
        return x

    x = Sub()
    assert scale(x) is x


def test_a_generic_means_its_class(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_dict(x1: A, x2: dict[str, int], /) -> str:
        return "dict"

    assert combine(A(), {}) == "dict"


@pytest.mark.parametrize("hint", [list[A], Sequence[A], tuple[A, ...]])
def test_the_members_of_a_sequence_are_annotated(protocol: DispatchProtocol, hint: Any) -> None:
    @protocol.overridable
    def stack(arrays: Any) -> Any:
        return "body"

    def stack_members(arrays):  # type: ignore[no-untyped-def]  # noqa: ANN001, RUF100
        return "members"

    stack_members.__annotations__ = {"arrays": hint}
    protocol.implements(stack)(stack_members)
    assert stack([A(), A()]) == stack((A(),)) == "members"
    assert not answered(stack, [B()])
    assert not answered(stack, [A(), B()])
    assert not answered(stack, [A(), 1])


def test_members_of_a_sequence_may_be_of_several_types(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def stack(arrays: Any) -> Any:
        return "body"

    @protocol.implements(stack)
    def stack_members(arrays: list[A | int]) -> str:
        return "members"

    assert stack([A(), 1]) == stack([A(), A()]) == "members"
    assert not answered(stack, [A(), B()])


def test_starred_arrays_are_annotated(protocol: DispatchProtocol) -> None:
    gather = many(protocol)

    @protocol.implements(gather)
    def gather_members(*xs: A) -> str:
        return "starred"

    assert gather(A()) == gather(A(), A()) == "starred"
    assert not answered(gather, 1, A())


def test_starred_parameters_take_the_arrays_of_their_type_alone(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_all(*xs: A) -> str:
        return "starred"

    assert combine(A(), A()) == "starred"
    assert not answered(combine, A(), 1)
    assert not answered(combine, 1, A())


def test_python_scalars_match_their_types(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_int(x1: A, x2: int, /) -> str:
        return "int"

    @protocol.implements(combine)
    def combine_complex(x1: A, x2: complex, /) -> str:
        return "complex"

    assert combine(A(), 1) == combine(A(), True) == "int"
    assert combine(A(), 1.0) == combine(A(), 1j) == "complex"


def test_an_annotated_argument_that_is_left_out_is_no_obstacle(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def shift(x: Any, by: float = 1.0) -> Any:
        return "body"

    @protocol.implements(shift)
    def shift_a(x: A, by: float = 1.0) -> str:
        return "rule"

    assert shift(A(), 2.0) == "rule"
    assert shift(A(), by=2.0) == "rule"
    assert shift(A()) == "rule"


def test_a_keyword_only_array_is_annotated(protocol: DispatchProtocol) -> None:
    @protocol.overridable
    def fill(x: Any, *, out: Any = None) -> Any:
        return "body"

    @protocol.implements(fill)
    def fill_out(x: Any, *, out: A) -> str:
        return "out"

    assert fill(1, out=A()) == "out"
    assert not answered(fill, A())


def test_arrays_are_told_by_position_not_by_name(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_renamed(left: A, right: B, /) -> str:
        return "renamed"

    assert combine(A(), B()) == "renamed"


def test_subclasses_are_served(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine)
    def combine_pair(x1: A, x2: B, /) -> str:
        return "pair"

    assert combine(Sub(), B()) == "pair"


def test_explicit_types_go_before_annotations(protocol: DispatchProtocol, combine: Answer) -> None:
    @protocol.implements(combine, B, B)
    def combine_declared(x1: A, x2: A, /) -> str:
        return "declared"

    assert combine(B(), B()) == "declared"
    assert not answered(combine, A(), A())


def test_a_handler_without_any_type_is_refused(protocol: DispatchProtocol, combine: Answer) -> None:
    with pytest.raises(RegistrationError, match=r"names no type of its own .*annotate the array parameters"):

        @protocol.implements(combine)
        def combine_nothing(x1: Any, x2: int, /) -> None: ...


def test_an_annotation_that_is_no_class_is_refused(protocol: DispatchProtocol, combine: Answer) -> None:
    def combine_text(x1, x2, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, RUF100
        return "text"

    combine_text.__annotations__ = {"x1": 3}
    with pytest.raises(RegistrationError, match=r"the annotation 3 .*pass the types instead"):
        protocol.implements(combine)(combine_text)


def test_a_class_that_subclasses_a_scalar_can_have_rules(protocol: DispatchProtocol) -> None:
    @protocol.array_type()
    class Metres(float):
        pass

    scale = unary(protocol)

    @protocol.implements(scale)
    def scale_metres(x: Metres, factor: float = 2.0) -> str:
        return "metres"

    assert scale(Metres(1.0)) == "metres"


class Left(Protocol):
    def left(self) -> int: ...


class LeftA(A):
    def left(self) -> int:
        return 1


class Derived(Left, Protocol):
    pass


class Explicit(Derived):
    def left(self) -> int:
        return 2


class Structural(Protocol):
    @classmethod
    def __lib_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...


class Virtual(ABC):  # noqa: B024  # a class to register with
    pass


Virtual.register(LeftA)


class Abstract(ABC):
    @abstractmethod
    def size(self) -> int: ...


class Concrete(Abstract):
    def size(self) -> int:
        return 1


class Instantiable(ABC):  # noqa: B024  # it has nothing abstract
    def __init__(self) -> None:
        self.value = 1


def annotated(hint: Any) -> Any:
    def handler(x, factor=2.0):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return "rule"

    handler.__annotations__ = {"x": hint}
    return handler


ADVICE = "rules are looked up by the MRO, and no class is derived from this"
NEVER = {
    Structural: f"Structural: {ADVICE} protocol; write the classes themselves, as in A | B",
    Virtual: f"Virtual: {ADVICE} abstract base class; write the classes themselves, as in A | B, or declare Virtual an "
    "array type first",
}


@pytest.mark.parametrize("hint", [Structural, Virtual])
@pytest.mark.parametrize("how", ["annotated", "in a union", "explicit"])
def test_a_class_that_is_in_no_mro_is_refused(protocol: DispatchProtocol, how: str, hint: Any) -> None:
    handler = annotated(A | hint if how == "in a union" else hint if how == "annotated" else Any)
    with pytest.raises(RegistrationError) as caught:
        protocol.implements(unary(protocol), *([hint] if how == "explicit" else []))(handler)
    assert str(caught.value).endswith(f"can never be called for {NEVER[hint]}")


@pytest.mark.parametrize("hint", [numbers.Real, numbers.Number])
def test_abstract_numbers_are_refused_and_pythons_advised(protocol: DispatchProtocol, hint: Any) -> None:
    def combine_number(x1, x2, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return "rule"

    combine_number.__annotations__ = {"x1": A, "x2": hint}
    with pytest.raises(RegistrationError, match="write int, float or complex"):
        protocol.implements(binary(protocol))(combine_number)


@pytest.mark.parametrize(
    ("hint", "value"),
    [(Left, Explicit()), (Derived, Explicit()), (Abstract, Concrete()), (Instantiable, Instantiable())],
)
def test_an_abstract_class_with_concrete_ones_derived_from_it_is_found(
    protocol: DispatchProtocol, hint: Any, value: Any
) -> None:
    scale = unary(protocol)
    protocol.implements(scale)(annotated(hint))
    assert scale(value) == "rule"


def test_an_abstract_class_that_is_declared_is_found_in_later_classes(protocol: DispatchProtocol) -> None:
    class Base(ABC):
        @abstractmethod
        def size(self) -> int: ...

    scale = unary(protocol)
    protocol.array_type()(Base)
    protocol.implements(scale)(annotated(Base))

    class Later(Base):
        def size(self) -> int:
            return 1

    assert scale(Later()) == "rule"


def test_a_type_variable_with_constraints_is_each_of_them(protocol: DispatchProtocol, combine: Answer) -> None:
    V = TypeVar("V", A, B)

    @protocol.implements(combine)
    def combine_same(x1: V, x2: V, /) -> str:
        return "same"

    assert combine(A(), A()) == combine(B(), B()) == "same"
    assert not answered(combine, A(), B())
    scale = unary(protocol)
    protocol.implements(scale)(annotated(V))
    assert scale(A()) == scale(B()) == "rule"


def test_a_new_type_means_the_class_below(protocol: DispatchProtocol) -> None:
    scale = unary(protocol)
    protocol.implements(scale)(annotated(NewType("Named", A)))
    assert scale(A()) == "rule"


@pytest.mark.parametrize("hint", [list["A"], "list['A']", Union["A", "B"], typing.List["A"]])  # noqa: UP006
def test_text_inside_of_an_annotation_is_resolved(protocol: DispatchProtocol, hint: Any) -> None:
    @protocol.overridable
    def stack(arrays: Any) -> Any:
        return "body"

    def stack_members(arrays):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return "members"

    stack_members.__annotations__ = {"arrays": hint}
    protocol.implements(stack)(stack_members)
    assert stack(A() if "B" in str(hint) else [A()]) == "members"


class Handler:
    x: int  # the annotations of a class are not those of its calls

    def __call__(self, x: A, factor: float = 2.0) -> str:
        return "object"

    def method(self, x: A, factor: float = 2.0) -> str:
        return "method"


def of_three(first: int, x: A, factor: float = 2.0) -> str:
    return "partial"


@functools.wraps(Handler.method)
def wrapper(*args: Any, **kwargs: Any) -> str:
    return "wrapped"


@pytest.mark.parametrize(
    ("handler", "answer"),
    [
        (Handler(), "object"),
        (Handler().method, "method"),
        (functools.partial(of_three, 1), "partial"),
        (functools.partial(Handler.method, Handler()), "method"),
        (functools.partial(wrapper, Handler()), "wrapped"),
        (functools.lru_cache(functools.partial(of_three, 1)), "partial"),
    ],
)
def test_the_annotations_of_whatever_is_called_are_read(protocol: DispatchProtocol, handler: Any, answer: str) -> None:
    scale = unary(protocol)
    protocol.implements(scale)(handler)
    assert scale(A()) == answer
    rule = protocol.handlers.of_operations()[0]
    assert rule.types == (A,)
    assert __file__ in rule.location


def test_a_class_is_read_by_its_constructor(protocol: DispatchProtocol) -> None:
    class Made:
        factor: str

        def __init__(self, x: A, factor: float = 2.0) -> None:
            self.x = x

    scale = unary(protocol)
    protocol.implements(scale)(Made)
    assert isinstance(scale(A()), Made)
