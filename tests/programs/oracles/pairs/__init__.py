"""The pairs of an array type and its specialist, each in a module of its own, imported when it is run."""

from __future__ import annotations

import importlib

from tests.programs.oracles.pair import Pair

__all__ = ["PLACES", "load"]

# The module of each pair, and the class in it.
PLACES = {
    "masked-numpy": ("masked_numpy", "MaskedNumpy"),
    "named-xarray": ("named_xarray", "NamedXarray"),
    "sparse-scipy": ("sparse_scipy", "SparseSciPy"),
    "structured-linear-operator": ("structured_linear_operator", "StructuredLinearOperator"),
    "structured-scipy": ("structured_scipy", "StructuredSciPy"),
    "masked-pandas": ("masked_pandas", "MaskedPandas"),
    "uncertain-uncertainties": ("uncertain_uncertainties", "UncertainUncertainties"),
    "quantized-float64": ("quantized_numpy", "QuantizedNumpy"),
    "units-astropy": ("units_astropy", "UnitsAstropy"),
    "units-pint": ("units_pint", "UnitsPint"),
}


def load(name: str) -> Pair:
    """Return a pair by its name. What it needs is imported when its operands are made."""
    module, cls = PLACES[name]
    pair: Pair = getattr(importlib.import_module(f"{__name__}.{module}"), cls)()
    return pair
