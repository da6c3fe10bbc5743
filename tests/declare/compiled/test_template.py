"""Public functions and default implementations: one text, compiled at the first call, and read by who wants to."""

from __future__ import annotations

import linecache
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.accelerator import core
from dispatchkit.declare.compiled.template import text_of
from dispatchkit.declare.kernels import has_own_flow
from dispatchkit.declare.operation import DeclaredOperation
from tests.declared import OPERATIONS

COMPILED = [entry for entry in OPERATIONS.values() if text_of(entry.function)]
HAND_WRITTEN = {"getitem", "setitem", "index_put"}  # an index is an argument that texts do not spell


def test_the_text_of_a_public_function_says_what_it_does() -> None:
    text = text_of(dk.sum)
    assert text.startswith(
        "def call(x=_MISSING, /, *_star, axis=_MISSING, keepdims=_MISSING, dtype=_MISSING, **_unknown):"
    )
    assert "            _array = x.array\n" in text
    assert "_r = _kernel(_array)\n" in text
    assert "<" not in text
    assert text_of(len) == text_of(test_the_text_of_a_public_function_says_what_it_does) == ""


def test_all_public_functions_but_those_of_indices_are_compiled() -> None:
    assert {entry.name for entry in OPERATIONS.values() if not text_of(entry.function)} == HAND_WRITTEN


@pytest.mark.parametrize("entry", COMPILED, ids=lambda entry: entry.qualified_name)
def test_a_function_and_what_computes_its_calls_say_the_one_sentence_once(entry: DeclaredOperation) -> None:
    sentence = [
        "_y = _new(_cls)\n",
        "if type(_r) is not _ndarray and type(_r) not in _foreign:\n",
        "except _BACKEND_ERRORS as _error:\n",
    ]
    by_table = entry.implementation.arrays_only and (entry.composite or entry.several)
    text = text_of(entry.function).replace("_new(_to)", "_new(_cls)")  # which subclasses answer, too
    assert [text.count(line) for line in sentence] == [0 if by_table else 1] * 3
    implementation = DeclaredOperation.default(entry, tuple(dk.Tensor for _ in entry.parameters.arrays), None)
    # A function that asks who draws, or lets a kernel record, stands around it.
    if entry.kind is not dk.kinds.random and not has_own_flow(entry):
        assert [text_of(implementation).count(line) for line in sentence] == [1] * 3


def test_the_lines_of_a_compiled_function_are_those_of_its_text() -> None:
    dk.mean(dk.asarray([1.0, 3.0]))
    file = dk.mean.__code__.co_filename  # type: ignore[attr-defined]
    lines, text = linecache.getlines(file), text_of(dk.mean)
    if core is None:
        assert "".join(lines) == text
    else:  # adds lines of its own
        left = iter([line.strip().replace("_noted(", "_record(") for line in lines])
        assert all(line.strip() in left for line in text.splitlines())


def test_nothing_is_compiled_before_it_is_called() -> None:
    program = """
import dispatchkit as dk
from dispatchkit.declare.source import code_of
counts = [code_of.cache_info().misses]
x, y = dk.asarray([1.0]), dk.asarray([2.0])
counts.append(code_of.cache_info().misses)
for function in (dk.add, dk.multiply, dk.subtract):
    function(x, y)
counts.append(code_of.cache_info().misses)
print(counts)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    before, converting, same = map(int, done.stdout.strip("[]\n").split(","))
    assert before == 0
    assert same == converting + 1, "functions of the same text share its code"


def test_a_rule_that_is_declared_after_the_first_call_is_used() -> None:
    with dk.local_registrations():

        @dk.operation(kind=dk.kinds.elementwise)
        def doubled(xp: Any, x: dk.Tensor, /) -> Any:
            return x * 2

        @dk.operation
        def shifted(xp: Any, x: dk.Tensor, /, by: float = 1.0) -> Any:
            return x + by

        for function in (doubled, shifted):
            x = dk.tensor([3.0], requires_grad=True)
            through_body: Any = function(x)
            assert through_body.grad_fn.name in ("MultiplyBackward", "AddBackward")
            function.def_vjp(lambda g: g * 100)
            assert function(dk.asarray([3.0])).tolist() == through_body.tolist()
            by_rule: Any = function(x)
            by_rule.backward()
            assert by_rule.grad_fn.name == f"{function.__name__.capitalize()}Backward"
            assert x.grad is not None
            assert x.grad.tolist() == [100.0]


def test_parameters_may_have_the_names_that_texts_use() -> None:
    with dk.local_registrations():

        @dk.operation
        def named(xp: Any, type: dk.Tensor, /, *, map: int = 1, array: int = 2, value: int = 3) -> Any:
            return type * map * array * value

        @dk.operation
        def kept(xp: Any, array: dk.Tensor, x: dk.Tensor, place: int = 1, *, default: int = 2) -> Any:
            return array * x * place * default

        x = dk.asarray([1.0, 2.0])
        assert named(x, map=2, value=1).tolist() == [4.0, 8.0]
        assert kept(x, x=x, place=3).tolist() == [6.0, 24.0]


def test_only_the_tensors_that_rules_read_are_kept_whichever_of_two_is_tracked() -> None:
    a, b = dk.tensor([2.0], requires_grad=True), dk.tensor([3.0], requires_grad=True)
    c = dk.asarray([5.0])
    for x1, x2, wanted in ((a, b, (a, b)), (a, c, (None, c)), (c, b, (c, None)), (a, 5.0, (None, 5.0))):
        node: Any = dk.multiply(x1, x2).grad_fn
        assert all(one is other or one == other for one, other in zip(node.saved, wanted, strict=True))
        assert tuple(edge is not None for edge in node.edges) == tuple(
            isinstance(x, dk.Tensor) and x.requires_grad for x in (x1, x2)
        )


def test_an_array_that_a_rule_does_not_read_is_not_kept_by_a_call_with_parameters() -> None:
    condition, x = dk.asarray([True, False]), dk.tensor([1.0, 2.0], requires_grad=True)
    node: Any = dk.where(condition, x, np.zeros(2)).grad_fn
    kept = [one for one in node.saved if isinstance(one, (dk.Tensor, np.ndarray))]
    assert len(kept) == 1
    assert kept[0] is condition


def test_a_first_argument_given_by_its_name_is_given_once() -> None:
    one: Any = dk.types.MaskedTensor([1.0, 2.0], [True, False])[0]
    for _ in range(2):  # the second call finds who answered the first
        results: list[Any] = [dk.full(shape=2, fill_value=one), dk.full(2, fill_value=one, device="cpu")]
        assert [y.filled(0.0).tolist() for y in results] == [[1.0, 1.0]] * 2
        assert dk.full(2, one, dtype=dk.float32).dtype == np.float32
