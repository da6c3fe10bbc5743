"""JAX's own convolutions and pooling for tensors that hold its arrays."""

from __future__ import annotations
