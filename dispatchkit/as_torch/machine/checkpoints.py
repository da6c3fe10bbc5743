"""`torch.utils.checkpoint`: values that a backward pass needs are computed again rather than kept."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar
from weakref import ref

from dispatchkit import func, nn, random
from dispatchkit.autograd import enable_grad
from dispatchkit.autograd.saved_values import pack_for_backward, saved_tensors_hooks, unpack_saved
from dispatchkit.errors import InplaceError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage, version_of
from dispatchkit.protocol.blocks import Block, ContextState, Innermost, innermost_state
from dispatchkit.protocol.observers import CallEvent, Observer, observing
from dispatchkit.tree import container_items, leaves

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

Call = Callable[..., Any]
Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]
NOT_SAID = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
    "recommended; without it, the call is made as with use_reentrant=True"
)
ANOTHER_NUMBER = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    "Number of tensors saved during forward: {}\nNumber of tensors saved during recomputation: {}"
)
ONE_MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
    "Number of tensors saved during forward: {}"
)
OTHERS = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
    "forward pass.\n{}"
)
WITH_CALLS = (
    "You are seeing this error because you passed `debug=True` to checkpoint, and what was saved when the function was "
    "called again differs.\nCalls of the forward pass:\n{}\nCalls of the recomputation:\n{}"
)
_early_stop: ContextState[Innermost[bool]] = innermost_state("early stop of checkpoints", True)
_debug: ContextState[Innermost[bool | None]] = innermost_state("debugging of checkpoints", None)


class CheckpointError(RuntimeError):
    """A function that was called again did not do what it did first."""


class _StopError(BaseException):
    """All that the backward pass needs is computed."""


def no_contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that do nothing."""
    return nullcontext(), nullcontext()


class _Calls(Observer):
    """Notes the names of the calls of a context."""

    replaces: ClassVar[bool] = False  # type: ignore[misc]  # of all instances

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, call: CallEvent) -> None:
        """Note a call."""
        self.names.append(call.name)

    def text(self) -> str:
        """Return the names, one in each line."""
        return "\n".join(f"  {name}" for name in self.names)


class _Placeholder:
    """What a node keeps in the place of a value."""

    __slots__ = ("__weakref__", "value")

    def __init__(self) -> None:
        self.value: Any = None


class _Frame:
    """A call of a function whose values are computed again when one of them is asked for.

    Parameters
    ----------
    function, args, kwargs : the call
    contexts : two, for the first call and for all others
    check : whether the shapes and dtypes of what is saved are compared
    keeps_random : whether random numbers are the same each time
    debug : whether errors show the calls that were made
    """

    def __init__(
        self, function: Call, args: Any, kwargs: Any, contexts: Contexts, check: bool, keeps_random: bool, debug: bool
    ) -> None:
        self.function, self.check, self.calls = function, check, _Calls() if debug else None
        self.first, self.again = contexts()
        self.random_state = random.default_generator.get_state() if keeps_random else None
        # The hooks of a checkpoint around this one decide what is kept of the arguments.
        self.call = pack_for_backward("checkpoint", (args, kwargs))
        tensors = [x for x in leaves(container_items, self.call) if isinstance(x, Storage)]
        self.versions = [(x, version_of(x)) for x in tensors]
        self.early_stop = _early_stop.get().value
        self.places: list[ref[_Placeholder]] = []
        self.described: list[Any] = []
        self.is_complete = False

    def forward(self, args: Any, kwargs: Any) -> Any:
        """Make the first call, with the arguments that were given."""
        with saved_tensors_hooks(self.pack, self.unpack), self._noting(self.calls), self.first:
            output = self.function(*args, **kwargs)
        self.is_complete = True
        return output

    @staticmethod
    def _noting(calls: _Calls | None) -> AbstractContextManager[Any]:
        return nullcontext() if calls is None else observing(calls)

    def pack(self, x: Any) -> _Placeholder:
        """Return what stands for a value until it is computed again."""
        place = _Placeholder()
        self.places.append(ref(place))
        self.described.append((tuple(x.shape), str(x.dtype)))
        return place

    def unpack(self, place: _Placeholder) -> Any:
        """Return the value of a place, once: all are computed again where it is not there."""
        if place.value is None:
            self.compute()
        (x, version), place.value = place.value, None
        raise_if_changed(x, version)
        return x

    def compute(self) -> None:
        """Call the function again, and put what it saves into the places."""
        for x, version in self.versions:
            raise_if_changed(x, version)
        again = _FurtherCall(self)
        args, kwargs = unpack_saved(self.call)
        before = random.default_generator.get_state()
        try:
            if self.random_state is not None:
                random.default_generator.set_state(self.random_state)
            with saved_tensors_hooks(again.pack, lambda x: x), self._noting(again.calls), self.again, enable_grad():
                self.function(*args, **kwargs)
        except _StopError:
            pass
        finally:
            if self.random_state is not None:
                random.default_generator.set_state(before)
        again.compare()


def raise_if_changed(x: Storage, version: int) -> None:
    """Raise if a tensor was changed in place since it had a version."""
    if version_of(x) != version:
        raise InplaceError("CheckpointBackward", tuple(x.array.shape), str(x.array.dtype), version, version_of(x))


class _FurtherCall:
    """A further call of the function of a frame, and what it saves.

    Parameters
    ----------
    frame : of the first call
    """

    def __init__(self, frame: _Frame) -> None:
        self.frame, self.calls = frame, None if frame.calls is None else _Calls()
        self.described: list[Any] = []

    def pack(self, x: Any) -> Any:
        """Put a value that is saved into its place, and end the call once all are there."""
        index, frame = len(self.described), self.frame
        self.described.append((tuple(x.shape), str(x.dtype)))
        if index < len(frame.places):
            place = frame.places[index]()
            if place is not None:
                place.value = x.detach(), version_of(x)
            if frame.early_stop and frame.is_complete and index == len(frame.places) - 1:
                raise _StopError
        elif frame.is_complete:
            raise self.error(ONE_MORE.format(len(frame.places)))
        return x.detach()

    def compare(self) -> None:
        """Raise where another number of values was saved, or other ones."""
        first = self.frame.described
        if not self.frame.is_complete:
            return
        if len(first) != len(self.described):
            raise self.error(ANOTHER_NUMBER.format(len(first), len(self.described)))
        differing = [
            f"tensor at position {index}:\nsaved metadata: {_text(x)}\nrecomputed metadata: {_text(y)}"
            for index, (x, y) in enumerate(zip(first, self.described, strict=True))
            if x != y
        ]
        if self.frame.check and differing:
            raise self.error(OTHERS.format("\n".join(differing)))

    def error(self, text: str) -> CheckpointError:
        """Return the error of a text, with the calls that were made where they were noted."""
        if self.calls is not None and self.frame.calls is not None:
            text = f"{WITH_CALLS.format(self.frame.calls.text(), self.calls.text())}\n{text}"
        return CheckpointError(text)


def _text(described: Any) -> str:
    shape, dtype = described
    return f"{{'shape': {shape}, 'dtype': {dtype}}}"


def checkpoint(
    function: Call,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = no_contexts,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function, and compute what its backward pass needs anew rather than keeping it.

    Parameters
    ----------
    function : called with all other arguments, and again by a backward pass; it must do the same each time
    *args, **kwargs : its arguments
    use_reentrant : False records each operation of the function, and keeps none of the values they save; True has one
        vertex stand for the whole call, as `dispatchkit.func.checkpoint` does. Without it, a warning says that it
        should be passed, and it is True
    context_fn : gives two contexts, for the first call and for the others
    determinism_check : ``"default"`` compares shapes and dtypes of what is saved, ``"none"`` only how much it is
    debug : whether an error lists the operations that were called
    preserve_rng_state : whether the random numbers of the default generator are the same each time

    Raises
    ------
    ValueError : for another `determinism_check`, and for `context_fn`, `debug` or `kwargs` with ``use_reentrant=True``
    CheckpointError : from the backward pass, if a further call saves something else than the first
    InplaceError : from the backward pass, if an argument was changed in place since

    Notes
    -----
    A further call ends as soon as all that is needed is there; `set_checkpoint_early_stop` switches that off. The
    values that it computes are given up once they are read, so that a pass that needs one twice calls the function
    twice. Source: PyTorch, `torch.utils.checkpoint`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(lambda x: x.exp().exp().sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([ 2.7183, 41.1936])
    """
    if use_reentrant is None:
        warnings.warn(NOT_SAID, UserWarning, stacklevel=2)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check must be 'default' or 'none', found {determinism_check!r}")
    if use_reentrant or use_reentrant is None:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not no_contexts or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return func.checkpoint(giving_gradients(function))(*args)
    if not is_grad_enabled():
        with context_fn()[0]:
            return function(*args, **kwargs)
    asked = _debug.get().value
    frame = _Frame(
        *(function, args, kwargs, context_fn, determinism_check == "default", preserve_rng_state),
        debug if asked is None else asked,
    )
    return frame.forward(args, kwargs)


def giving_gradients(function: Call) -> Call:
    """Return a function that raises where it is recorded, as in a further call, and no output requires a gradient."""

    @functools.wraps(function, updated=())
    def call(*args: Any) -> Any:
        output = function(*args)
        tensors = [x for x in leaves(container_items, output) if isinstance(x, Storage) and not x.is_tracer]
        if is_grad_enabled() and tensors and all(x._node is None for x in tensors):
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        return output

    return call


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Call functions one after the other, in segments of which all but the last keep their inputs alone.

    Parameters
    ----------
    functions : a `Sequential`, or a sequence of modules or functions
    segments : how many
    input : of the first function
    use_reentrant, preserve_rng_state : as of `checkpoint`
    """
    if use_reentrant is None:
        warnings.warn(NOT_SAID.replace("checkpoint:", "checkpoint_sequential:"), UserWarning, stacklevel=2)
        use_reentrant = True
    listed: Sequence[Call] = list(functions.children()) if isinstance(functions, nn.Module) else list(functions)
    length = len(listed) // segments

    def run(part: Iterable[Call], x: Any) -> Any:
        for function in part:
            x = function(x)
        return x

    start = 0
    for _ in range(segments - 1):
        part = functools.partial(run, listed[start : start + length])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
        start += length
    return run(listed[start:], input)


def set_checkpoint_early_stop(enable: bool) -> Block:
    """Say whether a further call of a checkpointed function ends once all that is needed is there, inside a block.

    Parameters
    ----------
    enable : whether it does, for the checkpoints that are called inside

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    """
    return Block(_early_stop, enable, "set_checkpoint_early_stop")


def set_checkpoint_debug_enabled(enabled: bool | None) -> Block:
    """Say whether errors of checkpoints list the operations that were called, inside a block.

    Parameters
    ----------
    enabled : whether they do, whatever `debug` says; None leaves it to that

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    """
    return Block(_debug, enabled, "set_checkpoint_debug_enabled")
