"""What is read of an operation of this library before it is first called, and what is read then."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.declare.kernels import check_kernel
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.rules import TABLES
from dispatchkit.protocol.parameters import Parameters
from tests.declared import OPERATIONS

EVERY = [entry for entry in OPERATIONS.values() if "_read" in vars(entry.parameters)]


def run(program: str) -> list[str]:
    """Return the lines that a program prints in an interpreter of its own."""
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )


def test_the_operations_of_this_library_are_read_later() -> None:
    assert len(EVERY) > 250


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.qualified_name)
def test_what_is_known_before_is_what_is_read(entry: DeclaredOperation) -> None:
    parameters = entry.parameters
    read: Parameters = parameters._read(*parameters._arguments)
    for name in ("listed", "fixed", "spread", "unary", "binary", "names"):
        assert getattr(parameters, name) == getattr(read, name)
    assert parameters.signature == read.signature


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.qualified_name)
def test_rules_and_kernels_of_this_library_fit_their_operations(entry: DeclaredOperation) -> None:
    names = entry.parameters.names
    for table in TABLES.values():
        for name, rule in getattr(entry.derivative.rules, table).items():
            assert {name, *getattr(rule, "of", ())} <= {*names}
    for library, kernel in entry.implementation.kernels.items():
        check_kernel(entry, library, kernel.forward)
    assert entry.axes is None or set(entry.axes.parameters) <= set(entry.parameters.listed)


def test_no_annotation_is_read_at_import() -> None:
    program = """
import dispatchkit as dk
unread = [name for name, entry in dk.tensor_protocol.operations.items() if "arrays" not in vars(entry.parameters)]
print(len(unread) / len(dk.tensor_protocol.operations))
dk.exp(dk.ones(2))
print("dispatchkit.exp" in unread, "arrays" in vars(dk.tensor_protocol.operation(dk.exp).parameters))
"""
    share, exp, _ = run(program)
    assert float(share) > 0.95
    assert exp == "True True"


def test_a_signature_that_is_read_later_is_a_signature() -> None:
    program = """
import inspect, pickle, dispatchkit as dk
later = inspect.signature(dk.sum)
print(later)
print(inspect.signature(dk.ones(2).sum), pickle.loads(pickle.dumps(later)) == later, hasattr(later, "nosuch"))
print(list(later.bind(1, axis=0).arguments), later.return_annotation, inspect.signature(dk.Tensor.add_))
"""
    assert run(program)[:3] == [
        "(x: 'Array', /, *, axis: 'Axis' = None, keepdims: 'bool' = False, dtype: 'DType' = None) -> 'Array'",
        "(axis: 'Axis' = None, keepdims: 'bool' = False, dtype: 'DType' = None) -> 'Array' True False",
        "['x', 'axis'] Array (self: 'Any', other: 'Any', /) -> 'Any'",
    ]


def test_threads_that_call_an_operation_first_agree() -> None:
    program = """
import sys, threading, dispatchkit as dk
sys.setswitchinterval(1e-6)
x, results, start = dk.ones((2, 3)), [], threading.Barrier(8)
def call():
    start.wait()
    for name in ("sum", "tanh", "concat", "where", "clip", "std", "roll", "tril"):
        f = getattr(dk, name)
        more = {"concat": ([x, x],), "where": (x > 0, x, x), "clip": (x, 0.0), "roll": (x, 1)}.get(name, (x,))
        results.append((name, f(*more).tolist()))
threads = [threading.Thread(target=call) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(results), len({repr(r) for r in results}))
"""
    assert run(program)[0] == "64 8"


def test_an_operation_of_a_user_is_read_when_it_is_declared() -> None:
    @dk.operation
    def twice(xp: Any, x: dk.Tensor, /, *, times: int = 2) -> Any:
        return x * times

    entry = dk.tensor_protocol.operation(twice)
    assert "arrays" in vars(entry.parameters)
    assert type(inspect.signature(twice)) is inspect.Signature
    with pytest.raises(dk.errors.RegistrationError, match="no parameter 'axis' to count axes"):

        @dk.operation(axis="axis")
        def wrong(xp: Any, x: dk.Tensor, /) -> Any:
            return x
