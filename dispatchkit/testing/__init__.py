"""Testing array types: checked programs, checks of everything that a type should do, strategies for Hypothesis.

`assert_close` compares a result with what is expected, units, masks and structures included.

What the declarations of operations say for their tests is here, too: `sample` and `draw` describe valid calls, `Axes`
the parameters that count axes.

`check_type` and `TypeConformance` need nothing but dispatchkit (and pytest to run the class); the strategies need
Hypothesis: ``pip install dispatchkit[testing]``.
"""

from dispatchkit import catalogue  # noqa: F401  # every operation is tested
from dispatchkit.declare.declared import Axes
from dispatchkit.declare.namespace import make_home
from dispatchkit.declare.samples import Draw, Sample, draw, sample
from dispatchkit.protocol.types.declaration import Relation
from dispatchkit.testing.assertions import assert_close
from dispatchkit.testing.conformance import CHECKS, Check, TypeConformance, check_type
from dispatchkit.testing.findings import Conformance, ConformanceError, Failure
from dispatchkit.testing.programs import WrongCallError, checked, verify
from dispatchkit.testing.strategies import axes, shapes, tensors
from dispatchkit.testing.wrapper import Wrapper

__all__ = [
    "CHECKS",
    "Axes",
    "Check",
    "Conformance",
    "ConformanceError",
    "Draw",
    "Failure",
    "Relation",
    "Sample",
    "TypeConformance",
    "Wrapper",
    "WrongCallError",
    "assert_close",
    "axes",
    "check_type",
    "checked",
    "draw",
    "sample",
    "shapes",
    "tensors",
    "verify",
]

make_home(__name__)
