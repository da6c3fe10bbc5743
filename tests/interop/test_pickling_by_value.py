"""Types, rules and operations that no module holds are pickled by value for worker processes, by cloudpickle."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.versions import is_newer, new_version
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


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    with dk.local_registrations():
        yield


def diagonal() -> Any:
    """Return a type as a cell of a notebook declares it, with a rule for a pair, one for a kind, and a conversion."""

    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    @dataclasses.dataclass
    class Diagonal:
        d: dk.Tensor
        name: str = dk.field(grad=False, merge="drop", default="")

        def to_dense(self) -> dk.Tensor:
            return dk.diag(self.d)

    @dk.implements(dk.matmul)
    def multiply(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.d * x2.d)

    @dk.implements(dk.kinds.rounding)
    def rounded(op: Any, x: Diagonal, /) -> Diagonal:
        return Diagonal(op(x.d))

    return Diagonal


def test_a_type_arrives_with_its_rules_and_comes_back_the_same(send: Call) -> None:
    Diagonal = diagonal()

    def work(x: Any) -> Any:
        gradient = dk.func.grad(lambda x: dk.sum((x @ x).d))(x)
        return x @ x, dk.floor(x), gradient, x.shape, x.ndim, repr(x), str(dk.explain(dk.matmul, x, x))

    squared, rounded, gradient, shape, ndim, shown, asked = send(work, Diagonal(dk.asarray([1.5, 2.0]), "a"))
    assert type(squared) is type(rounded) is type(gradient) is Diagonal
    assert (squared.d.tolist(), rounded.d.tolist(), gradient.d.tolist()) == ([2.25, 4.0], [1.0, 2.0], [3.0, 4.0])
    assert (shape, ndim, shown) == ((2, 2), 2, "Diagonal(d=tensor([1.5000, 2.0000]), name='a')")
    assert "1. Diagonal  multiply(Diagonal, Diagonal) at" in asked
    assert (squared @ squared).d.tolist() == [5.0625, 16.0]


def test_declarations_arrive_once(send: Call) -> None:
    Diagonal = diagonal()
    seen = [send(lambda x: (workers.rules_of(type(x)), id(type(x))), Diagonal(dk.ones(2))) for _ in range(3)]
    assert seen == [seen[0]] * 3
    assert seen[0][0] == workers.rules_of(Diagonal) == 1
    back = send(lambda x: x, Diagonal(dk.ones(2)))
    assert type(back) is Diagonal
    assert workers.rules_of(Diagonal) == 1


def test_a_rule_that_is_declared_again_replaces_the_old_one_and_stays(send: Call) -> None:
    Diagonal = diagonal()

    @dk.implements(dk.exp, Diagonal)
    def first(x: Any, /) -> str:
        return "first"

    x = Diagonal(dk.ones(2))
    early = cloudpickle.dumps(x)
    assert send(dk.exp, x) == "first"

    @dk.implements(dk.exp, Diagonal)
    def second(x: Any, /) -> str:
        return "second"

    assert send(dk.exp, x) == "second"
    assert send(lambda early: dk.exp(pickle.loads(early)), early) == "second"
    assert send(lambda x: workers.rules_of(type(x)), x) == 2


def test_a_class_that_is_declared_again_is_another_one(send: Call) -> None:
    def name_of(x: Any, y: Any) -> Any:
        return type(x) is type(y), (x @ x).d.tolist(), (y @ y).d.tolist()

    assert send(name_of, diagonal()(dk.ones(1)), diagonal()(dk.full((1,), 3.0))) == (False, [1.0], [9.0])


def test_conversions_are_pickled(send: Call) -> None:
    Diagonal = diagonal()

    @dk.array_type(fallback=dk.fallback.convert)
    class Identity:
        def __init__(self, n: int) -> None:
            self.n = n

    @dk.converts(cost=2)
    def widened(x: Identity) -> Diagonal:  # type: ignore[valid-type]
        return Diagonal(dk.ones(x.n))  # type: ignore[no-any-return]

    for _ in range(2):
        found = send(lambda x, y: x @ y, Identity(2), Diagonal(dk.asarray([1.0, 5.0])))
        assert type(found) is Diagonal
        assert found.d.tolist() == [1.0, 5.0]


def test_subclasses_of_tensors_and_abstract_types_are_pickled(send: Call) -> None:
    class Length(dk.Tensor):
        pass

    @dk.implements(dk.exp)
    def no_exponential(x: Length, /) -> str:
        return "no exponential of a length"

    class Weight(diagonal()):  # type: ignore[misc]
        def twice(self) -> Any:
            return super().to_dense() * 2

    assert send(lambda x: (type(x + x) is type(x), dk.exp(x)), Length([1.0])) == (True, "no exponential of a length")
    assert send(lambda x: x.twice().tolist(), Weight(dk.ones(2))) == [[2.0, 0.0], [0.0, 2.0]]


def test_operations_are_pickled_with_their_derivatives(send: Call) -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def cube(xp: Any, x: Any, /) -> Any:
        return x * x * x

    @cube.def_partial
    def slope(x: Any) -> Any:
        return 3 * x * x

    @dk.operation
    def weighted(xp: Any, x: Any, /, *, weight: float = 2.0) -> Any:
        return xp.sum(x) * weight

    @dk.operation
    def product(xp: Any, x1: Any, x2: Any, /) -> Any:
        return x1 * x2

    product.def_vjp("x2", "x1")(lambda g, x1, x2: (g * x1, g * x2))

    def work(x: Any) -> Any:
        slope = dk.func.grad(lambda x: (cube(x) + product(x, 5.0)).sum())(x).tolist()
        return slope, weighted(x, weight=3.0).item(), workers.named("cube", "weighted", "product")

    for _ in range(2):
        assert send(work, dk.asarray([1.0, 2.0])) == ([8.0, 17.0], 9.0, 3)
    mistakes: list[Call] = [
        lambda: cube(1, 2),  # type: ignore[call-arg]
        lambda: weighted(dk.ones(2), wait=2),  # type: ignore[call-arg]
    ]
    for wrong in mistakes:
        with pytest.raises(TypeError) as here:
            wrong()
        with pytest.raises(TypeError) as there:
            send(wrong)
        assert str(here.value) == str(there.value)

    @cube.def_partial
    def steeper(x: Any) -> Any:
        return 30 * x * x

    assert send(work, dk.asarray([1.0, 2.0])) == ([35.0, 125.0], 9.0, 3)


def test_rules_for_pickled_operations_are_pickled_and_see_the_same_function(send: Call) -> None:
    @dk.overridable
    def scaled(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    norm = dk.overridable(np.linalg.norm)
    Diagonal = diagonal()

    @dk.implements(scaled, Diagonal)
    def scaled_diagonal(x: Any, factor: float = 2.0) -> Any:
        return Diagonal(x.d * factor)

    class Asked(dk.Tensor):
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return ["scaled", "norm"][[scaled, norm].index(func)]

    def work(x: Any, asked: Any) -> Any:
        return scaled(x, 3.0).d.tolist(), scaled(4.0), norm([3.0, 4.0]), scaled(asked), norm(asked)

    for _ in range(2):
        assert send(work, Diagonal(dk.ones(1)), Asked([1.0])) == ([3.0], 8.0, 5.0, "scaled", "norm")
    assert send(lambda: scaled)(1.5) == 3.0


def test_rules_for_types_of_modules_are_pickled_with_an_operation_of_the_script(send: Call) -> None:
    @dk.operation(kind=dk.kinds.elementwise)
    def cube(xp: Any, x: Any, /) -> Any:
        return x * x * x

    @dk.implements(cube)
    def cube_held(x: workers.Held, /) -> str:
        return "by the rule"

    def work(x: Any) -> Any:
        return cube(x)

    for _ in range(2):
        assert send(work, workers.Held(2.0)) == "by the rule"


def test_what_comes_back_replaces_nothing() -> None:
    Diagonal = diagonal()
    x = Diagonal(dk.asarray([2.0]))
    early = cloudpickle.dumps(x)

    @dk.implements(dk.matmul, Diagonal, Diagonal)
    def cubed(x1: Any, x2: Any, /) -> Any:
        return Diagonal(x1.d * x2.d * x1.d)

    rules = dk.tensor_protocol.rules(Diagonal)
    back = pickle.loads(early)
    assert type(back) is Diagonal
    assert (back @ back).d.tolist() == [8.0]
    assert dk.tensor_protocol.rules(Diagonal) == rules


@pytest.mark.parametrize(
    ("version", "known", "newer"),
    [
        (("there", 3), None, True),
        (("there", 3), ("there", 2), True),
        (("there", 3), ("there", 3), False),
        (("there", 2), ("there", 3), False),
        (("there", 2), ("elsewhere", 3), True),
        (("there", 2), "here", False),
        ("here", None, False),
        ("here", ("there", 3), False),
    ],
)
def test_what_replaces_what(version: Any, known: Any, newer: bool) -> None:
    here = new_version()
    version, known = (here if mark == "here" else mark for mark in (version, known))
    assert is_newer(version, known) is newer


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


def test_what_a_module_holds_is_pickled_by_name(send: Call) -> None:
    @workers.units.array_type()
    class Metres:
        def __init__(self, value: float) -> None:
            self.value = value

    @workers.units.implements(workers.doubled)
    def doubled_metres(x: Metres) -> Metres:
        return Metres(x.value * 2)

    assert send(lambda x: workers.doubled(x).value, Metres(3.0)) == 6.0
    assert pickle.loads(pickle.dumps(workers.held)) is workers.held
    record = tensor_protocol.operation(dk.add)
    assert pickle.loads(pickle.dumps(record)) is record
    assert len(cloudpickle.dumps(dk.types.DiagonalTensor)) < 100


def test_what_cannot_be_pickled_says_so() -> None:
    mine = DispatchProtocol("__mine__")

    @mine.array_type()
    class Mine:
        pass

    with pytest.raises(TypeError, match=r"^DispatchProtocol\('__mine__'\) cannot be pickled: no module holds it that"):
        cloudpickle.dumps(Mine)


SCRIPT = """
    import warnings
    import dispatchkit as dk
    warnings.simplefilter("error", dk.ReplacementWarning)

    @dk.array_type(fallback=dk.fallback.dense)
    class Diagonal:
        def __init__(self, d):
            self.d = dk.asarray(d)
        def to_dense(self):
            return dk.diag(self.d)

    @dk.implements(dk.matmul)
    def multiply(x1: Diagonal, x2: Diagonal, /) -> Diagonal:
        return Diagonal(x1.d * x2.d)

    @dk.operation(kind=dk.kinds.elementwise)
    def cube(xp, x, /):
        return x * x * x

    @dk.implements(cube)
    def cube_diagonal(x: Diagonal, /) -> Diagonal:
        return Diagonal(cube(x.d))

    def work(x):
        return cube(x @ x)
"""


def printed(end: str) -> str:
    """Return what a script of the declarations above prints."""
    text = textwrap.dedent(SCRIPT) + textwrap.dedent(end)
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_script_sends_its_types_by_joblib() -> None:
    pytest.importorskip("joblib")
    assert printed(
        """
        from joblib import Parallel, delayed
        for _ in range(2):
            found = Parallel(n_jobs=2)(delayed(work)(Diagonal([float(i)])) for i in range(4))
        print([x.d.tolist() for x in found], {type(x) is Diagonal for x in found})
        """
    ).endswith("[[0.0], [1.0], [64.0], [729.0]] {True}\n")


def test_a_script_sends_its_types_by_dask() -> None:
    pytest.importorskip("distributed")
    assert printed(
        """
        from distributed import Client, LocalCluster
        if __name__ == "__main__":
            options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
            with LocalCluster(**options) as cluster, Client(cluster) as client:
                for _ in range(2):
                    found = client.gather(client.map(work, [Diagonal([float(i)]) for i in range(4)]))
                print([x.d.tolist() for x in found], {type(x) is Diagonal for x in found})
        """
    ).endswith("[[0.0], [1.0], [64.0], [729.0]] {True}\n")
