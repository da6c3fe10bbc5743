"""`torch.utils._pytree` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

LeafSpec: Any

NodeDef: Any

PyTree: Any

SUPPORTED_NODES: Any

TreeSpec: Any

register_pytree_node: Any

tree_all: Any

tree_any: Any

tree_flatten: Any

tree_iter: Any

tree_leaves: Any

tree_map: Any

tree_map_only: Any

tree_structure: Any

tree_unflatten: Any

_dict_flatten: Any

_dict_flatten_with_keys: Any

_dict_unflatten: Any

_get_node_type: Any

_is_leaf: Any

_list_unflatten: Any

_tuple_unflatten: Any

_list_flatten: Any

_tuple_flatten: Any

_register_pytree_node: Any
