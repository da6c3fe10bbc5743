"""The hooks of modules that only PyTorch has, and `module._forward_hooks` and its like, which its programs change."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from typing import Any

from dispatchkit.as_torch.layers.looked_up import ask_own_lookup, give_lookup
from dispatchkit.as_torch.spelling import FUNCTIONS, HOME, Module, Tensor, adopt, spell
from dispatchkit.graph.storage import RemovableHandle
from dispatchkit.marks import override
from dispatchkit.nn.hooks import (
    AFTER,
    BACKWARD_AFTER,
    BACKWARD_BEFORE,
    BEFORE,
    ForwardHook,
    register_module_forward_hook,
)
from dispatchkit.nn.registered import BUFFERS, MODULES, PARAMETERS

__all__ = ["OF_ALL_MODULES", "give_hooks"]

KINDS = {
    "_forward_pre_hooks": BEFORE,
    "_forward_hooks": AFTER,
    "_backward_pre_hooks": BACKWARD_BEFORE,
    "_backward_hooks": BACKWARD_AFTER,
    "_state_dict_pre_hooks": "before saving",
    "_state_dict_hooks": "replacing what was saved",
    "_load_state_dict_pre_hooks": "before loading",
    "_load_state_dict_post_hooks": "after loading",
}


class Hooks(MutableMapping[int, Any]):
    """The hooks of a kind of a module, by their keys.

    Parameters
    ----------
    module : the module
    kind : before or after `forward`, or going backwards
    """

    def __init__(self, module: Any, kind: str) -> None:
        self.module, self.kind = module, kind

    def _held(self) -> Mapping[int, Any]:
        held: Mapping[int, Any] = self.module._hooks.get(self.kind, {})
        return held

    @override
    def __getitem__(self, key: int) -> Any:
        hook = self._held()[key]
        return hook.function if isinstance(hook, ForwardHook) else hook

    @override
    def __setitem__(self, key: int, hook: Any) -> None:
        if self.kind in (BEFORE, AFTER):
            hook = ForwardHook(hook)
        self.module._hooks.setdefault(self.kind, OrderedDict())[key] = hook

    @override
    def __delitem__(self, key: int) -> None:
        del self.module._hooks[self.kind][key]

    @override
    def __iter__(self) -> Iterator[int]:
        return iter([*self._held()])

    @override
    def __len__(self) -> int:
        return len(self._held())

    @override
    def __repr__(self) -> str:
        return f"OrderedDict({dict(self)!r})"


def _hooks(kind: str) -> property:
    """Return the attribute that has the hooks of a kind."""

    def hooks(self: Any) -> Hooks:
        return Hooks(self, kind)

    def replace(self: Any, others: Mapping[int, Any]) -> None:
        replaced = dict(others)
        held = Hooks(self, kind)
        held.clear()
        held.update(replaced)

    return property(hooks, replace, doc=f"Each {kind} of the module, by its key.")


def _as_seen_by_hooks(self: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(spell, grads))


# Hooks of the last operation, as PyTorch had them before those of whole modules.

SEVERAL = (
    "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be "
    "removed in future versions. This hook will be missing some grad_input. Please use register_full_backward_hook to "
    "get the documented behavior."
)


def _first_tensor(output: Any) -> Any:
    """Return the first tensor of an output, None where it has none."""
    if isinstance(output, Tensor):
        return output
    members = output.values() if isinstance(output, Mapping) else output
    if not isinstance(output, (Mapping, tuple, list)):
        return None
    return next((tensor for tensor in map(_first_tensor, members) if tensor is not None), None)


def _watch_last_operation(hook: Callable[..., Any], module: Any, args: tuple[Any, ...], output: Any) -> None:
    """Have a hook called when the operation that made the output of a module goes backwards."""
    y = _first_tensor(output)
    vertex = None if y is None else y.grad_fn
    if vertex is None:
        return
    vertex.register_hook(partial(hook, module))
    inputs = {x._node for x in args if isinstance(x, Tensor) and x.requires_grad}
    if {edge for edge, _ in vertex.next_functions} != inputs:
        warnings.warn(SEVERAL, FutureWarning, stacklevel=4)


def register_backward_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
    """Have a function called with the gradients of the last operation of the module; deprecated.

    Parameters
    ----------
    hook : ``hook(module, grad_input, grad_output)`` with tuples, the gradients of the inputs and of the outputs of the
        operation that made the output; a tuple that it gives takes the place of the first

    Returns
    -------
    RemovableHandle
        Its `remove` takes the hook off.

    Warns
    -----
    FutureWarning : in a call in which that operation has other inputs than the module, such as parameters; what
        `register_full_backward_hook` registers is called with the gradients of the module's inputs
    """
    handle: RemovableHandle = self.register_forward_hook(partial(_watch_last_operation, hook))
    return handle


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a function called with the gradients of the last operation of every module; deprecated.

    Parameters
    ----------
    hook : as of `Module.register_backward_hook`
    """
    return register_module_forward_hook(partial(_watch_last_operation, hook))


# Hooks of what modules register.

# Called with a module, the name and the value, by the kind of what is registered.
registering: dict[str, OrderedDict[int, Callable[..., Any]]] = {
    table: OrderedDict() for table in (BUFFERS, MODULES, PARAMETERS)
}
WITHOUT_HOOKS: Any = Module._enter


def _value_to_register(module: Any, table: str, name: str, value: Any) -> Any:
    """Return a value as the hooks leave it."""
    if table == PARAMETERS and value is None:
        return value
    for hook in list(registering[table].values()):
        replaced = hook(module, name, value)
        if replaced is not None:
            module._check_member(table, name, replaced)
            value = replaced
    return value


def _enter_with_hooks(self: Any, table: str, name: str, value: Any, note: Any = None) -> None:
    WITHOUT_HOOKS(self, table, name, _value_to_register(self, table, name, adopt(value)), note)


def _register_at(table: str, hook: Callable[..., Any]) -> RemovableHandle:
    Module._enter = _enter_with_hooks  # type: ignore[method-assign]  # before, nothing looks for hooks
    return RemovableHandle(registering[table], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a function called whenever a module registers a buffer.

    Parameters
    ----------
    hook : ``hook(module, name, buffer)``; what it gives, unless None, is registered in the place of the buffer
    """
    return _register_at(BUFFERS, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a function called whenever a module registers another one.

    Parameters
    ----------
    hook : ``hook(module, name, submodule)``; what it gives, unless None, is registered in the place of the submodule
    """
    return _register_at(MODULES, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a function called whenever a module registers a parameter.

    Parameters
    ----------
    hook : ``hook(module, name, param)``; what it gives, unless None, is registered in the place of the parameter
    """
    return _register_at(PARAMETERS, hook)


OF_ALL_MODULES = {
    function.__name__: function
    for function in (
        register_module_backward_hook,
        register_module_buffer_registration_hook,
        register_module_module_registration_hook,
        register_module_parameter_registration_hook,
    )
}


def _hold_functions_unbound(cls: Any, /, **kwargs: Any) -> None:
    """Let functions of PyTorch that are attributes of a class of modules be no methods: there they are built in.

    A class that looks up attributes itself is asked for members, too.
    """
    for name, value in list(vars(cls).items()):
        if getattr(value, "__module__", "").startswith(HOME) and value in OF_PYTORCH:
            setattr(cls, name, staticmethod(value))
    ask_own_lookup(cls)
    super(Module, cls).__init_subclass__(**kwargs)


OF_PYTORCH = frozenset(FUNCTIONS.values())


def give_hooks() -> None:
    """Give modules their hooks by PyTorch's names, and hooks gradients with PyTorch's methods."""
    give_lookup()
    Module._as_seen_by_hooks = _as_seen_by_hooks  # type: ignore[method-assign]
    Module.register_backward_hook = register_backward_hook  # type: ignore[attr-defined]
    setattr(Module, "__init_subclass__", classmethod(_hold_functions_unbound))  # noqa: B010  # mypy knows one without options
    for name, kind in KINDS.items():
        setattr(Module, name, _hooks(kind))
