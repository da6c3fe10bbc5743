"""Whose errors are put in an operation's terms, and whose are left as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import raw_array
from dispatchkit.declare.wrapping import wrap_array
from tests.bad_input.support import refuses


class OnDevice:
    """An array of another library, which knows devices and combines arrays of one shape only."""

    dtype, ndim, size = np.dtype("float64"), 1, 2

    def __init__(self, device: str, shape: tuple[int, ...] = (2,)) -> None:
        self.device, self.shape = device, shape

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return OnDevice

    @staticmethod
    def _combined(x1: Any, x2: Any) -> OnDevice:
        if x1.shape != x2.shape:
            raise RuntimeError("expected all arrays of one shape")
        return OnDevice(x1.device)

    add = matmul = _combined

    @staticmethod
    def asarray(obj: Any, /, **options: Any) -> Any:
        return obj

    @staticmethod
    def concat(arrays: list[Any], /, *, axis: int = 0) -> OnDevice:
        return OnDevice._combined(*arrays)


def test_arrays_of_other_libraries() -> None:
    a, b = dk.asarray(OnDevice("gpu:0")), dk.asarray(OnDevice("gpu:0", (3,)))
    texts = "shape (2,) on device gpu:0", "shape (3,) on device gpu:0", "expected all arrays of one shape"
    refuses(lambda: a + b, RuntimeError, "add", "x1 = ", "x2 = ", *texts)
    refuses(lambda: a @ b, RuntimeError, "matmul", "x1 = ", "x2 = ", *texts)
    refuses(lambda: dk.concat([a, b]), RuntimeError, "concat", "arrays = [", *texts)
    assert dk.add(a, a).device == "gpu:0"


@pytest.mark.parametrize("call", [dk.add, dk.matmul, lambda x1, x2: dk.concat([x1, x2])])
def test_arrays_on_several_devices(call: Any) -> None:
    text = r"^dispatchkit\.\w+: one array is of OnDevice on gpu:0, another"
    with pytest.raises(dk.MixedArraysError, match=text) as caught:
        call(dk.asarray(OnDevice("gpu:0")), dk.asarray(OnDevice("gpu:1")))
    assert "x1 = " not in str(caught.value)


def test_the_cause_is_what_the_array_library_raised() -> None:
    error = refuses(lambda: dk.ones(2) + dk.ones(3), ValueError, "add")
    assert type(error.__cause__) is ValueError
    assert str(error.__cause__).startswith("operands could not be broadcast")


class UnreadableError(TypeError):
    """An error that is made of an array, and reads its shape."""

    def __init__(self, array: Any) -> None:
        super().__init__(f"cannot read an array of shape {array.shape}")


class Refusing(OnDevice):
    """An array of a library that computes nothing."""

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return Refusing

    @staticmethod
    def _refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnreadableError(np.ones(2))

    exp = add = concat = reshape = asarray = _refuse


def copied(x: Any) -> Any:
    return dk.asarray(x, copy=True)


@pytest.mark.parametrize("call", [dk.exp, lambda x: x + x, lambda x: dk.concat([x, x]), dk.ravel, copied])
def test_an_error_of_another_library_is_raised_itself_with_a_note(call: Any) -> None:
    raw = Refusing("gpu:0")
    x = raw if call is copied else wrap_array(dk.Tensor, raw_array(raw))
    with pytest.raises(UnreadableError, match=r"^cannot read an array of shape \(2,\)") as caught:
        call(x)
    assert str(caught.value) == "cannot read an array of shape (2,)"
    (note,) = caught.value.__notes__
    assert note.startswith("raised in dispatchkit.")
    assert "float64 array of shape (2,) on device gpu:0" in note


def test_an_error_of_jax_is_raised_itself() -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(jax.errors.ConcretizationTypeError) as caught:
        jax.jit(lambda x: dk.asarray(x)[dk.asarray(x) > 0].array)(jax.numpy.ones(3))
    assert "raised in dispatchkit.getitem" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: dk.sum(dk.ones(2), axis=3), np.exceptions.AxisError),
        (lambda: dk.linalg.inv(dk.zeros((2, 2))), np.linalg.LinAlgError),
        (lambda: dk.ones(2)[4], IndexError),
        (lambda: dk.bitwise_and(dk.ones(2), dk.ones(2)), TypeError),
        (lambda: dk.negative(dk.tensor([True])), TypeError),
        (lambda: dk.asarray([1], dtype=dk.int8) + 1000, OverflowError),
    ],
)
def test_the_type_of_an_error_stays(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert "dispatchkit." in str(caught.value)


@dk.operation(kind=dk.kinds.function)
def raising(xp: Any, x: dk.Tensor, error: Exception, /) -> Any:
    """Raise an error."""
    raise error


@pytest.mark.parametrize("kind", [ValueError, TypeError, IndexError, np.linalg.LinAlgError, RuntimeError])
@pytest.mark.parametrize("where", ["handler", "mode", "body", "fallback", "inside a composite operation"])
def test_an_exception_of_a_user_arrives_as_it_was_raised(kind: type[Exception], where: str) -> None:
    raised = kind("of one's own")

    class Failing(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if func is dk.linalg.inv or where == "mode":
                raise raised
            return NotImplemented

    with dk.local_registrations():

        @dk.array_type(fallback=dk.fallback.dense)
        class Mine:
            def to_dense(self) -> Any:
                raise raised

        if where == "handler":

            @dk.implements(dk.add)
            def add_mine(x1: Mine, x2: Any, /) -> Any:
                raise raised

        def call() -> Any:
            if where in ("mode", "inside a composite operation"):
                with Failing():
                    return dk.linalg.matrix_power(dk.tensor(np.eye(2), requires_grad=True), -1)
            return raising(dk.ones(2), raised) if where == "body" else dk.add(Mine(), dk.ones(2))

        with pytest.raises(kind) as caught, dk.densify(on="allow"):
            call()
    assert caught.value is raised
    assert str(raised) == "of one's own"
    assert raised.__cause__ is None


def test_long_arguments_are_cut_short() -> None:
    error = refuses(lambda: dk.concat([dk.ones(2)] * 50 + [dk.ones((2, 2))]), ValueError, "concat", ", ...]")
    assert len(str(error)) < 600


def test_an_argument_that_is_a_class_is_shown() -> None:
    refuses(lambda: dk.sum(dk.ones(2), axis=5, dtype=np.float16), ValueError, "sum", "dtype = <class 'numpy.float16'>")
