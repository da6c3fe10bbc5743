"""`NamedTensor`: an array whose axes have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit import ops
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor.numpy_histograms import elements_of
from dispatchkit.tensor.printing import Written
from dispatchkit.types.exchange.labels import read_xarray, warn_of_coordinates
from dispatchkit.types.exchange.parts import Parts
from dispatchkit.types.exchange.reading import as_array
from dispatchkit.types.exchange.tables import names_of_pandas, read_pandas
from dispatchkit.types.levels import Wrapper, level, map_results

Names = tuple[str, ...]


def _are_named(data: Any) -> bool:
    """Return whether data are a list, nested or not, with arrays that have names."""
    if not isinstance(data, (list, tuple)):
        return False
    return any(isinstance(member, NamedTensor) or _are_named(member) for member in data)


def _stacked(members: Any, names: Names) -> Any:
    """Return arrays that have names along a new axis of the first name, with axes in the order of all names.

    Raises
    ------
    ValueError : if one of the arrays has other names
    """
    rest = names[1:]
    parts = []
    for member in members:
        if isinstance(member, NamedTensor):
            array = member
        elif _are_named(member):
            array = NamedTensor(_stacked(member, rest), rest)
        else:
            array = NamedTensor(member, rest)
        if not names or set(array.names) != set(rest):
            raise ValueError(
                f"NamedTensor: the arrays of a list have the names after the first, {rest}; found {array.names}"
            )
        parts.append(array)
    return ops.stack(parts, axis=names[0]).aligned(names)


@tensor_protocol.array_type(
    fallback=fallback.refuse,
    priority=level("names"),
    fields=("data", "names"),
    from_dense="from_dense",
    derivative="derivative",
)
class NamedTensor(Wrapper):
    """An array whose axes have names.

    Parameters
    ----------
    data : array, or what `asarray` makes one of; or a list of arrays that have the names after the first, which is that
        of the axis along which they are counted
    names : of the axes, each another; a single text is the name of the only axis

    Raises
    ------
    ValueError : if there are more or fewer names than axes, or two are equal; from operations, if the sizes of axes of
        one name differ
    TypeError : if a name is no text

    Notes
    -----
    Arrays that meet are aligned by name. The names of the result come in the order of appearance: those of the first
    array, then what others add; where one array has all names, its order is kept. Sizes of equal names must be equal,
    or 1; nothing is dropped. Plain arrays are aligned by position, with the last axes, as in NumPy.

    ``axis=`` takes names. What moves, splits, flips or repeats axes keeps the names with them. ``x1 @ x2`` contracts
    the last axis of `x1` with the axis of the same name in `x2`, and has its axes where those of plain arrays are;
    ``vecdot(x1, x2, axis="name")`` contracts any; in `einsum` and `tensordot`, too, axes that are contracted have one
    name. `stack` and `expand_dims` name a new axis by ``axis="name"``; `ravel` and `flatten` name an axis by those that
    it is made of, ``"(time place)"``. What makes axes that nobody has named, such as `reshape`, is refused: compute
    with `data`, and name the result.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.types.NamedTensor([[1.0, 2.0], [3.0, 4.0]], ("time", "place"))
    >>> x.sum("time")
    NamedTensor([4., 6.], ('place',))
    >>> weights = dk.types.NamedTensor([0.5, 2.0], "time")
    >>> (weights * x).names == (x * weights).names == ("time", "place")
    True
    """

    names: Names

    @classmethod
    def _joined(cls, members: Any) -> Any:
        if _are_named(members):
            return members  # the constructor has the name of the axis that joins them
        return super()._joined(members)

    def __init__(self, data: Any, names: Sequence[str] | str) -> None:
        if isinstance(names, str):
            names = (names,)
        else:
            names = tuple(names)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"NamedTensor: names are texts, not {name!r}")
        if _are_named(data):
            data = _stacked(data, names)
        self.data = as_array(data)
        if isinstance(self.data, NamedTensor):
            raise ValueError(  # noqa: TRY004  # of the right type, and named twice
                f"NamedTensor: the array has the names {self.data.names} already"
            )
        if len(names) != len(self.data.shape) or len(set(names)) < len(names):
            raise ValueError(
                f"NamedTensor: an array of shape {tuple(self.data.shape)} needs {len(self.data.shape)} different "
                f"names, not {names}"
            )
        self.names = names

    @property
    def sizes(self) -> dict[str, int]:
        """Lengths of the axes by name."""
        return dict(zip(self.names, self.shape, strict=False))

    def aligned(self, names: Sequence[str]) -> Any:
        """Return the array inside with axes in the order of some names, those that it lacks of length 1.

        Parameters
        ----------
        names : all names of this array, and any others

        Raises
        ------
        ValueError : if it has a name that is not among them
        """
        missing = [name for name in self.names if name not in names]
        if missing:
            raise ValueError(f"aligned: names {tuple(names)} lack {missing[0]!r}, which the array has")
        order = [self.names.index(name) for name in names if name in self.names]
        if order == sorted(order):
            data = self.data
        else:
            data = ops.permute_dims(self.data, tuple(order))
        shape = tuple(self.sizes.get(name, 1) for name in names)
        if len(order) == len(names):
            return data
        return ops.reshape(data, shape)

    def at(self, **places: Any) -> Any:
        """Return the part at places along named axes: integers, slices, or vectors or lists of integers or booleans.

        Parameters
        ----------
        **places : the place by the name of its axis; the other axes stay whole. Several vectors choose rows and
            columns, each along its own axis

        Raises
        ------
        ValueError : for a name that is no axis

        Examples
        --------
        >>> import dispatchkit as dk
        >>> x = dk.types.NamedTensor([[1, 2, 3], [4, 5, 6]], ("time", "place"))
        >>> x.at(time=1), x.at(place=[0, 2], time=[1])
        (NamedTensor([4, 5, 6], ('place',)), NamedTensor([[4, 6]], ('time', 'place')))
        """
        unknown = [name for name in places if name not in self.names]
        if unknown:
            raise ValueError(f"at: no axis {unknown[0]!r}; there are {self.names}")
        part: Any = self
        vectors = {name: place for name, place in places.items() if not isinstance(place, (int, slice))}
        for name, place in vectors.items():
            part = part[(slice(None),) * part.names.index(name) + (place,)]
        others = {name: place for name, place in places.items() if name not in vectors}
        return part[tuple(others.get(name, slice(None)) for name in self.names)]

    def _numbers_of_axes(self, function: str, axis: Any) -> Any:
        if isinstance(axis, (tuple, list)):
            return tuple(self._numbers_of_axes(function, part) for part in axis)
        if not isinstance(axis, str):
            return axis
        if axis not in self.names:
            raise ValueError(f"{function}: no axis {axis!r}; there are {self.names}")
        return self.names.index(axis)

    def rename(self, **names: str) -> NamedTensor:
        """Return the array with other names for some of its axes.

        Parameters
        ----------
        **names : the new name by the old one

        Raises
        ------
        ValueError : for a name that is no axis, or if two axes would have one name

        Examples
        --------
        >>> import dispatchkit as dk
        >>> x = dk.types.NamedTensor([[1.0, 2.0], [3.0, 5.0]], ("time", "place"))
        >>> x @ x.rename(time="other").T
        NamedTensor([[ 5., 13.],
                     [13., 34.]], ('time', 'other'))
        """
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise ValueError(f"rename: no axis {unknown[0]!r}; there are {self.names}")
        return NamedTensor(self.data, tuple(names.get(name, name) for name in self.names))

    @classmethod
    def from_xarray(cls, array: Any) -> Any:
        """Return what an xarray `DataArray` holds, with the names of its dimensions.

        Quantities of Pint and astropy inside keep their units. Attributes and name are left out, and coordinates with a
        warning: `MetadataTensor.from_xarray` keeps all of them.

        Parameters
        ----------
        array : `xarray.DataArray`, whose memory is shared

        Raises
        ------
        TypeError : if it is no `DataArray`, or the name of a dimension is no text
        """
        inner, names = read_xarray(array, "NamedTensor.from_xarray")
        warn_of_coordinates(array, "NamedTensor.from_xarray")
        return cls(inner, names)

    @classmethod
    def from_pandas(cls, data: Any) -> Any:
        """Return data of pandas with the names of its index and columns: ``"index"`` and ``"columns"`` by default.

        Missing elements and the unit in ``attrs["units"]`` are kept; labels are left out, which
        `MetadataTensor.from_pandas` keeps.

        Parameters
        ----------
        data : a Series or DataFrame of numbers or booleans

        Raises
        ------
        TypeError : for anything else
        """
        inner = read_pandas(data, "NamedTensor.from_pandas")
        return cls(inner, names_of_pandas(data))

    def __elements__(self) -> tuple[Any, Any]:
        """Return what histograms count, without names."""
        return elements_of(self.data)

    def _parts(self, inner: Parts) -> Parts:
        return inner.with_parts(names=self.names)

    def _labelled(self) -> tuple[Any, Any, dict[str, Any]]:
        return self.data, self.names, {}

    def _around(self, data: Any) -> NamedTensor:
        """Return an array around new elements whose axes have the same names."""
        return NamedTensor(data, self.names)

    @staticmethod
    def derivative(array: Any, output: NamedTensor | None, argument: NamedTensor | None) -> Any:
        """Return derivatives with the names of output and argument; without, where a plain array among them has axes.

        Parameters
        ----------
        array : the numbers
        output, argument : arrays with names, None for plain arrays

        Notes
        -----
        An axis of the output that has the name of one of the argument gets a prime, as in ``"x'"``, so that the product
        with a step of the argument contracts the axes of the argument.
        """
        names: tuple[str, ...] = ()
        if argument is not None:
            names = argument.names
        if output is not None:
            for name in reversed(output.names):
                while name in names:
                    name += "'"
                names = (name, *names)
        if len(names) != len(array.shape):
            return array
        return NamedTensor(array, names)

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside, aligned with this array.

        Parameters
        ----------
        value : what a rule takes together with this array
        """
        if isinstance(value, NamedTensor):
            return value.aligned(self.names)
        return value

    def _written(self, inner: Written) -> Written:
        sizes = ", ".join([f"{name}: {length}" for name, length in self.sizes.items()])
        return inner.around(notes=(repr(self.names),), after=(f"({sizes})" * bool(sizes),), headings=self.names)


def with_names(result: Any, names: Names) -> Any:
    """Return what an operation on the arrays inside gives with names for the axes of each array.

    Parameters
    ----------
    result : array, or arrays in tuples and lists
    names : of the axes
    """
    return map_results(result, lambda data: NamedTensor(data, names))


def united_names(op: Any, arrays: Sequence[NamedTensor]) -> Names:
    """Return the names of what several arrays give that are aligned: of one that has all, else as they appear.

    Raises
    ------
    ValueError : if axes of one name differ in size
    """
    return united_sizes(op, [array.sizes for array in arrays])


def united_sizes(op: Any, axes: Sequence[dict[str, int]]) -> Names:
    """Return the names of axes that are aligned, which are given by their sizes, as `united_names` does."""
    sizes: dict[str, int] = {}
    for each in axes:
        for name, size in each.items():
            if sizes.setdefault(name, size) == 1:
                sizes[name] = size
            if size not in (sizes[name], 1):
                raise ValueError(
                    f"{op.__name__}: axis {name!r} has {sizes[name]} elements in one array and {size} in another"
                )
    return next((tuple(each) for each in axes if len(each) == len(sizes)), tuple(sizes))


def inside(value: Any) -> Any:
    """Return the array inside a named one, and anything else as it is."""
    if isinstance(value, NamedTensor):
        return value.data
    return value


def places(op: Any, x: NamedTensor, axis: Any) -> Any:
    """Return an axis, or several, as numbers.

    Raises
    ------
    ValueError : for a name that the array does not have
    """
    return x._numbers_of_axes(op.__name__, axis)


def axes_meant(x: NamedTensor, axis: Any) -> set[int]:
    """Return the axes that a parameter means, all where it is None."""
    ndim = len(x.names)
    if axis is None:
        return set(range(ndim))
    numbers = axis
    if not isinstance(axis, tuple):
        numbers = (axis,)
    return {number % ndim if ndim else number for number in numbers}


def without_names(result: Any, x: NamedTensor, axes: set[int]) -> Any:
    """Return a result with the names of an array but those of some axes."""
    return with_names(result, tuple(name for i, name in enumerate(x.names) if i not in axes))


def joined_name(names: Sequence[str]) -> str:
    """Return the name of the axis that several are joined to, in einops' notation; one keeps its name.

    >>> joined_name(("time", "place"))
    '(time place)'
    """
    if len(names) == 1:
        return names[0]
    return f"({' '.join(names)})"
