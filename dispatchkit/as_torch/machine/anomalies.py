"""`torch.autograd.detect_anomaly`, which warns as PyTorch's does, and raises as that of dispatchkit."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from dispatchkit.autograd import graph
from dispatchkit.graph.node import Anomaly

__all__ = ["OF_ANOMALIES"]

ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
)
UNKNOWN = "No forward pass information available. Enable detect anomaly during forward pass for more information."


class _WarningAnomaly(Anomaly):
    """Warns of the operation that fails, and of those whose backward recorded it."""

    def tell(self, name: str, forward: str, causes: Sequence[tuple[str, str]]) -> None:
        """Warn; where warnings are errors, write to the standard error output, so that the failure itself is raised."""
        texts = [f"Error detected in {name}. "]
        texts[0] += f"Traceback of forward call that caused the error:\n{forward}" if forward else UNKNOWN
        for cause, lines in causes:
            known = f"Traceback of forward call that induced the previous calculation:\n{lines}"
            texts.append(f"\n\nPrevious calculation was induced by {cause}. {known if lines else UNKNOWN}")
        for text in texts:
            try:
                warnings.warn(text, UserWarning, stacklevel=2)
            except UserWarning as warning:
                sys.stderr.write(f"{warning}\n")


class WarningDetection(graph.detect_anomaly):
    """Show where the operation was recorded whose backward fails: see `dispatchkit.autograd.detect_anomaly`.

    Parameters
    ----------
    check_nan : whether gradients that are no numbers count as failures

    Warns
    -----
    UserWarning : that it is on; and before the error is raised, of the operation that fails

    Examples
    --------
    >>> import warnings
    >>> import dispatchkit.as_torch as torch
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     detection = torch.autograd.detect_anomaly()
    >>> str(seen[0].message)[:35]
    'Anomaly Detection has been enabled.'
    """

    _observer = _WarningAnomaly

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(ENABLED, UserWarning, stacklevel=2)
        super().__init__(check_nan)


class WarningSwitch(graph.set_detect_anomaly):
    """Switch `detect_anomaly` on or off at once: see `dispatchkit.autograd.set_detect_anomaly`."""

    _observer = _WarningAnomaly


OF_ANOMALIES = {"detect_anomaly": WarningDetection, "set_detect_anomaly": WarningSwitch}
