"""Subclasses that nobody overrides for are computed as plain tensors, by the public function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.nn import functional
from dispatchkit.protocol.overridable import of


class Noted(dk.Tensor):
    """Keeps a note, and counts what it is made from."""

    note = ""

    def __tensor_finalize__(self, op: Any, sources: tuple[Any, ...]) -> None:
        assert type(sources) is tuple
        self.note = f"{op.__name__} of {len(sources)}"


def tensors(*lengths: int) -> dk.Tensor:
    return dk.asarray(np.linspace(-1.0, 2.0, int(np.prod(lengths))).reshape(lengths))


CALLS: dict[str, Callable[[Any], Any]] = {
    "several arrays": lambda w: functional.linear(tensors(2, 3), w),
    "several arrays, and a kernel of its own": lambda w: functional.layer_norm(tensors(2, 3), (3,), w[0], w[1]),
    "one array": lambda w: dk.sum(w, axis=0),
    "one array, and a kernel of its own": lambda w: functional.softmax(w, axis=-1),
    "a view of one array": lambda w: dk.reshape(w, (-1,)),
    "bounds": lambda w: dk.clip(w, 0.0, 1.0),
    "a sequence": lambda w: dk.concat([w, w], axis=1),
    "a sequence stacked": lambda w: dk.stack([w, w]),
    "a sequence of two classes": lambda w: dk.concat([tensors(4, 3), w, tensors(4, 3)]),
    "a sequence with an array": lambda w: dk.concat([np.ones((4, 3)), w]),
    "a part": lambda w: w[1:, 0],
    "a row": lambda w: w[1],
    "rows of an array": lambda w: w[np.asarray([2, 0])],
    "the last row in turn": lambda w: list(w)[-1],
    "several results": lambda w: dk.linalg.svd(w).S,
}
CLASSES: dict[str, Callable[[Any], Any]] = {
    "Parameter": dk.nn.Parameter,
    "as_torch.Tensor": lambda x: torch.from_numpy(np.asarray(x)),
    "as_torch.nn.Parameter": lambda x: torch.nn.Parameter(torch.from_numpy(np.asarray(x))),
    "a subclass": Noted,
}


@pytest.mark.parametrize("recording", [True, False], ids=["recording", "no graph"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("make", CLASSES.values(), ids=CLASSES)
def test_the_second_call_gives_what_the_first_gave(
    make: Callable[[Any], Any], call: Callable[[Any], Any], recording: bool
) -> None:
    w = make(tensors(4, 3))
    with dk.set_grad_enabled(recording):
        first, second = call(w), call(w)
    assert type(second) is type(first)
    assert np.array_equal(dk.asarray(second).array, dk.asarray(first).array)
    assert second.requires_grad == first.requires_grad == (recording and w.requires_grad)
    assert getattr(second, "note", "") == getattr(first, "note", "") != "nothing"


def test_parameters_are_computed_by_the_public_function_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = tensors(2, 3), dk.nn.Parameter(tensors(4, 3))

    def by_default(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("was asked")

    by_default.gives = dk.Tensor  # type: ignore[attr-defined]  # as what computes by default says
    with dk.no_grad():
        functional.linear(x, w), functional.linear(np.ones((2, 3)), w)
    # Where an array of another library has been met in this process, all calls go by the table.
    monkeypatch.setitem(functional.linear.__globals__, "_foreign", [])  # type: ignore[attr-defined]  # is compiled
    answers = of(functional.linear).decisions  # type: ignore[union-attr]  # is an operation
    monkeypatch.setitem(answers, (np.ndarray, dk.nn.Parameter, type(None)), by_default)
    monkeypatch.setitem(answers, (dk.Tensor, dk.nn.Parameter, type(None)), by_default)
    with dk.no_grad():
        assert type(functional.linear(x, w)) is dk.Tensor
        with pytest.raises(AssertionError, match="was asked"):
            functional.linear(np.ones((2, 3)), w)  # NumPy's arrays may hold anything
    with pytest.raises(AssertionError, match="was asked"):
        functional.linear(x, w)  # is to be recorded


@pytest.mark.parametrize("cls", [dk.nn.Parameter, Noted])
def test_a_rule_that_is_registered_later_is_seen_by_the_next_call(cls: type) -> None:
    x, w = tensors(2, 3), cls(tensors(4, 3))
    with dk.no_grad():
        for function, call in ((functional.linear, lambda: functional.linear(x, w)), (dk.sum, lambda: dk.sum(w))):
            plain = [call(), call()]  # type: ignore[no-untyped-call]
            with dk.local_registrations():
                dk.implements(function, cls)(lambda *args, **kwargs: "the rule")
                assert call() == "the rule"  # type: ignore[no-untyped-call]
            assert type(call()) is type(plain[1])  # type: ignore[no-untyped-call]


def test_who_answers_a_sequence_of_several_classes_is_decided_once_and_by_their_order() -> None:
    x, w = tensors(2, 3), Noted(tensors(2, 3))
    concat = of(dk.concat)
    for pair in ([x, w], [w, x]):
        dk.concat(pair)
        assert tuple(map(type, pair)) in concat.table  # type: ignore[union-attr]  # is an operation
    with dk.local_registrations():
        dk.implements(dk.concat, Noted)(lambda arrays, **kwargs: "the rule")
        assert [dk.concat([x, w]), dk.concat([w, x]), dk.concat([w, w])] == ["the rule"] * 3
    assert dk.concat([x, w]).shape == (4, 3)


@pytest.mark.parametrize(
    ("call", "saved", "slope"),
    [
        (lambda w: dk.stack([w, w]), [None, None], 2.0),
        (lambda w: dk.concat((w, 2.0 * w), axis=1), [(2, 3), (2, 3)], 3.0),
        (lambda w: dk.concat([np.ones((2, 3)), w]), [(2, 3), (2, 3)], 1.0),
    ],
)
def test_a_sequence_is_recorded_with_what_its_rule_reads(
    call: Callable[[Any], Any], saved: list[Any], slope: float
) -> None:
    w = tensors(2, 3).requires_grad_()
    y = call(w)
    assert [x if x is None else x.shape for x in y.grad_fn.saved[0]] == saved
    dk.sum(y).backward()
    assert w.grad is not None
    assert w.grad.tolist() == [[slope] * 3] * 2


def test_modes_and_records_see_calls_of_parameters() -> None:
    x, w = tensors(2, 3), dk.nn.Parameter(tensors(4, 3))
    with dk.no_grad():
        functional.linear(x, w), dk.sum(w)
        with dk.record_calls() as record:
            functional.linear(x, w), dk.sum(w)
    assert [call.function.rpartition(".")[2] for call in record.calls] == ["linear", "sum"]


def test_transformations_look_into_parameters_that_were_known_before() -> None:
    x, w = tensors(2, 3), dk.nn.Parameter(tensors(4, 3))
    functional.linear(x, w)
    gradient = dk.func.grad(lambda w: dk.sum(functional.linear(x, w)))(w)
    assert np.allclose(gradient.array, np.tile(x.array.sum(0), (4, 1)))


def test_an_error_of_a_parameter_names_the_operation_and_its_argument() -> None:
    x, w = tensors(2, 3), dk.nn.Parameter(tensors(4, 2))
    texts = []
    for _ in range(2):
        with dk.no_grad(), pytest.raises(ValueError, match="linear") as raised:
            functional.linear(x, w)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("key", [1, slice(1, None), [0, 2]])
def test_parts_of_an_array_of_numpy_are_tensors(key: Any) -> None:
    x = np.arange(3.0)
    for _ in range(2):
        y = dk.getitem(x, key)
        assert type(y) is dk.Tensor
        assert np.array_equal(y.array, x[key])
