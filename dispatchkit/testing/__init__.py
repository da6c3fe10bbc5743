"""Testing array types: checked programs, checks of everything that a type should do, strategies for Hypothesis.

`assert_close` compares a result with what is expected, units, masks and structures included.

What the declarations of operations say for their tests is here, too: `sample` and `draw` describe valid calls, `Axes`
the parameters that count axes.

`check_type` and `TypeConformance` need nothing but dispatchkit (and pytest to run the class); the strategies need
Hypothesis: ``pip install dispatchkit[testing]``.
"""

from typing import TYPE_CHECKING

from dispatchkit.declare.axes import Axes as Axes
from dispatchkit.declare.namespace import make_home, names_loaded_later, starred_names
from dispatchkit.declare.samples import Draw as Draw
from dispatchkit.declare.samples import Sample as Sample
from dispatchkit.declare.samples import draw as draw
from dispatchkit.declare.samples import sample as sample
from dispatchkit.protocol.types.declaration import Relation as Relation

if TYPE_CHECKING:
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
else:
    # What many programs do not use loads when it is first asked for.
    _LATER = {
        "assert_close": "assertions",
        **dict.fromkeys(("CHECKS", "Check", "TypeConformance", "check_type"), "conformance"),
        **dict.fromkeys(("Conformance", "ConformanceError", "Failure"), "findings"),
        **dict.fromkeys(("WrongCallError", "checked", "verify"), "programs"),
        **dict.fromkeys(("axes", "shapes", "tensors"), "strategies"),
        "Wrapper": "wrapper",
    }

    # Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
    vars()["__all__"] = sorted({*starred_names(__name__), *_LATER})
    __getattr__ = names_loaded_later(__name__, _LATER)

make_home(__name__)
