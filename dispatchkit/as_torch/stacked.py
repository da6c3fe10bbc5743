"""Functions of modules and of their parameters, `torch.func.stack_module_state` and others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dispatchkit import func as transforms
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


@functools.wraps(transforms.jacrev)
def jacrev(
    func: Call, argnums: Any = 0, has_aux: bool = False, *, chunk_size: Any = None, _preallocate_and_copy: bool = False
) -> Call:
    # The last argument says where PyTorch puts the rows meanwhile.
    jacobian: Call = spelling_calls(transforms.jacrev)(func, argnums, has_aux, chunk_size=chunk_size)
    return jacobian


def grad_and_value(func: Call, argnums: Any = 0, has_aux: bool = False) -> Call:
    """Return a function that gives the gradient of another and its value.

    Parameters
    ----------
    func : gives one number
    argnums : places of the arguments
    has_aux : whether it gives a second value, which is given besides its own
    """
    both = spelling_calls(transforms.value_and_grad)(func, argnums=argnums, has_aux=has_aux)

    @functools.wraps(func)
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


class BufferType(type):
    """The metaclass of `Buffer`, whose instances are tensors that say how they are registered."""

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether a value is a tensor that was made as a buffer."""
        return isinstance(instance, Tensor) and instance.persistent is not None


class Buffer(Tensor, metaclass=BufferType):
    """A tensor that a module registers as a buffer when it is assigned to an attribute, and again to another one.

    Parameters
    ----------
    data : tensor, whose memory is shared; an empty one by default
    persistent : whether it is part of the state that is saved

    Returns
    -------
    Tensor
        A tensor that a module registers, and of which ``isinstance(x, nn.Buffer)`` holds. What is computed with it is
        no buffer.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> module.tied = module.mean
    >>> [name for name, _ in module.named_buffers(remove_duplicate=False)]
    ['mean', 'tied']
    """

    __module__ = "dispatchkit.as_torch.nn"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """Return the tensor."""
        if data is None:
            data = Tensor()
        buffer = spell(data.detach()).requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        return buffer
