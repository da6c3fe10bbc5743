"""How work grows: exponents of time in the size, over all operations of all shipped types, and in numbers of things.

``python -m tests.programs.growth`` prints the tables of docs/cost-of-types.md, in its section on growth; words after it
choose subjects by name. What is above theory by more than 0.15 is named. Times are of the processor, and an exponent is
that between the two largest sizes. Arrays that outgrow the caches take more time than in proportion to their size,
which is no fault of what computes them: what is linear is held against the exponent of sums and products of plain
arrays in the same run.
"""

import os

# Before anything loads NumPy: the time of the processor is that of all threads.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"
