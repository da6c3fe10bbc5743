"""Tensors, functions and parameters of PyTorch as those of dispatchkit, and back, in both graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from dispatchkit.autograd import Function, enable_grad, grad
from dispatchkit.backends.arrays import in_own_graph, is_inexact, raw_array
from dispatchkit.declare.wrapping import wrap_array
from dispatchkit.errors import RegistrationError
from dispatchkit.func.containers import arrays_of
from dispatchkit.func.containers import map_container as with_arrays
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.interop.bridges import dense_tensor
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.tensor import twin
from dispatchkit.tree import with_attributes, with_members
from dispatchkit.wording import class_name

Change = Callable[[Any], Any]


def from_torch(t: torch.Tensor) -> Tensor:
    """Return a tensor that holds a tensor of PyTorch: the same memory, and the same place in PyTorch's graph.

    Where `t` requires a gradient, PyTorch records what is computed, and dispatchkit does not: `to_torch` of the result
    is differentiated by PyTorch, any number of times. `as_torch_function` uses dispatchkit's own derivatives instead.

    Parameters
    ----------
    t : tensor of PyTorch

    Raises
    ------
    TypeError : for anything else

    Examples
    --------
    >>> import torch
    >>> from dispatchkit.interop.torch import from_torch, to_torch
    >>> t = torch.ones(2, requires_grad=True)
    >>> to_torch((from_torch(t) * 3).sum())
    tensor(6., grad_fn=<SumBackward0>)
    """
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"from_torch takes a torch.Tensor, found {class_name(type(t))}")
    return wrap_array(Tensor, raw_array(t))  # type: ignore[no-any-return]  # a tensor


def to_torch(x: Any) -> torch.Tensor:
    """Return a tensor, or the dense form of an array type, as a tensor of PyTorch in the same memory.

    Where `x` is part of dispatchkit's graph, the result requires a gradient, and PyTorch's backward pass goes on in
    dispatchkit's, up to the ``.grad`` of its leaves.

    Parameters
    ----------
    x : tensor, array type, or what `dispatchkit.asarray` takes

    Raises
    ------
    DensifyError : where the budget of `densify` forbids the dense form

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import to_torch
    >>> w = dk.tensor([1.0, 2.0], requires_grad=True)
    >>> to_torch(w * w).sum().backward()
    >>> w.grad
    tensor([2., 4.])
    """
    if isinstance(x, torch.Tensor):
        return x
    tensor = dense_tensor("to_torch", x)
    array = raw_torch(tensor)
    if tensor._node is None or not is_grad_enabled():
        return array
    result: torch.Tensor = _IntoDispatchkit.apply(tensor, array, torch.empty(0, requires_grad=True))
    return result


def raw_torch(tensor: Tensor) -> torch.Tensor:
    """Return the array of a tensor as PyTorch's, sharing memory where it is NumPy's or another library's."""
    array: Any = tensor.array
    if isinstance(array, torch.Tensor):
        return array
    if isinstance(array, np.ndarray):
        # PyTorch cannot say that memory is read-only, and has no negative strides.
        fits = array.flags.writeable and all(stride >= 0 for stride in array.strides)
        if not fits:
            array = array.copy()
        return torch.from_numpy(array)
    shared: torch.Tensor = torch.from_dlpack(array)
    return shared


def like(tensor: Tensor, t: torch.Tensor) -> Any:
    """Return a tensor of PyTorch as an array of the library that another tensor's is of."""
    if isinstance(tensor.array, np.ndarray):
        return t.detach().numpy()
    return t


class _IntoDispatchkit(torch.autograd.Function):  # type: ignore[misc]  # `Any` where PyTorch is not installed
    """Hands the gradient of a tensor that dispatchkit computed on to dispatchkit's backward pass."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, array: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        ctx.tensor = tensor
        # A new tensor in the same memory: PyTorch takes what is given back as it came for no result.
        return array.view_as(array)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[None, torch.Tensor, None]:
        cotangent = wrap_array(Tensor, raw_array(like(ctx.tensor, g)))
        # PyTorch does not say whether its graph is used again.
        ctx.tensor.backward(cotangent, retain_graph=True)
        return None, g, None


def mapped(change: Change, value: Any, *also: type) -> Any:
    """Return containers with `change` made to each tensor of either library, each array type and what is of `also`."""
    if isinstance(value, (torch.Tensor, *also)) or tensor_protocol.types.participates(type(value)):
        return change(value)
    if isinstance(value, (list, tuple)):
        return with_members(value, [mapped(change, member, *also) for member in value])
    if isinstance(value, Mapping):
        return {key: mapped(change, member, *also) for key, member in value.items()}
    return value


def opened(value: Any) -> Any:
    """Return a tensor or array type whose arrays are PyTorch's, sharing memory; PyTorch records what follows."""
    if isinstance(value, torch.Tensor):
        return from_torch(value)
    if isinstance(value, Tensor):
        if isinstance(value.array, torch.Tensor) and value._node is None:
            return value
        result = twin(value)
        result.array = raw_array(to_torch(value))
        return result
    if isinstance(value, Storage):
        return value
    result = value
    try:
        names = tensor_protocol.types.fields_of(value)
    except RegistrationError:
        return value
    for name in names:
        held = getattr(value, name)
        new = mapped(opened, held)
        if isinstance(held, np.ndarray):
            new = torch.from_numpy(held)
        if new is not held:
            result = with_attributes(result, [(name, new)])
    return result


Call = Callable[..., Any]


def as_torch_function(function: Call) -> Call:
    """Return a function of dispatchkit as one of PyTorch, differentiated by dispatchkit's rules.

    Unlike what is computed on `from_torch`, this uses the derivatives that operations, a `dk.autograd.Function` and
    ``dk.operation`` declare, and PyTorch keeps one node for the whole function.

    Parameters
    ----------
    function : takes and returns tensors, array types, and containers of them

    Returns
    -------
    a function that takes PyTorch's tensors in their place, and gives PyTorch's; array types stay, around its tensors

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import as_torch_function
    >>> softplus = as_torch_function(lambda x: dk.logaddexp(x, 0.0))
    >>> t = torch.zeros(2, requires_grad=True)
    >>> softplus(t).sum().backward()
    >>> t.grad
    tensor([0.5000, 0.5000])
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        operands = mapped(opened, (args, kwargs))
        inputs = [raw_torch(x) for x in arrays_of(operands)]
        results: list[Any] = []

        def run(xs: Sequence[Tensor]) -> list[Tensor]:
            left = iter(xs)
            arguments, keywords = with_arrays(lambda _: next(left), operands)
            results[:] = [function(*arguments, **keywords)]
            return list(arrays_of(results[0]))

        outputs = iter(_OfDispatchkit.apply(run, *inputs))
        return mapped(closed, with_arrays(lambda _: from_torch(next(outputs)), results.pop()))

    return call


def closed(value: Any) -> Any:
    """Return a plain tensor, in any spelling, as PyTorch's; an array type or subclass of `Tensor` as it is."""
    if type(value) is Tensor or getattr(type(value), "__dispatch_plain__", False):
        return to_torch(value)
    return value


class _OfDispatchkit(torch.autograd.Function):  # type: ignore[misc]  # `Any` where PyTorch is not installed
    """A function of a list of tensors that dispatchkit computes and differentiates."""

    @staticmethod
    def forward(ctx: Any, run: Callable[[Sequence[Tensor]], list[Tensor]], *inputs: torch.Tensor) -> Any:
        xs = [_leaf(t) for t in inputs]
        with enable_grad():
            ys = run(xs)
        ctx.run, ctx.xs, ctx.ys = run, xs, ys
        ctx.save_for_backward(*inputs)
        # New tensors in the same memory: PyTorch puts its graph on what is given back.
        outputs = [raw_torch(y).detach() for y in ys]
        ctx.mark_non_differentiable(*[t for t, y in zip(outputs, ys, strict=True) if y._node is None])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        reached = [place for place, y in enumerate(ctx.ys) if y._node is not None]
        wanted = [place for place, x in enumerate(ctx.xs) if x._node is not None]
        known = [cotangents[place] for place in reached]

        def pull(ys: Sequence[Tensor], xs: Sequence[Tensor], gs: Sequence[Tensor], *, again: bool) -> list[Any]:
            derivatives = grad(
                [ys[place] for place in reached],
                [xs[place] for place in wanted],
                list(gs),
                retain_graph=True,
                create_graph=again,
                allow_unused=True,
            )
            zeros = [xs[place] * 0.0 if g is None else g for g, place in zip(derivatives, wanted, strict=True)]
            return [g if again else g.detach() for g in zeros]

        if torch.is_grad_enabled():
            count, run = len(ctx.xs), ctx.run

            def again(tensors: Sequence[Tensor]) -> list[Tensor]:
                xs = tensors[:count]
                return pull(run(xs), xs, tensors[count:], again=True)

            gradients = _OfDispatchkit.apply(again, *ctx.saved_tensors, *known)
        else:
            gs = [from_torch(g) for g in known]
            gradients = [raw_torch(g) for g in pull(ctx.ys, ctx.xs, gs, again=False)]
        by_place = dict(zip(wanted, gradients, strict=True))
        return None, *[by_place.get(place) for place in range(len(ctx.xs))]


def _leaf(t: torch.Tensor) -> Tensor:
    """Return a leaf of dispatchkit's graph in the memory of a tensor of PyTorch."""
    x = from_torch(t.detach())
    if t.requires_grad:
        return x.requires_grad_()
    return x


def as_dispatchkit_function(function: Call) -> Call:
    """Return a function or module of PyTorch as a function of dispatchkit, differentiated by PyTorch.

    Parameters
    ----------
    function : takes PyTorch's tensors, and returns one or a tuple of them. The parameters of a module get gradients,
        too, when dispatchkit's backward pass reaches it

    Returns
    -------
    a function that takes tensors in their place, and gives tensors of the library that the arguments are of

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import as_dispatchkit_function
    >>> entropy = as_dispatchkit_function(torch.special.entr)
    >>> x = dk.tensor([0.5, 1.0], requires_grad=True)
    >>> entropy(x).sum().backward()
    >>> x.grad
    tensor([-0.3069, -1.0000])
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        call_arguments = mapped(_tensors, (args, kwargs))
        xs = list(arrays_of(call_arguments))
        if any(in_own_graph(x.array) for x in xs):
            args, kwargs = mapped(closed, call_arguments)
            return mapped(_tensors, function(*args, **kwargs))
        return _OfTorch.apply(_of_tensors(function, call_arguments), *xs)

    return call


def _tensors(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return from_torch(value)
    return value


def _of_tensors(function: Call, arguments: Any) -> Callable[[Sequence[torch.Tensor]], Any]:
    """Return a function of PyTorch with a call in which only the tensors are left open."""

    def run(tensors: Sequence[torch.Tensor]) -> Any:
        left = iter(tensors)
        args, kwargs = mapped(closed, with_arrays(lambda _: from_torch(next(left)), arguments))
        return function(*args, **kwargs)

    return run


class _OfTorch(Function):
    """A function of tensors that PyTorch computes and differentiates."""

    @staticmethod
    def forward(ctx: Any, run: Callable[[Sequence[torch.Tensor]], Any], *xs: Tensor) -> Any:
        needs = ctx.needs_input_grad[1:]
        with torch.enable_grad():
            leaves = [raw_torch(x).detach().requires_grad_(need) for x, need in zip(xs, needs, strict=True)]
            answer = run(leaves)
        several = isinstance(answer, (tuple, list))
        if several:
            outputs = list(answer)
        else:
            outputs = [answer]
        ctx.run, ctx.leaves, ctx.outputs = run, leaves, outputs
        ctx.save_for_backward(*xs)
        results = [_tensor(y.detach(), xs) for y in outputs]
        if several:
            return tuple(results)
        return results[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        reached = [place for place, y in enumerate(ctx.outputs) if y.requires_grad]
        wanted = [place for place, t in enumerate(ctx.leaves) if t.requires_grad]
        count, run = len(ctx.leaves), ctx.run

        def pull(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
            answer = run(tensors[:count])
            if isinstance(answer, (tuple, list)):
                ys = list(answer)
            else:
                ys = [answer]
            with torch.enable_grad():
                gs = torch.autograd.grad(
                    [ys[place] for place in reached],
                    [tensors[place] for place in wanted],
                    list(tensors[count:]),
                    create_graph=True,
                    materialize_grads=True,
                )
            return tuple(gs)

        known = [cotangents[place] for place in reached]
        if is_grad_enabled():
            gradients = _OfTorch.apply(pull, *ctx.saved_tensors, *known)
        else:
            for t in ctx.leaves:
                t.grad = None
            torch.autograd.backward(
                [ctx.outputs[place] for place in reached], [raw_torch(g) for g in known], retain_graph=True
            )
            leaves = [ctx.leaves[place] for place in wanted]
            gradients = [_tensor(torch.zeros_like(t) if t.grad is None else t.grad, ctx.saved_tensors) for t in leaves]
        by_place = dict(zip(wanted, gradients, strict=True))
        return None, *[by_place.get(place) for place in range(count)]


def _tensor(t: torch.Tensor, others: Sequence[Tensor]) -> Tensor:
    """Return a tensor of PyTorch as a tensor of the library that the first of others is of."""
    filled = t
    if others:
        filled = like(others[0], t)
    return wrap_array(Tensor, raw_array(filled))  # type: ignore[no-any-return]  # a tensor


class FieldParameters(torch.nn.Module):  # type: ignore[misc]  # `Any` where PyTorch is not installed
    """A module that holds the fields of an array type as parameters, and stands for the array in PyTorch's functions.

    Floating-point tensors in the fields become parameters of the names of the fields; those in fields declared with
    ``field(grad=False)``, and integers, become buffers. Everything else stays as it is. `state_dict`, `to`,
    optimisers, `copy.deepcopy` and `torch.save` find them as in any module. Calling the module gives the array.

    Parameters
    ----------
    value : instance of a declared array type; tensors share memory with the parameters where PyTorch can

    Raises
    ------
    TypeError : for what is no instance of a declared array type with a tensor in its fields

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import FieldParameters
    >>> weight = FieldParameters(dk.types.ScalarTensor(3, dk.asarray(2.0)))
    >>> torch.nn.functional.linear(torch.ones(3, dtype=torch.float64), weight)
    tensor([2., 2., 2.], dtype=torch.float64, grad_fn=<...>)
    >>> [name for name, _ in weight.named_parameters()]
    ['value']
    """

    def __init__(self, value: Any) -> None:
        super().__init__()
        types = tensor_protocol.types
        declared = types.participates(type(value)) and not isinstance(value, Tensor)
        fields: Sequence[str] = ()
        if declared:
            fields = types.fields_of(value)
        held = {name: tensor for name in fields if isinstance(tensor := getattr(value, name), Tensor)}
        if not held:
            raise TypeError(
                f"FieldParameters takes an instance of a declared array type with tensors in its fields, found "
                f"{type(value).__name__}"
            )
        constants = types.constants_of(type(value))
        template = value
        for name, tensor in held.items():
            t = raw_torch(tensor.detach())
            if is_inexact(tensor.dtype) and name not in constants:
                self.register_parameter(name, torch.nn.Parameter(t))
            else:
                self.register_buffer(name, t)
            template = with_attributes(template, [(name, None)])
        self._fields, self._template = tuple(held), template

    def forward(self) -> Any:
        """Return the array, whose tensors are the parameters."""
        instance = self._template
        for name in self._fields:
            instance = with_attributes(instance, [(name, from_torch(getattr(self, name)))])
        return instance

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
        return getattr(self(), name)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function of PyTorch on the array in place of the module."""
        args, kwargs = mapped(_array_of, (args, dict(kwargs or {})), cls)
        return func(*args, **kwargs)


def _array_of(value: Any) -> Any:
    if isinstance(value, FieldParameters):
        return value()
    return value


def set_weight(module: torch.nn.Module, name: str, value: Any) -> FieldParameters:
    """Put an array type in the place of a parameter of a module, such as the weight of `torch.nn.Linear`.

    Parameters
    ----------
    module, name : the module, and its parameter
    value : instance of a declared array type, of the shape of the parameter

    Returns
    -------
    `FieldParameters`, which now stands under the name

    Raises
    ------
    AttributeError : if the module has no parameter of that name
    ValueError : if the shapes differ
    TypeError : if the value is of no declared array type, or has no tensor in its fields

    Examples
    --------
    >>> import torch
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.torch import set_weight
    >>> layer = torch.nn.Linear(3, 3, dtype=torch.float64)
    >>> weight = set_weight(layer, "weight", dk.types.ScalarTensor(3, dk.asarray(2.0)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight.value']
    """
    old = module._parameters.get(name)
    if old is None:
        raise AttributeError(f"set_weight: {type(module).__name__} has no parameter {name!r}")
    parameters = FieldParameters(value)
    if tuple(value.shape) != tuple(old.shape):
        raise ValueError(
            f"set_weight: {name!r} has shape {tuple(old.shape)}, the {type(value).__name__} {tuple(value.shape)}"
        )
    delattr(module, name)
    module.add_module(name, parameters)
    return parameters
