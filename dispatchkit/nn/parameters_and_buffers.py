"""Parameters, buffers and child modules of a module, registered by name and found in order.

The values are ordinary attributes of the instance; tables hold the names of each kind in the order of their
registration. So reading a parameter costs as much as reading any attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from typing_extensions import override

from dispatchkit.declare.variables import items_of
from dispatchkit.graph.storage import Storage
from dispatchkit.nn.parameter import Parameter, is_declared, named_tensors
from dispatchkit.wording import class_name

TABLES = ("_parameter_names", "_buffer_names", "_module_names")
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
    _module_names: dict[str, None]

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
            self._enter("_parameter_names", name, value)
        elif isinstance(value, Members):
            self._check_started("module")
            self._enter("_module_names", name, value)
        elif name in attributes.get("_parameter_names", ()):
            self._check_none(name, value, "parameter", "Parameter")
            attributes[name] = None
        elif name in attributes.get("_module_names", ()):
            self._check_none(name, value, "child module", "Module")
            attributes[name] = None
        elif name in attributes.get("_buffer_names", ()):
            self._check_buffer(name, value)
            attributes[name] = value
        else:
            super().__setattr__(name, value)

    @override
    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        for table in TABLES:
            self.__dict__[table].pop(name, None)

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
        self._register_member("_parameter_names", name, param)

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
        self._register_member("_buffer_names", name, tensor, persistent)

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
        if module is not None and not isinstance(module, Members):
            raise TypeError(f"{type(self).__name__}: {type(module).__name__} is not a Module subclass")
        self._register_member("_module_names", name, module)

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
        """Make a value an attribute of one kind, whatever it was before."""
        attributes = self.__dict__
        for other in TABLES:
            if other != table:
                attributes[other].pop(name, None)
        attributes[table][name] = note
        attributes[name] = value

    def _check_started(self, what: str) -> None:
        if "_parameter_names" not in self.__dict__:
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

    def _check_none(self, name: str, value: Any, kind: str, wanted: str) -> None:
        if value is not None:
            raise TypeError(
                f"{type(self).__name__}: cannot assign '{class_name(type(value))}' as {kind} '{name}' "
                f"(dispatchkit.nn.{wanted} or None expected)"
            )

    # What there is.

    @property
    def _parameters(self) -> Mapping[str, Any]:
        """The parameters by name, to read."""
        return self._table(self._parameter_names)

    @property
    def _buffers(self) -> Mapping[str, Any]:
        """The buffers by name, to read."""
        return self._table(self._buffer_names)

    @property
    def _modules(self) -> Mapping[str, Any]:
        """The child modules by name, to read."""
        return self._table(self._module_names)

    def _table(self, names: Mapping[str, Any]) -> Mapping[str, Any]:
        attributes = self.__dict__
        return MappingProxyType({name: attributes[name] for name in names})

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
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]  # only modules are instances
        attributes = self.__dict__
        for name in attributes["_module_names"]:
            module = attributes[name]
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[M]:
        """Yield this module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, M]]:
        """Yield the child modules with their names."""
        seen = set()
        for name, module in self._modules.items():
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
        return self._named("_parameter_names", tensors, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True, *, whole: bool = False) -> Iterator[Any]:
        """Yield the parameters, each once; with `whole` array types themselves, else the tensors inside."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse, whole=whole))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """Yield the buffers with their names.

        Parameters
        ----------
        prefix, recurse, remove_duplicate : as for `named_parameters`
        """
        return self._named("_buffer_names", named_tensors, prefix, recurse, remove_duplicate)

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
        places: Any = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in places if recurse else [(prefix, self)]:
            attributes = module.__dict__
            for name in attributes[table]:
                value = attributes[name]
                key = f"{path}.{name}" if path else name
                if value is None:
                    continue
                named = [(key, value)] if isinstance(value, Storage) else tensors(key, value)
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
        return self._find(target, "_parameter_names", "an nn.Parameter")

    def get_buffer(self, target: str) -> Any:
        """Return the buffer at a path such as ``"norm.running_mean"``.

        Raises
        ------
        AttributeError : if there is none
        """
        return self._find(target, "_buffer_names", "a buffer")

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
