"""Instances of the type under test: copied anew, varied, drawn from a Hypothesis strategy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.func.containers import arrays_of, map_container, with_variables
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tree import with_attributes

Samples: TypeAlias = "Sequence[Any] | Callable[[], Sequence[Any]] | Any"
DRAWS = 100  # of a strategy, from which those of new shapes and dtypes are kept
KEPT = 12
# Turns in which instances hold nan, infinities and zeros; negative numbers alone; and zeros alone.
SPECIAL, NEGATIVE, ZERO = -1, -2, -3
# In these they hold complex numbers, and so many that sums of small integers are large.
COMPLEX, LONG = -4, -5
MOST_ELEMENTS = 100_000


def anew(value: Any) -> Any:
    """Return an equal object that shares no array with the first, made without the type's own ways of copying."""
    if type(value) is Tensor:
        if type(value.array) is not np.ndarray:
            return xp.clone(value)
        return wrap_array(Tensor, value.array.copy(order="K")).requires_grad_(value.requires_grad)
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if type(value) in (list, tuple):
        return type(value)(map(anew, value))
    if type(value) is dict:
        return {key: anew(member) for key, member in value.items()}
    cls = type(value)
    if tensor_protocol.types.participates(cls) and not isinstance(value, Storage) and type(vars(value)) is dict:
        instance = object.__new__(cls)
        vars(instance).update({name: anew(member) for name, member in vars(value).items()})
        return instance
    return deep_copy(value)


def deep_copy(value: Any) -> Any:
    """Return a deep copy of a value, or the value where it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  # what cannot be copied, such as a lock, is shared
        return value


def of_fields(value: Any) -> Any:
    """Return an instance that has the fields of another, and nothing else of it."""
    records = tensor_protocol.types
    if isinstance(value, Storage) or not records.participates(type(value)):
        return value
    instance = object.__new__(type(value))
    for name in records.fields_of(value):
        object.__setattr__(instance, name, getattr(value, name))
    return instance


def vary(value: Any, turn: int) -> Any:
    """Return an instance like another whose floating-point numbers are others, for each turn different ones."""
    if not turn:
        return value
    if turn == COMPLEX:
        return _with_complex_numbers(value)
    if turn == LONG:
        return _with_many_elements(value)
    change = {SPECIAL: _special, NEGATIVE: lambda x: -abs(x), ZERO: lambda x: x * 0}.get(
        turn, lambda x: x * (1 + turn / 4)
    )
    return _reconstruct(with_variables(change, value))


def renew(value: Any) -> Any:
    """Return an instance whose dependent fields are computed from the others anew; another value as it is."""
    cls = type(value)
    dependent = tensor_protocol.types.participates(cls) and any(
        rule.dependent for rule in tensor_protocol.types.field_rules(cls).values()
    )
    if dependent:
        return _reconstruct(value)
    return value


def in_single_precision(value: Any) -> Any:
    """Return an instance with its numbers in single precision; None where the type has no such instance."""
    try:
        single = _reconstruct(with_variables(lambda x: xp.astype(x, np.float32), value))
        if single is not value and single.dtype == np.float32 != value.dtype:
            return single
    except Exception:  # noqa: BLE001, S110  # a type need not hold them
        pass
    return None


def _by_constructor(value: Any, fields: dict[str, Any]) -> Any:
    """Return an instance that the constructor makes of other fields.

    Raises
    ------
    TypeError : if it takes something else, or makes another type
    """
    rules = tensor_protocol.types.field_rules(type(value))
    taken = [name for name in tensor_protocol.types.fields_of(value) if name not in rules or not rules[name].dependent]
    return type(value)(**{name: fields.get(name, getattr(value, name)) for name in taken})


def _numpy_fields(value: Any) -> dict[str, Any]:
    """Return the NumPy arrays in the fields of an instance."""
    arrays = {name: getattr(value, name) for name in tensor_protocol.types.fields_of(value)}
    arrays = {name: getattr(array, "array", array) for name, array in arrays.items()}
    return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _with_complex_numbers(value: Any) -> Any:
    """Return an instance with complex numbers in the fields that have real ones.

    Raises
    ------
    ValueError : if the type holds none
    """
    arrays = {name: array for name, array in _numpy_fields(value).items() if array.dtype.kind == "f"}
    other = _by_constructor(value, {name: xp.asarray(array * (1 + 0.5j)) for name, array in arrays.items()})
    if other.dtype.kind != "c":
        raise ValueError(f"{type(value).__name__} holds no complex numbers")
    return other


def _with_many_elements(value: Any) -> Any:
    """Return an instance repeated as often as the sum of its integers then passes their dtype.

    Raises
    ------
    ValueError : if none of its fields has integers of 8 or 16 bits for each row, or the instance cannot be repeated
    """
    length = value.shape[0]
    rows = {name: array for name, array in _numpy_fields(value).items() if array.shape[:1] == (length,)}
    small = [array for array in rows.values() if array.dtype.kind in "iu" and array.dtype.itemsize < 3 and array.any()]
    if not small:
        raise ValueError("no field has small integers")
    # Those that add up to 0 are added up to their largest on the way.
    sums = [abs(int(array.sum(dtype=np.int64))) or int(abs(array.astype(np.int64)).max()) for array in small]
    times = max(2 * np.iinfo(array.dtype).max // total + 1 for array, total in zip(small, sums, strict=True))
    if times * length > MOST_ELEMENTS:
        raise ValueError("too many elements")
    repeated = {name: xp.asarray(np.concatenate([array] * int(times))) for name, array in rows.items()}
    other = _by_constructor(value, repeated)
    if tuple(other.shape) != (times * length, *value.shape[1:]):
        raise ValueError(f"{type(value).__name__} has another length than its fields")
    return other


def _reconstruct(value: Any) -> Any:
    """Return an instance made by the constructor, without what the old one has computed, where fields suffice."""
    types = tensor_protocol.types
    if not types.participates(type(value)) or isinstance(value, Storage):
        return value
    rules = types.field_rules(type(value))
    names = [name for name in types.fields_of(value) if name not in rules or not rules[name].dependent]
    fields = {name: getattr(value, name) for name in names}
    if vars(value).keys() <= fields.keys():
        return value
    try:
        return type(value)(**fields)
    except Exception:  # noqa: BLE001  # its constructor takes something else
        return value


def _special(x: Any) -> Any:
    """Return an array of the same shape and dtype whose elements are nan, infinite and zero."""
    return _with_elements(x, [np.nan, np.inf, -0.0, 0.0, -np.inf])


def count_up(x: Any) -> Any:
    """Return an array of the same shape and dtype whose elements are 1, 2, 3 and so on."""
    return _with_elements(x, np.arange(1, x.size + 1))


def _with_elements(x: Any, elements: Any) -> Any:
    values = np.resize(elements, x.shape).astype(x.dtype)
    if isinstance(x, Storage):
        return xp.asarray(values)
    return values


def simple(value: Any) -> Any:
    """Return an instance like another whose elements are 1, 2, 3 and so on."""
    rules = tensor_protocol.types.field_rules(type(value))
    kept = [(name, getattr(value, name)) for name, rule in rules.items() if rule.discrete is not False]
    counted = map_container(lambda x: count_up(x) if isinstance(x, (Tensor, np.ndarray)) else x, value)
    if kept:
        counted = with_attributes(counted, kept)
    return _reconstruct(counted)


def is_strategy(value: Any) -> bool:
    """Return whether a value is a strategy of Hypothesis."""
    return type(value).__module__.partition(".")[0] == "hypothesis"


def drawn(strategy: Any, to_dense: Callable[[Any], Any]) -> list[Any]:
    """Return instances that a strategy gives, the same at every run: one of each shape and dtype, a dozen at most."""
    from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415  # an optional dependency

    richest: dict[Any, Any] = {}

    @settings(
        max_examples=DRAWS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        novelty = _novelty(value, to_dense)
        score = _richness(value)
        if novelty is not None and score >= richest.get(novelty, (0, None))[0]:
            richest[novelty] = (score, value)

    collect()
    return [richest[key][1] for key in sorted(richest, reverse=True)][:KEPT]


def first(strategy: Any) -> Any:
    """Return an instance that a strategy gives."""
    return drawn(strategy, lambda value: value)[0]


def _richness(value: Any) -> int:
    """Return how many different elements of ordinary size an instance has, by which mistakes show."""
    elements = [np.asarray(x.detach().numpy() if isinstance(x, Tensor) else x).ravel() for x in arrays_of(value)]
    numbers = [x for array in elements if array.dtype.kind in "iufc" for x in array.tolist()]
    return len({x for x in numbers if 0.05 < abs(x) < 20})


def _novelty(value: Any, to_dense: Callable[[Any], Any]) -> tuple[int, str, int] | None:
    """Return what distinguishes instances: the dtype, of those that are not empty or of length 1 somewhere.

    Those stand for themselves in one dtype, None where they are of another.
    """
    try:
        dense = to_dense(value)
    except Exception:  # noqa: BLE001  # the check of the dense form reports it
        return (0, "", 0)
    if all(n > 1 for n in dense.shape):
        return (2, str(dense.dtype), len(dense.shape))
    lengths = "".join(str(min(n, 2)) for n in dense.shape)
    if dense.dtype == np.float64:
        return 1, lengths, 0
    return None
