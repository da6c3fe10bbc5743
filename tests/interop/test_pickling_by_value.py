"""Pickles by value, as cloudpickle makes them for worker processes of what no module holds."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dispatchkit as dk
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import tensor_protocol
from tests.interop import workers
from tests.waiting import PATIENCE

cloudpickle: Any = pytest.importorskip("cloudpickle")

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def send() -> Iterator[Call]:
    """Return what calls a function in a process that was started anew, with arguments from here."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:

        def call(function: Call, *args: Any) -> Any:
            return pickle.loads(pool.submit(workers.run, cloudpickle.dumps((function, args))).result(60))

        yield call


def test_functions_with_a_backward_are_pickled(send: Call) -> None:
    class Square(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    def work(function: Any) -> Any:
        x: Any = dk.asarray([3.0]).requires_grad_()
        function.apply(x).sum().backward()
        return x.grad.tolist()

    for _ in range(2):
        assert send(work, Square) == [6.0]


def test_subclasses_of_tensors_without_rules_are_pickled(send: Call) -> None:
    class Length(dk.Tensor):
        def doubled(self) -> Any:
            return self + self

    assert send(lambda x: (type(x.doubled()) is type(x), x.doubled().tolist()), Length([1.0])) == (True, [2.0])


def test_what_a_module_holds_is_pickled_by_name(send: Call) -> None:
    assert send(lambda x: workers.doubled(x), 3.0) == 6.0
    assert send(lambda x: (x.doubled().values, workers.held(x).values), workers.Held(3.0)) == (6.0, 3.0)
    assert pickle.loads(pickle.dumps(workers.held)) is workers.held
    record = tensor_protocol.operation(dk.add)
    assert pickle.loads(pickle.dumps(record)) is record
    assert pickle.loads(pickle.dumps(workers.units)) is workers.units
    assert len(cloudpickle.dumps(dk.types.DiagonalTensor)) < 100


def test_what_cannot_be_pickled_says_so() -> None:
    mine = DispatchProtocol("__mine__")

    @mine.overridable
    def scaled(x: Any) -> Any:
        return x

    @mine.array_type()
    class Mine:
        pass

    @dk.operation(kind=dk.kinds.elementwise)
    def cube(xp: Any, x: Any, /) -> Any:
        return x * x * x

    without = "cannot be pickled by value, without what is registered for it; define it in a module that other"
    with pytest.raises(TypeError, match=rf"test_what_cannot_be_pickled_says_so\.<locals>\.Mine {without}"):
        cloudpickle.dumps(Mine())
    with pytest.raises(TypeError, match=rf"^tests.cube {without} processes can import$"):
        cloudpickle.dumps(lambda x: cube(x))
    with pytest.raises(TypeError, match=rf"scaled {without}"):
        cloudpickle.dumps(scaled)
    with pytest.raises(TypeError, match=r"^DispatchProtocol\('__mine__'\) cannot be pickled: no module holds it that"):
        cloudpickle.dumps(mine)


SCRIPT = """
    import dispatchkit as dk

    @dk.array_type(fallback=dk.fallback.dense)
    class Diagonal:
        def __init__(self, d):
            self.d = dk.asarray(d)
        def to_dense(self):
            return dk.diag(self.d)

    @dk.implements(dk.matmul)
    def multiply(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.d * x2.d)

    def work(x):
        return dk.matmul(x, x)
"""


def printed(end: str) -> str:
    """Return what a script of the declarations above prints."""
    text = textwrap.dedent(SCRIPT) + textwrap.dedent(end)
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_script_that_sends_its_types_by_joblib_hears_where_to_define_them() -> None:
    pytest.importorskip("joblib")
    assert "__main__.Diagonal cannot be pickled by value" in printed(
        """
        from joblib import Parallel, delayed
        try:
            Parallel(n_jobs=2)(delayed(work)(Diagonal([float(i)])) for i in range(4))
        except Exception as error:
            print(error, error.__cause__)
        """
    )
