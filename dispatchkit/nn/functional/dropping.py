"""Elements left out at random: `dropout`."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.decorators import operation
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.samples import draw, sample
from dispatchkit.declare.typing import Array, Namespace
from dispatchkit.nn.functional.shapes import FUNCTIONAL
from dispatchkit.ops.random.generator import Generator
from dispatchkit.ops.shared.arguments import Named
from dispatchkit.ops.shared.arrays import floating
from dispatchkit.protocol.kinds import kinds

__all__ = ["dropout"]


@operation(
    kind=kinds.function,
    namespace=FUNCTIONAL,
    # Calls that draw nothing: they can be repeated, and batched.
    samples=[sample(draw(2, 3), p=0.0), sample(draw(3), training=False), sample(draw(2), p=1.0)],
)
def dropout(
    xp: Namespace, x: Array, /, p: float = 0.5, training: bool = True, *, generator: Generator | None = None
) -> Array:
    """Replace elements by zeros at random, and scale the others so that the expected value stays.

    Parameters
    ----------
    p : probability that an element is replaced
    training : otherwise nothing is done
    generator : to draw from, the default one, which `dispatchkit.manual_seed` sets, if None

    Returns
    -------
    floating-point array of the shape of `x`; a copy

    Raises
    ------
    ValueError : if the probability is not between 0 and 1

    Notes
    -----
    ``x * keep / (1 - p)``. Source: Srivastava et al., 2014; PyTorch, `torch.nn.functional.dropout`.

    Examples
    --------
    >>> _ = dk.manual_seed(0)
    >>> y = dk.nn.functional.dropout(dk.ones(1000), 0.2)
    >>> dk.unique_values(y)
    tensor([0.0000, 1.2500])
    >>> bool(0.9 < dk.mean(y) < 1.1)
    True
    """
    return dropped(xp, dropout, floating(xp, x), p, training, generator)


def dropped(xp: Namespace, op: Named, x: Any, p: float, training: bool, generator: Generator | None) -> Any:
    """Return an array with elements replaced by zeros.

    Raises
    ------
    ValueError : naming the operation and the probability
    """
    probability(op, "dropout_p" if op is not dropout else "p", p)
    if not training or p == 0:
        return x * 1.0
    if p == 1:
        return x * 0.0
    # By the operation, which asks whoever transforms the call who draws.
    keep = tensor_namespace.random.bernoulli(1.0 - p, shape=tuple(x.shape), generator=generator)
    if xp is not tensor_namespace:
        keep = xp.asarray(keep.array)
    return x * xp.astype(keep * (1.0 / (1.0 - p)), x.dtype)


def probability(op: Named, parameter: str, p: Any) -> float:
    """Return a probability.

    Raises
    ------
    ValueError : if it is no number between 0 and 1
    """
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise ValueError(f"{op.__name__}: {parameter} has to be a probability between 0 and 1, found {p!r}")
    return p
