"""Shorter ways for NumPy arrays: declared by `def_numpy`, and the same results as the body's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError
from dispatchkit.graph.numpy_namespace import numpy_namespace
from dispatchkit.ops.declared import DeclaredOperation
from dispatchkit.ops.samples import Sample
from tests.declared import OPERATIONS, flat
from tests.values.inputs import DTYPES, LAYOUTS, drawn
from tests.values.test_values import FURTHER


def shorter_ways() -> Iterator[Any]:
    for name, entry in OPERATIONS.items():
        if not isinstance(entry.on_numpy, partial):
            short = name.removeprefix("dispatchkit.")
            for index, sample in enumerate([*entry.samples, *FURTHER.get(entry.name, ())]):
                yield pytest.param(entry, sample, id=f"{short}-{index}")


def outcome(compute: Callable[..., Any], sample: Sample, dtype: Any, layout: str, edges: bool) -> Any:
    args, kwargs = drawn(sample, dtype, layout, edges)
    try:
        return [np.asarray(r) for r in flat(compute(*args, **kwargs))]
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        return type(error)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("entry", "sample"), list(shorter_ways()))
def test_a_shorter_way_gives_what_the_body_gives(entry: DeclaredOperation, sample: Sample) -> None:
    body = partial(entry.body_of_namespace, numpy_namespace)
    for dtype in DTYPES:
        for layout in LAYOUTS:
            for edges in (False, True):
                found = outcome(entry.on_numpy, sample, dtype, layout, edges)
                wanted = outcome(body, sample, dtype, layout, edges)
                said = f"{entry.name} of {dtype}, {layout}, {'with' if edges else 'without'} infinities and NaN"
                if isinstance(wanted, type) or isinstance(found, type):
                    assert found == wanted, said
                    continue
                assert [r.dtype for r in found] == [r.dtype for r in wanted], said
                for one, other in zip(found, wanted, strict=True):
                    if entry.name == "empty":
                        assert one.shape == other.shape, said
                        continue
                    close = 1e-4 if other.dtype.char in "fF" else 1e-10
                    npt.assert_allclose(one, other, rtol=close, atol=close, equal_nan=True, strict=True, err_msg=said)


def test_a_declared_way_computes_plain_tensors_alone() -> None:
    ways = []

    @dk.operation
    def halved(xp: Any, x: dk.Tensor, /, *, times: int = 1) -> Any:
        ways.append("body")
        return x / 2**times

    @halved.def_numpy
    def halved_numpy(x: Any, /, *, times: int = 1) -> Any:
        ways.append("NumPy")
        return x / 2**times

    ways.clear()
    assert halved(dk.ones(2), times=2).tolist() == [0.25, 0.25]
    assert ways == ["NumPy"]
    x = dk.tensor([1.0], requires_grad=True)
    halved(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.5]
    assert ways == ["NumPy", "body"]


def test_a_way_declared_after_a_call_counts_from_the_next() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def marked(xp: Any, x: Any, /) -> Any:
        return x + 1

    assert marked(dk.zeros(1)).tolist() == [1.0]
    marked.def_numpy(lambda x, /: x + 2)
    assert marked(dk.zeros(1)).tolist() == [2.0]


def test_a_result_of_a_users_way_shares_no_memory_unseen() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def same(xp: Any, x: Any, /) -> Any:
        return x + 0

    same.def_partial(lambda xp, y, x: 1)
    same.def_numpy(lambda x, /: x)
    x = dk.zeros(2)
    y = same(x)
    y += 1
    assert x.tolist() == [0.0, 0.0]


def test_a_way_takes_the_parameters_of_the_operation() -> None:
    @dk.operation
    def shifted(xp: Any, x: dk.Tensor, /, *, by: float = 1.0) -> Any:
        return x + by

    def without_default(x: Any, /, *, by: float) -> Any:
        return x + by

    with pytest.raises(RegistrationError) as info:
        shifted.def_numpy(without_default)
    assert str(info.value) == (
        "without_default cannot compute tests.shifted on NumPy arrays: write def without_default(x, /, *, by=1.0)"
    )
    assert shifted(dk.zeros(1)).tolist() == [1.0]
