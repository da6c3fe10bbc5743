"""How pytest finds and runs the examples of the docstrings; not installed with the package."""

import doctest
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from dispatchkit.declare.namespace import defining_module
from dispatchkit.protocol.functions import local_registrations

# What needs a library that is not there cannot be imported.
NEEDS = {
    "as_torch/einops_layers.py": "einops",
    "interop/dask.py": "dask",
    "interop/einops.py": "einops",
    "interop/jax.py": "jax",
    "interop/torch": "torch",
    "kernels/jax.py": "jax",
    "kernels/numba": "numba",
    "kernels/torch.py": "torch",
}
NEED_SCIPY = ("dispatchkit.ops.special.", "dispatchkit.types.structured.positive_definite.sqrt_inv_matmul")
collect_ignore = [path for path, library in NEEDS.items() if find_spec(library) is None]

_is_defined_in: Any = vars(doctest.DocTestFinder)["_from_module"]


def _from_module(finder: doctest.DocTestFinder, module: Any, value: Any) -> bool:
    """Return whether a module defines an object; public ones name their public home as `__module__`."""
    place = defining_module(value)
    if place is None or module is None:
        return bool(_is_defined_in(finder, module, value))
    return bool(place == module.__name__)


doctest.DocTestFinder._from_module = _from_module  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Undo what examples of the library register, and skip those that need SciPy where it is not installed."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runtest = alone(item.runtest)  # type: ignore[method-assign]  # without the fixtures of tests
            if item.name.startswith(NEED_SCIPY) and find_spec("scipy") is None:
                item.add_marker(pytest.mark.skip(reason="SciPy is not installed"))


def alone(run: Callable[[], None]) -> Callable[[], None]:
    """Return what runs an example and undoes what it registers."""

    def run_alone() -> None:
        with local_registrations():
            run()

    return run_alone
