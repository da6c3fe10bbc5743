"""Up to three transformations of `torch.func`, one around the other, of functions of one array."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from .calls import Array, Call

__all__ = ["draw_transformed_call", "transformed"]

Function = Callable[[Any], Any]
NAMES = ("vmap", "vmap", "grad", "jacrev", "jacfwd", "jvp", "vjp", "hessian")
LARGEST = 6  # elements, of which derivatives of third order have few enough


def draw_transformed_call(rng: random.Random, call: Call) -> Call | None:
    """Return the call of a function whose transformation is taken by its first argument; None where that cannot be.

    Parameters
    ----------
    rng : what draws
    call : of a function, whose first argument is the one
    """
    if call.form != "function" or not call.args or not isinstance(call.args[0], Array):
        return None
    first = call.args[0]
    if first.data.dtype != np.float64 or not 0 < first.data.size <= LARGEST or call.kwargs.get("out") is not None:
        return None
    names = tuple(rng.choice(NAMES) for _ in range(rng.choice((1, 2, 2, 3, 3))))
    data = first.data
    for place in range(names.count("vmap")):
        data = np.stack([data, data * 0.75 + 0.125 * (place + 1)])
    return call.changed(form="transformed", args=(Array(data), *call.args[1:]), transformations=names)


def transformed(module: Any, function: Any, call: Call, args: Any, kwargs: Any) -> Any:
    """Return what the transformation of a function gives.

    Parameters
    ----------
    module : PyTorch, or what has its names
    function : that is transformed
    call, args, kwargs : which transformations, and the arguments in the library
    """

    def of_one(x: Any) -> Any:
        y = function(x, *args[1:], **kwargs)
        while isinstance(y, (tuple, list)):
            y = y[0]
        return y

    f: Function = of_one
    for name in call.transformations:
        f = around(module.func, name, f)
    return f(args[0])


def around(func: Any, name: str, f: Function) -> Function:
    """Return a transformation of a function, of whose results numbers are made where there must be one."""

    def number(x: Any) -> Any:
        return f(x).sin().sum()

    def pushed(x: Any) -> Any:
        return func.jvp(f, (x,), (x * 0.5 + 1.0,))[1]

    def pulled(x: Any) -> Any:
        y, pull = func.vjp(f, x)
        return pull(y * 0.5 + 1.0)[0]

    made = {"jvp": pushed, "vjp": pulled}
    if name in made:
        return made[name]
    transformation: Any = getattr(func, name)
    if name in ("grad", "hessian"):
        f = number
    whole: Function = transformation(f)
    return whole
