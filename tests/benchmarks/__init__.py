"""Benchmarks: `python -m tests.benchmarks`; see `--help`. Speed is measured here only, never in a test.

Every library that is measured, here or in a process started from here, gets one thread for its linear algebra: that is
set here, before numpy is loaded.
"""

import os

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

os.environ.update({name: "1" for name in THREAD_VARIABLES})
