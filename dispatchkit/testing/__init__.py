"""Testing array types: checked programs, checks of everything that a type should do, strategies for Hypothesis.

`assert_close` compares a result with what is expected, units, masks and structures included.

What the declarations of operations say for their tests is here, too: `sample` and `draw` describe valid calls, `Axes`
the parameters that count axes.

`check_type` and `TypeConformance` need nothing but dispatchkit (and pytest to run the class); the strategies need
Hypothesis: ``pip install dispatchkit[testing]``.
"""

from dispatchkit import catalogue  # noqa: F401  # every operation is tested
from dispatchkit.declare.axes import Axes as Axes
from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.declare.samples import Draw as Draw
from dispatchkit.declare.samples import Sample as Sample
from dispatchkit.declare.samples import draw as draw
from dispatchkit.declare.samples import sample as sample
from dispatchkit.protocol.types.declaration import Relation as Relation
from dispatchkit.testing.assertions import assert_close as assert_close
from dispatchkit.testing.conformance import CHECKS as CHECKS
from dispatchkit.testing.conformance import Check as Check
from dispatchkit.testing.conformance import TypeConformance as TypeConformance
from dispatchkit.testing.conformance import check_type as check_type
from dispatchkit.testing.findings import Conformance as Conformance
from dispatchkit.testing.findings import ConformanceError as ConformanceError
from dispatchkit.testing.findings import Failure as Failure
from dispatchkit.testing.programs import WrongCallError as WrongCallError
from dispatchkit.testing.programs import checked as checked
from dispatchkit.testing.programs import verify as verify
from dispatchkit.testing.strategies import axes as axes
from dispatchkit.testing.strategies import shapes as shapes
from dispatchkit.testing.strategies import tensors as tensors
from dispatchkit.testing.wrapper import Wrapper as Wrapper

# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = starred_names(__name__)

make_home(__name__)
