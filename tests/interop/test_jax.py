"""Tensors and array types as JAX's pytrees, and whole steps under `jax.jit`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from dispatchkit.errors import TransformError
from dispatchkit.types import MetadataTensor, ScalarTensor
from tests.declared import OPERATIONS, flat
from tests.interop.structured import KINDS, Diagonal, LowRank, Named, dense, made

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
bridge = __import__("dispatchkit.interop.jax", fromlist=["to_jax"])
F = dk.nn.functional
RIGHT = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with dk.densify(on="allow"):
        yield
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


@pytest.fixture(params=KINDS)
def x(request: pytest.FixtureRequest) -> Any:
    return made(jnp.asarray)[request.param]


def same(found: Any, wanted: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12)


def test_what_is_taken_apart_is_put_together_again(x: Any) -> None:
    leaves, structure = jax.tree.flatten(x)
    again = jax.tree.unflatten(structure, leaves)
    assert type(again) is type(x)
    np.testing.assert_array_equal(np.asarray(dense(again)), np.asarray(dense(x)))
    assert jax.tree.structure(again) == structure
    assert hash(jax.tree.structure(again)) == hash(structure)


def test_a_compiled_function_keeps_the_type(x: Any) -> None:
    compiled = jax.jit(lambda a: 2.0 * a)
    found = compiled(x)
    assert type(found) is type(x)
    same(found, 2.0 * x)
    if isinstance(x, MetadataTensor):
        assert found.metadata == {"unit": "m", "path": ["a", "b"]}
    if isinstance(x, Named):
        assert found.name == "speed"


def test_products_in_a_compiled_function_are_those_outside(x: Any) -> None:
    wanted = np.asarray(dense(x)) @ np.asarray(RIGHT)
    found = jax.jit(lambda a, b: a @ b)(x, RIGHT)
    np.testing.assert_allclose(np.asarray(dense(found)), wanted)
    np.testing.assert_allclose(np.asarray(dense(jax.jit(lambda b, a: b.T @ a)(RIGHT, x.mT))), wanted.T)


def test_a_gradient_is_of_the_type(x: Any) -> None:
    def loss(a: Any) -> Any:
        return bridge.to_jax(dense(dk.sum(dk.exp(dense(a) @ RIGHT))))

    found = jax.grad(loss)(x)
    assert type(found) is type(x)
    leaves, structure = jax.tree.flatten(x)
    plain = jax.grad(lambda held: loss(jax.tree.unflatten(structure, held)))(leaves)
    for one, other in zip(jax.tree.leaves(found), plain, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other))
    assert np.isfinite(np.asarray(jax.tree.leaves(found)[0])).all()


def test_the_gradient_is_that_of_plain_jax() -> None:
    values = jnp.asarray([2.0, 3.0, 1.5])
    found = jax.jit(jax.grad(lambda d: dk.sum(dk.exp(d @ RIGHT)).array))(Diagonal(dk.Tensor(values)))
    wanted = jax.grad(lambda v: jnp.sum(jnp.exp(jnp.diag(v) @ RIGHT)))(values)
    np.testing.assert_allclose(found.values.numpy(), wanted)


def test_batches_loops_and_second_derivatives_keep_the_type() -> None:
    d = Diagonal(dk.Tensor(jnp.asarray([2.0, 3.0, 1.5])))
    batch = Diagonal(dk.Tensor(jnp.arange(6.0).reshape(2, 3)))
    assert type(jax.vmap(lambda a: a + a)(batch)) is Diagonal
    one_way = jax.tree.map(lambda _: 0, batch)
    scaled = jax.vmap(lambda a, s: a * s, in_axes=(one_way, None))(batch, 3.0)
    np.testing.assert_array_equal(scaled.values.numpy(), 3 * np.arange(6.0).reshape(2, 3))
    last, sums = jax.lax.scan(lambda a, s: (a * s, dk.sum(a)), d, jnp.asarray([2.0, 0.5]))
    assert type(last) is Diagonal
    np.testing.assert_allclose(sums.numpy(), [6.5, 13.0])
    hessian = jax.hessian(lambda a: dk.sum(a.values**3).array)(d)
    assert type(hessian) is Diagonal
    np.testing.assert_allclose(np.asarray(jax.tree.leaves(hessian)[0]), np.diag([12.0, 18.0, 9.0]))
    assert type(jax.lax.fori_loop(0, 3, lambda i, a: a + a, d)) is Diagonal
    assert type(jax.checkpoint(lambda a: a + a)(d)) is Diagonal
    assert jax.tree.map(lambda leaf: None, d).values is None


def test_a_number_in_a_field_is_a_leaf_and_its_size_is_not() -> None:
    found = jax.jit(lambda s: dk.linalg.inv(s + s))(ScalarTensor(3, 2.0))
    assert type(found) is ScalarTensor
    assert (found.n, found.value.item()) == (3, 0.25)
    last, means = jax.lax.scan(lambda s, c: (s * c, dk.mean(s)), ScalarTensor(3, 2.0), jnp.asarray([3.0, 1.0]))
    assert last.value.item() == 6.0
    np.testing.assert_allclose(means.numpy(), [2 / 3, 2.0])


def test_metadata_of_any_kind_is_compared_and_compiled_for() -> None:
    traced = []

    def twice(a: Any) -> Any:
        traced.append(a.metadata)
        return 2 * a

    compiled = jax.jit(twice)
    for unit in ("m", "m", "s"):
        assert compiled(MetadataTensor(jnp.ones(2), {"unit": [unit]})).metadata == {"unit": [unit]}
    assert traced == [{"unit": ["m"]}, {"unit": ["s"]}]
    one, other = (MetadataTensor(jnp.ones(2), {"scale": np.ones(2)}) for _ in range(2))
    assert jax.tree.structure(one) == jax.tree.structure(other)


def test_types_declared_later_and_subclasses_are_pytrees() -> None:
    calls = []

    class Base(dk.Tensor):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            calls.append(cls.__name__)
            super().__init_subclass__(**kwargs)

    class Later(Base):
        pass

    assert calls == ["Later"]
    assert type(jax.jit(lambda a: a + 1)(Later(jnp.ones(2)))) is Later

    @dk.array_type(fields={"left": dk.field(), "right": dk.field()})
    @dataclass(frozen=True)
    class Pair:
        left: dk.Tensor
        right: Any

        def __post_init__(self) -> None:
            if getattr(self.left, "ndim", 0) != 1:
                raise ValueError("left must be a vector")

        @cached_property
        def total(self) -> Any:
            return self.left.sum()

        shape = property(lambda self: (2, *self.left.shape))
        dtype = property(lambda self: self.left.dtype)

    class Triple(Pair):
        pass

    pair = Triple(dk.Tensor(jnp.ones(2)), (jnp.zeros(2), "word"))
    structure = jax.tree.structure(pair)
    assert pair.total.item() == 2.0  # what is computed and kept belongs to no structure
    assert jax.tree.structure(pair) == structure
    found = jax.jit(lambda p: jax.tree.map(lambda leaf: leaf + 1, p))(Pair(pair.left, pair.right[0]))
    assert type(found) is Pair
    assert isinstance(found.right, jax.Array)  # an array stays one
    assert type(jax.vmap(lambda p: p)(Triple(dk.Tensor(jnp.ones(2)), jnp.zeros((2, 3))))) is Triple


def test_a_type_that_only_answers_calls_is_registered_by_hand() -> None:
    class Answers:
        def __init__(self, value: Any) -> None:
            self.value = value

        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return cls(func(*[arg.value if isinstance(arg, cls) else arg for arg in args], **kwargs))

    bridge.register(Answers)
    bridge.register(Answers)
    found = jax.jit(lambda a: dk.exp(a))(Answers(dk.Tensor(jnp.zeros(2))))
    assert type(found) is Answers
    assert found.value.tolist() == [1.0, 1.0]


def test_a_registration_of_somebody_else_stays() -> None:
    program = """
import jax, dispatchkit as dk
@dk.array_type()
class Mine:
    def __init__(self, value):
        self.value = value
jax.tree_util.register_pytree_node(Mine, lambda m: ((m.value,), "mine"), lambda kept, held: Mine(*held))
import dispatchkit.interop.jax
print(jax.tree.structure(Mine(1.0)))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "mine" in done.stdout


def test_a_leaf_that_requires_a_gradient_still_does() -> None:
    def step(w: dk.Tensor, a: dk.Tensor) -> tuple[Any, Any]:
        loss = ((w @ a) ** 2).sum()
        loss.backward()
        return loss.detach(), w.grad

    w = dk.Tensor(RIGHT.T, requires_grad=True)
    loss, gradient = jax.jit(step)(w, dk.Tensor(RIGHT))
    wanted = jax.value_and_grad(lambda v: jnp.sum((v @ RIGHT) ** 2))(RIGHT.T)
    np.testing.assert_allclose(loss.item(), wanted[0])
    np.testing.assert_allclose(gradient.numpy(), wanted[1])


def test_a_graph_of_dispatchkit_is_not_lost_unseen() -> None:
    w = dk.Tensor(RIGHT, requires_grad=True)
    for function, given in ((lambda a: a * 2, w), (lambda a: a.detach(), w * 2)):
        with pytest.raises(dk.AutogradError, match=r"which would lose the graph; give x.detach\(\)"):
            jax.jit(function)(given)
    with dk.no_grad():
        assert jax.jit(lambda a: a.detach())(w * 2).shape == (3, 2)


def test_arrays_of_jax_mix_with_tensors_and_types_on_either_side(x: Any) -> None:
    square, wanted = jnp.ones((3, 3)), np.asarray(dense(x))
    for found in (square + x, x + square, dk.add(square, x)):
        np.testing.assert_allclose(np.asarray(dense(found)), wanted + 1)
    np.testing.assert_allclose(np.asarray(dense(square - x)), 1 - wanted)
    np.testing.assert_allclose(np.asarray(dense(RIGHT.T @ x)), np.asarray(RIGHT).T @ wanted)
    np.testing.assert_array_equal(np.asarray(dense(square == x)), wanted == 1)


def test_the_rule_of_a_pair_is_reached_from_an_array_of_jax() -> None:
    d = Diagonal(dk.Tensor(jnp.asarray([2.0, 3.0, 1.5])))
    with dk.densify(on="error"):
        assert type(jnp.asarray(3.0) * d) is Diagonal
        assert type(RIGHT.T @ d) is dk.Tensor
    assert isinstance(dk.add(jnp.ones(2), jnp.ones(2)).array, jax.Array)


def test_dense_forms_are_arrays_of_jax(x: Any) -> None:
    wanted = np.asarray(dense(x))
    np.testing.assert_array_equal(jnp.asarray(x), wanted)
    assert isinstance(bridge.to_jax(x), jax.Array)
    np.testing.assert_allclose(jax.jit(bridge.to_jax)(x), wanted)
    np.testing.assert_allclose(bridge.to_jax([1, 2]), [1, 2])


def test_a_dense_form_says_what_it_cannot_do() -> None:
    d = Diagonal(dk.Tensor(jnp.ones(3)))
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match="to_jax"):
        bridge.to_jax(d)
    with pytest.raises(jax.errors.TracerArrayConversionError) as caught:
        jax.jit(jnp.asarray)(d)
    assert "dispatchkit.interop.jax.to_jax(x) gives the array inside" in "".join(caught.value.__notes__)
    with pytest.raises(dk.AutogradError, match=r"use to_jax\(x.detach\(\)\)"):
        bridge.to_jax(dk.Tensor(jnp.ones(2), requires_grad=True))

    @dk.array_type()
    class Formless:
        shape, dtype = (2,), np.dtype(float)

    with pytest.raises(TypeError, match=r"to_jax: .*Formless has no dense form; define to_dense\(\)"):
        bridge.to_jax(Formless())


# What went through values, devices or SciPy, and so was not for `jax.jit`.
COMPILED: dict[str, Callable[[Any], Any]] = {
    "cross_entropy": lambda a: F.cross_entropy(a, dk.Tensor(jnp.asarray([0, 1, 0]))),
    "nll_loss": lambda a: F.nll_loss(F.log_softmax(a, axis=1), dk.Tensor(jnp.asarray([0, -100, 0]))),
    "binary_cross_entropy": lambda a: F.binary_cross_entropy(dk.special.expit(a), dk.ones_like(a)),
    "embedding": lambda a: F.embedding(dk.Tensor(jnp.asarray([2, 0])), a),
    "one_hot": lambda a: F.one_hot(dk.Tensor(jnp.asarray([1, 0])), 2) @ a[:2],
    "index": lambda a: a[dk.Tensor(jnp.asarray([0, 2, 0]))],
    "index from the end": lambda a: a[[-1, 0], 1],
    "gelu": F.gelu,
    "erf": dk.special.erf,
    "eye on the device": lambda a: dk.eye(3, device=a.device) @ a,
    "zeros_like": lambda a: dk.zeros_like(a) + a,
    "inv": lambda a: dk.linalg.inv(a.T @ a),
    "det": lambda a: dk.linalg.det(a.T @ a),
    "eigh": lambda a: dk.linalg.eigh(a.T @ a)[1] ** 2,
    "svdvals": dk.linalg.svdvals,
    "cholesky": lambda a: dk.linalg.cholesky(a.T @ a + dk.eye(2, device=a.device)),
    "qr": lambda a: dk.linalg.qr(a)[1] ** 2,
    "diagonal": dk.linalg.diagonal,
    "quantile": lambda a: dk.quantile(a, 0.3),
    "average": lambda a: dk.average(a, weights=a * a),
    "rfft": lambda a: dk.real(dk.fft.rfft(a, n=4, axis=0)) ** 2,
    "cumulative_sum": lambda a: dk.cumulative_sum(a, axis=0, include_initial=True),
    "attention": lambda a: F.scaled_dot_product_attention(a, a, a),
    "pad": lambda a: dk.pad(a, 1),
}


@pytest.mark.parametrize("name", COMPILED)
def test_values_and_derivatives_compile(name: str) -> None:
    def step(a: Any) -> tuple[Any, Any, Any]:
        leaf: Any = dk.Tensor(a, requires_grad=True)
        value = COMPILED[name](leaf)
        dk.sum(value**2).backward()
        once = dk.func.grad(lambda v: dk.sum(COMPILED[name](v) ** 2))(dk.Tensor(a))
        return value.detach().array, leaf.grad.array, once.array

    a = RIGHT * 0.5 + 1.0
    for one, other in zip(jax.jit(step)(a), step(a), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# The shape of what they give depends on values; that of `qr` has no derivative.
BY_VALUES = {"arange", "repeat", "argwhere", "bincount", "nonzero", "qr"}
BY_VALUES |= {"unique_all", "unique_counts", "unique_inverse", "unique_values"}


TRACED = [entry for entry in OPERATIONS.values() if entry.name not in BY_VALUES | {"from_dlpack"}]


@pytest.mark.parametrize("entry", TRACED, ids=lambda entry: entry.qualified_name)
def test_values_and_derivatives_of_all_operations_are_traced(entry: Any) -> None:
    for sample in entry.samples:
        args, kwargs = sample.make(np.random.default_rng(1))
        held = [value for _, value in entry.parameters.values(args, kwargs) if isinstance(value, np.ndarray)]
        if held:
            jax.eval_shape(partial(differentiated, entry, args, kwargs), *map(jnp.asarray, held))


def test_a_range_of_traced_ends_is_refused_and_values_between_them_are_not() -> None:
    def between(end: Any) -> Any:
        return dk.linspace(0.0, dk.asarray(end), 3).array

    def steps(end: Any) -> Any:
        return dk.arange(0.0, dk.asarray(end), 0.5).array

    assert jax.jit(between)(jnp.asarray(1.0)).tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(TransformError, match=r"arange: the number of values, .*, depends on an array .* use linspace"):
        jax.jit(steps)(jnp.asarray(1.0))


def differentiated(entry: Any, args: Any, kwargs: Any, *given: Any) -> None:
    """Call an operation with other arrays in the place of NumPy's, and pull ones back."""
    arrays = iter(given)

    def leaf(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return dk.Tensor(next(arrays), requires_grad=value.dtype.kind == "f")

    args, kwargs = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, leaf)
    found = [y for y in flat(entry.function(*args, **kwargs)) if y.requires_grad]
    dk.autograd.backward(found, [dk.ones_like(y) for y in found])


def test_a_hessian_compiles() -> None:
    found = jax.jit(lambda a: dk.func.hessian(lambda v: dk.sum(v**3))(dk.Tensor(a)).array)(jnp.asarray([1.0, 2.0]))
    np.testing.assert_allclose(found, np.diag([6.0, 12.0]))


def test_a_tensor_under_a_transformation_can_be_printed() -> None:
    shown = []

    def show(a: Any) -> Any:
        shown.append(repr(dk.Tensor(a)))
        return a

    jax.jit(show)(jnp.ones(2))
    assert shown == ["tensor(shape=(2,), on a device that jax.numpy chooses)"]


def test_control_flow_on_values_raises_what_jax_raises() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(lambda a: a if dk.Tensor(a).sum() > 0 else -a)(jnp.ones(2))
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda a: dk.nonzero(dk.Tensor(a))[0].array)(jnp.ones(2))


def clipped(clip: Callable[..., Any], bound: float, a: Any) -> Any:
    p: Any = dk.Tensor(a, requires_grad=True)
    (p**3).sum().backward()
    clip([p], bound)
    return p.grad.array


@pytest.mark.parametrize("bound", [0.5, 1e6])
@pytest.mark.parametrize("clip", [dk.nn.utils.clip_grad_norm_, dk.nn.utils.clip_grad_value_])
def test_gradients_are_clipped_in_a_compiled_function(clip: Callable[..., Any], bound: float) -> None:
    wanted = clipped(clip, bound, np.asarray(RIGHT))
    np.testing.assert_allclose(clipped(clip, bound, RIGHT), wanted)
    np.testing.assert_allclose(jax.jit(lambda a: clipped(clip, bound, a))(RIGHT), wanted)


@pytest.mark.parametrize(
    "name", ["zeros_", "ones_", "eye_", "normal_", "xavier_uniform_", "orthogonal_", "trunc_normal_"]
)
def test_tensors_of_jax_are_filled_as_those_of_numpy(name: str) -> None:
    fill = getattr(dk.nn.init, name)
    dk.manual_seed(3)
    wanted = fill(dk.zeros((3, 2)))
    dk.manual_seed(3)
    p = dk.nn.Parameter(dk.Tensor(RIGHT))
    assert fill(p) is p
    assert isinstance(p.array, jax.Array)
    np.testing.assert_array_equal(p.detach().numpy(), wanted.numpy())


def test_a_state_is_loaded_over_arrays_of_jax() -> None:
    model, other = dk.nn.Linear(2, 3), dk.nn.Linear(2, 3)
    model.load_state_dict({k: dk.Tensor(jnp.asarray(v.numpy())) for k, v in model.state_dict().items()}, assign=True)
    weight = model.weight
    model.load_state_dict(other.state_dict())
    assert model.weight is weight
    assert isinstance(weight.array, jax.Array)
    np.testing.assert_array_equal(weight.detach().numpy(), other.weight.detach().numpy())


def test_random_numbers_like_those_that_jax_traces_have_their_shape() -> None:
    drawn = jax.jit(lambda a: dk.randn_like(dk.Tensor(a)).array + dk.random.bernoulli(dk.Tensor(a) * 0).array)(RIGHT)
    assert drawn.shape == RIGHT.shape
    assert drawn.dtype == RIGHT.dtype


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: dk.optim.SGD(p, lr=0.1),
    "momentum": lambda p: dk.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: dk.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: dk.optim.AdamW(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_compiled_training_step_equals_the_eager_one(name: str) -> None:
    model = dk.nn.Sequential(dk.nn.Linear(4, 8), dk.nn.LayerNorm(8), dk.nn.GELU(), dk.nn.Linear(8, 3))
    rng = np.random.default_rng(0)
    weights = {key: jnp.asarray(value.detach().numpy()) for key, value in model.named_parameters()}
    inputs, labels = jnp.asarray(rng.normal(size=(16, 4))), jnp.asarray(rng.integers(0, 3, size=16))

    def step(held: dict[str, Any], a: Any, y: Any) -> tuple[dict[str, Any], Any]:
        """Train by dispatchkit's own backward pass and optimizer."""
        leaves = {key: dk.Tensor(value, requires_grad=True) for key, value in held.items()}
        optimizer = OPTIMIZERS[name](list(leaves.values()))
        loss = F.cross_entropy(dk.nn.utils.functional_call(model, leaves, (dk.Tensor(a),)), dk.Tensor(y))
        loss.backward()
        optimizer.step()
        return {key: leaf.detach().array for key, leaf in leaves.items()}, loss.detach().array

    compiled, eager, losses = weights, weights, []
    quick = jax.jit(step)
    for _ in range(4):
        compiled, loss = quick(compiled, inputs, labels)
        eager, other = step(eager, inputs, labels)
        np.testing.assert_allclose(loss, other, rtol=1e-10)
        losses.append(float(loss))
    same(compiled, eager)
    assert losses[-1] < losses[0]


def test_a_declared_type_is_trained_by_a_compiled_step() -> None:
    target = jnp.asarray([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])

    def loss(a: Any) -> Any:
        return dk.sum((a @ RIGHT - target) ** 2).array

    def step(a: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(a)
        return jax.tree.map(lambda one, slope: one - 0.01 * slope, a, gradient), value

    quick = jax.jit(step)
    for start in (Diagonal(dk.Tensor(jnp.ones(3))), LowRank(*(dk.Tensor(jnp.ones(s)) for s in ((3, 1), (1, 3))))):
        values, trained = [], start
        for _ in range(20):
            trained, value = quick(trained)
            values.append(float(value))
        assert type(trained) is type(start)
        assert values[-1] < 0.5 * values[0]
