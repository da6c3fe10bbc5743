"""`Module._parameters`, `_buffers` and `_modules` as PyTorch's programs use them: they write, replace and copy them.

In PyTorch each is a dictionary of the module, found in its ``__dict__``, and what is written there is not checked. Here
the members are attributes of the module, and these are tables of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSet
from typing import Any

from dispatchkit import nn
from dispatchkit.as_torch.spelling import Module, adopt
from dispatchkit.marks import override
from dispatchkit.nn.registered import BUFFERS, MODULES, PARAMETERS, TABLES, Registered

__all__ = ["give_tables"]

# PyTorch's names of the tables, by the attributes that hold the names of members.
PUBLIC = {PARAMETERS: "_parameters", BUFFERS: "_buffers", MODULES: "_modules"}
START: Any = nn.Module.__init__


class Unchecked(Registered):
    """The members of a module of one kind; whatever is written becomes one."""

    __slots__ = ()

    @override
    def __setitem__(self, name: str, value: Any) -> None:
        note = self._names.get(name)
        if note is None and self._table == BUFFERS:
            note = True  # it is saved
        nn.Module._enter(self._module, self._table, name, adopt(value), note)


class Place:
    """A table in the ``__dict__`` of a module, which it does not keep alive; what it holds once another took its place.

    Parameters
    ----------
    module : whose members they are
    table : the attribute of the module that holds their names

    Attributes
    ----------
    module : gives the module, None once it is gone
    taken_out : the members that it had, None while it is the module's
    """

    __slots__ = ("module", "table", "taken_out")

    def __init__(self, module: Any, table: str) -> None:
        self.module, self.table = weakref.ref(module), table
        self.taken_out: dict[str, Any] | None = None


class MemberTable(MutableMapping[str, Any]):
    """The members of a module of one kind by name, or those that it had before others took their place.

    Parameters
    ----------
    place : what is in the ``__dict__`` of the module
    module : kept alive while the table is used; None in the ``__dict__`` of the module itself
    """

    __slots__ = ("_module", "_place")

    def __new__(cls, place: Any = (), module: Any = None) -> Any:
        """Return the table; of other members a dictionary, for programs that make a mapping of the class of another."""
        if isinstance(place, Place):
            return super().__new__(cls)
        return dict(place)

    def __init__(self, place: Place, module: Any = None) -> None:
        self._place, self._module = place, module

    @property
    def _held(self) -> Any:
        """The members as they are now, as a mapping."""
        if self._place.taken_out is not None:
            return self._place.taken_out
        return Unchecked(self._place.module(), self._place.table)

    @override
    def __getitem__(self, name: str) -> Any:
        return self._held[name]

    @override
    def __setitem__(self, name: str, value: Any) -> None:
        self._held[name] = value

    @override
    def __delitem__(self, name: str) -> None:
        del self._held[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    @override
    def __len__(self) -> int:
        return len(self._held)

    @override
    def keys(self) -> Any:
        """Return the names, which may be walked from the last to the first, as a dictionary's."""
        return self._held.keys()

    @override
    def items(self) -> Any:
        """Return the members with their names, which may be walked from the last to the first."""
        return self._held.items()

    @override
    def values(self) -> Any:
        """Return the members, which may be walked from the last to the first."""
        return self._held.values()

    def __reversed__(self) -> Iterator[str]:
        names: list[str] = list(self._held)
        return reversed(names)

    def copy(self) -> dict[str, Any]:
        """Return a dictionary of the members."""
        return dict(self._held)

    @override
    def __reduce__(self) -> Any:
        return dict, (self.copy(),)

    @override
    def __repr__(self) -> str:
        return repr(self._held)


class NotSaved(MutableSet[str]):
    """The names of the buffers of a module that its state has not.

    Parameters
    ----------
    module : whose buffers they are
    """

    __slots__ = ("_module",)

    def __init__(self, module: Any) -> None:
        self._module = module

    @property
    def _notes(self) -> dict[str, bool]:
        """The names of all buffers, each with whether it is saved."""
        return self._module.__dict__[BUFFERS]  # type: ignore[no-any-return]  # as registered

    @override
    def __contains__(self, name: object) -> bool:
        return self._notes.get(name, True) is False  # type: ignore[call-overload]  # of no other type

    @override
    def __iter__(self) -> Iterator[str]:
        return iter([name for name, saved in self._notes.items() if not saved])

    @override
    def __len__(self) -> int:
        return len(list(iter(self)))

    @override
    def add(self, value: str) -> None:
        """Have a buffer not saved; a name that is none's changes nothing."""
        if value in self._notes:
            self._notes[value] = False

    @override
    def discard(self, value: str) -> None:
        """Have a buffer saved."""
        if value in self._notes:
            self._notes[value] = True

    @override
    def __repr__(self) -> str:
        return repr(set(self))


def _hold(module: Any, table: str) -> Place:
    """Put a table that is the module's own into its ``__dict__``, and return what it shows."""
    place = Place(module, table)
    module.__dict__[PUBLIC[table]] = MemberTable(place)
    return place


def _place_of(module: Any, table: str) -> Place:
    """Return the table of a kind that a module has.

    The ``__dict__`` of a module may have been copied from that of another, whose names it then shares, or filled by a
    program.
    """
    attributes = module.__dict__
    held = attributes.get(PUBLIC[table])
    if isinstance(held, MemberTable):
        if held._place.module() is module:
            return held._place
        attributes[table] = dict(attributes[table])
    elif held is not None:
        _replace(module, table, held)
    return _hold(module, table)


def _replace(module: Any, table: str, others: Mapping[str, Any]) -> None:
    """Put others into the place of the members of a kind; the table that was there keeps the members that it had."""
    attributes, members = module.__dict__, dict(others)
    before = attributes.get(PUBLIC[table])
    notes = attributes.get(table, {})
    if isinstance(before, MemberTable) and before._place.module() is module:
        before._place.taken_out = before.copy()
    for name, note in notes.items():
        key = name
        if table == MODULES:
            key = note or name
        attributes.pop(key, None)
    attributes[table] = {}
    if table == BUFFERS:
        attributes[table] = {name: notes[name] for name in members if name in notes}
    for other in TABLES:
        attributes.setdefault(other, {})
    _hold(module, table)
    held = Unchecked(module, table)
    for name, value in members.items():
        held[name] = value


def _table(table: str) -> property:
    """Return the attribute that has the members of a kind."""

    def members(self: Any) -> MemberTable:
        if table not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{PUBLIC[table]}'")
        return MemberTable(_place_of(self, table), self)

    def replace(self: Any, others: Mapping[str, Any]) -> None:
        _replace(self, table, others)

    return property(members, replace, doc=f"The {PUBLIC[table][1:]} of the module by name.")


def _names(table: str) -> property:
    """Return the attribute that has the names of members of a kind, which a copy of all attributes does not share."""

    def names(self: Any) -> Any:
        return self.__dict__[table]

    def leave(self: Any, others: Any) -> None:
        self.__dict__.setdefault(table, {})

    return property(names, leave, doc=f"The names of the {PUBLIC[table][1:]} of the module.")


def _not_saved(self: Any) -> NotSaved:
    """Return the names of the buffers that `state_dict` has not."""
    return NotSaved(self)


def _save_others(self: Any, names: Iterable[str]) -> None:
    notes = self.__dict__[BUFFERS]
    chosen = set(names)
    notes.update({name: name not in chosen for name in notes})


def _start(self: Any) -> None:
    """Begin with no members, and the tables of them."""
    START(self)
    for table in TABLES:
        _hold(self, table)


def _state(self: Any) -> dict[str, Any]:
    # A copy has tables of its own.
    state = super(Module, self).__getstate__()
    return {name: value for name, value in state.items() if name not in PUBLIC.values()}


def _take_state(self: Any, state: Any) -> None:
    """Take the attributes of another module, of which a copy is made."""
    self.__dict__.update(state)
    for table in TABLES:
        _place_of(self, table)


def replicate(self: Any) -> Any:
    """Return a module of the same attributes without parameters, whose tables of members are its own."""
    replica = self.__new__(type(self))
    replica.__dict__ = self.__dict__.copy()
    replica._parameters = {}
    for table in (BUFFERS, MODULES):
        _place_of(replica, table)
    replica._is_replica = True
    return replica


def give_tables() -> None:
    """Give modules their tables of members as PyTorch has them."""
    members: dict[str, Any] = {PUBLIC[table]: _table(table) for table in TABLES}
    members |= {table: _names(table) for table in TABLES}
    members["_non_persistent_buffers_set"] = property(_not_saved, _save_others)
    members |= {"__init__": _start, "__getstate__": _state, "__setstate__": _take_state}
    members["_replicate_for_data_parallel"] = replicate
    for name, member in members.items():
        setattr(Module, name, member)
