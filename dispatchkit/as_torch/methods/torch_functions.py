"""`__torch_function__` of subclasses of tensors, which sees the calls on their instances as PyTorch spells them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from dispatchkit.as_torch.attributes.asking import ask, asks, is_asking, keeps_classes, unasked
from dispatchkit.as_torch.calling.allowed import allowed_names
from dispatchkit.as_torch.spelling import FUNCTIONS, PARAMETER, Tensor
from dispatchkit.graph.storage import Storage
from dispatchkit.protocol.overridable import of
from dispatchkit.tree import container_items, map_leaves

__all__ = ["answer_plainly", "give_torch_function"]

Call = Callable[..., Any]
_of_subclasses = Tensor.__init_subclass__.__func__  # type: ignore[attr-defined]  # of a classmethod
_answer = Tensor.__tensor_function__.__func__  # type: ignore[attr-defined]  # of a classmethod
NETWORKS = "nn.functional."

# Operators that PyTorch spells as methods; others are spelled as they are.
OPERATORS = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "neg", "abs", "lt", "le", "gt", "ge")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")},
    "__radd__": "add",
    "__rmul__": "mul",
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__pos__": "positive",
}
OTHER_OPERATORS = (
    *("eq", "ne", "pow", "floordiv", "and", "or", "xor", "invert", "lshift", "rshift", "ipow", "iand", "ior", "ixor"),
    *("rsub", "rtruediv", "rpow", "rfloordiv", "rmod", "rand", "ror", "rxor", "rlshift", "rrshift", "rmatmul"),
    *("ifloordiv", "ilshift", "irshift", "getitem", "setitem", "len", "bool", "int", "float", "contains", "repr"),
)


def _torch_function(
    cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Answer a call as plain tensors do, giving results this class; what overrides reach by `super()`."""
    if not _is_shown(func):
        return _answered(cls, func, types, args, kwargs)
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with unasked(keep=True):
        y = func(*args, **(kwargs or {}))
    return map_leaves(container_items, functools.partial(_in_class, cls, args), y)


def _answered(
    cls: Any, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None
) -> Any:
    """Answer an operation of the library, or a function of PyTorch itself, of which other tensors have the answer."""
    if of(func) is None:
        return super(Tensor, cls).__torch_function__(func, types, args, dict(kwargs or {}))
    return _answer(cls, func, types, args, kwargs)


def _is_shown(func: Any) -> bool:
    """Return whether a function is as PyTorch shows it, or of a program: no operation, and none of PyTorch itself."""
    operation = of(func)
    if operation is not None and operation.function is func:
        return False
    return isinstance(func, FunctionType) and func.__module__.partition(".")[0] != "torch"


def _in_class(cls: type, args: tuple[Any, ...], y: Any) -> Any:
    """Return a result that is a plain tensor as one of a class; all else as it is."""
    if type(y) is not Tensor:
        return y
    instance = y.as_subclass(cls)
    if not any(y is each for each in args):
        instance._memory.give_root(y, instance)  # the plain one is given up
    return instance


def answer_plainly(
    func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Answer a call as plain tensors do, giving results their class: that of classes whose results are not of theirs.

    Parameters
    ----------
    func : the function
    types : of the arguments that have a `__torch_function__`
    args, kwargs : of the call
    """
    if not _is_shown(func):
        return _answered(Tensor, func, types, args, kwargs)
    with unasked():
        return func(*args, **(kwargs or {}))


def _by_torch_function(
    cls: Any, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Ask the `__torch_function__` of a class, of layers as PyTorch spells their functions."""
    if not is_asking():
        return _answer(cls if keeps_classes() else Tensor, func, types, args, kwargs)
    function, named = _function_of_network(func, args, dict(kwargs or {}))
    return cls.__torch_function__(function, tuple(filter(asks, types)), args, named)


def _function_of_network(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the function of networks that PyTorch has for an operation, and its arguments by name.

    It is the operation itself if there is none, or one with other arguments.
    """
    operation = of(func)
    function = _functions_of_networks().get(operation)
    if operation is None or function is None:
        return func, kwargs
    whole = function.check.__self__
    names = {target: name for name, target in whole.targets.items()}
    parameters = [*operation.parameters.signature.parameters][: len(args)]
    in_order = [names.get(name, name) for name in parameters[1:]] == [*whole.names][1 : len(args)]
    if not in_order or not kwargs.keys() <= names.keys():
        return func, kwargs
    return function, {names[target]: value for target, value in kwargs.items()}


@functools.cache
def _functions_of_networks() -> dict[Any, Any]:
    """Return the functions of networks that stand for one operation, by that."""
    functions = [function for path, function in FUNCTIONS.items() if path.startswith(NETWORKS)]
    return {of(function): function for function in functions if of(function) is not None and hasattr(function, "check")}


# Methods.


@functools.cache
def _asking_methods() -> dict[str, Call]:
    """Return the methods and operators that ask before they answer, by their names."""
    operators = {f"__{name}__": f"__{name}__" for name in OTHER_OPERATORS}
    names = {name: name for name in allowed_names("Tensor") or () if name[0] != "_"} | operators | OPERATORS
    methods = {}
    for name, spelled in names.items():
        plain, shown = getattr(Tensor, name, None), getattr(Tensor, spelled, None)
        if isinstance(plain, FunctionType) and isinstance(shown, FunctionType):
            forward = name.replace("__r", "__", 1)
            backward = name != forward and forward in names and getattr(Tensor, names[forward])
            methods[name] = _asking(plain, shown, backward or None)
    return methods


def _asking(plain: Call, shown: Call, forward: Call | None) -> Call:
    """Return a method that asks the classes of its arguments before it answers.

    Parameters
    ----------
    plain : answers
    shown : the method that PyTorch shows for it
    forward : that of the operator whose reflected form this is; tensors beside each other have no other
    """

    @functools.wraps(plain)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_asking():
            return plain(self, *args, **kwargs)
        if forward is not None and isinstance(args[0], Storage):
            y = ask(forward, (args[0], self), kwargs)
        else:
            y = ask(shown, (self, *args), kwargs)
        if y is NotImplemented:
            return plain(self, *args, **kwargs)
        return y

    return method


def _ask_own_function(cls: Any, **kwargs: Any) -> None:
    """Have a new subclass asked, if it defines `__torch_function__`."""
    if "__torch_function__" in vars(cls) and "__tensor_function__" not in vars(cls):
        cls.__tensor_function__ = classmethod(_by_torch_function)
    _of_subclasses(cls, **kwargs)
    if not asks(cls):
        return
    plain = {*Tensor.__mro__, PARAMETER}
    for name, method in _asking_methods().items():
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner in plain:
            setattr(cls, name, method)


def give_torch_function() -> None:
    """Have subclasses asked that define `__torch_function__`, with the functions and methods that PyTorch shows."""
    setattr(Tensor, "__torch_function__", classmethod(_torch_function))  # noqa: B010  # mypy knows no such assignment
    setattr(Tensor, "__init_subclass__", classmethod(_ask_own_function))  # type: ignore[arg-type]  # noqa: B010
