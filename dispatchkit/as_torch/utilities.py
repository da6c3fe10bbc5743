"""Functions that PyTorch's programs call beside layers, where they take more there, or are old names of others."""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit import autograd, func, nn
from dispatchkit.as_torch.machine import checkpoints
from dispatchkit.as_torch.spelling import FUNCTIONS, spelling_calls, spelling_results
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.node import GradientEdge
from dispatchkit.graph.storage import RemovableHandle
from dispatchkit.nn.parameter import tensors_of
from dispatchkit.nn.utils import grads_of, norm_of_all, scale_to_norm
from dispatchkit.tensor.gradients import as_list

__all__ = ["OF_PLACES", "deprecated_names"]

Call = Callable[..., Any]
# Functions of `nn.init` that PyTorch had without the underscore, and still has.
ONCE_WITHOUT_UNDERSCORE = (
    *("constant", "dirac", "eye", "kaiming_normal", "kaiming_uniform", "normal", "orthogonal", "sparse", "uniform"),
    *("xavier_normal", "xavier_uniform"),
)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of outputs by inputs: see `dispatchkit.autograd.grad`.

    Parameters
    ----------
    only_inputs : deprecated; False is ignored, with a warning

    Raises
    ------
    RuntimeError : if `materialize_grads` asks for zeros at a gradient edge, whose tensor PyTorch does not know
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    options = (grad_outputs, retain_graph, create_graph)
    targets = as_list(inputs)
    if not materialize_grads or allow_unused is False or not any(isinstance(x, GradientEdge) for x in targets):
        return spelling_calls(autograd.grad)(
            outputs, targets, *options, allow_unused, is_grads_batched, materialize_grads
        )
    gradients = spelling_calls(autograd.grad)(outputs, targets, *options, True, is_grads_batched)
    for x, g in zip(targets, gradients, strict=True):
        if g is None and isinstance(x, GradientEdge):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    pairs = zip(targets, gradients, strict=True)
    return tuple([xp.zeros_like(x).requires_grad_(create_graph) if g is None else g for x, g in pairs])


def jvp(function: Call, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return the outputs of a function and their derivatives along tangents: see `dispatchkit.func.jvp`.

    Parameters
    ----------
    strict : whether an output that the arguments have no part in raises

    Raises
    ------
    NotImplementedError : if `strict`
    """
    if strict:
        raise NotImplementedError("jvp: strict=True is not there; outputs without a part of the arguments have zeros")
    return spelling_calls(func.jvp)(function, primals, tangents, has_aux=has_aux)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale gradients so that the norm of all has a bound: see `dispatchkit.nn.utils.clip_grad_norm_`.

    Parameters
    ----------
    foreach : which changes nothing here
    """
    return spelling_results(nn.utils.clip_grad_norm_)(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Bound the elements of gradients: see `dispatchkit.nn.utils.clip_grad_value_`; `foreach` changes nothing here."""
    nn.utils.clip_grad_value_(parameters, clip_value)


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Return the norm of all tensors together.

    Parameters
    ----------
    tensors : iterable of tensors, or one
    norm_type : of the norm, ``float("inf")`` for the largest absolute value
    error_if_nonfinite : whether a norm that is infinite or no number raises
    foreach : which changes nothing here

    Raises
    ------
    RuntimeError : for such a norm, if that is asked for
    """
    return norm_of_all("get_total_norm", tensors_of("get_total_norm", tensors), norm_type, error_if_nonfinite)


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale the gradients of parameters by a norm that is known, so that it has a bound.

    Parameters
    ----------
    parameters : iterable of tensors, or one
    max_norm : the bound
    total_norm : norm of the gradients, as `get_total_norm` returns it
    foreach : which changes nothing here
    """
    scale_to_norm(grads_of("clip_grads_with_norm_", parameters), max_norm, total_norm)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the devices of arguments and the states of their generators: there is none beside the CPU."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: Any = None) -> None:
    """Set the states of generators of devices: there is nothing to be set."""


def get_worker_info() -> None:
    """Return None, as PyTorch does where one process reads a data set: a stream is never shared out here."""


def invert_permutation(permutation: Any) -> Any:
    """Return where each number stands in a permutation, None for None.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return FUNCTIONS["argsort"](permutation)


def convert_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Return a module as it is: how PyTorch lays out the weights of convolutions changes nothing here."""
    return module


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """Return `t` if `b`, else `f`."""
    return t if b else f


def _renamed(old: str, new: str, function: Call) -> Call:
    """Return a function that warns of its old name."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`{old}` is now deprecated in favor of `{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return call


def deprecated_names(of_init: Mapping[str, Call], of_utils: Mapping[str, Call]) -> dict[str, dict[str, Call]]:
    """Return the functions of `nn.init` and `nn.utils` by their old names.

    Parameters
    ----------
    of_init, of_utils : what the modules have
    """
    home = "nn.init"
    old = {name: _renamed(f"{home}.{name}", f"{home}.{name}_", of_init[f"{name}_"]) for name in ONCE_WITHOUT_UNDERSCORE}
    clip = _renamed("clip_grad_norm", "clip_grad_norm_", of_utils["clip_grad_norm_"])
    return {"nn.init": old, "nn.utils": {"clip_grad_norm": clip}}


# Of lengths, which PyTorch may not know yet where it writes programs anew, and which are numbers here.
OF_LENGTHS: dict[str, Call] = {
    "sym_float": float,
    "sym_int": int,
    "sym_ite": sym_ite,
    "sym_max": max,
    "sym_min": min,
    "sym_not": operator.not_,
    "sym_sqrt": math.sqrt,
    "sym_sum": sum,
}
# By the module that they are of.
OF_PLACES: dict[str, dict[str, Call]] = {
    "": OF_LENGTHS,
    "autograd": {"grad": grad},
    "func": {"jvp": jvp},
    "nn.utils": {
        "clip_grad_norm_": clip_grad_norm_,
        "clip_grad_value_": clip_grad_value_,
        "get_total_norm": spelling_results(get_total_norm),
        "clip_grads_with_norm_": clip_grads_with_norm_,
        "convert_conv2d_weight_memory_format": convert_weight_memory_format,
        "convert_conv3d_weight_memory_format": convert_weight_memory_format,
    },
    "nn.utils.rnn": {"invert_permutation": invert_permutation},
    "utils.hooks": {"RemovableHandle": RemovableHandle},
    "utils.data": {"get_worker_info": get_worker_info},
    "utils.checkpoint": {
        **{name: getattr(checkpoints, name) for name in checkpoints.__all__},
        "get_device_states": get_device_states,
        "set_device_states": set_device_states,
    },
}
