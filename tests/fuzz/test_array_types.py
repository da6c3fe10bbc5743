"""Random programs over array types: they agree with dense forms, and a rule that is wrong is found and shrunk."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.types import CirculantTensor, DiagonalTensor, MaskedTensor, TriangularTensor
from tests.programs.fuzz.array_types.derivatives import ORDERS, fuzz_derivatives, unlike
from tests.programs.fuzz.array_types.running import Difference, fuzz, pasteable, run, shrunk
from tests.programs.fuzz.array_types.values import KINDS


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "structured"])
def test_random_programs_agree_with_dense_forms(kind: str) -> None:
    report = fuzz(kind, 150, 0)
    assert report.programs + report.unmade == 150
    assert report.steps > 300
    assert not report.differences, "\n".join(map(pasteable, report.differences))


@pytest.mark.parametrize("kind", ["lazy", "uncertain", "units", "whole masks", "nested names", "mixed"])
def test_derivatives_of_random_programs_agree_with_dense_forms(kind: str) -> None:
    report = fuzz_derivatives(kind, 25, 0)
    assert report.steps > 50
    assert not report.differences, "\n".join(map(pasteable, report.differences))


@pytest.mark.filterwarnings("ignore")  # the rule replaces another
def test_a_wrong_rule_is_found_and_its_program_shrunk() -> None:
    steps = [
        "v0 = TriangularTensor([[1.0, 0.0], [2.0, 3.0]])",
        "v1 = dk.asarray([1.0, 2.0])",
        "v2 = v0 @ v1",
        "v3 = v0 * 2",
        "v4 = v3.mT",
    ]
    assert run("structured", steps) is None
    with dk.local_registrations():

        @dk.implements(dk.linalg.matrix_transpose)
        def no_transpose(x: TriangularTensor, /) -> TriangularTensor:
            return x

        assert run("structured", steps) == "[[2.0, 0.0], [4.0, 6.0]], dense [[2.0, 4.0], [0.0, 6.0]]"
        small = shrunk("structured", steps)
    assert small == [steps[0], steps[3], steps[4]]
    text = pasteable(Difference(7, small, "wrong"))
    assert text.startswith("# seed 7: wrong\nimport numpy as np\n")
    assert text.endswith("from dispatchkit.types import *\n" + "\n".join(small) + "\n")


def test_a_derivative_that_a_rule_loses_is_found() -> None:
    steps, leaves = ["v0 = DiagonalTensor(p0)", "v1 = dk.tanh(v0)"], [dk.asarray([0.5, -1.0])]
    assert [unlike("structured", steps, leaves, order) for order in ORDERS] == [None] * len(ORDERS)
    with dk.local_registrations():

        @dk.implements(dk.tanh)
        def tanh_without_derivative(x: DiagonalTensor, /) -> DiagonalTensor:
            return DiagonalTensor(dk.tanh(x.values.detach()))

        assert unlike("structured", steps, leaves, "value") is None
        assert str(unlike("structured", steps, leaves, "grad")).startswith("grad: by p0 [0.0, 0.0], dense [0.78")


PROGRAMS: dict[str, list[str]] = {
    "a subtraction of bytes": [
        "v0 = dk.asarray(np.full((2, 2), 200, np.uint8))",
        "v1 = DiagonalTensor([1.0, 2.0])",
        "v2 = v0 - v1",
    ],
    "a crossed slice": ["v0 = ToeplitzTensor(np.arange(1.0, 7.0))", "v1 = v0[4:2, 2:0]"],
    "a batch of identities": ["v0 = PermutationTensor([[0, 1], [0, 1]])", "v1 = 2 * v0", "v2 = v1 @ dk.ones(2)"],
    "an infinity beside zeros": [
        "v0 = DiagonalTensor([1.0, 2.0])",
        "v1 = dk.asarray([np.inf, 1.0])",
        "v2 = v0 @ v1",
    ],
    "a difference of bands of booleans": [
        "v0 = BandedTensor(np.ones((2, 2), bool), lower=1, upper=0)",
        "v1 = TriangularTensor(np.eye(2)) @ v0",
        "v2 = 1.5 - v1",
    ],
    "zeros in the likeness of a permutation inside": [
        "v0 = KroneckerTensor(DiagonalTensor([2.0]), PermutationTensor([1, 0]))",
        "v1 = dk.zeros_like(v0)",
        "v2 = v1 @ v1.mT",
    ],
    "a lazy array with uncertainty": [
        "v0 = UncertainTensor(MaskedTensor(LazyTensor(dk.asarray([[0.0, -1.0]]))))",
        "v1 = v0[:0]",
        "v2 = v1.T",
    ],
    "infinities between the factors of an update": [
        "v0 = LoraTensor(np.array([[np.inf, -1.0]]), np.array([[0.0]]), np.array([[np.inf, 1.0]]))",
        "v1 = v0 @ v0.mT",
    ],
    "a sum of structures of booleans": [
        "v0 = SumTensor(DiagonalTensor([True, False]), TriangularTensor(np.array([[True, False], [True, True]])))",
        "v1 = QuantityTensor(v0, 'm')",
        "v2 = v1 * 0.5",
    ],
    "a product with a sum of integers": [
        "v0 = SumTensor(DiagonalTensor([1, 2]), TriangularTensor(np.ones((2, 2), int)))",
        "v1 = DiagonalTensor(np.array([1j, 2.0]))",
        "v2 = v1 @ ProductTensor(v0, TriangularTensor(np.eye(2)))",
    ],
    "a system of an empty batch": [
        "v0 = ProductTensor(DiagonalTensor([0.0, 1.0]), PermutationTensor(np.zeros((0, 2), int)))",
        "v1 = dk.linalg.inv(v0)",
    ],
}


@pytest.mark.filterwarnings("ignore")  # what the numbers cause
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_differed_once_agree(name: str) -> None:
    assert run("structured", PROGRAMS[name]) is None


def test_an_error_that_is_no_refusal_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any) -> Any:
        raise StopIteration

    monkeypatch.setattr(MaskedTensor, "__neg__", stop)
    assert run("whole masks", ["v0 = MaskedTensor(dk.ones(2))", "v1 = -v0"]) == "crash: StopIteration: "


def test_a_program_that_differs_says_in_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CirculantTensor, "times_array", lambda self, vector: vector)
    text = run("structured", ["v0 = CirculantTensor([1.0, 2.0])", "v1 = v0 @ dk.asarray([1.0, 3.0])"])
    assert text == "[1.0, 3.0], dense [7.0, 5.0]"
