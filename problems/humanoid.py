"""Problem of a humanoid that stands on one or both soles, reaches with a hand, and can lift its left foot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.actions.differential import DifferentialActionModelContactFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelQuadraticBarrier, ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase
from trajopt.checks import check_non_negative, check_positive
from trajopt.contacts import ContactModel6D, ContactStack
from trajopt.costs import CostStack
from trajopt.errors import unknown_name
from trajopt.gaits import Stance, holding_gains
from trajopt.residuals import (
    ResidualModelContactWrenchCone,
    ResidualModelControl,
    ResidualModelFramePlacement,
    ResidualModelState,
    WrenchCone,
)
from trajopt.robots import Robot, legged_robot
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

BASE = 6  # number of velocities of the free flyer [-]
LIMITS = ("joints", "distance")
MU = 0.7  # friction coefficient [-]


@dataclass(frozen=True, kw_only=True)
class LeftFootPhase:
    """Phase in which the left foot stands, or moves in the air.

    Attributes:
        knots: Number of knots [-].
        lifted: Goal of the left foot in the air (3,) [m]; None while it stands.
    """

    knots: int
    lifted: npt.ArrayLike | None = None


def humanoid_problem(
    robot: Robot,
    phases: Sequence[LeftFootPhase],
    *,
    hand: str,
    target: npt.ArrayLike,
    dt: float,
    damping: float | None,
    limits: str = "joints",
    cone: float = 0.0,
) -> ShootingProblem:
    """minimise ∫ ½ (1e2 |r_hand|² + 1e1 |r_foot|² + 1e-3 |W (x ⊖ x₀)|² + 1e-4 |u|²) + limits dt + a terminal cost.

    The terminal cost is the same without the foot and the torques.

    W = (0, 10, 0.01, 10) for position and rotation of the base, joints, velocities; 100 for velocities at the end.
    r_hand is the placement error of the hand, with weight 1e-4 of the rotation. r_foot is that of the left foot in the
    air, with weight 0.1 of the height. A joint beyond its limits costs ½ 1e3 |excess|². A sole's wrench outside of its
    cone, which would let it slip or tip, costs ½ w_cone |excess|².

    Args:
        robot: Name of a robot with two soles in `trajopt.robots.legged`.
        phases: Phases of the left foot; the right one always stands.
        hand: Frame of the hand.
        target: Goal of the hand (3,) [m].
        dt: Time step [s].
        damping: Damping of contacts without stiffness [1/s]. None for `trajopt.gaits.holding_gains`, which keep the
            soles at their initial placements.
        limits: "joints" penalizes angles beyond the joint limits. "distance", as in Crocoddyl's example, penalizes
            distances from the initial posture beyond the same numbers.
        cone: Weight w_cone [cost/N²]; 0 omits the term.
    """
    about = legged_robot(robot.name)
    right, left = about.feet
    state = StateMultibody(robot)
    x0 = np.concatenate([robot.configuration(about.configuration), np.zeros(state.nv)])
    dt = check_positive("dt", dt, unit="s")
    damping = None if damping is None else check_non_negative("damping", damping)
    cone = check_non_negative("cone", cone)
    if limits not in LIMITS:
        raise unknown_name("limits:", limits, LIMITS)
    zero = state.zero() if limits == "joints" else x0
    running = _costs(state, x0, zero, hand, target, rest=10.0)
    running.add("torque", ResidualModelControl(state), weight=1e-4)
    if any(phase.lifted is not None for phase in phases):
        level = ActivationModelWeightedQuad(np.array([1.0, 1.0, 0.1, 1.0, 1.0, 1.0]) ** 2)
        running.add("foot", ResidualModelFramePlacement(state, left, pin.SE3.Identity()), weight=1e1, activation=level)
    contacts, gains = ContactStack(state), holding_gains(dt, 0.1) if damping is None else (0.0, damping)
    soles = Stance.of(robot, (left, right), x0, soles=True).feet
    for name, frame in (("left", left), ("right", right)):
        contacts.add(name, ContactModel6D(state, frame, reference=soles[frame].placement, gains=gains))
        if cone and about.sole is not None:
            wrenches = WrenchCone(MU, about.sole, inner=True)
            barrier = ActivationModelQuadraticBarrier(wrenches.lower, wrenches.upper)
            running.add(f"{name}_cone", ResidualModelContactWrenchCone(state, name, wrenches), cone, barrier)
    actuation = ActuationModelFloatingBase(state)
    dynamics = DifferentialActionModelContactFwdDynamics(state, actuation, contacts, running)
    knot = IntegratedActionModelEuler(dynamics, dt=dt)
    terminal = _costs(state, x0, zero, hand, target, rest=100.0)
    problem = ShootingProblem(x0, [knot] * sum(phase.knots for phase in phases), terminal)
    _set_phases(problem, phases)
    return problem


def _costs(state: StateMultibody, x0: Reals, zero: Reals, hand: str, target: npt.ArrayLike, rest: float) -> CostStack:
    """Terms of running and terminal costs; limits are relative to `zero`, velocities have the factor `rest`."""
    nj = state.nv - BASE
    goal = pin.SE3(np.eye(3), np.asarray(target, dtype=np.float64))
    near = ActivationModelWeightedQuad(np.repeat([1.0, 1e-4], 3) ** 2)
    posture = ActivationModelWeightedQuad(np.repeat([0.0, 10.0, 0.01, rest], [3, 3, nj, state.nv]) ** 2)
    free = np.full(BASE, np.inf), np.full(state.nv, np.inf)
    lower = np.concatenate([-free[0], state.lower[BASE : state.nv], -free[1]])
    upper = np.concatenate([free[0], state.upper[BASE : state.nv], free[1]])
    costs = CostStack(state)
    costs.add("hand", ResidualModelFramePlacement(state, hand, goal), weight=1e2, activation=near)
    costs.add("posture", ResidualModelState(state, x0), weight=1e-3, activation=posture)
    costs.add(
        "limits", ResidualModelState(state, zero), weight=1e3, activation=ActivationModelQuadraticBarrier(lower, upper)
    )
    return costs


def _set_phases(problem: ShootingProblem, phases: Sequence[LeftFootPhase]) -> None:
    """Sets the contact and the goal of the left foot at each knot."""
    if all(phase.lifted is None for phase in phases):
        return
    first = 0
    for phase in phases:
        knots = range(first, first + phase.knots)
        first += phase.knots
        if phase.lifted is None:
            problem.set_parameter("foot.weight", 0.0, knots)
            continue
        problem.set_parameter("contacts.left.active", 0.0, knots)
        if "left_cone.weight" in problem.parameters:
            problem.set_parameter("left_cone.weight", 0.0, knots)
        goal = pin.SE3(np.eye(3), np.asarray(phase.lifted, dtype=np.float64))
        problem.set_parameter("foot.reference", goal, knots)
