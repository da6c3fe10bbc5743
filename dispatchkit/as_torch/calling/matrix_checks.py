"""What functions of matrices and norms refuse about the values of arguments, in PyTorch's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import Given, dtype_name, look_each_time_of, look_of
from dispatchkit.as_torch.calling.promotion import promote_types
from dispatchkit.as_torch.calling.signatures import NAMES
from dispatchkit.as_torch.shared import kind_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp


@look_of("tensordot")
def axes_of_products(given: Given) -> None:
    for place, name in enumerate(("a", "b")):
        found = type(given[name]).__name__
        if not is_array(given[name]):
            raise TypeError(f"tensordot(): argument {name!r} (position {place + 1}) must be Tensor, not {found}")
    dims: Any = given.get("dims", 2)
    if isinstance(dims, (tuple, list)) and any(isinstance(each, int) for each in dims):
        raise TypeError(f"tensordot(): argument 'dims' (position 3) must be two tuples of ints, found {dims}")


@look_of("norm", "linalg.vector_norm", "linalg.norm", "linalg.matrix_norm")
def dtype_of_norm(given: Given) -> None:
    x: Any = next((given[name] for name in ("input", "x", "A") if name in given), None)
    if not is_array(x):
        raise TypeError(f"norm(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    order: Any = given.get("ord", given.get("p"))
    if isinstance(order, (tuple, list)) or (is_array(order) and order.ndim):
        raise TypeError(f"norm(): argument 'ord' (position 2) must be Number, not {type(order).__name__}")
    if kind_of(x) in "bui":
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {_name(x)}")
    if kind_of(given.get("ord", given.get("p", 2))) == "c":
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if given.get("dtype") is None:
        return
    own, asked = numpy_dtype(x.dtype), numpy_dtype(given["dtype"])
    found = NAMES.get(str(asked), str(asked))
    if asked.kind not in "fc":
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {found}")
    if asked.kind != own.kind:
        wanted = {"f": "real for real", "c": "complex for complex"}[own.kind]
        raise RuntimeError(f"linalg.vector_norm: dtype should be {wanted} inputs, but got {found}")
    if promote_types(own, asked) != asked:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({_name(x)}) should be convertible without narrowing to the "
            f"specified dtype ({found})"
        )


def _name(x: Any) -> str:
    return dtype_name(x)


@look_each_time_of("linalg.vector_norm", "norm")
def elements_of_extreme(given: Given) -> None:
    order = given.get("ord", given.get("p"))
    if not is_extreme(order):
        return
    x: Any = given.get("x", given.get("input"))
    lengths, axes = x.shape, given.get("dim")
    if x.ndim and axes not in (None, ()):
        lengths = tuple(x.shape[axis] for axis in np.atleast_1d(axes))
    check_extreme(order, lengths)


@look_each_time_of("linalg.norm")
def elements_of_extreme_in_vectors(given: Given) -> None:
    axes = given.get("dim")
    if np.size(axes if axes is not None else given["x"].shape) != 2:
        elements_of_extreme(given)


@look_each_time_of("nn.functional.pairwise_distance", "nn.functional.triplet_margin_loss", "dist")
def elements_of_extreme_distance(given: Given) -> None:
    if not is_extreme(given.get("p")):
        return
    shapes = [x.shape for x in given.values() if is_array(x)]
    lengths = np.broadcast_shapes(*shapes) or (1,)
    if "other" not in given:
        lengths = lengths[-1:]
    check_extreme(given.get("p"), lengths)


@look_each_time_of("renorm")
def elements_of_extreme_part(given: Given) -> None:
    x, axis = given["input"], given["dim"]
    if x.ndim > 1:
        check_extreme(given["p"], tuple(length for place, length in enumerate(x.shape) if place != axis % x.ndim))


def is_extreme(order: Any) -> bool:
    """Return whether a norm is the largest element, the smallest one or a root of inverses."""
    return isinstance(order, (int, float)) and (order < 0 or order == math.inf)


def check_extreme(order: Any, lengths: tuple[int, ...]) -> None:
    """Raise for a norm of no elements that is the largest one, the smallest one or a root of inverses.

    Raises
    ------
    RuntimeError : in PyTorch's words
    """
    if is_extreme(order) and 0 in lengths:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {order} norm on an empty tensor because the operation does not "
            f"have an identity"
        )


@look_each_time_of("addr")
def shape_of_summand(given: Given) -> None:
    expect_shape(given, (given["vec1"].numel(), given["vec2"].numel()))


def _look_at_summand(name: str, first: str, second: str) -> None:
    @look_each_time_of(name)
    def shape_beside_product(given: Given) -> None:
        lengths, others = tuple(given[first].shape), tuple(given[second].shape)
        shape = (*lengths[:-1], *others[-1:])
        if name == "addmv":
            shape = lengths[:-1]
        if name == "addbmm":
            shape = shape[1:]
        if name == "addmv" and not given["input"].ndim and lengths[-1] != others[0]:
            raise np.exceptions.AxisError("Dimension specified as 0 but tensor has no dimensions")
        if lengths[-1] == others[-min(len(others), 2)]:
            expect_shape(given, shape)


for _product, _factors in {
    "addmm": ("mat1", "mat2"),
    "addmv": ("mat", "vec"),
    "addbmm": ("batch1", "batch2"),
    "baddbmm": ("batch1", "batch2"),
}.items():
    _look_at_summand(_product, *_factors)


def expect_shape(given: Given, shape: tuple[int, ...]) -> None:
    """Raise if a summand does not broadcast to the shape of a product.

    Raises
    ------
    RuntimeError : naming both shapes
    """
    own = tuple(given["input"].shape)
    if own != shape and tuple(np.broadcast_shapes(own, shape)) != shape:
        raise RuntimeError(f"The expanded size {[*shape]} does not match the shape {[*given['input'].shape]} of input")


@look_of("linalg.vecdot")
def axis_of_vectors(given: Given) -> None:
    if given["x"].ndim == given["y"].ndim == 1:
        given.pop("dim", None)  # there is one
    if min(given["x"].ndim, given["y"].ndim) == 0 and max(given["x"].ndim, given["y"].ndim) > 1:
        given |= {name: xp.reshape(given[name], given[name].shape or (1,)) for name in ("x", "y")}


@look_of("addmm", "addmv", "addr", "baddbmm")
def axes_of_summands(given: Given) -> None:
    most = {"mat": 1, "mat1": 2, "vec1": 2, "batch1": 3}
    count = next(most[name] for name in most if name in given)
    if is_array(given["input"]) and given["input"].ndim > count:
        raise RuntimeError(
            f"expected input to have at most {count} dimensions, but got shape {[*given['input'].shape]}"
        )


@look_of("linalg.matrix_power", "matrix_power")
def power_of_integers(given: Given) -> None:
    x = next(iter(given.values()))
    if kind_of(x) in "ui" and given["n"] < 0:
        raise NotImplementedError(f'"matrix_power" of negative powers not implemented for {dtype_name(x)!r}')


@look_of("dist")
def order_of_distance(given: Given) -> None:
    if kind_of(given.get("p", 2)) == "c":
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")


@look_each_time_of("linalg.householder_product", "orgqr")
def reflections(given: Given) -> None:
    x: Any = next(iter(given.values()))
    tau: Any = given.get("tau", given.get("input2"))
    if not is_array(tau):
        return
    if x.ndim < 2:
        raise np.exceptions.AxisError(
            f"torch.linalg.householder_product: input must have at least 2 dimensions, found shape {[*x.shape]}"
        )
    if not tau.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if tau.ndim != x.ndim - 1 or tuple(tau.shape[:-1]) != tuple(x.shape[:-2]):
        raise RuntimeError(
            f"torch.linalg.householder_product: Expected tau to have one dimension less than input, but got shape "
            f"{[*tau.shape]} for {[*x.shape]}"
        )
    if tau.dtype != x.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {_name(tau)} does not match input dtype {_name(x)}"
        )


@look_of("linalg.multi_dot")
def axes_of_factors(given: Given) -> None:
    factors: Any = given.get("tensors")
    if not isinstance(factors, tuple):
        return
    for place, x in enumerate(factors):
        ends = place in (0, len(factors) - 1)
        if is_array(x) and x.ndim != 2 and not (ends and x.ndim == 1):
            raise RuntimeError(f"multi_dot(): tensor {place} must be {'1D or ' * ends}2D but got {x.ndim}D")
        if kind_of(x) == "b":
            raise NotImplementedError("\"multi_dot\" not implemented for 'Bool'")


@look_of("linalg.cross", "cross")
def axes_of_cross(given: Given) -> None:
    x, other = given["input"], given["other"]
    if is_array(other) and x.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, found {x.ndim} and {other.ndim}"
        )


@look_each_time_of("lu_solve", "linalg.lu_solve", "lu_unpack")
def dtype_of_pivots(given: Given) -> None:
    pivots: Any = given.get("pivots", given.get("LU_pivots"))
    if given.get("unpack_pivots", True) and is_array(pivots) and numpy_name(pivots.dtype) != "int32":
        raise RuntimeError(f"pivots should be a Tensor of scalar type torch.int32, found {_name(pivots)}")


@look_each_time_of("lu_solve", "linalg.lu_solve")
def count_of_pivots(given: Given) -> None:
    LU: Any = given.get("LU", given.get("LU_data"))
    pivots: Any = given.get("pivots", given.get("LU_pivots"))
    if not pivots.ndim:
        raise np.exceptions.AxisError("Dimension specified as -1 but tensor has no dimensions")
    if LU.ndim > 1 and tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got {[*LU.shape]} and "
            f"{[*pivots.shape]}"
        )


@look_of("linalg.cond")
def order_of_condition(given: Given) -> None:
    order = given.get("p")
    if isinstance(order, (int, float)) and order not in (1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {order}")


@look_each_time_of("lu_unpack")
def range_of_pivots(given: Given) -> None:
    pivots, LU = given["LU_pivots"], given["LU_data"]
    if not given.get("unpack_pivots", True) or pivots.is_tracer:
        return
    places = np.asarray(pivots.array)
    if places.size and math.prod(LU.shape[:-1]) and not 1 <= places.min() <= places.max() <= LU.shape[-2]:
        raise RuntimeError(
            f"pivots passed to lu_unpack must be between 1 and LU.size(-2)={LU.shape[-2]} inclusive: are they those "
            f"of lu_factor?"
        )


@look_each_time_of("cov")
def weights_of_observations(given: Given) -> None:
    shape = given["input"].shape
    observations = shape[-1] if shape else 1
    weights = {name: given[name] for name in ("fweights", "aweights") if is_array(given.get(name))}
    for name, x in weights.items():
        if x.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {x.ndim} dimensions"
            )
        if math.prod(x.shape) != observations:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{math.prod(x.shape)} != {observations}"
            )
    if not weights or any(x.is_tracer for x in weights.values()):
        return
    counts: Any = math.prod([np.asarray(x.detach().array).reshape(-1) for x in weights.values()])
    if not counts.sum():
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")


@look_each_time_of("linalg.ldl_solve")
def parts_of_indefinite_factors(given: Given) -> None:
    LD: Any = given["LD"]
    pivots: Any = given["pivots"]
    B: Any = given["B"]
    if LD.shape[-2] != LD.shape[-1]:
        raise RuntimeError(f"linalg.ldl_solve: LD must be batches of square matrices, found shape {[*LD.shape]}")
    if LD.shape[-1] != B.shape[-2]:
        n, (rows, columns) = LD.shape[-1], B.shape[-2:]
        raise RuntimeError(
            f"Incompatible matrix sizes for linalg.ldl_solve: each A matrix is {n} by {n} but each b matrix is {rows} "
            f"by {columns}"
        )
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{[*pivots.shape]} instead"
        )
    if kind_of(pivots) not in "iu":
        raise RuntimeError(f"linalg.ldl_solve: Expected pivots to be integers. Got {dtype_name(pivots)}")


@look_of("linalg.matrix_rank", "linalg.pinv")
def real_tolerances(given: Given) -> None:
    for name in ("atol", "rtol", "tol"):
        value: Any = given.get(name)
        if is_array(value) and kind_of(value) == "c":
            raise RuntimeError(f"{name} tensor of complex type is not supported. Got {dtype_name(value)}")


@look_each_time_of("linalg.vecdot")
def lengths_of_vectors(given: Given) -> None:
    x, y = given["x"], given["y"]
    if x.ndim == y.ndim == 1 and x.shape != y.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected x and y to have the same number of elements, but got {x.shape[0]} and "
            f"{y.shape[0]} elements respectively"
        )


@look_each_time_of("linalg.lstsq")
def axes_of_equations(given: Given) -> None:
    A, B = given["A"], given["B"]
    if given.get("driver") not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), found "
            f"{given['driver']!r}"
        )
    if is_array(A) and is_array(B) and not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
            f"<= 1, found shapes {[*A.shape]} and {[*B.shape]}"
        )
    if is_array(A) and is_array(B) and A.ndim - B.ndim == 1:
        pairs = zip(A.shape[:-1], B.shape, strict=True)
        if any(1 not in pair and pair[0] != pair[1] for pair in pairs):
            raise RuntimeError(f"The sizes of tensors must match: found {[*B.shape]} for matrices of {[*A.shape]}")


@look_each_time_of("cholesky_solve", "cholesky_inverse")
def square_factor(given: Given) -> None:
    A: Any = given.get("input2", given.get("input"))
    if is_array(A) and A.ndim > 1 and A.shape[-1] != A.shape[-2]:
        rows, columns = A.shape[-2:]
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")


@look_of("cdist")
def floats_of_points(given: Given) -> None:
    for name in ("x1", "x2"):
        if kind_of(given[name]) != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{name[1]} got: {dtype_name(given[name])}")


@look_each_time_of("cdist")
def columns_of_points(given: Given) -> None:
    x, y = given["x1"], given["x2"]
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x.shape[-1]} X2: {y.shape[-1]}")


@look_each_time_of(
    "cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.solve_triangular", "linalg.inv_ex", "triangular_solve"
)
def square_matrices(given: Given) -> None:
    x: Any = next(given[name] for name in ("A", "input", "x") if name in given)
    rows, columns = x.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"linalg: A must be batches of square matrices, but they are {rows} by {columns} matrices")


# What the factors and the right-hand sides of triangular equations are called.
EQUATIONS = {
    "cholesky_solve": ("input2", "input"),
    "triangular_solve": ("A", "b"),
    "linalg.solve_triangular": ("A", "B"),
}


def _look_at_rows(path: str) -> None:
    @look_each_time_of(path)
    def rows_of_equations(given: Given) -> None:
        A, b = (given[name] for name in EQUATIONS[path])
        place = -2 if given.get("left", True) else -1
        if b.ndim > 1 and b.shape[place] != A.shape[-1]:
            sizes = [" by ".join(map(str, x.shape[-2:])) for x in (A, b)]
            raise RuntimeError(
                f"Incompatible matrix sizes for {path}: each A matrix is {sizes[0]} but each b matrix is {sizes[1]}"
            )


for _path in EQUATIONS:
    _look_at_rows(_path)


@look_each_time_of("cdist", "nn.functional.pdist")
def order_of_distances(given: Given) -> None:
    p, name, x = given.get("p", 2.0), "pdist", given.get("input")
    if x is None:
        name, x = "cdist", given["x1"]
    if not p >= 0:
        raise RuntimeError(f"{name} only supports non-negative p values, found {p}")
    if isinstance(p, float) and p not in (0.0, 1.0, 2.0, math.inf) and kind_of(x) == "f":
        with np.errstate(over="ignore"):  # infinite where the dtype does not hold it
            given["p"] = float(numpy_dtype(x.dtype).type(p))


@look_each_time_of("linalg.solve", "linalg.solve_ex")
def square_equations(given: Given) -> None:
    rows, columns = given["A"].shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.solve: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    A, B = given["A"], given["B"]
    if not given.get("left", True) and tuple(B.shape) == tuple(A.shape[:-1]) and rows != 1 < B.ndim:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation XA = B ({rows}x{rows} and {rows}x1): B has "
            f"a vector for each matrix"
        )


@look_each_time_of("nn.functional.bilinear")
def shapes_of_bilinear(given: Given) -> None:
    x, y, weight = given["input1"], given["input2"], given["weight"]
    if weight.ndim != 3 or not x.ndim or not y.ndim:
        raise np.exceptions.AxisError(
            f"bilinear(): Expected weight to have 3 dimensions and inputs at least 1, but got shapes "
            f"{[*weight.shape]}, {[*x.shape]} and {[*y.shape]}"
        )
    fits = (x.shape[:-1], x.shape[-1], y.shape[-1]) == (y.shape[:-1], *weight.shape[1:])
    if not fits:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got shapes {[*x.shape]} and {[*y.shape]} for a weight of "
            f"shape {[*weight.shape]}"
        )
    bias: Any = given.get("bias")
    if is_array(bias) and not bias.ndim:
        raise np.exceptions.AxisError("Dimension specified as 0 but tensor has no dimensions")
    if is_array(bias) and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )


@look_of("nn.functional.embedding")
def rows_of_embedding(given: Given) -> None:
    weight = given["weight"]
    if is_array(weight) and weight.ndim != 2:
        raise np.exceptions.AxisError(f"'weight' must be 2-D, found shape {[*weight.shape]}")
    index = given["input"]
    if is_array(index) and numpy_name(index.dtype) not in ("int64", "int32"):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{dtype_name(index)}"
        )
