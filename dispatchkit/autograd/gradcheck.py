"""Derivatives checked against finite differences: `gradcheck`, `gradgradcheck`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatchkit.autograd.checking import Check, Options, name_of, random_like
from dispatchkit.autograd.functional import grad
from dispatchkit.autograd.jacobians import Point, array_like
from dispatchkit.errors import GradcheckError
from dispatchkit.tensor import Tensor

__all__ = ["gradcheck", "gradgradcheck"]

Function = Callable[..., Any]

PRECISION = (
    "gradcheck: input {index} is {dtype}, in which differences are too coarse to compare with; pass float64 or "
    "complex128"
)


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
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
    twice, are moved one by one. Random directions are the same in each run. On a terminal, a progress bar appears
    after a second. Source: PyTorch, `torch.autograd.gradcheck`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> dk.autograd.gradcheck(dk.exp, (x,), check_forward_ad=True)
    True
    """
    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        fast_mode=fast_mode,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=check_backward_ad,
    )
    return _checked("gradcheck", func, inputs, options, raise_exception)


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
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
) -> bool:
    """Compare second derivatives with central differences of the first.

    Parameters
    ----------
    func, inputs : as for `gradcheck`
    grad_outputs : cotangents of the outputs; drawn at random by default
    eps, atol, rtol : as for `gradcheck`
    seed : of the random cotangents
    raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes : as for `gradcheck`
    check_batched_grad, fast_mode : as for `gradcheck`

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
    point = _point("gradgradcheck", func, inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(seed)
        outputs = [y for y in point.outputs.values() if y.requires_grad]
        cotangents = [Tensor(array_like(y, random_like(rng, y)), requires_grad=True) for y in outputs]
    else:
        cotangents = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    count = len(point.arguments)

    def first(*values: Any) -> Any:
        own, vs = values[:count], values[count:]
        wanted = [own[i] for i in point.checked]
        result = func(*own)
        several = list(result) if isinstance(result, (list, tuple)) else [result]
        ys = [y for y in several if isinstance(y, Tensor) and y.requires_grad]
        found = grad(ys, wanted, vs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        fast_mode=fast_mode,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=False,
        check_forward_ad=False,
        check_backward_ad=True,
    )
    first.__qualname__ = f"the gradient of {name_of(func)}"
    return _checked("gradgradcheck", first, [*point.arguments, *cotangents], options, raise_exception)


def _point(name: str, func: Function, inputs: Any) -> Point:
    point = Point(func, inputs)
    if not point.checked:
        raise ValueError(f"{name}: no input is a tensor that requires a gradient")
    return point


def _checked(name: str, func: Function, inputs: Any, options: Options, raise_exception: bool) -> bool:
    point = _point(name, func, inputs)
    for i, x in point.leaves.items():
        if x.dtype not in (np.float64, np.complex128):
            warnings.warn(PRECISION.format(index=i, dtype=x.dtype), UserWarning, stacklevel=3)
    try:
        Check(name, point, options).run()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True
