"""Rules for operations of the library: pairs with tensors, NumPy operands, scalars, sequences, kinds."""

import inspect
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AnswerError, RegistrationError
from dispatchkit.protocol.instance import tensor_protocol
from tests.protocol.support import line_of


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


@dk.array_type()
class Duck:
    pass


class Plain:
    """Takes part by a rule alone."""


def describe(*values: Any) -> tuple[str, ...]:
    return tuple(type(value).__name__ for value in values)


@pytest.fixture
def with_tensor() -> None:
    @dk.implements(dk.add)
    def add_duck_tensor(x1: Duck, x2: dk.Tensor, /) -> Any:
        return describe(x1, x2)

    @dk.implements(dk.add)
    def add_tensor_duck(x1: dk.Tensor, x2: Duck, /) -> Any:
        return describe(x1, x2)


@pytest.mark.usefixtures("with_tensor")
@pytest.mark.parametrize(
    "other",
    [dk.ones(2), np.ones(2), np.float64(1), np.int8(1), np.bool_(1), np.ones((2, 2))[::2], 1.0, 1, True, 1j],
    ids=lambda value: type(value).__name__,
)
def test_tensor_is_matched_and_received_wrapped(other: Any) -> None:
    assert dk.add(Duck(), other) == ("Duck", "Tensor")
    assert dk.add(other, Duck()) == ("Tensor", "Duck")


@pytest.mark.usefixtures("with_tensor")
@pytest.mark.parametrize("other", [np.ones(2), np.float64(1), 1.0], ids=lambda value: type(value).__name__)
def test_operators_with_numpy_on_either_side(other: Any) -> None:
    x: Any = Duck()
    assert x + other == ("Duck", "Tensor")
    assert other + x == ("Tensor", "Duck")


@pytest.mark.usefixtures("with_tensor")
def test_subclasses_of_tensor_match_tensor() -> None:
    class Sub(dk.Tensor):
        pass

    assert dk.add(Duck(), Sub([1.0])) == ("Duck", "Sub")


def test_numpy_arrays_are_wrapped_for_any_rule() -> None:
    dk.implements(dk.add, Duck)(lambda x1, x2, /: describe(x1, x2))
    assert dk.add(Duck(), np.ones(2)) == ("Duck", "Tensor")
    assert dk.add(np.ones(2), Duck()) == ("Tensor", "Duck")


def test_python_scalars_match_their_types_first() -> None:
    @dk.implements(dk.multiply)
    def multiply_float(x1: Duck, x2: float, /) -> Any:
        return ("float", *describe(x2))

    @dk.implements(dk.multiply)
    def multiply_tensor(x1: Duck, x2: dk.Tensor, /) -> Any:
        return ("tensor", *describe(x2))

    @dk.implements(dk.multiply)
    def multiply_complex(x1: Duck, x2: complex, /) -> Any:
        return ("complex", *describe(x2))

    assert dk.multiply(Duck(), 2.0) == ("float", "float")
    assert dk.multiply(Duck(), 2) == ("float", "int")
    assert dk.multiply(Duck(), 2j) == ("complex", "complex")
    assert dk.multiply(Duck(), dk.ones(2)) == ("tensor", "Tensor")
    assert dk.multiply(Duck(), np.ones(2)) == ("tensor", "Tensor")


def test_a_union_of_scalar_and_tensor() -> None:
    @dk.implements(dk.multiply)
    def multiply_either(x1: Duck, x2: float | dk.Tensor, /) -> Any:
        return describe(x2)

    assert dk.multiply(Duck(), 2.0) == ("float",)
    assert dk.multiply(Duck(), np.ones(2)) == ("Tensor",)


def test_unions_of_the_type_and_tensor() -> None:
    @dk.implements(dk.multiply)
    def multiply_any(x1: Duck | dk.Tensor, x2: Duck | dk.Tensor, /) -> Any:
        return describe(x1, x2)

    assert dk.multiply(Duck(), dk.ones(2)) == ("Duck", "Tensor")
    assert dk.multiply(dk.ones(2), Duck()) == ("Tensor", "Duck")
    assert dk.multiply(Duck(), Duck()) == ("Duck", "Duck")
    assert dk.multiply(dk.ones(2), dk.ones(2)).tolist() == [1.0, 1.0]


def test_a_triple() -> None:
    @dk.implements(dk.where)
    def where_duck(condition: dk.Tensor, x1: Duck, x2: dk.Tensor, /) -> Any:
        return describe(condition, x1, x2)

    assert dk.where(np.array([True]), Duck(), 0.0) == ("Tensor", "Duck", "Tensor")


def test_a_rule_for_plain_tensors_alone_is_refused() -> None:
    with pytest.raises(dk.RegistrationError, match="names no type of its own"):

        @dk.implements(dk.add)
        def add_tensors(x1: dk.Tensor, x2: dk.Tensor, /) -> None: ...  # type: ignore[handler]


def test_a_class_known_by_a_rule_alone_is_no_foreign_object() -> None:
    dk.implements(dk.add, Duck, Plain)(lambda x1, x2, /: "pair")
    assert dk.add(Duck(), Plain()) == "pair"
    assert Duck() + Plain() == "pair"


def test_members_of_a_sequence() -> None:
    @dk.implements(dk.concat)
    def concat_ducks(arrays: list[Duck | dk.Tensor], /, *, axis: int | None = 0) -> Any:
        return (describe(*arrays), axis)

    assert dk.concat([Duck(), dk.ones(2), Duck()]) == (("Duck", "Tensor", "Duck"), 0)
    assert dk.concat((dk.ones(2), Duck()), axis=1) == (("Tensor", "Duck"), 1)


def test_one_type_serves_a_member_of_a_sequence() -> None:
    @dk.implements(dk.concat, Duck)
    def concat_ducks(arrays: Any, /, *, axis: int | None = 0) -> Any:
        return describe(*arrays)

    assert dk.concat([np.ones(2), Duck()]) == ("Tensor", "Duck")


def test_an_element_of_an_index() -> None:
    @dk.implements(dk.getitem)
    def getitem_by_duck(x: dk.Tensor, key: Duck, /) -> str:
        return "rule"

    assert dk.ones(3)[Duck()] == "rule"


def test_a_numpy_subclass_that_is_an_array_type_stays_itself() -> None:
    @dk.array_type()
    class Units(np.ndarray):
        pass

    @dk.implements(dk.exp)
    def exp_units(x: Units, /) -> Any:
        return describe(x)

    assert dk.exp(np.ones(2).view(Units)) == ("Units",)


def test_kinds_of_the_library() -> None:
    @dk.implements(dk.kinds.elementwise)
    def elementwise_duck(function: Any, x: Duck, /, *args: Any, **kwargs: Any) -> Any:
        return function.__name__

    @dk.implements(dk.kinds.reduction, Duck)
    def reduction_duck(function: Any, x: Any, /, **kwargs: Any) -> Any:
        return (function.__name__, kwargs)

    x: Any = Duck()
    assert dk.exp(x) == "exp"
    assert x + 1 == dk.add(x, 1) == "add"
    assert dk.sum(x, axis=1) == ("sum", {"axis": 1})
    with pytest.raises(dk.NoImplementationError):
        dk.reshape(x, (2, 2))


def test_a_rule_for_the_operation_beats_its_kind() -> None:
    dk.implements(dk.kinds.elementwise, Duck)(lambda function, *args: "kind")
    dk.implements(dk.exp, Duck)(lambda x, /: "operation")
    assert (dk.exp(Duck()), dk.log(Duck())) == ("operation", "kind")


def test_a_keyword_of_the_operation_that_no_rule_takes() -> None:
    dk.implements(dk.mean, Duck)(lambda x, /: "rule")
    x: Any = Duck()
    assert dk.mean(x) == x.mean() == "rule"
    text = "takes the keyword 'axis'"
    with pytest.raises(dk.UnsupportedArgumentError, match=text):
        dk.mean(x, axis=0)
    with pytest.raises(dk.UnsupportedArgumentError, match=text):
        x.mean(0)
    with pytest.raises(dk.UnsupportedArgumentError, match=text):
        x.mean(axis=0)


def test_a_missing_keyword_goes_to_the_dense_fallback() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Dense:
        def to_dense(self) -> dk.Tensor:
            return dk.ones((2, 2))

    dk.implements(dk.sum, Dense)(lambda x, /: "rule")
    assert dk.sum(Dense()) == "rule"
    with dk.densify(on="allow"):
        assert dk.sum(Dense(), axis=0).tolist() == [2.0, 2.0]


def test_a_method_of_a_tensor_names_the_operation() -> None:
    as_method: Any = dk.Tensor

    @dk.implements(as_method.sum, Duck)
    def sum_duck(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> str:
        return "rule"

    assert dk.sum(Duck()) == "rule"


class Silent:
    pass


@pytest.fixture
def silent() -> Iterator[Silent]:
    with dk.local_registrations():
        dk.array_type()(Silent)
        yield Silent()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dk.exp(x),
        lambda x: dk.add(x, x),
        lambda x: x + x,
        lambda x: 1.0 + x,
        lambda x: dk.ones(2) + x,
        lambda x: np.ones(2) + x,
        lambda x: dk.sum(x, axis=0),
        lambda x: x.sum(),
        lambda x: dk.concat([x, x]),
        lambda x: dk.where(x, x, x),
        lambda x: x[0],
        lambda x: dk.nn.functional.gelu(x),
        lambda x: x.__tensor_function__(dk.exp, (Silent,), (x,), {}),
    ],
)
def test_a_rule_that_returns_none_is_named(silent: Silent, call: Any) -> None:
    @dk.implements(dk.kinds.all, Silent)
    def forgotten(op: Any, *args: Any, **kwargs: Any) -> Any:
        op(dk.ones(2)) if op is dk.exp else None

    text = (
        rf"^dispatchkit\.[\w.]+: forgotten\(Silent in any position\) at {re.escape(line_of(forgotten))} returned None; "
    )
    for _ in range(3):
        with pytest.raises(AnswerError, match=text + r"return a result, NotImplemented or dk\.decline\(\"reason\"\)$"):
            call(silent)


def test_a_rule_that_returns_none_after_another_declined_is_named(silent: Silent) -> None:
    @dk.implements(dk.kinds.elementwise, Silent)
    def forgotten(op: Any, *args: Any) -> Any: ...

    @dk.implements(dk.exp, Silent)
    def declining(x: Any, /) -> Any:
        return dk.decline("not now")

    with pytest.raises(AnswerError, match=r"forgotten.* returned None"):
        dk.exp(silent)


def test_a_rule_that_forgets_to_return_at_times_is_named_then(silent: Silent) -> None:
    answers = iter([1, None, 2])
    dk.implements(dk.exp, Silent)(lambda x: next(answers))
    assert dk.exp(silent) == 1
    with pytest.raises(AnswerError, match="returned None"):
        dk.exp(silent)
    assert dk.exp(silent) == 2


def test_an_assignment_gives_none(silent: Silent) -> None:
    assigned = []
    dk.implements(dk.setitem, Silent)(lambda x, key, value, /: assigned.append((key, value)))
    silent[3] = 4  # type: ignore[index]
    assert assigned == [(3, 4)]


def test_none_of_ones_own_method_mode_or_function_is_a_result() -> None:
    class Own:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> None: ...

    class Mode(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> None: ...

    @dk.overridable
    def shown(x: Any) -> Any:
        return x

    dk.implements(shown, Silent)(lambda x: None)
    assert dk.exp(Own()) is None
    assert shown(Silent()) is None
    with Mode():
        assert dk.exp(dk.ones(1)) is None


def test_what_is_not_overridable_is_refused() -> None:
    with pytest.raises(dk.RegistrationError, match="set_printoptions is not overridable"):
        dk.implements(dk.set_printoptions, Duck)


def test_an_overridable_function_of_ones_own_does_not_hide_the_librarys() -> None:
    def mean(x: Any) -> Any:
        return "mine"

    dk.implements(dk.mean, Duck)(lambda x, /: "old")
    assert dk.mean(Duck()) == "old"
    mine = dk.overridable(mean)
    assert dk.explain(mine, 1).call != dk.explain(dk.mean, 1).call, "it is named by its own module"
    dk.implements(dk.mean, Duck)(lambda x, /: "new")
    assert dk.mean(Duck()) == "new"


def test_numpy_scalars_match_like_pythons_numbers() -> None:
    @dk.array_type()
    class Scaled:
        def __init__(self, value: float) -> None:
            self.value = value

    seen: list[type] = []

    @dk.implements(dk.multiply)
    def scale(x1: Scaled, x2: int | float, /) -> Scaled:
        seen.append(type(x2))
        return Scaled(x1.value * x2)

    for factor in (2, 2.5, np.int64(3), np.float32(1.5), np.float64(2.0)):
        dk.multiply(Scaled(1.0), factor)
    assert seen == [int, float, np.int64, np.float32, np.float64]


HANDLERS: dict[str, dict[Any, Any]] = {
    "slash": {
        dk.exp: lambda x, /: "rule",
        dk.add: lambda x1, x2, /: "rule",
        dk.mean: lambda x, /, *, axis=None, keepdims=False: "rule",
        dk.where: lambda condition, x1, x2, /: "rule",
        dk.concat: lambda arrays, /, *, axis=0: "rule",
    },
    "no slash": {
        dk.exp: lambda x: "rule",
        dk.add: lambda x1, x2: "rule",
        dk.mean: lambda x, axis=None, keepdims=False: "rule",
        dk.where: lambda condition, x1, x2: "rule",
        dk.concat: lambda arrays, axis=0: "rule",
    },
    "anything": dict.fromkeys((dk.exp, dk.add, dk.mean, dk.where, dk.concat), lambda *args, **kwargs: "rule"),
}


@pytest.mark.parametrize("op", [dk.exp, dk.add, dk.mean, dk.where, dk.concat])
@pytest.mark.parametrize("spelling", HANDLERS)
def test_a_handler_is_called_directly_whether_or_not_it_is_written_with_a_slash(spelling: str, op: Any) -> None:
    handler = HANDLERS[spelling][op]
    dk.implements(op, Duck)(handler)
    operation = tensor_protocol.operation(op)
    key = ((Duck,),) if op is dk.concat else (Duck,) * len(operation.parameters.arrays)
    assert tensor_protocol.chain(operation, key).head() is handler


# What Python says of a positional argument that is given by name; its releases differ.
with pytest.raises(TypeError) as _refused:
    inspect.signature(lambda x, /: None).bind(x=1)
BY_NAME = str(_refused.value)


@pytest.mark.parametrize(
    ("op", "args", "kwargs", "text"),
    [
        (dk.exp, (), {"x": Duck()}, "positional"),
        (dk.add, (Duck(),), {"x2": Duck()}, "positional"),
        (dk.mean, (), {"x": Duck()}, f"dispatchkit.mean: {BY_NAME}"),
        (dk.mean, (Duck(), 0), {}, "dispatchkit.mean: too many positional arguments"),
        (dk.mean, (Duck(),), {"axsi": 0}, "dispatchkit.mean: got an unexpected keyword argument 'axsi'"),
        (dk.where, (Duck(), Duck()), {}, "dispatchkit.where: missing a required argument: 'x2'"),
        (dk.where, (Duck(), Duck(), Duck(), Duck()), {}, "dispatchkit.where: too many positional arguments"),
        (dk.where, (Duck(), Duck()), {"x2": Duck()}, "dispatchkit.where: "),
        (dk.concat, ([Duck()], 0), {}, "dispatchkit.concat: too many positional arguments"),
        (dk.concat, ([Duck()],), {"axes": 0}, "dispatchkit.concat: got an unexpected keyword argument 'axes'"),
    ],
)
@pytest.mark.parametrize("way", ["plain", "in a mode", "redispatched"])
@pytest.mark.parametrize("spelling", ["no slash", "anything"])
def test_a_handler_that_takes_more_is_never_given_more(
    spelling: str, way: str, op: Any, args: Any, kwargs: Any, text: str
) -> None:
    dk.implements(op, Duck)(HANDLERS[spelling][op])

    def call() -> Any:
        if way == "redispatched":
            return dk.redispatch(op, args, kwargs, without=Plain)
        with dk.TensorFunctionMode() if way == "in a mode" else nullcontext():
            return op(*args, **kwargs)

    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)


def test_a_method_of_the_protocol_is_not_given_what_the_operation_does_not_take() -> None:
    class Own:
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> str:
            return "own"

    assert dk.mean(Own(), axis=0) == "own"
    with pytest.raises(TypeError, match="unexpected keyword argument 'axsi'"):
        dk.mean(Own(), axsi=0)  # type: ignore[call-arg]
    assert dk.where(Own(), 1, 2) == "own"
    with pytest.raises(TypeError, match="too many positional arguments"):
        dk.where(Own(), 1, 2, 3)  # type: ignore[call-arg]


@pytest.mark.parametrize("hint", [list[Duck], tuple[Duck, ...], Sequence[Duck], Duck | list[Duck], list])
def test_a_sequence_where_one_array_is_taken_is_refused(hint: Any) -> None:
    def exp_all(x, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return "rule"

    def reduce_all(op, x, /, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202, RUF100
        return "rule"

    exp_all.__annotations__ = reduce_all.__annotations__ = {"x": hint}
    with pytest.raises(RegistrationError, match=r"can never match: 'x' takes one array, and a \w+ is none; write"):
        dk.implements(dk.exp)(exp_all)  # type: ignore[handler]
    with pytest.raises(RegistrationError, match="can never match"):
        dk.implements(dk.kinds.reduction)(reduce_all)


def elementwise_on_ducks(op: Any, *args: Duck) -> str:
    assert all(type(x) is Duck for x in args)
    return "ducks"


@pytest.mark.parametrize("hint", [list[Duck], tuple[Duck, ...], Sequence[Duck], Duck])
def test_a_sequence_of_arrays_is_annotated_by_its_members(hint: Any) -> None:
    def concat_ducks(arrays, /, *, axis=0):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return "rule"

    concat_ducks.__annotations__ = {"arrays": hint}
    dk.implements(dk.concat)(concat_ducks)  # type: ignore[handler]
    assert dk.concat([Duck(), Duck()]) == "rule"
    # `Duck` alone stands for any position, a list of ducks holds nothing else.
    if hint is Duck:
        assert dk.concat((Duck(), dk.ones(2))) == "rule"
    else:
        with pytest.raises(dk.errors.NoImplementationError):
            dk.concat((Duck(), dk.ones(2)))


def test_a_rule_for_a_kind_with_starred_ducks_serves_calls_on_nothing_else() -> None:
    dk.implements(dk.kinds.elementwise)(elementwise_on_ducks)
    assert dk.add(Duck(), Duck()) == dk.exp(Duck()) == "ducks"
    calls: list[tuple[Any, ...]] = [
        (dk.add, Duck(), 1),
        (dk.special.polygamma, 1, Duck()),
        (dk.add, dk.ones(2), Duck()),
    ]
    for op, *args in calls:
        with pytest.raises(dk.errors.NoImplementationError):
            op(*args)


def test_a_rule_that_shares_the_plain_type_alone_is_not_nearest() -> None:
    @dk.array_type(fallback=dk.fallback.refuse)
    class Other:
        pass

    @dk.array_type(fallback=dk.fallback.refuse)
    class Asked:
        pass

    dk.implements(dk.add, Other, dk.Tensor)(lambda x1, x2, /: x2)
    with pytest.raises(dk.errors.NoImplementationError) as caught:
        dk.add(Asked(), dk.ones(1))
    assert caught.value.nearest == []


NUMBERS: dict[str, Any] = {
    "bool": True,
    "int": 1,
    "float": 1.0,
    "complex": 1j,
    "np.bool": np.bool_(True),
    "np.uint8": np.uint8(1),
    "np.int64": np.int64(1),
    "np.float32": np.float32(1),
    "np.complex64": np.complex64(1),
}
BOOLEANS, INTEGERS = ["bool", "np.bool"], ["int", "np.uint8", "np.int64"]
FLOATS = ["float", "np.float32"]


@pytest.mark.parametrize(
    ("named", "matched"),
    [
        (bool, BOOLEANS),
        (int, [*BOOLEANS, *INTEGERS]),
        (float, [*BOOLEANS, *INTEGERS, *FLOATS]),
        (complex, list(NUMBERS)),
        (np.float32, ["np.float32"]),
    ],
)
@pytest.mark.parametrize("beside", [None, dk.Tensor, np.ndarray])
def test_a_number_type_in_a_union_is_the_only_way_in_for_numbers(named: Any, matched: list[str], beside: Any) -> None:
    def scale(x1, x2, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return "rule"

    scale.__annotations__ = {"x1": Duck, "x2": named if beside is None else beside | named}
    dk.implements(dk.multiply)(scale)  # type: ignore[handler]
    reached = set()
    for name, number in NUMBERS.items():
        with suppress(dk.NoImplementationError):
            assert dk.multiply(Duck(), number) == "rule"
            reached.add(name)
    assert reached == set(matched)
    if beside is not None:
        assert dk.multiply(Duck(), np.ones(2)) == "rule"
        assert dk.multiply(Duck(), np.asarray(1j)) == "rule"


def test_numbers_among_several_arrays_are_those_that_a_union_names() -> None:
    @dk.implements(dk.einsum)
    def einsum_ducks(subscripts: str, /, *operands: Duck | dk.Tensor | float, optimize: Any = True) -> str:
        return "rule"

    assert dk.einsum("ii,", Duck(), 2.0) == dk.einsum("ii,", Duck(), dk.asarray(2j)) == "rule"
    with pytest.raises(dk.NoImplementationError):
        dk.einsum("ii,", Duck(), 2j)
