"""Matrices of derivatives of a function at a point: by differences, by backward passes, and by forward mode.

A complex number counts as two real ones. A matrix has a row for each direction of the input and a column for each
direction of the output: all of them, or one drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from dispatchkit.autograd.functional import grad
from dispatchkit.backends.arrays import as_numpy, is_inexact, namespace_of
from dispatchkit.declare.wrapping import make_leaf, wrapped
from dispatchkit.errors import GradcheckError
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import vertex_of
from dispatchkit.graph.sweep import sweep
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import twin
from dispatchkit.transforms import Batched, Dual
from dispatchkit.transforms.dual import tangent_at
from dispatchkit.transforms.tracer import Tracer, new_level

Matrices: TypeAlias = dict[tuple[int, int], Any]
Advance: TypeAlias = Callable[[], None]


class Directions(Protocol):
    """In which directions a tensor moves, or is looked at."""

    @property
    def count(self) -> int:
        """How many there are."""

    def steps(self) -> Iterator[Any]:
        """Yield the directions, NumPy arrays of the tensor's shape and dtype."""

    def components(self, array: Any) -> Any:
        """Return how far an array goes in each direction."""


class Every:
    """All directions of a tensor: one for each real number in it.

    Parameters
    ----------
    tensor : whose directions they are
    """

    def __init__(self, tensor: Any) -> None:
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.units = (1.0, 1j) if tensor.dtype.kind == "c" else (1.0,)
        self.count = tensor.size * len(self.units)

    def steps(self) -> Iterator[Any]:
        """Yield the unit steps."""
        for index in np.ndindex(self.shape):
            for unit in self.units:
                step = np.zeros(self.shape, dtype=self.dtype)
                step[index] = unit
                yield step

    def components(self, array: Any) -> Any:
        """Return the real numbers of an array."""
        return reals(array)

    def named(self, number: int) -> str:
        """Return where a direction is in the array, such as ``[1, 0].imag``."""
        place, part = divmod(number, len(self.units))
        index = ", ".join(str(int(i)) for i in np.unravel_index(place, self.shape))
        return (f"[{index}]" if index else "") + ("" if len(self.units) == 1 else (".real", ".imag")[part])


class One:
    """One direction of a tensor, of length 1, drawn at random.

    Parameters
    ----------
    tensor : whose direction it is
    rng : draws it
    """

    count = 1

    def __init__(self, tensor: Any, rng: np.random.Generator) -> None:
        step = rng.standard_normal(tensor.shape)
        if tensor.dtype.kind == "c":
            step = step + 1j * rng.standard_normal(tensor.shape)
        self.step = np.asarray(step / max(float(np.linalg.norm(step)), 1e-300), dtype=tensor.dtype)

    def steps(self) -> Iterator[Any]:
        """Yield the direction."""
        yield self.step

    def components(self, array: Any) -> Any:
        """Return the product of an array with the direction."""
        return np.array([reals(array) @ reals(self.step)])

    @property
    def spread(self) -> float:
        """How much an error of the same size in each element adds up to."""
        return float(np.abs(reals(self.step)).sum())


class Point:
    """A function and its arguments, some of which are checked.

    Parameters
    ----------
    func : gives a tensor or several
    inputs : its arguments, or the only one

    Attributes
    ----------
    checked : position of each tensor that requires a gradient
    leaves : in their places, leaves of this point's own
    outputs : what the function gives for these, by position, without what is no floating-point tensor
    """

    def __init__(self, func: Callable[..., Any], inputs: Any) -> None:
        self.func = func
        self.arguments = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        self.checked = [i for i, x in enumerate(self.arguments) if isinstance(x, Tensor) and x.requires_grad]
        self.leaves = {i: _leaf(self.arguments[i], values_of(self.arguments[i])) for i in self.checked}
        self.outputs = self.at(self.leaves) if self.checked else {}

    def at(self, replaced: Mapping[int, Any]) -> dict[int, Any]:
        """Return the outputs with some arguments replaced; those not replaced that are checked are leaves anew."""
        arguments = [
            replaced[i] if i in replaced else _leaf(x, values_of(x)) if i in self.leaves else x
            for i, x in enumerate(self.arguments)
        ]
        result = self.func(*arguments)
        several = list(result) if isinstance(result, (list, tuple)) else [result]
        return {i: y for i, y in enumerate(several) if isinstance(y, Tensor) and is_inexact(y.dtype)}

    def moved(self, position: int, step: Any) -> dict[int, Any]:
        """Return the outputs with one argument moved.

        Raises
        ------
        GradcheckError : if they differ in number or shape from those at the point
        """
        x = self.arguments[position]
        outputs = self.at({position: _leaf(x, values_of(x) + step)})
        shapes, moved = ({i: tuple(y.shape) for i, y in of.items()} for of in (self.outputs, outputs))
        if shapes != moved:
            raise GradcheckError(
                f"The shapes of the outputs depend on the values of input {position}: {list(shapes.values())} at the "
                f"point, {list(moved.values())} next to it; such a function has no derivative"
            )
        return outputs


def values_of(x: Any) -> Any:
    """Return the elements of a tensor of any library as a NumPy array."""
    return as_numpy("gradcheck", x.array)


def array_like(x: Any, values: Any) -> Any:
    """Return NumPy's values as a new array of the library that a tensor's array is of."""
    return namespace_of(x.array).asarray(values, copy=True)


def _leaf(like: Any, values: Any) -> Any:
    """Return a leaf of the class of a tensor."""
    made = twin(like)
    made.array = array_like(like, values)
    made._node = make_leaf(made.array)
    return made


def reals(array: Any) -> Any:
    """Return the real and imaginary parts of an array one after the other, elementwise."""
    flat = np.ravel(array)
    return np.stack([flat.real, flat.imag], axis=1).ravel() if flat.dtype.kind == "c" else flat


def _matrix(rows: Sequence[Any], width: int) -> Any:
    return np.array(rows, dtype=np.result_type(float, *rows)).reshape(len(rows), width)


def by_differences(
    point: Point, inputs: Mapping[int, Directions], outputs: Mapping[int, Directions], eps: float, advance: Advance
) -> Matrices:
    """Return the matrices of central differences, by output and input.

    Parameters
    ----------
    point : the function and where
    inputs, outputs : directions of each
    eps : length of the steps
    advance : called after each step
    """
    found: Matrices = {}
    for i, along in inputs.items():
        rows: dict[int, list[Any]] = {o: [] for o in outputs}
        for step in along.steps():
            ahead, behind = point.moved(i, eps * step), point.moved(i, -eps * step)
            for o, seen in outputs.items():
                rows[o].append(seen.components((values_of(ahead[o]) - values_of(behind[o])) / (2 * eps)))
            advance()
        for o, seen in outputs.items():
            found[o, i] = _matrix(rows[o], seen.count)
    return found


def gradients(point: Point, cotangents: Mapping[int, Any]) -> dict[int, Any]:
    """Return the gradients of the checked arguments for cotangents of some outputs, NumPy's; zeros for none."""
    roots = [(point.outputs[o], v) for o, v in cotangents.items() if point.outputs[o].requires_grad]
    found: Sequence[Any] = [None] * len(point.leaves)
    if roots:
        ys, vs = [y for y, _ in roots], [Tensor(array_like(y, v)) for y, v in roots]
        found = grad(ys, list(point.leaves.values()), vs, retain_graph=True, allow_unused=True)
    return {
        i: np.zeros(x.shape, x.dtype) if g is None else values_of(g)
        for (i, x), g in zip(point.leaves.items(), found, strict=True)
    }


def by_backward(
    point: Point, inputs: Mapping[int, Directions], outputs: Mapping[int, Directions], advance: Advance
) -> Matrices:
    """Return the matrices computed by backward passes, one for each direction of the outputs."""
    found: Matrices = {}
    for o, along in outputs.items():
        columns: dict[int, list[Any]] = {i: [] for i in inputs}
        for step in along.steps():
            grads = gradients(point, {o: step})
            for i, seen in inputs.items():
                columns[i].append(seen.components(grads[i]))
            advance()
        for i, seen in inputs.items():
            found[o, i] = _matrix(columns[i], seen.count).T
    return found


def by_batched_backward(
    point: Point, inputs: Mapping[int, Directions], outputs: Mapping[int, Directions], advance: Advance
) -> Matrices:
    """Return the matrices computed by one backward pass for each output, on a batch of all its directions."""
    found: Matrices = {}
    for o, along in outputs.items():
        steps = list(along.steps())
        grads: Mapping[Any, Any] = {}
        if steps and (vertex := vertex_of(point.outputs[o])) is not None:
            level = new_level()
            roots = [(vertex, Batched(Tensor(array_like(point.outputs[o], np.stack(steps))), level))]
            targets = [x._node for x in point.leaves.values()]
            with no_grad():
                grads = sweep(roots, _plain, inputs=targets, retain_graph=True, create_graph=True, accumulate=False)
        for i, seen in inputs.items():
            g = _members(grads.get(point.leaves[i]._node), len(steps), point.leaves[i])
            columns = [seen.components(one) for one in g]
            found[o, i] = _matrix(columns, seen.count).T
        advance()
    return found


def by_forward(
    point: Point,
    inputs: Mapping[int, Directions],
    outputs: Mapping[int, Directions],
    advance: Advance,
    *,
    batched: bool = False,
) -> Matrices:
    """Return the matrices computed by forward mode: a pass for each direction of the inputs, or one on a batch."""
    found: Matrices = {}
    for i, along in inputs.items():
        steps = list(along.steps())
        rows: dict[int, list[Any]] = {o: [] for o in outputs}
        chunks = [np.stack(steps)] if batched and steps else steps
        for chunk in chunks:
            tangents = _pushed(point, i, chunk, batched)
            for o, seen in outputs.items():
                count = len(steps) if batched else 1
                rows[o] += [seen.components(one) for one in _members(tangents.get(o), count, point.outputs[o])]
            advance()
        for o, seen in outputs.items():
            found[o, i] = _matrix(rows[o], seen.count)
    return found


def _pushed(point: Point, position: int, tangent: Any, batched: bool) -> dict[int, Any]:
    """Return the tangents of the outputs for the tangent, or a batch of tangents, of one argument."""
    batch, level = new_level(), new_level()
    t: Any = Tensor(array_like(point.leaves[position], tangent))
    t = Batched(t, batch) if batched else t
    values = {i: x.detach().clone() for i, x in point.leaves.items()}
    ys = point.at({**values, position: Dual(values[position], t, level)})
    return {o: tangent_at(y, level) for o, y in ys.items()}


def _members(value: Any, count: int, like: Any) -> list[Any]:
    """Return the arrays of a batch, or a single one as often; zeros for None."""
    if value is None:
        return [np.zeros(like.shape, like.dtype)] * count
    if isinstance(value, Tracer):
        return list(values_of(value.value))
    return [values_of(value)] * count


def _plain(array: Any) -> Any:
    return wrapped(Tensor, array)
