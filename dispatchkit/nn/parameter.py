"""`Parameter`, a tensor or an array type that a module trains, and how modules register what they have.

The parameters, buffers and child modules of a module are ordinary attributes of the instance; tables hold the names of
each kind in the order of their registration. So reading a parameter costs as much as reading any attribute.
"""

from __future__ import annotations

import copyreg
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from dispatchkit.declare.variables import beside_fields, is_floating, items_of, variables_in, variables_of
from dispatchkit.errors import RegistrationError, TransformError
from dispatchkit.func.containers import with_constants, with_floats, with_variables
from dispatchkit.graph.storage import Storage, vertex_of
from dispatchkit.marks import override
from dispatchkit.nn.registered import (
    BUFFERS,
    MODULES,
    PARAMETERS,
    TABLES,
    Registered,
    forget_member,
    is_method,
    submodules,
)
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.signatures import read_signature
from dispatchkit.tensor import Tensor
from dispatchkit.tree import leaves_with_paths
from dispatchkit.wording import class_name

if TYPE_CHECKING:
    from dispatchkit.tensor.surface import ParameterMethods

    class _Plain(ParameterMethods, Tensor):
        """A tensor whose results are of its base class, to type checkers."""
else:
    _Plain = Tensor

# Most attributes of modules are of these types, which an `isinstance` recognizes at once.
NO_ARRAYS = (Storage, np.ndarray, np.generic, int, float, str, type(None))


class ParameterType(type):
    """The metaclass of `Parameter`: parameters may also be array types and instances of subclasses of `Tensor`."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the constructor, in place of that of `__call__`."""
        signature = read_signature(cls.__init__)  # type: ignore[misc]  # of this very class
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Make a parameter of what `data` is."""
        if cls is Parameter:
            if is_declared(data):
                return _with_parameters(data, *args, **kwargs)
            if isinstance(data, Tensor) and type(data) not in (Tensor, Parameter):
                return _subclass(data, *args, **kwargs)
        return super().__call__(data, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether a value is a parameter: a tensor of this class, or an array type that holds such alone."""
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and is_declared(instance) and _holds_parameters(instance)


class Parameter(_Plain, metaclass=ParameterType):
    """A tensor that a module registers when it is assigned to an attribute, and that an optimiser trains.

    Parameters
    ----------
    data : tensor, whose memory is shared, or what `Tensor` takes; an empty one by default. An instance of a `Tensor`
        subclass gives a parameter of that subclass, too. An instance of a declared array type gives a copy of it whose
        floating-point arrays and numbers are parameters, but for fields declared with ``field(grad=False)``.
    requires_grad : whether gradients are to be collected in it. Inside an array type, parameters that require none
        stay so

    Raises
    ------
    AutogradError : if integers are to require a gradient
    TypeError : if an array type holds no floating-point numbers

    Notes
    -----
    What is computed with a parameter is a plain tensor. Source: PyTorch, `torch.nn.Parameter`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.nn.Parameter(dk.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    >>> weight = dk.nn.Parameter(dk.types.ScalarTensor(3, 2.0))
    >>> type(weight).__name__, isinstance(weight, dk.nn.Parameter)
    ('ScalarTensor', True)
    >>> weight.value
    Parameter containing:
    tensor(2., requires_grad=True)
    """

    __dispatch_results__: ClassVar[type[Tensor] | None] = Tensor
    __dispatch_plain__ = True

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            data = []
        super().__init__(data, requires_grad=requires_grad)

    @override
    def __repr__(self) -> str:
        plain = self.detach()
        plain._node = vertex_of(self)
        return f"Parameter containing:\n{plain!r}"

    @override
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        result = super().__deepcopy__(memo)
        result.grad = None
        return result


def is_declared(value: Any) -> bool:
    """Return whether a value is an instance of an array type that is no tensor."""
    if isinstance(value, NO_ARRAYS):
        return False
    return tensor_protocol.types.participates(type(value))


def named_tensors(name: str, value: Any, *, trained: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a parameter or buffer with their names: ``weight``, or ``weight.value`` inside a type.

    With `trained`, those that are constants inside an array type are left out.
    """
    if trained:
        items = variables_of
    else:
        items = items_of
    for path, leaf in leaves_with_paths(items, value, (name,)):
        if isinstance(leaf, Storage) and not (trained and not is_floating(leaf)):
            yield ".".join(map(str, path)), leaf


def summary(value: Any) -> str:
    """Return an instance of an array type in a line: what its `extra_repr` says, else its fields, arrays by shapes."""
    extra_repr = getattr(value, "extra_repr", None)
    if extra_repr is not None:
        return f"{type(value).__name__}({extra_repr()})"

    def shown(part: Any) -> str:
        if is_declared(part):
            return summary(part)
        if hasattr(part, "shape"):
            return f"{tuple(part.shape)}"
        return repr(part)

    return f"{type(value).__name__}({', '.join(f'{name}={shown(part)}' for name, part in items_of(value) or ())})"


def tensors_of(name: str, parameters: Any) -> list[Any]:
    """Return the tensors of parameters: an iterable of tensors and array types, or one of them.

    Raises
    ------
    TypeError : if one is neither, naming the function that takes them
    """
    single = isinstance(parameters, Storage) or is_declared(parameters)
    tensors: list[Any] = []
    values = parameters
    if single:
        values = [parameters]
    for value in values:
        if isinstance(value, Storage):
            inside = [value]
        else:
            inside = [x for x in variables_in(value) if isinstance(x, Storage)]
        if not inside:
            raise TypeError(f"{name}: a {type(value).__name__} is neither a tensor nor an array type that holds some")
        tensors += inside
    return tensors


def _holds_parameters(value: Any) -> bool:
    try:
        floating = list(variables_in(value))
    except RegistrationError:
        # Its fields are unknown.
        return False
    return bool(floating) and all(issubclass(type(x), Parameter) for x in floating)


def _with_parameters(data: Any, requires_grad: bool = True) -> Any:
    """Return a copy of an instance of an array type with parameters for its floating-point arrays and numbers."""

    def as_parameter(x: Any) -> Any:
        # Of a plain tensor that requires no gradient nobody has said that it is not to be trained.
        frozen = isinstance(x, Parameter) and not x.requires_grad
        return Parameter(x, requires_grad and not frozen)

    def as_constant(x: Any) -> Any:
        if isinstance(x, Tensor) and x.requires_grad:
            return x.detach()
        return x

    result = with_constants(as_constant, with_variables(as_parameter, with_floats(data)))
    if not _holds_parameters(result):
        fields = ", ".join(tensor_protocol.types.fields_of(data)) or "none"
        raise TypeError(
            f"Parameter: {type(data).__name__} holds no floating-point numbers in its fields ({fields}) to train"
            f"{beside_fields(data)}"
        )
    return result


def _subclass(data: Any, requires_grad: bool = True) -> Any:
    """Return a parameter that is an instance of the tensor's own class, too."""
    if data.is_tracer:
        raise TransformError(
            f"Parameter: a tensor inside {data.transformation} cannot be one; make parameters outside, and use "
            f"functional_call to put such tensors in their places"
        )
    parameter = data.detach().as_subclass(_parameter_class(type(data)))
    return parameter.requires_grad_(requires_grad)


def _parameter_class(cls: Any) -> Any:
    """Return the class of parameters that are instances of a `Tensor` subclass, too; one for each class."""
    if issubclass(cls, Parameter):
        return cls
    parameter_class = cls.__dict__.get("__parameter_class__")
    if parameter_class is None:
        body: dict[str, Any] = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__dispatch_results__": cls}
        if tensor_protocol.types.ranks_as_base(cls):
            body["__dispatch_plain__"] = True
        parameter_class = cls.__parameter_class__ = ParameterType(f"{cls.__name__}Parameter", (Parameter, cls), body)
    return parameter_class


def made_for(cls: Any) -> Any:
    """Return the `Tensor` subclass for which a class of parameters was made; None for any other class."""
    held = cls.__dispatch_results__
    if held is not None and held.__dict__.get("__parameter_class__") is cls:
        return held
    return None


def _reduce_class(cls: Any) -> Any:
    """Return what pickle makes a class of parameters from: its name, or the class they are made for."""
    held = made_for(cls)
    if held is None:
        return cls.__qualname__
    return _parameter_class, (held,)


copyreg.pickle(ParameterType, _reduce_class)

Named = Iterator[tuple[str, Any]]
# The class of the modules: `Module`, which derives from `Members`.
M = TypeVar("M", bound="Members[Any]")


class Members(Generic[M]):
    """The attributes of a module that are registered, by their kinds.

    Attributes
    ----------
    training : whether the module is in training mode
    """

    training: bool
    _parameter_names: dict[str, None]
    _buffer_names: dict[str, bool]
    _module_names: dict[str, str | None]

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameter_names={}, _buffer_names={}, _module_names={})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    # Registration.

    @override
    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if isinstance(value, Parameter):
            self._check_started("parameters")
            self._check_parameter(name, value, replaces=True)
            self._enter(PARAMETERS, name, value)
        elif isinstance(value, Members):
            self._check_started("module")
            self._enter(MODULES, name, value)
        elif name in attributes.get(PARAMETERS, ()):
            self._check_none(name, value, "parameter", "Parameter")
            attributes[name] = None
        elif name in attributes.get(MODULES, ()):
            self._check_none(name, value, "child module", "Module")
            self._modules[name] = None
        elif name in attributes.get(BUFFERS, ()):
            self._check_buffer(name, value)
            attributes[name] = value
        else:
            super().__setattr__(name, value)

    @override
    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ or name in self.__dict__.get(MODULES, {}):
            forget_member(self, name)
        else:
            super().__delattr__(name)

    @override
    def __dir__(self) -> list[str]:
        return sorted(name for name in super().__dir__() if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        # A copy registers for itself.
        return {**self.__dict__, **{table: dict(self.__dict__[table]) for table in TABLES}}

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter.

        Parameters
        ----------
        name : of the attribute
        param : a `Parameter`, or None for one that is left out

        Raises
        ------
        KeyError : if the name is taken, empty, or has a dot in it
        TypeError : if `param` is something else
        ValueError : if it is no leaf of the graph
        """
        self._check_parameter(name, param)
        self._register_member(PARAMETERS, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state of the module but is not trained, such as a running mean.

        Parameters
        ----------
        name : of the attribute
        tensor : a tensor, an instance of a declared array type, or None
        persistent : whether `state_dict` has it

        Raises
        ------
        KeyError : if the name is taken, empty, or has a dot in it
        TypeError : if `tensor` is something else
        """
        self._check_buffer(name, tensor)
        self._register_member(BUFFERS, name, tensor, persistent)

    def add_module(self, name: str, module: M | None) -> None:
        """Add a child module.

        Parameters
        ----------
        name : of the attribute
        module : the child, or None for one that is left out

        Raises
        ------
        KeyError : if the name is taken, empty, or has a dot in it
        TypeError : if `module` is no module
        """
        self._check_module(module)
        self._register_member(MODULES, name, module)

    def register_module(self, name: str, module: M | None) -> None:
        """Add a child module, as `add_module` does."""
        self.add_module(name, module)

    def _register_member(self, table: str, name: str, value: Any, note: Any = None) -> None:
        """Make a value an attribute of one kind, once its name is checked."""
        cls, kind = type(self).__name__, table.split("_")[1]
        self._check_started(kind)
        if not isinstance(name, str):
            raise TypeError(f"{cls}: {kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{cls}: {kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{cls}: {kind} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"{cls}: attribute '{name}' already exists")
        self._enter(table, name, value, note)

    def _enter(self, table: str, name: str, value: Any, note: Any = None) -> None:
        """Make a value an attribute of one kind, whatever it was before.

        A child of the name of a method is held under a name with a dot, so that it does not hide the method.
        """
        attributes = self.__dict__
        for other in TABLES:
            if other != table:
                attributes[other].pop(name, None)
        key = name
        if table == MODULES and is_method(type(self), name):
            attributes.pop(name, None)
            key = note = f".{name}"
        attributes[table][name] = note
        attributes[key] = value

    def _check_started(self, what: str) -> None:
        if PARAMETERS not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: cannot assign {what} before Module.__init__() call")

    def _check_parameter(self, name: str, param: Any, *, replaces: bool = False) -> None:
        if replaces and hasattr(type(self), name):
            raise KeyError(f"{type(self).__name__}: attribute '{name}' already exists in the class")
        if param is None:
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"{type(self).__name__}: cannot assign '{class_name(type(param))}' object to parameter '{name}' "
                f"(dispatchkit.nn.Parameter or None required)"
            )
        for path, tensor in named_tensors(name, param):
            if not tensor.is_leaf:
                raise ValueError(
                    f"{type(self).__name__}: cannot assign non-leaf Tensor to parameter '{path}'. Model "
                    f"parameters must be created explicitly. To express '{path}' as a function of another Tensor, "
                    f"compute the value in the forward() method."
                )

    def _check_buffer(self, name: str, value: Any) -> None:
        if not (value is None or isinstance(value, Storage) or is_declared(value)):
            raise TypeError(
                f"{type(self).__name__}: cannot assign '{class_name(type(value))}' object to buffer '{name}' "
                f"(dispatchkit.Tensor or None required)"
            )

    def _check_module(self, module: Any) -> None:
        if module is not None and not isinstance(module, Members):
            raise TypeError(f"{type(self).__name__}: {type(module).__name__} is not a Module subclass")

    def _check_member(self, table: str, name: str, value: Any) -> None:
        """Raise for what cannot be a member of one kind."""
        if table == PARAMETERS:
            self._check_parameter(name, value)
        elif table == BUFFERS:
            self._check_buffer(name, value)
        else:
            self._check_module(value)

    def _check_none(self, name: str, value: Any, kind: str, wanted: str) -> None:
        if value is not None:
            raise TypeError(
                f"{type(self).__name__}: cannot assign '{class_name(type(value))}' as {kind} '{name}' "
                f"(dispatchkit.nn.{wanted} or None expected)"
            )

    # What there is.

    @property
    def _parameters(self) -> Registered:
        """The parameters by name."""
        return Registered(self, PARAMETERS)

    @property
    def _buffers(self) -> Registered:
        """The buffers by name."""
        return Registered(self, BUFFERS)

    @property
    def _modules(self) -> Registered:
        """The child modules by name."""
        return Registered(self, MODULES)

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, M]]:
        """Yield this module and all below it, each with its path; one that is there twice comes once.

        Parameters
        ----------
        memo : the modules that are left out; those that were yielded are added
        prefix : put before the paths
        remove_duplicate : whether what is there several times comes once
        """
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]  # only modules are instances
        for name, module in submodules(self):
            if module is not None:
                path = name
                if prefix:
                    path = f"{prefix}.{name}"
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[M]:
        """Yield this module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, M]]:
        """Yield the child modules with their names."""
        seen = set()
        for name, module in submodules(self):
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[M]:
        """Yield the child modules."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True, *, whole: bool = False
    ) -> Named:
        """Yield the parameters with their names; of an array type, the tensors inside: ``weight.value``.

        Parameters
        ----------
        prefix : put before the names
        recurse : whether those of the modules below come, too
        remove_duplicate : whether a shared parameter comes once, under its first name
        whole : whether a parameter that is an array type comes itself, for optimisers that handle it
        """
        # In a parameter that is an array type, other tensors are constants.
        tensors = (lambda name, value: [(name, value)]) if whole else partial(named_tensors, trained=True)
        return self._named(PARAMETERS, tensors, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True, *, whole: bool = False) -> Iterator[Any]:
        """Yield the parameters, each once; with `whole` array types themselves, else the tensors inside."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse, whole=whole))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """Yield the buffers with their names.

        Parameters
        ----------
        prefix, recurse, remove_duplicate : as for `named_parameters`
        """
        return self._named(BUFFERS, named_tensors, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Yield the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _named(
        self,
        table: str,
        tensors: Callable[[str, Any], Iterable[tuple[str, Any]]],
        prefix: str,
        recurse: bool,
        remove_duplicate: bool,
    ) -> Named:
        """Yield the tensors in one kind of members of this module and, with `recurse`, of those below.

        Parameters
        ----------
        table : the names of the members
        tensors : gives what comes of an array type, with names
        prefix, recurse, remove_duplicate : as for `named_parameters`
        """
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            attributes = module.__dict__
            for name in attributes[table]:
                value = attributes[name]
                key = name
                if path:
                    key = f"{path}.{name}"
                if value is None:
                    continue
                named: Iterable[tuple[str, Any]]
                if isinstance(value, Storage):
                    named = [(key, value)]
                else:
                    named = tensors(key, value)
                for full, tensor in named:
                    if not (remove_duplicate and id(tensor) in seen):
                        seen.add(id(tensor))
                        yield full, tensor

    # One of them.

    def get_submodule(self, target: str) -> M:
        """Return the module at a path such as ``"encoder.layers.0"``, this one for ``""``.

        Raises
        ------
        AttributeError : if there is none, naming the place where the path ends
        """
        module: Any = self
        for name in target.split(".") if target else ():
            member = module._member(name)
            if not isinstance(member, Members):
                raise AttributeError(  # noqa: TRY004  # PyTorch's
                    f"{type(module).__name__}: `{name}` is not an nn.Module"
                )
            module = member
        return module  # type: ignore[no-any-return]  # as checked

    def get_parameter(self, target: str) -> Any:
        """Return the parameter at a path such as ``"layers.0.weight"``, or ``"weight.value"`` inside an array type.

        Raises
        ------
        AttributeError : if there is none
        """
        return self._find(target, PARAMETERS, "an nn.Parameter")

    def get_buffer(self, target: str) -> Any:
        """Return the buffer at a path such as ``"norm.running_mean"``.

        Raises
        ------
        AttributeError : if there is none
        """
        return self._find(target, BUFFERS, "a buffer")

    def _member(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{type(self).__name__} has no attribute `{name}`")
        return getattr(self, name)

    def _find(self, target: str, table: str, what: str) -> Any:
        """Return the member of one kind at a path, which may lead on into an array type."""
        module: Any = self
        first, *rest = target.split(".")
        while rest and first in module._module_names:
            module = module._member(first)
            first, *rest = rest
        value = module._member(first)
        if first not in module.__dict__[table]:
            raise AttributeError(f"{type(module).__name__}: `{first}` is not {what}")
        for index, key in enumerate(rest):
            parts = {str(name): part for name, part in (items_of(value) or ())}
            if key not in parts:
                path = ".".join([first, *rest[:index]])
                raise AttributeError(f"{type(module).__name__}: `{path}` has no part `{key}`")
            value = parts[key]
        return value
