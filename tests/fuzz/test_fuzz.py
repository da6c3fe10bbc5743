"""The random programs: dispatchkit agrees with PyTorch, and a rule that is wrong is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk

torch = pytest.importorskip("torch", reason="the programs run in PyTorch, too")

from tests.programs.fuzz.running import Pair, difference, fuzz, pasteable, shrunk  # noqa: E402  # with PyTorch alone

LEAF = "v0 = lib.tensor([0.5, -1.0], dtype=lib.float64, requires_grad=True)"


class Changed:
    """A library with other functions of some names."""

    def __init__(self, library: Any, **functions: Callable[..., Any]) -> None:
        self.library = library
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)


def wrong_sin(x: Any) -> Any:
    """Give the right value with the derivative -cos(x)."""
    return 2.0 * dk.sin(x).detach() - dk.sin(x)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_random_programs_agree_with_pytorch() -> None:
    report = fuzz(400, 0, dk, torch)
    assert report.programs == 400
    assert report.steps > 4000
    assert not report.differences, "\n".join(map(pasteable, report.differences))


def test_a_wrong_rule_is_found_and_its_program_shrunk() -> None:
    report = fuzz(200, 0, Changed(dk, sin=wrong_sin), torch)
    found = [one for one in report.differences if "lib.sin" in str(one.steps)]
    assert found
    shortest = min((one.steps for one in found), key=len)
    assert len(shortest) <= 4
    text = pasteable(found[0])
    assert text.startswith(f"# seed {found[0].seed}: v")
    assert "import dispatchkit as lib  # or: import torch as lib\nv" in text


def test_shrinking_leaves_what_the_difference_needs() -> None:
    steps = [
        LEAF,
        "v1 = v0 * 2.0",
        "v2 = lib.sin(v0)",
        "v3 = lib.cos(v1)",
        "(v2 * v2.detach()).sum().backward()",
        "v4 = v3.sum()",
    ]
    assert difference(steps, dk, torch) is None
    assert shrunk(steps, Changed(dk, sin=wrong_sin), torch) == [steps[0], steps[2], steps[4]]


def refuse(x: Any) -> Any:
    raise ValueError("shape (2,) of v0 is not for -1.5e3; and more")


def test_a_step_that_both_refuse_is_no_difference() -> None:
    assert Pair(dk, torch, [LEAF]).do("v1 = v0.view(3)") == "both"
    assert difference([LEAF, "v1 = v0.view(3)"], dk, torch) is None


def test_a_step_that_one_refuses_is_counted_by_what_it_says() -> None:
    for ours, theirs, name in (
        (Changed(dk, sin=refuse), torch, "dispatchkit"),
        (dk, Changed(torch, sin=refuse), "PyTorch"),
    ):
        said = f"{name}: ValueError: shape (...) of v is not for N"
        assert Pair(ours, theirs, [LEAF]).do("v1 = lib.sin(v0)") == said
        assert difference([LEAF, "v1 = lib.sin(v0)"], ours, theirs) is None
        assert fuzz(100, 0, ours, theirs).refused


def test_an_error_that_is_none_of_the_library_is_a_difference() -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    assert difference([LEAF, "v1 = lib.sin(v0)"], Changed(dk, sin=broken), torch) == (
        "v1 = lib.sin(v0): ZeroDivisionError: division by zero"
    )


def test_what_differs_is_named() -> None:
    value = Changed(dk, sin=lambda x: dk.sin(x) + 1.0)
    assert str(difference([LEAF, "v1 = lib.sin(v0)"], value, torch)).startswith("v1: [1.479")
    other = Changed(dk, sin=lambda x: dk.sin(x).float())
    assert difference([LEAF, "v1 = lib.sin(v0)"], other, torch) == (
        "v1: float32 of shape (2,), PyTorch float64 of shape (2,)"
    )
    lost = Changed(dk, sin=lambda x: dk.sin(x).detach())
    assert difference([LEAF, "v1 = lib.sin(v0)"], lost, torch) == "v1.requires_grad: False, PyTorch True"
    none = Changed(dk, sin=lambda x: dk.sin(x).detach().requires_grad_())
    steps = [LEAF, "v1 = lib.sin(v0)", "v1.retain_grad()", "v1.sum().backward()"]
    assert str(difference(steps, none, torch)).startswith("v0.grad: None, PyTorch tensor([0.8776")
