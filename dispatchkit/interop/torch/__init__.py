"""PyTorch and dispatchkit in one program: shared memory, gradients through both, array types in PyTorch's functions.

Examples
--------
>>> import torch
>>> import dispatchkit as dk
>>> from dispatchkit.interop.torch import from_torch, to_torch
>>> t = torch.tensor([1.0, 2.0], requires_grad=True)
>>> to_torch(dk.sum(from_torch(t) ** 2)).backward()
>>> t.grad
tensor([2., 4.])
"""

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError('dispatchkit.interop.torch needs PyTorch: pip install torch "dispatchkit[compat]"') from error

from dispatchkit.declare.namespace import make_home
from dispatchkit.interop.torch.tensors import (
    FieldParameters,
    as_dispatchkit_function,
    as_torch_function,
    from_torch,
    set_weight,
    to_torch,
)

__all__ = ["FieldParameters", "as_dispatchkit_function", "as_torch_function", "from_torch", "set_weight", "to_torch"]

make_home(__name__)
