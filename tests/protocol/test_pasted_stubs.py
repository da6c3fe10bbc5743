"""Every rule that an error prints, pasted as it stands, is asked by the very call that raised the error."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.testing.calls import generic_samples

Call = tuple[tuple[Any, ...], dict[str, Any]]


@dk.array_type()
class Block:
    """A type that refuses every call."""

    shape, dtype = (2, 2), dk.float64


@dk.array_type()
class Frame:
    """Another one."""

    shape, dtype = (2, 2), dk.float64


class Asked(Exception):  # noqa: N818  # it says that all is well
    """The pasted rule was called."""


def stub_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the rule that the error of a call prints; "" where the call is answered, or mistaken in another way."""
    try:
        function(*args, **kwargs)
    except NoImplementationError as error:
        return error.stub
    except Exception:  # noqa: BLE001  # which is not what is looked for
        return ""
    return ""


def faults_of(
    protocol: DispatchProtocol, function: Callable[..., Any], calls: Iterator[Call], names: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what goes wrong with the rules that errors print for calls; their types stand in `names`."""
    scope = {"dk": dk, "protocol": protocol, "Asked": Asked, function.__name__: function, **names}
    for args, kwargs in calls:
        stub = stub_of(function, args, kwargs)
        if not stub:
            continue
        with protocol.local_registrations():
            try:
                exec(stub.replace("    ...", "    raise Asked"), dict(scope))  # noqa: S102  # pasting is what is tested
                function(*args, **kwargs)
                yield f"not asked: {stub}"
            except Asked:
                pass
            except Exception as error:  # noqa: BLE001  # whatever it is
                yield f"{error}: {stub}"


def calls_of(operation: Overridable) -> Iterator[Call]:
    """Yield calls of an operation with a `Block` in the place of each array, among others of several types."""
    parameters = operation.parameters
    samples = getattr(operation, "samples", []) or generic_samples(operation, (2, 2), np.float64, guessed=True)
    others = [dk.ones((2, 2)), np.float32(2), 2.0, Frame()]
    known = set()
    for sample, other in itertools.product(samples, others):
        args, kwargs = sample.make(np.random.default_rng(0))
        for place in range(len(parameters.values(args, kwargs))):
            places = itertools.count()

            def change(name: str, value: Any, places: Any = places, place: int = place, other: Any = other) -> Any:
                if next(places) == place:
                    return Block()
                return other if isinstance(value, (np.ndarray, dk.Tensor)) else value

            call = parameters.replace(args, kwargs, change)
            key = parameters.key(*call), len(call[0]), tuple(call[1])
            if key not in known:
                known.add(key)
                yield call


def test_the_stubs_of_all_operations() -> None:
    tensor_protocol.journal.load_all()
    names = {"Block": Block, "Frame": Frame}
    operations = [operation for operation in tensor_protocol.operations.values() if operation.parameters.arrays]
    assert len(operations) > 200
    faults = [
        fault
        for operation in operations
        if operation.namespace.startswith("dispatchkit")
        for fault in faults_of(tensor_protocol, operation.function, calls_of(operation), names)
    ]
    assert not faults, "\n".join(faults[:5])


def of_one(x: Any) -> Any: ...
def of_two(x: Any, y: Any) -> Any: ...
def of_many(x: Any, y: Any = None, *rest: Any, key: Any = 1, **others: Any) -> Any: ...
def of_some(x: Any, *rest: Any) -> Any: ...
def of_any(*rest: Any, out: Any = None) -> Any: ...
def by_name(x: Any, /, y: Any, *, z: Any) -> Any: ...


FORMS: dict[Callable[..., Any], Callable[[Any, Any], list[Call]]] = {
    of_one: lambda v, w: [((v,), {})],
    of_two: lambda v, w: [((v, w), {}), ((v,), {"y": w}), ((), {"x": v, "y": w})],
    of_many: lambda v, w: [((v, w, v), {}), ((v, None, w), {"key": 2}), ((v,), {"other": w}), ((v, w, v, w), {})],
    of_some: lambda v, w: [((v,), {}), ((v, w), {}), ((v, w, v), {})],
    of_any: lambda v, w: [((v,), {}), ((v, w), {"out": v}), ((), {"out": v})],
    by_name: lambda v, w: [((v, w), {"z": v}), ((v,), {"y": w, "z": w})],
}


@pytest.mark.parametrize("original", FORMS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("own", [False, True], ids=["tensors", "own protocol"])
def test_the_stubs_of_functions_that_take_anything(original: Callable[..., Any], own: bool) -> None:
    protocol = DispatchProtocol("__lib_function__") if own else tensor_protocol

    @protocol.array_type()
    class Own:
        pass

    @protocol.array_type()
    class Other:
        pass

    ours: list[Any] = [Own(), [Own(), Other(), 1], [Own(), None], (Own(), "text"), [Own(), len], {"key": Own()}]
    values = [*ours, 2.0, None, "text", np.float32(1), ..., len, []]
    listed = list(inspect.signature(original).parameters)
    choices = [None, *[(name,) for name in listed if name != "others"]]
    with protocol.local_registrations():
        for arrays in choices:
            function = (
                protocol.overridable(original) if arrays is None else protocol.overridable(arrays=arrays)(original)
            )
            calls = (call for v, w in itertools.product(values, values) for call in FORMS[original](v, w))
            faults = list(faults_of(protocol, function, calls, {"Own": Own, "Other": Other}))
            assert not faults, "\n".join(faults[:5])


def test_the_stub_of_an_option_that_is_text() -> None:
    @dk.overridable
    def sharpen(x: Any, mode: Any) -> Any:
        return x

    with pytest.raises(NoImplementationError) as caught:
        sharpen(Block(), "fast")
    assert caught.value.stub == "@dk.implements(sharpen)\ndef sharpen_block(x: Block, mode: str):\n    ..."


def test_the_stub_of_what_has_no_name_to_paste_leaves_it_out() -> None:
    @dk.overridable
    def sharpen(x: Any, y: Any, others: Any) -> Any:
        return x

    with pytest.raises(NoImplementationError) as caught:
        sharpen(Block(), len, [Block(), ..., None])
    stub = "@dk.implements(sharpen)\ndef sharpen_block(x: Block, y, others: list[Block | object]):\n    ..."
    assert caught.value.stub == stub


@pytest.mark.parametrize("key", [lambda x: (x, None), lambda x: (..., x), lambda x: (x, slice(1)), lambda x: (0, x)])
def test_the_stub_of_an_index_names_the_type_alone(key: Callable[[Any], Any]) -> None:
    with pytest.raises(NoImplementationError) as caught:
        dk.ones((2, 2))[key(Block())]
    stub = "@dk.implements(dk.getitem)\ndef getitem_block(x: dk.Tensor, key: Block, /):\n    ..."
    assert caught.value.stub == stub
