"""The program docs/examples/adapters.py at a small size: its losses are those of the dense computation."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "adapters.py"


def test_a_transformer_with_lora_on_int8_has_the_losses_of_the_dense_computation() -> None:
    spec = importlib.util.spec_from_file_location("adapters", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules["adapters"] = module
    spec.loader.exec_module(module)
    found = module.run(steps=4)
    assert found["difference"] < 1e-12
    assert found["structured"][-1] < found["structured"][0]
    assert found["memory"] < 0.25
    assert found["trained"] < 0.1
