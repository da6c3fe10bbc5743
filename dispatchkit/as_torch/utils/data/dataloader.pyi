"""`torch.utils.data.dataloader` of PyTorch in terms of dispatchkit."""

from dispatchkit.as_torch.utils.data import *
