"""Tracers, which transformations put in the place of other tensors: pairs with a tangent, batches."""

from dispatchkit.transforms.batched import Batched
from dispatchkit.transforms.dual import Dual
from dispatchkit.transforms.tracer import Tracer

__all__ = ["Batched", "Dual", "Tracer"]
