"""`detect_anomaly`: failing backward passes show where the forward was."""

from __future__ import annotations

from dispatchkit.graph.anomaly import Anomaly
from dispatchkit.protocol.blocks import Block, Setting
from dispatchkit.protocol.observers import active_observer, watch_state

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """Return whether `detect_anomaly` is on in this thread or task.

    Returns
    -------
    bool
        True inside of `detect_anomaly`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.autograd.detect_anomaly():
    ...     dk.autograd.is_anomaly_enabled()
    True
    """
    return active_observer(Anomaly) is not None


class set_detect_anomaly(Setting):  # noqa: N801  # PyTorch's name
    """Switch `detect_anomaly` on or off at once; `with` switches it back on leaving.

    Parameters
    ----------
    mode : whether it is on from here on
    check_nan : whether gradients that are no numbers count as failures

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.autograd.set_detect_anomaly(True):
    ...     dk.autograd.is_anomaly_enabled()
    True
    >>> dk.autograd.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(watch_state, Anomaly(check_nan, is_on=mode))


class detect_anomaly(Block):  # noqa: N801  # PyTorch's name
    """Show where the operation was recorded whose backward fails, inside a `with` block or a decorated function.

    Each operation that is recorded inside remembers the lines it was called from. In a backward pass inside, a rule
    that raises, or gives a gradient with NaN in it, raises an error that shows them.

    Parameters
    ----------
    check_nan : whether gradients that are no numbers count as failures

    Raises
    ------
    AnomalyError : from the backward pass, an `AutogradError`; what a rule raised is its ``__cause__``

    Notes
    -----
    It makes every call slower, and is for finding errors. It belongs to the thread or asyncio task. With
    ``create_graph=True`` the operations that the backward pass records remember, too, whose backward recorded them.
    Source: PyTorch, `torch.autograd.detect_anomaly`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> @dk.operation
    ... def half(xp, x, /):
    ...     return x / 2
    >>> @half.def_vjp("x")
    ... def half_vjp(g):
    ...     return g * float("nan")
    >>> x = dk.tensor(1.0, requires_grad=True)
    >>> with dk.autograd.detect_anomaly():
    ...     half(x).backward()
    Traceback (most recent call last):
        ...
    dispatchkit.errors.AnomalyError: Function 'HalfBackward' returned nan values in its 0th output.
    It was recorded here (most recent call last):
    ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(watch_state, Anomaly(check_nan))
