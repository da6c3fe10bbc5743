"""`torch._higher_order_ops` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch._higher_order_ops import associative_scan as associative_scan
