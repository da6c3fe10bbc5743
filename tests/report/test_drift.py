"""Handlers written against an older signature are found: in a process, and across versions."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.__main__ import main
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.parameters import Parameters
from dispatchkit.report.drift import Drifted, drifted, fingerprints


@pytest.fixture
def protocol() -> DispatchProtocol:
    return DispatchProtocol("__drift_function__", namespace="lib")


class Held:
    pass


def defined(protocol: DispatchProtocol, source: str) -> Any:
    """Define a function as the cell of a notebook does."""
    cell: dict[str, Any] = {"__name__": "notebook", "protocol": protocol, "dk": dk}
    exec(source, cell)  # noqa: S102  # cells of a notebook are source
    return cell["scale"]


FIRST = """
@protocol.overridable(arrays=("x",))
def scale(x, factor=2.0):
    return x
"""
SECOND = FIRST.replace("factor=2.0", "factor=2.0, *, shift=0.0")


def register(protocol: DispatchProtocol, scale: Any) -> None:
    @protocol.implements(scale, Held)
    def scale_held(x: Any, factor: float = 2.0) -> Any:
        return x


def reasons(found: list[Drifted]) -> list[str]:
    return [one.reason for one in found]


def test_a_function_defined_anew_leaves_its_handlers_behind(protocol: DispatchProtocol) -> None:
    register(protocol, defined(protocol, FIRST))
    assert drifted(protocol=protocol) == []
    defined(protocol, SECOND)
    assert reasons(drifted(protocol=protocol)) == [
        "scale was defined anew, and the handler answers for the function before",
        "the signature was (x, factor=2.0), and is (x, factor=2.0, *, shift=0.0)",
    ]


def test_one_defined_anew_with_the_same_signature_does_too(protocol: DispatchProtocol) -> None:
    register(protocol, defined(protocol, FIRST))
    again = defined(protocol, FIRST)
    assert reasons(drifted(protocol=protocol)) == [
        "scale was defined anew, and the handler answers for the function before"
    ]
    register(protocol, again)
    handlers = {one.handler for one in drifted(protocol=protocol)}
    assert len(handlers) == 1  # the old one alone


def test_an_operation_declared_anew_as_in_a_notebook() -> None:
    with dk.local_registrations():

        @dk.array_type()
        class Local:
            pass

        first = "@dk.operation\ndef scale(xp, x, /):\n    return 2 * x"

        @dk.implements(defined(dk.tensor_protocol, first))
        def scale_local(x: Local, /) -> Any:
            return x

        defined(dk.tensor_protocol, first.replace("x, /", "x, /, *, times=2"))
        found = [one.reason for one in drifted([__name__]) if "scale_local" in one.handler]
        assert found[-1] == "the signature was (x, /), and is (x, /, *, times=2)"
    assert "notebook.scale" not in dk.tensor_protocol.operations


def test_what_was_defined_before_a_block_of_registrations_is_back_after_it(protocol: DispatchProtocol) -> None:
    scale = defined(protocol, FIRST)
    with protocol.local_registrations():
        again = defined(protocol, SECOND)
        assert [operation.function for operation in protocol.operations.values()] == [again]
    assert [operation.function for operation in protocol.operations.values()] == [scale]


def test_a_baseline_tells_what_changed_since(protocol: DispatchProtocol) -> None:
    scale = defined(protocol, FIRST)
    register(protocol, scale)
    (recorded,) = fingerprints(protocol=protocol)
    assert (recorded.operation, recorded.types) == ("lib.scale", "Held in any position")
    assert recorded.handler == f"{__name__}:register.<locals>.scale_held"
    assert recorded.fingerprint == "(x, factor=2.0)"
    assert drifted(baseline=[recorded], protocol=protocol) == []
    older = replace(recorded, fingerprint="(x)")
    (found,) = drifted(baseline=[older], protocol=protocol)
    assert found.reason == "the signature was (x), and is (x, factor=2.0)"
    assert str(found).startswith("  lib.scale: scale_held(Held in any position) at ")
    gone = replace(recorded, operation="lib.stretch")
    assert reasons(drifted(baseline=[recorded, gone], protocol=protocol)) == ["the operation is gone"]
    assert drifted(["elsewhere"], [older, gone], protocol=protocol) == []


def test_a_default_that_departs_is_drift(protocol: DispatchProtocol) -> None:
    scale = defined(protocol, FIRST)
    with pytest.warns(dk.errors.SignatureWarning):

        @protocol.implements(scale, Held)
        def scale_held(x: Any, factor: float = 3.0) -> Any:
            return x

    assert reasons(drifted(protocol=protocol)) == ["'factor' is 3.0 by default here, 2.0 in the operation"]


def test_a_fingerprint_has_neither_annotations_nor_addresses() -> None:
    import inspect

    def function(x: int, /, y: Any = print, *args: str, key: Any = object(), **rest: int) -> float:  # noqa: B008
        return 0.0

    found = Parameters(inspect.signature(function)).fingerprint
    assert found == "(x, /, y=<built-in function print>, *args, key=<object object>, **rest)"


SOURCE = """
import dispatchkit as dk

@dk.array_type()
class Held:
    pass

@dk.implements(dk.mean)
def mean_held(x: Held, /):
    return 0.0
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """Make a module of a user's with one handler."""
    (tmp_path / "user_types.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with dk.local_registrations():
        import user_types  # type: ignore[import-not-found]

        yield user_types
    monkeypatch.delitem(sys.modules, "user_types")


@pytest.mark.usefixtures("module")
def test_the_command_records_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "drift.json"
    assert main(["drift", "user_types", "--record", str(path)]) == 0
    assert capsys.readouterr().out == "drift: of 1 handlers none is written against another signature\n"
    assert main(["drift", "user_types", "--baseline", str(path)]) == 0
    recorded = json.loads(path.read_text())
    assert recorded["handlers"][0]["fingerprint"] == "(x, /, *, axis=None, keepdims=False)"
    recorded["handlers"][0]["fingerprint"] = "(x, /, *, axis=None)"
    path.write_text(json.dumps(recorded))
    capsys.readouterr()
    assert main(["drift", "user_types", "--baseline", str(path), "--record", str(path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "drift: of 1 handlers 1 are written against another signature"
    assert lines[1].startswith("  dispatchkit.mean: mean_held(Held")
    assert lines[2] == "    the signature was (x, /, *, axis=None), and is (x, /, *, axis=None, keepdims=False)"
    assert main(["drift", "user_types", "--baseline", str(path)]) == 0


def test_the_types_of_the_library_have_not_drifted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift"]) == 0
    assert "handlers none is written" in capsys.readouterr().out


def test_what_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", "no_such_module"]) == 2
    assert capsys.readouterr().err == "drift: No module named 'no_such_module'\n"
    path = tmp_path / "other.json"
    path.write_text("[]")
    assert main(["drift", "--baseline", str(path)]) == 2
    assert capsys.readouterr().err == f"drift: {path} is no file that drift --record wrote\n"
    assert main(["drift", "--baseline", str(tmp_path / "none.json")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.usefixtures("module")
def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "missing" / "drift.json"
    assert main(["drift", "user_types", "--record", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "No such file or directory" in line
