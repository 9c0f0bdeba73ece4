"""A quadrotor flies through gates in gusts of wind."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt import mpc
from trajopt.actions import ActionModelTerminal
from trajopt.actions.integrated import IntegratedActionModelEuler, IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBaseThrusters, Thruster
from trajopt.checks import check_count, check_known, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.problems.mpc.checks import check_rows
from trajopt.problems.quadrotor import (
    ARM,
    DRAG,
    GRAVITY,
    INERTIA,
    DifferentialActionModelQuadrotor,
    hovering,
    state_of_quadrotor,
)
from trajopt.problems.quadrotor_obstacles import BODY_RADIUS
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.robots import Robot
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody
from trajopt.types import Reals

START = (0.0, 0.0, 1.0)  # [m]
ANGLES, HEIGHTS = np.radians([40.0, 100.0, 170.0, 240.0, 310.0]), (1.0, 1.8, 1.0, 2.0, 1.2)  # [rad], [m]
GATES = np.column_stack(
    [3.0 * np.sin(ANGLES), 3.0 - 3.0 * np.cos(ANGLES), HEIGHTS, ANGLES, 1.0 + 7.0 * ANGLES / (2.0 * np.pi)]
)
WEIGHTS = np.repeat([20.0, 1.0, 1.0, 0.1], 3)  # of place, turn, velocity and rates
NEAR, OPENS = 0.1, 5.0  # time for which a gate has its true size [s], speed at which it then widens [m/s]
PLANTS = ("model", "mujoco")
GUSTS = ((2.2, 0.5, 0.0, 2.0), (5.0, 0.5, -2.0, 0.0))  # time [s], duration [s], force along x and y [N]


def across(x: SX, gate: SX) -> SX:
    """Distances from the centre of a gate (x, y, z, heading), to its left and up (2,) [m]."""
    left = ca.cos(gate[3]) * (x[1] - gate[1]) - ca.sin(gate[3]) * (x[0] - gate[0])
    return SX(ca.vertcat(left, x[2] - gate[2]))


class Course:
    """Reference of the quadrotor and the current gate, as functions of time.

    Args:
        gates: Rows (x, y, z, heading, time) [m, rad, s].
        free: Half the width and height of a gate that remain for the centre of the body [m].
    """

    def __init__(self, gates: Reals, free: float) -> None:
        self.gates, self.free = gates, free
        lap = gates[-1, 4] + 1.2
        self.times = np.array([0.3, *gates[:, 4], lap])
        self.places = np.array([START, *gates[:, :3], START])
        self._hovering = hovering(START)

    def place(self, times: Reals) -> Reals:
        """Points on straight lines between gates (n, 3) [m]."""
        return np.column_stack([np.interp(times, self.times, column) for column in self.places.T])

    def __call__(self, times: Reals) -> Mapping[str, Reals]:
        """Parameters of knots at times (n,) [s]."""
        away = np.abs(times[:, None] - self.gates[:, 4])
        nearest = away.argmin(axis=1)
        room = np.tile(self.free + OPENS * np.maximum(away.min(axis=1) - NEAR, 0.0)[:, None], 2)
        goals = np.tile(self._hovering, (len(times), 1))
        goals[:, :3] = self.place(times)
        gates = self.gates[nearest, :4]
        return {"state.reference": goals, "gate.gate": gates, "gate.lower": -room, "gate.upper": room}


def horizon(*, N: int = 60, dt: float = 0.025, thrust: float = 5.0) -> ShootingProblem:
    """Problem of `build` with N knots, hovering at the start; `Course` changes its parameters with time."""
    state = state_of_quadrotor()

    def gate() -> ConstraintStack:
        residual = ResidualModelSymbolic(state, across, parameters={"gate": np.zeros(4)}, unit="m")
        return ConstraintStack(state).add("gate", residual, lower=[-1.0] * 2, upper=[1.0] * 2)

    def costs(factor: float) -> CostStack:
        goal = ResidualModelState(state, hovering(START))
        return CostStack(state).add("state", goal, factor, ActivationModelWeightedQuad(WEIGHTS))

    running = costs(1.0).add("thrust", ResidualModelControl(state, [GRAVITY / 4] * 4), weight=0.1)
    rows = gate().add("rotors", ResidualModelControl(state), lower=0.0, upper=thrust)
    knot = IntegratedActionModelEuler(DifferentialActionModelQuadrotor(running, constraints=rows), dt=dt)
    return ShootingProblem(hovering(START), [knot] * N, ActionModelTerminal(costs(0.5), constraints=gate()))


def gust(force: Reals, mass: float, t: float, x: Reals) -> Reals:
    """Rate of the state (12,) that a force (3,) [N] in the world's axes adds to the body."""
    rate = np.zeros(12)
    rate[6:9] = pin.Quaternion(x[3:7]).matrix().T @ force / mass
    return rate


def build(
    *,
    N: int = 60,
    dt: float = 0.025,
    period: float = 0.025,
    thrust: float = 5.0,
    opening: float = 1.0,
    mass: float = 1.05,
    plant: str = "model",
    gates: npt.ArrayLike = GATES,
    gusts: npt.ArrayLike = GUSTS,
) -> MPCCase:
    """minimise ∫ ½ (20 |p - p_ref|² + |turn|² + |v|² + 0.1 |ω|² + 0.1 |u - m g / 4|²) dt, 0 <= u <= `thrust` hard.

    p_ref moves along straight lines between gates, at 2.5 m/s. For 0.1 s before and after the time of a gate, the
    centre of the body, whose radius is 0.3 m, stays so far inside that the body passes. This soft limit widens like a
    funnel before and after. There is one measurement for each knot, so that successive plans have knots at the same
    times; at twice that rate, plans differ where limits bend, and thrusts chatter. The plant has another mass than the
    controller's 1 kg, takes Runge-Kutta steps of 5 ms, and is pushed by gusts.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s].
        thrust: Largest thrust of a rotor, > 0 [N].
        opening: Width and height of the gates, > 0.6 [m].
        mass: Mass of the plant, > 0 [kg].
        plant: "model", steps of Runge-Kutta; or "mujoco".
        gates: Rows (x, y, z, heading, time) [m, rad, s].
        gusts: Rows (time, duration, force along x, force along y) [s, N].
    """
    most, heavy = check_positive("thrust", thrust, unit="N"), check_positive("mass", mass, unit="kg")
    rows = check_rows("gates", gates, ("x", "y", "z", "heading", "time"), least=1)
    free = check_positive("opening - 0.6", check_positive("opening", opening, unit="m") - 2 * BODY_RADIUS) / 2
    count = check_count("N", N, least=1)
    problem, course = horizon(N=count, dt=check_positive("dt", dt, unit="s"), thrust=most), Course(rows, free)
    body = DifferentialActionModelQuadrotor(CostStack(problem.state), mass=heavy)
    own = check_known("plant", plant, PLANTS) == "model"
    winds = check_rows("gusts", gusts, ("time", "duration", "force along x", "force along y"))
    return MPCCase.of(
        FAMILY,
        problem,
        period,
        schedule=course,
        plant=IntegratedActionModelRK4(body, 5e-3) if own else in_mujoco(heavy),
        duration=10.0,
        dt_plant=5e-3 if own else 1e-3,
        disturbance=[
            mpc.Push(time=time, duration=lasts, value=functools.partial(gust, np.array([fx, fy, 0.0]), heavy))
            for time, lasts, fx, fy in winds
        ],
        report=functools.partial(report, course),
        lines=tuple(outline(gate, opening / 2) for gate in rows),
    )


def in_mujoco(mass: float) -> mpc.MuJoCoPlant:
    """The quadrotor in MuJoCo, with four thrusters."""
    model = pin.Model()
    model.name = "quadrotor"
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(base, pin.Inertia(mass, np.zeros(3), np.diag(INERTIA)), pin.SE3.Identity())
    robot, places = Robot(model), ARM * np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    rotors = [Thruster(place, DRAG, spin) for place, spin in zip(places, ("cw", "ccw", "cw", "ccw"))]
    return mpc.MuJoCoPlant(
        robot, contacts=(), actuation=ActuationModelFloatingBaseThrusters(StateMultibody(robot), rotors)
    )


def outline(gate: Reals, half: float) -> Reals:
    """Outline (5, 3) of the opening of a gate (x, y, z, heading, time), with half width and height `half` [m]."""
    left = np.array([-np.sin(gate[3]), np.cos(gate[3]), 0.0])
    corners = [(-half, -half), (half, -half), (half, half), (-half, half), (-half, -half)]
    return np.array([gate[:3] + aside * left + [0.0, 0.0, up] for aside, up in corners])


def passed(course: Course, log: Any) -> list[tuple[float, float]]:
    """Time at which the centre passes the plane of each gate, and its distance from the gate's centre there.

    The distance is the larger one of those to the side and up [m]. It is NaN for a missed gate.
    """
    passes = []
    for *middle, heading, time in course.gates:
        ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
        left = np.array([-np.sin(heading), np.cos(heading), 0.0])
        best = (np.nan, np.nan)
        for (t, a), (s, b) in itertools.pairwise(zip(log.times, log.xs[:, :3] - middle)):
            before, after = a @ ahead, b @ ahead
            if before < 0.0 <= after and abs(t - time) < 1.0:
                part = -before / (after - before)
                at = (1 - part) * a + part * b
                best = ((1 - part) * t + part * s, max(abs(at @ left), abs(at[2])))
        passes.append(best)
    return passes


def report(course: Course, log: Any) -> dict[str, str]:
    """Distances from the edges of gates and from the reference, thrusts and speed."""
    ways = [away for (_, away), gate in zip(passed(course, log), course.gates) if gate[4] < log.times[-1]]
    good = sum(away <= course.free for away in ways)
    worst = max(ways, default=0.0)
    away = np.linalg.norm(log.xs[:, :3] - course.place(log.times), axis=1)
    return {
        "gates": f"{good} of {len(ways)} passed without touching, the body {1e3 * (course.free - worst):.3g} mm from "
        "an edge at least",
        "distance": f"{1e3 * away.mean():.3g} mm from the reference on average, {1e3 * away.max():.3g} mm at most",
        "thrusts": f"{log.us.min():.4g} ... {log.us.max():.4g} N",
        "speed": f"{np.linalg.norm(log.xs[:, 7:10], axis=1).max():.3g} m/s at most",
    }


FAMILY = Family(
    name="quadrotor-gates",
    description="A quadrotor flies through gates in gusts of wind.",
    build=build,
)
