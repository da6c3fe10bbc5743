"""Functions of integers and places, those of networks among all others, and what changes its first argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as spelled
from dispatchkit.errors import AutogradError

torch: Any = spelled
functional: Any = spelled.nn.functional

# Calls of these functions, written for either module.
CALLS: dict[str, Callable[[Any], Any]] = {
    "gcd": lambda m: m.gcd(m.tensor([4, 6, -9]), m.tensor([6, 0, 6])),
    "gcd of two dtypes": lambda m: m.gcd(m.tensor([4], dtype=m.int8), m.tensor([6])),
    "gcd_": lambda m: m.tensor([4, 6]).gcd_(m.tensor([6, 4])),
    "gcd in vmap": lambda m: m.func.vmap(m.gcd)(m.tensor([4, 6]), m.tensor([6, 4])),
    "lcm": lambda m: m.lcm(m.tensor([[4], [6]]), m.tensor([6, 4])),
    "gcd of floats": lambda m: m.gcd(m.tensor([1.0]), m.tensor([1])),
    "frexp": lambda m: m.frexp(m.tensor([0.5, -3.0, 0.0, float("inf"), float("nan"), 5e-324], dtype=m.float64)),
    "frexp of float32": lambda m: m.frexp(m.tensor([0.5, -3.0, 1e-44], dtype=m.float32)).mantissa,
    "frexp of integers": lambda m: m.frexp(m.tensor([1])),
    "gradient of frexp": lambda m: m.func.grad(lambda x: m.frexp(x)[0].sum())(m.tensor([4.0, 6.0], dtype=m.float32)),
    "unravel_index": lambda m: m.unravel_index(m.tensor([7, -1, 5]), (2, 3)),
    "unravel_index of floats": lambda m: m.unravel_index(m.tensor(3.0), 4),
    "unravel_index of a shape": lambda m: m.unravel_index(m.tensor(3), (-1, 2)),
    "tril_indices": lambda m: m.tril_indices(3, 4, 1),
    "triu_indices": lambda m: m.triu_indices(3, 4, -1, dtype=m.int32),
    "tril_indices of floats": lambda m: m.tril_indices(3, 4, dtype=m.float32),
    "tril_indices of a negative length": lambda m: m.tril_indices(-3, 4),
    "range": lambda m: m.range(1, 4, 0.5, dtype=m.float32),
    "vander": lambda m: m.vander(m.tensor([1, 2, 3])),
    "vander, increasing": lambda m: m.vander(m.tensor([1.0, 2.0], dtype=m.float64), 4, True),
    "half": lambda m: m.tensor([1.0, 2.0]).half() * 2,
    "HalfTensor": lambda m: m.HalfTensor([1, 2]),
    "relu_": lambda m: m.relu_(m.tensor([-1.0, 2.0], dtype=m.float32)),
    "clamp_": lambda m: m.clamp_(m.tensor([-1.0, 2.0], dtype=m.float64), min=0),
    "leaky_relu_": lambda m: m.nn.functional.leaky_relu_(m.tensor([-1.0, 2.0], dtype=m.float64), 0.2),
    "index_put_": lambda m: m.index_put_(m.zeros(3, dtype=m.int64), (m.tensor([1]),), m.tensor([2])),
    "embedding": lambda m: m.embedding(m.arange(6.0, dtype=m.float32).reshape(3, 2), m.tensor([2, 0])),
    "frombuffer": lambda m: m.frombuffer(bytearray(b"abcdefgh"), dtype=m.uint8, count=3, offset=1),
    "pinverse": lambda m: m.pinverse(m.arange(6.0, dtype=m.float64).reshape(3, 2)).round(decimals=10),
    "adjoint": lambda m: m.adjoint(m.tensor([[1 + 2j, 3.0]], dtype=m.complex64)),
    "adjoint of a vector": lambda m: m.adjoint(m.tensor([1.0])),
    "chain_matmul": lambda m: m.chain_matmul(*(m.ones(2, 2, dtype=m.float32),) * 3),
    "row_stack": lambda m: m.row_stack((m.tensor([1]), m.tensor([2]))),
    "tensorinv": lambda m: m.linalg.tensorinv(m.eye(24, dtype=m.float64).reshape(4, 6, 8, 3) * 2),
    "tensorinv of nothing": lambda m: m.linalg.tensorinv(m.eye(4, dtype=m.float64), ind=0),
    "tensorinv that is not square": lambda m: m.linalg.tensorinv(m.ones(4, 3, dtype=m.float64), ind=1),
    "tensorsolve": lambda m: m.linalg.tensorsolve(
        m.eye(6, dtype=m.float64).reshape(6, 3, 2).permute(1, 0, 2), m.arange(6.0, dtype=m.float64).reshape(3, 2), (0,)
    ),
    "poisson": lambda m: m.poisson(m.zeros(3, dtype=m.float32)),
    "binomial": lambda m: m.binomial(m.tensor([3.0, 4.0]), m.tensor([1.0, 0.0])).double(),
    "dropout": lambda m: m.dropout(m.ones(3, dtype=m.float32), 0.5, False),
    "a dropout of images of three axes": lambda m: m.nn.functional.dropout2d(m.ones(2, 3, 4, dtype=m.float32), 1.0),
    "a dropout of an axis alone": lambda m: m.nn.functional.dropout1d(m.ones(2)),
    "finfo of bfloat16": lambda m: m.tensor([m.finfo(m.bfloat16).max, m.finfo(m.bfloat16).eps], dtype=m.float64),
}


def outcome(module: Any, call: Callable[[Any], Any]) -> Any:
    """Return the results of a call as lists with their dtypes, or the classes of its error."""
    try:
        y = call(module)
    except Exception as error:  # noqa: BLE001  # compared
        return type(error)
    results = y if isinstance(y, tuple) else (y,)
    return [(str(x.dtype).removeprefix("torch."), repr(x.tolist())) for x in results]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_these_functions_answer_as_pytorchs(name: str) -> None:
    peer = pytest.importorskip("torch")
    mine, other = outcome(spelled, CALLS[name]), outcome(peer, CALLS[name])
    if isinstance(other, type):
        assert isinstance(mine, type)
        assert issubclass(mine, other)
    else:
        assert mine == other


def test_frexp_takes_numbers_apart() -> None:
    mantissa, exponent = torch.frexp(torch.tensor([0.5, -3.0, 5e-324]))
    np.testing.assert_array_equal(mantissa, [0.5, -0.75, 0.5])
    np.testing.assert_array_equal(exponent, [0, 2, -1073])


def test_places_of_a_triangle_and_of_a_shape() -> None:
    assert torch.tril_indices(2, 2).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert [x.tolist() for x in torch.unravel_index(torch.tensor([5, 2]), (2, 3))] == [[1, 0], [2, 2]]
    with pytest.raises(TypeError, match=r"expected 'indices' to be integer dtype, but got torch\.float64"):
        torch.unravel_index(torch.tensor(3.0), 4)


OF_ELEMENTS = (
    *("celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "relu6", "selu", "silu"),
    *("rrelu", "dropout", "dropout1d", "dropout2d", "alpha_dropout"),
)


@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_functions_write_into_their_argument_where_that_is_asked_for(name: str) -> None:
    function = getattr(functional, name)
    x = torch.tensor([[[-1.0, 2.0], [3.0, -4.0]]])
    if name == "dropout2d":
        x = x[None]
    before = x.tolist()
    torch.manual_seed(0)
    expected = function(x)
    assert x.tolist() == before
    torch.manual_seed(0)
    assert function(x, inplace=True) is x
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "LeakyReLU", "ReLU"])
def test_layers_write_into_their_argument_where_that_is_asked_for(name: str) -> None:
    layer = getattr(torch.nn, name)(inplace=True)
    x = torch.ones(2, 3, 4) * -2
    if name == "Dropout2d":
        x = x[None]
    before = x.tolist()
    torch.manual_seed(0)
    assert layer(x) is x
    assert x.tolist() != before


def test_gradients_pass_through_what_is_written() -> None:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 1.5
    functional.leaky_relu(y, 0.1, True)
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad, [-0.045, 9.0])
    with pytest.raises(AutogradError, match="a leaf tensor that requires grad cannot be changed in place"):
        functional.relu(x, inplace=True)


def test_a_dropout_of_channels_says_which_axes_it_takes() -> None:
    with pytest.raises(RuntimeError, match="dropout1d: Expected 2D or 3D input, but received a 1D input"):
        functional.dropout1d(torch.ones(2))
    with pytest.warns(UserWarning, match="interpreted as shape \\(N, C, L\\)"):
        y = functional.dropout2d(torch.ones(2, 3, 4))
    assert {len(set(row)) for sample in y.tolist() for row in sample} == {1}
    with pytest.warns(UserWarning, match="dropout3d: Received a 2-D input"):
        assert functional.dropout3d(torch.ones(2, 3)).shape == (2, 3)


def test_bfloat16_can_be_named_and_compared() -> None:
    assert torch.ones(2).dtype != torch.bfloat16
    assert repr(torch.bfloat16) == "torch.bfloat16"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ones(2).dtype == torch.get_default_dtype()
    with pytest.raises(TypeError, match="bfloat16 is no dtype"):
        torch.ones(2, dtype=torch.bfloat16)


def test_states_of_the_machine_can_be_asked() -> None:
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.is_autocast_enabled()
    assert torch.is_nonzero(torch.tensor(2))
