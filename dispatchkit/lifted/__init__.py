"""Tensors that transformations put in the place of others: pairs with a tangent, batches."""

from dispatchkit.lifted import batching_fft, batching_indexing, batching_linalg, batching_shapes
from dispatchkit.lifted.batched import Batched
from dispatchkit.lifted.dual import Dual
from dispatchkit.lifted.lifted import Lifted

# Rules enter the table as their modules are imported.
RULES = (batching_fft, batching_indexing, batching_linalg, batching_shapes)

__all__ = ["Batched", "Dual", "Lifted"]
