"""What a step reads and changes besides its arguments: the tensors of modules and optimisers, where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import is_
from typing import Any

from dispatchkit.backends.arrays import dtype_name
from dispatchkit.declare.variables import items_of
from dispatchkit.errors import CompileError
from dispatchkit.graph.storage import Storage
from dispatchkit.nn import Module
from dispatchkit.optim import Optimizer
from dispatchkit.tensor.gradients import gradient_of
from dispatchkit.tree import leaves_with_paths

__all__ = ["State"]

# Tables of a module that change where parameters, buffers or modules come or go.
TABLES = ("_parameter_names", "_buffer_names", "_module_names")


class State:
    """The state of a step as it is now.

    Parameters
    ----------
    owners : modules, optimisers, and containers of tensors; kept

    Attributes
    ----------
    programs : compiled for such a state, by the rest of a call
    tensors : those of the state, each once
    key : places, shapes and dtypes of the tensors, and all else that a program takes for constant
    groups : of the optimisers; their learning rates are arguments of a program
    shapes : of the arrays when they were last asked for
    """

    def __init__(self, owners: Sequence[Any]) -> None:
        self.owners = owners
        self.programs: dict[Any, Any] = {}
        self.tensors: list[Any] = []
        self.groups: list[dict[str, Any]] = []
        self._known: set[int] = set()
        self._places: list[Any] = []
        self._constants: list[Any] = []
        # Entries that are to be what they are, and containers that are to have as many, for the state to be the same.
        self._holders: list[dict[Any, Any]] = []
        self._names: list[Any] = []
        self._values: list[Any] = []
        self._containers: list[Any] = []
        self._sizes: list[int] = []
        # The arrays that `shapes` are of.
        self._seen: list[Any] = []
        self.shapes: tuple[Any, ...] = ()
        self._changing: list[Any] = []
        for number, owner in enumerate(owners):
            if isinstance(owner, Module):
                for name, module in owner.named_modules():
                    self._read_module((number, name), module)
            elif isinstance(owner, Optimizer):
                self._read_optimizer(number, owner)
            else:
                self._read_value((number,), owner)
        self.key = (tuple(self._places), tuple(self._constants), tuple(map(layout, self.tensors)))

    def _read_module(self, place: Any, module: Any) -> None:
        own = module.__dict__
        self._changing.append(own)
        for table in TABLES:
            self._read_size(own[table])
        self._read_entry((*place, "training"), own, "training")
        for name in (*module._parameter_names, *module._buffer_names):
            self._read_entry((*place, name), own, name)

    def _read_optimizer(self, number: int, optimizer: Any) -> None:
        self._changing.append(optimizer.state)
        for index, group in enumerate(optimizer.param_groups):
            self.groups.append(group)
            self._changing.append(group)
            self._read_size(group["params"])
            for option in group:
                if option not in ("params", "lr"):
                    self._read_entry((number, index, option), group, option)
            for place, p in enumerate(group["params"]):
                self._read_value((number, index, place), p)
                own = optimizer.state.get(p)
                self._expect(optimizer.state, p, own)
                if own is not None:
                    self._changing.append(own)
                    self._read_size(own)
                    for name in own:
                        self._read_entry((number, index, place, name), own, name)

    def _read_entry(self, place: Any, holder: Any, name: Any) -> None:
        self._expect(holder, name, holder[name])
        self._read_value(place, holder[name])

    def _expect(self, holder: dict[Any, Any], name: Any, value: Any) -> None:
        self._holders.append(holder)
        self._names.append(name)
        self._values.append(value)

    def _read_size(self, container: Any) -> None:
        self._containers.append(container)
        self._sizes.append(len(container))

    def _read_value(self, place: Any, value: Any) -> None:
        for path, leaf in leaves_with_paths(items_of, value):
            if isinstance(leaf, Storage):
                if id(leaf) not in self._known:
                    self._known.add(id(leaf))
                    self.tensors.append(leaf)
                    self._places.append((*place, *path))
            else:
                self._constants.append(((*place, *path), hashable(leaf)))

    def is_current(self) -> bool:
        """Return whether nothing but elements, gradients and learning rates is another than when the state was read."""
        # Once a call: neither a loop of Python's nor a method of a subclass, where the interpreter's own will do.
        found = map(dict.get, self._holders, self._names)
        return all(map(is_, found, self._values)) and list(map(len, self._containers)) == self._sizes

    def arrays(self) -> list[Any]:
        """Return those of the tensors, and note their shapes."""
        arrays = [one.array for one in self.tensors]
        if not self.holds(arrays):
            self.note(arrays, tuple([tuple(one.shape) for one in arrays]))
        return arrays

    def holds(self, arrays: list[Any]) -> bool:
        """Return whether these are the arrays that were noted last."""
        return len(arrays) == len(self._seen) and all(map(is_, arrays, self._seen))

    def note(self, arrays: list[Any], shapes: tuple[Any, ...]) -> None:
        """Note which shapes the arrays of the tensors have: JAX makes that of a new array when it is asked for."""
        self._seen, self.shapes = arrays, shapes

    @property
    def rates(self) -> list[float]:
        """The learning rates of the groups that have one."""
        return [float(group["lr"]) for group in self.groups if "lr" in group]

    def set_rates(self, rates: Sequence[Any]) -> None:
        """Give the groups that have a learning rate another one."""
        for group, rate in zip((group for group in self.groups if "lr" in group), rates, strict=True):
            group["lr"] = rate

    def continued_by(self, after: State) -> bool:
        """Return whether a step left this state with the tensors in the places where it found them.

        Raises
        ------
        CompileError : if it changed something that is no array
        """
        before, now = dict(self._constants), dict(after._constants)
        for place, value in before.items():
            if place in now and now[place] != value:
                raise CompileError(
                    f"the step changes {'.'.join(map(str, place[1:]))}, {value!r}, which is a constant of the program; "
                    f"keep it in a tensor"
                )
        return self._places == after._places and before == now

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Have everything as it was after a `with` block: arrays, gradients, attributes and what optimisers keep."""
        held = [(holder, dict(holder)) for holder in self._changing]
        tensors = [(one, one.array, one._node, gradient_of(one)) for one in self.tensors]
        try:
            yield
        finally:
            for holder, entries in held:
                holder.clear()
                holder.update(entries)
            for one, array, node, grad in tensors:
                one.array, one._node = array, node
                one.grad = grad


def layout(tensor: Any) -> Any:
    """Return what a program is compiled for; a number may move between libraries that have other dtypes."""
    array = tensor.array
    return dtype_name(array.dtype) if array.ndim else "", type(tensor), tensor.requires_grad


def hashable(value: Any) -> Any:
    """Return a constant of a program as a key: itself, or its text where it cannot be one."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value
