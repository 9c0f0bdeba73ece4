"""A cart pushes a box to a target and returns."""

from __future__ import annotations

import functools

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
from trajopt.simulator import MDPContact, Plane, Simulator
from trajopt.solution import Solution
from trajopt.states import StateMultibody

HALF, NOSE, ROUND = 0.15, 0.2, 0.01  # half the side of the box, front of the cart, radius of the box's corners [m]
MASS = 2.0  # of the box [kg]
TOUCH = 0.002  # initial penetration of the box into the cart's front [m]


def cart_and_box() -> pin.Model:
    """Model of a cart of 3 kg on a rail along x, and a box of 2 kg that moves and turns in the x-z plane."""
    model = pin.Model()
    model.name = "cart-push"
    add_body(model, 0, pin.JointModelPX(), "cart", pin.Inertia.FromBox(3.0, 2 * NOSE, 0.2, 0.2), at=(0.0, 0.0, HALF))
    nothing = pin.Inertia(1e-6, np.zeros(3), np.zeros((3, 3)))
    slide = add_body(model, 0, pin.JointModelPX(), "slide", nothing)
    lift = add_body(model, slide, pin.JointModelPZ(), "lift", nothing)
    add_body(model, lift, pin.JointModelRY(), "box", pin.Inertia.FromBox(MASS, 2 * HALF, 2 * HALF, 2 * HALF))
    return model


def build(
    *,
    T: int = 100,
    dt: float = 0.01,
    target: float = 0.5,
    friction: float = 0.4,
    smoothing: float = 1e-4,
) -> ProblemCase:
    """minimise ∫ ½ (0.1 ẋ² + 1e-3 u²) dt + ½ (10 x² + ẋ² + 1e3 (y - target)² + 100 ẏ²) at the end, cart x and box y.

    The cart starts at 0, touches the box, and must be back at 0 at the end. Four corners of the box are spheres on the
    ground; two of them also touch the cart's front, with friction 0.3. The initial guess has zero force.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        target: Distance that the box must move, > 0 [m].
        friction: Friction coefficient between box and ground [-].
        smoothing: Barrier weight of the contacts divided by the weight m g, > 0 [m/s]; more makes contacts creep and
            solves easier.
    """
    way = check_positive("target", target, unit="m")
    robot = Robot(cart_and_box())
    state = StateMultibody(robot)
    front = Plane((1.0, 0.0, 0.0, -NOSE), body="cart_link")
    inner = HALF - ROUND
    floor = Plane((0.0, 0.0, 1.0, 0.0))
    on_floor = [(name, x, -1, floor, friction) for name, x in (("floor_rear", -1), ("floor_ahead", 1))]
    on_cart = [(name, -1, z, front, 0.3) for name, z in (("cart_low", -1), ("cart_high", 1))]
    contacts = [
        MDPContact("box_link", (x * inner, 0.0, z * inner), ROUND, face, friction=mu, strength=STRENGTH, name=name)
        for name, x, z, face, mu in (*on_floor, *on_cart)
    ]
    sunk = resting_depth(MASS * GRAVITY / 2)
    start = np.array([0.0, NOSE + HALF - TOUCH, HALF - sunk, 0.0])
    x0, x1 = (state.at_rest(start + np.array([0.0, y, 0.0, 0.0])) for y in (0.0, way))
    weights = ActivationModelWeightedQuad(np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0]))
    costs = CostStack(state).add("speed", ResidualModelState(state, x0), weight=1.0, activation=weights)
    return pushed_case(
        FAMILY,
        Simulator(robot, contacts, barrier_weight=barrier_weight(robot, smoothing)),
        costs,
        x0,
        x1,
        (10.0, 1e3, 0.0, 0.0, 1.0, 1e2, 0.0, 0.0),
        T=T,
        dt=dt,
        report=functools.partial(report, way),
    )


def report(target: float, solution: Solution) -> dict[str, str]:
    """Returns texts on where the box ends, when and where the cart releases it, and how far it tilts."""
    ys, times, forces = solution.xs[:, 1] - solution.xs[0, 1], solution.times, solution.contact_forces()
    assert times is not None
    pushes = np.flatnonzero(forces["cart_low"][:, 0] + forces["cart_high"][:, 0] > 0.1)
    last = int(pushes[-1]) + 1 if len(pushes) else 0
    return {
        "box": f"{ys[-1]:.3f} m (goal {target:g} m), at {abs(solution.xs[-1, 5]):.1e} m/s",
        "pushed": f"until {times[last]:.2f} s, {ys[last]:.3f} m far",
        "tilt": f"at most {np.abs(solution.xs[:, 3]).max():.3f} rad",
        "cart": f"ends {abs(solution.xs[-1, 0]):.3f} m from its start, force at most {np.abs(solution.us).max():.3g} N",
    }


FAMILY = Family(
    name="cart-push",
    description="A cart pushes a box to a target and returns.",
    build=build,
    reference_cost=0.2618862014,
    reference_source=TRAJOPT,
)
