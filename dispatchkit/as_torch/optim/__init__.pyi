"""`torch.optim` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.optim import adadelta as adadelta
from dispatchkit.as_torch.optim import adagrad as adagrad
from dispatchkit.as_torch.optim import adam as adam
from dispatchkit.as_torch.optim import adamax as adamax
from dispatchkit.as_torch.optim import adamw as adamw
from dispatchkit.as_torch.optim import asgd as asgd
from dispatchkit.as_torch.optim import lbfgs as lbfgs
from dispatchkit.as_torch.optim import lr_scheduler as lr_scheduler
from dispatchkit.as_torch.optim import nadam as nadam
from dispatchkit.as_torch.optim import optimizer as optimizer
from dispatchkit.as_torch.optim import radam as radam
from dispatchkit.as_torch.optim import rmsprop as rmsprop
from dispatchkit.as_torch.optim import rprop as rprop
from dispatchkit.as_torch.optim import sgd as sgd
from dispatchkit.as_torch.optim import sparse_adam as sparse_adam
from dispatchkit.as_torch.optim import swa_utils as swa_utils
from dispatchkit.optim import Optimizer as Optimizer
from typing import Any
import dispatchkit.optim

class ASGD(dispatchkit.optim.ASGD):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Adadelta(dispatchkit.optim.Adadelta):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

Adafactor: Any

class Adagrad(dispatchkit.optim.Adagrad):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Adam(dispatchkit.optim.Adam):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class AdamW(dispatchkit.optim.AdamW):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Adamax(dispatchkit.optim.Adamax):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class LBFGS(dispatchkit.optim.LBFGS):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

Muon: Any

class NAdam(dispatchkit.optim.NAdam):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class RAdam(dispatchkit.optim.RAdam):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class RMSprop(dispatchkit.optim.RMSprop):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Rprop(dispatchkit.optim.Rprop):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class SGD(dispatchkit.optim.SGD):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

SparseAdam: Any
