"""Classes of `torch.autograd.function` and `torch.autograd.graph` beside `Function`, and what `Function` has there."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

from dispatchkit.as_torch.spelling import Function
from dispatchkit.autograd.function_context import FunctionCtx
from dispatchkit.autograd.function_node import FunctionNode
from dispatchkit.autograd.function_record import OLD_FORM
from dispatchkit.errors import AutogradError
from dispatchkit.graph.storage import Vertex

__all__ = ["AnyVertex", "BackwardCFunction", "InplaceFunction", "give_old_forms"]

BackwardCFunction = FunctionNode


class InplaceFunction(Function):
    """A `Function`, by the name that PyTorch had for those that may change their arguments in place.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> class Rounded(torch.autograd.function.InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.mark_dirty(x)
    ...         return x.round_()
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g
    >>> x = torch.tensor([1.2, 2.7], requires_grad=True)
    >>> Rounded.apply(x.clone())
    tensor([1., 3.], grad_fn=<RoundedBackward>)
    """


class _OfVertices(type):
    """The class of a class that has all vertices of the graph as instances, and derives from none."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (Vertex, FunctionCtx))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, (Vertex, FunctionCtx))


class AnyVertex(metaclass=_OfVertices):
    """What `isinstance` finds every ``grad_fn`` to be, the vertex of a leaf, and the context of a `Function`.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> isinstance(x.exp().grad_fn, torch.autograd.graph.Node)
    True
    """


def instance_of_function(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return an instance, which does nothing, with a warning."""
    warnings.warn(
        f"{cls!r} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
        "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
        DeprecationWarning,
        stacklevel=2,
    )
    return object.__new__(cls)


def start_instance(self: Any, *args: Any, **kwargs: Any) -> None:
    """Take any arguments."""


def call_of_instance(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise: what is called is `apply`.

    Raises
    ------
    AutogradError : always, showing how code of the oldest form is ported
    """
    name = type(self).__name__
    raise AutogradError(
        "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
        f"with static forward method. {OLD_FORM.format(name=name)}"
    )


class _ClassOfNodes:
    """Gives the class of the nodes of a `Function`, by PyTorch's name for it."""

    def __get__(self, instance: Any, owner: Any) -> type[FunctionNode]:
        node_class: type[FunctionNode] = owner.__overridable__.node_class
        return node_class


def saved_variables(self: Any) -> Any:
    """Return the saved tensors, by a name that PyTorch has no longer."""
    warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
    return self.saved_tensors


def give_old_forms() -> None:
    """Give `Function` and its context what PyTorch's have besides."""
    given = {
        "__new__": staticmethod(instance_of_function),
        "__init__": start_instance,
        "__call__": call_of_instance,
        "_backward_cls": _ClassOfNodes(),
        "_refuses_as_pytorch": True,
    }
    for name, value in given.items():
        setattr(Function, name, value)
    setattr(FunctionCtx, "saved_variables", property(saved_variables))  # noqa: B010  # which mypy would refuse
