"""Former names of modules, which old pickles name as the place of their functions.

Pickles name the public home of an object now, so a module that moves needs no line here.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["FormerModules"]

FORMER = {
    "nn.functional.activations_exponential": "nn.functional.activations.exponential",
    "nn.functional.activations_linear": "nn.functional.activations.linear",
    "nn.functional.activations_smooth": "nn.functional.activations.smooth",
    "nn.functional.convolution": "nn.functional.images.convolution",
    "nn.functional.losses_binary": "nn.functional.losses.binary",
    "nn.functional.losses_classes": "nn.functional.losses.classes",
    "nn.functional.pooling": "nn.functional.images.pooling",
    "ops.conversion": "ops.creation.conversion",
    "ops.cumulative": "ops.reductions.cumulative",
    "ops.declare": "declare.decorators",
    "ops.dtypes": "ops.creation.dtypes",
    "ops.elementwise_arithmetic": "ops.elementwise.arithmetic",
    "ops.elementwise_bits": "ops.elementwise.bitwise",
    "ops.elementwise_bounds": "ops.elementwise.bounds",
    "ops.elementwise_functions": "ops.elementwise.exponential",
    "ops.elementwise_hyperbolic": "ops.elementwise.hyperbolic",
    "ops.elementwise_logic": "ops.elementwise.logic",
    "ops.elementwise_powers": "ops.elementwise.powers",
    "ops.elementwise_rounding": "ops.elementwise.rounding",
    "ops.elementwise_trigonometry": "ops.elementwise.trigonometry",
    "ops.extras_einsum": "ops.linalg.contraction",
    "ops.extras_manipulation": "ops.manipulation.splitting",
    "ops.extras_nan": "ops.reductions.nan",
    "ops.extras_order": "ops.statistics.quantiles",
    "ops.extras_signal": "ops.signal.signal",
    "ops.extras_softmax": "ops.reductions.softmaxes",
    "ops.extras_statistics": "ops.statistics.averages",
    "ops.fft_frequencies": "ops.fft.frequencies",
    "ops.fft_several_axes": "ops.fft.several_axes",
    "ops.fft_transforms": "ops.fft.transforms",
    "ops.joining": "ops.manipulation.joining",
    "ops.linalg_decompositions": "ops.linalg.decompositions",
    "ops.linalg_eigen": "ops.linalg.eigen",
    "ops.linalg_elements": "ops.linalg.elements",
    "ops.linalg_norms": "ops.linalg.norms",
    "ops.linalg_svd": "ops.linalg.singular_values",
    "ops.linear_algebra": "ops.linalg.products",
    "ops.permuting": "ops.manipulation.permuting",
    "ops.random_arrays": "ops.random.arrays",
    "ops.selecting": "ops.indexing.selecting",
    "ops.sets": "ops.searching.sets",
    "types.scalar": "types",
}


class FormerModules:
    """Finds and loads modules under their former names. Python asks it last, so that other imports cost no more."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how a module of the table is loaded."""
        loader: Any = self
        return ModuleSpec(fullname, loader) if fullname.removeprefix("dispatchkit.") in FORMER else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look up its names in the one that replaces it."""
        place = f"dispatchkit.{FORMER[module.__name__.removeprefix('dispatchkit.')]}"
        now = import_module(place)
        module.__dict__["__getattr__"] = now.__getattribute__


sys.meta_path.append(FormerModules())
