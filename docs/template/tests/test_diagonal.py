from diagonal_matrices import Diagonal

import dispatchkit as dk
from dispatchkit.testing import TypeConformance


class TestDiagonal(TypeConformance):
    """Every check of dispatchkit on the samples below."""

    def samples(self) -> list[Diagonal]:
        return [Diagonal([1.0, 2.0, 4.0]), Diagonal([-1.0]), Diagonal(dk.asarray([1.0, 2.0], dtype=dk.float32))]


def test_a_solve_stays_structured() -> None:
    with dk.densify(on="error"):
        assert dk.linalg.solve(Diagonal([1.0, 2.0]), dk.ones(2)).tolist() == [1.0, 0.5]
