"""Matrices with structure: one algebra, so all of them load together and every pair finds its rules."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.types.structured.banded import BandedTensor
from dispatchkit.types.structured.base import StructuredTensor
from dispatchkit.types.structured.block_diagonal import BlockDiagonalTensor
from dispatchkit.types.structured.circulant import CirculantTensor
from dispatchkit.types.structured.diagonal import DiagonalTensor, ScalarTensor
from dispatchkit.types.structured.kronecker import KroneckerTensor
from dispatchkit.types.structured.lazy import InverseTensor, ProductTensor, SumTensor
from dispatchkit.types.structured.low_rank import LowRankTensor, LowRankUpdateTensor
from dispatchkit.types.structured.permutation import PermutationTensor
from dispatchkit.types.structured.products import LogdetEstimate, estimate_logdet
from dispatchkit.types.structured.shifted_kronecker import ShiftedKroneckerTensor
from dispatchkit.types.structured.toeplitz import ToeplitzTensor
from dispatchkit.types.structured.triangular import TriangularTensor

__all__ = [
    "BandedTensor",
    "BlockDiagonalTensor",
    "CirculantTensor",
    "DiagonalTensor",
    "InverseTensor",
    "KroneckerTensor",
    "LogdetEstimate",
    "LowRankTensor",
    "LowRankUpdateTensor",
    "PermutationTensor",
    "ProductTensor",
    "ScalarTensor",
    "ShiftedKroneckerTensor",
    "StructuredTensor",
    "SumTensor",
    "ToeplitzTensor",
    "TriangularTensor",
    "estimate_logdet",
]

make_home(__name__)
