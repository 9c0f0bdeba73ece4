"""Contacts as functions of numbers: what their formula gives, derivatives, messages."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import CubicHermiteSpline

import trajopt
from tests.simulator.bodies import CORNERS, MODES, block, corners, state, whole_input
from trajopt import ActionData, ActionModelAbstract, CostStack, ShootingProblem
from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.simulator import ActionModelSimulator, ExternalWrench, Simulator
from trajopt.solvers import SolverFDDP
from trajopt.types import Reals

DT = 2e-3
ANGLES = 2 * np.pi * np.arange(6) / 6
RAYS = np.array([0.7 * np.cos(ANGLES), 0.7 * np.sin(ANGLES), np.ones(6)])
CORNER = np.array(CORNERS[0])


def columns(R: Reals, p: Reals, strength: float) -> Reals:
    """Rays of a sphere of no radius at the block's corner, on the floor z = 0."""
    arm = R @ CORNER
    return strength * max(-(p + arm)[2], 0.0) ** 3 * np.vstack([RAYS, np.cross(arm, RAYS.T).T])


def derivative(R: Reals, p: Reals, strength: float) -> Reals:
    """Its derivative."""
    arm = R @ CORNER
    depth = max(-(p + arm)[2], 0.0)
    by_pose = -np.concatenate([[0, 0, 1], np.cross(arm, [0, 0, 1])])
    change = 3 * depth**2 * np.vstack([RAYS, np.cross(arm, RAYS.T).T])[:, :, None] * by_pose
    for k in range(3):
        change[3:, :, 3 + k] += depth**3 * np.cross(np.cross(np.eye(3)[k], arm), RAYS.T).T
    return strength * change


def formula(R: ca.SX, p: ca.SX, strength: ca.SX) -> ca.SX:
    """The same as an expression."""
    arm = R @ ca.SX(CORNER)
    rays = [ca.vertcat(ca.SX(ray), ca.cross(arm, ca.SX(ray))) for ray in RAYS.T]
    return strength * ca.fmax(-(p + arm)[2], 0) ** 3 * ca.horzcat(*rays)


def box(strength: float = 1e6, **functions: Any) -> ExternalWrench:
    given = {"columns": columns, "derivative": derivative, **functions}
    return ExternalWrench("box", rays=6, parameters={"strength": strength}, name="own", **given)


@pytest.mark.parametrize("mode", MODES)
def test_a_function_of_numbers_is_its_formula(mode: str) -> None:
    """In all modes, beside another contact, with derivatives, in batches that are single steps bit for bit."""
    strength = 1e6 if mode.endswith("F") else 1e4
    beside = corners(strength=strength)[3]
    sims = [
        Simulator(block(), [contact, beside], mode)
        for contact in (box(strength), ExternalWrench("box", formula, 6, parameters={"strength": strength}, name="own"))
    ]
    for sim in sims:
        sim.set_parameter("contacts.own.strength", 2 * strength)
    inputs = np.array([whole_input(sims[0], depth, seed) for seed, depth in enumerate([0.01, -0.1, 0.03, 0.0] * 3)])
    found, wanted = (sim.simulate_batched(DT, inputs, Dqdqs=True, Dtaus=True) for sim in sims)
    for one, other in zip(found, wanted):
        assert np.abs(one - other).max() <= 1e-13 * max(1.0, np.abs(other).max())
    for i in (0, 2, 11):
        for one, all_of_them in zip(sims[0].simulate(DT, inputs[i], Dqdq=True, Dtau=True), found):
            assert np.array_equal(one, all_of_them[i])


SOIL = CubicHermiteSpline([0.0, 0.01, 0.02, 0.05, 1.0], [0, 20, 35, 300, 300], [0, 1e3, 2e3, 0, 0])
"""Force of a soil as measured over depth [m, N]: it gives way, then hardens."""


def soil(R: Reals, p: Reals) -> Reals:
    """A table of numbers, which no formula has: force against the depth of the frame's origin, and a turning one."""
    depth = max(0.1 - p[2], 0.0)
    return SOIL(depth) * np.array([[0, 0, 1, 0, 0, R[2, 1]], [0, 0, 1, 0, R[1, 0], 0]]).T


def soil_slope(R: Reals, p: Reals) -> Reals:
    """Its derivative: R moves by [θ]ₓ R."""
    depth, found = max(0.1 - p[2], 0.0), np.zeros((6, 2, 6))
    found[:, :, 2] = -SOIL.derivative()(depth) * np.array([[0, 0, 1, 0, 0, R[2, 1]], [0, 0, 1, 0, R[1, 0], 0]]).T
    turned = [pin.skew(e) @ R for e in np.eye(3)]
    found[5, 0, 3:] = SOIL(depth) * np.array([M[2, 1] for M in turned])
    found[4, 1, 3:] = SOIL(depth) * np.array([M[1, 0] for M in turned])
    return found


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "FORWARD_LF", "FORWARD_RK2I"])
def test_derivatives_of_a_table(mode: str) -> None:
    """Central differences of a measured soil."""
    contact = ExternalWrench("tip", soil, 2, derivative=soil_slope, name="soil")
    contact.check_derivative(pin.exp3(np.array([0.3, -0.2, 0.5])), [0.0, 0.1, 0.07])
    sim = Simulator(block(), [contact], mode, barrier_weight=0.1)
    x, tau, data = state(0.0, seed=3), np.linspace(-1, 1, 7), block().createData()
    pin.framesForwardKinematics(block(), data, x[:8])
    x[2] += 0.075 - data.oMf[block().getFrameId("tip")].translation[2]
    assert np.abs(sim.contact_forces(DT, x, tau)["soil"]).max() > 0.1
    result, D, _ = sim.simulate(DT, x, tau, Dqdq=True)
    steps = None if mode == "FORWARD_LF" else sim.state
    h, numeric = 1e-6, np.empty_like(D)
    for i, e in enumerate(np.eye(14)):
        ends = [sim.simulate(DT, sim.state.integrate(x, side * h * e), tau)[0] for side in (1, -1)]
        ends = [steps.difference(result, end) if steps else end for end in ends]
        numeric[:, i] = (ends[0] - ends[1]) / (2 * h)
    assert np.abs(D - numeric).max() <= 1e-6 * max(1.0, np.abs(D).max())


def test_more_bits_pickles_and_rollouts() -> None:
    sim, x = Simulator(block(), [box()]), state(0.01)
    precise = Simulator(block(), [box()], accuracy=128).simulate(DT, x, Dqdq=True)
    for one, other in zip(sim.simulate(DT, x, Dqdq=True)[:2], precise[:2]):
        assert np.abs(one - other).max() <= 1e-11 * max(1.0, np.abs(other).max())
    again = pickle.loads(pickle.dumps(sim))
    assert np.array_equal(again.simulate(DT, x)[0], sim.simulate(DT, x)[0])
    rollout = sim.rollout(x, steps=3, dt=DT)
    assert rollout.forces["own"].shape == (3, 6)
    assert np.array_equal(rollout.xs[1], sim.simulate(DT, x)[0])
    assert sorted(sim.model.parameters())[-1] == "tolerance"


def _raises(*args: Any, **kwargs: Any) -> Reals:
    raise ZeroDivisionError("no soil here")


def _turned(R: Reals, p: Reals, strength: float) -> Reals:
    return columns(R, p, strength).T


def _nowhere(R: Reals, p: Reals, strength: float) -> Reals:
    return np.full((6, 6), np.nan)


def _half(R: Reals, p: Reals, strength: float) -> Reals:
    return derivative(R, p, strength) / 2


def test_messages_name_the_contact() -> None:
    x = state(0.01)
    wrong = [
        (
            {"columns": _raises},
            ModelEvaluationError,
            r"state 0: own.columns raised ZeroDivisionError: no soil here;.*p = ",
        ),
        ({"derivative": _raises}, ModelEvaluationError, r"state 0: own.derivative raised ZeroDivisionError"),
        ({"columns": lambda R, p: 0}, ModelEvaluationError, r"own.columns raised TypeError: .*'strength'"),
        ({"columns": _nowhere}, InvalidArgumentError, r"state 0: own.columns: expected finite numbers, got nan"),
        ({"columns": derivative}, InvalidArgumentError, r"own.columns: expected shape \(6, 6\), got \(6, 6, 6\); the"),
        ({"derivative": columns}, InvalidArgumentError, r"own.derivative: expected shape \(6, 6, 6\), got \(6, 6\)"),
    ]
    for functions, error, message in wrong:
        with pytest.raises(error, match=message):
            Simulator(block(), [box(**functions)]).simulate(DT, x, Dqdq=True)
    with pytest.raises(ModelEvaluationError, match="state 1: own.columns raised"):
        Simulator(block(), [box(columns=lambda R, p, strength: columns(R, p, 1 / max(p[2], 0.0)))]).simulate_batched(
            DT, [x, state(0.5)]
        )
    for functions, message in (
        ({"derivative": 3.0}, "derivative: expected a function"),
        ({"columns": 1}, "columns: exp"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            box(**functions)
    with pytest.raises(InvalidArgumentError, match="if it is a function of arrays, pass derivative=,"):
        box(derivative=None)


def test_check_derivative_refuses_a_wrong_derivative() -> None:
    R, p = pin.exp3(np.array([0.1, -0.2, 0.3])), np.array([0.0, 0.0, 0.02])
    box().check_derivative(R, p, strength=2e5)
    with pytest.raises(
        InvalidArgumentError, match=r"own.derivative: expected .* at index \(.*\) by central differences"
    ):
        box(derivative=_half).check_derivative(R, p)
    with pytest.raises(InvalidArgumentError, match="expected a black box, got a formula"):
        ExternalWrench("box", formula, 6, parameters={"strength": 1.0}).check_derivative(R, p)


def test_black_box_contacts_are_refused_in_stages_and_problems() -> None:
    """Stages of a step are poses that nobody knows before; problems are compiled."""
    for mode in ("FORWARD_RK2I", "FORWARD_RK4I"):
        with pytest.raises(InvalidArgumentError, match=f"own: .*got a black box, which {mode} with variant 'source'"):
            Simulator(block(), [box()], mode, variant="source")
    with pytest.raises(
        InvalidArgumentError, match=r"own: .*a step of BACKWARD_RK1F .*`simulate` computes only the residual"
    ):
        Simulator(block(), [box()], "BACKWARD_RK1F").step(DT, state(0.01))
    sim = Simulator(block(), [box()])
    with pytest.raises(InvalidArgumentError, match="got the black box 'own'; write its columns with casadi"):
        ActionModelSimulator(sim, CostStack(sim.state))


class Pushed(ActionModelAbstract):
    """A step of a simulator with a black box, as a model in Python: x⁺ = simulate(dt, x, (u, 0)), cost ½ |u|² / 100."""

    def __init__(self, sim: Simulator) -> None:
        super().__init__(sim.state, 3)
        self._sim = sim

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = 0.0 if u is None else 0.005 * u @ u
        if u is not None:
            data.xnext = self._sim.simulate(DT, x, np.r_[u, np.zeros(4)])[0]

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        if u is not None:
            _, data.Fx, Dtau = self._sim.simulate(DT, x, np.r_[u, np.zeros(4)], Dqdq=True, Dtau=True)
            data.Fu, data.Lu, data.Luu = Dtau[:, :3], 0.01 * u, 0.01 * np.eye(3)


def test_in_a_problem_it_is_a_model_in_python() -> None:
    """As the message says; the same solution as with the formula."""
    costs = []
    for contact in (box(1e5), ExternalWrench("box", formula, 6, parameters={"strength": 1e5}, name="own")):
        sim = Simulator(block(), [contact])
        x0 = state(0.002, tilt=0.0, speed=0.0)
        goal = sim.state.at_rest(state(0.0, tilt=0.0)[:8])
        end = CostStack(sim.state).add("goal", trajopt.ResidualModelState(sim.state, goal), weight=10.0)
        solution = SolverFDDP(ShootingProblem(x0 + np.r_[0.05, np.zeros(14)], [Pushed(sim)] * 8, end)).solve()
        assert solution.converged
        costs.append(solution.cost)
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)
