"""Which parameters of a declared operation take arrays: what its annotations mean, not how they are written."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NewType, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from typing_extensions import TypeAliasType

import dispatchkit as dk
from dispatchkit.declare.typing import Array, ArrayLike, Index
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.parameters import Form

if typing.TYPE_CHECKING:
    from fractions import Fraction


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


class IndexOrder:
    pass


class ArrayLayoutFlag:
    pass


@dk.array_type()
class Duck:
    pass


class Sub(dk.Tensor):
    pass


TensorLike = TypeVar("TensorLike")
Bound = TypeVar("Bound", bound=dk.Tensor)
Named = NewType("Named", Duck)
Element = TypeVar("Element", bound=np.generic)
# NumPy's own aliases are such from 2.5 on.
Numbers = TypeAliasType("Numbers", np.ndarray[Any, np.dtype[Element]], type_params=(Element,))
ARRAYS: dict[str, Any] = {
    "an alias": Numbers,
    "an alias of a type": Numbers[np.float64],
    "Tensor": dk.Tensor,
    "a subclass": Sub,
    "numpy": np.ndarray,
    "NDArray": npt.NDArray[np.float64],
    "a declared type": Duck,
    "the alias": Array,
    "optional": dk.Tensor | None,
    "a number or an array": float | Duck,
    "a bound type variable": Bound,
    "a new type": Named,
}
SEVERAL: dict[str, Any] = {
    "a list": list[dk.Tensor],
    "a sequence": Sequence[Duck],
    "a tuple": tuple[dk.Tensor, ...],
    "text inside": list["Duck"],
    "one or a list": dk.Tensor | list[dk.Tensor],
}
PLAIN: dict[str, Any] = {
    "a name with Index": IndexOrder,
    "a name with Array": ArrayLayoutFlag,
    "a type variable": TensorLike,
    "a number": float,
    "numbers": Sequence[int],
    "a function of arrays": Callable[[dk.Tensor], dk.Tensor],
    "a mapping": dict[str, dk.Tensor],
    "a class": type[dk.Tensor],
    "literals": typing.Literal["Tensor", "Array"],
}


def forms(hint: Any, **options: Any) -> dict[str, Form]:
    """Return the forms of an operation with such a parameter."""

    def body(xp, x, mode=None, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202, RUF100
        return x

    body.__annotations__ = {"x": Array, "mode": hint, "rest": hint}
    declare: Any = dk.operation(**options)
    parameters = tensor_protocol.operation(declare(body)).parameters
    return {p.name: p.form for p in parameters.arrays}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_names_an_array_is_one(name: str) -> None:
    assert forms(ARRAYS[name]) == {"x": Form.ONE, "mode": Form.ONE, "rest": Form.STAR}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_sequence_of_arrays_is_one_of_several(name: str) -> None:
    assert forms(SEVERAL[name]) == {"x": Form.ONE, "mode": Form.SEQUENCE, "rest": Form.STAR}


@pytest.mark.parametrize("name", PLAIN)
def test_what_only_sounds_like_an_array_is_none(name: str) -> None:
    assert forms(PLAIN[name]) == {"x": Form.ONE}


@pytest.mark.parametrize(
    ("hint", "form"), [(ArrayLike, Form.LOOSE), (npt.ArrayLike, Form.LOOSE), (Index, Form.INDEX), (Any, None)]
)
def test_aliases_say_what_is_taken(hint: Any, form: Form | None) -> None:
    assert forms(hint).get("mode") is form
    assert forms(typing.Optional[hint]).get("mode") is form  # noqa: UP045


def test_a_mode_whose_class_sounds_like_an_array_is_passed_on() -> None:
    @dk.operation
    def shifted(xp: Any, x: Array, layout: ArrayLayoutFlag | str | None = None) -> Array:
        return x + 1 if layout == "C" else x

    assert shifted(dk.asarray([1.0]), layout="C").item() == 2.0


def test_a_local_class_is_resolved() -> None:
    @dk.array_type()
    class Local:
        pass

    @dk.operation
    def doubled(xp: Any, x: Local) -> Any:
        return x

    @dk.implements(doubled)
    def doubled_local(x: Local) -> str:
        return "rule"

    assert doubled(Local()) == "rule"


def test_what_cannot_be_resolved_is_refused_and_arrays_advised() -> None:
    def halved(xp: Any, x: Array, by: Fraction) -> Any:
        return x / 2

    text = (
        r"the annotation 'Fraction' of parameter 'by' of .*halved cannot be resolved "
        r"\(name 'Fraction' is not defined\); name the array parameters instead: operation\(arrays=\('x', ...\)\)"
    )
    with pytest.raises(RegistrationError, match=text):
        dk.operation(halved)
    assert dk.operation(arrays=("x",))(halved)(dk.asarray([2.0]), 2).item() == 1.0  # type: ignore[call-overload]


def test_arrays_name_the_array_parameters() -> None:
    assert forms(float, arrays=("mode",)) == {"mode": Form.ONE}
    assert forms(list[Duck], arrays=("x", "mode", "rest")) == {"x": Form.ONE, "mode": Form.SEQUENCE, "rest": Form.STAR}
    assert forms(dk.Tensor, arrays=("x",), kind=dk.kinds.manipulation) == {"x": Form.ONE}
    with pytest.raises(RegistrationError, match="operation: body has no parameter 'y'; it has x, mode, rest"):
        forms(float, arrays=("x", "y"))


def test_the_handler_of_an_operation_without_arrays_is_told_so() -> None:
    @dk.operation
    def seeded(xp: Any, n: int) -> Any:
        return xp.ones(n)

    def seeded_duck(n: Duck) -> str:
        return "rule"

    text = (
        r"seeded_duck can never be called for tests\.seeded: it has no array parameters; name them .*arrays=\('n',\)\)"
    )
    with pytest.raises(RegistrationError, match=text):
        dk.implements(seeded)(seeded_duck)


@pytest.mark.parametrize("hint", ["dk.Tensor", "Duck", "np.ndarray", "Array | None", "Any"])
def test_one_result_is_one_however_it_is_annotated(hint: str) -> None:
    def body(xp, x, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, RUF100
        return x

    body.__annotations__ = {"return": hint}
    assert not tensor_protocol.operation(dk.operation(body)).several  # type: ignore[attr-defined]
