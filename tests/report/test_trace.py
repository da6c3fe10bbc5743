"""`trace`: which calls it records, what it says of them, and what it leaves alone."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.linalg import trace as sum_of_diagonal
from dispatchkit.protocol.callers import continue_chain
from dispatchkit.protocol.observers import Observer, live, observers, observing
from dispatchkit.report import Trace


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Halved:
    def __init__(self, twice: dk.Tensor) -> None:
        self.twice = twice

    @property
    def shape(self) -> tuple[int, ...]:
        return self.twice.shape

    @property
    def dtype(self) -> Any:
        return self.twice.dtype

    def to_dense(self) -> Any:
        return self.twice / 2


class Named(dk.Tensor):
    """Has no rules."""


class Method:
    @classmethod
    def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> str:
        return "mine"


class Through(dk.TensorFunctionMode):
    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs)


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with dk.local_registrations(), dk.densify(on="allow"):

        @dk.implements(dk.sin)
        def sin_halved(x: Halved, /) -> Any:
            return dk.sin(x.to_dense())

        @dk.implements(dk.cos)
        def cos_halved(x: Halved, /) -> Any:
            return dk.decline("not today")

        @dk.implements(dk.kinds.reduction, Halved)
        def reduce_halved(op: Any, x: Halved, /, **kwargs: Any) -> Any:
            return op(x.twice, **kwargs)

        @dk.implements(dk.tan)
        def tan_halved(x: Halved, /) -> Any:
            raise ZeroDivisionError("a handler's own\nsecond line")

        yield


def names(t: Trace) -> list[str]:
    return [call.name for call in t.calls]


def test_calls_are_recorded_in_the_order_they_begin_with_what_they_are_part_of() -> None:
    x = Halved(dk.ones(2))
    with dk.record_calls() as t:
        dk.sin(x)
        dk.ones(1)
    assert names(t) == ["sin", "divide", "sin", "ones"]
    assert [(call.parent, call.depth) for call in t.calls] == [(None, 0), (0, 1), (0, 1), (None, 0)]
    outer, divide, inner, _ = t.calls
    assert 0 <= outer.start <= divide.start <= divide.start + divide.duration <= inner.start
    assert inner.start + inner.duration <= outer.start + outer.duration <= t.duration
    assert 0 <= outer.self_time <= outer.duration - divide.duration - inner.duration
    assert inner.self_time == inner.duration > 0


def test_calls_inside_of_others_begin_and_end_inside_of_them() -> None:
    async def work() -> None:
        dk.exp(Halved(dk.ones(3)))

    async def main() -> None:
        await asyncio.gather(asyncio.create_task(work(), name="first"), asyncio.create_task(work(), name="second"))

    with dk.densify(on="allow"), dk.record_calls() as t:
        dk.softmax(Halved(dk.ones((2, 2))))
        asyncio.run(main())
    assert {call.task for call in t.calls} == {"", "first", "second"}
    for call in t.calls:
        outer = None if call.parent is None else t.calls[call.parent]
        if outer is not None:
            assert (outer.thread_id, outer.task) == (call.thread_id, call.task)
            assert outer.start <= call.start
            assert call.start + call.duration <= outer.start + outer.duration
    outermost = [call for call in t.calls if call.parent is None]
    assert len(outermost) < len(t.calls)
    ends = [call.start + call.duration for call in outermost]
    assert all(end <= call.start for end, call in zip(ends, outermost[1:], strict=False))


def test_types_shapes_and_dtypes_of_the_arrays() -> None:
    x = Halved(dk.ones((2, 3), dtype=dk.float32))
    with dk.record_calls() as t:
        dk.add(x, 1.0)
        dk.concat([dk.ones((1, 2)), np.zeros((3, 2))])
        dk.ones(3)[dk.tensor([0, 1]), ...]
        dk.clip(dk.ones(2), 0.5)
    first = t.calls[0]
    assert (first.types, first.shapes, first.dtypes) == (("Halved", "float"), ((2, 3), None), ("float32", ""))
    assert first.arrays() == ["Halved (2, 3) float32", "float"]
    concat = next(call for call in t.calls if call.name == "concat")
    assert (concat.types, concat.shapes) == (("Tensor", "ndarray"), ((1, 2), (3, 2)))
    getitem = next(call for call in t.calls if call.name == "getitem")
    assert getitem.types == ("Tensor", "Tensor")
    clip = next(call for call in t.calls if call.name == "clip" and call.depth == 0)
    assert clip.types == ("Tensor", "float")


def test_nothing_becomes_dense_for_the_record() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Shapeless:
        def to_dense(self) -> dk.Tensor:
            raise AssertionError("asked")

    @dk.implements(dk.sin)
    def sin_shapeless(x: Shapeless, /) -> int:
        return 1

    with dk.record_calls() as t:
        dk.sin(Shapeless())
    assert (t.calls[0].shapes, t.calls[0].dtypes, t.calls[0].result) == ((None,), ("",), "int")


def test_what_a_property_does_for_the_record_is_neither_seen_nor_counted() -> None:
    @dk.array_type(fallback=dk.fallback.dense)
    class Computed:
        def __init__(self, held: dk.Tensor) -> None:
            self.held = held

        @property
        def shape(self) -> Any:
            return tuple(dk.add(dk.asarray(self.to_dense().shape), 0).tolist())

        @property
        def dtype(self) -> Any:
            return dk.sum(self.held).dtype

        def to_dense(self) -> dk.Tensor:
            return self.held

    @dk.implements(dk.sin)
    def sin_computed(x: Computed, /) -> int:
        return 1

    x = Computed(dk.ones((2, 3)))
    dk.clear_densify_ledger()
    with dk.record_calls() as t:
        dk.sin(x)
    assert [(call.name, call.shapes, call.dtypes) for call in t.calls] == [("sin", ((2, 3),), ("float64",))]
    assert dk.densify_ledger() == []


def test_a_record_asks_an_argument_for_its_shape_once() -> None:
    asked = []

    @dk.array_type()
    class Asked:
        dtype = np.dtype(np.float64)

        @property
        def shape(self) -> tuple[int, ...]:
            asked.append("shape")
            return (2,)

    @dk.implements(dk.subtract)
    def subtract_asked(x1: Asked, x2: Asked, /) -> Asked:
        return x1

    x = Asked()
    with dk.record_calls() as t:
        dk.subtract(x, x)
    assert (len(asked), t.calls[0].shapes) == (2, ((2,), (2,)))


def test_a_record_shows_arguments_as_they_were_when_it_is_read_later() -> None:
    class Growing(Method):
        def __init__(self) -> None:
            self.shape = [2]

    x = Growing()
    y = dk.ones(2, dtype=dk.float32)
    with dk.record_calls() as t:
        dk.sin(x)
        dk.exp(y)
    x.shape.append(3)
    y.array = np.zeros((4, 4))
    assert [(call.shapes, call.dtypes) for call in t.calls] == [(((2,),), ("",)), (((2,),), ("float32",))]


def test_a_record_read_while_a_call_is_made_shows_how_it_ended_when_it_is_read_again() -> None:
    found: list[tuple[str, int]] = []

    @dk.implements(dk.asin)
    def asin_halved(x: Halved, /) -> Any:
        found.extend((call.how, call.duration) for call in t.calls)
        return dk.cos(1.0)

    x = Halved(dk.ones(1))
    with dk.record_calls() as t:
        dk.asin(x)
    assert found == [("", 0)]
    assert [(call.name, call.how, call.parent, call.depth) for call in t.calls] == [
        ("asin", "rule", None, 0),
        ("cos", "plain", 0, 1),
    ]
    assert t.calls[0].duration > 0


def test_a_call_inside_of_one_that_is_not_in_the_record_has_the_line_of_the_program() -> None:
    class Seen(Observer):
        """Has calls seen in another way than records alone."""

    with dk.record_calls(max_calls=1) as first, observing(Seen()), dk.record_calls() as t:
        dk.softmax(dk.types.ScalarTensor(2, 1.0))
    code = test_a_call_inside_of_one_that_is_not_in_the_record_has_the_line_of_the_program.__code__
    assert len(first.calls) == 1
    assert len(t.calls) > 1
    assert {call.place for call in t.calls} == {f"{__file__}:{code.co_firstlineno + 5}"}


def test_a_shape_that_raises_does_no_harm() -> None:
    class Broken(Method):
        @property
        def shape(self) -> Any:
            raise RuntimeError("no shape")

    with dk.record_calls() as t:
        assert dk.sin(Broken()) == "mine"
    assert t.calls[0].shapes == (None,)


@pytest.mark.parametrize(
    ("call", "how", "who", "what"),
    [
        (lambda: dk.sin(dk.ones(2)), "plain", "", ""),
        (lambda: dk.zeros(2), "plain", "", ""),
        (lambda: dk.sin(Named([1.0])), "default", "Named", "default of Tensor"),
        (lambda: dk.sin(Halved(dk.ones(2))), "rule", "Halved", "sin_halved(Halved in any position)"),
        (lambda: dk.sum(Halved(dk.ones(2))), "rule for the kind", "Halved", "reduce_halved(Halved in any position)"),
        (lambda: dk.cos(Halved(dk.ones(2))), "dense", "Halved", "dense: to_dense() of Halved"),
        (lambda: dk.softmax(Halved(dk.ones(2))), "dense", "Halved", "dense: to_dense() of Halved"),
        (lambda: dk.sin(Method()), "own method", "Method", "Method.__tensor_function__"),
    ],
    ids=["plain", "creation", "default", "rule", "kind", "declined", "dense", "method"],
)
def test_who_answered(call: Any, how: str, who: str, what: str) -> None:
    with dk.record_calls() as t:
        call()
    found = next(call for call in t.calls if call.depth == 0 and call.name != "ones")
    assert (found.how, found.who, found.what) == (how, who, what)
    assert bool(found.location) == (how in ("rule", "rule for the kind", "own method"))
    if found.location:
        assert found.location.rpartition(":")[0] == __file__


def test_rewrapped_converted_and_decomposed_calls() -> None:
    @dk.array_type(fallback=dk.fallback.rewrap)
    class Wrapped:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.convert)
    class Other:
        pass

    @dk.converts()
    def to_tensor(x: Other) -> dk.Tensor:
        return dk.ones(2)

    @dk.operation
    def sine_twice(xp: Any, x: Any, /) -> Any:
        return 2 * xp.sin(x)

    @dk.implements(dk.sin)
    def sin_other(x: Other, /) -> dk.Tensor:
        return dk.ones(2)

    with dk.record_calls() as t:
        dk.exp(Wrapped(dk.ones(2)))
        dk.exp(Other())
        sine_twice(Other())
    found = [(call.how, call.who.rpartition(".")[2]) for call in t.calls if call.depth == 0]
    assert found[1:] == [("rewrap", "Wrapped"), ("convert", "Other"), ("decompose", "Other")]
    last = max(place for place, call in enumerate(t.calls) if call.depth == 0)
    inner = [(call.name, call.how) for call in t.calls if call.parent == last]
    assert inner == [("sin", "rule"), ("multiply", "plain")]


def test_modes() -> None:
    with Through(), dk.record_calls() as t:
        dk.sin(1.0)
    outer, inner = t.calls
    assert (outer.how, outer.who, outer.what) == ("mode", "Through", "Through.__tensor_function__")
    assert outer.location.rpartition(":")[0] == __file__
    assert (inner.how, inner.parent) == ("plain", 0)
    with dk.record_calls() as t, dk.disable_dispatch():
        dk.sin(Named([1.0]))
    assert t.calls[-1].how == "default"


def test_exceptions_leave_it_whole() -> None:
    x = Halved(dk.ones(2))
    with dk.record_calls() as t:
        with pytest.raises(ZeroDivisionError):
            dk.tan(x)
        with pytest.raises(dk.NoImplementationError):
            dk.sin(Strict())
        with pytest.raises(dk.ForeignArgumentError):
            dk.sin("x")
        dk.sin(1.0)
    assert [(call.name, call.how, call.error) for call in t.calls] == [
        ("tan", "rule", "ZeroDivisionError: a handler's own"),
        ("sin", "nobody", t.calls[1].error),
        ("sin", "nobody", t.calls[2].error),
        ("sin", "plain", ""),
    ]
    assert t.calls[1].error.startswith("NoImplementationError: no implementation found for 'dispatchkit.sin'")
    assert t.calls[2].error.startswith("ForeignArgumentError: ")
    assert all(call.duration > 0 and call.depth == 0 for call in t.calls)


@dk.array_type()
class Strict:
    pass


def test_an_exception_out_of_the_block_ends_it() -> None:
    before = len(live)
    with pytest.raises(ZeroDivisionError), dk.record_calls() as t:
        dk.tan(Halved(dk.ones(1)))
    dk.ones(1)
    assert names(t) == ["ones", "tan"]
    assert observers() == ()
    assert len(live) == before


def test_the_line_is_that_of_the_program() -> None:
    with dk.record_calls() as t:
        dk.softmax(dk.ones(2))
    code = test_the_line_is_that_of_the_program.__code__
    assert {(call.file, call.line) for call in t.calls} == {(__file__, code.co_firstlineno + 2)}
    assert t.calls[0].place == f"{__file__}:{code.co_firstlineno + 2}"


def test_bytes_that_become_dense() -> None:
    x = Halved(dk.ones(100))

    @dk.operation
    def cosine(xp: Any, x: Any, /) -> Any:
        return xp.cos(x)

    @dk.implements(cosine)
    def cosine_halved(x: Halved, /) -> Any:
        return dk.exp(x) + 0 * dk.exp(x)

    with dk.record_calls() as t:
        cosine(x)
    outer, inner = t.calls[0], t.calls[1]
    assert (outer.densified, outer.self_densified) == (1600, 0)
    assert (inner.densified, inner.self_densified) == (800, 800)


def test_the_ledger_and_warnings_stay_as_they_are() -> None:
    x = Halved(dk.ones(2))
    with dk.densify(on="warn"), dk.record_calls(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dk.clear_densify_ledger()
        dk.exp(x)
    assert [str(one.message) for one in caught] == ["'dispatchkit.exp' made Halved dense (16 B)"]
    assert caught[0].filename == __file__
    assert [entry.file for entry in dk.densify_ledger()] == [__file__]


def test_results_are_those_without_a_trace() -> None:
    x = dk.tensor([0.5, 1.5], requires_grad=True)

    def computed() -> tuple[Any, Any]:
        y = dk.softmax(dk.exp(x) * 2).sum() + dk.sin(Halved(x)).sum()
        (grad,) = dk.autograd.grad(y, [x])
        return y.tolist(), grad.tolist()

    want = computed()
    with dk.record_calls():
        assert computed() == want


def test_nested_traces_both_record() -> None:
    with dk.record_calls() as outer:
        dk.sin(1.0)
        with dk.record_calls() as inner:
            dk.cos(1.0)
        dk.tan(1.0)
    assert (names(outer), names(inner)) == (["sin", "cos", "tan"], ["cos"])
    assert inner.calls[0].duration == outer.calls[1].duration


def test_a_trace_inside_of_a_handler_starts_anew() -> None:
    found: list[Trace] = []

    @dk.implements(dk.asin)
    def asin_halved(x: Halved, /) -> Any:
        with dk.record_calls() as t:
            result = dk.sin(x.twice)
        found.append(t)
        return result

    with dk.record_calls() as outer:
        dk.asin(Halved(dk.ones(1)))
    assert [(call.name, call.depth, call.parent) for call in found[0].calls] == [("sin", 0, None)]
    assert [(call.name, call.depth) for call in outer.calls] == [("ones", 0), ("asin", 0), ("sin", 1)]


def test_a_trace_may_be_entered_again_but_not_inside_of_itself() -> None:
    t = dk.record_calls()
    with t:
        dk.sin(1.0)
    dk.cos(1.0)
    with t:
        dk.tan(1.0)
        with pytest.raises(dk.ModeError, match="is kept here already; make another one"), t:
            pass
        dk.exp(1.0)
    assert names(t) == ["sin", "tan", "exp"]


def test_only_so_many_calls_are_kept() -> None:
    with dk.record_calls(max_calls=2) as t:
        for _ in range(5):
            dk.sin(1.0)
    assert (len(t.calls), t.dropped) == (2, 3)
    assert repr(t) == "<Trace: 2 calls, 3 more not kept>"
    with dk.record_calls(max_calls=1) as t:
        dk.sin(Halved(dk.ones(1)))
    assert (names(t), t.dropped) == (["ones"], 3)
    with pytest.raises(ValueError, match="max_calls must be at least 1, found 0"):
        dk.record_calls(max_calls=0)


def test_no_argument_is_kept_alive() -> None:
    import gc
    import weakref

    x = Halved(dk.ones(2))
    with dk.record_calls() as t:
        dk.sin(x)
        with pytest.raises(ZeroDivisionError):
            dk.tan(x)
        alive = weakref.ref(x)
        del x
        gc.collect()
        assert alive() is None
    assert len(t.calls) == 4


def test_other_threads_are_not_seen_unless_they_have_the_context() -> None:
    with dk.record_calls() as t:
        bare = threading.Thread(target=contextvars.Context().run, args=(dk.sin, 1.0))
        bare.start()
        bare.join()
        sharing = threading.Thread(target=contextvars.copy_context().run, args=(dk.cos, 1.0), name="worker")
        sharing.start()
        sharing.join()
        dk.tan(1.0)
    assert [(call.name, call.thread) for call in t.calls] == [("cos", "worker"), ("tan", "MainThread")]


def test_a_thread_that_a_handler_starts_is_no_part_of_its_call() -> None:
    @dk.implements(dk.asin)
    def asin_halved(x: Halved, /) -> Any:
        helper = threading.Thread(target=contextvars.copy_context().run, args=(dk.sin, 1.0), name="helper")
        helper.start()
        helper.join()
        return dk.cos(1.0)

    x = Halved(dk.ones(1))
    with dk.record_calls() as t:
        dk.asin(x)
    assert [(call.name, call.thread, call.depth) for call in t.calls] == [
        ("asin", "MainThread", 0),
        ("sin", "helper", 0),
        ("cos", "MainThread", 1),
    ]


def test_tasks_are_told_apart_until_the_block_is_left() -> None:
    async def work(count: int) -> None:
        for _ in range(count):
            dk.sin(1.0)
            await asyncio.sleep(0)

    async def main() -> Trace:
        with dk.record_calls() as t:
            first = asyncio.create_task(work(2), name="first")
            second = asyncio.create_task(work(100), name="second")
            await first
            dk.cos(1.0)
        await second
        dk.tan(1.0)
        return t

    t = asyncio.run(main())
    assert {call.task for call in t.calls if call.name == "sin"} == {"first", "second"}
    assert sum(call.name == "sin" for call in t.calls) < 10
    assert "tan" not in names(t)
    assert all(call.depth == 0 for call in t.calls)


def test_backward_passes() -> None:
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    y = dk.sum(x * x)
    with dk.record_calls() as t:
        y.backward(retain_graph=True)
    assert [(call.name, call.how, call.depth) for call in t.calls] == [
        ("SumBackward", "backward", 0),
        ("MultiplyBackward", "backward", 0),
    ]
    assert {call.file for call in t.calls} == {__file__}
    assert y.grad_fn is not None
    assert y.grad_fn.name == "SumBackward"
    y.backward(retain_graph=True)
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 8.0]
    assert len(t.calls) == 2
    with dk.record_calls() as t:
        y.backward(create_graph=True)
    steps = [call.name for call in t.calls if call.depth == 0 and call.how == "backward"]
    assert steps == ["SumBackward", "MultiplyBackward"]
    assert [call.name for call in t.calls if call.parent is not None and t.calls[call.parent].name == steps[1]]


def test_backward_passes_that_fail() -> None:
    @dk.operation
    def broken(xp: Any, x: Any, /) -> Any:
        return x * 2

    @broken.def_vjp("x")
    def broken_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
        raise ZeroDivisionError("in the rule")

    y = broken(dk.ones(2, requires_grad=True)).sum()
    with pytest.raises(dk.AnomalyError), dk.record_calls() as t, dk.autograd.detect_anomaly():
        y.backward()
    assert t.calls[-1].name == "BrokenBackward"
    assert "in the rule" in t.calls[-1].error


def test_functions_of_other_protocols_are_seen() -> None:
    units = dk.DispatchProtocol("__units_function__", namespace="units")

    @units.overridable
    def scale(x: Any, by: float = 2.0) -> Any:
        return x * by

    @units.array_type()
    class Metres:
        pass

    @units.implements(scale)
    def scale_metres(x: Metres, by: float = 2.0) -> str:
        return "scaled"

    with dk.record_calls() as t:
        scale(3.0)
        scale(Metres())
    assert [(call.function, call.how) for call in t.calls] == [("units.scale", "plain"), ("units.scale", "rule")]


def test_trace_is_the_trace_of_a_matrix_alone() -> None:
    x = dk.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert dk.trace is sum_of_diagonal
    assert dk.trace(x).item() == sum_of_diagonal(x).item() == 5.0
    assert dk.trace(x, offset=1).item() == 2.0
    assert dk.overrides.resolve_name(dk.trace) == "dispatchkit.linalg.trace"
    assert str(dk.explain(dk.trace, x)).startswith("dispatchkit.linalg.trace(Tensor)")

    @dk.implements(dk.trace)
    def trace_halved(x: Halved, /, *, offset: int = 0, dtype: Any = None) -> str:
        return "mine"

    assert dk.trace(Halved(x)) == "mine"
    for arguments in ({}, {"offset": 1}, {"max_calls": 2}):
        with pytest.raises(TypeError, match=r"missing a required argument: 'x'.*; dk.record_calls\(\) records calls"):
            dk.trace(**arguments)  # type: ignore[call-arg]


def test_without_a_trace_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """While no mode or observer exists, a call looks at `live` and at nothing else of this."""
    with dk.record_calls():
        dk.sin(1.0)
    assert not live

    def never(*_: Any) -> Any:
        raise AssertionError("asked")

    x = dk.ones(2)
    for module in ("callers", "modes"):
        monkeypatch.setattr(f"dispatchkit.protocol.{module}.ask_modes", never)
    monkeypatch.setattr("dispatchkit.declare.compiled.entry_points.ask_modes", never)
    monkeypatch.setattr("dispatchkit.graph.sweep.notify_backward", never)
    assert continue_chain is not never
    dk.sum(dk.add(dk.sin(x), x), axis=0)
    dk.concat([x, x])
    dk.sum(dk.ones(2, requires_grad=True) * 2).backward()


def test_threads_that_share_a_context_keep_their_parents_apart() -> None:
    @dk.implements(dk.asin)
    def asin_halved(x: Halved, /) -> Any:
        return dk.sin(1.0)

    x = Halved(dk.ones(1))
    with dk.record_calls() as t:

        def work() -> None:
            for _ in range(100):
                dk.asin(x)

        threads = [threading.Thread(target=contextvars.copy_context().run, args=(work,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(t.calls) == 800
    for call in t.calls:
        if call.name == "sin":
            assert call.parent is not None
            assert (t.calls[call.parent].name, t.calls[call.parent].thread_id) == ("asin", call.thread_id)
