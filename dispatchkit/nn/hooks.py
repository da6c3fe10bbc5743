"""Functions that run around the calls of modules: their kinds, their order, and the handles that take them away."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from dispatchkit.backends.arrays import namespace_of
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import TransformError
from dispatchkit.graph.node import CallNode, Output, make_node
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import RemovableHandle, Storage, vertex_of
from dispatchkit.nn.parameter import M
from dispatchkit.nn.state import StateMethods
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tree import with_members

Gradients = tuple[Any, ...]


class Boundary:
    """Two identities around one call of a module, and the gradients that have come through the outer one.

    Parameters
    ----------
    module : that is called
    pre_hooks : called with the gradients of the outputs
    hooks : called with the gradients of the inputs and outputs
    """

    def __init__(self, module: HookMethods[Any], pre_hooks: Sequence[Function], hooks: Sequence[Function]) -> None:
        self.module = module
        self.pre_hooks, self.hooks = pre_hooks, hooks
        self.inputs = 0
        self.tracks_inputs = False
        self.grad_output: Gradients | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the positional arguments behind the inner identity."""
        self.inputs = len(args)
        args, self.tracks_inputs = self._pass_through(args, self._at_inputs, args)
        return args

    def leave(self, output: Any) -> Any:
        """Return the output behind the outer identity; only a tensor, and tensors in a tuple, have one."""
        if not isinstance(output, (Storage, tuple)):
            text = (
                f"{type(self.module).__name__}: for backward hooks to be called, the module's output should be a "
                f"tensor or a tuple of tensors, but it is a {type(output).__name__}"
            )
            warn_at(caller_frame(), text, UserWarning)
        several = isinstance(output, tuple)
        values = output
        if not several:
            values = (output,)
        results, _ = self._pass_through(values, self._at_outputs, [None] * len(values))
        if several:
            return results
        return results[0]

    def _pass_through(
        self, values: tuple[Any, ...], act: Callable[[Gradients], Gradients], missing: Sequence[Any]
    ) -> tuple[tuple[Any, ...], bool]:
        """Return values with an identity over the tensors among them, and whether gradients flow through it.

        Parameters
        ----------
        values : of which tensors are tracked
        act : takes a gradient or None for each value, and gives what goes on
        missing : for each value, a tensor that has zeros for a missing gradient, None where it stays missing
        """
        tracked = [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]
        if not tracked or not is_grad_enabled():
            return values, False
        if any(values[i].is_tracer for i in tracked):
            raise TransformError(
                f"{type(self.module).__name__}: backward hooks cannot see gradients inside vmap or jvp; remove the "
                f"hooks, or call the module outside"
            )
        zeros = [_zeros_like(x) for x in missing]

        def hook(grads: Gradients) -> Gradients:
            passed = dict(zip(tracked, grads, strict=True))
            complete = tuple(zero() if passed.get(i) is None else passed[i] for i, zero in enumerate(zeros))
            replaced = act(self.module._as_seen_by_hooks(complete))
            return tuple(zeros[i]() if replaced[i] is None else replaced[i] for i in tracked)

        results = list(values)
        for i, y in zip(tracked, _identity(self.module, [values[i] for i in tracked], hook), strict=True):
            results[i] = y
        return with_members(values, results), True

    def _at_outputs(self, grads: Gradients) -> Gradients:
        """Run the pre-hooks on the gradients of the outputs, and keep them for the hooks."""
        for hook in self.pre_hooks:
            grads = self._replacement("grad_output", hook(self.module, grads), grads)
        if self.tracks_inputs:
            self.grad_output = grads
            return grads
        nothing = (None,) * self.inputs
        for hook in self.hooks:
            answer = hook(self.module, nothing, grads)
            if answer is not None and not (isinstance(answer, tuple) and all(g is None for g in answer)):
                raise RuntimeError(
                    f"{type(self.module).__name__}: a full backward hook of a module where no input requires a "
                    f"gradient must return None, or None for all gradients; it returned a {type(answer).__name__}"
                )
        return grads

    def _at_inputs(self, grads: Gradients) -> Gradients:
        """Run the hooks, unless the gradients have come to the inputs without passing the outputs."""
        if self.grad_output is None:
            return grads
        for hook in self.hooks:
            answer = hook(self.module, grads, self.grad_output)
            grads = self._replacement("grad_input", answer, grads)
        self.grad_output = None
        return grads

    def _replacement(self, what: str, answer: Any, grads: Gradients) -> Gradients:
        """Return the gradients that a hook has given, the ones before where it gave None.

        Raises
        ------
        RuntimeError : if there are too few or too many
        """
        if answer is None:
            return grads
        gives = answer
        if not isinstance(answer, (tuple, list)):
            gives = (answer,)
        if len(gives) != len(grads):
            kind = "full backward pre-hook"
            if what == "grad_input":
                kind = "full backward hook"
            raise RuntimeError(
                f"{type(self.module).__name__}: a {kind} returned an invalid number of {what}, got {len(gives)}, but "
                f"expected {len(grads)}"
            )
        return tuple(gives)


class PassThrough:
    """The operation behind a node that passes tensors and gradients on as they are, for the hooks of a module."""

    keeps_output = False
    trusted = False

    def __init__(self, module: object) -> None:
        self.node_name = f"{type(module).__name__}HooksBackward"

    def pull_live(self, node: Any, g: Sequence[Any]) -> Sequence[Any]:
        """Return the gradients of the inputs, which are those of the outputs."""
        return g

    pull_raw = pull_live


def _identity(module: object, tensors: Sequence[Any], hook: Callable[[Gradients], Gradients]) -> list[Any]:
    """Return tensors of the same memory behind one node, whose gradients a hook replaces."""
    n = make_node(CallNode, PassThrough(module), list(map(vertex_of, tensors)), (), (), None)
    n.keywords = {}
    n.outputs = [(tuple(x.array.shape), x.array.dtype) for x in tensors]
    n.register_prehook(hook)
    results = []
    for index, x in enumerate(tensors):
        y = x.as_subclass(tensor_protocol.types.results_of(type(x)))
        y._node = Output(n, index, *n.outputs[index])
        results.append(y)
    return results


def _zeros_like(value: Any) -> Callable[[], Any]:
    """Return what makes zeros in the place of a tensor, without holding it; None of anything else."""
    if not isinstance(value, Storage) or value.is_tracer:
        return lambda: None
    xp, shape, dtype = namespace_of(value.array), tuple(value.array.shape), value.array.dtype
    return lambda: wrap_array(tensor_namespace.Tensor, xp.zeros(shape, dtype=dtype))


Function = Callable[..., Any]

BEFORE, AFTER = "forward pre-hook", "forward hook"
BACKWARD_BEFORE, BACKWARD_AFTER = "full backward pre-hook", "full backward hook"
# Those of all modules, with their kinds; they run before a module's own.
everywhere: OrderedDict[int, tuple[str, Any]] = OrderedDict()
# Called when the first of them is registered: before, calls of modules do not even look for any.
at_first_registration: list[Callable[[], None]] = []


class ForwardHook(NamedTuple):
    """A hook before or after `forward`, and how it is called.

    Attributes
    ----------
    function : the hook
    with_kwargs : whether it takes the keywords of the call, too
    always_call : whether it runs even where the call raises
    """

    function: Function
    with_kwargs: bool = False
    always_call: bool = False


class HookMethods(StateMethods[M]):
    """How hooks are registered for one module.

    Each method gives a handle: ``handle.remove()`` takes the hook away, and so does leaving ``with handle:``.
    """

    def _as_seen_by_hooks(self, grads: Gradients) -> Gradients:
        """Return gradients as the backward hooks of this module get them."""
        return grads

    def register_forward_pre_hook(
        self, hook: Function, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Have a function called before each `forward`.

        Parameters
        ----------
        hook : ``hook(module, args)``; what it gives takes the place of the positional arguments, a single value that
            of all of them. With `with_kwargs` it is ``hook(module, args, kwargs)`` and gives None or a pair of both.
        prepend : whether it runs before the module's other hooks of this kind
        with_kwargs : whether it takes the keywords, too
        """
        return self._register_hook(BEFORE, ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Function, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Have a function called after each `forward`.

        Parameters
        ----------
        hook : ``hook(module, args, output)``, or with `with_kwargs` ``hook(module, args, kwargs, output)``; what it
            gives takes the place of the output
        prepend : whether it runs before the module's other hooks of this kind
        with_kwargs : whether it takes the keywords, too
        always_call : whether it runs even where the call raises; the output is then None where there is none, and what
            the hook raises itself is a warning
        """
        return self._register_hook(AFTER, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Function, prepend: bool = False) -> RemovableHandle:
        """Have a function called with the gradients of the module's outputs, before they go on through it.

        Parameters
        ----------
        hook : ``hook(module, grad_output)``; the tuple that it gives takes the place of the gradients
        prepend : whether it runs before the module's other hooks of this kind
        """
        return self._register_hook(BACKWARD_BEFORE, hook, prepend)

    def register_full_backward_hook(self, hook: Function, prepend: bool = False) -> RemovableHandle:
        """Have a function called with the gradients of the module's inputs and outputs, once they are known.

        Parameters
        ----------
        hook : ``hook(module, grad_input, grad_output)`` with tuples that have an entry for each positional argument
            and each output, None where there is no gradient; the tuple that it gives takes the place of the inputs'
        prepend : whether it runs before the module's other hooks of this kind

        Notes
        -----
        Where no input requires a gradient, it is called with the gradients of the outputs, and must give None.
        """
        return self._register_hook(BACKWARD_AFTER, hook, prepend)


def _register_everywhere(kind: str, hook: Any) -> RemovableHandle:
    while at_first_registration:
        at_first_registration.pop()()
    return RemovableHandle(everywhere, (kind, hook))


def register_module_forward_pre_hook(hook: Function) -> RemovableHandle:
    """Have a function called before each `forward` of every module, as `Module.register_forward_pre_hook` does for one.

    Parameters
    ----------
    hook : ``hook(module, args)``; what it gives takes the place of the positional arguments

    Returns
    -------
    RemovableHandle
        ``remove()`` takes the hook away, and so does leaving a `with` block.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> shapes = []
    >>> with dk.nn.register_module_forward_pre_hook(lambda module, args: shapes.append(args[0].shape)):
    ...     _ = dk.nn.Sequential(dk.nn.Linear(2, 3), dk.nn.ReLU())(dk.ones(2))
    >>> shapes
    [(2,), (2,), (3,)]
    """
    return _register_everywhere(BEFORE, ForwardHook(hook))


def register_module_forward_hook(
    hook: Function, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Have a function called after each `forward` of every module, as `Module.register_forward_hook` does for one.

    Parameters
    ----------
    hook : ``hook(module, args, output)``, or with `with_kwargs` ``hook(module, args, kwargs, output)``; what it gives
        takes the place of the output
    with_kwargs : whether it takes the keywords, too
    always_call : whether it runs even where the call raises

    Returns
    -------
    RemovableHandle
        ``remove()`` takes the hook away, and so does leaving a `with` block.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> names = []
    >>> with dk.nn.register_module_forward_hook(lambda module, args, y: names.append(type(module).__name__)):
    ...     _ = dk.nn.Sequential(dk.nn.Linear(2, 3), dk.nn.ReLU())(dk.ones(2))
    >>> names
    ['Linear', 'ReLU', 'Sequential']
    """
    return _register_everywhere(AFTER, ForwardHook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Function) -> RemovableHandle:
    """Have a function called with the gradients of the outputs of every module, before they go on through it.

    Parameters
    ----------
    hook : as of `Module.register_full_backward_pre_hook`

    Returns
    -------
    RemovableHandle
        ``remove()`` takes the hook away, and so does leaving a `with` block.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.nn.register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output)):
    ...     dk.nn.ReLU()(dk.ones(2, requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    """
    return _register_everywhere(BACKWARD_BEFORE, hook)


def register_module_full_backward_hook(hook: Function) -> RemovableHandle:
    """Have a function called with the gradients of the inputs and outputs of every module, once they are known.

    Parameters
    ----------
    hook : as of `Module.register_full_backward_hook`

    Returns
    -------
    RemovableHandle
        ``remove()`` takes the hook away, and so does leaving a `with` block.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.nn.register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input)):
    ...     dk.nn.ReLU()(dk.tensor([2.0, -1.0], requires_grad=True)).sum().backward()
    (tensor([1., 0.]),)
    """
    return _register_everywhere(BACKWARD_AFTER, hook)


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module: pre-hooks, `forward`, forward hooks, and what makes the backward hooks run later."""
    after = _hooks_around(module, AFTER)
    asked: list[ForwardHook] = []
    output = None
    try:
        args, kwargs = _before(module, args, kwargs)
        pre_hooks, backward_hooks = _hooks_around(module, BACKWARD_BEFORE), _hooks_around(module, BACKWARD_AFTER)
        boundary = None
        if pre_hooks or backward_hooks:
            boundary = Boundary(module, pre_hooks, backward_hooks)
        if boundary is not None:
            args = boundary.enter(args)
        output = module.forward(*args, **kwargs)
        for hook in after:
            asked.append(hook)
            output = _after(hook, module, args, kwargs, output)
        if boundary is None:
            return output
        return boundary.leave(output)
    except Exception:
        for hook in after:
            if hook.always_call and not any(hook is other for other in asked):
                output = _after_error(hook, module, args, kwargs, output)
        raise


def _hooks_around(module: Any, kind: str) -> list[Any]:
    """Return the hooks of a kind, those of all modules first."""
    own = module._hooks.get(kind, _NONE).values()
    if not everywhere:
        return list(own)
    return [*[hook for other, hook in everywhere.values() if other == kind], *own]


_NONE: Mapping[int, Any] = MappingProxyType({})


def _before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as the pre-hooks leave them."""
    for hook in _hooks_around(module, BEFORE):
        if hook.with_kwargs:
            both = hook.function(module, args, kwargs)
            if both is None:
                continue
            if not (isinstance(both, tuple) and len(both) == 2):
                raise RuntimeError(
                    f"{type(module).__name__}: a forward pre-hook with_kwargs must return None or a tuple of "
                    f"(new_args, new_kwargs), but got {both!r}"
                )
            args, kwargs = both
        else:
            replaced = hook.function(module, args)
            if replaced is not None:
                args = replaced
                if not isinstance(replaced, tuple):
                    args = (replaced,)
    return args, kwargs


def _after(hook: ForwardHook, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    """Return the output as a forward hook leaves it."""
    if hook.with_kwargs:
        replaced = hook.function(module, args, kwargs, output)
    else:
        replaced = hook.function(module, args, output)
    if replaced is None:
        return output
    return replaced


def _after_error(hook: ForwardHook, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    """Run a forward hook after the call has raised; what the hook raises itself becomes a warning."""
    try:
        return _after(hook, module, args, kwargs, output)
    except Exception as error:  # noqa: BLE001  # the error of the call is the one to be seen
        text = (
            f"{type(module).__name__}: a forward hook with always_call=True raised an exception that was silenced, as "
            f"another error was raised before: {error!r}"
        )
        warn_at(caller_frame(), text, UserWarning)
        return output
