"""The compiled core: whether it is used is decided here, once, before the modules load that it takes the place of.

The distribution ``dispatchkit-accelerator`` has modules of this package, compiled as they stand. Nothing else asks for
it, and without it the same modules run as Python.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module

FOLDER = os.path.dirname(__file__)  # noqa: PTH120  # `pathlib` takes longer to load
NAME, PURE = "dispatchkit_accelerator", "DISPATCHKIT_PURE"


def _start(version: str) -> str:
    """Have compiled modules loaded in the place of others where they are of this version; return what was decided."""
    if os.environ.get(PURE, "0") not in ("", "0"):
        return f"switched off by {PURE}"
    try:
        accelerator = import_module(NAME)
    except ModuleNotFoundError as error:
        if error.name != NAME:
            raise
        return "not installed"
    refusal = f"it is of version {accelerator.__version__}; run pip install dispatchkit-accelerator=={version}"
    if accelerator.__version__ == version:
        refusal = accelerator.install(FOLDER)
    if not refusal:
        return version
    warnings.warn(f"dispatchkit {version} runs without its accelerator: {refusal}", RuntimeWarning, stacklevel=2)
    return f"refused: {refusal}"


# The version that is in use, or why there is none.
state = _start(sys.modules["dispatchkit"].__version__)
