"""What nodes of the graph have saved, by PyTorch's names: ``y.grad_fn._saved_self`` and ``_raw_saved_self``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.as_torch.calling.arguments import parameters_of
from dispatchkit.as_torch.spelling import Tensor, adopt
from dispatchkit.autograd.saved_values import Packed, Packing, Unpacking, unpack_saved
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import AutogradError
from dispatchkit.graph.node import Node, NodeWrapper, is_wrapped_by
from dispatchkit.graph.storage import Storage, vertex_of

__all__ = ["SavedTensor", "give_saved_values"]

VALUES_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
RAW, PLAIN = "_raw_saved_", "_saved_"
RESULT = -1
# PyTorch's names for arguments in its graph that its functions call otherwise.
OTHER_NAMES = {"pow": {"exponent": "other"}, "matmul": {"mat2": "other"}}


class SavedTensor:
    """A value that a node has saved, as ``y.grad_fn._raw_saved_self`` gives it; programs make none themselves.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._saved_self is x
    True
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda x: x.tolist(), torch.tensor)
    >>> y.grad_fn._saved_self
    tensor([1., 2.], requires_grad=True)
    """

    _node: Any
    _index: int
    _values: Any  # of a `Function` the list of what its call keeps

    def __init__(self, *args: Any) -> None:
        raise AutogradError("Trying to create a SavedTensor object from Python is forbidden")

    @classmethod
    def of(cls, node: Any, index: int, values: Any = None) -> SavedTensor:
        """Return the value of a node with an index: which of its arguments it is, -1 for its result.

        Parameters
        ----------
        node, index : the node, and which of its values it is
        values : the list that has it, of the node of a `Function`
        """
        saved = object.__new__(cls)
        saved._node, saved._index, saved._values = node, index, values
        return saved

    def _kept(self) -> Any:
        """Return what the node keeps.

        Raises
        ------
        AutogradError : if the graph was freed
        """
        node = self._node
        if node.saved is None:
            raise AutogradError(VALUES_FREED)
        if self._values is not None:
            return self._values[self._index]
        if self._index != RESULT:
            return node.saved[self._index]
        return getattr(node, "output", None)

    def value(self) -> Any:
        """Return the value as the node's rules read it, None where they do not."""
        kept = self._kept()
        if self._index == RESULT and not isinstance(kept, tuple | list | None):
            kept = unpack_saved(kept)
            array = kept.array if isinstance(kept, Storage) else kept
            return wrap_array(Tensor, array, self._node)
        value = unpack_saved(kept)
        if isinstance(value, (list, tuple)):
            return tuple([adopt(member) if isinstance(member, Storage) else None for member in value])
        return adopt(value) if isinstance(value, (Storage, bool, int, float, complex)) else None

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """Have the value kept as `torch.autograd.graph.saved_tensors_hooks` says.

        Parameters
        ----------
        *hooks : two, of which the first is called with the value, and what it returns is kept instead; the second
            makes the value of that again

        Raises
        ------
        TypeError : if they are no two functions
        AutogradError : if the node has no such value, hooks of it are set, or the graph was freed
        """
        node, kept = self._node, self._kept()
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported: "
                "(pack_hook: function, unpack_hook: function)"
            )
        if isinstance(kept, Packed):
            raise AutogradError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        if kept is None or not (isinstance(kept, Storage) or self._index == RESULT):
            raise AutogradError("Calling register_hooks on a saved tensor with value None is forbidden")
        vertex = None
        if self._index != RESULT:
            vertex = vertex_of(kept)
        packed = Packed(Packing(*hooks), node.name, kept, vertex)
        if self._values is not None:
            self._values[self._index] = packed
            return
        if self._index == RESULT:
            node.output = packed
        else:
            node.saved = (*node.saved[: self._index], packed, *node.saved[self._index + 1 :])
        if not is_wrapped_by(Unpacking, node):
            node.operation = Unpacking(node.operation)


def saved_attribute(node: Any, name: str) -> Any:
    """Return what a node has saved by PyTorch's name for it.

    Raises
    ------
    AttributeError : if the operation has no such argument
    """
    if name == "_raw_saved_tensors":
        kept = node.context._kept_for_backward
        values = () if kept is None else kept.tensors
        return tuple([SavedTensor.of(node, index, values) for index in range(len(values))])
    operation = node.operation
    while isinstance(operation, NodeWrapper):
        operation = operation.inner
    place = name.removeprefix(RAW).removeprefix(PLAIN)
    if place == "result":
        saved = SavedTensor.of(node, RESULT)
    else:
        path = getattr(operation, "name", "")
        arguments = parameters_of(path, operation) if hasattr(operation, "parameters") else {}
        other_names = {"self": "input", **OTHER_NAMES.get(path, {})}
        parameter = arguments.get(other_names.get(place, place))
        if parameter is None:
            raise AttributeError(f"{node.name} has saved nothing of the name {name!r}")
        if parameter in (getattr(node, "keywords", None) or ()):
            return node.keywords[parameter]
        saved = SavedTensor.of(node, list(operation.parameters.signature.parameters).index(parameter))
    if name.startswith(RAW):
        return saved
    return saved.value()


def give_saved_values() -> None:
    """Give nodes the attributes."""
    Node.saved_attribute = saved_attribute
