"""Programs over types of their own: what advice promises of each, and what comes once its rules are written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import dispatchkit as dk


class Held:
    """A type that holds its elements as they are, under a name of its own."""

    def __init__(self, values: Any) -> None:
        self.values = dk.asarray(values)

    @property
    def shape(self) -> Any:
        return self.values.shape

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def to_dense(self) -> Any:
        return self.values


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense, fields=("values",))
class Ring(Held):
    """A vector whose ends meet."""


@dk.array_type(fallback=dk.fallback.dense, fields=("values",))
class Coded(Held):
    """A vector of codes, with a rule for each elementwise operation of one array."""


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense, fields=("values",))
class Packed(Held):
    """A symmetric matrix with rules for some operations."""


def register() -> None:
    """Write the rules that the types begin with."""

    @dk.implements(dk.kinds.elementwise)
    def each(op: Any, x: Coded, /) -> Coded:
        return Coded(op(x.values))

    @dk.implements(dk.multiply)
    def scaled(x1: Packed, x2: float, /) -> Packed:
        return Packed(x1.values * x2)

    @dk.implements(dk.sum)
    def total(x: Packed, /) -> dk.Tensor:
        found: dk.Tensor = dk.sum(x.values)
        return found

    @dk.implements(dk.roll)
    def turned(x: Ring, /, shift: Any, *, axis: Any = None) -> Ring:
        middle = dk.mean(x)  # a call of the program, too
        return Ring(dk.roll(x.values, shift, axis=axis) - middle)


def centre(x: Any) -> None:
    """Lose the structure once, and go on with what is plain then."""
    for _ in range(5):
        y = x - dk.mean(x)
        dk.std(y)
        dk.cumulative_sum(y)


def chain(x: Any) -> None:
    dk.sum(dk.abs(dk.exp(x) * 2.0) + x)


def code(x: Any) -> None:
    dk.maximum(x, 0.0)
    x / dk.asarray(2.0)
    dk.sqrt(dk.abs(x))


def sort(x: Any) -> None:
    ordered = dk.sort(x)
    dk.diff(ordered)
    dk.unique_values(ordered)


def turn(x: Any) -> None:
    dk.roll(x, 1) + x


def split(x: Any) -> None:
    first, second = dk.split(dk.flip(x), 2)
    dk.max(first) - dk.min(second)


def multiply(x: Any) -> None:
    product = x @ x
    dk.trace(product)
    dk.sum(product * 2.0, axis=0)
    dk.softmax(product, axis=1)


def norms(x: Any) -> None:
    dk.linalg.norm(x)
    dk.var(x, axis=1)
    dk.sum(x, axis=0)
    dk.sum(x)


def mixed(x: Any) -> None:
    plain = dk.asarray([1.0, 2.0, 3.0, 4.0])
    dk.where(plain > 2.0, x, plain)
    dk.stack([x, plain]).sum()
    plain * x - x


def activations(x: Any) -> None:
    hidden = dk.relu(x * 2.0 - 1.0)
    dk.sigmoid(hidden)
    dk.mean(hidden**2.0)


class Workload(NamedTuple):
    """A program, and the instance that it is made with."""

    program: Callable[[Any], None]
    make: Callable[[], Any]


def ring() -> Any:
    return Ring([3.0, 1.0, 4.0, 1.5])


def coded() -> Any:
    return Coded([1.5, 2.0, 4.0])


def packed() -> Any:
    return Packed([[2.0, 1.0], [1.0, 3.0]])


WORKLOADS = [
    Workload(centre, ring),
    Workload(chain, ring),
    Workload(code, coded),
    Workload(sort, coded),
    Workload(turn, ring),
    Workload(split, ring),
    Workload(multiply, packed),
    Workload(norms, packed),
    Workload(mixed, ring),
    Workload(activations, ring),
]


def losses(record: Any) -> tuple[int, int]:
    """Return how many calls of a record became dense, and the bytes of their dense copies."""
    dense = [call for call in record.calls if call.how == "dense"]
    return len(dense), sum(call.self_densified for call in dense)


def recorded(workload: Workload) -> Any:
    """Make a program, and return its record."""
    with dk.densify(on="allow"), dk.record_calls() as record:
        workload.program(workload.make())
    return record


def write(stub: str, cls: type) -> None:
    """Write a rule as its stub says: computed on the elements, and of the type unless it is a number."""

    def compute(operation: Any, handler: Any, arguments: dict[str, Any]) -> Any:
        args, kwargs = arguments_of(handler, with_each(arguments, plain))
        if args[0] is operation:
            args = args[1:]
        return with_each(operation(*args, **kwargs), wrapped)

    def plain(value: Any) -> Any:
        if isinstance(value, cls):
            return value.values  # type: ignore[attr-defined]  # of each type here
        return value

    def wrapped(value: Any) -> Any:
        if isinstance(value, dk.Tensor) and value.shape:
            return cls(value)
        return value

    for text in stub.split("\n\n"):
        head, _, signature = text.partition("\n")
        operation = head.removeprefix("@dk.implements(").removesuffix(")")
        name = signature.removeprefix("def ").partition("(")[0]
        if operation.startswith("dk.kinds."):
            operation = "op"
        body = f"    return compute({operation}, {name}, dict(locals()))"
        names = {"dk": dk, cls.__name__: cls, "compute": compute}
        exec(f"{head}\n{signature.replace('    ...', body)}", names)  # noqa: S102  # what the adviser wrote


def with_each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with a change made to it, or to each of its members."""
    if isinstance(value, (list, tuple)):
        return type(value)(with_each(member, change) for member in value)
    if isinstance(value, dict):
        return {name: with_each(member, change) for name, member in value.items()}
    return change(value)


def arguments_of(handler: Any, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a handler as they are passed on, by the names of its parameters."""
    args, kwargs = list[Any](), dict[str, Any]()
    for name, p in inspect.signature(handler).parameters.items():
        if p.kind is p.VAR_POSITIONAL:
            args += given[name]
        elif p.kind is p.VAR_KEYWORD:
            kwargs |= given[name]
        elif p.kind is p.KEYWORD_ONLY:
            kwargs[name] = given[name]
        else:
            args.append(given[name])
    return args, kwargs


def steps(workload: Workload, most: int = 9) -> Iterator[tuple[Any, tuple[int, int], tuple[int, int]]]:
    """Write the rules that are advised one by one; yield each with what it promised, and what came."""
    record = recorded(workload)
    cls = type(workload.make())
    for suggestion in record.advice(most, cls=cls):
        if not suggestion.stub:
            return
        write(suggestion.stub, cls)
        yield suggestion, (suggestion.left, suggestion.left_nbytes), losses(recorded(workload))


def table() -> str:
    """Return what was promised of each program, and what came, as a table of Markdown."""
    lines = ["| program | type | dense | rule | promised | came |", "| --- | --- | --- | --- | --- | --- |"]
    for workload in WORKLOADS:
        with dk.local_registrations():
            register()
            start = [f"`{workload.program.__name__}`", f"`{type(workload.make()).__name__}`"]
            now = losses(recorded(workload))
            for suggestion, promise, came in steps(workload):
                texts = [f"{count} ({nbytes} B)" for count, nbytes in (now, promise, came)]
                lines.append(f"| {' | '.join([*start, texts[0], f'`{suggestion.operation}`', *texts[1:]])} |")
                start, now = ["", ""], came
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
