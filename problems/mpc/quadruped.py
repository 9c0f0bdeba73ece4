"""A quadruped trots at commanded velocities and is pushed; torques and friction cones are hard limits."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelContactFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase
from trajopt.checks import check_count, check_known, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.contacts import ContactModel3D, ContactStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.limits import cone_name
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.problems.mpc.checks import check_rows
from trajopt.problems.mpc.quadruped_report import report
from trajopt.problems.mpc.rest import AtRest
from trajopt.problems.mpc.trot import Rhythm, Trot, VelocityCommand
from trajopt.residuals import (
    FrictionCone,
    ResidualModelContactFrictionCone,
    ResidualModelControl,
    ResidualModelFrameTranslation,
    ResidualModelState,
)
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import MDPContact, Plane, Simulator
from trajopt.states import StateMultibody
from trajopt.types import Reals

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
RADIUS = 0.022  # of the feet [m]
JOINTS = (20.0, 4.0, 4.0)  # weights of abduction, thigh and knee of each leg [1/rad²]
BASE = (20.0, 20.0, 500.0, 200.0, 200.0, 50.0)  # weights of position and rotation [1/m², 1/rad²]
RATES = np.concatenate([[20.0] * 3, [2.0] * 3, [0.02] * 12])  # weights of velocities [s²/m², s²/rad²]
HEIGHT, TORQUE = 3e4, 1e-3  # [1/m²], [1/(N m)²]
COMMANDS = (
    (0.0, 0.0, 0.0, 0.0),
    (1.0, 0.0, 0.0, 0.0),
    (1.5, 0.5, 0.0, 0.0),
    (4.5, 0.5, 0.0, 0.0),
    (5.0, 0.3, 0.0, 0.5),
    (7.0, 0.3, 0.0, 0.5),
    (7.5, 0.0, 0.2, 0.0),
    (9.0, 0.0, 0.2, 0.0),
    (9.5, 0.0, 0.0, 0.0),
)
PUSHES = ((3.0, 0.0, 10.0), (6.1, 0.0, -10.0))
LASTS = 0.05  # [s]
PLANTS = ("simulator", "mujoco", "contacts")


def standing(robot: Robot) -> Reals:
    """State (nx,) at rest with the feet on z = 0."""
    q = robot.configuration("standing").copy()
    q[2] += RADIUS - np.mean([robot.placement(q, foot)[2, 3] for foot in FEET])
    return np.concatenate([q, np.zeros(robot.nv)])


def horizon(robot: Robot, *, N: int = 40, dt: float = 0.02, cone: FrictionCone | None = None) -> ShootingProblem:
    """Problem of `build` with N knots, standing at the start; `Trot` changes its parameters with time."""
    state, x0, friction = StateMultibody(robot), standing(robot), FrictionCone() if cone is None else cone
    actuation, contacts = ActuationModelFloatingBase(state), ContactStack(state)
    limits = ConstraintStack.of_robot(state, actuation, positions=False, velocities=False)
    for foot in FEET:
        contacts.add(foot, ContactModel3D(state, foot, gains=(0.0, 1 / dt)))
        limits.add(cone_name(foot), ResidualModelContactFrictionCone(state, foot, friction))
    weights = np.concatenate([BASE, np.tile(JOINTS, len(FEET)), RATES])

    def costs(factor: float) -> CostStack:
        stack = CostStack(state)
        stack.add("state", ResidualModelState(state, x0), factor, ActivationModelWeightedQuad(weights))
        for foot in FEET:
            height = ActivationModelWeightedQuad([0.0, 0.0, 1.0])
            place = ResidualModelFrameTranslation(state, foot, (0.0, 0.0, RADIUS))
            stack.add(f"{foot}_height", place, factor * HEIGHT, height)
        return stack

    running = costs(1.0).add("torque", ResidualModelControl(state), TORQUE)
    dynamics = DifferentialActionModelContactFwdDynamics(state, actuation, contacts, running, constraints=limits)
    return ShootingProblem(x0, [IntegratedActionModelEuler(dynamics, dt)] * N, ActionModelTerminal(costs(0.1)))


def build(
    *,
    N: int = 40,
    dt: float = 0.02,
    period: float = 0.01,
    mu: float = 0.6,
    plant: str = "simulator",
    plant_mu: float = 0.7,
    commands: npt.ArrayLike = COMMANDS,
    pushes: npt.ArrayLike = PUSHES,
    gait: float = 0.5,
    height: float = 0.06,
    hurry: float = 2.0,
) -> MPCCase:
    """minimise ∫ ½ (|x ⊖ x_ref|²_W + 3e4 Σ (z_foot - z_ref)² + 1e-3 |u|²) dt, torques and friction cones hard.

    The model is the whole-body dynamics of go2 with point contacts, with 40 knots of 20 ms. x_ref consists of the
    commanded velocities, the resulting position and heading, and the standing posture. z_ref lifts the feet of a trot.
    The active contacts are parameters of each knot that change with time. A new contact stops a foot's velocity within
    one knot, so no knot is an impulse. Footholds are not prescribed; they follow from the problem, also after a push.
    While the measured velocity is more than 1 m/s from the commanded one, and for 0.3 s after it, steps are `hurry`
    times as fast. A foot that is measured in the air is not in contact at the first knot. A step of the controller that
    fails is repeated from a robot at rest.
    W is diagonal, with the weights `BASE`, `JOINTS` and `RATES`.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s]; torques are constant during it.
        mu: Friction coefficient in the controller, > 0 [-].
        plant: "simulator" or "mujoco", which detect contacts from the feet's positions; or "contacts", the controller's
            own contact dynamics with its schedule. All take steps of 1 ms.
        plant_mu: Friction coefficient of the ground of simulator and MuJoCo, > 0 [-].
        commands: Rows (time, forward, left, turn), interpolated linearly [s, m/s, m/s, rad/s].
        pushes: Rows (time, impulse along x, impulse along y) on the trunk, in the world, with a duration of 50 ms [s,
            N s].
        gait: Period of the trot, in which each foot swings once [s].
        height: Height of a swing [m].
        hurry: Speed of the gait after a push, relative to that before it, >= 1 [-].

    Returns:
        The controller with its trot, the plant, and the pushes.
    """
    check_known("plant", plant, PLANTS)
    robot, cone = load_robot("go2"), FrictionCone(check_positive("mu", mu))
    problem = horizon(robot, N=check_count("N", N, least=1), dt=check_positive("dt", dt, unit="s"), cone=cone)
    rows = check_rows("commands", commands, ("time", "forward", "left", "turn"), least=1)
    trot = Trot(
        robot,
        FEET,
        problem.x0.copy(),
        VelocityCommand(rows, 60.0),
        period=check_positive("gait", gait, unit="s"),
        support=0.04,
        height=check_positive("height", height, unit="m"),
        ground=RADIUS,
        start=0.2,
        cone=cone,
        rate=1 / dt,
        rhythm=Rhythm(_check_hurry(hurry)),
    )
    hits = check_rows("pushes", pushes, ("time", "impulse along x", "impulse along y"))
    return MPCCase.of(
        FAMILY,
        problem,
        period,
        schedule=trot,
        options={"on_failure": AtRest(problem, trot)},
        plant=None if plant == "contacts" else ground(robot, check_positive("plant_mu", plant_mu), plant),
        duration=10.0,
        dt_plant=1e-3,
        disturbance=[
            mpc.Push(time=time, duration=LASTS, value=[x / LASTS, y / LASTS, 0.0], frame="base") for time, x, y in hits
        ],
        report=functools.partial(report, robot, trot, hits),
    )


def _check_hurry(hurry: float) -> float:
    rate = check_positive("hurry", hurry)
    if rate < 1.0:
        raise InvalidArgumentError(f"hurry: expected a number >= 1, got {rate:g}; 1 keeps the gait's speed")
    return rate


def ground(robot: Robot, mu: float, plant: str = "simulator") -> Simulator | mpc.MuJoCoPlant:
    """The robot with four feet on flat ground, in the simulator or in MuJoCo."""
    plane = Plane((0.0, 0.0, 1.0, 0.0))
    contacts = [MDPContact(foot, (0.0, 0.0, 0.0), RADIUS, plane, friction=mu, rays=8) for foot in FEET]
    return Simulator(robot, contacts) if plant == "simulator" else mpc.MuJoCoPlant(robot, contacts)


FAMILY = Family(
    name="quadruped-trot-mpc",
    description="A quadruped trots at commanded velocities and is pushed; torques and friction cones are hard limits.",
    build=build,
)
