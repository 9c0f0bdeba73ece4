"""A quadruped walks; the solver finds when each foot lifts and where it lands."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.actuation import ActuationModelFloatingBase
from trajopt.checks import check_count, check_positive
from trajopt.costs import CostStack
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.smoothing import barrier_weight
from trajopt.problems.stand_up import BASE, lying, posture_cost, with_motors
from trajopt.residuals import ResidualModelControl, ResidualModelSymbolic
from trajopt.robots import legged_robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solution import Solution
from trajopt.solvers import BoxFDDPOptions, SolverBoxFDDP, continuation
from trajopt.states import StateMultibody
from trajopt.types import Reals

ROBOT, ROTOR, SOLE = "small-quadruped", 0.01, 0.02  # inertia at each joint [kg m²]; radius of the feet [m]
STRENGTH, FRICTION = 1e8, 0.8  # of the ground [N/m³], [-]
CLOSE = 0.005  # height h₀ at which the weight of a foot's speed is 1/e [m]
STAGES, STAGE = (1.0, 10.0, 100.0), 100  # weights of slip in the stages of the guess, and iterations of each
LOADED, LIFT = 2.0, 0.01  # smallest vertical force of a loaded foot [N], smallest height of a step [m]
HELD = (0.8, 0.01)  # gains of the joints while feet sink into the ground, divided by m g 0.3 m [1/rad, s/rad]
KICK, ITERATIONS = 1.0, 800  # change of the random torques between knots [N m], largest number of iterations [-]


def build(
    *,
    T: int = 180,
    dt: float = 0.01,
    distance: float = 0.4,
    slip: float = 1000.0,
    smoothing: float = 0.1,
    seed: int = 2,
) -> ProblemCase:
    """minimise ∫ ½ (|W (x ⊖ x_r)|² + 0.05 |u|² + slip Σ_feet |(v_x, v_y)|² e^(-h/h₀)) dt + ½ |W' (x ⊖ x₁)|² at the end.

    x₁ stands at rest, `distance` ahead of the start x₀; x_r is x₁ with the mean speed. v and h are velocity and height
    of a foot, and h₀ = 5 mm, so feet close to the ground must be slow. W² = (0, 10, 100, 30, 1; 30, 10, 0.3) for x, y,
    z, rotation of the base, joints, and velocities along x, of the rest of the base, of joints, W'² = (3000, 100, 100,
    100, 100; 30, 30, 3). Torques stay within the motors' limits. Feet are spheres on ground of 1e8 N/m³ with friction
    0.8; each joint has a rotor of 0.01 kg m².

    The problem does not prescribe which foot lifts, when, or where it lands. The guess comes from 100 iterations each
    with slip = 1, 10 and 100, from standing with small random torques: the robot slides at first, then lifts its feet.
    Most seeds lead to walks with different orders of feet, and not all survive a replay in smaller steps. The solve
    does not converge to its tolerance. It ends after 800 iterations, and its report evaluates the motion.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        distance: Distance to walk [m].
        slip: Weight of the speed of feet close to the ground [s/m²].
        smoothing: Barrier weight of the contacts divided by the weight m g, > 0 [m/s]; more makes contacts creep and
            solves easier.
        seed: Seed of the random torques [-].
    """
    count, step = check_count("T", T, least=2), check_positive("dt", dt, unit="s")
    way, weight = check_positive("distance", distance, unit="m"), check_positive("slip", slip, unit="s/m²")
    robot = with_motors(load_robot(ROBOT), ROTOR)
    state = StateMultibody(robot)
    feet = legged_robot(ROBOT).feet
    contacts = [MDPContact(foot, radius=SOLE, strength=STRENGTH, friction=FRICTION) for foot in feet]
    simulator = Simulator(robot, contacts, barrier_weight=barrier_weight(robot, smoothing))
    q = robot.configuration("standing")
    q[2] += SOLE
    moment = 9.81 * pin.computeTotalMass(robot.model) * 0.3  # [N m]
    x0 = lying(simulator, q, (HELD[0] * moment, HELD[1] * moment))
    end = np.r_[x0[0] + way, x0[1:]]
    moving = end.copy()
    moving[state.nq] = way / (count * step)
    running = _costs(state, moving, (0.0, 10.0, 100.0, 30.0, 1.0, 30.0, 10.0, 0.3))
    running.add("effort", ResidualModelControl(state), weight=0.05)
    running.add("slip", ResidualModelSymbolic(state, functools.partial(slipping, feet), unit="m/s"), weight=weight)
    actuation = ActuationModelFloatingBase(state)
    model = ActionModelSimulator(simulator, running, dt=step, actuation=actuation)
    terminal = _costs(state, end, (3000.0, 100.0, 100.0, 100.0, 100.0, 30.0, 30.0, 3.0))
    problem = ShootingProblem(x0, [model] * count, terminal)
    held = HELD[0] * moment * (q - x0[: state.nq])[7:]
    return FAMILY.case(
        problem=problem,
        **_guess(problem, held, check_count("seed", seed, least=0)),
        solver=SolverBoxFDDP,
        options=BoxFDDPOptions(max_iterations=ITERATIONS),
        report=functools.partial(report, feet),
    )


def _costs(state: StateMultibody, goal: Reals, weights: tuple[float, ...]) -> CostStack:
    """Cost ½ |W (x ⊖ goal)|²; W² is for x, y, z, rotation, joints, and velocities along x, of the base, of joints."""
    joints = state.nv - BASE
    spread = np.repeat(weights, (1, 1, 1, 3, joints, 1, BASE - 1, joints))
    return posture_cost(state, goal, spread)


def slipping(feet: tuple[str, ...], x: SX, robot: RobotExpressions) -> SX:
    """Horizontal velocities of feet at height h, times e^(-h / (2 h₀)), shape (2 n,) [m/s]."""
    velocities = []
    for foot in feet:
        _, place = robot.frame_placement(foot)
        velocity = robot.frame_velocity(foot, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        velocities.append(velocity[:2] * ca.exp((SOLE - place[2]) / (2 * CLOSE)))
    return SX(ca.vertcat(*velocities))


def _guess(problem: ShootingProblem, held: Reals, seed: int) -> dict[str, Reals]:
    """Guess of a case, from standing with the torques `held` (nu,) plus small random ones [N m]."""
    noise = np.random.default_rng(seed).normal(size=(problem.T, held.size))
    us = np.empty_like(noise)
    wandering = np.zeros(held.size)
    for t, kick in enumerate(noise):
        wandering = 0.9 * wandering + KICK * kick
        us[t] = held + wandering
    weight = problem.get_parameter("slip.weight")
    solver = SolverBoxFDDP(problem, BoxFDDPOptions(max_iterations=STAGE))
    *_, solution = continuation(solver, "slip.weight", STAGES, np.tile(problem.x0, (problem.T + 1, 1)), us)
    problem.set_parameter("slip.weight", weight)
    return {"xs": solution.xs, "us": solution.us}


def report(feet: tuple[str, ...], solution: Solution) -> dict[str, str]:
    """Distance, steps and clearance of the feet, slip of loaded feet, largest torque, and criterion of the result."""
    xs, times = solution.xs, solution.times
    assert times is not None
    heights = [solution.frame_path(foot)[:, 2].max() - SOLE for foot in feet]
    swings, slips = zip(*(steps(solution, foot) for foot in feet))
    lift, slip = 1e3 * min(heights), 1e3 * max(slips)
    words = {
        "distance": f"{xs[-1, 0] - xs[0, 0]:.3f} m in {times[-1]:.2f} s",
        "steps": ", ".join(f"{foot} {count}" for foot, count in zip(feet, swings)),
        "feet": f"lifted by {lift:.0f} mm or more, slip by {slip:.1f} mm at most while they carry",
        "torque": f"at most {np.abs(solution.us).max():.3g} N m",
    }
    if not solution.converged:
        words["judged by"] = "this motion; the solve does not converge to its tolerance and ends at max_iterations"
    return words


def steps(solution: Solution, foot: str) -> tuple[int, float]:
    """Number of steps that lift a foot by 1 cm, and the largest slip of the foot while it is loaded [m]."""
    carries = solution.contact_forces()[foot][:, 2] > LOADED
    path = solution.frame_path(foot)[: len(carries) + 1]
    edges = np.flatnonzero(np.diff(np.r_[False, carries, False]))
    slips = [np.linalg.norm(path[b, :2] - path[a, :2]) for a, b in edges.reshape(-1, 2)]
    swings = [path[a : b + 1, 2].max() - SOLE for a, b in edges[1:-1].reshape(-1, 2)]
    return sum(height > LIFT for height in swings), float(max(slips, default=0.0))


FAMILY = Family(
    name="walk-freely",
    description="A quadruped walks with contacts from the simulator; it ends at max_iterations, so judge the motion.",
    build=build,
    reference_source=TRAJOPT,
)
