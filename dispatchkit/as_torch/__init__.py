"""PyTorch's spelling of dispatchkit: ``import dispatchkit.as_torch as torch``.

Functions, methods and arguments have PyTorch's names and order; what computes are dispatchkit's operations, so that
array types, rules and derivatives are as in the rest of the library. The names are made of the operations and of one
table. Tensors that come from here are of a subclass of `dispatchkit.Tensor` whose methods follow PyTorch, and so are
results and the parameters of the layers in `nn`. The array API's ``axis`` and ``keepdims`` are understood, too.

Examples
--------
>>> import dispatchkit.as_torch as torch
>>> import dispatchkit.as_torch.nn as nn
>>> x = torch.arange(6.0).view(2, 3)
>>> x.size(0), torch.cat((x, x), 1).size()
(2, torch.Size([2, 6]))
>>> values, indices = x.max(dim=1)
>>> indices
tensor([2, 2])
>>> nn.Linear(3, 2)(x).split(1, dim=1)[0].shape
torch.Size([2, 1])
"""

from dispatchkit.as_torch.spelling import enter_modules as _enter_modules

_enter_modules()

# Not before: what follows uses the modules.
from dispatchkit.as_torch.entering.programs import enter_programs as _enter_programs  # noqa: E402

_enter_programs()
