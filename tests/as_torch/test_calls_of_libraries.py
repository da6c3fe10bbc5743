"""Calls as libraries for PyTorch write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch
from dispatchkit.errors import InplaceError

OF_ANY: Any = torch
F: Any = OF_ANY.nn.functional
X = np.asarray([[1.0, 3.0, 2.0, 5.0], [0.0, 2.0, 7.0, 1.0]])


def changed(value: float) -> Any:
    """Return a parameter that was changed in place, as by a step of an optimiser."""
    weight = OF_ANY.nn.Parameter(OF_ANY.ones(4))
    with OF_ANY.no_grad():
        weight.mul_(value)
    return weight


@pytest.mark.parametrize("name", ["layer_norm", "group_norm"])
def test_norms_take_factors_that_were_changed_before_the_call(name: str) -> None:
    weight, bias = changed(2.0), changed(3.0)
    arguments: dict[str, Any] = {"layer_norm": ((4,), weight, bias), "group_norm": (2, weight, bias)}
    y = getattr(F, name)(OF_ANY.from_numpy(X), *arguments[name])
    y.sum().backward()
    np.testing.assert_allclose(bias.grad, [2.0] * 4)
    np.testing.assert_allclose(y.detach().sum(0), (weight.grad * 2.0 + 6.0).detach())


def test_factors_that_are_changed_after_the_call_are_told_also_by_name() -> None:
    weight = changed(2.0)
    x = OF_ANY.from_numpy(X.copy()).requires_grad_()
    y = F.layer_norm(x, (4,), weight=weight)
    with OF_ANY.no_grad():
        weight.mul_(2.0)
    with pytest.raises(InplaceError, match="a value needed by the backward of LayerNormBackward was changed"):
        y.sum().backward()


M, V, B = OF_ANY.ones(2, 2), OF_ANY.ones(2), OF_ANY.ones(2, 2, 2)
OLD = [
    ("add", M, (M,), 2.0, {"alpha": 2.0}),
    ("sub", M, (M,), 2.0, {"alpha": 2.0}),
    ("addcmul", M, (M, M), 2.0, {"value": 2.0}),
    ("addcdiv", M, (M, M), 2.0, {"value": 2.0}),
    ("addmm", M, (M, M), 2.0, {"beta": 2.0}),
    ("addmv", V, (M, V), 2.0, {"beta": 2.0}),
    ("addr", M, (V, V), 2.0, {"beta": 2.0}),
    ("baddbmm", B, (B, B), 2.0, {"beta": 2.0}),
    ("addbmm", M, (B, B), 2.0, {"beta": 2.0}),
]


@pytest.mark.parametrize(("name", "x", "rest", "factor", "by_name"), OLD)
def test_factors_stand_before_tensors_as_in_older_programs(
    name: str, x: Any, rest: tuple[Any, ...], factor: float, by_name: dict[str, float]
) -> None:
    expected = getattr(x, name)(*rest, **by_name)
    with pytest.warns(UserWarning, match=f"this order of the arguments of {name} is deprecated: give the factor"):
        assert OF_ANY.equal(getattr(x, name)(factor, *rest), expected)
    with pytest.warns(UserWarning, match=f"name after the tensors \\({next(iter(by_name))}=2.0\\)"):
        assert OF_ANY.equal(getattr(x.clone(), f"{name}_")(factor, *rest), expected)


def test_both_factors_of_products_stand_before_tensors() -> None:
    expected = OF_ANY.addmm(M, M, M, beta=2.0, alpha=3.0)
    with pytest.warns(UserWarning, match="deprecated"):
        assert OF_ANY.equal(OF_ANY.addmm(2.0, M, 3.0, M, M), expected)
    with pytest.warns(UserWarning, match="deprecated"):
        assert OF_ANY.equal(M.clone().addmm_(2.0, 3.0, M, M), expected)


def test_other_orders_of_factors_are_refused() -> None:
    with pytest.raises(TypeError, match="takes 3 arguments"):
        OF_ANY.addcmul(M, M, 2.0, M)
    with pytest.raises(TypeError, match="add\\(\\) received an invalid combination of arguments"):
        OF_ANY.add(2.0, M, M)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "same"),
    [
        ("vn...c->vnc", [(2, 3, 4, 5, 6)], "vnabc->vnc"),
        ("...i,...i->i", [(4, 2, 3), (2, 3)], "abi,bi->i"),
        ("...i,j... -> ij", [(1, 3), (2, 5)], "ai,ja->ij"),
        ("i...->i", [(3,)], "i->i"),
    ],
)
def test_axes_under_dots_that_the_result_has_not_are_summed_over(
    subscripts: str, shapes: list[tuple[int, ...]], same: str
) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    y = OF_ANY.einsum(subscripts, *map(OF_ANY.from_numpy, arrays))
    expected = OF_ANY.einsum(same, *map(OF_ANY.from_numpy, arrays))
    np.testing.assert_allclose(y, expected)


def test_subscripts_that_do_not_fit_are_told_where_dots_are_summed_over() -> None:
    with pytest.raises(RuntimeError, match="operand 0 has 1 axes"):
        OF_ANY.einsum("ab...->a", OF_ANY.ones(3))


def test_nothing_is_a_graph_of_a_program() -> None:
    def double(x: Any) -> Any:
        return 2 * x

    assert OF_ANY.fx.wrap(double) is double
    assert not isinstance(OF_ANY.nn.Linear(1, 1), OF_ANY.fx.GraphModule)
    assert issubclass(OF_ANY.fx.GraphModule, OF_ANY.nn.Module)
    assert OF_ANY.fx.node.Node is OF_ANY.fx.Node
    for make in (OF_ANY.fx.Graph, OF_ANY.fx.Tracer, OF_ANY.fx.GraphModule, lambda: OF_ANY.fx.symbolic_trace(double)):
        with pytest.raises(RuntimeError, match=r"torch\.fx: no graph of a program is made here; dk\.compile compiles"):
            make()


def test_generators_are_made_for_a_device() -> None:
    generator = OF_ANY.Generator("cpu").manual_seed(3)
    again = OF_ANY.Generator(device=OF_ANY.device("cpu")).manual_seed(3)
    assert OF_ANY.equal(OF_ANY.rand(2, generator=generator), OF_ANY.rand(2, generator=again))
    assert generator.device == OF_ANY.device("cpu")
    assert generator.initial_seed() == 3
    assert isinstance(OF_ANY.default_generator, OF_ANY.Generator)
    with pytest.raises(RuntimeError, match="Generator: device must be 'cpu', found 'cuda'"):
        OF_ANY.Generator("cuda")


def test_modules_list_the_sets_and_transforms_that_they_have() -> None:
    constraints, transforms = OF_ANY.distributions.constraints, OF_ANY.distributions.transforms
    assert {"Constraint", "positive", "simplex", "greater_than", "stack"} <= set(constraints.__all__)
    assert {"Transform", "ExpTransform", "StackTransform", "identity_transform"} <= set(transforms.__all__)
    for module in (constraints, transforms):
        assert all(hasattr(module, name) for name in module.__all__)


def test_entropies_of_exponential_families_follow_from_their_normalizers() -> None:
    D = OF_ANY.distributions

    class Rates(D.ExponentialFamily):  # type: ignore[misc, name-defined]  # of any
        def __init__(self, rate: Any) -> None:
            self.rate = rate
            super().__init__(rate.shape, validate_args=False)

        @property
        def _natural_params(self) -> tuple[Any, ...]:
            return (-self.rate,)

        def _log_normalizer(self, x: Any) -> Any:
            return -OF_ANY.log(-x)

        _mean_carrier_measure = 0

    rate = OF_ANY.asarray([0.5, 2.0])
    np.testing.assert_allclose(Rates(rate).entropy().detach(), D.Exponential(rate).entropy())
    assert isinstance(D.Normal(0.0, 1.0), D.ExponentialFamily)
    assert not isinstance(D.Cauchy(0.0, 1.0), D.ExponentialFamily)
    with pytest.raises(NotImplementedError, match="Poisson has no entropy in closed form"):
        D.Poisson(rate).entropy()
    with pytest.raises(NotImplementedError, match="ExponentialFamily does not say its natural parameters"):
        D.ExponentialFamily()._natural_params  # noqa: B018  # it raises


def test_divergences_are_registered_for_bases_that_are_no_distributions() -> None:
    D = OF_ANY.distributions

    class Marked:
        pass

    class Mine(D.Normal, Marked):  # type: ignore[misc, name-defined]  # of any
        pass

    @D.register_kl(D.Cauchy, Marked)  # type: ignore[untyped-decorator]  # of any
    def divergence(p: Any, q: Any) -> float:
        return 3.0

    assert D.kl_divergence(D.Cauchy(0.0, 1.0), Mine(0.0, 1.0)) == 3.0


def test_transforms_and_distributions_start_modules_that_they_derive_from() -> None:
    class Scaled(OF_ANY.distributions.Transform, OF_ANY.nn.Module):  # type: ignore[misc]  # of any
        def __init__(self) -> None:
            super().__init__()
            self.scale = OF_ANY.nn.Parameter(OF_ANY.ones(1))

    class Weighted(OF_ANY.distributions.Distribution, OF_ANY.nn.Module):  # type: ignore[misc]  # of any
        def __init__(self) -> None:
            super().__init__()
            self.weight = OF_ANY.nn.Parameter(OF_ANY.ones(1))

    assert [name for name, _ in Scaled().named_parameters()] == ["scale"]
    assert [name for name, _ in Weighted().named_parameters()] == ["weight"]


def test_axes_of_events_of_a_transform_follow_from_its_domain() -> None:
    D = OF_ANY.distributions

    class Reversed(D.Transform):  # type: ignore[misc, name-defined]  # of any
        domain = codomain = D.constraints.real_vector

        def _call(self, x: Any) -> Any:
            return OF_ANY.flip(x, (-1,))

        def _inverse(self, y: Any) -> Any:
            return OF_ANY.flip(y, (-1,))

        def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
            return OF_ANY.zeros(x.shape[:-1])

    class Moved(Reversed):
        def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
            return OF_ANY.tensor(0.0)

    base = D.Normal(OF_ANY.zeros(2, 3), 1.0)
    for transform in (Reversed(), Moved()):
        assert transform.event_dim == 1
        y = D.TransformedDistribution(base, [transform])
        assert (y.batch_shape, y.event_shape) == ((2,), (3,))
        np.testing.assert_allclose(y.log_prob(OF_ANY.ones(2, 3)), base.log_prob(OF_ANY.ones(2, 3)).sum(-1))


def test_bounds_of_probabilities_have_finite_logits() -> None:
    D = OF_ANY.distributions
    ends = OF_ANY.tensor([0.0, 1.0], dtype=OF_ANY.float32)
    np.testing.assert_allclose(D.SigmoidTransform().inv(ends), [-87.33654, 15.942385], rtol=1e-6)
    densities = D.RelaxedBernoulli(OF_ANY.tensor(0.5), OF_ANY.tensor([0.3, 0.2])).log_prob(ends.double())
    assert bool(OF_ANY.isfinite(densities).all())


def test_distributions_that_expand_fills_take_values() -> None:
    D = OF_ANY.distributions

    class Counted(D.Poisson):  # type: ignore[misc, name-defined]  # of any
        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            return super().expand(batch_shape, _instance=self._get_checked_instance(Counted, _instance))

    wide = Counted(OF_ANY.asarray(2.0)).expand((3,))
    np.testing.assert_allclose(wide.log_prob(OF_ANY.ones(3)), D.Poisson(OF_ANY.asarray(2.0)).log_prob(OF_ANY.ones(3)))


def test_classes_that_look_up_attributes_themselves_are_asked_for_members() -> None:
    asked: list[str] = []

    class Counting(OF_ANY.nn.Module):  # type: ignore[misc]  # of any
        def __init__(self) -> None:
            super().__init__()
            self.weight = OF_ANY.nn.Parameter(OF_ANY.ones(2))
            self.register_buffer("scale", OF_ANY.full((2,), 3.0))
            self.inner = OF_ANY.nn.Linear(2, 1)
            self.plain = 5

        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattr__(name)

        def forward(self, x: Any) -> Any:
            return self.inner(self.weight * self.scale * x) + self.plain

    class Derived(Counting):
        pass

    class Wrapping(OF_ANY.nn.Module):  # type: ignore[misc]  # of any
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    module = Derived()
    asked.clear()
    module(OF_ANY.ones(2)).sum().backward()
    assert asked == ["inner", "weight", "scale"]
    assert module.weight.grad is not None
    with pytest.raises(AttributeError, match="'Derived' object has no attribute 'absent'"):
        _ = module.absent
    assert [name for name, _ in module.named_parameters()] == ["weight", "inner.weight", "inner.bias"]
    wrapping = Wrapping(module)
    assert wrapping.plain == 5
    assert wrapping.weight is module.weight
    assert wrapping.module is module
    del module.weight
    assert not hasattr(wrapping, "weight")
