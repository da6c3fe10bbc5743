"""Predictions of calls that nobody would write: odd arguments, in the place of arrays and of others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.prediction import predict
from dispatchkit.testing.calls import measuring
from tests.programs.fuzz.predictions import walked
from tests.report import promised
from tests.report.answering import register


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with dk.local_registrations(), measuring(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        register()
        promised.register()
        yield


def test_random_calls_end_as_predicted() -> None:
    walk = walked(500, seed=7)
    assert walk.different == {}
    assert walk.raising > 100


D = dk.types.DiagonalTensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("function", "arguments", "options"),
    [(dk.swapaxes, (0, D), {}), (dk.chunk, (2,), {"axis": D}), (dk.nn.functional.softplus, (), {"beta": D})],
)
def test_an_array_of_a_type_among_other_arguments_is_met_by_the_body(
    function: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    args = (dk.types.ScalarTensor(3, 2.0), *arguments)
    predicted = predict(dk.tensor_protocol.operation(function), args, options)
    with dk.record_calls() as recorded, pytest.raises((ValueError, TypeError)):
        function(*args, **options)
    assert predicted.outcome.name == recorded.calls[0].how


def test_an_argument_that_comes_twice_is_refused_in_the_words_of_the_operation_for_each_type() -> None:
    indices = dk.asarray([[0, 0, 0]])
    texts = []
    for x in (dk.ones((3, 3)), dk.types.ScalarTensor(3, 2.0)):
        assert dk.explain(dk.gather, x, 0, axis=0, indices=indices).outcome.startswith(
            "TypeError: dispatchkit.gather: "
        )
        with pytest.raises(TypeError) as caught:
            dk.gather(x, 0, axis=0, indices=indices)  # type: ignore[misc]  # the mistake
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert texts[0].startswith("dispatchkit.gather: multiple values for argument 'axis'; its signature is gather(")
    with pytest.raises(TypeError, match=r"dispatchkit\.median: .*unexpected keyword argument 'nothing'"):
        dk.median(dk.types.ScalarTensor(3, 2.0), nothing=1)  # type: ignore[call-arg]  # the mistake


def test_members_of_a_result_are_of_the_class_that_the_annotation_names() -> None:
    @dk.implements(dk.split)
    def split_ring(x: promised.Ring, /, *args: Any, **kwargs: Any) -> list[promised.Ring]:
        return [promised.Ring(part) for part in dk.split(x.values, *args, **kwargs)]

    found = predict(dk.tensor_protocol.operation(dk.split), (promised.ring(), 2), {})
    assert found.results == (promised.Ring,)
