"""Objects to call methods on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import trajopt
from tests.fuzz.articulated import FIXED_ARTICULATED
from tests.fuzz.batched import FIXED_BATCHED
from tests.fuzz.collided import FIXED_COLLIDED
from tests.fuzz.controlled import FIXED_CONTROLLED
from tests.fuzz.displayed import FIXED_DISPLAYED
from tests.fuzz.driving import FIXED_DRIVING
from tests.fuzz.identified import FIXED_IDENTIFIED
from tests.fuzz.kinematic import FIXED_KINEMATIC
from tests.fuzz.learned import FIXED_LEARNED
from tests.fuzz.measured import FIXED_MEASURED
from tests.fuzz.planned import FIXED_PLANNED
from tests.fuzz.reduced import FIXED_REDUCED
from tests.fuzz.retimed import FIXED_RETIMED
from tests.fuzz.sensed import FIXED_SENSED
from tests.fuzz.simulated import FIXED_SIMULATED
from tests.fuzz.stepped import FIXED_STEPPED, any_problem
from tests.fuzz.swept import FIXED_SWEPT
from tests.fuzz.valid import PARTS
from tests.fuzz.worlds import Swinging, World, speed, world
from tests.support import constrained
from trajopt import analysis, gaits, problems, solvers
from trajopt.callbacks import CallbackVerbose
from trajopt.robots import LeggedRobot
from trajopt.solvers import qp

FIXED: dict[str, Callable[[World, Random], Any]] = {
    **FIXED_SIMULATED,
    **FIXED_IDENTIFIED,
    **FIXED_RETIMED,
    **FIXED_PLANNED,
    **FIXED_KINEMATIC,
    **FIXED_ARTICULATED,
    **FIXED_DRIVING,
    **FIXED_LEARNED,
    **FIXED_REDUCED,
    **FIXED_SENSED,
    **FIXED_CONTROLLED,
    **FIXED_DISPLAYED,
    **FIXED_SWEPT,
    **FIXED_BATCHED,
    **FIXED_COLLIDED,
    **FIXED_MEASURED,
    **FIXED_STEPPED,
    "Solution": lambda w, rng: w.solution,
    "SolutionBatch": lambda w, rng: w.solutions,
    "SolutionLibrary": lambda w, rng: trajopt.SolutionLibrary(w.converged_solutions),
    "ProblemCase": lambda w, rng: problems.load("lqr"),
    "ProblemInfo": lambda w, rng: problems.describe("lqr"),
    "Family": lambda w, rng: problems.describe("lqr"),
    **{name: (lambda w, rng, state=state: state) for name, state in PARTS.items()},
    "StageQP": lambda w, rng: w.qp,
    "QPSolution": lambda w, rng: qp.InteriorPoint(w.qp).solve(),
    "IterationRecord": lambda w, rng: w.solution.history[0],
    "ConstraintRows": lambda w, rng: analysis.constraint_rows(constrained.torn_mass())[0],
    "ActuationModelSquashed": lambda w, rng: _squashed(),
    "PendulumPlan": lambda w, rng: gaits.pendulum_plan(w.schedule),
    "ContactSchedule": lambda w, rng: w.schedule,
    "CallbackVerbose": lambda w, rng: CallbackVerbose(),
    "GaitModels": lambda w, rng: w.gait_models,
    "Stance": lambda w, rng: w.stance,
    "Robot": lambda w, rng: w.robot,
    "LeggedRobot": lambda w, rng: LeggedRobot(feet=("a", "b")),
    "CostStack": lambda w, rng: w.costs(rng),
    "DifferentialActionModelSymbolic": lambda w, rng: Swinging(world("vector").state, 1, world("vector").costs(rng)),
    "ResidualModelSymbolic": lambda w, rng: trajopt.ResidualModelSymbolic(w.state, speed, parameters={"limit": 1.0}),
    "SolverFatrop": lambda w, rng: solvers.SolverFatrop(
        w.problem(rng, expressions=True), solvers.NLPOptions(max_iterations=3)
    ),
    "SolverIpopt": lambda w, rng: solvers.SolverIpopt(
        w.problem(rng, expressions=True), solvers.NLPOptions(max_iterations=3)
    ),
    "SolverSQP": lambda w, rng: solvers.SolverSQP(any_problem(w, rng), solvers.SQPOptions(max_iterations=3)),
    "SolverDDP": lambda w, rng: solvers.SolverDDP(w.problem(rng), solvers.DDPOptions(max_iterations=3)),
    "SolverFDDP": lambda w, rng: solvers.SolverFDDP(w.problem(rng), solvers.FDDPOptions(max_iterations=3)),
    "SolverBoxDDP": lambda w, rng: solvers.SolverBoxDDP(w.problem(rng), solvers.BoxDDPOptions(max_iterations=3)),
    "SolverBoxFDDP": lambda w, rng: solvers.SolverBoxFDDP(w.problem(rng), solvers.BoxFDDPOptions(max_iterations=3)),
}
"""Objects to call methods on, where the constructor's arguments do not make a good one."""


def _squashed() -> trajopt.ActuationModelSquashed:
    state = world("arm").robot_state
    most = np.ones(state.nv)
    return trajopt.ActuationModelSquashed(trajopt.ActuationModelFull(state), lower=-most, upper=most)
