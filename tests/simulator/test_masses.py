"""Masses as run-time parameters: steps and derivatives are those of a changed robot, nothing is compiled."""

from __future__ import annotations

import pickle

import numpy as np
import pinocchio as pin
import pytest

from tests.simulator.bodies import MODES, block, corners, simulator, state, whole_input
from trajopt import ActuationModelMatrix, CostStack, ResidualModelControl, ResidualModelState, ShootingProblem
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.kernels import compiler
from trajopt.model.programs import outputs_at
from trajopt.robots import Robot
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solvers import SolverFDDP

DT = 2e-3
NEW = {"box": 3.3, "tip": 0.2}  # [kg]


def heavier() -> pin.Model:
    """The block with the new masses; inertias about the centre of mass are proportional to them."""
    model = block()
    for frame, mass in NEW.items():
        joint = model.frames[model.getFrameId(frame)].parentJoint
        old = model.inertias[joint]
        model.inertias[joint] = pin.Inertia(mass, old.lever, old.inertia * mass / old.mass)
    return model


def changing(mode: str = "FORWARD_RK1F", **options: object) -> Simulator:
    level = 1e6 if mode.endswith("F") else 1e4
    robot = Robot(block()).with_parameters([f"{frame}.mass" for frame in NEW])
    return Simulator(robot, corners(strength=level), mode, barrier_weight=0.05, **options)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("FORWARD_RK1I", "FORWARD_RK2I")])  # as RK4I
def test_steps_are_those_of_a_changed_robot(mode: str) -> None:
    """Values and derivatives, before and after the change."""
    sim, level = changing(mode), 1e6 if mode.endswith("F") else 1e4
    inputs = np.array([whole_input(sim, depth, seed) for seed, depth in enumerate([0.01, -0.1, 0.03])])
    for model in (block(), heavier()):
        other = Simulator(model, corners(strength=level), mode, barrier_weight=0.05)
        found, wanted = (s.simulate_batched(DT, inputs, Dqdqs=True, Dtaus=True) for s in (sim, other))
        for one, two in zip(found, wanted):
            assert np.abs(one - two).max() <= 1e-12 * max(1.0, np.abs(two).max())
        for frame, mass in NEW.items():
            sim.set_parameter(f"robot.{frame}.mass", mass)


def test_a_change_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sim, x = changing(), state(0.01)
    before = sim.simulate(DT, x, Dqdq=True)
    count = compiler.compilations()
    monkeypatch.setattr("trajopt.simulator.programs._derivatives", lambda *a: pytest.fail("built"))
    sim.set_parameter("robot.box.mass", 5.0)
    again = pickle.loads(pickle.dumps(sim))
    assert np.abs(sim.simulate(DT, x, Dqdq=True)[1] - before[1]).max() > 1e-3
    assert compiler.compilations() == count
    assert np.array_equal(again.simulate(DT, x)[0], sim.simulate(DT, x)[0])
    assert again.parameter_values() == {"robot.box.mass": 5.0}
    sim.set_floor([0, 0, 1, 0], [MDPContact("box")])
    assert sim.parameter_values() == {"robot.box.mass": 5.0}


def test_the_file_says_the_first_values() -> None:
    parameters = changing().model.parameters()
    assert [float(parameters[f"robot.{frame}.mass"].default) for frame in NEW] == [2.0, 0.5]
    assert parameters["robot.box.mass"].unit == "kg"
    assert not [name for name in simulator().model.parameters() if name.startswith("robot.")]


def test_a_heavier_body_falls_alike_and_presses_more() -> None:
    """Without contact masses of a single body have no effect; at rest the floor carries their weight."""
    sim, x = changing(), state(-0.5)
    x[7:] = 0.0
    for frame in NEW:
        sim.set_parameter(f"robot.{frame}.mass", 7.0)
    assert np.linalg.norm(sim.simulate(DT, x)[0][8:11]) == pytest.approx(9.81 * DT, rel=1e-9)
    sim.set_PD_controller(20.0, 0.5)
    rest = np.r_[0, 0, 0.049, 0, 0, 0, 1, np.zeros(8)]
    forces = sim.rollout(rest, steps=1500, dt=1e-3).forces
    assert sum(force[-1000:, 2].mean() for force in forces.values()) == pytest.approx(14.0 * 9.81, rel=0.01)


def test_messages() -> None:
    sim = changing()
    for value in (0.0, -1.0, np.nan, "heavy"):
        with pytest.raises(InvalidArgumentError, match=r"robot\.box\.mass: expected"):
            sim.set_parameter("robot.box.mass", value)
    with pytest.raises(UnknownNameError, match="parameter 'robot.lid.mass' not found"):
        sim.set_parameter("robot.lid.mass", 1.0)


def action(sim: Simulator) -> ActionModelSimulator:
    motors = ActuationModelMatrix(sim.state, np.eye(7)[:, [0, 1, 6]])
    goal = sim.state.at_rest(state(0.0, tilt=0.0)[:8])
    costs = CostStack(sim.state).add("state", ResidualModelState(sim.state, goal), weight=1.0)
    costs.add("effort", ResidualModelControl(sim.state, reference=np.zeros(3)), weight=1e-2)
    return ActionModelSimulator(sim, costs, dt=DT, actuation=motors)


@pytest.mark.slow
def test_an_action_model_takes_other_masses_too() -> None:
    """In a problem, by name, and from the simulator that it was made with."""
    plain = Simulator(heavier(), corners(strength=1e6), barrier_weight=0.05)
    x, u = state(0.01), np.array([1.0, -2.0, 0.5])
    wanted = outputs_at(action(plain), action(plain).program("calc_diff"), x, u)
    sim = changing()
    for frame, mass in NEW.items():
        sim.set_parameter(f"robot.{frame}.mass", mass)
    model = action(sim)
    for one, other in zip(outputs_at(model, model.program("calc_diff"), x, u), wanted):
        assert np.abs(one - other).max() <= 1e-12 * max(1.0, np.abs(other).max())
    x0 = state(0.002, tilt=0.0, speed=0.0)
    problems = [ShootingProblem(x0, [action(s)] * 4, CostStack(s.state)) for s in (changing(), plain)]
    for frame, mass in NEW.items():
        problems[0].set_parameter(f"robot.{frame}.mass", mass)
    found, right = (SolverFDDP(problem).solve() for problem in problems)
    assert found.cost == pytest.approx(right.cost, rel=1e-9)
    assert np.abs(found.xs - right.xs).max() < 1e-8
