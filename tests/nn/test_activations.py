"""Activations as modules: what they print, that they call their functionals, and the input overwritten."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import nn
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it

# Class, arguments, how it is printed, and the functional with its arguments.
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], str, str, dict[str, Any]]] = [
    ("ReLU", (), {}, "ReLU()", "relu", {}),
    ("ReLU6", (), {}, "ReLU6()", "relu6", {}),
    ("LeakyReLU", (0.2,), {}, "LeakyReLU(negative_slope=0.2)", "leaky_relu", {"negative_slope": 0.2}),
    ("Hardtanh", (-2.0, 0.5), {}, "Hardtanh(min_val=-2.0, max_val=0.5)", "hardtanh", {"min_val": -2.0, "max_val": 0.5}),
    ("Hardsigmoid", (), {}, "Hardsigmoid()", "hardsigmoid", {}),
    ("Hardswish", (), {}, "Hardswish()", "hardswish", {}),
    ("Threshold", (0.1, 20), {}, "Threshold(threshold=0.1, value=20)", "threshold", {"threshold": 0.1, "value": 20}),
    ("ELU", (0.5,), {}, "ELU(alpha=0.5)", "elu", {"alpha": 0.5}),
    ("SELU", (), {}, "SELU()", "selu", {}),
    ("CELU", (), {"alpha": 2.0}, "CELU(alpha=2.0)", "celu", {"alpha": 2.0}),
    ("GELU", (), {}, "GELU(approximate='none')", "gelu", {}),
    ("GELU", (), {"approximate": "tanh"}, "GELU(approximate='tanh')", "gelu", {"approximate": "tanh"}),
    ("SiLU", (), {}, "SiLU()", "silu", {}),
    ("Mish", (), {}, "Mish()", "mish", {}),
    ("Sigmoid", (), {}, "Sigmoid()", "sigmoid", {}),
    ("LogSigmoid", (), {}, "LogSigmoid()", "logsigmoid", {}),
    ("Tanh", (), {}, "Tanh()", "tanh", {}),
    ("Softplus", (2.0, 1.0), {}, "Softplus(beta=2.0, threshold=1.0)", "softplus", {"beta": 2.0, "threshold": 1.0}),
    ("Softsign", (), {}, "Softsign()", "softsign", {}),
    ("Softmax", (), {"dim": 0}, "Softmax(dim=0)", "softmax", {"axis": 0}),
    ("LogSoftmax", (), {"dim": 1}, "LogSoftmax(dim=1)", "log_softmax", {"axis": 1}),
    ("GLU", (), {}, "GLU(dim=-1)", "glu", {}),
]
IN_PLACE = [case for case in CASES if case[0] in ("ReLU", "LeakyReLU", "ELU", "SELU", "CELU", "SiLU", "Mish", "ReLU6")]
X = np.random.default_rng(0).normal(size=(3, 4))
cases = pytest.mark.parametrize(("name", "args", "kwargs", "shown", "functional", "options"), CASES)
in_place = pytest.mark.parametrize(("name", "args", "kwargs", "shown", "functional", "options"), IN_PLACE)


@cases
def test_a_module_calls_its_functional_and_prints_its_options(
    name: str, args: Any, kwargs: Any, shown: str, functional: str, options: Any
) -> None:
    module = getattr(nn, name)(*args, **kwargs)
    assert repr(module) == shown
    wanted = getattr(F, functional)(dk.tensor(X), **options).numpy()
    for one in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        np.testing.assert_array_equal(one(dk.tensor(X)).numpy(), wanted)
    assert list(module.parameters()) == []


@cases
def test_it_is_printed_as_by_pytorch(
    name: str, args: Any, kwargs: Any, shown: str, functional: str, options: Any
) -> None:
    torch = pytest.importorskip("torch")
    assert repr(getattr(torch.nn, name)(*args, **kwargs)) == shown


@in_place
def test_in_place_the_input_becomes_the_result_and_gradients_stay_right(
    name: str, args: Any, kwargs: Any, shown: str, functional: str, options: Any
) -> None:
    module = getattr(nn, name)(*args, **kwargs, inplace=True)
    assert repr(module) == shown.replace(")", ", inplace=True)" if options else "inplace=True)")
    leaf, other = dk.tensor(X, requires_grad=True), dk.tensor(X, requires_grad=True)
    x = leaf * 1.0
    y = module(x)
    assert y is x
    wanted = getattr(F, functional)(other * 1.0, **options)
    np.testing.assert_array_equal(x.detach().numpy(), wanted.detach().numpy())
    (y * y).sum().backward()
    (wanted * wanted).sum().backward()
    assert leaf.grad is not None
    assert other.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), rtol=1e-14)


def test_in_place_on_a_leaf_is_refused() -> None:
    x = dk.tensor(X, requires_grad=True)
    with pytest.raises(dk.AutogradError, match="relu_: a leaf tensor that requires grad cannot be changed in place"):
        nn.ReLU(inplace=True)(x)
    np.testing.assert_array_equal(x.detach().numpy(), X)


def test_the_slopes_of_prelu_are_learned() -> None:
    module = nn.PReLU(3, init=0.5, dtype=dk.float32)
    assert repr(module) == "PReLU(num_parameters=3)"
    assert [(name, p.shape, p.dtype) for name, p in module.named_parameters()] == [("weight", (3,), dk.float32)]
    x = dk.tensor([[-1.0, -2.0, 3.0]], dtype=dk.float32)
    y = module(x)
    np.testing.assert_array_equal(y.detach().numpy(), [[-0.5, -1.0, 3.0]])
    y.sum().backward()
    assert module.weight.grad is not None
    np.testing.assert_array_equal(module.weight.grad.numpy(), [-1.0, -2.0, 0.0])
    torch = pytest.importorskip("torch")
    assert repr(torch.nn.PReLU(3)) == repr(module)


def test_they_stand_in_a_sequential_model() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Softmax(dim=-1))
    assert repr(model) == "Sequential(\n  (0): ReLU()\n  (1): Softmax(dim=-1)\n)"
    np.testing.assert_allclose(model(dk.tensor(X)).sum(axis=-1).numpy(), np.ones(3))
