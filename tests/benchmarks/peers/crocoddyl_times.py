"""Times Crocoddyl on the reference problems; one JSON object per line and problem.

    DIR/bin/python crocoddyl_times.py [--repeat R] [NAME ...]     each problem once (all, without a name)
    DIR/bin/python crocoddyl_times.py --serve [--repeat R]        a name per line on stdin, an answer per line on stdout

Absolute times drift on a shared machine, ratios of times taken in turns hold: with `--serve` the caller alternates
between this process and its own measurement. A problem is built, and solved to count its iterations, once; from then on
an answer costs only the solves and calls that are timed. A name that is not known gets {"error": ...}.

Fields: T knots; medians, over at least R calls and S seconds, in microseconds per knot of `calc_us`, `calc_diff_us`
(the whole problem), `backward_us`, `forward_us` (step length 1), all taken at the solution, where every pass succeeds;
`solve_s`, the median wall time of whole solves in seconds, from the same guess, with Crocoddyl's default options;
`iterations` (directions computed), `cost`, `converged`. One thread. `python_model` marks models that Crocoddyl
evaluates in Python.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import crocoddyl
import numpy as np
from crocoddyl_problems import REFERENCES
from crocoddyl_reference import one_thread
from stopwatch import median_seconds


class Bench:
    """A problem, its guess and its solver, kept between measurements.

    Args:
        name: A key of `REFERENCES`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reference = REFERENCES[name]
        self.problem = one_thread(self.reference.build())
        xs, us = self.reference.start(self.problem)
        # Converted once, so that Crocoddyl's times hold no conversion of Python lists.
        self.xs, self.us = vectors(xs), vectors(us)
        self.solver = self.reference.make_solver(self.problem)
        counter = Counter()
        self.solver.setCallbacks([counter])
        self.converged = self.solve()
        self.solver.setCallbacks([])
        self.iterations = counter.calls

    def solve(self) -> bool:
        """One whole solve from the guess: whether it converged."""
        return self.reference.solve(self.solver, self.xs, self.us)

    def measure(self, repeat: int, seconds: float) -> dict[str, Any]:
        """The row of this problem (fields: module docstring); S seconds for the solves, S / 4 for each part."""
        solve_s = median_seconds(self.solve, calls=repeat, seconds=seconds)
        xs, us = vectors(self.solver.xs), vectors(self.solver.us)
        cost = self.solver.cost
        self.solver.setCandidate(xs, us, True)
        self.solver.computeDirection(True)
        parts = {
            "calc_us": lambda: self.problem.calc(xs, us),
            "calc_diff_us": lambda: self.problem.calcDiff(xs, us),
            "backward_us": self.solver.backwardPass,
            "forward_us": lambda: self.solver.forwardPass(1.0),
        }
        knots = self.problem.T
        return {
            "problem": self.name,
            "solver": self.reference.solver,
            "T": knots,
            **{
                part: 1e6 * median_seconds(call, calls=repeat, seconds=seconds / 4) / knots
                for part, call in parts.items()
            },
            "solve_s": solve_s,
            "iterations": self.iterations,
            "cost": cost,
            "converged": self.converged,
            "python_model": self.reference.python_model,
            "crocoddyl": crocoddyl.__version__,
        }


class Counter(crocoddyl.CallbackAbstract):
    """Counts iterations: `solver.iter + 1` is one too many when the last one allowed was used."""

    def __init__(self) -> None:
        crocoddyl.CallbackAbstract.__init__(self)
        self.calls = 0

    def __call__(self, _solver: crocoddyl.SolverAbstract) -> None:
        self.calls += 1


def vectors(rows: Iterable[np.ndarray]) -> crocoddyl.StdVec_VectorXs:
    """Crocoddyl's own list of vectors."""
    converted = crocoddyl.StdVec_VectorXs()
    converted.extend([np.array(row) for row in rows])
    return converted


bench = cache(Bench)


def answer(name: str, repeat: int, seconds: float) -> dict[str, Any]:
    """The row of one problem, or {"error": ...} for a name that is not known."""
    if name not in REFERENCES:
        return {"error": f"unknown problem {name!r}; known: {', '.join(REFERENCES)}"}
    return bench(name).measure(repeat, seconds)


def main() -> None:
    """Read the command line and answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(REFERENCES)}")
    parser.add_argument("--repeat", type=int, default=5, metavar="R", help="calls per median, at least (default 5)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="time per median (default 0.2 s)")
    parser.add_argument("--serve", action="store_true", help="answer the names that come line by line on stdin")
    options = parser.parse_args()
    names = (line.strip() for line in sys.stdin) if options.serve else options.names or REFERENCES
    for name in names:
        print(json.dumps(answer(name, options.repeat, options.seconds)), flush=True)


if __name__ == "__main__":
    main()
