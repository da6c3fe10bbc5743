"""Results of a call with a type compared with those of the same call on plain tensors: values, and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dispatchkit.autograd import enable_grad, grad
from dispatchkit.declare.wrapping import wrapped
from dispatchkit.func.containers import is_floating, with_floats, with_variables
from dispatchkit.graph.storage import vertex_of
from dispatchkit.ops import asarray, conj, multiply, real
from dispatchkit.ops import sum as sum_of
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.overridable import Dispatcher
from dispatchkit.report.coverage.operands import Call, Operand
from dispatchkit.tensor import Tensor

__all__ = ["densified", "gradient_mismatch", "mismatch"]

# Stands for an array that has no dense form.
OPAQUE = object()
SCALARS = (bool, int, float, complex, np.generic)


def densified(protocol: Dispatcher, value: Any) -> Any:
    """Return a result with plain tensors for arrays of all types, `OPAQUE` for those without dense form."""
    if isinstance(value, (tuple, list)):
        return [densified(protocol, member) for member in value]
    cls = type(value)
    if cls is protocol.types.base or not protocol.types.participates(cls):
        return value
    maker = protocol.types.to_dense(cls)
    if maker is not None:
        dense = maker(value)
        return OPAQUE if type(dense) is cls else densified(protocol, dense)
    if isinstance(value, Tensor):
        return wrapped(Tensor, value.array, vertex_of(value))
    return OPAQUE


def mismatch(name: str, got: Any, want: Any, *, values: bool = True) -> tuple[str, str] | None:
    """Return the bucket and a description of the first difference between two densified results; None where equal.

    Parameters
    ----------
    name : of the operation
    got, want : from the type, and from plain tensors
    values : whether elements are compared, and not types, shapes and dtypes alone
    """
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            count = f"{len(got)} results" if isinstance(got, list) else f"a {type_name(type(got))}"
            return "wrong type", f"{count} instead of {len(want)} results"
        got, want = _determined(name, got), _determined(name, want)
        pairs = [mismatch(name, one, other, values=values) for one, other in zip(got, want, strict=True)]
        return next((found for found in pairs if found is not None), None)
    if not isinstance(want, Tensor):
        same = type(got) is type(want) and (got is want or bool(np.all(got == want)))
        return None if same or not values else ("wrong value", f"{got!r} instead of {want!r}")
    if got is OPAQUE:
        return None
    if isinstance(got, SCALARS) and want.ndim == 0:
        return _different(np.asarray(got), _raw(want)) if values else None
    if not isinstance(got, Tensor):
        return "wrong type", f"a {type_name(type(got))} instead of an array"
    if got.shape != want.shape:
        return "wrong value", f"shape {tuple(got.shape)} instead of {tuple(want.shape)}"
    if got.dtype != want.dtype:
        return "wrong dtype", f"dtype {got.dtype} instead of {want.dtype}"
    return _different(_raw(got), _raw(want)) if values else None


def _raw(value: Tensor) -> Any:
    return value.detach().numpy()


def _different(got: Any, want: Any) -> tuple[str, str] | None:
    """Return what differs between two NumPy arrays of one shape beyond rounding."""
    if _close(got, want):
        return None
    if got.dtype.kind not in "fciub" or not want.size:
        return "wrong value", "other elements"
    far = np.abs(np.subtract(got, want, dtype=np.result_type(got, want, np.float64)))
    alike = (got == want) | (np.isnan(got) & np.isnan(want))
    place = np.unravel_index(int(np.argmax(np.where(alike, 0, np.where(np.isnan(far), np.inf, far)))), want.shape)
    index = f" at {tuple(map(int, place))}" if want.ndim else ""
    return "wrong value", f"{got[place]:.6g} instead of {want[place]:.6g}{index}"


def _close(got: Any, want: Any) -> bool:
    if want.dtype.kind not in "fc":
        return bool(np.all(got == want))
    coarse = np.result_type(want.dtype, np.float32) in (np.float32, np.complex64)
    rtol = 1e-3 if want.dtype == np.float16 else 1e-4 if coarse else 1e-7
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(got, want, rtol=rtol, atol=rtol * 1e-3 * max(scale, 1e-3), equal_nan=True))


def _determined(name: str, results: list[Any]) -> list[Any]:
    """Return of the factors of a matrix what is unique: their product, and the other results."""
    product = PRODUCTS.get(name)
    if product is None or not all(isinstance(one, Tensor) for one in results):
        return results
    try:
        return product(*results)
    except (TypeError, ValueError, IndexError):
        return results  # of other number or shapes than factors have, which the comparison tells


def _qr_product(q: Tensor, r: Tensor) -> list[Any]:
    return [q @ r, asarray(q.shape), asarray(r.shape)]


def _eigen_product(values: Tensor, vectors: Tensor) -> list[Any]:
    return [values, (vectors * values[..., None, :]) @ conj(vectors).mT, asarray(vectors.shape)]


def _svd_product(u: Tensor, s: Tensor, vh: Tensor) -> list[Any]:
    count = s.shape[-1]
    return [s, (u[..., :count] * s[..., None, :]) @ vh[..., :count, :], asarray(u.shape), asarray(vh.shape)]


# Vectors may have other signs and, at equal values, be others altogether.
PRODUCTS: dict[str, Callable[..., list[Any]]] = {"qr": _qr_product, "eigh": _eigen_product, "svd": _svd_product}


def gradient_mismatch(call: Call, answer: Callable[..., Any]) -> str:
    """Return how derivatives through a type differ from those of the dense computation; "" where they agree.

    Floating tensors and numbers in the fields of the arrays are what is differentiated by. Where the dense computation
    has no derivative, or one that is NaN, there is nothing to compare.

    Parameters
    ----------
    call : to differentiate
    answer : makes the call with given arguments
    """
    protocol = call.operation.protocol
    with enable_grad():
        try:
            reference = _gradients(call, lambda args, kwargs: call.operation.function(*args, **kwargs), protocol, True)
        except Exception:  # noqa: BLE001  # what cannot be differentiated densely is nothing to compare with
            return ""
        if reference is None or not any(g is not None for g in reference):
            return ""
        try:
            found = _gradients(call, answer, protocol, False)
        except Exception as error:  # noqa: BLE001  # whatever a rule raises is what is reported
            return f"{type(error).__name__}: {error}".splitlines()[0]
    for place, (got, want) in enumerate(zip(found or [None] * len(reference), reference, strict=True)):
        if want is None or np.all(np.isnan(want)):
            continue
        if got is not None and got.shape == want.shape:
            got = np.where(np.isnan(want), want, got)
        if got is None:
            if np.any(want):
                return f"no gradient flows to {_name(call, place)}"
        elif got.shape != want.shape or not _close(got, want):
            difference = _different(got, want) if got.shape == want.shape else ("", f"shape {got.shape}")
            return f"gradient of {_name(call, place)}: {difference[1] if difference else 'other'}"
    return ""


def _name(call: Call, place: int) -> str:
    """Return the argument to which a leaf belongs."""
    counted = [operand.text for operand in call.operands() for _ in _leaves_of(operand)[1]]
    return counted[place]


def _leaves_of(operand: Operand) -> tuple[Any, list[Tensor]]:
    """Return an argument in which floating tensors and numbers are leaves that require a gradient, and those."""
    leaves: list[Tensor] = []

    def leaf(value: Any) -> Any:
        if isinstance(value, Tensor):
            if not is_floating(value):
                return value
            made: Any = value.detach()
        elif type(value) in (float, complex):
            made = asarray(value)
        else:
            return value
        leaves.append(made.requires_grad_())
        return made

    value = operand.make()
    if isinstance(value, (float, complex, np.ndarray)):
        return value, []
    return with_variables(leaf, with_floats(value)), leaves


def _gradients(call: Call, run: Callable[..., Any], protocol: Dispatcher, dense: bool) -> list[Any] | None:
    """Return the gradient of a weighted sum of all results for each leaf; None where no gradient flows at all."""
    leaves: list[Tensor] = []

    def tracked(operand: Operand) -> Any:
        value, found = _leaves_of(operand)
        leaves.extend(found)
        return densified(protocol, value) if dense else value

    args, kwargs = call.arguments(tracked)
    result = densified(protocol, run(args, kwargs))
    if isinstance(result, list):
        result = _determined(call.operation.name, result)
    total: Any = None
    for y in _floating(result):
        part = real(sum_of(multiply(y, _weights(y))))
        total = part if total is None else total + part
    if total is None or not total.requires_grad or not leaves:
        return None
    return [None if g is None else _raw(g) for g in grad(total, leaves, allow_unused=True)]


def _floating(result: Any) -> Iterator[Tensor]:
    for y in result if isinstance(result, list) else [result]:
        if isinstance(y, list):
            yield from _floating(y)
        elif isinstance(y, Tensor) and is_floating(y):
            yield y


def _weights(y: Tensor) -> Any:
    """Return weights that are the same for each result of a shape, and tell its elements apart."""
    weights = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
    return weights.astype(np.float64)
