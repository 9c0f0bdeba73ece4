"""Quadratic programs with stages and bounded rows, and solvers of them behind one interface.

Which one to take:

- `InteriorPoint` where a program is to be solved: few iterations, of which each costs one Riccati factorisation and two
  solves, whatever rows are active. It starts from nothing.
- `Osqp` and `Conic` as independent checks.

Times [µs] and iterations of the first programs of `tests/benchmarks/constrained.py`, one thread of a Xeon with AVX-512;
our tolerances, osqp's 1e-6 and polished, HPIPM's 1e-6:

| | InteriorPoint | HPIPM by CasADi | osqp |
|---|---|---|---|
| arm, N 40, tool behind planes | 460 (11) | 2,900 (10) | 21,000 (225) |
| arm, N 40, torques limited, 140 active | 570 (13) | 2,700 (11) | 48,000 (850) |
| quadruped, N 56, pyramids, 435 active | 7,500 (15) | 140,000 (13) | 4,200,000 (8,675) |

`python -m tests.benchmarks -o quadratic` measures this. `InteriorPoint` tells what nothing can solve, by
Farkas' lemma; equations that depend on one another do no harm; rows may be soft.
"""

from trajopt.objects.calls import explain_calls
from trajopt.solvers.qp.interior_point import InteriorPoint, InteriorPointOptions
from trajopt.solvers.qp.sparse import Conic, Osqp
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP

__all__ = [
    "Conic",
    "InteriorPoint",
    "InteriorPointOptions",
    "Osqp",
    "QPSolution",
    "QPSolverAbstract",
    "QPStatus",
    "StageQP",
]

explain_calls(__name__)
