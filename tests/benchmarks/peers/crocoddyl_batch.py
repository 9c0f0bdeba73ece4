"""Crocoddyl on one problem from many starts, in a loop.

    DIR/bin/python crocoddyl_batch.py < starts.json

Reads {"problem": name in crocoddyl_problems.py, "starts": [x0, ...]} and writes {"crocoddyl": version, "seconds":
processor time of all solves [s], "outcomes": [[converged, iterations, cost], ...]}. Guess: x0 at every node, and the
controls that hold it; one thread, Crocoddyl's default options.
"""

import json
import sys
import time

import crocoddyl
import numpy as np
from crocoddyl_problems import REFERENCES
from crocoddyl_reference import one_thread


def main() -> None:
    """Read, solve, write."""
    asked = json.load(sys.stdin)
    reference = REFERENCES[asked["problem"]]
    problem = one_thread(reference.build())
    solver, outcomes, seconds = reference.make_solver(problem), [], 0.0
    for start in asked["starts"]:
        begun = time.process_time()
        problem.x0 = np.array(start)
        xs = [problem.x0] * (problem.T + 1)
        converged = reference.solve(solver, xs, list(problem.quasiStatic(xs[:-1])))
        seconds += time.process_time() - begun
        outcomes.append([bool(converged), min(solver.iter + 1, reference.max_iterations), solver.cost])
    print(json.dumps({"crocoddyl": crocoddyl.__version__, "seconds": seconds, "outcomes": outcomes}))


if __name__ == "__main__":
    main()
