"""Progress of long work: when it appears, what it shows, and that nothing of it is left."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit import progress
from dispatchkit.progress import ProgressBar, announced, follow, is_shown
from dispatchkit.testing import Wrapper, check_type
from tests.graph.test_leaves import leaf

LINE = "\rwork: 2 of 4 (50%), 0 s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def screen(self) -> str:
        """Return what stands in the last line."""
        shown = ""
        for part in self.getvalue().rpartition("\n")[2].split("\r"):
            shown = part + shown[len(part) :]
        return shown.rstrip()


Attach = Callable[[], Terminal]


@pytest.fixture
def attach(monkeypatch: pytest.MonkeyPatch) -> Iterator[Attach]:
    """Return what makes the standard streams a terminal; pytest would take it away between a fixture and its test."""
    with monkeypatch.context() as patch:
        patch.delenv("DISPATCHKIT_PROGRESS", raising=False)
        patch.setattr(progress, "_bars", [])
        patch.setitem(sys.modules, "tqdm", None)

        def attached() -> Terminal:
            made = Terminal()
            patch.setattr(sys, "stderr", made)
            patch.setattr(sys, "stdout", made)
            return made

        yield attached


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have three seconds pass at each look at the clock."""
    now = iter(range(0, 10**9, 3))
    monkeypatch.setattr(progress, "monotonic", lambda: next(now))


def test_nothing_appears_before_two_seconds(attach: Attach) -> None:
    terminal = attach()
    with ProgressBar("work", 4) as bar:
        bar.advance(4)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("late")
def test_a_line_appears_after_two_seconds_and_is_taken_away(attach: Attach) -> None:
    terminal = attach()
    with ProgressBar("work", 4) as bar:
        bar.advance(2)
        assert terminal.getvalue() == LINE
    assert terminal.getvalue() == f"{LINE}\r{' ' * (len(LINE) - 1)}\r"
    assert sys.stderr is terminal


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
def test_an_error_finds_it_taken_away(attach: Attach, error: type[BaseException]) -> None:
    terminal = attach()

    def work() -> None:
        with ProgressBar("work", 2) as bar:
            bar.advance()
            raise error

    with pytest.raises(error):
        work()
    assert terminal.screen() == ""


@pytest.mark.usefixtures("late")
def test_what_is_printed_has_lines_of_its_own(attach: Attach) -> None:
    terminal = attach()
    with ProgressBar("work", 4) as bar:
        bar.advance()
        sys.stdout.writelines(["loss", " 0.5", "\n"])
        sys.stdout.write("a part")
        bar.advance()
        assert terminal.screen() == "a part"
        sys.stderr.write(" and the rest\n")
        bar.advance()
        assert terminal.screen() == "work: 3 of 4 (75%), 0 s"
    plain = [line.rpartition("\r")[2] for line in terminal.getvalue().split("\n")]
    assert plain == ["loss 0.5", "a part and the rest", ""]


@pytest.mark.usefixtures("late")
def test_of_two_lines_one_is_shown(attach: Attach) -> None:
    terminal = attach()
    with ProgressBar("outer", 2) as outer:
        outer.advance()
        with ProgressBar("inner", 2) as inner:
            inner.advance()
        assert terminal.screen().startswith("outer: 1 of 2")


@pytest.mark.usefixtures("late")
def test_nothing_appears_in_a_log_unless_asked_for(attach: Attach, monkeypatch: pytest.MonkeyPatch) -> None:
    attach()
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    dk.audit(dk.types.ScalarTensor, operations="add")
    assert log.getvalue() == ""
    with ProgressBar("work", 3, True) as bar:
        for _ in range(3):
            bar.advance()
    assert log.getvalue() == "work: 1 of 3 (33%), 0 s\n"


def test_who_decides_whether_it_is_shown(attach: Attach, monkeypatch: pytest.MonkeyPatch) -> None:
    attach()
    assert is_shown(None)
    assert not is_shown(False)
    with dk.set_progress(False):
        assert not is_shown(None)
        assert is_shown(True)
        with dk.set_progress(None):
            assert is_shown(None)
    monkeypatch.setenv("DISPATCHKIT_PROGRESS", "0")
    assert not is_shown(None)
    with dk.set_progress(True):
        assert is_shown(None)
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setenv("DISPATCHKIT_PROGRESS", "1")
    assert is_shown(None)
    monkeypatch.delenv("DISPATCHKIT_PROGRESS")
    assert not is_shown(None)


def test_set_progress_holds_until_it_is_called_again() -> None:
    dk.set_progress(True)
    assert is_shown(None)
    dk.set_progress(None)
    assert not is_shown(None)
    dk.reset_modes()


@pytest.mark.parametrize("set_it", [dk.set_progress, is_shown])
def test_other_values_are_refused(set_it: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="progress must be True, False or None, found 'yes'"):
        set_it("yes")


def test_threads_show_none(attach: Attach) -> None:
    attach()
    shown: list[bool] = []
    thread = threading.Thread(target=lambda: shown.append(is_shown(True)))
    thread.start()
    thread.join()
    assert shown == [False]


FUNCTIONS = dk.DispatchProtocol("__progress_function__")


@FUNCTIONS.overridable
def crop(x: Any, /) -> Any:
    return x


@FUNCTIONS.array_type(fallback=dk.fallback.refuse)
class Plain:
    pass


def _gradcheck(**options: Any) -> None:
    assert dk.autograd.gradcheck(dk.exp, (leaf(1.0, 2.0),), **options)
    assert dk.autograd.gradgradcheck(dk.exp, (leaf(1.0, 2.0),), **options)


def _check(**options: Any) -> None:
    check_type(
        Wrapper, lambda: [Wrapper([1.0, 2.0])], from_dense=Wrapper, operations=[dk.exp], checks=["value"], **options
    )


def _checked(**options: Any) -> None:
    with dk.checked(**options):
        dk.types.DiagonalTensor([1.0, 2.0]) * 2.0


def _loop(**options: Any) -> None:
    assert len(list(dk.data.DataLoader([1.0, 2.0], **options))) == 2


def _files(folder: Path) -> Callable[..., None]:
    def files(**options: Any) -> None:
        for suffix in ("npz", "safetensors"):
            if suffix == "safetensors":
                pytest.importorskip("safetensors")
            dk.save({"x": dk.ones(2)}, folder / f"x.{suffix}", **options)
            assert dk.load(folder / f"x.{suffix}", **options)["x"].shape == (2,)

    return files


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("work", ["check", "checked", "gradcheck", "loop", "files", "coverage", "audit"])
def test_long_work_shows_it_comes_to_its_end_and_is_silent_if_asked(attach: Attach, tmp_path: Path, work: str) -> None:
    terminal = attach()
    doing: dict[str, Callable[..., Any]] = {
        "check": _check,
        "checked": _checked,
        "gradcheck": _gradcheck,
        "loop": _loop,
        "files": _files(tmp_path),
        "coverage": lambda **options: dk.coverage(Plain, protocol=FUNCTIONS, **options),
        "audit": lambda **options: dk.audit(dk.types.ScalarTensor, operations="add", **options),
    }
    doing[work](progress=False)
    assert terminal.getvalue() == ""
    doing[work]()
    text = terminal.getvalue()
    assert "(100%)" in text or work in ("checked", "files")
    assert text
    assert terminal.screen() == ""


@pytest.mark.usefixtures("late")
def test_an_iteration_that_ends_early_takes_it_away(attach: Attach) -> None:
    terminal = attach()
    batches = follow(iter("abc"), ProgressBar("letters", 3))
    assert next(batches) + next(batches) == "ab"
    assert terminal.screen() == "letters: 1 of 3 (33%), 0 s"
    batches.close()  # type: ignore[attr-defined]
    assert terminal.screen() == ""


def test_work_without_steps_is_announced(attach: Attach, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach()
    monkeypatch.setattr(progress, "DELAY", 0.0)
    drawn = threading.Event()
    monkeypatch.setattr(Terminal, "flush", lambda _: drawn.set())
    with announced("compiling step"):
        assert drawn.wait(30)
        assert terminal.screen() == "compiling step ..."
    assert terminal.screen() == ""


def test_tqdm_draws_it_where_it_is_installed(attach: Attach, late: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach()
    monkeypatch.delitem(sys.modules, "tqdm")
    tqdm = pytest.importorskip("tqdm")
    threads = threading.active_count()
    with ProgressBar("work", 4) as bar:
        bar.advance(2, "first")
        assert "work:  50%|" in terminal.screen()
        assert "2/4" in terminal.screen()
        assert "first" in terminal.screen()
        sys.stdout.write("loss\n")
        assert threading.active_count() == threads  # none that a process could not be forked beside
    assert terminal.screen() == ""
    assert not tqdm.tqdm._instances


def test_tqdm_draws_bars_below_one_another(attach: Attach, late: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach()
    monkeypatch.delitem(sys.modules, "tqdm")
    pytest.importorskip("tqdm")
    with ProgressBar("outer", 2) as outer, ProgressBar("inner", None, unit="call") as inner:
        outer.advance()
        inner.advance(3)
        assert "inner: 3 call [" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == terminal.getvalue().count("\x1b[A")


def test_a_closed_bar_is_not_drawn_again() -> None:
    with nullcontext(ProgressBar("work", 1, True)) as bar:
        bar.close()
        bar.advance()
        assert not bar.shown
