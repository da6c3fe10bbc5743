"""Who wraps whom: the levels of the types that wrap an array, and what such types have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Self

import numpy as np

from dispatchkit import ops
from dispatchkit.ops.creation.conversion import holds_instances
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import of
from dispatchkit.tensor import ArrayMethods, Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.tensor.notebook import repr_of, str_of
from dispatchkit.tensor.numpy_histograms import elements_of
from dispatchkit.tensor.printing import Written, written
from dispatchkit.types.exchange.methods import Exchanged
from dispatchkit.types.exchange.reading import read_foreign
from dispatchkit.types.plotting import Drawn, drawn, register

# The outermost first; all other types are inside.
LEVELS = ("metadata", "names", "unit", "mask", "uncertainty")


def level(name: str) -> float:
    """Return the priority of the types of a level: calls ask the outermost type first.

    Parameters
    ----------
    name : ``"metadata"``, ``"names"``, ``"unit"``, ``"mask"`` or ``"uncertainty"``

    Raises
    ------
    ValueError : for another name
    """
    if name not in LEVELS:
        raise ValueError(f"level: there are the levels {', '.join(map(repr, LEVELS))}, not {name!r}")
    return 10.0 * (len(LEVELS) - LEVELS.index(name))


def between(outer: str, inner: str) -> float:
    """Return the priority of a type of your own between two levels: inside of one, and around the other.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.types.levels import Wrapper, between
    >>> @dk.array_type(fallback=dk.fallback.rewrap, priority=between("names", "unit"))
    ... class Dated(Wrapper):
    ...     def __init__(self, data, date):
    ...         self.data, self.date = data, date
    >>> dk.types.QuantityTensor(Dated(dk.ones(2), "May"), "m")
    Dated([1., 1.] m, date='May')
    """
    return (level(outer) + level(inner)) / 2


# What no other library has wrapped.
PLAIN = (Tensor, ArrayMethods, int, float)


class Wrapper(Exchanged, ArrayMethods):
    """Base of the types that wrap an array, which is their first field, `data`.

    A wrapper around an array of an outer level is made inside of that: ``QuantityTensor(NamedTensor(x, names), unit)``
    is ``NamedTensor(QuantityTensor(x, unit), names)``. So the order of wrapping does not matter.
    """

    data: Any

    def __new__(cls, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Make an instance, inside of what is of an outer level; a sequence of arrays is stacked first."""
        if not isinstance(data, PLAIN):
            if holds_instances(data):
                data = cls._joined(data)
            else:
                data = _read(data)
        priority = tensor_protocol.types.priority
        if isinstance(data, Wrapper) and priority(type(data)) > priority(cls):
            fitted = [data.fitted(_read(value)) for value in args]
            options = {name: data.fitted(_read(value)) for name, value in kwargs.items()}
            return data.with_data(cls(data.data, *fitted, **options))
        return super().__new__(cls)

    @classmethod
    def _joined(cls, members: Any) -> Any:
        """Return the arrays of a sequence as one."""
        return ops.asarray(members)

    def with_data(self, data: Any) -> Self:
        """Return a copy of this wrapper around another array."""
        return self._replace(data=data)

    def _replace(self, **fields: Any) -> Self:
        """Return a copy with other fields, which are right: the constructor is passed by."""
        wrapper = object.__new__(type(self))
        wrapper.__dict__.update(self.__dict__, **fields)
        return wrapper

    @classmethod
    def from_dense(cls, x: Any, like: Any) -> Any:
        """Return an instance around a plain array, with what another has besides its elements.

        Parameters
        ----------
        x : array
        like : an instance; what it wraps says of which type the array inside is, by that type's `from_dense`
        """
        make = tensor_protocol.types.from_dense(type(like.data))
        return like._around(x if make is None else make(x, like.data))

    def _around(self, data: Any) -> Any:
        """Return a wrapper like this one around new elements; as `with_data` where those have nothing of their own."""
        return self.with_data(data)

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside, which may itself be of this type, without this wrapper.

        Raises
        ------
        TypeError : if it is of this type, which does not say how
        """
        if isinstance(value, type(self)):
            raise TypeError(f"{type(self).__name__}: an argument of a type inside cannot be a {type(self).__name__}")
        return value

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        shape: tuple[int, ...] = self.data.shape
        return shape

    dtype = property(attrgetter("data.dtype"), doc="Type of the elements.")

    device = property(attrgetter("data.device"), doc="Where the elements are.")

    def __drawn__(self) -> Drawn:
        return self._drawn(drawn(self.data))

    def _drawn(self, inner: Drawn) -> Drawn:
        """Return what is drawn of this wrapper: what is of the array inside, by default."""
        return inner

    def __elements__(self) -> tuple[Any, Any]:
        """Return what histograms count: the elements as a vector, and which of them are there."""
        vector, valid = elements_of(self.data)
        return self.with_data(vector), valid

    def to_numpy(self) -> Any:
        """Return the numbers as plotting libraries ask for them: an array of NumPy.

        Names, standard deviations and other notes are left out. What is missing is so in a masked array, and a unit is
        known to Matplotlib, which draws the numbers in that of the axis; to all others they are plain numbers.

        Examples
        --------
        >>> import dispatchkit as dk
        >>> x = dk.types.QuantityTensor(dk.types.MaskedTensor([1.0, 2.0], [True, False]), "m")
        >>> x.to_numpy().tolist(), str(x.to_numpy().unit)
        ([1.0, None], 'm')
        """
        # Matplotlib asks for this before it looks for a converter.
        register(Wrapper)
        return drawn(self).array()

    def __written__(self) -> Written:
        return self._written(written(self.data))

    def _written(self, inner: Written) -> Written:
        """Return how this wrapper prints, around what prints inside: with the fields after the first, by default."""
        names = tensor_protocol.types.field_names(type(self))[1:]
        notes = tuple([f"{name}={getattr(self, name)!r}" for name in names])
        return inner.around(notes=notes, after=notes)

    def __repr__(self) -> str:
        return repr_of(self)

    def __str__(self) -> str:
        return str_of(self)

    def to_dense(self) -> Any:
        """Return the elements as a plain array."""
        return dense_form(self.data)

    def item(self) -> Any:
        """Return the one element as a Python number."""
        return self.data.item()

    def filled(self, value: Any) -> Any:
        """Return the array with a value in the places of missing elements; itself if none can be missing.

        Parameters
        ----------
        value : a number, or an array that broadcasts to the shape
        """
        if not isinstance(self.data, Wrapper):
            return self
        return self.with_data(self.data.filled(self.fitted(value)))

    def backward(self, gradient: Any = None, **kwargs: Any) -> None:
        """Compute gradients of the array inside; arguments are those of `Tensor.backward`."""
        self.data.backward(gradient, **kwargs)


# Functions of one array, given first, which change where its elements are, and nothing else.
MOVING = frozenset(
    {
        *(
            ops.reshape,
            ops.ravel,
            ops.flatten,
            ops.squeeze,
            ops.expand_dims,
            ops.unsqueeze,
            ops.broadcast_to,
            ops.expand,
        ),
        *(ops.permute_dims, ops.moveaxis, ops.swapaxes, ops.matrix_transpose, ops.transpose, ops.t, ops.flip, ops.roll),
    }
)


def _read(data: Any) -> Any:
    """Return an array of another library in the shipped types, and anything else as it is."""
    read = read_foreign(data)
    if read is None:
        return data
    return read


BASIC = frozenset({int, slice, type(None), type(...)})
ARRAYS = frozenset({Tensor, np.ndarray})


def meets_another_type(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an argument of a call is of a type that is no wrapper, and may know units of its own."""
    known = (Wrapper, Tensor)
    types = (type(value) for _, value in arguments(op, args, kwargs))
    return any(tensor_protocol.types.participates(cls) and not issubclass(cls, known) for cls in types)


def is_simple_key(key: Any) -> bool:
    """Return whether an index is of integers and slices, or one plain array: no other array has part in the call."""
    if type(key) is tuple:
        return BASIC.issuperset(map(type, key))
    return type(key) in BASIC or type(key) in ARRAYS


# Gives the result of an operation with a change made to each array in it.
map_results = tensor_protocol.types.map_arrays


def arguments(op: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the arrays of a call, members of lists and indices one by one, with the names of their parameters."""
    record = of(op)
    if record is not None and 0 < record.parameters.positional <= len(args):
        return list(zip(record.parameters.names, args, strict=False))
    named: list[tuple[str, Any]] = []

    def note(name: str, value: Any) -> Any:
        named.append((name, value))
        return value

    tensor_protocol.map_arguments(op, args, kwargs, note)
    return named


def open_arguments(
    op: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], cls: type, change: Callable[[Any], Any]
) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """Return the arguments of a call with `change` made to each array of a type, and these arrays."""
    arrays: list[Any] = []
    record = of(op)
    if record is not None and 0 < record.parameters.positional <= len(args):
        # Each array has come by its place, so that nothing else need be looked at.
        opened = list(args)
        for place in range(record.parameters.positional):
            if isinstance(args[place], cls):
                arrays.append(args[place])
                opened[place] = change(args[place])
        return tuple(opened), dict(kwargs), arrays

    def open_value(name: str, value: Any) -> Any:
        if not isinstance(value, cls):
            return value
        arrays.append(value)
        return change(value)

    return *tensor_protocol.map_arguments(op, args, kwargs, open_value), arrays


def list_parts(result: Any) -> list[Any]:
    """Return the parts of a result, those of lists and tuples one by one."""
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in list_parts(part)]
    return [result]
