"""`MetadataTensor`: a tensor with a dictionary that every operation carries on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from reprlib import Repr
from typing import Any, Literal

from dispatchkit import ops
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.protocol.overridable import of
from dispatchkit.protocol.types.declaration import FieldRule, rule_of
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.numpy_arguments import numbers_of_axes
from dispatchkit.tensor.printing import Written
from dispatchkit.types.exchange.labels import read_xarray, with_coordinates_of
from dispatchkit.types.exchange.libraries import class_of
from dispatchkit.types.exchange.parts import Parts, with_level
from dispatchkit.types.exchange.quantities import OF_ASTROPY_MEANT, read_object
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.exchange.tables import read_pandas, read_polars, with_labels_of
from dispatchkit.types.levels import Wrapper, is_simple_key, level, map_results, open_arguments
from dispatchkit.types.rules import takes_raw_index

MergeLaw = Literal["left", "right", "error", "drop"] | Callable[[str, Sequence[Any]], Any]


@tensor_protocol.array_type(
    fallback=fallback.refuse,
    priority=level("metadata"),
    fields=("data", "metadata", "merge", "laws"),
    dense="to_dense",
    from_dense="from_dense",
    derivative="derivative",
)
class MetadataTensor(Wrapper):
    """A tensor with metadata, which the results of all operations on it have too.

    Parameters
    ----------
    data : tensor, or what `asarray` makes one of; metadata of a `MetadataTensor` stay, but for keys that are given anew
    metadata : dictionary with text keys; copied
    merge : the law for keys on which operands that meet disagree: ``"left"``, the default, and ``"right"`` take that
        operand's value, ``"error"`` raises, ``"drop"`` leaves the key out; a function is called with the key and the
        values and gives the value. Among operands with different laws the leftmost decides. Equal arrays agree.
    laws : laws for single keys, as `dk.field` makes them: ``merge`` as above, ``view`` for parts and other shapes,
        ``copy`` for copies

    Raises
    ------
    ValueError : for another `merge`, or when operands disagree under ``"error"``
    TypeError : for metadata that are no mapping, and a law that is not made by `dk.field`

    Examples
    --------
    >>> import dispatchkit as dk
    >>> speed = dk.types.MetadataTensor([1.0, 2.0], {"unit": "m/s", "run": 7})
    >>> (2 * speed).sum()
    MetadataTensor(6., metadata={'unit': 'm/s', 'run': 7})
    """

    def __init__(
        self,
        data: Any,
        metadata: Mapping[str, Any] | None = None,
        *,
        merge: MergeLaw | None = None,
        laws: Mapping[str, Any] | None = None,
    ) -> None:
        if merge is not None and not callable(merge) and merge not in ("left", "right", "error", "drop"):
            raise ValueError(
                f"MetadataTensor: merge must be 'left', 'right', 'error', 'drop' or a function, not {merge!r}"
            )
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"MetadataTensor: metadata must be a mapping, found {metadata!r}")
        rules = {key: _rule(key, law) for key, law in (laws or {}).items()}
        array: Any = as_array(data)
        kept: dict[str, Any] = {}
        if isinstance(array, MetadataTensor):
            kept, rules, merge = array.metadata, array.laws | rules, merge or array.merge
            array = array.data
        self.data = array
        self.metadata: dict[str, Any] = {**kept, **(metadata or {})}
        self.merge: MergeLaw = merge or "left"
        self.laws: dict[str, Any] = rules

    @classmethod
    def from_xarray(cls, array: Any) -> Any:
        """Return an xarray `DataArray` with names, and with its attributes, name and coordinates as metadata.

        Operands must agree on coordinates, which parts and other shapes lose; attributes on which they disagree are
        left out. `to_xarray` gives all of it back.

        Parameters
        ----------
        array : `xarray.DataArray`, whose memory is shared

        Raises
        ------
        TypeError : if it is no `DataArray`
        ValueError : if an attribute is called ``coords`` or ``name``
        """
        inner, names = read_xarray(array, "MetadataTensor.from_xarray")
        return with_coordinates_of(array, class_of("names")(inner, names))

    @classmethod
    def from_pandas(cls, data: Any) -> Any:
        """Return data of pandas with their name, labels and attributes as metadata, for `to_pandas` to give them back.

        Operands must agree on labels, which parts and other shapes lose; attributes on which they disagree are left
        out. Missing elements and the unit in ``attrs["units"]`` are kept.

        Parameters
        ----------
        data : a Series, DataFrame, Index or array of numbers or booleans

        Raises
        ------
        TypeError : for anything else
        ValueError : if an attribute is called ``index``, ``columns`` or ``name``
        """
        return with_labels_of(data, read_pandas(data, "MetadataTensor.from_pandas"))

    @classmethod
    def from_polars(cls, data: Any) -> Any:
        """Return data of polars with their names as metadata, for `to_polars` to give them back.

        Parameters
        ----------
        data : a Series or DataFrame of numbers or booleans

        Raises
        ------
        TypeError : for anything else
        """
        return with_labels_of(data, read_polars(data, "MetadataTensor.from_polars"))

    @classmethod
    def from_astropy(cls, data: Any) -> Any:
        """Return `NDData` of astropy with its metadata, mask, unit and standard deviations.

        Parameters
        ----------
        data : of astropy

        Raises
        ------
        TypeError : for anything else
        """
        return with_level(cls, read_object("astropy", data, "MetadataTensor.from_astropy", OF_ASTROPY_MEANT))

    def _parts(self, inner: Parts) -> Parts:
        return inner.with_parts(metadata=self.metadata)

    def _labelled(self) -> tuple[Any, Any, dict[str, Any]]:
        array, names = self.data, None
        if isinstance(array, Wrapper):
            array, names, _ = array._labelled()
        return array, names, self.metadata

    def _numbers_of_axes(self, function: str, axis: Any) -> Any:
        return numbers_of_axes(self.data, function, axis)

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside, without its metadata.

        Parameters
        ----------
        value : what a rule takes together with this tensor
        """
        if isinstance(value, MetadataTensor):
            return value.data
        return value

    @staticmethod
    def derivative(array: Any, output: MetadataTensor | None, argument: MetadataTensor | None) -> MetadataTensor:
        """Return derivatives with the metadata of output and argument together, as the laws of both say.

        Parameters
        ----------
        array : the numbers
        output, argument : tensors with metadata, None for others
        """
        sources = [source for source in (output, argument) if source is not None]
        return _with_merged(array, sources, tensor_protocol.operation(ops.divide), (), {})

    def _written(self, inner: Written) -> Written:
        entries = [(key, SHORTENED.repr(value)) for key, value in islice(self.metadata.items(), MOST)]
        parts = [f"{key!r}: {value}" for key, value in entries]
        lines = [f"{key}: {value}" for key, value in entries]
        if len(self.metadata) > MOST:
            parts.append("...")
            lines.append("...")
        shown, folded = f"{{{', '.join(parts)}}}", "\n".join(lines)
        return inner.around(notes=(f"metadata={shown}",), after=(shown,), folded=(("metadata", folded),))


# Details are no part of the numbers: long ones are cut.
MOST = 10


class _Shortened(Repr):
    """Shows an array of more than a few elements by shape and dtype, and any other object in one line."""

    def repr_instance(self, x: object, level: int) -> str:
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if isinstance(shape, tuple) and dtype is not None and math.prod(shape) > MOST:
            return f"<{type(x).__name__} of shape {shape}, {dtype}>"
        return " ".join(super().repr_instance(x, level).split())


SHORTENED = _Shortened()
SHORTENED.maxdict = SHORTENED.maxlist = SHORTENED.maxtuple = MOST
SHORTENED.maxstring = SHORTENED.maxother = 60


def _rule(key: str, law: Any) -> FieldRule:
    """Return the rule of a field that `dk.field` has made, which is kept, since a field cannot be pickled."""
    rule = law
    if isinstance(law, dataclasses.Field):
        rule = rule_of(law)
    if not isinstance(rule, FieldRule):
        raise TypeError(f"MetadataTensor: the law of {key!r} is made by dk.field(), found {law!r}")
    return rule


@tensor_protocol.implements(kinds.all, MetadataTensor, declines=False)
def carry_metadata(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute on the tensors inside, and give every result the metadata that the laws say."""
    if not kwargs:
        result = _carry_plainly(op, args)
        if result is not NotImplemented:
            return result
    opened, options, sources = open_arguments(op, args, kwargs, MetadataTensor, lambda source: source.data)
    result = op(*opened, **options)
    return _with_merged(result, sources, of(op), args, kwargs)


def _carry_plainly(op: Any, args: tuple[Any, ...]) -> Any:
    """Return a plain result of a call by place, whose metadata no law decides; NotImplemented for other calls.

    An everyday call inside takes less time than `carry_metadata` would take around it.
    """
    first = args[0]
    if len(args) > 2 or type(first) is not MetadataTensor or not _is_plain(first):
        return _carry_several(op, args)
    if len(args) == 1:
        metadata = {**first.metadata}
        result = op(first.data)
    elif type(args[1]) in PLAIN:
        metadata = {**first.metadata}
        result = op(first.data, args[1])
    else:
        other = args[1]
        if type(other) is not MetadataTensor or not _is_plain(other):
            return NotImplemented
        metadata = {**first.metadata}
        if other is not first:
            metadata = {**metadata, **other.metadata, **metadata}
        result = op(first.data, other.data)
    if type(result) is not Tensor:
        return _with_merged(result, [each for each in args if type(each) is MetadataTensor], of(op), args, {})
    return _carried(result, metadata, "left")


def _carried(data: Tensor, metadata: dict[str, Any], merge: MergeLaw) -> MetadataTensor:
    """Return a tensor with metadata that no law is about, which are nobody else's: the constructor is passed by."""
    carried = object.__new__(MetadataTensor)
    carried.data = data
    carried.metadata = metadata
    carried.merge = merge
    carried.laws = {}
    return carried


def _is_plain(x: MetadataTensor) -> bool:
    """Return whether a plain tensor is inside, and no law but the usual one decides about the metadata."""
    return type(x.data) is Tensor and x.merge == "left" and not x.laws


def _carry_several(op: Any, args: tuple[Any, ...]) -> Any:
    """Return what `_carry_plainly` does, for several arguments in any order."""
    record = of(op)
    if record is None or not 0 < record.parameters.positional <= len(args):
        return NotImplemented
    opened, sources = [], []
    for value in args:
        cls = type(value)
        if cls is MetadataTensor:
            if not _is_plain(value):
                return NotImplemented
            sources.append(value)
            opened.append(value.data)
        elif cls in PLAIN:
            opened.append(value)
        else:
            return NotImplemented
    result = op(*opened)
    first = sources[0]
    if type(result) is not Tensor:
        return _with_merged(result, sources, record, args, {})
    metadata = first.metadata.copy()
    for source in sources:
        if not source.metadata.keys() <= metadata.keys():
            metadata = {**metadata, **source.metadata, **metadata}
    return _carried(result, metadata, "left")


PLAIN = frozenset({bool, int, float, complex, Tensor})


@tensor_protocol.implements(ops.getitem, MetadataTensor, declines=False)
@takes_raw_index
def getitem_with_metadata(x: Any, key: Any, /) -> Any:
    if type(x) is MetadataTensor and not x.laws and is_simple_key(key):
        part = x.data[key]
        if type(part) is Tensor:
            return _carried(part, {**x.metadata}, x.merge)
        return x._replace(data=part, metadata={**x.metadata})
    return carry_metadata(ops.getitem, x, key)


@tensor_protocol.implements(ops.setitem, MetadataTensor, declines=False)
@takes_raw_index
def setitem_with_metadata(x: Any, key: Any, value: Any, /) -> Any:
    if type(x) is MetadataTensor and _is_plain(x) and is_simple_key(key):
        # The metadata stay those of the tensor that is written into, whatever the value has.
        if type(value) in PLAIN:
            return ops.setitem(x.data, key, value)
        if type(value) is MetadataTensor and _is_plain(value):
            return ops.setitem(x.data, key, value.data)
    return carry_metadata(ops.setitem, x, key, value)


def _with_merged(result: Any, sources: Sequence[MetadataTensor], operation: Any, args: Any, kwargs: Any) -> Any:
    """Return a result with the metadata of its sources, merged as their laws say."""
    first, *others = sources
    law = first.merge
    plain = all(not source.laws for source in sources)
    if plain and (law == "left" or not others):
        metadata = dict(first.metadata)
        for source in others:
            for name, value in source.metadata.items():
                metadata.setdefault(name, value)
        laws: dict[str, Any] = {}
    else:
        laws = {name: rule for source in reversed(sources) for name, rule in source.laws.items()}
        held = [source.metadata for source in sources]
        metadata = tensor_protocol.types.merge_metadata(laws, FieldRule(merge=law), held, operation, args, kwargs)

    def with_metadata(array: Any) -> Any:
        if laws or isinstance(array, Wrapper):
            return MetadataTensor(array, metadata, merge=law, laws=laws)
        return first._replace(data=array, metadata=dict(metadata))

    return map_results(result, with_metadata)
