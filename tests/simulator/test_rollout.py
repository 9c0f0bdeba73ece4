"""Rollouts: the steps of `simulate` one after the other, with their torques and forces; messages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnknownAttributeError
from trajopt.files import read_rows
from trajopt.identification import Log
from trajopt.robots import load_robot
from trajopt.robots.bases import BASES, with_base
from trajopt.robots.robot import Robot
from trajopt.simulator import MDPContact, Rollout, Simulator
from trajopt.solution import Solution
from trajopt.types import Reals

DT, STEPS = 1e-3, 30
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def small(base: str = "free_flyer", **options: Any) -> tuple[Simulator, Reals]:
    """The small quadruped 1 mm deep in the floor, and this state."""
    robot = Robot(with_base(load_robot("small-quadruped").model, base), name="small")
    q = robot.configuration("standing")
    height = load_robot("small-quadruped").configuration("standing")[2] - 1e-3
    plane = (0.0, 0.0, 1.0, 0.0)
    if base in ("euler", "planar"):
        q[2 if base == "euler" else 1] = height
    elif base == "free_flyer":
        q[2] = height
    else:
        plane = (0.0, 0.0, 1.0, height)
    contacts = [MDPContact(foot, surface=plane, strength=3e10, friction=0.5) for foot in FEET]
    return Simulator(robot, contacts, **options), np.concatenate([q, np.zeros(robot.nv)])


def by_hand(simulator: Simulator, x: Reals, taus: Reals) -> list[Reals]:
    xs = [x]
    for tau in taus:
        xs.append(simulator.simulate(DT, xs[-1], tau)[0])
    return xs


def test_a_rollout_applies_the_passed_torques() -> None:
    simulator, x0 = small()
    taus = np.random.default_rng(0).normal(size=(STEPS, 18))
    rollout = simulator.rollout(x0, taus, STEPS, DT)
    np.testing.assert_array_equal(rollout.xs, by_hand(simulator, x0, taus))
    np.testing.assert_array_equal(rollout.taus, taus)
    np.testing.assert_allclose(rollout.times, DT * np.arange(STEPS + 1), atol=1e-15)
    for name, forces in rollout.forces.items():
        assert forces.shape == (STEPS, 3)
        expected = simulator.contact_forces(DT, rollout.xs[7], taus[7])[name]
        np.testing.assert_array_equal(forces[7], expected)
    assert list(rollout.forces) == list(FEET)
    assert rollout.friction == dict.fromkeys(FEET, 0.5)
    assert repr(rollout) == "Rollout('small', 30 steps, 0.03 s)"


def test_long_rollouts_are_their_steps() -> None:
    simulator, x0 = small()
    rollout = simulator.rollout(x0, steps=230, dt=DT)
    np.testing.assert_array_equal(rollout.xs, by_hand(simulator, x0, np.zeros((230, 18))))


@pytest.mark.parametrize("steps", [60, 1000])
def test_a_motion_that_diverges_is_no_fault_of_the_start(steps: int) -> None:
    robot = load_robot("planar-2r")
    simulator = Simulator(robot)
    simulator.set_PD_controller(1e9, 0.0)
    with pytest.raises(ModelEvaluationError, match=r"the motion diverges: its state is not finite at 0\.\d+ s; use a"):
        simulator.rollout([0.1, 0.1, 0.0, 0.0], steps=steps, dt=1e-2)


def test_threads_may_share_a_simulator() -> None:
    simulator, x0 = small()
    starts = [x0 + 0.01 * i * (np.arange(len(x0)) == 2) for i in range(4)]  # heights [m]

    def end(x: Reals) -> Reals:
        for _ in range(60):
            x = simulator.simulate(DT, x)[0]
        return x

    alone = [end(x) for x in starts]
    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_array_equal(list(pool.map(end, starts)), alone)


def test_a_function_of_time_and_state() -> None:
    simulator, x0 = small()
    seen: list[float] = []

    def damped(t: float, x: Reals) -> Reals:
        seen.append(t)
        return np.concatenate([np.zeros(6), -0.1 * x[25:]])

    rollout = simulator.rollout(x0, damped, STEPS, DT)
    np.testing.assert_allclose(seen, DT * np.arange(STEPS), atol=1e-15)
    np.testing.assert_allclose(rollout.taus[:, 6:], -0.1 * rollout.xs[:-1, 25:], atol=1e-15)
    np.testing.assert_array_equal(rollout.xs, by_hand(simulator, x0, rollout.taus))


@pytest.mark.parametrize("base", BASES)
def test_a_rollout_records_the_torque_of_the_controller(base: str) -> None:
    """It does not act at the base, and the same torques give the same motion."""
    simulator, x0 = small(base)
    moving = simulator.model.nv - 12
    simulator.set_PD_controller(100.0, 1.0, target=x0)
    start = x0 + np.concatenate([np.zeros(len(x0) - 12), np.linspace(-1, 1, 12)])
    rollout = simulator.rollout(start, None, STEPS, DT)
    np.testing.assert_array_equal(rollout.taus[:, :moving], 0.0)
    assert np.abs(rollout.taus[0, moving:]).max() > 0.5
    np.testing.assert_allclose(rollout.xs, by_hand(simulator, start, rollout.taus), atol=1e-10)
    np.testing.assert_allclose(simulator.controller_torque(start), rollout.taus[0], atol=1e-15)


def test_forces_of_impulse_modes_are_means() -> None:
    """In all modes the floor carries the weight, on average, of a robot whose joints are stiff."""
    loads = {}
    for mode in ("FORWARD_RK1F", "FORWARD_RK1I"):
        simulator, x0 = small("free_flyer", mode=mode)
        simulator.set_PD_controller(20.0, 0.3, target=x0)
        rollout = simulator.rollout(x0, None, 400, DT)
        loads[mode] = sum(forces[100:, 2].mean() for forces in rollout.forces.values())
    assert loads["FORWARD_RK1F"] == pytest.approx(12.0 * 9.81, rel=0.2)
    assert loads["FORWARD_RK1I"] == pytest.approx(loads["FORWARD_RK1F"], rel=0.2)


def test_without_a_controller_torques_are_zero() -> None:
    simulator, x0 = small()
    rollout = simulator.rollout(x0, None, 3, DT)
    np.testing.assert_array_equal(rollout.taus, 0.0)
    np.testing.assert_array_equal(rollout.xs, by_hand(simulator, x0, np.zeros((3, 18))))


def test_parameters_of_the_moment_count() -> None:
    simulator, x0 = small()
    simulator.set_parameter("contacts.lf_foot.friction", 0.9)
    rollout = simulator.rollout(x0, None, 1, DT)
    assert isinstance(rollout, Rollout)
    assert (rollout.friction["lf_foot"], rollout.friction["rf_foot"]) == (0.9, 0.5)


def moved() -> Rollout:
    simulator, x0 = small()
    return simulator.rollout(x0, np.random.default_rng(0).normal(size=(STEPS, 18)), STEPS, DT)


def test_a_table_has_states_torques_and_forces_with_units(tmp_path: Path) -> None:
    rollout = moved()
    file = rollout.to_csv(tmp_path / "fall.csv")
    head, *rows = read_rows(file, "path")
    log = Log.read(rollout.robot, file)
    np.testing.assert_array_equal(log.states, rollout.xs)
    np.testing.assert_array_equal(log.controls, rollout.taus)
    np.testing.assert_allclose(log.times, rollout.times, atol=1e-15)
    for name, unit in (("q:lf_hfe", "rad"), ("v:lf_hfe", "rad/s"), ("u:lf_hfe", "N m"), ("rh_foot fz", "N")):
        assert f"{name} [{unit}]" in head
    column = [row[head.index("lh_foot fz [N]")] for row in rows]
    np.testing.assert_array_equal(np.array(column[:-1], dtype=float), rollout.forces["lh_foot"][:, 2])
    assert column[-1] == ""


def test_a_file_has_the_motion_as_a_solution(tmp_path: Path) -> None:
    rollout = moved()
    knee = rollout.solution().control_names.index("u:lf_kfe")
    loaded = Solution.load(rollout.save(tmp_path / "fall.npz"))
    for motion in (loaded, rollout.solution()):
        np.testing.assert_array_equal(motion.xs, rollout.xs)
        np.testing.assert_array_equal(motion.us, rollout.taus)
        np.testing.assert_array_equal(motion.times, rollout.times)
        assert list(motion.contact_forces()) == list(FEET)
        np.testing.assert_array_equal(motion.contact_forces()["rf_foot"], rollout.forces["rf_foot"])
        np.testing.assert_array_equal(motion.torques()["lf_kfe"], rollout.taus[:, knee])
        paths = motion.frame_path("lf_foot")
        np.testing.assert_array_equal(paths, rollout.robot.placement(rollout.xs[:, :19], "lf_foot")[:, :3, 3])
    assert repr(loaded) == "Solution(Simulator, T=30, nx=37, nu=18)"
    assert loaded.robot is not None
    assert loaded.robot.name == "small"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("us", "here: taus"), ("show", "here: solution().show"), ("table", "here: to_csv(path)"),
     ("contact_forces", "here: forces, by name"), ("animate", "here: trajopt.plotting.animate_rollout"),
     ("tau", "did you mean taus"), ("load", "here: trajopt.Solution.load")],
)  # fmt: skip
def test_what_a_rollout_lacks_has_a_hint(name: str, hint: str) -> None:
    simulator, x0 = small()
    rollout = simulator.rollout(x0, None, 1, DT)
    with pytest.raises(UnknownAttributeError) as error:
        getattr(rollout, name)
    assert hint in str(error.value)


def test_messages() -> None:
    simulator, x0 = small()
    with pytest.raises(InvalidArgumentError, match=r"taus: expected shape \(3, 18\), got \(2, 18\)"):
        simulator.rollout(x0, np.zeros((2, 18)), 3, DT)
    with pytest.raises(InvalidArgumentError, match=r"taus\(0, x\): expected shape \(18,\), got \(12,\)"):
        simulator.rollout(x0, lambda t, x: np.zeros(12), 3, DT)
    with pytest.raises(InvalidArgumentError, match=r"taus\(0, x\): the function raised TypeError: .* 1 positional"):
        simulator.rollout(x0, lambda x: np.zeros(18), 3, DT)
    with pytest.raises(InvalidArgumentError, match=r"x0: expected"):
        simulator.rollout(x0[:-1], None, 3, DT)
    with pytest.raises(InvalidArgumentError, match=r"steps: expected"):
        simulator.rollout(x0, None, 0, DT)
    with pytest.raises(InvalidArgumentError, match=r"dt: expected"):
        simulator.rollout(x0, None, 3, 0.0)
