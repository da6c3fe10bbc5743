"""What programs use of `torch.utils._pytree`: values with tensors in them, taken apart and put together."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from dispatchkit.as_torch.attributes.shapes import Shape
from dispatchkit.marks import override
from dispatchkit.wording import class_name

__all__ = ["OF_TREES"]


class NodeDef(NamedTuple):
    """How values of a class are taken apart and put together.

    Attributes
    ----------
    type : the class
    flatten_fn : gives the parts of a value, and its context, what it is made of besides
    unflatten_fn : makes a value of parts and a context
    flatten_with_keys_fn : as `flatten_fn`, with pairs of keys and parts; may be None
    """

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None


class TreeSpec:
    """What is left of a value when its leaves are taken out.

    Parameters
    ----------
    type : the class of the value, `collections.namedtuple` for all named tuples
    context : what it is made of besides its parts
    children_specs : what is left of each part
    """

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, list(children_specs)

    @property
    def num_children(self) -> int:
        """How many parts the value has."""
        return len(self.children_specs)

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many values, parts and leaves there are."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    def is_leaf(self) -> bool:
        """Return whether the value is a leaf itself."""
        return False

    def children(self) -> list[TreeSpec]:
        """Return what is left of each part."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """Return what is left of one part.

        Parameters
        ----------
        index : its place
        """
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the value with other leaves.

        Parameters
        ----------
        leaves : as many as there were

        Raises
        ------
        ValueError : for another number of leaves
        """
        held = list(leaves)
        if len(held) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(held)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._made_of(iter(held))

    def _made_of(self, leaves: Iterator[Any]) -> Any:
        """Return the value of the leaves that come next."""
        parts = [child._made_of(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self.context)

    def _drawn(self, indent: int) -> str:
        """Return a line for each part, moved to the right."""
        between = ",\n" + " " * (indent + 2)
        parts = between.join(child._drawn(indent + 2) for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{parts}])"

    @override
    def __repr__(self) -> str:
        return self._drawn(0)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine, others = ((spec.type, spec.context, spec.children_specs) for spec in (self, other))
        return mine == others

    @override
    def __hash__(self) -> int:
        return hash((self.type, tuple(self.children_specs)))


class LeafSpec(TreeSpec):
    """What is left of a leaf."""

    num_leaves = num_nodes = 1

    def __init__(self) -> None:
        super().__init__(None, None, ())

    @override
    def is_leaf(self) -> bool:
        """Return True."""
        return True

    @override
    def _made_of(self, leaves: Iterator[Any]) -> Any:
        return next(leaves)

    @override
    def _drawn(self, indent: int) -> str:
        return "*"


def _sequence_flatten(values: Any) -> tuple[list[Any], None]:
    """Return the parts of a list or tuple."""
    return [*values], None


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return values and keys of a dictionary."""
    return [*d.values()], [*d]


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return pairs of keys and values of a dictionary, and the keys."""
    return [*d.items()], [*d]


def _dict_unflatten(values: Iterable[Any], context: Iterable[Any]) -> dict[Any, Any]:
    """Return a dictionary of values and keys."""
    return dict(zip(context, values, strict=True))


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _shape_unflatten(values: Iterable[Any], context: Any) -> Any:
    return Shape(values)


def _namedtuple_flatten(values: Any) -> tuple[list[Any], type]:
    return [*values], type(values)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return tuple.__new__(context, values)


def _ordered_unflatten(values: Iterable[Any], context: Iterable[Any]) -> Any:
    return OrderedDict(zip(context, values, strict=True))


def _default_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    return [*d.values()], [d.default_factory, [*d]]


def _default_unflatten(values: Iterable[Any], context: Any) -> Any:
    return defaultdict(context[0], _dict_unflatten(values, context[1]))


def _deque_flatten(values: Any) -> tuple[list[Any], int | None]:
    return [*values], values.maxlen


def _deque_unflatten(values: Iterable[Any], context: int | None) -> Any:
    return deque(values, context)


# How values are taken apart, by their classes; all others are leaves.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    node.type: node
    for node in (
        NodeDef(tuple, _sequence_flatten, _tuple_unflatten),
        NodeDef(list, _sequence_flatten, _list_unflatten),
        NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        NodeDef(namedtuple, _namedtuple_flatten, _namedtuple_unflatten),
        NodeDef(OrderedDict, _dict_flatten, _ordered_unflatten, _dict_flatten_with_keys),
        NodeDef(defaultdict, _default_flatten, _default_unflatten),
        NodeDef(deque, _deque_flatten, _deque_unflatten),
        NodeDef(Shape, _sequence_flatten, _shape_unflatten),
    )
}


def register_pytree_node(
    cls: type, flatten_fn: Any, unflatten_fn: Any, *, flatten_with_keys_fn: Any = None, **names: Any
) -> None:
    """Say how values of a class are taken apart.

    Parameters
    ----------
    cls : the class
    flatten_fn : gives the parts of a value, and what it is made of besides
    unflatten_fn : makes a value of parts and that
    flatten_with_keys_fn : as `flatten_fn`, with pairs of keys and parts
    **names : under which files have the class, which change nothing here
    """
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _get_node_type(tree: Any) -> Any:
    """Return the class by which a value is taken apart, `collections.namedtuple` for named tuples."""
    cls = type(tree)
    if cls not in SUPPORTED_NODES and isinstance(tree, tuple) and hasattr(cls, "_fields"):
        return namedtuple
    return cls


def _is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a value is not taken apart."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


def _taken_apart(tree: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    """Return what is left of a value when its leaves are put into a list."""
    if _is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    cls = _get_node_type(tree)
    parts, context = SUPPORTED_NODES[cls].flatten_fn(tree)
    return TreeSpec(cls, context, [_taken_apart(part, is_leaf, leaves) for part in parts])


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a value, and what puts them together again.

    Parameters
    ----------
    tree : lists, tuples, dictionaries and values of registered classes, of leaves; all else is a leaf
    is_leaf : says of further parts that they are
    """
    held: list[Any] = []
    return held, _taken_apart(tree, is_leaf, held)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the value of a structure with other leaves.

    Parameters
    ----------
    leaves : as many as `tree_flatten` gave
    treespec : the structure

    Raises
    ------
    TypeError : if `treespec` is no structure
    ValueError : for another number of leaves
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{class_name(type(treespec))}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a value."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yield the leaves of a value."""
    return iter(tree_leaves(tree, is_leaf))


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


FUNCTIONS = (
    *(tree_flatten, tree_unflatten, tree_leaves, tree_iter, tree_structure, tree_map, tree_map_only, tree_all),
    *(tree_any, register_pytree_node, _dict_flatten, _dict_flatten_with_keys, _dict_unflatten, _get_node_type),
    *(_is_leaf, _list_unflatten, _tuple_unflatten, LeafSpec, NodeDef, TreeSpec),
)
# What `torch.utils._pytree` has.
OF_TREES: dict[str, Any] = {
    **{each.__name__: each for each in FUNCTIONS},
    "PyTree": Any,
    "SUPPORTED_NODES": SUPPORTED_NODES,
    "_list_flatten": _sequence_flatten,
    "_tuple_flatten": _sequence_flatten,
    "_register_pytree_node": register_pytree_node,
}
