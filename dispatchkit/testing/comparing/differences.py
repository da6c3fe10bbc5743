"""What two results differ in, and derivatives: the comparisons that `check_type` and measured coverage make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.variables import is_floating
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.func import vjp
from dispatchkit.func.containers import arrays_of
from dispatchkit.graph.storage import vertex_of
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.overridable import Dispatcher, Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.testing.comparing.beside import Beside
from dispatchkit.tree import leaves, sequence_items, with_members

Function = Callable[..., Any]
Transformed = Callable[[Function, "list[Any]"], "list[Any]"]

# Stands for an array that has no dense form, of which nothing is compared.
OPAQUE = object()
NUMBERS = (bool, int, float, complex, np.generic)


class Difference(NamedTuple):
    """In what a result differs from the right one.

    Attributes
    ----------
    aspect : ``"container"``, ``"type"``, ``"shape"``, ``"value"`` or ``"dtype"``
    found, expected : both as text
    brief : the same in a line, of arrays where they differ most
    beside : the two arrays, None where shapes or types differ
    """

    aspect: str
    found: str
    expected: str
    brief: str
    beside: Beside | None = None

    @property
    def failure(self) -> tuple[str, str, str]:
        """The check that reports it, and both texts."""
        if self.aspect == "type":
            return "value", self.found, self.expected
        return self.aspect, self.found, self.expected


def qr_invariants(result: Any) -> Any:
    """Return the product of the factors, and of the orthogonal one with itself."""
    q, r = result
    return q @ r, _adjoint(q) @ q


def eigh_invariants(result: Any) -> Any:
    """Return the eigenvalues, the matrix, and the products of the eigenvectors."""
    values, vectors = result
    return values, (vectors * values[..., None, :]) @ _adjoint(vectors), _adjoint(vectors) @ vectors


def eig_invariants(result: Any) -> Any:
    """Return the matrix."""
    values, vectors = result
    return (vectors * values[..., None, :]) @ xp.linalg.inv(vectors)


def svd_invariants(result: Any) -> Any:
    """Return the singular values, the matrix, and the products of the singular vectors."""
    u, s, vh = result
    k = s.shape[-1]
    product = (u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :]
    return s, product, _adjoint(u) @ u, vh @ _adjoint(vh)


def eigvals_invariants(result: Any) -> Any:
    """Return the sums of powers of the eigenvalues, whose order is free."""
    return tuple(xp.sum(result**power, axis=-1) for power in (1, 2, 3))


INVARIANTS: dict[str, Callable[[Any], Any]] = {
    "dispatchkit.linalg.qr": qr_invariants,
    "dispatchkit.linalg.eigh": eigh_invariants,
    "dispatchkit.linalg.eig": eig_invariants,
    "dispatchkit.linalg.eigvals": eigvals_invariants,
    "dispatchkit.linalg.svd": svd_invariants,
}


# Functions whose elements may be anything.
UNDEFINED = frozenset({"dispatchkit.empty", "dispatchkit.empty_like"})


def is_determined(operation: Overridable) -> bool:
    """Return whether the arguments of an operation determine its result."""
    return operation.kind is not kinds.random and operation.qualified_name not in UNDEFINED


def invariants_of(operation: Overridable, found: Any, expected: Any) -> tuple[Any, Any]:
    """Return two dense results, of those that are not unique what all right ones have in common."""
    invariants = INVARIANTS.get(operation.qualified_name)
    if invariants is None:
        return found, expected
    try:
        return invariants(found), invariants(expected)
    except Exception:  # noqa: BLE001  # a result of another form, which the comparison shows
        return found, expected


def _adjoint(x: Any) -> Any:
    return xp.conj(xp.matrix_transpose(x))


def with_plain_tensors(protocol: Dispatcher, value: Any) -> Any:
    """Return a result with plain tensors for arrays of all types, `OPAQUE` for those without dense form."""
    if isinstance(value, (tuple, list)):
        return with_members(value, [with_plain_tensors(protocol, member) for member in value])
    cls = type(value)
    if cls is protocol.types.base or not protocol.types.participates(cls):
        return value
    maker = protocol.types.to_dense(cls)
    if maker is not None:
        dense = maker(value)
        if type(dense) is cls:
            return OPAQUE
        return with_plain_tensors(protocol, dense)
    if isinstance(value, Tensor):
        return wrap_array(Tensor, value.array, vertex_of(value))
    return OPAQUE


def difference(
    found: Any,
    expected: Any,
    given: Iterable[Any] = (),
    *,
    values: bool = True,
    operation: Overridable | None = None,
    tolerance: float = 0.0,
) -> Difference | None:
    """Compare a dense result with the right one.

    Parameters
    ----------
    found, expected : plain tensors and other values, or tuples and lists of them
    given : what they were computed from: a result is no more exact than the numbers that went in
    values : whether elements are compared, and not containers, shapes and dtypes alone
    operation : that gave them, of whose results that are not unique what all right ones have in common is compared
    tolerance : relative error of elements, and relative to the largest; 0 for half the digits

    Returns
    -------
    the first difference, None where they agree
    """
    if operation is None:
        result, right = found, expected
    else:
        result, right = invariants_of(operation, found, expected)
    ours, theirs = list(members(result)), list(members(right))
    if _holder(result) is not _holder(right):
        held, brief = zip(*(_described_holder(side, len(ours) != len(theirs)) for side in (result, right)), strict=True)
        return Difference("container", held[0], held[1], " instead of ".join(brief))
    if len(ours) != len(theirs):
        texts = f"{len(ours)} results", f"{len(theirs)} results"
        return Difference("type", texts[0], texts[1], " instead of ".join(texts))
    eps = cache(partial(exactness, given))
    pairs = (_of_pair(*pair, eps, values, tolerance) for pair in zip(ours, theirs, strict=True))
    return next(filter(None, pairs), None)


def _holder(result: Any) -> type | None:
    """Return what holds the arrays of a result: a tuple, a named one, a list; None where it is one array."""
    if isinstance(result, (tuple, list)):
        return type(result)
    return None


def _described_holder(result: Any, counted: bool) -> tuple[str, str]:
    """Return what holds the arrays of a result in the words of checks, and in those of tables."""
    text = f"a {type_name(type(result))}"
    if _holder(result) is None:
        return "one result", text
    if counted:
        return text, f"{len(list(members(result)))} results"
    return text, text


def _of_pair(found: Any, expected: Any, eps: Callable[[], float], values: bool, tolerance: float) -> Difference | None:
    if found is OPAQUE:
        return None
    if isinstance(expected, Tensor) and not isinstance(found, (Tensor, *NUMBERS)):
        text = f"a {type_name(type(found))}"
        seen = f"{text}, {value_text(found)}"
        return Difference("type", seen, f"a Tensor, {value_text(elements_of(expected))}", f"{text} instead of an array")
    mine, right = elements_of(found), elements_of(expected)
    if not isinstance(mine, np.ndarray) or not isinstance(right, np.ndarray):
        alike = not values or same(mine, right)
        if alike:
            return None
        return Difference("value", repr(found), value_text(right), f"{found!r} instead of {right!r}")
    if mine.shape != right.shape:
        texts = f"shape {mine.shape}", f"shape {right.shape}"
        return Difference("shape", *texts, f"{texts[0]} instead of {right.shape}")
    if values and not close(mine, right, tolerance=tolerance) and not close(mine, right, eps()):
        texts = value_text(mine), value_text(right)
        return Difference("value", *texts, _furthest(mine, right), Beside(mine, right))
    if mine.dtype.newbyteorder("=") != right.dtype.newbyteorder("="):
        return Difference("dtype", str(mine.dtype), str(right.dtype), f"dtype {mine.dtype} instead of {right.dtype}")
    return None


def _furthest(found: Any, expected: Any) -> str:
    """Return where two arrays of one shape differ most."""
    if found.dtype.kind not in "fciub" or not expected.size:
        return "other elements"
    far = np.abs(np.subtract(found, expected, dtype=np.result_type(found, expected, np.float64)))
    alike = (found == expected) | (np.isnan(found) & np.isnan(expected))
    place = np.unravel_index(int(np.argmax(np.where(alike, 0, np.where(np.isnan(far), np.inf, far)))), expected.shape)
    index = ""
    if expected.ndim:
        index = f" at {tuple(map(int, place))}"
    pairs = [(f"{found[place]:{form}}", f"{expected[place]:{form}}") for form in (".6g", ".17g")]
    return f"{' instead of '.join(pairs[pairs[0][0] == pairs[0][1]])}{index}"


def members(result: Any) -> Iterator[Any]:
    """Yield the arrays of a result."""
    return leaves(sequence_items, result)


def elements_of(value: Any) -> Any:
    """Return the elements of a plain tensor or number as a NumPy array of its own; what holds none as it is."""
    if isinstance(value, Tensor):
        return np.array(value.detach().numpy())
    if isinstance(value, (*NUMBERS, np.ndarray)):
        return np.array(value)
    return value


def same(found: Any, expected: Any) -> bool:
    """Return whether two values are equal, arrays element by element, NaN to NaN."""
    if found is expected:
        return True
    try:
        a, b = np.asarray(found), np.asarray(expected)
        if object in (a.dtype, b.dtype):
            return bool(found == expected)
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    except (TypeError, ValueError):
        return False


def close(found: Any, expected: Any, eps: float = 0.0, tolerance: float = 0.0) -> bool:
    """Return whether arrays agree to about half the digits of the coarser of their dtypes, or of what has `eps`.

    With a tolerance they may differ by so much, in proportion to each element or to the largest one.
    """
    if found.dtype.kind not in "fc" and expected.dtype.kind not in "fc":
        return bool(np.array_equal(found, expected))
    if "b" in (found.dtype.kind, expected.dtype.kind):
        return False
    if np.array_equal(found, expected):
        return True
    eps = max(eps, *map(rounding, (found, expected)))
    if eps > 1e-6:
        relative, absolute = 4e-3, 4e-3
    elif eps > 1e-12:
        relative, absolute = 1e-4, 1e-5
    else:
        relative, absolute = 1.5e-8, 1.5e-10
    relative, absolute = max(relative, tolerance), max(absolute, tolerance)
    finite = np.abs(expected[np.isfinite(expected)])
    # what cancels is as exact as the largest element
    scale = 1.0
    if finite.size:
        scale = max(float(finite.max()), 1.0)
    return bool(np.allclose(found, expected, rtol=relative, atol=absolute * scale, equal_nan=True))


def exactness(values: Iterable[Any]) -> float:
    """Return the rounding error of the coarsest of some values, and of the arrays in them."""
    values = list(values)
    return max(map(rounding, (*values, *arrays_of(values))), default=0.0)


def rounding(value: Any) -> float:
    """Return the rounding error of an array's dtype, 0 of what holds no floating-point numbers."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    return 0.0


def value_text(value: Any) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=12, precision=8, separator=", ")
    return repr(value)


def error_text(error: BaseException) -> str:
    """Return an exception as a message shows it: its class and the first line of its text."""
    text = str(error).partition("\n")[0]
    if text:
        return f"{type(error).__name__}: {text}"
    return type(error).__name__


class WrongDerivatives(NamedTuple):
    """Derivatives through a type that are not those of the dense computation.

    Attributes
    ----------
    expected : NumPy arrays, as the dense computation gives them
    found : those through the type, or what was raised in their place
    place : of the first that differs
    brief : in what it differs, in a line
    """

    expected: list[Any]
    found: list[Any] | Exception
    place: int = 0
    brief: str = ""

    def lost(self, place: int) -> bool:
        """Return whether a derivative is 0 everywhere that is not 0."""
        return bool(np.any(self.expected[place]) and not np.any(self.found[place]))  # type: ignore[index]  # no exception


def _differing(
    pairs: list[tuple[Any, Any]], given: Sequence[Any] = (), tolerance: float = 0.0
) -> list[tuple[int, str]]:
    """Return which pairs differ, and in what."""
    differences = ((place, difference(*pair, given, tolerance=tolerance)) for place, pair in enumerate(pairs))
    return [(place, fault.brief) for place, fault in differences if fault is not None]


def _finite(found: Any, expected: Any) -> tuple[Any, Any]:
    """Return two arrays, the first with the elements of the second where those are not finite."""
    comparable = found.shape == expected.shape and not np.all(np.isfinite(expected))
    if comparable:
        return np.where(np.isfinite(expected), found, expected), expected
    return found, expected


def floating(function: Function) -> Function:
    """Return a function without those of its results that have no derivative."""
    return lambda *instances: [result for result in function(*instances) if is_floating(result)]


def numbers(value: Any) -> list[Any]:
    """Return the floating-point arrays of a container as NumPy arrays of their own."""
    arrays = [array for array in arrays_of(value) if is_floating(array)]
    return [np.array(array.detach().numpy() if isinstance(array, Tensor) else array) for array in arrays]


def gradients(function: Function, instances: list[Any]) -> list[Any]:
    """Return the gradients of a weighted sum of what a function gives: of each floating-point array in instances."""
    output, pull = vjp(floating(function), *instances)
    # The weights tell the elements apart, and the results of one shape.
    weights = [np.linspace(0.5, 1.5, y.size).reshape(y.shape) + place / 8 for place, y in enumerate(output)]
    return numbers(pull([weight.astype(y.dtype) for weight, y in zip(weights, output, strict=True)]))


def wrong_derivatives(
    made: Callable[[bool], Function],
    instances: list[Any],
    transformed: Transformed = gradients,
    refusals: tuple[type[Exception], ...] = (),
    tolerance: float = 0.0,
) -> WrongDerivatives | None:
    """Compare what a transformation gives of a call on instances and on their dense form; None where they agree.

    At a point without a derivative there is nothing to compare with: where the dense computation cannot be
    differentiated, and where its derivative is not finite. No derivative is more exact than arguments and results are.

    Parameters
    ----------
    made : gives the call as a function of instances, made on their dense form or, with False, on themselves
    instances : by whose floating-point fields it is differentiated
    transformed : gives the derivatives of a function as NumPy arrays
    refusals : exceptions by which the type refuses
    tolerance : as of `difference`
    """
    dense = made(True)
    try:
        expected = transformed(dense, instances)
    except Exception:  # noqa: BLE001  # what plain tensors cannot do is not asked of the type
        return None
    if not any(np.any(np.isfinite(array)) for array in expected):
        return None
    try:
        derivatives = transformed(made(False), instances)
    except refusals:
        return None
    except Exception as error:  # noqa: BLE001  # what a handler raises is what is looked for
        return WrongDerivatives(expected, error)
    pairs = [_finite(*pair) for pair in zip(derivatives, expected, strict=True)]
    wrong = _differing(pairs, (), tolerance) and _differing(pairs, [*instances, *dense(*instances)], tolerance)
    # At a corner, such as the root of 0, the dense computation has 0 by convention.
    if not wrong or not (
        any(np.any(right) for _, right in pairs) or all(np.all(np.isfinite(array)) for array, _ in pairs)
    ):
        return None
    return WrongDerivatives(expected, derivatives, *wrong[0])
