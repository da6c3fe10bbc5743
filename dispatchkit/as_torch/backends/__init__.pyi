"""`torch.backends` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.backends import cpu as cpu
from dispatchkit.as_torch.backends import cuda as cuda
from dispatchkit.as_torch.backends import cudnn as cudnn
from dispatchkit.as_torch.backends import mkl as mkl
from dispatchkit.as_torch.backends import mkldnn as mkldnn
from dispatchkit.as_torch.backends import mps as mps
from dispatchkit.as_torch.backends import openmp as openmp
from dispatchkit.as_torch.backends import opt_einsum as opt_einsum
