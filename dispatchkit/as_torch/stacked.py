"""Functions of modules and of their parameters, `torch.func.stack_module_state` and others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dispatchkit import func
from dispatchkit.as_torch.layers.families import FAMILIES
from dispatchkit.as_torch.spelling import Tensor, spell, spelling_calls
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad

Call = Callable[..., Any]


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters, and the buffers, of modules of one kind, stacked by their names.

    Parameters
    ----------
    models : the modules

    Raises
    ------
    RuntimeError : for none, modules of several classes or modes, or where some require gradients and others do not
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(dictionaries: list[dict[str, Any]]) -> dict[str, Any]:
        columns = list(zip(*(each.values() for each in dictionaries), strict=True))
        for column in columns:
            if len({value.requires_grad for value in column}) > 1:
                raise RuntimeError("stack_module_state: Expected tensors of one name to have the same .requires_grad.")
        with no_grad():
            both = dict(zip(dictionaries[0], map(xp.stack, map(list, columns)), strict=True))
        for name, value in both.items():
            value.requires_grad_(dictionaries[0][name].requires_grad)
        return {name: spell(value) for name, value in both.items()}

    of_parameters = stacked([dict(model.named_parameters()) for model in models])
    return of_parameters, stacked([dict(model.named_buffers()) for model in models])


def grad_and_value(func_: Call, argnums: Any = 0, has_aux: bool = False) -> Call:
    """Return a function that gives the gradient of another and its value.

    Parameters
    ----------
    func_ : gives one number
    argnums : places of the arguments
    has_aux : whether it gives a second value, which is given besides its own
    """
    both = spelling_calls(func.value_and_grad)(func_, argnums=argnums, has_aux=has_aux)

    @functools.wraps(func_)
    def call(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return gradient, value

    return call


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms in a module keep no running statistics, so that it can be called under `vmap`.

    Parameters
    ----------
    root : the module, which is changed

    Returns
    -------
    module
        The module itself.
    """
    for module in root.modules():
        if isinstance(module, FAMILIES["_BatchNorm"]) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned to an attribute.

    Parameters
    ----------
    data : its elements
    persistent : whether it is part of the state that is saved
    """

    __module__ = "dispatchkit.as_torch.nn"
    __slots__ = ("persistent",)

    def __init__(self, data: Any, *, persistent: bool = True) -> None:
        super().__init__(data)
        self.persistent = persistent
