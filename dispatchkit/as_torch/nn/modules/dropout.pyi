"""`torch.nn.modules.dropout` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

AlphaDropout: Any

Dropout: Any

Dropout1d: Any

Dropout2d: Any

Dropout3d: Any

FeatureAlphaDropout: Any

_DropoutNd: Any
