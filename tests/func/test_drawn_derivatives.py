"""Derivatives of every differentiable operation at shapes, broadcasting and dtypes that Hypothesis draws.

Each is checked against differences, forward mode against reverse mode, second derivatives in all four orders, and
single precision against double. The calls follow from the declarations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample
from dispatchkit.func import vjp
from dispatchkit.protocol.kinds import kinds
from tests.declared import OPERATIONS, marks_of
from tests.func.problems import COMPOSED, Problem, composed, directional, problem, twice
from tests.func.variations import Variation, takes_floats, variations, varied
from tests.turns import LONG

# Each example is four checks or so, of the few lengths there are; the stated calls are tested elsewhere.
EXAMPLES = settings(
    max_examples=settings().max_examples // 3 if LONG else 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Derivatives larger than this come from near a pole or a singular matrix, where differences tell nothing.
LARGEST = 1e3


def stated(entry: DeclaredOperation) -> list[Sample]:
    return [s for s in entry.samples if s.differentiable and takes_floats(s, entry)]


SWEPT = {
    name.removeprefix("dispatchkit."): entry
    for name, entry in OPERATIONS.items()
    if entry.differentiable
    and not entry.parameters.nullary
    and entry.kind is not kinds.random
    and name.removeprefix("dispatchkit.") not in COMPOSED
}
ENTRIES = [pytest.param(entry, id=name, marks=marks_of(entry.qualified_name)) for name, entry in SWEPT.items()]
# Every stated call of these ties its lengths to other arguments: shapes, sections, operands in words.
TIED = {"dispatchkit.full", "dispatchkit.arange", "dispatchkit.nn.functional.gru", "dispatchkit.nn.functional.lstm"}


def moderate(made: Problem) -> bool:
    """Return whether a problem has floating results, and derivatives that can be compared with differences.

    Some shapes have none, and say so: columns of Q that a matrix does not determine.
    """
    if not made.cotangents or not all(x.size for x in (*made.primals, *made.cotangents)):
        return False
    try:
        grads = made.gradient(*made.primals)
    except ValueError as error:
        if "no derivative" not in str(error):
            raise
        return False
    return all(bool(np.all(np.abs(g.detach().numpy()) < LARGEST)) for g in grads)


def reads_bytes(entry: DeclaredOperation, args: Sequence[object]) -> bool:
    """Return whether a call reads the bytes of its argument as those of another dtype."""
    return entry.qualified_name == "dispatchkit.view" and any(isinstance(arg, np.dtype) for arg in args)


def as_leaves(made: Problem) -> list[dk.Tensor]:
    return [x.detach().requires_grad_() for x in made.primals]


@pytest.mark.parametrize("entry", ENTRIES)
@EXAMPLES
@given(data=st.data(), how=variations())
def test_derivatives_at_drawn_shapes(entry: DeclaredOperation, data: st.DataObject, how: Variation) -> None:
    sample = data.draw(st.sampled_from(stated(entry)))
    args, kwargs, _ = varied(entry, sample, how)
    made = problem(entry, args, kwargs)
    assume(moderate(made))
    directional(made)
    twice(made)
    assert dk.autograd.gradcheck(made.func, as_leaves(made), fast_mode=True, rtol=1e-2)


@pytest.mark.parametrize("entry", ENTRIES)
@EXAMPLES
@given(data=st.data(), how=variations())
def test_single_precision_at_drawn_shapes(entry: DeclaredOperation, data: st.DataObject, how: Variation) -> None:
    sample = data.draw(st.sampled_from(stated(entry)))
    args, kwargs, _ = varied(entry, sample, how)
    assume(not reads_bytes(entry, args))  # those of single precision are other numbers
    made = problem(entry, args, kwargs)
    assume(moderate(made))
    single = tuple(dk.astype(x, dk.float32) for x in made.primals)
    outputs, pull = vjp(made.func, *single)
    cotangents = tuple(dk.astype(c, y.dtype) for c, y in zip(made.cotangents, outputs, strict=True))
    for g, expected in zip(pull(cotangents), made.gradient(*made.primals), strict=True):
        assert g.dtype == dk.float32
        np.testing.assert_allclose(g.numpy(), expected.numpy(), rtol=1e-2, atol=1e-2)


def takes_complex(entry: DeclaredOperation, sample: Sample) -> bool:
    """Return whether a stated call can be made with complex numbers; what refuses them is tested elsewhere."""
    try:
        problem(entry, *sample.make(np.random.default_rng(0)), turned=True)
    except (TypeError, np.exceptions.ComplexWarning):
        return False
    return True


COMPLEX = {
    name: samples
    for name, entry in SWEPT.items()
    if not marks_of(entry.qualified_name) and (samples := [one for one in stated(entry) if takes_complex(entry, one)])
}


@pytest.mark.parametrize("name", COMPLEX)
@EXAMPLES
@given(data=st.data(), how=variations())
def test_complex_derivatives_at_drawn_shapes(name: str, data: st.DataObject, how: Variation) -> None:
    sample = data.draw(st.sampled_from(COMPLEX[name]))
    args, kwargs, _ = varied(SWEPT[name], sample, how)
    made = problem(SWEPT[name], args, kwargs, turned=True)
    assume(moderate(made))
    directional(made)
    assert dk.autograd.gradcheck(made.func, as_leaves(made), fast_mode=True, rtol=1e-2)


@pytest.mark.parametrize("name", COMPOSED)
@EXAMPLES
@given(n=st.integers(1, 4), batch=st.sampled_from([(), (1,), (2,), (2, 1)]))
def test_derivatives_of_factors_at_drawn_shapes(name: str, n: int, batch: tuple[int, ...]) -> None:
    made = composed(COMPOSED[name], batch, n)
    directional(made)
    twice(made)
    assert dk.autograd.gradcheck(made.func, as_leaves(made), fast_mode=True, rtol=1e-2)


@pytest.mark.parametrize("entry", ENTRIES)
def test_shapes_do_vary(entry: DeclaredOperation) -> None:
    how = Variation({2: 3, 3: 4, 4: 2}, (2,), (True, False, True), 0)
    taken = any(varied(entry, sample, how)[2] for sample in stated(entry))
    assert taken != (entry.qualified_name in TIED)
