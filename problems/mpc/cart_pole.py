"""A cart swings a pole up and balances it under pushes, with a weak motor on a short rail."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelMatrix
from trajopt.checks import check_array, check_count, check_flag, check_known, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.cart_pole_limits import UPRIGHT, ActionModelCartPole, state_of_cart_pole
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.problems.mpc.checks import check_rows
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.robots import Robot
from trajopt.robots.builtin import cart_pole
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

END = (20.0, 100.0, 10.0, 10.0)  # weights of the final state
POLE_MASS, LENGTH = 0.2, 0.5  # [kg], [m]
PUSHES = ((4.0, 0.1), (6.0, -0.15), (8.0, 0.15))  # time [s] and impulse on the pole's mass [N s]
STOP = 0.04  # half the height of the stops at the ends of the rail, in pictures [m]
SLACK = (30.0, 3e3)  # weights of the cart's distance beyond the rail [cost/m, cost/m²]
PLANTS = ("model", "mujoco")
ERRORS = ("pole_mass", "cart_mass", "cart_damping", "pole_damping")
DEVIATIONS = dict(zip(ERRORS, (0.1, 0.5, 0.5, 0.005)))  # [kg], [kg], [N s/m], [N m s/rad]
NEAR = np.radians(10.0)


def horizon(*, N: int = 75, dt: float = 0.04, force: float = 8.0, rail: float = 0.6) -> ShootingProblem:
    """Swing-up as in `cart-pole-limits`, with a terminal cost instead of a constraint, and a rail."""
    state = state_of_cart_pole()

    def limits() -> ConstraintStack:
        position = ResidualModelState(state, elements=["y"])
        return ConstraintStack(state).add("rail", position, lower=-rail, upper=rail)

    rows = limits().add("force", ResidualModelControl(state), lower=-force, upper=force)
    model = ActionModelCartPole(rows, dt=dt, goal=UPRIGHT, weight=1.0, effort=0.01)
    end = CostStack(state).add("goal", ResidualModelState(state, UPRIGHT), 1.0, ActivationModelWeightedQuad(END))
    return ShootingProblem(np.zeros(4), [model] * N, ActionModelTerminal(end, constraints=limits()))


def build(
    *,
    N: int = 75,
    dt: float = 0.04,
    period: float = 0.02,
    force: float = 8.0,
    rail: float = 0.6,
    pole_mass: float = 0.22,
    cart_mass: float = 1.0,
    damping: npt.ArrayLike = (0.0, 0.0),
    plant: str = "model",
    estimate: bool = True,
    pushes: Any = PUSHES,
) -> MPCCase:
    """minimise ∫ ½ (|x - goal|² + 1e-2 f²) dt + an end, |f| <= `force` hard, |y| <= `rail` soft, goal = (0, π, 0, 0).

    The pole hangs at first. A push p on the mass at the end of the upright pole changes its rate by -p / (m l). The
    plant takes steps of 2 ms, and its pole has 0.22 kg instead of 0.2 kg. Without estimates of masses
    and damping, plans that saturate force and rail fall short again and again: of 18 carts of 0.5 to 1.5 kg with poles
    of 0.1 to 0.3 kg, with and without damping, 7 come up within 8 s; with estimates, all do, within 6 s.

    With the default pushes, the cart stays on the rail. After 0.2 N s it goes 0.28 m beyond. 0.3 N s topple the pole: a
    solve fails, and another swing-up follows.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s].
        force: Largest force, > 0 [N].
        rail: Largest distance of the cart from the origin, > 0 [m].
        pole_mass: Mass of the plant's pole, > 0 [kg].
        cart_mass: Mass of the plant's cart, > 0 [kg].
        damping: Damping of the plant's cart [N s/m] and of its pole's joint [N m s/rad].
        plant: "model", the controller's own with these masses and damping; or "mujoco".
        estimate: Whether the controller estimates masses and damping from its measurements.
        pushes: Rows (time [s], impulse on the pole's mass [N s]).
    """
    most, end = check_positive("force", force, unit="N"), check_positive("rail", rail, unit="m")
    problem = horizon(N=check_count("N", N, least=1), dt=check_positive("dt", dt, unit="s"), force=most, rail=end)
    mass = check_positive("pole_mass", pole_mass, unit="kg")
    cart = check_positive("cart_mass", cart_mass, unit="kg")
    losses = check_array("damping", damping, (2,), cure="pass that of the cart and that of the pole")
    estimated = DEVIATIONS if check_flag("estimate", estimate) else {}
    own = check_known("plant", plant, PLANTS) == "model"
    rows = check_rows("pushes", pushes, ("time", "impulse"))
    return MPCCase.of(
        FAMILY,
        problem,
        period,
        options={"iterations": 3, "soft": SLACK, "on_failure": "solve", "estimate": estimated},
        duration=12.0,
        dt_plant=2e-3,
        plant=None if own else in_mujoco(cart, mass, losses),
        disturbance=[mpc.Push(time=time, value=[0, 0, 0, -impulse / (mass * LENGTH)]) for time, impulse in rows],
        model_error=dict(zip(ERRORS, (mass, cart, *losses.tolist()))) if own else None,
        report=functools.partial(report, rows, end),
        lines=(
            np.array([[-end, 0, -STOP], [-end, 0, STOP], [-end, 0, 0], [end, 0, 0], [end, 0, STOP], [end, 0, -STOP]]),
        ),
    )


def in_mujoco(cart_mass: float, pole_mass: float, damping: Reals) -> mpc.MuJoCoPlant:
    """The cart and pole in MuJoCo, with a motor at the cart."""
    robot = Robot(cart_pole(cart_mass=cart_mass, pole_mass=pole_mass, pole_length=LENGTH))
    motor = ActuationModelMatrix(StateMultibody(robot), [[1.0], [0.0]])
    return mpc.MuJoCoPlant(robot, actuation=motor, damping=damping)


def report(pushes: Reals, rail: float, log: Any) -> dict[str, str]:
    """Returns texts by heading: when the pole is up, recovery after pushes, largest force and distance of the cart."""
    words, ends = {}, [*pushes[1:, 0], np.inf] if len(pushes) else []
    first = pushes[0, 0] if len(pushes) else np.inf
    words["swing-up"] = _settled(log, 0.0, first)
    for (time, impulse), end in zip(pushes, ends):
        if time < log.times[-1]:
            words[f"push {impulse:+g} N s"] = _settled(log, time, end)
    words["force"] = f"at most {np.abs(log.us).max():.6g} N"
    words["cart"] = f"at most {np.abs(log.xs[:, 0]).max():.3g} m from the origin, the rail ends at {rail:g} m"
    return words


def _settled(log: Any, start: float, end: float) -> str:
    """Time from which the pole stays within 10 degrees of upright until the next push, and its largest angle."""
    span = (log.times >= start) & (log.times < end)
    times, away = log.times[span], np.abs(log.xs[span, 1] % (2.0 * np.pi) - np.pi)
    last = np.flatnonzero(away > NEAR)
    if len(last) and last[-1] == len(times) - 1:
        return "not upright " + ("before the next push" if end <= log.times[-1] else "at the end")
    settled = times[last[-1] + 1] if len(last) else start
    return f"within 10 deg after {settled - start:.2f} s, {np.degrees(away.max()):.3g} deg at most"


FAMILY = Family(
    name="cart-pole-balance",
    description="A cart swings a pole up and balances it under pushes, with a weak motor on a short rail.",
    build=build,
)
