"""`torch.library`: operations of libraries, by names, with derivatives of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from dispatchkit.as_torch.machine import settings
from dispatchkit.as_torch.spelling import Function

__all__ = ["OF_LIBRARY", "Named"]

# By their names, as ``"library::name"``.
OPERATIONS: dict[str, CustomOp] = {}


class CustomOp:
    """A function with a name and, once one is registered, a derivative.

    Parameters
    ----------
    name : as ``"library::name"``
    fn : the function
    """

    def __init__(self, name: str, fn: Callable[..., Any]) -> None:
        self.__name__, self.__doc__, self._qualname = name.rpartition("::")[2], fn.__doc__, name
        self._signature = inspect.signature(fn)
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        operation = self

        class Called(Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                y = fn(*args)
                if operation._setup_context is not None:
                    operation._setup_context(ctx, args, y)
                return y

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                if operation._backward is None:
                    raise RuntimeError(f"{name}: no derivative was registered; call register_autograd")
                return operation._backward(ctx, *grads)

        self._called = Called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self._called.apply(*bound.args, *bound.kwargs.values())

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Say how gradients go backwards.

        Parameters
        ----------
        backward : takes a context and the gradients of the results, and gives those of the arguments
        setup_context : takes the context, the arguments as a tuple, and the result, and keeps what is needed
        """
        self._backward, self._setup_context = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Return a function that says what compilers would find; there are none.

        Parameters
        ----------
        fn : the function
        """
        return fn

    register_kernel = register_vmap = settings.as_it_is


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Return an operation of a name, or a decorator that makes one.

    Parameters
    ----------
    name : as ``"library::name"``
    fn : the function
    **options : what it changes and where it runs, which say nothing here

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> @torch.library.custom_op("mine::doubled", mutates_args=())
    ... def doubled(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> doubled.register_autograd(lambda ctx, grad: 2 * grad)
    >>> x = torch.ones(2, requires_grad=True)
    >>> doubled(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def make(fn: Callable[..., Any]) -> CustomOp:
        OPERATIONS[name] = CustomOp(name, fn)
        return OPERATIONS[name]

    return make if fn is None else make(fn)


def _operation(op: Any) -> CustomOp:
    if isinstance(op, CustomOp):
        return op
    if op not in OPERATIONS:
        raise RuntimeError(f"torch.library: there is no operation {op!r}; make it with torch.library.custom_op")
    return OPERATIONS[op]


def register_autograd(op: Any, backward: Callable[..., Any], /, **options: Any) -> None:
    """Say how gradients go backwards through an operation.

    Parameters
    ----------
    op : the operation or its name
    backward, **options : as of `CustomOp.register_autograd`
    """
    _operation(op).register_autograd(backward, setup_context=options.get("setup_context"))


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Return a function that says what compilers would find; there are none.

    Parameters
    ----------
    op : the operation or its name
    func : the function; a decorator if None
    **options : which say nothing here
    """
    return settings.as_it_is(func)


class Named:
    """What stands for an operator by its name inside PyTorch, such as `torch.ops.aten.add`; only those made here run.

    Parameters
    ----------
    path : names with dots between them
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.path}.{name}"
        made = OPERATIONS.get(path.removeprefix("torch.ops.").replace(".", "::", 1))
        if made is not None:
            return made
        self.__dict__[name] = Named(path)
        return self.__dict__[name]

    def __repr__(self) -> str:
        return self.path

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{self.path}: operators are not called by these names here; write torch's function")


OF_LIBRARY: dict[str, Any] = {
    **{each.__name__: each for each in (custom_op, register_autograd, register_fake)},
    "register_kernel": register_fake,
}
