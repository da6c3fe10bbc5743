"""Calls as data: what is called, with which arrays and options, so that both libraries get the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = ["FORMS", "Array", "Call", "Dtype", "are_finite_arguments", "arrays_in", "built", "mapped"]

# How a function is spelled; the last three have a key or a symbol in the place of a name.
FORMS = ("function", "method", "in place", "transformed", "operator", "item", "set item")


@dataclass(frozen=True)
class Dtype:
    """A dtype, by the name that both libraries give it."""

    name: str

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(frozen=True, eq=False)
class Array:
    """An array to be made in each library.

    Attributes
    ----------
    data : its elements, in the memory that it is a view of
    layout : "plain", or how it looks at that memory: "transposed", "stepped" or "expanded"
    gradient : whether the memory requires a gradient
    """

    data: Any
    layout: str = "plain"
    gradient: bool = False

    def __repr__(self) -> str:
        text = f"torch.tensor({self.data.tolist()!r}, dtype=torch.{self.data.dtype.name})"
        if 0 in self.data.shape:
            text = f"torch.zeros({self.data.shape}, dtype=torch.{self.data.dtype.name})"
        if self.gradient:
            text += ".requires_grad_()"
        return text.replace("nan", "float('nan')").replace("inf", "float('inf')") + LAYOUTS[self.layout]

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes, in memory."""
        return tuple(self.data.shape)


LAYOUTS = {"plain": "", "transposed": ".transpose(0, -1)", "stepped": "[::2]", "expanded": ".expand(2, *{shape})"}


@dataclass(frozen=True, eq=False)
class Call:
    """A call of one function, method, in-place form, operator or index.

    Attributes
    ----------
    path : of the function inside PyTorch, such as "linalg.inv", the symbol of an operator, or "[]"
    form : one of `FORMS`
    args, kwargs : with `Array` and `Dtype` for what belongs to a library
    source : where the call was drawn
    transformations : of `torch.func` that are taken of the function, the innermost first
    """

    path: str
    form: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    transformations: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        if self.form == "function":
            return f"torch.{self.path}({', '.join(shown)})"
        if self.form == "transformed":
            return f"{' of '.join(self.transformations[::-1])} of torch.{self.path}({', '.join(shown)})"
        if self.form == "operator":
            return f"operator.{self.path}({', '.join(shown)})"
        if self.form == "item":
            return f"{shown[0]}[{shown[1]}]"
        if self.form == "set item":
            return f"x = {shown[0]}; x[{shown[1]}] = {shown[2]}"
        return f"{shown[0]}.{self.name}({', '.join(shown[1:])})"

    @property
    def name(self) -> str:
        """The name of the method."""
        last = self.path.rpartition(".")[2]
        if self.form == "in place":
            return f"{last}_"
        return last

    def changed(self, **changes: Any) -> Call:
        """Return the call with other arguments."""
        return replace(self, **changes)


def mapped(value: Any, kind: Any, function: Any) -> Any:
    """Return arguments with a function applied to what is of a kind, or of one of several."""
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, dict):
        return {name: mapped(member, kind, function) for name, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(mapped(member, kind, function) for member in value)
    if type(value) is slice:
        return slice(*(mapped(each, kind, function) for each in (value.start, value.stop, value.step)))
    return value


def arrays_in(value: Any) -> list[Array]:
    """Return the arrays among arguments, in order."""
    found: list[Array] = []
    mapped(value, Array, found.append)
    return found


def built(call: Call, module: Any) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """Return the arguments of a call in a library, and the memory of its arrays in order.

    Parameters
    ----------
    call : what is called
    module : PyTorch, or what has its names
    """
    memories: list[Any] = []

    def tensor(array: Array) -> Any:
        if array.data.size:
            memory = module.from_numpy(np.array(array.data, order="C"))
        else:  # of which an array of NumPy has other distances in memory than a tensor of PyTorch
            memory = module.empty(array.shape, dtype=getattr(module, array.data.dtype.name))
        if array.gradient:
            memory.requires_grad_()
        memories.append(memory)
        if array.layout == "transposed":
            return memory.transpose(0, -1)
        if array.layout == "stepped":
            return memory[::2]
        if array.layout == "expanded":
            return memory.expand(2, *array.shape)
        return memory

    arguments = mapped((call.args, call.kwargs), Array, tensor)
    args, kwargs = mapped(arguments, Dtype, lambda dtype: getattr(module, dtype.name))
    return args, kwargs, memories


def are_finite_arguments(call: Call) -> bool:
    """Return whether all elements of the arguments are finite numbers."""
    arguments = (call.args, call.kwargs)
    numbers: list[Any] = []
    mapped(arguments, (float, complex), numbers.append)
    return all(np.isfinite(array.data).all() for array in arrays_in(arguments)) and bool(np.isfinite(numbers).all())
