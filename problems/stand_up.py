"""A quadruped stands up from its belly; the solver finds when each foot pushes."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase
from trajopt.checks import check_count, check_flag, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.smoothing import barrier_weight
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.robots import Robot, legged_robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SQPOptions
from trajopt.states import StateMultibody
from trajopt.types import Reals

BASE = 6  # velocities of the base [-]
STRENGTH = 1e7  # of the ground [N/m³]
MOMENT = 3.752106570594339  # mass of the small quadruped times its standing height [kg m]
LENGTHS = tuple(0.7**i for i in range(20))  # of steps: halved ones are lost from half of the guesses close by
MOST = 400  # at most; the Gauss-Newton steps of a Solo12 converge slowly, after 304
GAINS = (30.0, 1.0)  # keep the small quadruped's joints folded while it sinks into the ground [N m/rad, N m s/rad]


@dataclass(frozen=True, kw_only=True)
class Body:
    """Spheres of a quadruped, and its lying and standing postures.

    Attributes:
        legs: Names of the legs in joints and frames: front left, front right, hind left, hind right.
        joints: Names of hip, thigh and knee joints, with {} for the leg.
        knee: Frame of the knees, with {} for the leg.
        radii: Radii of the spheres at feet, knees and belly [m].
        belly: Position of the front left one of four spheres at the belly (3,) [m].
        lying: Angles of hip, thigh and knee of the front left leg when lying [rad].
        standing: The same angles when standing [rad].
        mirrored: Whether hind legs bend the other way.
        torque: Default torque limit of all joints [N m]; None for that of its motors.
        rotor: Inertia of the rotors at each joint [kg m²]; robots' files omit it.
    """

    legs: tuple[str, ...]
    joints: tuple[str, str, str]
    knee: str
    radii: tuple[float, float, float]
    belly: tuple[float, float, float]
    lying: tuple[float, float, float]
    standing: tuple[float, float, float]
    mirrored: bool = False
    torque: float | None = None
    rotor: float = 0.0


_A1 = Body(
    legs=("FL", "FR", "RL", "RR"),
    joints=("{}_hip_joint", "{}_thigh_joint", "{}_calf_joint"),
    knee="{}_calf",
    radii=(0.02, 0.025, 0.03),
    belly=(0.15, 0.05, -0.03),
    lying=(0.5, 1.36, -2.6),
    standing=(0.0, 0.75, -1.5),
    rotor=0.01,
)

BODIES = {
    "small-quadruped": Body(
        legs=("lf", "rf", "lh", "rh"),
        joints=("{}_haa", "{}_hfe", "{}_kfe"),
        knee="{}_kfe_link",
        radii=(0.02, 0.025, 0.03),
        belly=(0.18, 0.08, -0.05),
        lying=(0.0, 2.4, -2.6),
        standing=(0.0, 0.75, -1.5),
        mirrored=True,
        torque=4.0,
    ),
    "a1": _A1,
    "go2": dataclasses.replace(_A1, radii=(0.022, 0.025, 0.03), lying=(0.5, 1.36, -2.65)),
    "solo12": Body(
        legs=("FL", "FR", "HL", "HR"),
        joints=("{}_HAA", "{}_HFE", "{}_KFE"),
        knee="{}_LOWER_LEG",
        radii=(0.0165, 0.02, 0.025),
        belly=(0.15, 0.05, -0.02),
        lying=(0.0, 1.6, -3.0),
        standing=(0.0, 0.75, -1.5),
        mirrored=True,
        rotor=1e-3,
    ),
}
"""Quadrupeds by name."""


def build(
    *,
    robot: str = "small-quadruped",
    T: int = 70,
    dt: float = 0.01,
    smoothing: float = 0.1,
    limits: bool = True,
    torque: float | None = None,
) -> ProblemCase:
    """minimise ∫ ½ (|W (x ⊖ x₁)|² + 0.03 |u / s|²) dt + ½ |W' (x ⊖ x₁)|² at the end, where x₁ stands at rest.

    W² = (30, 10, 1; 1, 0.3), W'² = (100, 100, 10; 1, 0.1) for position and rotation of the base and joints, velocities
    of the base and of the joints. The scale s is mass times height in x₁, relative to the small quadruped. The robot
    starts at rest on its belly with folded legs; the initial guess stays there without torque. Feet, knees and four
    points of the belly are spheres on ground of 1e7 N/m³ with friction 0.7.

    With limits, steps are linear and take 45 iterations for the small quadruped. Rollouts with feedback take 228 or
    more, because the robot falls where torques are clipped.

    Args:
        robot: A quadruped.
        T: Number of knots [-].
        dt: Time step [s].
        smoothing: Barrier weight of the contacts divided by the weight m g, > 0 [m/s]; more makes contacts creep and
            solves easier.
        limits: Whether torques have hard limits, for SolverSQP.
        torque: Torque limit of all joints, > 0, only with `limits` [N m]; by default 4 N m for the small quadruped,
            and that of the motors for others.
    """
    count, step = check_count("T", T, least=2), check_positive("dt", dt, unit="s")
    body, quadruped = BODIES[robot], load_robot(robot)
    limit = body.torque if torque is None else check_positive("torque", torque, unit="N m")
    if torque is not None and not check_flag("limits", limits):
        raise InvalidArgumentError(
            f"torque: expected None without limits, got {torque!r}; also pass limits=True (--limits)"
        )
    quadruped = with_motors(quadruped, body.rotor, limit if check_flag("limits", limits) else None)
    state = StateMultibody(quadruped)
    barrier = barrier_weight(quadruped, smoothing)
    simulator = Simulator(quadruped, spheres(quadruped, body), barrier_weight=barrier)
    start, goal = (posture(quadruped, body, angles) for angles in (body.lying, body.standing))
    scale = pin.computeTotalMass(quadruped.model) * goal[2] / MOMENT
    x0 = lying(simulator, start, (scale * GAINS[0], scale * GAINS[1]))
    x1 = state.at_rest(goal)
    actuation = ActuationModelFloatingBase(state)
    rows = ConstraintStack.of_robot(state, actuation, positions=False, velocities=False)
    running = _costs(state, x1, (30.0, 10.0, 1.0, 1.0, 0.3))
    running.add("effort", ResidualModelControl(state), weight=0.03 / scale**2)
    constraints = rows if limits else None
    model = ActionModelSimulator(simulator, running, dt=step, constraints=constraints, actuation=actuation)
    return FAMILY.case(
        problem=ShootingProblem(x0, [model] * count, _costs(state, x1, (100.0, 100.0, 10.0, 1.0, 0.1))),
        xs=np.tile(x0, (count + 1, 1)),
        us=np.zeros((count, actuation.nu)),
        options=SQPOptions(steps="linear", step_lengths=LENGTHS, max_iterations=MOST) if limits else FDDPOptions(),
        report=functools.partial(report, x1, legged_robot(robot).feet, body.radii[0]),
        **({} if robot == FAMILY.robots[0] else {"reference_cost": None, "reference_source": ""}),
    )


def with_motors(robot: Robot, rotor: float, torque: float | None = None) -> Robot:
    """Robot with rotors of this inertia at all joints [kg m²], and with this torque limit unless it is None [N m]."""
    model = robot.model.copy()
    joints = model.nv - BASE
    model.armature = np.r_[np.zeros(BASE), np.full(joints, rotor)]
    if torque is not None:
        model.effortLimit = np.r_[np.full(BASE, np.inf), np.full(joints, torque)]
    return Robot(
        model,
        name=robot.name,
        configurations=robot.configurations,
        source=robot.source,
        package_dirs=robot.package_dirs,
    )


def spheres(robot: Robot, body: Body) -> list[MDPContact]:
    """Contacts of feet, knees and belly with the ground z = 0."""
    foot, knee, belly = body.radii
    frames = legged_robot(robot.name).feet
    contacts = [MDPContact(frame, radius=foot, strength=STRENGTH, name=f"foot_{i}") for i, frame in enumerate(frames)]
    knees = [body.knee.format(leg) for leg in body.legs]
    contacts += [MDPContact(frame, radius=knee, strength=STRENGTH, name=f"knee_{i}") for i, frame in enumerate(knees)]
    for i, signs in enumerate(((1, 1, 1), (1, -1, 1), (-1, 1, 1), (-1, -1, 1))):
        place = np.multiply(signs, body.belly)
        name = robot.model.frames[_root_frame(robot)].name
        contacts.append(MDPContact(name, place, belly, strength=STRENGTH, name=f"belly_{i}"))
    return contacts


def _root_frame(robot: Robot) -> int:
    """Index of the frame of the trunk."""
    return next(i for i, f in enumerate(robot.model.frames) if f.parentJoint == 1)


def posture(robot: Robot, body: Body, angles: tuple[float, float, float]) -> Reals:
    """Configuration (nq,) for angles of the front left leg, with the lowest sphere at z = 0."""
    model, q = robot.model, pin.neutral(robot.model)
    for i, leg in enumerate(body.legs):
        side, end = (-1.0) ** i, -1.0 if body.mirrored and i >= 2 else 1.0
        for name, angle in zip(body.joints, np.multiply((side, end, end), angles)):
            q[model.joints[model.getJointId(name.format(leg))].idx_q] = angle
    centres = [robot.placement(q[None], c.frame)[0] for c in spheres(robot, body)]
    low = [(T[:3, :3] @ c.offset + T[:3, 3])[2] - c.radius for T, c in zip(centres, spheres(robot, body))]
    q[2] -= min(low)
    return np.asarray(q)


def lying(simulator: Simulator, q: Reals, gains: tuple[float, float]) -> Reals:
    """State (nx,) at rest after a configuration has sunk into the ground, with its joints held by a PD controller."""
    held = simulator.copy()
    held.set_PD_controller(*gains, q)
    state = simulator.state
    end = held.rollout(state.at_rest(q), None, 1000, 2e-3).xs[-1]
    return np.asarray(state.at_rest(end[: state.nq]))


def posture_cost(state: StateMultibody, goal: Reals, weights: npt.ArrayLike) -> CostStack:
    """Costs ½ Σ weights (x ⊖ goal)², named "posture"."""
    return CostStack(state).add("posture", ResidualModelState(state, goal), 1.0, ActivationModelWeightedQuad(weights))


def _costs(state: StateMultibody, goal: Reals, weights: tuple[float, ...]) -> CostStack:
    """Cost ½ |W (x ⊖ goal)|², with W² for position, rotation, joints, and velocities of base and joints."""
    spread = np.repeat(weights, (3, 3, state.nv - BASE, BASE, state.nv - BASE))
    return posture_cost(state, goal, spread)


def report(goal: Reals, feet: tuple[str, ...], radius: float, solution: Solution) -> dict[str, str]:
    """Height of the base, time at which the belly leaves the ground, penetration of the feet, and largest torque."""
    forces, times, heights = solution.contact_forces(), solution.times, solution.xs[:, 2]
    assert times is not None
    belly = np.any([f[:, 2] > 1.0 for name, f in forces.items() if name.startswith("belly")], axis=0)
    last = int(np.max(np.flatnonzero(belly), initial=-1)) + 1
    depth = radius - min(solution.frame_path(foot)[:, 2].min() for foot in feet)
    return {
        "height": f"from {heights[0]:.3f} to {heights[-1]:.3f} m (goal {goal[2]:.3f} m)",
        "belly": f"off the ground from {times[last]:.2f} s on",
        "feet": f"sink by {1e3 * max(depth, 0.0):.0f} mm at most (soft contacts)",
        "torque": f"at most {np.abs(solution.us).max():.3g} N m",
    }


FAMILY = Family(
    name="stand-up",
    description="A quadruped stands up from its belly; the simulator finds the contacts.",
    build=build,
    robots=tuple(BODIES),
    reference_cost=5.783364982,
    reference_source=TRAJOPT,
)
