"""Array types that come with the library, each built with its public means alone."""

from __future__ import annotations

import sys as _sys
from functools import partial as _partial
from typing import TYPE_CHECKING

from dispatchkit.declare.namespace import load_all_names as _load_all_names
from dispatchkit.declare.namespace import make_home
from dispatchkit.declare.namespace import names_loaded_later as _names_loaded_later
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.types.exchange.libraries import set_home as _set_home
from dispatchkit.types.metadata import MetadataTensor as MetadataTensor

if TYPE_CHECKING:
    from dispatchkit.types.lazy import LazyTensor as LazyTensor
    from dispatchkit.types.lora import LoraTensor as LoraTensor
    from dispatchkit.types.masked import MaskedTensor as MaskedTensor
    from dispatchkit.types.named import NamedTensor as NamedTensor
    from dispatchkit.types.quantized import QuantizedTensor as QuantizedTensor
    from dispatchkit.types.sparse import SparseTensor as SparseTensor
    from dispatchkit.types.sparse_pattern import SparsePattern as SparsePattern
    from dispatchkit.types.structured import BandedTensor as BandedTensor
    from dispatchkit.types.structured import BlockDiagonalTensor as BlockDiagonalTensor
    from dispatchkit.types.structured import CirculantTensor as CirculantTensor
    from dispatchkit.types.structured import DiagonalTensor as DiagonalTensor
    from dispatchkit.types.structured import InverseTensor as InverseTensor
    from dispatchkit.types.structured import KroneckerTensor as KroneckerTensor
    from dispatchkit.types.structured import LowRankTensor as LowRankTensor
    from dispatchkit.types.structured import LowRankUpdateTensor as LowRankUpdateTensor
    from dispatchkit.types.structured import PermutationTensor as PermutationTensor
    from dispatchkit.types.structured import ProductTensor as ProductTensor
    from dispatchkit.types.structured import ScalarTensor as ScalarTensor
    from dispatchkit.types.structured import ShiftedKroneckerTensor as ShiftedKroneckerTensor
    from dispatchkit.types.structured import StructuredTensor as StructuredTensor
    from dispatchkit.types.structured import SumTensor as SumTensor
    from dispatchkit.types.structured import ToeplitzTensor as ToeplitzTensor
    from dispatchkit.types.structured import TriangularTensor as TriangularTensor
    from dispatchkit.types.uncertain import UncertainTensor as UncertainTensor
    from dispatchkit.types.units import QuantityTensor as QuantityTensor
    from dispatchkit.types.units import Unit as Unit

# What many programs do not use loads when it is first asked for.
_LATER = {
    "LazyTensor": "lazy",
    "LoraTensor": "lora",
    "MaskedTensor": "masked",
    "NamedTensor": "named",
    "QuantizedTensor": "quantized",
    "SparsePattern": "sparse_pattern",
    "SparseTensor": "sparse",
    **dict.fromkeys(("CirculantTensor", "BandedTensor", "BlockDiagonalTensor", "DiagonalTensor"), "structured"),
    **dict.fromkeys(("InverseTensor", "KroneckerTensor", "LowRankTensor", "LowRankUpdateTensor"), "structured"),
    **dict.fromkeys(("PermutationTensor", "ProductTensor", "ScalarTensor", "ShiftedKroneckerTensor"), "structured"),
    **dict.fromkeys(("StructuredTensor", "SumTensor", "ToeplitzTensor", "TriangularTensor"), "structured"),
    "UncertainTensor": "uncertain",
    "QuantityTensor": "units",
    "Unit": "units",
}

__all__ = ["MetadataTensor", *_LATER]  # noqa: PLE0604  # all of them are names


# Checkers of types know the names above, and no other.
if not TYPE_CHECKING:
    __getattr__ = _names_loaded_later(__name__, _LATER)

tensor_protocol.journal.loaders[_partial(_load_all_names, __name__, _LATER)] = None
_set_home(_sys.modules[__name__])
make_home(__name__)
