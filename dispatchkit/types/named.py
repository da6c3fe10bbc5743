"""`NamedTensor`: an array whose axes have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit import linalg, ops
from dispatchkit.protocol.chain import decline
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.kinds import kinds
from dispatchkit.types.levels import Wrapper, arguments, as_array, level, map_results
from dispatchkit.types.rules import implements, implements_each

Names = tuple[str, ...]


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
    data : array, or what `asarray` makes one of
    names : of the axes, each another; a single text is the name of the only axis

    Raises
    ------
    ValueError : if there are more or fewer names than axes, or two are equal; from operations, if the sizes of axes of
        one name differ
    TypeError : if a name is no text

    Notes
    -----
    Arrays that meet are aligned by name. The names of the result do not depend on the order of the arguments: where one
    array has all names its order is kept, and where arrays disagree the names are sorted. Sizes of equal names must be
    equal, or 1; nothing is dropped. Plain arrays are aligned by position, with the last axes, as in NumPy.

    ``axis=`` takes names. ``x1 @ x2`` contracts the last axis of `x1` with the axis of that name in `x2`;
    ``vecdot(x1, x2, axis="name")`` contracts any, and `einsum` by letters gives a plain array of what is inside. What
    makes axes that nobody has named, such as `reshape`, is refused: compute with `data`, and name the result.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.types.NamedTensor([[1.0, 2.0], [3.0, 4.0]], ("time", "place"))
    >>> x.sum("time")
    NamedTensor(tensor([4., 6.]), ('place',))
    >>> weights = dk.types.NamedTensor([0.5, 2.0], "time")
    >>> (weights * x).names == (x * weights).names == ("time", "place")
    True
    """

    names: Names

    def __init__(self, data: Any, names: Sequence[str] | str) -> None:
        names = (names,) if isinstance(names, str) else tuple(names)
        self.data = as_array(data)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"NamedTensor: names are texts, not {name!r}")
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
        data = self.data if order == sorted(order) else ops.permute_dims(self.data, tuple(order))
        shape = tuple(self.sizes.get(name, 1) for name in names)
        return data if len(order) == len(names) else ops.reshape(data, shape)

    def at(self, **places: Any) -> Any:
        """Return the part at places along named axes: integers, slices, or vectors of integers or booleans.

        Parameters
        ----------
        **places : the place by the name of its axis; the other axes stay whole

        Raises
        ------
        ValueError : for a name that is no axis
        """
        unknown = [name for name in places if name not in self.names]
        if unknown:
            raise ValueError(f"at: no axis {unknown[0]!r}; there are {self.names}")
        return self[tuple(places.get(name, slice(None)) for name in self.names)]

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
        names = () if argument is None else argument.names
        for name in reversed(() if output is None else output.names):
            while name in names:
                name += "'"
            names = (name, *names)
        return NamedTensor(array, names) if len(names) == len(array.shape) else array

    def fitted(self, value: Any) -> Any:
        """Return an argument for a type inside, aligned with this array.

        Parameters
        ----------
        value : what a rule takes together with this array
        """
        return value.aligned(self.names) if isinstance(value, NamedTensor) else value

    def __repr__(self) -> str:
        return f"NamedTensor({self.data!r}, {self.names!r})"


def _with_names(result: Any, names: Names) -> Any:
    return map_results(result, lambda data: NamedTensor(data, names))


def met_names(op: Any, arrays: Sequence[NamedTensor]) -> Names:
    """Return the names of what several arrays give that are aligned.

    Raises
    ------
    ValueError : if axes of one name differ in size
    """
    sizes: dict[str, int] = {}
    for array in arrays:
        for name, size in array.sizes.items():
            if sizes.setdefault(name, size) == 1:
                sizes[name] = size
            if size not in (sizes[name], 1):
                raise ValueError(
                    f"{op.__name__}: axis {name!r} has {sizes[name]} elements in one array and {size} in another"
                )
    whole = {array.names for array in arrays if len(array.names) == len(sizes)}
    return whole.pop() if len(whole) == 1 else tuple(sorted(sizes))


@implements(kinds.elementwise, NamedTensor)
def align(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Align arrays by name, and plain ones by position."""
    values = [value for _, value in arguments(op, args, kwargs)]
    arrays = [value for value in values if isinstance(value, NamedTensor)]
    names = arrays[0].names if len(arrays) == 1 else met_names(op, arrays)
    alike = all(array.names == names for array in arrays)
    for value in values:
        axes = 0 if isinstance(value, NamedTensor) else len(getattr(value, "shape", ()))
        if axes > len(names) or (axes and not alike):
            return decline(f"an array without names, of {axes} axes, cannot be aligned with the axes {names}")

    def align_value(name: str, value: Any) -> Any:
        return value.aligned(names) if isinstance(value, NamedTensor) and value.names != names else _data(value)

    args, kwargs = tensor_protocol.map_arguments(op, args, kwargs, align_value)
    return _with_names(op(*args, **kwargs), names)


implements_each((ops.where,), NamedTensor)(align)


def _data(value: Any) -> Any:
    return value.data if isinstance(value, NamedTensor) else value


def places(op: Any, x: NamedTensor, axis: Any) -> Any:
    """Return an axis, or several, as numbers.

    Raises
    ------
    ValueError : for a name that the array does not have
    """
    if isinstance(axis, (tuple, list)):
        return tuple(places(op, x, part) for part in axis)
    if not isinstance(axis, str):
        return axis
    if axis not in x.names:
        raise ValueError(f"{op.__name__}: no axis {axis!r}; there are {x.names}")
    return x.names.index(axis)


def _axes_of(x: NamedTensor, axis: Any) -> set[int]:
    """Return the axes that a parameter means, all where it is None."""
    ndim = len(x.names)
    numbers = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {number % ndim if ndim else number for number in numbers}


def _number_axes(op: Any, x: NamedTensor, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call with the axes in them as numbers."""
    return {name: places(op, x, value) if name in AXES else value for name, value in kwargs.items()}


AXES = ("axis", "axes", "dim")


@implements(kinds.reduction, NamedTensor)
@implements(kinds.searching, NamedTensor)
def reduce_named(op: Any, x: NamedTensor, /, *args: Any, **kwargs: Any) -> Any:
    """Reduce along axes, whose names go."""
    parameters = tensor_protocol.operation(op).parameters.signature.parameters
    if args or "axis" not in parameters or any(isinstance(value, NamedTensor) for value in kwargs.values()):
        return decline("only reductions along axes have a rule")
    return _reduce(op, x, **kwargs)


def _reduce(op: Any, x: NamedTensor, *args: Any, **kwargs: Any) -> Any:
    kwargs = _number_axes(op, x, kwargs)
    removed = set() if kwargs.get("keepdims") else _axes_of(x, kwargs.get("axis"))
    return _without_names(op(x.data, *args, **kwargs), x, removed)


def _without_names(result: Any, x: NamedTensor, axes: set[int]) -> Any:
    """Return a result with the names of an array but those of some axes."""
    return _with_names(result, tuple(name for i, name in enumerate(x.names) if i not in axes))


@implements(ops.quantile)
def quantile_named(
    x: NamedTensor, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False
) -> Any:
    if getattr(q, "ndim", 0):
        return decline("the axis of several quantiles has no name")
    return _reduce(ops.quantile, x, q, axis=axis, method=method, keepdims=keepdims)


# What gives arrays with the same axes.
SAME_AXES = (
    *(ops.flip, ops.roll, ops.cumulative_sum, ops.cumulative_prod, ops.softmax, ops.log_softmax, ops.tril, ops.triu),
    *(ops.sort, ops.argsort, ops.diff, ops.pad),
)


@implements_each(SAME_AXES, NamedTensor)
@implements(kinds.creation, NamedTensor)
@implements(kinds.conversion, NamedTensor)
@implements(kinds.fft, NamedTensor)
def keep_axes(op: Any, x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Compute what has the axes of its argument."""
    if not isinstance(x, NamedTensor) or any(isinstance(value, NamedTensor) for value in (*args, *kwargs.values())):
        return decline("a second array with names has no rule here")
    result = op(x.data, *args, **_number_axes(op, x, kwargs))
    return _with_names(result, x.names) if len(result.shape) == len(x.names) else decline("the result has other axes")


@implements(ops.permute_dims)
def permute_named(x: NamedTensor, /, axes: Any) -> Any:
    axes = places(ops.permute_dims, x, tuple(axes))
    return _with_names(ops.permute_dims(x.data, axes), tuple(x.names[i] for i in axes))


@implements_each((ops.t, ops.matrix_transpose, linalg.inv), NamedTensor)
def transpose_named(op: Any, x: NamedTensor, /) -> Any:
    return _with_names(op(x.data), (*x.names[:-2], *x.names[:-3:-1]))


@implements(ops.squeeze)
def squeeze_named(x: NamedTensor, /, axis: Any = None) -> Any:
    axis = places(ops.squeeze, x, axis)
    result = ops.squeeze(x.data, axis=axis)
    return _without_names(result, x, {i for i in _axes_of(x, axis) if x.shape[i] == 1})


@implements(ops.unstack)
def unstack_named(x: NamedTensor, /, *, axis: Any = 0) -> Any:
    axis = places(ops.unstack, x, axis)
    return _without_names(ops.unstack(x.data, axis=axis), x, _axes_of(x, axis))


@implements(ops.concat, NamedTensor)
def concat_named(arrays: Any, /, *, axis: Any = 0) -> Any:
    first = next(array for array in arrays if isinstance(array, NamedTensor))
    if not all(isinstance(array, NamedTensor) and set(array.names) == set(first.names) for array in arrays):
        return decline("all arrays need the same names")
    if len({array.names for array in arrays}) > 1 and not isinstance(axis, str):
        return decline("the arrays have their axes in other orders; give the axis by name")
    names = first.names if len({array.names for array in arrays}) == 1 else tuple(sorted(first.names))
    place = names.index(axis) if isinstance(axis, str) and axis in names else places(ops.concat, first, axis)
    return _with_names(ops.concat([array.aligned(names) for array in arrays], axis=place), names)


@implements(ops.getitem)
def getitem_named(x: NamedTensor, key: Any, /) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    if any(part is None or isinstance(part, (NamedTensor, list)) for part in parts):
        return decline("a new axis has no name, and an index is a plain array")
    dims = [len(getattr(part, "shape", ())) for part in parts]
    if max(dims, default=0) > 1 or sum(d > 0 for d in dims) > 1:
        return decline("one vector at most may be an index, whose axis keeps its name")
    gap = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    rest = (slice(None),) * (len(x.names) - sum(part is not Ellipsis for part in parts))
    whole = (*parts[:gap], *rest, *parts[gap + 1 :])
    result = x.data[whole]
    kept = [
        name
        for name, part in zip(x.names, whole, strict=False)
        if isinstance(part, slice) or len(getattr(part, "shape", ()))
    ]
    return _with_names(result, tuple(kept))


@implements(ops.setitem, NamedTensor)
def setitem_named(x: Any, key: Any, value: Any, /) -> Any:
    if not isinstance(x, NamedTensor):
        return decline("a plain array has no names to align with")
    if isinstance(value, NamedTensor):
        value = value.aligned(x[key].names)
    ops.setitem(x.data, key, value)
    return None


@implements(ops.take)
def take_named(x: NamedTensor, indices: Any, /, *, axis: Any = None) -> Any:
    if axis is None or len(getattr(indices, "shape", ())) != 1 or isinstance(indices, NamedTensor):
        return decline("elements are taken by a plain vector of indices along an axis")
    return _with_names(ops.take(x.data, indices, axis=places(ops.take, x, axis)), x.names)


# Products.


def contract(op: Any, x1: NamedTensor, x2: NamedTensor, over: str) -> Any:
    """Return the sum over an axis of the product of two arrays that are aligned by name."""
    names = met_names(op, (x1, x2))
    letters = {name: chr(ord("a") + i) for i, name in enumerate(names)}
    rest = tuple(name for name in names if name != over)
    if over not in x1.names or over not in x2.names:
        raise ValueError(f"{op.__name__}: axis {over!r} is in one array alone: {x1.names} and {x2.names}")
    text = ["".join(letters[name] for name in part) for part in (x1.names, x2.names, rest)]
    return _with_names(ops.einsum(f"{text[0]},{text[1]}->{text[2]}", x1.data, x2.data), rest)


@implements(ops.vecdot)
def vecdot_named(x1: NamedTensor, x2: NamedTensor, /, *, axis: Any = -1) -> Any:
    if x1.dtype.kind == "c":
        return decline("the conjugate of the first has no rule")
    return contract(ops.vecdot, x1, x2, axis if isinstance(axis, str) else x1.names[axis])


@implements(ops.matmul)
def matmul_named(x1: NamedTensor, x2: NamedTensor, /) -> Any:
    if not x1.names or not x2.names:
        return decline("a number has no axis to contract")
    over = x1.names[-1]
    if over != x2.names[-1 if len(x2.names) == 1 else -2]:
        return decline(f"{over!r}, the last axis of the first, is not contracted in {x2.names}; use vecdot(axis=name)")
    return contract(ops.matmul, x1, x2, over)


# Linear algebra.


@implements(linalg.det)
def det_named(x: NamedTensor, /) -> Any:
    return _with_names(linalg.det(x.data), x.names[:-2])


implements_each((linalg.vector_norm,), NamedTensor)(reduce_named)


@implements(kinds.all, NamedTensor)
def refuse_named(op: Any, /, *args: Any, **kwargs: Any) -> Any:
    return decline("axes of the result would have no names; compute with x.data, and name the result")
