"""`torch.nn.modules.loss` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

BCELoss: Any

BCEWithLogitsLoss: Any

CTCLoss: Any

CosineEmbeddingLoss: Any

CrossEntropyLoss: Any

GaussianNLLLoss: Any

HingeEmbeddingLoss: Any

HuberLoss: Any

KLDivLoss: Any

L1Loss: Any

LinearCrossEntropyLoss: Any

MSELoss: Any

MarginRankingLoss: Any

MultiLabelMarginLoss: Any

MultiLabelSoftMarginLoss: Any

MultiMarginLoss: Any

NLLLoss: Any

NLLLoss2d: Any

PoissonNLLLoss: Any

SmoothL1Loss: Any

SoftMarginLoss: Any

TripletMarginLoss: Any

TripletMarginWithDistanceLoss: Any

_Loss: Any

_WeightedLoss: Any
