"""The calls that types are tested with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.declare.samples import Sample, draw, sample
from dispatchkit.testing import Wrapper
from dispatchkit.testing.calls import TypeCall
from dispatchkit.testing.findings import Subject

X = draw(2, 3)


@pytest.mark.parametrize(
    ("function", "given", "names"),
    [
        (dk.sum, sample(X), []),
        (dk.sum, sample(X, axis=1, keepdims=True), ["axis", "keepdims"]),
        (dk.reshape, sample(X, (3, 2)), []),
        (dk.reshape, sample(X, (3, 2), copy=True), ["copy"]),
        (dk.clip, sample(X, -1.0, draw(3)), []),
        (dk.diff, sample(X, 2, append=draw(2, 1)), ["n"]),
    ],
)
def test_options_are_what_a_call_can_be_made_without(
    function: Callable[..., Any], given: Sample, names: list[str]
) -> None:
    subject = Subject(Wrapper, [Wrapper([1.0])])
    assert TypeCall(dk.tensor_protocol.operation(function), given, subject, (0,)).options() == names
