"""`torch.fx.experimental` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.fx.experimental import proxy_tensor as proxy_tensor
