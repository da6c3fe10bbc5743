"""Fast paths for NumPy arrays: declared by `def_kernel`, taken, and with the results of the body."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.backends.numpy import NumpyNamespace, numpy_namespace
from dispatchkit.declare.call_errors import BACKEND_ERRORS
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.declare.samples import Sample, draw, sample
from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.kinds import kinds
from tests.declared import OPERATIONS, by_operation, flat
from tests.ops.values.inputs import DTYPES, LAYOUTS, drawn
from tests.ops.values.test_values import FURTHER, REDUCED
from tests.programs.benchmarks.fast_paths import many

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # of drawn numbers made real

# Calls that are compared here alone: of some, NumPy's functions give something else than the body.
INF, NAN = np.inf, np.nan
SHAPES = [sample(shape) for shape in (3, (2, 0), [2, 3], -1, (2, -1), 2.0, "a", True, None)]
FILLED = [None, "float32", *map(np.dtype, ("float32", "float64", "int64", "int8", "uint8", "bool", "complex64"))]
APART: dict[str, list[Sample]] = {
    "arange": [
        *(sample(5, stop, step) for stop in (1, 9, 9.0) for step in (1, -2, 0)),
        *(sample(stop) for stop in (0, -2, 2.5, 2**70, True, np.int8(3), "a")),
        sample(0, 6, 2, dtype=np.dtype("float32")),
        sample(0, 1000, dtype=np.dtype("int8")),
    ],
    "zeros": SHAPES,
    "asarray": [
        *(sample(draw(2, 3), dtype=dtype, copy=copy) for dtype in FILLED for copy in (None, True, False)),
        *(sample(given) for given in ([], [1.0, 2.5], [1, 2.5], [[1.0], [2.0]], ["a"], [None], [1.0, [2.0]])),
        sample([1.0], copy=False),
    ],
    "interp": [
        sample(draw(5), np.asarray([-1.0, 0.0, 1.0]), draw(3), left=left, right=right)
        for left in (None, 2, -1.5, NAN)
        for right in (None, True, 1j)
    ],
    "transpose": [
        *(sample(draw(2, 3), axes) for axes in ((1, 0), [0, 1], (0, 0), (0,), (5, 0), (-1, 0), (1.0, 0))),
        *(sample(draw(2, 3), *axes) for axes in ((0, 1), (5, 0), (0,))),
    ],
    "swapaxes": [sample(draw(2, 3), *axes) for axes in ((0, 1), (-1, 0), (0, 5), (0.0, 1), (1, 1))],
}

X = draw(2, 3)
AXES = [sample(draw(*(2,) * n), draw(*(2,) * m)) for n in (0, 1, 2, 3) for m in (0, 1, 2, 3)]
# Calls that fast paths compute differently, or leave to the body.
UNUSUAL: dict[str, list[Sample]] = {
    "diagonal": [sample(X, offset=-5), sample(draw(3))],
    "dot": AXES,
    "norm": [
        *(sample(X, ord=order) for order in (None, 2, -2, 0, "fro", "nuc", -float("inf"), "other")),
        *(sample(X, axis=axis, keepdims=True) for axis in (None, 0, -1, (0,), (1, 0), (0, 0), [0, 1], 2, 1.5)),
        *(sample(draw(2, 3, 2), ord=1, axis=axis) for axis in (None, 0, -1, 3, (0,), 1.5)),
        sample(draw()),
        sample(draw(0, 2), axis=0),
    ],
    "matrix_norm": [
        *(sample(draw(2, 3, 2), ord=ord, keepdims=keep) for ord in (1, -1, INF, -INF) for keep in (True, False)),
        sample(draw(0, 2), ord=1),
        sample(draw(3)),
        sample(X, ord=None),
        sample(X, ord="other"),
        sample(draw(2, 2, 3), keepdims=True),
    ],
    "einsum": [
        *(
            sample(text, draw(2, 2), draw(2, 2))
            for text in ("ij,jk->ik", "ij,ji", "ij,ij->ij", "ij,kj->ik", "ij,kl->ijkl")
        ),
        *(sample(text, draw(2, 3, 3)) for text in ("bii->bi", "bii->b", "bij->jib", "bij->bij", "bij->", "iij->ij")),
        *(sample(text, draw(3), draw(3)) for text in ("i,i", "i,j->ij", "i,j->ji", "i,j->", "i,i->i")),
        *(sample(text, draw(2, 1), draw(1, 2)) for text in ("ij,jk->ik", "ij,ij->ij", "ij,ij", "ij,jk->ki")),
        *(sample("...ij,...jk->...ik", draw(*batch, 2, 3), draw(3, 2)) for batch in ((), (2,))),
        sample("i,ij->j", draw(3), draw(3, 2)),
        sample("ij,kj->ik", draw(30, 20), draw(30, 20)),
        sample("ij,jk,kl->il", X, draw(3, 2), X),
        sample(",->", draw(), draw()),
        sample(",i->i", 2.0, draw(3)),
        sample("i,i->i", draw(3), draw(3, content="integer", low=0, high=3)),
        sample("ij", draw(3)),
    ],
}

# Sums of products of finite numbers: right within rounding, whatever the order of the terms, which each processor has
# its own of.
SUMS = ("convolve", "dot", "einsum")
# Those of products with infinities depend on what BLAS leaves out beside a zero, too.
PRODUCTS = ("einsum",)


def fast_paths() -> Iterator[Any]:
    for name, entry in OPERATIONS.items():
        if "numpy" in entry.implementation.kernels:
            further = [*FURTHER.get(entry.name, ()), *APART.get(entry.name, ()), *UNUSUAL.get(entry.name, ())]
            further += REDUCED if entry.kind.family is kinds.reduction else ()
            for index, call in enumerate([*entry.samples, *further]):
                yield pytest.param(entry, call, id=f"{name.removeprefix('dispatchkit.')}-{index}")


@dataclass(frozen=True)
class Outcome:
    """What a call gave: arrays or the type of an error, the memory of its arguments they share, and warnings."""

    results: Any
    shared: list[bool]
    warned: set[str]


def arrays_of(args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    return [x for x in [*flat(args), *kwargs.values()] if isinstance(x, np.ndarray)]


def outcome(compute: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Outcome:
    given = arrays_of(args, kwargs)
    before = [x.tobytes() for x in given]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            results: Any = [np.asarray(r) for r in flat(compute(*args, **kwargs))]
        except (*BACKEND_ERRORS, ZeroDivisionError, AttributeError) as error:
            results = type(error)
    assert [x.tobytes() for x in given] == before, "an argument was changed"
    shared = [] if isinstance(results, type) else [any(np.may_share_memory(r, x) for x in given) for r in results]
    # What was computed when a value overflowed is another matter than that one did.
    return Outcome(results, shared, {str(one.message).partition(" encountered")[0] for one in caught})


def sums_of_sizes(entry: DeclaredOperation, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what the terms of each sum come to without their signs, in wider numbers; None unless all are finite."""
    arrays = arrays_of(args, kwargs)
    if not any(x.dtype.kind in "fc" for x in arrays) or not all(np.isfinite(x).all() for x in arrays):
        return None

    def sizes(x: Any) -> Any:
        if isinstance(x, list):
            return [sizes(member) for member in x]
        return np.abs(x).astype(np.longdouble) if isinstance(x, np.ndarray) else x

    with np.errstate(over="ignore"):
        return entry.implementation.body(numpy_namespace, *map(sizes, args), **kwargs)


def equal_as_sums(found: Any, wanted: Any, of_terms: Any, close: float, said: str) -> None:
    """Assert that two results are of the same sums, whose terms were added in any order.

    Parameters
    ----------
    found, wanted : the results
    of_terms : what the terms of each sum come to without their signs: what is lost by rounding is small against it
    close : how small
    said : what the message begins with
    """
    limits = np.finfo(wanted.dtype)
    assert found.shape == wanted.shape == np.shape(of_terms), said
    finite = np.isfinite(found) & np.isfinite(wanted)
    # Part of a sum may be beyond the largest number where all of it is not.
    assert (finite | (of_terms > limits.max / 2)).all(), f"{said}: {found} is not {wanted}"
    with np.errstate(over="ignore"):
        apart = np.abs(found[finite].astype(np.result_type(found, of_terms)) - wanted[finite])
    assert (apart <= close * of_terms[finite] + limits.smallest_normal).all(), f"{said}: {found} is not {wanted}"


def same(entry: DeclaredOperation, args: list[Any], kwargs: dict[str, Any], said: str) -> None:
    """Assert that the fast path gives what the body gives, and warns of nothing that the body is silent of."""
    found = outcome(entry.implementation.on_numpy, args, kwargs)
    wanted = outcome(partial(entry.implementation.body, numpy_namespace), args, kwargs)
    if wanted.results is AttributeError:
        return  # a number, of which the body asks what arrays have
    sums = entry.name in PRODUCTS or entry.kind is kinds.fft
    assert sums or found.warned <= wanted.warned, said
    if isinstance(wanted.results, type) or isinstance(found.results, type):
        assert found.results == wanted.results, said
        return
    assert [r.dtype for r in found.results] == [r.dtype for r in wanted.results], said
    assert not any(one and not other for one, other in zip(found.shared, wanted.shared, strict=True)), said
    if entry.name in ("empty", "empty_like"):
        assert [r.shape for r in found.results] == [r.shape for r in wanted.results], said
        return
    if [(r.shape, r.tobytes()) for r in found.results] == [(r.shape, r.tobytes()) for r in wanted.results]:
        return
    single = any(x.dtype.char in "fF" for x in [*wanted.results, *arrays_of(args, kwargs)])
    # What cancels is small against the terms.
    size = max([1.0, *(float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in arrays_of(args, kwargs))])
    close = 1e-4 if single else 1e-10
    of_terms = sums_of_sizes(entry, args, kwargs) if entry.name in SUMS else None
    if of_terms is not None:
        equal_as_sums(found.results[0], wanted.results[0], of_terms, close, said)
        return
    for one, other in zip(found.results, wanted.results, strict=True):
        if sums and one.shape == other.shape:
            finite = np.isfinite(one) & np.isfinite(other)
            one, other = one[finite], other[finite]
        least = close * size if sums else close
        npt.assert_allclose(one, other, rtol=close, atol=least, equal_nan=True, strict=True, err_msg=said)


FIRST = [pytest.param(entry, id=name) for name, entry in OPERATIONS.items() if "numpy" in entry.implementation.kernels]


@pytest.mark.parametrize("entry", FIRST)
def test_a_fast_path_is_taken(entry: DeclaredOperation) -> None:
    """It computes plain tensors, and does not leave the first sample to the body."""
    forward = inspect.unwrap(entry.implementation.kernels["numpy"].forward)
    if not inspect.isfunction(forward):
        pytest.skip("compiled functions are not seen by a profile function")
    args, kwargs = entry.samples[0].make(np.random.default_rng(0))
    if entry.name == "gelu":  # in double precision the formula is as fast
        args, kwargs = (np.float32(args[0]),), {}
    if entry.function is not dk.asarray:  # which gives tensors back as they are
        args, kwargs = dk.tensor_protocol.map_arguments(
            entry.function,
            args,
            kwargs,
            lambda name, value: dk.asarray(value) if isinstance(value, np.ndarray) else value,
        )
    called = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: called.add(frame.f_code) if event == "call" else None)
    try:
        entry.function(*args, **kwargs)
    finally:
        sys.setprofile(before)
    assert forward.__code__ in called
    assert inspect.unwrap(entry.implementation.body).__code__ not in called


def test_an_operation_has_one_fast_path() -> None:
    """It is declared, or the method of the namespace; what is declared may be that method, with what flows back."""
    kernels = {entry.name: entry.implementation.kernels for entry in OPERATIONS.values()}
    declared = {name for name, by_library in kernels.items() if "numpy" in by_library}
    for name in declared & vars(NumpyNamespace).keys():
        assert kernels[name]["numpy"].forward is getattr(NumpyNamespace, name)
    assert declared >= {*APART, *UNUSUAL}


@by_operation(("entry", "call"), fast_paths())
def test_a_fast_path_gives_what_the_body_gives(entry: DeclaredOperation, call: Sample) -> None:
    for dtype in DTYPES:
        for layout in LAYOUTS:
            for edges in (False, True):
                said = f"{entry.name} of {dtype}, {layout}, {'with' if edges else 'without'} infinities and NaN"
                same(entry, *drawn(call, dtype, layout, edges), said)


# What stands at every other place, or at all of them: the short cuts ask for NaN and infinities.
AWKWARD = [(NAN,), (INF,), (-INF,), (INF, -INF), (NAN, INF), (0.0, INF), (NAN, INF, -INF), (0.0,), (-0.0, NAN), (1e38,)]


@by_operation(("entry", "call"), fast_paths())
def test_a_fast_path_gives_what_the_body_gives_of_awkward_numbers(entry: DeclaredOperation, call: Sample) -> None:
    for dtype in map(np.dtype, ("float32", "float64", "complex128")):
        for numbers in AWKWARD:
            for step in (1, 2):
                args, kwargs = deepcopy(drawn(call, dtype, "contiguous", edges=False))
                # Points to interpolate between ascend.
                for x in [args[0], *args[2:]] if entry.name == "interp" else arrays_of(args, kwargs):
                    if isinstance(x, np.ndarray) and x.dtype == dtype and x.size:
                        x.flat[::step] = np.resize(numbers, x.size)[::step]
                same(entry, args, kwargs, f"{entry.name} of {dtype}, {numbers} at every place of {step}")


@by_operation(("entry", "call"), fast_paths())
def test_a_fast_path_takes_the_numbers_that_the_body_takes(entry: DeclaredOperation, call: Sample) -> None:
    args, kwargs = drawn(call, np.dtype("float64"), "contiguous", edges=False)
    for place, x in enumerate(args):
        if isinstance(x, np.ndarray):
            for number in (2, 0.5, True, np.float32(0.5), np.int64(1), np.asarray(1.5)):
                given = [*args[:place], number, *args[place + 1 :]]
                same(entry, given, kwargs, f"{entry.name} of {type(number).__name__} as argument {place}")


def test_a_fast_path_computes_plain_tensors_alone() -> None:
    taken = []

    @dk.operation
    def halved(xp: Any, x: dk.Tensor, /, *, times: int = 1) -> Any:
        taken.append("body")
        return x / 2**times

    @halved.def_kernel("numpy")
    def halved_numpy(x: Any, /, *, times: int = 1) -> Any:
        taken.append("NumPy")
        return x / 2**times

    taken.clear()
    assert halved(dk.ones(2), times=2).tolist() == [0.25, 0.25]
    assert taken == ["NumPy"]
    x = dk.tensor([1.0], requires_grad=True)
    halved(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.5]
    assert taken == ["NumPy", "body"]


def test_a_fast_path_declared_after_a_call_counts_from_the_next() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def marked(xp: Any, x: Any, /) -> Any:
        return x + 1

    assert marked(dk.zeros(1)).tolist() == [1.0]
    marked.def_kernel("numpy", lambda x, /: x + 2)
    assert marked(dk.zeros(1)).tolist() == [2.0]


def test_the_result_of_a_users_fast_path_shares_no_memory_unseen() -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def same(xp: Any, x: Any, /) -> Any:
        return x + 0

    same.def_partial(lambda xp, y, x: 1)
    same.def_kernel("numpy", lambda x, /: x)
    x = dk.zeros(2)
    y = same(x)
    y += 1
    assert x.tolist() == [0.0, 0.0]


def test_a_fast_path_takes_the_parameters_of_the_operation() -> None:
    @dk.operation
    def shifted(xp: Any, x: dk.Tensor, /, *, by: float = 1.0) -> Any:
        return x + by

    def without_default(x: Any, /, *, by: float) -> Any:
        return x + by

    with pytest.raises(RegistrationError) as info:
        shifted.def_kernel("numpy", without_default)
    assert str(info.value) == (
        "def_kernel: without_default cannot compute tests.shifted on the arrays of numpy: write "
        "def without_default(x, /, *, by=1.0)"
    )
    assert shifted(dk.zeros(1)).tolist() == [1.0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_that_lie_close_are_told_apart_by_a_table(dtype: str) -> None:
    a = np.random.default_rng(1).integers(-100, 101, (60, 50)).astype(dtype)
    x = dk.asarray(a)
    wanted = np.unique_inverse(a), np.unique_counts(a)
    for found, right in zip((dk.unique_inverse(x), dk.unique_counts(x)), wanted, strict=True):
        for one, other in zip(found, right, strict=True):
            npt.assert_array_equal(one.numpy(), other, strict=True)
    npt.assert_array_equal(dk.unique_values(x).numpy(), wanted[0].values, strict=True)


@pytest.mark.parametrize("dtype", ["int64", "int8", "int32"])
@pytest.mark.parametrize("shape", [(2000,), (40, 50)])
def test_many_integers_that_lie_close_are_told_apart_as_numpy_does(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(-60, 60, size=shape).astype(dtype)
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    expected = {"values": values, "inverse_indices": inverse.reshape(shape), "counts": counts}
    for result in (dk.unique_counts(x), dk.unique_inverse(x)):
        for name, found in result._asdict().items():
            npt.assert_array_equal(found.numpy(), expected[name], strict=True)
    npt.assert_array_equal(dk.unique_values(x).numpy(), values, strict=True)


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (None, 1.0), (dk.asarray([-1.0, -1.0, 0.0]), None)])
def test_what_clip_gives_may_be_changed_before_the_backward_pass(bounds: Any) -> None:
    x = dk.tensor([1.0, -3.0, 0.2], requires_grad=True)
    y = dk.clip(x, *bounds)
    y.add_(1.0)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, float(bounds[0] is None), 1.0]


def test_clipping_many_elements_gives_what_clipping_few_gives() -> None:
    x = np.random.default_rng(0).normal(size=5000)
    x[:3] = NAN, INF, -INF
    for bounds in ((-0.5, 1), (1.0, -1.0), (NAN, 1.0)):
        found = dk.clip(x, *bounds).numpy()
        npt.assert_array_equal(found, np.concatenate([dk.clip(part, *bounds).numpy() for part in np.split(x, 50)]))


def test_the_benchmark_has_a_call_on_many_elements_for_each_fast_path() -> None:
    for name, entry in OPERATIONS.items():
        if "numpy" in entry.implementation.kernels:
            args, kwargs = many(name.removeprefix("dispatchkit."), entry).make(np.random.default_rng(0))
            entry.implementation.on_numpy(*args, **kwargs)
