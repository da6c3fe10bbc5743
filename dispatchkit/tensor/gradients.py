"""A tensor's part in the graph: what requires gradients, where they are kept, and the backward pass."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from dispatchkit.backends.arrays import dtype_name, foreign, is_complex, namespace_of, without_graph
from dispatchkit.declare.libraries import common_library, in_library
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.typing import Array as Tensor
from dispatchkit.declare.variables import is_floating, variables_in, variables_of
from dispatchkit.declare.wrapping import make_leaf, wrap_array
from dispatchkit.errors import AutogradError, GradientWarning
from dispatchkit.graph.node import GradientEdge, Leaf
from dispatchkit.graph.recording import enable_grad, is_grad_enabled
from dispatchkit.graph.storage import (
    RemovableHandle,
    Storage,
    Vertex,
    VertexExtras,
    extras_of,
    memory_of,
    share_memory,
    share_outside,
    version_of,
    vertex_of,
)
from dispatchkit.graph.sweep import sweep
from dispatchkit.protocol.frames import caller_frame, hide_frames, warn_at
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tree import map_leaves, slotted, take_attributes
from dispatchkit.wording import class_name

# Modules that read every attribute, by which no program asks for a gradient.
INSPECTORS = frozenset({"IPython", "_pydevd_bundle", "inspect", "jedi", "rlcompleter"})


class ByFields:
    """An attribute that is computed from the fields; a type that has a field or attribute of its name keeps that."""

    def __init__(self, name: str, get: Callable[[Any], Any], change: Callable[[Any, Any], Any]) -> None:
        self.name, self.get, self.change = name, get, change
        self.__doc__ = get.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", {})
        if self.name in attributes:
            return attributes[self.name]
        return self.get(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        if self.name in tensor_protocol.types.field_names(type(instance)):
            instance.__dict__[self.name] = value
        else:
            self.change(instance, value)


def _tensors(name: str, x: Any) -> list[Any]:
    """Return the floating-point tensors in the fields of an instance.

    Raises
    ------
    TypeError : if there are none
    """
    tensors = [leaf for leaf in variables_in(x) if isinstance(leaf, Storage)]
    if not tensors:
        fields = ", ".join(tensor_protocol.types.fields_of(x)) or "none"
        raise TypeError(
            f"{name}: {class_name(type(x))} holds no tensors of floating-point numbers in its fields ({fields}); "
            f"nn.Parameter makes some of arrays and numbers"
        )
    return tensors


def gradient(self: Any) -> Any:
    """Return the gradient that backward passes have accumulated, an array of the same type; None before the first.

    Its fields are the gradients of the fields, zeros where none came; fields that are not differentiated are as here.
    """
    if all(getattr(leaf, "grad", None) is None for leaf in variables_in(self)):
        return None

    def part(leaf: Any) -> Any:
        if not is_floating(leaf):
            return leaf
        grad = getattr(leaf, "grad", None)
        if grad is None:
            return tensor_namespace.zeros_like(tensor_namespace.asarray(leaf).detach())
        return grad

    return map_leaves(variables_of, part, self)


def set_gradient(self: Any, value: Any) -> None:
    """Give the tensors in the fields the gradients that the fields of an array of the type are, or None."""
    if value is None:
        for leaf in variables_in(self):
            if isinstance(leaf, Storage):
                leaf.grad = None  # type: ignore[attr-defined]  # of tensors
        return
    if type(value) is not type(self):
        raise TypeError(f"grad: expected a {class_name(type(self))} or None, found {class_name(type(value))}")
    for leaf, part in zip(_tensors("grad", self), _tensors("grad", value), strict=True):
        leaf.grad = part


def requires_gradient(self: Any) -> bool:
    """Return whether gradients flow to one of the tensors in the fields."""
    return any(getattr(leaf, "requires_grad", False) for leaf in variables_in(self))


def set_requires_gradient(self: Any, requires_grad: bool = True) -> Any:
    """Say whether gradients are to be collected in the tensors in the fields that are differentiated.

    Parameters
    ----------
    requires_grad : whether they are

    Returns
    -------
    Any
        The instance itself.

    Raises
    ------
    AutogradError : if one is no leaf
    TypeError : if there are none
    """
    for leaf in _tensors("requires_grad_", self):
        leaf.requires_grad_(requires_grad)
    return self


tensor_protocol.surface.add_attribute("grad", ByFields("grad", gradient, set_gradient))
_requires_grad = ByFields("requires_grad", requires_gradient, set_requires_gradient)
tensor_protocol.surface.add_attribute("requires_grad", _requires_grad)
tensor_protocol.surface.add_attribute("requires_grad_", set_requires_gradient)


class GradientMethods(Storage):
    """What a tensor knows of gradients."""

    __slots__ = ()
    __dispatch_results__: ClassVar[type[Any] | None]

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether gradients are to be collected in this leaf.

        Parameters
        ----------
        requires_grad : whether they are

        Returns
        -------
        Tensor
            The tensor itself.

        Raises
        ------
        AutogradError : for a tensor that is no leaf, or holds no floating-point numbers
        """
        node = self._node
        if node is not None and not node.is_leaf:
            if not requires_grad:
                raise AutogradError("requires_grad of a tensor that is no leaf cannot be switched off; use detach()")
        elif requires_grad and node is None:
            self._node = make_leaf(self.array)
            extras_of(self._node).grad = getattr(self, "_grad", None)
        elif not requires_grad and node is not None:
            self._grad = extras_of(node).grad
            self._node = None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self._node is None or self._node.is_leaf

    @property
    def grad_fn(self) -> Vertex | None:
        """The recorded operation that made this tensor, None for leaves."""
        if self.is_leaf:
            return None
        return vertex_of(self)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, None before the first; a subclass has it of its type."""
        gradient: Tensor | None = gradient_of(self)
        if gradient is not None and type(gradient) not in (type(self), self.__dispatch_results__):
            typed: Tensor = in_class_of(self, gradient)
            if typed is not gradient:
                keep_gradient(self, typed)  # so that it is the same at the next look
            return typed
        if gradient is None and self._node is not None and not self._node.is_leaf and not self.retains_grad:
            text = "grad is None: a tensor that is no leaf keeps no gradient; call retain_grad() before backward()"
            frame = caller_frame()
            if frame.f_globals.get("__name__", "").partition(".")[0] not in INSPECTORS:
                warn_at(frame, text, GradientWarning)
        return gradient

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Storage):
                raise TypeError(f"grad: expected a tensor or None, found {class_name(type(value))}")
            if value.array.shape != self.array.shape:
                raise ValueError(
                    f"grad: the tensor has shape {tuple(self.array.shape)}, the gradient {tuple(value.array.shape)}"
                )
            if value is self:
                raise ValueError("grad: a tensor cannot be its own gradient")
        keep_gradient(self, value)

    @grad.deleter
    def grad(self) -> None:
        keep_gradient(self, None)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf, too; those of several passes add up.

        Raises
        ------
        AutogradError : if no gradient flows to it
        """
        if not self.retains_grad:
            _extras_for_hook(self, "retain_grad").retains = not self.is_leaf

    @property
    def retains_grad(self) -> bool:
        """Whether the gradient of this non-leaf is kept."""
        node = self._node
        return node is not None and not node.is_leaf and node.extras is not None and node.extras.retains

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Have a function called with the gradient of this tensor, each time one is computed.

        Parameters
        ----------
        hook : called with the gradient; a tensor that it returns takes the gradient's place

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.

        Raises
        ------
        AutogradError : if no gradient flows to the tensor

        Notes
        -----
        The hook of a subclass is given a gradient of its type, with the attributes that the tensor has now.
        """
        hooks = _extras_for_hook(self, "register_hook").hooks
        if tensor_protocol.types.results_of(type(self)) is tensor_namespace.Tensor:
            return RemovableHandle(hooks, hook)
        # The hooks of a leaf must not keep it alive.
        return RemovableHandle(hooks, _TypedHook(hook, self.detach()))

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], object]) -> RemovableHandle:
        """Have a function called with this leaf after a backward pass has accumulated its gradient.

        Parameters
        ----------
        hook : takes the leaf, which has its new gradient in `grad` and may be given another there; returns None

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.

        Raises
        ------
        AutogradError : if the tensor is no leaf that requires a gradient
        """
        extras = _extras_for_hook(self, "register_post_accumulate_grad_hook")
        if not self.is_leaf:
            raise AutogradError("register_post_accumulate_grad_hook is for leaves; use register_hook here")

        # The leaf's vertex must not keep the leaf alive.
        leaf_ref: Any = weakref.ref(self)

        def call(leaf: Leaf) -> None:
            tensor = leaf_ref()
            if tensor is None:
                return
            result = hook(tensor)
            # What changes one of these in place returns it.
            if result is not None and result is not tensor and result is not gradient_of(tensor):
                raise TypeError(
                    f"register_post_accumulate_grad_hook: the hook returned a {class_name(type(result))}, not None; "
                    "the gradient is accumulated already: assign leaf.grad in the hook, or use register_hook"
                )

        return RemovableHandle(extras.after, call)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Iterable[Tensor] | Tensor | None = None,
    ) -> None:
        """Compute gradients of this tensor and add them to the leaves they belong to.

        Parameters
        ----------
        gradient : cotangent of this tensor, of its shape; may be left out for a tensor of one element
        retain_graph : keep the graph for another pass; as `create_graph` by default
        create_graph : record the pass itself, so that the gradients can be differentiated
        inputs : the tensors to accumulate gradients in, one or any iterable; all leaves by default

        Raises
        ------
        AutogradError : if no gradient flows to this tensor, the graph was freed, or the cotangent is missing

        Examples
        --------
        >>> import dispatchkit as dk
        >>> x = dk.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        try:
            if inputs is None and not create_graph:
                root = place_of(self, "the tensor to differentiate"), _cotangent(self, gradient, False)
                sweep([root], plain, retain_graph=bool(retain_graph))
                return
            targets = None
            if inputs is not None:
                targets = as_list(inputs)
            run_backward([self], [gradient], retain_graph, create_graph, targets, accumulate=True)
        except Exception as error:
            hide_frames(error)
            raise

    def detach(self) -> Self:
        """Return a tensor with the same memory, outside the graph."""
        view = wrap_array(type(self).__dispatch_results__ or type(self), without_graph(self.array))
        if (held := getattr(self, "__dict__", None)) and hasattr(view, "__dict__"):
            view.__dict__.update(held)
        if slotted:
            take_attributes(view, (self,))
        share_outside(view, self)
        return view  # type: ignore[no-any-return]  # of this class, or the one it names for results

    def detach_(self) -> Self:
        """Take this tensor out of the graph; a backward pass that needs it where it was raises `InplaceError`.

        Returns
        -------
        Tensor
            The tensor itself.

        Raises
        ------
        AutogradError : for a view, which would stay in the graph by way of the tensor that it is a view of
        """
        if self._node is not None and self._memory is not None and self._memory.root is not self:
            raise AutogradError("detach_: a view cannot be taken out of the graph in place; use detach()")
        if not self.is_leaf:
            # What nodes have saved of it led on into the graph, which second derivatives would miss.
            memory_of(self).offset += 1
        self._grad, self._node = gradient_of(self), None
        return self

    @property
    def data(self) -> Self:
        """The tensor outside the graph, with the same memory; assigning gives this tensor other contents."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, Storage):
            raise TypeError(f"data: expected a tensor, found {class_name(type(value))}")
        if self._node is not None:
            make_leaf(value.array)  # which refuses integers
        memory_of(self)
        self.array = value.array
        share_memory(self, value, family=False)
        if isinstance(self._node, Leaf):
            self._node.shape, self._node.dtype = tuple(value.array.shape), value.array.dtype

    @property
    def _version(self) -> int:
        """How often the memory of this tensor was changed in place."""
        return version_of(self)


def gradient_of(tensor: Storage) -> Any:
    """Return the gradient that a tensor has, None where it has none."""
    node = tensor._node
    if node is None:
        return getattr(tensor, "_grad", None)
    if node.extras is None:
        return None
    return node.extras.grad


class _TypedHook:
    """A hook that is given gradients in the class of the tensor that it was registered with, the model."""

    __slots__ = ("_hook", "_model")

    def __init__(self, hook: Callable[[Any], Any], model: Any) -> None:
        self._hook, self._model = hook, model

    def in_class(self, g: Any) -> Any:
        return in_class_of(self._model, g)

    def __call__(self, g: Any) -> Any:
        return self._hook(self.in_class(g))


def in_class_of(model: Any, x: Any) -> Any:
    """Return a plain tensor, such as a gradient, in the class of results of another, with its attributes.

    Where the other is a gradient edge, nothing is known of its tensor, and the gradient stays a plain one.
    """
    cls = tensor_protocol.types.results_of(type(model))
    if cls is type(x) or type(x) is not tensor_namespace.Tensor or not isinstance(model, Storage):
        return x
    typed = wrap_array(cls, x.array, vertex_of(x))
    share_memory(typed, x)
    typed.__tensor_finalize__(None, (model,))
    return typed


def like_tensor(model: Any, x: Any) -> Any:
    """Return a new tensor, which nothing else holds, as one like another: in its class, at its transformations' levels.

    Parameters
    ----------
    model : a tensor, inside transformations or not
    x : the new tensor, of any shape
    """
    if x.is_tracer:
        return x
    if model.is_tracer:
        return model.take_in(x)
    cls = tensor_protocol.types.results_of(type(model))
    if cls is type(x):
        return x
    typed = wrap_array(cls, x.array, vertex_of(x))
    typed.__tensor_finalize__(None, (model,))
    return typed


def keep_gradient(tensor: Any, value: Any) -> None:
    """Make a tensor of the same shape, or None, the gradient of a tensor."""
    node = tensor._node
    if node is None:
        tensor._grad = value
    else:
        (node.extras or extras_of(node)).grad = value


def _extras_for_hook(tensor: Storage, name: str) -> VertexExtras:
    vertex = vertex_of(tensor)
    if vertex is None:
        raise AutogradError(f"{name}: the tensor does not require a gradient")
    return extras_of(vertex)


def run_backward(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Sequence[Any] | None,
    *,
    accumulate: bool,
) -> list[Any]:
    """Run a backward sweep from tensors; return the gradient of each of `inputs`, None where none flows.

    Parameters
    ----------
    outputs : tensors to differentiate, or their gradient edges
    gradients : their cotangents, None where the output has one element
    retain_graph, create_graph : as for `Tensor.backward`
    inputs : tensors whose gradients are wanted; all leaves by default
    accumulate : add to ``.grad``

    Raises
    ------
    AutogradError : if an output is outside the graph, a cotangent is missing or of another shape, or `inputs` is empty
    """
    roots = [
        (place_of(output, "the tensor to differentiate"), _cotangent(output, gradient, create_graph, index))
        for index, (output, gradient) in enumerate(zip(outputs, gradients, strict=True))
    ]
    if inputs is not None and not inputs:
        advice = "leave it out for all leaves" if accumulate else "name the tensors to differentiate by"
        raise AutogradError(f"{'backward' if accumulate else 'grad'}: inputs is empty; {advice}")
    targets = None if inputs is None else [place_of(tensor, "one of the inputs") for tensor in inputs]
    if targets is not None and accumulate:
        for vertex in targets:
            if not vertex.is_leaf:
                extras_of(vertex).retains = True
    if create_graph and not is_grad_enabled():
        with enable_grad():
            return run_backward(outputs, gradients, retain_graph, create_graph, inputs, accumulate=accumulate)
    if retain_graph is None:
        retain_graph = create_graph
    grads = sweep(
        roots, plain, inputs=targets, retain_graph=retain_graph, create_graph=create_graph, accumulate=accumulate
    )
    gradients_found = [grads.get(vertex) for vertex in targets or ()]
    return [
        gradient_for(tensor, g, raw=not create_graph) for tensor, g in zip(inputs or (), gradients_found, strict=True)
    ]


def gradient_for(tensor: Any, g: Any, *, raw: bool) -> Any:
    """Return a gradient in the class of results of the tensor that it is for, None where none flows.

    Parameters
    ----------
    tensor : that it is for
    g : the gradient, None where none flows
    raw : whether it is a raw array
    """
    if g is None:
        return None
    if raw:
        g = plain(g)
    return in_class_of(tensor, g)


def plain(array: Any) -> Any:
    """Return a plain tensor around a raw gradient."""
    return wrap_array(tensor_namespace.Tensor, array)


def as_list(tensors: Any) -> list[Any]:
    """Return the tensors of any iterable, such as ``model.parameters()``, or one alone; anything else as it is."""
    alone = (Storage, GradientEdge, np.ndarray, str, bytes, Mapping)
    if not isinstance(tensors, Iterable) or isinstance(tensors, alone):
        return [tensors]
    is_array_type = tensor_protocol.types.participates(type(tensors))
    if is_array_type or _advice_for(tensors):
        return [tensors]
    return list(tensors)


def _advice_for(value: Any) -> str:
    """Return what to give in the place of what holds tensors, and is no iterable of them."""
    if isinstance(value, Mapping):
        return "; give its values()"
    if callable(getattr(value, "parameters", None)):
        return "; give its parameters()"
    return ""


def place_of(tensor: Any, what: str) -> Vertex:
    """Return the vertex of a tensor that is to be differentiated, or that a gradient edge leads to.

    Raises
    ------
    TypeError, AutogradError : if it is neither, or no gradient flows to it, saying what it is for
    """
    if not isinstance(tensor, Storage):
        if isinstance(tensor, GradientEdge):
            return tensor.node
        raise TypeError(f"{what} is a {class_name(type(tensor))}, not a tensor{_advice_for(tensor)}")
    vertex = tensor._node if tensor._memory is None else vertex_of(tensor)
    if vertex is None:
        raise AutogradError(
            f"{what} does not require grad and has no grad_fn: nothing it depends on requires a gradient; to "
            f"differentiate a gradient, compute it with create_graph=True"
        )
    return vertex


def _cotangent_of_edge(edge: GradientEdge, gradient: Any, create_graph: bool, index: int) -> Any:
    """Return the cotangent that is to arrive at an edge, whose tensor is not known, as that of an output."""
    vertex = edge.node
    if gradient is None and not is_complex(vertex.dtype) and math.prod(vertex.shape) == 1:
        gradient = tensor_namespace.ones(vertex.shape, dtype=vertex.dtype)
    stand_in = wrap_array(tensor_namespace.Tensor, tensor_namespace.empty(vertex.shape, dtype=vertex.dtype).array)
    return _cotangent(stand_in, gradient, create_graph, index)


def _cotangent(output: Any, gradient: Any, create_graph: bool, index: int = 0) -> Any:
    """Return the cotangent of an output, raw or (`create_graph`) as a tensor."""
    if isinstance(output, GradientEdge):
        return _cotangent_of_edge(output, gradient, create_graph, index)
    array = output.array
    shape = tuple(array.shape)
    if gradient is None:
        if type(array) is np.ndarray and array.size == 1 and array.dtype.kind == "f" and not create_graph:
            ones = np.empty(shape, array.dtype)
            ones.fill(1)  # `numpy.ones` takes thrice the time
            return ones
        if math.prod(shape) != 1:
            raise AutogradError(
                f"grad can be implicitly created only for scalar outputs; this one has shape {shape}: pass gradient="
            )
        if is_complex(array.dtype):
            raise AutogradError("grad can be implicitly created only for real scalar outputs; pass gradient=")
        gradient = wrap_array(tensor_namespace.Tensor, namespace_of(array).ones_like(array))
    elif foreign:
        common_library("backward", (output, gradient))
        if isinstance(gradient, Storage):
            gradient = in_library(gradient, namespace_of(array))
    if isinstance(gradient, Storage):
        raw = gradient.array
    else:
        raw = namespace_of(array).asarray(gradient)
    if tuple(raw.shape) != shape or raw.dtype is not array.dtype:
        _check_cotangent(raw, output, gradient, index)
    if not create_graph:
        return raw
    if isinstance(gradient, Storage):
        return gradient
    return wrap_array(tensor_namespace.Tensor, raw)


def _check_cotangent(raw: Any, output: Any, gradient: Any, index: int) -> None:
    """Raise if a cotangent, raw and as it came, has another shape than its output, or is complex for a real one."""
    dtype = output.array.dtype
    if tuple(raw.shape) != tuple(output.array.shape):
        shape = getattr(gradient, "shape", tuple(raw.shape))
        raise AutogradError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {shape} and output[{index}] has a shape of "
            f"{output.shape}."
        )
    if raw.dtype is not dtype and is_complex(raw.dtype) and not is_complex(dtype):
        raise AutogradError(
            f"gradient is {dtype_name(raw.dtype)}, the tensor to differentiate {dtype_name(dtype)}: where one is "
            f"complex, they are required to have the same dtype"
        )
