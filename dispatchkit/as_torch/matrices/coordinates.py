"""PyTorch's sparse matrices, `torch.sparse_coo_tensor` and `torch.sparse`, over `dispatchkit.types.SparseTensor`."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from dispatchkit.as_torch.attributes.shapes import Shape, Size
from dispatchkit.as_torch.spelling import CLASSES, FUNCTIONS, HOME, Tensor, spell
from dispatchkit.as_torch.table import is_array
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.protocol.fallbacks import Fallback, FallbackStrategy
from dispatchkit.protocol.fallbacks.base import replace_types
from dispatchkit.protocol.fallbacks.execution import Execution
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.steps import Step
from dispatchkit.tensor import ArrayMethods
from dispatchkit.tree import container_items, map_leaves
from dispatchkit.types import SparseTensor as Matrix
from dispatchkit.types.sparse_pattern import SparsePattern


class OfMatrix(FallbackStrategy):
    """Compute on the matrix inside, and give sparse results PyTorch's methods."""

    name = "of_matrix"
    outcome = Outcome("of_matrix", "on the matrix inside", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        def execute(execution: Execution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            def inside(name: str, value: Any) -> Any:
                if execution.type_of(value) is cls:
                    return execution.field(operation, value)
                return value

            args, kwargs = operation.parameters.replace(args, kwargs, inside)
            return map_leaves(container_items, spelled, execution.call(operation, args, kwargs))

        return self.executed_step(cls, execute, "of_matrix: matrix", then=replace_types(key, {cls}, Matrix))


def spelled(value: Any) -> Any:
    """Return a sparse matrix with PyTorch's methods, and all else as it is."""
    if type(value) is Matrix:
        return SparseMatrix(value)
    return value


@tensor_protocol.array_type(fallback=Fallback((OfMatrix.name,)), fields=("matrix",))
class SparseMatrix(ArrayMethods):
    """A sparse matrix with PyTorch's methods, as `sparse_coo_tensor` and `x.to_sparse()` return.

    Parameters
    ----------
    matrix : the matrix

    Notes
    -----
    Functions are those of `dispatchkit.types.SparseTensor`: what stays sparse there does so here. Elements that are
    given for one place are added up at once, so that `_values` has a number for each place.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.mm(a, torch.ones(2, 1)).tolist(), a.t().coalesce().values()
    ([[2.0], [3.0]], tensor([3., 2.]))
    """

    __module__ = f"{HOME}.sparse"
    layout = "sparse_coo"
    is_sparse = True
    is_cuda = False
    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> Any:
        """Lengths of the axes."""
        return Shape(self.matrix.shape)

    dtype = property(attrgetter("matrix.dtype"), doc="Type of the elements.")
    device = property(attrgetter("_elements.device"), doc="Where the elements are.")
    requires_grad = property(attrgetter("_elements.requires_grad"), doc="Whether gradients flow to the elements.")
    is_leaf = property(attrgetter("_elements.is_leaf"), doc="Whether the elements were made by no operation.")

    @property
    def _elements(self) -> Any:
        """The stored elements, with PyTorch's methods."""
        return spell(self.matrix.values)

    @property  # type: ignore[misc]  # is not set here
    def grad(self) -> Any:
        """The gradient of the stored elements as a sparse matrix, None before the first backward pass."""
        if self._elements.grad is None:
            return None
        return SparseMatrix(Matrix(self._elements.grad, self.matrix.pattern))

    @property
    def size(self) -> Any:
        """The number of elements, stored or not; called, the lengths of the axes or of one."""
        count = Size(self.shape[0] * self.shape[1])
        count.shape = self.shape
        return count

    def is_coalesced(self) -> bool:
        """Return whether the stored elements are in the order of rows."""
        keys = self.matrix.pattern.keys
        return bool(np.all(keys[:-1] < keys[1:]))

    def coalesce(self) -> SparseMatrix:
        """Return the matrix with its elements in the order of rows."""
        if self.is_coalesced():
            return self
        pattern = self.matrix.pattern
        order = np.argsort(pattern.keys)
        ordered = SparsePattern(pattern.rows[order], pattern.columns[order], pattern.shape)
        return SparseMatrix(Matrix(self.matrix.values[order], ordered))

    def indices(self) -> Any:
        """Return rows and columns of the stored elements, of shape (2, nnz).

        Raises
        ------
        RuntimeError : if they are not in the order of rows
        """
        self._check_order("indices")
        return self._indices()

    def values(self) -> Any:
        """Return the stored elements.

        Raises
        ------
        RuntimeError : if they are not in the order of rows
        """
        self._check_order("values")
        return self._elements

    def _check_order(self, what: str) -> None:
        if not self.is_coalesced():
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _indices(self) -> Any:
        """Return rows and columns as they are stored."""
        pattern = self.matrix.pattern
        return Tensor(xp.asarray(np.stack([pattern.rows, pattern.columns]).astype(np.int64)))

    def _values(self) -> Any:
        """Return the elements as they are stored."""
        return self._elements

    def _nnz(self) -> int:
        """Return the number of stored elements."""
        return int(self.matrix.nnz)

    def sparse_dim(self) -> int:
        """Return the number of axes that have indices."""
        return 2

    def dense_dim(self) -> int:
        """Return the number of axes that have none."""
        return 0

    def to_dense(self, dtype: Any = None) -> Any:
        """Return the matrix as a tensor, in another dtype if one is given."""
        dense = spell(self.matrix.to_dense())
        if dtype is None:
            return dense
        return dense.to(dtype)

    def to_sparse(self) -> SparseMatrix:
        """Return the matrix itself."""
        return self

    def to(self, *args: Any, **options: Any) -> SparseMatrix:
        """Return the matrix with its elements in another dtype or on a device, as `Tensor.to` says."""
        return self._with(self._elements.to(*args, **options))

    def detach(self) -> SparseMatrix:
        """Return the matrix outside the graph."""
        return self._with(self._elements.detach())

    def requires_grad_(self, requires_grad: bool = True) -> SparseMatrix:
        """Say whether gradients are to be collected in the stored elements."""
        self.matrix.values.requires_grad_(requires_grad)
        return self

    def _with(self, elements: Any) -> SparseMatrix:
        """Return the matrix with other elements in the same places."""
        return SparseMatrix(Matrix(elements, self.matrix.pattern))

    @override
    def __repr__(self) -> str:
        """Return places, elements and lengths, as PyTorch shows them."""
        parts = [f"indices={self._indices()!r}", f"values={self._elements!r}"]
        return f"tensor({', '.join(parts)}, size={tuple(self.shape)}, nnz={self._nnz()}, layout=torch.sparse_coo)"


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: Any = None,
    is_coalesced: Any = None,
) -> SparseMatrix:
    """Return a sparse matrix by row and column of each stored element.

    Parameters
    ----------
    indices : rows and columns, of shape (2, nnz)
    values : of shape (nnz,)
    size : lengths of the axes; as many as the indices need if None
    dtype, device : of the elements
    requires_grad : whether gradients are to be collected in them
    check_invariants, is_coalesced : which change nothing here

    Raises
    ------
    NotImplementedError : for other numbers of axes than two
    RuntimeError : if there are not as many indices as values, or an index is out of range
    """
    places = np.asarray(_plain(indices), dtype=np.int64)
    elements = _elements_of(values, dtype, device)
    if places.ndim != 2 or places.shape[0] != 2 or elements.ndim != 1 or len(size or (0, 0)) != 2:
        raise NotImplementedError(
            f"sparse_coo_tensor: sparse tensors have two axes here, with numbers as elements; found indices of shape "
            f"{places.shape}, values of shape {tuple(elements.shape)}; for a vector, use a matrix of one row"
        )
    if places.shape[1] != elements.shape[0]:
        raise RuntimeError(
            "number of dimensions must be sparse_dim (2) + dense_dim (0), with as many indices as values: "
            f"found {places.shape[1]} and {elements.shape[0]}"
        )
    if size is None:
        size = (places.max(axis=1, initial=-1) + 1).tolist()
    shape = (int(size[0]), int(size[1]))
    _check_places(places, shape)
    keys = places[0] * shape[1] + places[1]
    twice = len(np.unique(keys)) < len(keys)
    matrix = SparseMatrix(Matrix.coo(elements, places[0], places[1], shape=shape, sum_duplicates=twice))
    if requires_grad:
        matrix = matrix.detach().requires_grad_()
    return matrix


def _check_places(places: Any, shape: tuple[int, int]) -> None:
    """Raise for rows or columns that a matrix has not."""
    for axis, length in enumerate(shape):
        least, most = places[axis].min(initial=0), places[axis].max(initial=-1)
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {axis}")
        if most >= length:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {axis}, size is {length} but found index {most}"
            )


def _plain(value: Any) -> Any:
    """Return indices as NumPy's array, or a list of them."""
    if is_array(value):
        return value.detach().numpy()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _elements_of(values: Any, dtype: Any, device: Any) -> Any:
    """Return elements as a tensor of a dtype on a device, in the graph of one that is given."""
    if not is_array(values):
        return FUNCTIONS["tensor"](values, dtype=dtype, device=device)
    return spell(values).to(dtype=dtype or values.dtype, device=device or values.device)


def of_dtype(dtype: Any) -> Any:
    """Return what makes sparse matrices of a dtype, as old programs spell it: ``torch.sparse.FloatTensor``."""

    def make(indices: Any, values: Any, size: Any = None) -> SparseMatrix:
        return sparse_coo_tensor(indices, values, size, dtype=dtype)

    make.__doc__ = f"Return a sparse matrix of {dtype}, by rows and columns, elements, and lengths of the axes."
    return make


def to_sparse(input: Any, *options: Any, layout: Any = None, **others: Any) -> SparseMatrix:
    """Return the elements of a matrix that are not zero as a sparse matrix.

    Parameters
    ----------
    input : of shape (M, N)
    *options, layout, **others : which say nothing here but ``sparse_coo`` and two axes

    Raises
    ------
    NotImplementedError : for another number of axes, or another layout
    """
    axes = [each for each in options if each != input.ndim]
    if input.ndim != 2 or axes or others or layout not in (None, "sparse_coo"):
        raise NotImplementedError(
            f"to_sparse: sparse tensors have two axes here, and the layout sparse_coo; found shape {tuple(input.shape)}"
        )
    return SparseMatrix(Matrix.from_dense(input))


def total(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """Return the sum of the elements of a sparse matrix, along axes if they are given; along one it is a tensor."""
    if dim is None:
        return FUNCTIONS["sum"](input, dtype=dtype)
    return FUNCTIONS["sum"](input, dim=dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseMatrix:
    """Return the softmax of the stored elements of each row or column, where what is not stored is minus infinity.

    Parameters
    ----------
    input : sparse matrix
    dim : 1 for each row, 0 for each column
    dtype : of the result
    """
    logarithms = log_softmax(input, dim, dtype=dtype)
    return logarithms._with(xp.exp(logarithms._elements))


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseMatrix:
    """Return the logarithms of what `softmax` gives.

    Parameters
    ----------
    input, dim, dtype : as of `softmax`
    """
    pattern, x = input.matrix.pattern, input._elements
    if dtype is not None:
        x = x.to(dtype)
    lines, count = ((pattern.columns, input.shape[1]), (pattern.rows, input.shape[0]))[dim % 2]
    most = np.full(count, -np.inf)
    np.maximum.at(most, lines, x.detach().numpy())
    moved = x - xp.asarray(most[lines], dtype=x.dtype)
    sums = xp.index_put(xp.zeros((count,), dtype=x.dtype), (lines,), xp.exp(moved), accumulate=True)
    y: SparseMatrix = input._with(spell(moved - xp.log(sums)[lines]))
    return y


def give_sparse_methods() -> None:
    """Give sparse matrices the methods of `Tensor` that call functions or convert, and tensors `to_sparse`."""
    conversions = [name.removesuffix("Tensor").lower() for name in CLASSES]
    for name in (*FUNCTIONS, *conversions):
        if "." not in name and name in vars(Tensor) and name not in vars(SparseMatrix):
            setattr(SparseMatrix, name, vars(Tensor)[name])
    for name in ("cpu", "dim", "type_as"):
        setattr(SparseMatrix, name, getattr(Tensor, name))
    setattr(SparseMatrix, "T", property(SparseMatrix.t))  # noqa: B010  # a method of PyTorch's
    Tensor.to_sparse = to_sparse  # type: ignore[attr-defined]  # as PyTorch's tensors


# What `torch.sparse` has.
OF_SPARSE = {
    "mm": FUNCTIONS["mm"],
    "addmm": FUNCTIONS["addmm"],
    "sum": total,
    "softmax": softmax,
    "log_softmax": log_softmax,
    **{name: of_dtype(dtype) for name, dtype in CLASSES.items()},
}
