"""Derivatives checked against finite differences: `gradcheck`, `gradgradcheck`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from dispatchkit.autograd.functional import grad
from dispatchkit.autograd.jacobians import Directions, Jacobians, Matrices, Point, array_like, gradients
from dispatchkit.errors import GradcheckError
from dispatchkit.progress import ProgressBar
from dispatchkit.tensor import Tensor

FORWARD = "Jacobian computed with forward mode mismatch for output {o} with respect to input {i},"
BACKWARD = "Jacobian mismatch for output {o} with respect to input {i},"
BATCHED = "Jacobian computed with batches (vmap) in {mode} mode mismatch for output {o} with respect to input {i},"
REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {bound}."
)
UNDEFINED = (
    "Expected backward function to handle undefined output grads, but without one for output {o} that of input {i} is "
    "not the one for zeros"
)
ZERO = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but that of input "
    "{i} is not"
)


class GradientCheck:
    """A check of the derivatives of a function at a point; each method is a part of it.

    Parameters
    ----------
    name : shown with the progress
    point : the function and where
    options : what is checked, and how closely, as the parameters of `gradcheck`
    """

    def __init__(self, name: str, point: Point, options: SimpleNamespace) -> None:
        self.name = name
        self.point = point
        self.options = options
        rng = None
        if options.fast_mode:
            rng = np.random.default_rng(0)
        self.inputs = {i: Directions(x, rng) for i, x in point.leaves.items()}
        self.outputs = {o: Directions(y, rng) for o, y in point.outputs.items()}

    def run(self) -> None:
        """Run every part that the options ask for.

        Raises
        ------
        GradcheckError : from the first that fails
        """
        options = self.options
        with ProgressBar(self.name, self._count(), options.progress) as bar:
            jacobians = Jacobians(self.point, self.inputs, self.outputs, bar)
            numerical = jacobians.by_differences(options.eps)
            if options.check_backward_ad:
                self.backward(numerical, jacobians)
            if options.check_forward_ad:
                self.forward(numerical, jacobians)
            if options.check_undefined_grad and options.check_backward_ad:
                self.check_undefined()

    def _count(self) -> int:
        """Return how many steps the whole check takes."""
        options = self.options
        rows = sum(directions.count for directions in self.inputs.values())
        columns = sum(directions.count for directions in self.outputs.values())
        count: int = rows + rows * options.check_forward_ad + 2 * columns * options.check_backward_ad
        count += len(self.outputs) * options.check_batched_grad + len(self.inputs) * options.check_batched_forward_grad
        return count

    def forward(self, numerical: Matrices, jacobians: Jacobians) -> None:
        """Compare forward mode."""
        pushed = jacobians.by_forward()
        self.compare(FORWARD, numerical, pushed, Jacobians.by_forward)
        if self.options.check_batched_forward_grad:
            self.compare(BATCHED.replace("{mode}", "forward"), pushed, jacobians.by_forward(batched=True), None)

    def backward(self, numerical: Matrices, jacobians: Jacobians) -> None:
        """Compare backward passes with the differences and with each other."""
        options = self.options
        pulled = jacobians.by_backward()
        self.compare(BACKWARD, numerical, pulled, Jacobians.by_backward)
        again = jacobians.by_backward()
        for (o, i), matrix in pulled.items():
            apart = np.abs(matrix - again[o, i]).max(initial=0.0)
            if not apart <= options.nondet_tol:
                difference = f"output {o}, input {i}: values differ by up to {apart:.6g}"
                raise self.failure(REENTRANT.format(bound=options.nondet_tol), difference)
        if options.check_batched_grad:
            self.compare(BATCHED.replace("{mode}", "reverse"), pulled, jacobians.by_batched_backward(), None)
        if options.check_grad_dtypes:
            self.dtypes()

    def failure(self, headline: str, *notes: str) -> GradcheckError:
        """Return the error of a failed check."""
        return GradcheckError(headline, notes=[*notes, f"checked: {name_of(self.point.func)}"])

    def compare(
        self, headline: str, expected: Matrices, computed: Matrices, slowly: Callable[..., Matrices] | None
    ) -> None:
        """Raise if two matrices differ; in fast mode, `slowly` computes the whole matrix for the message."""
        for (o, i), numerical in expected.items():
            analytical = computed[o, i]
            atol = self.options.atol * max(1.0, self.outputs[o].spread * self.inputs[i].spread)
            if np.allclose(analytical, numerical, rtol=self.options.rtol, atol=atol):
                continue
            notes: list[str] = []
            if self.options.fast_mode and slowly is not None:
                values = [f"{float(matrix[0, 0]):.6g}" for matrix in (numerical, analytical)]
                notes.append(f"found in fast mode, in one direction: {' and '.join(values)}")
                numerical, analytical = self._whole(o, i, slowly)
            if not self.options.fast_mode or slowly is not None:
                notes.append(self._worst(o, i, numerical, analytical))
            error = self.failure(headline.format(o=o, i=i), *notes)
            error.numerical, error.analytical = str(numerical), str(analytical)
            raise error

    def _whole(self, o: int, i: int, slowly: Callable[..., Matrices]) -> tuple[Any, Any]:
        """Return the numerical and the analytical matrix of a pair in all directions."""
        inputs, outputs = {i: Directions(self.point.leaves[i])}, {o: Directions(self.point.outputs[o])}
        jacobians = Jacobians(self.point, inputs, outputs, ProgressBar(self.name, progress=False))
        return jacobians.by_differences(self.options.eps)[o, i], slowly(jacobians)[o, i]

    def _worst(self, o: int, i: int, numerical: Any, analytical: Any) -> str:
        """Describe the entry that is farthest out of bounds."""
        apart = np.abs(analytical - numerical)
        excess = apart - self.options.rtol * np.abs(numerical)
        row, column = np.unravel_index(np.argmax(np.where(np.isnan(excess), np.inf, excess)), excess.shape)
        source = Directions(self.point.leaves[i]).place_of(int(row))
        target = Directions(self.point.outputs[o]).place_of(int(column))
        n, a, d = numerical[row, column], analytical[row, column], apart[row, column]
        return (
            f"worst entry: [{row}, {column}], output {o}{target} with respect to input {i}{source}: numerical {n:.6g}, "
            f"analytical {a:.6g}, difference {d:.6g}"
        )

    def dtypes(self) -> None:
        """Raise if a gradient has not the dtype of its input."""
        for o, y in self.point.outputs.items():
            for i, g in gradients(self.point, {o: np.ones(y.shape, y.dtype)}).items():
                if g.dtype != self.point.leaves[i].dtype:
                    raise self.failure(
                        f"the gradient of output {o} with respect to input {i} is {g.dtype}, the input "
                        f"{self.point.leaves[i].dtype}"
                    )

    def check_undefined(self) -> None:
        """Raise if an output without a gradient does not count as one whose gradient is zero."""
        outputs = {o: y for o, y in self.point.outputs.items() if y.requires_grad}
        rng = np.random.default_rng(1)
        zeros = {o: np.zeros(y.shape, y.dtype) for o, y in outputs.items()}
        for i, g in gradients(self.point, zeros).items():
            if np.any(g):
                raise self.failure(ZERO.format(i=i), f"found: {g}")
        if len(outputs) < 2:
            return
        cotangents = {o: random_like(rng, y) for o, y in outputs.items()}
        for o in outputs:
            expected = gradients(self.point, {**cotangents, o: zeros[o]})
            without = gradients(self.point, {k: v for k, v in cotangents.items() if k != o})
            for i, g in without.items():
                if not np.allclose(g, expected[i], rtol=1e-8, atol=1e-12):
                    raise self.failure(UNDEFINED.format(o=o, i=i), f"with zeros: {expected[i]}", f"found: {g}")


def random_like(rng: np.random.Generator, x: Any) -> Any:
    """Return random numbers of the shape and dtype of a tensor, as a NumPy array."""
    values = rng.uniform(-1, 1, size=x.shape)
    if x.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, size=x.shape)
    return np.asarray(values, dtype=x.dtype)


def name_of(func: Callable[..., Any]) -> str:
    """Return the name of a function, for messages."""
    return str(getattr(func, "__qualname__", None) or type(func).__qualname__).replace("<locals>.", "")


Function = Callable[..., Any]
# What `gradgradcheck` does not offer.
NOT_OF_SECOND = {"check_forward_ad": False, "check_backward_ad": True, "check_batched_forward_grad": False}
PRECISION = (
    "gradcheck: input {index} is {dtype}, in which differences are too coarse to compare with; pass float64 or "
    "complex128"
)


def gradcheck(
    func: Function,
    inputs: Tensor | Iterable[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    progress: bool | None = None,
) -> bool:
    """Compare the derivatives of a function with central differences.

    Parameters
    ----------
    func : takes `inputs`, gives a tensor or a tuple of tensors
    inputs : arguments; the tensors among them that require gradients are checked, in double precision
    eps : step of the differences
    atol, rtol : bounds on the disagreement, absolute and relative to the numerical value
    raise_exception : raise on disagreement, rather than return False
    nondet_tol : bound on how much two backward passes through one graph may differ
    check_undefined_grad : whether outputs that no gradient arrives at must count as ones with gradient zero
    check_grad_dtypes : whether gradients must have the dtype of their inputs
    check_batched_grad : whether a backward pass on a batch of cotangents must give the same, as under `vmap`
    check_batched_forward_grad : likewise for tangents
    check_forward_ad : whether forward mode is compared, too
    check_backward_ad : whether backward passes are compared
    fast_mode : compare one random direction of each input and output instead of all
    progress : whether it shows how far it is; where None, the default, `set_progress` decides

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    GradcheckError : ``Jacobian mismatch for output i with respect to input j,`` with both matrices and the entry that
        is farthest off; or another of the checks that failed
    ValueError : if no input requires a gradient, or the options leave nothing to check

    Warns
    -----
    UserWarning : for a checked input that is not in double precision

    Notes
    -----
    A complex number counts as two real ones; the gradient of a real loss is its derivative by the real part plus
    i times that by the imaginary part. Each input is copied, so elements that share memory, and a tensor that is passed
    twice, are moved one by one. Random directions are the same in each run.
    Source: PyTorch, `torch.autograd.gradcheck`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> dk.autograd.gradcheck(dk.exp, (x,), check_forward_ad=True)
    True
    """
    return _passes("gradcheck", func, inputs, SimpleNamespace(**locals()))


def gradgradcheck(
    func: Function,
    inputs: Tensor | Iterable[Any],
    grad_outputs: Tensor | Iterable[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    seed: int = 0,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    fast_mode: bool = False,
    progress: bool | None = None,
) -> bool:
    """Compare second derivatives with central differences of the first.

    Parameters
    ----------
    func, inputs : as for `gradcheck`
    grad_outputs : cotangents of the outputs; drawn at random by default
    eps, atol, rtol : as for `gradcheck`
    seed : of the random cotangents
    raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes : as for `gradcheck`
    check_batched_grad, fast_mode, progress : as for `gradcheck`

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    GradcheckError : as for `gradcheck`; the outputs it counts are the gradients of the inputs, and after the inputs
        come the cotangents
    ValueError : if no input requires a gradient

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> dk.autograd.gradgradcheck(dk.exp, (x,))
    True
    """
    options = SimpleNamespace(**locals(), **NOT_OF_SECOND)
    point = _point("gradgradcheck", func, inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(seed)
        outputs = [y for y in point.outputs.values() if y.requires_grad]
        cotangents = [Tensor(array_like(y, random_like(rng, y)), requires_grad=True) for y in outputs]
    elif isinstance(grad_outputs, Tensor):
        cotangents = [grad_outputs]
    else:
        cotangents = list(grad_outputs)
    count = len(point.arguments)

    def first(*values: Any) -> Any:
        arguments, vs = values[:count], values[count:]
        result = func(*arguments)
        outputs = result
        if not isinstance(result, (list, tuple)):
            outputs = [result]
        ys = [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]
        grads = grad(ys, [arguments[i] for i in point.checked], vs, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    first.__qualname__ = f"the gradient of {name_of(func)}"
    return _passes("gradgradcheck", first, [*point.arguments, *cotangents], options)


def _point(name: str, func: Function, inputs: Any) -> Point:
    point = Point(func, inputs)
    if not point.checked:
        raise ValueError(f"{name}: no input is a tensor that requires a gradient")
    return point


def _passes(name: str, func: Function, inputs: Any, options: SimpleNamespace) -> bool:
    """Return whether a function passes a check, or raise where it does not."""
    if not (options.check_forward_ad or options.check_backward_ad):
        raise ValueError("gradcheck: nothing to check; one of check_forward_ad, check_backward_ad must be True")
    if options.check_batched_grad and not options.check_backward_ad:
        raise ValueError("gradcheck: check_batched_grad needs check_backward_ad")
    if options.check_batched_forward_grad and not options.check_forward_ad:
        raise ValueError("gradcheck: check_batched_forward_grad needs check_forward_ad")
    point = _point(name, func, inputs)
    for i, x in point.leaves.items():
        if x.dtype not in (np.float64, np.complex128):
            warnings.warn(PRECISION.format(index=i, dtype=x.dtype), UserWarning, stacklevel=3)
    try:
        GradientCheck(name, point, options).run()
    except GradcheckError:
        if options.raise_exception:
            raise
        return False
    return True
