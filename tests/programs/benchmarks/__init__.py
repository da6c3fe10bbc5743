"""How fast dispatchkit is, always as a ratio within one run: `python -m tests.programs.benchmarks`.

Each row runs the same work with dispatchkit and with a reference, in one process and on one thread. Results
are compared first, then the two take turns, and the minimum of the repeats counts. `ratio` is dispatchkit's
time over the reference's; a row is held where that is not above the ratio to hold.

Ratios that every change keeps, and what prints them, each after ``python -m tests.programs.benchmarks`` where it begins
with ``--only``:

- calls that handlers answer: ``--only override``; the same with the accelerator installed
- plain tensors, and those that record a graph: ``--only plain``, ``--only graph``; the same with the accelerator
- tensor subclasses: ``--only subclass``
- training steps: ``--only mlp``, ``--only layers``, ``--only "PyTorch's arrays"``; under jit
  ``python -m tests.programs.benchmarks.compiled``
- fallbacks, modes, records, functions of users: ``--only mechanism``
- indexing and shape of wrappers: ``python -m tests.programs.benchmarks.array_types indexing``
- structured matrices: ``python -m tests.programs.benchmarks.array_types single``
- other array types: ``python -m tests.programs.benchmarks.array_types libraries types``
"""

import os

# Read when NumPy and PyTorch load their libraries, so set before anything imports them.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"
