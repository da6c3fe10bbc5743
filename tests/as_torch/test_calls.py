"""Functions and methods give PyTorch's values for PyTorch's calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch
from dispatchkit.as_torch import spelling, table
from dispatchkit.backends.arrays import foreign

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")
samples = __import__("tests.interop.test_torch_functions", fromlist=["FUNCTIONS"])
PATHS = sorted(path for path in samples.FUNCTIONS if path in spelling.FUNCTIONS)
# Functions whose first argument is not the tensor that has the method.
LATER = {"polygamma", "where"}
METHODS = [
    path
    for path in PATHS
    if callable(getattr(torch.Tensor, path, None)) and path in vars(dispatchkit.as_torch.Tensor).keys() - LATER
]

# PyTorch itself warns of casts in complex functions, and of its own functions that will go; NumPy of infinities.
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    yield
    foreign.clear()


def spelled(x: Any) -> Any:
    return dispatchkit.as_torch.tensor(x.numpy())


def results_of(call: Any, function: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what a sample call gives, with its constants made tensors of PyTorch's spelling."""
    with monkeypatch.context() as patch:
        for name in ("SQUARE", "CLASSES", "SIGNS", "LABELS"):
            patch.setattr(samples, name, spelled(getattr(samples, name)))
        patch.setattr(samples, "torch", dispatchkit.as_torch)
        return samples.flat(call(function, samples.SQUARE))


def check(path: str, function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for call in samples.calls_of(path):
        expected = samples.flat(call(samples.FUNCTIONS[path], samples.SQUARE))
        results = results_of(call, function, monkeypatch)
        assert len(results) == len(expected)
        for result, other in zip(results, expected, strict=True):
            if not isinstance(other, torch.Tensor):
                assert result == other
                continue
            assert type(result) is dispatchkit.as_torch.Tensor
            assert result.size() == tuple(other.size())
            assert str(result.dtype) == str(other.dtype)
            np.testing.assert_allclose(result.numpy(), other.resolve_conj().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_functions_give_pytorchs_values(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(path, spelling.FUNCTIONS[path], monkeypatch)


@pytest.mark.parametrize("path", METHODS)
def test_methods_give_pytorchs_values(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def method(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs.pop(next(name for name in ("input", "tensor") if name in kwargs))
        return getattr(first, path)(*args[1:], **kwargs)

    check(path, method, monkeypatch)


def test_every_function_is_one_of_pytorch() -> None:
    for path in spelling.FUNCTIONS:
        place: Any = torch.Tensor if path in table.METHODS else torch
        for name in path.split("."):
            assert hasattr(place, name), path
            place = getattr(place, name)


def test_what_to_write_instead_is_for_names_that_are_missing() -> None:
    assert spelling.FUNCTIONS.keys().isdisjoint(table.INSTEAD.keys() - table.METHODS)
    for names in table.ARGUMENTS.values():
        assert all(path in spelling.FUNCTIONS for path in names), names


def orders_of(function: Any) -> list[list[str]]:
    """Return the names of the arguments by position of a function of PyTorch, for each of its overloads."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{function.__name__}")
        computing = [s.arguments for s in schemas if "Tensor" in str(s.arguments) and not s.arguments[-1].is_out]
        return [["input" if a.name == "self" else a.name for a in each if not a.kwarg_only] for each in computing]
    return [[p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]]


def test_arguments_have_pytorchs_order() -> None:
    # One function for three, whose last two arguments have three pairs of names.
    differing = {}
    for path in sorted({*PATHS} - {"addmv", "baddbmm"}):
        shown = inspect.signature(spelling.FUNCTIONS[path]).parameters.values()
        mine = [p.name.replace("A", "input") for p in shown if p.kind is p.POSITIONAL_OR_KEYWORD]
        theirs = orders_of(samples.FUNCTIONS[path])
        names = [[name.replace("A", "input") for name in names] for names in theirs]
        if mine and theirs and not any(each[: len(mine)] == mine[: len(each)] for each in names):
            differing[path] = (mine, theirs)
    assert differing == {}


def test_tensors_are_those_of_the_spelling() -> None:
    assert dk.Tensor not in vars(dispatchkit.as_torch).values()
