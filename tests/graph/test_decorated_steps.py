"""A decorator that sets something does so in each step of generators and coroutines, and not between them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

import dispatchkit as dk

off = pytest.mark.parametrize(
    "decorate", [lambda f: dk.no_grad()(f), dk.no_grad, lambda f: dk.set_grad_enabled(False)(f)], ids=["()", "", "set"]
)
Decorator = Callable[[Any], Any]


@off
def test_in_a_generator(decorate: Decorator) -> None:
    seen: list[Any] = []

    @decorate
    def steps(first: Any) -> Generator[Any, Any, str]:
        seen.append(dk.is_grad_enabled())
        try:
            sent = yield first
            seen.append((dk.is_grad_enabled(), sent))
            yield "second"
        except KeyError:
            seen.append((dk.is_grad_enabled(), "thrown"))
            yield "third"
        finally:
            seen.append((dk.is_grad_enabled(), "closed"))
        return "end"

    assert inspect.isgeneratorfunction(steps)
    generator = steps("first")
    assert (next(generator), dk.is_grad_enabled()) == ("first", True)
    assert (generator.send(5), dk.is_grad_enabled()) == ("second", True)
    assert (generator.throw(KeyError()), dk.is_grad_enabled()) == ("third", True)
    with pytest.raises(StopIteration, match="end"):
        next(generator)
    assert seen == [False, (False, 5), (False, "thrown"), (False, "closed")]
    generator = steps("first")
    next(generator)
    generator.close()
    assert seen[4:] == [False, (False, "closed")]
    assert dk.is_grad_enabled()


@off
def test_in_a_coroutine(decorate: Decorator) -> None:
    @decorate
    async def work() -> list[bool]:
        first = dk.is_grad_enabled()
        await asyncio.sleep(0)
        return [first, dk.is_grad_enabled()]

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work()) == [False, False]
    coroutine = work()
    coroutine.send(None)
    assert dk.is_grad_enabled(), "it is suspended"
    coroutine.close()


@off
def test_in_an_asynchronous_generator(decorate: Decorator) -> None:
    seen: list[Any] = []

    @decorate
    async def steps() -> AsyncGenerator[str, Any]:
        try:
            await asyncio.sleep(0)
            seen.append((dk.is_grad_enabled(), (yield "first")))
            yield "second"
        except KeyError:
            seen.append(dk.is_grad_enabled())
            yield "third"
        finally:
            seen.append((dk.is_grad_enabled(), "closed"))

    async def drive() -> None:
        generator = steps()
        assert (await anext(generator), dk.is_grad_enabled()) == ("first", True)
        assert (await generator.asend(5), dk.is_grad_enabled()) == ("second", True)
        assert (await generator.athrow(KeyError()), dk.is_grad_enabled()) == ("third", True)
        await generator.aclose()
        assert [one async for one in steps()] == ["first", "second"]

    assert inspect.isasyncgenfunction(steps)
    asyncio.run(drive())
    assert seen == [(False, 5), False, (False, "closed"), (False, None), (False, "closed")]


def test_enable_grad_inside_no_grad_holds_in_a_generator() -> None:
    @dk.enable_grad
    def steps() -> Generator[bool, None, None]:
        yield dk.is_grad_enabled()

    with dk.no_grad():
        assert list(steps()) == [True]


def test_other_blocks_hold_in_generators() -> None:
    @dk.autograd.detect_anomaly()
    def anomaly() -> Generator[bool, None, None]:
        yield dk.autograd.is_anomaly_enabled()

    own = dk.Generator(0)

    @dk.random.drawing_from(own)
    def drawing() -> Generator[bool, None, None]:
        yield dk.random.current_generator() is own

    assert list(anomaly()) == list(drawing()) == [True]


@pytest.mark.parametrize("decorate", [dk.no_grad, dk.no_grad(), dk.enable_grad, dk.autograd.detect_anomaly()])
def test_classes_are_refused(decorate: Decorator) -> None:
    class Model:
        pass

    with pytest.raises(TypeError) as caught:
        decorate(Model)
    name, _, text = str(caught.value).partition(": ")
    assert name in ("no_grad", "enable_grad", "detect_anomaly")
    assert text == "cannot decorate the class Model; decorate functions, or methods one by one"


def test_set_grad_enabled_without_a_mode_is_refused() -> None:
    def step() -> None: ...

    with pytest.raises(TypeError) as caught:
        dk.set_grad_enabled(step)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "set_grad_enabled: mode must be True or False, found 'step'; write @set_grad_enabled(False)"
    )
