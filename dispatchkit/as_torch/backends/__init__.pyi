"""`torch.backends` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.backends import cuda as cuda
from dispatchkit.as_torch.backends import cudnn as cudnn
from dispatchkit.as_torch.backends import mps as mps
