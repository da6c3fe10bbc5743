"""`FunctionCtx`: what the methods of a `Function` share, and the tensors it keeps for its derivatives."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatchkit.autograd.saved_values import Packed, pack_for_backward
from dispatchkit.declare.inplace import check_may_change
from dispatchkit.errors import AutogradError, InplaceError
from dispatchkit.graph.node import FREED, CallNode, Node, Output
from dispatchkit.graph.recording import enable_grad
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.observers import live
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import Item, Path, leaves, leaves_with_paths, map_leaves, with_members

# Stands for a tensor in a value without its tensors.
HOLE = object()
# Types of arguments that are looked at no further.
WITHOUT_TENSORS = frozenset({bool, int, float, complex, str, type(None)})
# What forward may ask for of tensors, by the attributes of the context that keep it.
ASKED = ("to_save", "saved_for_forward", "dirty_tensors", "non_differentiable")


def may_hold_tensors(value: Any) -> bool:
    """Return whether a value is a tensor, or of an array type, which may hold some."""
    if isinstance(value, Storage):
        return True
    return type(value) not in WITHOUT_TENSORS and tensor_protocol.types.participates(type(value))


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in a value: itself, or those in the fields of an array type."""
    if isinstance(value, Storage):
        return [value]
    return [leaf for leaf in leaves(_fields, value) if isinstance(leaf, Storage)]


def inputs_of(args: Sequence[Any]) -> tuple[list[Any], tuple[bool, ...]]:
    """Return the tensors in arguments, and for each argument whether one of those in it requires a gradient."""
    tensors: list[Any] = []
    needs: list[bool] = []
    for arg in args:
        if isinstance(arg, Storage):
            tensors.append(arg)
            needs.append(arg._node is not None)
        elif type(arg) in WITHOUT_TENSORS:
            needs.append(False)
        else:
            parts = tensors_in(arg)
            tensors += parts
            needs.append(any(part._node is not None for part in parts))
    return tensors, tuple(needs)


def _is_several(output: Any) -> bool:
    return isinstance(output, (tuple, list)) and not may_hold_tensors(output)


def members_of(output: Any) -> list[Any]:
    """Return the outputs that `forward` returned, one or several."""
    if _is_several(output):
        return list(output)
    return [output]


def with_members_of(output: Any, members: list[Any]) -> Any:
    """Return an output with others in the place of its members."""
    if _is_several(output):
        return with_members(output, members)
    return members[0]


def paths_in(value: Any) -> tuple[Path, ...]:
    """Return the names of the attributes that lead to each of the tensors in a value."""
    return tuple([path for path, leaf in leaves_with_paths(_fields, value) if isinstance(leaf, Storage)])


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with each tensor in it changed; all else is shared with it."""
    if isinstance(value, Storage):
        return change(value)
    return map_leaves(_fields, lambda leaf: change(leaf) if isinstance(leaf, Storage) else leaf, value, share=True)


def with_tensors(value: Any, tensors: Iterable[Any]) -> Any:
    """Return a value with others in the place of its tensors."""
    rest = iter(tensors)
    return map_tensors(value, lambda _: next(rest))


def without_tensors(value: Any) -> Any:
    """Return a copy of a value with a `HOLE` in the place of each tensor."""
    return map_tensors(value, lambda _: HOLE)


def fill_holes(value: Any, tensors: Iterator[Any]) -> Any:
    """Return a copy of a value with the next tensors in its holes."""
    return map_leaves(_fields, lambda leaf: next(tensors) if leaf is HOLE else leaf, value, share=True)


def holes_in(value: Any) -> int:
    """Return how many tensors were in a value that is without them."""
    return sum(leaf is HOLE for leaf in leaves(_fields, value))


def _fields(value: Any) -> Sequence[Item] | None:
    if isinstance(value, Storage):
        return None
    return tensor_protocol.types.items_of(value, strict=False)


class FunctionCtx:
    """The context that `forward` or `setup_context` fills for `backward`, `vjp` and `jvp`.

    Any further attribute may be set on it. Tensors belong in `save_for_backward`: outputs kept as attributes form
    circles with the graph, and changes in place of what they hold go unnoticed.

    Attributes
    ----------
    needs_input_grad : for each input whether it requires a gradient

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Power(dk.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx: dk.autograd.function.FunctionCtx, x, n):
    ...         ctx.save_for_backward(x)
    ...         ctx.n = n
    ...         return x**n
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * ctx.n * x ** (ctx.n - 1), None
    >>> x = dk.tensor([2.0, 3.0], requires_grad=True)
    >>> Power.apply(x, 3).sum().backward()
    >>> x.grad
    tensor([12., 27.])
    """

    # What forward asked for, under the names that PyTorch has for it. Taken away once the node is made, as outputs
    # are among it.
    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    materialize_grads = True
    # Whether that holds for outputs that were marked as not differentiable, too; PyTorch's name.
    _materialize_non_diff_grads = True
    # The places of such outputs where it does not.
    _without_zeros: Collection[int] = ()
    _kept_for_backward: Saved | None = None
    # Places among what is saved, and names of attributes, of tensors that forward has computed on the way.
    _intermediates: Collection[int | str] = ()
    # Gives the vertex of such a tensor while a backward pass is recorded.
    _refusal: Callable[[Storage], Any] | None = None

    def __init__(self, name: str, needs_input_grad: tuple[bool, ...], recorded: bool) -> None:
        self._function_name = name
        self._is_recorded = recorded
        self.needs_input_grad = needs_input_grad

    if TYPE_CHECKING:
        # Any attribute may be set and read.
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, where `saved_tensors` gives them back.

        Parameters
        ----------
        *tensors : inputs, outputs and others; array types by the tensors in their fields; None stays None

        Raises
        ------
        TypeError : for anything else, which can be an attribute of the context
        """
        self._check("save_for_backward", tensors, optional=True)
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, where `saved_tensors` gives them back.

        Parameters
        ----------
        *tensors : tensors, array types or None

        Raises
        ------
        TypeError : for what is neither a tensor, an array type, nor None
        """
        self._check("save_for_forward", tensors, optional=True)
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare which inputs forward changes in place; each must be an output, too, and the same object is returned.

        Parameters
        ----------
        *tensors : the inputs that are changed

        Raises
        ------
        TypeError : for what is no tensor
        AutogradError : for a leaf that requires a gradient, or one whose memory is shared with views in the graph
        """
        self._check("mark_dirty", tensors)
        if self._is_recorded:
            with enable_grad():
                for tensor in tensors:
                    for part in tensors_in(tensor):
                        check_may_change(self._function_name, part)
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare through which outputs no gradient flows; backward receives zeros for them.

        Parameters
        ----------
        *tensors : the outputs

        Raises
        ------
        TypeError : for what is no tensor
        """
        self._check("mark_non_differentiable", tensors)
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros, rather than None, for outputs without gradient, and jvp for input tensors.

        Parameters
        ----------
        value : True for zeros, which is the default
        """
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors, any number of times.

        Raises
        ------
        AutogradError : if the graph was freed
        InplaceError : if one of them was changed in place since
        """
        if self._kept_for_backward is not None:
            return self._kept_for_backward.restore(self._function_name, self._intermediates, self._refusal)
        if self.saved_for_forward is None:
            return self.to_save
        return self.saved_for_forward

    def _check(self, method: str, values: Sequence[Any], optional: bool = False) -> None:
        for index, value in enumerate(values):
            if not (isinstance(value, Storage) or may_hold_tensors(value) or (optional and value is None)):
                taken = "tensors"
                if optional:
                    taken = "tensors and None"
                raise TypeError(
                    f"{self._function_name}: {method} can only take {taken}, but argument {index} is of type "
                    f"{type(value).__name__}; keep other things as attributes of ctx"
                )


class Saved:
    """The tensors that a recorded call keeps.

    An output is kept without its vertex, as the graph would otherwise keep itself alive, and gets the vertex back
    when it is read.

    Parameters
    ----------
    node : the call's
    values : what was saved
    outputs : the index of each output, by the id of the object that forward returned
    """

    __slots__ = ("counts", "layout", "node", "outputs", "tensors")

    def __init__(self, node: Node, values: Sequence[Any], outputs: Mapping[int, int]) -> None:
        self.layout: list[Any] | None = None
        tensors = values
        for value in values:
            if value is not None and not isinstance(value, Storage):
                self.layout = list(map(without_tensors, values))
                tensors = [tensor for value in values for tensor in tensors_in(value)]
                break
        self.counts: list[int] = []
        self.outputs: dict[int, int] = {}
        kept = []
        for place, tensor in enumerate(tensors):
            self.counts.append(0 if tensor is None or tensor._memory is None else tensor._memory.count)
            index = outputs.get(id(tensor))
            if index is not None:
                self.outputs[place] = index
                tensor = twin(tensor)
            kept.append(tensor)
        self.tensors: list[Any] = kept
        if live:
            self.tensors = pack_for_backward(node.name, kept)
        self.node = weakref.ref(node)

    def restore(
        self, name: str, intermediates: Collection[int | str] = (), refusal: Callable[[Storage], Any] | None = None
    ) -> tuple[Any, ...]:
        """Return the values, outputs with their place in the graph.

        Parameters
        ----------
        name : of the `Function`
        intermediates : places of tensors that are neither inputs nor outputs, and were computed from inputs
        refusal : gives the vertex with which these are returned; None where they are to have none

        Raises
        ------
        AutogradError : if the graph was freed
        InplaceError : if one was changed in place since it was saved
        """
        node = self.node()
        if node is None or node.saved is None:
            raise AutogradError(FREED.format(name=name))
        tensors = []
        for i, kept in enumerate(self.tensors):
            tensor = kept
            if isinstance(kept, Packed):
                tensor = kept.restore()
            if i in self.outputs:
                tensors.append(_output(node, self.outputs[i], tensor))
                continue
            if tensor is not None and tensor is kept and tensor._memory is not None:
                _check_count(node, tensor, self.counts[i], tensor._memory.count)
            if refusal is not None and i in intermediates:
                tensor = twin(tensor, refusal(tensor))
            tensors.append(tensor)
        if self.layout is None:
            return tuple(tensors)
        rest = iter(tensors)
        return tuple([fill_holes(value, rest) for value in self.layout])


def _output(node: Node, index: int, kept: Any) -> Any:
    """Return an output of a recorded call with its place in the graph."""
    shared = None
    if node.extras is not None:
        shared = node.extras.shared.get(index)
    if shared is not None:
        version, count = shared
        _check_count(node, kept, count, version.count)
    several = isinstance(node, CallNode) and node.outputs is not None
    vertex: Any = node
    if several:
        vertex = Output(node, index, kept.array.shape, kept.array.dtype)
    return twin(kept, vertex)


def _check_count(node: Node, tensor: Storage, expected: int, found: int) -> None:
    if found != expected:
        array = tensor.array
        raise InplaceError(node.name, tuple(array.shape), str(array.dtype), expected, found)
