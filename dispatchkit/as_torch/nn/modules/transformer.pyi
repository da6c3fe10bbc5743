"""`torch.nn.modules.transformer` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

Transformer: Any

TransformerDecoder: Any

TransformerDecoderLayer: Any

TransformerEncoder: Any

TransformerEncoderLayer: Any
