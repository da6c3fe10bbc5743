"""linear_operator's base case of tests over dispatchkit's structured matrices, in PyTorch's spelling.

The library brings its base case with it. It makes a matrix and its dense form, and asks the same of both.
"""

from __future__ import annotations

import unittest
from typing import Any

from linear_operator.test import base_test_case as checks
from linear_operator.test import linear_operator_test_case as base
from torch import Size

import dispatchkit as dk
import dispatchkit.as_torch as spelled
from dispatchkit import tree
from dispatchkit.types import (
    BlockDiagonalTensor,
    DiagonalTensor,
    KroneckerTensor,
    LowRankTensor,
    LowRankUpdateTensor,
    StructuredTensor,
    ToeplitzTensor,
    structured,
)

torch: Any = spelled
torch.set_default_dtype(torch.float64)


def dense(x: Any) -> Any:
    return x if isinstance(x, dk.Tensor) else x.to_dense()


def fields(x: Any) -> list[Any]:
    """Return the tensors that a matrix is made of."""
    return [leaf for leaf in tree.leaves(tree.container_items, vars(x)) if isinstance(leaf, dk.Tensor)]


def rebuilt(x: Any, change: Any) -> Any:
    """Return a matrix of other tensors."""

    def changed(value: Any) -> Any:
        if isinstance(value, StructuredTensor):
            return rebuilt(value, change)
        return change(value) if isinstance(value, dk.Tensor) else value

    parts = ((name, tree.map_leaves(tree.container_items, changed, value)) for name, value in vars(x).items())
    return tree.with_attributes(x, list(parts))


def product_of_root(root: Any) -> Any:
    """Return the matrix of a root, which linear_operator's decompositions are."""
    return root @ root.mT


def sqrt_inv_matmul(x: Any, right: Any, left: Any = None) -> Any:
    """Return the product with the inverse of the root, multiplied from the left beside the quadratic form."""
    result = structured.sqrt_inv_matmul(x, right)
    return result if left is None else (left @ result, structured.inv_quad(x, left.mT, reduce=False))


# linear_operator's functions of a matrix; those that are methods, too.
FUNCTIONS: dict[str, Any] = {
    "add_diagonal": structured.add_diagonal,
    "add_jitter": lambda x, value=1e-3: structured.add_diagonal(x, value),
    "root_decomposition": lambda x: product_of_root(structured.root_decomposition(x)),
    "root_inv_decomposition": lambda x: product_of_root(structured.root_inv_decomposition(x)),
    "solve": lambda x, right, left: left @ torch.linalg.solve(x, right),
    "sqrt_inv_matmul": sqrt_inv_matmul,
    "to_dense": dense,
}
# What linear_operator's matrices and PyTorch's tensors have; the types of dispatchkit have other names for it, or none.
MEMBERS: dict[str, Any] = {
    "ndimension": lambda x: x.ndim,
    "dim": lambda x: x.ndim,
    "size": lambda x, axis=None: tuple(x.shape) if axis is None else x.shape[axis],
    "add_diagonal": FUNCTIONS["add_diagonal"],
    "add_jitter": FUNCTIONS["add_jitter"],
    "add_low_rank": lambda x, rows: x + LowRankTensor(rows, rows.mT),
    "diagonalization": torch.linalg.eigh,
    "inv_quad_logdet": lambda x, inv_quad_rhs, logdet, reduce_inv_quad: structured.inv_quad_logdet(
        x, inv_quad_rhs, reduce=reduce_inv_quad
    ),
    "representation": fields,
    "detach": lambda x: rebuilt(x, lambda t: t.detach().clone()),
    "requires_grad_": lambda x, value=True: rebuilt(x, lambda t: t.requires_grad_(value)),
    "double": lambda x: rebuilt(x, lambda t: t.to(torch.double)),
    "float": lambda x: rebuilt(x, lambda t: t.to(torch.float)),
    "numpy": lambda x: x.to_dense().numpy(),
    "_t_matmul": lambda x, rhs: x.mT @ rhs,
    "batch_shape": property(lambda x: Size(x.shape[:-2])),
    "matrix_shape": property(lambda x: tuple(x.shape[-2:])),
}
for _name, _member in MEMBERS.items():
    setattr(StructuredTensor, _name, _member)
torch.Tensor.to_dense = lambda x: x
base.torch, base.to_dense, base.DiagLinearOperator = torch, dense, DiagonalTensor
for _name, _function in FUNCTIONS.items():
    setattr(base.linear_operator, _name, _function)
checks.torch = torch


class Case(base.LinearOperatorTestCase):  # type: ignore[misc]  # a class of a peer
    # linear_operator's algorithms, which a type of matrix says it needs.
    should_call_cg = should_call_lanczos = should_call_lanczos_diagonalization = False

    def setUp(self) -> None:
        torch.manual_seed(0)

    def evaluate_linear_op(self, linear_op: Any) -> Any:
        return linear_op.to_dense()

    def _ensure_symmetric_grad(self, grad: Any) -> Any:
        """Return a gradient as it is: linear_operator's is that of a matrix which stays symmetric."""
        return grad


class TestDiagonal(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        return DiagonalTensor(torch.tensor([1.0, 2.0, 4.0, 5.0, 3.0]))


class TestToeplitz(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        return ToeplitzTensor(torch.tensor([4.0, 0.5, 0.0, 1.0]))


class TestKronecker(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        return KroneckerTensor(torch.tensor([[4.0, 1.0], [1.0, 3.0]]), torch.tensor([[2.0, 0.5], [0.5, 5.0]]))


class TestLowRankUpdate(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        left = torch.tensor([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0], [-1.0, 0.3]])
        diagonal = DiagonalTensor(torch.tensor([1.0, 2.0, 4.0, 3.0]))
        return LowRankUpdateTensor(diagonal, dk.types.LowRankTensor(left, left.mT))


class TestBlockDiagonal(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        return BlockDiagonalTensor([torch.tensor([[4.0, 1.0], [1.0, 3.0]]), torch.tensor([[2.0, 0.5], [0.5, 5.0]])])


class TestSum(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        return dk.types.SumTensor(
            DiagonalTensor(torch.tensor([1.0, 2.0, 4.0])), ToeplitzTensor(torch.tensor([4.0, 0.5, 0.25]))
        )


class TestBatch(Case, unittest.TestCase):
    def create_linear_op(self) -> Any:
        return DiagonalTensor(torch.rand(2, 3, 4) + 1)


del Case
