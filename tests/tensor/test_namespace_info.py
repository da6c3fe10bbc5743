"""What the namespace says of itself."""

from __future__ import annotations

import pytest

import dispatchkit as dk
from dispatchkit.backends.arrays import foreign


def test_default_dtypes_are_those_of_new_tensors() -> None:
    defaults = dk.__array_namespace_info__().default_dtypes()
    assert dk.tensor([1.0]).dtype == defaults["real floating"]
    assert dk.tensor([1]).dtype == defaults["integral"]
    assert dk.tensor([1j]).dtype == defaults["complex floating"]
    assert dk.argmax(dk.ones(3)).dtype == defaults["indexing"]


def test_dtypes_of_a_kind() -> None:
    info = dk.__array_namespace_info__()
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    assert all(dtype == getattr(dk, name) for name, dtype in info.dtypes().items())


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="__array_namespace_info__: there is no device 'cuda'; there is 'cpu'"):
        dk.__array_namespace_info__().dtypes(device="cuda")


def test_tensors_name_the_module() -> None:
    assert dk.ones(1).__array_namespace__() is dk
    assert dk.ones(1).device in dk.__array_namespace_info__().devices()


@pytest.mark.parametrize("library", ["torch", "jax", "dask"])
def test_the_devices_are_those_of_the_library_of_new_arrays(library: str) -> None:
    pytest.importorskip(library)
    pytest.importorskip("array_api_compat")
    before = foreign.copy()
    with dk.arrays_of(library):
        info = dk.__array_namespace_info__()
        (device,) = info.devices()
        assert device == info.default_device() == dk.ones(1).device
        assert dk.ones(1, device=device).device == device
        assert dk.ones(1, device="cpu").device == device
        assert info.dtypes(device=device)["int8"] == dk.int8
        with pytest.raises(ValueError, match=r"there is no device 'meta'; there is .* and 'cpu'$"):
            info.dtypes(device="meta")
    foreign[:] = before
