"""`torch.autograd.anomaly_mode` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.autograd import detect_anomaly as detect_anomaly
from dispatchkit.autograd import set_detect_anomaly as set_detect_anomaly
