"""`torch.distributions.utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

broadcast_all: Any

clamp_probs: Any

euler_constant: Any

lazy_property: Any

logits_to_probs: Any

probs_to_logits: Any

tril_matrix_to_vec: Any

vec_to_tril_matrix: Any

_standard_normal: Any

_sum_rightmost: Any
