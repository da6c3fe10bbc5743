"""`Function`: user-defined operations with user-defined derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from dispatchkit.autograd.function_context import FunctionCtx
from dispatchkit.autograd.function_record import MISSING, OLD_FORM, FunctionRecord
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import no_grad
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")


class _Apply:
    """Gives the public function of the class that it is read from, also by `super()` in an overridden `apply`."""

    def __get__(self, instance: Any, owner: Any) -> Callable[..., Any]:
        function: Callable[..., Any] = owner.__overridable__.function
        return function


class _Recorded:
    """Gives a class its record, made when it is asked for: a class that arrives in another process is filled last.

    The record is in no list and is collected with the class.
    """

    def __init__(self) -> None:
        self._made: FunctionRecord | None = None

    def __get__(self, instance: Any, owner: Any) -> FunctionRecord:
        if self._made is None:
            self._made = FunctionRecord(owner, Function)
            tensor_protocol.operations.make_public(self._made)
        return self._made

    def __reduce__(self) -> Any:
        return _Recorded, ()


class Function:
    """Base of differentiable operations that define how their derivatives are computed.

    Derive a class with static methods, and call its `apply`. Either ``forward(ctx, *args)`` fills the context, or
    ``forward(*args)`` does not take one and ``setup_context(ctx, inputs, output)`` fills it.

    Attributes
    ----------
    generate_vmap_rule : whether the methods can run on batches as they are, so that `vmap` needs no rule

    Notes
    -----
    Tensors reach `forward` as the very objects that were passed, and nothing is recorded inside it. A type that holds
    tensors in its fields does, too, and is tracked through them. `apply` is overridden like any function, by
    ``@dk.implements(MyFunction)``. Source: PyTorch, `torch.autograd.Function`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Exp(dk.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = dk.exp(x)
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (y,) = ctx.saved_tensors
    ...         return grad_output * y
    >>> x = dk.tensor([0.0, 1.0], requires_grad=True)
    >>> y = Exp.apply(x)
    >>> y
    tensor([1.0000, 2.7183], grad_fn=<ExpBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.0000, 2.7183])
    """

    __overridable__ = _Recorded()
    generate_vmap_rule: ClassVar[bool] = False
    # Whether what PyTorch refuses is refused, where it would be right here.
    _refuses_as_pytorch: ClassVar[bool] = False
    # The class of the tensors that backward is given.
    _cotangents_in: ClassVar[type] = Tensor
    apply = _Apply()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__overridable__ = _Recorded()
        cls.__overridable__  # noqa: B018  # its methods are checked now

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise: a `Function` has no instances.

        Raises
        ------
        AutogradError : always, showing how code of the oldest form is ported
        """
        raise AutogradError(f"{cls.__name__} cannot be instantiated. " + OLD_FORM.format(name=cls.__name__))

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the output: ``forward(ctx, *args)``, or ``forward(*args)`` where `setup_context` is defined.

        Parameters
        ----------
        *args : of `apply`, after the context where `forward` takes one
        **kwargs : of `apply`

        Returns
        -------
        Any
            A tensor, an array type, or a tuple or list of them and of anything else, which is passed on as it is.
        """
        raise NotImplementedError(MISSING["forward"])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill the context from the inputs, defaults filled in, and what `forward` returned.

        Parameters
        ----------
        ctx : the context, a `FunctionCtx`
        inputs : the arguments of `apply`, defaults filled in
        output : what `forward` returned
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """Return a gradient for each input, None for those that have none, from one for each output.

        Parameters
        ----------
        ctx : the context that `forward` or `setup_context` filled
        *grad_outputs : the gradient of each output, of its shape; for an array type a gradient of that type
        **_ : for type checkers alone, so that subclasses may name their parameters
        """
        raise NotImplementedError(MISSING["backward"])

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """Be `backward` under another name; a class defines one of the two.

        Parameters
        ----------
        ctx, *grad_outputs, **_ : as for `backward`

        Returns
        -------
        Any
            As of `backward`.
        """
        raise NotImplementedError(MISSING["backward"])

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **_: Any) -> Any:
        """Return a tangent for each output from one for each input, None for inputs that are not differentiated.

        Parameters
        ----------
        ctx : the context; `saved_tensors` gives what `save_for_forward` kept
        *grad_inputs : the tangent of each input, of its shape, or None; zeros where a floating-point tensor has none,
            unless ``ctx.set_materialize_grads(False)`` asks for None
        **_ : for type checkers alone, so that subclasses may name their parameters
        """
        raise NotImplementedError(MISSING["jvp"])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any, **_: Any) -> Any:
        """Compute for a whole batch at once.

        Parameters
        ----------
        info : has ``batch_size`` and ``randomness``
        in_dims : for each argument its batch axis, None where it has none
        *args : of `forward`, without the context
        **_ : for type checkers alone, so that subclasses may name their parameters

        Returns
        -------
        tuple
            The output for the whole batch, and in the same form the batch axes, None for what has none.
        """
        raise NotImplementedError(MISSING["vmap"])


def once_differentiable(fn: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[C, P], R]:
    """Declare that `backward` is not differentiable: a second derivative raises.

    Parameters
    ----------
    fn : a `backward`, under ``@staticmethod``

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.autograd.function import once_differentiable
    >>> class Sine(dk.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.numpy()
    ...         return dk.asarray(np.sin(ctx.x))
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         return g.numpy() * np.cos(ctx.x)
    >>> import numpy as np
    >>> x = dk.tensor(0.0, requires_grad=True)
    >>> (g,) = dk.autograd.grad(Sine.apply(x), x, create_graph=True)
    >>> dk.autograd.grad(g, x)
    Traceback (most recent call last):
        ...
    dispatchkit.errors.AutogradError: SineBackward: trying to differentiate twice a function that was marked with ...
    """

    @functools.wraps(fn)
    def wrapper(ctx: C, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with no_grad():
            return fn(ctx, *args, **kwargs)

    wrapper.once_differentiable = True  # type: ignore[attr-defined]  # what the backward pass looks for
    return wrapper
