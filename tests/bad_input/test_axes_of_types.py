"""What array types say of axes that do not exist: what the library says of plain arrays, in words that name a function.

Most functions of a type are composed of others, or become dense: an error inside names the function that was called.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.testing.calls import measuring
from dispatchkit.types import (
    CirculantTensor,
    DiagonalTensor,
    KroneckerTensor,
    LazyTensor,
    MaskedTensor,
    MetadataTensor,
    NamedTensor,
    PermutationTensor,
    QuantityTensor,
    QuantizedTensor,
    ScalarTensor,
    SparseTensor,
    ToeplitzTensor,
    TriangularTensor,
    UncertainTensor,
)
from tests.declared import OPERATIONS
from tests.turns import some_of

PLAIN = dk.asarray([[1.0, 2.0], [3.0, 5.0]])
ROW = dk.asarray([2.0, 0.5])
INSTANCES = {
    "masked": MaskedTensor(PLAIN, dk.asarray([[True, False], [True, True]])),
    "named": NamedTensor(PLAIN, ("p", "q")),
    "metadata": MetadataTensor(PLAIN, {"run": 1}),
    "quantity": QuantityTensor(PLAIN, "m"),
    "uncertain": UncertainTensor(PLAIN, 0.1 * PLAIN),
    "lazy": LazyTensor(PLAIN) * 1,
    "sparse": SparseTensor.from_dense(PLAIN),
    "quantised": QuantizedTensor.from_dense(PLAIN),
    "diagonal": DiagonalTensor(ROW),
    "scalar": ScalarTensor(2, 3.0),
    "Kronecker": KroneckerTensor(PLAIN, dk.asarray([[1.0]])),
    "Toeplitz": ToeplitzTensor(ROW),
    "circulant": CirculantTensor(ROW),
    "permutation": PermutationTensor(dk.asarray([1, 0])),
    "triangular": TriangularTensor(PLAIN),
}
COUNTING = ("axis", "axes", "dim", "source")
WRONG = (7, 1.5)
# Of an array with names, these take the name of the axis that they add.
NAMES_TO_COME = {"dispatchkit.expand_dims", "dispatchkit.unsqueeze"}
NAMED = re.compile(r"(dispatchkit\.)?([a-z_0-9]+\.)*[a-z_0-9]+(: |\(\) )")


def calls_with_axes() -> Iterator[tuple[DeclaredOperation, str, tuple[Any, ...], dict[str, Any]]]:
    """Yield each operation of one array that counts axes, with the parameter that does, and arguments of a call."""
    for entry in OPERATIONS.values():
        parameters = entry.parameters.signature.parameters
        name = next((name for name in COUNTING if name in parameters), None)
        if name is None or not entry.samples:
            continue
        args, kwargs = entry.samples[0].make(np.random.default_rng(0))
        if args and isinstance(args[0], np.ndarray):
            yield entry, name, args, kwargs


CALLS = list(calls_with_axes())


def error_of(call: Callable[[], Any]) -> Exception | None:
    """Return what a call raises, None where it gives a result."""
    try:
        with measuring(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:  # noqa: BLE001  # which is what is compared
        return error
    return None


def with_axis(
    entry: DeclaredOperation, name: str, array: Any, args: tuple[Any, ...], kwargs: dict[str, Any], axis: Any
) -> Exception | None:
    bound = entry.parameters.signature.bind(array, *args[1:], **kwargs)
    bound.arguments[name] = axis
    return error_of(lambda: entry.function(*bound.args, **bound.kwargs))


@pytest.mark.parametrize("kind", INSTANCES)
def test_a_wrong_axis_is_refused_as_for_plain_arrays(kind: str, subtests: pytest.Subtests) -> None:
    for entry, name, args, kwargs in some_of(CALLS, 3, list(INSTANCES).index(kind)):
        for axis in WRONG:
            if kind == "named" and entry.qualified_name in NAMES_TO_COME:
                continue
            expected = with_axis(entry, name, PLAIN, args, kwargs, axis)
            if expected is None:
                continue
            with subtests.test(function=entry.qualified_name, axis=axis):
                error = with_axis(entry, name, INSTANCES[kind], args, kwargs, axis)
                assert error is not None, "it answers"
                assert isinstance(error, dk.NoImplementationError) or NAMED.match(str(error)), str(error)


def test_what_a_rule_of_a_user_raises_inside_of_a_composed_function_stays_as_it_is() -> None:
    @dk.array_type(fallback=dk.fallback.decompose)
    class Strict:
        shape, dtype, ndim = (2,), dk.float64, 1

    @dk.implements(dk.max)
    def max_strict(x: Strict, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        raise ValueError("no largest one")

    with pytest.raises(ValueError, match=r"^no largest one$"):
        dk.logsumexp(Strict())
