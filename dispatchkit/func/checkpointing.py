"""`checkpoint`: values inside a function are computed again in the backward pass rather than kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from weakref import ref

from dispatchkit.backends.arrays import is_inexact
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.errors import AutogradError, InplaceError
from dispatchkit.func.containers import arrays_of, as_array, map_container
from dispatchkit.func.reverse import Recording
from dispatchkit.graph.node import CallNode, Output, make_node, snapshot_versions
from dispatchkit.graph.recording import is_grad_enabled, no_grad
from dispatchkit.graph.storage import Storage, version_of, vertex_of
from dispatchkit.graph.sweep import follower_of
from dispatchkit.ops.random.generator import current_generator
from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.transforms.batched import active
from dispatchkit.transforms.tracer import top_level


def checkpoint(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose inner values are not kept for the backward pass but computed again there.

    Parameters
    ----------
    func : takes and gives tensors or containers of them; called a second time by a backward pass, it must do the same

    Returns
    -------
    function
        It has the arguments and results of `func`.

    Raises
    ------
    AutogradError : from the backward pass, if the second call gives something else than the first
    InplaceError : from the backward pass, if a tensor that an operation in `func` reads was changed in place since

    Notes
    -----
    Gradients flow to arguments and to tensors that `func` takes from elsewhere, at every order. What `func` reads of a
    tensor without an operation, as ``item()`` does, must be the same both times. Random numbers of the
    default generator are the same both times. Under `vmap` and `jvp` the function is called as it is. Source: JAX,
    `jax.checkpoint`; PyTorch, `torch.utils.checkpoint`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> dk.func.checkpoint(lambda x: dk.exp(dk.sin(x)).sum())(x).backward()
    >>> x.grad
    tensor([ 1.2534, -1.0331])
    """

    @functools.wraps(func)
    def call_checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not is_grad_enabled() or active.get() or top_level(list(arrays_of((args, kwargs)))) is not None:
            return func(*args, **kwargs)
        random_state = current_generator().source.bit_generator.state
        seen = _Seen([x for x in arrays_of((args, kwargs)) if isinstance(x, Storage)])
        with no_grad(), seen:
            output = map_container(as_array, func(*args, **kwargs))
        ys = {id(y): y for y in arrays_of(output) if y._node is None and is_inexact(y.dtype)}
        if seen.tracked and ys:
            again = _Again(func, args, kwargs, random_state, [id(y) in ys for y in arrays_of(output)], seen.constants())
            again.record(list(seen.tracked.values()), list(ys.values()))
        return output

    return call_checkpointed


# What stands for tensors while a function is called again, by their ids.
_places: ContextVar[Mapping[int, Any]] = state_variable("checkpoint", MappingProxyType({}))


class _Seen(Mode):
    """Notes the tensors among the arguments of all calls; none that requires a gradient was made inside.

    Attributes
    ----------
    tracked : by their ids, the tensors that require gradients and what stands for them here
    others : by their ids, the other tensors, which it does not keep alive
    """

    def __init__(self, tensors: Sequence[Storage]) -> None:
        self.protocol = tensor_protocol
        self.tracked: dict[int, tuple[Any, Any]] = {}
        self.others: dict[int, ref[Storage]] = {}
        for x in tensors:
            self._note(x)

    def _note(self, x: Any) -> None:
        if not isinstance(x, Storage):
            return
        if x._node is not None:
            self.tracked.setdefault(id(x), (x, _places.get().get(id(x), x)))
        elif not x.is_tracer:
            self.others[id(x)] = ref(x)

    def constants(self) -> dict[int, tuple[ref[Storage], int]]:
        """Return the tensors without gradient that still live, by their ids, with their versions."""
        living = {key: (other, other()) for key, other in self.others.items()}
        return {key: (other, version_of(x)) for key, (other, x) in living.items() if x is not None}

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note the arguments, and decline."""
        for _, x in operation.parameters.values(args, kwargs):
            self._note(x)
        return NotImplemented


class _Replaced(Mode):
    """Replaces some tensors by others in the arguments of all calls.

    Parameters
    ----------
    places : by their ids, what stands for tensors
    constants : by their ids, the versions that tensors without gradient must have when they are first read
    """

    def __init__(self, places: Mapping[int, Any], constants: Mapping[int, tuple[ref[Storage], int]]) -> None:
        self.protocol = tensor_protocol
        self.places = places
        self.unread = dict(constants)

    def stays_on(self) -> bool:
        """Return True: calls within calls have the same tensors replaced."""
        return True

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the call with the other tensors; decline where there are none."""
        for _, x in operation.parameters.values(args, kwargs):
            if not isinstance(x, Storage) or id(x) not in self.unread:
                continue
            known, version = self.unread.pop(id(x))
            if known() is x and version_of(x) != version:
                raise InplaceError(_Again.node_name, tuple(x.array.shape), str(x.array.dtype), version, version_of(x))
        if not any(id(x) in self.places for _, x in operation.parameters.values(args, kwargs)):
            return NotImplemented
        values, keywords = operation.parameters.replace(args, kwargs, lambda _, x: self.places.get(id(x), x))
        return operation.function(*values, **keywords)


@dataclass(eq=False)
class _Again:
    """The operation of a checkpoint's node: it calls the function again, recorded, and goes back through that graph.

    Parameters
    ----------
    func, args, kwargs : the call
    random_state : of the default generator when it was made first
    wanted : for each array of the output, whether its gradient comes from here
    constants : by their ids, the tensors without gradient that the call read, with their versions
    """

    node_name = "CheckpointBackward"
    keeps_output = False
    trusted = False

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    random_state: Any
    wanted: list[bool]
    constants: dict[int, tuple[ref[Storage], int]]

    def record(self, seen: Sequence[tuple[Any, Any]], outputs: Sequence[Any]) -> None:
        """Make the node of the call, and outputs out of its results.

        Parameters
        ----------
        seen : tensors that the function uses, and what stands for them
        outputs : results whose gradients come from here
        """
        self.used, sources = [x for x, _ in seen], [x for _, x in seen]
        node = make_node(CallNode, self, list(map(vertex_of, sources)), tuple(sources), (), None)
        node.keywords, node.outputs = {}, [(tuple(y.array.shape), y.dtype) for y in outputs]
        # The second call is made once what differentiates the first has ended.
        self.follower = next(filter(None, map(follower_of, node.edges)), "")
        snapshot_versions(node)
        for index, y in enumerate(outputs):
            y._node = Output(node, index, tuple(y.array.shape), y.array.dtype)

    def pull_live(self, node: Any, g: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the sources, tensors."""
        node.check_versions()
        again = functools.partial(self._call, node.saved)
        recording = Recording("checkpoint", again, node.saved, follower=self.follower)
        outputs = list(arrays_of(recording.output))
        described = [(tuple(y.shape), y.dtype) for y in outputs]
        if described != node.outputs:
            raise AutogradError(
                f"checkpoint: {getattr(self.func, '__name__', 'the function')} gave {_list(node.outputs)} first and "
                f"{_list(described)} when it was called again; it must do the same both times"
            )
        cts = [tensor_namespace.zeros_like(y) if ct is None else ct for y, ct in zip(outputs, g, strict=True)]
        return list(recording.pull(tuple(cts), retain=False))

    def pull_raw(self, node: Any, g: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the sources, raw arrays."""
        with no_grad():
            tensors = [None if ct is None else tensor_namespace.asarray(ct) for ct in g]
            return [grad.array for grad in self.pull_live(node, tensors)]

    def _call(self, sources: Sequence[Any], *values: Any) -> tuple[Any, ...]:
        """Call the function with other tensors in the place of the sources."""
        places = {id(x): value for x, value in zip(self.used, values, strict=True)}
        places |= {id(x): value for x, value in zip(sources, values, strict=True)}
        args, kwargs = map_container(lambda x: places.get(id(x), x), (self.args, self.kwargs))
        generator = current_generator().source.bit_generator
        state = generator.state
        generator.state = self.random_state
        outer = _places.get()
        try:
            _places.set(places)
            with _Replaced(places, self.constants):
                output = list(arrays_of(map_container(as_array, self.func(*args, **kwargs))))
            # The function may itself change a tensor that it reads, such as a running mean.
            for key, (other, _) in self.constants.items():
                if (x := other()) is not None:
                    self.constants[key] = other, version_of(x)
        finally:
            _places.set(outer)
            generator.state = state
        if len(output) != len(self.wanted):
            return tuple(output)
        return tuple(y for y, wanted in zip(output, self.wanted, strict=True) if wanted)


def _list(outputs: Sequence[tuple[tuple[int, ...], Any]]) -> str:
    return ", ".join(f"{dtype} of shape {shape}" for shape, dtype in outputs) or "nothing"
