"""Calls in a process of their own, each with a line of JSON before and after it.

Run as `python -m tests.fuzz.worker SEED FIRST END ROOM`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import sys
import warnings

MEMORY = 6 << 30  # of address space [bytes]


def main(seed: int, first: int, end: int, room: str) -> None:
    """Makes calls first..end-1 of a seed, to a room."""
    os.environ.update(TRAJOPT_OPTIMISE="off", MPLBACKEND="agg", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    os.environ["BROWSER"] = "true"  # a program that does nothing
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for kind in (FutureWarning, DeprecationWarning):  # of other packages, on what they were handed
        warnings.simplefilter("error", kind)
    report, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115 (for the life of the process)
    from matplotlib import pyplot

    from tests.fuzz.call import make
    from trajopt.display import pictures

    pictures.find_browser = lambda: None  # a film by a browser takes a minute
    for number in range(first, end):
        print(json.dumps(number), file=report, flush=True)
        outcome = make(seed, number, room)
        print(json.dumps(dataclasses.asdict(outcome)), file=report, flush=True)
        pyplot.close("all")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), sys.argv[4])
