"""One type everywhere: the tables of docs/one-type-everywhere.md have no fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import DensifyWarning
from tests.interop.everywhere import M, Named, Quantity
from tests.interop.everywhere_calls import CALLS
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def table() -> list[str]:
    for library in ("scipy", "array_api_compat"):
        pytest.importorskip(library, reason="the page is of the clients, which `nox -s clients` installs")
    words = [sys.executable, "-m", "tests.interop.everywhere_page"]
    made = subprocess.run(words, check=True, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    return made.stdout.splitlines()


def test_no_call_gives_a_wrong_value_or_a_bare_error(table: list[str]) -> None:
    assert len(table) > 40
    assert [line for line in table if "**" in line] == []


GRADIENTS: dict[str, str] = {
    "einops: rearrange": "einops",
    "einops: reduce": "einops",
    "opt_einsum: contract": "opt_einsum",
    "xarray: + and *": "xarray",
    "xarray: sum": "xarray",
    "Dask: from_array(x) + 1": "dask.array",
    "Pint: Quantity(x) + it": "pint",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("make", [lambda t: t, lambda t: t.as_subclass(Named), lambda t: Quantity(t, "m")])
def test_gradients_flow_where_a_client_stays_in_the_namespace(name: str, make: Any) -> None:
    pytest.importorskip(GRADIENTS[name])
    call = CALLS["Others"][name]

    def number(t: Any) -> Any:
        result = call(make(t))
        inner: Any = getattr(result, "value", result)
        return (inner**2).sum()

    x = dk.tensor(M, requires_grad=True)
    number(x).backward()
    assert x.grad is not None
    step = 1e-6 * np.cos(np.arange(9.0)).reshape(3, 3)
    with dk.no_grad():
        difference = (number(dk.asarray(M + step)) - number(dk.asarray(M - step))).item() / 2
    assert (x.grad.numpy() * step).sum() == pytest.approx(difference, rel=1e-5)


def test_a_number_of_a_wrapper_that_means_more_is_not_taken_from_it() -> None:
    q = Quantity(dk.asarray(2.0), "m")
    with pytest.raises(TypeError, match=r"Quantity has no dense form whose element could be a number"):
        float(q)
    assert bool(q > 1)
    assert int(Quantity(dk.asarray(3), "m")) == 3
    with pytest.raises(ValueError, match=r"one element; this Quantity has shape \(2,\)"):
        Quantity(dk.ones(2), "m").item()
    metadata: Any = dk.types.MetadataTensor(2.5)
    assert (float(metadata), int(metadata), complex(metadata), bool(metadata)) == (2.5, 2, 2.5 + 0j, True)
    with pytest.raises(TypeError, match=r"only integers of one element .* not a MetadataTensor of float64"):
        [1, 2][metadata]


def test_a_dense_element_is_read_without_a_warning(recwarn: Any) -> None:
    s: Any = dk.types.ScalarTensor(1, 2.0)
    assert (s.item(), bool(s)) == (2.0, True)
    assert [one for one in recwarn if issubclass(one.category, DensifyWarning)] == []


def test_einops_finds_types_without_an_import_by_hand() -> None:
    pytest.importorskip("einops")
    for words in ("import einops, dispatchkit as dk", "import dispatchkit as dk, einops"):
        code = f"{words}; print(einops.rearrange(dk.types.MetadataTensor(dk.ones((2, 3))), 'a b -> b a').shape)"
        made = subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True)
        assert made.stdout == "(3, 2)\n"
