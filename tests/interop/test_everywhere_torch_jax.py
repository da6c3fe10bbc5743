"""The rows of the table for PyTorch and JAX: no wrong value, and no error but those that say what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign
from tests.interop.everywhere_torch_jax import CALLS, DENSE, KEPT, KINDS, PLAIN, outcome

# What cannot be, by library, call and kind: there is no rule and no dense fallback, or the values are not known yet.
REFUSED = {
    ("torch", "torch.matrix_exp(d)", "MetadataTensor"): "TorchCallError",
    ("torch", "torch.matrix_exp(d)", "QuantityTensor"): "TorchCallError",
    **{("jax", "jax.jit(jnp.asarray)(d)", kind): "TracerArrayConversionError" for kind in KINDS},
    # Plain numbers are no metres, and an array of PyTorch or JAX would lose the unit.
    **{
        (library, call, "QuantityTensor"): "UnitError"
        for library, calls in (
            ("torch", ("torch.add(t, d)", "t + d", "d + t", "t - d", "t == d", "torch.linalg.solve(d + t, t)")),
            ("torch", ("torch.exp(d)", "torch.cat([t, d])", "torch.nn.functional.softmax(d, dim=0)")),
            ("torch", ("torch.as_tensor(d)", "torch.from_dlpack(d)", "to_torch(d)")),
            ("jax", ("t + d", "d + t", "jnp.asarray(d)", "to_jax(d)", "jax.jit(to_jax)(d)", "jax.jit(jnp.asarray)(d)")),
        )
        for call in calls
    },
}
# What these are for is to keep the structure.
STRUCTURED = {
    ("torch", "torch.mul(d, 2)"): ["Named", "Diagonal", "LowRank", "ScalarTensor", "MetadataTensor", "QuantityTensor"],
    ("torch", "torch.transpose(d, 0, 1)"): ["Named", "Diagonal", "LowRank", "ScalarTensor", "MetadataTensor"],
    ("torch", "t @ d"): ["Named", "MetadataTensor", "QuantityTensor"],
    ("torch", "torch.einsum('ij,jk', t, d)"): ["Named", "MetadataTensor", "QuantityTensor"],
    **{
        ("jax", call): ["Named", "Diagonal", "LowRank", "ScalarTensor", "MetadataTensor"]
        for call in ("jax.jit(lambda d: 2 * d)(d)", "jax.tree.map(jnp.copy, d)", "jax.lax.scan", "jax.lax.cond")
    },
}


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with dk.densify(on="warn"):
        yield
    foreign.clear()  # the tests of other modules go the way of programs that have NumPy's arrays alone


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", CALLS)
def test_every_call_has_the_value_of_the_dense_matrix(library: str, kind: str) -> None:
    pytest.importorskip(library)
    pytest.importorskip("array_api_compat")
    for text, call in CALLS[library]():
        words, found, wanted = outcome(library, call, kind)
        if (library, text, kind) in REFUSED:
            assert words == REFUSED[library, text, kind], text
            continue
        assert words in (KEPT, PLAIN, DENSE), f"{text}: {words}"
        assert (words == KEPT) or kind not in STRUCTURED.get((library, text), ()), f"{text}: {words}"
        np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=text)
