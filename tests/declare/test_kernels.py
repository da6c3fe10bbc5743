"""Kernels for the arrays of one library: who computes, how gradients flow, what is left to the body."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.errors import RegistrationError

A, B = np.array([1.0, -2.0]), np.array([0.5, 0.25])


def declare(*, rules: bool = True) -> tuple[Any, list[str]]:
    """Return the operation `a * exp(b) * by`, and a list of who has computed it or its gradients."""
    computed: list[str] = []

    @dk.operation
    def grown(xp: Any, a: dk.Tensor, b: dk.Tensor, /, *, by: float = 1.0) -> Any:
        computed.append("body")
        return a * xp.exp(b) * by

    if rules:

        @grown.def_vjp("a", "b")
        def grown_vjp(xp: Any, g: Any, a: Any, b: Any, by: float) -> Any:
            computed.append("rule")
            of_a = g * xp.exp(b) * by
            return of_a, of_a * a

    return grown, computed


def add_kernel(grown: Any, computed: list[str], gradients: Any = None, library: str = "numpy") -> None:
    """Declare a kernel of NumPy's or PyTorch's functions."""

    @grown.def_kernel(library, gradients=gradients)  # type: ignore[untyped-decorator]  # of any operation
    def kernel(a: Any, b: Any, /, *, by: float = 1.0) -> Any:
        if by < 0:
            return NotImplemented
        computed.append("kernel")
        return a * (np.exp(b) if library == "numpy" else b.exp()) * by


def derivatives(function: Any, make: Any = np.array, by: float = 3.0) -> tuple[list[Any], list[Any]]:
    """Return the first derivatives by both arguments, and those of their product."""
    leaves = [dk.Tensor(make(x), requires_grad=True) for x in (A, B)]
    first = dk.autograd.grad(function(*leaves, by=by).sum(), leaves)
    live = dk.autograd.grad(function(*leaves, by=by).sum(), leaves, create_graph=True)
    second = dk.autograd.grad((live[0] * live[1]).sum(), leaves)
    return [g.tolist() for g in first], [g.tolist() for g in (*live, *second)]


FIRST, SECOND = derivatives(lambda a, b, by: a * dk.exp(b) * by)


def of_all(g: Any, a: Any, b: Any, by: float) -> Any:
    of_a = g * np.exp(b) * by
    return of_a, of_a * a


def of_first(g: Any, b: Any, by: float) -> Any:
    return g * np.exp(b) * by


@pytest.fixture(autouse=True)
def of_numpy_alone() -> Iterator[None]:
    yield
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


def test_a_kernel_computes_the_arrays_of_its_library() -> None:
    grown, computed = declare()
    add_kernel(grown, computed)
    assert grown(dk.asarray(A), dk.asarray(B), by=2.0).tolist() == (A * np.exp(B) * 2).tolist()
    assert computed == ["kernel"]


def test_a_kernel_leaves_calls_to_the_body() -> None:
    grown, computed = declare()
    add_kernel(grown, computed)
    assert grown(dk.asarray(A), dk.asarray(B), by=-1.0).tolist() == (A * np.exp(B) * -1).tolist()
    assert computed == ["body"]


@pytest.mark.parametrize(
    ("gradients", "rules", "by"),
    [
        (None, True, ["kernel", "rule"]),
        (of_all, True, ["kernel"]),
        ({"a": of_first}, True, ["kernel", "rule"]),
        (lambda g: NotImplemented, True, ["kernel", "rule"]),
        (None, False, ["body"]),
        (of_all, False, ["kernel"]),
        (lambda g: NotImplemented, False, ["kernel", "body"]),
    ],
)
def test_gradients_are_those_of_the_body(gradients: Any, rules: bool, by: list[str]) -> None:
    grown, computed = declare(rules=rules)
    add_kernel(grown, computed, gradients)
    leaves = [dk.tensor(x, requires_grad=True) for x in (A, B)]
    y = grown(*leaves, by=3.0)
    grads = dk.autograd.grad(y.sum(), leaves)
    assert [g.tolist() for g in grads] == FIRST
    assert list(dict.fromkeys(computed)) == by
    first, second = derivatives(grown)
    assert first == FIRST
    np.testing.assert_allclose(second, SECOND, rtol=1e-14)


def test_a_call_that_a_kernel_leaves_has_the_gradients_of_the_body() -> None:
    for rules in (False, True):
        grown, computed = declare(rules=rules)
        add_kernel(grown, computed, of_all)
        want = derivatives(lambda a, b, by: a * dk.exp(b) * by, by=-1.0)
        got = derivatives(grown, by=-1.0)
        assert got[0] == want[0]
        np.testing.assert_allclose(got[1], want[1], rtol=1e-14)


@pytest.mark.parametrize("rules", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_pytorch_differentiates_a_kernel_itself(rules: bool, twice: bool) -> None:
    torch = pytest.importorskip("torch")
    grown, computed = declare(rules=rules)
    add_kernel(grown, computed, library="torch")
    if twice:  # one tensor in both places
        x: Any = dk.Tensor(torch.tensor(A), requires_grad=True)
        grown(x, x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.exp(A) * (1 + A), rtol=1e-14)
        assert computed == ["kernel"]
        return
    first, second = derivatives(grown, torch.tensor)
    np.testing.assert_allclose(first, FIRST, rtol=1e-14)
    np.testing.assert_allclose(second, SECOND, rtol=1e-14)
    assert computed[0] == "kernel"
    x, y = (dk.Tensor(torch.tensor(a), requires_grad=True) for a in (A, B))
    z = grown(x, y)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="was freed by an earlier backward pass"):
        z.sum().backward()
    z = grown(x, y)
    with dk.no_grad():
        x.add_(1.0)
    with pytest.raises(RuntimeError, match=r"by an in-?place operation"):
        z.sum().backward()


def test_pytorch_differentiates_several_results() -> None:
    torch = pytest.importorskip("torch")

    @dk.operation
    def both(xp: Any, a: dk.Tensor, /) -> tuple[dk.Tensor, dk.Tensor]:
        return xp.exp(a), a * a

    both.def_kernel("torch", lambda a, /: (a.exp(), a * a))
    x = dk.Tensor(torch.tensor(A), requires_grad=True)
    for reached, want in ((0, np.exp(A)), (1, 2 * A)):
        (g,) = dk.autograd.grad(both(x)[reached].sum(), [x])
        np.testing.assert_allclose(g.numpy(), want, rtol=1e-14)
    y, z = both(x)
    (live,) = dk.autograd.grad((y * z).sum(), [x], create_graph=True)
    np.testing.assert_allclose(live.detach().numpy(), np.exp(A) * (A * A + 2 * A), rtol=1e-14)
    (second,) = dk.autograd.grad(live.sum(), [x])
    np.testing.assert_allclose(second.numpy(), np.exp(A) * (A * A + 4 * A + 2), rtol=1e-14)


def test_jax_differentiates_a_kernel_itself_in_a_trace() -> None:
    jax = pytest.importorskip("jax")
    grown, computed = declare(rules=False)
    with jax.enable_x64(True):

        @grown.def_kernel("jax")  # type: ignore[untyped-decorator]  # of any operation
        def kernel(a: Any, b: Any, /, *, by: float = 1.0) -> Any:
            computed.append("kernel")
            return a * jax.numpy.exp(b) * by

        def gradients(a: Any, b: Any) -> Any:
            leaves = [dk.Tensor(x, requires_grad=True) for x in (a, b)]
            return [g.array for g in dk.autograd.grad(grown(*leaves, by=3.0).sum(), leaves)]

        np.testing.assert_allclose(jax.jit(gradients)(A, B), FIRST, rtol=1e-12)
        assert computed == ["kernel"]


def of_flow(reads: tuple[str, ...] = ("a", "b"), *, rules: bool = True) -> tuple[Any, list[Any]]:
    """Return an operation whose kernel gives what takes cotangents back, and what that was asked for."""
    grown, by = declare(rules=rules)
    computed: list[Any] = by  # the same list, of what is asked for, too

    def flow(a: Any, b: Any, /, *, by: float = 1.0) -> Any:
        if by < 0:
            return NotImplemented
        factor = np.exp(b) * by
        y = a * factor

        def pull(g: list[Any], wanted: list[bool]) -> Any:
            computed.append(list(wanted))
            return g[0] * factor, g[0] * y

        return y, pull

    def forward(a: Any, b: Any, /, *, by: float = 1.0) -> Any:
        answer = flow(a, b, by=by)
        return answer if answer is NotImplemented else answer[0]

    grown.def_kernel("numpy", forward, flow=flow, reads=reads)
    return grown, computed


@pytest.mark.parametrize("rules", [False, True])
def test_a_kernel_may_give_what_takes_cotangents_back(rules: bool) -> None:
    grown, computed = of_flow(rules=rules)
    first, second = derivatives(grown)
    np.testing.assert_allclose(first, FIRST, rtol=1e-14)
    np.testing.assert_allclose(second, SECOND, rtol=1e-14)
    assert computed[0] == [True, True]
    computed.clear()
    a, b = dk.tensor(A, requires_grad=True), dk.tensor(B)
    y = grown(a, b)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert computed == [[True, False]] * 2
    np.testing.assert_allclose(a.grad.numpy(), 2 * np.exp(B), rtol=1e-14)  # type: ignore[union-attr]  # it has one
    with pytest.raises(RuntimeError, match="was freed by an earlier backward pass"):
        y.sum().backward()


def test_a_call_that_gives_nothing_to_take_cotangents_back_has_the_rules() -> None:
    grown, computed = of_flow()
    a = dk.tensor(A, requires_grad=True)
    np.testing.assert_allclose(dk.autograd.grad(grown(a, a, by=-1.0).sum(), [a])[0].numpy(), -np.exp(A) * (1 + A))
    assert "rule" in computed


@pytest.mark.parametrize(("reads", "changed"), [(("a",), "a"), (("y",), "y"), (("b",), "a"), (("a",), "y")])
def test_what_cotangents_depend_on_must_not_be_changed(reads: tuple[str, ...], changed: str) -> None:
    grown, _ = of_flow(reads)
    a, b = (dk.tensor(x, requires_grad=True) for x in (A, B))
    y = grown(a, b)
    z = y.sum()
    with dk.no_grad():
        {"a": a, "y": y.detach()}[changed].add_(1.0)
    if changed in reads:
        with pytest.raises(dk.errors.InplaceError, match="backward of GrownBackward"):
            z.backward()
    else:
        z.backward()


@pytest.mark.parametrize("changed", [0, 1])
def test_each_argument_that_shares_its_memory_is_watched(changed: int) -> None:
    grown, _ = of_flow()
    shared = [dk.nn.Parameter(dk.asarray(x.copy())) for x in (A, B)]
    z = grown(*shared).sum()
    with dk.no_grad():
        shared[changed].add_(1.0)
    with pytest.raises(dk.errors.InplaceError, match="backward of GrownBackward"):
        z.backward()


def test_a_kernel_gets_a_tuple_of_numbers_as_it_is_and_arrays_for_tensors_in_one() -> None:
    seen: list[Any] = []

    @dk.operation
    def kept(xp: Any, x: dk.Tensor, /, shape: Any = ()) -> Any:
        return xp.positive(x)

    def flow(x: Any, /, shape: Any = ()) -> Any:
        seen.append(shape)
        return x + 0.0, lambda g, wanted: [g[0]]

    kept.def_kernel("numpy", lambda x, /, shape=(): flow(x, shape)[0], flow=flow)
    x, shape = dk.tensor(A, requires_grad=True), (2, 3)
    kept(x, shape).sum().backward()
    kept(x, (dk.asarray(B), 1)).sum().backward()
    assert seen[0] is shape
    assert type(seen[1][0]) is np.ndarray
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), np.full_like(A, 2.0))


def test_hooks_of_saved_tensors_have_the_rules_compute() -> None:
    torch = pytest.importorskip("torch")
    grown, computed = declare()
    add_kernel(grown, computed, library="torch")
    leaves = [dk.Tensor(torch.tensor(x), requires_grad=True) for x in (A, B)]
    with dk.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        y = grown(*leaves, by=3.0)
    grads = dk.autograd.grad(y.sum(), leaves)
    np.testing.assert_allclose([g.numpy() for g in grads], FIRST, rtol=1e-14)
    assert computed == ["kernel", "rule"]


def test_what_cannot_be_a_kernel_is_refused() -> None:
    grown, computed = declare()
    with pytest.raises(RegistrationError) as info:
        grown.def_kernel("torch", lambda a, b, /: a)
    assert str(info.value) == (
        "def_kernel: <lambda> cannot compute tests.grown on the arrays of torch: write def <lambda>(a, b, /, *, by=1.0)"
    )
    for gradients, said in (
        ({"c": of_first}, "def_kernel: tests.grown has no array parameter 'c'; it has a, b"),
        (
            lambda g, c: g,
            "grown_vjp cannot be the vjp rule of tests.grown: it names 'c', and may name xp, g, y, a, b, by",
        ),
    ):
        with pytest.raises(RegistrationError) as info:
            add_kernel(grown, computed, gradients)
        assert str(info.value) == said
    grown(dk.asarray(A), dk.asarray(B))
    assert computed == ["body"]


def doubled_numpy(x: Any, /) -> Any:
    return x + x


def test_an_operation_is_pickled_with_its_kernels() -> None:
    @dk.operation
    def doubled(xp: Any, x: dk.Tensor, /) -> Any:
        return 2 * x

    doubled.def_kernel("numpy", doubled_numpy)
    state = dk.tensor_protocol.operation(doubled).packed_state()
    assert state["kernels"] == {"numpy": (doubled_numpy, None, (), None, ())}


def stretched_gradients(g: Any, x: Any) -> Any:
    return np.broadcast_to(g, x.shape) * 1.0


def stretched_vjp(xp: Any, g: Any, x: Any) -> Any:
    return xp.broadcast_to(g, tuple(x.shape)) * 1.0


@pytest.mark.parametrize("shapes", [(), ("x",)])
def test_what_a_kernel_reads_the_shape_of_may_be_changed(shapes: tuple[str, ...]) -> None:
    @dk.operation
    def total(xp: Any, x: dk.Tensor, /) -> Any:
        return xp.sum(x)

    total.def_vjp("x", shapes=("x",))(stretched_vjp)
    total.def_kernel("numpy", lambda x, /: x.sum(), gradients=stretched_gradients, shapes=shapes)
    x = dk.tensor([1.0, 2.0], requires_grad=True)
    y = total(x)
    with dk.no_grad():
        x[0] = 5.0
    if shapes:
        y.backward()
        assert x.grad is not None
        assert x.grad.tolist() == [1.0, 1.0]
    else:
        with pytest.raises(dk.errors.InplaceError, match="backward of TotalBackward"):
            y.backward()


def test_shapes_and_rules_of_an_operation_are_pickled_together() -> None:
    @dk.operation
    def total(xp: Any, x: dk.Tensor, /) -> Any:
        return xp.sum(x)

    total.def_vjp("x", shapes=("x",))(stretched_vjp)
    with pytest.raises(RegistrationError, match=r"def_kernel: tests\.total has no array parameter 'y'; it has x"):
        total.def_kernel("numpy", lambda x, /: x.sum(), gradients=stretched_gradients, shapes=("y",))
    state = dk.tensor_protocol.operation(total).packed_state()
    assert state["rules"] == [("vjp", ("x",), stretched_vjp, ("x",))]
