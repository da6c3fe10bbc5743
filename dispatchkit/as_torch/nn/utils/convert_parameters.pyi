"""`torch.nn.utils.convert_parameters` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.nn.utils import parameters_to_vector as parameters_to_vector
from dispatchkit.nn.utils import vector_to_parameters as vector_to_parameters
