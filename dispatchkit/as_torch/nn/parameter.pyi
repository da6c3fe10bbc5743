"""`torch.nn.parameter` of PyTorch in terms of dispatchkit."""

from dispatchkit.as_torch.nn import *
