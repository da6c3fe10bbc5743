"""`densify`: what bounds it, what is warned of, what is counted."""

import inspect
import re
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.errors import DensifyError, DensifyWarning, DispatchWarning
from dispatchkit.protocol.densify import Policy, clear_densify_ledger, densify, densify_ledger
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from tests.protocol.support import Answer, steps_of, unary


@dataclass
class Float64:
    itemsize: int = 8


class Dense:
    def __init__(self, n: int) -> None:
        self.shape, self.dtype = (n, n), Float64()


class Known:
    """A square array that knows its shape and dtype."""

    calls = 0

    def __init__(self, n: int) -> None:
        self.n = n
        self.shape, self.dtype = (n, n), Float64()

    def to_dense(self) -> Dense:
        type(self).calls += 1
        return Dense(self.n)


class Unknown:
    """A square array that does not."""

    calls = 0

    def __init__(self, n: int) -> None:
        self.n = n

    def to_dense(self) -> Dense:
        type(self).calls += 1
        return Dense(self.n)


@pytest.fixture
def scale(protocol: DispatchProtocol) -> Answer:
    for cls in (Known, Unknown):
        protocol.register_type(cls, fallback=fallback.dense)
        cls.calls = 0
    clear_densify_ledger()
    return unary(protocol)


def test_outside_any_block_it_warns(scale: Answer) -> None:
    with pytest.warns(DensifyWarning, match=r"^'lib\.scale' made Known dense \(800 B\)$"):
        scale(Known(10))


def test_the_warning_is_a_dispatch_warning_of_users() -> None:
    assert issubclass(DensifyWarning, DispatchWarning)
    assert issubclass(DispatchWarning, UserWarning)


def test_every_dense_copy_is_warned_of(scale: Answer) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            scale(Known(10))
    assert len(caught) == 3


def test_allow_is_silent(scale: Answer) -> None:
    with densify(on="allow"):
        scale(Known(10))


def test_error_raises_before_anything_is_built(scale: Answer) -> None:
    with densify(on="error"), pytest.raises(DensifyError) as caught:
        scale(Known(10))
    assert str(caught.value) == "'lib.scale' would make Known dense (800 B), and densify(on=\"error\") forbids it"
    assert Known.calls == 0


def test_error_without_a_known_size(scale: Answer) -> None:
    with densify(on="error"), pytest.raises(DensifyError) as caught:
        scale(Unknown(10))
    assert str(caught.value) == "'lib.scale' would make Unknown dense, and densify(on=\"error\") forbids it"
    assert caught.value.nbytes is None
    assert Unknown.calls == 0


def test_past_the_limit_raises_before_where_the_size_is_known(scale: Answer) -> None:
    with densify(on="allow", limit=799), pytest.raises(DensifyError) as caught:
        scale(Known(10))
    assert str(caught.value) == (
        "'lib.scale' would make Known dense (800 B), which is past the limit of 799 B set by densify"
    )
    assert (caught.value.nbytes, caught.value.limit, Known.calls) == (800, 799, 0)


def test_past_the_limit_raises_after_where_it_is_not(scale: Answer) -> None:
    with densify(on="allow", limit=799), pytest.raises(DensifyError, match=r"Unknown dense \(800 B\)"):
        scale(Unknown(10))
    assert Unknown.calls == 1


def test_a_densify_error_is_a_runtime_error(scale: Answer) -> None:
    with densify(on="error"), pytest.raises(RuntimeError):
        scale(Known(10))


def test_the_limit_itself_is_allowed(scale: Answer) -> None:
    with densify(on="allow", limit=800):
        scale(Known(10))
        scale(Unknown(10))


def test_a_limit_of_nothing(scale: Answer) -> None:
    with densify(on="allow", limit=0), pytest.raises(DensifyError):
        scale(Known(1))


def test_a_limit_keeps_the_warning(scale: Answer) -> None:
    with densify(limit="1MB"), pytest.warns(DensifyWarning):
        scale(Known(10))


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("100MB", 100_000_000),
        ("1.5 kB", 1500),
        ("2KB", 2000),
        ("1GiB", 2**30),
        ("3MiB", 3 * 2**20),
        ("64 KiB", 2**16),
        ("7B", 7),
        ("12", 12),
        (" 1GB ", 10**9),
    ],
)
def test_limits_are_written_as_people_do(scale: Answer, text: str, nbytes: int) -> None:
    with densify(on="allow", limit=text), pytest.raises(DensifyError) as caught:
        scale(Known(20_000))
    assert caught.value.limit == nbytes


@pytest.mark.parametrize("limit", ["much", "", "1.2.3MB", "5 parsecs", "-1MB", 1.5, object()])
def test_a_limit_that_is_no_size_is_refused(limit: Any) -> None:
    text = "limit .* is no size; write it like '100MB'"
    with pytest.raises((ValueError, TypeError), match=text):
        densify(limit=limit)


def test_another_policy_is_refused() -> None:
    never: Any = "never"
    text = "on must be 'allow', 'warn' or 'error', not 'never'"
    with pytest.raises(ValueError, match=text):
        densify(on=never)


def test_what_is_not_given_stays_as_it_is_outside(scale: Answer) -> None:
    with densify(on="allow"), densify(limit=799), pytest.raises(DensifyError, match="limit of 799 B"):
        scale(Known(10))
    with densify(limit=799), densify(on="allow"), pytest.raises(DensifyError, match="limit of 799 B"):
        scale(Known(10))


def test_a_block_inside_forbids_more_and_lifts_nothing(scale: Answer) -> None:
    with densify(on="error"), densify(on="allow", limit=800), pytest.raises(DensifyError, match=r'on="error"'):
        scale(Known(10))
    with densify(on="allow", limit=799), densify(limit="1GB"), pytest.raises(DensifyError, match="limit of 799 B"):
        scale(Known(10))
    with densify(on="warn"), densify(on="allow", limit=800):
        scale(Known(10))
    with densify(on="allow"):
        with densify(on="error"), pytest.raises(DensifyError):
            scale(Known(10))
        scale(Known(10))


@pytest.mark.parametrize("inner", ["allow", "error"])
def test_leaving_restores_the_outer(scale: Answer, inner: Policy) -> None:
    with densify(on="allow"):
        with pytest.raises(KeyError), densify(on=inner):
            raise KeyError
        scale(Known(10))


def test_threads_do_not_see_each_others(scale: Answer) -> None:
    raised: list[Exception] = []

    def elsewhere() -> None:
        try:
            with densify(on="allow"):
                scale(Known(10))
        except DensifyError as error:
            raised.append(error)

    with densify(on="error"):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert raised == []


def test_the_ledger_counts_by_line_function_and_type(scale: Answer) -> None:
    with densify(on="allow"):
        for _ in range(3):
            line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
            scale(Known(10))
        scale(Unknown(20))
    first, second = densify_ledger()
    assert (first.type, first.nbytes, first.count, first.line) == ("Unknown", 3200, 1, line + 1)
    assert (second.file, second.line) == (__file__, line)
    assert (second.function, second.type, second.count, second.nbytes) == ("lib.scale", "Known", 3, 2400)


def test_what_was_refused_is_not_counted(scale: Answer) -> None:
    for limit, on in ((799, "allow"), (None, "error")):
        with densify(on=on, limit=limit), pytest.raises(DensifyError):  # type: ignore[arg-type]
            scale(Known(10))
    assert densify_ledger() == []


def test_the_ledger_can_be_cleared(scale: Answer) -> None:
    with densify(on="allow"):
        scale(Known(10))
    clear_densify_ledger()
    assert densify_ledger() == []


def test_two_arguments_are_two_copies(protocol: DispatchProtocol, scale: Answer) -> None:
    @protocol.overridable
    def combine(x1: Any, x2: Any) -> str:
        return "body"

    with densify(on="allow"):
        combine(Known(10), Known(10))
    assert [(entry.function, entry.count, entry.nbytes) for entry in densify_ledger()] == [("lib.combine", 2, 1600)]


def test_a_size_that_instances_tell_is_known_beforehand() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Told:
        def __init__(self) -> None:
            self.shape, self.dtype = (1000, 1000), dk.float64

        def to_dense(self) -> Any:
            raise AssertionError("past the limit before anything is built")

    with dk.densify(limit="1MB"), pytest.raises(dk.DensifyError, match=r"make .*Told dense \(8.0 MB\)"):
        dk.cos(Told())


def test_every_record_of_a_dense_call_says_why() -> None:
    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    class Held:
        def __init__(self, data: dk.Tensor) -> None:
            self.data = data

        def to_dense(self) -> dk.Tensor:
            return self.data

    held: Any = Held(dk.ones(2))
    with dk.densify(on="allow"), dk.record_calls() as record:
        for _ in range(2):
            dk.add(held, held)
    reasons = [call.reason for call in record.calls if call.densified]
    assert reasons == ["no rule for add; add does not decompose: its body is one call"] * 2


@pytest.mark.parametrize("settings", [{"on": "error"}, {"limit": "1MB"}])
def test_where_nobody_enters_it_it_says_so(settings: dict[str, Any]) -> None:
    text = "densify has no effect before a with statement enters it; write with dk.densify(...):"
    with pytest.warns(RuntimeWarning, match=f"^{re.escape(text)}$") as caught:
        densify(**settings)
    assert [warning.filename for warning in caught] == [__file__]


def test_where_it_is_entered_or_decorates_a_function_it_does_not() -> None:
    with densify(on="error"):
        pass

    @densify(on="error")
    def total(protocol: DispatchProtocol) -> Any:
        return unary(protocol)(Known(2))

    protocol = DispatchProtocol("__lib_function__")
    protocol.register_type(Known, fallback=fallback.dense)
    for _ in range(2):
        with pytest.raises(DensifyError):
            total(protocol)


def test_a_dense_form_that_is_asked_for_deep_in_a_program_is_counted_in_few_steps_for_each_frame() -> None:
    class Constant(dk.ArrayMethods):
        def to_dense(self) -> Any:
            return dk.ones(2)

    x = dk.array_type(fallback=dk.fallback.dense)(Constant)()

    def below(depth: int) -> Any:
        return below(depth - 1) if depth else x.to_dense()

    def steps(depth: int) -> int:
        below(depth)
        return steps_of(lambda: below(depth))

    assert steps(80) - steps(40) <= 40 * 12
