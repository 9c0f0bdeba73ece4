"""A hopper jumps; the solver finds when its foot leaves the ground and where it lands."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from trajopt.actuation import ActuationModelMatrix
from trajopt.checks import check_count, check_flag, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.smoothing import barrier_weight
from trajopt.problems.stand_up import posture_cost
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.robots import Robot
from trajopt.robots.bodies import add_body, add_tip
from trajopt.shooting import ShootingProblem
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solution import Solution
from trajopt.states import StateMultibody

LIMB, BEND, SOLE = 0.25, 0.7, 0.02  # length of thigh and shank [m], initial angle [rad], radius of the foot [m]
SUNK = 0.004  # initial penetration of the foot [m]; the weight alone would cause 16 mm
HEIGHT = 2 * LIMB * np.cos(BEND) + SOLE - SUNK  # initial height of the hip [m]
AIR = 1e-2  # a smaller force counts as zero [N]


def planar_hopper(*, effort: float = 20.0) -> pin.Model:
    """Hopper of 3.6 kg: a body on a vertical rail, and a leg with joints "hip" and "knee" about y and a frame "foot".

    Thigh and shank are 0.25 m long. Motors have rotors, whose inertia at the joints is 0.01 kg m².

    Args:
        effort: Largest torque of each motor, > 0 [N m].
    """
    model = pin.Model()
    model.name = "hopper"
    middle, end = (0.0, 0.0, -LIMB / 2), (0.0, 0.0, -LIMB)
    body = add_body(model, 0, pin.JointModelPZ(), "rail", pin.Inertia.FromBox(3.0, 0.2, 0.2, 0.1))
    thigh, shank = (pin.Inertia.FromCylinder(mass, 0.02, LIMB) for mass in (0.4, 0.2))
    hip = add_body(model, body, pin.JointModelRY(), "hip", thigh, lever=middle, effort=effort)
    knee = add_body(model, hip, pin.JointModelRY(), "knee", shank, at=end, lever=middle, effort=effort)
    add_tip(model, knee, "foot", end)
    model.armature = np.array([0.0, 0.01, 0.01])
    model.referenceConfigurations["standing"] = np.array([HEIGHT, -BEND, 2 * BEND])
    return model


def build(
    *,
    T: int = 100,
    dt: float = 0.01,
    height: float = 0.7,
    smoothing: float = 0.1,
    limits: bool = True,
    torque: float = 20.0,
) -> ProblemCase:
    """minimise ∫ ½ (|W (x ⊖ x₀)|² + 1e-3 |u|²) dt + ½ 1e3 (z - height)² at half-time + ½ |W' (x ⊖ x₀)|² at the end.

    x₀ stands at rest; W = (0, 1, 1; 0.1, 0.1, 0.1), W'² = (1e3, 100, 100; 10, 1, 1) of body, hip and knee. The initial
    guess is x₀ at all knots without torque. Foot, knee and body are spheres on ground of 1e7 N/m³ with friction 0.7.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        height: Height of the hip at half-time [m]; at rest it is 0.39 m.
        smoothing: Barrier weight of the contacts divided by the weight m g, > 0 [m/s]; more makes contacts creep and
            solves easier.
        limits: Whether torques have hard limits, for SolverSQP; without them FDDP finds a jump of twice the torque.
        torque: Torque limit [N m].
    """
    count, step = check_count("T", T, least=2), check_positive("dt", dt, unit="s")
    goal = check_positive("height", height, unit="m")
    robot = Robot(planar_hopper(effort=check_positive("torque", torque, unit="N m")))
    state = StateMultibody(robot)
    x0 = state.at_rest(robot.configuration("standing"))
    actuation = ActuationModelMatrix(state, np.eye(3)[:, 1:])
    rows = ConstraintStack.of_robot(state, actuation, positions=False, velocities=False)
    model = ActionModelSimulator(
        Simulator(robot, ground_contacts(), barrier_weight=barrier_weight(robot, smoothing)),
        posture_cost(state, x0, (0.0, 1.0, 1.0, 1e-2, 1e-2, 1e-2))
        .add("effort", ResidualModelControl(state), weight=1e-3)
        .add("height", ResidualModelState(state, np.r_[goal, x0[1:]], elements=[0]), weight=0.0),
        dt=step,
        constraints=rows if check_flag("limits", limits) else None,
        actuation=actuation,
    )
    problem = ShootingProblem(x0, [model] * count, posture_cost(state, x0, (1e3, 1e2, 1e2, 1e1, 1.0, 1.0)))
    problem.set_parameter("height.weight", 1e3 / step, knots=count // 2)
    return FAMILY.case(
        problem=problem,
        xs=np.tile(x0, (count + 1, 1)),
        us=np.zeros((count, 2)),
        report=functools.partial(report, robot, goal),
    )


def ground_contacts() -> list[MDPContact]:
    """Spheres at foot, knee and body on the ground z = 0."""
    spheres = (("foot", "foot", SOLE), ("knee_link", "knee", 0.03), ("rail_link", "rail", 0.08))
    return [MDPContact(frame, radius=radius, strength=1e7, name=name) for frame, name, radius in spheres]


def report(robot: Robot, goal: float, solution: Solution) -> dict[str, str]:
    """Height at half-time, flight of the foot, and largest torque."""
    times, half = solution.times, len(solution.us) // 2
    assert times is not None
    first, last = flight(solution, ("foot",))
    foot = solution.frame_path("foot")[:, 2] - SOLE
    return {
        "height": f"{solution.xs[half, 0]:.3f} m at {times[half]:.2f} s (goal {goal:g} m)",
        "flight": f"from {times[first]:.2f} to {times[last]:.2f} s, foot up to {foot.max():.3f} m",
        "torque": f"at most {np.abs(solution.us).max():.3g} N m",
    }


def flight(solution: Solution, contacts: Sequence[str]) -> tuple[int, int]:
    """First and last knot of the longest period without force at these contacts."""
    forces = solution.contact_forces()
    touches = np.any([np.linalg.norm(forces[name], axis=1) > AIR for name in contacts], axis=0)
    edges = np.flatnonzero(np.r_[True, touches, True])
    longest = int(np.argmax(np.diff(edges)))
    return int(edges[longest]), int(edges[longest + 1] - 1)


FAMILY = Family(
    name="hopper",
    description="A hopper jumps and lands on its foot; the simulator finds the contacts.",
    build=build,
    reference_cost=0.1381676915,
    reference_source=TRAJOPT,
)
