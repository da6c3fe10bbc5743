"""What the tests of structured matrices share."""

from __future__ import annotations

import dispatchkit as dk

# Other tests declare operations, with wrong derivatives too.
LIBRARY = [o.function for name, o in dk.tensor_protocol.operations.items() if name.startswith("dispatchkit.")]
