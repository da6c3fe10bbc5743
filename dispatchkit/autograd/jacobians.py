"""Matrices of derivatives of a function at a point: by differences, by backward passes, and by forward mode.

A complex number counts as two real ones. A matrix has a row for each direction of the input and a column for each
direction of the output: all of them, or one drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dispatchkit.autograd.functional import grad
from dispatchkit.backends.arrays import as_numpy, dtype_name, is_inexact, namespace_of
from dispatchkit.declare.random_state import drawing_by
from dispatchkit.declare.wrapping import make_leaf
from dispatchkit.errors import GradcheckError, RandomnessError
from dispatchkit.progress import ProgressBar
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.gradients import as_list
from dispatchkit.tensor.tensor import twin
from dispatchkit.transforms import Batched, Dual
from dispatchkit.transforms.dual import tangent_at
from dispatchkit.transforms.tracer import Tracer, new_level

Matrices: TypeAlias = dict[tuple[int, int], Any]


class Directions:
    """In which directions a tensor moves, or is looked at: one for each real number in it, or one drawn at random.

    Parameters
    ----------
    tensor : whose directions they are
    rng : draws one direction, of length 1; all are there by default
    """

    def __init__(self, tensor: Any, rng: np.random.Generator | None = None) -> None:
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.units: tuple[complex, ...] = (1.0,)
        if tensor.dtype.kind == "c":
            self.units = (1.0, 1j)
        if rng is None:
            self.count = tensor.size * len(self.units)
        else:
            self.count = 1
        self.drawn: Any = None
        if rng is not None:
            parts = [unit * rng.standard_normal(tensor.shape) for unit in self.units]
            step = sum(parts[1:], parts[0])
            self.drawn = np.asarray(step / max(float(np.linalg.norm(step)), 1e-300), dtype=tensor.dtype)

    def steps(self) -> Iterator[Any]:
        """Yield the directions, NumPy arrays of the tensor's shape and dtype."""
        if self.drawn is not None:
            yield self.drawn
            return
        for index in np.ndindex(self.shape):
            for unit in self.units:
                step = np.zeros(self.shape, dtype=self.dtype)
                step[index] = unit
                yield step

    def components(self, array: Any) -> Any:
        """Return how far an array goes in each direction."""
        if self.drawn is None:
            return reals(array)
        return np.array([reals(array) @ reals(self.drawn)])

    @property
    def spread(self) -> float:
        """How much an error of the same size in each element adds up to in one component."""
        if self.drawn is None:
            return 1.0
        return float(np.abs(reals(self.drawn)).sum())

    def place_of(self, number: int) -> str:
        """Return where one of all directions is in the array, such as ``[1, 0].imag``."""
        place, part = divmod(number, len(self.units))
        text = ""
        if self.shape:
            text = f"[{', '.join(str(int(i)) for i in np.unravel_index(place, self.shape))}]"
        if len(self.units) > 1:
            text += (".real", ".imag")[part]
        return text


# How the error begins of a function whose outputs differ in form next to each other.
DEPENDS = "The {what}s of the outputs depend on the values"


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
        self.arguments = as_list(inputs)
        self.checked = [i for i, x in enumerate(self.arguments) if isinstance(x, Tensor) and x.requires_grad]
        self.leaves = {i: _leaf(self.arguments[i], values_of(self.arguments[i])) for i in self.checked}
        if self.checked:
            self.outputs = self.at(self.leaves)
        else:
            self.outputs = {}

    def at(self, replaced: Mapping[int, Any]) -> dict[int, Any]:
        """Return the outputs with some arguments replaced; those not replaced that are checked are leaves anew."""
        arguments = list(self.arguments)
        for i, x in enumerate(self.arguments):
            if i in replaced:
                arguments[i] = replaced[i]
            elif i in self.leaves:
                arguments[i] = _leaf(x, values_of(x))
        result = self.func(*arguments)
        if isinstance(result, (list, tuple)):
            several = list(result)
        else:
            several = [result]
        return {i: y for i, y in enumerate(several) if isinstance(y, Tensor) and is_inexact(y.dtype)}

    def move(self, position: int, step: Any) -> dict[int, Any]:
        """Return the outputs with one argument moved.

        Raises
        ------
        GradcheckError : if they differ in number, shape or dtype from those at the point
        """
        x = self.arguments[position]
        outputs = self.at({position: _leaf(x, values_of(x) + step)})
        for what, describe in (("shape", _shapes_of), ("dtype", _dtypes_of)):
            here, moved = describe(self.outputs), describe(outputs)
            if here != moved:
                raise GradcheckError(
                    f"{DEPENDS.format(what=what)} of input {position}: {list(here.values())} at the point, "
                    f"{list(moved.values())} next to it; such a function has no derivative"
                )
        return outputs


def values_of(x: Any) -> Any:
    """Return the elements of a tensor of any library as a NumPy array."""
    return as_numpy("gradcheck", x.array)


def array_like(x: Any, values: Any) -> Any:
    """Return NumPy's values as a new array of the library that a tensor's array is of."""
    return namespace_of(x.array).asarray(values, copy=True)


def _shapes_of(outputs: Mapping[int, Any]) -> dict[int, tuple[int, ...]]:
    return {number: tuple(y.shape) for number, y in outputs.items()}


def _dtypes_of(outputs: Mapping[int, Any]) -> dict[int, str]:
    return {number: dtype_name(y.array.dtype) for number, y in outputs.items()}


def _leaf(like: Any, values: Any) -> Any:
    """Return a leaf of the class of a tensor."""
    leaf = twin(like)
    leaf.array = array_like(like, values)
    leaf._node = make_leaf(leaf.array)
    return leaf


def reals(array: Any) -> Any:
    """Return the real and imaginary parts of an array one after the other, elementwise."""
    flat = np.ravel(array)
    if flat.dtype.kind == "c":
        return np.stack([flat.real, flat.imag], axis=1).ravel()
    return flat


def gradients(point: Point, cotangents: Mapping[int, Any]) -> dict[int, Any]:
    """Return the gradients of the checked arguments for cotangents of some outputs, NumPy's; zeros for none."""
    roots = [(point.outputs[o], v) for o, v in cotangents.items() if point.outputs[o].requires_grad]
    grads: Sequence[Any] = [None] * len(point.leaves)
    if roots:
        ys, vs = [y for y, _ in roots], [Tensor(array_like(y, v)) for y, v in roots]
        grads = grad(ys, list(point.leaves.values()), vs, retain_graph=True, allow_unused=True)
    arrays = {}
    for (position, leaf), gradient in zip(point.leaves.items(), grads, strict=True):
        if gradient is None:
            arrays[position] = np.zeros(leaf.shape, leaf.dtype)
        else:
            arrays[position] = values_of(gradient)
    return arrays


@dataclass(frozen=True)
class Jacobians:
    """Matrices of derivatives at a point, by the positions of output and input.

    Attributes
    ----------
    point : the function and where
    inputs, outputs : directions of the arguments and the outputs that are looked at
    bar : counts the steps
    """

    point: Point
    inputs: Mapping[int, Directions]
    outputs: Mapping[int, Directions]
    bar: ProgressBar

    def by_differences(self, eps: float) -> Matrices:
        """Return the matrices of central differences, by steps of this length."""

        def slopes(i: int, step: Any) -> dict[int, Any]:
            ahead, behind = self.point.move(i, eps * step), self.point.move(i, -eps * step)
            return {o: [(values_of(ahead[o]) - values_of(behind[o])) / (2 * eps)] for o in self.outputs}

        return self._by_inputs(slopes)

    def by_forward(self, *, batched: bool = False) -> Matrices:
        """Return the matrices computed by forward mode: a pass for each direction of the inputs, or one on a batch."""
        point = self.point

        def push(i: int, tangent: Any) -> dict[int, Any]:
            batch, level = new_level(), new_level()
            t: Any = Tensor(array_like(point.leaves[i], tangent))
            if batched:
                t = Batched(t, batch)
            values = {position: x.detach().clone() for position, x in point.leaves.items()}
            with drawing_by(_refuse_drawing) if batched else nullcontext():
                ys = point.at({**values, i: Dual(values[i], t, level)})
            count = 1
            if batched:
                count = len(tangent)
            return {o: _members(tangent_at(ys[o], level), count, point.outputs[o]) for o in self.outputs}

        return self._by_inputs(push, batched)

    def by_backward(self) -> Matrices:
        """Return the matrices computed by backward passes, one for each direction of the outputs."""
        return self._by_outputs(lambda o, step: {i: [g] for i, g in gradients(self.point, {o: step}).items()})

    def by_batched_backward(self) -> Matrices:
        """Return the matrices computed by one backward pass for each output, on a batch of all its directions."""

        def pull(o: int, steps: Any) -> dict[int, Any]:
            y, leaves = self.point.outputs[o], self.point.leaves
            grads: Sequence[Any] = [None] * len(leaves)
            if y.requires_grad:
                cotangents = Tensor(array_like(y, steps))
                grads = grad(y, list(leaves.values()), cotangents, allow_unused=True, is_grads_batched=True)
            zeros = [np.zeros(x.shape, x.dtype) for x in leaves.values()]
            return {
                i: [zero] * len(steps) if g is None else list(values_of(g))
                for i, g, zero in zip(leaves, grads, zeros, strict=True)
            }

        return self._by_outputs(pull, batched=True)

    def _by_inputs(self, derive: Callable[[int, Any], dict[int, Any]], batched: bool = False) -> Matrices:
        rows = self._rows(self.inputs, self.outputs, derive, batched)
        return {(o, i): matrix for (i, o), matrix in rows.items()}

    def _by_outputs(self, derive: Callable[[int, Any], dict[int, Any]], batched: bool = False) -> Matrices:
        rows = self._rows(self.outputs, self.inputs, derive, batched)
        return {key: matrix.T for key, matrix in rows.items()}

    def _rows(
        self,
        sources: Mapping[int, Directions],
        targets: Mapping[int, Directions],
        derive: Callable[[int, Any], dict[int, Any]],
        batched: bool,
    ) -> Matrices:
        """Return for each source and target a matrix with a row for each direction of the source.

        Parameters
        ----------
        sources, targets : directions of what is moved, and of what is looked at
        derive : gives the arrays at each target for a source and a direction of it, or a batch of all
        batched : whether `derive` is given all directions of a source at once
        """
        matrices: Matrices = {}
        for source, along in sources.items():
            steps = list(along.steps())
            rows: dict[int, list[Any]] = {target: [] for target in targets}
            for step in [np.stack(steps)] if batched and steps else steps:
                arrays = derive(source, step)
                for target, seen in targets.items():
                    rows[target] += map(seen.components, arrays[target])
                self.bar.advance()
            for target, seen in targets.items():
                dtype = np.result_type(float, *rows[target])
                matrices[source, target] = np.array(rows[target], dtype=dtype).reshape(len(steps), seen.count)
        return matrices


def _refuse_drawing(operation: Overridable, *call: Any) -> NoReturn:
    """Raise, as `vmap` does: elements of a batch that draw numbers of their own cannot be compared."""
    raise RandomnessError(
        f"gradcheck: {operation.qualified_name} draws random numbers, which cannot be compared in a batch, as under "
        f"vmap; draw them outside of the function, or leave out check_batched_forward_grad"
    )


def _members(value: Any, count: int, like: Any) -> list[Any]:
    """Return the arrays of a batch, or a single one as often; zeros for None."""
    if value is None:
        return [np.zeros(like.shape, like.dtype)] * count
    if isinstance(value, Tracer):
        return list(values_of(value.value))
    return [values_of(value)] * count
