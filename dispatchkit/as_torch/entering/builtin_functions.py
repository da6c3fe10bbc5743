"""Functions at PyTorch's top that are of another form among those of networks, as numbers stand for words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dispatchkit.as_torch.network_functions.grids import renormalize
from dispatchkit.as_torch.shared import word_for
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Tensor, spell
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional

__all__ = ["OF_NETWORKS", "OF_THE_TOP", "OF_UNIQUE"]

Call = Callable[..., Any]
NETWORKS = "nn.functional"
# What becomes of the losses of the elements, by the number that says it. PyTorch's own default is the first, whatever
# its schemas say.
REDUCTIONS = ("none", "mean", "sum")


def _of_networks(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of networks."""
    return FUNCTIONS[f"{NETWORKS}.{name}"](*args, **kwargs)


def _loss(name: str, *args: Any, reduction: int, **kwargs: Any) -> Any:
    """Call a loss with a number for what becomes of the losses of the elements.

    Raises
    ------
    ValueError : for a number that stands for nothing
    """
    word = word_for(name, "reduction", reduction, REDUCTIONS, ValueError)
    return _of_networks(name, *args, reduction=word, **kwargs)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """Return a loss: see `torch.nn.functional.binary_cross_entropy_with_logits`."""
    options = {"weight": weight, "pos_weight": pos_weight}
    return _loss("binary_cross_entropy_with_logits", input, target, **options, reduction=reduction)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """Return a loss: see `torch.nn.functional.cosine_embedding_loss`."""
    return _loss("cosine_embedding_loss", input1, input2, target, margin, reduction=reduction)


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """Return a loss: see `torch.nn.functional.ctc_loss`."""
    lengths = (input_lengths, target_lengths)
    return _loss("ctc_loss", log_probs, targets, *lengths, blank, zero_infinity=zero_infinity, reduction=reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """Return a loss: see `torch.nn.functional.hinge_embedding_loss`."""
    return _loss("hinge_embedding_loss", input, target, margin, reduction=reduction)


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """Return a loss: see `torch.nn.functional.kl_div`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> half = torch.tensor([0.5, 0.5])
    >>> torch.kl_div(half.log(), torch.tensor([1.0, 0.0]))
    tensor([0.6931, 0.0000])
    """
    return _loss("kl_div", input, target, log_target=log_target, reduction=reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """Return a loss: see `torch.nn.functional.margin_ranking_loss`."""
    return _loss("margin_ranking_loss", input1, input2, target, margin, reduction=reduction)


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """Return a loss: see `torch.nn.functional.poisson_nll_loss`."""
    return _loss("poisson_nll_loss", input, target, log_input, full, eps=eps, reduction=reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """Return a loss: see `torch.nn.functional.triplet_margin_loss`."""
    return _loss("triplet_margin_loss", anchor, positive, negative, margin, p, eps, swap, reduction=reduction)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """Return largest elements and their places: see `torch.nn.functional.adaptive_max_pool1d`."""
    return _of_networks("adaptive_max_pool1d", input, output_size, return_indices=True)


def max_pool1d_with_indices(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return largest elements and their places: see `torch.nn.functional.max_pool1d`."""
    stride = kernel_size if stride == () else stride
    return _of_networks("max_pool1d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """Return a grid of points: see `torch.nn.functional.affine_grid`."""
    return _of_networks("affine_grid", theta, size, align_corners)


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Return values at points: see `torch.nn.functional.grid_sample`; numbers stand for its words, in their order."""
    name = "grid_sampler_2d"
    if getattr(input, "ndim", 4) == 5:
        name = "grid_sampler_3d"
    return FUNCTIONS[name](input, grid, interpolation_mode, padding_mode, align_corners)


def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Normalize each channel of samples: see `torch.nn.functional.instance_norm`, of another order of arguments."""
    statistics = (running_mean, running_var)
    return _of_networks("instance_norm", input, *statistics, weight, bias, use_input_stats, momentum, eps)


def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Leave out whole channels: see `torch.nn.functional.feature_alpha_dropout`."""
    return _of_networks("feature_alpha_dropout", input, p, train)


def batch_norm_update_stats(input: Any, running_mean: Any, running_var: Any, momentum: float) -> Any:
    """Return mean and variance of each channel, once the running ones, where there are some, have taken them in."""
    _of_networks("batch_norm", input, running_mean, running_var, training=True, momentum=momentum)
    variance, mean = FUNCTIONS["var_mean"](input, (0, *range(2, input.ndim)), correction=0)
    return mean, variance


def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """Return a tensor with elements replaced by zeros at random, the others scaled, and which these are.

    Parameters
    ----------
    input : the tensor
    p : how likely an element is replaced
    train : whether elements are replaced at all; None for yes
    """
    if train is False:
        return input.clone(), spell(xp.ones(input.shape, dtype=xp.bool))
    kept = FUNCTIONS["rand"](input.shape) >= p
    scale = 1 / (1 - p) if p < 1 else 0.0
    return input * kept * scale, kept


def native_channel_shuffle(input: Any, groups: int) -> Any:
    """Return channels that have taken turns: see `torch.nn.functional.channel_shuffle`."""
    return _of_networks("channel_shuffle", input, groups)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """Return a convolution of sequences along the first axis.

    Parameters
    ----------
    input : of shape (time, batch, channels)
    weight : of shape (kernel, channels, outputs)
    bias : of shape (outputs,)
    pad : how many zeros are put on either side
    """
    y = _of_networks("conv1d", input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return y.permute(2, 0, 1)


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Return what a `GRUCell` of these weights gives.

    Parameters
    ----------
    input, hx : of shapes (batch, inputs) and (batch, outputs)
    w_ih, w_hh, b_ih, b_hh : of the layer

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> cell, x, h = torch.nn.GRUCell(2, 3), torch.ones(1, 2), torch.zeros(1, 3)
    >>> torch.allclose(torch.gru_cell(x, h, *cell.parameters()), cell(x, h))
    True
    """
    return spell(functional.gru(input, w_hh, hx, b_hh, w_ih, b_ih))


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Return what an `LSTMCell` of these weights gives; `hx` is a pair of what it has kept, as is the result."""
    h, c = hx
    h, c = functional.lstm(input, w_hh, h, c, b_hh, w_ih, b_ih)
    return spell(h), spell(c)


def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Return what an `RNNCell` of these weights gives."""
    return (_of_networks("linear", input, w_ih, b_ih) + _of_networks("linear", hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """Return what an `RNNCell` of these weights gives whose nonlinearity is ``"relu"``."""
    return (_of_networks("linear", input, w_ih, b_ih) + _of_networks("linear", hx, w_hh, b_hh)).relu()


def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale rows of a table in place, so that their norms have a bound.

    Parameters
    ----------
    input : the table
    indices : of the rows
    max_norm, norm_type : the bound, and of which norm
    """
    renormalize(input, indices, max_norm, norm_type)
    return input


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """Return the root of the sum of squares along one axis or two."""
    return FUNCTIONS["linalg.vector_norm"](input, 2, dim, keepdim)


def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the sums of the singular values of matrices: see `torch.linalg.matrix_norm`."""
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return FUNCTIONS["linalg.matrix_norm"](input, "nuc", (-2, -1) if dim is None else dim, keepdim)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """Return the norms along all axes but one, which stay with the length 1; -1 for the norm of all elements."""
    if dim == -1:
        return FUNCTIONS["linalg.vector_norm"](v, pow)
    axes = [axis for axis in range(v.ndim) if axis != dim % v.ndim]
    return FUNCTIONS["linalg.vector_norm"](v, pow, axes, True)


def detach_copy(input: Any) -> Any:
    """Return a copy of a tensor that is outside the graph."""
    return input.detach().clone()


def select_copy(input: Any, dim: int, index: int) -> Any:
    """Return a copy of the part of a tensor that has an index along an axis."""
    return input.select(dim, index).clone()


def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """Return a copy of the part of a tensor that a slice says along an axis."""
    return input[(*(slice(None),) * (dim % input.ndim), slice(start, end, step))].clone()


def split_copy(input: Any, split_size: int, dim: int = 0) -> Any:
    """Return copies of the parts of a tensor: see `torch.split`."""
    return [part.clone() for part in FUNCTIONS["split"](input, split_size, dim)]


def view_as_real_copy(input: Any) -> Any:
    """Return a copy of complex numbers as pairs of numbers."""
    return FUNCTIONS["view_as_real"](input).clone()


def view_as_complex_copy(input: Any) -> Any:
    """Return a copy of pairs of numbers as complex numbers."""
    return FUNCTIONS["view_as_complex"](input).clone()


def cond(pred: Any, true_fn: Call, false_fn: Call, operands: Any = ()) -> Any:
    """Return what one of two functions gives.

    Parameters
    ----------
    pred : whether it is the first, a boolean or a tensor of one
    true_fn, false_fn : the functions
    operands : their arguments

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor(2.0)
    >>> torch.cond(x > 1, lambda x: 3 * x, lambda x: -x, (x,))
    tensor(6.)
    """
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn: Call, body_fn: Call, carried_inputs: Any) -> Any:
    """Return what is left once a function, called over and over, gives what another one refuses.

    Parameters
    ----------
    cond_fn : takes what is carried from step to step, and says whether there is another one
    body_fn : makes a step: takes what is carried, and gives it anew
    carried_inputs : of the first step
    """
    while bool(cond_fn(*carried_inputs)):
        carried_inputs = body_fn(*carried_inputs)
        if not isinstance(carried_inputs, (tuple, list)):
            carried_inputs = (carried_inputs,)
    return tuple(carried_inputs)


def typename(obj: Any, /) -> str:
    """Return the full name of the class of a value, of a tensor as `Tensor.type`, of a class itself its own."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    if (named.__module__ or "builtins") == "builtins":
        return str(named.__qualname__)
    return f"{named.__module__}.{named.__qualname__}"


def _with_places(name: str) -> Call:
    """Return the function of networks that gives the places of largest elements, too."""
    whole = FUNCTIONS[f"{NETWORKS}.{name}"]

    @functools.wraps(whole)
    def function(*args: Any, **kwargs: Any) -> Any:
        return whole(*args, **{**kwargs, "return_indices": True})

    function.__name__ = function.__qualname__ = f"{name}_with_indices"
    function.__module__ = f"{HOME}.{NETWORKS}"
    function.__doc__ = f"Call `{name}` with ``return_indices=True``."
    return function


def _with_all(input: Any, return_inverse: bool, return_counts: bool, dim: int | None) -> tuple[Any, Any, Any]:
    """Return what `torch.unique` gives, with tensors without elements for what is not asked for."""
    given = FUNCTIONS["unique"](input, True, return_inverse, return_counts, dim)
    values, *further = given if isinstance(given, tuple) else (given,)
    rest = iter(further)
    nothing = spell(xp.empty((0,), dtype=xp.int64))
    return (values, *(next(rest) if wanted else nothing for wanted in (return_inverse, return_counts)))


def unique_of_elements(input: Any, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, Any]:
    """Return the elements that differ, and where each element is among them: see `torch.unique`."""
    return _with_all(input, return_inverse, False, None)[:2]


def unique_with_counts(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Any, Any, Any]:
    """Return the elements that differ, where each element is among them, and their numbers: see `torch.unique`."""
    return _with_all(input, return_inverse, return_counts, None)


def unique_dim(
    input: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Any, Any, Any]:
    """Return the parts along an axis that differ, likewise: see `torch.unique`."""
    return _with_all(input, return_inverse, return_counts, dim)


# Which are not public in PyTorch.
OF_UNIQUE = {
    "_unique": unique_of_elements,
    "_unique2": unique_with_counts,
    "_VF": SimpleNamespace(unique_dim=unique_dim),
}


POOLS = (
    *(f"{kind}max_pool{axes}d" for kind in ("", "adaptive_") for axes in (1, 2, 3)),
    *("fractional_max_pool2d", "fractional_max_pool3d"),
)
OF_NETWORKS: dict[str, Call] = {
    **{f"{name}_with_indices": _with_places(name) for name in POOLS},
    "conv_tbc": conv_tbc,
    "native_channel_shuffle": native_channel_shuffle,
}
OF_THE_TOP: dict[str, Call] = {
    function.__name__: function
    for function in (
        *(adaptive_max_pool1d, affine_grid_generator, batch_norm_update_stats, binary_cross_entropy_with_logits),
        *(cond, conv_tbc),
        *(cosine_embedding_loss, ctc_loss, detach_copy, embedding_renorm_, feature_alpha_dropout, frobenius_norm),
        *(grid_sampler, gru_cell, hinge_embedding_loss, instance_norm, kl_div, lstm_cell, margin_ranking_loss),
        *(max_pool1d_with_indices, native_channel_shuffle, native_dropout, norm_except_dim, nuclear_norm),
        *(poisson_nll_loss, rnn_relu_cell, rnn_tanh_cell, select_copy, slice_copy, split_copy, triplet_margin_loss),
        *(typename, view_as_complex_copy, view_as_real_copy, while_loop),
    )
}
