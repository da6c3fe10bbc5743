"""Functions that PyTorch has among all others: of networks, of what are methods, and that change an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dispatchkit.as_torch.attributes.shapes import Shape
from dispatchkit.as_torch.calling.allowed import allowed_names
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Tensor, spell
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["changing_functions", "functions_at_the_top", "method_functions"]

Call = Callable[..., Any]
NETWORKS = "nn.functional"
# Functions of networks with the same arguments there.
SAME = (
    *("bilinear", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
    *("conv_transpose3d", "cosine_similarity", "group_norm", "hardshrink", "layer_norm", "max_pool1d", "max_pool2d"),
    *("max_pool3d", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "rms_norm", "rrelu"),
    *("selu", "threshold", "alpha_dropout", "avg_pool1d", "adaptive_avg_pool1d"),
)


# What are no methods in PyTorch.
NO_FUNCTIONS = frozenset({"cpu", "eig", "layout"})


def functions_at_the_top() -> dict[str, Call]:
    """Return functions of networks, by their names among all others."""
    functions = {name: FUNCTIONS[f"{NETWORKS}.{name}"] for name in SAME}
    written = (batch_norm, broadcast_shapes, dropout, embedding, feature_dropout, frombuffer)
    return {**functions, **{each.__name__: each for each in written}, **changing_functions("")}


def method_functions(held: Mapping[str, Any]) -> dict[str, Call]:
    """Return the functions that call the method of their name, such as `torch.detach` and `torch.exp_`.

    Parameters
    ----------
    held : what the module has already
    """
    names = (allowed_names("") or frozenset()) - held.keys() - NO_FUNCTIONS
    return {name: by_method(name) for name in sorted(names) if name[0] != "_" and callable(getattr(Tensor, name, None))}


def changing_functions(place: str) -> dict[str, Call]:
    """Return the functions of networks that change their first argument, whose names end in an underscore.

    Parameters
    ----------
    place : of the module inside PyTorch: ``""``, or ``"nn.functional"``
    """
    names = [name for name in allowed_names(place) or () if name.endswith("_") and name[0] != "_"]
    functions = {}
    for name in names:
        function = FUNCTIONS.get(f"{NETWORKS}.{name[:-1]}")
        if function is not None and "inplace" in function.__signature__.parameters:  # type: ignore[attr-defined]
            functions[name] = by_option(name, function)
    return functions


def by_method(name: str) -> Call:
    """Return the function that calls a method of its first argument."""

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    return shown_as(function, "", name, f"Call the method `{name}` of the tensor `input`.")


def by_option(name: str, whole: Call) -> Call:
    """Return the function that calls another one with ``inplace=True``."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return whole(*args, **kwargs, inplace=True)

    return shown_as(function, NETWORKS, name, f"Call `{name[:-1]}` with ``inplace=True``.")


def shown_as(function: Call, place: str, name: str, doc: str) -> Call:
    """Give a function its name, the module that it belongs to and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = f"{HOME}.{place}".rstrip("."), doc
    return function


def dropout(input: Any, p: float, train: bool) -> Any:
    """Replace elements by zeros at random, and scale the others: see `torch.nn.functional.dropout`."""
    return FUNCTIONS["nn.functional.dropout"](input, p, train)


def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Replace whole channels of samples, the second axis, by zeros at random, and scale the others."""
    if not train or p == 0 or not input.numel():
        return input
    if p < 1 and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    channels = xp.ones((*input.shape[:2], *(1,) * (input.ndim - 2)), dtype=input.dtype)
    return spell(input * dropout(spell(channels), p, train))


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Return rows of a table: see `torch.nn.functional.embedding`; of a negative `padding_idx` no row is left out."""
    place = None
    if padding_idx >= 0:
        place = padding_idx
    options = {"padding_idx": place, "scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}
    return FUNCTIONS["nn.functional.embedding"](indices, weight, **options)


def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Normalize channels: see `torch.nn.functional.batch_norm`, whose arguments are in another order."""
    return FUNCTIONS["nn.functional.batch_norm"](
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """Return a tensor of one axis in the memory of an object that shows it.

    Parameters
    ----------
    buffer : bytes, an array, or another object with the protocol of buffers
    dtype : of the elements
    count : how many there are, all that fit if negative
    offset : bytes before the first

    Raises
    ------
    ValueError : where so many elements are not there
    """
    elements = np.frombuffer(buffer, dtype=numpy_dtype(dtype), count=count, offset=offset)
    return FUNCTIONS["from_numpy"](elements).requires_grad_(requires_grad)


def broadcast_shapes(*shapes: Any) -> Shape:
    """Return the lengths that axes of several shapes have in common.

    Parameters
    ----------
    *shapes : lengths of axes; a number stands for one axis

    Raises
    ------
    RuntimeError : where they have none, or a length is negative
    """
    lengths = [tuple(shape) if isinstance(shape, (tuple, list)) else (shape,) for shape in shapes]
    if not all(isinstance(length, int) for shape in lengths for length in shape):
        raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {lengths}")
    if any(length < 0 for shape in lengths for length in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {lengths}")
    try:
        return Shape(np.broadcast_shapes(*lengths))
    except ValueError as error:
        raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {lengths}") from error
