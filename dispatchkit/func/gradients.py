"""Reverse mode: `grad`, `value_and_grad`, `vjp`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.func.arguments import Argnums, picked, replaced
from dispatchkit.func.containers import described, is_array, mapped, variables_in
from dispatchkit.func.reverse import Recording

__all__ = ["grad", "value_and_grad", "vjp"]


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of another.

    Parameters
    ----------
    func : gives a real number, a tensor of shape ()
    argnums : which positional argument to differentiate by, or a tuple of several; each may be a tensor, a nested
        list, tuple or dictionary of them, or an instance of a declared array type
    has_aux : whether `func` gives a pair of the number and anything else, which is passed on

    Returns
    -------
    function
        It takes the arguments of `func` and returns the gradient, a container like the argument (a tuple for several
        arguments). With `has_aux` it returns a pair: the gradient and the second output of `func`.

    Raises
    ------
    ValueError : when called, if `func` does not give a single real number
    TypeError : if an argument holds no floating-point array
    LostDerivativeError : when called, if `func` reads a Python number of what depends on the argument

    Notes
    -----
    Floating arrays have gradients; all else in a container is copied. Tensors that `func` takes from elsewhere are
    constants, but if they require gradients the result can be differentiated by them with `backward`. Source:
    PyTorch, `torch.func.grad`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.grad(lambda x: (x**3).sum())(dk.tensor([1.0, 2.0]))
    tensor([ 3., 12.])
    """
    both = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, g = both(*args, **kwargs)
        return (g, found[1]) if has_aux else g

    return gradient


def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the value and the gradient of another at once.

    Parameters
    ----------
    func, argnums, has_aux : as for `grad`

    Returns
    -------
    function
        It takes the arguments of `func` and returns a pair: the value and the gradient. With `has_aux` the value is a
        pair of the two outputs of `func`.

    Raises
    ------
    ValueError, TypeError : as for `grad`

    Notes
    -----
    Source: JAX, `jax.value_and_grad`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.func.value_and_grad(lambda x: (x * x).sum())(dk.tensor([1.0, 2.0]))
    (tensor(5.), tensor([2., 4.]))
    """

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        wanted = picked("grad", args, argnums)

        def of_wanted(*values: Any) -> Any:
            return func(*replaced(args, wanted, values), **kwargs)

        recording = Recording("grad", of_wanted, tuple(argument for _, argument in wanted), has_aux=has_aux)
        y = recording.output
        if not _is_scalar(y):
            raise ValueError(
                f"grad: the function must return a single real number, a scalar tensor; found {described(y)}"
            )
        grads = recording.pull(mapped(tensor_namespace.ones_like, y), retain=False)
        value = (y, recording.aux) if has_aux else y
        return value, grads if isinstance(argnums, tuple) else grads[0]

    return both


def _is_scalar(y: Any) -> bool:
    """Return whether an output is a real number: a tensor, or an array type that holds one."""
    if not is_array(y) and (isinstance(y, (list, tuple, Mapping)) or not hasattr(y, "shape")):
        return False
    inside = list(variables_in(y))
    return tuple(y.shape) == () and len(inside) == 1 and tensor_namespace.isdtype(inside[0].dtype, "real floating")


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function, and make the function that pulls cotangents back through it.

    Parameters
    ----------
    func : gives a tensor, or a container of them
    *primals : its arguments: tensors, containers of them, declared array types
    has_aux : whether `func` gives a pair, the second part of which is passed on

    Returns
    -------
    tuple
        The output, and a function that takes a cotangent, a container like the output, and returns a tuple with the
        gradient for each argument; with `has_aux` also the second output of `func`.

    Raises
    ------
    ValueError : from the function, if a cotangent does not fit the output

    Notes
    -----
    The function may be called any number of times, under `vmap`, too. Source: PyTorch, `torch.func.vjp`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> y, pull = dk.func.vjp(dk.sin, dk.tensor([0.0, 1.0]))
    >>> pull(dk.ones(2))
    (tensor([1.0000, 0.5403]),)
    """
    recording = Recording("vjp", func, primals, has_aux=has_aux)

    def vjp_fn(cotangents: Any) -> tuple[Any, ...]:
        return recording.pull(cotangents, retain=True)

    return (recording.output, vjp_fn, recording.aux) if has_aux else (recording.output, vjp_fn)
