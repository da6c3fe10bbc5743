"""`torch.distributions.multivariate_normal` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

MultivariateNormal: Any

_precision_to_scale_tril: Any
