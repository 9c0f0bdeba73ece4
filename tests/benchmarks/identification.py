"""Identification of a Panda from simulated logs with noise: coverage, chi², standard deviations, time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.table import table
from trajopt.dynamics import SmoothFriction
from trajopt.identification import Log, identify
from trajopt.types import Reals

LOGS, STEPS, DT = 100, 400, 0.01  # [-], [-], [s]
NOISE = {"q": 1e-4, "v": 1e-3, "u": 0.1}  # [rad], [rad/s], [N m]
FRICTION = SmoothFriction(0.05)
ROTOR = 0.1  # armature of each joint [kg m²]
FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]
LINKS = tuple(range(1, 8))
TITLE = f"""Identification of mass, centre of mass and inertia of 7 links, damping and friction of 7 joints of a Panda,
84 numbers, from {STEPS * DT:g} s at {1 / DT:g} Hz; {LOGS} logs that differ in their noise. Required: 99.7 ± .3 % of the
combinations within 3 standard deviations, mean chi²/dof within .95 and 1.05, standard deviations as those of the
estimates ± 25 %, and as many combinations as the regressor's rank."""


def _unknown() -> list[str]:
    """Names of the parameters."""
    bodies = [f"panda_link{i}.{quantity}" for i in LINKS for quantity in ("mass", "com", "inertia")]
    return bodies + [f"panda_joint{i}.{quantity}" for i in LINKS for quantity in ("damping", "friction")]


def measure() -> dict[str, Any]:
    """Statistics of the estimates over the logs."""
    believed, real = _robots()
    xs, us = _excited(real)
    truth, rank = _linear(real), _rank(real, xs)
    errors, deviations, ratios, iterations, seconds, count = [], [], [], [], [], 0
    for seed in range(LOGS):
        rng = np.random.default_rng(seed)
        spread = np.repeat([NOISE["q"], NOISE["v"]], 7)
        states, controls = xs + spread * rng.normal(size=xs.shape), us + NOISE["u"] * rng.normal(size=us.shape)
        start = time.perf_counter()
        result = identify(believed, Log(states, controls, DT), _unknown(), noise=NOISE, friction=FRICTION)
        seconds.append(time.perf_counter() - start)
        errors.append(result.coefficients @ (result.estimate - truth))
        deviations.append(np.sqrt(np.diag(result.covariance)))
        ratios.append(result.chi2 / result.dof)
        iterations.append(result.iterations if result.converged else 10**6)
        count = len(result.combinations)
    z = np.array(errors) / np.array(deviations)
    spreads = np.std(errors, axis=0) / np.mean(deviations, axis=0)
    return {
        "combinations": count,
        "rank": rank,
        "within": float(np.mean(np.abs(z) < 3.0)),
        "chi2": float(np.mean(ratios)),
        "least": float(spreads.min()),
        "most": float(spreads.max()),
        "iterations": int(max(iterations)),
        "seconds": float(np.median(seconds)),
    }


def _robots() -> tuple[trajopt.Robot, trajopt.Robot]:
    """The robot that is believed, and the real one."""
    robot = trajopt.load_robot("panda").lock_joints(FINGERS)
    robot = robot.with_values({f"panda_joint{i}.armature": ROTOR for i in range(1, 8)})
    rng, real, guess = np.random.default_rng(0), {}, {}
    for name, each in robot.with_parameters(_unknown()).parameters.items():
        default = each.parameter.default
        if each.of_body:
            moved = 0.02 * rng.normal(size=3)
            real[name] = default + moved if each.quantity == "com" else default * rng.uniform(0.8, 1.2)
        else:
            real[name], guess[name] = rng.uniform(0.2, 1.0), 0.5
    return robot.with_values(guess), robot.with_values(real)


def _excited(robot: trajopt.Robot) -> tuple[Reals, Reals]:
    """States (STEPS + 1, 14) and torques (STEPS, 7) that follow sums of sines with a controller."""
    model, data, rng = robot.model, robot.model.createData(), np.random.default_rng(0)
    middle, rates = (model.lowerPositionLimit + model.upperPositionLimit) / 2, 2 * np.pi * 0.25 * np.arange(1, 6)
    sizes, phases = 0.5 * rng.normal(size=(7, 5)) / np.arange(1, 6), rng.uniform(0, 2 * np.pi, (7, 5))
    state = trajopt.StateMultibody(robot)
    motors, costs = trajopt.ActuationModelFull(state), trajopt.CostStack(state)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, friction=FRICTION)
    step = trajopt.ShootingProblem(state.zero(), [trajopt.IntegratedActionModelRK4(dynamics, DT)], costs)

    def wanted(t: float) -> list[Reals]:
        angles = rates * t + phases
        curves = sizes * np.sin(angles), sizes * rates * np.cos(angles), -sizes * rates**2 * np.sin(angles)
        q, v, a = (curve.sum(axis=1) for curve in curves)
        return [middle + q, v, a]

    xs, us = [np.concatenate(wanted(0.0)[:2])], []
    for i in range(STEPS):
        q, v = xs[-1][:7], xs[-1][7:]
        q_ref, v_ref, a_ref = wanted((i + 0.5) * DT)
        a = a_ref + 400.0 * (q_ref - q - 0.5 * DT * v) + 40.0 * (v_ref - v)
        us.append(pin.rnea(model, data, q_ref, v_ref, a) + 0.5 * v + 0.5 * np.tanh(v / 0.05))
        step.x0 = xs[-1]
        xs.append(step.rollout([us[-1]])[1])
    return np.array(xs), np.array(us)


def _linear(robot: trajopt.Robot) -> Reals:
    """(m, m c, I) of the links, then damping and friction of the joints, in the order of the unknowns."""
    numbers = []
    for body in (robot.model.inertias[i] for i in LINKS):
        c = np.array(body.lever)
        about = np.array(body.inertia) + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        numbers += [body.mass, *body.mass * c, *about[np.triu_indices(3)]]
    joints = np.stack([robot.model.damping, robot.model.friction], axis=1)
    return np.concatenate([numbers, joints[np.array(LINKS) - 1].ravel()])


def _rank(robot: trajopt.Robot, xs: Reals) -> int:
    """Rank of Pinocchio's regressor along the motion, and two numbers for the friction of each joint."""
    rng, data = np.random.default_rng(1), robot.model.createData()
    rows = [pin.computeJointTorqueRegressor(robot.model, data, x[:7], x[7:], rng.normal(size=7)) for x in xs[::4]]
    columns = [10 * (i - 1) + j for i in LINKS for j in range(10)]
    return int(np.linalg.matrix_rank(np.vstack(rows)[:, columns], tol=1e-9 * np.linalg.norm(rows))) + 2 * len(LINKS)


def report(figures: dict[str, Any]) -> str:
    """The table, with the bars."""
    f = figures
    bars = {
        "combinations, rank of the regressor": (f"{f['combinations']}, {f['rank']}", f["combinations"] == f["rank"]),
        "within 3 standard deviations": (f"{f['within']:.2%}", abs(f["within"] - 0.997) <= 0.003),
        "mean chi²/dof": (f"{f['chi2']:.4f}", 0.95 <= f["chi2"] <= 1.05),
        "deviation of estimates / reported": (
            f"{f['least']:.2f} to {f['most']:.2f}",
            0.75 < f["least"] < f["most"] < 1.25,
        ),
        "most iterations": (f"{f['iterations']}", f["iterations"] < 30),
    }
    rows = [[name, value, "yes" if kept else "NO"] for name, (value, kept) in bars.items()]
    return table(TITLE, ["", "measured", "bar"], [*rows, ["median time [s]", f"{f['seconds']:.2f}", ""]])
