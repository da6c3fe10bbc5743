"""How fast dispatchkit is, always as a ratio within one run: `python -m tests.programs.benchmarks`.

Each row runs the same work with dispatchkit and with a reference, in one process and on one thread. Results
are compared first, then the two take turns, and the minimum of the repeats counts. `ratio` is dispatchkit's
time over the reference's; a row is held where that is not above the ratio to hold.
"""

import os

# Read when NumPy and PyTorch load their libraries, so set before anything imports them.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"
