"""Tensors and array types in JAX's transformations; imported for its effect.

`Tensor`, its subclasses and every declared array type become pytrees: containers whose leaves are the arrays inside.
What `jax.jit`, `jax.grad`, `jax.vmap` and `jax.lax.scan` take apart they put together again, so a function of a
diagonal matrix is given one and may return one. JAX's own arrays mix with tensors, on either side of an operator.

JAX's functions ask no argument for an answer. The namespaces `numpy` and `nn` here are `jax.numpy` and `jax.nn`, but
that their functions take tensors and array types, too.

Examples
--------
>>> import dispatchkit as dk
>>> import dispatchkit.interop.jax
>>> import jax, jax.numpy as jnp
>>> step = jax.jit(lambda x: 2 * x + 1)
>>> type(step(dk.Tensor(jnp.ones(2))))
<class 'dispatchkit.Tensor'>
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from types import ModuleType
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import is_inexact, is_raw, namespace_of, raw_array
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.wrapping import make_leaf, wrap_array
from dispatchkit.errors import AutogradError
from dispatchkit.graph.recording import is_grad_enabled
from dispatchkit.graph.storage import Storage
from dispatchkit.interop.bridges import bridge_to, dense_tensor
from dispatchkit.nn import functional
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import of
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.numpy_arguments import call_operation, given_arguments
from dispatchkit.tree import attributes_held, container_items, leaves, map_leaves

try:
    import jax
except ImportError as error:
    raise ImportError("dispatchkit.interop.jax needs JAX: pip install jax") from error

# On instances whose fields hold what JAX put in the place of arrays: the names of these fields.
MARK = "__dispatchkit_children__"
_registered: set[type] = set()


@dataclass(eq=False, repr=False, slots=True)
class Kept:
    """What JAX keeps of an instance besides its arrays, and compares to tell whether two are of one structure.

    Parameters
    ----------
    children : names of the attributes that hold arrays
    raw : those of them that hold an array itself, rather than a tensor
    rest : the other attributes
    leaf : whether it is a tensor that requires a gradient
    """

    children: tuple[str, ...]
    raw: frozenset[str]
    rest: dict[str, Any]
    leaf: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kept):
            return NotImplemented
        mine, others = (self.children, self.raw, self.leaf), (other.children, other.raw, other.leaf)
        return mine == others and same(self.rest, other.rest)

    def __hash__(self) -> int:
        # The values may be of any kind, dictionaries and lists too; `==` tells them apart.
        return hash((self.children, self.raw, self.leaf, *self.rest))

    def __repr__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.rest.items())


def same(left: Any, right: Any) -> bool:
    """Return whether two values that are no arrays to differentiate are equal; what cannot be compared is not."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    try:
        return bool(left == right)
    except (TypeError, ValueError):
        return False


def holds_arrays(value: Any) -> bool:
    """Return whether an attribute is taken apart: an array, a floating-point number, or a container of such."""
    if is_number(value) or isinstance(value, Storage) or is_array(value):
        return True
    if tensor_protocol.types.participates(type(value)):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(holds_arrays, value))
    return isinstance(value, dict) and any(map(holds_arrays, value.values()))


def is_number(value: Any) -> bool:
    """Return whether a value is a floating-point number; one in a field that is not differentiated stays as it is."""
    return isinstance(value, (float, complex, np.inexact))


def is_array(value: Any) -> bool:
    """Return whether a value is a raw array of any library; a scalar of NumPy's counts as a number."""
    if isinstance(value, (Storage, np.generic)) or tensor_protocol.types.participates(type(value)):
        return False
    return is_raw(value)


def taken_apart(value: Any) -> tuple[list[Any], Kept]:
    """Return the arrays of an instance of an array type or subclass of `Tensor`, and what is kept besides.

    Raises
    ------
    AutogradError : for a tensor that was computed from one that requires a gradient, where a graph is recorded
    """
    attributes = {
        name: attribute
        for name, attribute in attributes_held(value).items()
        if not isinstance(getattr(type(value), name, None), cached_property)  # which is computed from others
    }
    marked: frozenset[str] = attributes.pop(MARK, frozenset())
    first = {name: place for place, name in enumerate(fields(type(value)))}
    names = sorted(attributes, key=lambda name: (first.get(name, len(first)), name))
    constants = tensor_protocol.types.constants_of(type(value))

    def is_child(name: str) -> bool:
        attribute = attributes[name]
        if name in marked:
            return True
        return holds_arrays(attribute) and not (name in constants and is_number(attribute))

    children = tuple(filter(is_child, names))
    rest = {name: attributes[name] for name in names if name not in children}
    raw = frozenset(name for name in children if is_array(attributes[name]))
    held = [plain(attributes[name]) for name in children]
    if not isinstance(value, Tensor):
        return held, Kept(children, raw, rest)
    node = value._node
    if node is not None and not node.is_leaf and is_grad_enabled():
        raise AutogradError(
            "a tensor of a graph that dispatchkit records cannot go into or out of a transformation of JAX, which "
            "would lose the graph; give x.detach()"
        )
    return [value.array, *held], Kept(children, raw, rest, leaf=node is not None and node.is_leaf)


def plain(value: Any) -> Any:
    """Return the array of a tensor that has nothing else, so that it fits a number in the same place."""
    if type(value) is Tensor and value._node is None:
        return value.array
    return value


def fields(cls: type) -> tuple[str, ...]:
    """Return the declared fields of a type, the order of its arrays."""
    if issubclass(cls, Tensor):
        return ()
    return tensor_protocol.types.field_names(cls)


def put_together(cls: type, kept: Kept, held: Any) -> Any:
    """Return an instance of an array type or subclass of `Tensor` around other arrays, without the constructor."""
    held = list(held)
    if issubclass(cls, Tensor):
        array = held.pop(0)
        if is_array(array):
            array = raw_array(array)
        instance = wrap_array(cls, array)
        if kept.leaf and is_array(array) and is_inexact(array.dtype):
            instance._node = make_leaf(array)
    else:
        instance = object.__new__(cls)
    for name, value in kept.rest.items():
        object.__setattr__(instance, name, value)
    for name, value in zip(kept.children, held, strict=True):
        wraps = name not in kept.raw and is_array(value)
        if wraps:
            value = wrap_array(Tensor, raw_array(value))
        object.__setattr__(instance, name, value)
    if not all(map(holds_arrays, held)) and hasattr(instance, "__dict__"):
        object.__setattr__(instance, MARK, frozenset(kept.children))
    return instance


def register(cls: type) -> None:
    """Make a class a pytree by its attributes; subclasses of it follow.

    Importing this module does so for `Tensor`, its subclasses and every declared array type. It is left to call this
    for types that only define ``__tensor_function__``.

    Parameters
    ----------
    cls : the class; one that somebody has registered with JAX stays as it is
    """
    if cls in _registered or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        return
    _registered.add(cls)
    key = jax.tree_util.GetAttrKey

    def flatten_with_keys(value: Any) -> tuple[list[Any], Kept]:
        held, kept = taken_apart(value)
        if issubclass(cls, Tensor):
            names = ("array", *kept.children)
        else:
            names = kept.children
        return [(key(name), child) for name, child in zip(names, held, strict=True)], kept

    def unflatten(kept: Kept, held: Any) -> Any:
        return put_together(cls, kept, held)

    try:
        jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, taken_apart)
    except ValueError:
        return  # somebody else's registration
    follow_subclasses(cls)


def follow_subclasses(cls: Any) -> None:
    """Register the subclasses of a class, those of today and those still to be defined."""
    for known in cls.__subclasses__():
        register(known)
    previous = cls.__dict__.get("__init_subclass__")
    inherited = getattr(cls.__init_subclass__, "__func__", None)
    if getattr(inherited, "__registers__", False):
        return

    def follow(subclass: Any, /, **kwargs: Any) -> None:
        if previous is None:
            super(cls, subclass).__init_subclass__(**kwargs)
        else:
            previous.__func__(subclass, **kwargs)
        register(subclass)

    method: Any = follow
    method.__registers__ = True
    cls.__init_subclass__ = classmethod(method)


def to_jax(x: Any) -> Any:
    """Return a tensor, or the dense form of an array type, as an array of JAX's; also while JAX traces a function.

    Parameters
    ----------
    x : tensor, array type, or what `dispatchkit.asarray` takes

    Raises
    ------
    DensifyError : where the budget of `densify` forbids the dense form
    AutogradError : for a tensor that requires a gradient, where a graph is recorded

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.jax import to_jax
    >>> type(to_jax(dk.ones(2))).__name__
    'ArrayImpl'
    """
    tensor = dense_tensor("to_jax", x)
    if tensor._node is not None and is_grad_enabled():
        raise AutogradError("to_jax of a tensor that requires grad would lose the graph; use to_jax(x.detach())")
    array = tensor.array
    if namespace_of(array).__name__ == "jax.numpy":
        return array
    return jax.numpy.asarray(array)


# JAX's names of activation functions where the operations' are PyTorch's.
NAMES = {
    **{name: name.replace("_", "") for name in ("hard_sigmoid", "hard_tanh", "log_sigmoid", "soft_sign")},
    **dict.fromkeys(("hard_silu", "hard_swish"), "hardswish"),
    "swish": "silu",
}
OTHERS = frozenset({"linalg.lstsq", "one_hot", "standardize"})  # of the same name, but of another meaning


class Mirror(ModuleType):
    """A namespace of JAX whose functions take tensors and array types, too; everything else in it is JAX's own.

    Parameters
    ----------
    theirs : the namespace of JAX
    answer : answers a call with such arrays, given the name of the function in the namespace, the function and the
        arguments; `NotImplemented` where JAX is to compute it on dense forms
    path : of the functions in the namespace, before their names
    """

    def __init__(self, theirs: ModuleType, answer: Callable[..., Any], path: str = "") -> None:
        super().__init__(theirs.__name__.replace("jax", __name__, 1), theirs.__doc__)
        self._theirs, self._answer, self._path = theirs, answer, path
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # such as `__path__`, by which Python would load JAX's modules again
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        theirs = getattr(self._theirs, name)
        if isinstance(theirs, ModuleType):
            return self.__dict__.setdefault(name, Mirror(theirs, self._answer, f"{self._path}{name}."))
        if isinstance(theirs, type) or not callable(theirs):
            return theirs

        @wraps(theirs)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not any(map(takes_part, leaves(container_items, (args, kwargs)))):
                return theirs(*args, **kwargs)
            result = self._answer(self._path + name, theirs, args, kwargs)
            if result is not NotImplemented:
                return result
            arrays, keywords = map_leaves(container_items, lambda x: to_jax(x) if takes_part(x) else x, (args, kwargs))
            return theirs(*arrays, **keywords)

        return self.__dict__.setdefault(name, call)

    def __dir__(self) -> list[str]:
        return dir(self._theirs)


def takes_part(value: Any) -> bool:
    """Return whether a value is a tensor or an array type."""
    return tensor_protocol.types.participates(type(value))


def answer_as_numpy(path: str, theirs: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Answer a function of `jax.numpy` as NumPy's function of the same name; the arguments are those of `Mirror`."""
    func: Any = np
    for part in path.split("."):
        func = getattr(func, part, None)
    numpys = bridge_to("numpy")
    if func is None or path in OTHERS | numpys.CREATED | numpys.WRITERS:
        return NotImplemented
    return numpys.answer_by_operations(func, args, kwargs)


def answer_activation(path: str, theirs: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Answer a function of `jax.nn` by the operation of its meaning; the arguments are those of `Mirror`."""
    name = NAMES.get(path, path)
    operation = of(getattr(functional, name, None) or getattr(tensor_namespace, name, None))
    arguments = given_arguments(theirs, theirs, args, kwargs)
    if operation is None or arguments is None or name in OTHERS:
        return NotImplemented
    if name == "gelu":
        if arguments.get("approximate", True):
            arguments["approximate"] = "tanh"
        else:
            arguments["approximate"] = "none"
    return call_operation(theirs, operation, path, arguments)


numpy, nn = Mirror(jax.numpy, answer_as_numpy), Mirror(jax.nn, answer_activation)
tensor_protocol.surface.follow(register)
tensor_protocol.take_as_arrays(jax.Array, jax.core.Tracer)
