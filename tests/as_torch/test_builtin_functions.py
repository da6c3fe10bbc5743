"""Functions at PyTorch's top that are of another form among those of networks, and tools to test with."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

spelled: Any = dispatchkit.as_torch
X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
Y = [[1.0, 0.5, -1.0], [0.25, 2.0, 1.25]]
SIGNS = [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]]


def tensor(lib: Any, values: Any) -> Any:
    return lib.tensor(values, dtype=lib.float64)


def signal(lib: Any, *shape: int) -> Any:
    return lib.sin(lib.arange(float(np.prod(shape)), dtype=lib.float64) * 1.3).reshape(shape)


Program = Callable[[Any], Any]
LOSSES: dict[str, Program] = {
    "binary_cross_entropy_with_logits": lambda lib: [
        lib.binary_cross_entropy_with_logits(tensor(lib, X), tensor(lib, Y), tensor(lib, Y), None, *number)
        for number in ((), (1,), (2,))
    ],
    "cosine_embedding_loss": lambda lib: [
        lib.cosine_embedding_loss(tensor(lib, X), tensor(lib, Y), tensor(lib, [1.0, -1.0]), 0.1, *number)
        for number in ((), (1,), (2,))
    ],
    "ctc_loss": lambda lib: [
        lib.ctc_loss(lib.log_softmax(signal(lib, 5, 2, 4), -1), lib.tensor([[1, 2], [3, 1]]), [5, 5], [2, 2], *more)
        for more in ((), (0, 1), (0, 2))
    ],
    "hinge_embedding_loss": lambda lib: [
        lib.hinge_embedding_loss(tensor(lib, X), tensor(lib, SIGNS), margin=0.5),
        lib.hinge_embedding_loss(tensor(lib, X), tensor(lib, SIGNS), 0.5, 0),
    ],
    "kl_div": lambda lib: [
        lib.kl_div(tensor(lib, X), tensor(lib, Y).abs()),
        lib.kl_div(tensor(lib, X), tensor(lib, Y), 2, log_target=True),
    ],
    "margin_ranking_loss": lambda lib: [
        lib.margin_ranking_loss(tensor(lib, X), tensor(lib, Y), tensor(lib, SIGNS), 0.5, *number)
        for number in ((), (1,), (2,))
    ],
    "poisson_nll_loss": lambda lib: [
        lib.poisson_nll_loss(tensor(lib, X), tensor(lib, Y).abs(), True, True, 1e-8, 1),
        lib.poisson_nll_loss(tensor(lib, X).abs(), tensor(lib, Y).abs(), False, False, 1e-3, 0),
    ],
    "triplet_margin_loss": lambda lib: [
        lib.triplet_margin_loss(tensor(lib, X), tensor(lib, Y), tensor(lib, SIGNS)),
        lib.triplet_margin_loss(tensor(lib, X), tensor(lib, Y), tensor(lib, SIGNS), 2.0, 1.0, 1e-3, True, 0),
    ],
}


def cell(gates: int) -> Callable[[Any], tuple[Any, ...]]:
    def arguments(lib: Any) -> tuple[Any, ...]:
        shapes = ((gates * 3, 2), (gates * 3, 3), (gates * 3,), (gates * 3,))
        return (signal(lib, 2, 2), signal(lib, 2, 3), *(signal(lib, *shape) for shape in shapes))

    return arguments


def lstm(lib: Any) -> Any:
    x, h, *weights = cell(4)(lib)
    return lib.lstm_cell(x, (h, h + 1), *weights)


def table(lib: Any) -> Any:
    x = signal(lib, 4, 3) * 3
    return [lib.embedding_renorm_(x, lib.tensor([0, 2, 0]), 1.0, 2.0), x]


def loop(lib: Any) -> Any:
    return lib.cond(lib.tensor(True), lambda x: x + 1, lambda x: x - 1, (tensor(lib, X),))


def pooled_with_indices(name: str, axes: int, lib: Any) -> Any:
    return getattr(lib.nn.functional, name)(signal(lib, 1, 2, *(5,) * axes), 2)


OTHERS: dict[str, Program] = {
    "adaptive_max_pool1d": lambda lib: lib.adaptive_max_pool1d(signal(lib, 1, 2, 7), 3),
    "affine_grid_generator": lambda lib: lib.affine_grid_generator(tensor(lib, [X]), [1, 1, 2, 3], False),
    "cond": loop,
    "conv_tbc": lambda lib: lib.conv_tbc(signal(lib, 5, 2, 3), signal(lib, 2, 3, 4), signal(lib, 4), 1),
    "detach_copy": lambda lib: lib.detach_copy(tensor(lib, X)),
    "embedding_renorm_": table,
    "frobenius_norm": lambda lib: [lib.frobenius_norm(tensor(lib, X), (0, 1)), lib.frobenius_norm(tensor(lib, X), 1)],
    "grid_sampler": lambda lib: lib.grid_sampler(signal(lib, 1, 1, 3, 3), signal(lib, 1, 2, 2, 2), 0, 1, False),
    "gru_cell": lambda lib: lib.gru_cell(*cell(3)(lib)),
    "instance_norm": lambda lib: lib.instance_norm(
        signal(lib, 2, 2, 4), None, None, None, None, True, 0.1, 1e-5, False
    ),
    "lstm_cell": lstm,
    "max_pool1d_with_indices": lambda lib: lib.max_pool1d_with_indices(signal(lib, 1, 2, 7), 3, 2, 1),
    "native_channel_shuffle": lambda lib: lib.native_channel_shuffle(signal(lib, 1, 4, 2), 2),
    "native_dropout": lambda lib: [
        *lib.native_dropout(tensor(lib, X), 1.0, True),
        *lib.native_dropout(tensor(lib, X), 0.5, False),
    ],
    "norm_except_dim": lambda lib: [lib.norm_except_dim(tensor(lib, X)), lib.norm_except_dim(tensor(lib, X), 2, 1)],
    "nuclear_norm": lambda lib: [lib.nuclear_norm(tensor(lib, X)), lib.nuclear_norm(tensor(lib, [X]), (1, 2), True)],
    "rnn_relu_cell": lambda lib: lib.rnn_relu_cell(*cell(1)(lib)),
    "rnn_tanh_cell": lambda lib: lib.rnn_tanh_cell(*cell(1)(lib)),
    "select_copy": lambda lib: lib.select_copy(tensor(lib, X), 1, 2),
    "slice_copy": lambda lib: lib.slice_copy(tensor(lib, X), 1, 0, 3, 2),
    "split_copy": lambda lib: lib.split_copy(tensor(lib, X), 2, 1),
    "view_as_complex_copy": lambda lib: lib.view_as_real_copy(lib.view_as_complex_copy(signal(lib, 3, 2))),
    **{
        f"{kind}max_pool{axes}d": partial(pooled_with_indices, f"{kind}max_pool{axes}d_with_indices", axes)
        for kind in ("", "adaptive_")
        for axes in (1, 2, 3)
    },
}
PROGRAMS = LOSSES | OTHERS


def arrays(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in arrays(part)]
    return [np.asarray(value.detach())]


@pytest.mark.filterwarnings("ignore::UserWarning")  # of PyTorch's, of what will go
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch says what is right")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_pytorchs(name: str) -> None:
    import torch

    for one, other in zip(arrays(PROGRAMS[name](spelled)), arrays(PROGRAMS[name](torch)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_networks(name: str) -> None:
    results = PROGRAMS[name](spelled)
    assert all(np.isfinite(array).all() for array in arrays(results))
    if len(results) == 3:
        each, mean, total = results
        np.testing.assert_allclose(each.sum().item(), total.item())
        if name != "ctc_loss":  # whose mean is of losses over lengths
            np.testing.assert_allclose(each.mean().item(), mean.item())


def test_a_number_that_stands_for_no_reduction_is_refused() -> None:
    x = spelled.ones(2)
    with pytest.raises(ValueError, match="kl_div: reduction must be 0 for 'none', 1 for 'mean', 2 for 'sum', found 3"):
        spelled.kl_div(x, x, 3)


@pytest.mark.parametrize(
    ("name", "layer"),
    [("gru_cell", "GRUCell"), ("lstm_cell", "LSTMCell"), ("rnn_tanh_cell", "RNNCell"), ("rnn_relu_cell", "RNNCell")],
)
def test_cells_are_those_of_layers(name: str, layer: str) -> None:
    options = {"nonlinearity": "relu"} if name == "rnn_relu_cell" else {}
    module: Any = getattr(spelled.nn, layer)(2, 3, **options)
    x, h = spelled.ones(1, 2), spelled.zeros(1, 3)
    kept = (h, h) if name == "lstm_cell" else h
    found, wanted = (arrays(y) for y in (getattr(spelled, name)(x, kept, *module.parameters()), module(x, kept)))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_elements_are_left_out_at_random() -> None:
    y, kept = spelled.native_dropout(spelled.ones(1000), 0.25, True)
    assert kept.dtype == spelled.bool
    assert 0.6 < kept.float().mean() < 0.9
    np.testing.assert_allclose(np.asarray(y), np.where(np.asarray(kept), np.float32(1 / 0.75), 0.0), rtol=1e-6)


def test_a_loop_runs_until_its_condition_fails() -> None:
    n, total = spelled.while_loop(
        lambda n, total: n < 4, lambda n, total: (n + 1, total + n), (spelled.tensor(0), spelled.tensor(0))
    )
    assert (n.item(), total.item()) == (4, 6)
    assert spelled.cond(False, lambda: 1, lambda: 2) == 2


def test_classes_have_full_names() -> None:
    assert spelled.typename(spelled.tensor([1])) == "torch.LongTensor"
    assert spelled.typename(3) == "int"
    assert spelled.typename(spelled.nn.Linear(1, 1)) == "dispatchkit.as_torch.nn.Linear"


SYMMETRIC = [[4.0, 1.0, 0.0, 0.0], [1.0, 3.0, 1.0, 0.0], [0.0, 1.0, 2.0, 1.0], [0.0, 0.0, 1.0, 1.0]]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_some_eigenvalues_solve_the_equation(largest: bool, scaled: bool) -> None:
    a = tensor(spelled, SYMMETRIC)
    b = tensor(spelled, np.diag([1.0, 2.0, 3.0, 4.0])) if scaled else None
    values, vectors = spelled.lobpcg(a, 1, b, largest=largest)
    right = vectors if b is None else b @ vectors
    np.testing.assert_allclose(np.asarray(a @ vectors), np.asarray(right * values), atol=1e-10)
    matrix = np.asarray(SYMMETRIC) if b is None else np.asarray(SYMMETRIC) / np.arange(1.0, 5.0)[:, None]
    wanted = np.sort(np.linalg.eigvals(matrix).real)[-1 if largest else 0]
    np.testing.assert_allclose(values.item(), wanted)


def test_eigenvalues_are_of_sparse_matrices_too_and_are_differentiated() -> None:
    a = tensor(spelled, SYMMETRIC)
    values, _ = spelled.lobpcg(a.to_sparse(), X=spelled.ones(4, 1, dtype=spelled.float64))
    np.testing.assert_allclose(np.asarray(values), np.asarray(spelled.lobpcg(a)[0]))
    a.requires_grad_()
    values, vectors = spelled.lobpcg(a, 1)
    values.sum().backward()
    np.testing.assert_allclose(np.asarray(a.grad), np.asarray((vectors @ vectors.mT).detach()), atol=1e-12)


def test_what_has_no_eigenvalues_by_steps_is_refused() -> None:
    a = tensor(spelled, SYMMETRIC)
    with pytest.raises(ValueError, match=r"LPBPCG algorithm is not applicable when the number of A rows \(=4\)"):
        spelled.lobpcg(a, 2)
    with pytest.raises(NotImplementedError, match="lobpcg: tracker must be None"):
        spelled.lobpcg(a, 1, tracker=print)


make_tensor = spelled.testing.make_tensor


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int64", "float16", "float32", "float64", "complex64"])
def test_tensors_to_test_with_are_of_their_dtype_and_bounds(name: str) -> None:
    dtype = getattr(spelled, name)
    x = make_tensor(3, 4, dtype=dtype, device="cpu", low=0, high=2)
    assert (x.dtype, x.shape) == (dtype, (3, 4))
    numbers = np.asarray(x)
    parts = numbers.view(np.float32) if name == "complex64" else numbers
    assert ((parts >= 0) & (parts <= (1 if name in {"bool", "uint8", "int8", "int64"} else 2))).all()
    assert make_tensor((2, 2), dtype=dtype).shape == (2, 2)


def test_tensors_to_test_with_take_options() -> None:
    x = make_tensor([4, 6], dtype=spelled.float64, noncontiguous=True, requires_grad=True)
    assert (x.is_contiguous(), x.requires_grad, x.shape) == (False, True, (4, 6))
    assert (make_tensor(50, dtype=spelled.int8, low=0, high=2, exclude_zero=True) == 1).all()
    assert make_tensor((), dtype=spelled.float32).shape == ()
    assert np.isfinite(np.asarray(make_tensor(9, dtype=spelled.float64, low=-float("inf"), high=float("inf")))).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dtype": "float32", "low": 2, "high": 1}, "`low` must be less than `high`, but got 2 >= 1"),
        ({"dtype": "float32", "low": float("nan")}, "`low` and `high` cannot be NaN, but got low=nan and high=9"),
        ({"dtype": "uint8", "low": 300, "high": 400}, r"only supports \[0, 256\)"),
        ({"dtype": "int64", "requires_grad": True}, "`requires_grad=True` is not supported for boolean and integral"),
        (
            {"dtype": "float32", "noncontiguous": True, "memory_format": spelled.contiguous_format},
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive",
        ),
    ],
)
def test_tensors_that_cannot_be_made_are_refused(options: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make_tensor(2, **{**options, "dtype": getattr(spelled, options["dtype"])})
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        make_tensor(2, dtype=spelled.float32, low=1, high=1)


def test_closeness_has_its_old_name() -> None:
    x = spelled.ones(2)
    with pytest.warns(FutureWarning, match=r"assert_allclose\(\)` is deprecated"):
        spelled.testing.assert_allclose(x, x.double())
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        spelled.testing.assert_allclose(x, x + 1)
