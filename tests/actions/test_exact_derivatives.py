"""Derivatives of actions in 60 digits agree with central differences: formulas are right, not just accurate enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.high_precision import HIGH, derivatives, distance, exact_robot, on_manifold
from tests.support.model_list import DiscreteAttitude, Pendulum, small_costs
from trajopt.kernels.precision import to_float64

RK, RK4 = trajopt.IntegratedActionModelRK, trajopt.IntegratedActionModelRK4
Euler = trajopt.IntegratedActionModelEuler
DT = 0.4  # joints and bases turn by more than 0.2 rad in a step, see tests.support.high_precision


def satellite() -> trajopt.Robot:
    """A body in space with an arm."""
    model = pin.Model()
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(
        base, pin.Inertia(2.0, np.array([0.1, 0.2, -0.1]), np.diag([0.1, 0.2, 0.3])), pin.SE3.Identity()
    )
    arm = model.addJoint(base, pin.JointModelRX(), pin.SE3(np.eye(3), np.array([0.3, 0.1, 0.2])), "arm")
    model.appendBodyToJoint(arm, pin.Inertia(1.0, np.array([0.1, 0.3, 0.2]), 0.1 * np.eye(3)), pin.SE3.Identity())
    return trajopt.Robot(model, name="satellite")


@cache
def state_of(name: str) -> trajopt.StateMultibody:
    return trajopt.StateMultibody(exact_robot(satellite() if name == "satellite" else trajopt.load_robot(name)))


def free(name: str) -> Any:
    """A robot with forces on all coordinates."""
    state = state_of(name)
    actuation = trajopt.ActuationModelMatrix(state, np.eye(state.nv))
    return trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, small_costs(state))


def touch_down(**kinds: str) -> Any:
    """Feet of a quadruped that touch the ground, in these axes."""
    state = state_of("small-quadruped")
    impulses = trajopt.ImpulseStack(state)
    for foot, axes in kinds.items():
        impulses.add(foot, trajopt.ImpulseModel3D(state, foot, reference_frame=axes))
    costs = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 0.1)
    costs.add("com", trajopt.ResidualModelImpulseCoM(state), 0.7)
    for foot in kinds:
        costs.add(f"push_{foot}", trajopt.ResidualModelContactForce(state, foot, [0.5, -0.25, 3.0]), 0.2)
    return trajopt.ActionModelImpulseFwdDynamics(state, impulses, costs, restitution=0.5, damping=0.125)


ACTIONS: dict[str, Callable[[], Any]] = {
    "rk4-pendulum": lambda: RK4(Pendulum(small_costs(trajopt.StateVector(2))), DT),
    "rk4-planar": lambda: RK4(free("planar-2r"), DT),
    "rk4-satellite": lambda: RK4(free("satellite"), DT),
    "midpoint-planar": lambda: RK(free("planar-2r"), DT, tableau=trajopt.Tableau.MIDPOINT),
    "kutta-pendulum": lambda: RK(Pendulum(small_costs(trajopt.StateVector(2))), DT, tableau=trajopt.Tableau.KUTTA),
    "kutta-satellite": lambda: RK(free("satellite"), DT, tableau=trajopt.Tableau.KUTTA),
    "euler-quadruped": lambda: Euler(free("small-quadruped"), DT),
    "impulse-one-foot": lambda: touch_down(lf_foot="local"),
    "impulse-two-feet": lambda: touch_down(lf_foot="world", rh_foot="local_world_aligned"),
    "attitude": DiscreteAttitude,
}


@pytest.mark.parametrize("name", ACTIONS)
def test_derivatives_of_the_next_state_and_of_the_cost(name: str, rng: np.random.Generator) -> None:
    """To 1e-25 in 200 bits. In doubles the same programs are right to 1e-11 here."""
    model = ACTIONS[name]()
    state, p = model.state, model.layout.column()
    x = on_manifold(state, rng.choice([-1, 1], state.ndx) * rng.uniform(0.6, 1.2, state.ndx))
    given = (x, 3 * rng.normal(size=model.nu), p)
    calc, calc_diff = model.program("calc"), model.program("calc_diff")
    expected = [derivatives(calc, given, by, inputs={0: state}, outputs={0: state}) for by in (0, 1)]
    _, _, F, g, *_ = calc_diff.evaluate(*given, numbers=HIGH)
    _, _, double_F, double_g, *_ = calc_diff.evaluate(*(to_float64(np.asarray(v)) for v in given))
    for got, double, i in ((F, double_F, 0), (g.reshape(1, -1), double_g.reshape(1, -1), 1)):
        exact = np.concatenate([columns[i] for columns in expected if columns[i].ndim == 2], axis=1)
        assert got.shape == exact.shape
        assert distance(got, exact) <= 1e-25
        assert distance(double, exact) <= 1e-11
