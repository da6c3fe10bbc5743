"""Tracers, which transformations put in the place of other tensors: pairs with a tangent, batches."""

from dispatchkit.transforms import batching as indexing
from dispatchkit.transforms import batching as linalg
from dispatchkit.transforms import batching as shapes
from dispatchkit.transforms.batched import Batched
from dispatchkit.transforms.dual import Dual
from dispatchkit.transforms.tracer import Tracer

# Rules enter the table as their modules are imported.
RULES = (indexing, linalg, shapes)

__all__ = ["Batched", "Dual", "Tracer"]
