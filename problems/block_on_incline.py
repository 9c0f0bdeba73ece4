"""A block is pushed up an incline and stays there, held by friction."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin

from trajopt.checks import check_non_negative, check_positive
from trajopt.costs import CostStack
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.pushed import GRAVITY, STRENGTH, pushed_case, resting_depth
from trajopt.problems.smoothing import barrier_weight
from trajopt.robots import Robot
from trajopt.robots.bodies import add_body
from trajopt.simulator import MDPContact, Simulator
from trajopt.solution import Solution
from trajopt.states import StateMultibody
from trajopt.types import Reals

RADIUS = 0.05  # [m]


def block(mass: float = 1.0) -> pin.Model:
    """Model of a block that moves along x and z without turning.

    Args:
        mass: Mass of the block, > 0 [kg].
    """
    model = pin.Model()
    model.name = "block"
    nothing = pin.Inertia(1e-6, np.zeros(3), np.zeros((3, 3)))
    slider = add_body(model, 0, pin.JointModelPX(), "x", nothing)
    add_body(model, slider, pin.JointModelPZ(), "z", pin.Inertia.FromBox(mass, 0.1, 0.1, 0.1))
    return model


def build(
    *,
    T: int = 100,
    dt: float = 0.01,
    angle: float = 0.35,
    distance: float = 0.5,
    friction: float = 0.6,
    smoothing: float = 1e-4,
) -> ProblemCase:
    """minimise ∫ ½ 1e-3 u² dt + ½ (1e3 |p - p₁|² + 10 |v|²) at the end; the block starts at rest, u pushes along x.

    p₁ is `distance` up the incline. The initial guess has zero force.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        angle: Slope of the incline, >= 0 [rad].
        distance: Distance up the incline, > 0 [m].
        friction: Friction coefficient [-]; the block slides down if it is below tan(angle).
        smoothing: Barrier weight of the contacts divided by the weight m g, > 0 [m/s]; more makes contacts creep and
            solves easier.
    """
    slope, way = check_non_negative("angle", angle, unit="rad"), check_positive("distance", distance, unit="m")
    robot = Robot(block())
    normal, up = np.array([-np.sin(slope), 0.0, np.cos(slope)]), np.array([np.cos(slope), 0.0, np.sin(slope)])
    surface = (*normal, 0.0)
    contact = MDPContact("z_link", radius=RADIUS, surface=surface, friction=friction, strength=STRENGTH, name="incline")
    state = StateMultibody(robot)
    start = (RADIUS - resting_depth(1.0 * GRAVITY * np.cos(slope))) * normal
    x0, x1 = (state.at_rest(place[[0, 2]]) for place in (start, start + way * up))
    return pushed_case(
        FAMILY,
        Simulator(robot, [contact], barrier_weight=barrier_weight(robot, smoothing)),
        CostStack(state),
        x0,
        x1,
        (1e3, 1e3, 10.0, 10.0),
        T=T,
        dt=dt,
        report=functools.partial(report, x0, up[[0, 2]], way),
    )


def report(x0: Reals, up: Reals, distance: float, solution: Solution) -> dict[str, str]:
    """Distance up the incline, force, and final speed of the block."""
    way, times = (solution.xs[:, :2] - x0[:2]) @ up, solution.times
    assert times is not None
    pushes = np.flatnonzero(np.abs(solution.us[:, 0]) > 1.0)
    return {
        "way": f"{way[-1]:.3f} m up (goal {distance:g} m), at {np.linalg.norm(solution.xs[-1, 2:]):.1e} m/s",
        "push": f"at most {solution.us.max():.3g} N, below 1 N from {times[pushes.max(initial=-1) + 1]:.2f} s on",
    }


FAMILY = Family(
    name="block-on-incline",
    description="A block is pushed up an incline and stays there, held by friction.",
    build=build,
    reference_cost=0.05687526785,
    reference_source=TRAJOPT,
)
