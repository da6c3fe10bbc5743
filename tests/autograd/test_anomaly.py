"""`detect_anomaly`: which failures of a backward pass are reported, and where they say that the forward was."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import detect_anomaly, grad, is_anomaly_enabled, set_detect_anomaly
from dispatchkit.protocol import observers
from tests.graph.test_leaves import leaf


@dk.operation(kind=dk.kinds.elementwise)
def spoiled(xp: Any, x: dk.Tensor, /) -> Any:
    return x + 0


@spoiled.def_vjp
def spoiled_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    return g * float("nan")


@dk.operation(kind=dk.kinds.elementwise)
def unfinished(xp: Any, x: dk.Tensor, /) -> Any:
    return x + 0


@unfinished.def_vjp
def unfinished_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    raise LookupError("no table for this")


def failure(y: Any, **keywords: Any) -> dk.AnomalyError:
    with pytest.raises(dk.AnomalyError) as caught:
        y.backward(**keywords)
    return caught.value


def test_a_gradient_that_is_no_number_names_operation_and_line() -> None:
    with detect_anomaly():
        y = spoiled(leaf(1.0) * 2) + 1  # the line that is to blame
        text = str(failure(y))
    first, second, *lines = text.splitlines()
    assert first == "Function 'SpoiledBackward' returned nan values in its 0th output."
    assert second == "It was recorded here (most recent call last):"
    assert lines[-1] == "    y = spoiled(leaf(1.0) * 2) + 1  # the line that is to blame"
    assert f'File "{__file__}"' in lines[-2]
    assert "in test_a_gradient_that_is_no_number_names_operation_and_line" in lines[-2]


def test_the_lines_of_the_library_are_left_out() -> None:
    with detect_anomaly():
        text = str(failure(spoiled(leaf(1.0))))
    assert "dispatchkit/" not in text.replace(__file__, "")


def test_the_callers_of_the_forward_are_shown() -> None:
    def model(x: Any) -> Any:
        return spoiled(x)

    with detect_anomaly():
        y = model(leaf(1.0))
        text = str(failure(y))
    assert text.index("y = model(leaf(1.0))") < text.index("return spoiled(x)")


def test_the_real_thing_through_numpy() -> None:
    with np.errstate(all="ignore"), detect_anomaly():
        y = (dk.sqrt(leaf(0.0, 1.0)) * 0).sum()
        assert "Function 'SqrtBackward' returned nan values in its 0th output." in str(failure(y))


def test_a_rule_that_raises() -> None:
    with detect_anomaly():
        y = unfinished(leaf(1.0)) * 3
        error = failure(y)
    assert str(error).startswith("Function 'UnfinishedBackward' raised LookupError: no table for this\n")
    assert "y = unfinished(leaf(1.0)) * 3" in error.forward
    assert isinstance(error.__cause__, LookupError)
    assert isinstance(error, dk.AutogradError)


def test_a_value_changed_in_place_is_reported_where_it_was_saved() -> None:
    with detect_anomaly():
        a = leaf(1.0) * 2
        b = dk.exp(a)
        b += 1
        error = failure(b)
    assert isinstance(error.__cause__, dk.InplaceError)
    assert "b = dk.exp(a)" in str(error)


def test_which_output_is_counted_among_the_inputs_of_the_forward() -> None:
    @dk.operation
    def halves(xp: Any, x1: dk.Tensor, x2: dk.Tensor, /) -> Any:
        return x1 + x2

    @halves.def_vjp("x1")
    def halves_vjp_x1(xp: Any, g: Any, y: Any, x1: Any, x2: Any) -> Any:
        return g

    @halves.def_vjp("x2")
    def halves_vjp_x2(xp: Any, g: Any, y: Any, x1: Any, x2: Any) -> Any:
        return g * float("nan")

    with detect_anomaly():
        assert "'HalvesBackward' returned nan values in its 1th output." in str(failure(halves(leaf(1.0), leaf(2.0))))


def test_nan_may_be_allowed() -> None:
    x = leaf(1.0)
    with detect_anomaly(check_nan=False):
        spoiled(x).backward()
        assert str(failure(unfinished(x))).startswith("Function 'UnfinishedBackward' raised LookupError")
    assert x.grad is not None
    assert np.isnan(x.grad.item())


def test_a_forward_outside_is_looked_at_but_not_known() -> None:
    y = spoiled(leaf(1.0))
    with detect_anomaly():
        text = str(failure(y))
    assert text.startswith("Function 'SpoiledBackward' returned nan")
    assert "(not known: it was recorded outside detect_anomaly)" in text


def test_a_backward_outside_is_not_looked_at() -> None:
    x = leaf(1.0)
    with detect_anomaly():
        y, z = spoiled(x), unfinished(x)
    y.backward()
    with pytest.raises(LookupError, match="no table for this"):
        z.backward()


def test_right_gradients_are_right_inside() -> None:
    def loss(x: Any) -> Any:
        q, r = dk.linalg.qr(x)
        return (dk.exp(q) * r + dk.concat([x, x])[:2]).sum()

    x = dk.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    (expected,) = grad(loss(x), x)
    with detect_anomaly():
        (found,) = grad(loss(x), x)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_changes_in_place_are_seen() -> None:
    with detect_anomaly():
        y = dk.zeros(2)
        y[1:] = spoiled(leaf(1.0))
        y.mul_(2)
        assert "y[1:] = spoiled(leaf(1.0))" in str(failure(y.sum()))


def test_an_operation_made_of_others_is_seen() -> None:
    @dk.operation
    def composed(xp: Any, x: dk.Tensor, /) -> Any:
        return xp.exp(spoiled(x))

    with detect_anomaly():
        y = composed(leaf(1.0))
        text = str(failure(y))
    assert text.startswith("Function 'SpoiledBackward'")
    assert "return xp.exp(spoiled(x))" in text
    assert "y = composed(leaf(1.0))" in text


def test_a_function_of_ones_own() -> None:
    class Broken(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise RuntimeError("Some error in backward")

    with detect_anomaly():
        y = Broken.apply(leaf(1.0))
        error = failure(y * 2)
    assert error.what == "Function 'BrokenBackward' raised RuntimeError: Some error in backward"
    assert "y = Broken.apply(leaf(1.0))" in error.forward
    with pytest.raises(RuntimeError, match="Some error in backward"):
        y.backward()


def test_several_outputs() -> None:
    @dk.operation
    def pair(xp: Any, x: dk.Tensor, /) -> tuple[dk.Tensor, dk.Tensor]:
        return x + 0, x + 1

    @pair.def_vjp
    def pair_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
        return g[1] * float("nan")

    with detect_anomaly():
        _, second = pair(leaf(1.0))
        assert "_, second = pair(leaf(1.0))" in str(failure(second))


def test_array_types_are_seen_through() -> None:
    @dk.array_type(fields=("value",))
    class Holder:
        def __init__(self, value: Any) -> None:
            self.value = value

    with dk.local_registrations():

        @dk.implements(dk.exp)
        def exp_holder(x: Holder, /) -> Holder:
            return Holder(spoiled(x.value))

        with detect_anomaly():
            y: Any = dk.exp(Holder(leaf(1.0)))
            assert "y: Any = dk.exp(Holder(leaf(1.0)))" in str(failure(y.value))


def test_the_backward_of_a_backward_shows_both_forwards() -> None:
    x = leaf(1.0)
    with detect_anomaly():
        y = doubly(x)
        (g,) = grad(y, x, create_graph=True)
        error = failure(g)
    assert error.what == "Function 'SpoiledBackward' returned nan values in its 0th output."
    assert "(g,) = grad(y, x, create_graph=True)" in error.forward
    ((name, place),) = error.causes
    assert name == "DoublyBackward"
    assert "y = doubly(x)" in place
    assert "... by the backward of 'DoublyBackward', which was recorded here:\n" in str(error)


@dk.operation(kind=dk.kinds.elementwise)
def doubly(xp: Any, x: dk.Tensor, /) -> Any:
    return x * x


@doubly.def_vjp
def doubly_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    return spoiled(g * 2 * x) if isinstance(x, dk.Tensor) else g * 2 * x


def test_batches_are_looked_into() -> None:
    with detect_anomaly(), pytest.raises(dk.AnomalyError, match="SpoiledBackward"):
        dk.func.vmap(dk.func.grad(lambda x: spoiled(x).sum()))(dk.ones((3, 2)))


def test_it_nests() -> None:
    with detect_anomaly():
        with detect_anomaly(check_nan=False):
            spoiled(leaf(1.0)).backward()
        failure(spoiled(leaf(1.0)))
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
            spoiled(leaf(1.0)).backward()
        assert is_anomaly_enabled()
    assert not is_anomaly_enabled()


def test_it_is_set_at_once() -> None:
    set_detect_anomaly(True)
    try:
        failure(spoiled(leaf(1.0)))
    finally:
        set_detect_anomaly(False)
    assert not is_anomaly_enabled()


def test_nothing_observes_calls_once_it_is_switched_off() -> None:
    """Calls take the path of a program without observers again, which is faster."""
    assert observers.is_observed() is None
    set_detect_anomaly(True)
    set_detect_anomaly(False)
    assert observers.is_observed() is None
    with set_detect_anomaly(True):
        set_detect_anomaly(False)
    assert observers.is_observed() is None


def test_it_decorates() -> None:
    @detect_anomaly()
    def run() -> None:
        failure(spoiled(leaf(1.0)))

    run()
    assert not is_anomaly_enabled()


def test_an_error_leaves_it_off() -> None:
    with pytest.raises(LookupError), detect_anomaly():
        raise LookupError
    assert not is_anomaly_enabled()


def test_another_thread_does_not_look() -> None:
    seen: list[bool] = []
    with detect_anomaly():
        thread = threading.Thread(target=lambda: seen.append(is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_modes_answer_as_before() -> None:
    class Names(dk.TensorFunctionMode):
        def __init__(self) -> None:
            self.names: list[str] = []

        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            self.names.append(func.__name__)
            return func(*args, **kwargs)

    x = leaf(1.0)
    with Names() as outer, detect_anomaly(), Names() as inner:
        y = spoiled(x * 2)
        error = failure(y)
    assert outer.names == inner.names == ["multiply", "spoiled"]
    assert "y = spoiled(x * 2)" in error.forward


def test_errors_of_calls_are_as_before() -> None:
    class Foreign:
        def __radd__(self, other: Any) -> str:
            return "mine"

    with detect_anomaly():
        assert leaf(1.0) + Foreign() == "mine"
        with pytest.raises(dk.ForeignArgumentError):
            dk.add(leaf(1.0), Foreign())
        with pytest.raises(dk.NoImplementationError) as caught:
            dk.sum(Refusing())
    assert "detect_anomaly" not in str(caught.value)
    assert "Anomaly" not in str(caught.value)


@dk.array_type()
class Refusing:
    pass


def test_a_tensor_handed_through_keeps_its_line() -> None:
    x = spoiled(leaf(1.0))
    with detect_anomaly():
        y = dk.asarray(x)
        assert "not known" in str(failure(y))
