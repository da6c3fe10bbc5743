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
from dispatchkit.ops.samples import Sample, draw, sample
from tests.declared import OPERATIONS, flat
from tests.values.inputs import DTYPES, LAYOUTS, drawn
from tests.values.test_values import FURTHER

X = draw(2, 3)
SPECTRA = [
    *(sample(draw(2, 4), n=n, axis=0) for n in (1, 5, 0)),
    *(sample(draw(2, 4), axis=axis) for axis in (0, -2, 2)),
    sample(draw(0), n=3),
    sample(draw(3, 0), n=2, axis=0),
    sample(draw(), n=2),
    sample(draw(1)),
    sample(X, norm=None),
]
SEVERAL_SPECTRA = [
    *(sample(draw(2, 3, 4), axes=axes) for axes in ((2, 0), [-1], (0, 0), (0, -3), (3,), (), (1.0,))),
    *(sample(draw(2, 3), s=s, axes=(1, 0)) for s in ((4, 2), [-1, 2], (2, -1), (3,), (0, 2), (2.0, 2))),
    sample(X, s=(2, 2)),
    sample(draw(3, 0), s=(2, 2), axes=(0, 1)),
    sample(draw()),
    sample(X, norm=None),
    sample(X, norm="forward"),
]
FREQUENCIES = [sample(n, d=d) for n in (1, 4, 5, 0) for d in (2, -0.5, 0.0)]
AXES = [sample(draw(*(2,) * n), draw(*(2,) * m)) for n in (0, 1, 2, 3) for m in (0, 1, 2, 3)]
MATRICES = [sample(draw(2, 1, 3, 3)), sample(draw(0, 0)), sample(draw(2, 3)), sample(draw(3))]
# Calls that take a way of their own, or are left to the body.
UNUSUAL: dict[str, list[Sample]] = {
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), SPECTRA),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), SEVERAL_SPECTRA),
    **dict.fromkeys(("fftfreq", "rfftfreq"), FREQUENCIES),
    **dict.fromkeys(("inv", "det", "slogdet", "eig", "eigh", "eigvals", "eigvalsh", "cholesky"), MATRICES),
    **dict.fromkeys(("svd", "svdvals", "qr", "pinv"), MATRICES),
    "trace": [sample(X, offset=5), sample(X, dtype="float32"), sample(draw(3))],
    "diagonal": [sample(X, offset=-5), sample(draw(3))],
    "solve": [sample(draw(2, 2), draw(3)), sample(draw(2, 2), draw()), sample(draw(2, 3), draw(2))],
    "cross": [
        sample(draw(3, 2), draw(3, 2), axis=0),
        sample(draw(2, 3), draw(4, 1, 3)),
        sample(draw(200, 3), draw(200, 3)),
        sample(draw(2), draw(2)),
        sample(X, X, axis=2),
    ],
    **dict.fromkeys(("dot", "mv", "mm", "outer"), AXES),
    "bmm": [*AXES, sample(draw(2, 1, 3), draw(1, 3, 1)), sample(draw(2, 1, 3), draw(2, 3, 1))],
    "norm": [
        *(sample(X, ord=order) for order in (None, 2, -2, 0, "fro", "nuc", -float("inf"), "other")),
        *(sample(X, axis=axis, keepdims=True) for axis in (None, 0, -1, (0,), (1, 0), (0, 0), [0, 1], 2, 1.5)),
        sample(draw(2, 3, 2), ord=1),
        sample(draw()),
        sample(draw(0, 2), axis=0),
    ],
    "matrix_norm": [sample(draw(3)), sample(X, ord=None), sample(X, ord="other"), sample(draw(2, 2, 3), keepdims=True)],
    "tensordot": [
        *(sample(draw(2, 3), draw(3, 2), axes=axes) for axes in (((1, 0), (0, 1)), ((-1,), (0,)), (1, 0), ((), ()))),
        *(
            sample(draw(2, 2), draw(2, 2), axes=axes)
            for axes in (-1, 3, ((5,), (0,)), ((1,), (0, 1)), ((0, 0), (0, 1)))
        ),
        sample(draw(), X, axes=0),
        sample(draw(3, 0), draw(0, 2), axes=1),
    ],
    "vecdot": [sample(draw(3, 2), draw(3, 2), axis=0), sample(draw(3, 2), draw(3, 2), axis=5)],
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


def shorter_ways() -> Iterator[Any]:
    for name, entry in OPERATIONS.items():
        if not isinstance(entry.on_numpy, partial):
            short = name.removeprefix("dispatchkit.")
            for index, sample in enumerate(
                [*entry.samples, *FURTHER.get(entry.name, ()), *UNUSUAL.get(entry.name, ())]
            ):
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
