"""Sparse matrices of PyTorch's spelling: how they are made, what they are asked, products, and layers of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn

INDICES = [[1, 0, 1], [2, 1, 0]]
DENSE = [[0.0, 2.0, 0.0], [3.0, 0.0, 1.0]]
X = torch.arange(6.0).reshape(3, 2)


def matrix(requires_grad: bool = False) -> Any:
    return torch.sparse_coo_tensor(torch.tensor(INDICES), [1.0, 2.0, 3.0], (2, 3), requires_grad=requires_grad)


def test_a_sparse_matrix_says_what_it_is() -> None:
    a = matrix()
    assert (a.size(), a.size(1), a.dim(), a.numel(), a._nnz(), a.sparse_dim(), a.dense_dim()) == (
        (2, 3),
        3,
        2,
        6,
        3,
        2,
        0,
    )
    assert (a.is_sparse, a.layout == torch.sparse_coo, X.is_sparse, torch.is_tensor(a)) == (True, True, False, True)
    assert (a.to_dense().tolist(), a.to_dense(torch.float32).dtype) == (DENSE, torch.float32)
    assert repr(a).startswith("tensor(indices=tensor([[1, 0, 1]")
    assert repr(a).endswith("size=(2, 3), nnz=3, layout=torch.sparse_coo)")


def test_elements_are_as_given_until_they_are_put_in_order() -> None:
    a = matrix()
    assert (a._indices().tolist(), a._values().tolist(), a.is_coalesced()) == (INDICES, [1.0, 2.0, 3.0], False)
    with pytest.raises(RuntimeError, match=r"Cannot get indices on an uncoalesced tensor, please call .coalesce\(\)"):
        a.indices()
    with pytest.raises(RuntimeError, match="Cannot get values on an uncoalesced tensor"):
        a.values()
    b = a.coalesce()
    assert (b.indices().tolist(), b.values().tolist()) == ([[0, 1, 1], [1, 0, 2]], [2.0, 3.0, 1.0])
    assert b.coalesce() is b
    twice = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0])
    assert (twice.shape, twice.coalesce().values().tolist()) == ((1, 2), [3.0])


def test_old_spellings_make_sparse_matrices_of_their_dtype() -> None:
    a = torch.sparse.FloatTensor(torch.tensor(INDICES), torch.tensor([1, 2, 3]), torch.Size([2, 3]))
    assert (a.dtype, a.to_dense().tolist()) == (torch.float32, DENSE)
    assert (a.double().dtype, a.to(torch.float64).dtype, a.cpu().shape) == (torch.float64, torch.float64, (2, 3))
    b = torch.tensor(DENSE).to_sparse()
    assert (b.indices().tolist(), b.to_sparse() is b) == ([[0, 1, 1], [1, 0, 2]], True)


def test_functions_of_sparse_matrices_are_those_of_their_dense_forms() -> None:
    a, dense = matrix(), torch.tensor(DENSE)
    for product in (torch.mm(a, X), torch.spmm(a, X), torch.sparse.mm(a, X), a @ X, a.mm(X), torch.matmul(a, X)):
        assert product.tolist() == (dense @ X).tolist()
    assert torch.sparse.addmm(torch.ones(2, 2), a, X).tolist() == (1 + dense @ X).tolist()
    assert (X.t() @ a.t()).tolist() == (X.t() @ dense.t()).tolist()
    assert (torch.sparse.sum(a).item(), torch.sparse.sum(a, dim=1).to_dense().tolist()) == (6.0, [2.0, 4.0])
    for other in (a * 2, a + a, 2 * a):
        assert type(other) is type(a)
        assert other.to_dense().tolist() == (2 * dense).tolist()
    assert (a.T.to_dense().tolist(), a.transpose(0, 1).shape, a.mv(torch.ones(3)).tolist()) == (
        dense.T.tolist(),
        (3, 2),
        [2.0, 4.0],
    )


def test_softmax_leaves_out_what_is_not_stored() -> None:
    a = matrix()
    share = np.exp(3) / (np.exp(3) + np.exp(1))
    expected = [[0.0, 1.0, 0.0], [share, 0.0, 1 - share]]
    np.testing.assert_allclose(torch.sparse.softmax(a, 1).to_dense().numpy(), expected)
    np.testing.assert_allclose(torch.sparse.softmax(a, dim=-2).to_dense().numpy(), np.asarray(DENSE) > 0)
    assert torch.sparse.log_softmax(a, 0, dtype=torch.float32).dtype == torch.float32


def test_gradients_flow_to_the_elements() -> None:
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a = torch.sparse_coo_tensor(torch.tensor(INDICES), values, (2, 3))
    torch.sparse.mm(a, X).square().sum().backward()
    dense = torch.tensor(DENSE, requires_grad=True)
    (dense @ X).square().sum().backward()
    assert values.grad.tolist() == dense.grad[INDICES[0], INDICES[1]].tolist()
    leaf = matrix(requires_grad=True)
    assert (leaf.requires_grad, leaf.is_leaf, leaf.grad, leaf.detach().requires_grad) == (True, True, None, False)
    (leaf @ X).square().sum().backward()
    assert leaf.grad.to_dense().tolist() == (dense.grad * (dense != 0)).tolist()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0, 3], [1, 1]], [1.0, 2.0], (2, 2)), RuntimeError, "for dim 0, size is 2 but found index 3"),
        (([[0, 1], [-1, 1]], [1.0, 2.0], (2, 2)), RuntimeError, "found negative index -1 for dim 1"),
        (([[0, 1], [1, 1]], [1.0], (2, 2)), RuntimeError, "as many indices as values: found 2 and 1"),
        (([[0, 1]], [1.0, 2.0], (2,)), NotImplementedError, r"have two axes here.*found indices of shape \(1, 2\)"),
    ],
)
def test_what_is_no_sparse_matrix_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.sparse_coo_tensor(*arguments)


def test_only_matrices_become_sparse() -> None:
    with pytest.raises(NotImplementedError, match=r"to_sparse: sparse tensors have two axes here.*shape \(3,\)"):
        torch.ones(3).to_sparse()


class GraphConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3))

    def forward(self, x: Any, adjacency: Any) -> Any:
        return torch.spmm(adjacency, torch.mm(x, self.weight))


class SpecialSpmm(torch.autograd.Function):
    """The product of graph attention networks, whose backward pass reads rows and columns."""

    @staticmethod
    def forward(ctx: Any, indices: Any, values: Any, shape: Any, b: Any) -> Any:
        a = torch.sparse_coo_tensor(indices, values, shape)
        ctx.save_for_backward(a, b)
        ctx.N = shape[0]
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        a, b = ctx.saved_tensors
        edges = a._indices()[0, :] * ctx.N + a._indices()[1, :]
        return None, grad_output.matmul(b.t()).view(-1)[edges], None, a.t().matmul(grad_output)


def test_a_graph_convolution_trains_as_with_the_dense_matrix() -> None:
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    adjacency = torch.sparse_coo_tensor(edges, torch.full((5,), 0.5), (4, 4))
    x = torch.linspace(0, 1, 8).reshape(4, 2)
    losses: list[Any] = []
    for each in (adjacency, adjacency.to_dense()):
        layer = GraphConvolution()
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
        losses.append([])
        for _ in range(5):
            loss = nn.functional.cross_entropy(layer(x, each), torch.tensor([0, 1, 2, 0]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-12)
    assert losses[0][-1] < losses[0][0]


def test_a_function_of_ones_own_keeps_a_sparse_matrix_for_its_backward_pass() -> None:
    edges, b = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    SpecialSpmm.apply(edges, values, torch.Size([3, 3]), b).square().sum().backward()
    plain, other = values.detach().requires_grad_(), b.detach().requires_grad_()
    torch.mm(torch.sparse_coo_tensor(edges, plain, (3, 3)), other).square().sum().backward()
    np.testing.assert_allclose(values.grad.numpy(), plain.grad.numpy())
    np.testing.assert_allclose(b.grad.numpy(), other.grad.numpy())


def test_what_dispatchkit_spells_stays_so() -> None:
    a = dk.types.SparseTensor.coo([1.0], [0], [1], shape=(2, 2))
    product: Any = torch.mul(a, 2)
    assert type(product) is dk.types.SparseTensor
