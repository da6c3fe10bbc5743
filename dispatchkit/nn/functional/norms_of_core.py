"""Norms of NumPy arrays by the compiled core where it is in use, in one call; what it leaves is computed by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.accelerator import rows
from dispatchkit.backends.arrays import computes_alone
from dispatchkit.nn.functional import channels_numpy, normalization_numpy

__all__ = [
    "batch_norm_alone",
    "batch_norm_flow",
    "group_norm_alone",
    "group_norm_flow",
    "layer_norm_alone",
    "layer_norm_flow",
]


def layer_norm_alone(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized rows; NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, normalized_shape, weight, bias, eps : as `layer_norm` takes them
    """
    if rows is not None:
        y = rows.layer_norm(x, normalized_shape, weight, bias, eps, False)
        if y is not None:
            return y
    return normalization_numpy.layer_norm_alone(x, normalized_shape, weight, bias, eps)


def layer_norm_flow(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized rows and what takes cotangents back; NotImplemented likewise."""

    def by_numpy() -> Any:
        return normalization_numpy.layer_norm_flow(x, normalized_shape, weight, bias, eps)

    if rows is not None:
        answer = rows.layer_norm(x, normalized_shape, weight, bias, eps, True)
        if answer is not None:
            return _flow(answer, x, weight, bias, by_numpy)
    return by_numpy()


def group_norm_alone(x: Any, num_groups: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized groups; NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, num_groups, weight, bias, eps : as `group_norm` takes them
    """
    if rows is not None and computes_alone("numpy"):
        y = rows.group_norm(x, num_groups, weight, bias, eps, False)
        if y is not None:
            return y
    return channels_numpy.group_norm_alone(x, num_groups, weight, bias, eps)


def group_norm_flow(x: Any, num_groups: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized groups and what takes cotangents back; NotImplemented likewise."""

    def by_numpy() -> Any:
        return channels_numpy.group_norm_flow(x, num_groups, weight, bias, eps)

    if rows is not None and computes_alone("numpy"):
        answer = rows.group_norm(x, num_groups, weight, bias, eps, True)
        if answer is not None:
            return _flow(answer, x, weight, bias, by_numpy)
    return by_numpy()


def batch_norm_alone(x: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized channels; NotImplemented for calls that the body is for.

    Parameters
    ----------
    x, weight, bias, eps : as `batch_norm` takes them in training
    """
    if rows is not None and computes_alone("numpy"):
        y = rows.batch_norm(x, weight, bias, eps, False)
        if y is not None:
            return y
    return channels_numpy.batch_norm_alone(x, weight, bias, eps)


def batch_norm_flow(x: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """Return standardized channels and what takes cotangents back; NotImplemented likewise."""

    def by_numpy() -> Any:
        return channels_numpy.batch_norm_flow(x, weight, bias, eps)

    answer = None
    if rows is not None and computes_alone("numpy"):
        answer = rows.batch_norm(x, weight, bias, eps, True)
    if answer is None:
        return by_numpy()
    y, kept = answer

    def pull(g: Any, wanted: Any) -> Any:
        cotangents = rows.norm_back(g[0], x, weight, bias, kept)
        if cotangents is None:
            return by_numpy()[1](g, wanted)
        of_x, of_weight, of_bias = cotangents
        return of_x, None, None, of_weight, of_bias

    return y, pull


def _flow(answer: Any, x: Any, weight: Any, bias: Any, by_numpy: Callable[[], Any]) -> Any:
    """Return a result, and what takes its cotangent back: the core's, or NumPy's where something is to be warned of."""
    y, kept = answer

    def pull(g: Any, wanted: Any) -> Any:
        cotangents = rows.norm_back(g[0], x, weight, bias, kept)
        if cotangents is None:
            return by_numpy()[1](g, wanted)
        return cotangents

    return y, pull
