"""Saving what a module has learned as a dictionary of tensors, and loading it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dispatchkit.backends.arrays import is_complex, is_inexact, is_raw
from dispatchkit.declare.inplace import check_writeable
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.declare.variables import variables_in
from dispatchkit.declare.wrapping import holds
from dispatchkit.errors import StateDictError
from dispatchkit.func.containers import as_array, as_array_like, map_container
from dispatchkit.graph.recording import no_grad
from dispatchkit.graph.storage import RemovableHandle, Storage
from dispatchkit.marks import override
from dispatchkit.nn.parameter import M, Members, Parameter, is_declared, named_tensors
from dispatchkit.nn.registered import submodules
from dispatchkit.protocol.frames import caller_frame, warn_at
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.wording import class_name

EXTRA = "_extra_state"
# Of NumPy's casts, which warn without the name of the parameter.
_without_warnings = partial(np.errstate, over="ignore", invalid="ignore")


class IncompatibleKeys(NamedTuple):
    """The names in which a loaded dictionary and a module differ.

    Attributes
    ----------
    missing_keys : that the module has and the dictionary has not
    unexpected_keys : that the dictionary has and the module has not
    """

    missing_keys: list[str]
    unexpected_keys: list[str]

    @override
    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateMethods(Members[M]):
    """How the state of a module is saved and loaded.

    A class may write `get_extra_state` and `set_extra_state`, and set ``_version``, which the saved dictionary keeps in
    its ``_metadata`` for `_load_from_state_dict` and hooks that load older ones.
    """

    _version: int = 1
    _hooks: dict[str, OrderedDict[int, Any]]

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_hooks"] = {}

    def _register_hook(self, kind: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        hooks = self._hooks.setdefault(kind, OrderedDict())
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def _hooks_of(self, kind: str) -> list[Any]:
        return list(self._hooks.get(kind, {}).values())

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and persistent buffers of this module and those below, by their names.

        Parameters
        ----------
        destination : dictionary to put them in, a new one if None
        prefix : put before the names
        keep_vars : give the tensors themselves instead of tensors outside the graph that share their memory

        Returns
        -------
        OrderedDict in the order of registration; the tensors inside an array type have names such as ``weight.value``

        Examples
        --------
        >>> import dispatchkit as dk
        >>> module = dk.nn.Module()
        >>> module.weight = dk.nn.Parameter(dk.ones(2))
        >>> dict(module.state_dict())
        {'weight': tensor([1., 1.])}
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._hooks_of("before saving"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in submodules(self):
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("after saving"):
            if hook(self, destination, prefix, metadata) is not None:
                raise RuntimeError(f"{type(self).__name__}: a state_dict post-hook must return None")
        for hook in self._hooks_of("replacing what was saved"):
            replaced = hook(self, destination, prefix, metadata)
            if replaced is not None:
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the state of this module alone into a dictionary; subclasses with other state override it."""
        for name, tensor in self._own_state():
            if keep_vars:
                destination[prefix + name] = tensor
            else:
                destination[prefix + name] = tensor.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Any]]:
        """Yield the tensors that belong to the state of this module alone, with their names."""
        for name in [*self._parameter_names, *(name for name, kept in self._buffer_names.items() if kept)]:
            yield from named_tensors(name, self.__dict__[name])

    def _stays_when_loaded(self, tensor: Any, value: Any) -> bool:
        """Return whether nothing is to be copied into a tensor of this module for a saved value of its name."""
        return False

    def get_extra_state(self) -> Any:
        """Return what `state_dict` holds in addition to the tensors; override it together with `set_extra_state`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Restore what `get_extra_state` gave; override the two together."""
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state")

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take the values of this module alone from a dictionary; subclasses whose older states differ override it.

        Parameters
        ----------
        state_dict : the dictionary, a copy, which may be changed before this is called
        prefix : of the names of this module
        local_metadata : what was saved of the module, such as the ``version`` of its class; {} where nothing was
        strict : whether names that are missing or unexpected are noted
        missing_keys, unexpected_keys, error_msgs : to be added to

        Notes
        -----
        In `load_state_dict` nothing is changed before all was compared; otherwise the values are copied at once.
        """
        loading = getattr(state_dict, "loading", None)
        if loading is not None:
            loading.take(self, prefix, state_dict)
            return
        alone = _Loading({}, assign=False)
        alone.take(self, prefix, OrderedDict(state_dict))
        if strict:
            missing_keys += alone.keys.missing_keys
            unexpected_keys += alone.keys.unexpected_keys
        error_msgs += alone.messages
        alone.finish(self)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy saved values into the parameters and buffers of this module and those below.

        Parameters
        ----------
        state_dict : of tensors, or arrays of NumPy, PyTorch and other libraries, by name, such as `state_dict` gives.
            A dense array under the name of a parameter that is an array type is converted by what the type declares as
            ``from_dense``
        strict : whether it must have exactly the names of this module
        assign : put the saved tensors themselves in the places of the parameters and buffers, with their dtypes

        Returns
        -------
        named tuple of ``missing_keys`` and ``unexpected_keys``

        Raises
        ------
        StateDictError : if a name is missing or unexpected (`strict`), or a value does not fit (always); nothing has
            been changed then, unless hooks decide which names may be missing, which run once the values are loaded
        TypeError : if `state_dict` is no mapping

        Warns
        -----
        UserWarning : if a number does not fit into the dtype of the model: 1e300 is inf in float32

        Examples
        --------
        >>> import dispatchkit as dk
        >>> module = dk.nn.Module()
        >>> module.weight = dk.nn.Parameter(dk.ones(2))
        >>> module.load_state_dict({"weight": dk.zeros(2)})
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: expected a dictionary, found a {type(state_dict).__name__}")
        loading = _Loading(getattr(state_dict, "_metadata", {}), assign)
        loading.compare(self, "", state_dict)
        hooks = [(module, hook) for module in self.modules() for hook in module._hooks_of("after loading")]
        if loading.messages or not hooks:
            loading.check(self, strict)
        for message in loading.changed_values:
            warn_at(caller_frame(), f"{type(self).__name__}.load_state_dict: {message}", UserWarning)
        loading.finish(self)
        for module, hook in hooks:
            hook(module, loading.keys)
        loading.check(self, strict)
        return loading.keys

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have ``hook(module, prefix, keep_vars)`` called before this module's state is saved."""
        return self._register_hook("before saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have ``hook(module, state_dict, prefix, local_metadata)`` called after this module's state is saved.

        It may change the dictionary, and gives None.
        """
        return self._register_hook("after saving", hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have a function called after saving that may give another dictionary, as older programs do.

        Parameters
        ----------
        hook : ``hook(module, state_dict, prefix, local_metadata)``; what it gives, unless None, is what `state_dict` of
            this very module returns
        """
        return self._register_hook("replacing what was saved", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have a function called before this module's state is looked for in a dictionary.

        Parameters
        ----------
        hook : ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``;
            it may change the dictionary, a copy, and add to the lists
        """
        return self._register_hook("before loading", hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Call a function before a state is loaded, without the module as its first argument, as older programs do."""
        if with_module:
            return self.register_load_state_dict_pre_hook(hook)
        return self.register_load_state_dict_pre_hook(lambda _, *args: hook(*args))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have ``hook(module, incompatible_keys)`` called after a state was loaded.

        It may change the lists of keys: those that it takes out are not refused. A dictionary whose values do not fit
        raises before.
        """
        return self._register_hook("after loading", hook)


class _State(dict[str, Any]):
    """What a dictionary that is being loaded has for a module and those below.

    Attributes
    ----------
    loading : what takes the values from it
    """

    loading: _Loading


class _Loading:
    """One use of `load_state_dict`: all is compared before anything is changed.

    Parameters
    ----------
    metadata : what was saved beside the dictionary of each module, by the module's place
    assign : whether the tensors of the dictionary are to be put in place

    Attributes
    ----------
    keys : the names that are on one side only
    messages : one for each value that does not fit
    changed_values : a message for each one whose numbers do not fit into the dtype
    """

    def __init__(self, metadata: Mapping[str, Any], assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.keys = IncompatibleKeys([], [])
        self.messages: list[str] = []
        self.changed_values: list[str] = []
        self._copies: list[tuple[Any, Any]] = []
        self._extras: list[tuple[StateMethods[Any], Any]] = []

    def compare(self, module: Any, prefix: str, state: Mapping[str, Any]) -> None:
        """Look for the state of a module and those below in a dictionary, of which each gets a copy of its part."""
        part = _State(state)
        part.loading = self
        arguments = (part, prefix, self.metadata.get(prefix[:-1], {}), True, *self.keys, self.messages)
        for hook in module._hooks_of("before loading"):
            hook(module, *arguments)
        module._load_from_state_dict(*arguments)
        parts: dict[str, dict[str, Any]] = {name: {} for name in module._module_names}
        for key, value in part.items():
            name, dot, _ = key[len(prefix) :].partition(".")
            if dot and name in parts and key.startswith(prefix):
                parts[name][key] = value
        for name, child in module._modules.items():
            if child is not None:
                self.compare(child, f"{prefix}{name}.", parts[name])

    def take(self, module: Any, prefix: str, state: Any) -> None:
        """Look for the state of a module alone in a dictionary, where dense arrays for types become their parts."""
        self._convert(module, prefix, state)
        names = set()
        for name, tensor in module._own_state():
            key = prefix + name
            names.add(key)
            if key not in state:
                self.keys.missing_keys.append(key)
            elif not module._stays_when_loaded(tensor, state[key]):
                self._take_tensor(key, tensor, state[key])
        if type(module).set_extra_state is not StateMethods.set_extra_state:
            names.add(key := prefix + EXTRA)
            if key in state:
                self._extras.append((module, state[key]))
            else:
                self.keys.missing_keys.append(key)
        children = module._module_names
        for key in state:
            if key not in names and key.startswith(prefix) and key[len(prefix) :].partition(".")[0] not in children:
                self.keys.unexpected_keys.append(key)

    def _take_tensor(self, key: str, tensor: Any, value: Any) -> None:
        """Note that a value is to be copied into a tensor, or why it cannot be."""
        try:
            value = _fit(key, tensor, value, self.assign)
        except (TypeError, ValueError) as error:
            self.messages.append(str(error))
            return
        self._copies.append((tensor, value))
        if not self.assign and _changes(value, tensor.dtype):
            self.changed_values.append(
                f'numbers of "{key}", {value.dtype} in the checkpoint, do not fit into the {tensor.dtype} of '
                "the current model; convert the model before, or load with assign=True to keep the saved dtypes"
            )

    def _convert(self, module: Any, prefix: str, state: Any) -> None:
        """Put the parts of an array type where the dictionary has a dense array for a parameter, by the type's hook."""
        for name, like in module._parameters.items():
            key = prefix + name
            if not is_declared(like) or not _is_numbers(state.get(key)):
                continue
            make = tensor_protocol.types.from_dense(type(like))
            if make is None:
                self.messages.append(
                    f'"{key}" is a dense array, the current model has a {class_name(type(like))}, which does not say '
                    f"how it is made of one; declare array_type(from_dense=...)"
                )
                continue
            try:
                with no_grad():
                    converted = make(as_array_like(state[key], next(variables_in(like))), like)
            except (TypeError, ValueError) as error:
                self.messages.append(f'While converting "{key}" into a {class_name(type(like))}: {error}')
                continue
            del state[key]
            state.update(named_tensors(key, converted))

    def check(self, root: StateMethods[Any], strict: bool) -> None:
        """Raise if values do not fit, or (`strict`) names are on one side only."""
        missing, unexpected = self.keys
        if not strict:
            missing, unexpected = [], []
        if missing or unexpected or self.messages:
            raise StateDictError(type(root).__name__, list(missing), list(unexpected), self.messages)

    def finish(self, root: StateMethods[Any]) -> None:
        """Change the modules, of which `root` is the outermost."""
        for module, state in self._extras:
            module.set_extra_state(state)
        if not self.assign:
            with no_grad(), _without_warnings():
                for tensor, value in self._copies:
                    tensor.copy_(value)
            return
        # What was shared before is shared again.
        places = {id(tensor): _in_place_of(tensor, value) for tensor, value in self._copies}
        for module in root.modules():
            for name in (*module._parameter_names, *module._buffer_names):
                attributes = module.__dict__
                attributes[name] = map_container(lambda x: places.get(id(x), x), attributes[name])


def _fit(key: str, tensor: Any, value: Any, assign: bool) -> Any:
    """Return a saved value as it is to be copied into a tensor, or assigned in its place.

    Raises
    ------
    TypeError, ValueError : if it cannot be; the message is a line of the error that lists all
    """
    if not _is_numbers(value):
        cls = type(value)
        if cls.__module__ == "builtins":
            name = cls.__name__
        else:
            name = f"{cls.__module__}.{cls.__qualname__}"
        raise TypeError(
            f'While copying the parameter named "{key}", expected a tensor or an array of numbers from checkpoint '
            f"but received {name}"
        )
    if tuple(value.shape) != tuple(tensor.shape):
        raise ValueError(
            f"size mismatch for {key}: copying a param with shape {tuple(value.shape)} from checkpoint, the shape in "
            f"current model is {tuple(tensor.shape)}."
        )
    if is_complex(value.dtype) and not is_complex(tensor.dtype):
        raise TypeError(
            f"dtype mismatch for {key}: the checkpoint has {value.dtype}, the current model {tensor.dtype}."
        )
    if assign:
        return value
    check_writeable(key, tensor)
    try:
        return as_array_like(value, tensor)
    except TypeError as error:
        raise TypeError(f'While copying the parameter named "{key}": {error}') from error


def _changes(value: Any, dtype: Any) -> bool:
    """Return whether a conversion changes numbers by more than rounding: cuts, wraps or overflows."""
    if value.dtype == dtype:
        return False
    with no_grad(), _without_warnings():
        converted = tensor_namespace.astype(value, dtype)
        fits = converted == value
        if is_inexact(dtype):
            fits = ~tensor_namespace.isfinite(value) | tensor_namespace.isfinite(converted)
        return not holds(fits, traced=True)


def _is_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufc"
    return isinstance(value, Storage) or is_raw(value)


def _in_place_of(tensor: Any, value: Any) -> Any:
    """Return a saved value as a tensor that can take the place of another."""
    if not isinstance(tensor, Parameter):
        return as_array(value)
    if isinstance(value, Parameter):
        return value.requires_grad_(tensor.requires_grad)
    return Parameter(as_array(value), tensor.requires_grad)
