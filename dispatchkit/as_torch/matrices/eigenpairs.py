"""Some eigenvalues of large matrices, and their vectors, `torch.lobpcg`."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.spelling import spell
from dispatchkit.declare.namespace import tensor_namespace as xp

__all__ = ["lobpcg"]


def lobpcg(
    A: Any,  # PyTorch's
    k: int | None = None,
    B: Any = None,  # PyTorch's
    X: Any = None,  # PyTorch's
    n: int | None = None,
    iK: Any = None,  # PyTorch's
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Any, Any]:
    """Return the largest or smallest eigenvalues of symmetric matrices, and their vectors.

    They are exact, by a decomposition of the whole matrix: what says how PyTorch comes near to them (`iK`, `niter`,
    `tol`, `method` and `ortho_...`) changes nothing.

    Parameters
    ----------
    A : matrices of shape (..., m, m), dense or sparse
    k : how many eigenvalues; as many as `X` has columns by default, else one
    B : of shape (..., m, m) and positive definite, for eigenvalues of ``A x = E B x``
    X : vectors that PyTorch begins with, of shape (..., m, n): their number alone counts
    n : their number; not less than `k`
    iK, niter, tol, method, ortho_iparams, ortho_fparams, ortho_bparams : which change nothing
    largest : False for the smallest ones
    tracker : None

    Returns
    -------
    tuple
        Eigenvalues of shape (..., k), the largest first, or with ``largest=False`` the smallest, and vectors in the
        columns of an array of shape (..., m, k).

    Raises
    ------
    ValueError : where there are fewer than three rows for each eigenvalue
    NotImplementedError : for a `tracker`, as there are no steps

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> values, vectors = torch.lobpcg(torch.diag(torch.tensor([1.0, 5.0, 3.0])), k=1)
    >>> values, vectors.abs().flatten().tolist()
    (tensor([5.]), [0.0, 1.0, 0.0])
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg: tracker must be None: eigenvalues are computed without steps to look at")
    matrix = _dense(A)
    begun = 1 if X is None else X.shape[-1]
    count = begun if k is None else k
    rows, columns = matrix.shape[-2], max(count, begun, n or 0)
    if rows < 3 * columns:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={columns})"
        )
    matrix = (matrix + matrix.mT) / 2
    if B is None:
        values, vectors = xp.linalg.eigh(matrix)
    else:
        # With B = L L^T, the vectors of inv(L) A inv(L)^T are L^T times those that are looked for.
        inverse = xp.linalg.inv(xp.linalg.cholesky(_dense(B)))
        values, vectors = xp.linalg.eigh(inverse @ matrix @ inverse.mT)
        vectors = inverse.mT @ vectors
    if largest is not False:
        values, vectors = xp.flip(values, axis=-1), xp.flip(vectors, axis=-1)
    return spell(values[..., :count]), spell(vectors[..., :count])


def _dense(matrix: Any) -> Any:
    """Return matrices that may be sparse as they are without that."""
    if matrix.is_sparse:
        return matrix.to_dense()
    return matrix
