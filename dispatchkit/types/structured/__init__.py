"""Matrices with structure: one algebra, so all of them load together and every pair finds its rules."""

from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.types.structured import products as products  # which has rules alone
from dispatchkit.types.structured.banded import BandedTensor as BandedTensor
from dispatchkit.types.structured.base import StructuredTensor as StructuredTensor
from dispatchkit.types.structured.block_diagonal import BlockDiagonalTensor as BlockDiagonalTensor
from dispatchkit.types.structured.circulant import CirculantTensor as CirculantTensor
from dispatchkit.types.structured.diagonal import DiagonalTensor as DiagonalTensor
from dispatchkit.types.structured.diagonal import ScalarTensor as ScalarTensor
from dispatchkit.types.structured.kronecker import KroneckerTensor as KroneckerTensor
from dispatchkit.types.structured.lazy import InverseTensor as InverseTensor
from dispatchkit.types.structured.lazy import ProductTensor as ProductTensor
from dispatchkit.types.structured.lazy import SumTensor as SumTensor
from dispatchkit.types.structured.low_rank import LowRankTensor as LowRankTensor
from dispatchkit.types.structured.low_rank import LowRankUpdateTensor as LowRankUpdateTensor
from dispatchkit.types.structured.permutation import PermutationTensor as PermutationTensor
from dispatchkit.types.structured.positive_definite import InvQuadLogdet as InvQuadLogdet
from dispatchkit.types.structured.positive_definite import add_diagonal as add_diagonal
from dispatchkit.types.structured.positive_definite import inv_quad as inv_quad
from dispatchkit.types.structured.positive_definite import inv_quad_logdet as inv_quad_logdet
from dispatchkit.types.structured.positive_definite import root_decomposition as root_decomposition
from dispatchkit.types.structured.positive_definite import root_inv_decomposition as root_inv_decomposition
from dispatchkit.types.structured.positive_definite import sqrt_inv_matmul as sqrt_inv_matmul
from dispatchkit.types.structured.shifted_kronecker import ShiftedKroneckerTensor as ShiftedKroneckerTensor
from dispatchkit.types.structured.toeplitz import ToeplitzTensor as ToeplitzTensor
from dispatchkit.types.structured.triangular import TriangularTensor as TriangularTensor

vars()["__all__"] = starred_names(__name__)
make_home(__name__)
