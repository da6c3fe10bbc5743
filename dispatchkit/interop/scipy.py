"""Lets SciPy's solvers multiply by array types."""

from __future__ import annotations

from typing import Any


def aslinearoperator(x: Any) -> Any:
    """Return a matrix as SciPy's `LinearOperator`, whose products are those of `matvec` and `rmatvec`.

    Nothing becomes dense. Before 1.18 SciPy's solvers do so by themselves; since then they take what has an array
    namespace for an array, and multiply by its transpose.

    Parameters
    ----------
    x : tensor or array type of shape (m, n)

    Returns
    -------
    operator that multiplies NumPy's vectors and matrices

    Raises
    ------
    ValueError : if `x` is no matrix

    Notes
    -----
    Source: SciPy, `scipy.sparse.linalg.aslinearoperator`.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> import numpy as np
    >>> from dispatchkit.interop.scipy import aslinearoperator
    >>> aslinearoperator(dk.types.DiagonalTensor([1.0, 2.0])) @ np.array([1.0, 1.0])
    array([1., 2.])
    """
    if len(x.shape) != 2:
        raise ValueError(f"aslinearoperator: a matrix is needed, found shape {tuple(x.shape)}")
    try:
        from scipy.sparse.linalg import LinearOperator  # noqa: PLC0415  # optional dependency
    except ImportError as error:
        raise ImportError(
            'dispatchkit.interop.scipy needs SciPy, which is not installed: pip install "dispatchkit[scipy]"'
        ) from error
    return LinearOperator(tuple(x.shape), matvec=x.matvec, rmatvec=x.rmatvec, dtype=x.dtype)
