"""Advice for an arm that has too little time: the cause comes first, side remarks come last, and lists are short."""

from __future__ import annotations

import functools
import re

import numpy as np

import trajopt
from trajopt.solvers import SolverSQP


@functools.cache
def advice() -> list[str]:
    """Advice on a reach of a UR5 within 0.1 s, without limits at the end, where it moves faster than it can."""
    robot = trajopt.load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    motors = trajopt.ActuationModelFull(state)
    effort = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
    limits = trajopt.ConstraintStack.of_robot(state, motors)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, effort, constraints=limits)
    goal = trajopt.ResidualModelFrameTranslation(state, "tool0", [0.4, 0.3, 0.5])
    constraints = trajopt.ConstraintStack(state).add("goal", goal, equals=0.0)
    speeds = trajopt.ActivationModelWeightedQuad(np.repeat([0.0, 1.0], 6))
    stop = trajopt.CostStack(state).add("stop", trajopt.ResidualModelState(state), weight=10.0, activation=speeds)
    terminal = trajopt.ActionModelTerminal(stop, constraints=constraints)
    x0 = np.r_[0.0, -1.2, 1.8, -0.6, 1.6, 0.0, np.zeros(6)]
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=0.002)
    solution = SolverSQP(trajopt.ShootingProblem(x0, [knot] * 50, terminal)).solve()
    assert not solution.converged
    return [line for line in solution.explain().splitlines() if line.startswith("-> ")]


def test_more_time_is_the_first_advice_and_limits_at_other_knots_the_last() -> None:
    assert re.fullmatch(r"-> give the motion more time: '\w+' is .* at (4|5)\d of 50 knots", advice()[0])
    assert advice()[-1].startswith("-> limits of velocity are constraints at other knots, but not at the end")


def test_rows_too_many_to_relax_are_named_by_their_constraints() -> None:
    """Amounts for more than ten rows help nobody; all constraints that are violated have to be soft."""
    assert len(advice()) <= 4
    (text,) = [line for line in advice() if "soften it" in line]
    named = re.search(r"(\d+) rows of 'velocities' and 'goal' are violated, so that to relax one of them is not", text)
    assert named is not None
    assert int(named[1]) >= 6
    assert text.endswith(
        "or soften it with a slack: add(\"velocities\", ..., soft=(linear, quadratic)), likewise 'goal'"
    )
    assert "relax '" not in text
