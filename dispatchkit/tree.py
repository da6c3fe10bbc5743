"""Nested containers: taking values apart, and making them anew with other parts.

What a caller looks into is an `Items`: a function that gives the parts of a container with their keys, and None for a
leaf. `sequence_items` looks into lists and tuples, `container_items` into mappings, too; those that also look into
declared array types, by their fields, add these. Nothing here calls the constructor of a class of its users.
"""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

Item = tuple[Any, Any]
Items = Callable[[Any], "Sequence[Item] | None"]
Path = tuple[Any, ...]


def sequence_items(value: Any) -> list[Item] | None:
    """Return the members of a list or tuple with their indices, None for any other value."""
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    return None


def container_items(value: Any) -> list[Item] | None:
    """Return the parts of a list, a tuple or a mapping with their keys, None for any other value."""
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if isinstance(value, Mapping):
        return list(value.items())
    return None


def leaves(items: Items, value: Any) -> Iterator[Any]:
    """Yield the leaves of a value, which is one itself where it has no parts."""
    return (leaf for _, leaf in leaves_with_paths(items, value))


def leaves_with_paths(items: Items, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of a value, each with the keys that lead to it."""
    members = items(value)
    if members is None:
        yield path, value
    else:
        for key, part in members:
            yield from leaves_with_paths(items, part, (*path, key))


def map_leaves(items: Items, change: Callable[[Any], Any], value: Any, *, share: bool = False) -> Any:
    """Return a value with `change` made to each leaf.

    Parameters
    ----------
    items : gives the parts of a container
    change : gives what takes the place of a leaf
    value : container or leaf
    share : whether a container in which nothing changes is returned itself, rather than a copy
    """
    members = items(value)
    if members is None:
        return change(value)
    parts = [(key, map_leaves(items, change, part, share=share)) for key, part in members]
    if share:
        return rebuilt_if_changed(value, members, parts)
    return rebuilt(value, parts)


def rebuilt_if_changed(value: Any, items: Sequence[Item], parts: list[Item]) -> Any:
    """Return a container with other parts, itself where all are the same."""
    same = all(new is part for (_, new), (_, part) in zip(parts, items, strict=True))
    if same:
        return value
    return rebuilt(value, parts)


def rebuilt(value: Any, items: Sequence[Item]) -> Any:
    """Return a container like another with other parts.

    Parameters
    ----------
    value : list, tuple, mapping, or an object with attributes
    items : the new parts with their keys: of a list or tuple all, in order; what others have besides is kept
    """
    if isinstance(value, (list, tuple)) and (not items or isinstance(items[0][0], int)):
        return with_members(value, [part for _, part in items])
    if isinstance(value, Mapping):
        # A copy keeps what belongs to a class of dictionaries, such as a default.
        if isinstance(value, MutableMapping):
            changed = copy.copy(value)
        else:
            changed = dict(value)
        for key, part in items:  # not `update`, which a class of dictionaries may have made into something else
            changed[key] = part
        return changed
    return with_attributes(value, items)


def with_members(value: Any, members: Sequence[Any]) -> Any:
    """Return a list or tuple of the class of another with other members."""
    cls = type(value)
    if cls is tuple or cls is list:
        return cls(members)
    if isinstance(value, tuple):
        try:
            return tuple.__new__(cls, members)
        except TypeError:  # a structure of C code, which only its own constructor makes
            return cls(members)
    copied = copy.copy(value)
    copied[:] = members
    return copied


def with_attributes(value: Any, attributes: Sequence[Item], *, plainly: bool = False) -> Any:
    """Return a copy of an object in which some attributes, of a named tuple some members, are others.

    Parameters
    ----------
    value : to copy
    attributes : names and values of those that are others
    plainly : whether `copies_plainly` is known to hold for its class, which takes a tenth of the time
    """
    if plainly:
        copied = object.__new__(type(value))
        copied.__dict__.update(value.__dict__)
    elif isinstance(value, tuple):
        return value._replace(**dict(attributes))  # type: ignore[attr-defined]  # a named one, which has fields
    else:
        copied = copy.copy(value)
    for name, part in attributes:
        object.__setattr__(copied, name, part)
    return copied


COPYING = ("__copy__", "__getnewargs__", "__getnewargs_ex__", "__setstate__")
# What a class has of `object` when `copy.copy` makes a new instance of it with the same attributes, and nothing else.
OF_OBJECT = ("__getstate__", "__new__", "__reduce__", "__reduce_ex__")


IN_PYTHON = 1 << 9  # the flag of classes that a program makes, whose instances hold nothing but attributes


def copies_plainly(cls: type) -> bool:
    """Return whether a copy of an instance is a new one with the same attributes: the class says nothing of copies."""
    if any(hasattr(cls, name) for name in COPYING) or cls in copyreg.dispatch_table:
        return False
    if any(getattr(cls, name) is not getattr(object, name) for name in OF_OBJECT):
        return False
    *written, _ = cls.__mro__
    return all(base.__flags__ & IN_PYTHON and not base.__dict__.get("__slots__") for base in written)


# The classes of users that have slots: while there are none, nothing is looked for in slots.
slotted: list[str] = []


def slot_names(cls: type, base: type) -> tuple[str, ...]:
    """Return the slots that the classes between a class and one of its bases give to instances, as they are stored."""
    names: list[str] = []
    for ancestor in cls.__mro__[: cls.__mro__.index(base)]:
        slots = ancestor.__dict__.get("__slots__", ())
        if isinstance(slots, str):
            slots = (slots,)
        for name in slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{ancestor.__name__.lstrip('_')}{name}"
            names.append(name)
    return tuple(name for name in dict.fromkeys(names) if name not in ("__dict__", "__weakref__"))


def attributes_held(value: Any) -> dict[str, Any]:
    """Return what a tensor, or an instance of an array type, keeps in its ``__dict__`` and in slots."""
    attributes = dict(getattr(value, "__dict__", {}))
    cls = type(value)
    slots: tuple[str, ...] | None = getattr(cls, "__dispatch_slots__", None)
    if slots is None:
        slots = slot_names(cls, object)
    for name in slots:
        if hasattr(value, name):
            attributes[name] = getattr(value, name)
    return attributes


def take_attributes(target: Any, sources: Iterable[Any]) -> None:
    """Give a tensor the attributes of others that it does not have and has a place for, the first winning."""
    held, slots = attributes_held(target), type(target).__dispatch_slots__
    stored = getattr(target, "__dict__", None)
    for source in sources:
        for name, value in attributes_held(source).items():
            if name in held:
                continue
            if name in slots:
                object.__setattr__(target, name, value)
            elif stored is not None:
                stored[name] = value
            held[name] = value


def place(path: Path) -> str:
    """Return how the keys that lead to a part are written in messages, such as ``['w'][0]``."""
    return "".join(f"[{key!r}]" for key in path)
