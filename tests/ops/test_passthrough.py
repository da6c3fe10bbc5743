"""What declares that its body only passes a call on does so, and what does so declares it."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.protocol.kinds import CreationKind
from tests.declared import OPERATIONS


class Symbol:
    """Stands for an argument."""


class Call:
    def __init__(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.path, self.args, self.kwargs = path, args, kwargs


class Recorder:
    """A namespace that records which function a body calls."""

    def __init__(self, path: str = "") -> None:
        self._path = path

    def __getattr__(self, name: str) -> Recorder:
        return Recorder(f"{self._path}.{name}" if self._path else name)

    def __call__(self, *args: Any, **kwargs: Any) -> Call:
        return Call(self._path, args, kwargs)


def passes_on(entry: DeclaredOperation) -> bool:
    """Return whether a body passes all its arguments to the function of its own name, and does nothing else."""
    parameters = list(entry.parameters.signature.parameters.values())
    if isinstance(entry.kind, CreationKind) or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return False
    symbols = {p.name: Symbol() for p in parameters}
    args = [symbols[p.name] for p in parameters if p.kind is not p.KEYWORD_ONLY]
    try:
        seen = entry.implementation.body(
            Recorder(), *args, **{p.name: symbols[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
        )
    except Exception:  # noqa: BLE001  # what a body does with a symbol shows that it does more than call
        return False
    if not isinstance(seen, Call) or seen.path != entry.name:
        return False
    given = dict(zip(symbols, seen.args, strict=False)) | seen.kwargs
    return given == symbols


@pytest.mark.parametrize("entry", OPERATIONS.values(), ids=lambda entry: entry.qualified_name)
def test_a_body_that_only_passes_its_call_on_is_declared(entry: DeclaredOperation) -> None:
    assert entry.implementation.passthrough == (passes_on(entry) and not entry.namespace.partition(".")[2])


def test_a_declared_passthrough_of_a_user_computes_by_the_namespace_and_is_no_decomposition() -> None:
    with dk.local_registrations():

        @dk.operation(kind=dk.kinds.elementwise, passthrough=True)
        def sqrt(xp: Any, x: dk.Tensor, /) -> Any:
            return xp.sqrt(x)

        assert sqrt(dk.asarray([4.0])).tolist() == [2.0]
        assert dk.tensor_protocol.operation(sqrt).decomposition() is None


def test_a_body_with_branches_is_run_as_it_is() -> None:
    with dk.local_registrations():

        @dk.operation(kind=dk.kinds.elementwise)
        def sqrt_or_zero(xp: Any, x: dk.Tensor, /) -> Any:
            return xp.sqrt(x) if xp.all(x >= 0) else xp.zeros_like(x)

        assert sqrt_or_zero(dk.asarray([-4.0])).tolist() == [0.0]
