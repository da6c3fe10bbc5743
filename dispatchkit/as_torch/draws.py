"""Methods that set the elements of a tensor to what is drawn at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchkit import random
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["DRAWN"]

Call = Callable[..., Any]


def drawing(draw: Call, formula: Call) -> Call:
    """Return the method that sets every element to what a formula makes of a number that is drawn."""

    def method(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
        return self.copy_(formula(draw(shape=self.shape, generator=generator), *args, **kwargs))

    return method


DRAWN = {
    "bernoulli_": drawing(random.uniform, lambda x, p=0.5: x < p),
    "cauchy_": drawing(random.uniform, lambda x, median=0.0, sigma=1.0: median + sigma * xp.tan(math.pi * (x - 0.5))),
    "exponential_": drawing(random.uniform, lambda x, lambd=1.0: -xp.log1p(-x) / lambd),
    "geometric_": drawing(random.uniform, lambda x, p: xp.ceil(xp.log1p(-x) / math.log1p(-p))),
    "log_normal_": drawing(random.normal, lambda x, mean=1.0, std=2.0: xp.exp(mean + std * x)),
}
