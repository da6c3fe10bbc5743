"""Hypothesis strategies: tensors, shapes, and axes that fit a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchkit.declare.namespace import tensor_namespace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy


def _hypothesis() -> tuple[Any, Any]:
    """Return the strategies of Hypothesis and those of its extra for NumPy.

    Raises
    ------
    ImportError : where Hypothesis is not installed, naming what to install
    """
    try:
        from hypothesis import strategies  # noqa: PLC0415  # an optional dependency
        from hypothesis.extra import numpy  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("dispatchkit.testing: strategies need Hypothesis; install dispatchkit[testing]") from error
    return strategies, numpy


def shapes(
    *, min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> SearchStrategy[tuple[int, ...]]:
    """Return a strategy for shapes.

    Parameters
    ----------
    min_dims, max_dims : bounds of the number of axes
    min_side, max_side : bounds of their lengths

    Returns
    -------
    SearchStrategy
        Draws tuples of ints.

    Examples
    --------
    >>> from hypothesis import given
    >>> from dispatchkit.testing import shapes
    >>> @given(shapes(max_dims=2, min_side=1))
    ... def test_sizes(shape):
    ...     assert len(shape) <= 2
    ...     assert 0 not in shape
    >>> test_sizes()
    """
    _, extra = _hypothesis()
    strategy: SearchStrategy[tuple[int, ...]] = extra.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )
    return strategy


def axes(shape: Sequence[int] | int, *, none: bool = True, several: bool = True) -> SearchStrategy[Any]:
    """Return a strategy for the ``axis`` of a reduction.

    Parameters
    ----------
    shape : of the array, or its number of axes
    none : whether None is among them
    several : whether tuples of axes are among them

    Returns
    -------
    SearchStrategy
        Draws an int, a tuple of ints, or None.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from hypothesis import given
    >>> from dispatchkit.testing import axes
    >>> @given(axes((2, 3)))
    ... def test_sums(axis):
    ...     dk.sum(dk.ones((2, 3)), axis=axis)
    >>> test_sums()
    """
    strategies, extra = _hypothesis()
    if isinstance(shape, int):
        ndim = shape
    else:
        ndim = len(shape)
    choices = []
    if none:
        choices = [strategies.none()]
    if ndim:
        choices.append(strategies.integers(-ndim, ndim - 1))
    if several:
        choices.append(extra.valid_tuple_axes(ndim))
    if not choices:
        raise ValueError("axes: an array without axes has no axis; allow none or several")
    strategy: SearchStrategy[Any] = strategies.one_of(*choices)
    return strategy


def tensors(
    shape: Any = None,
    dtype: Any = None,
    *,
    requires_grad: Any = False,
    elements: SearchStrategy[Any] | None = None,
    unique: bool = False,
) -> SearchStrategy[Any]:
    """Return a strategy for tensors.

    Parameters
    ----------
    shape : a shape, or a strategy for shapes; `shapes` by default
    dtype : a dtype, or a strategy for dtypes; float64 by default
    requires_grad : True, False, or a strategy for them; integers and booleans never require a gradient
    elements : a strategy for the elements; by default any of the dtype, floating-point ones finite and between -10
        and 10
    unique : whether no two elements are equal

    Returns
    -------
    SearchStrategy
        Draws tensors.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from hypothesis import given
    >>> from dispatchkit.testing import tensors
    >>> @given(tensors(shape=(2, 3), requires_grad=True))
    ... def test_gradient_of_a_sum(x):
    ...     x.sum().backward()
    ...     assert (x.grad == 1).all()
    >>> test_gradient_of_a_sum()
    """
    strategies, extra = _hypothesis()

    def strategy_of(value: Any) -> Any:
        if isinstance(value, strategies.SearchStrategy):
            return value
        return strategies.just(value)

    wanted = dtype
    if dtype is None:
        wanted = "float64"

    @strategies.composite  # type: ignore[untyped-decorator]
    def drawn(draw: Any) -> Any:
        kind = np.dtype(draw(strategy_of(wanted)))
        array = draw(
            extra.arrays(
                kind, draw(lengths), elements=_elements(kind, extra) if elements is None else elements, unique=unique
            )
        )
        flag = draw(strategy_of(requires_grad)) and kind.kind in "fc"
        return tensor_namespace.tensor(array, requires_grad=bool(flag))

    if shape is None:
        lengths = shapes()
    else:
        lengths = strategy_of(shape)
    strategy: SearchStrategy[Any] = drawn()
    return strategy


def _elements(dtype: Any, extra: Any) -> Any:
    """Return a strategy for elements of a dtype: floating-point ones finite, of ordinary size."""
    bounds = {"f": {"min_value": -10.0, "max_value": 10.0}, "c": {"max_magnitude": 10.0}}.get(dtype.kind)
    if bounds is None:
        return extra.from_dtype(dtype)
    return extra.from_dtype(dtype, allow_nan=False, allow_infinity=False, allow_subnormal=False, **bounds)
