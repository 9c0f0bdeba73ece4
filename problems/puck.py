"""A pusher hits a puck, which then slides to a target on its own."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pinocchio as pin

from trajopt.activations import ActivationModelWeightedQuad
from trajopt.checks import check_positive
from trajopt.costs import CostStack
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.pushed import GRAVITY, STRENGTH, pushed_case, resting_depth
from trajopt.problems.smoothing import barrier_weight
from trajopt.residuals import ResidualModelState
from trajopt.robots import Robot
from trajopt.robots.bodies import add_body
from trajopt.simulator import MDPContact, Simulator, Surface
from trajopt.solution import Solution
from trajopt.states import StateMultibody

RADIUS, TIP, HEIGHT = 0.05, 0.02, 0.03  # of the puck, of the pusher, half the puck's height [m]
MASS = 0.3  # of the puck [kg]
TOUCH = 0.003  # initial penetration of the pusher into the puck [m]


def table() -> pin.Model:
    """Model of a pusher of 1 kg on a rail along x, and a puck of 0.3 kg that slides along x on a table."""
    model = pin.Model()
    model.name = "puck"
    add_body(model, 0, pin.JointModelPX(), "pusher", pin.Inertia.FromSphere(1.0, TIP), at=(0.0, 0.0, HEIGHT))
    nothing = pin.Inertia(1e-6, np.zeros(3), np.zeros((3, 3)))
    slider = add_body(model, 0, pin.JointModelPX(), "slide", nothing)
    add_body(model, slider, pin.JointModelPZ(), "puck", pin.Inertia.FromCylinder(MASS, RADIUS, 2 * HEIGHT))
    return model


def build(
    *,
    T: int = 120,
    dt: float = 0.01,
    target: float = 0.5,
    friction: float = 0.3,
    smoothing: float = 1e-4,
) -> ProblemCase:
    """minimise ∫ ½ (x² + 0.1 ẋ² + 1e-3 u²) dt + ½ (10 x² + ẋ² + 1e3 (y - target)² + 100 ẏ²) at the end.

    The pusher is at x and the puck at y. The pusher starts at 0 and touches the puck. It must stay near 0, so the puck
    has to slide on its own. The initial guess has zero force.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        target: Distance that the puck must move, > 0 [m].
        friction: Friction coefficient between puck and table [-].
        smoothing: Barrier weight of the contacts divided by the weight m g, > 0 [m/s]; more makes contacts creep and
            solves easier.
    """
    way = check_positive("target", target, unit="m")
    robot = Robot(table())
    state = StateMultibody(robot)
    rim = Surface(lambda p: ca.sqrt(p[0] ** 2 + p[1] ** 2) - RADIUS, body="puck_link")
    contacts = [
        MDPContact("puck_link", (0.0, 0.0, -HEIGHT), friction=friction, strength=STRENGTH, name="table"),
        MDPContact("pusher_link", radius=TIP, surface=rim, friction=0.0, strength=STRENGTH, name="pusher"),
    ]
    start = np.array([0.0, RADIUS + TIP - TOUCH, HEIGHT - resting_depth(MASS * GRAVITY)])
    x0, x1 = (state.at_rest(start + np.array([0.0, y, 0.0])) for y in (0.0, way))
    weights = ActivationModelWeightedQuad(np.array([1.0, 0.0, 0.0, 0.1, 0.0, 0.0]))
    costs = CostStack(state).add("home", ResidualModelState(state, x0), weight=1.0, activation=weights)
    return pushed_case(
        FAMILY,
        Simulator(robot, contacts, barrier_weight=barrier_weight(robot, smoothing)),
        costs,
        x0,
        x1,
        (10.0, 1e3, 0.0, 1.0, 1e2, 0.0),
        T=T,
        dt=dt,
        report=functools.partial(report, way),
    )


def report(target: float, solution: Solution) -> dict[str, str]:
    """Returns texts on where the puck ends, when the pusher releases it, and how far it slides on its own."""
    ys, times = solution.xs[:, 1] - solution.xs[0, 1], solution.times
    assert times is not None
    pushes = np.flatnonzero(solution.contact_forces()["pusher"][:, 0] < -0.1)
    last = int(pushes.max(initial=-1)) + 1
    way, speed = ys[-1] - ys[last], solution.xs[last, 4]
    return {
        "puck": f"{ys[-1]:.3f} m (goal {target:g} m), at {abs(solution.xs[-1, 4]):.1e} m/s",
        "slides": f"{way:.3f} m on its own from {times[last]:.2f} s on, with {speed:.2f} m/s",
        "pusher": f"at most {solution.xs[:, 0].max():.3f} m from home, force at most {np.abs(solution.us).max():.3g} N",
    }


FAMILY = Family(
    name="puck",
    description="A pusher hits a puck, which then slides to a target on its own.",
    build=build,
    reference_cost=0.04035756259,
    reference_source=TRAJOPT,
)
