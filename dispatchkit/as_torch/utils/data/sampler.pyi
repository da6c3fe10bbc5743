"""`torch.utils.data.sampler` of PyTorch in terms of dispatchkit."""

from dispatchkit.as_torch.utils.data import *
