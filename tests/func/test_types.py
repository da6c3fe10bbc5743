"""Array types, subclasses and users' own operations under transformations; modes around and inside."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import NoImplementationError, TransformError
from dispatchkit.func import grad, jacfwd, jacrev, jvp, linearize, vjp, vmap
from dispatchkit.types import MetadataTensor, ScalarTensor
from tests.func.support import agree, one_by_one

X = dk.tensor([[1.0, 2.0], [3.0, 4.0]])


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
@dataclass
class Scaled:
    """A vector of `n` equal numbers; the names of its columns and their number are no numbers to differentiate by."""

    value: Any
    n: int
    names: dict[str, float] = field(default_factory=dict)

    def to_dense(self) -> Any:
        return self.value * dk.ones(self.n)


@dk.implements(dk.multiply)
def multiply_scaled(x1: Scaled, x2: Scaled, /) -> Scaled:
    return Scaled(x1.value * x2.value, x1.n, x1.names)


@dk.implements(dk.sum)
def sum_scaled(x: Scaled, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return x.value * x.n


@pytest.mark.parametrize("value", [2.0, dk.tensor(2.0)])
def test_the_gradient_of_a_type_is_of_the_type(value: Any) -> None:
    g = grad(lambda s: (s * s).sum())(Scaled(value, 3, {"a": 1.5}))
    assert type(g) is Scaled
    assert (g.n, g.names) == (3, {"a": 1.5})
    assert g.value.item() == 12.0


def test_every_transformation_goes_into_the_fields() -> None:
    s = Scaled(dk.tensor(2.0), 3, {"a": 1.5})
    y, t = jvp(lambda s: s * s, (s,), (Scaled(1.0, 3, {"a": 1.5}),))
    assert (y.value.item(), t.value.item(), t.n, t.names) == (4.0, 4.0, 3, {"a": 1.5})
    y, pull = vjp(lambda s: s * s, s)
    assert pull(y)[0].value.item() == 16.0
    assert jacrev(lambda s: s * s)(s).value.value.item() == 4.0
    assert jacfwd(lambda s: s * s)(s).value.value.item() == 4.0
    batch = Scaled(dk.tensor([1.0, 2.0]), 3, {"a": 1.5})
    found = vmap(lambda s: s * s)(batch)
    assert (found.n, found.names) == (3, {"a": 1.5})
    agree(found.value, np.asarray([1.0, 4.0]))
    agree(vmap(grad(lambda s: (s * s).sum()))(batch).value, 6 * batch.value)


def test_scalar_tensors() -> None:
    s = ScalarTensor(3, dk.tensor(2.0))
    g = grad(dk.linalg.det)(s)
    assert type(g) is ScalarTensor
    assert (g.n, g.value.item()) == (3, 12.0)
    assert grad(lambda s: (s @ dk.ones(3)).sum())(ScalarTensor(3, 2.0)).value.item() == 3.0
    _, t = jvp(dk.linalg.inv, (s,), (ScalarTensor(3, 1.0),))
    assert (t.n, t.value.item()) == (3, -0.25)
    solved = vmap(lambda v, b: dk.linalg.solve(ScalarTensor(2, v), b))(dk.tensor([1.0, 2.0]), X)
    agree(solved, np.asarray([[1.0, 2.0], [1.5, 2.0]]))
    roots = vmap(lambda v: dk.linalg.cholesky(ScalarTensor(2, v) / v))(dk.tensor([1.0, 2.0]))
    agree(roots.value, np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="inv: singular matrix"):
        vmap(lambda v: dk.linalg.inv(ScalarTensor(2, v)))(dk.tensor([1.0, 0.0]))
    made = vmap(lambda v: ScalarTensor(3, v))(dk.tensor([1.0, 2.0]))
    assert repr(made) == "ScalarTensor(n=3, value=tensor([1., 2.]))"


def test_metadata_tensors() -> None:
    m = MetadataTensor([1.0, 2.0], {"unit": "m", "run": 7, "at": 0.5})
    for found in (
        grad(lambda m: (m * m).sum())(m),
        vmap(lambda m: m * 2)(m),
        jvp(lambda m: m * m, (m,), (MetadataTensor(dk.ones(2)),))[1],
        vjp(lambda m: m * m, m)[1](MetadataTensor(dk.ones(2), m.metadata))[0],
    ):
        assert type(found) is MetadataTensor
        assert found.metadata == m.metadata
        agree(found.data, np.asarray([2.0, 4.0]))
    met = vmap(lambda x: m * x)(X)
    assert met.metadata == m.metadata
    agree(met.data, m.data * X)


def test_types_meet_batches_and_duals_by_their_fallbacks() -> None:
    s = Scaled(3.0, 2)
    with dk.densify(on="allow"):
        agree(vmap(lambda x: x * s)(X), 3 * X)
        agree(vmap(lambda v: dk.sin(Scaled(v, 2)))(X[0]), one_by_one(lambda v: dk.sin(v * dk.ones(2)), [0], X[0]))
        agree(jvp(lambda x: s * x, (X,), (dk.ones((2, 2)),))[1], dk.full((2, 2), 3.0))
        agree(vmap(grad(lambda x: (x * s * x).sum()))(X), 6 * X)


def test_a_type_without_an_answer_is_named() -> None:
    @dk.array_type()
    class Opaque:
        shape, dtype = (2,), np.dtype(float)

    with pytest.raises(NoImplementationError, match="another type holds what vmap cannot look into"):
        vmap(lambda x: x + Opaque())(X)
    with pytest.raises(NoImplementationError, match="another type holds what jvp cannot look into"):
        jvp(lambda x: x + Opaque(), (X,), (X,))


class Sub(dk.Tensor):
    """With an attribute, which results take over."""

    note: str


@pytest.mark.parametrize(
    "transform",
    [
        lambda x: grad(lambda x: (x * x).sum())(x),
        lambda x: vjp(lambda x: x * x, x)[1](dk.ones(2))[0],
        lambda x: jvp(lambda x: x * x, (x,), (dk.ones(2),))[0],
        lambda x: vmap(lambda x: x * x)(x),
        lambda x: jacrev(lambda x: x * x)(x),
        lambda x: jacfwd(lambda x: x * x)(x),
    ],
)
def test_subclasses_keep_their_class(transform: Any) -> None:
    assert type(transform(Sub([1.0, 2.0]))) is Sub


def test_the_gradient_of_a_subclass_has_its_attributes() -> None:
    x = Sub([1.0, 2.0])
    x.note = "kept"
    assert grad(lambda x: (x * x).sum())(x).note == "kept"


def test_dictionaries_keep_their_class() -> None:
    x = dk.tensor([1.0, 2.0])
    data: defaultdict[str, Any] = defaultdict(list, a=x)
    g = grad(lambda p: (p["a"] * p["a"]).sum())(data)
    assert g.default_factory is list
    agree(g["a"], 2 * x)
    agree(grad(lambda p: (p["a"] * p["a"]).sum())(MappingProxyType({"a": x}))["a"], 2 * x)


# Operations of users.


@dk.operation(kind=dk.kinds.elementwise)
def third_power(xp: Any, x: Any, /) -> Any:
    return x * x * x


@third_power.def_partial
def third_power_partial(xp: Any, y: Any, x: Any) -> Any:
    return 3 * x * x


@dk.operation
def energy(xp: Any, x: Any, y: Any, /) -> Any:
    return xp.sum(xp.sin(x) * y)


@dk.operation
def running(xp: Any, x: Any, /) -> Any:
    return xp.cumulative_sum(x)


@running.def_vjp
def running_vjp(xp: Any, g: Any, y: Any, x: Any) -> Any:
    return xp.flip(xp.cumulative_sum(xp.flip(g)))


@dk.operation
def both(xp: Any, x: Any, /) -> tuple[Any, Any]:
    return xp.sin(x), xp.cos(x)


@dk.overridable
def soft(x: Any, factor: float = 2.0) -> Any:
    return dk.tanh(x) * factor


@pytest.mark.parametrize("func", [third_power, lambda x: energy(x, x), both, soft])
def test_own_operations(func: Any) -> None:
    agree(vmap(func)(X), one_by_one(func, [0], X))
    agree(jacfwd(func)(X[0]), jacrev(func)(X[0]))
    agree(vmap(jacrev(func))(X), one_by_one(jacfwd(func), [0], X))


def test_an_operation_with_a_vjp_alone() -> None:
    agree(vmap(running)(X), np.cumsum(X.numpy(), axis=1))
    agree(vmap(grad(lambda x: running(x).sum()))(X), np.asarray([[2.0, 1.0]] * 2))
    with pytest.raises(
        TransformError, match=r"jvp: \S+\.running has no rule for tangents of 'x'; declare one with def_j"
    ):
        jvp(running, (X[0],), (X[1],))


# Modes.


class Log(dk.TensorFunctionMode):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.seen.append(func.__name__)
        return func(*args, **kwargs)


def test_a_mode_sees_the_calls_of_a_transformed_function() -> None:
    for transform in (lambda: vmap(lambda x: x.sin() * 2)(X), lambda: jvp(lambda x: x.sin() * 2, (X,), (X,))):
        with Log() as log:
            found = transform()
        assert [name for name in log.seen if name in ("sin", "multiply")] == ["sin", "multiply"]
        agree(found, transform())


def test_a_mode_inside_a_transformed_function() -> None:
    log = Log()

    def f(x: Any) -> Any:
        with log:
            return dk.sin(x) * 2

    agree(vmap(f)(X), 2 * dk.sin(X))
    agree(jacfwd(f)(X[0]), jacrev(f)(X[0]))
    assert set(log.seen) == {"sin", "multiply"}


def test_a_mode_that_declines_does_not_make_random_numbers_drawn_twice() -> None:
    class Silent(dk.TensorFunctionMode):
        calls = 0

        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            Silent.calls += func is dk.rand
            return NotImplemented

    with Silent():
        assert len(np.unique(vmap(lambda x: x + dk.rand(2), randomness="different")(dk.zeros(3)).numpy())) == 6
    assert Silent.calls == 1


def test_overrides_may_be_switched_off() -> None:
    def f(x: Any) -> Any:
        with dk.disable_dispatch():
            return dk.sin(x) * 2

    agree(vmap(f)(X), 2 * dk.sin(X))
    agree(jvp(f, (X,), (X,))[1], 2 * dk.cos(X) * X)
    agree(grad(lambda x: f(x).sum())(X), 2 * dk.cos(X))
    with dk.disable_dispatch():
        agree(jacfwd(dk.sin)(X[0]), np.diag(np.cos([1.0, 2.0])))


def test_duals_and_batches_are_explained_and_not_listed() -> None:
    texts: list[str] = []

    def f(x: Any) -> Any:
        texts.append(str(dk.explain(dk.add, x, x)))
        return x

    jvp(f, (X,), (X,))
    vmap(f)(X)
    assert "Dual.__tensor_function__" in texts[0]
    assert "Batched.__tensor_function__" in texts[1]
    assert not any(hasattr(dk, name) for name in ("Dual", "Batched", "Tracer"))
    names = {
        getattr(one, "__name__", "") for group in dk.overrides.get_overridable_functions().values() for one in group
    }
    assert not names & {"answer", "rebuilt", "map_values"}


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
@dataclass
class Shifted:
    """A vector, a constant and its scale added; derivatives are by the vector alone."""

    base: Any = dk.field(grad=False)
    scale: Any = dk.field(grad=False, default=2.0)
    shift: Any = field(default_factory=lambda: dk.ones(2))

    def to_dense(self) -> Any:
        return self.base * self.scale + self.shift


def test_a_field_declared_a_constant_is_not_differentiated() -> None:
    base, t = dk.tensor([3.0, 4.0]), dk.tensor([0.0, 1.0])
    s = Shifted(base)
    g = grad(lambda s: (s.base * s.scale * s.shift).sum())(s)
    assert type(g) is Shifted
    # As integers do, it stands in the gradient as it is.
    assert g.base is base
    assert g.scale == 2.0
    assert g.shift.tolist() == [6.0, 8.0]
    y, tangent = jvp(lambda s: s.base * s.shift, (s,), (Shifted(t, 2.0, t),))
    assert (y.tolist(), tangent.tolist()) == ([3.0, 4.0], [0.0, 4.0])
    _, push = linearize(lambda s: s.base * s.shift, s)
    assert push(Shifted(t, 2.0, t)).tolist() == [0.0, 4.0]
    for jacobian in (jacrev, jacfwd):
        assert jacobian(lambda s: s.base * s.shift)(s).shift.tolist() == [[3.0, 0.0], [0.0, 4.0]]


def test_a_constant_field_is_in_a_batch_as_any_other() -> None:
    made = vmap(lambda s: s.base + s.shift)(Shifted(X, 2.0, X))
    assert made.tolist() == (X + X).tolist()


def test_a_type_of_constants_alone_holds_nothing_to_differentiate_by() -> None:
    with pytest.raises(TypeError, match="grad: argument 0 holds no floating-point array to differentiate by"):
        grad(lambda s: s.base.sum())(Shifted(dk.ones(2), 2.0, dk.asarray([1, 2])))


class Nested:
    """Holds arrays in an attribute that the constructor does not name."""

    def __init__(self, **numbers: int) -> None:
        self.__dict__.update(numbers)
        self.parts = {"all": [dk.ones(2)]}

    def to_dense(self) -> Any:
        return self.parts["all"][0]


class Sized(Nested):
    def __init__(self, n: int) -> None:
        super().__init__(n=n)


@pytest.mark.parametrize(
    ("cls", "value", "holds", "fields"),
    [(Nested, Nested(), "no fields", "'parts',"), (Sized, Sized(2), "'n'", "'n', 'parts'")],
)
def test_arrays_in_an_attribute_that_is_no_field_are_named_with_the_cure(
    cls: type, value: Any, holds: str, fields: str
) -> None:
    cure = f", whose 'parts' is no field; declare it: array_type(fields=({fields}))"
    with dk.local_registrations():
        dk.register_type(cls, fields=() if cls is Nested else None)
        with pytest.raises(TypeError) as caught:
            grad(lambda x: x.to_dense().sum())(value)
        assert str(caught.value) == (
            f"grad: argument 0 holds no floating-point array to differentiate by; found a {cls.__name__} with {holds}"
            f"{cure}"
        )
        with pytest.raises(TypeError, match=re.escape(f"to train{cure}")):
            dk.nn.Parameter(value)
        with pytest.raises(TypeError, match=re.escape(f"which holds no floating-point tensor{cure}")):
            dk.optim.SGD([value])
