"""What programs use of `torch.utils._pytree`: values with tensors in them, taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from dispatchkit.tree import container_items, leaves, rebuilt

__all__ = ["OF_TREES"]


class TreeSpec(NamedTuple):
    """What is left of a value when its leaves are taken out.

    Attributes
    ----------
    structure : the value, with the number of each leaf in its place
    num_leaves : how many there are
    """

    structure: Any
    num_leaves: int


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a value, and what puts them together again.

    Parameters
    ----------
    tree : lists, tuples and mappings of leaves; all else is a leaf
    is_leaf : says of further parts that they are
    """
    found: list[Any] = []

    def number(leaf: Any) -> int:
        found.append(leaf)
        return len(found) - 1

    structure = _structure(_items(is_leaf), number, tree)
    return found, TreeSpec(structure, len(found))


class TakenApart(NamedTuple):
    """A value of a registered class, taken apart.

    Attributes
    ----------
    unflatten : makes it of its parts and the context
    context : what it is made of besides
    parts : the parts, taken apart in their turn
    """

    unflatten: Callable[[list[Any], Any], Any]
    context: Any
    parts: list[Any]


# By class, what takes its values apart, into parts and a context, and what puts them together.
REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[list[Any], Any], Any]]] = {}


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **names: Any) -> None:
    """Say how values of a class are taken apart.

    Parameters
    ----------
    cls : the class
    flatten_fn : gives the parts of a value, and what it is made of besides
    unflatten_fn : makes a value of parts and that
    **names : under which files have the class, which change nothing here
    """
    REGISTERED[cls] = flatten_fn, unflatten_fn


def _structure(items: Callable[[Any], Any], number: Callable[[Any], int], value: Any) -> Any:
    """Return a value with the numbers of its leaves."""
    members = items(value)
    if members is None:
        return number(value)
    if type(value) in REGISTERED:
        flatten, unflatten = REGISTERED[type(value)]
        parts, context = flatten(value)
        return TakenApart(unflatten, context, [_structure(items, number, part) for part in parts])
    return rebuilt(value, [(key, _structure(items, number, part)) for key, part in members])


def _together(held: list[Any], structure: Any) -> Any:
    """Return a value of its structure and its leaves."""
    if isinstance(structure, int):
        return held[structure]
    if isinstance(structure, TakenApart):
        return structure.unflatten([_together(held, part) for part in structure.parts], structure.context)
    members: Any = container_items(structure)
    return rebuilt(structure, [(key, _together(held, part)) for key, part in members])


def _items(is_leaf: Callable[[Any], bool] | None) -> Callable[[Any], Any]:
    """Return what gives the parts of a container that is no leaf."""
    if is_leaf is None and not REGISTERED:
        return container_items

    def items(value: Any) -> Any:
        if is_leaf is not None and is_leaf(value):
            return None
        if type(value) in REGISTERED:
            return list(enumerate(REGISTERED[type(value)][0](value)[0]))
        return container_items(value)

    return items


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the value of a structure with other leaves.

    Parameters
    ----------
    leaves : as many as `tree_flatten` gave
    treespec : the structure

    Raises
    ------
    ValueError : for another number of leaves
    """
    held = list(leaves)
    if len(held) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(held)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items"
        )
    return _together(held, treespec.structure)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a value."""
    return list(leaves(_items(is_leaf), tree))


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yield the leaves of a value."""
    return leaves(_items(is_leaf), tree)


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return what `tree_flatten` leaves of a value."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a value with a function of each leaf, and of those of others in its place.

    Parameters
    ----------
    func : takes a leaf of each
    tree, *rests : values of one structure
    is_leaf : as of `tree_flatten`

    Raises
    ------
    ValueError : if they have different numbers of leaves
    """
    held, spec = tree_flatten(tree, is_leaf)
    columns = [held, *(tree_leaves(each, is_leaf) for each in rests)]
    if any(len(column) != len(held) for column in columns):
        raise ValueError(f"tree_map: the trees have {', '.join(str(len(column)) for column in columns)} leaves")
    return tree_unflatten([func(*parts) for parts in zip(*columns, strict=True)], spec)


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Any = None) -> Any:
    """Return a value with a function of each leaf of one type, or of several.

    Parameters
    ----------
    kind : a type, a tuple of them, or a function that says of a leaf whether it is meant
    func : takes a leaf
    tree, is_leaf : as of `tree_flatten`
    """
    meant = kind
    if isinstance(kind, (type, tuple)):

        def meant(leaf: Any) -> bool:
            return isinstance(leaf, kind)

    def change(leaf: Any) -> Any:
        if meant(leaf):
            return func(leaf)
        return leaf

    return tree_map(change, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Return whether something holds of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Return whether something holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return values and keys of a dictionary."""
    return [*d.values()], [*d]


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return pairs of keys and values of a dictionary, and the keys."""
    return [*d.items()], [*d]


def _dict_unflatten(values: Iterable[Any], context: Iterable[Any]) -> dict[Any, Any]:
    """Return a dictionary of values and keys."""
    return dict(zip(context, values, strict=True))


FUNCTIONS = (
    *(tree_flatten, tree_unflatten, tree_leaves, tree_iter, tree_structure, tree_map, tree_map_only, tree_all),
    *(tree_any, register_pytree_node, _dict_flatten, _dict_flatten_with_keys, _dict_unflatten),
)
# What `torch.utils._pytree` has.
OF_TREES: dict[str, Any] = {
    **{each.__name__: each for each in FUNCTIONS},
    "PyTree": Any,
    "TreeSpec": TreeSpec,
    "_register_pytree_node": register_pytree_node,
}
