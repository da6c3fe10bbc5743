"""`torch.sparse` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch import Tensor as Tensor
from typing import Any

ByteTensor: Any

CharTensor: Any

DoubleTensor: Any

FloatTensor: Any

HalfTensor: Any

IntTensor: Any

LongTensor: Any

ShortTensor: Any

def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor: ...

log_softmax: Any

def mm(input: Any, mat2: Any) -> Tensor: ...

softmax: Any

sum: Any
