"""`torch.nn.parallel` of PyTorch in terms of dispatchkit."""

from dispatchkit.as_torch.nn import *
