"""A function compiled from C, called through ctypes, and made differentiable by a `Function`."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, gradcheck, gradgradcheck
from dispatchkit.autograd.function import once_differentiable

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

SOURCE = """\
#include <math.h>
#include <stddef.h>

/* y = a * log(1 + exp(x / a)), elementwise */
void softplus_forward(const double *x, double *y, size_t n, double a)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * log1p(exp(-fabs(x[i]) / a)) + (x[i] > 0 ? x[i] : 0);
}

void softplus_backward(const double *x, const double *g, double *gx, double *ga, size_t n, double a)
{
    *ga = 0;
    for (size_t i = 0; i < n; i++) {
        double s = 1 / (1 + exp(-x[i] / a));
        double y = a * log1p(exp(-fabs(x[i]) / a)) + (x[i] > 0 ? x[i] : 0);
        gx[i] = g[i] * s;
        *ga += g[i] * (y - x[i] * s) / a;
    }
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    assert COMPILER is not None
    place: Path = tmp_path_factory.mktemp("compiled")
    (place / "softplus.c").write_text(SOURCE)
    built = place / "softplus.so"
    subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", "-o", built, place / "softplus.c", "-lm"], check=True)
    loaded = ctypes.CDLL(str(built))
    array = np.ctypeslib.ndpointer(dtype=np.float64, flags="C_CONTIGUOUS")
    loaded.softplus_forward.argtypes = [array, array, ctypes.c_size_t, ctypes.c_double]
    loaded.softplus_backward.argtypes = [array, array, array, array, ctypes.c_size_t, ctypes.c_double]
    loaded.softplus_forward.restype = loaded.softplus_backward.restype = None
    return loaded


@pytest.fixture(scope="module")
def softplus(library: Any) -> Any:
    class Softplus(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, a: Any) -> Any:
            ctx.save_for_backward(x, a)
            values = np.ascontiguousarray(x.numpy(), dtype=np.float64)
            y = np.empty_like(values)
            library.softplus_forward(values, y, values.size, a.item())
            return dk.asarray(y)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            x, a = ctx.saved_tensors
            values = np.ascontiguousarray(x.numpy(), dtype=np.float64)
            gx, ga = np.empty_like(values), np.empty(())
            library.softplus_backward(values, np.ascontiguousarray(g.numpy()), gx, ga, values.size, a.item())
            return gx, ga

    return Softplus.apply


def inputs() -> tuple[dk.Tensor, dk.Tensor]:
    values = np.random.default_rng(0).normal(size=(3, 4))
    return dk.Tensor(values, requires_grad=True), dk.tensor(0.7, requires_grad=True)


def test_it_computes_what_numpy_does(softplus: Any) -> None:
    x, a = inputs()
    npt.assert_allclose(softplus(x, a).detach().numpy(), 0.7 * np.log1p(np.exp(x.array / 0.7)))


def test_its_derivatives_are_right(softplus: Any) -> None:
    x, a = inputs()
    assert gradcheck(softplus, (x, a))
    assert gradcheck(lambda x, a: softplus(x.T[1:] * 2, a), (x, a))


def test_it_is_part_of_a_graph(softplus: Any) -> None:
    x, a = inputs()
    y = softplus(dk.sin(x), a * 2)
    assert repr(y.grad_fn) == "<SoftplusBackward>"
    y.sum().backward()
    assert x.grad is not None
    npt.assert_allclose(x.grad.array, np.cos(x.array) / (1 + np.exp(-np.sin(x.array) / 1.4)))


def test_it_is_differentiable_once(softplus: Any) -> None:
    with pytest.raises(dk.AutogradError, match="once_differentiable"):
        gradgradcheck(softplus, inputs())
