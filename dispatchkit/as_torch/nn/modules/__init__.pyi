"""`torch.nn.modules` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn import *
from dispatchkit.as_torch.nn.modules import activation as activation
from dispatchkit.as_torch.nn.modules import adaptive as adaptive
from dispatchkit.as_torch.nn.modules import batchnorm as batchnorm
from dispatchkit.as_torch.nn.modules import channelshuffle as channelshuffle
from dispatchkit.as_torch.nn.modules import container as container
from dispatchkit.as_torch.nn.modules import conv as conv
from dispatchkit.as_torch.nn.modules import distance as distance
from dispatchkit.as_torch.nn.modules import dropout as dropout
from dispatchkit.as_torch.nn.modules import flatten as flatten
from dispatchkit.as_torch.nn.modules import fold as fold
from dispatchkit.as_torch.nn.modules import instancenorm as instancenorm
from dispatchkit.as_torch.nn.modules import lazy as lazy
from dispatchkit.as_torch.nn.modules import linear as linear
from dispatchkit.as_torch.nn.modules import linear_cross_entropy_options as linear_cross_entropy_options
from dispatchkit.as_torch.nn.modules import loss as loss
from dispatchkit.as_torch.nn.modules import module as module
from dispatchkit.as_torch.nn.modules import normalization as normalization
from dispatchkit.as_torch.nn.modules import padding as padding
from dispatchkit.as_torch.nn.modules import pixelshuffle as pixelshuffle
from dispatchkit.as_torch.nn.modules import pooling as pooling
from dispatchkit.as_torch.nn.modules import rnn as rnn
from dispatchkit.as_torch.nn.modules import sparse as sparse
from dispatchkit.as_torch.nn.modules import transformer as transformer
from dispatchkit.as_torch.nn.modules import upsampling as upsampling
from dispatchkit.as_torch.nn.modules import utils as utils
