"""`torch.nn.utils.prune` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

BasePruningMethod: Any

CustomFromMask: Any

Identity: Any

L1Unstructured: Any

LnStructured: Any

PruningContainer: Any

RandomStructured: Any

RandomUnstructured: Any

custom_from_mask: Any

global_unstructured: Any

identity: Any

is_pruned: Any

l1_unstructured: Any

ln_structured: Any

random_structured: Any

random_unstructured: Any

remove: Any
