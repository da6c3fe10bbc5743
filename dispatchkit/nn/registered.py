"""The members of a module of one kind, as a mapping that is read and written: `Module._modules` and its like."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, MutableMapping, ValuesView
from typing import Any

from dispatchkit.marks import override

PARAMETERS, BUFFERS, MODULES = "_parameter_names", "_buffer_names", "_module_names"
# The attributes of a module that hold the names of its members, by kind.
TABLES = (PARAMETERS, BUFFERS, MODULES)


def is_method(cls: type, name: str) -> bool:
    """Return whether a class has a method or property of a name, which an instance's attribute would hide."""
    for base in cls.__mro__:
        if name in vars(base):
            return hasattr(vars(base)[name], "__get__")
    return False


def forget_member(module: Any, name: str) -> None:
    """Take a member out of a module, whatever the `__delattr__` of its class does: that may be what asks for it."""
    attributes = module.__dict__
    del attributes[attributes.get(MODULES, {}).get(name) or name]
    for table in TABLES:
        attributes.get(table, {}).pop(name, None)


def submodules(module: Any) -> list[tuple[str, Any]]:
    """Return the modules of a module with their names as they are now, in less time than `Registered` gives them."""
    attributes = module.__dict__
    return [(name, attributes[key or name]) for name, key in attributes[MODULES].items()]


class Registered(MutableMapping[str, Any]):
    """The members of a module of one kind by name; what is written here is registered, what is deleted is gone.

    Parameters
    ----------
    module : whose members they are
    table : the attribute of the module that holds their names
    """

    __slots__ = ("_module", "_table")

    def __init__(self, module: Any, table: str) -> None:
        self._module, self._table = module, table

    @property
    def _names(self) -> dict[str, Any]:
        """The names, each with what the table notes of it."""
        return self._module.__dict__[self._table]  # type: ignore[no-any-return]  # as registered

    @override
    def __getitem__(self, name: str) -> Any:
        note = self._names[name]
        if self._table == MODULES and note is not None:
            name = note
        return self._module.__dict__[name]

    @override
    def __setitem__(self, name: str, value: Any) -> None:
        self._module._check_member(self._table, name, value)
        note = self._names.get(name)
        if note is None and self._table == BUFFERS:
            note = True  # it is saved
        self._module._enter(self._table, name, value, note)

    @override
    def __delitem__(self, name: str) -> None:
        if name not in self._names:
            raise KeyError(name)
        forget_member(self._module, name)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    @override
    def __len__(self) -> int:
        return len(self._names)

    @override
    def keys(self) -> KeysView[str]:
        """Return the names, which may be walked from the last to the first, as a dictionary's."""
        return self._names.keys()

    @override
    def items(self) -> ItemsView[str, Any]:
        """Return the members with their names, which may be walked from the last to the first."""
        return dict(self).items()

    @override
    def values(self) -> ValuesView[Any]:
        """Return the members, which may be walked from the last to the first."""
        return dict(self).values()

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    @override
    def __repr__(self) -> str:
        return repr(dict(self))
